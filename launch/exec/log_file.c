/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/log_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

#define TAIL_BYTES 8192

struct log_file {
    int fd; /* -1: it has ended */
    uint64_t bytes;
};

char *log_file_path(const char *directory, const char *session, const char *name)
{
    assert(strchr(name, '/') == NULL && name[0] != '\0');
    return memory_printf("%s/banyan-%s-%s.log", directory, session, name);
}

struct log_file *log_file_open(const char *path, struct error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    struct log_file *log;

    if (fd < 0) {
        error_set(error, -errno, "option --log: cannot create %s: %s", path, strerror(errno));
        return NULL;
    }
    log = memory_allocate_zeroed(sizeof(*log));
    log->fd = fd;
    return log;
}

static void end_log(struct log_file *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}

void log_file_close(struct log_file *log)
{
    if (log == NULL)
        return;
    end_log(log);
    free(log);
}

static void put(struct log_file *log, const struct buffer *text)
{
    size_t done = 0;

    while (done < text->length_bytes) {
        ssize_t written = write(log->fd, text->data + done, text->length_bytes - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            end_log(log);
            return;
        }
        done += (size_t)written;
    }
    log->bytes += text->length_bytes;
}

void log_file_write(struct log_file *log, uint64_t time_ns, enum log_level level, const char *line)
{
    static const char *const levels[LOG_LEVEL_COUNT] = {"error", "warning", "info", "debug"};
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    struct buffer text = {0};
    struct tm utc;
    char when[32] = "";

    assert(level < LOG_LEVEL_COUNT && strchr(line, '\n') == NULL);
    if (log->fd < 0)
        return;
    if (gmtime_r(&seconds, &utc) != NULL)
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
    buffer_printf(&text, "%s.%06uZ %s: %s\n", when,
                  (unsigned int)(time_ns % NS_PER_S / (NS_PER_S / 1000000)), levels[level], line);
    if (log->bytes + text.length_bytes > LOG_FILE_BYTES_MAX) {
        buffer_clear(&text);
        buffer_append_string(&text, "the log ends here: it has 64 MiB\n");
        put(log, &text);
        end_log(log);
    } else {
        put(log, &text);
    }
    buffer_fini(&text);
}

/* The end of the file, from the beginning of a line on. */
static int read_end(const char *path, char data[TAIL_BYTES], size_t *ret_bytes)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    ssize_t got = -1;
    off_t from;
    int rc;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) == 0) {
        from = status.st_size > TAIL_BYTES ? status.st_size - TAIL_BYTES : 0;
        got = pread(fd, data, TAIL_BYTES, from);
    }
    rc = got < 0 ? -errno : 0;
    close(fd);
    if (rc == 0)
        *ret_bytes = (size_t)got;
    return rc;
}

int log_file_tail(const char *path, uint32_t lines_max, struct buffer *out)
{
    char data[TAIL_BYTES];
    size_t bytes = 0, from;
    uint32_t lines = 0;
    int rc = read_end(path, data, &bytes);

    if (rc < 0)
        return rc;
    while (bytes > 0 && data[bytes - 1] != '\n')
        bytes--; /* the daemon died within the line */
    for (from = bytes; from > 0; from--)
        if (data[from - 1] == '\n' && lines++ == lines_max)
            break;
    buffer_append(out, data + from, bytes - from);
    return 0;
}
