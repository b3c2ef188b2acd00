/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stranger may send, from his first byte on, and what an impostor may answer to our own
 * ClientHello.  The first byte of an input says which (odd: we connect), the second in pieces of
 * which length the rest comes.  Nobody may get in: every input but the recorded one lacks the key,
 * and that one lacks an answer to what the server says next.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "fabric/link_identity.h"
#include "fabric/tls.h"
#include "test/fuzz/fuzz.h"

#define IDENTITY   "abc123/1/2/1"
#define HEAD_BYTES 2

static const unsigned char key[TLS_KEY_BYTES] = "the key of a link in this fuzzer";

/* A ClientHello of place 1 that knows the key. */
static const unsigned char recorded[] = {
    0x16, 0x03, 0x01, 0x00, 0xe3, 0x01, 0x00, 0x00, 0xdf, 0x03, 0x03, 0x22, 0xd8, 0x39, 0x96, 0xd5,
    0xb0, 0x7d, 0x75, 0x1a, 0x24, 0xb5, 0xde, 0x53, 0x27, 0xc0, 0xc0, 0xdc, 0x51, 0xbe, 0x4f, 0xfd,
    0x7b, 0x4c, 0x06, 0x8e, 0x42, 0x3a, 0xdc, 0xeb, 0xbb, 0x2c, 0xd0, 0x20, 0x09, 0x2b, 0xba, 0xb0,
    0xe3, 0x71, 0x04, 0x65, 0xe7, 0x48, 0xf1, 0x5d, 0xf7, 0xb9, 0x19, 0x0c, 0x5d, 0x13, 0x2f, 0xde,
    0x68, 0x08, 0x42, 0x82, 0x9f, 0x5b, 0x5a, 0x2c, 0xa7, 0x1f, 0x12, 0xe4, 0x00, 0x04, 0x13, 0x01,
    0x00, 0xff, 0x01, 0x00, 0x00, 0x92, 0x00, 0x0b, 0x00, 0x04, 0x03, 0x00, 0x01, 0x02, 0x00, 0x0a,
    0x00, 0x04, 0x00, 0x02, 0x00, 0x1d, 0x00, 0x16, 0x00, 0x00, 0x00, 0x17, 0x00, 0x00, 0x00, 0x0d,
    0x00, 0x04, 0x00, 0x02, 0x08, 0x07, 0x00, 0x2b, 0x00, 0x03, 0x02, 0x03, 0x04, 0x00, 0x2d, 0x00,
    0x02, 0x01, 0x01, 0x00, 0x33, 0x00, 0x26, 0x00, 0x24, 0x00, 0x1d, 0x00, 0x20, 0x43, 0xb4, 0x6a,
    0xe8, 0x2d, 0xec, 0xca, 0xb7, 0xa1, 0x13, 0x1b, 0x20, 0x8c, 0x25, 0x5a, 0x90, 0x11, 0x8d, 0x67,
    0x7c, 0x6f, 0xdf, 0x5c, 0x6b, 0x11, 0x4b, 0xd4, 0xad, 0x69, 0x8b, 0xfd, 0x02, 0x00, 0x29, 0x00,
    0x37, 0x00, 0x12, 0x00, 0x0c, 0x61, 0x62, 0x63, 0x31, 0x32, 0x33, 0x2f, 0x31, 0x2f, 0x32, 0x2f,
    0x31, 0x00, 0x00, 0x00, 0x00, 0x00, 0x21, 0x20, 0x9e, 0x5a, 0xd7, 0x3d, 0x68, 0x6f, 0xed, 0xdb,
    0x08, 0x00, 0x3c, 0x49, 0x71, 0xb1, 0xac, 0x88, 0x26, 0x6d, 0xa8, 0xd1, 0x4c, 0xc7, 0xd5, 0x81,
    0x97, 0xfe, 0x2f, 0x3c, 0x9b, 0x30, 0xe7, 0xfc,
};

static int find_key(void *context, const char *text, unsigned char *ret_key)
{
    struct link_identity identity;

    if (link_identity_parse(text, &identity) < 0 || strcmp(text, IDENTITY) != 0)
        return -EACCES;
    memcpy(ret_key, key, TLS_KEY_BYTES);
    return 0;
}

/* As link.c does it: no TLS before a whole ClientHello. */
static void be_server(const uint8_t *data, size_t data_bytes, size_t piece_bytes)
{
    struct tls *tls = NULL;
    struct buffer output = {0};
    struct buffer said = {0};
    struct error error;
    int rc = -EAGAIN;

    for (size_t i = 0; i < data_bytes && rc == -EAGAIN;) {
        size_t bytes = data_bytes - i < piece_bytes ? data_bytes - i : piece_bytes;
        buffer_append(&said, data + i, bytes);
        i += bytes;
        if (tls == NULL) {
            rc = tls_is_hello(said.data, said.length_bytes);
            if (rc == 0)
                rc = -EAGAIN;
            if (rc != 1)
                continue;
            tls = tls_create_server(find_key, NULL, &error);
            assert(tls != NULL);
            tls_output(tls, &output);
        }
        tls_input(tls, said.data, said.length_bytes);
        rc = tls_handshake(tls, &error);
        buffer_clear(&said);
    }
    assert(rc != 0);
    tls_destroy(tls);
    buffer_fini(&said);
    buffer_fini(&output);
}

static void be_client(const uint8_t *data, size_t data_bytes, size_t piece_bytes)
{
    struct tls *tls = tls_create_client(IDENTITY, key, NULL);
    struct buffer output = {0};
    struct error error;
    int rc;

    assert(tls != NULL);
    tls_output(tls, &output);
    rc = tls_handshake(tls, &error);
    assert(rc == -EAGAIN && output.length_bytes > 0 && output.length_bytes <= TLS_HELLO_BYTES_MAX &&
           tls_is_hello(output.data, output.length_bytes) == 1);
    for (size_t i = 0; i < data_bytes && rc == -EAGAIN;) {
        size_t bytes = data_bytes - i < piece_bytes ? data_bytes - i : piece_bytes;
        tls_input(tls, data + i, bytes);
        rc = tls_handshake(tls, &error);
        i += bytes;
    }
    assert(rc != 0);
    tls_destroy(tls);
    buffer_fini(&output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    size_t piece_bytes;

    if (data_bytes < HEAD_BYTES)
        return 0;
    piece_bytes = data[1] > 0 ? data[1] : SIZE_MAX;
    if (data[0] % 2 == 0)
        be_server(data + HEAD_BYTES, data_bytes - HEAD_BYTES, piece_bytes);
    else
        be_client(data + HEAD_BYTES, data_bytes - HEAD_BYTES, piece_bytes);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const uint8_t heads[][HEAD_BYTES] = {{0, 0}, {0, 1}, {0, 100}, {1, 0}};

    if (number >= sizeof(heads) / sizeof(heads[0]) || buffer_bytes < HEAD_BYTES + sizeof(recorded))
        return 0;
    memcpy(buffer, heads[number], HEAD_BYTES);
    memcpy(buffer + HEAD_BYTES, recorded, sizeof(recorded));
    return HEAD_BYTES + sizeof(recorded);
}
