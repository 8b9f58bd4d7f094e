/* Loops over unsigned long long, and the forms of a loop inside a region. The compiler does not know
   the bounds, so that each schedule goes through the entries of its own. */
#include "../check.h"
#include <limits.h>

typedef unsigned long long wide;

enum { N = 331 };
static int hits[N];
/* Past the middle of the type, so that signed arithmetic would go wrong. */
static volatile wide low = LLONG_MAX - 100ull, step = 3, high = LLONG_MAX - 100ull + 3 * N;

#define VISIT(I) __atomic_add_fetch(&hits[I], 1, __ATOMIC_RELAXED)

static void once(const char *what) {
  for (int i = 0; i < N; i++)
    CHECK(hits[i] == 1, "%s: iteration %d ran %d times", what, i, hits[i]);
  memset(hits, 0, sizeof hits);
}

#define EACH(PRAGMA)                                                          \
  do {                                                                        \
    _Pragma(PRAGMA) for (wide i = low; i < high; i += step)                   \
        VISIT((i - low) / step);                                              \
    _Pragma("omp single") once(PRAGMA " up");                                 \
    _Pragma(PRAGMA) for (wide i = high; i > low; i -= step)                   \
        VISIT((i - low) / step - 1);                                          \
    _Pragma("omp single") once(PRAGMA " down");                               \
    _Pragma(PRAGMA) for (wide i = high; i < low; i += step) CHECK(0, PRAGMA " ran an empty loop"); \
    _Pragma(PRAGMA) for (long i = -(long)N; i < (long)(low - high) / 3 + N; i++) VISIT(i + N); \
    _Pragma("omp single") once(PRAGMA " over long");                          \
  } while (0)

static void schedules(void) {
#pragma omp parallel
  {
    EACH("omp for schedule(static)");
    EACH("omp for schedule(static, 4)");
    EACH("omp for schedule(dynamic)");
    EACH("omp for schedule(dynamic, 50)");
    EACH("omp for schedule(guided)");
    EACH("omp for schedule(guided, 5)");
    EACH("omp for schedule(monotonic: dynamic, 2)");
    EACH("omp for schedule(monotonic: guided, 2)");
  }
  omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto,
                         omp_sched_monotonic | omp_sched_dynamic};
  for (int kind = 0; kind < 5; kind++) {
    omp_set_schedule(kinds[kind], kind);
#pragma omp parallel
    {
      EACH("omp for schedule(runtime)");
      EACH("omp for schedule(monotonic: runtime)");
      EACH("omp for schedule(nonmonotonic: runtime)");
    }
  }
  omp_set_schedule(omp_sched_dynamic, 1);
}

static wide next;
static long narrow;

#define IN_ORDER(PRAGMA)                                                      \
  do {                                                                        \
    next = low, narrow = 0;                                                   \
    _Pragma(PRAGMA) for (wide i = low; i < high; i += step) {                 \
      work((long)(i % 5) * 10);                                               \
      _Pragma("omp ordered") {                                                \
        CHECK(next == i, PRAGMA ": %llu after %llu", i, next);                \
        next = i + step;                                                      \
      }                                                                       \
    }                                                                         \
    CHECK(next == high);                                                      \
  } while (0)

static void ordered(void) {
  IN_ORDER("omp parallel for ordered schedule(static)");
  IN_ORDER("omp parallel for ordered schedule(static, 3)");
  IN_ORDER("omp parallel for ordered schedule(dynamic, 2)");
  IN_ORDER("omp parallel for ordered schedule(guided, 2)");
  omp_set_schedule(omp_sched_guided, 3);
  IN_ORDER("omp parallel for ordered schedule(runtime)");
  omp_set_schedule(omp_sched_dynamic, 1);
}

static int line[N];

