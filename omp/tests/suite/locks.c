/* Simple and nestable locks, also from threads that OpenMP did not make. */
#include "../check.h"
#include <pthread.h>

static omp_lock_t lock;
static omp_nest_lock_t nest;
static long counter;

static void *foreign(void *unused) {
  for (int i = 0; i < 2000; i++) {
    omp_set_lock(&lock);
    counter++;
    omp_unset_lock(&lock);
  }
#pragma omp parallel num_threads(2)
  {
    omp_set_lock(&lock);
    counter++;
    omp_unset_lock(&lock);
  }
  return unused;
}

static void deepen(int depth) {
  omp_set_nest_lock(&nest);
  counter++;
  if (depth)
    deepen(depth - 1);
  omp_unset_nest_lock(&nest);
}

int main(void) {
  int n = 0;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
#pragma omp parallel reduction(+ : n)
  {
    n++;
    for (int i = 0; i < 2000; i++) {
      if (i % 3)
        omp_set_lock(&lock);
      else
        while (!omp_test_lock(&lock)) {
        }
      counter++;
      omp_unset_lock(&lock);
    }
  }
  CHECK(counter == 2000L * n, "%ld", counter);
  counter = 0;
#pragma omp parallel
  for (int i = 0; i < 200; i++)
    deepen(4);
  CHECK(counter == 1000L * n, "%ld", counter);
  CHECK(omp_test_nest_lock(&nest) == 1 && omp_test_nest_lock(&nest) == 2);
  int other = -1;
#pragma omp parallel num_threads(2)
#pragma omp masked filter(1)
  other = omp_test_nest_lock(&nest);
  CHECK(other <= 0);
  omp_unset_nest_lock(&nest);
  omp_unset_nest_lock(&nest);
  counter = 0;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, foreign, NULL);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  CHECK(counter == 4 * 2002, "%ld", counter);
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
  return VERDICT();
}
