/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_group.h"

#include <assert.h>
#include <errno.h>

#include "base/wire.h"

void pmi_group_encode(uint64_t number, const void *data, size_t bytes, struct buffer *out)
{
    assert(number != 0);
    wire_put_u64(out, number);
    wire_put_bytes(out, data, bytes);
}

int pmi_group_decode(const void *result, size_t result_bytes, uint64_t *ret_number,
                     struct buffer *ret_data)
{
    struct wire_reader reader;

    *ret_number = 0;
    wire_reader_init(&reader, result, result_bytes);
    while (wire_left(&reader) > 0 && wire_status(&reader) == 0) {
        uint64_t number = wire_get_u64(&reader);
        struct wire_bytes data = wire_get_bytes(&reader, wire_left(&reader));

        if (number == 0 || wire_status(&reader) < 0)
            return -EBADMSG;
        if (*ret_number == 0)
            *ret_number = number;
        buffer_append(ret_data, data.data, data.length_bytes);
    }
    return wire_finish(&reader);
}
