/* A tour of SliteOS: each station says what it saw. `user/components/tour` is the same in Rust. */
#include <slite.h>

enum { DRIVER = 1, HIGH = 2, MIDDLE = 3, LOW = 4 };

static const struct slite_task importance[] = {
    [DRIVER] = {.priority = 1, .deadline = 10000, .budget = 100000, .period = 1000000},
    [HIGH] = {.priority = 2, .deadline = 20000, .budget = 100000, .period = 1000000},
    [MIDDLE] = {.priority = 3, .deadline = 30000, .budget = 100000, .period = 1000000},
    [LOW] = {.priority = 4, .deadline = 40000, .budget = 100000, .period = 1000000},
};

static struct slite_queue queue;
static struct slite_mutex mutex, other;
static struct slite_semaphore units, done;
static struct slite_events events;
static struct slite_end_point line, bell;
static int notified;
static uint64_t expiries;

static uint64_t after_ms(unsigned ms)
{
    return slite_after_us(1000 * ms);
}

/* What the peer's doorbell sets among the events. */
enum { RUNG = 8 };

/* An interrupt thread: the peer's doorbell runs it at once; it tells the others. */
static void serve_interrupts(void *argument)
{
    (void)argument;
    while (slite_wait_notified(&bell) > 0)
        slite_events_set(&events, RUNG);
}

/* The same for what a thread of its own sends. */
static void driver(void *argument)
{
    (void)argument;
    for (;;) {
        notified += slite_wait_notified(&line);
        slite_events_set(&events, 1u << 0);
    }
}

static void expired(void *argument, uint64_t due)
{
    (void)due;
    expiries++;
    if (expiries % 3 == 0)
        slite_semaphore_give(argument);
}

/* Consumes, contends, is served first. */
static void high(void *argument)
{
    (void)argument;
    uint64_t message[4], sum = 0;
    for (int count = 0; count < 3; count++) {
        slite_queue_receive(&queue, message, SLITE_NEVER);
        sum += message[0];
    }
    int late = slite_queue_receive(&queue, message, after_ms(1));
    printf("queue: sum %lu, then %d\n", sum, late);
    slite_block(SLITE_NEVER);
    int taken = slite_mutex_lock(&mutex, SLITE_NEVER);
    printf("mutex: high has it (%d)\n", taken);
    slite_mutex_unlock(&mutex);
    slite_semaphore_take(&units, SLITE_NEVER);
    printf("semaphore: high\n");
}

static void middle(void *argument)
{
    (void)argument;
    slite_block(SLITE_NEVER);
    printf("mutex: middle runs after it\n");
    slite_semaphore_take(&units, SLITE_NEVER);
    printf("semaphore: middle\n");
    /* Holds what the low one wants, and asks for what that one has. */
    slite_mutex_lock(&other, SLITE_NEVER);
    slite_block(SLITE_NEVER);
    printf("deadlock: %d\n", slite_mutex_lock(&mutex, SLITE_NEVER));
    slite_mutex_unlock(&other);
}

static void low(void *argument)
{
    (void)argument;
    for (uint64_t number = 1; number <= 3; number++) {
        uint64_t message[4] = {number};
        slite_queue_send(&queue, message, SLITE_NOW);
    }
    slite_sleep_until(after_ms(3));

    slite_mutex_lock(&mutex, SLITE_NEVER);
    slite_wakeup(HIGH);
    slite_wakeup(MIDDLE);
    printf("mutex: low still has it\n");
    slite_mutex_unlock(&mutex);

    printf("semaphore: late %d\n", slite_semaphore_take(&done, after_ms(1)));
    slite_semaphore_give(&units);
    slite_semaphore_give(&units);

    slite_mutex_lock(&mutex, SLITE_NEVER);
    slite_wakeup(MIDDLE);
    /* The middle one has `other` and now waits for this thread: it lends its importance, and the thread that
     * closes the circle gets an error. */
    int closed = slite_mutex_lock(&other, SLITE_NEVER);
    printf("deadlock: low %d\n", closed);
    if (closed == SLITE_OK)
        slite_mutex_unlock(&other);
    slite_mutex_unlock(&mutex);

    uint32_t found = 0;
    slite_notify(&line);
    slite_events_wait(&events, 1, SLITE_ALL, SLITE_NEVER, &found);
    int late = slite_events_wait(&events, 6, SLITE_ANY, after_ms(1), &found);
    printf("events: %d notified, found %u, then %d\n", notified, found, late);

    slite_timer_start(0, after_ms(1), slite_frequency() / 1000, expired, &done);
    slite_timer_start(1, after_ms(1), 0, expired, &done);
    slite_semaphore_take(&done, SLITE_NEVER);
    printf("timers: %lu expiries, stopped %d %d\n", expiries, slite_timer_stop(0), slite_timer_stop(1));

    struct slite_periodic task = {.next = after_ms(1), .period = slite_frequency() / 1000};
    uint64_t worst = 0;
    for (int job = 0; job < 10; job++) {
        uint64_t release = slite_periodic_wait(&task);
        uint64_t late_by = slite_now() - release;
        worst = late_by > worst ? late_by : worst;
    }
    uint64_t end = slite_now() + 3 * task.period;
    while (slite_now() < end)
        ;
    slite_periodic_wait(&task);
    printf("periodic: in time %d, overruns %lu\n", worst < slite_frequency() / 20000, task.overruns);

    /* Rings the peer until it has rung back, and once more, since it may have come later. */
    uint32_t heard = 0;
    for (int turn = 0; turn < 100 && !heard; turn++) {
        slite_ring("bell");
        slite_events_wait(&events, RUNG, SLITE_ALL, after_ms(1), &heard);
    }
    slite_ring("bell");
    printf("interrupts: heard %u, no channel %d\n", heard, slite_ring("gong"));
    printf("the tour ends\n");
}

int slite_main(void)
{
    slite_semaphore_init(&units, 0, 2);
    slite_semaphore_init(&done, 0, 1);
    int first = slite_thread(driver, NULL, &importance[DRIVER]);
    int made = slite_thread(high, NULL, &importance[HIGH]) == HIGH
            && slite_thread(middle, NULL, &importance[MIDDLE]) == MIDDLE
            && slite_thread(low, NULL, &importance[LOW]) == LOW
            && slite_timers(&importance[DRIVER]) > 0
            && slite_end_point(first, &line) == SLITE_OK;
    int server = slite_thread(serve_interrupts, NULL, &importance[DRIVER]);
    made = made && slite_end_point(server, &bell) == SLITE_OK
            && slite_listen(&bell, slite_doorbell("bell")) == SLITE_OK;
    if (!made)
        return SLITE_NO_MEMORY;
    slite_up();
    return 0;
}
