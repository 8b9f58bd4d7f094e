/* Compares the printf of user/libc/c with the host's over random directives
 *
 * Compiled with both: `bulkhead_format` is the one under test. Arguments: a seed and a count. Prints each difference
 * and fails where there is one. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "lines.h"


enum { ROOM = 4096 };

static uint64_t state;
static unsigned long differences;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}

static unsigned below(unsigned limit)
{
    return (unsigned)(next() >> 33) % limit;
}

/* What `printf` gave to the console, a line each. */
static char console[ROOM];

void bulkhead_print(const char *text, size_t length)
{
    size_t filled = strlen(console);
    if (filled + length + 2 > sizeof console)
        abort();
    memcpy(console + filled, text, length);
    strcpy(console + filled + length, "|");
}

/* A text in memory, with room for the 0 that ends it. */
struct memory {
    struct sink sink;
    char *text;
    size_t size;
};

static void put_in_memory(struct sink *sink, char c)
{
    struct memory *memory = (struct memory *)sink;
    if (sink->count + 1 < memory->size)
        memory->text[sink->count] = c;
}

static int own_vsnprintf(char *text, size_t size, const char *format, va_list arguments)
{
    struct memory memory = {.sink = {.put = put_in_memory}, .text = text, .size = size};
    int count = bulkhead_format(&memory.sink, format, arguments);
    if (size)
        text[memory.sink.count < size ? memory.sink.count : size - 1] = 0;
    return count;
}

static int own_snprintf(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int count = own_vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return count;
}

struct console_sink {
    struct sink sink;
    struct line line;
};

static void put_on_console(struct sink *sink, char c)
{
    bulkhead_put_in_line(&((struct console_sink *)sink)->line, c);
}

/* With a flush behind it. */
static int own_printf(const char *format, ...)
{
    struct console_sink console = {.sink = {.put = put_on_console}};
    va_list arguments;
    va_start(arguments, format);
    int count = bulkhead_format(&console.sink, format, arguments);
    va_end(arguments);
    bulkhead_end_line(&console.line);
    return count;
}

static void compare(const char *format, ...)
{
    static char own[ROOM], host[ROOM];
    memset(own, '#', sizeof own);
    memset(host, '#', sizeof host);
    size_t size = below(8) ? ROOM : below(40);
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int one = own_vsnprintf(own, size, format, arguments), other = vsnprintf(host, size, format, again);
    va_end(again);
    va_end(arguments);
    /* Where there is no room for the first byte nothing is written, not even an end. */
    if (one == other && !memcmp(own, host, size) && own[size < ROOM ? size : 0] == (size < ROOM ? '#' : own[0]))
        return;
    differences++;
    if (differences <= 20)
        printf("\"%s\" in %zu: own %d \"%.*s\", host %d \"%.*s\"\n", format, size, one, size ? (int)size - 1 : 0, own, other,
               size ? (int)size - 1 : 0, host);
}

static double any_double(void)
{
    union {
        uint64_t bits;
        double value;
    } any = {next()};
    static const double special[] = {0.0,  -0.0, 0.5,     1.5,     2.5,        9.5,     0.05,    9.995,   99999.95, 999999.5,
                                     1e-5, 1e15, DBL_MAX, DBL_MIN, 4.9407e-324, INFINITY, NAN,    1e9,     1e18,     0.1,
                                     123456789.0, 1e22, 1e23, 0.000123456, 1.0, 10.0, 100.0, 1e6, 1e-4, 0.125};
    switch (below(5)) {
    case 0:
        return special[below(sizeof special / sizeof *special)];
    case 1:
        return (double)(int64_t)next() / (double)(1 + below(1000000));
    case 2:
        return (double)below(100000) / 1000.0;
    case 3:
        return (double)below(2000) / 16.0;
    default:
        return any.value;
    }
}

/* Flags, a width and a precision. A `*` takes its number from `stars`. */
static char *put_directive(char *at, const char *flags, int stars[2], int *count)
{
    *at++ = '%';
    for (unsigned i = below(4); i; i--)
        *at++ = flags[below((unsigned)strlen(flags))];
    *count = 0;
    if (below(6) == 0) {
        stars[(*count)++] = (int)below(61) - 30;
        *at++ = '*';
    } else if (below(2)) {
        at += sprintf(at, "%u", 1 + below(30));
    }
    if (below(2) == 0) {
        *at++ = '.';
        if (below(5) == 0) {
            stars[(*count)++] = (int)below(40) - 8;
            *at++ = '*';
        } else if (below(5)) {
            at += sprintf(at, "%u", below(8) ? below(25) : below(400));
        }
    }
    *at = 0;
    return at;
}

/* The last argument shows that those before it were read with their types. */
#define COMPARE(value)                                                                            \
    (count == 0   ? compare(format, value, mark)                                                  \
     : count == 1 ? compare(format, stars[0], value, mark)                                        \
                  : compare(format, stars[0], stars[1], value, mark))

