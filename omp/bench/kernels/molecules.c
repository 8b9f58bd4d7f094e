/* Molecular dynamics with cells, in the manner of CoMD: dynamic loops, a lock for each cell. Argument: cells along an edge. */
#include "turns.h"

enum { PER_CELL = 8 };
typedef struct {
  long x, y, z;
} vector;

int main(int count, char **values) {
  int edge = argument(count, values, 7), cells = edge * edge * edge, n = cells * PER_CELL;
  vector *place = malloc(sizeof *place * n), *force = malloc(sizeof *force * n);
  omp_lock_t *locks = malloc(sizeof *locks * cells);
  uint64_t seed = 3;
  for (int i = 0; i < n; i++)
    place[i] = (vector){random32(&seed) % 1000, random32(&seed) % 1000, random32(&seed) % 1000};
  for (int i = 0; i < cells; i++)
    omp_init_lock(&locks[i]);
  start_clock();
  for (int step = 0; step < 4; step++) {
#pragma omp parallel
    {
#pragma omp for
      for (int i = 0; i < n; i++)
        force[i] = (vector){0, 0, 0};
#pragma omp for schedule(dynamic, 4)
      for (int cell = 0; cell < cells; cell++)
        for (int k = 0; k < 14; k++) {
          int other = (cell + k * edge * 3 + k) % cells;
          vector sum[PER_CELL] = {{0}};
          for (int i = 0; i < PER_CELL; i++)
            for (int j = 0; j < PER_CELL; j++) {
              vector a = place[cell * PER_CELL + i], b = place[other * PER_CELL + j];
              long x = a.x - b.x, y = a.y - b.y, z = a.z - b.z, square = x * x + y * y + z * z + 1;
              long strength = 1000000 / square;
              sum[j].x += x * strength, sum[j].y += y * strength, sum[j].z += z * strength;
            }
          omp_set_lock(&locks[other]);
          for (int j = 0; j < PER_CELL; j++) {
            vector *f = &force[other * PER_CELL + j];
            f->x += sum[j].x, f->y += sum[j].y, f->z += sum[j].z;
          }
          omp_unset_lock(&locks[other]);
        }
#pragma omp for schedule(guided)
      for (int i = 0; i < n; i++) {
        place[i].x += force[i].x % 7;
        place[i].y += force[i].y % 7;
        place[i].z += force[i].z % 7;
      }
    }
  }
  uint64_t sum = 0;
  for (int i = 0; i < n; i++)
    sum += (uint64_t)(place[i].x + 3 * place[i].y + 5 * place[i].z + 1000000);
  stop_clock(sum);
  for (int i = 0; i < cells; i++)
    omp_destroy_lock(&locks[i]);
  free(place), free(force), free(locks);
  return 0;
}
