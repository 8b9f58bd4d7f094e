/* Cancellation of regions, loops, sections, taskgroups. environment: OMP_CANCELLATION=true */
#include "../check.h"

static void loops(void) {
  int ran = 0, after = 0, n = 0;
#pragma omp parallel reduction(+ : n)
  {
    n++;
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 1000000; i++) {
#pragma omp atomic
      ran++;
      if (i == 100) {
#pragma omp cancel for
      }
#pragma omp cancellation point for
    }
#pragma omp atomic
    after++;
  }
  CHECK(ran < 1000000 && ran >= 100, "%d", ran);
  CHECK(after == n);
}

static void sections(void) {
  int ran = 0;
#pragma omp parallel num_threads(1)
#pragma omp sections
  {
#pragma omp section
    {
      ran++;
#pragma omp cancel sections
    }
#pragma omp section
    ran += 100;
  }
  CHECK(ran == 1, "%d", ran);
}

static void regions(void) {
  for (int round = 0; round < 100; round++) {
    int passed = 0, tasks = 0;
#pragma omp parallel shared(passed, tasks)
    {
      if (omp_get_thread_num() == omp_get_num_threads() - 1) {
#pragma omp task shared(tasks)
#pragma omp atomic
        tasks++;
#pragma omp cancel parallel
      }
#pragma omp barrier
#pragma omp atomic
      passed++;
    }
    CHECK(passed == 0, "%d", passed);
    int n = 0, m = 0;
#pragma omp parallel reduction(+ : n) shared(m)
    {
      n++;
#pragma omp barrier
#pragma omp atomic
      m++;
    }
    CHECK(n == m);
  }
}

/* Constructs that end in a barrier which the cancelled region leaves as well. */
static void constructs_in_cancelled_regions(void) {
  int looped = 0, sectioned = 0, passed = 0;
#pragma omp parallel shared(looped, sectioned, passed)
  {
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 300; i++)
#pragma omp atomic
      looped++;
#pragma omp sections
    {
#pragma omp section
#pragma omp atomic
      sectioned++;
#pragma omp section
#pragma omp atomic
      sectioned++;
    }
#pragma omp cancel parallel if (omp_get_thread_num() == 0)
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 300; i++)
      work(10);
#pragma omp atomic
    passed++;
  }
  CHECK(looped == 300 && sectioned == 2 && passed == 0, "%d, %d, %d", looped, sectioned, passed);
}

static void groups(void) {
  int ran = 0, outside = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task shared(outside)
    outside = 1;
#pragma omp taskgroup
    for (int i = 0; i < 1000; i++) {
#pragma omp task shared(ran)
      {
#pragma omp cancellation point taskgroup
        if (__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED) == 10) {
#pragma omp cancel taskgroup
        }
      }
    }
  }
  CHECK(ran >= 10 && ran < 1000, "%d", ran);
  CHECK(outside == 1);
}

int main(void) {
  CHECK(omp_get_cancellation());
  loops();
  sections();
  regions();
  constructs_in_cancelled_regions();
  groups();
  return VERDICT();
}
