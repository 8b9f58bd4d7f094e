/* Kernel information and control, delays */
#include "check.h"
#include <string.h>

void check_kernel_before_start(void)
{
    begin_case("kernel: before it is initialised");
    CHECK(osKernelGetState() == osKernelInactive);
    CHECK(osKernelStart() == osError);
    CHECK(osThreadNew((osThreadFunc_t)free, NULL, NULL) == NULL);
    CHECK(osTimerNew((osTimerFunc_t)free, osTimerOnce, NULL, NULL) == NULL);
    CHECK(osKernelLock() == osError);
    begin_case("kernel: initialised");
    CHECK(osKernelInitialize() == osOK);
    CHECK(osKernelGetState() == osKernelReady);
    CHECK(osKernelInitialize() == osOK);
    CHECK(osKernelGetTickCount() == 0);
    begin_case("kernel: no call waits before it runs");
    osSemaphoreId_t semaphore = osSemaphoreNew(1, 1, NULL);
    osEventFlagsId_t events = osEventFlagsNew(NULL);
    CHECK(osDelay(1) == osError);
    CHECK(osDelayUntil(10) == osError);
    CHECK(osThreadYield() == osError);
    CHECK(osKernelLock() == osError);
    CHECK(osKernelUnlock() == osError);
    CHECK(osSemaphoreAcquire(semaphore, osWaitForever) == osError);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osOK);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osErrorResource);
    CHECK(osSemaphoreRelease(semaphore) == osOK);
    CHECK(osThreadFlagsWait(1, osFlagsWaitAny, 1) == osFlagsErrorUnknown);
    CHECK(osEventFlagsSet(events, 3) == 3);
    CHECK(osEventFlagsWait(events, 3, osFlagsWaitAll, 0) == 3);
    CHECK(osEventFlagsDelete(events) == osOK);
    CHECK(osSemaphoreDelete(semaphore) == osOK);
}

static volatile int ran;

static void note_run(void *argument)
{
    (void)argument;
    ran++;
}

void check_kernel(void)
{
    begin_case("kernel: information");
    osVersion_t version = {0, 0};
    char name[40] = "", part[5];
    CHECK(osKernelGetInfo(&version, name, sizeof name) == osOK);
    CHECK(version.api == 20030000 && version.kernel != 0 && strlen(name) > 0);
    CHECK(osKernelGetInfo(NULL, part, sizeof part) == osOK && strlen(part) == 4 && !strncmp(part, name, 4));
    CHECK(osKernelGetInfo(NULL, NULL, 0) == osOK);
    begin_case("kernel: running");
    CHECK(osKernelGetState() == osKernelRunning);
    CHECK(osKernelInitialize() == osError);
    CHECK(osKernelStart() == osError);
    begin_case("kernel: a locked one switches no threads");
    CHECK(osKernelLock() == 0);
    CHECK(osKernelGetState() == osKernelLocked);
    CHECK(osKernelLock() == 1);
    osThreadId_t high = start(note_run, NULL, osPriorityRealtime);
    CHECK(high != NULL && ran == 0);
    CHECK(osDelay(1) == osErrorResource);
    CHECK(osThreadJoin(high) == osErrorResource);
    uint32_t until = osKernelGetTickCount() + 3;
    while (osKernelGetTickCount() < until)
        ;
    CHECK(ran == 0);
    CHECK(osKernelUnlock() == 1);
    CHECK(ran == 1);
    CHECK(osThreadJoin(high) == osOK);
    CHECK(osKernelUnlock() == 0);
    CHECK(osKernelRestoreLock(1) == 1 && osKernelGetState() == osKernelLocked);
    CHECK(osKernelRestoreLock(0) == 0 && osKernelGetState() == osKernelRunning);
    CHECK(osKernelRestoreLock(7) == osError);
    begin_case("kernel: ticks and system timer");
    CHECK(osKernelGetTickFreq() == 1000);
    uint32_t frequency = osKernelGetSysTimerFreq();
    uint32_t tick = osKernelGetTickCount(), timer = osKernelGetSysTimerCount();
    while (osKernelGetTickCount() < tick + 2)
        ;
    uint32_t passed = osKernelGetSysTimerCount() - timer;
    CHECK(passed > frequency / 1000 && passed <= frequency / 1000 * 2 + frequency / 10000);
    begin_case("delay: as long as said");
    timer = osKernelGetSysTimerCount();
    CHECK(osDelay(5) == osOK);
    passed = osKernelGetSysTimerCount() - timer;
    CHECK(passed >= frequency / 1000 * 5 && passed < frequency / 1000 * 6);
    CHECK(osDelay(0) == osOK);
    begin_case("delay: until an instant");
    tick = osKernelGetTickCount();
    CHECK(osDelayUntil(tick + 4) == osOK);
    CHECK(osKernelGetTickCount() == tick + 4);
    CHECK(osDelayUntil(tick + 4) == osErrorParameter);
    CHECK(osDelayUntil(tick) == osErrorParameter);
}
