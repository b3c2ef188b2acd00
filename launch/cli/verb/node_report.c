/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/node_report.h"

#include <assert.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/memory.h"
#include "launch/cli/option/json_text.h"

/* Nodes that are equal, wherever they are in the roster. */
struct fold {
    const struct node_list_group *like;
    uint32_t nodes;
    struct hostlist *names;
};

struct folds {
    struct fold *items;
    uint32_t count;
};

static struct fold *fold_of(struct folds *folds, const struct node_list_group *group)
{
    struct fold *fold;

    for (uint32_t i = 0; i < folds->count; i++) {
        if (node_list_is_equal(folds->items[i].like, group))
            return &folds->items[i];
    }
    folds->items = memory_resize(folds->items, (folds->count + 1) * sizeof(*folds->items));
    fold = &folds->items[folds->count++];
    *fold = (struct fold){.like = group, .names = hostlist_create()};
    return fold;
}

static void folds_make(const struct node_list *list, struct folds *ret_folds)
{
    uint32_t first = 0;

    *ret_folds = (struct folds){.count = 0};
    for (uint32_t i = 0; i < list->groups_count; i++) {
        struct fold *fold = fold_of(ret_folds, &list->groups[i]);

        fold->nodes += list->groups[i].nodes;
        hostlist_append_slice(fold->names, list->names, first, list->groups[i].nodes);
        first += list->groups[i].nodes;
    }
    assert(first == hostlist_count(list->names));
}

static void folds_fini(struct folds *folds)
{
    for (uint32_t i = 0; i < folds->count; i++)
        hostlist_destroy(folds->items[i].names);
    free(folds->items);
}

void node_report_table(const struct node_list *list, struct buffer *out)
{
    struct folds folds;

    folds_make(list, &folds);
    buffer_append_string(out, "  NODES  STATE      SLOTS  IN USE  NAMES             JOBS\n");
    for (uint32_t i = 0; i < folds.count; i++) {
        const struct fold *fold = &folds.items[i];
        struct buffer names = {0};

        hostlist_print(fold->names, &names);
        buffer_printf(out, "%7u  %-8s %7u %7u  %-16s  ", fold->nodes,
                      node_list_state_name((enum node_list_state)fold->like->state),
                      fold->like->slots, fold->like->used, buffer_string(&names));
        if (ranges_is_empty(&fold->like->jobs))
            buffer_append_string(out, "-");
        else
            ranges_print(&fold->like->jobs, out);
        buffer_append_string(out, "\n");
        buffer_fini(&names);
    }
    folds_fini(&folds);
}

static json_t *json_fold(const struct fold *fold)
{
    json_t *object = json_object(), *jobs = json_array();
    struct buffer names = {0};
    uint32_t job = 0;

    for (; ranges_next(&fold->like->jobs, job, &job); job++)
        json_array_append_new(jobs, json_integer(job));
    hostlist_print(fold->names, &names);
    json_object_set_new(object, "names", json_text(buffer_string(&names)));
    buffer_fini(&names);
    json_object_set_new(object, "nodes", json_integer(fold->nodes));
    json_object_set_new(object, "state",
                        json_string(node_list_state_name((enum node_list_state)fold->like->state)));
    json_object_set_new(object, "slots", json_integer(fold->like->slots));
    json_object_set_new(object, "slots_in_use", json_integer(fold->like->used));
    json_object_set_new(object, "jobs", jobs);
    return object;
}

void node_report_json(const struct node_list *list, struct buffer *out)
{
    json_t *object = json_object(), *nodes = json_array();
    struct folds folds;
    char *text;

    folds_make(list, &folds);
    for (uint32_t i = 0; i < folds.count; i++)
        json_array_append_new(nodes, json_fold(&folds.items[i]));
    folds_fini(&folds);
    json_object_set_new(object, "roster_version", json_integer(list->version));
    json_object_set_new(object, "nodes", nodes);
    text = json_dumps(object, JSON_INDENT(2));
    buffer_printf(out, "%s\n", text != NULL ? text : "{}");
    free(text);
    json_decref(object);
}

void node_report_draining(const struct node_list *list, struct buffer *out)
{
    struct hostlist *names = hostlist_create();
    struct ranges jobs = {0};
    uint32_t first = 0;

    for (uint32_t i = 0; i < list->groups_count; i++) {
        const struct node_list_group *group = &list->groups[i];

        if (group->state == NODE_LIST_DRAINING) {
            hostlist_append_slice(names, list->names, first, group->nodes);
            ranges_add_all(&jobs, &group->jobs);
        }
        first += group->nodes;
    }
    if (hostlist_count(names) > 0) {
        hostlist_print(names, out);
        buffer_printf(out, " still %s processes of %s ",
                      hostlist_count(names) == 1 ? "has" : "have",
                      ranges_count(&jobs) == 1 ? "job" : "jobs");
        ranges_print(&jobs, out);
        buffer_append_string(out, ", which may end normally");
    }
    ranges_fini(&jobs);
    hostlist_destroy(names);
}

void node_report_sum(const struct node_list *list, struct node_report_sum *ret_sum)
{
    *ret_sum = (struct node_report_sum){.slots = 0};
    for (uint32_t i = 0; i < list->groups_count; i++) {
        const struct node_list_group *group = &list->groups[i];

        assert(group->state < NODE_LIST_STATE_COUNT);
        ret_sum->nodes[group->state] += group->nodes;
        ret_sum->slots += (uint64_t)group->nodes * group->slots;
        ret_sum->used += (uint64_t)group->nodes * group->used;
    }
}
