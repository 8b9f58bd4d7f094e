/* Formatting of the printf family: C11 7.21.6.1, without wide characters
 *
 * A directive that is none is written as it stands. An argument is read with the type that the length modifier
 * names, so that no directive misaligns those behind it. */
#include "format.h"
#include <stdarg.h>

/* The compiler's `limits.h` asks for a C library's. */
#define INT_MAX __INT_MAX__

enum length { INT, CHAR, SHORT, LONG, LONG_LONG, SIZE, MAXIMUM, DIFFERENCE, LONG_DOUBLE };

struct directive {
    struct conversion as;
    enum length length;
};

/* A va_list is an array on some machines: by its address it is the same one in each function. */
struct arguments {
    va_list list;
};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A width or precision as written, or the next argument for `*`. */
static const char *read_number(const char *text, struct arguments *arguments, int *value)
{
    if (*text == '*') {
        *value = va_arg(arguments->list, int);
        return text + 1;
    }
    for (*value = 0; is_digit(*text); text++)
        *value = *value > (INT_MAX - 9) / 10 ? INT_MAX : 10 * *value + (*text - '0');
    return text;
}

static const char *read_flags(const char *text, struct conversion *as)
{
    for (;; text++)
        switch (*text) {
        case '-':
            as->left = 1;
            break;
        case '+':
            as->plus = 1;
            break;
        case ' ':
            as->space = 1;
            break;
        case '#':
            as->alternate = 1;
            break;
        case '0':
            as->zero = 1;
            break;
        default:
            return text;
        }
}

static const char *read_length(const char *text, enum length *length)
{
    static const struct {
        char letter;
        enum length length;
    } known[] = {{'h', SHORT}, {'l', LONG}, {'j', MAXIMUM}, {'z', SIZE}, {'t', DIFFERENCE}, {'L', LONG_DOUBLE}};
    unsigned i = 0, count = sizeof known / sizeof *known;
    while (i < count && known[i].letter != *text)
        i++;
    if (i == count)
        return text;
    *length = known[i].length;
    if ((*text == 'h' || *text == 'l') && text[1] == *text) {
        *length = *text == 'h' ? CHAR : LONG_LONG;
        return text + 2;
    }
    return text + 1;
}

/* Reads what follows a `%`, up to its letter. */
static const char *read_directive(const char *text, struct arguments *arguments, struct directive *directive)
{
    struct conversion *as = &directive->as;
    *directive = (struct directive){.as = {.precision = -1}};
    text = read_flags(text, as);
    text = read_number(text, arguments, &as->width);
    if (as->width < 0) {
        as->left = 1;
        as->width = as->width == (-INT_MAX - 1) ? INT_MAX : -as->width;
    }
    if (*text == '.') {
        text = read_number(text + 1, arguments, &as->precision);
        if (as->precision < 0)
            as->precision = -1;
    }
    text = read_length(text, &directive->length);
    as->letter = *text;
    return text;
}

static int64_t signed_argument(struct arguments *arguments, enum length length)
{
    switch (length) {
    case CHAR:
        return (signed char)va_arg(arguments->list, int);
    case SHORT:
        return (short)va_arg(arguments->list, int);
    case INT:
        return va_arg(arguments->list, int);
    default:
        return va_arg(arguments->list, int64_t);
    }
}

static uint64_t unsigned_argument(struct arguments *arguments, enum length length)
{
    switch (length) {
    case CHAR:
        return (unsigned char)va_arg(arguments->list, unsigned);
    case SHORT:
        return (unsigned short)va_arg(arguments->list, unsigned);
    case INT:
        return va_arg(arguments->list, unsigned);
    default:
        return va_arg(arguments->list, uint64_t);
    }
}

/* A number in a base, behind what stands before it. */
static void put_number(struct sink *sink, const struct conversion *as, uint64_t value, unsigned base, const char *prefix)
{
    const char *letters = as->letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char digits[24];
    int count = 0;
    uint64_t start = sink->count;
    for (uint64_t rest = value; rest; rest /= base)
        digits[count++] = letters[rest % base];
    int64_t least = as->precision < 0 ? 1 : as->precision;
    if (as->letter == 'o' && as->alternate && least <= count)
        least = count + 1;
    int64_t length = count < least ? least : count;
    begin_field(sink, as, prefix, length, as->zero && as->precision < 0);
    put_many(sink, '0', length - count);
    while (count)
        put(sink, digits[--count]);
    end_field(sink, as, start);
}

