/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who goes where, by hand: counts and ranks, messages, the wire; that the parts of all nodes are the
 * whole in random cases (PLACE_CASES of them); and one large machine.  That it is also right is what
 * test/system/placement.sh says, by another program.
 */
#include "config.h"

#include "alloc/placement_map.h"
#include "test/support/place_case.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_local.h"
#include "base/random.h"

#define CASES 20000

/* ---- The parts and the whole ---- */

/* Each process is on one node, is found there, and has a binding; sums agree. */
static int parts_are_whole(const struct placement_map *map)
{
    uint8_t *seen = memory_allocate_zeroed(map->processes);
    struct ranges places = {0};
    uint64_t hash = 0;
    uint32_t placed = 0;
    int held = 1;

    placement_map_places(map, &places);
    for (uint32_t node = 0; node < map->nodes; node++) {
        uint32_t count = placement_map_count(map, node), last = 0;

        held = held && ranges_contains(&places, node + 1) == (count > 0);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t rank = placement_map_rank(map, node, i), found, index;

            held = held && rank < map->processes && !seen[rank] && (i == 0 || rank > last);
            if (!held)
                break;
            seen[rank] = 1;
            last = rank;
            placement_map_find(map, rank, &found, &index);
            held = found == node && index == i;
        }
        placed += count;
        hash += placement_map_hash_node(map, node);
    }
    held = held && placed == map->processes && hash == placement_map_hash_total(map);
    ranges_fini(&places);
    free(seen);
    return held;
}

/* What went over the wire makes the same map. */
static int wire_agrees(const struct placement *placement, const struct allocation *allocation,
                       const struct placement_map *map)
{
    struct placement copy;
    struct placement_map again;
    int held;

    placement_copy(&copy, placement);
    held = placement_map_make(&again, &copy, allocation, NULL) == 0 &&
           placement_map_hash_total(&again) == placement_map_hash_total(map);
    if (held)
        placement_map_fini(&again);
    placement_fini(&copy);
    return held;
}

static void test_random(void)
{
    const char *wanted = getenv("PLACE_CASES");
    uint64_t cases = wanted != NULL ? strtoull(wanted, NULL, 10) : CASES;
    uint64_t placed = 0, seated = 0;
    struct random_state random;
    int held = 1;

    random_init(&random, 5);
    for (uint64_t i = 0; held && i < cases; i++) {
        struct place_case c;
        struct placement_map map;
        struct error error = ERROR_NONE;

        place_case_make(&c, &random);
        if (placement_map_make(&map, &c.placement, &c.allocation, &error) == 0) {
            if (placement_map_check(&map, &c.allocation, &error) == 0) {
                held = parts_are_whole(&map) &&
                       (i % 64 > 0 || wire_agrees(&c.placement, &c.allocation, &map));
                placed++;
                seated += map.has_topology;
            }
            placement_map_fini(&map);
        }
        held = held && (error.code == 0 || error.text[0] != '\0');
        if (!held)
            diag("case %llu", (unsigned long long)i);
        place_case_fini(&c);
    }
    ok(held, "in %llu random cases the parts are the whole", (unsigned long long)cases);
    ok(placed > cases / 3 && seated > cases / 8, "%llu were placed, %llu of them on cores",
       (unsigned long long)placed, (unsigned long long)seated);
}

/* ---- By hand ---- */

static void map_print(const struct placement_map *map, struct buffer *out)
{
    for (uint32_t node = 0; node < map->nodes; node++) {
        buffer_append_string(out, node > 0 ? " |" : "");
        for (uint32_t i = 0; i < placement_map_count(map, node); i++)
            buffer_printf(out, "%s%u", out->length_bytes > 0 ? " " : "",
                          placement_map_rank(map, node, i));
    }
}

