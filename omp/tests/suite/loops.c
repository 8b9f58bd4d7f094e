/* Loops: every schedule, type, direction and chunk visits each iteration once, in the order that
   the schedule promises. */
#include "../check.h"
#include <limits.h>
#include <sched.h>

#define N 997
static int hits[N];

static void once(const char *what) {
  for (int i = 0; i < N; i++)
    CHECK(hits[i] == 1, "%s: iteration %d ran %d times", what, i, hits[i]);
  memset(hits, 0, sizeof hits);
}

#define VISIT(I) __atomic_add_fetch(&hits[I], 1, __ATOMIC_RELAXED)

#define TRY(NAME)                                                             \
  do {                                                                        \
    _Pragma(NAME) for (int i = 0; i < N; i++) VISIT(i);                       \
    once(NAME);                                                               \
    _Pragma(NAME) for (int i = N - 1; i >= 0; i--) VISIT(i);                  \
    once(NAME " down");                                                       \
    _Pragma(NAME) for (long i = 10; i < 10 + 7L * N; i += 7) VISIT((i - 10) / 7); \
    once(NAME " by 7");                                                       \
    _Pragma(NAME) for (unsigned long long i = ULLONG_MAX - 3 * N; i < ULLONG_MAX - 2; i += 3) \
        VISIT((i - (ULLONG_MAX - 3 * N)) / 3);                                \
    once(NAME " at the end of unsigned long long");                           \
    _Pragma(NAME) for (unsigned long long i = 3 * N; i > 0; i -= 3) VISIT(i / 3 - 1); \
    once(NAME " unsigned down");                                              \
    _Pragma(NAME) for (int i = 5; i < 5; i++) VISIT(0);                       \
    _Pragma(NAME) for (int i = 5; i > 5; i--) VISIT(0);                       \
    CHECK(hits[0] == 0, NAME " ran an empty loop");                           \
  } while (0)

static void schedules(void) {
  TRY("omp parallel for schedule(static)");
  TRY("omp parallel for schedule(static, 1)");
  TRY("omp parallel for schedule(static, 13)");
  TRY("omp parallel for schedule(dynamic)");
  TRY("omp parallel for schedule(dynamic, 13)");
  TRY("omp parallel for schedule(dynamic, 100000)");
  TRY("omp parallel for schedule(guided)");
  TRY("omp parallel for schedule(guided, 13)");
  TRY("omp parallel for schedule(auto)");
  TRY("omp parallel for schedule(monotonic: dynamic, 5)");
  TRY("omp parallel for schedule(monotonic: guided, 5)");
  TRY("omp parallel for schedule(nonmonotonic: dynamic, 5)");
  omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
  for (int kind = 0; kind < 4; kind++)
    for (int chunk = 0; chunk < 20; chunk += 6) {
      omp_set_schedule(kinds[kind], chunk);
      TRY("omp parallel for schedule(runtime)");
      TRY("omp parallel for schedule(monotonic: runtime)");
      TRY("omp parallel for schedule(nonmonotonic: runtime)");
      TRY("omp parallel for ordered schedule(runtime)");
    }
  omp_set_schedule(omp_sched_dynamic, 1);
}

static void separate(void) {
#pragma omp parallel
  for (int round = 0; round < 50; round++) {
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < N; i++)
      VISIT(i);
#pragma omp single
    once("dynamic in a region");
#pragma omp for schedule(guided) nowait
    for (int i = 0; i < N; i++)
      VISIT(i);
#pragma omp barrier
#pragma omp single
    once("guided nowait in a region");
  }
}

static void static_is_fixed(void) {
  int owner[N];
#pragma omp parallel
  {
#pragma omp for schedule(static, 4) nowait
    for (int i = 0; i < N; i++)
      owner[i] = omp_get_thread_num();
#pragma omp for schedule(static, 4)
    for (int i = 0; i < N; i++)
      CHECK(owner[i] == omp_get_thread_num() && owner[i] == i / 4 % omp_get_num_threads());
  }
}

static void monotonic(void) {
#pragma omp parallel
  {
    int last = -1;
#pragma omp for schedule(monotonic: dynamic, 2)
    for (int i = 0; i < N; i++) {
      CHECK(i > last);
      last = i;
    }
  }
}

/* Threads that are ready take every chunk that a slow thread has not begun; chunks are whole. */
static void nonmonotonic(void) {
  static int others, owner[N];
  others = 0;
#pragma omp parallel
  {
#pragma omp for schedule(nonmonotonic: dynamic)
    for (int i = 0; i < N; i++) {
      VISIT(i);
      if (i == 0 && omp_get_num_threads() > 1)
        while (__atomic_load_n(&others, __ATOMIC_RELAXED) < N - 1)
          sched_yield();
      else
        __atomic_add_fetch(&others, 1, __ATOMIC_RELAXED);
    }
#pragma omp single
    once("nonmonotonic beside a slow thread");
#pragma omp for schedule(nonmonotonic: dynamic, 4)
    for (int i = 0; i < N; i++)
      owner[i] = omp_get_thread_num();
#pragma omp for
    for (int i = 0; i < N; i++)
      CHECK(owner[i] == owner[i - i % 4], "%d", i);
  }
  /* The thread of the last iteration, here the one that is ready first, keeps its values. */
  int last = -1, linear = 100;
#pragma omp parallel for lastprivate(last) linear(linear : 2) schedule(nonmonotonic: dynamic)
  for (int i = 0; i < N; i++) {
    last = i;
    linear += 2;
    if (omp_get_thread_num() < omp_get_num_threads() - 1)
      sched_yield();
  }
  CHECK(last == N - 1 && linear == 100 + 2 * N, "%d %d", last, linear);
}

