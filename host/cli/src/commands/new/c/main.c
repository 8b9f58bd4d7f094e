/* A producer and a consumer. slite.h says what else there is. */
#include <slite.h>

static struct slite_queue queue;

static void produce(void *argument)
{
    (void)argument;
    struct slite_periodic task = {
        .next = slite_after_us(1000),
        .period = slite_frequency() / 100,
    };
    for (uint64_t number = 1;; number++) {
        uint64_t message[4] = {slite_periodic_wait(&task), number};
        slite_queue_send(&queue, message, SLITE_NOW);
    }
}

static void consume(void *argument)
{
    (void)argument;
    for (;;) {
        uint64_t message[4];
        slite_queue_receive(&queue, message, SLITE_NEVER);
        printf("number %lu, %lu ticks after its release\n", message[1], slite_now() - message[0]);
    }
}

int slite_main(void)
{
    slite_thread(consume, NULL, &(struct slite_task){.priority = 1});
    slite_thread(produce, NULL, &(struct slite_task){.priority = 2});
    slite_up();
    return 0;
}
