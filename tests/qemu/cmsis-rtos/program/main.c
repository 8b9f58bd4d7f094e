/* Validation of CMSIS-RTOS v2, written from Arm's documentation of the interface */
#include "check.h"

static const char *name;
static int failures, all_failures;

void begin_case(const char *next)
{
    if (name)
        printf("%s: %s\n", name, failures ? "failed" : "passed");
    all_failures += failures;
    failures = 0;
    name = next;
}

void check_that(int holds, const char *condition, const char *file, int line)
{
    if (!holds) {
        failures++;
        printf("%s:%d: wrong: %s\n", file, line, condition);
    }
}

static void check_all(void *argument)
{
    (void)argument;
    check_kernel();
    check_threads();
    check_thread_flags();
    check_event_flags();
    check_mutexes();
    check_semaphores();
    check_pools();
    check_queues();
    check_timers();
    begin_case(NULL);
    printf("validation ends, %d wrong\n", all_failures);
}

int main(void)
{
    check_kernel_before_start();
    osThreadNew(check_all, NULL, &(osThreadAttr_t){.name = "check", .stack_size = 16384});
    begin_case(NULL);
    osKernelStart();
    return 1;
}
