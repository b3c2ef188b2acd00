/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of nodes and what applications require: texts and their columns, judging, what a node
 * tells, whom an application leaves out, and the pool's queries.
 */
#include "config.h"

#include "alloc/placement_require.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>

#include "alloc/node_pool.h"
#include "alloc/placement_map.h"

static struct error error;

/* ---- Facts ---- */

static const char *facts_text(const char *text)
{
    static struct buffer out;
    struct node_facts facts = {.known = 0};

    buffer_clear(&out);
    error = ERROR_NONE;
    if (node_facts_parse(text, &facts, &error) == 0)
        node_facts_print(&facts, &out);
    node_facts_fini(&facts);
    return error.code < 0 ? error.text : buffer_string(&out);
}

static void check_facts(void)
{
    struct node_facts a = {.known = 0}, b = {.known = 0}, decoded;
    struct buffer bytes = {0};
    struct wire_reader reader;

    is_string(facts_text("mem=64G,arch=x86_64,os=linux,feature=ib|avx512f,gpus=2"),
              "mem=64G,arch=x86_64,os=linux,feature=avx512f|ib,gpus=2",
              "facts are read and written");
    is_string(facts_text("mem=1536M"), "mem=1536M", "megabytes");
    is_string(facts_text("mem=2TiB"), "mem=2T", "TiB");
    is_string(facts_text("mem=0"), "mem=0M", "no memory is known, too");
    is_string(facts_text("feature=b|a|b"), "feature=a|b", "features are a set");
    has_string(facts_text("mem=64X"), "column 5: '64X' cannot be a value of mem", "no such unit");
    has_string(facts_text("gpus=9999999"), "column 6", "too many GPUs");
    has_string(facts_text("mem=1G,color=red"), "column 8: 'color=red' is not one of",
               "no such fact");
    has_string(facts_text("arch="), "column 6", "an empty name");
    has_string(facts_text("mem=99999999999999999999G"), "column 5", "a number that is too long");
    node_facts_parse("mem=1G,feature=a", &a, NULL);
    node_facts_parse("mem=2G,arch=arm,feature=b", &b, NULL);
    node_facts_merge(&a, &b);
    node_facts_print(&a, &bytes);
    is_string(buffer_string(&bytes), "mem=1G,arch=arm,feature=a|b",
              "what was known first counts; features are united");
    buffer_clear(&bytes);
    node_facts_encode(&a, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    ok(node_facts_decode(&decoded, &reader) == 0 && node_facts_equal(&a, &decoded), "round trip");
    node_facts_fini(&decoded);
    for (size_t i = 0; i < bytes.length_bytes; i++) {
        wire_reader_init(&reader, bytes.data, i);
        if (node_facts_decode(&decoded, &reader) == 0)
            fail("%zu of %zu bytes were taken", i, bytes.length_bytes);
    }
    node_facts_fini(&a);
    node_facts_fini(&b);
    buffer_fini(&bytes);
}

/* ---- Terms ---- */

static int holds(const char *terms, const char *known)
{
    struct node_facts facts = {.known = 1u << FACT_FEATURES};
    struct require require;
    int held;

    error = ERROR_NONE;
    if (known[0] != '\0')
        node_facts_parse(known, &facts, NULL);
    held = placement_require_parse(terms, &require, &error) < 0
               ? -1
               : placement_require_holds(&require, &facts);
    node_facts_fini(&facts);
    return held;
}

static void check_terms(void)
{
    static const struct {
        const char *terms, *facts;
        int held;
    } cases[] = {
        {"mem>=64G", "mem=64G", 1},
        {"mem>=64G", "mem=65535M", 0},
        {"mem>64G", "mem=64G", 0},
        {"mem<64G", "mem=65535M", 1},
        {"mem<=64G", "mem=64G", 1},
        {"mem=64G", "mem=64G", 1},
        {"mem=64G", "mem=65537M", 0},
        {"memory>=1", "mem=1M", 1},
        {"gpus>=2", "gpus=2", 1},
        {"gpus>=2", "gpus=1", 0},
        {"gpus>=2", "", 0}, /* not known */
        {"gpus<1", "gpus=0", 1},
        {"arch=x86_64", "arch=x86_64", 1},
        {"arch=x86_64|aarch64", "arch=aarch64", 1},
        {"arch=x86_64", "arch=x86", 0},
        {"arch!=x86_64", "arch=aarch64", 1},
        {"arch!=x86_64", "", 0},
        {"os=Linux", "os=linux", 1},
        {"feature=a", "feature=a|b", 1},
        {"feature=a,feature=b", "feature=a|b", 1},
        {"feature=a,feature=c", "feature=a|b", 0},
        {"feature=c|b", "feature=a|b", 1},
        {"feature!=c", "feature=a|b", 1},
        {"feature!=c|b", "feature=a|b", 0},
        {"mem>=1G,arch=x86_64,os=linux,feature=ib,gpus>=1",
         "mem=2G,arch=x86_64,os=linux,feature=ib,gpus=1", 1},
        {"none", "", 1},
    };
    static const struct {
        const char *terms, *said;
    } wrong[] = {
        {"mem", "column 4: expected >=, <=, >, < or ="},
        {"mem>=", "column 6: expected a size"},
        {"mem>=64X", "column 6: expected a size"},
        {"arch=x,mem>=6q", "column 13: expected a size"},
        {"gpus>=two", "column 7: expected a whole number"},
        {"gpus<0", "column 6: nothing is less than 0"},
        {"arch>=x", "column 5: expected = or !="},
        {"arch=", "column 6: expected a name"},
        {"arch=a|", "column 8: expected a name"},
        {"feature=a b", "column 10: expected ',' or '|'"},
        {"color=red", "column 1: 'color=red' does not begin with mem"},
        {"mem>=1,", "column 8: '' does not begin with"},
        {"", "column 1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        is_int(holds(cases[i].terms, cases[i].facts), cases[i].held, "%s of %s", cases[i].terms,
               cases[i].facts);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        is_int(holds(wrong[i].terms, ""), -1, "'%s' is refused", wrong[i].terms);
        has_string(error.text, wrong[i].said, "and where");
    }
}

static const char *reduced(const char *terms, const char *known)
{
    static struct buffer out;
    struct node_facts facts = {.known = 1u << FACT_FEATURES};
    struct require require;

    node_facts_parse(known, &facts, NULL);
    placement_require_parse(terms, &require, NULL);
    placement_require_reduce(&require, &facts);
    buffer_clear(&out);
    node_facts_print(&facts, &out);
    node_facts_fini(&facts);
    return buffer_string(&out);
}

/* What a node tells is little, and judged as what it has. */
static void check_reduce(void)
{
    static const char *const terms[] = {"mem>=64000M", "mem<64000M", "mem=64001M", "mem>63G",
                                        "mem<=63999M"};

    is_string(reduced("mem>=1G", "mem=64123M,arch=x,feature=a|b"), "mem=62G",
              "only what is asked for, in whole GiB");
    is_string(reduced("feature=a|c", "mem=64123M,feature=a|b"), "feature=a",
              "only the features that are asked for");
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
        for (int mib = 63990; mib <= 64520; mib += 1) {
            char known[32];

            snprintf(known, sizeof(known), "mem=%dM", mib);
            if (holds(terms[i], known) != holds(terms[i], reduced(terms[i], known)))
                fail("%s of %s is judged otherwise once it is rounded", terms[i], known);
        }
    }
    pass("what was rounded is judged like what is exact");
}

