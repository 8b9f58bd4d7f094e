/* Ten million tasks of one creator; memory stays bounded. */
#include "../check.h"

int main(void) {
  long sum = 0, expected = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 10000000; i++) {
#pragma omp task shared(sum)
    {
      if (i % 1000 == 0)
#pragma omp atomic
        sum += i;
    }
  }
  for (int i = 0; i < 10000000; i += 1000)
    expected += i;
  CHECK(sum == expected, "%ld", sum);
  char line[200];
  long kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status))
    sscanf(line, "VmHWM: %ld", &kib);
  fclose(status);
  CHECK(kib < 16384, "%ld KiB", kib);
  return VERDICT();
}
