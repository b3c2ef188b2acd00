/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What operations take on a modelled network, in virtual time: 50 us a hop, 1 ns a byte each way,
 * 5 us of CPU a message at each end.  Without arguments small instances, against the same bounds;
 *
 *     FULL=1 test/unit/overlay/overlay_cost.t [exchange|barrier|unequal|pair|broadcast]
 *
 * prints figures of large machines: 4,096 nodes, 100,000 nodes.  That takes minutes and gigabytes.
 * NODES=n: with so many.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "overlay/tree.h"
#include "test/support/cluster.h"
#include "test/support/tap.h"

#define US     1000ull
#define MS     1000000ull
#define HOP_NS (50 * US)
#define CPU_NS (5 * US)

struct cost {
    struct cluster *cluster;
    uint32_t places;
    uint32_t radix;
    bool complete;
    struct ranges set; /* of the present operation */
    uint32_t generation;
    uint64_t contribution_bytes;
    uint32_t rich; /* the one place that contributes everything, or TREE_NO_PLACE: each alike */
    uint64_t told;
    uint64_t wrong;
    uint64_t expected_bytes;
    uint64_t last_ns;
};

/* ---- contributions ---- */

/* A digest of what was merged, before it or instead of it. */
struct digest {
    uint64_t bytes;
    uint64_t sum;
};

#define KEEP_BYTES (256u * 1024)

static struct digest digest_of(const void *data, size_t bytes)
{
    struct digest digest;
    const unsigned char *at = data;

    memcpy(&digest, at, sizeof(digest));
    for (size_t i = sizeof(digest); i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, at + i, sizeof(word));
        digest.bytes += sizeof(word);
        digest.sum += word;
    }
    return digest;
}

/* Up to a size the bytes are kept, as a hop must; above it, at the receivers, only their digest: a
 * simulation of thousands of places need not hold the result as often. */
static void merge_digest(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct digest mine;
    struct digest theirs;

    if (merged->length_bytes + other_bytes <= KEEP_BYTES) {
        memcpy(&mine, merged->data, sizeof(mine));
        memcpy(&theirs, other, sizeof(theirs));
        mine.bytes += theirs.bytes;
        mine.sum += theirs.sum;
        memcpy(merged->data, &mine, sizeof(mine));
        buffer_append(merged, (const unsigned char *)other + sizeof(theirs),
                      other_bytes - sizeof(theirs));
        return;
    }
    mine = digest_of(merged->data, merged->length_bytes);
    theirs = digest_of(other, other_bytes);
    mine.bytes += theirs.bytes;
    mine.sum += theirs.sum;
    buffer_clear(merged);
    buffer_append(merged, &mine, sizeof(mine));
}

static endpoint_merge_function *const merges[] = {merge_digest};

static uint64_t bytes_of(const struct cost *cost, uint32_t place)
{
    return cost->rich == TREE_NO_PLACE || cost->rich == place ? cost->contribution_bytes : 0;
}

static struct message *contribution(const struct cost *cost, uint32_t place)
{
    uint64_t words = bytes_of(cost, place) / sizeof(uint64_t);
    struct buffer out = {0};
    struct digest digest = {0, 0};
    struct message *message;

    if (words == 0)
        return NULL;
    buffer_append(&out, &digest, sizeof(digest));
    for (uint64_t i = 2; i < words; i++) {
        uint64_t word = hash_mix(((uint64_t)place << 32) + i);

        buffer_append(&out, &word, sizeof(word));
    }
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

/* ---- what is told ---- */

static void on_complete(struct cluster *cluster)
{
    ((struct cost *)cluster->config.context)->complete = true;
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct cost *cost = cluster->config.context;
    struct digest digest = {0, 0};

    (void)place;
    (void)key;
    (void)lost;
    if (payload != NULL)
        digest = digest_of(payload->data, payload->length_bytes);
    if (status != 0 || digest.bytes != cost->expected_bytes)
        cost->wrong++;
    cost->told++;
    cost->last_ns = virtual_network_now_ns(cluster->sim);
}

static void on_broadcast(struct cluster *cluster, uint32_t place, struct message *payload)
{
    struct cost *cost = cluster->config.context;

    (void)place;
    if (payload->length_bytes != cost->expected_bytes)
        cost->wrong++;
    cost->told++;
    cost->last_ns = virtual_network_now_ns(cluster->sim);
}

static const struct cluster_events events = {.complete = on_complete,
                                             .result = on_result,
                                             .broadcast = on_broadcast};

/* ---- the instance ---- */

static void call_start(void *context, uint64_t place)
{
    cluster_start(context, (uint32_t)place);
}

static void cost_open_trees(struct cost *cost, uint32_t nodes, uint32_t radix,
                            enum endpoint_trees trees)
{
    struct cluster_config config = {.radix = radix,
                                    .trees = (uint8_t)trees,
                                    .merges = merges,
                                    .merges_count = 1,
                                    .events = &events,
                                    .context = cost,
                                    .inline_bytes = 64 * 1024};