/* ---- Placements ---- */

struct world {
    struct allocation allocation;
    struct placement placement;
};

static void world_make(struct world *world, const char *hosts)
{
    *world = (struct world){.placement = {.rules = NULL}};
    allocation_init(&world->allocation);
    allocation_parse_hosts(&world->allocation, hosts, NULL);
}

static void world_fini(struct world *world)
{
    placement_fini(&world->placement);
    allocation_fini(&world->allocation);
}

static void tell(struct world *world, uint32_t first, uint32_t last, const char *text)
{
    struct node_facts facts = {.known = 1u << FACT_FEATURES};
    struct ranges nodes = {0};

    node_facts_parse(text, &facts, NULL);
    ranges_add(&nodes, first, last);
    facts_table_add(&world->placement.facts, &facts, &nodes);
    node_facts_fini(&facts);
    ranges_fini(&nodes);
}

static void add_rule(struct world *world, uint32_t processes, const char *require)
{
    struct placement_rule rule = {.processes = processes,
                                  .require = require ? memory_copy_string(require) : NULL};

    placement_add(&world->placement, &rule);
}

/* "0,2 1" : how many processes each node has, application by application. */
static const char *counts(struct world *world)
{
    static struct buffer out;
    struct buffer left_out = {0};
    struct placement_map map;
    int rc;

    buffer_clear(&out);
    error = ERROR_NONE;
    rc = placement_require_settle(&world->placement, &world->allocation, &error);
    if (rc == 0)
        rc = placement_map_make(&map, &world->placement, &world->allocation, &error);
    if (rc < 0) {
        placement_require_tell(&world->placement, &world->allocation, &left_out);
        buffer_printf(&out, "%s%s", error.text, rc == -ENODEV ? "" : buffer_string(&left_out));
        buffer_fini(&left_out);
        return buffer_string(&out);
    }
    for (uint32_t app = 0; app < map.apps_count; app++) {
        buffer_append_string(&out, app > 0 ? " " : "");
        for (uint32_t node = 0; node < map.nodes; node++)
            buffer_printf(&out, "%s%u", node > 0 ? "," : "",
                          placement_map_count_app(&map, app, node));
    }
    placement_map_fini(&map);
    return buffer_string(&out);
}

