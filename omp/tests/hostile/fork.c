/* fork: before any region, between regions, inside a region; each child uses OpenMP again. */
#include "../check.h"
#include <sys/wait.h>
#include <unistd.h>

static int region(void) {
  int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
  {
    n++;
#pragma omp single
    for (int i = 0; i < 10; i++)
#pragma omp task
      work(10);
  }
  return n;
}

static void in_child(int (*body)(void), int expected, const char *when) {
  int status, pid = fork();
  if (pid == 0) {
    alarm(10);
    _exit(body() == expected ? 0 : 1);
  }
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %x", when, status);
}

/* A task of the leader that a helper runs. */
static void share(void) {
#pragma omp parallel num_threads(2)
#pragma omp master
  {
    int started = 0;
#pragma omp task shared(started)
    {
#pragma omp atomic write
      started = 1;
    }
    for (int seen = 0; !seen;) {
#pragma omp atomic read
      seen = started;
    }
  }
}

static int alone(void) { return omp_get_num_threads() == 1 && omp_get_thread_num() == 0; }

int main(void) {
  in_child(region, 3, "before any region");
  CHECK(region() == 3);
  for (int i = 0; i < 20; i++)
    in_child(region, 3, "between regions");
  share();
  in_child(region, 3, "after a region whose tasks ended elsewhere");
#pragma omp parallel num_threads(3)
  {
#pragma omp critical
    in_child(alone, 1, "inside a region");
  }
  int status, pid = fork();
  if (pid == 0) {
    alarm(10);
#pragma omp parallel num_threads(2)
    {
      if (omp_get_thread_num() == 0 && fork() == 0) {
        alarm(10);
#pragma omp barrier
        _exit(7);
      }
#pragma omp barrier
    }
    int inner;
    wait(&inner);
    _exit(WIFEXITED(inner) ? WEXITSTATUS(inner) : 1);
  }
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a forked leader at a barrier: %x", status);
  CHECK(region() == 3);
  return VERDICT();
}
