/* Once the stacks and descriptors that a program needs at a time exist, nothing is allocated: rounds of
   everything, until a hundred of them in a row have not asked for memory. */
#define _GNU_SOURCE
#include "../check.h"
#include <dlfcn.h>
#include <stdint.h>

enum { CALM = 100, MOST = 50000 };

static long sink;

static int fib(int n) {
  int a, b;
  if (n < 2)
    return n;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void tasks(void) {
  int x = 0;
  sink += fib(9);
#pragma omp taskgroup
  for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : x) shared(x)
    x++;
#pragma omp task priority(i)
    work(10);
  }
#pragma omp taskloop grainsize(3)
  for (int i = 0; i < 20; i++) {
#pragma omp critical
    sink++;
  }
  omp_set_num_threads(omp_get_max_threads());
  CHECK(x == 20, "%d", x);
}

static void round_of_everything(void) {
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 2) nowait
    for (int i = 0; i < 30; i++)
      work(5);
#pragma omp for schedule(guided) ordered
    for (int i = 0; i < 10; i++) {
#pragma omp ordered
      sink++;
    }
#pragma omp sections
    {
#pragma omp section
      work(5);
#pragma omp section
      work(5);
    }
#pragma omp single
    tasks();
  }
}

int main(void) {
  uint64_t (*allocations)(void) = dlsym(RTLD_DEFAULT, "bulkhead_omp_allocations");
  CHECK(allocations, "not on this runtime");
  if (!allocations)
    return VERDICT();
  int calm = 0, rounds = 0;
  for (uint64_t before = allocations(); calm < CALM && rounds < MOST; rounds++) {
    round_of_everything();
    uint64_t now = allocations();
    calm = now == before ? calm + 1 : 0;
    before = now;
  }
  CHECK(calm == CALM, "still allocating after %d rounds: %lu", rounds, (unsigned long)allocations());
  return VERDICT();
}
