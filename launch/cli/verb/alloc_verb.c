/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/alloc_verb.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/same_node.h"
#include "launch/cli/remote/alloc_cluster.h"
#include "launch/cli/verb/alloc_report.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request_configured.h"
#include "launch/cli/request/request_facts.h"
#include "launch/cli/request/request_nodes.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/request/request_starter.h"

#define NODES_VIRTUAL_MAX 4096
#define LINE_BYTES        512

struct alloc_settings {
    struct request_settings run;
    int json;
    int explain;
};

#define FIELD(member) .offset = offsetof(struct alloc_settings, member)

static const struct option_rule alloc_rules[] = {
    {.kind = OPTION_HEADING, .help = "Nodes, as for banyan run"},
    {.kind = OPTION_LIST,
     .letter = 'H',
     .name = "host",
     .aliases = "hosts",
     .value = "LIST",
     FIELD(run.hosts),
     .help = "nodes and their slots: a,b:4,n[01-16]:8; +n3, +e and ^n7 are relative"},
    {.kind = OPTION_LIST,
     .name = "hostfile",
     .aliases = "machinefile",
     .value = "FILE",
     FIELD(run.host_files),
     .help = "the same, one node per line"},
    {.kind = OPTION_TEXT,
     .name = "source",
     .value = "NAME",
     FIELD(run.source),
     .choices = REQUEST_SOURCES,
     .help = "take the nodes from this scheduler's environment; 'local' ignores schedulers"},
    {.kind = OPTION_NUMBER,
     .name = "virtual-nodes",
     .value = "N",
     FIELD(run.virtual_nodes),
     .minimum = 1,
     .maximum = NODES_VIRTUAL_MAX,
     .help = "N nodes v1..vN on this machine"},
    {.kind = OPTION_NUMBER,
     .name = "slots",
     .value = "N",
     FIELD(run.slots),
     .minimum = 1,
     .maximum = ALLOCATION_SLOTS_MAX,
     .help = "slots of each node for which the scheduler gives no count"},
    {.kind = OPTION_LIST,
     .name = "facts",
     .value = "NODES:FACTS",
     FIELD(run.facts),
     .help = "declare attributes of nodes: n[1-4]:mem=64G,arch=x86_64,os=linux,feature=A|B,gpus=2"},
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG,
     .name = "explain",
     FIELD(explain),
     .help = "print where each count comes from: file and line, variable, hwloc"},
    {.kind = OPTION_FLAG, .name = "json", FIELD(json), .help = "print JSON"},
    OPTION_ROWS_ABOUT(struct alloc_settings, run.help, run.version)};

const struct option_rule *alloc_verb_rules(void)
{
    return alloc_rules;
}

void alloc_verb_help(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan alloc [OPTIONS] [CLUSTER]\n\n"
             "Shows the nodes that a run would have, and starts nothing.  Of a CLUSTER\n"
             "that banyan.conf describes it shows what 'run --alloc CLUSTER' uses.\n");
    options_help(alloc_rules, out);
    buffer_append_string(out, "\nMore in banyan-alloc(1).\n");
}

/* "CPUs 0-1,4 (its binding; cgroup /user.slice)" as the kernel says it, or NULL. */
static const char *cpus_of_this_process(const struct request_ops *ops, char line[LINE_BYTES])
{
    struct buffer status = {0};
    struct buffer cgroup = {0};
    const char *text, *at;
    size_t used = 0;

    (void)ops->read_file("/proc/self/status", &status, NULL);
    (void)ops->read_file("/proc/self/cgroup", &cgroup, NULL);
    text = buffer_string(&status);
    at = strstr(text, "Cpus_allowed_list:");
    if (at != NULL) {
        at += strcspn(at, "0123456789\n");
        used = (size_t)snprintf(line, LINE_BYTES, "the CPUs %.*s", (int)strcspn(at, "\n"), at);
    }
    text = buffer_string(&cgroup);
    at = strstr(text, "0::");
    if (used > 0 && used < LINE_BYTES && at != NULL)
        snprintf(line + used, LINE_BYTES - used, " (by its binding and its cgroup %.*s)",
                 (int)strcspn(at + 3, "\n"), at + 3);
    buffer_fini(&status);
    buffer_fini(&cgroup);
    return used > 0 ? line : NULL;
}

static int uses_own_cores(const struct allocation_trace *trace)
{
    for (uint32_t i = 0; i < trace->count; i++) {
        if (strncmp(trace->entries[i].place, "hwloc", strlen("hwloc")) == 0)
            return 1;
    }
    return 0;
}

