/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches of the simulated world (launch/cli/sim/simulate_fabric.c), which the network of the world then has. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "launch/cli/sim/simulate_internal.h"
#include "test/support/tap.h"

#define NODES 64u

static struct simulate_fabric fabric;

static void parse(const struct simulate_fabric_words *words)
{
    struct error error = ERROR_NONE;

    memset(&fabric, 0, sizeof(fabric));
    if (simulate_fabric_parse(words, &fabric, &error) < 0)
        bail_out("%s", error.text);
}

/* How often neighbours are in different switches. */
static uint32_t crossings(const struct virtual_network_fabric *made)
{
    uint32_t count = 0;

    for (uint32_t i = 2; i < made->ports_count; i++)
        count += made->ports[i].top != made->ports[i - 1].top;
    return count;
}

static void test_order(void)
{
    struct simulate_fabric_words words = {.model = "fat-tree:4x4x4", .is_shuffled = 1};
    struct virtual_network_fabric *made, *again, *other;

    parse(&words);
    made = simulate_fabric_make(&fabric, NODES, 80, 1);
    is_uint(made->ports_count, NODES + 1, "each place has a port");
    is_uint(crossings(made), 15, "shuffled nodes are put in order by their switches");
    simulate_fabric_free(made);
    fabric.is_shaped = false;
    made = simulate_fabric_make(&fabric, NODES, 80, 1);
    again = simulate_fabric_make(&fabric, NODES, 80, 1);
    other = simulate_fabric_make(&fabric, NODES, 80, 2);
    ok(crossings(made) > 40, "without a shape they are not");
    ok(memcmp(made->ports, again->ports, (NODES + 1) * sizeof(*made->ports)) == 0,
       "a seed always shuffles in the same way");
    ok(memcmp(made->ports, other->ports, (NODES + 1) * sizeof(*made->ports)) != 0,
       "and another one in another way");
    simulate_fabric_free(other);
    simulate_fabric_free(again);
    simulate_fabric_free(made);
    simulate_fabric_fini(&fabric);
}

static void test_costs(void)
{
    struct simulate_fabric_words words = {
        .model = "fat-tree:4x4x4", .ratios = "4,2", .link_latency = "100ns"};
    const struct virtual_network_switch *leaf, *pod, *top;
    struct virtual_network_fabric *made;
    struct buffer text = {0};

    parse(&words);
    made = simulate_fabric_make(&fabric, NODES, 80, 1);
    leaf = &made->switches[made->ports[1].top];
    pod = &made->switches[leaf->parent];
    top = &made->switches[pod->parent];
    is_uint(leaf->depth, 2, "three levels");
    is_uint(leaf->up_byte_ps, 80, "four nodes of a switch share what one has");
    is_uint(pod->up_byte_ps, 40, "four switches what two have");
    is_uint(pod->down_byte_ps, 40, "in both directions");
    is_uint(top->parent, VIRTUAL_NETWORK_NO_SWITCH, "the highest has no link up");
    is_uint(leaf->up_latency_ns, 100, "a link takes its time");
    is_uint(made->ports[1].up_latency_ns, 100, "so does that of a node");
    ok(&made->switches[made->ports[0].top] == top, "the root is at the top");
    simulate_fabric_print(&fabric, &text);
    is_string(buffer_string(&text),
              "fat-tree:4x4x4, nodes as listed there, tree by the switches, uplinks 4:1, 2:1\n",
              "what is simulated");
    buffer_fini(&text);
    simulate_fabric_free(made);
    fabric.ratios_count = 0;
    made = simulate_fabric_make(&fabric, NODES, 80, 1);
    is_uint(made->switches[made->ports[1].top].up_byte_ps, 0, "links that nothing shares");
    simulate_fabric_free(made);
    simulate_fabric_fini(&fabric);
}

static void is_wrong(const struct simulate_fabric_words *words, const char *why, const char *name)
{
    struct error error = ERROR_NONE;

    memset(&fabric, 0, sizeof(fabric));
    ok(simulate_fabric_parse(words, &fabric, &error) < 0, "%s is refused", name);
    has_string(error.text, why, "%s: why", name);
    simulate_fabric_fini(&fabric);
}

int main(void)
{
    test_order();
    test_costs();
    is_wrong(&(struct simulate_fabric_words){.ratios = "4"}, "needs --fabric-model",
             "a ratio without switches");
    is_wrong(
        &(struct simulate_fabric_words){.model = "fat-tree:4x4", .ratios = "1,2,3,4,5,6,7,8,9"},
        "up to 8", "a list that is too long");
    is_wrong(&(struct simulate_fabric_words){.model = "/no-file"}, "/no-file", "a missing file");
    return done_testing();
}
