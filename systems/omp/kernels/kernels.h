/* Programs of `omp/bench/kernels`, unchanged, as functions: what each would have printed is kept. */
#ifndef KERNELS_H
#define KERNELS_H
#include <stdint.h>

struct kernel {
    const char *name, *argument;
    int (*main)(int count, char **values);
};

/* Ends with one without a name. */
extern const struct kernel kernels[];
/* The checksum of the program that ended last. */
extern uint64_t kernel_result;
void kernel_sleep_ns(uint64_t ns);
#endif
