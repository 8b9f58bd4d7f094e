/* Pipe functions in C.
 *
 * The functions of a program stand in `pipe_functions`, by the names that the description gives them
 * (`partition.*.function.*`). In a component that the functions name (`component = …`) jobs run in that component alone. The program of
 * the partition's scheduler runs all stages, and its functions are part of it; those of the same names that are there in any case
 * (`sample`, `filter`, `fuse`, `emit` …) give way to its own.
 *
 * A function computes one job from what is new at its inputs and returns within its WCET: `bulkhead profile` measures
 * how long it takes. It keeps what it has to remember in `memory`, since the same function may be a stage of several pipes,
 * and calls nothing that waits. In a component there is a C library with `math.h`; memory is allocated by constructors
 * (`__attribute__((constructor))`), which run before the first job and after a restart, while jobs get none (`malloc` returns NULL).
 * In the scheduler's program there are the compiler's own headers and the functions that compilers call; no others.
 */
#ifndef PIPE_H
#define PIPE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PIPE_INPUTS 4
#define PIPE_MEMORY 8 /* words */

/* The first 16 bytes of a message. Between CAN frames: what they carry, and what names the frame that it came from. */
struct pipe_data {
    uint64_t word[2];
};

struct pipe_job {
    const struct pipe_data *input[PIPE_INPUTS]; /* the newest message of each input, or NULL: nothing came */
    const struct pipe_data *source;             /* what a first stage reads from its device, or NULL */
    uint64_t *memory;                           /* PIPE_MEMORY words that this stage keeps; zero at first */
    uint64_t age;                               /* ticks since something last came from another partition; else 0 */
    const void *message[PIPE_INPUTS];           /* all bytes of these messages, in place; nothing changes them during the job */
    void *output;                               /* where the bytes of the message that is sent go; of 16 bytes: the second argument */
    uint32_t bytes[PIPE_INPUTS + 1];            /* their sizes (`[message.NAME]` of the description), that of `output` last */
};

/* Fills `*output` (of a message of more than 16 bytes: `job->output`) and returns 1, or returns 0: nothing is sent. */
typedef int pipe_function(const struct pipe_job *job, struct pipe_data *output);

struct pipe_named {
    const char *name;
    pipe_function *function;
};

/* The program's functions; the last entry is {0}. */
extern const struct pipe_named pipe_functions[];

#ifdef __cplusplus
}
#endif

#endif
