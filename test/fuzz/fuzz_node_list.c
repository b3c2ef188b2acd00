/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked about nodes and answered (launch/proto/node_list.h).  The first byte says which; what is taken is
 * written in a form that is taken again, and written the same.
 */
#include "config.h"

#include "launch/proto/node_list.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>

static void fuzz_request(const uint8_t *data, size_t bytes)
{
    struct node_list_request request;
    struct buffer written = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (node_list_request_decode(&request, &reader) < 0)
        return;
    node_list_request_encode(&request, &written);
    node_list_request_fini(&request);
    assert(written.length_bytes <= bytes); /* a length has longer forms, too */
    buffer_fini(&written);
}

/* Names can be written in several ways. */
static void fuzz_list(const uint8_t *data, size_t bytes)
{
    struct node_list list, back;
    struct buffer written = {0}, again = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (node_list_decode(&list, &reader) < 0)
        return;
    node_list_encode(&list, &written);
    node_list_fini(&list);
    wire_reader_init(&reader, written.data, written.length_bytes);
    assert(node_list_decode(&back, &reader) == 0);
    node_list_encode(&back, &again);
    node_list_fini(&back);
    assert(again.length_bytes == written.length_bytes);
    assert(memcmp(again.data, written.data, again.length_bytes) == 0);
    buffer_fini(&written);
    buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    if (data_bytes > 0 && fuzz_choice(data[0], 2) == 0)
        fuzz_request(data + 1, data_bytes - 1);
    else if (data_bytes > 0)
        fuzz_list(data + 1, data_bytes - 1);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    char names[] = "n[1-3],m7";
    const struct node_list_request request = {.order = NODE_LIST_DRAIN, .names = names};
    struct node_list_request added = {.order = NODE_LIST_ADD, .names = names};
    struct buffer sample = {0};
    struct node_list list;

    if (number > 2)
        return 0;
    wire_put_u8(&sample, number == 1);
    if (number == 0) {
        node_list_request_encode(&request, &sample);
    } else if (number == 2) {
        allocation_init(&added.nodes);
        (void)allocation_parse_hosts(&added.nodes, "n[4-6]:2,m8", NULL);
        node_list_request_encode(&added, &sample);
        allocation_fini(&added.nodes);
    } else {
        node_list_init(&list);
        (void)hostlist_parse(list.names, names, NULL);
        ranges_add(&node_list_add(&list, 3)->jobs, 1, 4);
        node_list_add(&list, 1)->slots = 8;
        node_list_encode(&list, &sample);
        node_list_fini(&list);
    }
    return fuzz_hand_over(&sample, buffer, buffer_bytes);
}
