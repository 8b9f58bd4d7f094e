/* The C library and bulkhead.h from a component beside others. */
#include <bulkhead.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct number {
    struct bulkhead_stamp stamp;
    uint64_t value, unused;
};

struct answer {
    struct bulkhead_stamp stamp;
    uint64_t value;
};

static int numbers, answers;

static uint64_t after_ms(uint64_t ms)
{
    return bulkhead_after_us(1000 * ms);
}

#ifdef PEER
static void reply(void)
{
    struct number number;
    for (int count = 0; count < 3;) {
        if (bulkhead_receive(numbers, &number, sizeof number, NULL) == BULKHEAD_OK) {
            struct answer answer = {.value = number.value * number.value};
            if (number.stamp.sequence != number.value || bulkhead_send(answers, &answer, sizeof answer) != BULKHEAD_OK)
                printf("wrong: number %lu\n", number.stamp.sequence);
            count++;
        }
        bulkhead_sleep_until(after_ms(1));
    }
    printf("peer: 3 numbers, up %d\n", bulkhead_peer_is_up(numbers));
}
#else
static int by_value(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

static void use_library(void)
{
    int values[] = {5, 3, 1, 2}, one = 0, two = 0;
    char text[] = "a b c", joined[16] = "";
    qsort(values, 4, sizeof *values, by_value);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        if (*joined)
            strcat(joined, "-");
        strcat(joined, word);
    }
    /* In parts, which are one line. */
    printf("library: qsort");
    for (int i = 0; i < 4; i++)
        printf(" %d", values[i]);
    printf(", strtod %g, strtok %s, sqrt %.39f\n", strtod("2.5e0", NULL), joined, sqrt(2));
    sscanf("7:8", "%d:%d", &one, &two);
    char *block = malloc(1000);
    memset(block, 7, 1000);
    block = realloc(block, 20000);
    int is_kept = block && block[999] == 7;
    free(block);
    for (int i = 0; i < 1000; i++)
        free(calloc(1, 30000));
    void *too_large = malloc(10 << 20);
    errno = 0;
    strtol("99999999999999999999", NULL, 10);
    printf("library: %d limits of %s, sscanf %d %d, heap %s, %s for 10 MiB, errno %d\n", LIMIT, TEXT, one, two,
           is_kept ? "ok" : "wrong", too_large ? "wrong" : "none", errno);
    puts(fopen("/etc/passwd", "r") ? "a file: wrong" : "without a file");
}

static void invoke(void)
{
    uint64_t doubled = 0, none = 0;
    int doubling = bulkhead_interface("doubling");
    bulkhead_invoke(doubling, (uint64_t[5]){21}, &doubled);
    bulkhead_invoke(doubling, (uint64_t[5]){0}, &none);
    printf("doubling: %lu, nothing %lu\n", doubled, none);
}

static void ask(void)
{
    struct number number = {.value = 0};
    struct answer answer;
    printf("channel: no such %d, size %d\n", bulkhead_channel("nothing"), bulkhead_send(numbers, &number, 24));
    printf("channel:");
    for (number.value = 1; number.value <= 3; number.value++) {
        struct bulkhead_arrival arrival = {.fresh = 0};
        if (bulkhead_send(numbers, &number, sizeof number) != BULKHEAD_OK)
            printf(" wrong: not sent");
        for (int turn = 0; turn < 200 && !arrival.fresh; turn++) {
            bulkhead_sleep_until(after_ms(1));
            if (bulkhead_receive(answers, &answer, sizeof answer, &arrival) != BULKHEAD_OK)
                arrival.fresh = 0;
        }
        printf("%s %lu answers %lu", number.value > 1 ? "," : "", number.value, answer.value);
    }
    putchar('\n');
}
#endif

int main(void)
{
    numbers = bulkhead_channel("numbers");
    answers = bulkhead_channel("answers");
    bulkhead_up();
#ifdef PEER
    reply();
#else
    bulkhead_sleep_until(after_ms(10));
    use_library();
    invoke();
    ask();
#endif
    for (;;)
        bulkhead_sleep_until(after_ms(100));
}
