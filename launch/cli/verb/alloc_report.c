/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/alloc_report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* Nodes with equal slots and equal facts, in the allocation's order. */
struct group {
    uint32_t slots;
    const struct node_facts *facts; /* NULL: nothing is known */
    struct hostlist *names;
};

struct groups {
    struct group *items;
    uint32_t count;
};

static struct group *group_of(struct groups *groups, uint32_t slots, const struct node_facts *facts)
{
    struct group *group;

    for (uint32_t i = 0; i < groups->count; i++) {
        if (groups->items[i].slots == slots && groups->items[i].facts == facts)
            return &groups->items[i];
    }
    groups->items = memory_resize(groups->items, (groups->count + 1) * sizeof(*groups->items));
    group = &groups->items[groups->count++];
    *group = (struct group){.slots = slots, .facts = facts, .names = hostlist_create()};
    return group;
}

/* The facts of node `first`, and the last node, `last` at most, up to which they hold. */
static const struct node_facts *facts_stretch(const struct facts_table *table, uint32_t first,
                                              uint32_t last, uint32_t *ret_last)
{
    const struct node_facts *facts = NULL;
    uint32_t edge;

    assert(first <= last);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct ranges *nodes = &table->kinds[i].nodes;

        if (ranges_contains(nodes, first)) {
            facts = &table->kinds[i].facts;
            if (ranges_first_gap(nodes, first, last, &edge))
                last = edge - 1;
        } else if (ranges_next(nodes, first, &edge) && edge <= last) {
            last = edge - 1;
        }
    }
    *ret_last = last;
    return facts;
}

/* O(runs x different counts and kinds of facts). */
static void groups_make(const struct alloc_report *report, struct groups *ret_groups)
{
    const struct allocation *allocation = &report->nodes->allocation;
    uint32_t first = 0;

    *ret_groups = (struct groups){.count = 0};
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        struct slots_run run = allocation->runs[i];
        uint32_t after = first + run.nodes;

        while (first < after) {
            uint32_t last;
            const struct node_facts *facts = facts_stretch(report->facts, first, after - 1, &last);

            hostlist_append_slice(group_of(ret_groups, run.slots, facts)->names, allocation->names,
                                  first, last - first + 1);
            assert(last >= first && last < after);
            first = last + 1;
        }
    }
}

static void groups_fini(struct groups *groups)
{
    for (uint32_t i = 0; i < groups->count; i++)
        hostlist_destroy(groups->items[i].names);
    free(groups->items);
}

/* ---- Table ---- */

static const char *plural_suffix(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void put_names(const struct hostlist *names, struct buffer *out)
{
    hostlist_print(names, out);
    buffer_append_string(out, "\n");
}

static void table_head(const struct alloc_report *report, struct buffer *out)
{
    const struct allocation *allocation = &report->nodes->allocation;
    uint32_t nodes = allocation_nodes(allocation);
    uint64_t slots = allocation_slots(allocation);
    char title[128];

    request_nodes_title(report->nodes, title, sizeof(title));
    buffer_printf(out, "%s%s%u node%s, %llu slot%s%s\n", title, title[0] != '\0' ? ": " : "", nodes,
                  plural_suffix(nodes), (unsigned long long)slots, plural_suffix(slots),
                  report->nodes->slots_given ? "" : " (no count given: one per node)");
    buffer_printf(out, "from %s; ", allocation->origin);
    if (strcmp(report->starter, "local") == 0 || strcmp(report->starter, "virtual") == 0)
        buffer_append_string(out, "daemons are forked on this machine\n\n");
    else
        buffer_printf(out, "daemons are started by %s\n\n", report->starter);
}

static void table_explain(const struct alloc_report *report, struct buffer *out)
{
    buffer_append_string(out, "\nWhere the counts come from:\n");
    for (uint32_t i = 0; i < report->trace->count; i++) {
        const struct trace_entry *entry = &report->trace->entries[i];

        buffer_printf(out, "  %s: %u slot%s each: ", entry->place, entry->slots,
                      plural_suffix(entry->slots));
        put_names(entry->names, out);
    }
    if (report->nodes->allocation.cpus > 0)
        buffer_printf(out, "  %s: %u CPUs for each process, unless an option says otherwise\n",
                      report->nodes->allocation.cpus_from, report->nodes->allocation.cpus);
    if (report->cpus != NULL)
        buffer_printf(out, "  This process may use %s.\n", report->cpus);
}

void alloc_report_table(const struct alloc_report *report, struct buffer *out)
{
    struct groups groups;

    groups_make(report, &groups);
    table_head(report, out);
    buffer_printf(out, "  NODES  SLOTS  NAMES%s\n", report->facts->count > 0 ? "  FACTS" : "");
    for (uint32_t i = 0; i < groups.count; i++) {
        buffer_printf(out, "%7u %6u  ", hostlist_count(groups.items[i].names),
                      groups.items[i].slots);
        hostlist_print(groups.items[i].names, out);
        if (groups.items[i].facts != NULL) {
            buffer_append_string(out, "  ");
            node_facts_print(groups.items[i].facts, out);
        }
        buffer_append_string(out, "\n");
    }
    if (report->unknown != NULL)
        buffer_printf(out, "\n%s\n", report->unknown);
    if (report->nodes->notice[0] != '\0')
        buffer_printf(out, "\n%s\n", report->nodes->notice);
    if (report->trace != NULL)
        table_explain(report, out);
    groups_fini(&groups);
}

/* ---- JSON ---- */

static json_t *json_names(const struct hostlist *names)
{
    struct buffer text = {0};
    json_t *value;

    hostlist_print(names, &text);
    value = json_string(buffer_string(&text));
    buffer_fini(&text);
    return value != NULL ? value : json_string("?"); /* names need not be UTF-8 */
}

static json_t *json_or_null(const char *text)
{
    json_t *value = text != NULL && text[0] != '\0' ? json_string(text) : NULL;

    return value != NULL ? value : json_null();
}

/* Runs of neighbours with equal slots, in the allocation's order. */
static json_t *json_runs(const struct allocation *allocation)
{
    json_t *runs = json_array();
    uint32_t first = 0;

    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        struct hostlist *names = hostlist_create();
        json_t *run = json_object();

        hostlist_append_slice(names, allocation->names, first, allocation->runs[i].nodes);
        first += allocation->runs[i].nodes;
        json_object_set_new(run, "names", json_names(names));
        json_object_set_new(run, "nodes", json_integer(allocation->runs[i].nodes));
        json_object_set_new(run, "slots", json_integer(allocation->runs[i].slots));
        json_array_append_new(runs, run);
        hostlist_destroy(names);
    }
    return runs;
}

