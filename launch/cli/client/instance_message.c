/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/instance_message.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "fabric/channel.h"
#include "launch/proto/control.h"

int instance_message_send(int fd, uint8_t type, const struct buffer *payload)
{
    struct buffer message = {0};
    size_t sent = 0;

    channel_header_put((uint32_t)payload->length_bytes, type, &message);
    buffer_append(&message, payload->data, payload->length_bytes);
    while (sent < message.length_bytes) {
        ssize_t bytes = send(fd, message.data + sent, message.length_bytes - sent, MSG_NOSIGNAL);

        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            break;
        sent += (size_t)bytes;
    }
    buffer_fini(&message);
    return sent == CHANNEL_HEADER_BYTES + payload->length_bytes ? 0 : -EPIPE;
}

static int read_bytes(int fd, int patience_ms, size_t bytes, struct buffer *out)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};

    while (bytes > 0) {
        int ready = poll(&readable, 1, patience_ms);
        ssize_t got;

        if (ready == 0)
            return -ETIMEDOUT;
        got = ready > 0 ? recv(fd, buffer_reserve(out, bytes), bytes, 0) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -EPIPE;
        buffer_commit(out, (size_t)got);
        assert((size_t)got <= bytes);
        bytes -= (size_t)got;
    }
    return 0;
}

int instance_message_read(int fd, int patience_ms, uint8_t *ret_type, struct buffer *payload)
{
    struct buffer header = {0};
    uint32_t bytes;
    int rc = read_bytes(fd, patience_ms, CHANNEL_HEADER_BYTES, &header);

    if (rc == 0) {
        channel_header_get(header.data, &bytes, ret_type);
        rc = bytes <= CHANNEL_MESSAGE_BYTES_MAX ? read_bytes(fd, patience_ms, bytes, payload)
                                                : -EBADMSG;
    }
    buffer_fini(&header);
    return rc;
}

int instance_message_hello(int fd, uint8_t wants)
{
    const struct control_hello hello = {.version = CONTROL_VERSION, .wants = wants};
    struct buffer payload = {0};
    int rc;

    control_hello_encode(&hello, &payload);
    rc = instance_message_send(fd, CONTROL_HELLO, &payload);
    buffer_fini(&payload);
    return rc;
}
