#include "../../../omp/bench/kernels/bench.h"
#include "kernels.h"
#define stop_clock(RESULT) (kernel_result = (RESULT))
#define main health_main
#include "../../../omp/bench/kernels/health.c"
