/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/wait_verb.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch/cli/client/instance_message.h"
#include "launch/cli/client/output_label.h"
#include "launch/cli/client/root_process.h"
#include "launch/cli/option/job_word.h"
#include "launch/cli/verb/instance_verb.h"
#include "launch/proto/control.h"
#include "launch/proto/exit_status.h"

static const struct option_rule wait_rules[] = {
    OPTION_ROW_INSTANCE, OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

static const struct option_rule attach_rules[] = {
    OPTION_ROW_INSTANCE,
    {.kind = OPTION_HEADING, .help = "Output"},
    {.kind = OPTION_FLAG,
     .letter = 'l',
     .name = "label",
     INSTANCE_FIELD(label),
     .help = "prefix each line of output with [rank]"},
    {.kind = OPTION_FLAG,
     .name = "timestamp",
     INSTANCE_FIELD(timestamp),
     .help = "prefix each line with the time at which its node read it: ISO 8601, UTC, in "
             "milliseconds; given twice, nanoseconds"},
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

const struct option_rule *wait_verb_rules(void)
{
    return wait_rules;
}

const struct option_rule *wait_verb_rules_attach(void)
{
    return attach_rules;
}

void wait_verb_help(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan wait [OPTIONS] JOB...\n\n"
                              "Waits until these jobs of an instance have ended, and the jobs that "
                              "they have spawned.\nExits with the highest of their exit "
                              "statuses; those of the last 1,024 jobs that have ended\nare "
                              "known.\n");
    options_help(wait_rules, out);
    buffer_append_string(out, "\nMore in banyan-wait(1).\n");
}

void wait_verb_help_attach(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan attach [OPTIONS] JOB\n\n"
             "Prints what this job of an instance, and those that it has spawned, print "
             "from now on,\nuntil they have ended; of a job of 'banyan run --detach' also what "
             "it has printed so far\n(the last MiB). Ctrl-C ends the printing and not the job. "
             "Exits with the job's exit status.\n");
    options_help(attach_rules, out);
    buffer_append_string(out, "\nMore in banyan-attach(1).\n");
}

struct waiting {
    struct instance_client *client;
    int prints;
    struct output_label_style style;
    struct output_label_line lines[2]; /* stdout's and stderr's */
    uint32_t job; /* attach: the one that was given, whose ranks are labelled by their number */
    struct ranges jobs; /* that have not ended */
    uint32_t status;
    int is_refused; /* one of them: that is the status */
};

/* ---- messages ---- */

static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -errno;
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

static int print_output(struct waiting *waiting, uint32_t job, struct wire_reader *reader,
                        struct error *error)
{
    struct control_output output;
    struct buffer text = {0};
    int rc;

    if (control_output_decode(&output, reader) < 0)
        return 0;
    assert(output.stream == 1 || output.stream == 2); /* the decoder has checked it */
    if (waiting->style.ranks || waiting->style.times != OUTPUT_LABEL_NO_TIME)
        output_label_append_lines(&waiting->style, &waiting->lines[output.stream - 1],
                                  job == waiting->job ? 0 : job, &output, &text);
    else
        buffer_append(&text, output.bytes.data, output.bytes.length_bytes);
    rc = write_all(output.stream == 1 ? STDOUT_FILENO : STDERR_FILENO, (const char *)text.data,
                   text.length_bytes);
    buffer_fini(&text);
    return rc < 0 ? error_set(error, rc, "cannot write the job's output: %s", strerror(-rc)) : 0;
}

static void take_end(struct waiting *waiting, uint32_t job, struct wire_reader *reader)
{
    struct control_job_end end;

    if (control_job_end_decode(&end, reader) < 0)
        return;
    ranges_remove(&waiting->jobs, job, job);
    if (end.status > waiting->status && !waiting->is_refused)
        waiting->status = end.status;
    if (end.text[0] != '\0')
        fprintf(stderr, "banyan: job %u: %s\n", job, end.text);
}

