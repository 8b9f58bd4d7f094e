/* A pipe function in C, in a component of its own: a library of mathematics, memory from the start, and a fault. */
#include <math.h>
#include <pipe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define JOBS 40

static double *table;
static volatile uintptr_t nowhere = 16;

__attribute__((constructor)) static void fill(void)
{
    table = malloc(16 * sizeof *table);
    for (int i = 0; i < 16; i++)
        table[i] = sqrt(i);
    printf("scale: table of %.3f to %.3f\n", table[0], table[15]);
}

static int scale(const struct pipe_job *job, struct pipe_data *output)
{
    if (!job->input[0])
        return 0;
    *output = *job->input[0];
    output->word[1] += (uint64_t)(1000 * table[job->memory[0] % 16]) << 32;
    if (++job->memory[0] > JOBS)
        *(volatile int *)nowhere = 1;
    return malloc(1) == NULL;
}

const struct pipe_named pipe_functions[] = {{"scale", scale}, {0}};
