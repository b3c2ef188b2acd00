/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes print becomes a description that the model reads. */
#include "config.h"

#include "launch/cli/verb/fabric_measure.h"

#include <errno.h>
#include <string.h>

#include "fabric/topology/fabric_read.h"
#include "test/support/tap.h"

static const char lines[] = "node 1 b\"2\n0 1 1000 9000\nnode 0 a1\n1 0 1000 19000\n"
                            "node 2 c3\n0 2 500 4500\n2 0 500 4500\n1 2 1000 2999999000\n"
                            "2 1 900000000000 99000\n";

static void test_description(void)
{
    struct fabric_model model = {.switches = NULL};
    struct buffer out = {0};
    struct error error = ERROR_NONE;
    uint32_t a, b, c;

    is_int(fabric_measure_describe(lines, 4096, "tcp", &out, &error), 0, "lines in any order");
    is_int(fabric_read_text(&model, buffer_string(&out), out.length_bytes, &error), 0,
           "a description that can be read: %s", error.text);
    a = fabric_model_find_node(&model, "a1");
    b = fabric_model_find_node(&model, "b\"2");
    c = fabric_model_find_node(&model, "c3");
    ok(a == 0 && b == 1 && c == 2, "nodes are in the order of ranks, whatever their names");
    is_int(fabric_model_cost(&model, a, c), 10, "the shortest way costs 10");
    is_int(fabric_model_cost(&model, a, b), 20, "others in proportion to latency and transfer");
    is_int(fabric_model_cost(&model, b, a), 40, "each direction has its own");
    is_int(fabric_model_cost(&model, b, c), FABRIC_COST_MAX, "and at most the largest cost");
    is_int(fabric_model_cost(&model, b, b), 0, "nothing from a node to itself");
    has_string(buffer_string(&out), "\"measured\": {\"bytes\": 4096", "what was measured is in it");
    fabric_model_fini(&model);
    buffer_fini(&out);
}

static void refuses(const char *text, int code, const char *message)
{
    struct buffer out = {0};
    struct error error = ERROR_NONE;

    is_int(fabric_measure_describe(text, 1, "ofi:tcp", &out, &error), code, "refused: %s", message);
    has_string(error.text, message, "it says why");
    is_int(out.length_bytes, 0, "nothing is printed");
    buffer_fini(&out);
}

int main(void)
{
    test_description();
    refuses("", -EINVAL, "fewer than two nodes");
    refuses("node 0 a\n", -EINVAL, "fewer than two nodes");
    refuses("node 0 a\nnode 1 b\n0 1 5 5\n", -EPROTO, "the path from b to a");
    refuses("node 0 a\nnode 0 a\n0 1 5 5\n1 0 5 5\n", -EPROTO, "process 1 has said nothing");
    refuses("node 0 a\nnode 1 b\n0 2 5 5\n", -EPROTO, "has printed '0 2 5 5'");
    refuses("node 0 a\nnode 1 b\n0 1 0 5\n", -EPROTO, "has printed '0 1 0 5'");
    refuses("node 0 a\nnode 1 b\nhello\n", -EPROTO, "has printed 'hello'");
    return done_testing();
}
