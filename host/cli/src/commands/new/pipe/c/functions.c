/* Pipe functions; pipe.h says what a job has. `sample` and `emit` are there in any case. */
#include <pipe.h>

/* Values that differ from the one before by more than this are held back. */
#define STEP 16

static int limit(const struct pipe_job *job, struct pipe_data *output)
{
    const struct pipe_data *new = job->input[0] ? job->input[0] : job->source;
    if (!new)
        return 0;
    uint64_t *last = &job->memory[0], value = new->word[1];
    if (value > *last + STEP)
        value = *last + STEP;
    else if (*last > STEP && value < *last - STEP)
        value = *last - STEP;
    *last = value;
    *output = (struct pipe_data){{new->word[0], value}};
    return 1;
}

const struct pipe_named pipe_functions[] = {{"limit", limit}, {0}};
