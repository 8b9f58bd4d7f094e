/* Turns: the emulator's threads, and the cores it emulates, take turns that do not depend on the host
 *
 * Loaded into the emulator beside the C library (LD_PRELOAD); doc/design/0005 says why.
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
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The emulator's name of the thread that runs all cores (-name debug-threads=on). */
#define PROCESSOR_THREAD "ALL CPUs/TCG"
#define EVENT_FDS 1024

static int (*next_eventfd)(unsigned, int);
static int (*next_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static ssize_t (*next_write)(int, const void *, size_t);
static int (*next_unlock)(pthread_mutex_t *);
static int (*next_cond_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*next_cond_broadcast)(pthread_cond_t *);

static pthread_t main_loop;
static int turn_offered;                            /* eventfd: look again whether there is a turn */
static atomic_bool is_eventfd[EVENT_FDS];           /* the emulator's wake-ups of its own threads */
static _Atomic(pthread_cond_t *) processor_awaits;  /* NULL until it has waited once */
static atomic_bool processor_waits;
static atomic_bool woken_from_outside;
static pthread_mutex_t *big_lock;                   /* of the emulator; the processor thread's */

/* The emulator's own, which it offers to its modules; NULL where it does without this. */
struct core;
static struct core *(*core_of_index)(int);
static void (*ask_to_begin_anew)(struct core *);

/* x86-64 keeps an older version of the condition variables under the same names. */
static void *next_of_version(const char *name, const char *version)
{
    void *found = dlvsym(RTLD_NEXT, name, version);
    return found ? found : dlsym(RTLD_NEXT, name);
}

/* Other libraries may begin, and call what is wrapped here, before this one does. */
__attribute__((constructor)) static void find_next(void)
{
    if (next_unlock)
        return;
    next_eventfd = dlsym(RTLD_NEXT, "eventfd");
    next_ppoll = dlsym(RTLD_NEXT, "ppoll");
    next_write = dlsym(RTLD_NEXT, "write");
    next_cond_wait = next_of_version("pthread_cond_wait", "GLIBC_2.3.2");
    next_cond_broadcast = next_of_version("pthread_cond_broadcast", "GLIBC_2.3.2");
    if (!dlsym(RTLD_DEFAULT, "icount_percpu_budget")) {
        core_of_index = dlsym(RTLD_DEFAULT, "qemu_get_cpu");
        ask_to_begin_anew = dlsym(RTLD_DEFAULT, "cpu_exit");
    }
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

ssize_t write(int fd, const void *bytes, size_t n)
{
    find_next();
    bool outside = is_eventfd_of_emulator(fd) && !is_processor_thread() &&
                   !pthread_equal(pthread_self(), main_loop);
    ssize_t written = next_write(fd, bytes, n);
    if (outside) {
        woken_from_outside = true;
        offer_turn();
    }
    return written;
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
        if (core != last)
            ask_to_begin_anew(core);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    find_next();
    if (mutex == big_lock && core_of_index && ask_to_begin_anew && is_processor_thread())
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
    processor_waits = true;
    offer_turn();
    int result = next_cond_wait(cond, mutex);
    processor_waits = false;
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

/* Until the processor thread waits or something comes from outside; returns whether it did. */
static bool await_turn(const struct pollfd *fds, nfds_t n, const sigset_t *mask)
{
    struct pollfd watched[n + 1];
    memcpy(watched, fds, n * sizeof *fds);
    for (nfds_t i = 0; i < n; i++)
        if (is_eventfd_of_emulator(fds[i].fd))
            watched[i].fd = -1;
    watched[n] = (struct pollfd){.fd = turn_offered, .events = POLLIN};

    for (;;) {
        uint64_t offers;
        (void)!read(turn_offered, &offers, sizeof offers);
        bool waits = processor_waits;
        int ready = next_ppoll(watched, n + 1, waits ? &(struct timespec){0} : NULL, mask);
        bool file_is_ready = ready != 0 && (ready != 1 || !watched[n].revents);
        if (atomic_exchange(&woken_from_outside, false) || file_is_ready)
            return true;
        if (waits)
            return false;
    }
}

/* What came from outside may take several turns: the main loop then asks not to wait for events. */
int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    static bool outside;
    find_next();
    int ready = next_ppoll(fds, n, timeout, mask);
    if (ready < 0 || !processor_awaits || !pthread_equal(pthread_self(), main_loop))
        return ready;
    bool goes_on = timeout && timeout->tv_sec == 0 && timeout->tv_nsec == 0;
    if (outside && goes_on)
        return ready;
    outside = await_turn(fds, n, mask);
    return next_ppoll(fds, n, &(struct timespec){0}, mask);
}
