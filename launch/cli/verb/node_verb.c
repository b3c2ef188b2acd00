/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/node_verb.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "launch/cli/verb/instance_verb.h"
#include "launch/cli/verb/node_add.h"
#include "launch/cli/verb/node_report.h"
#include "launch/cli/verb/verb_output.h"

static const struct option_rule list_rules[] = {
    OPTION_ROW_INSTANCE,
    {.kind = OPTION_HEADING, .help = "Output"},
    OPTION_ROW_JSON,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

#define OF_REMOVE \
    "is one of 'banyan node remove'; what runs on the nodes goes on, and ends normally"

static const struct option_rule change_rules[] = {
    {.kind = OPTION_FLAG, .name = "wait", .refusal = OF_REMOVE},
    {.kind = OPTION_FLAG, .name = "force", .refusal = OF_REMOVE},
    OPTION_ROW_INSTANCE,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

static const struct option_rule add_rules[] = {
    {.kind = OPTION_HEADING, .help = "Nodes"},
    {.kind = OPTION_TEXT,
     .name = "hostfile",
     .aliases = "machinefile",
     .value = "FILE",
     INSTANCE_FIELD(hostfile),
     .help = "the nodes to add, one per line: name, name:4 or name slots=4"},
    {.kind = OPTION_FLAG,
     .name = "from-scheduler",
     INSTANCE_FIELD(from_scheduler),
     .help =
         "those that the job of Slurm has and the instance has not, after the job was extended"},
    OPTION_ROW_INSTANCE,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

static const struct option_rule remove_rules[] = {
    {.kind = OPTION_HEADING, .help = "If jobs use them"},
    {.kind = OPTION_FLAG,
     .name = "wait",
     INSTANCE_FIELD(wait),
     .help = "drain the nodes, wait until no job uses them, and remove them then"},
    {.kind = OPTION_FLAG,
     .name = "force",
     INSTANCE_FIELD(force),
     .help = "remove them at once: to the jobs they are lost"},
    OPTION_ROW_INSTANCE,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

#define COUNT(rules) (sizeof(rules) / sizeof(*(rules)) - 1) /* without OPTION_END */

/* Those of list, add and remove; the others have no more. */
const struct option_rule *node_verb_rules(void)
{
    static struct option_rule rules[COUNT(list_rules) + COUNT(add_rules) + COUNT(remove_rules) + 1];

    memcpy(rules, list_rules, sizeof(list_rules));
    memcpy(rules + COUNT(list_rules), add_rules, sizeof(add_rules));
    memcpy(rules + COUNT(list_rules) + COUNT(add_rules), remove_rules, sizeof(remove_rules));
    return rules;
}

void node_verb_help(struct buffer *out)
{
    buffer_append_string(
        out,
        "Usage: banyan node list [OPTIONS] [NODES...]\n"
        "       banyan node add [OPTIONS] NODES... | --hostfile FILE | --from-scheduler\n"
        "       banyan node drain [OPTIONS] NODES...\n"
        "       banyan node resume [OPTIONS] NODES...\n"
        "       banyan node remove [--wait | --force] [OPTIONS] NODES...\n\n"
        "Lists the nodes of an instance: state, slots, slots in use, and the jobs that use "
        "them.\n'add' starts daemons on more nodes, as n[5-8]:4 (default: 1 slot), by the starter "
        "of the\ninstance, and returns when they are up: all of them, or if one fails none.\n'drain' starts no more processes on nodes, as n[1-3,7]; those that run there "
        "end\nnormally. 'resume' lets new jobs use them again. 'remove' ends their daemons, and "
        "is\nrefused while jobs use them.\n\nOptions of list:\n");
    options_help(list_rules, out);
    buffer_append_string(out, "\nOptions of add:\n");
    options_help(add_rules, out);
    buffer_append_string(out, "\nOptions of remove:\n");
    options_help(remove_rules, out);
    buffer_append_string(out, "\nMore in banyan-node(1).\n");
}

/* The names of all words, as one list. */
static char *join_words(char *const *words)
{
    struct buffer names = {0};
    char *copy;

    assert(words != NULL);
    for (size_t i = 0; words[i] != NULL; i++)
        buffer_printf(&names, "%s%s", i > 0 ? "," : "", words[i]);
    copy = memory_copy_string(buffer_string(&names));
    buffer_fini(&names);
    return copy;
}

static int ask(struct instance_client *client, enum node_list_order order, enum node_list_when when,
               char *const *words, struct node_list *ret_list, struct error *error)
{
    struct node_list_request request = {
        .order = (uint8_t)order, .when = (uint8_t)when, .names = join_words(words)};
    int rc = instance_client_nodes(client, &request, ret_list, error);

    free(request.names);
    return rc;
}

static int list_nodes(struct instance_client *client, const struct instance_settings *settings,
                      char *const *words, struct error *error)
{
    struct buffer text = {0};
    struct node_list list;
    int rc = ask(client, NODE_LIST_SHOW, NODE_LIST_UNUSED, words, &list, error);

    if (rc < 0)
        return rc;
    if (settings->json > 0)
        node_report_json(&list, &text);
    else
        node_report_table(&list, &text);
    node_list_fini(&list);
    return verb_output_print(&text, EXIT_SUCCESS);
}

static int drain_nodes(struct instance_client *client, const struct instance_settings *settings,
                       char *const *words, struct error *error)
{
    struct buffer text = {0};
    struct node_list list;
    int rc = ask(client, NODE_LIST_DRAIN, NODE_LIST_UNUSED, words, &list, error);

    (void)settings;
    if (rc < 0)
        return rc;
    node_report_draining(&list, &text);
    if (text.length_bytes > 0)
        fprintf(stderr, "banyan: %s\n", buffer_string(&text));
    buffer_fini(&text);
    node_list_fini(&list);
    return EXIT_SUCCESS;
}

static int resume_nodes(struct instance_client *client, const struct instance_settings *settings,
                        char *const *words, struct error *error)
{
    struct node_list list;
    int rc = ask(client, NODE_LIST_RESUME, NODE_LIST_UNUSED, words, &list, error);

    (void)settings;
    if (rc < 0)
        return rc;
    node_list_fini(&list);
    return EXIT_SUCCESS;
}

/* With --wait, says for which jobs it waits. */
static int remove_nodes(struct instance_client *client, const struct instance_settings *settings,
                        char *const *words, struct error *error)
{
    enum node_list_when when = settings->force > 0  ? NODE_LIST_FORCE
                               : settings->wait > 0 ? NODE_LIST_WAIT
                                                    : NODE_LIST_UNUSED;
    struct node_list list;
    int rc = 0;

    if (settings->wait > 0 && settings->force > 0)
        return error_set(error, -EINVAL, "options --wait and --force cannot be used together");
    if (when == NODE_LIST_WAIT)
        rc = drain_nodes(client, settings, words, error);
    if (rc == 0)
        rc = ask(client, NODE_LIST_REMOVE, when, words, &list, error);
    if (rc < 0)
        return rc;
    node_list_fini(&list);
    return EXIT_SUCCESS;
}

static const struct node_order {
    const char *name;
    struct instance_verb verb;
} orders[] = {
    {"list",
     {.rules = list_rules,
      .help = node_verb_help,
      .words_max = INT_MAX,
      .usage = "node list [OPTIONS] [NODES...]",
      .carry_out = list_nodes}},
    {"add",
     {.rules = add_rules,
      .help = node_verb_help,
      .words_max = INT_MAX,
      .usage = "node add [OPTIONS] NODES...",
      .check = node_add_check,
      .carry_out = node_add}},
    {"drain",
     {.rules = change_rules,
      .help = node_verb_help,
      .words_min = 1,
      .words_max = INT_MAX,
      .usage = "node drain [OPTIONS] NODES...",
      .carry_out = drain_nodes}},
    {"resume",
     {.rules = change_rules,
      .help = node_verb_help,
      .words_min = 1,
      .words_max = INT_MAX,
      .usage = "node resume [OPTIONS] NODES...",
      .carry_out = resume_nodes}},
    {"remove",
     {.rules = remove_rules,
      .help = node_verb_help,
      .words_min = 1,
      .words_max = INT_MAX,
      .usage = "node remove [--wait | --force] [OPTIONS] NODES...",
      .carry_out = remove_nodes}},
};

#define ORDERS_COUNT (sizeof(orders) / sizeof(orders[0]))

/* Without one of these words after it the verb lists. */
int node_verb(int argc, char **argv)
{
    const char *names[ORDERS_COUNT], *nearest;
    struct error error = ERROR_NONE;

    assert(argc > 0 && argv[argc] == NULL);
    if (argc < 2 || argv[1][0] == '-')
        return instance_verb_run(&orders[0].verb, argc, argv);
    for (size_t i = 0; i < ORDERS_COUNT; i++) {
        names[i] = orders[i].name;
        if (strcmp(argv[1], orders[i].name) == 0) {
            argv[1] = argv[0]; /* of which messages say that it has help */
            return instance_verb_run(&orders[i].verb, argc - 1, argv + 1);
        }
    }
    nearest = nearest_word(argv[1], names, ORDERS_COUNT);
    if (nearest != NULL)
        error_set(&error, -EINVAL, "unknown command 'node %.80s': did you mean 'node %s'?", argv[1],
                  nearest);
    else
        error_set(&error, -EINVAL, "unknown command 'node %.80s'; see 'banyan help node'", argv[1]);
    return verb_output_fail(&error);
}
