/* The objects of slite.h beyond those of the tour, each with its time-outs, wrong arguments and deletion */
#include <slite.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check_that(int holds, const char *condition, int line)
{
    if (!holds) {
        failures++;
        printf("%d: wrong: %s\n", line, condition);
    }
}
#define CHECK(condition) check_that(!!(condition), #condition, __LINE__)

enum { HIGH = 10, MIDDLE = 20, LOW = 30 };

static uint64_t after_ms(uint64_t ms)
{
    return slite_after_us(1000 * ms);
}

static void work_ms(uint64_t ms)
{
    uint64_t end = after_ms(ms);
    while (slite_now() < end)
        ;
}

static int start(void (*body)(void *), void *argument, uint8_t priority)
{
    struct slite_thread_attributes attributes = {.task = {.priority = priority}, .joinable = 1};
    return slite_thread_create(body, argument, &attributes);
}

/* --- Mutexes with attributes --- */

static struct slite_attribute_mutex mutex;
static volatile int seen, released;

static void see(void *argument)
{
    seen += (int)(intptr_t)argument;
}

static void hold_at_ceiling(void *argument)
{
    (void)argument;
    slite_attribute_mutex_lock(&mutex, SLITE_NEVER);
    int middle = start(see, (void *)1, MIDDLE);
    released = seen;
    slite_attribute_mutex_unlock(&mutex);
    released += 10 * seen;
    slite_thread_join(middle, SLITE_NEVER);
}

static void check_mutexes(void)
{
    CHECK(slite_attribute_mutex_init(&mutex, 0, 64) == SLITE_REFUSED);
    CHECK(slite_attribute_mutex_init(&mutex, SLITE_RECURSIVE | SLITE_ROBUST, HIGH) == SLITE_OK);
    CHECK(slite_attribute_mutex_unlock(&mutex) == SLITE_NOT_OWNER);
    CHECK(slite_attribute_mutex_owner(&mutex) == SLITE_REFUSED);
    int low = start(hold_at_ceiling, NULL, LOW);
    CHECK(slite_thread_join(low, SLITE_NEVER) == SLITE_OK);
    /* The middle thread ran only once the ceiling was gone. */
    CHECK(released == 10 && seen == 1);
    slite_attribute_mutex_delete(&mutex);
    printf("mutexes: checked\n");
}

/* --- Condition variables --- */

static struct slite_mutex monitor;
static struct slite_condition filled;
static int stock;

static void consume(void *argument)
{
    int *status = argument;
    slite_mutex_lock(&monitor, SLITE_NEVER);
    while (stock == 0 && *status == SLITE_OK)
        *status = slite_condition_wait(&filled, &monitor, SLITE_NEVER);
    stock--;
    slite_mutex_unlock(&monitor);
}

static void check_conditions(void)
{
    int status[3] = {0}, threads[3];
    CHECK(slite_condition_wait(&filled, &monitor, SLITE_NOW) == SLITE_DEADLOCK);
    slite_mutex_lock(&monitor, SLITE_NEVER);
    CHECK(slite_condition_wait(&filled, &monitor, after_ms(1)) == SLITE_TIMED_OUT);
    CHECK(slite_mutex_unlock(&monitor) == SLITE_OK);
    for (int number = 0; number < 3; number++)
        threads[number] = start(consume, &status[number], HIGH);
    for (int number = 0; number < 2; number++) {
        slite_mutex_lock(&monitor, SLITE_NEVER);
        stock++;
        slite_condition_signal(&filled);
        slite_mutex_unlock(&monitor);
        CHECK(stock == 0 && slite_thread_join(threads[number], SLITE_NOW) == SLITE_OK);
    }
    slite_condition_delete(&filled);
    CHECK(slite_thread_join(threads[2], SLITE_NEVER) == SLITE_OK && status[2] == SLITE_DELETED);
    printf("conditions: checked\n");
}

/* --- Reader-writer locks --- */

static struct slite_rwlock lock;
static volatile int readers, most_readers, status;

static void read_for_a_while(void *argument)
{
    (void)argument;
    if (slite_rwlock_read(&lock, SLITE_NEVER) == SLITE_OK) {
        readers++;
        most_readers = readers > most_readers ? readers : most_readers;
        slite_sleep_until(after_ms(2));
        readers--;
        slite_rwlock_unlock(&lock);
    }
}

static void write_once(void *argument)
{
    (void)argument;
    status = slite_rwlock_write(&lock, SLITE_NEVER);
    if (status == SLITE_OK) {
        status = readers;
        slite_rwlock_unlock(&lock);
    }
}

