/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/map_report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "alloc/placement_print.h"
#include "alloc/placement_require.h"

/* ---- Text ---- */

static const char *bind_name(const struct placement_rule *rule, int in_threads)
{
    enum topology_level level = placement_rule_bind_level(rule, in_threads);

    return level == TOPOLOGY_NODE ? "none" : topology_level_name(level);
}

static void explain_machines(const struct map_report *report, struct buffer *out)
{
    const struct map_machines *machines = report->machines;

    for (uint32_t i = 0; i < machines->count; i++) {
        buffer_append_string(out, "# ");
        map_machines_print_whose(machines, i, out);
        buffer_printf(out, " is assumed to be %s: %u cores, %u hardware threads\n",
                      machines->is_described ? "as given by --topology" : "like this machine",
                      machines->items[i].topology.counts[TOPOLOGY_CORE],
                      machines->items[i].topology.threads);
    }
}

static void explain_apps(const struct map_report *report, struct buffer *out)
{
    const struct allocation *allocation = report->allocation;
    struct buffer left_out = {0};

    buffer_printf(out, "# %u nodes, %llu slots%s%s\n", allocation_nodes(allocation),
                  (unsigned long long)allocation_slots(allocation),
                  allocation->origin[0] != '\0' ? " from " : "", allocation->origin);
    if (report->notice[0] != '\0')
        buffer_printf(out, "# %s\n", report->notice);
    explain_machines(report, out);
    if (!ranges_is_empty(&report->placement.excluded))
        buffer_printf(out, "# %llu nodes are excluded by nolocal\n",
                      (unsigned long long)ranges_count(&report->placement.excluded));
    placement_require_tell(&report->placement, allocation, &left_out);
    if (left_out.length_bytes > 0)
        buffer_printf(out, "# %s\n", buffer_string(&left_out) + strlen("; "));
    buffer_fini(&left_out);
    if (allocation->cpus > 0)
        buffer_printf(out, "# %u CPUs for each process, according to %s\n", allocation->cpus,
                      allocation->cpus_from);
    for (uint32_t i = 0; i < report->map.apps_count; i++) {
        const struct placement_app *app = &report->map.apps[i];

        buffer_printf(out, "# application %u: %u processes by ", i, app->processes);
        placement_rule_print(app->rule, out);
        buffer_printf(out, ", ranked by %s, bound to %s%s\n",
                      placement_rank_by_name(placement_rule_rank_by(app->rule)),
                      bind_name(app->rule, report->map.in_threads),
                      app->rule->bind == PLACEMENT_BIND_DEFAULT ? " (the default)" : "");
        if (app->rule->cpus > 0 && app->rule->pe == 0)
            buffer_printf(
                out,
                "# application %u: there are too few of these CPUs, so each process gets one\n", i);
    }
}

static int is_drawn(const struct placement_bindings *bindings)
{
    for (uint32_t i = 0; i < bindings->count; i++) {
        if (bindings->items[i].hash != 0)
            return 1;
    }
    return 0;
}

static void print_ranks(const struct placement_map *map, uint32_t node, uint32_t count,
                        struct buffer *out)
{
    struct ranges ranks = {0};

    assert(count > 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = placement_map_rank(map, node, i);

        ranges_add(&ranks, rank, rank);
    }
    buffer_append_string(out, count == 1 ? " rank " : " ranks ");
    ranges_print(&ranks, out);
    ranges_fini(&ranks);
}

static void print_node(const struct map_report *report, struct placement_sorts *sorts,
                       uint32_t node, struct buffer *out)
{
    const struct placement_map *map = &report->map;
    uint32_t count = placement_map_count(map, node);
    const struct placement_bindings *bindings;
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(node < map->nodes);
    if (count == 0)
        return;
    hostlist_name(report->allocation->names, node, name);
    buffer_printf(out, "%s:", name);
    print_ranks(map, node, count, out);
    buffer_append_string(out, "\n");
    bindings = map->has_topology ? placement_sorts_get(sorts, node, NULL) : NULL;
    assert(bindings == NULL || bindings->count == count);
    for (uint32_t i = 0; bindings != NULL && is_drawn(bindings) && i < count; i++) {
        buffer_printf(out, "  rank %u", placement_map_rank(map, node, i));
        if (map->apps_count > 1)
            buffer_printf(out, " of application %u", bindings->items[i].app);
        buffer_append_string(out, ": ");
        placement_print_layout(map, node, &bindings->items[i], out);
        buffer_append_string(out, "\n");
    }
}