static void check_placements(void)
{
    struct world world;

    world_make(&world, "n[1-4]:2");
    tell(&world, 0, 1, "mem=32G,gpus=0");
    tell(&world, 2, 2, "mem=64G,feature=ib,gpus=2");
    add_rule(&world, 2, "mem>=64G");
    ok(placement_require_open(&world.placement, &world.allocation),
       "of n4 the memory is not known");
    is_string(counts(&world), "0,0,2,0", "a node of which nothing is known is left out");
    tell(&world, 3, 3, "mem=128G");
    ok(!placement_require_open(&world.placement, &world.allocation), "now it is");
    is_string(counts(&world), "0,0,2,0", "two are on the first that has it");
    add_rule(&world, 4, NULL);
    is_string(counts(&world), "0,0,2,0 2,2,0,0", "the next application has all nodes");
    placement_fini(&world.placement);
    tell(&world, 0, 1, "mem=32G,gpus=0");
    tell(&world, 2, 3, "mem=64G,feature=ib,gpus=2");
    add_rule(&world, 6, NULL);
    add_rule(&world, 2, "gpus>=1");
    is_string(counts(&world), "2,2,2,0 0,0,0,2", "what the first has taken is not there any more");
    placement_fini(&world.placement);
    tell(&world, 0, 1, "mem=32G");
    tell(&world, 2, 3, "mem=16G,feature=ib");
    add_rule(&world, 0, "feature=ib");
    is_string(counts(&world), "0,0,2,2", "without -n there are as many as its nodes have slots");
    world.placement.rules[0].processes = 5;
    is_string(counts(&world),
              "5 processes requested, but there are 8 slots on 4 nodes (from --host), of which 4 "
              "are free on the remaining nodes; use -n 4 or fewer, or --oversubscribe; "
              "--require: feature=ib excludes n[1-2]",
              "too many: the error says who was left out");
    placement_fini(&world.placement);
    tell(&world, 0, 1, "mem=32G");
    tell(&world, 2, 2, "mem=16G,feature=ib");
    add_rule(&world, 0, "mem>=64G,feature=ib,arch=x");
    is_string(counts(&world),
              "no node satisfies --require: mem>=64G excludes n[1-2] (32G), n3 (16G), n4 "
              "(not known); feature=ib excludes n[1-2,4]; arch=x excludes n[1-4] (not known)",
              "nothing is left: each term says whom it refuses and why");
    world_fini(&world);
}

