/* What OpenMP programs have of the C library in a partition; implemented in user/omp/src. */
#ifndef BULKHEAD_STDLIB_H
#define BULKHEAD_STDLIB_H
#include <stddef.h>

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void *aligned_alloc(size_t align, size_t bytes);
void free(void *block);
void qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *));
int atoi(const char *text);
long atol(const char *text);
double atof(const char *text);
_Noreturn void exit(int status);
_Noreturn void abort(void);
#define abs(x) __builtin_abs(x)
#define labs(x) __builtin_labs(x)
#endif
