/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/kill_verb.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#include "launch/cli/option/job_word.h"
#include "launch/cli/verb/instance_verb.h"
#include "launch/proto/job_wire.h"

static const struct option_rule kill_rules[] = {
    {.kind = OPTION_HEADING, .help = "How"},
    {.kind = OPTION_FLAG,
     .name = "now",
     INSTANCE_FIELD(now),
     .help =
         "by SIGKILL at once (default: by SIGTERM, and jobs by SIGKILL after the --kill-grace of the "
         "instance)"},
    OPTION_ROW_INSTANCE,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

static const struct option_rule signal_rules[] = {
    OPTION_ROW_INSTANCE, OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

const struct option_rule *kill_verb_rules(void)
{
    return kill_rules;
}

const struct option_rule *kill_verb_rules_signal(void)
{
    return signal_rules;
}

void kill_verb_help(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan kill [OPTIONS] JOB[:RANKS]...\n\n"
                              "Ends jobs of an instance, or some of their ranks: 7, 7:3, "
                              "7:0-15,20.\n");
    options_help(kill_rules, out);
    buffer_append_string(out, "\nMore in banyan-kill(1).\n");
}

void kill_verb_help_signal(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan signal [OPTIONS] SIGNAL JOB[:RANKS]...\n\n"
                              "Sends a signal (USR1, SIGSTOP, 15) to the processes of jobs of an "
                              "instance, or to some\nof their ranks: 7, 7:3, 7:0-15,20.\n");
    options_help(signal_rules, out);
    buffer_append_string(out, "\nMore in banyan-signal(1).\n");
}

/* All words are read before anything is sent. */
static int send_all(struct instance_client *client, char *const *words, uint8_t kind,
                    uint32_t signal, struct error *error)
{
    struct job_word parsed;
    int rc = 0;

    for (size_t i = 0; words[i] != NULL && rc == 0; i++) {
        rc = job_word_parse(words[i], &parsed, error);
        if (rc == 0)
            job_word_fini(&parsed);
    }
    for (size_t i = 0; words[i] != NULL && rc == 0; i++) {
        (void)job_word_parse(words[i], &parsed, NULL);
        rc = instance_client_control(client, parsed.job, kind, signal, &parsed.ranks, error);
        job_word_fini(&parsed);
    }
    return rc < 0 ? rc : EXIT_SUCCESS;
}

static int end_jobs(struct instance_client *client, const struct instance_settings *settings,
                    char *const *words, struct error *error)
{
    return send_all(client, words, settings->now > 0 ? JOB_CONTROL_KILL : JOB_CONTROL_TERMINATE, 0,
                    error);
}

static int signal_jobs(struct instance_client *client, const struct instance_settings *settings,
                       char *const *words, struct error *error)
{
    uint32_t number;
    int rc = job_word_signal(words[0], &number, error);

    (void)settings;
    return rc < 0 ? rc : send_all(client, words + 1, JOB_CONTROL_SIGNAL, number, error);
}

int kill_verb(int argc, char **argv)
{
    static const struct instance_verb verb = {.rules = kill_rules,
                                              .help = kill_verb_help,
                                              .words_min = 1,
                                              .words_max = INT_MAX,
                                              .usage = "kill [OPTIONS] JOB[:RANKS]...",
                                              .carry_out = end_jobs};

    return instance_verb_run(&verb, argc, argv);
}

int kill_verb_signal(int argc, char **argv)
{
    static const struct instance_verb verb = {.rules = signal_rules,
                                              .help = kill_verb_help_signal,
                                              .words_min = 2,
                                              .words_max = INT_MAX,
                                              .usage = "signal [OPTIONS] SIGNAL JOB[:RANKS]...",
                                              .carry_out = signal_jobs};

    return instance_verb_run(&verb, argc, argv);
}
