/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/task_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "launch/cli/option/json_text.h"

#define FILES_COUNT 2 /* --joblog, --results */
#define US_PER_S    1e6

struct log_file {
    char *path; /* NULL: not wanted */
    int fd;
    struct buffer text;
};

struct task_log {
    struct log_file files[FILES_COUNT];
    int has_failed;
};

static const char titles[] =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

/* What was written when a run was killed may lack its end of line: then its task has no entry. */
static int cut_last_line(int fd, off_t *ret_size)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char byte = '\n';

    while (size > 0 && pread(fd, &byte, 1, size - 1) == 1 && byte != '\n')
        size--;
    *ret_size = size;
    return size < 0 || ftruncate(fd, size) < 0 || lseek(fd, size, SEEK_SET) < 0 ? -errno : 0;
}

static int open_log(struct log_file *file, const char *option, const char *path, int resume,
                    off_t *ret_size, struct error *error)
{
    int rc = 0;

    file->fd = -1;
    *ret_size = 0;
    if (path == NULL)
        return 0;
    file->path = memory_copy_string(path);
    file->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | (resume ? 0 : O_TRUNC), 0666);
    if (file->fd < 0)
        rc = -errno;
    else if (resume)
        rc = cut_last_line(file->fd, ret_size);
    return rc == 0 ? 0
                   : error_set(error, rc, "option %s: cannot write %s: %s", option, path,
                               strerror(-rc));
}

struct task_log *task_log_open(const char *joblog, const char *results, int resume,
                               struct error *error)
{
    struct task_log *log = memory_allocate_zeroed(sizeof(*log));
    off_t size = 0, other;
    int rc = open_log(&log->files[0], "--joblog", joblog, resume, &size, error);

    if (rc == 0 && size == 0 && joblog != NULL)
        buffer_append_string(&log->files[0].text, titles);
    log->files[1].fd = -1;
    if (rc == 0)
        rc = open_log(&log->files[1], "--results", results, resume, &other, error);
    if (rc == 0)
        return log;
    task_log_close(log);
    return NULL;
}

/* ---- entries ---- */

static void add_line(const struct task_log_entry *entry, struct buffer *out)
{
    buffer_printf(out, "%u\t%s\t%.3f\t%.3f\t0\t%llu\t%d\t%d\t%s\n", entry->number, entry->node,
                  (double)entry->started_us / US_PER_S, (double)entry->run_us / US_PER_S,
                  (unsigned long long)entry->output_bytes, entry->status, entry->signal,
                  entry->command);
}

/* JSON is UTF-8: in a text that is not, bytes beyond ASCII become question marks. */
static json_t *json_of(const struct task_spool *spool, uint64_t at, uint64_t bytes)
{
    size_t wanted = bytes < TASK_LOG_TEXT_BYTES_MAX ? (size_t)bytes : TASK_LOG_TEXT_BYTES_MAX;
    unsigned char *text = memory_allocate(wanted + 1);
    size_t length = task_spool_read(spool, at, text, wanted);
    json_t *value = json_stringn((const char *)text, length);

    for (size_t i = 0; value == NULL && i < length; i++)
        if (text[i] >= 0x80)
            text[i] = '?';
    if (value == NULL)
        value = json_stringn((const char *)text, length);
    free(text);
    return value;
}

static json_t *json_entry(const struct task_log_entry *entry)
{
    const struct task_spool *spool = entry->output;
    json_t *object = json_object();

    json_object_set_new(object, "seq", json_integer(entry->number));
    json_object_set_new(object, "host", json_text(entry->node));
    json_object_set_new(object, "start", json_real((double)entry->started_us / US_PER_S));
    json_object_set_new(object, "runtime", json_real((double)entry->run_us / US_PER_S));
    json_object_set_new(object, "exitval", json_integer(entry->status));
    json_object_set_new(object, "signal", json_integer(entry->signal));
    json_object_set_new(object, "tries", json_integer(entry->tries));
    json_object_set_new(object, "command", json_text(entry->command));
    json_object_set_new(object, "stdout",
                        spool != NULL ? json_of(spool, 0, spool->bytes[0]) : json_string(""));
    json_object_set_new(object, "stderr",
                        spool != NULL ? json_of(spool, spool->bytes[0], spool->bytes[1])
                                      : json_string(""));
    return object;
}

void task_log_add(struct task_log *log, const struct task_log_entry *entry)
{
    assert(entry->number > 0);
    if (log->files[0].path != NULL)
        add_line(entry, &log->files[0].text);
    if (log->files[1].path != NULL) {
        json_t *object = json_entry(entry);
        char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(16));

        buffer_append_string(&log->files[1].text, text != NULL ? text : "{}");
        buffer_append(&log->files[1].text, "\n", 1);
        free(text);
        json_decref(object);
    }
}

/* ---- files ---- */

static int write_log(struct log_file *file, struct error *error)
{
    size_t done = 0;

    while (done < file->text.length_bytes) {
        ssize_t wrote = write(file->fd, file->text.data + done, file->text.length_bytes - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return error_set(error, -errno, "cannot write %s: %s", file->path, strerror(errno));
        done += (size_t)wrote;
    }
    buffer_clear(&file->text);
    return 0;
}

int task_log_flush(struct task_log *log, struct error *error)
{
    int rc = 0;

    for (int i = 0; i < FILES_COUNT && !log->has_failed; i++) {
        rc = write_log(&log->files[i], error);
        log->has_failed = rc < 0;
    }
    return rc;
}

void task_log_close(struct task_log *log)
{
    if (log == NULL)
        return;
    (void)task_log_flush(log, NULL);
    for (int i = 0; i < FILES_COUNT; i++) {
        if (log->files[i].fd >= 0)
            close(log->files[i].fd);
        free(log->files[i].path);
        buffer_fini(&log->files[i].text);
    }
    free(log);
}
