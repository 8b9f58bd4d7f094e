/* Recursive radix-2 fast Fourier transform. */
#include "turns.h"
#include <complex.h>
#include <math.h>

enum { LEAF = 64 };
typedef double complex number;

static void combine(number *to, long from, long until, long half, const number *roots, long stride) {
  if (until - from > 2 * LEAF * 8) {
    long middle = (from + until) / 2;
#pragma omp task
    combine(to, from, middle, half, roots, stride);
#pragma omp task
    combine(to, middle, until, half, roots, stride);
#pragma omp taskwait
    return;
  }
  for (long k = from; k < until; k++) {
    number even = to[k], odd = to[k + half] * roots[k * stride];
    to[k] = even + odd;
    to[k + half] = even - odd;
  }
}

static void transform(const number *from, number *to, long n, long step, const number *roots) {
  if (n == 1) {
    *to = *from;
    return;
  }
  long half = n / 2;
  if (n > LEAF) {
#pragma omp task
    transform(from, to, half, 2 * step, roots);
#pragma omp task
    transform(from + step, to + half, half, 2 * step, roots);
#pragma omp taskwait
  } else {
    transform(from, to, half, 2 * step, roots);
    transform(from + step, to + half, half, 2 * step, roots);
  }
  combine(to, 0, half, half, roots, step);
}

int main(int count, char **values) {
  long n = 1l << argument(count, values, 19);
  number *in = malloc(n * sizeof *in), *out = malloc(n * sizeof *out), *roots = malloc(n * sizeof *in);
  uint64_t seed = 11;
  for (long i = 0; i < n; i++) {
    in[i] = random32(&seed) % 100;
    roots[i] = cexp(-2 * M_PI * I * i / n);
    out[i] = 0;
  }
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  transform(in, out, n, 1, roots);
  double sum = 0;
  for (long i = 0; i < n; i++)
    sum += cabs(out[i]) / n;
  stop_clock((uint64_t)(sum * 1000));
  free(in);
  free(out);
  free(roots);
}
