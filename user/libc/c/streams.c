/* The streams of stdio.h: stdout and stderr are the partition's console, stdin is at its end
 *
 * Each thread has a line of its own, so that the output of two threads never mixes within a line and no lock is
 * needed. */
#include "format.h"
#include "lines.h"
#include "runtime.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than threads of one component. */
enum { LINES = 64 };

static struct line lines[LINES];

static struct line *own_line(void)
{
    return &lines[bulkhead_thread_number() % LINES];
}

static int put_on_console(char c, FILE *file)
{
    (void)file;
    bulkhead_put_in_line(own_line(), c);
    return 0;
}

static int flush_console(FILE *file)
{
    (void)file;
    bulkhead_end_line(own_line());
    return 0;
}

static FILE console = FDEV_SETUP_STREAM(put_on_console, NULL, flush_console, _FDEV_SETUP_WRITE);
FILE *const stdin = &console;
FILE *const stdout = &console;
FILE *const stderr = &console;

struct stream_sink {
    struct sink sink;
    FILE *stream;
};

static void put_in_stream(struct sink *sink, char c)
{
    FILE *stream = ((struct stream_sink *)sink)->stream;
    stream->put(c, stream);
}

/* All of the printf family arrives here; the library's own prints 17 digits of a double at most. */
int vfprintf(FILE *stream, const char *format, va_list arguments)
{
    struct stream_sink sink = {.sink = {.put = put_in_stream}, .stream = stream};
    if (!(stream->flags & __SWR))
        return EOF;
    return bulkhead_format(&sink.sink, format, arguments);
}

/* There are no files. */
static int refuse(int error)
{
    errno = error;
    return -1;
}

int open(const char *path, int flags, ...)
{
    (void)path, (void)flags;
    return refuse(ENOENT);
}

int close(int file)
{
    (void)file;
    return refuse(EBADF);
}

ssize_t read(int file, void *bytes, size_t count)
{
    (void)file, (void)bytes, (void)count;
    return refuse(EBADF);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    const char *text = bytes;
    if (file != STDOUT_FILENO && file != STDERR_FILENO)
        return refuse(EBADF);
    for (size_t i = 0; i < count; i++)
        put_on_console(text[i], stdout);
    return (ssize_t)count;
}

off_t lseek(int file, off_t offset, int whence)
{
    (void)file, (void)offset, (void)whence;
    return refuse(EBADF);
}

int fstat(int file, struct stat *found)
{
    (void)file, (void)found;
    return refuse(EBADF);
}

int unlink(const char *path)
{
    (void)path;
    return refuse(ENOENT);
}
