/* What FreeRTOS requires of a C library */
#include <stddef.h>

void *memset(void *place, int byte, size_t size);
void *memcpy(void *place, const void *from, size_t size);
size_t strlen(const char *text);
