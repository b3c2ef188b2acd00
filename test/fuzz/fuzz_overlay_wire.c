/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the overlay: the first byte of the input is the type, the rest the payload.  What
 * is decoded is printed, which reads all of it.
 */
#include "config.h"

#include "overlay/overlay_print.h"
#include "overlay/overlay_wire.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/fuzz_overlay.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct frame frame = {.attempt = 1};
    struct buffer text = {0};

    if (data_bytes == 0)
        return 0;
    frame.type = data[0];
    frame.payload = message_create(data + 1, data_bytes - 1);
    overlay_print(&frame, &text);
    assert(text.length_bytes > 0);
    buffer_fini(&text);
    message_release(frame.payload);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct frame frame;
    size_t bytes;

    if (!fuzz_overlay_frame(number, &frame))
        return 0;
    buffer[0] = frame.type;
    bytes = frame.payload->length_bytes + 1 < buffer_bytes ? frame.payload->length_bytes
                                                           : buffer_bytes - 1;
    memcpy(buffer + 1, frame.payload->data, bytes);
    message_release(frame.payload);
    return bytes + 1;
}