/* Rules with requirements, and rules without, against the same nodes taken out by hand. */
static void check_same_as_smaller(void)
{
    struct world world, smaller;

    world_make(&world, "a:2,b:3,c:1,d:4,e:2,f:2");
    for (uint32_t node = 0; node < 6; node += 2)
        tell(&world, node, node, "feature=in");
    add_rule(&world, 5, "feature=in");
    world.placement.rules[0].policy = PLACEMENT_BY_NODE;
    world_make(&smaller, "a:2,c:1,e:2");
    add_rule(&smaller, 5, NULL);
    smaller.placement.rules[0].policy = PLACEMENT_BY_NODE;
    is_string(counts(&smaller), "2,1,2", "of three nodes");
    is_string(counts(&world), "2,0,1,0,2,0", "of six, of which three are left out: the same");
    world_fini(&world);
    world_fini(&smaller);
}

static void check_wire(void)
{
    struct world world;
    struct placement copy;

    world_make(&world, "n[1-4]:2");
    tell(&world, 0, 2, "mem=1G,feature=x");
    add_rule(&world, 1, "mem>=1G");
    is_string(counts(&world), "1,0,0,0", "placed");
    placement_copy(&copy, &world.placement);
    is_string(copy.rules[0].require, "mem>=1G", "requirements travel to the root");
    ok(ranges_equal(&copy.rules[0].excluded, &world.placement.rules[0].excluded) &&
           ranges_contains(&copy.rules[0].excluded, 3),
       "and so do the nodes that are left out");
    ok(copy.facts.count == 1 &&
           node_facts_equal(&copy.facts.kinds[0].facts, &world.placement.facts.kinds[0].facts),
       "and facts");
    placement_require_forget(&copy);
    ok(copy.rules[0].require == NULL && copy.facts.count == 0, "nodes get what they have led to");
    placement_fini(&copy);
    world_fini(&world);
}

static const char *pool_nodes(struct node_pool *pool, const char *terms)
{
    static struct buffer out;
    struct require require;
    struct node_query query = {.require = &require};
    struct ranges nodes = {0};

    placement_require_parse(terms, &require, NULL);
    node_pool_query(pool, &query, &nodes);
    buffer_clear(&out);
    ranges_print(&nodes, &out);
    ranges_fini(&nodes);
    return buffer_string(&out);
}

static void check_pool(void)
{
    struct node_pool *pool = node_pool_create();
    struct node_record record;
    struct world world;

    world_make(&world, "n[1-8]:2");
    tell(&world, 0, 5, "mem=32G");
    tell(&world, 6, 7, "mem=64G,gpus=4");
    ok(node_pool_insert(pool, "", &world.allocation, NULL) == 0, "a pool");
    node_pool_node(pool, 6, &record);
    ok(record.facts == NULL, "nothing is known");
    is_string(pool_nodes(pool, "mem>=1G"), "", "so no node has memory for sure");
    node_pool_add_facts(pool, &world.placement.facts);
    node_pool_node(pool, 6, &record);
    ok(record.facts != NULL && record.facts->gpus == 4, "a record has the node's facts");
    is_string(pool_nodes(pool, "mem>=33G"), "6-7", "a query by memory");
    is_string(pool_nodes(pool, "mem<33G"), "0-5", "and the others");
    node_pool_destroy(pool);
    world_fini(&world);
}

int main(void)
{
    check_facts();
    check_terms();
    check_reduce();
    check_placements();
    check_same_as_smaller();
    check_wire();
    check_pool();
    return done_testing();
}
