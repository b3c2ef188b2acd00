/* SPDX-License-Identifier: BSD-3-Clause */
/* What the verbs share that ask an instance: its option, and how they begin. */
#ifndef LAUNCH_CLI_VERB_INSTANCE_VERB_H
#define LAUNCH_CLI_VERB_INSTANCE_VERB_H

#include "base/buffer.h"
#include "launch/cli/client/instance_client.h"
#include "launch/cli/option/options.h"

struct instance_settings {
    const char *instance;
    const char *hostfile;
    int json;
    int now;
    int force;
    int from_scheduler;
    int verbose;
    int processes;
    int stack;
    int label;
    int timestamp;
    int wait;
    int once;
    uint32_t interval_s;
    int help;
    int version;
};

#define INSTANCE_FIELD(member) .offset = offsetof(struct instance_settings, member)
#define OPTION_ROW_INSTANCE                                                                \
    {.kind = OPTION_HEADING, .help = "Which instance"},                                    \
    {                                                                                      \
        .kind = OPTION_TEXT, .name = "instance", .value = "DIR", INSTANCE_FIELD(instance), \
        .help = "the instance whose directory 'banyan start' has printed (default: "       \
                "$BANYAN_INSTANCE, or the only one of yours in $TMPDIR on this machine, "  \
                "or that of the scheduler's job)"                                          \
    }
#define OPTION_ROW_JSON                                                                 \
    {                                                                                   \
        .kind = OPTION_FLAG, .name = "json", INSTANCE_FIELD(json), .help = "print JSON" \
    }

struct instance_verb {
    const struct option_rule *rules;
    void (*help)(struct buffer *out);
    int words_min; /* beside the options */
    int words_max;
    const char *usage; /* what is expected, if the words are too few or too many */
    /* What can be seen without the instance; NULL: nothing. */
    int (*check)(const struct instance_settings *settings, char *const *words, struct error *error);
    /* Returns the exit status; a negative errno with an error is EXIT_STATUS_FAILED. */
    int (*carry_out)(struct instance_client *client, const struct instance_settings *settings,
                     char *const *words, struct error *error);
};

/* Parses the command line, becomes a client of the instance, and carries the verb out.  Returns the exit status. */
int instance_verb_run(const struct instance_verb *verb, int argc, char **argv);

#endif
