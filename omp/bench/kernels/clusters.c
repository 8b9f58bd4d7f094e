/* k-means: a static loop into private sums, which a critical region adds up; about 100 us a region. Argument: points / 1000. */
#include "turns.h"

enum { K = 8, D = 4 };

int main(int count, char **values) {
  int n = argument(count, values, 16) * 1000;
  long(*points)[D] = malloc(sizeof *points * n), centre[K][D];
  uint64_t seed = 9;
  for (int i = 0; i < n; i++)
    for (int d = 0; d < D; d++)
      points[i][d] = random32(&seed) % 10000;
  memcpy(centre, points, sizeof centre);
  start_clock();
  for (int step = 0; step < 20; step++) {
    long sums[K][D + 1] = {{0}};
#pragma omp parallel
    {
      long mine[K][D + 1] = {{0}};
#pragma omp for nowait
      for (int i = 0; i < n; i++) {
        long best = 0, least = -1;
        for (int k = 0; k < K; k++) {
          long square = 0;
          for (int d = 0; d < D; d++)
            square += (points[i][d] - centre[k][d]) * (points[i][d] - centre[k][d]);
          if (least < 0 || square < least)
            least = square, best = k;
        }
        for (int d = 0; d < D; d++)
          mine[best][d] += points[i][d];
        mine[best][D]++;
      }
#pragma omp critical
      for (int k = 0; k < K; k++)
        for (int d = 0; d <= D; d++)
          sums[k][d] += mine[k][d];
    }
    for (int k = 0; k < K; k++)
      for (int d = 0; d < D; d++)
        centre[k][d] = sums[k][D] ? sums[k][d] / sums[k][D] : centre[k][d];
  }
  uint64_t sum = 0;
  for (int k = 0; k < K; k++)
    sum += centre[k][0] + centre[k][1];
  stop_clock(sum);
  free(points);
  return 0;
}