static void put_signed(struct sink *sink, const struct conversion *as, int64_t value)
{
    char sign[2] = {sign_of(as, value < 0), 0};
    put_number(sink, as, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, sign);
}

static void put_unsigned(struct sink *sink, const struct conversion *as, uint64_t value)
{
    int is_hexadecimal = as->letter == 'x' || as->letter == 'X';
    const char *prefix = !as->alternate || !value || !is_hexadecimal ? "" : as->letter == 'x' ? "0x" : "0X";
    put_number(sink, as, value, is_hexadecimal ? 16 : as->letter == 'o' ? 8 : 10, prefix);
}

static void put_text(struct sink *sink, const struct conversion *as, const char *text, int64_t most)
{
    uint64_t start = sink->count;
    int64_t length = 0;
    while ((most < 0 || length < most) && text[length])
        length++;
    begin_field(sink, as, "", length, 0);
    for (int64_t i = 0; i < length; i++)
        put(sink, text[i]);
    end_field(sink, as, start);
}

/* A pointer that is none is written as words, whole or not at all. */
static void put_string(struct sink *sink, const struct conversion *as, const char *text)
{
    const char *none = as->precision < 0 || as->precision >= 6 ? "(null)" : "";
    put_text(sink, as, text ? text : none, text ? as->precision : -1);
}

static void put_pointer(struct sink *sink, struct conversion *as, const void *pointer)
{
    if (!pointer) {
        put_text(sink, as, "(nil)", -1);
        return;
    }
    char sign = sign_of(as, 0);
    char prefix[4] = {sign ? sign : '0', sign ? '0' : 'x', sign ? 'x' : 0};
    as->letter = 'x';
    put_number(sink, as, (uint64_t)(uintptr_t)pointer, 16, prefix);
}

static void put_character(struct sink *sink, const struct conversion *as, char c)
{
    uint64_t start = sink->count;
    begin_field(sink, as, "", 1, 0);
    put(sink, c);
    end_field(sink, as, start);
}

static double double_argument(struct arguments *arguments, enum length length)
{
    return length == LONG_DOUBLE ? rounded_to_double(va_arg(arguments->list, long double)) : va_arg(arguments->list, double);
}

static void store_count(void *place, enum length length, uint64_t count)
{
    static const unsigned char bytes[] = {4, 1, 2, 8, 8, 8, 8, 8, 8};
    if (place)
        __builtin_memcpy(place, &count, bytes[length]);
}

/* Performs a conversion; 0 where its letter is none. */
static int convert(struct sink *sink, struct directive *directive, struct arguments *arguments)
{
    struct conversion *as = &directive->as;
    switch (as->letter) {
    case 'd':
    case 'i':
        put_signed(sink, as, signed_argument(arguments, directive->length));
        break;
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        put_unsigned(sink, as, unsigned_argument(arguments, directive->length));
        break;
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        format_double(sink, as, double_argument(arguments, directive->length));
        break;
    case 'c':
        put_character(sink, as, (char)va_arg(arguments->list, int));
        break;
    case 's':
        put_string(sink, as, va_arg(arguments->list, const char *));
        break;
    case 'p':
        put_pointer(sink, as, va_arg(arguments->list, const void *));
        break;
    case 'n':
        store_count(va_arg(arguments->list, void *), directive->length, sink->count);
        break;
    case '%':
        put(sink, '%');
        break;
    default:
        return 0;
    }
    return 1;
}

int bulkhead_format(struct sink *sink, const char *format, va_list list)
{
    struct arguments copy, *arguments = &copy;
    va_copy(copy.list, list);
    for (; *format; format++) {
        if (*format != '%') {
            put(sink, *format);
            continue;
        }
        struct directive directive;
        const char *end = read_directive(format + 1, arguments, &directive);
        if (!convert(sink, &directive, arguments)) {
            put(sink, '%');
            continue;
        }
        format = end;
    }
    va_end(copy.list);
    return sink->count > INT_MAX ? -1 : (int)sink->count;
}
