/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/hello.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define HELLO_LENGTH_OFFSET 8u

#define HELLO_KIND_CLIENT        0
#define HELLO_KIND_TOOL_NAMELESS 3
#define HELLO_KIND_TOOL_NAMED    4

/* The remaining bytes; NULL once something was missing. */
struct reader {
    const char *at;
    size_t left;
};

static const char *get_bytes(struct reader *reader, size_t bytes)
{
    const char *at = reader->at;

    if (at == NULL || bytes > reader->left) {
        reader->at = NULL;
        return NULL;
    }
    reader->at += bytes;
    reader->left -= bytes;
    return at;
}

static const char *get_string(struct reader *reader)
{
    const char *end = reader->at == NULL ? NULL : memchr(reader->at, '\0', reader->left);

    return get_bytes(reader, end == NULL ? SIZE_MAX : (size_t)(end - reader->at) + 1);
}

static uint32_t get_u32(struct reader *reader)
{
    const char *bytes = get_bytes(reader, sizeof(uint32_t));
    uint32_t value = 0;

    if (bytes != NULL)
        memcpy(&value, bytes, sizeof(value));
    return ntohl(value);
}

static unsigned int get_u8(struct reader *reader)
{
    const char *byte = get_bytes(reader, 1);

    return byte == NULL ? 0 : (unsigned char)*byte;
}

/* The header is in host byte order: a place, a tag, the length, padding. */
int hello_length(const void *header, size_t *ret_bytes)
{
    uint32_t payload_bytes;

    memcpy(&payload_bytes, (const char *)header + HELLO_LENGTH_OFFSET, sizeof(payload_bytes));
    if (payload_bytes > HELLO_BYTES_MAX - HELLO_HEADER_BYTES)
        return -EMSGSIZE;
    *ret_bytes = HELLO_HEADER_BYTES + payload_bytes;
    return 0;
}

/* The name of a client or tool. */
static void get_process(struct reader *reader, struct hello *hello)
{
    const char *namespace = get_string(reader);

    hello->rank = get_u32(reader);
    if (reader->at == NULL)
        return;
    if (strlen(namespace) >= sizeof(hello->namespace))
        reader->at = NULL;
    else
        memcpy(hello->namespace, namespace, strlen(namespace) + 1);
}

/* Name of the security module, credential, kind of caller, for a tool its user and group, its name if it has one;
 * after these the version and the names of modules. */
int hello_read(const void *data, size_t bytes, struct hello *ret_hello)
{
    struct reader reader = {data, bytes};
    struct hello hello = {0};
    unsigned int kind;

    (void)get_bytes(&reader, HELLO_HEADER_BYTES);
    (void)get_string(&reader);
    (void)get_bytes(&reader, get_u32(&reader));
    kind = get_u8(&reader);
    hello.is_client = kind == HELLO_KIND_CLIENT;
    hello.is_tool = kind == HELLO_KIND_TOOL_NAMELESS || kind == HELLO_KIND_TOOL_NAMED;
    if (hello.is_tool)
        (void)get_bytes(&reader, 2 * sizeof(uint32_t));
    if (hello.is_client || kind == HELLO_KIND_TOOL_NAMED)
        get_process(&reader, &hello);
    if (hello.is_client)
        (void)get_string(&reader);
    if (reader.at == NULL)
        return -EBADMSG;
    *ret_hello = hello;
    return 0;
}
