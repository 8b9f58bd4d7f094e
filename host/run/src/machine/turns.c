/* Turns: the emulator's threads, and the cores it emulates, take turns that do not depend on the host
 *
 * Loaded into the emulator beside the C library (LD_PRELOAD); doc/design/virtual-time.md says why.
 *
 * First, its threads. Where instructions are the clock, one thread runs all cores in turn and runs the timers when their
 * instant has come. It also wakes the main loop at each such instant, and the main loop looks at the
 * same timers: should the host let it come first, it runs them, and a timer run there ends the turn
 * of a core that one run by the processor thread does not end. Which came first was the host's choice.
 *
 * Here the main loop's `ppoll` does not return for such a wake-up before the processor thread waits,
 * which it does when all cores are idle. It is the main loop's business then to let time pass. What
 * comes from outside (the tool's control connection, a person at the UART) passes at once: a file
 * that is ready, or a wake-up by a third thread, such as the one that reads the control connection.
 *
 * Second, its cores. QEMU before 8.1 may run a timer that ends a core's turn when it has already
 * prepared the next core, which then has no time left and misses its turn: behind a core that spins,
 * always. Timers are run in time if each core is asked to begin its turn anew, and so all others are
 * asked to whenever a core begins its own.
 *
 * Third, how long a turn is. A core's turn ends at the next timer, so a timer of ours (BULKHEAD_TURN_NS) ends
 * it where no other does; while all cores are idle it comes more rarely, only to let time pass.
 *
 * The core that has its turn, and the number and length of all turns, stand in a file that the tool reads (BULKHEAD_TURNS): a core may
 * keep the emulator from answering.
 *
 * Fourth, what the emulator tells its threads in vain costs most of its time: each timer's instant is told to
 * every thread that could have timers, by a system call, whether or not it was told before.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The emulator's name of the thread that runs all cores (-name debug-threads=on). */
#define PROCESSOR_THREAD "ALL CPUs/TCG"
#define EVENT_FDS 1024
/* A turn while all cores are idle, in turns. */
#define IDLE_TURNS 10

static int (*next_eventfd)(unsigned, int);
static int (*next_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_write)(int, const void *, size_t);
static int (*next_unlock)(pthread_mutex_t *);
static int (*next_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*next_cond_broadcast)(pthread_cond_t *);

static pthread_t main_loop;
static int turn_offered;                            /* eventfd: look again whether there is a turn */
static atomic_bool is_eventfd[EVENT_FDS];           /* the emulator's wake-ups of its own threads */
static _Atomic enum { UNREAD, MAIN_LOOPS, OTHERS } whose[EVENT_FDS]; /* who reads them */
static atomic_bool is_pending[EVENT_FDS];           /* written and not read since */
static atomic_ulong calls_begun, calls_made;        /* of the main loop, by third threads */
static unsigned long calls_answered;                /* the main loop's */
static _Atomic(pthread_cond_t *) processor_awaits;  /* NULL until it has waited once */
static atomic_bool processor_waits;
static atomic_bool woken_from_outside;
static pthread_mutex_t *big_lock;                   /* of the emulator; the processor thread's */

/* The emulator's own, which it offers to its modules; NULL where it does without this. */
struct core;
static struct core *(*core_of_index)(int);
static void (*ask_to_begin_anew)(struct core *);

/* Turns so far, in the file; `machine/turns.rs` reads it. */
#define RECORDED_CORES 64
static struct {
    _Atomic uint64_t current;                       /* the core that has its turn, from 1; 0: none yet */
    struct {
        _Atomic uint64_t turns, ns;
    } cores[RECORDED_CORES];
} *record;

/* Timers, as well: of the virtual clock, in nanoseconds. */
#define VIRTUAL_CLOCK 1
#define NANOSECONDS 1
static struct timer {
    uint64_t opaque[32];
} end_of_turn;
static int64_t (*clock_ns)(int);
static void (*timer_init)(struct timer *, void *, int, int, int, void (*)(void *), void *);
static void (*timer_set)(struct timer *, int64_t);
static bool (*all_idle)(void);
static int64_t turn_ns;
static enum { UNSET, BUSY, IDLE } turn_kind;