static void clauses(void) {
  int last = -1, first = 3, product = 0, conditional = -1, linear = 100;
#pragma omp parallel for firstprivate(first) lastprivate(last) schedule(dynamic, 2)
  for (int i = 0; i < N; i++)
    last = i + first;
  CHECK(last == N - 1 + 3, "%d", last);
#pragma omp parallel for collapse(3) reduction(+ : product) schedule(guided)
  for (int i = 0; i < 7; i++)
    for (int j = 3; j > 0; j--)
      for (int k = 0; k < 10; k += 3)
        product += i * 100 + j * 10 + k;
  CHECK(product == 100 * 21 * 12 + 10 * 6 * 28 + 18 * 21, "%d", product);
#pragma omp parallel for lastprivate(conditional : conditional) schedule(dynamic, 3)
  for (int i = 0; i < N; i++)
    if (i % 10 == 3)
      conditional = i;
  CHECK(conditional == 993, "%d", conditional);
#pragma omp parallel for linear(linear : 2) schedule(dynamic)
  for (int i = 0; i < N; i++) {
    CHECK(linear == 100 + 2 * i);
    linear += 2;
  }
  CHECK(linear == 100 + 2 * N);
}

static void ordered(const int chunk) {
  int next = 0;
#pragma omp parallel for ordered schedule(dynamic, chunk)
  for (int i = 0; i < N; i++) {
    work(i % 7 * 10);
#pragma omp ordered
    {
      CHECK(next == i, "%d after %d", i, next);
      next = i + 1;
    }
  }
  CHECK(next == N);
  next = 0;
#pragma omp parallel for ordered schedule(static, chunk)
  for (int i = 0; i < N; i++) {
    if (i % 3 != 0) /* not every iteration has an ordered region */
      continue;
#pragma omp ordered
    {
      CHECK(next == i, "%d after %d", i, next);
      next = i + 3;
    }
  }
  next = 0;
#pragma omp parallel for ordered schedule(guided)
  for (unsigned long long i = 0; i < N; i++)
#pragma omp ordered
    CHECK(next++ == (int)i);
}

static void doacross(void) {
  static int grid[60][40], line[N];
#pragma omp parallel for ordered(2) schedule(dynamic, 2)
  for (int i = 0; i < 60; i++)
    for (int j = 0; j < 40; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
      int up = i ? grid[i - 1][j] : 1, left = j ? grid[i][j - 1] : 1;
      grid[i][j] = (up + left) % 1000003;
#pragma omp ordered depend(source)
    }
  static int expected[60][40];
  for (int i = 0; i < 60; i++)
    for (int j = 0; j < 40; j++) {
      int up = i ? expected[i - 1][j] : 1, left = j ? expected[i][j - 1] : 1;
      expected[i][j] = (up + left) % 1000003;
    }
  CHECK(!memcmp(grid, expected, sizeof grid));
#pragma omp parallel for ordered(1) schedule(static)
  for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 5)
    line[i] = i < 5 ? 1 : line[i - 5] + 1;
#pragma omp ordered depend(source)
  }
  for (int i = 0; i < N; i++)
    CHECK(line[i] == i / 5 + 1, "%d: %d", i, line[i]);
#pragma omp parallel for ordered(1) schedule(guided, 3)
  for (unsigned long long i = 4; i < N; i++) {
#pragma omp ordered depend(sink : i - 4)
    line[i] = line[i - 4] + 1;
#pragma omp ordered depend(source)
  }
}

static void run_ahead(void) {
  /* A thread may be many nowait constructs ahead of another one. */
  int flag = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1)
      while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
        nap_us(50);
    for (int k = 0; k < 200; k++) {
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < 3; i++)
        work(1);
    }
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  }
}

static void scans(void) {
  int in[N], out[N], sum = 0;
  for (int i = 0; i < N; i++)
    in[i] = i % 13;
#pragma omp parallel for reduction(inscan, + : sum)
  for (int i = 0; i < N; i++) {
    sum += in[i];
#pragma omp scan inclusive(sum)
    out[i] = sum;
  }
  for (int i = 0, expected = 0; i < N; i++) {
    expected += in[i];
    CHECK(out[i] == expected, "%d: %d", i, out[i]);
  }
}

/* Threads stand back while ordered regions follow each other quickly, and take part again when a chunk has a parallel part: every
   sixty-fourth iteration ends its own only when another thread has started the next iteration. */
static void ordered_with_parallel_parts(void) {
  enum { ITERATIONS = N, DISTANCE = 64 };
  static int started[ITERATIONS + 1], next;
  memset(started, 0, sizeof started);
  next = 0;
#pragma omp parallel for ordered schedule(dynamic, 1)
  for (int i = 0; i < ITERATIONS; i++) {
    __atomic_store_n(&started[i], 1, __ATOMIC_RELEASE);
    int waits = i % DISTANCE == DISTANCE - 1 && i + 1 < ITERATIONS && omp_get_num_threads() > 1;
    while (waits && !__atomic_load_n(&started[i + 1], __ATOMIC_ACQUIRE))
      nap_us(10);
#pragma omp ordered
    {
      CHECK(next == i, "%d in iteration %d", next, i);
      next = i + 1;
    }
  }
  CHECK(next == ITERATIONS, "%d", next);
}

int main(void) {
  schedules();
  separate();
  static_is_fixed();
  monotonic();
  nonmonotonic();
  clauses();
  ordered(1);
  ordered(7);
  ordered_with_parallel_parts();
  doacross();
  run_ahead();
  scans();
  return VERDICT();
}
