/* teams and target on the host; allocators; places. */
#include "../check.h"

static void teams(void) {
  int count = 0, sum = 0;
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : sum)
  {
    CHECK(omp_get_num_teams() == 3);
    sum += omp_get_team_num();
#pragma omp parallel
    {
      CHECK(omp_get_num_threads() <= 2 && omp_get_num_teams() == 3);
#pragma omp atomic
      count++;
    }
  }
  CHECK(sum == 3 && count >= 3, "%d %d", sum, count);
  CHECK(omp_get_num_teams() == 1);
  long total = 0;
#pragma omp teams distribute parallel for reduction(+ : total)
  for (int i = 0; i < 1000; i++)
    total += i;
  CHECK(total == 499500, "%ld", total);
}

static void target(void) {
  int array[100], scalar = 5, sum = 0;
  for (int i = 0; i < 100; i++)
    array[i] = i;
#pragma omp target map(tofrom : array, sum) firstprivate(scalar)
  {
    for (int i = 0; i < 100; i++)
      sum += array[i] * scalar;
    scalar = 99;
    CHECK(omp_is_initial_device());
  }
  CHECK(sum == 24750 && scalar == 5, "%d %d", sum, scalar);
#pragma omp target data map(to : array)
  {
#pragma omp target update from(array)
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
      sum += array[i];
  }
  CHECK(sum == 24750 + 4950, "%d", sum);
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(out : sum) shared(sum)
    sum = 1;
#pragma omp target nowait depend(inout : sum) map(tofrom : sum)
    sum *= 7;
#pragma omp taskwait
  }
  CHECK(sum == 7);
  void *block = omp_target_alloc(64, omp_get_initial_device());
  CHECK(block && omp_get_num_devices() == 0);
  CHECK(!omp_target_memcpy(block, array, 64, 0, 0, 0, 0) && ((int *)block)[3] == 3);
  omp_target_free(block, omp_get_initial_device());
}

static void allocators(void) {
  char *block = omp_alloc(1000, omp_default_mem_alloc);
  memset(block, 1, 1000);
  block = omp_realloc(block, 5000, omp_default_mem_alloc, omp_default_mem_alloc);
  CHECK(block && block[999] == 1);
  omp_free(block, omp_null_allocator);
  char *zero = omp_calloc(10, 10, omp_large_cap_mem_alloc);
  for (int i = 0; i < 100; i++)
    CHECK(!zero[i]);
  omp_free(zero, omp_large_cap_mem_alloc);
  void *aligned = omp_aligned_alloc(4096, 10, omp_default_mem_alloc);
  CHECK((__UINTPTR_TYPE__)aligned % 4096 == 0);
  omp_free(aligned, omp_default_mem_alloc);
  omp_alloctrait_t traits[] = {{omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}, {omp_atk_alignment, 64}};
  omp_allocator_handle_t small = omp_init_allocator(omp_default_mem_space, 3, traits);
  void *first = omp_alloc(2000, small), *second = omp_alloc(3000, small);
  CHECK(first && !second && (__UINTPTR_TYPE__)first % 64 == 0);
  omp_free(first, small);
  second = omp_alloc(3000, small);
  CHECK(second);
  omp_free(second, small);
  omp_destroy_allocator(small);
  int private = 7;
#pragma omp parallel num_threads(2) firstprivate(private) allocate(omp_default_mem_alloc : private)
  CHECK(private == 7);
}

static void places(void) {
  for (int place = 0; place < omp_get_num_places(); place++) {
    int ids[1024], count = omp_get_place_num_procs(place);
    CHECK(count >= 1 && count <= 1024);
    omp_get_place_proc_ids(place, ids);
  }
  char text[100];
  omp_set_affinity_format("[%{thread_num}|%0.3n|%4L|%%]");
  size_t length = omp_capture_affinity(text, sizeof text, NULL);
  CHECK(!strcmp(text, "[0|000|0   |%]"), "%s", text);
  CHECK(length == strlen(text) && omp_get_affinity_format(text, 4) == 28, "%zu", length);
  CHECK(omp_get_proc_bind() >= 0 && omp_get_max_task_priority() >= 0);
  CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
}

int main(void) {
  teams();
  target();
  allocators();
  places();
  return VERDICT();
}
