/* `target` regions on the host: initial tasks of their own; tasks outside of regions. */
#include "../check.h"

static void constructs_inside_parallel(void) {
  int singles = 0, regions = 0, tasks = 0, levels = 0, largest = 0;
#pragma omp parallel shared(singles, regions, tasks, levels, largest)
  {
#pragma omp atomic
    regions++;
#pragma omp target map(tofrom : singles, tasks, levels, largest)
    {
#pragma omp single
#pragma omp atomic
      singles++;
#pragma omp barrier
      if (omp_get_level() != 0 || omp_in_parallel() || omp_get_num_threads() != 1 || omp_get_thread_num() != 0)
#pragma omp atomic
        levels++;
#pragma omp task shared(tasks)
      {
        nap_us(2000);
#pragma omp atomic
        tasks++;
      }
    }
    int done;
#pragma omp atomic read
    done = tasks;
    CHECK(done > 0);
#pragma omp target map(tofrom : largest) thread_limit(2)
    {
      int size = 0;
#pragma omp parallel num_threads(4) reduction(max : size)
      size = omp_get_num_threads();
#pragma omp critical
      if (size > largest)
        largest = size;
    }
  }
  CHECK(singles == regions && tasks == regions && levels == 0, "%d %d %d of %d", singles, tasks, levels, regions);
  CHECK(largest <= 2 && largest >= 1, "%d", largest);
}

static void team_inside(void) {
  int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp target map(tofrom : sum)
#pragma omp parallel for num_threads(3) reduction(+ : sum)
  for (int i = 0; i < 30; i++) {
#pragma omp task shared(sum)
    ;
    sum += 1;
  }
  CHECK(sum == 60, "%d", sum);
}

static void null_sources(int *nothing, int present) {
  int seen = 0;
#pragma omp target firstprivate(nothing, present) map(tofrom : seen)
  seen = nothing == NULL && present == 7;
  CHECK(seen);
  extern void GOMP_target_ext(int, void (*)(void *), size_t, void **, size_t *, unsigned short *, unsigned, void **,
                              void **);
  extern void check_null(void *);
  void *addresses[2] = {NULL, &present};
  size_t sizes[2] = {64, sizeof present};
  unsigned short kinds[2] = {12 | 3 << 8, 12 | 2 << 8};
  GOMP_target_ext(-1, check_null, 2, addresses, sizes, kinds, 0, NULL, NULL);
}

void check_null(void *data) {
  void **addresses = data;
  CHECK(addresses[0] == NULL && *(int *)addresses[1] == 7);
}

static void limits_of_busy_threads(void) {
  int warm = 0, size = 0;
#pragma omp parallel num_threads(4) reduction(+ : warm)
  warm++;
#pragma omp teams num_teams(1) thread_limit(2) shared(size)
#pragma omp parallel num_threads(4) reduction(max : size)
  size = omp_get_num_threads();
  CHECK(size <= 2, "%d: helpers that exist already count", size);
}

static void tasks_outside(void) {
  int order = 0, n = 0;
#pragma omp task shared(order, n)
  {
    order = n;
#pragma omp task shared(order, n)
    order += 10 * n;
  }
  n = 1;
  CHECK(order == 0, "the task ran when it was made");
#pragma omp taskwait
  CHECK(order == 0, "%d", order);
  int seen = -1;
#pragma omp target map(from : seen)
#pragma omp task shared(seen)
  seen = omp_get_level();
  CHECK(seen == 0);
}

int main(void) {
  tasks_outside();
  for (int round = 0; round < 20; round++) {
    constructs_inside_parallel();
    team_inside();
  }
  null_sources(NULL, 7);
  limits_of_busy_threads();
  return VERDICT();
}
