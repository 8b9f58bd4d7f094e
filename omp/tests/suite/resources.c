/* Threads, memory, names: what a program asks the runtime to keep or to give back. environment: OMP_CANCELLATION=true */
#define _GNU_SOURCE
#include "../check.h"
#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

static int threads_named(const char *prefix, int *all) {
  int named = 0;
  *all = 0;
  DIR *folder = opendir("/proc/self/task");
  for (struct dirent *entry; (entry = readdir(folder));) {
    char path[300], name[32] = "";
    if (entry->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file && fgets(name, sizeof name, file))
      named += !strncmp(name, prefix, strlen(prefix));
    if (file)
      fclose(file);
    ++*all;
  }
  closedir(folder);
  return named;
}

static void pauses(void) {
  for (int round = 0; round < 5; round++) {
    int n = 0, nested = 0, all, left;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3) reduction(+ : n) reduction(+ : nested)
    {
      n++;
#pragma omp parallel num_threads(2) reduction(+ : nested)
      nested++;
#pragma omp task
      ;
    }
    CHECK(n == 3 && nested == 6);
    int named = threads_named("omp-", &all);
    CHECK(named >= 5 && all >= 6, "%d of %d", named, all);
    CHECK(omp_pause_resource_all(omp_pause_hard) == 0);
    for (int wait = 0; (threads_named("omp-", &left) > 0 || left > all - named) && wait < 2000; wait++)
      nap_us(1000);
    CHECK(left == all - named, "%d of %d threads are left", left, all);
  }
#pragma omp parallel num_threads(2)
  CHECK(omp_pause_resource_all(omp_pause_soft) != 0);
}

static void formats(void) {
  char text[64], expected[64];
  omp_capture_affinity(text, sizeof text, "%0.7a|%0.5n|%i");
  snprintf(expected, sizeof expected, "-000001|00000|%ld", (long)syscall(SYS_gettid));
  CHECK(!strcmp(text, expected), "%s", text);
#pragma omp parallel num_threads(2)
  {
    char own[64], mine[64];
    omp_capture_affinity(own, sizeof own, "%{native_thread_id}");
    snprintf(mine, sizeof mine, "%ld", (long)syscall(SYS_gettid));
    CHECK(!strcmp(own, mine), "%s", own);
  }
}

static void reallocations(void) {
  omp_alloctrait_t traits[] = {{omp_atk_pool_size, 100000}, {omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 2, traits);
  char *block = omp_alloc(60000, pool);
  block[59999] = 1;
  char *larger = omp_realloc(block, 80000, pool, pool);
  CHECK(larger && larger[59999] == 1);
  CHECK(!omp_realloc(larger, 120000, pool, pool), "more than the pool has");
  CHECK(!omp_alloc(60000, pool));
  char *smaller = omp_realloc(larger, 10000, omp_null_allocator, omp_null_allocator);
  char *other = omp_alloc(80000, pool);
  CHECK(smaller && other);
  omp_free(smaller, pool);
  omp_free(other, pool);
  CHECK((other = omp_alloc(99000, pool)) != NULL, "all is back");
  omp_free(other, pool);
}

static void nested_scopes(void) {
  for (int round = 0; round < 50; round++) {
    int outer = 0, inner = 0, threads = 0;
#pragma omp parallel shared(outer, inner, threads)
    {
#pragma omp atomic
      threads++;
#pragma omp scope reduction(task, + : outer)
      {
#pragma omp task in_reduction(+ : outer)
        outer += 1;
#pragma omp scope reduction(task, + : inner)
        {
          for (int i = 0; i < 10; i++)
#pragma omp task in_reduction(+ : inner)
            inner += 2;
        }
#pragma omp scope reduction(task, + : inner)
#pragma omp task in_reduction(+ : inner)
        inner += 3;
#pragma omp task in_reduction(+ : outer)
        outer += 5;
      }
    }
    CHECK(outer == 6 * threads && inner == 23 * threads, "%d %d of %d", outer, inner, threads);
  }
}

static void cancelled_through_scope(void) {
  int after = 0, x = 0;
#pragma omp parallel num_threads(1) shared(after, x)
#pragma omp taskgroup
  {
#pragma omp scope reduction(task, + : x)
    {
#pragma omp task in_reduction(+ : x)
      {
#pragma omp cancel taskgroup
        x++;
      }
    }
#pragma omp task shared(after)
    after++;
  }
  CHECK(after == 0, "the group that the program wrote is cancelled");
}

static void final_tasks_are_shared(void) {
  if (omp_get_max_threads() < 4)
    return;
  double start = omp_get_wtime();
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 16; i++)
#pragma omp task final(1)
  {
    CHECK(omp_in_final());
    int included = 0;
#pragma omp task shared(included)
    included = 1;
    CHECK(included == 1);
    nap_us(20000);
  }
  double seconds = omp_get_wtime() - start;
  CHECK(seconds < 16 * 0.02 * 0.75, "%f", seconds);
}


/* Depth 64, called as the compiler calls it. */
static void deep_doacross(void) {
  extern _Bool GOMP_loop_doacross_dynamic_start(unsigned, long *, long, long *, long *);
  extern _Bool GOMP_loop_dynamic_next(long *, long *);
  extern void GOMP_doacross_post(long *), GOMP_doacross_wait(long, ...), GOMP_loop_end(void);
  int done = 0, early = 0;
#pragma omp parallel shared(done, early)
  {
    long counts[64], index[64] = {0}, begin, end;
    for (int i = 0; i < 64; i++)
      counts[i] = i == 0 ? 100 : i == 63 ? 2 : 1;
    if (GOMP_loop_doacross_dynamic_start(64, counts, 1, &begin, &end))
      do
        for (long i = begin; i < end; i++) {
          if (i > 0)
            GOMP_doacross_wait(i - 1, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L,
                               0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L,
                               0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 1L);
          early += __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED) != i + 1;
          index[0] = i;
          index[63] = 1;
          GOMP_doacross_post(index);
        }
      while (GOMP_loop_dynamic_next(&begin, &end));
    GOMP_loop_end();
  }
  CHECK(done == 100 && early == 0, "%d %d", done, early);
}

int main(void) {
  formats();
  reallocations();
  nested_scopes();
  cancelled_through_scope();
  final_tasks_are_shared();
  deep_doacross();
  pauses();
  return VERDICT();
}
