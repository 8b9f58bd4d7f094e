/* Text of a program becomes lines of the console. */
#ifndef BULKHEAD_LINES_H
#define BULKHEAD_LINES_H
#include <stddef.h>

/* A line that has not ended yet. All zero is an empty one. */
struct line {
    char text[160];
    size_t length;
};

/* Appends a character. A newline ends the line; a line without room is continued on the next one. */
void bulkhead_put_in_line(struct line *line, char c);
/* Ends the line if it has text. */
void bulkhead_end_line(struct line *line);

/* Prints a line: `length` bytes without a newline. Of the runtime. */
void bulkhead_print(const char *text, size_t length);
#endif
