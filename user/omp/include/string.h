/* What OpenMP programs have of the C library in a partition. */
#ifndef BULKHEAD_STRING_H
#define BULKHEAD_STRING_H
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *one, const void *other, size_t bytes);
size_t strlen(const char *text);
int strcmp(const char *one, const char *other);
#endif
