/* A task set aside at a lock becomes ready by the hand of an inner region, while the worker that set it
   aside leads another inner region, which waits for a lock that the task holds. */
#include "../check.h"

static omp_lock_t first, second;
static int held, waiting, inside, done;

static void raise_flag(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELEASE); }
static int is_raised(int *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE); }

static void await(int *flag) {
  while (!is_raised(flag)) {
#pragma omp taskyield
  }
}

static void hold_first_until_inside(void) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) {
    omp_set_lock(&first);
    raise_flag(&held);
    while (!is_raised(&inside))
      nap_us(100);
    omp_unset_lock(&first);
  }
}

static void wait_for_first_with_second(void) {
  await(&held);
  omp_set_lock(&second);
  raise_flag(&waiting);
  omp_set_lock(&first);
  done++;
  omp_unset_lock(&first);
  omp_unset_lock(&second);
}

static void wait_for_second_inside(void) {
  await(&waiting);
#pragma omp parallel num_threads(2)
  {
#pragma omp single
    raise_flag(&inside);
    omp_set_lock(&second);
    done++;
    omp_unset_lock(&second);
  }
}

int main(void) {
  omp_init_lock(&first);
  omp_init_lock(&second);
  omp_set_max_active_levels(2);
  for (int round = 0; round < 20; round++) {
    held = waiting = inside = done = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
      hold_first_until_inside();
#pragma omp task
      wait_for_first_with_second();
#pragma omp task
      wait_for_second_inside();
    }
    CHECK(done == 3, "%d", done);
  }
  return VERDICT();
}
