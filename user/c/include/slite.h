/* SliteOS for C programs.
 *
 * A program is `int slite_main(void)`: it makes threads and returns 0, and from then on they run under
 * the policy that it set. Anything else it returns is a failure of the partition.
 *
 * Time is in ticks of the clock that all partitions share (`slite_now`, `slite_frequency`). Functions that
 * wait take the instant at which they time out: SLITE_NEVER never does, SLITE_NOW does not wait. A thread that
 * was granted an object keeps it, even if its time-out passed before it ran. The thread with the highest
 * priority is served first, and among equal ones the thread that has waited longest.
 *
 * Functions that can fail return SLITE_OK or one of the negative numbers below; they, and the layouts
 * here, do not change. Objects must not move while they are in use.
 */
#ifndef SLITE_H
#define SLITE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum slite_error {
    SLITE_OK = 0,
    SLITE_TIMED_OUT = -1, /* the time to give up came first */
    SLITE_FULL = -2,      /* no room, or the maximum is reached */
    SLITE_DEADLOCK = -3,  /* the owner waits for what the caller has, or is the caller */
    SLITE_NOT_OWNER = -4, /* the caller does not have the mutex */
    SLITE_REFUSED = -5,   /* parameters outside what the policy accepts, or no such thing */
    SLITE_NO_MEMORY = -6, /* the kernel or a table has no room */
};

/* Maximum numbers of threads and timers, and bytes of a message. */
#define SLITE_THREADS 16
#define SLITE_TIMERS 16
#define SLITE_MESSAGE_BYTES 32
#define SLITE_QUEUE_MESSAGES 16

#define SLITE_ALIGN __attribute__((aligned(16)))
#define SLITE_NEVER UINT64_MAX
#define SLITE_NOW 0

/* --- Time ----------------------------------------------------------------------------------------- */

uint64_t slite_now(void);
uint64_t slite_frequency(void);         /* ticks per second */
uint64_t slite_after_us(uint64_t us);   /* the instant so many microseconds from now */

/* --- Policy --------------------------------------------------------------------------------------- */

/* By name: "fixed-priority" (the default), "non-preemptive", "round-robin", "edf", "deferrable",
 * "sporadic", "constant-bandwidth"; `quantum` is in ticks and for "round-robin". Before the first thread is made; SLITE_REFUSED
 * where it is not, or the name is unknown. An argument word `policy=NAME` of the partition wins. */
int slite_policy(const char *name, uint64_t quantum);

/* --- Threads -------------------------------------------------------------------------------------- */

/* Parameters of a thread; a policy ignores those that it does not use. */
struct slite_task {
    uint8_t priority;  /* importance, 0 the most important, below 64 */
    uint64_t deadline; /* edf: ticks from a wake-up to its deadline */
    uint64_t budget;   /* deferrable, sporadic, constant-bandwidth: ticks of budget in each period */
    uint64_t period;   /* the same: ticks */
};

/* Creates a thread, ready to run `body(argument)`, which may return. Returns its index, from 1, or an error. */
int slite_thread(void (*body)(void *argument), void *argument, const struct slite_task *task);
int slite_thread_self(void);
int slite_thread_task(int thread, const struct slite_task *task); /* changes its parameters */
void slite_thread_exit(void) __attribute__((noreturn));
void slite_yield(void);                 /* equals run */
int slite_block(uint64_t until);        /* until woken (SLITE_OK) or SLITE_TIMED_OUT */
void slite_wakeup(int thread);          /* kept where it is not blocked */
void slite_sleep_until(uint64_t until);

/* --- Periodic tasks ------------------------------------------------------------------------------- */

struct slite_periodic {
    uint64_t next;     /* the next release */
    uint64_t period;   /* not 0 */
    uint64_t overruns; /* releases that came while the job before them still ran */
};

/* Waits for the next release, to the tick, and returns its number. The grid of releases never drifts. */
uint64_t slite_periodic_wait(struct slite_periodic *task);

