/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology/fabric_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "fabric/topology/fabric_read.h"
#include "overlay/tree.h"
#include "test/support/tap.h"

/* The names in the order of the fabric that a text describes. */
static void is_ordered(const char *topology, const char *names, const char *expected,
                       uint32_t unknown, const char *name)
{
    struct fabric_model model = {.switches = NULL};
    struct hostlist *list = hostlist_create(), *ordered = hostlist_create();
    struct error error = ERROR_NONE;
    struct buffer text = {0};
    uint32_t vertices[64], nodes[64];

    if (fabric_read_text(&model, topology, strlen(topology), &error) < 0 ||
        hostlist_parse(list, names, &error) < 0)
        bail_out("%s", error.text);
    fabric_order_find(&model, list, vertices);
    is_uint(fabric_order_make(&model, vertices, hostlist_count(list), nodes), unknown,
            "%s: how many are not known", name);
    for (uint32_t i = 0; i < hostlist_count(list); i++) {
        char host[HOST_NAME_BYTES_MAX + 1];

        hostlist_name(list, nodes[i], host);
        hostlist_append(ordered, host);
    }
    hostlist_print(ordered, &text);
    is_string(buffer_string(&text), expected, "%s", name);
    buffer_fini(&text);
    hostlist_destroy(ordered);
    hostlist_destroy(list);
    fabric_model_fini(&model);
}

static void test_orders(void)
{
    static const char two[] = "SwitchName=s0 Nodes=a[1-4]\nSwitchName=s1 Nodes=b[1-4]\n"
                              "SwitchName=top Switches=s[0-1]\n";
    static const char three[] = "SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=b[1-2]\n"
                                "SwitchName=s2 Nodes=c[1-2]\nSwitchName=s3 Nodes=d[1-2]\n"
                                "SwitchName=p0 Switches=s[0,2]\nSwitchName=p1 Switches=s[1,3]\n"
                                "SwitchName=top Switches=p[0-1]\n";

    is_ordered(two, "b1,a1,b2,a2", "b[1-2],a[1-2]", 0,
               "switches by their first nodes, not by their names");
    is_ordered(two, "a4,a2,a3", "a[4,2-3]", 0, "within a switch nothing moves");
    is_ordered(two, "x1,b1,x2,a1,b2", "b[1-2],a1,x[1-2]", 2, "nodes that are not known come last");
    is_ordered(two, "b1.site,a1.site,b2.site", "b[1-2].site,a1.site", 0,
               "names with a domain are found by the first label");
    is_ordered(three, "d1,a1,c1,b1,c2,b2,a2,d2", "d[1-2],b[1-2],a[1-2],c[1-2]", 0,
               "switches of a switch stay together");
    is_ordered("{\"switches\": [{\"name\": \"top\"}, {\"name\": \"s\", \"parent\": \"top\"}],"
               " \"nics\": [{\"nodes\": \"n[1-2]\", \"switch\": \"s\"},"
               " {\"nodes\": \"m[1-2]\", \"switch\": \"top\"}]}",
               "n1,m1,n2,m2", "n[1-2],m[1-2]", 0, "nodes above others' switches");
    is_ordered("{\"switches\": [{\"name\": \"s\"}, {\"name\": \"t\"}],"
               " \"nics\": [{\"nodes\": \"n[1,3]\", \"switch\": \"s\"},"
               " {\"nodes\": \"n[2,4]\", \"switch\": \"t\"}]}",
               "n[1-4]", "n[1,3,2,4]", 0, "switches that nothing joins");
}

/* 64 nodes, shuffled: 4 switches of a switch of 16. */
static void test_subtrees(void)
{
    struct fabric_model model = {.switches = NULL};
    uint32_t vertices[64], nodes[64], seen[64] = {0}, crossings = 0, missing = 0;
    struct tree tree = {.places = 65, .radix = 4};
    struct error error = ERROR_NONE;
    struct random_state random;

    random_init(&random, 3);
    if (fabric_read_generate(&model, "fat-tree:4x4x4", &error) < 0)
        bail_out("%s", error.text);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t other = (uint32_t)random_below(&random, i + 1);

        vertices[i] = vertices[other];
        vertices[other] = i;
    }
    is_uint(fabric_order_make(&model, vertices, 64, nodes), 0, "a fat tree, shuffled");
    for (uint32_t i = 0; i < 64; i++)
        seen[nodes[i]]++;
    for (uint32_t i = 0; i < 64; i++)
        missing += seen[i] != 1;
    is_uint(missing, 0, "each node once");
    for (uint32_t i = 0; i < 4; i++) {
        struct range range = tree_cut(&tree, (struct range){0, 64}, i);
        uint32_t pod = FABRIC_NONE;

        for (uint32_t place = range.first; place <= range.last; place++) {
            uint32_t top = model.vertices[vertices[nodes[place - 1]]].top;
            uint32_t own = model.switches[top].parent;

            crossings += pod != FABRIC_NONE && own != pod;
            pod = own;
        }
    }
    is_uint(crossings, 0, "each subtree is a switch where the sizes fit");
    fabric_model_fini(&model);
}

int main(void)
{
    test_orders();
    test_subtrees();
    return done_testing();
}
