/* Shock on a mesh of lines, in the manner of LULESH: many regions of some microseconds, temporary arrays. Argument: elements / 1000. */
#include "turns.h"
#include <math.h>

int main(int count, char **values) {
  int n = argument(count, values, 6) * 1000;
  double *position = malloc(sizeof(double) * (n + 1)), *velocity = calloc(n + 1, sizeof(double));
  double *energy = malloc(sizeof(double) * n), *pressure = malloc(sizeof(double) * n);
  for (int i = 0; i <= n; i++)
    position[i] = i;
  for (int i = 0; i < n; i++)
    energy[i] = i < n / 2 ? 2.0 : 0.5;
  start_clock();
  double dt = 0.01;
  for (int step = 0; step < 60; step++) {
    double *force = malloc(sizeof(double) * (n + 1)), *volume = malloc(sizeof(double) * n), fastest = 1e-9;
#pragma omp parallel for firstprivate(n)
    for (int i = 0; i < n; i++)
      volume[i] = position[i + 1] - position[i];
#pragma omp parallel for firstprivate(n)
    for (int i = 0; i < n; i++)
      pressure[i] = 0.4 * energy[i] / volume[i];
#pragma omp parallel for firstprivate(n)
    for (int i = 0; i <= n; i++)
      force[i] = i == 0 || i == n ? 0 : pressure[i - 1] - pressure[i];
#pragma omp parallel for firstprivate(n, dt)
    for (int i = 0; i <= n; i++) {
      velocity[i] += force[i] * dt;
      position[i] += velocity[i] * dt;
    }
#pragma omp parallel for firstprivate(n, dt)
    for (int i = 0; i < n; i++)
      energy[i] -= pressure[i] * (position[i + 1] - position[i] - volume[i]);
#pragma omp parallel for reduction(max : fastest)
    for (int i = 0; i < n; i++)
      fastest = fmax(fastest, sqrt(1.4 * pressure[i]) / volume[i]);
    dt = fmin(0.02, 0.01 / fastest);
    free(force), free(volume);
  }
  double total = 0;
  for (int i = 0; i < n; i++)
    total += energy[i];
  stop_clock((uint64_t)total);
  free(position), free(velocity), free(energy), free(pressure);
  return 0;
}
