/* Appendix A of paper 004, made deterministic (facts/openmp.md): ideal times in units of W.

     conserve MODE COUNT MICROSECONDS
     MODE sleep: 3 threads, blocking work.      A { B{W}; 5 %; taskwait }  C{W} 5 % after A  W
          spin:  2 threads, computing work.     A { B { C{W}; W }; 5 %; taskwait }
          tree:  random trees of blocking tasks on 4 threads, against the greedy bound.
   Prints, per iteration, the time over W (sleep, spin) or over the bound (tree), and in the same unit what the host
   withheld meanwhile: for how long threads were ready and had no processor, computed and did not get on, or slept on
   when their time had come. A thread that waits for work says nothing about its processor: a watch beside the runtime,
   on every processor, does. */
#define _GNU_SOURCE
#include "bench.h"
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* Seconds between two looks at the clock that a thread does not need, not even beside a watch: it was stopped. */
#define STOPPED 100e-6
/* Seconds after its time that a thread wakes up without anything being wrong: the kernel's slack and the way back. */
#define LATE 300e-6
/* Seconds that the watch of a processor sleeps: about as long as what makes an iteration late; oftener it would be what disturbs. */
#define WATCH 2e-3

static double w, *stopped; /* shared with the watches */

/* Seconds that the threads there are have waited for a processor since they exist. */
static double waited(void) {
  double sum = 0;
  DIR *threads = opendir("/proc/self/task");
  for (struct dirent *thread; threads && (thread = readdir(threads));) {
    char path[sizeof thread->d_name + 32];
    unsigned long long ran, ready;
    snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", thread->d_name);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%llu %llu", &ran, &ready) == 2)
      sum += (double)ready * 1e-9;
    if (file)
      fclose(file);
  }
  if (threads)
    closedir(threads);
  return sum;
}

static void note_stopped(double seconds) {
#pragma omp atomic
  *stopped += seconds;
}

static void block(double seconds) {
  struct timespec time = {(time_t)seconds, (long)((seconds - (long)seconds) * 1e9)};
  double end = omp_get_wtime() + seconds;
  nanosleep(&time, NULL);
  double late = omp_get_wtime() - end;
  if (late > LATE)
    note_stopped(late);
}

static void compute(double seconds) {
  double now = omp_get_wtime(), end = now + seconds, sum = 0;
  while (now < end) {
    double next = omp_get_wtime();
    if (next - now > STOPPED)
      sum += next - now;
    now = next;
  }
  note_stopped(sum);
}

/* A process for each processor that sleeps and wakes there before all others, and notes when it was late. */
static void watch_processors(void) {
  pid_t program = getpid();
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &all) || fork() != 0)
      continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1});
    while (getppid() == program)
      block(WATCH);
    _exit(0);
  }
}

struct node;

static void sleeping(const struct node *nothing) {
  (void)nothing;
#pragma omp parallel num_threads(3)
#pragma omp single
  {
#pragma omp task
    {
#pragma omp task
      block(w);
      block(0.05 * w);
#pragma omp taskwait
    }
    block(0.05 * w);
#pragma omp task
    block(w);
    block(w);
#pragma omp taskwait
  }
}

static void spinning(const struct node *nothing) {
  (void)nothing;
#pragma omp parallel num_threads(2)
#pragma omp single
  {
#pragma omp task
    {
#pragma omp task
      compute(w);
      compute(w);
    }
    compute(0.05 * w);
#pragma omp taskwait
  }
}

/* A random tree: every node works, makes children, works, waits, works. Greedy scheduling on p
   threads takes at most work/p + span. */
struct node {
  int children;
  double before, between, after;
  struct node *child[4];
};

static double total, deepest;

static double units(uint64_t *seed) { return (random32(seed) % 5) * 0.2 * w; }

static struct node *grow(uint64_t *seed, int depth) {
  struct node *node = calloc(1, sizeof *node);
  node->children = depth == 0 ? 0 : random32(seed) % 4;
  node->before = units(seed), node->between = units(seed), node->after = units(seed);
  total += node->before + node->between + node->after;
  for (int i = 0; i < node->children; i++)
    node->child[i] = grow(seed, depth - 1);
  return node;
}

static double span(const struct node *node) {
  double longest = node->between;
  for (int i = 0; i < node->children; i++) {
    double below = span(node->child[i]);
    longest = below > longest ? below : longest;
  }
  return node->before + longest + node->after;
}

static void run(const struct node *node) {
  block(node->before);
  for (int i = 0; i < node->children; i++) {
#pragma omp task
    run(node->child[i]);
  }
  block(node->between);
#pragma omp taskwait
  block(node->after);
}

static void drop(struct node *node) {
  for (int i = 0; i < node->children; i++)
    drop(node->child[i]);
  free(node);
}

/* One run of a program; prints its line. */
static void measure(void (*program)(const struct node *), const struct node *tree, double unit) {
  double withheld = waited() + *stopped, start = omp_get_wtime();
  program(tree);
  double taken = omp_get_wtime() - start;
  printf("%.6f %.6f\n", taken / unit, (waited() + *stopped - withheld) / unit);
}

static void climb(const struct node *root) {
#pragma omp parallel num_threads(4)
#pragma omp single
  {
#pragma omp task
    run(root);
  }
}

static void measure_tree(uint64_t *seed) {
  total = 0;
  struct node *root = grow(seed, 4);
  deepest = span(root);
#pragma omp parallel num_threads(4)
  ;
  if (total > 0)
    measure(climb, root, total / 4 + deepest);
  drop(root);
}

int main(int count, char **values) {
  if (count < 4)
    return 2;
  int iterations = atoi(values[2]);
  w = atof(values[3]) * 1e-6;
  uint64_t seed = 1;
  stopped = mmap(NULL, sizeof *stopped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (stopped == MAP_FAILED)
    return 1;
  watch_processors();
  for (int i = 0; i < iterations; i++)
    switch (values[1][1]) {
    case 'l':
      measure(sleeping, NULL, w);
      break;
    case 'p':
      measure(spinning, NULL, w);
      break;
    default:
      measure_tree(&seed);
    }
}
