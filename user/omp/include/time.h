/* One clock, the machine's, whatever its name. */
#ifndef BULKHEAD_TIME_H
#define BULKHEAD_TIME_H

typedef long time_t;
typedef int clockid_t;
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2

int clock_gettime(clockid_t clock, struct timespec *time);
int nanosleep(const struct timespec *time, struct timespec *left);
#endif
