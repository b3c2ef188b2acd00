/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Join tokens: the input is a file of them as somebody may hand it to a daemon, and the identity of
 * somebody at the root's door.
 */
#include "config.h"

#include "launch/start/join_token.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

#define SESSION "0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct buffer text = {0}, identity = {0};
    struct join_token token, again;
    struct error error;
    uint32_t place;

    if (join_token_find((const char *)data, data_bytes, "n2", &token, &error) == 0) {
        join_token_print(&token, &text);
        assert(join_token_parse(buffer_string(&text), text.length_bytes, &again, &error) == 0);
        assert(again.place == token.place && again.addresses.count == token.addresses.count);
        assert(memcmp(again.secret, token.secret, SECRET_BYTES) == 0);
    }
    buffer_append(&identity, data, data_bytes);
    if (join_token_identity_parse(buffer_string(&identity), SESSION, &place) == 0)
        assert(place > 0);
    buffer_fini(&text);
    buffer_fini(&identity);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct join_token token = {.session = SESSION, .place = 2};
    struct buffer text = {0};
    size_t count;

    token.addresses.count = 1;
    token.addresses.items[0] = (struct address){7, {4, 1, 2, 127, 0, 0, 1}};
    if (number > 2)
        return 0;
    if (number == 2) {
        buffer_append_string(&text, SESSION "/join/2");
    } else {
        buffer_append_string(&text, "# comment\nn1 ");
        join_token_print(&token, &text);
    }
    if (number == 1) {
        buffer_append_string(&text, "\nn2\t");
        join_token_print(&token, &text);
    }
    count = text.length_bytes;
    assert(count <= buffer_bytes);
    memcpy(buffer, text.data, count);
    buffer_fini(&text);
    return count;
}
