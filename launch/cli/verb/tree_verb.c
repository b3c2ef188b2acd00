/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/tree_verb.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "launch/cli/client/instance_client.h"
#include "launch/cli/option/options.h"
#include "launch/cli/request/request_configured.h"
#include "launch/cli/request/request_nodes.h"
#include "launch/cli/request/request_settings.h"
#include "launch/cli/request/request_shape.h"
#include "launch/cli/request/request_starter.h"
#include "launch/cli/verb/tree_report.h"

struct tree_settings {
    struct request_settings run; /* the first: options of run find their fields in it */
    int json;
    int dot;
    int svg;
    uint32_t levels;
    const char *instance;
};

#define FIELD(member) .offset = offsetof(struct tree_settings, member)

static const char *const tree_names[] = {"host",     "hostfile", "source",    "virtual-nodes",
                                         "radix",    "starter",  "ssh-agent", "fabric-topology",
                                         "no-shape", "help",     "version"};

#define TREE_NAMES (sizeof(tree_names) / sizeof(tree_names[0]))

static const struct option_rule own_rules[] = {
    {.kind = OPTION_HEADING, .help = "What to show"},
    {.kind = OPTION_LIST,
     .name = "nodes",
     .value = "LIST",
     FIELD(run.nodes),
     .help = "nodes that need not exist, as n[1-1000]"},
    {.kind = OPTION_NUMBER,
     .name = "levels",
     .value = "N",
     FIELD(levels),
     .minimum = 1,
     .maximum = TREE_DEPTH_MAX + 1,
     .help = "list N levels, of which the root is the first, and only count what is below"},
    {.kind = OPTION_TEXT,
     .name = "instance",
     .value = "DIR",
     FIELD(instance),
     .help =
         "the tree of this instance (default, unless an option of run is given: $BANYAN_INSTANCE, "
         "or the only one of yours on this machine)"},
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG, .name = "dot", FIELD(dot), .help = "print a graph for dot(1)"},
    {.kind = OPTION_FLAG, .name = "svg", FIELD(svg), .help = "draw it"},
    {.kind = OPTION_FLAG, .name = "json", FIELD(json), .help = "print JSON"},
    {.kind = OPTION_END}};

#define OWN_RULES (sizeof(own_rules) / sizeof(own_rules[0]))

const struct option_rule *tree_verb_rules(void)
{
    static struct option_rule rules[TREE_NAMES + OWN_RULES + 1];

    request_settings_make_rules(tree_names, TREE_NAMES, own_rules, rules);
    return rules;
}

void tree_verb_help(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan tree [OPTIONS]\n\n"
                              "Shows the tree that the daemons of an instance form, or those of a "
                              "run would form,\nand starts nothing.\n");
    options_help(tree_verb_rules(), out);
    buffer_append_string(out, "\nMore in banyan-tree(1).\n");
}

/* The nodes, and the radix that the starter would choose. */
static int find_nodes(struct tree_settings *settings, const struct request_ops *ops,
                      struct request_nodes *ret_nodes, uint32_t *ret_radix, struct error *error)
{
    struct request_nodes nodes = {.source = NULL};
    struct instance_spec instance;
    char *listed;
    int rc;

    request_configured_fill_nodes(ops->configured, &settings->run);
    if (settings->run.nodes.count == 0) {
        rc = request_nodes_find(&settings->run, ops, &nodes, error);
    } else {
        allocation_init(&nodes.allocation);
        listed = options_list_join(&settings->run.nodes, ",");
        rc = allocation_parse_hosts(&nodes.allocation, listed, error);
        free(listed);
        if (rc < 0) {
            error_prefix(error, "option --nodes");
            allocation_fini(&nodes.allocation);
        }
    }
    if (rc < 0)
        return rc;
    instance_spec_init(&instance);
    request_configured_limit_radix(&settings->run, allocation_nodes(&nodes.allocation));
    rc = request_starter_choose(&settings->run, ops, &nodes, &instance, error);
    if (rc == 0)
        rc = request_settings_check_radix(&settings->run, allocation_nodes(&nodes.allocation),
                                          error);
    *ret_radix = settings->run.radix > 0 ? settings->run.radix : instance.radix;
    instance_spec_fini(&instance);
    if (rc < 0)
        request_nodes_fini(&nodes);
    else
        *ret_nodes = nodes; /* moved */
    return rc;
}

/* What is shown, with the nodes in the order of the allocation. */
struct shown {
    struct tree tree;
    const struct allocation *allocation;
    const struct fabric_model *model; /* NULL: not known */
    const char *root;                 /* the machine of the root; "": not known */
};

static void print_report(const struct tree_settings *settings, const struct shown *shown,
                         const struct hostlist *names, const struct tree_fabric *fabric,
                         struct buffer *out)
{
    struct tree_report report;

    tree_report_make(&report, &shown->tree, names, fabric, settings->levels);
    if (settings->dot > 0)
        tree_report_dot(&report, out);
    else if (settings->svg > 0)
        tree_report_svg(&report, out);
    else if (settings->json > 0)
        tree_report_json(&report, out);
    else
        tree_report_text(&report, out);
    tree_report_fini(&report);
}

