/* Breadth-first search, in the manner of GAPBS: dynamic chunks, atomic claims, a critical region for each thread's part of the next
   frontier. Argument: vertices / 1000. */
#include "turns.h"

enum { DEGREE = 8 };

int main(int count, char **values) {
  int n = argument(count, values, 40) * 1000;
  int *edges = malloc(sizeof *edges * n * DEGREE), *depth = malloc(sizeof *depth * n);
  int *frontier = malloc(sizeof *frontier * n), *next = malloc(sizeof *next * n);
  uint64_t seed = 11;
  for (int i = 0; i < n * DEGREE; i++)
    edges[i] = i % DEGREE == 0 ? (i / DEGREE + 1) % n : (int)((i / DEGREE + random32(&seed) % 4000) % n);
  for (int i = 0; i < n; i++)
    depth[i] = -1;
  start_clock();
  int size = 1, level = 0;
  frontier[0] = depth[0] = 0;
  while (size) {
    int found = 0;
    level++;
#pragma omp parallel
    {
      int mine[256], held = 0;
#pragma omp for schedule(dynamic, 64) nowait
      for (int i = 0; i < size; i++)
        for (int k = 0; k < DEGREE; k++) {
          int to = edges[frontier[i] * DEGREE + k], none = -1;
          if (__atomic_load_n(&depth[to], __ATOMIC_RELAXED) != -1 ||
              !__atomic_compare_exchange_n(&depth[to], &none, level, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
          mine[held++] = to;
          if (held < 256)
            continue;
#pragma omp critical
          {
            memcpy(next + found, mine, sizeof mine);
            found += held;
          }
          held = 0;
        }
#pragma omp critical
      {
        memcpy(next + found, mine, held * sizeof *mine);
        found += held;
      }
    }
    int *swap = frontier;
    frontier = next, next = swap, size = found;
  }
  uint64_t sum = 0;
  for (int i = 0; i < n; i++)
    sum += depth[i];
  stop_clock(sum);
  free(edges), free(depth), free(frontier), free(next);
  return 0;
}
