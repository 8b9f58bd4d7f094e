/* Entries that today's compiler no longer calls, or not yet: called as older and newer ones do. */
#define _GNU_SOURCE
#include "../check.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

typedef unsigned long long wide;
typedef void body(void *);

enum { N = 100 };
static int hits[N + 1];

static void visit(long start, long end) {
  for (long i = start; i < end; i++)
    __atomic_add_fetch(&hits[i], 1, __ATOMIC_RELAXED);
}

static void each_ran(int first, int last, const char *what) {
  for (int i = 0; i <= N; i++)
    CHECK(hits[i] == (i >= first && i < last), "%s: %d ran %d times", what, i, hits[i]);
  memset(hits, 0, sizeof hits);
}

/* Regions that begin and end with a call each, up to GCC 4.8. */
void GOMP_parallel_start(body *, void *, unsigned);
void GOMP_parallel_end(void);
void GOMP_parallel_loop_static_start(body *, void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_dynamic_start(body *, void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_guided_start(body *, void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_runtime_start(body *, void *, unsigned, long, long, long);
void GOMP_parallel_sections_start(body *, void *, unsigned, unsigned);
bool GOMP_loop_static_next(long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_guided_next(long *, long *);
bool GOMP_loop_runtime_next(long *, long *);
void GOMP_loop_end_nowait(void);
unsigned GOMP_sections_next(void);
void GOMP_sections_end_nowait(void);

static void in_region(void *data) { __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED); }

typedef bool next(long *, long *);

static void in_loop(void *data) {
  long start, end;
  while (((next *)data)(&start, &end))
    visit(start, end);
  GOMP_loop_end_nowait();
}

static void in_sections(void *data) {
  (void)data;
  for (unsigned section; (section = GOMP_sections_next()) != 0;)
    visit(section, section + 1);
  GOMP_sections_end_nowait();
}

static void begun_regions(void) {
  int count = 0;
  GOMP_parallel_start(in_region, &count, 3);
  in_region(&count);
  GOMP_parallel_end();
  CHECK(count == 3, "%d", count);
  GOMP_parallel_loop_static_start(in_loop, GOMP_loop_static_next, 3, 0, N, 1, 7);
  in_loop(GOMP_loop_static_next);
  GOMP_parallel_end();
  each_ran(0, N, "static");
  GOMP_parallel_loop_dynamic_start(in_loop, GOMP_loop_dynamic_next, 3, 0, N, 1, 7);
  in_loop(GOMP_loop_dynamic_next);
  GOMP_parallel_end();
  each_ran(0, N, "dynamic");
  GOMP_parallel_loop_guided_start(in_loop, GOMP_loop_guided_next, 3, 0, N, 1, 7);
  in_loop(GOMP_loop_guided_next);
  GOMP_parallel_end();
  each_ran(0, N, "guided");
  GOMP_parallel_loop_runtime_start(in_loop, GOMP_loop_runtime_next, 3, 0, N, 1);
  in_loop(GOMP_loop_runtime_next);
  GOMP_parallel_end();
  each_ran(0, N, "runtime");
  GOMP_parallel_sections_start(in_sections, NULL, 3, 9);
  in_sections(NULL);
  GOMP_parallel_end();
  each_ran(1, 10, "sections");
}

/* Static loops that the runtime divides. */
bool GOMP_loop_static_start(long, long, long, long, long *, long *);
bool GOMP_loop_ull_static_start(bool, wide, wide, wide, wide, wide *, wide *);
bool GOMP_loop_ull_static_next(wide *, wide *);
void GOMP_loop_end(void);

static void static_loops(void) {
#pragma omp parallel
  {
    long start, end;
    for (bool more = GOMP_loop_static_start(0, N, 1, 3, &start, &end); more;
         more = GOMP_loop_static_next(&start, &end))
      visit(start, end);
    GOMP_loop_end();
#pragma omp single
    each_ran(0, N, "static over long");
    wide from, to;
    for (bool more = GOMP_loop_ull_static_start(true, 0, N, 1, 3, &from, &to); more;
         more = GOMP_loop_ull_static_next(&from, &to))
      visit((long)from, (long)to);
    GOMP_loop_end();
  }
  each_ran(0, N, "static over unsigned long long");
}

/* Devices, as GCC 4.9 and 5 asked for them: the host does the work. */
void GOMP_target(int, body *, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_target_data(int, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_target_end_data(void);
void GOMP_target_update(int, const void *, size_t, void **, size_t *, unsigned char *);
void GOMP_teams(unsigned, unsigned);
void GOMP_offload_register(const void *, int, const void *);
void GOMP_offload_unregister(const void *, int, const void *);
void GOMP_offload_register_ver(unsigned, const void *, int, const void *);
void GOMP_offload_unregister_ver(unsigned, const void *, int, const void *);

static void on_device(void *data) {
  GOMP_teams(1, 0);
  CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
  in_region(*(void **)data);
}

static void devices(void) {
  GOMP_offload_register(NULL, 0, NULL);
  GOMP_offload_register_ver(0, NULL, 0, NULL);
  int count = 0;
  void *address = &count;
  size_t size = sizeof count;
  unsigned char kind = 3; /* tofrom */
  GOMP_target_data(-1, NULL, 1, &address, &size, &kind);
  GOMP_target(-1, on_device, NULL, 1, &address, &size, &kind);
  GOMP_target_update(-1, NULL, 1, &address, &size, &kind);
  GOMP_target_end_data();
  GOMP_offload_unregister_ver(0, NULL, 0, NULL);
  GOMP_offload_unregister(NULL, 0, NULL);
  CHECK(count == 1);
}

/* Not in the libgomp that may be linked here: by name, where the runtime has them. */
static void *named(const char *name) {
  void *entry = dlsym(RTLD_DEFAULT, name);
  CHECK(entry || !dlsym(RTLD_DEFAULT, "bulkhead_omp_allocations"), "%s is missing", name);
  return entry;
}

static void newer_entries(void) {
  void (*wait_nowait)(void **) = named("GOMP_taskwait_depend_nowait");
  void *(*indirect)(void *) = named("GOMP_target_map_indirect_ptr");
  int (*explicit_task)(void) = named("omp_in_explicit_task");
  int (*explicit_task_)(void) = named("omp_in_explicit_task_");
  if (!wait_nowait || !indirect || !explicit_task || !explicit_task_)
    return;
  CHECK(indirect(hits) == hits && !explicit_task());
  int first = 0, after = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(out : first) shared(first)
    {
      CHECK(explicit_task() && explicit_task_());
      work(1000);
      first = 1;
    }
    /* taskwait depend(inout: first) nowait: two words of counts, then the addresses. */
    void *depend[] = {(void *)1, (void *)1, &first};
    wait_nowait(depend);
#pragma omp task depend(in : first) shared(first, after)
    after = first;
  }
  CHECK(after == 1);
}

int omp_test_lock_(omp_lock_t *), omp_test_nest_lock_(void *);

static void hinted_locks(void) {
  void (*init)(omp_lock_t *, int) = named("omp_init_lock_with_hint");
  void (*init_)(omp_lock_t *, const int *) = named("omp_init_lock_with_hint_");
  void (*init_nest)(omp_nest_lock_t *, int) = named("omp_init_nest_lock_with_hint");
  void (*init_nest_)(void *, const int *) = named("omp_init_nest_lock_with_hint_");
  if (!init || !init_ || !init_nest || !init_nest_)
    return;
  omp_lock_t lock;
  init(&lock, omp_sync_hint_contended);
  CHECK(omp_test_lock(&lock) && !omp_test_lock(&lock));
  omp_destroy_lock(&lock);
  init_(&lock, &(int){omp_sync_hint_speculative});
  CHECK(omp_test_lock(&lock) && !omp_test_lock(&lock));
  omp_nest_lock_t nest;
  init_nest(&nest, omp_sync_hint_none);
  CHECK(omp_test_nest_lock(&nest) == 1 && omp_test_nest_lock(&nest) == 2);
  void *fortran[4] = {0};
  init_nest_(fortran, &(int){omp_sync_hint_none});
  CHECK(omp_test_nest_lock_(fortran) == 1 && omp_test_nest_lock_(fortran) == 2);
}

static void fortran_locks(void) {
  omp_lock_t lock;
  omp_init_lock(&lock);
  CHECK(omp_test_lock_(&lock) && !omp_test_lock_(&lock));
  omp_destroy_lock(&lock);
}

static void host_addresses(void) {
  void *(*mapped)(const void *, int) = named("omp_get_mapped_ptr");
  int (*accessible)(const void *, size_t, int) = named("omp_target_is_accessible");
  int host = omp_get_initial_device();
  if (mapped && accessible)
    CHECK(mapped(hits, host) == hits && accessible(hits, sizeof hits, host));
}

int main(void) {
  begun_regions();
  static_loops();
  devices();
  newer_entries();
  hinted_locks();
  fortran_locks();
  host_addresses();
  return VERDICT();
}
