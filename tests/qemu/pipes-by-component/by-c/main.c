/* Creates a tuned pipe from C beside the component in Rust, and queries it. */
#include <bulkhead.h>
#include <stdio.h>

int main(void)
{
    char answer[160];
    struct bulkhead_pipe pipe;
    bulkhead_up();
    int refused = bulkhead_pipe_create("other", "sample | nothing | emit");
    bulkhead_pipe_answer(answer, sizeof answer);
    printf("by-c: refused %d: %.60s\n", refused, answer);
    printf("by-c: create %d\n", bulkhead_pipe_create("other", "sample | emit [20 %, 100 ms]"));
    do {
        bulkhead_sleep_until(bulkhead_now() + bulkhead_frequency() / 100);
    } while (bulkhead_pipe_query("other", &pipe) == BULKHEAD_OK && pipe.delivered < 10);
    printf("by-c: state %d, %u stages, lost %llu, within bound: %s\n", (int)pipe.state, (unsigned)pipe.stages,
           (unsigned long long)pipe.lost, pipe.longest_ns <= pipe.bound_ns ? "yes" : "no");
    printf("by-c: stop %d, unknown %d\n", bulkhead_pipe_stop("other"), bulkhead_pipe_query("nothing", &pipe));
    printf("by-c: remove %d\n", bulkhead_pipe_remove("other"));
    for (;;)
        bulkhead_sleep_until(bulkhead_now() + bulkhead_frequency());
}