static void map_case(const char *hosts, struct placement_rule rule, const char *expected)
{
    struct placement placement = {.rules = &rule, .rules_count = 1};
    struct allocation allocation;
    struct placement_map map;
    struct error error = ERROR_NONE;
    struct buffer text = {0}, words = {0};

    placement_rule_print(&rule, &words);
    allocation_init(&allocation);
    if (allocation_parse_hosts(&allocation, hosts, &error) == 0 &&
        placement_map_make(&map, &placement, &allocation, &error) == 0) {
        map_print(&map, &text);
        placement_map_fini(&map);
    }
    is_string(error.code < 0 ? error.text : buffer_string(&text), expected, "%s of %u on %s",
              buffer_string(&words), rule.processes, hosts);
    allocation_fini(&allocation);
    buffer_fini(&text);
    buffer_fini(&words);
}

/* The hash goes over the wire: it must never change. */
static void test_hash(void)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_NODE};
    struct placement placement = {.rules = &rule, .rules_count = 1};
    struct allocation allocation;
    struct placement_map map;

    allocation_init(&allocation);
    allocation_parse_hosts(&allocation, "a:2,b:3", NULL);
    if (placement_map_make(&map, &placement, &allocation, NULL) == 0) {
        is_uint(placement_map_hash_total(&map), 12854085935803379725u, "the hash of a small map");
        placement_map_fini(&map);
    }
    allocation_fini(&allocation);
}

static void test_by_hand(void)
{
    map_case("a:2,b:3", (struct placement_rule){.policy = PLACEMENT_BY_SLOT}, "0 1 | 2 3 4");
    map_case("a:2,b:3", (struct placement_rule){.policy = PLACEMENT_BY_SLOT, .processes = 3},
             "0 1 | 2");
    map_case(
        "a:2,b:0,c:3",
        (struct placement_rule){.policy = PLACEMENT_BY_SLOT, .processes = 8, .oversubscribe = 1},
        "0 1 2 3 | | 4 5 6 7");
    map_case("a:2,b:3", (struct placement_rule){.policy = PLACEMENT_BY_NODE}, "0 2 | 1 3 4");
    map_case(
        "a:2,b:3",
        (struct placement_rule){.policy = PLACEMENT_BY_NODE, .rank_by = PLACEMENT_RANK_BY_SLOT},
        "0 1 | 2 3 4");
    map_case(
        "a:2,b:3",
        (struct placement_rule){.policy = PLACEMENT_BY_SLOT, .rank_by = PLACEMENT_RANK_BY_NODE},
        "0 2 | 1 3 4");
    map_case(
        "a:1,b:0,c:2",
        (struct placement_rule){.policy = PLACEMENT_BY_NODE, .processes = 6, .oversubscribe = 1},
        "0 2 4 | | 1 3 5");
    map_case("a:2,b:3", (struct placement_rule){.per = 2}, "0 1 | 2 3");
    map_case("a:2,b:3", (struct placement_rule){.policy = PLACEMENT_PER_OBJECT, .per = 2},
             "0 1 | 2 3");
    map_case("a:2,b:3", (struct placement_rule){.policy = PLACEMENT_BY_NODE, .per = 2},
             "0 2 | 1 3");
    map_case("a:2,b:0,c:3", (struct placement_rule){.per = 2, .processes = 3}, "0 1 | | 2");
    map_case("a,b", (struct placement_rule){.per = 2, .oversubscribe = 1}, "0 1 | 2 3");
}

/* ---- Messages ---- */

static void make_error(struct placement_rule rule, const char *origin, const char *expected)
{
    struct placement placement = {.rules = &rule, .rules_count = 1};
    struct allocation allocation;
    struct placement_map map;
    struct error error = ERROR_NONE;
    struct buffer words = {0};

    placement_rule_print(&rule, &words);
    allocation_init(&allocation);
    allocation_generate(&allocation, "v", 3, 4);
    allocation_generate(&allocation, "w", 1, 3);
    snprintf(allocation.origin, sizeof(allocation.origin), "%s", origin);
    if (placement_map_make(&map, &placement, &allocation, &error) == 0)
        placement_map_fini(&map);
    is_string(error.text, expected, "message of %s", buffer_string(&words));
    allocation_fini(&allocation);
    buffer_fini(&words);
}