/* Facts of the nodes, and of this machine if it is one of them, without the flags of its
 * processors. */
static int find_facts(const struct alloc_settings *settings, const struct request_ops *ops,
                      const struct request_nodes *nodes, struct facts_table *table,
                      struct error *unknown, struct error *error)
{
    const struct allocation *allocation = &nodes->allocation;
    struct node_facts own = {.known = 0};
    struct ranges here = {0};
    char name[HOST_NAME_BYTES_MAX + 1];
    int rc = request_facts_given(&settings->run.facts, allocation, table, error);

    if (rc < 0)
        return rc;
    request_facts_clusters(ops->configured != NULL ? &ops->configured->site : NULL, allocation,
                           table);
    (void)request_facts_ask(ops, nodes->source, allocation, table, unknown);
    hostlist_name(allocation->names, 0, name);
    if (settings->run.virtual_nodes > 0)
        ranges_add(&here, 0, allocation_nodes(allocation) - 1);
    else if (allocation_nodes(allocation) == 1 && same_node_is_here(name, ops->host_name))
        ranges_add(&here, 0, 0);
    if (ops->facts != NULL && !ranges_is_empty(&here)) {
        ops->facts(&own);
        free(own.features);
        own.features = NULL;
        facts_table_add(table, &own, &here);
    }
    ranges_fini(&here);
    return 0;
}

static void print_report(const struct alloc_settings *settings, const struct request_ops *ops,
                         const struct alloc_report *known, struct buffer *out)
{
    struct alloc_report report = *known;
    char line[LINE_BYTES];

    if (settings->explain > 0) {
        report.trace = ops->trace;
        if (uses_own_cores(ops->trace))
            report.cpus = cpus_of_this_process(ops, line);
    }
    if (settings->json > 0)
        alloc_report_json(&report, out);
    else
        alloc_report_table(&report, out);
}

static int show_allocation(const struct alloc_settings *settings, const struct request_ops *ops,
                           struct buffer *out, struct error *error)
{
    struct instance_spec instance;
    struct request_nodes nodes;
    struct facts_table facts = {.count = 0};
    struct error unknown = ERROR_NONE;
    int rc = request_nodes_find(&settings->run, ops, &nodes, error);

    if (rc < 0)
        return rc;
    rc = find_facts(settings, ops, &nodes, &facts, &unknown, error);
    instance_spec_init(&instance);
    if (rc == 0)
        rc = request_starter_choose(&settings->run, ops, &nodes, &instance, error);
    if (rc == 0) {
        const char *name = request_starter_name(instance.starter);
        const struct alloc_report known = {
            .nodes = &nodes,
            .facts = &facts,
            .unknown = unknown.code < 0 && settings->explain > 0 ? unknown.text : NULL,
            .starter = instance.starter == STARTER_SSH ? instance.agent : name,
        };

        print_report(settings, ops, &known, out);
    }
    facts_table_fini(&facts);
    instance_spec_fini(&instance);
    request_nodes_fini(&nodes);
    return rc;
}

/* `banyan alloc west`: what --alloc west would use. */
static int show_cluster(int argc, char *const *argv, const struct request_ops *ops,
                        struct buffer *out, struct error *error)
{
    if (argc > 1 || ops->configured == NULL)
        return error_set(error, -EINVAL,
                         "unexpected argument '%.80s': give one cluster, or options",
                         argv[argc - 1]);
    return alloc_cluster_show(&ops->configured->site, ops->host_name, argv[0], out, error);
}

int alloc_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
               struct error *error)
{
    struct alloc_settings settings = {.json = 0};
    struct allocation_trace trace = {.count = 0};
    struct request_ops traced = *ops;
    int next = 0;
    int rc = options_parse(alloc_rules, argc, argv, &settings, &next, error);

    if (rc == 0)
        request_configured_fill_nodes(ops->configured, &settings.run);
    traced.trace = settings.explain > 0 ? &trace : NULL;
    if (rc == 0 && settings.run.help > 0)
        alloc_verb_help(out);
    else if (rc == 0 && settings.run.version > 0)
        options_version(out);
    else if (rc == 0 && next < argc)
        rc = show_cluster(argc - next, argv + next, ops, out, error);
    else if (rc == 0)
        rc = show_allocation(&settings, &traced, out, error);
    request_settings_fini(&settings.run);
    allocation_trace_fini(&trace);
    explicit_bzero(traced.random, sizeof(traced.random));
    return rc;
}
