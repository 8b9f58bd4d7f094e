/* Cases of the validation: each prints one line. */
#ifndef CHECK_H
#define CHECK_H
#include <cmsis_os2.h>
#include <stdio.h>
#include <stdlib.h>

/* Begins a case, which ends the one before. NULL ends the last one. */
void begin_case(const char *name);
void check_that(int holds, const char *condition, const char *file, int line);
#define CHECK(condition) check_that(!!(condition), #condition, __FILE__, __LINE__)

/* A thread that a case makes. */
static inline osThreadId_t start(osThreadFunc_t function, void *argument, osPriority_t priority)
{
    return osThreadNew(function, argument, &(osThreadAttr_t){.priority = priority, .attr_bits = osThreadJoinable});
}

void check_kernel_before_start(void);
void check_kernel(void);
void check_threads(void);
void check_thread_flags(void);
void check_event_flags(void);
void check_mutexes(void);
void check_semaphores(void);
void check_pools(void);
void check_queues(void);
void check_timers(void);
#endif
