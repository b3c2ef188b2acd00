/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked about nodes and answered, there and back (launch/proto/node_list.c, node_list_wire.c). */
#include "config.h"

#include "launch/proto/node_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "test/support/tap.h"
#include "test/support/truncated.h"

static int decode_request(struct wire_reader *reader)
{
    struct node_list_request request;
    int rc = node_list_request_decode(&request, reader);

    if (rc == 0)
        free(request.names);
    return rc;
}

static int decode_list(struct wire_reader *reader)
{
    struct node_list list;
    int rc = node_list_decode(&list, reader);

    if (rc == 0)
        node_list_fini(&list);
    return rc;
}

static void test_request(void)
{
    char names[] = "n[1-3]";
    struct node_list_request request = {.order = NODE_LIST_REMOVE,
                                        .when = NODE_LIST_WAIT,
                                        .names = names},
                             back;
    struct buffer bytes = {0};
    struct wire_reader reader;

    node_list_request_encode(&request, &bytes);
    truncated_is_refused(&bytes, decode_request, "a request");
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(node_list_request_decode(&back, &reader), 0, "a request comes back");
    is_uint(back.order, NODE_LIST_REMOVE, "its order");
    is_uint(back.when, NODE_LIST_WAIT, "and when");
    is_string(back.names, names, "its names");
    free(back.names);
    bytes.data[0] = NODE_LIST_ORDER_COUNT;
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(decode_request(&reader), -EBADMSG, "an unknown order is refused");
    bytes.data[0] = NODE_LIST_REMOVE;
    bytes.data[1] = NODE_LIST_WHEN_COUNT;
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(decode_request(&reader), -EBADMSG, "likewise another time");
    buffer_fini(&bytes);
}

/* n1 and n2 are drained and used by two jobs, n3 is up. */
static void make(struct node_list *list)
{
    struct node_list_group *group;

    node_list_init(list);
    list->version = 7;
    list->radix = 6;
    ranges_add(&list->out, 4, 5);
    (void)hostlist_parse(list->names, "n[1-3]", NULL);
    group = node_list_add(list, 2);
    *group =
        (struct node_list_group){.nodes = 2, .state = NODE_LIST_DRAINING, .slots = 4, .used = 5};
    ranges_add(&group->jobs, 3, 3);
    ranges_add(&group->jobs, 9, 9);
    node_list_add(list, 1)->slots = 4;
}

static int refused(const struct buffer *bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, bytes->data, bytes->length_bytes);
    return decode_list(&reader) == -EBADMSG;
}

static void test_list(void)
{
    struct node_list list, back;
    struct buffer bytes = {0}, again = {0};
    struct wire_reader reader;

    make(&list);
    node_list_encode(&list, &bytes);
    truncated_is_refused(&bytes, decode_list, "a list");
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(node_list_decode(&back, &reader), 0, "a list comes back");
    is_uint(back.version, 7, "its version");
    is_uint(back.radix, 6, "the radix of the tree");
    ok(ranges_equal(&back.out, &list.out), "the places that are not in it");
    is_uint(back.groups_count, 2, "its groups");
    ok(node_list_is_equal(&back.groups[0], &list.groups[0]) && back.groups[0].nodes == 2,
       "the first of them");
    ok(!node_list_is_equal(&back.groups[0], &back.groups[1]), "which is not the second");
    node_list_encode(&back, &again);
    is_bytes(again.data, again.length_bytes, bytes.data, bytes.length_bytes, "the same bytes");
    node_list_fini(&back);
    for (int kind = 0; kind < 3; kind++) {
        const struct node_list_group whole = list.groups[1];

        buffer_clear(&bytes);
        list.groups[1].state = kind == 0 ? NODE_LIST_STATE_COUNT : NODE_LIST_UP;
        list.groups[1].nodes = kind == 1 ? 0 : kind == 2 ? 2 : 1;
        node_list_encode(&list, &bytes);
        list.groups[1] = whole;
        ok(refused(&bytes), "groups that cannot be (%d) are refused", kind);
    }
    node_list_fini(&list);
    buffer_fini(&bytes);
    buffer_fini(&again);
}

static void test_refusal(void)
{
    struct node_list list, back;
    struct buffer bytes = {0};
    struct wire_reader reader;

    node_list_init(&list);
    snprintf(list.why, sizeof(list.why), "no such node: n9");
    node_list_encode(&list, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(node_list_decode(&back, &reader), 0, "a refusal comes back");
    is_string(back.why, "no such node: n9", "why");
    is_uint(back.groups_count, 0, "without nodes");
    node_list_fini(&back);
    node_list_fini(&list);
    buffer_fini(&bytes);
}

int main(void)
{
    test_request();
    test_list();
    test_refusal();
    for (int state = 0; state < NODE_LIST_STATE_COUNT; state++)
        ok(node_list_state_name((enum node_list_state)state)[0] != '\0', "state %d has a name",
           state);
    return done_testing();
}
