/* Races that ThreadSanitizer must report on this runtime: what one task writes and another one, which
   nothing orders behind it, touches. Relaxed atomics make the second come later without ordering it.
   Usage: races siblings | parent | critical | barrier */
#include "check.h"

static int victim, flag;

static void raise_flag(void) { __atomic_store_n(&flag, 1, __ATOMIC_RELAXED); }

static void await_flag(void) {
  while (!__atomic_load_n(&flag, __ATOMIC_RELAXED)) {
#pragma omp taskyield
  }
}

static void siblings(void) {
#pragma omp task
  {
    victim = 1;
    raise_flag();
  }
#pragma omp task
  {
    await_flag();
    victim++;
  }
#pragma omp taskwait
}

static void parent(void) {
#pragma omp task
  {
    victim = 1;
    raise_flag();
  }
  await_flag();
  CHECK(victim == 1);
#pragma omp taskwait
}

static void critical(void) {
#pragma omp task
  {
#pragma omp critical(one)
    victim = 1;
    raise_flag();
  }
#pragma omp task
  {
    await_flag();
#pragma omp critical(two)
    victim++;
  }
#pragma omp taskwait
}

/* Two threads after the barrier that they have in common. */
static void barrier(void) {
  if (omp_get_thread_num() == 0) {
    victim = 1;
    raise_flag();
  } else {
    await_flag();
    victim++;
  }
}

int main(int count, char **words) {
  const char *which = count > 1 ? words[1] : "";
#pragma omp parallel num_threads(2)
  {
    if (!strcmp(which, "barrier")) {
#pragma omp barrier
      barrier();
    } else {
#pragma omp single
      {
        if (!strcmp(which, "siblings"))
          siblings();
        if (!strcmp(which, "parent"))
          parent();
        if (!strcmp(which, "critical"))
          critical();
      }
    }
  }
  return VERDICT();
}
