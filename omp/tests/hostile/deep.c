/* Recursion far deeper than one stack: a waiting task is set aside and the next one gets another. */
#include "../check.h"

static int nodes;

static void deep(int depth) {
  nodes++;
  if (depth > 0) {
#pragma omp task
    deep(depth - 1);
#pragma omp taskwait
  }
}

int main(void) {
#pragma omp parallel
#pragma omp single
  deep(300000);
  CHECK(nodes == 300001, "%d", nodes);
  return VERDICT();
}
