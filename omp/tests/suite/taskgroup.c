/* taskgroup, taskloop, task reductions, detached tasks. */
#include "../check.h"
#include <limits.h>
#include <pthread.h>

static void groups(void) {
  int count = 0;
#pragma omp parallel
#pragma omp single
  for (int round = 0; round < 50; round++) {
    int before = round * 12;
#pragma omp taskgroup
    for (int i = 0; i < 3; i++) {
#pragma omp task shared(count)
      {
        for (int j = 0; j < 3; j++) {
#pragma omp task shared(count)
          {
            work(100);
#pragma omp atomic
            count++;
          }
        }
#pragma omp atomic
        count++;
      }
    }
    CHECK(count == before + 12, "%d in round %d", count, round);
  }
}

static void nested_groups(void) {
  int inner = 0, outer = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
  {
#pragma omp task shared(outer, inner)
    {
      for (int i = 0; i < 20; i++) {
#pragma omp taskgroup
        {
#pragma omp task shared(inner)
#pragma omp atomic
          inner++;
        }
        CHECK(inner >= i + 1);
#pragma omp task shared(outer)
#pragma omp atomic
        outer++;
      }
    }
  }
  CHECK(inner == 20 && outer == 20);
}

#define N 1000
static int hits[N];

static void once(const char *what) {
  for (int i = 0; i < N; i++)
    CHECK(hits[i] == 1, "%s: iteration %d ran %d times", what, i, hits[i]);
  memset(hits, 0, sizeof hits);
}

#define LOOP(PRAGMA)                                                          \
  do {                                                                        \
    _Pragma(PRAGMA) for (int i = 0; i < N; i++)                               \
        __atomic_add_fetch(&hits[i], 1, __ATOMIC_RELAXED);                    \
    once(PRAGMA);                                                             \
    _Pragma(PRAGMA) for (long i = 3 * N; i > 0; i -= 3)                       \
        __atomic_add_fetch(&hits[i / 3 - 1], 1, __ATOMIC_RELAXED);            \
    once(PRAGMA " down");                                                     \
    _Pragma(PRAGMA) for (unsigned long long i = ULLONG_MAX - N; i < ULLONG_MAX; i++) \
        __atomic_add_fetch(&hits[i - (ULLONG_MAX - N)], 1, __ATOMIC_RELAXED); \
    once(PRAGMA " unsigned long long");                                       \
    _Pragma(PRAGMA) for (int i = 7; i < 7; i++) CHECK(0);                     \
  } while (0)

static void taskloops(void) {
#pragma omp parallel
#pragma omp single
  {
    LOOP("omp taskloop");
    LOOP("omp taskloop grainsize(7)");
    LOOP("omp taskloop num_tasks(3)");
    LOOP("omp taskloop num_tasks(5000)");
    LOOP("omp taskloop if(0)");
    LOOP("omp taskloop final(1) mergeable untied");
    LOOP("omp taskloop grainsize(strict: 9)");
    LOOP("omp taskloop num_tasks(strict: 9)");
    int last = -1;
#pragma omp taskloop lastprivate(last) grainsize(10)
    for (int i = 0; i < N; i++)
      last = i;
    CHECK(last == N - 1);
#pragma omp taskgroup
    {
#pragma omp taskloop nogroup
      for (int i = 0; i < N; i++)
        __atomic_add_fetch(&hits[i], 1, __ATOMIC_RELAXED);
    }
    once("nogroup");
  }
}

static void grains(void) {
  int sizes[N] = {0}, tasks = 0;
#pragma omp parallel
#pragma omp single
  {
    int id = -1;
#pragma omp taskloop grainsize(30) firstprivate(id)
    for (int i = 0; i < N; i++) {
      if (id < 0)
#pragma omp atomic capture
        id = tasks++;
      sizes[id]++;
    }
  }
  for (int i = 0; i < tasks; i++)
    CHECK(sizes[i] >= 30 && sizes[i] < 60, "a task of %d iterations", sizes[i]);
}

static void reductions(void) {
  long sum = 10, product = 1, loop = 0, region = 0, shared = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskgroup task_reduction(+ : sum) task_reduction(* : product)
    for (int i = 0; i < 200; i++) {
#pragma omp task in_reduction(+ : sum) in_reduction(* : product) firstprivate(i)
      {
        sum += i;
        if (i < 10)
          product *= 2;
#pragma omp task in_reduction(+ : sum)
        sum += 1;
#pragma omp taskwait
        sum += 1;
      }
    }
    CHECK(sum == 10 + 19900 + 400, "%ld", sum);
    CHECK(product == 1024, "%ld", product);
#pragma omp taskloop reduction(+ : loop) grainsize(3)
    for (int i = 0; i < N; i++)
      loop += i;
    CHECK(loop == N * (N - 1) / 2, "%ld", loop);
  }
  int n = 0;
#pragma omp parallel reduction(task, + : region) reduction(+ : n)
  {
    n++;
    region++;
    for (int i = 0; i < 10; i++)
#pragma omp task in_reduction(+ : region)
      region += 10;
  }
  CHECK(region == 101L * n, "%ld of %d", region, n);
#pragma omp parallel
#pragma omp for reduction(task, + : shared) schedule(dynamic)
  for (int i = 0; i < 100; i++) {
    shared++;
#pragma omp task in_reduction(+ : shared)
    shared += 2;
  }
  CHECK(shared == 300, "%ld", shared);
  long parts = 0;
#pragma omp parallel
#pragma omp sections reduction(task, + : parts)
  {
#pragma omp section
    {
#pragma omp task in_reduction(+ : parts)
      parts += 1;
    }
#pragma omp section
    {
#pragma omp task in_reduction(+ : parts)
      parts += 2;
    }
  }
  CHECK(parts == 3, "%ld", parts);
}

static void *fulfill_later(void *event) {
  nap_us(3000);
  omp_fulfill_event(*(omp_event_handle_t *)event);
  return NULL;
}

static void detached(void) {
  int after = 0, x = 0;
#pragma omp parallel
#pragma omp single
  {
    omp_event_handle_t event;
    pthread_t thread;
#pragma omp task detach(event) depend(out : x)
    work(10);
#pragma omp task depend(in : x) shared(after)
    after = 1;
    CHECK(!after, "a dependent task ran before the event");
    pthread_create(&thread, NULL, fulfill_later, &event);
#pragma omp taskwait
    CHECK(after == 1);
    pthread_join(thread, NULL);
#pragma omp task detach(event)
    omp_fulfill_event(event);
#pragma omp taskwait
  }
  int fulfilled = 0;
#pragma omp parallel num_threads(2)
  {
#pragma omp single nowait
    {
      omp_event_handle_t event;
#pragma omp task detach(event)
      work(1);
#pragma omp task shared(fulfilled) firstprivate(event)
      {
        nap_us(2000);
        fulfilled = 1;
        omp_fulfill_event(event);
      }
    }
#pragma omp barrier
    CHECK(fulfilled);
  }
}

int main(void) {
  groups();
  nested_groups();
  taskloops();
  grains();
  reductions();
  detached();
  return VERDICT();
}
