/* An OpenMP program in a partition: the cores' VCPUs, and what they promise. */
#ifndef BULKHEAD_OMP_COMPONENT_H
#define BULKHEAD_OMP_COMPONENT_H
#include <stdint.h>

/* Budget and period of the VCPU of a core (0: the partition's first), nanoseconds; the same twice where
   the description gives the core none and the thread has all of it. */
void bulkhead_omp_vcpu(unsigned core, uint64_t *capacity_ns, uint64_t *period_ns);

/* Longest time in which work of so many nanoseconds is done that comes to that VCPU whatever has become
   of its budget: ceil(w/C) T + C. UINT64_MAX where that overflows. */
uint64_t bulkhead_omp_bound_ns(unsigned core, uint64_t work_ns);
#endif
