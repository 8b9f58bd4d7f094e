/* One check, one line when it fails; the program's exit status says whether any did. */
#ifndef CHECK_H
#define CHECK_H
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;

#define CHECK(CONDITION, ...)                                                 \
  do {                                                                        \
    if (!(CONDITION)) {                                                       \
      __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                     \
      fprintf(stderr, "%s:%d: not so: %s; ", __FILE__, __LINE__, #CONDITION); \
      fprintf(stderr, "" __VA_ARGS__);                                        \
      fputc('\n', stderr);                                                    \
    }                                                                         \
  } while (0)

#define VERDICT() (failures ? EXIT_FAILURE : EXIT_SUCCESS)

/* Some work that the compiler keeps: about n nanoseconds' worth. */
static inline void work(long n) {
  for (volatile long i = 0; i < n; i++)
    ;
}

static inline void nap_us(long us) {
  struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

#endif
