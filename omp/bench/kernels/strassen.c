/* Strassen's matrix multiplication: seven products per level, additions in between. */
#include "turns.h"

enum { LEAF = 64 };

static void add(int n, const double *a, int sa, const double *b, int sb, double *c, double sign) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      c[i * n + j] = a[i * sa + j] + sign * b[i * sb + j];
}

static void plain(int n, const double *a, int sa, const double *b, int sb, double *c) {
  memset(c, 0, n * n * sizeof *c);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      for (int j = 0; j < n; j++)
        c[i * n + j] += a[i * sa + k] * b[k * sb + j];
}

static void multiply(int n, const double *a, int sa, const double *b, int sb, double *c);

static void product(int n, const double *a1, const double *a2, int sa, double signa, const double *b1,
                    const double *b2, int sb, double signb, double *c) {
  double *buffer = malloc(2 * n * n * sizeof *buffer), *x = buffer, *y = buffer + n * n;
  int sx = n, sy = n;
  if (a2)
    add(n, a1, sa, a2, sa, x, signa);
  else
    x = (double *)a1, sx = sa;
  if (b2)
    add(n, b1, sb, b2, sb, y, signb);
  else
    y = (double *)b1, sy = sb;
  multiply(n, x, sx, y, sy, c);
  free(buffer);
}

static void multiply(int n, const double *a, int sa, const double *b, int sb, double *c) {
  if (n <= LEAF) {
    plain(n, a, sa, b, sb, c);
    return;
  }
  int h = n / 2;
  const double *a11 = a, *a12 = a + h, *a21 = a + h * sa, *a22 = a21 + h;
  const double *b11 = b, *b12 = b + h, *b21 = b + h * sb, *b22 = b21 + h;
  double *m = malloc(7ul * h * h * sizeof *m);
#define M(I) (m + (I - 1) * (long)h * h)
#pragma omp task
  product(h, a11, a22, sa, 1, b11, b22, sb, 1, M(1));
#pragma omp task
  product(h, a21, a22, sa, 1, b11, NULL, sb, 0, M(2));
#pragma omp task
  product(h, a11, NULL, sa, 0, b12, b22, sb, -1, M(3));
#pragma omp task
  product(h, a22, NULL, sa, 0, b21, b11, sb, -1, M(4));
#pragma omp task
  product(h, a11, a12, sa, 1, b22, NULL, sb, 0, M(5));
#pragma omp task
  product(h, a21, a11, sa, -1, b11, b12, sb, 1, M(6));
#pragma omp task
  product(h, a12, a22, sa, -1, b21, b22, sb, 1, M(7));
#pragma omp taskwait
  for (int i = 0; i < h; i++)
    for (int j = 0; j < h; j++) {
      long at = i * (long)h + j;
      c[i * n + j] = M(1)[at] + M(4)[at] - M(5)[at] + M(7)[at];
      c[i * n + j + h] = M(3)[at] + M(5)[at];
      c[(i + h) * n + j] = M(2)[at] + M(4)[at];
      c[(i + h) * n + j + h] = M(1)[at] - M(2)[at] + M(3)[at] + M(6)[at];
    }
  free(m);
}

int main(int count, char **values) {
  int n = argument(count, values, 1024);
  double *a = malloc(n * (long)n * sizeof *a), *b = malloc(n * (long)n * sizeof *b);
  double *c = malloc(n * (long)n * sizeof *c);
  uint64_t seed = 7;
  for (long i = 0; i < (long)n * n; i++) {
    a[i] = random32(&seed) % 16;
    b[i] = random32(&seed) % 16;
    c[i] = 0;
  }
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  multiply(n, a, n, b, n, c);
  double trace = 0;
  for (int i = 0; i < n; i++)
    trace += c[i * (long)n + i];
  stop_clock((uint64_t)trace);
  free(a);
  free(b);
  free(c);
}