static void test_messages(void)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT};
    struct placement placement = {.rules = &rule, .rules_count = 1};
    struct allocation allocation;
    struct placement_map map;
    struct error error = ERROR_NONE;

    make_error((struct placement_rule){.policy = PLACEMENT_BY_SLOT, .processes = 64},
               "--virtual-nodes",
               "64 processes requested, but there are 15 slots on 4 nodes (from "
               "--virtual-nodes); use -n 15 or fewer, or --oversubscribe");
    make_error((struct placement_rule){.policy = PLACEMENT_BY_NODE, .processes = 16}, "",
               "16 processes requested, but there are 15 slots on 4 nodes; use -n 15 or "
               "fewer, or --oversubscribe");
    make_error(
        (struct placement_rule){.per = 4}, "host file h",
        "4 processes requested on each node, but w1 has 3 slots (from host file h); use --per-node 3 or fewer, or --oversubscribe");
    make_error((struct placement_rule){.per = 2, .processes = 10}, "--host",
               "10 processes requested, 2 on each node, but there are 15 slots on 4 nodes "
               "(from --host); use -n 8 or fewer, or --per-node 3");
    make_error(
        (struct placement_rule){.processes = PLACEMENT_PROCESSES_MAX + 1, .oversubscribe = 1}, "",
        "268435457 processes are more than 268435456");
    make_error((struct placement_rule){.per = UINT32_MAX}, "",
               "17179869180 processes are more than 268435456");
    make_error((struct placement_rule){.policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_NUMA}, "",
               "the topology of node v1 is not known");

    allocation_init(&allocation);
    is_int(placement_map_make(&map, &placement, &allocation, &error), -ENOSPC, "no nodes");
    is_string(error.text, "no process fits: there are 0 slots on 0 nodes", "are said");
    allocation_add(&allocation, "a", 1);
    rule.processes = 2;
    is_int(placement_map_make(&map, &placement, &allocation, &error), -ENOSPC, "too few slots");
    is_string(error.text,
              "2 processes requested, but there is 1 slot on 1 node; use -n 1 or fewer, or "
              "--oversubscribe",
              "one slot is one");
    allocation_fini(&allocation);
}

/* ---- Words and wire ---- */

static void words_are(const char *words, const char *expected)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT};
    struct placement_extra extra = {.no_local = 0};
    struct error error = ERROR_NONE;
    struct buffer text = {0};

    if (placement_rule_parse(words, &rule, &extra, &error) == 0)
        placement_rule_print(&rule, &text);
    is_string(error.code < 0 ? error.text : buffer_string(&text), expected, "--map-by %s", words);
    placement_rule_fini(&rule);
    buffer_fini(&text);
}

