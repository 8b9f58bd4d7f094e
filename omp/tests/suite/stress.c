/* Everything at once: irregular trees with locks, groups, dependences, regions inside tasks. */
#include "../check.h"

static long total;
static omp_lock_t lock;

static unsigned next(unsigned *seed) { return *seed = *seed * 1664525 + 1013904223; }

static long tree(unsigned seed, int depth) {
  long sum = 1;
  if (depth == 0)
    return sum;
  int children = next(&seed) >> 8 & 3;
  long parts[4] = {0};
  switch (next(&seed) >> 8 & 7) {
  case 0:
#pragma omp taskgroup
    for (int i = 0; i < children; i++) {
#pragma omp task shared(parts)
      parts[i] = tree(seed + i, depth - 1);
    }
    break;
  case 1:
    for (int i = 0; i < children; i++) {
#pragma omp task shared(parts) depend(inout : parts[i & 1])
      parts[i] = tree(seed + i, depth - 1);
    }
#pragma omp taskwait
    break;
  case 2:
#pragma omp taskloop shared(parts)
    for (int i = 0; i < children; i++)
      parts[i] = tree(seed + i, depth - 1);
    break;
  case 3:
#pragma omp parallel num_threads(2)
#pragma omp for schedule(dynamic)
    for (int i = 0; i < children; i++)
      parts[i] = tree(seed + i, depth - 1);
    break;
  default:
    for (int i = 0; i < children; i++) {
#pragma omp task shared(parts) untied
      {
        parts[i] = tree(seed + i, depth - 1);
        omp_set_lock(&lock);
        total++;
        omp_unset_lock(&lock);
      }
    }
#pragma omp taskwait
  }
  for (int i = 0; i < children; i++)
    sum += parts[i];
  return sum;
}

static long serial(unsigned seed, int depth, long *expected) {
  long sum = 1;
  if (depth == 0)
    return sum;
  int children = next(&seed) >> 8 & 3, kind = next(&seed) >> 8 & 7;
  for (int i = 0; i < children; i++)
    sum += serial(seed + i, depth - 1, expected);
  if (kind > 3)
    *expected += children;
  return sum;
}

int main(void) {
  omp_init_lock(&lock);
  omp_set_max_active_levels(2);
  for (unsigned seed = 1; seed <= 40; seed++) {
    long expected = 0, result = 0, count = serial(seed * 77, 11, &expected);
    total = 0;
#pragma omp parallel
#pragma omp single
    result = tree(seed * 77, 11);
    CHECK(result == count && total == expected, "seed %u: %ld of %ld, %ld of %ld", seed, result,
          count, total, expected);
  }
  return VERDICT();
}
