/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first message of a PMIx client, as the daemon reads it before libpmix does.
 */
#include "config.h"

#include "pmix/hello.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct hello hello;
    size_t bytes;

    if (data_bytes >= HELLO_HEADER_BYTES && hello_length(data, &bytes) == 0)
        assert(bytes >= HELLO_HEADER_BYTES && bytes <= HELLO_BYTES_MAX);
    if (hello_read(data, data_bytes, &hello) == 0 && hello.is_client)
        assert(strlen(hello.namespace) < data_bytes);
    return 0;
}

/* A client's, then a tool's. */
size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char body[] = "native\0\0\0\0\10credenti\0space\0\0\0\0\7"
                               "4.2.2\0v41\0\1hash";
    static const char tool[] = "native\0\0\0\0\0\3\0\0\0\0\0\0\0\0"
                               "4.2.2\0v41\0\1hash";
    const char *text = number == 0 ? body : tool;
    uint32_t text_bytes = number == 0 ? sizeof(body) : sizeof(tool);
    struct hello hello;

    if (number > 1)
        return 0;
    assert(HELLO_HEADER_BYTES + text_bytes <= buffer_bytes);
    memset(buffer, 0, HELLO_HEADER_BYTES);
    memcpy(buffer + 8, &text_bytes, sizeof(text_bytes));
    memcpy(buffer + HELLO_HEADER_BYTES, text, text_bytes);
    assert(hello_read(buffer, HELLO_HEADER_BYTES + text_bytes, &hello) == 0);
    assert(hello.is_client == (number == 0));
    assert(number > 0 || (strcmp(hello.namespace, "space") == 0 && hello.rank == 7));
    return HELLO_HEADER_BYTES + text_bytes;
}
