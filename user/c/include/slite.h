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
    SLITE_DELETED = -7,   /* the object was deleted while the caller waited for it */
};

/* Maximum numbers of threads and timers, and bytes of a message. */
#define SLITE_THREADS 32
#define SLITE_TIMERS 32
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

/* What slite_thread does not say: all zero is a thread of priority 0 with the usual stack, that no thread joins. */
struct slite_thread_attributes {
    struct slite_task task;
    void *stack;        /* memory for it, 1024 bytes at least, without a guard page below; NULL: of the library, with one */
    size_t stack_bytes; /* rounded up to pages; 0: 8 KiB */
    const char *name;   /* stays */
    int joinable;       /* its place is used again only after slite_thread_join */
};
int slite_thread_create(void (*body)(void *argument), void *argument, const struct slite_thread_attributes *attributes);

/* Waits for the end of a joinable thread. SLITE_REFUSED: it is the caller, or no thread that is to be joined. */
int slite_thread_join(int thread, uint64_t until);

/* Ends a thread, the calling one, too. Its wait ends, its robust mutexes are released; others that it has stay locked. A
 * thread in a call of this library that uses the heap or the console, or that waits for a release, ends afterwards. */
int slite_thread_end(int thread);

int slite_thread_suspend(int thread);   /* until resumed; a wait of its for an object continues meanwhile */
int slite_thread_resume(int thread);    /* SLITE_REFUSED: it is not suspended */

struct slite_thread_figures {
    uint64_t stack_bytes;
    uint64_t stack_used; /* the most that it ever used */
    uint64_t run_time;   /* ticks, with interrupts that came meanwhile */
    const char *name;
};
int slite_thread_figures(int thread, struct slite_thread_figures *figures);
uint64_t slite_idle_time(void);         /* ticks in which no thread was ready */

/* Values of threads under keys, of which there are 8; NULL until set. _Thread_local variables are those of all threads. */
int slite_local_key(void);              /* a new key, or SLITE_NO_MEMORY */
int slite_local_set(int key, void *value);
void *slite_local_get(int key);
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

/* --- Deletion --------------------------------------------------------------------------------------- */

/* Threads that wait for the object continue with SLITE_DELETED. Its memory is the program's again. */
void slite_semaphore_delete(struct slite_semaphore *semaphore);
void slite_events_delete(struct slite_events *events);

/* --- Mutexes with attributes ------------------------------------------------------------------------- */

enum slite_mutex_flags {
    SLITE_RECURSIVE = 1, /* its owner may take it again, and gives it back as often */
    SLITE_ROBUST = 2,    /* released when its owner ends */
};
#define SLITE_NO_CEILING (-1)

struct slite_attribute_mutex { SLITE_ALIGN unsigned char opaque[64]; };
/* `ceiling`: the priority that its owner has at least, SLITE_NO_CEILING: that of the threads that wait for it. */
int slite_attribute_mutex_init(struct slite_attribute_mutex *mutex, int flags, int ceiling);
int slite_attribute_mutex_lock(struct slite_attribute_mutex *mutex, uint64_t until);
int slite_attribute_mutex_unlock(struct slite_attribute_mutex *mutex);
int slite_attribute_mutex_owner(const struct slite_attribute_mutex *mutex); /* its thread; SLITE_REFUSED: none */
void slite_attribute_mutex_delete(struct slite_attribute_mutex *mutex);

/* --- Condition variables ----------------------------------------------------------------------------- */

/* All zero: no thread waits. */
struct slite_condition { SLITE_ALIGN unsigned char opaque[16]; };
/* Gives the caller's mutex back, waits, and takes it again: look at the condition afterwards. SLITE_DEADLOCK: the mutex is
 * not the caller's. */
int slite_condition_wait(struct slite_condition *condition, struct slite_mutex *mutex, uint64_t until);
void slite_condition_signal(struct slite_condition *condition);    /* one thread continues */
void slite_condition_broadcast(struct slite_condition *condition); /* all do */
void slite_condition_delete(struct slite_condition *condition);

/* --- Reader-writer locks ----------------------------------------------------------------------------- */

/* All zero is a free lock. A reader waits for one writer at most, and a writer for one group of readers. */
struct slite_rwlock { SLITE_ALIGN unsigned char opaque[64]; };
int slite_rwlock_read(struct slite_rwlock *lock, uint64_t until);  /* SLITE_DEADLOCK: the caller has it */
int slite_rwlock_write(struct slite_rwlock *lock, uint64_t until);
int slite_rwlock_unlock(struct slite_rwlock *lock);
void slite_rwlock_delete(struct slite_rwlock *lock);

/* --- Memory pools ------------------------------------------------------------------------------------ */

/* Words of the map of a pool of so many blocks. */
#define SLITE_POOL_MAP(count) (((count) + 31) / 32)

struct slite_pool { SLITE_ALIGN unsigned char opaque[64]; };
int slite_pool_init(struct slite_pool *pool, void *memory, size_t block_bytes, uint32_t count, uint32_t *map);
void *slite_pool_take(struct slite_pool *pool, uint64_t until);    /* a block, or NULL */
int slite_pool_give(struct slite_pool *pool, void *block);         /* SLITE_REFUSED: no taken block of the pool */
uint32_t slite_pool_taken(const struct slite_pool *pool);
void slite_pool_delete(struct slite_pool *pool);

/* --- Message queues: any number of producers and consumers, messages of any size ---------------------- */

struct slite_link { uint32_t opaque; };
struct slite_message_queue { SLITE_ALIGN unsigned char opaque[80]; };
/* `memory` for `count` messages of `bytes` each, and as many links; at most 65,534. */
int slite_message_queue_init(struct slite_message_queue *queue, void *memory, size_t bytes, uint32_t count,
                             struct slite_link *links);
/* A higher number as priority comes first. At SLITE_NOW: SLITE_FULL. */
int slite_message_queue_put(struct slite_message_queue *queue, const void *message, uint8_t priority, uint64_t until);
int slite_message_queue_get(struct slite_message_queue *queue, void *message, uint8_t *priority, uint64_t until);
uint32_t slite_message_queue_count(const struct slite_message_queue *queue);
void slite_message_queue_reset(struct slite_message_queue *queue); /* messages of waiting producers follow */
void slite_message_queue_delete(struct slite_message_queue *queue);

/* --- Stream and message buffers ----------------------------------------------------------------------- */

struct slite_stream { SLITE_ALIGN unsigned char opaque[96]; };
/* `trigger`: bytes for which a reader waits; 0: messages, each with 4 bytes more in the buffer. */
int slite_stream_init(struct slite_stream *stream, void *memory, size_t bytes, size_t trigger);
/* Bytes sent, all of a message, or those of a stream for which there was room in time; or an error. SLITE_REFUSED: the
 * message is longer than the buffer. */
long slite_stream_send(struct slite_stream *stream, const void *bytes, size_t count, uint64_t until);
/* Bytes received: a message, or what there is of a stream, fewer than the trigger only at the end of the wait.
 * SLITE_REFUSED: the message is longer than `size`, and stays. */
long slite_stream_receive(struct slite_stream *stream, void *place, size_t size, uint64_t until);
size_t slite_stream_length(const struct slite_stream *stream); /* bytes in it */
void slite_stream_reset(struct slite_stream *stream);
void slite_stream_delete(struct slite_stream *stream);

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
