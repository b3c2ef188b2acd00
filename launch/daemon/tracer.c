/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/tracer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/log.h"
#include "overlay/trace.h"

struct tracer {
    int fd; /* -1: the trace has ended */
    char *path;
    uint64_t bytes;
};

static void tracer_stop(struct tracer *tracer)
{
    assert(tracer->fd >= 0);
    close(tracer->fd);
    tracer->fd = -1;
}

static void tracer_put(struct tracer *tracer, const struct buffer *text)
{
    size_t done = 0;

    assert(tracer->fd >= 0 && tracer->path != NULL);
    while (done < text->length_bytes) {
        ssize_t written = write(tracer->fd, text->data + done, text->length_bytes - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int code = errno;

            tracer_stop(tracer); /* the warning may be sent to the root, which is a step to trace */
            log_warning("cannot record to %s: %s; the recording ends here", tracer->path,
                        strerror(code));
            return;
        }
        done += (size_t)written;
    }
    tracer->bytes += text->length_bytes;
}

struct tracer *tracer_open(const char *directory, const char *session,
                           const struct endpoint_config *config, struct error *error)
{
    char *path = memory_printf("%s/banyan-%s-%u.record", directory, session, config->place);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct tracer *tracer;
    struct buffer text = {0};

    if (fd < 0) {
        error_set(error, -errno, "option --record: cannot create %s: %s", path, strerror(errno));
        free(path);
        return NULL;
    }
    tracer = memory_allocate_zeroed(sizeof *tracer);
    *tracer = (struct tracer){.fd = fd, .path = path};
    trace_encode_config(config, &text);
    tracer_put(tracer, &text);
    buffer_fini(&text);
    return tracer;
}

void tracer_close(struct tracer *tracer)
{
    if (tracer == NULL)
        return;
    if (tracer->fd >= 0)
        tracer_stop(tracer);
    free(tracer->path);
    free(tracer);
}

void tracer_step(void *context, const struct overlay_event *event,
                 const struct overlay_actions *actions)
{
    struct tracer *tracer = context;
    struct buffer text = {0};
    bool is_full;

    if (tracer->fd < 0)
        return;
    assert(tracer->bytes <= RECORDER_BYTES_MAX);
    trace_encode_step(event, actions, &text);
    is_full = tracer->bytes + text.length_bytes > RECORDER_BYTES_MAX;
    if (is_full) {
        buffer_clear(&text);
        trace_encode_limit(&text);
    }
    tracer_put(tracer, &text);
    if (is_full && tracer->fd >= 0)
        tracer_stop(tracer);
    buffer_fini(&text);
}
