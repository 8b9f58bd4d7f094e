/* Output goes to the partition's console, each call a line; there are no files. */
#ifndef BULKHEAD_STDIO_H
#define BULKHEAD_STDIO_H
#include <stdarg.h>
#include <stddef.h>

typedef struct bulkhead_file FILE;
#define stdout ((FILE *)1)
#define stderr ((FILE *)2)
#define EOF (-1)

/* All conversions of C11 but those of wide characters. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int vprintf(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
int snprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *text, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
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
