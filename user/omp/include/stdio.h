/* Output goes to the partition's console, each call a line; there are no files. */
#ifndef BULKHEAD_STDIO_H
#define BULKHEAD_STDIO_H
#include <stddef.h>

typedef struct bulkhead_file FILE;
#define stdout ((FILE *)1)
#define stderr ((FILE *)2)
#define EOF (-1)

/* %d %i %u %x %ld %lu %zu %p %c %s %f, with width, leading zeros and, for %f, digits. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
int puts(const char *text);
int putchar(int c);
int fputc(int c, FILE *file);
int fputs(const char *text, FILE *file);
int fflush(FILE *file);

/* These find nothing. */
FILE *fopen(const char *path, const char *mode);
char *fgets(char *line, int bytes, FILE *file);
int fclose(FILE *file);
int sscanf(const char *text, const char *format, ...);
#endif
