/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/node_report.h"

#include <jansson.h>

#include "test/support/tap.h"

static void add(struct node_list *list, const char *names, enum node_list_state state,
                uint32_t used, uint32_t job)
{
    uint32_t before = hostlist_count(list->names);
    struct node_list_group *group;

    (void)hostlist_parse(list->names, names, NULL);
    group = node_list_add(list, hostlist_count(list->names) - before);
    group->state = (uint8_t)state;
    group->slots = 8;
    group->used = used;
    if (job > 0)
        ranges_add(&group->jobs, job, job);
}

static void make(struct node_list *list)
{
    node_list_init(list);
    list->version = 2;
    add(list, "n[1-2]", NODE_LIST_UP, 8, 3);
    add(list, "n3", NODE_LIST_DRAINING, 1, 3);
    add(list, "n[4-5]", NODE_LIST_UP, 8, 3);
    add(list, "n6", NODE_LIST_LOST, 0, 0);
    add(list, "n7", NODE_LIST_DRAINED, 0, 0);
}

static void test_json(const struct node_list *list)
{
    struct buffer text = {0};
    json_t *object, *nodes, *first;

    node_report_json(list, &text);
    object = json_loads(buffer_string(&text), 0, NULL);
    nodes = json_object_get(object, "nodes");
    first = json_array_get(nodes, 0);
    is_int(json_integer_value(json_object_get(object, "roster_version")), 2, "JSON: version");
    is_int((int)json_array_size(nodes), 4, "JSON: four kinds of nodes");
    is_string(json_string_value(json_object_get(first, "names")), "n[1-2,4-5]", "JSON: names");
    is_string(json_string_value(json_object_get(first, "state")), "up", "JSON: state");
    is_int(json_integer_value(json_object_get(first, "nodes")), 4, "JSON: nodes");
    is_int(json_integer_value(json_object_get(first, "slots")), 8, "JSON: slots");
    is_int(json_integer_value(json_object_get(first, "slots_in_use")), 8, "JSON: slots in use");
    is_int(json_integer_value(json_array_get(json_object_get(first, "jobs"), 0)), 3, "JSON: jobs");
    json_decref(object);
    buffer_fini(&text);
}

static void test_draining(struct node_list *list)
{
    struct buffer text = {0};
    struct node_list none;

    node_report_draining(list, &text);
    is_string(buffer_string(&text), "n3 still has processes of job 3, which may end normally",
              "a drained node that is used");
    buffer_clear(&text);
    add(list, "n8", NODE_LIST_DRAINING, 1, 4);
    node_report_draining(list, &text);
    is_string(buffer_string(&text),
              "n[3,8] still have processes of jobs 3-4, which may end normally", "two of them");
    buffer_clear(&text);
    node_list_init(&none);
    add(&none, "n1", NODE_LIST_DRAINED, 0, 0);
    node_report_draining(&none, &text);
    is_string(buffer_string(&text), "", "nothing about one that is not used");
    node_list_fini(&none);
    buffer_fini(&text);
}

int main(void)
{
    struct node_report_sum sum;
    struct buffer text = {0};
    struct node_list list;

    make(&list);
    node_report_table(&list, &text);
    is_string(buffer_string(&text),
              "  NODES  STATE      SLOTS  IN USE  NAMES             JOBS\n"
              "      4  up             8       8  n[1-2,4-5]        3\n"
              "      1  draining       8       1  n3                3\n"
              "      1  lost           8       0  n6                -\n"
              "      1  drained        8       0  n7                -\n",
              "equal nodes are folded");
    test_json(&list);
    node_report_sum(&list, &sum);
    is_uint(sum.nodes[NODE_LIST_UP], 4, "four are up");
    is_uint(sum.nodes[NODE_LIST_DRAINING] + sum.nodes[NODE_LIST_DRAINED] +
                sum.nodes[NODE_LIST_LOST],
            3, "one is draining, one drained, one lost");
    is_uint(sum.used, 33, "their slots in use");
    test_draining(&list);
    node_list_fini(&list);
    buffer_fini(&text);
    return done_testing();
}
