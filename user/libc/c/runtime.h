/* Functions that each runtime of C programs provides to the C library. */
#ifndef BULKHEAD_RUNTIME_H
#define BULKHEAD_RUNTIME_H
#include <stddef.h>
#include <stdint.h>

/* Number of the calling thread, for its line of output. */
unsigned bulkhead_thread_number(void);
/* Time since power-on, nanoseconds. */
uint64_t bulkhead_now_ns(void);
/* Blocks the calling thread for so many nanoseconds. */
void bulkhead_sleep_ns(uint64_t ns);
/* Ends the program as failed. */
_Noreturn void bulkhead_exit(int status);
#endif
