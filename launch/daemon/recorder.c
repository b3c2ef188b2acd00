/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/log.h"
#include "overlay/record.h"

struct recorder {
    int fd; /* -1: nothing more is written */
    char *path;
    uint64_t bytes;
};

static void stop(struct recorder *recorder)
{
    close(recorder->fd);
    recorder->fd = -1;
}

static void put(struct recorder *recorder, const struct buffer *text)
{
    size_t done = 0;

    while (done < text->length_bytes) {
        ssize_t written = write(recorder->fd, text->data + done, text->length_bytes - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            log_warning("cannot record to %s: %s; the recording ends here", recorder->path,
                        strerror(errno));
            stop(recorder);
            return;
        }
        done += (size_t)written;
    }
    recorder->bytes += text->length_bytes;
}

struct recorder *recorder_open(const char *directory, const char *session,
                               const struct endpoint_config *config, struct error *error)
{
    char *path = memory_printf("%s/banyan-%s-%u.record", directory, session, config->place);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct recorder *recorder;
    struct buffer text = {0};

    if (fd < 0) {
        error_set(error, -errno, "option --record: cannot create %s: %s", path, strerror(errno));
        free(path);
        return NULL;
    }
    recorder = memory_allocate_zeroed(sizeof *recorder);
    *recorder = (struct recorder){.fd = fd, .path = path};
    record_encode_config(config, &text);
    put(recorder, &text);
    buffer_fini(&text);
    return recorder;
}

void recorder_close(struct recorder *recorder)
{
    if (recorder == NULL)
        return;
    if (recorder->fd >= 0)
        close(recorder->fd);
    free(recorder->path);
    free(recorder);
}

void recorder_step(void *context, const struct overlay_event *event,
                   const struct overlay_actions *actions)
{
    struct recorder *recorder = context;
    struct buffer text = {0};
    bool is_full;

    if (recorder->fd < 0)
        return;
    record_encode_step(event, actions, &text);
    is_full = recorder->bytes + text.length_bytes > RECORDER_BYTES_MAX;
    if (is_full) {
        buffer_clear(&text);
        record_encode_limit(&text);
    }
    put(recorder, &text);
    if (is_full && recorder->fd >= 0)
        stop(recorder);
    buffer_fini(&text);
}
