/* The omp_ routines: what each answers, under its C name and both of Fortran's.
   environment: OMP_THREAD_LIMIT=64 OMP_MAX_TASK_PRIORITY=7 OMP_PLACES=threads */
#include "../check.h"
#include <stdint.h>
#include <unistd.h>

/* A question without arguments answers the same to C and to Fortran. */
#define SAME(NAME)                                                            \
  do {                                                                        \
    extern int NAME##_(void);                                                 \
    CHECK(NAME##_() == (int)NAME(), #NAME ": %d, %d", NAME##_(), (int)NAME()); \
  } while (0)

static void questions(void) {
  SAME(omp_get_num_threads);
  SAME(omp_get_thread_num);
  SAME(omp_get_max_threads);
  SAME(omp_get_num_procs);
  SAME(omp_in_parallel);
  SAME(omp_get_dynamic);
  SAME(omp_get_thread_limit);
  SAME(omp_get_max_active_levels);
  SAME(omp_get_supported_active_levels);
  SAME(omp_get_level);
  SAME(omp_get_active_level);
  SAME(omp_in_final);
  SAME(omp_get_cancellation);
  SAME(omp_get_proc_bind);
  SAME(omp_get_num_places);
  SAME(omp_get_place_num);
  SAME(omp_get_partition_num_places);
  SAME(omp_get_default_device);
  SAME(omp_get_num_devices);
  SAME(omp_get_initial_device);
  SAME(omp_get_device_num);
  SAME(omp_is_initial_device);
  SAME(omp_get_num_teams);
  SAME(omp_get_team_num);
  SAME(omp_get_max_teams);
  SAME(omp_get_teams_thread_limit);
  SAME(omp_get_max_task_priority);
  extern uintptr_t omp_get_default_allocator_(void);
  CHECK(omp_get_default_allocator_() == omp_get_default_allocator());
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
extern int omp_get_nested_(void);

/* The value that was set is returned, from each place it was set in. */
#define SET(NAME, GET, FIRST, SECOND, THIRD)                                  \
  do {                                                                        \
    extern void NAME##_(const int32_t *), NAME##_8_(const int64_t *);         \
    int before = GET();                                                       \
    NAME(FIRST);                                                              \
    CHECK(GET() == FIRST, #NAME ": %d", GET());                               \
    NAME##_(&(int32_t){SECOND});                                              \
    CHECK(GET() == SECOND, #NAME "_: %d", GET());                             \
    NAME##_8_(&(int64_t){THIRD});                                             \
    CHECK(GET() == THIRD, #NAME "_8_: %d", GET());                            \
    NAME(before);                                                             \
  } while (0)

static void settings(void) {
  SET(omp_set_num_threads, omp_get_max_threads, 3, 5, 2);
  SET(omp_set_dynamic, omp_get_dynamic, 1, 0, 1);
  SET(omp_set_nested, omp_get_nested, 1, 0, 1);
  CHECK(omp_get_nested_() == omp_get_nested());
  SET(omp_set_max_active_levels, omp_get_max_active_levels, 4, 1, 9);
  SET(omp_set_default_device, omp_get_default_device, 2, 1, 3);
  SET(omp_set_num_teams, omp_get_max_teams, 3, 5, 2);
  SET(omp_set_teams_thread_limit, omp_get_teams_thread_limit, 3, 5, 2);
  omp_set_max_active_levels(1);
  CHECK(omp_get_thread_limit() == 64 && omp_get_max_task_priority() == 7);

  extern void omp_set_schedule_(const int32_t *, const int32_t *);
  extern void omp_set_schedule_8_(const int32_t *, const int64_t *);
  extern void omp_get_schedule_(int32_t *, int32_t *), omp_get_schedule_8_(int32_t *, int64_t *);
  int32_t kind, chunk;
  int64_t long_chunk;
  omp_set_schedule_(&(int32_t){omp_sched_guided}, &(int32_t){11});
  omp_get_schedule_8_(&kind, &long_chunk);
  CHECK(kind == omp_sched_guided && long_chunk == 11);
  omp_set_schedule_8_(&(int32_t){omp_sched_dynamic}, &(int64_t){4});
  omp_get_schedule_(&kind, &chunk);
  CHECK(kind == omp_sched_dynamic && chunk == 4);
}

static void ancestors(void) {
  extern int omp_get_ancestor_thread_num_(const int32_t *), omp_get_ancestor_thread_num_8_(const int64_t *);
  extern int omp_get_team_size_(const int32_t *), omp_get_team_size_8_(const int64_t *);
#pragma omp parallel num_threads(3)
  for (int level = -1; level <= 2; level++) {
    int number = level == 1 ? omp_get_thread_num() : level == 0 ? 0 : -1;
    int size = level == 1 ? omp_get_num_threads() : level == 0 ? 1 : -1;
    CHECK(omp_get_ancestor_thread_num(level) == number);
    CHECK(omp_get_ancestor_thread_num_(&level) == number);
    CHECK(omp_get_ancestor_thread_num_8_(&(int64_t){level}) == number);
    CHECK(omp_get_team_size(level) == size && omp_get_team_size_(&level) == size);
    CHECK(omp_get_team_size_8_(&(int64_t){level}) == size);
  }
}

static void places(void) {
  extern int omp_get_place_num_procs_(const int32_t *), omp_get_place_num_procs_8_(const int64_t *);
  extern void omp_get_place_proc_ids_(const int32_t *, int32_t *);
  extern void omp_get_place_proc_ids_8_(const int64_t *, int64_t *);
  extern void omp_get_partition_place_nums_(int32_t *), omp_get_partition_place_nums_8_(int64_t *);
  enum { MOST = 1024 };
  int count = omp_get_num_places();
  CHECK(count >= 1 && count <= MOST, "%d", count);
  for (int place = 0; place < count; place++) {
    int ids[MOST], fortran[MOST];
    int64_t long_ids[MOST];
    int procs = omp_get_place_num_procs(place);
    CHECK(procs >= 1 && omp_get_place_num_procs_(&place) == procs);
    CHECK(omp_get_place_num_procs_8_(&(int64_t){place}) == procs);
    omp_get_place_proc_ids(place, ids);
    omp_get_place_proc_ids_(&place, fortran);
    omp_get_place_proc_ids_8_(&(int64_t){place}, long_ids);
    for (int i = 0; i < procs; i++)
      CHECK(ids[i] >= 0 && ids[i] == fortran[i] && ids[i] == long_ids[i]);
  }
#pragma omp parallel proc_bind(close)
  {
    int nums[MOST], fortran[MOST], mine = omp_get_place_num();
    int64_t long_nums[MOST];
    int parts = omp_get_partition_num_places();
    CHECK(mine >= 0 && mine < count && parts >= 1 && parts <= count, "%d, %d", mine, parts);
    omp_get_partition_place_nums(nums);
    omp_get_partition_place_nums_(fortran);
    omp_get_partition_place_nums_8_(long_nums);
    int known = 0;
    for (int i = 0; i < parts; i++) {
      CHECK(nums[i] == fortran[i] && nums[i] == long_nums[i]);
      known |= nums[i] == mine;
    }
    CHECK(known, "place %d is not in its partition", mine);
  }
}

static void affinity_text(void) {
  extern void omp_set_affinity_format_(const char *, size_t), omp_display_affinity_(const char *, size_t);
  extern int omp_get_affinity_format_(char *, size_t);
  extern int omp_capture_affinity_(char *, const char *, size_t, size_t);
  char text[64];
  omp_set_affinity_format_("level %L of %P", 14);
  memset(text, '?', sizeof text);
  int length = omp_get_affinity_format_(text, sizeof text);
  CHECK(length == 14 && !memcmp(text, "level %L of %P  ", 16) && text[63] == ' ', "%d, %.64s", length, text);
  length = omp_capture_affinity_(text, "<%{nesting_level}>", sizeof text, 18);
  CHECK(length == 3 && !memcmp(text, "<0> ", 4), "%.64s", text);
  char expected[64];
  sprintf(expected, "process %d", (int)getpid());
  CHECK(omp_capture_affinity(text, sizeof text, "process %P") == strlen(expected) && !strcmp(text, expected));
  CHECK(omp_capture_affinity(text, 4, "process %P") == strlen(expected) && !strcmp(text, "pro"));
  omp_display_affinity("shown %n");
  omp_display_affinity_("shown %n", 8);
}

static void shown_environment(void) {
  extern void omp_display_env_(const int32_t *), omp_display_env_8_(const int64_t *);
  omp_display_env(0);
  omp_display_env_(&(int32_t){1});
  omp_display_env_8_(&(int64_t){0});
}

static void allocators(void) {
  extern uintptr_t omp_init_allocator_(const uintptr_t *, const int32_t *, const omp_alloctrait_t *);
  extern uintptr_t omp_init_allocator_8_(const uintptr_t *, const int64_t *, const omp_alloctrait_t *);
  extern void omp_destroy_allocator_(const uintptr_t *), omp_set_default_allocator_(const uintptr_t *);
  omp_alloctrait_t traits[] = {{omp_atk_alignment, 256}};
  uintptr_t space = omp_default_mem_space;
  uintptr_t made[] = {omp_init_allocator_(&space, &(int32_t){1}, traits),
                      omp_init_allocator_8_(&space, &(int64_t){1}, traits)};
  for (int i = 0; i < 2; i++) {
    char *block = omp_aligned_calloc(64, 10, 10, made[i]);
    CHECK(block && (uintptr_t)block % 256 == 0 && !block[0] && !block[99]);
    omp_free(block, made[i]);
    omp_set_default_allocator_(&made[i]);
    CHECK((uintptr_t)omp_get_default_allocator() == made[i]);
    block = omp_alloc(10, omp_null_allocator);
    CHECK((uintptr_t)block % 256 == 0, "the default allocator was not used");
    omp_free(block, omp_null_allocator);
    omp_set_default_allocator(omp_default_mem_alloc);
    omp_destroy_allocator_(&made[i]);
  }
  CHECK(omp_get_default_allocator() == omp_default_mem_alloc);
  int guarded = 3;
#pragma omp parallel num_threads(2) private(guarded) allocate(omp_high_bw_mem_alloc : guarded)
  guarded = omp_get_thread_num();
#pragma omp parallel num_threads(2)
#pragma omp for firstprivate(guarded) allocate(omp_cgroup_mem_alloc : guarded)
  for (int i = 0; i < 4; i++)
    CHECK(guarded == 3);
}

static void device_memory(void) {
  int host = omp_get_initial_device(), from[6][5], to[4][4];
  for (int i = 0; i < 30; i++)
    from[i / 5][i % 5] = i;
  memset(to, 0, sizeof to);
  size_t volume[] = {2, 3}, to_at[] = {1, 1}, from_at[] = {3, 2}, to_size[] = {4, 4}, from_size[] = {6, 5};
  CHECK(!omp_target_memcpy_rect(to, from, sizeof(int), 2, volume, to_at, from_at, to_size, from_size,
                                host, host));
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int inside = i >= 1 && i < 3 && j >= 1 && j < 4;
      CHECK(to[i][j] == (inside ? (i + 2) * 5 + j + 1 : 0), "%d at %d, %d", to[i][j], i, j);
    }
  CHECK(omp_target_is_present(from, host));
  CHECK(omp_target_associate_ptr(from, to, sizeof to, 0, host) != 0);
  CHECK(omp_target_disassociate_ptr(from, host) != 0);
#pragma omp target enter data map(to : to)
#pragma omp target exit data map(from : to)
}

static void pauses(void) {
  extern int omp_pause_resource_(const int32_t *, const int32_t *), omp_pause_resource_all_(const int32_t *);
  int host = omp_get_initial_device(), soft = omp_pause_soft;
  CHECK(!omp_pause_resource(omp_pause_hard, host) && !omp_pause_resource_(&soft, &host));
  CHECK(!omp_pause_resource_all(omp_pause_soft) && !omp_pause_resource_all_(&soft));
#pragma omp parallel num_threads(2)
#pragma omp single
  CHECK(omp_pause_resource_all(omp_pause_soft) != 0, "paused inside a region");
  int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
  n++;
  CHECK(n == 2, "no threads after a pause: %d", n);
}

static void clocks(void) {
  extern double omp_get_wtime_(void), omp_get_wtick_(void);
  double before = omp_get_wtime();
  nap_us(2000);
  CHECK(omp_get_wtime_() - before >= 0.002 && omp_get_wtick_() == omp_get_wtick());
}

static void events(void) {
  extern void omp_fulfill_event_(omp_event_handle_t);
  int ran = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event) shared(ran)
    ran = 1;
    omp_fulfill_event_(event);
#pragma omp taskwait
    CHECK(ran);
  }
}

int main(void) {
  questions();
#pragma omp parallel num_threads(2)
  questions();
  settings();
  ancestors();
  places();
  affinity_text();
  shown_environment();
  allocators();
  device_memory();
  pauses();
  clocks();
  events();
#pragma omp error at(execution) severity(warning) message("as asked")
  return VERDICT();
}
