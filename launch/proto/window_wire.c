/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/window.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/job_wire.h"

void window_encode(const struct window *window, struct buffer *out)
{
    wire_put_u16(out, window->rows);
    wire_put_u16(out, window->columns);
}

void window_get(struct wire_reader *reader, struct window *ret_window)
{
    ret_window->rows = wire_get_u16(reader);
    ret_window->columns = wire_get_u16(reader);
}

struct message *window_message(uint32_t job, const struct window *window)
{
    struct buffer payload = {0};
    struct message *message;

    assert(job > 0);
    wire_put_u32(&payload, job);
    window_encode(window, &payload);
    message = job_request_message(JOB_MESSAGE_WINDOW, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    return message;
}

int window_decode(uint32_t *ret_job, struct window *ret_window, struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);
    struct window window;

    window_get(reader, &window);
    if (wire_finish(reader) < 0 || job == 0)
        return -EBADMSG;
    *ret_job = job;
    *ret_window = window;
    return 0;
}
