/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/message.h"
#include "test/support/tap.h"

#include <string.h>

#include "base/buffer.h"

int main(void)
{
    struct buffer buffer = {0};
    struct message *message = message_create("abc", 3);

    is_bytes(message->data, message->length_bytes, "abc", 3, "a message holds a copy of its bytes");
    ok(message_reference(message) == message && message->references == 2, "a reference is counted");
    message_release(message);
    is_bytes(message->data, message->length_bytes, "abc", 3, "it lives until the last release");
    message_release(message);

    message = message_create(NULL, 0);
    is_uint(message->length_bytes, 0, "a message may be empty");
    message_release(message);

    buffer_append_string(&buffer, "from a buffer");
    message = message_from_buffer(&buffer);
    is_bytes(message->data, message->length_bytes, "from a buffer", 13, "made of a buffer");
    is_uint(buffer.length_bytes, 0, "which is empty then");
    message_release(message);
    message = message_from_buffer(&buffer);
    is_uint(message->length_bytes, 0, "also of an empty one");
    message_release(message);
    memset(buffer_reserve(&buffer, 100000), 'x', 100000);
    buffer_commit(&buffer, 100000);
    message = message_from_buffer(&buffer);
    is_uint(message->length_bytes, 100000, "a long one is whole");
    ok(message->data[0] == 'x' && memcmp(message->data, message->data + 1, 99999) == 0,
       "and has its bytes");
    is_uint(buffer.length_bytes + buffer.capacity_bytes, 0,
            "its memory is not the buffer's any more");
    message_release(message);
    buffer_fini(&buffer);

    ok(message_reference(NULL) == NULL, "no message can be referenced");
    message_release(NULL);
    pass("and released");
    return done_testing();
}