static void one_directive(void)
{
    char format[128];
    int stars[2], count;
    unsigned mark = below(1000);
    unsigned kind = below(10);
    const char *flags = kind < 4 ? "-+ 0" : kind < 6 ? "-#0" : kind < 8 ? "-+ #0" : "-";
    if (kind == 4)
        flags = "-0";
    char *at = put_directive(format + sprintf(format, "<"), flags, stars, &count);
    const char *lengths[] = {"hh", "h", "", "l", "ll", "j", "z", "t"};
    const char *length = lengths[below(8)];
    int is_wide = strchr("ljzt", *length) && *length;
    uint64_t whole = next() >> below(64);
    if (kind < 4) {
        sprintf(at, "%s%c>%%u\n", length, "di"[below(2)]);
        if (is_wide)
            COMPARE((int64_t)whole);
        else
            COMPARE((int)whole);
    } else if (kind < 6) {
        sprintf(at, "%s%c>%%u\n", length, kind == 4 ? 'u' : "xXo"[below(3)]);
        if (is_wide)
            COMPARE(whole);
        else
            COMPARE((unsigned)whole);
    } else if (kind < 8) {
        double value = any_double();
        int is_long = below(8) == 0;
        /* The host's %#g loses zeros where rounding adds a digit: fixed cases stand for it. */
        const char *letters = strchr(format, '#') ? "fFeEfFaA" : "fFeEgGaA";
        sprintf(at, "%s%c>%%u\n", is_long ? "L" : "", letters[below(is_long ? 6 : 8)]);
        if (is_long)
            COMPARE((long double)value);
        else
            COMPARE(value);
    } else if (kind == 8) {
        static const char *const texts[] = {"", "a", "some words", "a text that is longer than most widths are", NULL};
        const char *text = texts[below(5)];
        sprintf(at, "s>%%u\n");
        COMPARE(text);
    } else {
        static const char letters[] = "a \t%~";
        char *dot = strchr(format, '.');
        at = dot ? dot : at;
        if (dot && dot[1] == '*')
            count--;
        if (below(2)) {
            sprintf(at, "c>%%u\n");
            COMPARE((int)letters[below(5)]);
        } else {
            void *pointer = (void *)(uintptr_t)(below(4) ? whole : 0);
            sprintf(at, "p>%%u\n");
            COMPARE(pointer);
        }
    }
}

static void counts_are_stored(void)
{
    signed char bytes = 0;
    short halves = 0;
    int words = 0;
    long longs = 0;
    char text[64];
    va_list none;
    (void)none;
    own_snprintf(text, sizeof text, "1%hhn2%hn3%n4%ln%n", &bytes, &halves, &words, &longs, (int *)NULL);
    if (bytes != 1 || halves != 2 || words != 3 || longs != 4)
        differences++, printf("counts: %d %d %d %ld\n", bytes, halves, words, longs);
}

static void quads_are_rounded(void)
{
#ifdef __SIZEOF_FLOAT128__
    union {
        __float128 value;
        uint64_t words[2];
    } quad;
    for (int i = 0; i < 100000; i++) {
        quad.words[0] = below(3) ? next() : (uint64_t)below(2) << 59;
        quad.words[1] = next();
        /* Mostly among those that are doubles, and some that are nearly. */
        if (below(8))
            quad.words[1] = (quad.words[1] & ~(0x7fffull << 48)) | (uint64_t)(16383 - 1080 + below(2110)) << 48;
        double own = quad_to_double(quad.words[0], quad.words[1]), host = (double)quad.value;
        int same = memcmp(&own, &host, sizeof own) == 0 || (isnan(own) && isnan(host));
        if (!same && differences++ < 20)
            printf("quad %016llx %016llx: own %a, host %a\n", (unsigned long long)quad.words[1],
                   (unsigned long long)quad.words[0], own, host);
    }
#endif
}

static void lines_are(const char *expected, int own, int count)
{
    if (strcmp(console, expected) || own != count)
        differences++, printf("console: \"%s\" (%d), expected \"%s\" (%d)\n", console, own, expected, count);
    *console = 0;
}

static void the_console_gets_lines(void)
{
    lines_are("7    x|", own_printf("%-5d%s\n", 7, "x"), 7);
    lines_are("a|b||c|", own_printf("a\nb\n\nc"), 6);
    lines_are("", own_printf("%s", ""), 0);
    lines_are("100%|", own_printf("100%%\n"), 5);
    /* A directive that is none is written as it stands. */
    lines_are("5% of %y, 3%|", own_printf("%d%% of %y, %d%", 5, 3), 12);
    lines_are("1.50000 100. 1.00000e+06|", own_printf("%#g %#.3g %#g\n", 1.5, 100.0, 999999.5), 25);
    /* Two bytes of a character stay together; 160 fit. */
    own_printf("%159s\303\244b", "");
    char *second = strchr(console, '|');
    if (!second || second - console != 159 || strcmp(second, "|\303\244b|"))
        differences++, printf("long line: \"%s\"\n", console);
    *console = 0;
}

int main(int count, char **words)
{
    state = count > 1 ? strtoull(words[1], NULL, 10) * 2 + 1 : 1;
    unsigned long rounds = count > 2 ? strtoul(words[2], NULL, 10) : 100000;
    for (unsigned long i = 0; i < rounds; i++)
        one_directive();
    counts_are_stored();
    quads_are_rounded();
    the_console_gets_lines();
    printf("%lu differences\n", differences);
    return differences != 0;
}
