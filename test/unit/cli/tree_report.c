/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/tree_report.h"

#include <stdio.h>
#include <string.h>

#include "fabric/topology/fabric_read.h"
#include "launch/cli/verb/tree_fabric.h"
#include "test/support/tap.h"

static struct hostlist *names;
static struct ranges dead;

static void make(struct tree_report *ret_report, struct tree *tree, uint32_t nodes, uint32_t radix,
                 uint32_t levels)
{
    char text[32];

    snprintf(text, sizeof(text), "n[1-%u]", nodes);
    names = hostlist_create();
    hostlist_parse(names, text, NULL);
    *tree = (struct tree){.places = nodes + 1, .radix = radix, .dead = &dead};
    tree_report_make(ret_report, tree, names, NULL, levels);
}

static void is_text(uint32_t nodes, uint32_t radix, uint32_t levels, const char *expected,
                    const char *name)
{
    struct tree_report report;
    struct tree tree;
    struct buffer text = {0};

    make(&report, &tree, nodes, radix, levels);
    tree_report_text(&report, &text);
    is_string(buffer_string(&text), expected, "%s", name);
    buffer_fini(&text);
    tree_report_fini(&report);
    hostlist_destroy(names);
}

static void test_text(void)
{
    is_text(1, 6, 0, "(root)\n`- n1\n1 node, radix 6, 1 level below the root\n", "one node");
    is_text(9, 3, 0,
            "(root)\n"
            "|- n1\n|  `- n[2-3]\n"
            "|- n4\n|  `- n[5-6]\n"
            "`- n7\n   `- n[8-9]\n"
            "9 nodes, radix 3, 2 levels below the root\n",
            "nodes without others below them share a line");
    is_text(1000, 10, 2,
            "(root)\n|- n1 +99\n|- n101 +99\n|- n201 +99\n|- n301 +99\n|- n401 +99\n|- n501 +99\n"
            "|- n601 +99\n|- n701 +99\n|- n801 +99\n`- n901 +99\n"
            "1000 nodes, radix 10, 3 levels below the root\n",
            "what is below the listed levels is counted");
    is_text(5, 2, 1, "(root) +5\n5 nodes, radix 2, 2 levels below the root\n", "the root alone");
    ranges_add(&dead, 4, 4);
    ranges_add(&dead, 8, 9);
    is_text(9, 3, 0,
            "(root)\n"
            "|- n1\n|  `- n[2-3]\n"
            "|- n5\n|  `- n6\n"
            "`- n7\n"
            "6 nodes, radix 3, 2 levels below the root\n",
            "the dead are left out, and their heirs are in their places");
    ranges_clear(&dead);
}

/* The annex of two added nodes has room for more, which is nobody. */
static void test_added(void)
{
    struct tree tree = {.places = 4, .radix = 3, .population = 6};
    struct tree_report report;
    struct buffer text = {0};

    names = hostlist_create();
    hostlist_parse(names, "n[1-5]", NULL);
    tree_report_make(&report, &tree, names, NULL, 0);
    tree_report_text(&report, &text);
    is_string(buffer_string(&text),
              "(root)\n|- n4\n|  `- n5\n`- n[1-3]\n5 nodes, radix 3, 2 levels below the root\n",
              "nodes that were added");
    buffer_fini(&text);
    tree_report_fini(&report);
    hostlist_destroy(names);
}

