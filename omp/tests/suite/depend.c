/* Dependences of all kinds, against a serial order. */
#include "../check.h"

static void chain(void) {
  int x = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 1000; i++) {
#pragma omp task depend(inout : x) shared(x) firstprivate(i)
    {
      CHECK(x == i, "%d before %d", x, i);
      x = i + 1;
    }
  }
  CHECK(x == 1000);
}

static void readers_and_writers(void) {
  int x = 0, readers = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 100; i++) {
#pragma omp task depend(out : x) shared(x, readers)
    {
      CHECK(__atomic_load_n(&readers, __ATOMIC_ACQUIRE) == 0);
      x = i;
      work(500);
    }
    for (int k = 0; k < 5; k++) {
#pragma omp task depend(in : x) shared(x, readers)
      {
        __atomic_add_fetch(&readers, 1, __ATOMIC_ACQ_REL);
        CHECK(x == i);
        work(200);
        CHECK(x == i);
        __atomic_sub_fetch(&readers, 1, __ATOMIC_ACQ_REL);
      }
    }
  }
}

static void wavefront(void) {
  enum { N = 24 };
  static long grid[N + 1][N + 1], expected[N + 1][N + 1];
  for (int i = 0; i <= N; i++)
    grid[i][0] = grid[0][i] = expected[i][0] = expected[0][i] = 1;
#pragma omp parallel
#pragma omp single
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= N; j++) {
#pragma omp task depend(in : grid[i - 1][j], grid[i][j - 1]) depend(out : grid[i][j])
      grid[i][j] = (grid[i - 1][j] + grid[i][j - 1]) % 1000003;
    }
  for (int i = 1; i <= N; i++)
    for (int j = 1; j <= N; j++)
      expected[i][j] = (expected[i - 1][j] + expected[i][j - 1]) % 1000003;
  CHECK(!memcmp(grid, expected, sizeof grid));
}

static void exclusive(void) {
  int x = 0, y = 0, inside = 0, order = 0;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task depend(out : x, y) shared(order)
    order = 1;
    for (int i = 0; i < 200; i++) {
#pragma omp task depend(mutexinoutset : x) depend(mutexinoutset : y) shared(x, inside, order)
      {
        CHECK(order == 1);
        CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_ACQ_REL) == 1, "two at once");
        x++;
        work(50);
        __atomic_sub_fetch(&inside, 1, __ATOMIC_ACQ_REL);
      }
#pragma omp task depend(mutexinoutset : y) shared(y)
      y++;
    }
#pragma omp task depend(in : x) shared(x)
    CHECK(x == 200, "%d", x);
#pragma omp taskwait
    CHECK(y == 200);
  }
}

static void waits(void) {
  int x = 0, y = 0, other = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(out : x) shared(x)
    {
      nap_us(500);
      x = 1;
    }
#pragma omp task depend(out : other) shared(other, y)
    {
      while (!__atomic_load_n(&y, __ATOMIC_ACQUIRE)) {
#pragma omp taskyield
      }
      other = 1;
    }
#pragma omp taskwait depend(in : x)
    CHECK(x == 1);
    CHECK(other == 0, "taskwait depend waited for an unrelated task");
#pragma omp task if (0) depend(inout : x) shared(x)
    x = 2;
    CHECK(x == 2);
    __atomic_store_n(&y, 1, __ATOMIC_RELEASE);
  }
  CHECK(other == 1);
}

static void objects(void) {
  int x = 0;
  omp_depend_t object;
#pragma omp depobj(object) depend(inout : x)
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < 50; i++) {
#pragma omp task depend(depobj : object) shared(x) firstprivate(i)
      {
        CHECK(x == i);
        x++;
      }
    }
  }
#pragma omp depobj(object) update(in)
#pragma omp depobj(object) destroy
  CHECK(x == 50);
}

static void iterators(void) {
  enum { N = 30 };
  int cells[N] = {0}, sum = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < N; i++) {
#pragma omp task depend(out : cells[i]) shared(cells)
      {
        work(300);
        cells[i] = i;
      }
    }
#pragma omp task depend(iterator(k = 0 : N), in : cells[k]) shared(sum, cells)
    for (int i = 0; i < N; i++)
      sum += cells[i];
  }
  CHECK(sum == N * (N - 1) / 2, "%d", sum);
}

static void levels_are_separate(void) {
  int x = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task depend(inout : x) shared(x)
    {
#pragma omp task depend(inout : x) shared(x)
      x += 1;
#pragma omp task depend(inout : x) shared(x)
      x *= 10;
#pragma omp taskwait
    }
#pragma omp task depend(inout : x) shared(x)
    x += 5;
  }
  CHECK(x == 15, "%d", x);
}

static void random_graph(void) {
  enum { CELLS = 16, TASKS = 4000 };
  static unsigned cell[CELLS], expected[CELLS];
  unsigned seed = 1;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < TASKS; i++) {
    int from = (seed = seed * 1103515245 + 12345) / 65536 % CELLS;
    int to = (seed = seed * 1103515245 + 12345) / 65536 % CELLS;
    expected[to] = expected[to] * 31 + expected[from] + i;
#pragma omp task depend(in : cell[from]) depend(inout : cell[to])
    cell[to] = cell[to] * 31 + cell[from] + i;
  }
  CHECK(!memcmp(cell, expected, sizeof cell));
}

int main(void) {
  chain();
  readers_and_writers();
  wavefront();
  exclusive();
  waits();
  objects();
  iterators();
  levels_are_separate();
  random_graph();
  return VERDICT();
}
