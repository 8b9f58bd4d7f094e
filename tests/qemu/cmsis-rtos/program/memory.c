/* Memory pools and message queues */
#include "check.h"
#include <string.h>

struct request {
    void *object;
    uint32_t timeout;
    void *volatile block;
    volatile int status;
    char message[12];
    volatile uint8_t priority;
};

static void allocate(void *argument)
{
    struct request *request = argument;
    request->block = osMemoryPoolAlloc(request->object, request->timeout);
    request->status = osOK;
}

void check_pools(void)
{
    static uint32_t memory[3][5];
    begin_case("memory pool: wrong arguments");
    CHECK(osMemoryPoolNew(0, 4, NULL) == NULL && osMemoryPoolNew(4, 0, NULL) == NULL);
    CHECK(osMemoryPoolNew(3, 20, &(osMemoryPoolAttr_t){.mp_mem = memory, .mp_size = sizeof memory - 1}) == NULL);
    CHECK(osMemoryPoolNew(3, 20, &(osMemoryPoolAttr_t){.mp_size = 100}) == NULL);
    CHECK(osMemoryPoolNew(0x10000, 0x10000, NULL) == NULL);
    CHECK(osMemoryPoolAlloc(NULL, 0) == NULL && osMemoryPoolFree(NULL, memory) == osErrorParameter);
    CHECK(osMemoryPoolGetCapacity(NULL) == 0 && osMemoryPoolGetBlockSize(NULL) == 0);
    CHECK(osMemoryPoolGetCount(NULL) == 0 && osMemoryPoolGetSpace(NULL) == 0);
    CHECK(osMemoryPoolDelete(NULL) == osErrorParameter);
    begin_case("memory pool: blocks");
    osMemoryPoolId_t pool =
        osMemoryPoolNew(3, 18, &(osMemoryPoolAttr_t){.name = "pool", .mp_mem = memory, .mp_size = sizeof memory});
    CHECK(pool && osMemoryPoolGetName(pool)[0] == 'p');
    CHECK(osMemoryPoolGetCapacity(pool) == 3 && osMemoryPoolGetBlockSize(pool) == 20);
    void *blocks[3];
    for (int number = 0; number < 3; number++) {
        blocks[number] = osMemoryPoolAlloc(pool, 0);
        CHECK(blocks[number] == memory[number]);
        memset(blocks[number], 0xff, 20);
    }
    CHECK(osMemoryPoolAlloc(pool, 0) == NULL && osMemoryPoolAlloc(pool, 2) == NULL);
    CHECK(osMemoryPoolGetCount(pool) == 3 && osMemoryPoolGetSpace(pool) == 0);
    CHECK(osMemoryPoolFree(pool, (char *)blocks[1] + 4) == osErrorParameter);
    CHECK(osMemoryPoolFree(pool, NULL) == osErrorParameter);
    CHECK(osMemoryPoolFree(pool, blocks[1]) == osOK && osMemoryPoolFree(pool, blocks[1]) == osErrorParameter);
    CHECK(osMemoryPoolAlloc(pool, osWaitForever) == blocks[1]);
    begin_case("memory pool: a thread waits for a block");
    struct request waiting = {.object = pool, .timeout = osWaitForever, .status = 1};
    osThreadId_t thread = start(allocate, &waiting, osPriorityHigh);
    CHECK(waiting.status == 1 && osMemoryPoolFree(pool, blocks[2]) == osOK);
    CHECK(waiting.status == osOK && waiting.block == blocks[2] && osMemoryPoolGetCount(pool) == 3);
    CHECK(osThreadJoin(thread) == osOK);
    begin_case("memory pool: deleted while a thread waits");
    waiting = (struct request){.object = pool, .timeout = 50, .block = pool, .status = 1};
    thread = start(allocate, &waiting, osPriorityHigh);
    CHECK(osMemoryPoolDelete(pool) == osOK && waiting.status == osOK && waiting.block == NULL);
    CHECK(osThreadJoin(thread) == osOK && osMemoryPoolAlloc(pool, 0) == NULL);
    pool = osMemoryPoolNew(40, 8, NULL);
    for (int number = 0; number < 40; number++)
        CHECK(((uintptr_t)osMemoryPoolAlloc(pool, 0) - 1) % 8 == 7);
    CHECK(osMemoryPoolAlloc(pool, 0) == NULL && osMemoryPoolDelete(pool) == osOK);
}

static void put(void *argument)
{
    struct request *request = argument;
    request->status = osMessageQueuePut(request->object, request->message, request->priority, request->timeout);
}

static void get(void *argument)
{
    struct request *request = argument;
    uint8_t priority = 0;
    request->status = osMessageQueueGet(request->object, request->message, &priority, request->timeout);
    request->priority = priority;
}