/* The others are still waited for. */
static void take_refusal(struct waiting *waiting, struct wire_reader *reader)
{
    struct control_refused refused;

    if (control_refused_decode(&refused, reader) < 0)
        return;
    fprintf(stderr, "banyan: %s\n", refused.why);
    ranges_remove(&waiting->jobs, refused.request, refused.request);
    waiting->status = EXIT_STATUS_FAILED;
    waiting->is_refused = 1;
}

static int take_message(struct waiting *waiting, uint8_t type, const struct buffer *payload,
                        struct error *error)
{
    struct wire_reader reader;
    uint32_t job;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    if (type == CONTROL_REFUSED)
        take_refusal(waiting, &reader);
    if (type == CONTROL_TEXT && waiting->prints) {
        root_process_print_text(&reader);
        return 0;
    }
    if (type != CONTROL_OUTPUT && type != CONTROL_JOB_END)
        return 0;
    job = control_get_job(&reader);
    if (type == CONTROL_JOB_END)
        take_end(waiting, job, &reader);
    return type == CONTROL_OUTPUT && waiting->prints ? print_output(waiting, job, &reader, error)
                                                     : 0;
}

static int wait_all(struct waiting *waiting, struct error *error)
{
    int rc = 0;

    while (rc == 0 && !ranges_is_empty(&waiting->jobs)) {
        struct buffer payload = {0};
        uint8_t type = 0;

        rc = instance_message_read(waiting->client->fd, -1, &type, &payload);
        if (rc < 0)
            error_set(error, rc, "the instance at %s has ended, or output was not read in time",
                      waiting->client->directory);
        else
            rc = take_message(waiting, type, &payload, error);
        buffer_fini(&payload);
    }
    return rc;
}

/* ---- verbs ---- */

static int subscribe(struct waiting *waiting, const char *word, struct error *error)
{
    struct buffer payload = {0};
    struct job_word parsed;
    int rc = job_word_parse(word, &parsed, error);

    if (rc < 0)
        return rc;
    if (!ranges_is_empty(&parsed.ranks)) {
        rc = error_set(error, -EINVAL, "'%.80s': ranks cannot be waited for, only their job", word);
    } else {
        waiting->job = parsed.job;
        ranges_add(&waiting->jobs, parsed.job, parsed.job);
        control_put_job(parsed.job, &payload);
        rc = instance_message_send(waiting->client->fd, CONTROL_SUBSCRIBE, &payload);
        buffer_fini(&payload);
        if (rc < 0)
            error_set(error, rc, "the instance at %s has ended", waiting->client->directory);
    }
    job_word_fini(&parsed);
    return rc;
}

static int wait_for(struct waiting *waiting, char *const *words, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; words[i] != NULL && rc == 0; i++)
        rc = subscribe(waiting, words[i], error);
    if (rc == 0)
        rc = wait_all(waiting, error);
    ranges_fini(&waiting->jobs);
    return rc < 0 ? rc : (int)waiting->status;
}

static int wait_jobs(struct instance_client *client, const struct instance_settings *settings,
                     char *const *words, struct error *error)
{
    struct waiting waiting = {.client = client};

    (void)settings;
    return wait_for(&waiting, words, error);
}

static int attach(struct instance_client *client, const struct instance_settings *settings,
                  char *const *words, struct error *error)
{
    struct waiting waiting = {
        .client = client,
        .prints = 1,
        .style = {.ranks = settings->label, .times = output_label_times_of(settings->timestamp)}};

    return wait_for(&waiting, words, error);
}

int wait_verb(int argc, char **argv)
{
    static const struct instance_verb verb = {.rules = wait_rules,
                                              .help = wait_verb_help,
                                              .words_min = 1,
                                              .words_max = INT_MAX,
                                              .usage = "wait [OPTIONS] JOB...",
                                              .carry_out = wait_jobs};

    return instance_verb_run(&verb, argc, argv);
}

int wait_verb_attach(int argc, char **argv)
{
    static const struct instance_verb verb = {.rules = attach_rules,
                                              .help = wait_verb_help_attach,
                                              .words_min = 1,
                                              .words_max = 1,
                                              .usage = "attach [OPTIONS] JOB",
                                              .carry_out = attach};

    return instance_verb_run(&verb, argc, argv);
}