static void test_words(void)
{
    words_are("slot", "slot");
    words_are("socket:span", "package:span");
    words_are("ppr:2:l3cache:pe=4,oversubscribe", "ppr:2:l3cache:pe=4:oversubscribe");
    words_are("dist:mlx5_0", "dist:mlx5_0");
    words_are("slot:PE=1", "slot:pe=1");
    words_are("device=gpu", "device=gpu");
    words_are("device=gpu:ndev=2", "device=gpu:ndev=2");
    words_are("DEVICE=NIC:SHARED:SPAN", "device=network:shared:span");
    words_are("device=openfabrics,pe=2", "device=network:pe=2");
    words_are("device=mlx5_1", "dist:mlx5_1");
    words_are("device=block", "\"device=block\" is neither gpu nor network (nic, fabric, "
                              "openfabrics) nor the name of a device such as mlx5_0");
    words_are("device=nic:ndev=2",
              "modifier \"ndev=2\" is not ndev=N of device=gpu with a number from 1 to 4096");
    words_are(
        "core:shared",
        "modifier \"shared\" is not supported: it applies only to device=gpu and device=network");
    words_are("pe-list=0,2,4-7", "pe-list=0,2,4-7");
    words_are("PE-LIST=7,3-3,0:ORDERED,NOLOCAL", "pe-list=7,3,0:ordered");
    words_are("pe-list=1,oversubscribe", "pe-list=1:oversubscribe");
    words_are("pe-list=1-2,2", "\"pe-list=1-2,2\" names a core twice");
    words_are(
        "pe-list=65536",
        "\"pe-list=65536\" is not a list of cores such as pe-list=0,2,4-7; cores are numbered from 0 to at most 65535");
    words_are(
        "pe-list=2-1",
        "\"pe-list=2-1\" is not a list of cores such as pe-list=0,2,4-7; cores are numbered from 0 to at most 65535");
    words_are("pe-list=0:span", "pe-list already names the cores; omit span");
    words_are("pe-list=0:pe=2", "pe-list already names the cores; omit pe");
    words_are(
        "core:ordered",
        "modifier \"ordered\" is not supported: it applies only to pe-list; seq and rankfile already list the processes in order");
    words_are("core:PE=2:OVERSUBSCRIBE", "core:pe=2:oversubscribe");
    words_are("Node,OverSubscribe:SPAN", "node:span:oversubscribe");
    words_are(":OVERSUBSCRIBE", "slot:oversubscribe");
    words_are("L3CACHE:NOOVERSUBSCRIBE:CORECPUS", "l3cache");
    words_are("PPR:2:SOCKET:PE=1", "ppr:2:package:pe=1");
    words_are("core:HWTCPUS", "modifier \"HWTCPUS\" is not supported: use --map-by hwthread or "
                              "--bind-to hwthread");
    words_are("core:DISPLAY", "modifier \"DISPLAY\" is not supported: use --report-bindings, or "
                              "'banyan map'");
    words_are("numa:pe=0", "modifier \"pe=0\" is not pe=N with a number from 1 to 65536");
    words_are("numa:foo",
              "unknown modifier \"foo\"; known are pe=N, span, oversubscribe and nolocal");
    words_are("ppr:0:node",
              "\"ppr:0:node\" is not ppr:N:OBJECT with a number from 1 and node, package, numa, "
              "l3cache, l2cache, l1cache, core or hwthread");
    words_are("dist:", "\"dist:\" names no device; expected a name such as dist:mlx5_0");
    words_are("rankfile", "rankfile needs a file: rankfile:FILE");
    words_are("board", "unknown mapping \"board\"; known are slot, node, core, hwthread, l1cache, "
                       "l2cache, l3cache, numa, package, ppr:N:OBJECT, dist:DEVICE, "
                       "device=CLASS, pe-list=CORES, seq and rankfile:FILE");
}

static void bind_is(const char *words, enum placement_bind bind, enum topology_level level,
                    int overload)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT};
    struct error error = ERROR_NONE;

    is_int(placement_bind_parse(words, &rule, &error), 0, "--bind-to %s: %s", words, error.text);
    ok(rule.bind == bind && rule.bind_level == level && rule.overload == overload, "as it says");
}

static void bind_fails(const char *words, const char *message)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT};
    struct error error = ERROR_NONE;

    is_int(placement_bind_parse(words, &rule, &error), -EINVAL, "--bind-to '%s' is refused", words);
    is_string(error.text, message, "and says why");
    ok(rule.bind == PLACEMENT_BIND_DEFAULT && !rule.overload, "nothing is set");
}

static void test_bind_words(void)
{
    bind_is("core", PLACEMENT_BIND_LEVEL, TOPOLOGY_CORE, 0);
    bind_is("CORE:OVERLOAD-ALLOWED", PLACEMENT_BIND_LEVEL, TOPOLOGY_CORE, 1);
    bind_is("Socket", PLACEMENT_BIND_LEVEL, TOPOLOGY_PACKAGE, 0);
    bind_is("NONE", PLACEMENT_BIND_NONE, TOPOLOGY_NODE, 0);
    bind_is(":overload-allowed", PLACEMENT_BIND_DEFAULT, TOPOLOGY_NODE, 1);
    bind_is("numa:overload-allowed:no-overload", PLACEMENT_BIND_LEVEL, TOPOLOGY_NUMA, 0);
    bind_fails("", "unknown binding \"\"; known: none, core, hwthread, l1cache, l2cache, l3cache, "
                   "numa and package");
    bind_fails("node:overload-allowed",
               "unknown binding \"node\"; known: none, core, hwthread, l1cache, l2cache, l3cache, "
               "numa and package");
    bind_fails("core:foo", "unknown modifier \"foo\"; known are overload-allowed and no-overload");
    bind_fails("core:REPORT", "modifier \"report\" is not supported: use --report-bindings");
}