/* --- Timers --------------------------------------------------------------------------------------- */

/* Actions of timers run in one thread. Create it first, with the parameters that all timers are to have. */
int slite_timers(const struct slite_task *task);
/* Starts or restarts a timer (0 to SLITE_TIMERS - 1); `period` 0: it expires once. */
int slite_timer_start(int timer, uint64_t due, uint64_t period,
                      void (*action)(void *argument, uint64_t due), void *argument);
int slite_timer_stop(int timer);        /* SLITE_REFUSED where it was not started */

/* --- Queues: one consumer, any senders ------------------------------------------------------------- */

/* All zero is an empty queue. A waiting consumer with a higher priority than the sender runs immediately. */
struct slite_queue { SLITE_ALIGN unsigned char opaque[576]; };
int slite_queue_send(struct slite_queue *queue, const void *message, uint64_t until);
int slite_queue_receive(struct slite_queue *queue, void *message, uint64_t until);

/* --- Mutexes with priority inheritance -------------------------------------------------------------- */

/* All zero is a free mutex. */
struct slite_mutex { SLITE_ALIGN unsigned char opaque[32]; };
int slite_mutex_lock(struct slite_mutex *mutex, uint64_t until);
int slite_mutex_unlock(struct slite_mutex *mutex);

/* --- Semaphores ------------------------------------------------------------------------------------ */

struct slite_semaphore { SLITE_ALIGN unsigned char opaque[32]; };
int slite_semaphore_init(struct slite_semaphore *semaphore, uint32_t count, uint32_t maximum);
int slite_semaphore_take(struct slite_semaphore *semaphore, uint64_t until);
int slite_semaphore_give(struct slite_semaphore *semaphore);

/* --- Events: 32 flags ------------------------------------------------------------------------------ */

enum slite_wish {
    SLITE_ANY = 0,  /* one of the flags is enough */
    SLITE_ALL = 1,  /* all of them */
    SLITE_KEEP = 2, /* they are not cleared for who is served */
};

/* All zero: no flag is set. */
struct slite_events { SLITE_ALIGN unsigned char opaque[32]; };
/* Stores those of `flags` that were set in `found`, which may be NULL. */
int slite_events_wait(struct slite_events *events, uint32_t flags, int wish, uint64_t until,
                      uint32_t *found);
void slite_events_set(struct slite_events *events, uint32_t flags);
uint32_t slite_events_clear(struct slite_events *events, uint32_t flags); /* those that were set */

/* --- Notifications and interrupts ------------------------------------------------------------------- */

/* The place at which a thread waits in the kernel. A notification runs it immediately, whatever its priority. */
struct slite_end_point { uint64_t receive, send; };
int slite_end_point(int thread, struct slite_end_point *end_point);
int slite_wait_notified(const struct slite_end_point *end_point); /* how many were merged, or an error */
int slite_notify(const struct slite_end_point *end_point);
int slite_listen(const struct slite_end_point *end_point, uint64_t intid); /* an interrupt notifies */

/* --- Doorbells of channels -------------------------------------------------------------------------- */

/* Interrupt of the peer's doorbell, for `slite_listen`, by the channel's name in the description; 0 if there is
 * no such channel or it has no doorbell for this end. */
uint64_t slite_doorbell(const char *channel);
/* Rings the peer's doorbell, within the rate of the description. */
int slite_ring(const char *channel);

/* --- Output ---------------------------------------------------------------------------------------- */

/* `printf` and all of stdio.h print lines of the partition's console, each stamped with the time: a line ends at a newline
 * or at fflush(stdout), and what is longer than 160 bytes is continued on the next one. Each thread has a line of its
 * own. `slite_print` prints a whole line at once. */
void slite_print(const char *text, size_t length);
/* Reports that the partition is up: its guarantees hold from now on. */
void slite_up(void);

#ifdef __cplusplus
}
#endif
#endif
