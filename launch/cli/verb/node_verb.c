/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/node_verb.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/verb/instance_verb.h"
#include "launch/cli/verb/node_report.h"
#include "launch/cli/verb/verb_output.h"

static const struct option_rule list_rules[] = {
    OPTION_ROW_INSTANCE,
    {.kind = OPTION_HEADING, .help = "Output"},
    OPTION_ROW_JSON,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

static const struct option_rule change_rules[] = {
    OPTION_ROW_INSTANCE, OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

void node_verb_help(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan node list [OPTIONS] [NODES...]\n"
             "       banyan node drain [OPTIONS] NODES...\n"
             "       banyan node resume [OPTIONS] NODES...\n\n"
             "Lists the nodes of an instance: state, slots, slots in use, and the jobs that use "
             "them.\n'drain' starts no more processes on nodes, as n[1-3,7]; those that run there "
             "end\nnormally. 'resume' lets new jobs use them again.\n");
    options_help(list_rules, out);
}

/* The names of all words, as one list. */
static char *join_words(char *const *words)
{
    struct buffer names = {0};
    char *copy;

    for (size_t i = 0; words[i] != NULL; i++)
        buffer_printf(&names, "%s%s", i > 0 ? "," : "", words[i]);
    copy = memory_copy_string(buffer_string(&names));
    buffer_fini(&names);
    return copy;
}

static int ask(struct instance_client *client, enum node_list_order order, char *const *words,
               struct node_list *ret_list, struct error *error)
{
    char *names = join_words(words);
    int rc = instance_client_nodes(client, order, names, ret_list, error);

    free(names);
    return rc;
}

static int list_nodes(struct instance_client *client, const struct instance_settings *settings,
                      char *const *words, struct error *error)
{
    struct buffer text = {0};
    struct node_list list;
    int rc = ask(client, NODE_LIST_SHOW, words, &list, error);

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
    int rc = ask(client, NODE_LIST_DRAIN, words, &list, error);

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
    int rc = ask(client, NODE_LIST_RESUME, words, &list, error);

    (void)settings;
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
};

#define ORDERS_COUNT (sizeof(orders) / sizeof(orders[0]))

/* Without one of these words after it the verb lists. */
int node_verb(int argc, char **argv)
{
    const char *names[ORDERS_COUNT], *nearest;
    struct error error = ERROR_NONE;

    if (argc < 2 || argv[1][0] == '-')
        return instance_verb_run(&orders[0].verb, argc, argv);
    for (size_t i = 0; i < ORDERS_COUNT; i++) {
        names[i] = orders[i].name;
        if (strcmp(argv[1], orders[i].name) == 0) {
            argv[1] = argv[0]; /* of which messages say that it has help */
            return instance_verb_run(&orders[i].verb, argc - 1, argv + 1);
        }
    }
    nearest = options_nearest(argv[1], names, ORDERS_COUNT);
    if (nearest != NULL)
        error_set(&error, -EINVAL, "unknown command 'node %.80s': did you mean 'node %s'?", argv[1],
                  nearest);
    else
        error_set(&error, -EINVAL, "unknown command 'node %.80s'; see 'banyan help node'", argv[1]);
    return verb_output_fail(&error);
}
