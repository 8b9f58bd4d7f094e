/* Cost of one construct, in cycles of the machine's counter:

     micro CONSTRUCT ITERATIONS      with OMP_NUM_THREADS
     micro host ITERATIONS CYCLES    what the host makes of constructs that take so many cycles each
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

/* Times at which a processor did not get on, and for how long: its host had other things to do with it. */
struct gap {
  uint64_t start, length;
};

/* Cycles between two looks at the counter that nothing inside of the machine explains. */
enum { GAP = 2000, GAPS = 1 << 16 };

/* Of the processor it runs on; the last is followed by one of no length. */
static void record_gaps(struct gap *gaps, uint64_t begin, uint64_t end) {
  const struct gap *last_gap = gaps + GAPS;
  for (uint64_t last = begin, now; last < end && gaps < last_gap; last = now) {
    now = cycles();
    if (now - last > GAP)
      *gaps++ = (struct gap){last, now - last};
  }
}

/* When a thread's part of a construct ends that begins at `start` and takes `length` cycles and what its processor
   stands still meanwhile. */
static uint64_t end_of_part(const struct gap **gap, uint64_t start, uint64_t length) {
  uint64_t end = start + length;
  for (; (*gap)->length && (*gap)->start < end; ++*gap) {
    uint64_t from = (*gap)->start > start ? (*gap)->start : start, to = (*gap)->start + (*gap)->length;
    end += to > from ? to - from : 0;
  }
  return end;
}

/* Constructs one after the other that cost nothing but their `length` and end with their last thread's part. */
static int host(int n, uint64_t length) {
  int processors = omp_get_num_procs(), threads = omp_get_max_threads();
  int count = threads < processors ? threads : processors;
  struct gap *gaps = calloc((size_t)count * (GAPS + 1), sizeof *gaps);
  const struct gap **next = calloc(count, sizeof *next);
  uint64_t begin = 0;
#pragma omp parallel num_threads(count)
  {
    struct gap *own = gaps + (size_t)omp_get_thread_num() * (GAPS + 1);
    next[omp_get_thread_num()] = own;
#pragma omp single
    begin = cycles();
    record_gaps(own, begin, begin + n * length);
  }
  int i = 0;
  for (uint64_t start = begin, end; i < n && start < begin + n * length; start = end) {
    end = start;
    for (int self = 0; self < count; self++) {
      uint64_t part = end_of_part(&next[self], start, length);
      end = part > end ? part : end;
    }
    samples[i++] = end - start;
  }
  return i;
}

static void print(int n) {
  double sum = 0;
  for (int k = 0; k < n; k++)
    sum += samples[k];
  qsort(samples, n, sizeof *samples, rising);
  printf("%.1f %lu %lu %lu\n", sum / n, samples[n / 2], samples[n - 1 - n / 10000], samples[n - 1]);
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
  if (count > 3 && !strcmp(values[1], "host"))
    return print(host(n, strtoul(values[3], NULL, 10))), 0;
  for (unsigned i = 0; i < sizeof constructs / sizeof *constructs; i++) {
    if (strcmp(constructs[i].name, values[1]))
      continue;
    constructs[i].run(n < 200 ? n : 200);
    constructs[i].run(n);
    return print(n), 0;
  }
  return 2;
}
