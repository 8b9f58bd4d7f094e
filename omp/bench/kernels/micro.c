/* Cost of one construct, in cycles of the machine's counter:

     micro CONSTRUCT ITERATIONS      with OMP_NUM_THREADS
   Prints average, median, the 99.99th percentile and the maximum. */
#include "bench.h"
#if defined __x86_64__
#include <x86intrin.h>
#define cycles() __rdtsc()
#else
static inline uint64_t cycles(void) {
  uint64_t count;
  __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(count));
  return count;
}
#endif

#define KEEP __asm__ volatile("" ::: "memory")

static uint64_t *samples;

static int rising(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void parallel(int n) {
  for (int i = 0; i < n; i++) {
    uint64_t start = cycles();
#pragma omp parallel
    KEEP;
    samples[i] = cycles() - start;
  }
}

static void parallel_task(int n) {
  for (int i = 0; i < n; i++) {
    uint64_t start = cycles();
#pragma omp parallel
    {
#pragma omp task
      KEEP;
#pragma omp taskwait
    }
    samples[i] = cycles() - start;
  }
}

static void task(int n) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < n; i++) {
    uint64_t start = cycles();
#pragma omp task
    KEEP;
#pragma omp taskwait
    samples[i] = cycles() - start;
  }
}

static void barrier(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++) {
    uint64_t start = cycles();
#pragma omp barrier
#pragma omp master
    samples[i] = cycles() - start;
  }
}

/* From the creation of a task to its first instruction, on the creator's worker. */
static void start(int n) {
#pragma omp parallel num_threads(1)
#pragma omp single
  for (int i = 0; i < n; i++) {
    uint64_t created = cycles(), started;
#pragma omp task shared(started)
    started = cycles();
#pragma omp taskwait
    samples[i] = started - created;
  }
}

/* From the creation of a task to its first instruction on another worker, which waits for it. */
static void steal(int n) {
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < n; i++) {
    volatile uint64_t started = 0;
    uint64_t created = cycles();
#pragma omp task shared(started)
    started = cycles();
    while (!started)
      KEEP;
    samples[i] = started - created;
#pragma omp taskwait
  }
}

/* From the end of the last child, on another worker, to the return of its parent's taskwait. */
static void resume(int n) {
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < n; i++) {
#pragma omp task
    {
      volatile uint64_t started = 0, ended = 0;
#pragma omp task shared(started, ended)
      {
        started = 1;
        for (int k = 0; k < 300; k++)
          KEEP;
        ended = cycles();
      }
      while (!started)
        KEEP;
#pragma omp taskwait
      samples[i] = cycles() - ended;
    }
#pragma omp taskwait
  }
}

static const struct {
  const char *name;
  void (*run)(int);
} constructs[] = {{"parallel", parallel}, {"parallel_task", parallel_task}, {"task", task},
                  {"barrier", barrier},   {"start", start},                 {"steal", steal},
                  {"resume", resume}};

int main(int count, char **values) {
  if (count < 3)
    return 2;
  int n = atoi(values[2]);
  samples = calloc(n, sizeof *samples);
  for (unsigned i = 0; i < sizeof constructs / sizeof *constructs; i++) {
    if (strcmp(constructs[i].name, values[1]))
      continue;
    constructs[i].run(n < 200 ? n : 200);
    constructs[i].run(n);
    double sum = 0;
    for (int k = 0; k < n; k++)
      sum += samples[k];
    qsort(samples, n, sizeof *samples, rising);
    printf("%.1f %lu %lu %lu\n", sum / n, samples[n / 2], samples[n - 1 - n / 10000], samples[n - 1]);
    return 0;
  }
  return 2;
}