void check_queues(void)
{
    static char memory[2 * 12];
    char message[12] = "";
    uint8_t priority;
    begin_case("message queue: wrong arguments");
    CHECK(osMessageQueueNew(0, 4, NULL) == NULL && osMessageQueueNew(4, 0, NULL) == NULL);
    CHECK(osMessageQueueNew(2, 12, &(osMessageQueueAttr_t){.mq_mem = memory, .mq_size = 23}) == NULL);
    CHECK(osMessageQueuePut(NULL, message, 0, 0) == osErrorParameter);
    CHECK(osMessageQueueGet(NULL, message, NULL, 0) == osErrorParameter);
    CHECK(osMessageQueueGetCapacity(NULL) == 0 && osMessageQueueGetMsgSize(NULL) == 0);
    CHECK(osMessageQueueGetCount(NULL) == 0 && osMessageQueueGetSpace(NULL) == 0);
    CHECK(osMessageQueueReset(NULL) == osErrorParameter && osMessageQueueDelete(NULL) == osErrorParameter);
    begin_case("message queue: order and priority");
    osMessageQueueId_t queue = osMessageQueueNew(4, 12, &(osMessageQueueAttr_t){.name = "queue"});
    CHECK(osMessageQueueGetName(queue)[0] == 'q' && osMessageQueueGetCapacity(queue) == 4);
    CHECK(osMessageQueueGetMsgSize(queue) == 12 && osMessageQueueGetSpace(queue) == 4);
    CHECK(osMessageQueuePut(queue, NULL, 0, 0) == osErrorParameter);
    CHECK(osMessageQueueGet(queue, NULL, NULL, 0) == osErrorParameter);
    CHECK(osMessageQueuePut(queue, "first......", 1, 0) == osOK && osMessageQueuePut(queue, "second.....", 1, 0) == osOK);
    CHECK(osMessageQueuePut(queue, "urgent.....", 9, 0) == osOK && osMessageQueuePut(queue, "last.......", 0, 0) == osOK);
    CHECK(osMessageQueuePut(queue, "none.......", 0, 0) == osErrorResource);
    CHECK(osMessageQueuePut(queue, "none.......", 0, 2) == osErrorTimeout);
    CHECK(osMessageQueueGetCount(queue) == 4 && osMessageQueueGetSpace(queue) == 0);
    for (const char *next = "ufsl"; *next; next++) {
        CHECK(osMessageQueueGet(queue, message, &priority, 0) == osOK);
        CHECK(message[0] == *next && message[10] == '.' && priority == (*next == 'u' ? 9 : *next != 'l'));
    }
    CHECK(osMessageQueueGet(queue, message, NULL, 0) == osErrorResource);
    CHECK(osMessageQueueGet(queue, message, NULL, 2) == osErrorTimeout);
    begin_case("message queue: threads wait for messages and for room");
    struct request consumer = {.object = queue, .timeout = osWaitForever, .status = 1};
    osThreadId_t thread = start(get, &consumer, osPriorityHigh);
    CHECK(consumer.status == 1 && osMessageQueuePut(queue, "direct.....", 5, 0) == osOK);
    CHECK(consumer.status == osOK && !strcmp(consumer.message, "direct.....") && consumer.priority == 5);
    CHECK(osThreadJoin(thread) == osOK);
    CHECK(osMessageQueueDelete(queue) == osOK);
    queue = osMessageQueueNew(2, 12, &(osMessageQueueAttr_t){.mq_mem = memory, .mq_size = sizeof memory});
    CHECK(osMessageQueuePut(queue, "a..........", 0, 0) == osOK && osMessageQueuePut(queue, "b..........", 0, 0) == osOK);
    struct request producer = {.object = queue, .timeout = 50, .status = 1, .message = "waited.....", .priority = 3};
    thread = start(put, &producer, osPriorityHigh);
    CHECK(producer.status == 1 && osMessageQueueGet(queue, message, NULL, 0) == osOK && message[0] == 'a');
    CHECK(producer.status == osOK && osMessageQueueGet(queue, message, &priority, 0) == osOK);
    CHECK(message[0] == 'w' && priority == 3 && osThreadJoin(thread) == osOK);
    begin_case("message queue: reset");
    CHECK(osMessageQueuePut(queue, "c..........", 0, 0) == osOK);
    producer.status = 1;
    thread = start(put, &producer, osPriorityHigh);
    CHECK(producer.status == 1 && osMessageQueueReset(queue) == osOK && producer.status == osOK);
    CHECK(osMessageQueueGetCount(queue) == 1 && osThreadJoin(thread) == osOK);
    CHECK(osMessageQueueReset(queue) == osOK && osMessageQueueGetCount(queue) == 0);
    begin_case("message queue: deleted while a thread waits");
    consumer = (struct request){.object = queue, .timeout = osWaitForever, .status = 1};
    thread = start(get, &consumer, osPriorityHigh);
    CHECK(osMessageQueueDelete(queue) == osOK && consumer.status == osErrorResource);
    CHECK(osThreadJoin(thread) == osOK && osMessageQueuePut(queue, message, 0, 0) == osErrorParameter);
}
