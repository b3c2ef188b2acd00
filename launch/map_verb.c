/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/map_verb.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/place_require.h"
#include "fabric/topology_read.h"
#include "launch/map_report.h"
#include "launch/options.h"
#include "launch/run_facts.h"
#include "launch/run_nodes.h"
#include "launch/run_placement.h"
#include "launch/run_settings.h"

#define FIELD(member) .offset = offsetof(struct run_settings, member)

static const struct option_rule map_rules[] = {
    {.kind = OPTION_HEADING, .help = "What is only described"},
    {.kind = OPTION_TEXT,
     .name = "nodes",
     .value = "LIST",
     FIELD(nodes),
     .help =
         "nodes that need not be there, as n[1-1000]; each has a slot for every core, or --slots"},
    {.kind = OPTION_TEXT,
     .name = "topology",
     .value = "XML|WORDS",
     FIELD(topology),
     .help = "what the nodes are like: a file of lstopo, or hwloc's words, as "
             "\"package:2 l3:4 core:8 pu:2\" (default: this machine)"},
    {.kind = OPTION_HEADING, .help = "What you see"},
    {.kind = OPTION_FLAG,
     .name = "explain",
     FIELD(explain),
     .help = "tell which rules were applied, and, if something was refused, what works instead"},
    {.kind = OPTION_FLAG, .name = "json", FIELD(as_json), .help = "for programs to read"},
    {.kind = OPTION_FLAG,
     .name = "show-topology",
     FIELD(show_topology),
     .help = "what a node has of each level, and its devices"},
    {.kind = OPTION_END}};

/* The own options stand before those of run, and hide them where they have one name. */
static struct option_rule *all_rules(void)
{
    size_t own = sizeof(map_rules) / sizeof(map_rules[0]) - 1, others = 0;
    struct option_rule *rules;

    while (run_rules[others].kind != OPTION_END)
        others++;
    rules = memory_allocate((own + others + 1) * sizeof(*rules));
    memcpy(rules, map_rules, own * sizeof(*rules));
    memcpy(rules + own, run_rules, (others + 1) * sizeof(*rules));
    return rules;
}

void map_help(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan map [OPTIONS] [PROGRAM [ARGUMENTS]]\n\n"
                              "Prints where a run would put its processes, and starts nothing. It "
                              "has the\noptions of banyan run (banyan help run), and\n");
    options_help(map_rules, out);
}

/* ---- The nodes and what they are like ---- */

/* --nodes: as many slots as --slots or the topology's cores say. */
static int describe_nodes(const struct run_settings *settings, const struct run_world *world,
                          const struct topology *topology, struct allocation *allocation,
                          struct error *error)
{
    int slots = (int)settings->slots;
    char *text;
    int rc;

    if (slots == 0)
        slots = topology != NULL ? (int)topology->counts[TOPOLOGY_CORE] : world->cores(error);
    if (slots < 0)
        return slots;
    text = memory_printf("%s:%d", settings->nodes, slots);
    if (strchr(settings->nodes, ':') != NULL)
        rc = allocation_parse_hosts(allocation, settings->nodes, error);
    else
        rc = allocation_parse_hosts(allocation, text, error);
    free(text);
    if (rc < 0)
        error_prefix(error, "option --nodes");
    else
        snprintf(allocation->origin, sizeof(allocation->origin), "%s",
                 settings->slots > 0 ? "--slots" : "the cores of a node");
    return rc;
}

static int find_nodes(const struct run_settings *settings, const struct run_world *world,
                      const struct topology *topology, struct allocation *allocation,
                      const struct source **ret_source, struct error *error)
{
    struct run_nodes nodes;
    int rc;

    if (settings->nodes != NULL)
        return describe_nodes(settings, world, topology, allocation, error);
    rc = run_nodes_find(settings, world, &nodes, error);
    if (rc == 0) {
        allocation_fini(allocation);
        *allocation = nodes.allocation; /* which is moved */
        *ret_source = nodes.source;
    }
    return rc;
}