/* Two switches of two nodes each, one that is not in the model, and the root beside n1. */
static void test_fabric(void)
{
    static const char topology[] = "SwitchName=s0 Nodes=n[1-2],here\nSwitchName=s1 Nodes=n[3-4]\n"
                                   "SwitchName=top Switches=s[0-1]\n";
    struct tree tree = {.places = 6, .radix = 5};
    struct fabric_model model = {.switches = NULL};
    struct tree_fabric fabric;
    struct tree_report report;
    struct error error = ERROR_NONE;
    struct buffer text = {0};

    names = hostlist_create();
    hostlist_parse(names, "n[1-5]", NULL);
    if (fabric_read_text(&model, topology, strlen(topology), &error) < 0)
        bail_out("%s", error.text);
    tree_fabric_init(&fabric, &model, names, "here");
    tree_report_make(&report, &tree, names, &fabric, 0);
    tree_report_text(&report, &text);
    is_string(buffer_string(&text),
              "(root) [s0]\n|- n[1-2] [s0, cost 2]\n|- n[3-4] [s1, cost 4]\n`- n5 [-]\n"
              "5 nodes, radix 5, 1 level below the root\n"
              "LEVEL   EDGES  IN SWITCH       COST   MAX\n"
              "    1       5          2         12     4\n"
              "  all       5          2         12     4\n"
              "1 of the edges are not in the model of the fabric\n",
              "a row for each switch, what edges cost, and their sums");
    buffer_clear(&text);
    tree_report_json(&report, &text);
    has_string(buffer_string(&text), "\"switch\": \"s1\",\n        \"cost\": 4", "so in JSON");
    buffer_clear(&text);
    tree_report_dot(&report, &text);
    has_string(buffer_string(&text), "\"(root)\" -> \"n3\" [label=4];", "and in a graph");
    buffer_fini(&text);
    tree_report_fini(&report);
    tree_fabric_fini(&fabric);
    fabric_model_fini(&model);
    hostlist_destroy(names);
}

/* Each node is named once, whatever the tree. */
static void test_rows(void)
{
    for (uint32_t nodes = 1; nodes < 200; nodes += 13) {
        struct tree_report report;
        struct tree tree;
        struct ranges named = {0};
        uint64_t count = 0;

        ranges_add(&dead, nodes / 2, nodes / 2 + 3);
        ranges_remove(&dead, 0, 0);
        ranges_clip(&dead, 1, nodes);
        make(&report, &tree, nodes, 2 + nodes % 5, 0);
        for (uint32_t i = 0; i < report.rows_count; i++) {
            ranges_add_all(&named, &report.rows[i].places);
            count += ranges_count(&report.rows[i].places);
        }
        ok(count == ranges_count(&named) && count == nodes + 1 - ranges_count(&dead) &&
               !ranges_overlap_set(&named, &dead),
           "%u nodes: each that lives has one row", nodes);
        ranges_fini(&named);
        ranges_clear(&dead);
        tree_report_fini(&report);
        hostlist_destroy(names);
    }
}

static void test_forms(void)
{
    struct tree_report report;
    struct tree tree;
    struct buffer text = {0};

    make(&report, &tree, 3, 2, 0);
    tree_report_dot(&report, &text);
    is_string(buffer_string(&text),
              "digraph banyan {\n    rankdir=LR;\n    node [shape=box];\n    \"(root)\";\n"
              "    \"(root)\" -> \"n1\";\n    \"n1\" -> \"n2\";\n    \"(root)\" -> \"n3\";\n}\n",
              "a graph for dot");
    buffer_clear(&text);
    tree_report_json(&report, &text);
    has_string(buffer_string(&text), "\"nodes\": 3,\n  \"radix\": 2,\n  \"depth\": 2,",
               "JSON: the whole");
    has_string(buffer_string(&text), "\"nodes\": \"n1\",\n        \"below\": 1,", "and the nodes");
    buffer_clear(&text);
    tree_report_svg(&report, &text);
    ok(strncmp(buffer_string(&text), "<svg ", 5) == 0, "a drawing");
    has_string(buffer_string(&text), "<title>3 nodes, radix 2, 2 levels below the root",
               "says what it is of");
    has_string(buffer_string(&text), ">n2</text>", "and names the nodes");
    buffer_fini(&text);
    tree_report_fini(&report);
    hostlist_destroy(names);
}

int main(void)
{
    test_text();
    test_added();
    test_fabric();
    test_rows();
    test_forms();
    ranges_fini(&dead);
    return done_testing();
}
