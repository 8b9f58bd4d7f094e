/* Rows of very different cost: `schedule(dynamic, 1)`. Argument: rows. */
#include "turns.h"

int main(int count, char **values) {
  int n = argument(count, values, 160);
  uint64_t sum = 0;
  start_clock();
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double x = 0, y = 0, cx = 3.0 * j / n - 2.1, cy = 2.4 * i / n - 1.2;
      int k = 0;
      for (; k < 300 && x * x + y * y < 4; k++) {
        double t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
      }
      sum += k;
    }
  stop_clock(sum);
  return 0;
}
