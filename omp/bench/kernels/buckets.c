/* Integers sorted by buckets, in the manner of NPB's IS: private counts, barriers, a prefix sum by one thread. Argument: keys / 1000. */
#include "turns.h"

enum { BUCKETS = 1024, MOST = 64 };

int main(int count, char **values) {
  int n = argument(count, values, 500) * 1000;
  uint32_t *keys = malloc(sizeof *keys * n), *sorted = malloc(sizeof *sorted * n);
  int(*counts)[BUCKETS] = calloc(MOST, sizeof *counts);
  start_clock();
  for (int round = 0; round < 3; round++) {
    int threads = 1;
#pragma omp parallel
    {
      int me = omp_get_thread_num();
#pragma omp single
      threads = omp_get_num_threads();
      memset(counts[me], 0, sizeof *counts);
#pragma omp for
      for (int i = 0; i < n; i++)
        keys[i] = (uint32_t)(i + round) * 2654435761u;
#pragma omp for schedule(static)
      for (int i = 0; i < n; i++)
        counts[me][keys[i] >> 22]++;
#pragma omp single
      for (int b = 0, place = 0; b < BUCKETS; b++)
        for (int t = 0; t < threads; t++) {
          int size = counts[t][b];
          counts[t][b] = place;
          place += size;
        }
#pragma omp for schedule(static)
      for (int i = 0; i < n; i++)
        sorted[counts[me][keys[i] >> 22]++] = keys[i];
    }
  }
  uint64_t sum = 0;
  for (int i = 0; i < n; i++)
    sum += (uint64_t)(sorted[i] >> 22) * (i % 1000);
  stop_clock(sum);
  free(keys), free(sorted), free(counts);
  return 0;
}
