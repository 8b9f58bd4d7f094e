/* Tiled Cholesky factorisation: tasks ordered by `depend`. Argument: tiles along an edge. */
#include "turns.h"
#include <math.h>

enum { B = 24 };
typedef double tile[B][B];

static void factor(tile a) {
  for (int k = 0; k < B; k++) {
    a[k][k] = sqrt(a[k][k]);
    for (int i = k + 1; i < B; i++)
      a[i][k] /= a[k][k];
    for (int j = k + 1; j < B; j++)
      for (int i = j; i < B; i++)
        a[i][j] -= a[i][k] * a[j][k];
  }
}

static void solve(tile l, tile a) {
  for (int i = 0; i < B; i++)
    for (int k = 0; k < B; k++) {
      a[i][k] /= l[k][k];
      for (int j = k + 1; j < B; j++)
        a[i][j] -= a[i][k] * l[j][k];
    }
}

static void update(tile a, tile b, tile c) {
  for (int i = 0; i < B; i++)
    for (int j = 0; j < B; j++) {
      double sum = 0;
      for (int k = 0; k < B; k++)
        sum += a[i][k] * b[j][k];
      c[i][j] -= sum;
    }
}

int main(int count, char **values) {
  int n = argument(count, values, 12);
  tile *a = calloc((size_t)n * n, sizeof *a);
#define A(i, j) a[(i) * n + (j)]
  for (int i = 0; i < n * B; i++)
    for (int j = 0; j <= i; j++)
      A(i / B, j / B)[i % B][j % B] = i == j ? 2.0 * n * B : 1.0 / (1 + i - j);
  start_clock();
#pragma omp parallel
#pragma omp single
  for (int k = 0; k < n; k++) {
#pragma omp task depend(inout : A(k, k))
    factor(A(k, k));
    for (int i = k + 1; i < n; i++)
#pragma omp task depend(in : A(k, k)) depend(inout : A(i, k))
      solve(A(k, k), A(i, k));
    for (int i = k + 1; i < n; i++)
      for (int j = k + 1; j <= i; j++)
#pragma omp task depend(in : A(i, k), A(j, k)) depend(inout : A(i, j))
        update(A(i, k), A(j, k), A(i, j));
  }
  double sum = 0;
  for (int i = 0; i < n * B; i++)
    sum += A(i / B, i / B)[i % B][i % B];
  stop_clock((uint64_t)(sum * 1000));
  free(a);
  return 0;
}
