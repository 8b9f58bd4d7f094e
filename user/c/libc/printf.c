/* printf, as far as `slite.h` says. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

void slite_print(const char *text, size_t length);
int slite_format(const char *format, va_list arguments);
int printf(const char *format, ...);

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

/* Digits behind the point are rounded half up; nine at most, and 2^64 at most before it. */
static void decimal(struct line *line, double value, int digits, int width)
{
    uint64_t scale = 1;
    for (int i = 0; i < digits; i++)
        scale *= 10;
    int negative = value < 0;
    double size = negative ? -value : value;
    uint64_t whole = (uint64_t)size;
    uint64_t part = (uint64_t)((size - (double)whole) * (double)scale + 0.5);
    if (part >= scale) {
        whole++;
        part -= scale;
    }
    number(line, whole, 10, negative, width - (digits ? digits + 1 : 0), ' ');
    if (digits) {
        put(line, '.');
        number(line, part, 10, 0, digits, '0');
    }
}

int slite_format(const char *format, va_list arguments)
{
    struct line line = {.length = 0};
    for (; *format; format++) {
        if (*format != '%') {
            if (*format != '\n')
                put(&line, *format);
            continue;
        }
        char fill = *++format == '0' ? '0' : ' ';
        int width = 0, wide = 0, digits = 6;
        for (; *format >= '0' && *format <= '9'; format++)
            width = 10 * width + (*format - '0');
        if (*format == '.')
            for (digits = 0; *++format >= '0' && *format <= '9';)
                digits = 10 * digits + (*format - '0');
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
        case 'f':
            decimal(&line, va_arg(arguments, double), digits < 9 ? digits : 9, width);
            break;
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
    slite_print(line.text, line.length);
    return (int)line.length;
}

int printf(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = slite_format(format, arguments);
    va_end(arguments);
    return length;
}
