/* A kernel measures itself and prints one line: seconds, seconds of processor time, a checksum, peak
   memory in KiB. */
#ifndef BENCH_H
#define BENCH_H
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double started, started_cpu;

static inline double cpu_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void start_clock(void) {
  started = omp_get_wtime();
  started_cpu = cpu_seconds();
}

/* Peak of the resident set since exec; getrusage would count the caller's before exec. */
static inline long peak_kib(void) {
  char line[256];
  long kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmHWM: %ld", &kib) == 1)
      break;
  if (status)
    fclose(status);
  return kib;
}

static inline void stop_clock(uint64_t checksum) {
  double seconds = omp_get_wtime() - started, cpu = cpu_seconds() - started_cpu;
  printf("%.9f %.9f %llu %ld\n", seconds, cpu, (unsigned long long)checksum, peak_kib());
}

static inline uint32_t random32(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 32);
}

static inline int argument(int count, char **values, int fallback) {
  return count > 1 ? atoi(values[1]) : fallback;
}
#endif
