/* Cost of constructs in the manner of EPCC's benchmarks: `constructs NAME ITERATIONS` runs the construct that often, with a short
   delay inside, and prints the line of a kernel. Its checksum counts the iterations, and those in a wrong thread twice. */
#include "turns.h"

enum { DELAY = 20, CHUNKS = 64 };

static volatile int delayed;

static inline void delay(void) {
  for (int i = 0; i < DELAY; i++)
    __asm__ volatile("" ::: "memory");
}

static void parallel(int n) {
  for (int i = 0; i < n; i++)
#pragma omp parallel
    delay();
}

static void parallel_for(int n) {
  for (int i = 0; i < n; i++)
#pragma omp parallel for
    for (int k = 0; k < 8; k++)
      delay();
}

static void loop(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++)
#pragma omp for
    for (int k = 0; k < 8; k++)
      delay();
}

static void dynamic(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++)
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < CHUNKS; k++)
      delay();
}

static void guided(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++)
#pragma omp for schedule(guided)
    for (int k = 0; k < CHUNKS; k++)
      delay();
}

static void run_time(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++)
#pragma omp for schedule(runtime)
    for (int k = 0; k < CHUNKS; k++)
      delay();
}

static void barrier(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++) {
    delay();
#pragma omp barrier
  }
}

static void single(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++)
#pragma omp single
    delay();
}

static void copyprivate(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++) {
    int value;
#pragma omp single copyprivate(value)
    value = i;
    delayed = value;
  }
}

static void sections(int n) {
#pragma omp parallel
  for (int i = 0; i < n; i++)
#pragma omp sections
  {
#pragma omp section
    delay();
#pragma omp section
    delay();
#pragma omp section
    delay();
  }
}

static void critical(int n) {
#pragma omp parallel
  for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads())
#pragma omp critical
    delay();
}

static void critical_name(int n) {
#pragma omp parallel
  for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads()) {
#pragma omp critical(first)
    delay();
#pragma omp critical(second)
    delay();
  }
}

static void lock(int n) {
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel
  for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads()) {
    omp_set_lock(&lock);
    delay();
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
}

static void nest_lock(int n) {
  omp_nest_lock_t lock;
  omp_init_nest_lock(&lock);
#pragma omp parallel
  for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads()) {
    omp_set_nest_lock(&lock);
    delay();
    omp_unset_nest_lock(&lock);
  }
  omp_destroy_nest_lock(&lock);
}

static void ordered(int n) {
#pragma omp parallel for ordered schedule(static, 1)
  for (int i = 0; i < n; i++)
#pragma omp ordered
    delay();
}

static void ordered_dynamic(int n) {
#pragma omp parallel for ordered schedule(dynamic, 1)
  for (int i = 0; i < n; i++) {
    delay();
#pragma omp ordered
    delay();
  }
}

static void doacross(int n) {
#pragma omp parallel for ordered(1) schedule(static, 1)
  for (int i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
    delay();
#pragma omp ordered depend(source)
  }
}

static void reduction(int n) {
  for (int i = 0; i < n; i++) {
    int sum = 0;
    double product = 1;
#pragma omp parallel reduction(+ : sum) reduction(* : product)
    {
      delay();
      sum++;
      product *= 2;
    }
    delayed = sum + (int)product;
  }
}

/* Every thread makes tasks. */
static void tasks(int n) {
#pragma omp parallel
  {
    for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads())
#pragma omp task
      delay();
  }
}

/* One thread makes tasks. */
static void tasks_of_one(int n) {
#pragma omp parallel
#pragma omp master
  for (int i = 0; i < n; i++)
#pragma omp task
    delay();
}

static void tasks_if(int n) {
#pragma omp parallel
  for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads())
#pragma omp task if (delayed < 0)
    delay();
}

static void taskwait(int n) {
#pragma omp parallel
  for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads()) {
#pragma omp task
    delay();
#pragma omp taskwait
  }
}

static void taskgroup(int n) {
#pragma omp parallel
  for (int i = omp_get_thread_num(); i < n; i += omp_get_num_threads())
#pragma omp taskgroup
  {
#pragma omp task
    delay();
  }
}

static void tree(int depth) {
  if (depth == 0) {
    delay();
    return;
  }
#pragma omp task
  tree(depth - 1);
#pragma omp task
  tree(depth - 1);
#pragma omp taskwait
}

static void task_tree(int n) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < n; i++)
    tree(6);
}

static void taskloop(int n) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < n; i++)
#pragma omp taskloop num_tasks(16)
    for (int k = 0; k < CHUNKS; k++)
      delay();
}

static void depend(int n) {
  int places[8] = {0};
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < n; i++) {
#pragma omp task depend(inout : places[i % 8]) depend(in : places[(i + 1) % 8])
    delay();
  }
}

static void parallel_task(int n) {
  for (int i = 0; i < n; i++)
#pragma omp parallel
  {
#pragma omp task
    delay();
#pragma omp taskwait
  }
}

/* Regions inside of a region, which have one thread each. */
static void nested(int n) {
  omp_set_max_active_levels(1);
#pragma omp parallel
  for (int i = 0; i < n; i++)
#pragma omp parallel
    delay();
}

/* Number of iterations that run in another thread than schedule(static, 1) determines: a runtime that gives all of them to one thread
   does not hand over between threads, so that its time is that of another program. */
static int misplaced_ordered(int n) {
  int misplaced = 0;
#pragma omp parallel for ordered schedule(static, 1)
  for (int i = 0; i < n; i++)
#pragma omp ordered
    misplaced += i % omp_get_num_threads() != omp_get_thread_num();
  return misplaced;
}

static int misplaced_doacross(int n) {
  int misplaced = 0;
#pragma omp parallel for ordered(1) schedule(static, 1)
  for (int i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
    misplaced += i % omp_get_num_threads() != omp_get_thread_num();
#pragma omp ordered depend(source)
  }
  return misplaced;
}

static const struct {
  const char *name;
  void (*run)(int);
  int (*misplaced)(int);
} constructs[] = {
    {"parallel", parallel},
    {"parallel_for", parallel_for},
    {"for", loop},
    {"dynamic", dynamic},
    {"guided", guided},
    {"runtime", run_time},
    {"barrier", barrier},
    {"single", single},
    {"copyprivate", copyprivate},
    {"sections", sections},
    {"critical", critical},
    {"critical_name", critical_name},
    {"lock", lock},
    {"nest_lock", nest_lock},
    {"ordered", ordered, misplaced_ordered},
    {"ordered_dynamic", ordered_dynamic},
    {"doacross", doacross, misplaced_doacross},
    {"reduction", reduction},
    {"tasks", tasks},
    {"tasks_of_one", tasks_of_one},
    {"tasks_if", tasks_if},
    {"taskwait", taskwait},
    {"taskgroup", taskgroup},
    {"task_tree", task_tree},
    {"taskloop", taskloop},
    {"depend", depend},
    {"parallel_task", parallel_task},
    {"nested", nested},
};

int main(int count, char **values) {
  int n = count > 2 ? atoi(values[2]) : 1000;
  for (unsigned i = 0; i < sizeof constructs / sizeof *constructs; i++) {
    if (count < 2 || strcmp(constructs[i].name, values[1]))
      continue;
    constructs[i].run(n < 20 ? n : 20);
    int misplaced = constructs[i].misplaced ? constructs[i].misplaced(64) : 0;
    start_clock();
    constructs[i].run(n);
    stop_clock(n + misplaced);
    return 0;
  }
  return 2;
}
