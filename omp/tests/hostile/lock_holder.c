/* A creator floods the queue with tasks that need the lock it holds. */
#include "../check.h"

static long done;

static void locked(void) {
#pragma omp critical
  done++;
}

int main(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp task
    {
#pragma omp critical
      for (int i = 0; i < 5000; i++) {
#pragma omp task
        locked();
      }
    }
  }
  CHECK(done == 5000, "%ld", done);
  return VERDICT();
}
