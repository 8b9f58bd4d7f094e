/* Branch and bound: cells in several shapes placed on a grid, the smallest area wins. The bound is
   shared; the number of tasks depends on who finds a good plan first, so all solutions within the
   bound of the serial one are searched: the work is the same for every runtime. */
#include "turns.h"

enum { CELLS = 11, GRID = 24 };

static const unsigned char shapes[CELLS][3][2] = {
    {{2, 3}, {3, 2}, {1, 6}}, {{4, 1}, {1, 4}, {2, 2}}, {{3, 3}, {1, 9}, {9, 1}},
    {{2, 4}, {4, 2}, {1, 8}}, {{5, 1}, {1, 5}, {5, 1}}, {{2, 2}, {4, 1}, {1, 4}},
    {{3, 1}, {1, 3}, {3, 1}}, {{2, 5}, {5, 2}, {10, 1}}, {{3, 4}, {4, 3}, {2, 6}},
    {{1, 2}, {2, 1}, {1, 2}}, {{2, 3}, {3, 2}, {6, 1}},
};

struct plan {
  unsigned char used[GRID][GRID];
  unsigned char top[CELLS], left[CELLS], bottom[CELLS], right[CELLS];
  int height, width;
};

static long nodes;
static int bound;

static int fits(const struct plan *plan, int top, int left, int height, int width) {
  if (top + height > GRID || left + width > GRID)
    return 0;
  for (int i = top; i < top + height; i++)
    for (int j = left; j < left + width; j++)
      if (plan->used[i][j])
        return 0;
  return 1;
}

static void place(struct plan *plan, int cell, int top, int left, int height, int width) {
  for (int i = top; i < top + height; i++)
    memset(&plan->used[i][left], cell + 1, width);
  plan->top[cell] = top, plan->left[cell] = left;
  plan->bottom[cell] = top + height, plan->right[cell] = left + width;
  plan->height = plan->height > top + height ? plan->height : top + height;
  plan->width = plan->width > left + width ? plan->width : left + width;
}

static long search(const struct plan *plan, int cell) {
  if (cell == CELLS)
    return 1;
  long found[6] = {0}, sum = 0;
  for (int choice = 0; choice < 6; choice++) {
    int shape = choice / 2, below = choice % 2;
    int height = shapes[cell][shape][0], width = shapes[cell][shape][1];
    int top = cell == 0 ? 0 : below ? plan->bottom[cell - 1] : plan->top[cell - 1];
    int left = cell == 0 ? 0 : below ? plan->left[cell - 1] : plan->right[cell - 1];
    if (!fits(plan, top, left, height, width))
      continue;
#pragma omp task firstprivate(top, left, height, width, choice) shared(found)
    {
      struct plan next = *plan;
      place(&next, cell, top, left, height, width);
      if (next.height * next.width <= bound)
        found[choice] = search(&next, cell + 1);
    }
  }
#pragma omp taskwait
  for (int choice = 0; choice < 6; choice++)
    sum += found[choice];
  return sum;
}

int main(int count, char **values) {
  bound = argument(count, values, 130);
  struct plan plan;
  memset(&plan, 0, sizeof plan);
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  nodes = search(&plan, 0);
  stop_clock(nodes);
}