void map_report_text(const struct map_report *report, int explain, struct buffer *out)
{
    struct placement_sorts *sorts = placement_sorts_create(&report->map);

    if (explain)
        explain_apps(report, out);
    for (uint32_t node = 0; node < report->map.nodes; node++)
        print_node(report, sorts, node, out);
    placement_sorts_destroy(sorts);
}

/* ---- JSON ---- */

static json_t *json_binding(const struct map_report *report, uint32_t node, uint32_t index,
                            const struct placement_bindings *bindings)
{
    uint32_t rank = placement_map_rank(&report->map, node, index);
    json_t *process = json_pack("{s:i, s:i}", "rank", (int)rank, "application",
                                (int)placement_map_app(&report->map, rank));
    struct buffer text = {0};

    if (bindings != NULL && !ranges_is_empty(&bindings->items[index].cpus)) {
        ranges_print(&bindings->items[index].cpus, &text);
        json_object_set_new(process, "cpus", json_string(buffer_string(&text)));
        buffer_clear(&text);
    }
    if (bindings != NULL && !ranges_is_empty(&bindings->items[index].memory)) {
        ranges_print(&bindings->items[index].memory, &text);
        json_object_set_new(process, "memory", json_string(buffer_string(&text)));
        buffer_clear(&text);
    }
    if (bindings != NULL && !ranges_is_empty(&bindings->items[index].gpus)) {
        ranges_print(&bindings->items[index].gpus, &text);
        json_object_set_new(process, "gpus", json_string(buffer_string(&text)));
    }
    buffer_fini(&text);
    return process;
}

void map_report_json(const struct map_report *report, struct buffer *out)
{
    struct placement_sorts *sorts = placement_sorts_create(&report->map);
    json_t *nodes = json_array();
    json_t *root = json_object();
    char name[HOST_NAME_BYTES_MAX + 1];
    char *text;

    for (uint32_t node = 0; node < report->map.nodes; node++) {
        uint32_t count = placement_map_count(&report->map, node);
        const struct placement_bindings *bindings =
            report->map.has_topology && count > 0 ? placement_sorts_get(sorts, node, NULL) : NULL;
        json_t *processes = json_array();

        for (uint32_t i = 0; i < count; i++)
            json_array_append_new(processes, json_binding(report, node, i, bindings));
        hostlist_name(report->allocation->names, node, name);
        json_array_append_new(nodes, json_pack("{s:s, s:i, s:o}", "node", name, "slots",
                                               (int)allocation_slots_of(report->allocation, node),
                                               "processes", processes));
    }
    json_object_set_new(root, "processes", json_integer(report->map.processes));
    json_object_set_new(root, "nodes", nodes);
    text = json_dumps(root, JSON_INDENT(1));
    buffer_append_string(out, text);
    buffer_append_string(out, "\n");
    free(text);
    json_decref(root);
    placement_sorts_destroy(sorts);
}

/* ---- Refused ---- */

/* 1 if the placement, as it is now, can be made. */
static int placement_works(struct map_report *report)
{
    struct placement_map map;
    int held = placement_require_settle(&report->placement, report->allocation, NULL) == 0 &&
               placement_map_make(&map, &report->placement, report->allocation, NULL) == 0;

    if (!held)
        return 0;
    held = placement_map_check(&map, report->allocation, NULL) == 0;
    placement_map_fini(&map);
    return held;
}

/* The most processes of the last application with which it works, or 0. */
static uint32_t most_processes(struct map_report *report, struct placement_rule *rule)
{
    uint32_t asked = rule->processes, low = 0,
             high = asked > 0 ? asked - 1 : PLACEMENT_PROCESSES_MAX;

    while (low < high) {
        rule->processes = low + (high - low + 1) / 2;
        if (placement_works(report))
            low = rule->processes;
        else
            high = rule->processes - 1;
    }
    rule->processes = asked;
    return low;
}

/* Tries one change of the rule and reverts it. */
static int works_with(struct map_report *report, struct placement_rule *rule,
                      struct placement_rule changed)
{
    struct placement_rule before = *rule;
    int held;

    changed.excluded = rule->excluded; /* which is recomputed each time */
    *rule = changed;
    held = placement_works(report);
    before.excluded = rule->excluded;
    *rule = before;
    return held;
}

