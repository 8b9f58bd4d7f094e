/* Conjugate gradients on a sparse matrix, in the manner of NPB's CG: many short loops with reductions. Argument: rows / 1000. */
#include "turns.h"

enum { PER_ROW = 11 };

int main(int count, char **values) {
  int n = argument(count, values, 8) * 1000;
  double *a = malloc(sizeof *a * n * PER_ROW), *x = calloc(n, sizeof *x), *r = malloc(sizeof *r * n);
  double *p = malloc(sizeof *p * n), *q = malloc(sizeof *q * n);
  int *column = malloc(sizeof *column * n * PER_ROW);
  uint64_t seed = 7;
  for (int i = 0; i < n * PER_ROW; i++) {
    int on_diagonal = i % PER_ROW == 0;
    column[i] = on_diagonal ? i / PER_ROW : (int)(random32(&seed) % n);
    a[i] = on_diagonal ? 20.0 : 1e-3 * (random32(&seed) % 1000);
  }
  double rho = 0;
  for (int i = 0; i < n; i++)
    rho += (r[i] = p[i] = 1.0);
  start_clock();
  for (int step = 0; step < 25; step++) {
    double d = 0, next = 0;
#pragma omp parallel for reduction(+ : d)
    for (int i = 0; i < n; i++) {
      double sum = 0;
      for (int k = i * PER_ROW; k < (i + 1) * PER_ROW; k++)
        sum += a[k] * p[column[k]];
      q[i] = sum;
      d += p[i] * sum;
    }
    double alpha = rho / d;
#pragma omp parallel for reduction(+ : next)
    for (int i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      next += r[i] * r[i];
    }
    double beta = next / rho;
    rho = next;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
      p[i] = r[i] + beta * p[i];
  }
  double norm = 0;
  for (int i = 0; i < n; i++)
    norm += x[i] * x[i];
  stop_clock((uint64_t)(norm * 10));
  free(a), free(x), free(r), free(p), free(q), free(column);
  return 0;
}
