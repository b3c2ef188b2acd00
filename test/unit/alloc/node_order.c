/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/node_order.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc/allocation.h"
#include "base/random.h"
#include "test/support/tap.h"

#define NODES 200u

static void shuffle(struct random_state *random, uint32_t *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = i;
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)random_below(random, i);
        uint32_t kept = nodes[i - 1];

        nodes[i - 1] = nodes[other];
        nodes[other] = kept;
    }
}

static void test_none(void)
{
    static const uint32_t same[] = {0, 1, 2};
    struct ranges places = {0}, there = {0};

    ok(node_order_create(same, 3) == NULL, "an order that moves nothing is none");
    ok(node_order_create(same, 0) == NULL, "nor is one of no nodes");
    is_uint(node_order_node(NULL, 7), 7, "without an order a position is a node");
    is_uint(node_order_tree_place(NULL, 7), 7, "and a place is a place");
    ranges_add(&places, 2, 5);
    node_order_tree_places(NULL, &places, &there);
    ok(ranges_equal(&places, &there), "and a set is itself");
    ranges_fini(&places);
    ranges_fini(&there);
}

/* Positions:  0  1  2  3  4
 * nodes:      3  4  0  2  1 */
static void test_small(void)
{
    static const uint32_t nodes[] = {3, 4, 0, 2, 1};
    struct node_order *order = node_order_create(nodes, 5);
    struct ranges places = {0}, there = {0};
    struct buffer text = {0};
    uint32_t neighbours;

    is_uint(node_order_node(order, 1), 4, "which node has a position");
    is_uint(node_order_position(order, 1), 4, "which position has a node");
    is_uint(node_order_stretch(order, 0, &neighbours), 3, "neighbours");
    is_uint(neighbours, 2, "that stay so");
    is_uint(node_order_listed_place(order, 0), 0, "the root is the root");
    is_uint(node_order_listed_place(order, 3), 1, "places of nodes are one more");
    is_uint(node_order_tree_place(order, 1), 3, "both ways");
    is_uint(node_order_tree_place(order, 9), 9, "a node that was added has its own number");
    ranges_add(&places, 0, 2);
    ranges_add(&places, 5, 7);
    node_order_tree_places(order, &places, &there);
    ranges_print(&there, &text);
    is_string(buffer_string(&text), "0,2-3,5-7", "a set as the tree sees it");
    node_order_listed_places(order, &there, &places);
    buffer_clear(&text);
    ranges_print(&places, &text);
    is_string(buffer_string(&text), "0-2,5-7", "and back");
    ranges_fini(&places);
    ranges_fini(&there);
    buffer_fini(&text);
    node_order_destroy(order);
}

static void test_random(void)
{
    struct random_state random;
    uint32_t nodes[NODES], wrong = 0, wrong_sets = 0;

    random_init(&random, 7);
    for (uint32_t round = 0; round < 50; round++) {
        struct ranges places = {0}, there = {0}, back = {0};
        struct node_order *order;

        shuffle(&random, nodes, NODES);
        order = node_order_create(nodes, NODES);
        for (uint32_t i = 0; i < NODES; i++)
            wrong +=
                node_order_node(order, i) != nodes[i] || node_order_position(order, nodes[i]) != i;
        for (uint32_t i = 0; i < round * 4; i++) {
            uint32_t place = (uint32_t)random_below(&random, NODES + 1);

            ranges_add(&places, place, place);
        }
        node_order_tree_places(order, &places, &there);
        node_order_listed_places(order, &there, &back);
        wrong_sets += !ranges_equal(&places, &back);
        for (uint32_t place = 0; place <= NODES; place++)
            wrong_sets += ranges_contains(&places, place) !=
                          ranges_contains(&there, node_order_tree_place(order, place));
        ranges_fini(&places);
        ranges_fini(&there);
        ranges_fini(&back);
        node_order_destroy(order);
    }
    is_uint(wrong, 0, "random orders are permutations, both ways");
    is_uint(wrong_sets, 0, "and sets have the same members on both sides");
}

static void test_slice(void)
{
    static const uint32_t nodes[] = {3, 4, 0, 2, 1};
    struct node_order *order = node_order_create(nodes, 5), *decoded;
    struct node_order *slice = node_order_slice(order, 1, 3);
    struct node_order *beyond = node_order_slice(order, 5, 1);
    struct wire_reader reader;
    struct buffer text = {0};

    is_uint(node_order_count(slice), 3, "a slice");
    is_uint(node_order_node(slice, 3), 2, "has the numbers of the whole");
    is_uint(node_order_position(slice, 4), 1, "both ways");
    is_uint(node_order_node(beyond, 5), 5, "a slice of nodes that were added");
    node_order_encode(slice, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    is_int(node_order_decode(&reader, 1, 3, 0, &decoded), 0, "it is decoded");
    is_uint(node_order_node(decoded, 1), 4, "and the same");
    wire_reader_init(&reader, text.data, text.length_bytes);
    node_order_destroy(decoded);
    is_int(node_order_decode(&reader, 0, 3, 1, &decoded), -EBADMSG, "a slice is no whole order");
    wire_reader_init(&reader, text.data, text.length_bytes);
    is_int(node_order_decode(&reader, 0, 4, 0, &decoded), -EBADMSG, "nor longer than it is");
    buffer_fini(&text);
    node_order_destroy(beyond);
    node_order_destroy(slice);
    node_order_destroy(order);
}

static void is_refused(const char *bytes, size_t length, const char *name)
{
    struct node_order *decoded = NULL;
    struct wire_reader reader;

    wire_reader_init(&reader, bytes, length);
    is_int(node_order_decode(&reader, 0, 3, 1, &decoded), -EBADMSG, "%s", name);
    ok(decoded == NULL, "%s: nothing comes of it", name);
}

static void test_refused(void)
{
    is_refused("\3\0\1\0\1\1\1", 7, "a node with two positions");
    is_refused("\2\1\2\3\1", 5, "a node that there is not");
    is_refused("\2\1\2\0\0", 5, "a stretch of nothing");
    is_refused("\2\0\1\1\2", 5, "neighbours as two stretches");
    is_refused("\2\2\1", 3, "an end that is missing");
}

/* The roster carries it. */
static void test_allocation(void)
{
    static const uint32_t nodes[] = {2, 0, 1};
    struct allocation allocation, copy;
    struct wire_reader reader;
    struct hostlist *names;
    struct buffer text = {0};

    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 3, 1);
    allocation.order = node_order_create(nodes, 3);
    allocation_generate(&allocation, "m", 1, 1);
    allocation_encode(&allocation, &text);
    wire_reader_init(&reader, text.data, text.length_bytes);
    is_int(allocation_decode(&copy, &reader), 0, "an allocation with an order is decoded");
    names = allocation_tree_names(&copy);
    buffer_clear(&text);
    hostlist_print(names, &text);
    is_string(buffer_string(&text), "n[3,1-2],m1", "names as the tree has them, added ones last");
    buffer_clear(&text);
    hostlist_print(copy.names, &text);
    is_string(buffer_string(&text), "n[1-3],m1", "and as the allocation has them");
    hostlist_destroy(names);
    buffer_fini(&text);
    allocation_fini(&copy);
    allocation_fini(&allocation);
}

int main(void)
{
    test_none();
    test_small();
    test_random();
    test_slice();
    test_refused();
    test_allocation();
    return done_testing();
}
