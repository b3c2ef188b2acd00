/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "base/wire.h"
#include "pmix/pmi_push.h"

void pmi_push_encode(const struct pmi_push *push, struct buffer *out)
{
    assert(push->data_bytes <= PMI_PUSH_BYTES_MAX);
    wire_put_u32(out, push->job);
    wire_put_u32(out, push->rank);
    buffer_append(out, push->data, push->data_bytes);
}

int pmi_push_decode(struct pmi_push *ret_push, const void *data, size_t bytes)
{
    struct pmi_push push = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    push.job = wire_get_u32(&reader);
    push.rank = wire_get_u32(&reader);
    if (wire_status(&reader) < 0 || wire_left(&reader) > PMI_PUSH_BYTES_MAX)
        return -EBADMSG;
    push.data = reader.position;
    push.data_bytes = wire_left(&reader);
    *ret_push = push;
    return 0;
}
