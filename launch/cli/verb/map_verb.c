/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/map_verb.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_cpus.h"
#include "alloc/placement_require.h"
#include "launch/cli/request/request_configured.h"
#include "launch/cli/request/map_machines.h"
#include "launch/cli/verb/map_report.h"
#include "launch/cli/verb/map_svg.h"
#include "launch/cli/verb/map_topology.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request_facts.h"
#include "launch/cli/request/request_nodes.h"
#include "launch/cli/request/request_placement.h"
#include "launch/cli/request/request_settings.h"

#define MAP_RULES_MAX 128

#define FIELD(member) .offset = offsetof(struct request_settings, member)

static const struct option_rule map_rules[] = {
    {.kind = OPTION_HEADING, .help = "Hypothetical nodes"},
    {.kind = OPTION_LIST,
     .name = "nodes",
     .value = "LIST",
     FIELD(nodes),
     .help = "nodes that need not exist, as n[1-1000]; each has a slot per core, or --slots"},
    {.kind = OPTION_LIST,
     .name = "topology",
     .value = "[LIST=]XML|WORDS;...",
     FIELD(topology),
     .help =
         "topology of the nodes, or of those in LIST: an XML file of lstopo, or hwloc's synthetic form, as "
         "\"package:2 l3:4 core:8 pu:2\" or \"n[1-4]=fat.xml;core:8 pu:1\" (default: this "
         "machine)"},
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG,
     .name = "explain",
     FIELD(explain),
     .help = "print the rules that were applied and, if the request was refused, what would work"},
    {.kind = OPTION_FLAG, .name = "json", FIELD(as_json), .help = "print JSON"},
    {.kind = OPTION_FLAG,
     .name = "svg",
     FIELD(svg),
     .help = "draw the nodes, their cores and the ranks that are bound to them"},
    {.kind = OPTION_FLAG,
     .name = "show-topology",
     FIELD(show_topology),
     .help = "what a node has of each level, its NUMA nodes, and its devices with what is near"},
    {.kind = OPTION_END}};

/* This verb's options come before those of run, and override options of the same name. */
const struct option_rule *map_verb_rules(void)
{
    static struct option_rule rules[MAP_RULES_MAX];
    size_t count = sizeof(map_rules) / sizeof(map_rules[0]) - 1;

    memcpy(rules, map_rules, count * sizeof(*rules));
    for (const struct option_rule *rule = run_rules; rule->kind != OPTION_END; rule++) {
        assert(count + 1 < MAP_RULES_MAX);
        rules[count++] = *rule;
    }
    rules[count].kind = OPTION_END;
    return rules;
}

void map_verb_help(struct buffer *out)
{
    buffer_append_string(out,
                         "Usage: banyan map [OPTIONS] [PROGRAM [ARGUMENTS]]\n\n"
                         "Prints where a run would place its processes, and starts nothing.  "
                         "Takes the\noptions of banyan run (see banyan help run) and these:\n");
    options_help(map_rules, out);
    buffer_append_string(out, "\nMore in banyan-map(1).\n");
}

/* ---- The nodes and their topologies ---- */

/* --nodes: with slots from --slots or the number of cores of the topology. */
static int describe_nodes(const struct request_settings *settings, const struct request_ops *ops,
                          const struct map_machines *machines, struct allocation *allocation,
                          struct error *error)
{
    char *nodes = options_list_join(&settings->nodes, ",");
    int is_counted = strchr(nodes, ':') != NULL;
    int rc = allocation_parse_hosts(allocation, nodes, error), cores = 0;

    free(nodes);
    if (rc < 0) {
        error_prefix(error, "option --nodes");
        return rc;
    }
    if (!is_counted && settings->slots > 0) {
        allocation_set_slots(allocation, settings->slots);
    } else if (!is_counted && machines->is_described) {
        rc = map_machines_set_slots(machines, allocation, error);
    } else if (!is_counted) {
        cores = ops->cores(error);
        rc = cores < 0 ? cores : 0;
        if (rc == 0)
            allocation_set_slots(allocation, (uint32_t)cores);
    }
    if (rc == 0)
        snprintf(allocation->origin, sizeof(allocation->origin), "%s",
                 settings->slots > 0 ? "--slots" : "the cores of a node");
    return rc;
}

static int find_nodes(const struct request_settings *settings, const struct request_ops *ops,
                      const struct map_machines *machines, struct allocation *allocation,
                      struct map_report *report, struct error *error)
{
    struct request_nodes nodes;
    int rc;

