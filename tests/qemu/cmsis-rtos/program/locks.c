/* Mutexes and semaphores */
#include "check.h"

struct attempt {
    void *object;
    uint32_t timeout, hold;
    volatile int status;
    volatile uint32_t tick;
};

static void lock(void *argument)
{
    struct attempt *attempt = argument;
    attempt->status = osMutexAcquire(attempt->object, attempt->timeout);
    attempt->tick = osKernelGetTickCount();
    if (attempt->status == osOK) {
        if (attempt->hold)
            osDelay(attempt->hold);
        attempt->status = osMutexRelease(attempt->object);
    }
}

static void lock_and_end(void *argument)
{
    osMutexAcquire(argument, osWaitForever);
    osMutexAcquire(argument, osWaitForever);
}

static volatile int busy;

static void keep_busy(void *argument)
{
    uint32_t until = osKernelGetTickCount() + (uint32_t)(uintptr_t)argument;
    while (osKernelGetTickCount() < until)
        busy++;
}

/* Holds a mutex for so many ticks of work. */
static void work_locked(void *argument)
{
    osMutexAcquire(argument, osWaitForever);
    keep_busy((void *)6);
    osMutexRelease(argument);
}

void check_mutexes(void)
{
    begin_case("mutex: wrong arguments");
    CHECK(osMutexNew(&(osMutexAttr_t){.attr_bits = 0x40}) == NULL);
    CHECK(osMutexAcquire(NULL, 0) == osErrorParameter && osMutexRelease(NULL) == osErrorParameter);
    CHECK(osMutexGetOwner(NULL) == NULL && osMutexGetName(NULL) == NULL && osMutexDelete(NULL) == osErrorParameter);
    begin_case("mutex: one owner");
    osMutexId_t mutex = osMutexNew(&(osMutexAttr_t){.name = "lock"});
    CHECK(mutex && osMutexGetName(mutex)[0] == 'l' && osMutexGetOwner(mutex) == NULL);
    CHECK(osMutexRelease(mutex) == osErrorResource);
    CHECK(osMutexAcquire(mutex, 0) == osOK && osMutexGetOwner(mutex) == osThreadGetId());
    CHECK(osMutexAcquire(mutex, 0) == osErrorResource && osMutexAcquire(mutex, osWaitForever) == osErrorResource);
    struct attempt now = {mutex, 0, 0, 1, 0}, later = {mutex, 3, 0, 1, 0};
    uint32_t tick = osKernelGetTickCount();
    osThreadId_t high = start(lock, &now, osPriorityHigh), higher = start(lock, &later, osPriorityHigh);
    CHECK(now.status == osErrorResource);
    CHECK(osThreadJoin(high) == osOK && osThreadJoin(higher) == osOK);
    CHECK(later.status == osErrorTimeout && later.tick - tick >= 3);
    CHECK(osMutexRelease(mutex) == osOK && osMutexRelease(mutex) == osErrorResource);
    begin_case("mutex: the owner inherits priority");
    osThreadId_t low = start(work_locked, mutex, osPriorityLow);
    osDelay(1);
    struct attempt urgent = {mutex, osWaitForever, 0, 1, 0};
    tick = osKernelGetTickCount();
    osThreadId_t middle = start(keep_busy, (void *)30, osPriorityBelowNormal);
    high = start(lock, &urgent, osPriorityHigh);
    CHECK(osThreadJoin(high) == osOK);
    CHECK(urgent.status == osOK && urgent.tick - tick <= 8);
    CHECK(osThreadTerminate(middle) == osOK && osThreadJoin(middle) == osOK && osThreadJoin(low) == osOK);
    begin_case("mutex: deleted while threads wait");
    CHECK(osMutexAcquire(mutex, 0) == osOK);
    struct attempt waiting[2] = {{mutex, osWaitForever, 0, 1, 0}, {mutex, 100, 0, 1, 0}};
    high = start(lock, &waiting[0], osPriorityHigh);
    low = start(lock, &waiting[1], osPriorityLow);
    osDelay(2);
    CHECK(osMutexDelete(mutex) == osOK && waiting[0].status == osErrorResource);
    CHECK(osThreadJoin(high) == osOK && osThreadJoin(low) == osOK && waiting[1].status == osErrorResource);
    CHECK(osMutexAcquire(mutex, 0) == osErrorParameter && osMutexDelete(mutex) == osErrorParameter);
    begin_case("mutex: recursive");
    mutex = osMutexNew(&(osMutexAttr_t){.attr_bits = osMutexRecursive | osMutexPrioInherit});
    for (int depth = 0; depth < 3; depth++)
        CHECK(osMutexAcquire(mutex, 0) == osOK);
    for (int depth = 0; depth < 3; depth++) {
        CHECK(osMutexGetOwner(mutex) == osThreadGetId());
        CHECK(osMutexRelease(mutex) == osOK);
    }
    CHECK(osMutexGetOwner(mutex) == NULL && osMutexRelease(mutex) == osErrorResource);
    begin_case("mutex: of a thread that ends, robust or not");
    low = start(lock_and_end, mutex, osPriorityHigh);
    CHECK(osThreadJoin(low) == osOK);
    CHECK(osMutexGetOwner(mutex) == NULL && osMutexAcquire(mutex, 2) == osErrorTimeout);
    CHECK(osMutexDelete(mutex) == osOK);
    mutex = osMutexNew(&(osMutexAttr_t){.attr_bits = osMutexRecursive | osMutexRobust});
    low = start(lock_and_end, mutex, osPriorityHigh);
    CHECK(osThreadJoin(low) == osOK && osMutexAcquire(mutex, 0) == osOK && osMutexRelease(mutex) == osOK);
    CHECK(osMutexDelete(mutex) == osOK);
}

