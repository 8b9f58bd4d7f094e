/* Threads */
#include "check.h"
#include <string.h>

static volatile int order[16], count;

static void note(void *argument)
{
    order[count++] = (int)(intptr_t)argument;
}

static void note_and_exit(void *argument)
{
    note(argument);
    osThreadExit();
}

static void wait_forever(void *argument)
{
    osSemaphoreAcquire(argument, osWaitForever);
    count += 100;
}

static void use_stack(void *argument)
{
    volatile char bytes[3000];
    for (size_t place = 0; place < sizeof bytes; place++)
        bytes[place] = (char)(intptr_t)argument;
    osThreadSuspend(osThreadGetId());
}

static void use_heap(void *argument)
{
    (void)argument;
    for (;;)
        free(malloc(100));
}

static void delay(void *argument)
{
    osDelay((uint32_t)(uintptr_t)argument);
}

static void check_arguments(void)
{
    begin_case("thread: wrong arguments");
    CHECK(osThreadNew(NULL, NULL, NULL) == NULL);
    CHECK(osThreadNew(note, NULL, &(osThreadAttr_t){.priority = (osPriority_t)57}) == NULL);
    CHECK(osThreadNew(note, NULL, &(osThreadAttr_t){.priority = osPriorityError}) == NULL);
    static char memory[512];
    CHECK(osThreadNew(note, NULL, &(osThreadAttr_t){.stack_mem = memory}) == NULL);
    CHECK(osThreadNew(note, NULL, &(osThreadAttr_t){.stack_mem = memory, .stack_size = sizeof memory}) == NULL);
    CHECK(osThreadNew(note, NULL, &(osThreadAttr_t){.cb_mem = memory}) == NULL);
    CHECK(osThreadNew(note, NULL, &(osThreadAttr_t){.attr_bits = 0x80}) == NULL);
    CHECK(osThreadGetName(NULL) == NULL);
    CHECK(osThreadGetState(NULL) == osThreadError);
    CHECK(osThreadGetState((osThreadId_t)0x12345) == osThreadError);
    CHECK(osThreadGetStackSize(NULL) == 0 && osThreadGetStackSpace(NULL) == 0);
    CHECK(osThreadSetPriority(NULL, osPriorityNormal) == osErrorParameter);
    CHECK(osThreadSetPriority(osThreadGetId(), osPriorityNone) == osErrorParameter);
    CHECK(osThreadGetPriority(NULL) == osPriorityError);
    CHECK(osThreadSuspend(NULL) == osErrorParameter);
    CHECK(osThreadResume(NULL) == osErrorParameter);
    CHECK(osThreadDetach(NULL) == osErrorParameter);
    CHECK(osThreadJoin(NULL) == osErrorParameter);
    CHECK(osThreadTerminate(NULL) == osErrorParameter);
    CHECK(osThreadEnumerate(NULL, 3) == 0);
}

static void check_order(void)
{
    begin_case("thread: the more important one runs at once");
    count = 0;
    osThreadId_t high = start(note, (void *)1, osPriorityAboveNormal);
    order[count++] = 2;
    osThreadId_t equal = start(note, (void *)4, osPriorityNormal);
    order[count++] = 3;
    CHECK(osThreadYield() == osOK);
    osThreadId_t low = start(note_and_exit, (void *)6, osPriorityLow);
    order[count++] = 5;
    CHECK(osThreadJoin(low) == osOK);
    for (int number = 0; number < 6; number++)
        CHECK(order[number] == number + 1);
    CHECK(osThreadJoin(high) == osOK && osThreadJoin(equal) == osOK);
    begin_case("thread: a change of priority takes effect");
    count = 0;
    low = start(note, (void *)1, osPriorityLow);
    CHECK(osThreadGetPriority(low) == osPriorityLow && count == 0);
    CHECK(osThreadSetPriority(low, osPriorityHigh) == osOK);
    CHECK(count == 1);
    CHECK(osThreadGetPriority(low) == osPriorityError);
    CHECK(osThreadJoin(low) == osOK);
    low = start(note, (void *)1, osPriorityLow);
    CHECK(osThreadSetPriority(osThreadGetId(), osPriorityIdle) == osOK);
    CHECK(count == 2 && osThreadGetPriority(osThreadGetId()) == osPriorityIdle);
    CHECK(osThreadSetPriority(osThreadGetId(), osPriorityNormal) == osOK);
    CHECK(osThreadJoin(low) == osOK);
}

