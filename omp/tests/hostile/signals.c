/* A storm of signals while everything waits and runs. */
#include "../check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static volatile long caught;
static volatile int stop;

static void handler(int signal) {
  (void)signal;
  caught++;
}

static int fib(int n) {
  int a, b;
  if (n < 2)
    return n;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void *shoot(void *target) {
  while (!stop) {
    pthread_kill(*(pthread_t *)target, SIGUSR1);
    nap_us(20);
  }
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  struct itimerval timer = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &timer, NULL);
  pthread_t self = pthread_self(), shooter;
  pthread_create(&shooter, NULL, shoot, &self);
  for (int round = 0; round < 20; round++) {
    int result = 0, count = 0;
#pragma omp parallel
#pragma omp single
    result = fib(17);
    CHECK(result == 1597, "%d", result);
#pragma omp parallel
    {
      nap_us(300);
#pragma omp barrier
#pragma omp critical
      count++;
    }
    CHECK(count >= 1);
  }
  stop = 1;
  pthread_join(shooter, NULL);
  CHECK(caught > 0);
  return VERDICT();
}
