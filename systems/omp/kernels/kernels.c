#include "kernels.h"
#include <time.h>

#define MAIN(NAME) int NAME##_main(int, char **);
MAIN(fib)
MAIN(nqueens)
MAIN(sort)
MAIN(health)
MAIN(sparselu)
MAIN(strassen)

const struct kernel kernels[] = {
    {"fib", "16", fib_main},     {"nqueens", "6", nqueens_main}, {"sort", "20000", sort_main},
    {"health", "8", health_main}, {"sparselu", "4", sparselu_main}, {"strassen", "128", strassen_main}, {0, 0, 0},
};
uint64_t kernel_result;

void kernel_sleep_ns(uint64_t ns)
{
    struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&time, 0);
}