static json_t *json_features(const struct node_facts *facts)
{
    const char *at = facts->features != NULL ? facts->features : "";
    json_t *words = json_array();

    while (*at != '\0') {
        size_t bytes = strcspn(at, "|");

        json_array_append_new(words, json_stringn(at, bytes));
        at += bytes;
        at += *at == '|';
    }
    return words;
}

/* The known facts of each group of nodes. */
static json_t *json_facts(const struct alloc_report *report)
{
    json_t *list = json_array();
    struct groups groups;

    groups_make(report, &groups);
    for (uint32_t i = 0; i < groups.count; i++) {
        const struct node_facts *facts = groups.items[i].facts;
        json_t *entry = json_object();

        if (facts == NULL) {
            json_decref(entry);
            continue;
        }
        json_object_set_new(entry, "names", json_names(groups.items[i].names));
        if (node_facts_knows(facts, FACT_MEMORY))
            json_object_set_new(entry, "mem_mib", json_integer((json_int_t)facts->memory_mib));
        if (node_facts_knows(facts, FACT_ARCHITECTURE))
            json_object_set_new(entry, "arch", json_string(facts->architecture));
        if (node_facts_knows(facts, FACT_SYSTEM))
            json_object_set_new(entry, "os", json_string(facts->system));
        if (node_facts_knows(facts, FACT_GPUS))
            json_object_set_new(entry, "gpus", json_integer(facts->gpus));
        json_object_set_new(entry, "features", json_features(facts));
        json_array_append_new(list, entry);
    }
    groups_fini(&groups);
    return list;
}

static json_t *json_trace(const struct allocation_trace *trace)
{
    json_t *entries = json_array();

    for (uint32_t i = 0; i < trace->count; i++) {
        json_t *entry = json_object();

        json_object_set_new(entry, "place", json_or_null(trace->entries[i].place));
        json_object_set_new(entry, "names", json_names(trace->entries[i].names));
        json_object_set_new(entry, "slots", json_integer(trace->entries[i].slots));
        json_array_append_new(entries, entry);
    }
    return entries;
}

void alloc_report_json(const struct alloc_report *report, struct buffer *out)
{
    const struct request_nodes *nodes = report->nodes;
    const struct allocation *allocation = &nodes->allocation;
    json_t *root = json_object();
    char *text;

    json_object_set_new(root, "source",
                        json_or_null(nodes->source != NULL ? nodes->source->name : NULL));
    json_object_set_new(root, "job", json_or_null(nodes->job));
    json_object_set_new(root, "origin", json_or_null(allocation->origin));
    json_object_set_new(root, "user", json_or_null(allocation->user));
    json_object_set_new(root, "starter", json_or_null(report->starter));
    json_object_set_new(root, "nodes", json_integer(allocation_nodes(allocation)));
    json_object_set_new(root, "slots", json_integer((json_int_t)allocation_slots(allocation)));
    if (allocation->cpus > 0)
        json_object_set_new(root, "cpus_per_process", json_integer(allocation->cpus));
    json_object_set_new(root, "slots_given", json_boolean(nodes->slots_given));
    json_object_set_new(root, "names", json_names(allocation->names));
    json_object_set_new(root, "runs", json_runs(allocation));
    if (report->facts->count > 0)
        json_object_set_new(root, "facts", json_facts(report));
    if (report->trace != NULL) {
        json_object_set_new(root, "counts", json_trace(report->trace));
        json_object_set_new(root, "cpus", json_or_null(report->cpus));
    }
    text = json_dumps(root, JSON_INDENT(2));
    buffer_append_string(out, text != NULL ? text : "{}");
    buffer_append_string(out, "\n");
    free(text);
    json_decref(root);
}
