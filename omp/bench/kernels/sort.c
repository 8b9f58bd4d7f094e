/* Merge sort with parallel merges: coarse tasks over one large array. */
#include "turns.h"

enum { LEAF = 4096 };

static void insertion(uint32_t *a, long n) {
  for (long i = 1; i < n; i++) {
    uint32_t value = a[i];
    long j = i;
    for (; j > 0 && a[j - 1] > value; j--)
      a[j] = a[j - 1];
    a[j] = value;
  }
}

static void quick(uint32_t *a, long n) {
  while (n > 20) {
    uint32_t pivot = a[n / 2], t;
    long i = 0, j = n - 1;
    for (;;) {
      while (a[i] < pivot)
        i++;
      while (a[j] > pivot)
        j--;
      if (i >= j)
        break;
      t = a[i], a[i++] = a[j], a[j--] = t;
    }
    quick(a, i);
    a += i;
    n -= i;
  }
  insertion(a, n);
}

static long lower_bound(const uint32_t *a, long n, uint32_t value) {
  long low = 0;
  while (n > 0) {
    long half = n / 2;
    if (a[low + half] < value) {
      low += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return low;
}

static void merge(const uint32_t *a, long n, const uint32_t *b, long m, uint32_t *to) {
  if (n < m) {
    merge(b, m, a, n, to);
    return;
  }
  if (n + m <= 2 * LEAF) {
    long i = 0, j = 0;
    while (i < n && j < m)
      *to++ = a[i] <= b[j] ? a[i++] : b[j++];
    memcpy(to, a + i, (n - i) * sizeof *a);
    memcpy(to + n - i, b + j, (m - j) * sizeof *b);
    return;
  }
  long half = n / 2, split = lower_bound(b, m, a[half]);
#pragma omp task
  merge(a, half, b, split, to);
#pragma omp task
  merge(a + half, n - half, b + split, m - split, to + half + split);
#pragma omp taskwait
}

static void sort(uint32_t *a, uint32_t *scratch, long n) {
  if (n <= LEAF) {
    quick(a, n);
    return;
  }
  long quarter = n / 4, last = n - 3 * quarter;
  for (int i = 0; i < 4; i++) {
#pragma omp task
    sort(a + i * quarter, scratch + i * quarter, i < 3 ? quarter : last);
  }
#pragma omp taskwait
#pragma omp task
  merge(a, quarter, a + quarter, quarter, scratch);
#pragma omp task
  merge(a + 2 * quarter, quarter, a + 3 * quarter, last, scratch + 2 * quarter);
#pragma omp taskwait
  merge(scratch, 2 * quarter, scratch + 2 * quarter, quarter + last, a);
}

int main(int count, char **values) {
  long n = argument(count, values, 4 << 20);
  uint32_t *a = malloc(n * sizeof *a), *scratch = malloc(n * sizeof *a);
  uint64_t seed = 1, sum = 0;
  for (long i = 0; i < n; i++)
    sum += a[i] = random32(&seed);
  memset(scratch, 0, n * sizeof *a);
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  sort(a, scratch, n);
  uint64_t ordered = 1;
  for (long i = 0; i < n; i++) {
    sum -= a[i];
    ordered &= i == 0 || a[i - 1] <= a[i];
  }
  stop_clock(ordered && sum == 0);
  free(a);
  free(scratch);
}