static void check_locks(void)
{
    int threads[4];
    for (int number = 0; number < 3; number++)
        threads[number] = start(read_for_a_while, NULL, HIGH);
    CHECK(slite_rwlock_write(&lock, SLITE_NOW) == SLITE_TIMED_OUT);
    CHECK(slite_rwlock_write(&lock, after_ms(1)) == SLITE_TIMED_OUT);
    threads[3] = start(write_once, NULL, HIGH);
    for (int number = 0; number < 4; number++)
        CHECK(slite_thread_join(threads[number], SLITE_NEVER) == SLITE_OK);
    CHECK(most_readers == 3 && status == 0);
    CHECK(slite_rwlock_unlock(&lock) == SLITE_NOT_OWNER);
    CHECK(slite_rwlock_read(&lock, SLITE_NOW) == SLITE_OK && slite_rwlock_read(&lock, SLITE_NOW) == SLITE_DEADLOCK);
    threads[0] = start(write_once, NULL, HIGH);
    slite_rwlock_delete(&lock);
    CHECK(status == SLITE_DELETED && slite_thread_join(threads[0], SLITE_NEVER) == SLITE_OK);
    printf("reader-writer locks: checked\n");
}

/* --- Streams --- */

static struct slite_stream stream;
static char buffer[32];
static long received;
static char text[64];

static void receive(void *argument)
{
    received = slite_stream_receive(&stream, text, sizeof text, (uint64_t)(uintptr_t)argument);
}

static void send_long(void *argument)
{
    (void)argument;
    char bytes[100];
    for (int place = 0; place < 100; place++)
        bytes[place] = (char)place;
    received = slite_stream_send(&stream, bytes, sizeof bytes, SLITE_NEVER);
}

static void check_streams(void)
{
    CHECK(slite_stream_init(&stream, NULL, 32, 1) == SLITE_REFUSED);
    CHECK(slite_stream_init(&stream, buffer, 32, 33) == SLITE_REFUSED);
    CHECK(slite_stream_init(&stream, buffer, 32, 4) == SLITE_OK);
    int thread = start(receive, (void *)SLITE_NEVER, HIGH);
    CHECK(slite_stream_send(&stream, "abc", 3, SLITE_NOW) == 3 && received == 0);
    CHECK(slite_stream_send(&stream, "de", 2, SLITE_NOW) == 2 && received == 5 && !memcmp(text, "abcde", 5));
    CHECK(slite_thread_join(thread, SLITE_NEVER) == SLITE_OK);
    thread = start(send_long, NULL, HIGH);
    for (int expected = 0; expected < 100;) {
        long count = slite_stream_receive(&stream, text, 7, after_ms(1));
        CHECK(count > 0 && count <= 7);
        for (long place = 0; place < count; place++)
            CHECK(text[place] == expected++);
    }
    CHECK(slite_thread_join(thread, SLITE_NEVER) == SLITE_OK && received == 100);
    CHECK(slite_stream_send(&stream, text, 40, SLITE_NOW) == 32 && slite_stream_length(&stream) == 32);
    CHECK(slite_stream_send(&stream, text, 1, after_ms(1)) == SLITE_TIMED_OUT);
    slite_stream_reset(&stream);
    CHECK(slite_stream_receive(&stream, text, 4, SLITE_NOW) == SLITE_TIMED_OUT);
    CHECK(slite_stream_init(&stream, buffer, 32, 0) == SLITE_OK);
    CHECK(slite_stream_send(&stream, "one", 3, SLITE_NOW) == 3 && slite_stream_send(&stream, "second", 6, SLITE_NOW) == 6);
    CHECK(slite_stream_send(&stream, text, 29, SLITE_NEVER) == SLITE_REFUSED);
    CHECK(slite_stream_send(&stream, text, 14, SLITE_NOW) == SLITE_TIMED_OUT);
    CHECK(slite_stream_receive(&stream, text, 2, SLITE_NOW) == SLITE_REFUSED);
    CHECK(slite_stream_receive(&stream, text, 64, SLITE_NOW) == 3 && slite_stream_receive(&stream, text, 64, SLITE_NOW) == 6);
    thread = start(receive, (void *)SLITE_NEVER, HIGH);
    slite_stream_delete(&stream);
    CHECK(received == SLITE_DELETED && slite_thread_join(thread, SLITE_NEVER) == SLITE_OK);
    printf("streams: checked\n");
}

/* --- Pools and queues --- */