/* x86-64 keeps an older version of the condition variables under the same names. */
static void *next_of_version(const char *name, const char *version)
{
    void *found = dlvsym(RTLD_NEXT, name, version);
    return found ? found : dlsym(RTLD_NEXT, name);
}

static void open_record(void)
{
    const char *path = getenv("BULKHEAD_TURNS");
    int fd = path && clock_ns ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    record = mapped == MAP_FAILED ? NULL : mapped;
    close(fd);
}

/* Other libraries may begin, and call what is wrapped here, before this one does. */
__attribute__((constructor)) static void find_next(void)
{
    if (next_unlock)
        return;
    next_eventfd = dlsym(RTLD_NEXT, "eventfd");
    next_ppoll = dlsym(RTLD_NEXT, "ppoll");
    next_read = dlsym(RTLD_NEXT, "read");
    next_write = dlsym(RTLD_NEXT, "write");
    next_cond_wait = next_of_version("pthread_cond_wait", "GLIBC_2.3.2");
    next_cond_broadcast = next_of_version("pthread_cond_broadcast", "GLIBC_2.3.2");
    core_of_index = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
    if (!dlsym(RTLD_DEFAULT, "icount_percpu_budget"))
        ask_to_begin_anew = dlsym(RTLD_DEFAULT, "cpu_exit");
    clock_ns = dlsym(RTLD_DEFAULT, "qemu_clock_get_ns");
    timer_init = dlsym(RTLD_DEFAULT, "timer_init_full");
    timer_set = dlsym(RTLD_DEFAULT, "timer_mod");
    all_idle = dlsym(RTLD_DEFAULT, "all_cpu_threads_idle");
    const char *turn = getenv("BULKHEAD_TURN_NS");
    if (turn && clock_ns && timer_init && timer_set && all_idle)
        turn_ns = atoll(turn);
    open_record();
    main_loop = pthread_self();
    turn_offered = next_eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    next_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
}

static bool is_processor_thread(void)
{
    static _Thread_local enum { UNKNOWN, NO, YES } known;
    if (known == UNKNOWN) {
        char name[16] = "";
        prctl(PR_GET_NAME, name);
        known = strcmp(name, PROCESSOR_THREAD) == 0 ? YES : NO;
    }
    return known == YES;
}

int eventfd(unsigned count, int flags)
{
    find_next();
    int fd = next_eventfd(count, flags);
    if (fd >= 0 && fd < EVENT_FDS)
        is_eventfd[fd] = true;
    return fd;
}

static bool is_eventfd_of_emulator(int fd)
{
    return fd >= 0 && fd < EVENT_FDS && is_eventfd[fd];
}

static void offer_turn(void)
{
    (void)!next_write(turn_offered, &(uint64_t){1}, sizeof(uint64_t));
}

/* To the main loop one call is enough until it has read it: it looks for work after that. Other threads are called by
 * it in answer to theirs, and never by the processor thread; else they are told of timers, of which they have none. */
static bool is_in_vain(int fd)
{
    switch (whose[fd]) {
    case MAIN_LOOPS:
        return atomic_exchange(&is_pending[fd], true);
    case OTHERS:
        return is_processor_thread() || calls_begun == calls_answered;
    default:
        return false;
    }
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    find_next();
    if (!is_eventfd_of_emulator(fd))
        return next_write(fd, bytes, n);
    if (is_processor_thread() || pthread_equal(pthread_self(), main_loop))
        return is_in_vain(fd) ? (ssize_t)n : next_write(fd, bytes, n);
    calls_begun++;
    ssize_t written = next_write(fd, bytes, n);
    calls_made++;
    woken_from_outside = true;
    offer_turn();
    return written;
}

ssize_t read(int fd, void *bytes, size_t n)
{
    find_next();
    ssize_t count = next_read(fd, bytes, n);
    if (is_eventfd_of_emulator(fd)) {
        whose[fd] = pthread_equal(pthread_self(), main_loop) ? MAIN_LOOPS : OTHERS;
        is_pending[fd] = false;
    }
    return count;
}

