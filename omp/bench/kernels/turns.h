/* A kernel is run once or, where BENCH_TURNS is set, once for each byte that comes in: turn by turn with the processes of other
   runtimes, so that what the machine is at the moment is the same for all. It gives back what it took from the heap; from
   the second turn on its pages are there. Who runs kernels otherwise has given their `main` another name. */
#ifndef TURNS_H
#define TURNS_H
#include "bench.h"
#ifndef main
#include <unistd.h>

int kernel(int count, char **values);

int main(int count, char **values) {
  char turn;
  if (!getenv("BENCH_TURNS")) {
    kernel(count, values);
    return 0;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (read(0, &turn, 1) == 1) {
    /* Wakes the threads: how long they sleep between turns is no property of the kernel. */
#pragma omp parallel
    __asm__ volatile("" ::: "memory");
    kernel(count, values);
  }
  return 0;
}
#define main kernel
#endif
#endif
