/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large exchanges and broadcasts over real links: seven nodes in one process, as seven daemons on
 * the loopback interface.  Lateral links join places that are no neighbours in the tree, with the
 * same handshake and proof of identity as any other.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/address.h"
#include "fabric/link_set.h"
#include "fabric/loop.h"
#include "overlay/endpoint.h"
#include "overlay/tree.h"
#include "test/support/tap.h"

#define PLACES      7
#define RADIX       2
#define MUCH_BYTES  700000u
#define PATIENCE_NS (60ull * 1000 * 1000 * 1000)

static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this test instance";

struct place {
    struct endpoint *node;
    struct link_set *links;
    struct addresses addresses;
};

static struct place places[PLACES];
static struct loop *loop;
static uint32_t told;
static uint32_t told_wanted;
static uint32_t wrong;
static bool timed_out;
static bool complete;

static void count_told(void)
{
    if (++told == told_wanted)
        loop_stop(loop);
}

static void on_complete(void *context)
{
    complete = true;
    loop_stop(loop);
}

static void on_nothing(void *context)
{
}

static void on_result(void *context, const struct operation_name *key, int status,
                      const struct ranges *lost, struct message *payload)
{
    if (status != 0 || payload == NULL || payload->length_bytes != 4 * MUCH_BYTES)
        wrong++;
    for (uint32_t i = 0; wrong == 0 && i < payload->length_bytes; i++)
        wrong += payload->data[i] != (unsigned char)(2 + i / MUCH_BYTES);
    count_told();
}

static void on_broadcast(void *context, struct message *payload)
{
    if (payload->length_bytes != MUCH_BYTES || payload->data[MUCH_BYTES - 1] != 'b')
        wrong++;
    count_told();
}

static void on_lost(void *context, const struct ranges *lost)
{
    wrong++;
}

static void on_ended(void *context, enum endpoint_end end, const struct error *why)
{
    diag("ended: %s", why->text);
    wrong++;
}

static const struct endpoint_events events = {
    .joined = on_nothing,
    .complete = on_complete,
    .broadcast = on_broadcast,
    .result = on_result,
    .lost = on_lost,
    .ended = on_ended,
};

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

static void start(uint32_t number)
{
    struct tree tree = {.places = PLACES, .radix = RADIX};
    struct place *place = &places[number];
    struct endpoint_ancestor ancestors[TREE_DEPTH_MAX];
    struct endpoint_config config = {.place = number,
                                     .places = PLACES,
                                     .radix = RADIX,
                                     .incarnation = 1,
                                     .inline_bytes = 8 * 1024,
                                     .ancestors = ancestors,
                                     .merges = merges,
                                     .merges_count = 1};
    struct link_set_config link_config = {.loop = loop,
                                          .secret = secret,
                                          .session = "0123456789abcdef",
                                          .place = number,
                                          .incarnation = 1,
                                          .events = endpoint_transport_events()};
    struct error error = ERROR_NONE;

    for (uint32_t above = number; above != 0;) {
        above = tree_parent(&tree, above);
        ancestors[config.ancestors_count].place = above;
        ancestors[config.ancestors_count++].addresses = places[above].addresses;
    }
    place->node = endpoint_create(&config, &events, place);
    link_config.context = place->node;
    address_parse("127.0.0.1", &link_config.listen_on.items[0], NULL);
    link_config.listen_on.count = 1;
    place->links = link_set_create(&link_config, &error);
    if (place->links == NULL)
        bail_out("cannot listen: %s", error.text);
    link_set_addresses(place->links, &place->addresses);
    endpoint_attach(place->node, link_set_ops(), place->links);
    endpoint_start(place->node, &place->addresses);
}

static struct message *much(int byte)
{
    struct message *message;
    struct buffer out = {0};

    memset(buffer_reserve(&out, MUCH_BYTES), byte, MUCH_BYTES);
    buffer_commit(&out, MUCH_BYTES);
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

static void on_patience(void *context)
{
    timed_out = true;
    loop_stop(loop);
}

static void run(uint32_t wanted, const char *what)
{
    struct loop_timer *patience = loop_timer_create(loop, on_patience, NULL);

    told = 0;
    told_wanted = wanted;
    loop_timer_set(patience, loop_now_ns() + PATIENCE_NS);
    loop_run(loop);
    loop_timer_destroy(patience);
    ok(!timed_out && wrong == 0, "%s", what);
}

static void exchange(uint32_t generation)
{
    struct operation_name key = {.set_id = 7, .generation = generation};
    struct ranges set = {0};

    ranges_add(&set, 2, 5);
    for (uint32_t number = 2; number <= 5; number++)
        endpoint_contribute(places[number].node, &key, &set, much((int)number));
    ranges_fini(&set);
}

int main(void)
{
    struct error error = ERROR_NONE;

    loop = loop_create(&error);
    for (uint32_t number = 0; number < PLACES; number++)
        start(number);
    run(UINT32_MAX, "seven places make a tree");
    ok(complete, "it is complete");
    exchange(1);
    run(4, "four of them exchange 2.8 MB");
    ok(link_set_count(places[2].links) > 1, "the first of them, a leaf, has %zu links",
       link_set_count(places[2].links));
    exchange(2);
    run(4, "and again");
    endpoint_broadcast(places[0].node, NULL, much('b'));
    run(PLACES, "all are told a broadcast of 0.7 MB");
    for (uint32_t number = 0; number < PLACES; number++) {
        link_set_destroy(places[number].links);
        endpoint_destroy(places[number].node);
    }
    loop_destroy(loop);
    return done_testing();
}
