#include "lines.h"

static void print(struct line *line, size_t length)
{
    bulkhead_print(line->text, length);
    line->length -= length;
    __builtin_memmove(line->text, line->text + length, line->length);
}

void bulkhead_put_in_line(struct line *line, char c)
{
    if (c == '\n') {
        print(line, line->length);
        return;
    }
    if (line->length == sizeof line->text) {
        /* Never within a character of several bytes (UTF-8: 10xxxxxx continues one). */
        size_t whole = line->length;
        while ((c & 0xc0) == 0x80 && whole > line->length - 4 && (line->text[--whole] & 0xc0) == 0x80)
            ;
        print(line, whole);
    }
    line->text[line->length++] = c;
}

void bulkhead_end_line(struct line *line)
{
    if (line->length)
        print(line, line->length);
}
