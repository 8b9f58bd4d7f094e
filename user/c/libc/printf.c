/* printf, as far as `slite.h` says. */
#include <stdarg.h>
#include "slite.h"

struct line {
    char text[160];
    size_t length;
};

static void put(struct line *line, char c)
{
    if (line->length < sizeof line->text)
        line->text[line->length++] = c;
}

static void number(struct line *line, uint64_t value, unsigned base, int negative, int width, char fill)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while (value /= base);
    if (negative && fill == '0')
        put(line, '-');
    for (int missing = width - count - negative; missing > 0; missing--)
        put(line, fill);
    if (negative && fill != '0')
        put(line, '-');
    while (count)
        put(line, digits[--count]);
}

int printf(const char *format, ...)
{
    struct line line = {.length = 0};
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            if (*format != '\n')
                put(&line, *format);
            continue;
        }
        char fill = *++format == '0' ? '0' : ' ';
        int width = 0, wide = 0;
        for (; *format >= '0' && *format <= '9'; format++)
            width = 10 * width + (*format - '0');
        for (; *format == 'l' || *format == 'z'; format++)
            wide = 1;
        switch (*format) {
        case 'd':
        case 'i': {
            int64_t value = wide ? va_arg(arguments, int64_t) : va_arg(arguments, int);
            uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
            number(&line, size, 10, value < 0, width, fill);
            break;
        }
        case 'u':
        case 'x': {
            uint64_t value = wide ? va_arg(arguments, uint64_t) : va_arg(arguments, unsigned);
            number(&line, value, *format == 'x' ? 16 : 10, 0, width, fill);
            break;
        }
        case 'p':
            number(&line, (uint64_t)va_arg(arguments, void *), 16, 0, width, fill);
            break;
        case 'c':
            put(&line, (char)va_arg(arguments, int));
            break;
        case 's':
            for (const char *text = va_arg(arguments, const char *); *text; text++)
                put(&line, *text);
            break;
        case 0:
            format--;
            break;
        default:
            put(&line, *format);
        }
    }
    va_end(arguments);
    slite_print(line.text, line.length);
    return (int)line.length;
}
