/* Global alignment of every pair of protein-like sequences: a loop that makes one task per pair. */
#include "turns.h"

enum { LENGTH = 200 };

static int score(const unsigned char *a, const unsigned char *b) {
  int row[LENGTH + 1];
  for (int j = 0; j <= LENGTH; j++)
    row[j] = -2 * j;
  for (int i = 1; i <= LENGTH; i++) {
    int diagonal = row[0];
    row[0] = -2 * i;
    for (int j = 1; j <= LENGTH; j++) {
      int match = diagonal + (a[i - 1] == b[j - 1] ? 3 : -1);
      int gap = (row[j] > row[j - 1] ? row[j] : row[j - 1]) - 2;
      diagonal = row[j];
      row[j] = match > gap ? match : gap;
    }
  }
  return row[LENGTH];
}

int main(int count, char **values) {
  int n = argument(count, values, 60);
  unsigned char(*sequences)[LENGTH] = malloc(n * sizeof *sequences);
  int *scores = calloc(n * n, sizeof *scores);
  uint64_t seed = 5, sum = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < LENGTH; k++)
      sequences[i][k] = random32(&seed) % 20;
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp for schedule(dynamic)
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
#pragma omp task
      scores[i * n + j] = score(sequences[i], sequences[j]);
  for (int i = 0; i < n * n; i++)
    sum += scores[i] + 1000;
  stop_clock(sum);
  free(sequences);
  free(scores);
}
