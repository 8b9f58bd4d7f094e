/* Task-parallel programs on the cores' VCPUs: their results beside those on one thread, the cost of a region
   beside its bound, and appendix A of paper 004. Every figure is virtual. */
#include <bulkhead-omp.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "kernels.h"

static int wrong;

static void verdict(int good, const char *what)
{
    wrong += !good;
    printf("%s: %s\n", what, good ? "ok" : "WRONG");
}

static uint64_t now_ns(void)
{
    return (uint64_t)(omp_get_wtime() * 1e9);
}

/* A program alone, as on one thread and as on all. */
static void compare(const struct kernel *kernel, int threads)
{
    char *values[2] = {(char *)kernel->name, (char *)kernel->argument};
    uint64_t results[2], took[2];
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i ? threads : 1);
        uint64_t start = now_ns();
        kernel->main(2, values);
        took[i] = now_ns() - start;
        results[i] = kernel_result;
    }
    int same = results[0] == results[1] && results[0] != 0;
    wrong += !same;
    printf("kernel %s %s: %lu on 1 thread in %lu us, %lu on %d in %lu us: %s\n", kernel->name, kernel->argument,
           results[0], took[0] / 1000, results[1], threads, took[1] / 1000, same ? "ok" : "WRONG");
}

static void empty(void)
{
#pragma omp parallel
    __asm__ volatile("" ::: "memory");
}

static void with_task(void)
{
#pragma omp parallel
    {
#pragma omp task
        __asm__ volatile("" ::: "memory");
#pragma omp taskwait
    }
}

enum { ROUNDS = 200 };

/* Regions one behind the other while budgets last, which is what one costs; then until budgets have ended
   often, which no region may feel for longer than its bound. A region is three pieces of work one behind the
   other, each at most what the whole costs: the leader's until its helpers may start, the last helper's, the
   leader's to the end. Each finds the budget of its VCPU as it may be. */
static void region(const char *name, void (*body)(void))
{
    uint64_t capacity, period, cost = 0, sum = 0, worst = 0;
    bulkhead_omp_vcpu(0, &capacity, &period);
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 10 == 0)
            kernel_sleep_ns(period + period / 2);
        uint64_t start = now_ns();
        body();
        uint64_t took = now_ns() - start;
        cost = took > cost ? took : cost;
        sum += took;
    }
    printf("region %s: %lu ns on average, %lu at worst with budget\n", name, sum / ROUNDS, cost);
    uint64_t part = bulkhead_omp_bound_ns(0, cost), bound = 3 * part, end = now_ns() + 10 * period;
    int count = 0;
    while (now_ns() < end) {
        uint64_t start = now_ns();
        body();
        uint64_t took = now_ns() - start;
        worst = took > worst ? took : worst;
        count++;
    }
    int within = part <= UINT64_MAX / 3 && worst <= bound;
    wrong += !within;
    printf("region %s: %lu ns at worst of %d without pause, bound %lu ns: %s\n", name, worst, count, bound,
           within ? "ok" : "LATE");
}

/* Appendix A, made deterministic: A { B { C{W}; W }; 5 %; taskwait } and a thread that is idle. Times of
   work are the clock's, so that it goes on while others do. */
static void compute(uint64_t ns)
{
    for (uint64_t end = now_ns() + ns; now_ns() < end;)
        __asm__ volatile("yield");
}

static void conserve(uint64_t w, uint64_t period, int iterations)
{
    uint64_t worst = 0;
    int good = 0;
    for (int i = 0; i < iterations; i++) {
        /* With whole budgets: what ends them is no question of work conservation. */
        kernel_sleep_ns(period + period / 2);
        uint64_t start = now_ns();
#pragma omp parallel num_threads(3)
#pragma omp single
        {
#pragma omp task
            {
#pragma omp task
                compute(w);
                compute(w);
            }
            compute(w / 20);
#pragma omp taskwait
        }
        uint64_t took = now_ns() - start;
        worst = took > worst ? took : worst;
        good += took * 100 <= 112 * w;
    }
    printf("conserve: %d of %d within 1.12 W, worst %lu.%03lu W\n", good, iterations, worst / w, worst % w * 1000 / w);
    verdict(good == iterations, "conserve");
}

int main(int count, char **values)
{
    (void)count, (void)values;
    uint64_t capacity, period;
    bulkhead_omp_vcpu(0, &capacity, &period);
    int threads = omp_get_max_threads();
    printf("%d threads, VCPUs of %lu us in %lu us\n", threads, capacity / 1000, period / 1000);
    region("parallel", empty);
    region("parallel+task+taskwait", with_task);
    /* Long beside the turns of emulated cores, a few of which pass between a wake-up and the woken thread. */
    conserve(capacity / 2, period, 20);
    for (const struct kernel *kernel = kernels; kernel->name; kernel++)
        compare(kernel, threads);
    verdict(wrong == 0, "omp");
    return wrong;
}