/* No message with a wrong byte makes a rule that does not hold together, and no part of one is
 * taken for the whole (alloc/placement_wire.c, alloc/placement_rule_wire.c). */
static void test_wire(void)
{
    struct random_state random;
    struct place_case c;
    struct buffer bytes = {0};
    struct placement decoded;
    struct wire_reader reader;
    int held = 1, taken = 0;

    random_init(&random, 11);
    for (int i = 0; i < 200; i++) {
        place_case_make(&c, &random);
        buffer_clear(&bytes);
        placement_encode(&c.placement, &bytes);
        for (size_t length = 0; length < bytes.length_bytes; length++) {
            wire_reader_init(&reader, bytes.data, length);
            if (placement_decode(&decoded, &reader) == 0) {
                held = 0;
                placement_fini(&decoded);
            }
        }
        for (int j = 0; j < 50; j++) {
            struct placement_map map;

            bytes.data[random_below(&random, bytes.length_bytes)] =
                (unsigned char)random_next(&random);
            wire_reader_init(&reader, bytes.data, bytes.length_bytes);
            if (placement_decode(&decoded, &reader) < 0)
                continue;
            taken++;
            if (placement_processes(&decoded) < 100000 &&
                placement_map_make(&map, &decoded, &c.allocation, NULL) == 0) {
                for (uint32_t node = 0; node < map.nodes && map.processes < 100000; node++)
                    (void)placement_map_hash_node(&map, node);
                placement_map_fini(&map);
            }
            placement_fini(&decoded);
        }
        place_case_fini(&c);
    }
    ok(held, "no part of a placement is taken for the whole");
    ok(taken > 0, "%d placements with wrong bytes can be read, and do no harm", taken);
    buffer_fini(&bytes);
}

/* What is said to be in order must be a list. */
static void test_wire_order(void)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT, .processes = 2, .ordered = 1};
    struct placement_rule decoded;
    struct buffer bytes = {0};
    struct wire_reader reader;

    placement_rule_encode(&rule, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(placement_rule_decode(&decoded, &reader), -EBADMSG, "an order of nothing is refused");
    buffer_fini(&bytes);
}

/* ---- A large machine ---- */

/* The own parts of many daemons of 1,000,000 nodes: this ends soon only if no part walks all nodes
 * or ranks. */
static void test_large(void)
{
    static const enum placement_policy policies[] = {PLACEMENT_BY_SLOT, PLACEMENT_BY_NODE,
                                                     PLACEMENT_PER_OBJECT};
    struct allocation allocation;
    struct ranges places = {0};
    struct random_state random;
    int held = 1;

    random_init(&random, 1);
    allocation_init(&allocation);
    allocation_generate(&allocation, "a", 400000, 128);
    allocation_generate(&allocation, "b", 200000, 0);
    allocation_generate(&allocation, "c", 400000, 200);
    for (int i = 0; i < 3 * 20000; i++) {
        struct placement_rule rule = {.policy = policies[i % 3]};
        struct placement placement = {.rules = &rule, .rules_count = 1};
        struct placement_map map;
        uint32_t rank, node, local;

        rule.per = rule.policy == PLACEMENT_PER_OBJECT ? 128 : 0;
        rule.processes = i % 2 ? 100000000 : 0;
        if (placement_map_make(&map, &placement, &allocation, NULL) < 0) {
            held = 0;
            break;
        }
        rank = (uint32_t)random_below(&random, map.processes);
        placement_map_find(&map, rank, &node, &local);
        held = held && local < placement_map_count(&map, node) &&
               placement_map_rank(&map, node, local) == rank;
        if (i % 100 == 0) {
            placement_map_hash_node(&map, node);
            placement_map_places(&map, &places);
            held = held && ranges_contains(&places, node + 1) && places.count <= 2;
        }
        placement_map_fini(&map);
    }
    ok(held, "20,000 daemons of 1,000,000 nodes know their part of each policy");
    allocation_fini(&allocation);
    ranges_fini(&places);
}

int main(void)
{
    test_by_hand();
    test_hash();
    test_messages();
    test_words();
    test_bind_words();
    test_wire();
    test_wire_order();
    test_random();
    test_large();
    return done_testing();
}
