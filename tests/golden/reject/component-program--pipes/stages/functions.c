#include <pipe.h>

static int limit(const struct pipe_job *job, struct pipe_data *output)
{
    if (!job->input[0])
        return 0;
    *output = *job->input[0];
    return 1;
}

/* {"mean", mean} is not there yet. */
const struct pipe_named pipe_functions[] = {{"limit", limit}, {0}};