static void set_end_of_turn(bool idle)
{
    turn_kind = idle ? IDLE : BUSY;
    timer_set(&end_of_turn, clock_ns(VIRTUAL_CLOCK) + (idle ? IDLE_TURNS * turn_ns : turn_ns));
}

static void on_end_of_turn(void *nothing)
{
    (void)nothing;
    set_end_of_turn(all_idle());
}

/* The processor thread, before and after it waits. */
static void change_turn(void)
{
    if (!turn_ns)
        return;
    if (turn_kind == UNSET)
        timer_init(&end_of_turn, NULL, VIRTUAL_CLOCK, NANOSECONDS, 0, on_end_of_turn, NULL);
    bool idle = all_idle();
    if (turn_kind != (idle ? IDLE : BUSY))
        set_end_of_turn(idle);
}

/* The clock is read between turns, when no core executes. */
static void note_turn(int index)
{
    static int last = -1;
    static int64_t began;
    int64_t now = clock_ns(VIRTUAL_CLOCK);
    if (last >= 0)
        record->cores[last].ns += now - began;
    last = index < RECORDED_CORES ? index : -1;
    began = now;
    if (last >= 0)
        record->cores[last].turns++;
    record->current = last + 1;
}

/* The processor thread gives up the big lock when a core's turn begins, and at other times. */
static void begin_turn(void)
{
    static struct core **running, *last;
    if (!running)
        running = dlsym(RTLD_DEFAULT, "current_cpu");
    if (!running || *running == last)
        return;
    last = *running;
    struct core *core;
    for (int i = 0; (core = core_of_index(i)); i++)
        if (core != last && ask_to_begin_anew)
            ask_to_begin_anew(core);
        else if (core == last && record)
            note_turn(i);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    find_next();
    if (mutex == big_lock && core_of_index && (ask_to_begin_anew || record) && is_processor_thread())
        begin_turn();
    return next_unlock(mutex);
}

/* The caller holds `mutex`, the big lock, which the main loop needs for its turn. */
int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    find_next();
    if (!is_processor_thread())
        return next_cond_wait(cond, mutex);
    processor_awaits = cond;
    big_lock = mutex;
    change_turn();
    processor_waits = true;
    offer_turn();
    int result = next_cond_wait(cond, mutex);
    processor_waits = false;
    change_turn();
    return result;
}

/* The turn ends here and not when the woken thread gets to run, which is the host's choice again. */
int pthread_cond_broadcast(pthread_cond_t *cond)
{
    find_next();
    if (cond == processor_awaits)
        processor_waits = false;
    return next_cond_broadcast(cond);
}

/* Until the processor thread waits or something comes from outside. */
static void await_turn(const struct pollfd *fds, nfds_t n, const sigset_t *mask)
{
    struct pollfd watched[n + 1];
    memcpy(watched, fds, n * sizeof *fds);
    for (nfds_t i = 0; i < n; i++)
        if (is_eventfd_of_emulator(fds[i].fd))
            watched[i].fd = -1;
    watched[n] = (struct pollfd){.fd = turn_offered, .events = POLLIN};

    for (;;) {
        uint64_t offers;
        (void)!next_read(turn_offered, &offers, sizeof offers);
        bool outside = atomic_exchange(&woken_from_outside, false);
        if (outside || processor_waits)
            return;
        int ready = next_ppoll(watched, n + 1, NULL, mask);
        if (ready != 1 || !watched[n].revents)
            return;
    }
}

/* Calls made before the last `ppoll` have been answered where nothing is left to do after it. */
static void note_calls(bool has_work)
{
    static unsigned long seen;
    if (!has_work)
        calls_answered = seen;
    seen = calls_made;
}

/* A caller that does not wait has work of its own left: input from outside may take several steps. */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    find_next();
    if (!pthread_equal(pthread_self(), main_loop))
        return next_ppoll(fds, n, timeout, mask);
    bool has_work = timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
    note_calls(has_work);
    int ready = next_ppoll(fds, n, timeout, mask);
    if (ready < 0 || has_work || !processor_awaits)
        return ready;
    await_turn(fds, n, mask);
    return next_ppoll(fds, n, &(struct timespec){0}, mask);
}
