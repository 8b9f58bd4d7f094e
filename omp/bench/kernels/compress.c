/* Blocks are coded by run length in parallel and written in their order: `ordered`. Argument: blocks. */
#include "turns.h"

enum { BLOCK = 16384 };

int main(int count, char **values) {
  int n = argument(count, values, 200);
  unsigned char *out = malloc((size_t)n * BLOCK * 2);
  size_t length = 0;
  start_clock();
#pragma omp parallel for ordered schedule(dynamic, 1)
  for (int block = 0; block < n; block++) {
    unsigned char coded[BLOCK * 2];
    size_t size = 0;
    uint64_t seed = block + 1;
    for (int i = 0; i < BLOCK;) {
      uint32_t random = random32(&seed);
      int run = 1 + random % 9;
      coded[size++] = (unsigned char)run;
      coded[size++] = (unsigned char)(random >> 24);
      i += run;
    }
#pragma omp ordered
    {
      memcpy(out + length, coded, size);
      length += size;
    }
  }
  uint64_t sum = length;
  for (size_t i = 0; i < length; i += 64)
    sum = sum * 31 % 1000003 + out[i];
  stop_clock(sum);
  free(out);
  return 0;
}
