/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_wire.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/wire.h"

static struct message *finish_message(struct buffer *buffer)
{
    struct message *message = message_from_buffer(buffer);

    buffer_fini(buffer);
    return message;
}

static void start_reader(struct wire_reader *reader, const struct message *message)
{
    wire_reader_init(reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
}

struct message *link_hello_encode(uint32_t version, uint32_t place, uint32_t incarnation)
{
    struct buffer buffer = {0};

    wire_put_u32(&buffer, version);
    wire_put_u32(&buffer, place);
    wire_put_u32(&buffer, incarnation);
    return finish_message(&buffer);
}

int link_hello_decode(const struct message *message, uint32_t *ret_version, uint32_t *ret_place,
                      uint32_t *ret_incarnation)
{
    struct wire_reader reader;
    uint32_t version;
    uint32_t place = 0;
    uint32_t incarnation = 0;

    start_reader(&reader, message);
    version = wire_get_u32(&reader);
    if (version == LINK_PROTOCOL_VERSION) {
        place = wire_get_u32(&reader);
        incarnation = wire_get_u32(&reader);
        if (wire_finish(&reader) < 0)
            return -EBADMSG;
    }
    if (wire_status(&reader) < 0)
        return -EBADMSG;
    *ret_version = version;
    *ret_place = place;
    *ret_incarnation = incarnation;
    return 0;
}

struct message *link_goodbye_encode(enum link_goodbye reason, const char *text)
{
    struct buffer buffer = {0};
    size_t bytes = strnlen(text, LINK_GOODBYE_TEXT_BYTES - 1);

    assert(reason < LINK_GOODBYE_COUNT);
    wire_put_u8(&buffer, (uint8_t)reason);
    wire_put_bytes(&buffer, text, bytes);
    return finish_message(&buffer);
}

int link_goodbye_decode(const struct message *message, enum link_goodbye *ret_reason,
                        char ret_text[LINK_GOODBYE_TEXT_BYTES])
{
    struct wire_reader reader;
    char text[LINK_GOODBYE_TEXT_BYTES];
    uint8_t reason;

    start_reader(&reader, message);
    reason = wire_get_u8(&reader);
    wire_get_string_into(&reader, text, sizeof(text));
    if (wire_finish(&reader) < 0 || reason >= LINK_GOODBYE_COUNT)
        return -EBADMSG;
    *ret_reason = (enum link_goodbye)reason;
    memcpy(ret_text, text, sizeof(text));
    return 0;
}
