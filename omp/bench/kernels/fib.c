/* Fibonacci numbers by definition: nothing but tasks. */
#include "turns.h"

static int fib(int n) {
  int x, y;
  if (n < 2)
    return n;
#pragma omp task shared(x) firstprivate(n)
  x = fib(n - 1);
#pragma omp task shared(y) firstprivate(n)
  y = fib(n - 2);
#pragma omp taskwait
  return x + y;
}

int main(int count, char **values) {
  int n = argument(count, values, 31), result = 0;
#pragma omp parallel
  ; /* the team exists before the clock starts */
  start_clock();
#pragma omp parallel
#pragma omp single
  result = fib(n);
  stop_clock(result);
}
