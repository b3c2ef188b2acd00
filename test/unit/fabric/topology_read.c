/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies as compact arrays: read from hwloc's words and from this machine, restricted to some
 * threads, sent and received.
 */
#include "config.h"

#include "fabric/topology_read.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "test/support/tap.h"

static void read_words(const char *words, struct topology *topology)
{
    struct error error = ERROR_NONE;
    struct ranges allowed = {0};

    if (topology_read_text(words, topology, &allowed, &error) < 0)
        bail_out("%s: %s", words, error.text);
    is_uint(ranges_count(&allowed), topology->threads, "%s: all is allowed", words);
    ranges_fini(&allowed);
}

static void counts_are(const struct topology *topology, const uint32_t *expected, const char *what)
{
    int held = 1;

    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
        held = held && topology->counts[level] == expected[level];
    ok(held, "%s: objects of each level", what);
    for (int level = 0; !held && level < TOPOLOGY_LEVEL_COUNT; level++)
        diag("%s: %u", topology_level_name((enum topology_level)level), topology->counts[level]);
}

static size_t round_trip(const struct topology *topology, const char *what)
{
    struct buffer bytes = {0}, again = {0};
    struct topology decoded;
    struct wire_reader reader;
    size_t size;
    int held = 1;

    topology_encode(topology, &bytes);
    size = bytes.length_bytes;
    for (size_t length = 0; length < size; length++) {
        wire_reader_init(&reader, bytes.data, length);
        if (topology_decode(&decoded, &reader) == 0) {
            held = 0;
            topology_fini(&decoded);
        }
    }
    ok(held, "%s: no part of its message is taken for the whole", what);
    wire_reader_init(&reader, bytes.data, size);
    if (ok(topology_decode(&decoded, &reader) == 0 && wire_finish(&reader) == 0,
           "%s: %zu bytes are decoded", what, size)) {
        topology_encode(&decoded, &again);
        is_bytes(again.data, again.length_bytes, bytes.data, size, "%s: to the same", what);
        is_uint(topology_hash(&decoded), topology_hash(topology), "%s: of the same hash", what);
        topology_fini(&decoded);
    }
    buffer_fini(&bytes);
    buffer_fini(&again);
    return size;
}

/* What a daemon is sent may be anything. */
static void test_garbage(const struct topology *topology)
{
    struct random_state random;
    struct buffer bytes = {0};
    int taken = 0;

    random_init(&random, 7);
    topology_encode(topology, &bytes);
    for (int i = 0; i < 20000; i++) {
        struct topology decoded;
        struct wire_reader reader;
        size_t at = random_below(&random, bytes.length_bytes);
        unsigned char old = bytes.data[at];

        bytes.data[at] = (unsigned char)random_next(&random);
        wire_reader_init(&reader, bytes.data, bytes.length_bytes);
        if (topology_decode(&decoded, &reader) == 0) {
            for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++) {
                for (uint32_t t = 0; t < decoded.threads; t++) {
                    uint32_t object = decoded.objects[level][t];

                    taken += object != TOPOLOGY_NONE && object >= decoded.counts[level];
                }
            }
            topology_fini(&decoded);
        }
        bytes.data[at] = old;
    }
    is_int(taken, 0, "messages with a wrong byte are refused, or hold together");
    buffer_fini(&bytes);
}

static void test_regular(void)
{
    static const uint32_t expected[] = {1, 2, 4, 4, 32, 32, 32, 64};
    struct topology topology;

    read_words("package:2 numa:2 l3:1 l2:8 l1:1 core:1 pu:2", &topology);
    counts_are(&topology, expected, "two packages");
    is_uint(topology.objects[TOPOLOGY_NUMA][17], 1, "thread 17 is of the second NUMA node");
    ok(round_trip(&topology, "two packages") < 100, "a regular machine is less than 100 bytes");
    test_garbage(&topology);
    topology_fini(&topology);
    read_words("package:4 core:64 pu:8", &topology);
    ok(round_trip(&topology, "2,048 threads") < 100, "also a large one");
    topology_fini(&topology);
}

/* NUMA nodes as "cpus:memories", in the order of their numbers. */
static void numas_are(const struct topology *topology, const char *expected, const char *what)
{
    struct buffer text = {0};

    for (uint32_t numa = 0; numa < topology->counts[TOPOLOGY_NUMA]; numa++) {
        struct ranges cpus = {0};

        for (uint32_t t = 0; t < topology->threads; t++) {
            if (topology->objects[TOPOLOGY_NUMA][t] == numa)
                ranges_add(&cpus, topology->os[t], topology->os[t]);
        }
        buffer_append_string(&text, numa > 0 ? " " : "");
        ranges_print(&cpus, &text);
        buffer_append_string(&text, ":");
        ranges_print(&topology->memory[numa], &text);
        ranges_fini(&cpus);
    }
    is_string(buffer_string(&text), expected, "%s: NUMA nodes", what);
    buffer_fini(&text);
}

