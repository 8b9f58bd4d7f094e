/* LU factorisation of a matrix of blocks, many of them empty. */
#include "turns.h"
#include <math.h>

static int blocks = 40, size = 40;
#define BLOCK(I, J) matrix[(I) * blocks + (J)]

static float *new_block(void) { return calloc(size * size, sizeof(float)); }

static void factor(float *d) {
  for (int k = 0; k < size; k++)
    for (int i = k + 1; i < size; i++) {
      d[i * size + k] /= d[k * size + k];
      for (int j = k + 1; j < size; j++)
        d[i * size + j] -= d[i * size + k] * d[k * size + j];
    }
}

static void forward(const float *d, float *b) {
  for (int k = 0; k < size; k++)
    for (int i = k + 1; i < size; i++)
      for (int j = 0; j < size; j++)
        b[i * size + j] -= d[i * size + k] * b[k * size + j];
}

static void divide(const float *d, float *b) {
  for (int i = 0; i < size; i++)
    for (int k = 0; k < size; k++) {
      b[i * size + k] /= d[k * size + k];
      for (int j = k + 1; j < size; j++)
        b[i * size + j] -= b[i * size + k] * d[k * size + j];
    }
}

static void modify(const float *row, const float *column, float *b) {
  for (int i = 0; i < size; i++)
    for (int k = 0; k < size; k++)
      for (int j = 0; j < size; j++)
        b[i * size + j] -= row[i * size + k] * column[k * size + j];
}

static void decompose(float **matrix) {
  for (int k = 0; k < blocks; k++) {
    factor(BLOCK(k, k));
    for (int j = k + 1; j < blocks; j++)
      if (BLOCK(k, j))
#pragma omp task firstprivate(k, j) shared(matrix)
        forward(BLOCK(k, k), BLOCK(k, j));
    for (int i = k + 1; i < blocks; i++)
      if (BLOCK(i, k))
#pragma omp task firstprivate(k, i) shared(matrix)
        divide(BLOCK(k, k), BLOCK(i, k));
#pragma omp taskwait
    for (int i = k + 1; i < blocks; i++)
      if (BLOCK(i, k))
        for (int j = k + 1; j < blocks; j++)
          if (BLOCK(k, j))
#pragma omp task firstprivate(k, i, j) shared(matrix)
          {
            if (!BLOCK(i, j))
              BLOCK(i, j) = new_block();
            modify(BLOCK(i, k), BLOCK(k, j), BLOCK(i, j));
          }
#pragma omp taskwait
  }
}

int main(int count, char **values) {
  blocks = argument(count, values, 40);
  float **matrix = calloc(blocks * blocks, sizeof *matrix);
  uint64_t seed = 3;
  for (int i = 0; i < blocks; i++)
    for (int j = 0; j < blocks; j++) {
      if (i != j && abs(i - j) != 1 && random32(&seed) % 4)
        continue;
      float *block = BLOCK(i, j) = new_block();
      for (int k = 0; k < size * size; k++)
        block[k] = (random32(&seed) % 1000) * 0.001f;
      for (int k = 0; i == j && k < size; k++)
        block[k * size + k] += 100;
    }
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  decompose(matrix);
  double sum = 0;
  for (int i = 0; i < blocks * blocks; i++)
    for (int k = 0; matrix[i] && k < size * size; k++)
      sum += fabsf(matrix[i][k]);
  stop_clock((uint64_t)sum);
  for (int i = 0; i < blocks * blocks; i++)
    free(matrix[i]);
  free(matrix);
}