/* The requirements of a rule with one term replaced by another text ("" removes it); free() it. */
static char *change_term(const struct require *require, uint32_t term, const char *text)
{
    struct buffer changed = {0};

    for (uint32_t i = 0; i < require->count; i++) {
        const struct require_term *own = &require->terms[i];
        int bytes = i == term ? (int)strlen(text) : (int)own->text_bytes;

        if (bytes > 0)
            buffer_printf(&changed, "%s%.*s", changed.length_bytes > 0 ? "," : "", bytes,
                          i == term ? text : own->text);
    }
    if (changed.length_bytes == 0)
        buffer_append_string(&changed, "none");
    (void)buffer_string(&changed);
    return buffer_take(&changed, NULL);
}

static int works_requiring(struct map_report *report, struct placement_rule *rule, char *text)
{
    char *before = rule->require;
    int held;

    rule->require = text;
    held = placement_works(report);
    rule->require = before;
    free(text);
    return held;
}

/* The greatest amount below that of a term which some node has and with which it works; 0: none. */
static uint64_t most_required(struct map_report *report, struct placement_rule *rule,
                              const struct require *require, uint32_t term, struct buffer *ret_text)
{
    const struct require_term *own = &require->terms[term];
    uint64_t below = own->high == UINT64_MAX ? own->low : 0;

    while (below > 0) {
        uint64_t next = 0;

        for (uint32_t i = 0; i < report->placement.facts.count; i++) {
            const struct node_facts *facts = &report->placement.facts.kinds[i].facts;
            uint64_t has = own->fact == FACT_MEMORY ? facts->memory_mib : facts->gpus;

            if (has < below && has > next)
                next = has;
        }
        buffer_clear(ret_text);
        buffer_append_string(ret_text, own->fact == FACT_MEMORY ? "mem>=" : "gpus>=");
        if (own->fact == FACT_MEMORY)
            node_facts_print_mib(next, ret_text);
        else
            buffer_printf(ret_text, "%llu", (unsigned long long)next);
        if (next > 0 &&
            works_requiring(report, rule, change_term(require, term, buffer_string(ret_text))))
            return next;
        below = next;
    }
    return 0;
}

/* Tries for each term whether a lower amount, or dropping it, would work. */
static void try_requirements(struct map_report *report, struct buffer *out)
{
    for (uint32_t i = 0; i < report->placement.rules_count; i++) {
        struct placement_rule *rule = &report->placement.rules[i];
        struct require require;
        struct buffer text = {0};

        if (rule->require == NULL || placement_require_parse(rule->require, &require, NULL) < 0)
            continue;
        for (uint32_t j = 0; j < require.count; j++) {
            if (most_required(report, rule, &require, j, &text) > 0)
                buffer_printf(out, "; it works with %s", buffer_string(&text));
            else if (works_requiring(report, rule, change_term(&require, j, "")))
                buffer_printf(out, "; it works without %.*s", (int)require.terms[j].text_bytes,
                              require.terms[j].text);
        }
        buffer_fini(&text);
    }
}

void map_report_left_out(const struct map_report *report, struct error *error)
{
    struct buffer text = {0};

    placement_require_tell(&report->placement, report->allocation, &text);
    error_set(error, error->code, "%s%s", error->text, buffer_string(&text));
    buffer_fini(&text);
}

void map_report_refusal(struct map_report *report, struct error *error)
{
    struct placement_rule *rule = &report->placement.rules[report->placement.rules_count - 1];
    struct placement_rule changed = *rule;
    struct buffer text = {0};
    uint32_t most = rule->list == NULL ? most_processes(report, rule) : 0;

    if (most > 0)
        buffer_printf(&text, "; it works with -n %u", most);
    changed.oversubscribe = 1;
    if (!rule->oversubscribe && works_with(report, rule, changed))
        buffer_append_string(&text, "; it works with --oversubscribe");
    changed.bind = PLACEMENT_BIND_NONE;
    if (rule->bind == PLACEMENT_BIND_LEVEL && works_with(report, rule, changed))
        buffer_append_string(&text, "; it works with --oversubscribe --bind-to none");
    changed = *rule;
    changed.overload = 1;
    if (rule->bind == PLACEMENT_BIND_LEVEL && !rule->overload && works_with(report, rule, changed))
        buffer_printf(&text, "; it works with --bind-to %s:overload-allowed",
                      topology_level_name(rule->bind_level));
    for (changed = *rule; changed.pe > 1;) {
        changed.pe--;
        if (works_with(report, rule, changed)) {
            buffer_printf(&text, "; it works with pe=%u", changed.pe);
            break;
        }
    }
    try_requirements(report, &text);
    if (text.length_bytes > 0)
        error_set(error, error->code, "%s%s", error->text, buffer_string(&text));
    buffer_fini(&text);
}
