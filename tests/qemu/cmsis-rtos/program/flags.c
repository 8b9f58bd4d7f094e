/* Thread flags and event flags */
#include "check.h"

static volatile uint32_t found;
static osThreadId_t main_thread;

static void wait_for_own(void *argument)
{
    found = osThreadFlagsWait((uint32_t)(uintptr_t)argument, osFlagsWaitAll, osWaitForever);
}

static void set_later(void *argument)
{
    osDelay(2);
    osThreadFlagsSet(main_thread, (uint32_t)(uintptr_t)argument);
}

void check_thread_flags(void)
{
    main_thread = osThreadGetId();
    begin_case("thread flags: wrong arguments");
    CHECK(osThreadFlagsSet(NULL, 1) == osFlagsErrorParameter);
    CHECK(osThreadFlagsSet(main_thread, 0x80000000u) == osFlagsErrorParameter);
    CHECK(osThreadFlagsClear(0x80000000u) == osFlagsErrorParameter);
    CHECK(osThreadFlagsWait(0x80000000u, osFlagsWaitAny, 0) == osFlagsErrorParameter);
    CHECK(osThreadFlagsWait(1, 0x10, 0) == osFlagsErrorParameter);
    begin_case("thread flags: set, get, clear");
    CHECK(osThreadFlagsGet() == 0);
    CHECK(osThreadFlagsSet(main_thread, 0x15) == 0x15);
    CHECK(osThreadFlagsGet() == 0x15);
    CHECK(osThreadFlagsClear(0x11) == 0x15 && osThreadFlagsGet() == 4);
    begin_case("thread flags: any, all, without clearing");
    osThreadFlagsSet(main_thread, 0x70000000);
    CHECK(osThreadFlagsWait(0x10000001, osFlagsWaitAny | osFlagsNoClear, 0) == 0x70000004);
    CHECK(osThreadFlagsWait(0x10000001, osFlagsWaitAll, 0) == osFlagsErrorResource);
    CHECK(osThreadFlagsWait(0x30000000, osFlagsWaitAll, 0) == 0x70000004);
    CHECK(osThreadFlagsGet() == 0x40000004);
    CHECK(osThreadFlagsClear(0x7fffffff) == 0x40000004);
    begin_case("thread flags: time-out, and flags that come in time");
    uint32_t tick = osKernelGetTickCount();
    CHECK(osThreadFlagsWait(1, osFlagsWaitAny, 3) == osFlagsErrorTimeout);
    CHECK(osKernelGetTickCount() - tick >= 3);
    osThreadId_t thread = start(set_later, (void *)6, osPriorityLow);
    CHECK(osThreadFlagsWait(2, osFlagsWaitAny, 10) == 6);
    CHECK(osThreadFlagsGet() == 4 && osThreadFlagsClear(4) == 4);
    CHECK(osThreadJoin(thread) == osOK);
    begin_case("thread flags: of another thread, gone with it");
    found = 0;
    thread = start(wait_for_own, (void *)3, osPriorityHigh);
    CHECK(osThreadFlagsSet(thread, 1) == 1 && found == 0);
    CHECK(osThreadFlagsSet(thread, 6) == 4 && found == 7);
    CHECK(osThreadFlagsSet(thread, 1) == osFlagsErrorResource);
    CHECK(osThreadJoin(thread) == osOK);
    CHECK(osThreadFlagsSet(thread, 1) == osFlagsErrorParameter);
    thread = start(wait_for_own, (void *)8, osPriorityHigh);
    CHECK(osThreadFlagsSet(thread, 8) == 0 && found == 8);
    CHECK(osThreadJoin(thread) == osOK);
}

struct wish {
    osEventFlagsId_t events;
    uint32_t flags, options, timeout;
    volatile uint32_t found;
};

static void wait_for(void *argument)
{
    struct wish *wish = argument;
    wish->found = osEventFlagsWait(wish->events, wish->flags, wish->options, wish->timeout);
}

void check_event_flags(void)
{
    static _Alignas(16) unsigned char block[BULKHEAD_OS_BLOCK_BYTES];
    begin_case("event flags: wrong arguments");
    CHECK(osEventFlagsNew(&(osEventFlagsAttr_t){.cb_mem = block, .cb_size = 8}) == NULL);
    CHECK(osEventFlagsNew(&(osEventFlagsAttr_t){.cb_mem = block + 1, .cb_size = sizeof block}) == NULL);
    CHECK(osEventFlagsSet(NULL, 1) == osFlagsErrorParameter);
    CHECK(osEventFlagsClear(NULL, 1) == osFlagsErrorParameter);
    CHECK(osEventFlagsGet(NULL) == 0 && osEventFlagsGetName(NULL) == NULL);
    CHECK(osEventFlagsWait(NULL, 1, osFlagsWaitAny, 0) == osFlagsErrorParameter);
    CHECK(osEventFlagsDelete(NULL) == osErrorParameter);
    osMutexId_t mutex = osMutexNew(NULL);
    CHECK(osEventFlagsSet(mutex, 1) == osFlagsErrorParameter);
    CHECK(osMutexDelete(mutex) == osOK);
    begin_case("event flags: in memory of the program");
    osEventFlagsId_t events =
        osEventFlagsNew(&(osEventFlagsAttr_t){.name = "flags", .cb_mem = block, .cb_size = sizeof block});
    CHECK(events == (void *)block && osEventFlagsGetName(events)[1] == 'l');
    CHECK(osEventFlagsSet(events, 0x80000000u) == osFlagsErrorParameter);
    CHECK(osEventFlagsSet(events, 5) == 5 && osEventFlagsGet(events) == 5);
    CHECK(osEventFlagsClear(events, 4) == 5 && osEventFlagsGet(events) == 1);
    CHECK(osEventFlagsWait(events, 1, osFlagsNoClear, 0) == 1);
    CHECK(osEventFlagsWait(events, 3, osFlagsWaitAll, 0) == osFlagsErrorResource);
    CHECK(osEventFlagsWait(events, 3, osFlagsWaitAny, osWaitForever) == 1);
    CHECK(osEventFlagsWait(events, 1, osFlagsWaitAny, 2) == osFlagsErrorTimeout);
    begin_case("event flags: one set serves several threads");
    struct wish one = {events, 3, osFlagsWaitAll, osWaitForever, 0}, other = {events, 6, osFlagsWaitAny, 20, 0};
    struct wish last = {events, 8, osFlagsNoClear, osWaitForever, 0};
    osThreadId_t threads[3] = {
        start(wait_for, &one, osPriorityHigh),
        start(wait_for, &other, osPriorityHigh1),
        start(wait_for, &last, osPriorityHigh2),
    };
    CHECK(osEventFlagsSet(events, 1) == 1);
    CHECK(osEventFlagsSet(events, 2) == 0 && one.found == 3 && other.found == 3 && last.found == 0);
    CHECK(osEventFlagsSet(events, 24) == 24 && last.found == 24);
    for (int number = 0; number < 3; number++)
        CHECK(osThreadJoin(threads[number]) == osOK);
    begin_case("event flags: deleted while a thread waits");
    CHECK(osEventFlagsClear(events, 24) == 24);
    threads[0] = start(wait_for, &last, osPriorityHigh);
    CHECK(osEventFlagsDelete(events) == osOK);
    CHECK(last.found == osFlagsErrorResource && osThreadJoin(threads[0]) == osOK);
    CHECK(osEventFlagsSet(events, 1) == osFlagsErrorParameter && osEventFlagsDelete(events) == osErrorParameter);
}
