/* Thread creation fails: the team goes on with fewer, with a warning. Many short-lived leaders. */
#include "../check.h"
#include <pthread.h>
#include <sys/resource.h>

static void *lead(void *sum) {
#pragma omp parallel num_threads(2)
#pragma omp atomic
  *(long *)sum += 1;
  return NULL;
}

int main(void) {
  long sum = 0;
  for (int i = 0; i < 300; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, lead, &sum);
    pthread_join(thread, NULL);
  }
  CHECK(sum == 600, "%ld", sum);
  /* No address space is left for another stack. */
  struct rlimit limit = {400 << 20, 400 << 20};
  setrlimit(RLIMIT_AS, &limit);
  int n = 0;
#pragma omp parallel num_threads(200) reduction(+ : n)
  {
    CHECK(omp_get_num_threads() >= 1 && omp_get_thread_num() < omp_get_num_threads());
    n++;
#pragma omp barrier
  }
  CHECK(n >= 1 && n < 200, "%d threads in 400 MiB", n);
  return VERDICT();
}
