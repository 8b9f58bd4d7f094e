/* Conversions of printf: shared by its files. */
#ifndef BULKHEAD_FORMAT_H
#define BULKHEAD_FORMAT_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Destination of formatted text. */
struct sink {
    void (*put)(struct sink *sink, char c);
    uint64_t count; /* characters so far, also those that found no room */
};

/* One conversion specification. */
struct conversion {
    int left, plus, space, alternate, zero; /* the flags - + ' ' # 0 */
    int width;
    int precision; /* -1: none is given */
    char letter;
};

static inline void put(struct sink *sink, char c)
{
    sink->put(sink, c);
    sink->count++;
}

static inline void put_many(struct sink *sink, char c, int64_t count)
{
    while (count-- > 0)
        put(sink, c);
}

/* The sign of a signed conversion, or 0 where none is printed. */
static inline char sign_of(const struct conversion *as, int negative)
{
    return negative ? '-' : as->plus ? '+' : as->space ? ' ' : 0;
}

/* Writes what precedes a number of `length` characters (spaces, prefix, leading zeros); `end_field` writes the
 * spaces behind it. */
static inline void begin_field(struct sink *sink, const struct conversion *as, const char *prefix, int64_t length, int zeros)
{
    for (const char *c = prefix; *c; c++)
        length++;
    if (!as->left && !zeros)
        put_many(sink, ' ', as->width - length);
    while (*prefix)
        put(sink, *prefix++);
    if (!as->left && zeros)
        put_many(sink, '0', as->width - length);
}

/* `start`: the count of characters before the field. */
static inline void end_field(struct sink *sink, const struct conversion *as, uint64_t start)
{
    if (as->left)
        put_many(sink, ' ', (int64_t)as->width - (int64_t)(sink->count - start));
}

/* Writes formatted text; returns its characters, or -1 if they are more than INT_MAX. */
int bulkhead_format(struct sink *sink, const char *format, va_list arguments);

/* %f %e %g %a and their capitals. */
void format_double(struct sink *sink, const struct conversion *as, double value);

/* The nearest double. */
double quad_to_double(uint64_t low, uint64_t high);
double rounded_to_double(long double value);
#endif
