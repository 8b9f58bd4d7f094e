/* Alignment of two sequences by Smith and Waterman in blocks: diagonals of a dynamic loop inside one region. Argument: blocks. */
#include "turns.h"

enum { B = 32 };

int main(int count, char **values) {
  int n = argument(count, values, 24), width = n * B + 1, best = 0;
  char *a = malloc(width), *b = malloc(width);
  int *score = calloc((size_t)width * width, sizeof *score);
  uint64_t seed = 5;
  for (int i = 0; i < width; i++)
    a[i] = random32(&seed) % 4, b[i] = random32(&seed) % 4;
  start_clock();
#pragma omp parallel reduction(max : best)
  for (int diagonal = 0; diagonal < 2 * n - 1; diagonal++) {
    int first = diagonal < n ? 0 : diagonal - n + 1, last = diagonal < n ? diagonal : n - 1;
#pragma omp for schedule(dynamic, 1)
    for (int row = first; row <= last; row++)
      for (int i = row * B + 1; i <= row * B + B; i++)
        for (int j = (diagonal - row) * B + 1; j <= (diagonal - row) * B + B; j++) {
          int *here = score + (size_t)i * width + j, value = here[-width - 1] + (a[i] == b[j] ? 3 : -2);
          value = here[-1] - 2 > value ? here[-1] - 2 : value;
          value = here[-width] - 2 > value ? here[-width] - 2 : value;
          *here = value = value > 0 ? value : 0;
          best = value > best ? value : best;
        }
  }
  stop_clock(best);
  free(a), free(b), free(score);
  return 0;
}
