/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/push_verb.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/cli/client/stage_sender.h"
#include "launch/cli/verb/instance_verb.h"

static const struct option_rule push_rules[] = {
    {.kind = OPTION_HEADING, .help = "How"},
    {.kind = OPTION_FLAG,
     .name = "force",
     INSTANCE_FIELD(force),
     .help = "replace files that exist and differ (default: that is an error)"},
    {.kind = OPTION_FLAG,
     .letter = 'v',
     .name = "verbose",
     INSTANCE_FIELD(verbose),
     .help = "report how much was sent"},
    OPTION_ROW_INSTANCE,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

const struct option_rule *push_verb_rules(void)
{
    return push_rules;
}

void push_verb_help(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan push [OPTIONS] FILE|DIR[:DEST]...\n\n"
             "Copies files to all nodes of an instance, into the directory that its jobs find in\n"
             "$BANYAN_STAGE, as DEST, or under the same relative path; an absolute DEST is a path "
             "on\nthe nodes.  What the nodes have already is not sent again.\n");
    options_help(push_rules, out);
    buffer_append_string(out, "\nMore in banyan-push(1).\n");
}

struct push {
    struct instance_client *client;
    int rc; /* of the last message */
};

static void send_payload(void *context, struct buffer *payload)
{
    struct push *push = context;

    if (push->rc == 0)
        push->rc = instance_client_send(push->client, payload);
}

static int send_files(struct instance_client *client, struct stage_files *files,
                      struct stage_sender_sums *ret_sums, struct error *error)
{
    struct push push = {.client = client};
    struct stage_sender *sender = stage_sender_create(files, 0, send_payload, &push);
    struct buffer payload = {0};
    struct control_answer answer;
    int rc = 0;

    while (rc >= 0 && !stage_sender_is_done(sender)) {
        rc = stage_sender_work(sender, error);
        if (rc != 0)
            continue;
        buffer_clear(&payload);
        rc = instance_client_answer(client, push.rc, &payload, &answer, error);
        if (rc == 0)
            rc = stage_sender_answer(sender, &answer, error);
    }
    *ret_sums = stage_sender_sums(sender);
    stage_sender_destroy(sender);
    buffer_fini(&payload);
    return rc;
}

static int push_files(struct instance_client *client, const struct instance_settings *settings,
                      char *const *words, struct error *error)
{
    struct stage_files *files = stage_files_create(settings->force > 0);
    struct stage_sender_sums sums = {.nodes = 0};
    int rc = 0;

    for (size_t i = 0; words[i] != NULL && rc == 0; i++)
        rc = stage_files_add(files, words[i], error);
    if (rc == 0)
        rc = send_files(client, files, &sums, error);
    stage_files_destroy(files);
    if (rc < 0)
        return rc;
    if (settings->verbose > 0)
        fprintf(stderr, "banyan: %llu bytes on %u nodes, of which %llu were sent\n",
                (unsigned long long)sums.bytes, sums.nodes, (unsigned long long)sums.sent_bytes);
    return EXIT_SUCCESS;
}

int push_verb(int argc, char **argv)
{
    static const struct instance_verb verb = {.rules = push_rules,
                                              .help = push_verb_help,
                                              .words_min = 1,
                                              .words_max = INT_MAX,
                                              .usage = "push [OPTIONS] FILE|DIR[:DEST]...",
                                              .carry_out = push_files};

    return instance_verb_run(&verb, argc, argv);
}
