/* Jacobi iterations on a cube, one region around all of them: barriers, `single`, static loops. Argument: edge. */
#include "turns.h"

int main(int count, char **values) {
  int n = argument(count, values, 48);
  size_t cells = (size_t)n * n * n;
  float *from = calloc(cells, sizeof *from), *to = calloc(cells, sizeof *to);
  for (size_t i = 0; i < cells; i++)
    from[i] = to[i] = (float)(i % 17);
  int steps = 0;
  start_clock();
#pragma omp parallel
  for (int step = 0; step < 60; step++) {
#pragma omp for collapse(2)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++) {
        const float *c = from + ((size_t)i * n + j) * n;
        float *out = to + ((size_t)i * n + j) * n;
        for (int k = 1; k < n - 1; k++)
          out[k] = (c[k] + c[k - 1] + c[k + 1] + c[k - n] + c[k + n] + c[k - n * n] + c[k + n * n]) / 7;
      }
#pragma omp single
    {
      float *swap = from;
      from = to, to = swap;
      steps++;
    }
  }
  double sum = 0;
  for (size_t i = 0; i < cells; i++)
    sum += from[i];
  stop_clock((uint64_t)(sum + steps));
  free(from), free(to);
  return 0;
}
