/* Components in C and C++, beside others.
 *
 * A program is `int main(void)` on the component's one thread, which the scheduler of the partition runs. It does not
 * return: a program that ends has failed, and `on_fault` of the description decides what follows. The C library is
 * there (string, stdlib, stdio with the whole of printf, math, time); its heap is the component's `memory`. What is
 * printed goes to the console of the partition, a line at each newline.
 *
 * Time is in ticks of the clock that all partitions share. Functions that can fail return BULKHEAD_OK or one of the
 * negative numbers below, unless they say otherwise. None of them waits unless it says so. Names are those of the
 * description. A program with threads of its own includes slite.h instead, and functions of pipes pipe.h.
 */
#ifndef BULKHEAD_H
#define BULKHEAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bulkhead_error {
    BULKHEAD_OK = 0,
    BULKHEAD_UNKNOWN = -1, /* the description gives this component no such thing, or of another kind */
    BULKHEAD_FULL = -2,    /* the receiver has not yet taken what is there */
    BULKHEAD_EMPTY = -3,   /* nothing new is there, or nothing was ever sent */
    BULKHEAD_SIZE = -4,    /* the message has another size than the description says */
    BULKHEAD_CORRUPT = -5, /* the peer wrote nonsense; this end has re-synchronised */
    BULKHEAD_REFUSED = -6, /* the kernel, the scheduler or the server refuses it */
};

/* --- This component ---------------------------------------------------------------------------------- */

/* Its name. */
const char *bulkhead_name(void);

/* Stores the value of the argument word `key=value` and a 0 in `text`, as much of it as `size` bytes hold. Returns the
 * bytes of the value, 0 for the bare word `key`; BULKHEAD_UNKNOWN if there is no such word. */
long bulkhead_argument(const char *key, char *text, size_t size);

/* The number in the argument word `key=number`, or `usual` where there is none. */
uint64_t bulkhead_argument_number(const char *key, uint64_t usual);

/* Reports that this component works. The guarantees of the partition hold once all its applications have. */
int bulkhead_up(void);

/* The partition's heartbeat is renewed, for a component that `owns` it; else BULKHEAD_UNKNOWN. At least once in each
 * `heartbeat` of the description. */
int bulkhead_beat(void);

/* --- Time -------------------------------------------------------------------------------------------- */

uint64_t bulkhead_now(void);            /* ticks since power-on */
uint64_t bulkhead_frequency(void);      /* ticks per second */
uint64_t bulkhead_after_us(uint64_t us);/* the tick so many microseconds from now */
void bulkhead_sleep_until(uint64_t tick); /* waits */
void bulkhead_yield(void);              /* threads of equal priority run */

/* A periodic task; its jobs are recorded for the report where the component `owns` the trace. */
struct bulkhead_periodic {
    uint64_t period;   /* ticks; not 0 */
    uint64_t next;     /* the next release, a multiple of the period */
    uint64_t number;   /* jobs released so far */
    uint64_t overruns; /* releases that came while an earlier job still ran */
    const char *name;
    uint64_t release, start;
};

/* Prepares a task with releases at multiples of `period_ns` of the shared clock. `name` (at most 15 characters) stays. */
void bulkhead_periodic_start(struct bulkhead_periodic *task, const char *name, uint64_t period_ns);

/* Ends the job before, waits for the next release and returns its tick. */
uint64_t bulkhead_periodic_wait(struct bulkhead_periodic *task);

/* --- Channels ---------------------------------------------------------------------------------------- */

/* Head of each message: sending fills it in. */
struct bulkhead_stamp {
    uint64_t sequence; /* from 1 */
    uint64_t ticks;    /* when it was sent */
};

/* How a message arrived. */
struct bulkhead_arrival {
    struct bulkhead_stamp stamp;
    uint64_t missed; /* messages between the last one received and this, which never will be */
    int fresh;       /* 0: this message of a four-slot buffer was received before */
};

/* Opens the end of a channel that this component holds. Returns its number, from 0; again the same one when opened
 * again. BULKHEAD_UNKNOWN: the description gives it no such channel. */
int bulkhead_channel(const char *name);

/* Bytes of a message, stamp included. */
long bulkhead_message_size(int channel);

/* Sends `message`, of `size` bytes with a stamp as head. FULL: a ring or mailbox has no room. */
int bulkhead_send(int channel, void *message, size_t size);

/* Stores the newest message of a four-slot buffer, perhaps once more, or the oldest one of a ring or mailbox.
 * `arrival` may be NULL. */