    if (settings->nodes.count > 0)
        return describe_nodes(settings, ops, machines, allocation, error);
    rc = request_nodes_find(settings, ops, &nodes, error);
    if (rc == 0) {
        allocation_fini(allocation);
        *allocation = nodes.allocation; /* moved */
        report->source = nodes.source;
        memcpy(report->notice, nodes.notice, sizeof(report->notice));
    }
    return rc;
}

/* ---- The map ---- */

/* Unknown facts of the nodes are taken from this machine, as are their processors. */
static int find_facts(struct map_report *report, const struct request_apps *apps,
                      const struct request_ops *ops, struct error *error)
{
    struct facts_table *table = &report->placement.facts;
    int rc = request_facts_find(apps, ops, report->source, report->allocation, table, error);

    for (uint32_t i = 0;
         rc == 0 && placement_require_wanted(&report->placement) && i < report->machines->count;
         i++) {
        struct node_facts own = {.known = 1u << FACT_GPUS | 1u << FACT_FEATURES,
                                 .gpus = topology_gpus(&report->machines->items[i].topology, NULL)};
        struct ranges nodes = {0};

        map_machines_nodes(report->machines, i, report->allocation, &nodes);
        if (!report->machines->is_described && ops->facts != NULL)
            ops->facts(&own);
        if (!ranges_is_empty(&nodes))
            facts_table_add(table, &own, &nodes);
        node_facts_fini(&own);
        ranges_fini(&nodes);
    }
    return rc;
}

static int make_map(struct map_report *report, const struct request_apps *apps,
                    const struct request_ops *ops, struct buffer *out, struct error *error)
{
    const struct request_settings *settings = &apps->items[0].settings;
    int rc = request_placement_make(apps, ops, report->allocation, &report->placement, error);

    if (rc == 0)
        rc = find_facts(report, apps, ops, error);
    if (rc == 0)
        rc = map_machines_add(report->machines, report->allocation, &report->placement.machines,
                              error);
    if (rc < 0)
        return rc;
    rc = placement_require_settle(&report->placement, report->allocation, error);
    if (rc == 0) {
        placement_cpus_settle(&report->placement, report->allocation);
        rc = placement_map_make(&report->map, &report->placement, report->allocation, error);
        if (rc == 0)
            rc = placement_map_check(&report->map, report->allocation, error);
        if (rc < 0)
            map_report_left_out(report, error);
    }
    if (rc < 0) {
        if (settings->explain > 0)
            map_report_refusal(report, error);
        return rc;
    }
    if (settings->svg > 0)
        return map_svg_print(report, out, error);
    if (settings->as_json > 0)
        map_report_json(report, out);
    else
        map_report_text(report, settings->explain > 0, out);
    return 0;
}

static int show_map(const struct request_apps *apps, const struct request_ops *ops,
                    struct buffer *out, struct error *error)
{
    struct request_settings settings = apps->items[0].settings;
    struct allocation allocation;
    struct map_machines machines = {.count = 0};
    struct map_report report = {.allocation = &allocation, .machines = &machines};
    char *topology = options_list_join(&settings.topology, ";");
    int rc = map_machines_read(&machines, topology, error);

    free(topology);
    if (rc == 0 && settings.show_topology > 0 && settings.as_json > 0) {
        map_topology_json(&machines, out);
    } else if (rc == 0 && settings.show_topology > 0) {
        map_topology_text(&machines, out);
    } else if (rc == 0) {
        settings.processes = (uint32_t)request_apps_processes(apps);
        allocation_init(&allocation);
        rc = find_nodes(&settings, ops, &machines, &allocation, &report, error);
        if (rc == 0)
            rc = make_map(&report, apps, ops, out, error);
        placement_map_fini(&report.map);
        placement_fini(&report.placement);
        allocation_fini(&allocation);
    }
    map_machines_fini(&machines);
    return rc;
}

int map_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
             struct error *error)
{
    const struct request_settings defaults = {.kill_grace_s = RUN_NOT_GIVEN};
    struct request_apps apps = {0};
    int rc = request_apps_parse(map_verb_rules(), &defaults, argc, argv, ops, &apps, error);

    if (rc == 0)
        request_configured_fill_start(ops->configured, &apps);
    if (rc == 0 && apps.items[0].settings.help > 0)
        map_verb_help(out);
    else if (rc == 0 && apps.items[0].settings.version > 0)
        options_version(out);
    else if (rc == 0 && apps.items[0].settings.svg > 0 && apps.items[0].settings.as_json > 0)
        rc = error_set(error, -EINVAL, "give only one of --svg and --json");
    else if (rc == 0)
        rc = show_map(&apps, ops, out, error);
    request_apps_fini(&apps);
    return rc;
}
