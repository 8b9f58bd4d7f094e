/* Unbalanced tree search: the random numbers determine the tree's shape. */
#include "turns.h"

static uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

static uint64_t visit(uint64_t state, int depth) {
  uint64_t nodes[8] = {0}, sum = 1;
  /* Binomial: eight children with probability just below one eighth, many at the root. */
  int children = depth == 0 ? 20000 : (mix(state) % 100000 < 12400 ? 8 : 0);
  for (int i = 0; i < children; i++) {
    uint64_t child = mix(state + 0x9e3779b97f4a7c15ull * (i + 1));
    if (depth == 0) {
#pragma omp task firstprivate(child) shared(nodes)
      {
        uint64_t count = visit(child, 1);
#pragma omp atomic
        nodes[0] += count;
      }
    } else {
#pragma omp task firstprivate(child, i) shared(nodes)
      nodes[i] = visit(child, depth + 1);
    }
  }
#pragma omp taskwait
  for (int i = 0; i < 8; i++)
    sum += nodes[i];
  return sum;
}

int main(int count, char **values) {
  uint64_t seed = argument(count, values, 42), nodes = 0;
#pragma omp parallel
  ;
  start_clock();
#pragma omp parallel
#pragma omp single
  nodes = visit(seed, 0);
  stop_clock(nodes);
}
