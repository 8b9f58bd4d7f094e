/* Timers */
#include "check.h"

static volatile uint32_t calls, last;
static osTimerId_t to_stop;

static void count_call(void *argument)
{
    calls += (uint32_t)(uintptr_t)argument;
    last = osKernelGetTickCount();
}

static void stop_itself(void *argument)
{
    (void)argument;
    calls++;
    osDelay(1);
    osTimerStop(to_stop);
}

void check_timers(void)
{
    begin_case("timer: wrong arguments");
    CHECK(osTimerNew(NULL, osTimerOnce, NULL, NULL) == NULL);
    CHECK(osTimerNew(count_call, (osTimerType_t)2, NULL, NULL) == NULL);
    CHECK(osTimerStart(NULL, 1) == osErrorParameter && osTimerStop(NULL) == osErrorParameter);
    CHECK(osTimerIsRunning(NULL) == 0 && osTimerGetName(NULL) == NULL && osTimerDelete(NULL) == osErrorParameter);
    begin_case("timer: once");
    osTimerId_t once = osTimerNew(count_call, osTimerOnce, (void *)1, &(osTimerAttr_t){.name = "once"});
    CHECK(osTimerGetName(once)[0] == 'o' && osTimerIsRunning(once) == 0);
    CHECK(osTimerStart(once, 0) == osErrorParameter && osTimerStop(once) == osErrorResource);
    uint32_t tick = osKernelGetTickCount();
    CHECK(osTimerStart(once, 4) == osOK && osTimerIsRunning(once) == 1);
    osDelay(10);
    CHECK(calls == 1 && last - tick >= 4 && last - tick <= 5 && osTimerIsRunning(once) == 0);
    begin_case("timer: started anew, it begins anew");
    CHECK(osTimerStart(once, 4) == osOK);
    osDelay(2);
    CHECK(osTimerStart(once, 4) == osOK);
    osDelay(3);
    CHECK(calls == 1);
    osDelay(3);
    CHECK(calls == 2);
    begin_case("timer: periodic until its stop");
    osTimerId_t periodic = osTimerNew(count_call, osTimerPeriodic, (void *)10, NULL);
    CHECK(osTimerStart(periodic, 2) == osOK);
    osDelay(9);
    CHECK(calls == 42 && osTimerIsRunning(periodic) == 1);
    CHECK(osTimerStop(periodic) == osOK && osTimerStop(periodic) == osErrorResource);
    osDelay(5);
    CHECK(calls == 42 && osTimerIsRunning(periodic) == 0);
    begin_case("timer: its function stops it and may wait");
    calls = 0;
    to_stop = osTimerNew(stop_itself, osTimerPeriodic, NULL, NULL);
    CHECK(osTimerStart(to_stop, 2) == osOK);
    osDelay(10);
    CHECK(calls == 1 && osTimerDelete(to_stop) == osOK);
    begin_case("timer: deleted while it runs");
    CHECK(osTimerStart(periodic, 1) == osOK && osTimerDelete(periodic) == osOK);
    osDelay(3);
    CHECK(calls == 1 && osTimerStart(periodic, 1) == osErrorParameter);
    CHECK(osTimerDelete(once) == osOK);
    begin_case("timer: as many as there is room for");
    static osTimerId_t all[64];
    int made = 0;
    while (made < 64 && (all[made] = osTimerNew(count_call, osTimerOnce, NULL, NULL)))
        made++;
    CHECK(made == 32);
    while (made > 0)
        CHECK(osTimerDelete(all[--made]) == osOK);
    CHECK(osThreadGetCount() == 1);
}
