/* Start, end and time of a program, and what compilers call besides */
#include "runtime.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* --- Start and end ----------------------------------------------------------------------------------- */

typedef void constructor(void);
/* Of the linker script. */
extern constructor *const __init_array_start[], *const __init_array_end[];

/* Runs static constructors: once, before the program. */
void bulkhead_construct(void)
{
    for (constructor *const *next = __init_array_start; next < __init_array_end; next++)
        (*next)();
}

_Noreturn void _exit(int status)
{
    fflush(stdout);
    bulkhead_exit(status);
}

_Noreturn void abort(void)
{
    puts("abort");
    _exit(134);
}

int getpid(void)
{
    return 1;
}

int kill(pid_t process, int signal)
{
    (void)process;
    _exit(128 + signal);
}

/* --- Time -------------------------------------------------------------------------------------------- */

enum { SECOND = 1000000000 };

int clock_gettime(clockid_t clock, struct timespec *time)
{
    uint64_t now = bulkhead_now_ns();
    (void)clock;
    time->tv_sec = (time_t)(now / SECOND);
    time->tv_nsec = (long)(now % SECOND);
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    uint64_t now = bulkhead_now_ns();
    (void)zone;
    time->tv_sec = (time_t)(now / SECOND);
    time->tv_usec = (suseconds_t)(now % SECOND / 1000);
    return 0;
}

clock_t clock(void)
{
    return (clock_t)(bulkhead_now_ns() / (SECOND / CLOCKS_PER_SEC));
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    bulkhead_sleep_ns((uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec);
    if (left)
        *left = (struct timespec){0};
    return 0;
}

/* --- Atomics of the prebuilt library ------------------------------------------------------------------ */

uint16_t __aarch64_swp2_relax(uint16_t value, uint16_t *place)
{
    return __atomic_exchange_n(place, value, __ATOMIC_RELAXED);
}

uint16_t __aarch64_cas2_acq_rel(uint16_t expected, uint16_t value, uint16_t *place)
{
    __atomic_compare_exchange_n(place, &expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}

/* --- C++: Itanium C++ ABI ------------------------------------------------------------------------------ */

/* Programs never unload, and end only by a failure: destructors of static objects do not run. */
void *__dso_handle;

int __cxa_atexit(void (*destroy)(void *), void *object, void *handle)
{
    (void)destroy, (void)object, (void)handle;
    return 0;
}

_Noreturn void __cxa_pure_virtual(void)
{
    puts("a pure virtual function was called");
    _exit(134);
}

/* Without exceptions `new` that finds no memory ends the program. */
static void *allocate(size_t align, size_t bytes)
{
    void *block = aligned_alloc(align, bytes);
    if (!block) {
        printf("new: no memory for %zu bytes\n", bytes);
        _exit(134);
    }
    return block;
}

enum { ALIGN = 16 };

void *_Znwm(size_t bytes) { return allocate(ALIGN, bytes); }
void *_Znam(size_t bytes) { return allocate(ALIGN, bytes); }
void *_ZnwmSt11align_val_t(size_t bytes, size_t align) { return allocate(align, bytes); }
void *_ZnamSt11align_val_t(size_t bytes, size_t align) { return allocate(align, bytes); }
void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *tag) { return (void)tag, malloc(bytes); }
void *_ZnamRKSt9nothrow_t(size_t bytes, const void *tag) { return (void)tag, malloc(bytes); }
void _ZdlPv(void *block) { free(block); }
void _ZdaPv(void *block) { free(block); }
void _ZdlPvm(void *block, size_t bytes) { (void)bytes, free(block); }
void _ZdaPvm(void *block, size_t bytes) { (void)bytes, free(block); }
void _ZdlPvSt11align_val_t(void *block, size_t align) { (void)align, free(block); }
void _ZdaPvSt11align_val_t(void *block, size_t align) { (void)align, free(block); }
void _ZdlPvmSt11align_val_t(void *block, size_t bytes, size_t align) { (void)bytes, (void)align, free(block); }
void _ZdaPvmSt11align_val_t(void *block, size_t bytes, size_t align) { (void)bytes, (void)align, free(block); }