    memset(cost, 0, sizeof(*cost));
    cost->places = nodes + 1;
    cost->radix = radix;
    config.sim = (struct virtual_network_config){.places = nodes + 1,
                                                 .seed = 1,
                                                 .latency_ns = HOP_NS,
                                                 .network = {.send_byte_ps = 1000,
                                                             .receive_byte_ps = 1000,
                                                             .cpu_send_ns = CPU_NS,
                                                             .cpu_receive_ns = CPU_NS}};
    cost->cluster = cluster_create(&config);
    for (uint32_t place = 0; place <= nodes; place++)
        virtual_network_at(cost->cluster->sim, 0, call_start, cost->cluster, place);
    while (!cost->complete)
        virtual_network_run_until(cost->cluster->sim,
                                  virtual_network_now_ns(cost->cluster->sim) + 10 * MS);
    /* Past the noise of the start. */
    virtual_network_run_until(cost->cluster->sim,
                              virtual_network_now_ns(cost->cluster->sim) + 200 * MS);
}

static void cost_open(struct cost *cost, uint32_t nodes, uint32_t radix)
{
    cost_open_trees(cost, nodes, radix, ENDPOINT_TREES_CHEAPEST);
}

static void cost_close(struct cost *cost)
{
    ranges_fini(&cost->set);
    cluster_destroy(cost->cluster);
}

/* Runs until all have been told; ns since the start, 0 if it never ends. */
static uint64_t run(struct cost *cost, uint64_t told)
{
    struct virtual_network *sim = cost->cluster->sim;
    uint64_t start_ns = virtual_network_now_ns(sim);

    while (cost->told < told && virtual_network_now_ns(sim) < start_ns + 20000 * MS)
        virtual_network_run_until(sim, virtual_network_now_ns(sim) + MS);
    if (cost->told < told || cost->wrong > 0)
        return 0;
    virtual_network_run_until(sim,
                              virtual_network_now_ns(sim) + 50 * MS); /* what follows the result */
    return cost->last_ns - start_ns;
}

/* One operation of the set; every member calls now. */
static uint64_t exchange(struct cost *cost, uint64_t bytes, uint32_t rich)
{
    struct operation_name key = {.set_id = 7, .generation = ++cost->generation};
    uint32_t members = (uint32_t)ranges_count(&cost->set);

    cost->contribution_bytes = bytes;
    cost->rich = rich;
    cost->told = 0;
    cost->expected_bytes = 0;
    if (bytes > 0)
        cost->expected_bytes =
            (bytes - sizeof(struct digest)) * (rich == TREE_NO_PLACE ? members : 1);
    for (uint32_t place = 0; ranges_next(&cost->set, place, &place); place++)
        endpoint_contribute(cost->cluster->places[place].node, &key, &cost->set,
                            contribution(cost, place));
    return run(cost, members);
}

static void use_set(struct cost *cost, uint32_t first, uint32_t last)
{
    ranges_clear(&cost->set);
    ranges_add(&cost->set, first, last);
}

static bool is_within(uint64_t took_ns, uint64_t bound_ns, const char *what)
{
    return ok(took_ns > 0 && took_ns <= bound_ns, "%s: %.3f ms, at most %.3f", what,
              (double)took_ns / 1e6, (double)bound_ns / 1e6);
}

/* Up, a hop takes in radix messages and sends one; down, it takes in one and sends radix: of each
 * message the CPU counts at both ends, and no two of these overlap, since siblings call at the same
 * time and reach their parent at the same time: its last child's message is taken in when radix - 1
 * others have been, the one up is sent after that, and down the last child's is sent when radix - 1
 * others have been.  The shorter 2 x depth x (hop + radix x CPU) leaves out, each way, the one at the
 * other end of the hop; no tree of this depth can meet it whose places have radix children.  Where
 * the last ranges are a place shorter than others, their part overlaps: 0.790 ms of 0.810 at 4,096
 * (0.780 by the shorter formula), 1.330 of 1.350 at 1,048,576 (1.300). */
static uint64_t round_trip_ns(uint32_t places, uint32_t radix)
{
    struct tree tree = {.places = places, .radix = radix};

    return 2ull * tree_depth(&tree) * (HOP_NS + (radix + 1) * CPU_NS);
}

static uint32_t nodes_of(uint32_t fallback)
{
    return getenv("NODES") != NULL ? (uint32_t)strtoul(getenv("NODES"), NULL, 10) : fallback;
}

static struct message *noise(uint64_t bytes)
{
    struct message *message;
    struct buffer out = {0};

