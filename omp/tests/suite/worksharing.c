/* sections, single, copyprivate, master, masked, scope, barrier, critical, atomic, flush. */
#include "../check.h"

static void sections(void) {
  for (int round = 0; round < 200; round++) {
    int hits[5] = {0}, last = 0, sum = 0;
#pragma omp parallel sections reduction(+ : sum) lastprivate(last)
    {
#pragma omp section
      { hits[0]++; sum += 1; last = 1; }
#pragma omp section
      { hits[1]++; sum += 2; last = 2; }
#pragma omp section
      { hits[2]++; sum += 4; last = 3; }
#pragma omp section
      { hits[3]++; sum += 8; last = 4; }
#pragma omp section
      { hits[4]++; sum += 16; last = 5; }
    }
    CHECK(sum == 31 && last == 5);
    for (int i = 0; i < 5; i++)
      CHECK(hits[i] == 1);
  }
  int count = 0;
#pragma omp parallel
  for (int round = 0; round < 100; round++) {
#pragma omp sections nowait
    {
#pragma omp section
#pragma omp atomic
      count++;
#pragma omp section
#pragma omp atomic
      count++;
    }
#pragma omp sections
    {
#pragma omp atomic
      count++;
    }
  }
  CHECK(count == 300, "%d", count);
}

static void singles(void) {
  int count = 0, inside = 0;
#pragma omp parallel
  {
    for (int round = 0; round < 500; round++) {
#pragma omp single nowait
#pragma omp atomic
      count++;
    }
#pragma omp barrier
    int value = -1;
    for (int round = 0; round < 100; round++) {
#pragma omp single copyprivate(value)
      {
        CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) == 1);
        value = round * 3;
        __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
      }
      CHECK(value == round * 3, "%d in round %d", value, round);
    }
  }
  CHECK(count == 500, "%d", count);
}

static void masters(void) {
  int by = -1, count = 0;
#pragma omp parallel
  {
#pragma omp master
    { by = omp_get_thread_num(); count++; }
#pragma omp barrier
#pragma omp masked filter(omp_get_num_threads() - 1)
    { by += omp_get_thread_num(); count++; }
  }
  CHECK(count == 2 && by >= 0);
}

static void scopes(void) {
  int sum = 0, n = 0;
#pragma omp parallel
  {
#pragma omp scope reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
#pragma omp single
    n = omp_get_num_threads();
  }
  CHECK(sum == n * (n + 1) / 2, "%d of %d", sum, n);
}

static void barriers(void) {
  int phase[64] = {0}, n = 1;
#pragma omp parallel
  {
    int me = omp_get_thread_num(), size = omp_get_num_threads();
#pragma omp atomic write
    n = size;
    for (int round = 1; round <= 2000; round++) {
      phase[me] = round;
#pragma omp barrier
      int other = phase[(me + round) % size];
      CHECK(other == round, "%d in round %d", other, round);
#pragma omp barrier
    }
  }
  CHECK(n >= 1);
}

static void criticals(void) {
  long plain = 0, named = 0, other = 0;
#pragma omp parallel
  for (int i = 0; i < 3000; i++) {
#pragma omp critical
    plain++;
#pragma omp critical(one)
    named++;
#pragma omp critical(two) hint(omp_sync_hint_contended)
    {
      other++;
#pragma omp critical(inner)
      other++;
    }
  }
  long n = 0;
#pragma omp parallel reduction(+ : n)
  n += 3000;
  CHECK(plain == n && named == n && other == 2 * n);
}

struct wide { double a, b; };

static void atomics(void) {
  int i = 0, captured = 0, max = 0;
  double d = 0;
  long double wide = 0;
#pragma omp parallel
  for (int k = 0; k < 1000; k++) {
#pragma omp atomic
    i++;
#pragma omp atomic update
    d += 0.5;
#pragma omp atomic
    wide = wide + 1;
    int old, seen;
#pragma omp atomic capture
    { old = captured; captured += 2; }
    CHECK(old >= 0 && old % 2 == 0);
#pragma omp atomic read
    seen = max;
    if (seen < k)
#pragma omp atomic write
      max = k;
#pragma omp flush
  }
  CHECK(d == i * 0.5 && wide == i && captured == 2 * i && max == 999);
}

int main(void) {
  sections();
  singles();
  masters();
  scopes();
  barriers();
  criticals();
  atomics();
  return VERDICT();
}