/* Shapes of machines whose NUMA nodes are no package and no cache. */
static void test_numa(void)
{
    static const struct {
        const char *what, *words, *numas;
    } shapes[] = {
        {"two NUMA nodes in a package", "package:2 numa:2 core:2 pu:1", "0-1:0 2-3:1 4-5:2 6-7:3"},
        {"four of two caches each", "package:1 numa:4 l3:2 core:1 pu:2",
         "0-3:0 4-7:1 8-11:2 12-15:3"},
        {"a large memory beside those of the halves", "package:2 [numa] group:2 [numa] core:2 pu:1",
         "0-1:0 2-3:1 4-5:3 6-7:4"},
        {"two memories of one set", "package:1 group:4 [numa] [numa] core:1 pu:2",
         "0-1:0-1 2-3:2-3 4-5:4-5 6-7:6-7"},
        {"a memory of the machine", "[numa] package:2 [numa] core:1 pu:1", "0:0 1:1"},
        {"packages inside", "numa:2 package:2 core:1 pu:1", "0-1:0 2-3:1"},
        {"groups of groups", "group:2 group:2 package:2 [numa] core:1 pu:1",
         "0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7"},
        {"dies", "package:1 die:2 [numa] core:2 pu:1", "0-1:0 2-3:1"},
        {"a cache", "package:1 l3:2 [numa] core:2 pu:1", "0-1:0 2-3:1"},
        {"a cache of the fourth level", "package:1 l4:2 [numa] core:2 pu:1", "0-1:0 2-3:1"},
    };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct topology topology;

        read_words(shapes[i].words, &topology);
        numas_are(&topology, shapes[i].numas, shapes[i].what);
        round_trip(&topology, shapes[i].what);
        topology_fini(&topology);
    }
}

/* What is left of a NUMA node keeps its memories; others lose them. */
static void test_numa_left(void)
{
    struct topology topology, part;
    struct ranges allowed = {0};

    read_words("package:1 group:4 [numa] [numa] core:2 pu:1", &topology);
    ranges_add(&allowed, 3, 3);
    ranges_add(&allowed, 6, 7);
    is_int(topology_restrict(&topology, &allowed, &part), 0, "two of four NUMA nodes are left");
    numas_are(&part, "3:2-3 6-7:6-7", "the part");
    round_trip(&part, "the part");
    topology_fini(&part);
    topology_fini(&topology);
    ranges_fini(&allowed);
}

static void test_restricted(void)
{
    static const uint32_t expected[] = {1, 2, 1, 0, 3, 0, 4, 6};
    struct topology topology, part;
    struct ranges allowed = {0};

    /* Cores 1 (one thread of it), 2 and 3 of package 0; core 6 of package 1; the kernel counts
     * threads as hwloc does here. */
    read_words("package:2 l2:2 core:2 pu:2", &topology);
    ranges_add(&allowed, 3, 7);
    ranges_add(&allowed, 13, 13);
    is_int(topology_restrict(&topology, &allowed, &part), 0, "a part is left");
    counts_are(&part, expected, "the part");
    is_uint(part.os[5], 13, "threads keep the kernel's numbers");
    is_uint(part.objects[TOPOLOGY_CORE][5], 3, "and get objects that are counted anew");
    round_trip(&part, "the part");
    topology_fini(&part);
    ranges_clear(&allowed);
    ranges_add(&allowed, 100, 200);
    is_int(topology_restrict(&topology, &allowed, &part), -2, "or nothing");
    ranges_fini(&allowed);
    topology_fini(&topology);
}

static void test_words(void)
{
    enum topology_level level;
    struct topology topology;
    struct ranges allowed = {0};
    struct error error = ERROR_NONE;

    for (int i = 0; i < TOPOLOGY_LEVEL_COUNT; i++) {
        const char *name = topology_level_name((enum topology_level)i);

        ok(topology_level_parse(name, strlen(name), &level) == 0 && (int)level == i, "level %s",
           name);
    }
    is_int(topology_level_parse("l4cache", 7, &level), -22, "there is no l4cache");
    ok(topology_read_text("core:x", &topology, &allowed, &error) < 0, "bad words: %s", error.text);
    ok(topology_read_text("/nowhere.xml", &topology, &allowed, &error) < 0, "no file: %s",
       error.text);
    ranges_fini(&allowed);
}

static void test_here(void)
{
    struct topology topology;
    struct ranges allowed = {0};
    struct error error = ERROR_NONE;
    cpu_set_t set;

    if (topology_read(1, &topology, &allowed, &error) < 0)
        bail_out("%s", error.text);
    if (sched_getaffinity(0, sizeof(set), &set) < 0)
        bail_out("sched_getaffinity");
    is_uint(ranges_count(&allowed), (uint64_t)CPU_COUNT(&set),
            "this process's threads are allowed");
    ok(topology.counts[TOPOLOGY_CORE] >= 1 && topology.counts[TOPOLOGY_NUMA] >= 1,
       "%u cores, %u NUMA nodes, %u devices here", topology.counts[TOPOLOGY_CORE],
       topology.counts[TOPOLOGY_NUMA], topology.devices_count);
    round_trip(&topology, "this machine");
    topology_fini(&topology);
    ranges_fini(&allowed);
}

int main(void)
{
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_XMLFILE");
    test_regular();
    test_numa();
    test_numa_left();
    test_restricted();
    test_words();
    test_here();
    return done_testing();
}