static void print_tree(const struct tree_settings *settings, const struct shown *shown,
                       struct buffer *out)
{
    struct hostlist *names = allocation_tree_names(shown->allocation);
    struct tree_fabric fabric;

    assert(shown->tree.radix >= TREE_RADIX_MIN);
    if (shown->model != NULL)
        tree_fabric_init(&fabric, shown->model, names, shown->root);
    print_report(settings, shown, names, shown->model != NULL ? &fabric : NULL, out);
    if (shown->model != NULL)
        tree_fabric_fini(&fabric);
    hostlist_destroy(names);
}

/* What a run would have. */
static int show_planned(struct tree_settings *settings, const struct request_ops *ops,
                        struct buffer *out, struct error *error)
{
    struct shown shown = {.root = ops->host_name};
    struct request_nodes nodes;
    struct fabric_model model;
    struct buffer notes = {0};
    int rc = find_nodes(settings, ops, &nodes, &shown.tree.radix, error);

    if (rc < 0)
        return rc;
    rc = request_shape_find(&settings->run, ops, &nodes, &model, &notes, error);
    if (rc > 0 && settings->run.no_shape == 0)
        request_shape_order(&model, &nodes.allocation, &notes);
    if (rc >= 0) {
        shown.model = rc > 0 ? &model : NULL;
        shown.allocation = &nodes.allocation;
        shown.tree.places = allocation_nodes(&nodes.allocation) + 1;
        print_tree(settings, &shown, out);
    }
    if (rc > 0)
        fabric_model_fini(&model);
    buffer_fini(&notes);
    request_nodes_fini(&nodes);
    return rc < 0 ? rc : 0;
}

static void show_list(const struct tree_settings *settings, const struct allocation *roster,
                      const struct node_list *list, const struct fabric_model *model,
                      struct buffer *out)
{
    struct ranges dead = {0};
    struct shown shown = {.tree = {.places = list->places,
                                   .population = allocation_nodes(roster) + 1,
                                   .radix = list->radix,
                                   .dead = &dead},
                          .allocation = roster,
                          .model = model,
                          .root = "-"};

    node_order_tree_places(roster->order, &list->out, &dead);
    print_tree(settings, &shown, out);
    ranges_fini(&dead);
}

/* -ENOENT if there is no instance, of several -ENOTUNIQ. */
static int show_living(const struct tree_settings *settings, const struct request_ops *ops,
                       struct buffer *out, struct error *error)
{
    static char all[] = "";
    const struct node_list_request request = {.order = NODE_LIST_SHOW, .names = all};
    const struct request_nodes elsewhere = {.source = NULL};
    struct instance_client client;
    struct fabric_model model;
    struct buffer notes = {0};
    struct node_list list;
    int rc = instance_client_open(&client, settings->instance, error);
    int is_known = 0;

    if (rc < 0)
        return rc;
    is_known = request_shape_find(&settings->run, ops, &elsewhere, &model, &notes, error);
    rc = is_known < 0 ? is_known : instance_client_nodes(&client, &request, &list, error);
    if (rc == 0) {
        show_list(settings, &client.roster, &list, is_known > 0 ? &model : NULL, out);
        node_list_fini(&list);
    }
    if (is_known > 0)
        fabric_model_fini(&model);
    instance_client_close(&client);
    buffer_fini(&notes);
    return rc;
}

/* Whether an option of run describes the nodes or the tree. */
static int has_plan(const struct request_settings *run)
{
    return run->nodes.count > 0 || run->hosts.count > 0 || run->host_files.count > 0 ||
           run->source != NULL || run->virtual_nodes > 0 || run->radix > 0 ||
           run->starter != NULL || run->agent != NULL || run->no_shape > 0;
}

static int show_tree(struct tree_settings *settings, const struct request_ops *ops,
                     struct buffer *out, struct error *error)
{
    int is_planned = has_plan(&settings->run), rc;

    if ((settings->dot > 0) + (settings->svg > 0) + (settings->json > 0) > 1)
        return error_set(error, -EINVAL, "give only one of --dot, --svg and --json");
    if (is_planned && settings->instance != NULL)
        return error_set(error, -EINVAL,
                         "option --instance: its tree stands; give no option of a run");
    if (is_planned)
        return show_planned(settings, ops, out, error);
    rc = show_living(settings, ops, out, error);
    return rc == -ENOENT && settings->instance == NULL ? show_planned(settings, ops, out, error)
                                                       : rc;
}

int tree_verb(int argc, char *const *argv, const struct request_ops *ops, struct buffer *out,
              struct error *error)
{
    struct tree_settings settings = {.json = 0};
    int next = 0;
    int rc = options_parse(tree_verb_rules(), argc, argv, &settings, &next, error);

    if (rc == 0 && settings.run.help > 0)
        tree_verb_help(out);
    else if (rc == 0 && settings.run.version > 0)
        options_version(out);
    else if (rc == 0 && next < argc)
        rc = error_set(error, -EINVAL, "unknown argument '%.80s': banyan tree starts nothing",
                       argv[next]);
    else if (rc == 0)
        rc = show_tree(&settings, ops, out, error);
    request_settings_fini(&settings.run);
    return rc;
}
