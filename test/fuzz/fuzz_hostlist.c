/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostlists: what is accepted prints to a text that is read as the same names, and its slices are the
 * whole.
 */
#include "config.h"

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

enum { NAMES_CHECKED_MAX = 2000 };

static void names_are_equal(const struct hostlist *left, const struct hostlist *right)
{
    char one[HOST_NAME_BYTES_MAX + 1], other[HOST_NAME_BYTES_MAX + 1];
    uint32_t count = hostlist_count(left);

    assert(hostlist_count(right) == count);
    for (uint32_t i = 0; i < count; i += 1 + count / NAMES_CHECKED_MAX) {
        hostlist_name(left, i, one);
        hostlist_name(right, i, other);
        assert(strcmp(one, other) == 0);
    }
}

static void list_returns(const struct hostlist *list)
{
    struct hostlist *again = hostlist_create();
    struct buffer text = {0};

    hostlist_print(list, &text);
    assert(hostlist_parse(again, buffer_string(&text), NULL) == 0);
    names_are_equal(list, again);
    buffer_fini(&text);
    hostlist_destroy(again);
}

static void slices_are_whole(const struct hostlist *list)
{
    struct hostlist *joined = hostlist_create();
    uint32_t count = hostlist_count(list), half = count / 3;

    hostlist_append_slice(joined, list, 0, half);
    hostlist_append_slice(joined, list, half, count - half);
    names_are_equal(list, joined);
    hostlist_destroy(joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    char *text = memory_allocate(data_bytes + 1);
    struct hostlist *list = hostlist_create();
    struct error error = ERROR_NONE;
    int rc;

    if (data_bytes > 0)
        memcpy(text, data, data_bytes);
    text[data_bytes] = '\0';
    rc = hostlist_parse(list, text, &error);
    assert((rc < 0) == (error.text[0] != '\0'));
    if (rc < 0)
        assert(hostlist_count(list) == 0);
    list_returns(list);
    slices_are_whole(list);
    hostlist_destroy(list);
    free(text);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const samples[] = {"n[1-3,7],m[01-02]-ib",
                                          "rack[1-2]node[1-3]",
                                          "a[1-2]b[1-2]c[1-2]",
                                          "n[08-11],n[9-011]",
                                          "a1,a1,,a1 b\tc",
                                          "[1,01,001]",
                                          "n[1-",
                                          "10.0.0.[1-20]"};
    size_t bytes;

    if (number >= sizeof(samples) / sizeof(samples[0]))
        return 0;
    bytes = strlen(samples[number]);
    assert(bytes <= buffer_bytes);
    memcpy(buffer, samples[number], bytes);
    return bytes;
}