static void check_memory(void)
{
    static struct slite_pool pool;
    static char blocks[3][24];
    static uint32_t map[SLITE_POOL_MAP(3)];
    CHECK(slite_pool_init(&pool, blocks, 0, 3, map) == SLITE_REFUSED);
    CHECK(slite_pool_init(&pool, blocks, 24, 3, map) == SLITE_OK);
    void *first = slite_pool_take(&pool, SLITE_NOW);
    CHECK(first == blocks[0] && slite_pool_take(&pool, SLITE_NOW) && slite_pool_take(&pool, SLITE_NOW));
    CHECK(slite_pool_take(&pool, after_ms(1)) == NULL && slite_pool_taken(&pool) == 3);
    CHECK(slite_pool_give(&pool, first) == SLITE_OK && slite_pool_give(&pool, first) == SLITE_REFUSED);
    slite_pool_delete(&pool);

    static struct slite_message_queue queue;
    static char memory[2][5];
    static struct slite_link links[2];
    char message[5];
    uint8_t priority;
    CHECK(slite_message_queue_init(&queue, memory, 5, 0, links) == SLITE_REFUSED);
    CHECK(slite_message_queue_init(&queue, memory, 5, 65536, links) == SLITE_REFUSED);
    CHECK(slite_message_queue_init(&queue, memory, 5, 2, links) == SLITE_OK);
    CHECK(slite_message_queue_put(&queue, "low.", 1, SLITE_NOW) == SLITE_OK);
    CHECK(slite_message_queue_put(&queue, "high", 2, SLITE_NOW) == SLITE_OK);
    CHECK(slite_message_queue_put(&queue, "none", 2, SLITE_NOW) == SLITE_FULL);
    CHECK(slite_message_queue_put(&queue, "none", 2, after_ms(1)) == SLITE_TIMED_OUT);
    CHECK(slite_message_queue_get(&queue, message, &priority, SLITE_NOW) == SLITE_OK && priority == 2);
    CHECK(!strcmp(message, "high") && slite_message_queue_count(&queue) == 1);
    slite_message_queue_reset(&queue);
    CHECK(slite_message_queue_get(&queue, message, NULL, SLITE_NOW) == SLITE_TIMED_OUT);
    slite_message_queue_delete(&queue);
    printf("pools and queues: checked\n");
}

/* --- Threads --- */

static int key;
static void *volatile kept;

static void keep_value(void *argument)
{
    CHECK(slite_local_get(key) == NULL);
    slite_local_set(key, argument);
    slite_yield();
    kept = slite_local_get(key);
}

static void work(void *argument)
{
    work_ms((uint64_t)(uintptr_t)argument);
}

static void check_threads(void)
{
    key = slite_local_key();
    CHECK(key >= 0 && slite_local_set(key + 1, &key) == SLITE_REFUSED && slite_local_get(-1) == NULL);
    slite_local_set(key, &key);
    int one = start(keep_value, &one, MIDDLE), other = start(keep_value, &other, MIDDLE);
    CHECK(slite_thread_join(one, SLITE_NEVER) == SLITE_OK && slite_thread_join(other, SLITE_NEVER) == SLITE_OK);
    CHECK(kept == &other && slite_local_get(key) == &key);

    struct slite_thread_figures figures;
    uint64_t idle = slite_idle_time();
    int worker = start(work, (void *)5, LOW);
    CHECK(slite_thread_join(worker, after_ms(1)) == SLITE_TIMED_OUT);
    work_ms(3);
    CHECK(slite_thread_join(worker, SLITE_NEVER) == SLITE_OK);
    CHECK(slite_thread_figures(worker, &figures) == SLITE_OK);
    /* It ran until its own clock had gone by, less what this thread took of it. */
    uint64_t ms = slite_frequency() / 1000;
    CHECK(figures.run_time >= ms * 19 / 10 && figures.run_time <= ms * 21 / 10);
    CHECK(figures.stack_bytes == 8192 && figures.stack_used > 160 && figures.stack_used < 8192);
    CHECK(slite_idle_time() - idle < ms / 10);
    idle = slite_idle_time();
    slite_sleep_until(after_ms(10));
    CHECK(slite_idle_time() - idle > ms * 98 / 10);
    CHECK(slite_thread_figures(33, &figures) == SLITE_REFUSED && slite_thread_figures(0, &figures) == SLITE_REFUSED);

    CHECK(slite_thread_join(slite_thread_self(), SLITE_NEVER) == SLITE_REFUSED);
    CHECK(slite_thread_end(99) == SLITE_REFUSED && slite_thread_resume(worker) == SLITE_REFUSED);
    struct slite_thread_attributes attributes = {.task = {.priority = 64}};
    CHECK(slite_thread_create(work, NULL, &attributes) == SLITE_REFUSED);
    attributes = (struct slite_thread_attributes){.stack = buffer, .stack_bytes = sizeof buffer};
    CHECK(slite_thread_create(work, NULL, &attributes) == SLITE_REFUSED);
    attributes = (struct slite_thread_attributes){.stack_bytes = 1 << 26};
    CHECK(slite_thread_create(work, NULL, &attributes) == SLITE_NO_MEMORY);
    printf("threads: checked\n");
}

static void check_all(void *argument)
{
    (void)argument;
    check_mutexes();
    check_conditions();
    check_locks();
    check_streams();
    check_memory();
    check_threads();
    printf("objects end, %d wrong\n", failures);
}

int slite_main(void)
{
    struct slite_thread_attributes attributes = {.task = {.priority = MIDDLE}, .stack_bytes = 16384};
    slite_up();
    return slite_thread_create(check_all, NULL, &attributes) > 0 ? 0 : SLITE_NO_MEMORY;
}