int bulkhead_receive(int channel, void *message, size_t size, struct bulkhead_arrival *arrival);

/* Rings the peer's doorbell. REFUSED: more often than the description allows. */
int bulkhead_ring(int channel);

/* Waits for a doorbell among the component's `doorbells`, an interrupt of its device, or bulkhead_wake by a component with
 * shared memory. Returns how many came at once. */
long bulkhead_wait(void);

/* 1 if the partition at the other end, or its standby, is up; else 0. */
int bulkhead_peer_is_up(int channel);

/* Number of starts of that partition: a peer that has restarted has another one. */
uint32_t bulkhead_peer_epoch(int channel);

/* --- Memory shared with other components -------------------------------------------------------------- */

/* Memory of that name (`[partition.NAME.shared.NAME]`) and its bytes; NULL if this component has none. Other
 * components write to it at any time: use atomics. `bytes` may be NULL. */
void *bulkhead_shared(const char *name, size_t *bytes);

/* Notifies the other components that have it. */
int bulkhead_wake(const char *shared);

/* --- Invocations of other components ------------------------------------------------------------------- */

/* Number of an interface among the component's `needs`, for bulkhead_invoke. */
int bulkhead_interface(const char *name);

/* Invokes the component that provides an interface: its function runs on this thread, with this thread's budget.
 * Stores the answer in `answer`, which may be NULL. REFUSED: the server has faulted or does not answer. */
int bulkhead_invoke(int interface, const uint64_t message[5], uint64_t *answer);

/* Provides this component's interfaces: `handler(token, message)` runs for each invocation on the client's thread, with
 * 4 KiB of stack, even while `main` or another invocation runs. `token` tells clients apart. Once, outside of functions. */
#define BULKHEAD_SERVE(handler)                                                                     \
    __asm__(".pushsection .text.bulkhead_invoked, \"ax\"\n.global bulkhead_invoked\n"                \
            "bulkhead_invoked: b bulkhead_invoked_c\n.popsection");                                   \
    BULKHEAD_EXTERN uint64_t bulkhead_answer(uint64_t token, const uint64_t message[5])             \
    {                                                                                               \
        return handler(token, message);                                                             \
    }
#ifdef __cplusplus
#define BULKHEAD_EXTERN extern "C"
#else
#define BULKHEAD_EXTERN
#endif

/* --- Tuned pipes, for a component that `needs` the interface `pipes` ----------------------------------- */

/* The commands of the console: a flow is solved, admitted beside everything that runs and started, or refused
 * (BULKHEAD_REFUSED; bulkhead_pipe_answer has the reason). A call returns when the command is done. BULKHEAD_UNKNOWN: the
 * description does not give the interface to this component. */
int bulkhead_pipe_create(const char *name, const char *flow);
int bulkhead_pipe_replace(const char *name, const char *flow); /* the former pipe of that name ends in order */
int bulkhead_pipe_remove(const char *name);                    /* it ends in order */
int bulkhead_pipe_stop(const char *name);                      /* it rests once the end of its task has passed through */
int bulkhead_pipe_start(const char *name);                     /* a pipe that rests */

/* Stores what the scheduler printed about the last command, ended by a zero, in `size` bytes; returns its length. */
long bulkhead_pipe_answer(char *place, size_t size);

struct bulkhead_pipe {
    uint64_t state;      /* 0: its stages run, 1: it ends, 2: all stages rest */
    uint64_t bound_ns;   /* guaranteed bound of its delay; 0: none */
    uint64_t stages;     /* number of its stages */
    uint64_t delivered;  /* messages that left it, over all its paths */
    uint64_t lost;       /* messages lost */
    uint64_t longest_ns; /* longest delay observed */
};

/* BULKHEAD_UNKNOWN: there is no such pipe, or no interface. */
int bulkhead_pipe_query(const char *name, struct bulkhead_pipe *pipe);

/* --- Trace: events for the report, where the component `owns` the trace ---------------------------------- */

void bulkhead_trace_signal(const char *name, uint64_t tick, double value); /* value of a signal at a tick */
void bulkhead_trace_mark(const char *name, uint64_t a, uint64_t b);        /* something happened now */
/* Message `number` left a path at tick `exited`, which it had entered at tick `entered`. */
void bulkhead_trace_delivered(const char *path, uint32_t number, uint64_t entered, uint64_t exited);

#ifdef __cplusplus
}
#endif
#endif
