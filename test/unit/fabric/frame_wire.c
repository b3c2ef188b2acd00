/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/frame_wire.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

static const struct frame_header sample = {
    .length_bytes = 0x01020304,
    .type = 0x21,
    .class = FRAME_BULK,
    .flags = 0x4142,
    .stream = 0x51525354,
    .sequence = 0x61626364,
    .incarnation = 0x71727374,
    .attempt = 0x81828384,
    .credit = 0x91929394,
};

static const unsigned char sample_bytes[FRAME_HEADER_BYTES] = {
    0x04, 0x03, 0x02, 0x01, 0x21, 0x02, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51, 0x64, 0x63,
    0x62, 0x61, 0x74, 0x73, 0x72, 0x71, 0x84, 0x83, 0x82, 0x81, 0x94, 0x93, 0x92, 0x91,
};

static int decode_changed(size_t at, unsigned char value)
{
    unsigned char bytes[FRAME_HEADER_BYTES];
    struct frame_header header;

    memcpy(bytes, sample_bytes, sizeof(bytes));
    bytes[at] = value;
    return frame_decode(bytes, &header);
}

static int decode_length(uint32_t length_bytes)
{
    unsigned char bytes[FRAME_HEADER_BYTES];
    struct frame_header header = sample;

    header.length_bytes = length_bytes;
    frame_encode(&header, bytes);
    return frame_decode(bytes, &header);
}

int main(void)
{
    unsigned char bytes[FRAME_HEADER_BYTES];
    struct frame_header header;

    frame_encode(&sample, bytes);
    is_bytes(bytes, sizeof(bytes), sample_bytes, sizeof(sample_bytes),
             "the header has its one little-endian form");
    memset(&header, 0, sizeof(header));
    is_int(frame_decode(sample_bytes, &header), 0, "it is read again");
    frame_encode(&header, bytes);
    is_bytes(bytes, sizeof(bytes), sample_bytes, sizeof(sample_bytes), "with every field");
    is_int(decode_changed(5, FRAME_CLASS_COUNT), -EBADMSG, "an unknown class is refused");
    is_int(decode_length(FRAME_HEADER_BYTES), 0, "a frame may be empty");
    is_int(decode_length(FRAME_HEADER_BYTES - 1), -EBADMSG, "but not shorter than its header");
    is_int(decode_length(0), -EBADMSG, "nor nothing");
    is_int(decode_length(FRAME_HEADER_BYTES + FRAME_PAYLOAD_BYTES_MAX), 0, "the limit fits");
    is_int(decode_length(FRAME_HEADER_BYTES + FRAME_PAYLOAD_BYTES_MAX + 1), -EBADMSG,
           "one more does not");
    is_int(decode_length(UINT32_MAX), -EBADMSG, "nor the greatest number");
    return done_testing();
}
