/* Beyond OpenMP: real-time control of the runtime libbulkhead-omp. */
#ifndef BULKHEAD_OMP_H
#define BULKHEAD_OMP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The scheduling policy of every thread of the team that the caller leads by default, the caller
   included. 0, or the error number with which the system refused (EPERM without privilege). */
int bulkhead_omp_set_fifo(unsigned priority);
int bulkhead_omp_set_deadline(uint64_t runtime_ns, uint64_t deadline_ns, uint64_t period_ns);
int bulkhead_omp_set_other(void);

/* How often the runtime has asked for memory since the start: constant on the steady path. */
uint64_t bulkhead_omp_allocations(void);

#ifdef __cplusplus
}
#endif
#endif
