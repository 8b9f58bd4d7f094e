/* All placements of n queens: a task per move, the board copied into each. */
#include "turns.h"

static int solutions_of(int n, int row, const char *board) {
  if (row == n)
    return 1;
  int found[32] = {0}, sum = 0;
  for (int column = 0; column < n; column++) {
    int free = 1;
    for (int i = 0; i < row && free; i++) {
      int distance = board[i] - column;
      free = distance && distance != row - i && distance != i - row;
    }
    if (!free)
      continue;
#pragma omp task firstprivate(column, row) shared(found)
    {
      char next[32];
      memcpy(next, board, row);
      next[row] = column;
      found[column] = solutions_of(n, row + 1, next);
    }
  }
#pragma omp taskwait
  for (int column = 0; column < n; column++)
    sum += found[column];
  return sum;
}

int main(int count, char **values) {
  int n = argument(count, values, 12), result = 0;
  char board[32] = {0};
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  result = solutions_of(n, 0, board);
  stop_clock(result);
}
