/* stdio.h, over the formatting of user/c/libc/printf.c. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void slite_print(const char *text, size_t length);
int slite_format(const char *format, va_list arguments);

int fprintf(FILE *file, const char *format, ...)
{
    (void)file;
    va_list arguments;
    va_start(arguments, format);
    int length = slite_format(format, arguments);
    va_end(arguments);
    return length;
}

int fputs(const char *text, FILE *file)
{
    (void)file;
    slite_print(text, strlen(text));
    return 0;
}

int puts(const char *text)
{
    return fputs(text, stdout);
}

int fputc(int c, FILE *file)
{
    (void)file;
    char text = (char)c;
    if (c != '\n')
        slite_print(&text, 1);
    return c;
}

int putchar(int c)
{
    return fputc(c, stdout);
}

int fflush(FILE *file)
{
    (void)file;
    return 0;
}

FILE *fopen(const char *path, const char *mode)
{
    (void)path, (void)mode;
    return NULL;
}

char *fgets(char *line, int bytes, FILE *file)
{
    (void)line, (void)bytes, (void)file;
    return NULL;
}

int fclose(FILE *file)
{
    (void)file;
    return EOF;
}

int sscanf(const char *text, const char *format, ...)
{
    (void)text, (void)format;
    return 0;
}
