/* Tasks: execution, data environment, undeferred, final, mergeable, priority, waits, yields. */
#include "../check.h"

static int fib(int n) {
  int a, b;
  if (n < 2)
    return n;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b) if (n > 10)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void trees(void) {
  int result = 0;
#pragma omp parallel
#pragma omp single
  result = fib(22);
  CHECK(result == 17711, "%d", result);
#pragma omp parallel
#pragma omp master
  {
    result = fib(15);
    CHECK(result == 610);
  }
  CHECK(fib(12) == 144); /* outside of any region */
}

static void everybody_creates(void) {
  int count = 0, n = 0;
#pragma omp parallel
  {
#pragma omp atomic write
    n = omp_get_num_threads();
    for (int i = 0; i < 1000; i++)
#pragma omp task
#pragma omp atomic
      count++;
#pragma omp barrier
    CHECK(count == 1000 * omp_get_num_threads(), "%d", count);
#pragma omp barrier
    for (int i = 0; i < 100; i++)
#pragma omp task
#pragma omp atomic
      count++;
  }
  CHECK(count == 1100 * n, "%d", count);
}

struct large { char bytes[5000]; };

static void data(void) {
  int shared = 0, first = 5;
  struct large large;
  memset(&large, 42, sizeof large);
  char odd[3] = {1, 2, 3};
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 50; i++) {
#pragma omp task firstprivate(i, first, large, odd) shared(shared)
      {
        for (int k = 0; k < 5000; k++)
          if (large.bytes[k] != 42) {
            CHECK(0, "byte %d is %d", k, large.bytes[k]);
            break;
          }
        CHECK(odd[0] + odd[1] + odd[2] == 6);
        first += i;
        large.bytes[i] = 0;
#pragma omp atomic
        shared += first;
      }
    }
  }
  CHECK(shared == 50 * 5 + 49 * 25, "%d", shared);
  CHECK(first == 5);
}

static void undeferred(void) {
#pragma omp parallel
#pragma omp single
  {
    int ran = 0, thread = omp_get_thread_num();
#pragma omp task if (0) shared(ran)
    {
      ran = 1;
      CHECK(omp_get_thread_num() == thread && !omp_in_final());
    }
    CHECK(ran == 1);
#pragma omp task final(1) shared(ran)
    {
      CHECK(omp_in_final());
      int inner = 0;
#pragma omp task shared(inner)
      {
        CHECK(omp_in_final());
        inner = 1;
      }
      CHECK(inner == 1, "a task inside a final one was put off");
      ran = 2;
    }
#pragma omp taskwait
    CHECK(ran == 2);
#pragma omp task mergeable untied shared(ran)
    ran = 3;
#pragma omp taskwait
    CHECK(ran == 3);
  }
}

static void waits_for_children_only(void) {
  int child = 0, release = 0, grandchild = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task shared(child, grandchild, release)
    {
#pragma omp task shared(grandchild, release)
      {
        while (!__atomic_load_n(&release, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield
        }
        grandchild = 1;
      }
      child = 1;
    }
#pragma omp taskwait
    CHECK(child == 1);
    CHECK(grandchild == 0, "taskwait waited for a grandchild");
    __atomic_store_n(&release, 1, __ATOMIC_RELEASE);
  }
  CHECK(grandchild == 1);
}

static void parents_end_first(void) {
  int count = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 300; i++) {
#pragma omp task shared(count)
    {
      for (int j = 0; j < 3; j++) {
#pragma omp task shared(count)
        {
#pragma omp task shared(count)
#pragma omp atomic
          count++;
          work(100);
        }
      }
    }
  }
  CHECK(count == 900, "%d", count);
}

static void yields(void) {
  int turn = 0;
#pragma omp parallel num_threads(1)
#pragma omp single
  {
#pragma omp task shared(turn)
    {
      while (!__atomic_load_n(&turn, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield
      }
      turn = 2;
    }
#pragma omp task shared(turn)
    {
      __atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
    }
#pragma omp taskwait
  }
  CHECK(turn == 2);
}

static void blocked_in_tasks(void) {
  /* Tasks that wait for each other through locks: the worker goes on with another one. */
  omp_lock_t lock;
  omp_init_lock(&lock);
  int done = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_set_lock(&lock);
    for (int i = 0; i < 100; i++) {
#pragma omp task shared(done, lock)
      {
        omp_set_lock(&lock);
        done++;
        omp_unset_lock(&lock);
      }
    }
    nap_us(2000);
    omp_unset_lock(&lock);
#pragma omp taskwait
    CHECK(done == 100, "%d", done);
  }
  omp_destroy_lock(&lock);
}