static void acquire(void *argument)
{
    struct attempt *attempt = argument;
    attempt->status = osSemaphoreAcquire(attempt->object, attempt->timeout);
    attempt->tick = osKernelGetTickCount();
}

void check_semaphores(void)
{
    begin_case("semaphore: wrong arguments");
    CHECK(osSemaphoreNew(0, 0, NULL) == NULL && osSemaphoreNew(1, 2, NULL) == NULL);
    CHECK(osSemaphoreAcquire(NULL, 0) == osErrorParameter && osSemaphoreRelease(NULL) == osErrorParameter);
    CHECK(osSemaphoreGetCount(NULL) == 0 && osSemaphoreDelete(NULL) == osErrorParameter);
    begin_case("semaphore: tokens");
    osSemaphoreId_t semaphore = osSemaphoreNew(3, 2, &(osSemaphoreAttr_t){.name = "tokens"});
    CHECK(osSemaphoreGetName(semaphore)[0] == 't' && osSemaphoreGetCount(semaphore) == 2);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osOK && osSemaphoreAcquire(semaphore, osWaitForever) == osOK);
    CHECK(osSemaphoreAcquire(semaphore, 0) == osErrorResource && osSemaphoreAcquire(semaphore, 2) == osErrorTimeout);
    for (int count = 1; count <= 3; count++)
        CHECK(osSemaphoreRelease(semaphore) == osOK && osSemaphoreGetCount(semaphore) == (uint32_t)count);
    CHECK(osSemaphoreRelease(semaphore) == osErrorResource);
    CHECK(osSemaphoreDelete(semaphore) == osOK && osSemaphoreRelease(semaphore) == osErrorParameter);
    begin_case("semaphore: the most important thread is served first");
    semaphore = osSemaphoreNew(1, 0, NULL);
    struct attempt low = {semaphore, osWaitForever, 0, 1, 0}, high = {semaphore, osWaitForever, 0, 1, 0};
    osThreadId_t threads[2] = {start(acquire, &low, osPriorityHigh), start(acquire, &high, osPriorityRealtime)};
    CHECK(osSemaphoreRelease(semaphore) == osOK && high.status == osOK && low.status == 1);
    CHECK(osThreadJoin(threads[1]) == osOK);
    begin_case("semaphore: deleted while a thread waits");
    CHECK(osSemaphoreDelete(semaphore) == osOK && low.status == osErrorResource);
    CHECK(osThreadJoin(threads[0]) == osOK);
}