static int read_topology(const struct run_settings *settings, struct topology *topology,
                         struct ranges *allowed, struct error *error)
{
    int rc = settings->topology != NULL
                 ? topology_read_text(settings->topology, topology, allowed, error)
                 : topology_read(1, topology, allowed, error);

    if (rc < 0 && settings->topology != NULL)
        error_prefix(error, "option --topology");
    return rc;
}

/* ---- The map ---- */

/* What is not told of the nodes is taken from this machine, as their processors are. */
static int find_facts(struct map_report *report, const struct run_apps *apps,
                      const struct run_world *world, struct error *error)
{
    struct facts_table *table = &report->placement.facts;
    struct node_facts own = {.known = 1u << FACT_GPUS | 1u << FACT_FEATURES,
                             .gpus = topology_gpus(report->topology)};
    struct ranges nodes = {0};
    int rc = run_facts_find(apps, world, report->source, report->allocation, table, error);

    if (rc == 0 && place_require_wanted(&report->placement)) {
        ranges_add(&nodes, 0, allocation_nodes(report->allocation) - 1);
        if (!report->is_described && world->facts != NULL)
            world->facts(&own);
        facts_table_add(table, &own, &nodes);
    }
    node_facts_fini(&own);
    ranges_fini(&nodes);
    return rc;
}

static int make_map(struct map_report *report, const struct run_apps *apps,
                    const struct run_world *world, struct buffer *out, struct error *error)
{
    const struct run_settings *settings = &apps->items[0].settings;
    int rc = run_placement_make(apps, world, report->allocation, &report->placement, error);

    if (rc == 0)
        rc = find_facts(report, apps, world, error);
    if (rc < 0)
        return rc;
    if (place_machines_add(&report->placement.machines, report->topology, report->allowed, 0,
                           allocation_nodes(report->allocation) - 1) < 0)
        return error_set(error, -ENOENT, "no processor of the topology may be used");
    rc = place_require_settle(&report->placement, report->allocation, error);
    if (rc == 0) {
        rc = place_map_make(&report->map, &report->placement, report->allocation, error);
        if (rc == 0)
            rc = place_map_check(&report->map, report->allocation, error);
        if (rc < 0)
            map_report_left_out(report, error);
    }
    if (rc < 0) {
        if (settings->explain > 0)
            map_report_refusal(report, error);
        return rc;
    }
    if (settings->as_json > 0)
        map_report_json(report, out);
    else
        map_report_text(report, settings->explain > 0, out);
    return 0;
}

static int show(const struct run_apps *apps, const struct run_world *world, struct buffer *out,
                struct error *error)
{
    struct run_settings settings = apps->items[0].settings;
    struct allocation allocation;
    struct topology topology;
    struct ranges allowed = {0};
    struct map_report report = {
        .allocation = &allocation, .topology = &topology, .allowed = &allowed};
    int rc = read_topology(&settings, &topology, &allowed, error);

    if (rc < 0)
        return rc;
    report.is_described = settings.topology != NULL;
    if (settings.show_topology > 0) {
        map_report_topology(&report, out);
    } else {
        settings.processes = (uint32_t)run_apps_processes(apps);
        allocation_init(&allocation);
        rc = find_nodes(&settings, world, settings.topology != NULL ? &topology : NULL, &allocation,
                        &report.source, error);
        if (rc == 0)
            rc = make_map(&report, apps, world, out, error);
        place_map_fini(&report.map);
        placement_fini(&report.placement);
        allocation_fini(&allocation);
    }
    topology_fini(&topology);
    ranges_fini(&allowed);
    return rc;
}

int map_verb(int argc, char *const *argv, const struct run_world *world, struct buffer *out,
             struct error *error)
{
    const struct run_settings defaults = {.kill_grace_s = RUN_NOT_GIVEN};
    struct option_rule *rules = all_rules();
    struct run_apps apps = {0};
    int rc = run_apps_parse(rules, &defaults, argc, argv, &apps, error);

    if (rc == 0 && apps.items[0].settings.help > 0)
        map_help(out);
    else if (rc == 0)
        rc = show(&apps, world, out, error);
    run_apps_fini(&apps);
    free(rules);
    return rc;
}