static void nested_regions_in_tasks(void) {
  int count = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < 8; i++) {
#pragma omp task shared(count)
    {
#pragma omp parallel num_threads(2)
      {
#pragma omp task shared(count)
#pragma omp atomic
        count++;
#pragma omp for
        for (int k = 0; k < 10; k++)
#pragma omp atomic
          count++;
      }
    }
  }
  omp_set_max_active_levels(1);
  CHECK(count == 8 * 12, "%d", count);
}

static void identity(void) {
  /* A tied task that has requested its thread's number may rely on the answer until it ends. */
  enum { TASKS = 400 };
  static int busy[64];
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < TASKS; i++) {
#pragma omp task
    {
      int me = omp_get_thread_num();
#pragma omp task
      work(300);
#pragma omp taskwait
      CHECK(omp_get_thread_num() == me);
      int before = __atomic_fetch_add(&busy[me], 1, __ATOMIC_ACQ_REL);
      CHECK(before == 0, "two tasks at once on thread %d", me);
      work(50);
      __atomic_fetch_sub(&busy[me], 1, __ATOMIC_ACQ_REL);
    }
  }
}

/* A grandchild that outlives its parent keeps the variables that it was created with. */
static void inherited_icvs(void) {
  int go = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task shared(go)
    {
      omp_set_num_threads(5);
#pragma omp task shared(go)
      {
#pragma omp task shared(go)
        {
          while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield
          }
          CHECK(omp_get_max_threads() == 5, "%d", omp_get_max_threads());
        }
      }
#pragma omp taskwait
      omp_set_num_threads(9);
      CHECK(omp_get_max_threads() == 9);
    }
#pragma omp taskwait
    for (int i = 0; i < 10; i++) {
#pragma omp task
      {
        omp_set_num_threads(20 + i);
        CHECK(omp_get_max_threads() == 20 + i);
      }
    }
#pragma omp taskwait
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
  }
}

static void icvs(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_set_num_threads(5);
#pragma omp task
    {
      CHECK(omp_get_max_threads() == 5);
      omp_set_num_threads(9);
#pragma omp task
      CHECK(omp_get_max_threads() == 9);
#pragma omp taskwait
      CHECK(omp_get_max_threads() == 9);
    }
#pragma omp taskwait
    CHECK(omp_get_max_threads() == 5);
  }
}

/* Children that outlive their thread's part of a region must not count in the next one. */
static void children_outlive_their_thread(void) {
  for (int round = 0; round < 3; round++) {
    int count = 0;
#pragma omp parallel shared(count)
    for (int i = 0; i < 5; i++) {
#pragma omp task shared(count)
      {
        nap_us(1000);
#pragma omp atomic
        count++;
      }
    }
    int once = count, n = 0;
#pragma omp parallel shared(count, n)
    {
#pragma omp atomic
      n++;
#pragma omp task shared(count)
#pragma omp atomic
      count++;
#pragma omp taskwait
    }
    CHECK(once == 5 * n && count == 6 * n, "%d, %d", once, count);
  }
}

static int nodes;
static void deep(int depth) {
#pragma omp atomic
  nodes++;
  if (depth > 0) {
#pragma omp task
    deep(depth - 1);
#pragma omp taskwait
  }
}

static void recursion(void) {
#pragma omp parallel
#pragma omp single
  deep(2000);
  CHECK(nodes == 2001, "%d", nodes);
}

int main(void) {
  trees();
  everybody_creates();
  data();
  undeferred();
  waits_for_children_only();
  parents_end_first();
  yields();
  blocked_in_tasks();
  nested_regions_in_tasks();
  identity();
  icvs();
  inherited_icvs();
  children_outlive_their_thread();
  recursion();
  return VERDICT();
}
