/* SPDX-License-Identifier: BSD-3-Clause */
/* What a link says of itself, HELLO and GOODBYE: read as written, and not when it is cut. */
#include "config.h"

#include <errno.h>

#include "base/message.h"
#include "fabric/link_wire.h"
#include "test/support/tap.h"

int main(void)
{
    struct message *hello = link_hello_encode(LINK_PROTOCOL_VERSION, 7, 8);
    struct message *bye = link_goodbye_encode(LINK_REFUSED, "why not");
    struct message *cut = message_create(hello->data, hello->length_bytes - 1);
    struct message *next = link_hello_encode(LINK_PROTOCOL_VERSION + 1, 7, 8);
    char text[LINK_GOODBYE_TEXT_BYTES];
    enum link_goodbye reason = LINK_CLOSED;
    uint32_t version = 0;
    uint32_t place = 0;
    uint32_t incarnation = 0;

    is_int(link_hello_decode(hello, &version, &place, &incarnation), 0, "HELLO is read");
    ok(version == LINK_PROTOCOL_VERSION && place == 7 && incarnation == 8, "as it was written");
    is_int(link_hello_decode(cut, &version, &place, &incarnation), -EBADMSG, "a cut one is not");
    is_int(link_hello_decode(NULL, &version, &place, &incarnation), -EBADMSG, "nor an empty one");
    is_int(link_hello_decode(next, &version, &place, &incarnation), 0, "of another version");
    is_uint(version, LINK_PROTOCOL_VERSION + 1, "the version is read");
    is_int(link_goodbye_decode(bye, &reason, text), 0, "GOODBYE is read");
    is_int(reason, LINK_REFUSED, "with its reason");
    is_string(text, "why not", "and its text");
    bye->data[0] = LINK_GOODBYE_COUNT;
    is_int(link_goodbye_decode(bye, &reason, text), -EBADMSG, "an unknown reason is not");
    message_release(hello);
    message_release(cut);
    message_release(next);
    message_release(bye);
    return done_testing();
}
