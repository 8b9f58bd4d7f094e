/* Regions: number of threads, clauses, data environment, nesting, queries. */
#include "../check.h"

static int private_global;
#pragma omp threadprivate(private_global)

static void sizes(void) {
  for (int n = 1; n <= 9; n++) {
    int seen[9] = {0}, count = -1;
#pragma omp parallel num_threads(n) shared(seen, count)
    {
#pragma omp atomic
      seen[omp_get_thread_num()]++;
#pragma omp single
      count = omp_get_num_threads();
    }
    CHECK(count == n, "%d threads of %d", count, n);
    for (int i = 0; i < 9; i++)
      CHECK(seen[i] == (i < n), "thread %d of %d ran %d times", i, n, seen[i]);
  }
}

static void conditions(void) {
  int n = 0, in = -1;
#pragma omp parallel if (0)
  {
    n = omp_get_num_threads();
    in = omp_in_parallel();
  }
  CHECK(n == 1 && !in);
#pragma omp parallel num_threads(2)
#pragma omp single
  in = omp_in_parallel();
  CHECK(in);
  CHECK(!omp_in_parallel());
}

static void data(void) {
  int a = 1, b = 2, c = 3, sum = 0;
#pragma omp parallel num_threads(4) private(a) firstprivate(b) shared(c) reduction(+ : sum)
  {
    a = omp_get_thread_num();
    b += a;
    sum += b + c;
#pragma omp barrier
    CHECK(b == 2 + a);
  }
  CHECK(a == 1 && b == 2);
  CHECK(sum == 4 * (2 + 3) + 0 + 1 + 2 + 3, "%d", sum);
}

static void reductions(void) {
  int add = 5, mul = 2, max = -1, min = 100, and = -1, or = 0, xor = 0, land = 1, lor = 0;
  double d = 0.5;
  long array[3] = {1, 2, 3};
#pragma omp parallel for num_threads(4) reduction(+ : add, d, array) reduction(* : mul)           \
    reduction(max : max) reduction(min : min) reduction(& : and) reduction(| : or)                \
    reduction(^ : xor) reduction(&& : land) reduction(|| : lor)
  for (int i = 0; i < 20; i++) {
    add += i;
    d += 0.5;
    array[i % 3] += i;
    if (i < 5)
      mul *= 2;
    max = i > max ? i : max;
    min = i < min ? i : min;
    and &= ~(1 << i);
    or |= 1 << i;
    xor ^= i;
    land = land && i < 20;
    lor = lor || i == 7;
  }
  CHECK(add == 195 && mul == 64 && max == 19 && min == 0 && d == 10.5);
  CHECK(and == ~0xfffff && or == 0xfffff && xor == 0 && land && lor);
  CHECK(array[0] == 64 && array[1] == 72 && array[2] == 60, "%ld %ld %ld", array[0], array[1], array[2]);
}

static void threadprivates(void) {
  omp_set_dynamic(0);
  private_global = 7;
#pragma omp parallel num_threads(4) copyin(private_global)
  {
    CHECK(private_global == 7);
    private_global = 100 + omp_get_thread_num();
  }
#pragma omp parallel num_threads(4)
  CHECK(private_global == 100 + omp_get_thread_num(), "%d in %d", private_global, omp_get_thread_num());
}

static void nesting(void) {
  omp_set_max_active_levels(3);
  int counted = 0;
#pragma omp parallel num_threads(2)
  {
    int outer = omp_get_thread_num();
#pragma omp parallel num_threads(3)
    {
#pragma omp atomic
      counted++;
      CHECK(omp_get_level() == 2 && omp_get_active_level() == 2);
      CHECK(omp_get_ancestor_thread_num(1) == outer);
      CHECK(omp_get_ancestor_thread_num(2) == omp_get_thread_num());
      CHECK(omp_get_ancestor_thread_num(0) == 0 && omp_get_ancestor_thread_num(3) == -1);
      CHECK(omp_get_team_size(0) == 1 && omp_get_team_size(1) == 2 && omp_get_team_size(2) == 3);
#pragma omp parallel num_threads(2)
      {
#pragma omp atomic
        counted++;
#pragma omp parallel num_threads(4)
        CHECK(omp_get_num_threads() == 1 && omp_get_level() == 4 && omp_get_active_level() == 3);
      }
    }
  }
  CHECK(counted == 6 + 12, "%d", counted);
  omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3)
  CHECK(omp_get_num_threads() == 1);
}

static void controls(void) {
  int before = omp_get_max_threads();
  omp_set_num_threads(3);
  CHECK(omp_get_max_threads() == 3);
#pragma omp parallel
  {
    CHECK(omp_get_num_threads() == 3);
    omp_set_num_threads(5 + omp_get_thread_num());
#pragma omp barrier
    CHECK(omp_get_max_threads() == 5 + omp_get_thread_num());
  }
  CHECK(omp_get_max_threads() == 3);
  omp_set_num_threads(before);
  omp_set_dynamic(1);
  CHECK(omp_get_dynamic());
  omp_set_dynamic(0);
  CHECK(!omp_get_dynamic());
  omp_sched_t kind;
  int chunk;
  omp_set_schedule(omp_sched_guided, 17);
  omp_get_schedule(&kind, &chunk);
  CHECK(kind == omp_sched_guided && chunk == 17);
  omp_set_schedule(omp_sched_dynamic, 1);
  CHECK(omp_get_num_procs() >= 1 && omp_get_thread_limit() >= 1);
  CHECK(omp_get_wtime() > 0 && omp_get_wtick() > 0);
  CHECK(omp_get_level() == 0 && omp_get_team_size(0) == 1 && omp_get_team_size(1) == -1);
  CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0 && omp_is_initial_device());
}

static void many(void) {
  long sum = 0;
  for (int i = 0; i < 3000; i++)
#pragma omp parallel num_threads(i % 5 + 1) reduction(+ : sum)
    sum += omp_get_thread_num();
  CHECK(sum == 600 * (0 + 1 + 3 + 6 + 10), "%ld", sum);
}

int main(void) {
  sizes();
  conditions();
  data();
  reductions();
  threadprivates();
  nesting();
  controls();
  many();
  return VERDICT();
}