    memset(buffer_reserve(&out, bytes), 'b', bytes);
    buffer_commit(&out, bytes);
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

/* ---- scenarios ---- */

static void test_exchange(uint32_t nodes, uint64_t bound_ns)
{
    struct cost cost;

    cost_open(&cost, nodes, TREE_RADIX_DEFAULT);
    use_set(&cost, 1, nodes);
    diag("%u nodes, 8 KiB each: the bytes alone take %.1f ms", nodes, (double)nodes * 8192 / 1e6);
    is_within(exchange(&cost, 8192, TREE_NO_PLACE), bound_ns, "exchange, cold");
    is_within(exchange(&cost, 8192, TREE_NO_PLACE), bound_ns, "exchange, lateral links warm");
    cost_close(&cost);
}

static uint32_t lateral_links(const struct cost *cost)
{
    uint32_t count = 0;

    for (uint32_t place = 0; place < cost->places; place++)
        count += endpoint_lateral_links(cost->cluster->places[place].node);
    return count;
}

static void pass_time(struct cost *cost, uint64_t ns)
{
    virtual_network_run_until(cost->cluster->sim, virtual_network_now_ns(cost->cluster->sim) + ns);
}

/* The links of a series are opened once, and closed when it is forgotten. */
static void test_kept(uint32_t nodes)
{
    struct cost cost;
    uint64_t cold_ns;
    uint64_t warm_ns;
    uint32_t links;

    cost_open(&cost, nodes, TREE_RADIX_DEFAULT);
    use_set(&cost, 1, nodes);
    cold_ns = exchange(&cost, 8192, TREE_NO_PLACE);
    warm_ns = exchange(&cost, 8192, TREE_NO_PLACE);
    links = lateral_links(&cost);
    pass_time(&cost, 60000 * MS);
    is_uint(lateral_links(&cost), links, "lateral links are there after a minute without use");
    is_within(exchange(&cost, 8192, TREE_NO_PLACE), warm_ns, "an exchange finds them as at first");
    is_within(warm_ns, cold_ns - 200 * US, "and is faster by their opening");
    pass_time(&cost, 5000 * MS);
    endpoint_forget(cost.cluster->places[0].node, 0, &cost.set);
    pass_time(&cost, 2000 * MS);
    is_uint(lateral_links(&cost), links, "when it is forgotten they are there for the next");
    pass_time(&cost, 5000 * MS);
    is_uint(lateral_links(&cost), 0, "until they have been without use for 10 s");
    cost_close(&cost);
}

static void test_unequal(uint32_t nodes, uint64_t bytes, uint64_t bound_ns)
{
    struct cost cost;

    cost_open(&cost, nodes, TREE_RADIX_DEFAULT);
    use_set(&cost, 1, nodes);
    is_within(exchange(&cost, bytes, nodes / 3), bound_ns, "one has it all, cold");
    is_within(exchange(&cost, bytes, nodes / 3), bound_ns, "one has it all, warm");
    is_within(exchange(&cost, bytes, nodes), bound_ns, "and the last");
    cost_close(&cost);
}

static void test_barrier(uint32_t nodes, uint64_t bound_ns)
{
    uint64_t round_ns = round_trip_ns(nodes + 1, TREE_RADIX_DEFAULT);
    struct cost cost;

    cost_open(&cost, nodes, TREE_RADIX_DEFAULT);
    use_set(&cost, 1, nodes);
    is_within(exchange(&cost, 0, TREE_NO_PLACE), bound_ns < round_ns ? bound_ns : round_ns,
              "barrier");
    cost_close(&cost);
}

/* Warm: the links of the first one are there. */
static void test_broadcast(uint32_t nodes, uint64_t bytes, uint64_t cold_ns, uint64_t warm_ns)
{
    static const char *const names[] = {"broadcast, cold", "broadcast, lateral links warm"};
    struct cost cost;

    cost_open(&cost, nodes, TREE_RADIX_DEFAULT);
    diag("%u nodes, %.1f MiB: the bytes alone take %.1f ms", nodes, (double)bytes / 1048576,
         (double)bytes / 1e6);
    cost.expected_bytes = bytes;
    for (int i = 0; i < 2; i++) {
        cost.told = 0;
        endpoint_broadcast(cost.cluster->places[0].node, NULL, noise(bytes));
        is_within(run(&cost, cost.places), i == 0 ? cold_ns : warm_ns, names[i]);
    }
    cost_close(&cost);
}

/* Of so many bytes, over these trees: how many lateral links that takes.  All of it must arrive. */
static uint32_t links_taken(enum endpoint_trees trees, uint64_t exchange_bytes,
                            uint64_t broadcast_bytes)
{
    enum { NODES = 128 };
    struct cost cost;
    uint32_t links;

    cost_open_trees(&cost, NODES, TREE_RADIX_DEFAULT, trees);
    use_set(&cost, 1, NODES);
    if (exchange_bytes > 0) {
        ok(exchange(&cost, exchange_bytes, TREE_NO_PLACE) > 0,
           "trees %d: all have %llu bytes of each", (int)trees, (unsigned long long)exchange_bytes);
    } else {
        cost.told = 0;
        cost.expected_bytes = broadcast_bytes;
        endpoint_broadcast(cost.cluster->places[0].node, NULL, noise(broadcast_bytes));
        ok(run(&cost, cost.places) > 0, "trees %d: all have the %llu bytes of a broadcast",
           (int)trees, (unsigned long long)broadcast_bytes);
    }
    links = lateral_links(&cost);
    cost_close(&cost);
    return links;
}

/* What is cheaper over one tree, and what over two, either way. */
static void test_trees(void)
{
    const uint64_t little = 600, much = 64 * 1024, broadcast = 1024 * 1024;

    is_uint(links_taken(ENDPOINT_TREES_CHEAPEST, little, 0), 0, "one tree is cheaper");
    ok(links_taken(ENDPOINT_TREES_TWO, little, 0) > 0, "two are used all the same");
    ok(links_taken(ENDPOINT_TREES_CHEAPEST, much, 0) > 0, "two trees are cheaper");
    is_uint(links_taken(ENDPOINT_TREES_ONE, much, 0), 0, "one is used all the same");
    is_uint(links_taken(ENDPOINT_TREES_CHEAPEST, 0, much), 0,
            "one tree is cheaper for a broadcast");
    ok(links_taken(ENDPOINT_TREES_TWO, 0, much) > 0, "two are used all the same");
    ok(links_taken(ENDPOINT_TREES_CHEAPEST, 0, broadcast) > 0, "two are cheaper for a larger one");
    is_uint(links_taken(ENDPOINT_TREES_ONE, 0, broadcast), 0, "one is used all the same");
}

static uint64_t pair_ns(uint32_t nodes, uint32_t first, uint32_t last)
{
    struct cost cost;
    uint64_t took_ns;

    cost_open(&cost, nodes, TREE_RADIX_DEFAULT);
    ranges_add(&cost.set, first, first);
    ranges_add(&cost.set, last, last);
    took_ns = exchange(&cost, 64, TREE_NO_PLACE);
    cost_close(&cost);
    return took_ns;
}

/* Place 2 is the first child of place 1 wherever there are enough of them. */
static void test_pair(uint32_t nodes)
{
    struct tree tree = {.places = nodes + 1, .radix = TREE_RADIX_DEFAULT};
    uint64_t small_ns = pair_ns(40, 1, 2);

    is_uint(tree_parent(&tree, 2), 1, "of %u nodes, 2 is a child of 1", nodes);
    is_within(pair_ns(nodes, 1, 2), small_ns, "a parent and its child, as in a small instance");
    is_within(pair_ns(nodes, tree_cut(&tree, (struct range){0, nodes}, 0).last, nodes),
              4ull * tree_depth(&tree) * (HOP_NS + 2 * CPU_NS), "the pair farthest apart");
}

/* Every second place: a set that takes more than 4 KiB goes up once per link. */
static void test_long_set(uint32_t nodes)
{
    struct cost cost;
    uint64_t first_ns;

    cost_open(&cost, nodes, TREE_RADIX_DEFAULT);
    for (uint32_t place = 1; place <= nodes; place += 2)
        ranges_add(&cost.set, place, place);
    first_ns = exchange(&cost, 0, TREE_NO_PLACE);
    is_within(exchange(&cost, 0, TREE_NO_PLACE), first_ns - 50 * US,
              "a barrier of a long set, the second time");
    cost_close(&cost);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    bool full = getenv("FULL") != NULL;

    if (only == NULL || strcmp(only, "exchange") == 0)
        test_exchange(nodes_of(full ? 4096 : 128), full ? 75 * MS : 8 * MS);
    if (only == NULL || strcmp(only, "kept") == 0)
        test_kept(nodes_of(full ? 4096 : 128));
    if (only == NULL || strcmp(only, "unequal") == 0)
        test_unequal(nodes_of(full ? 4096 : 256), 8 * 1024 * 1024, 30 * MS);
    if (only == NULL || strcmp(only, "barrier") == 0)
        test_barrier(nodes_of(full ? 4096 : 1000), MS);
    if (only == NULL || strcmp(only, "broadcast") == 0)
        test_broadcast(nodes_of(full ? 100000 : 1000), 1048576, 8 * MS, 4 * MS);
    if (only == NULL || strcmp(only, "trees") == 0)
        test_trees();
    if (only == NULL || strcmp(only, "set") == 0)
        test_long_set(nodes_of(6000));
    if (only == NULL || strcmp(only, "pair") == 0)
        test_pair(nodes_of(full ? 100000 : 2000));
    return done_testing();
}