#define CHAIN(PRAGMA, TYPE)                                                   \
  do {                                                                        \
    line[0] = line[1] = line[2] = 1;                                          \
    TYPE first = (TYPE)(low - low + 3), last = (TYPE)((high - low) / step);       \
    _Pragma(PRAGMA) for (TYPE i = first; i < last; i++) {                     \
      _Pragma("omp ordered depend(sink : i - 3)") line[i] = line[i - 3] + 1; \
      _Pragma("omp ordered depend(source)")                                   \
    }                                                                         \
    for (int i = 0; i < N; i++)                                               \
      CHECK(line[i] == i / 3 + 1, PRAGMA ": line[%d] is %d", i, line[i]);     \
  } while (0)

static void doacross(void) {
  for (int type = 0; type < 2; type++) {
    omp_set_schedule(type ? omp_sched_static : omp_sched_dynamic, 2);
    CHAIN("omp parallel for ordered(1) schedule(static)", wide);
    CHAIN("omp parallel for ordered(1) schedule(dynamic)", wide);
    CHAIN("omp parallel for ordered(1) schedule(guided)", wide);
    CHAIN("omp parallel for ordered(1) schedule(runtime)", wide);
    CHAIN("omp parallel for ordered(1) schedule(runtime)", long);
  }
  omp_set_schedule(omp_sched_dynamic, 1);
}

/* Loops with tasks that take part in their reduction. */
#define REDUCES(PRAGMA, TYPE, ORDERED)                                        \
  do {                                                                        \
    long sum = 0;                                                             \
    TYPE first = (TYPE)(low - low), last = (TYPE)((high - low) / step);       \
    _Pragma("omp parallel") _Pragma(PRAGMA) for (TYPE i = first; i < last; i++) { \
      sum += 1;                                                               \
      _Pragma("omp task in_reduction(+ : sum)") sum += (long)i;               \
      ORDERED                                                                 \
    }                                                                         \
    CHECK(sum == N + N * (N - 1L) / 2, PRAGMA ": %ld", sum);                  \
  } while (0)

static void task_reductions(void) {
  REDUCES("omp for reduction(task, + : sum) schedule(dynamic, 5)", wide, );
  REDUCES("omp for reduction(task, + : sum) schedule(guided)", long, );
  REDUCES("omp for reduction(task, + : sum) schedule(static)", wide, );
  REDUCES("omp for reduction(task, + : sum) ordered schedule(dynamic, 3)", wide,
          _Pragma("omp ordered") narrow = 0;);
  REDUCES("omp for reduction(task, + : sum) ordered schedule(dynamic, 3)", long,
          _Pragma("omp ordered") narrow = 0;);
  REDUCES("omp for reduction(task, + : sum) ordered(1) schedule(static)", wide,
          _Pragma("omp ordered depend(source)"));
  REDUCES("omp for reduction(task, + : sum) ordered(1) schedule(dynamic)", long,
          _Pragma("omp ordered depend(sink : i - 1)") _Pragma("omp ordered depend(source)"));
  long scoped = 0;
  int n = 0;
#pragma omp parallel
  {
#pragma omp scope reduction(task, + : scoped)
    {
#pragma omp task in_reduction(+ : scoped)
      scoped += 5;
    }
#pragma omp single
    n = omp_get_num_threads();
  }
  CHECK(scoped == 5 * n, "%ld", scoped);
}

static void taskloops(void) {
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop grainsize(7)
    for (wide i = low; i < high; i += step)
      VISIT((i - low) / step);
    once("taskloop up");
#pragma omp taskloop num_tasks(9)
    for (wide i = high; i > low; i -= step)
      VISIT((i - low) / step - 1);
    once("taskloop down");
#pragma omp taskloop
    for (wide i = high; i < low; i += step)
      CHECK(0, "an empty taskloop ran");
    long sum = 0;
#pragma omp taskloop reduction(+ : sum)
    for (wide i = low; i < high; i += step)
      sum += (long)((i - low) / step);
    CHECK(sum == N * (N - 1L) / 2, "%ld", sum);
  }
}

int main(void) {
  schedules();
  ordered();
  doacross();
  task_reductions();
  taskloops();
  return VERDICT();
}