static void check_states(void)
{
    begin_case("thread: names and states");
    CHECK(!strcmp(osThreadGetName(osThreadGetId()), "check"));
    CHECK(osThreadGetState(osThreadGetId()) == osThreadRunning);
    osSemaphoreId_t semaphore = osSemaphoreNew(1, 0, NULL);
    osThreadId_t waiting = start(wait_forever, semaphore, osPriorityHigh);
    osThreadId_t ready = start(note, NULL, osPriorityLow);
    CHECK(osThreadGetState(waiting) == osThreadBlocked);
    CHECK(osThreadGetState(ready) == osThreadReady);
    osThreadId_t all[8];
    CHECK(osThreadGetCount() == 3);
    CHECK(osThreadEnumerate(all, 2) == 2);
    CHECK(osThreadEnumerate(all, 8) == 3);
    int found = 0;
    for (int number = 0; number < 3; number++)
        found += (all[number] == waiting) + 2 * (all[number] == ready) + 4 * (all[number] == osThreadGetId());
    CHECK(found == 7);
    begin_case("thread: suspended until resumed");
    CHECK(osThreadResume(ready) == osErrorResource);
    CHECK(osThreadSuspend(waiting) == osOK);
    count = 0;
    CHECK(osSemaphoreRelease(semaphore) == osOK);
    CHECK(count == 0 && osThreadGetState(waiting) == osThreadBlocked);
    CHECK(osThreadResume(waiting) == osOK);
    CHECK(count == 100 && osThreadGetState(waiting) == osThreadTerminated);
    CHECK(osThreadSuspend(waiting) == osErrorResource && osThreadResume(waiting) == osErrorResource);
    CHECK(osThreadJoin(waiting) == osOK && osThreadJoin(ready) == osOK);
    CHECK(osSemaphoreDelete(semaphore) == osOK);
}

static void check_end(void)
{
    begin_case("thread: joined once, and its name is no other's");
    osThreadId_t thread = start(delay, (void *)2, osPriorityHigh);
    CHECK(osThreadJoin(osThreadGetId()) == osErrorResource);
    CHECK(osThreadJoin(thread) == osOK);
    CHECK(osThreadJoin(thread) == osErrorParameter);
    osThreadId_t next = start(delay, (void *)1, osPriorityHigh);
    CHECK(next != thread && osThreadGetState(thread) == osThreadError);
    CHECK(osThreadTerminate(thread) == osErrorParameter);
    CHECK(osThreadDetach(next) == osOK);
    CHECK(osThreadDetach(next) == osErrorResource);
    CHECK(osThreadJoin(next) == osErrorResource);
    CHECK(osDelay(3) == osOK);
    CHECK(osThreadGetState(next) == osThreadError);
    thread = start(note, NULL, osPriorityHigh);
    CHECK(osThreadGetState(thread) == osThreadTerminated);
    CHECK(osThreadDetach(thread) == osOK);
    CHECK(osThreadJoin(thread) == osErrorParameter);
    begin_case("thread: ended while it waits");
    osSemaphoreId_t semaphore = osSemaphoreNew(1, 0, NULL);
    count = 0;
    thread = start(wait_forever, semaphore, osPriorityHigh);
    CHECK(osThreadTerminate(thread) == osOK);
    CHECK(osThreadTerminate(thread) == osErrorResource);
    CHECK(osThreadJoin(thread) == osOK);
    CHECK(osSemaphoreRelease(semaphore) == osOK);
    CHECK(count == 0 && osSemaphoreGetCount(semaphore) == 1);
    CHECK(osSemaphoreDelete(semaphore) == osOK);
    begin_case("thread: ended wherever it uses the heap");
    for (int round = 0; round < 50; round++) {
        thread = start(use_heap, NULL, osPriorityLow);
        CHECK(thread != NULL);
        osDelay(1);
        CHECK(osThreadTerminate(thread) == osOK);
        CHECK(osThreadJoin(thread) == osOK);
        void *block = malloc(100);
        CHECK(block != NULL);
        free(block);
    }
    begin_case("thread: a thousand, one after the other");
    for (int round = 0; round < 1000; round++) {
        thread = start(note, NULL, round % 2 ? osPriorityHigh : osPriorityLow);
        CHECK(thread != NULL && osThreadJoin(thread) == osOK);
        count = 0;
    }
    begin_case("thread: as many as there is room for");
    static osThreadId_t all[64];
    int made = 0;
    while (made < 64 && (all[made] = start(note, NULL, osPriorityLow)))
        made++;
    CHECK(made >= 24 && made < 64);
    count = 0;
    while (made > 0) {
        count = 0;
        CHECK(osThreadJoin(all[--made]) == osOK);
    }
    CHECK(osThreadGetCount() == 1);
}

static void check_stacks(void)
{
    begin_case("thread: stack of declared size, and what is left of it");
    osThreadAttr_t attributes = {.attr_bits = osThreadJoinable, .priority = osPriorityHigh, .stack_size = 12288};
    osThreadId_t thread = osThreadNew(use_stack, (void *)0x55, &attributes);
    CHECK(osThreadGetStackSize(thread) == 12288);
    uint32_t space = osThreadGetStackSpace(thread);
    CHECK(space > 8000 && space < 12288 - 3000);
    CHECK(osThreadResume(thread) == osOK && osThreadJoin(thread) == osOK);
    begin_case("thread: stack of the program's memory");
    static uint64_t memory[512];
    memory[0] = memory[511] = 1;
    attributes.stack_mem = memory;
    attributes.stack_size = sizeof memory;
    thread = osThreadNew(use_stack, (void *)0x55, &attributes);
    CHECK(osThreadGetStackSize(thread) <= sizeof memory && osThreadGetStackSize(thread) >= sizeof memory - 32);
    space = osThreadGetStackSpace(thread);
    CHECK(space > 0 && space < sizeof memory - 3000);
    CHECK(osThreadResume(thread) == osOK && osThreadJoin(thread) == osOK);
}

void check_threads(void)
{
    check_arguments();
    check_order();
    check_states();
    check_end();
    check_stacks();
}
