/* A pipe function in C with long messages: checks each word of what it reads, and writes it anew. */
#include <pipe.h>
#include <stdint.h>
#include <string.h>

static int recast(const struct pipe_job *job, struct pipe_data *output)
{
    (void)output;
    const uint64_t *from = job->message[0];
    uint64_t *to = job->output;
    if (from == 0 || job->bytes[0] != job->bytes[PIPE_INPUTS])
        return 0;
    for (uint32_t word = 0; word < job->bytes[0] / 8; word++) {
        if (from[word] != from[0] + word)
            return 0;
        to[word] = from[word];
    }
    uint32_t whole = job->bytes[0] / 8 * 8;
    memcpy((char *)to + whole, (const char *)from + whole, job->bytes[0] - whole);
    return 1;
}

const struct pipe_named pipe_functions[] = {{"recast", recast}, {0}};
