/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/ps_verb.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/wire.h"
#include "launch/cli/client/stack_report.h"
#include "launch/cli/option/job_word.h"
#include "launch/cli/verb/instance_report.h"
#include "launch/cli/verb/instance_verb.h"
#include "launch/cli/verb/verb_output.h"
#include "launch/exec/session_about.h"
#include "launch/proto/control.h"

static const struct option_rule status_rules[] = {
    OPTION_ROW_INSTANCE,
    {.kind = OPTION_HEADING, .help = "Output"},
    OPTION_ROW_JSON,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

static const struct option_rule ps_rules[] = {
    {.kind = OPTION_HEADING, .help = "What to list"},
    {.kind = OPTION_FLAG,
     .letter = 'p',
     .name = "processes",
     INSTANCE_FIELD(processes),
     .help = "the processes of all jobs"},
    {.kind = OPTION_FLAG,
     .name = "stack",
     INSTANCE_FIELD(stack),
     .help = "in which functions the ranks of a job are (by gdb or eu-stack)"},
    OPTION_ROW_INSTANCE,
    {.kind = OPTION_HEADING, .help = "Output"},
    OPTION_ROW_JSON,
    OPTION_ROWS_ABOUT(struct instance_settings, help, version)};

const struct option_rule *ps_verb_rules(void)
{
    return ps_rules;
}

const struct option_rule *ps_verb_rules_status(void)
{
    return status_rules;
}

void ps_verb_help_status(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan status [OPTIONS]\n\n"
                              "Shows an instance that 'banyan start' has started: its root, nodes, "
                              "slots and jobs.\n");
    options_help(status_rules, out);
    buffer_append_string(out, "\nMore in banyan-status(1).\n");
}

void ps_verb_help(struct buffer *out)
{
    buffer_append_string(out, "Usage: banyan ps [OPTIONS] [JOB[:RANKS]...]\n\n"
                              "Lists the jobs of an instance that have not ended; of the jobs that "
                              "are given, the\nprocesses: node, process id, memory, whether it is "
                              "connected by PMIx or PMI, state.\n");
    buffer_append_string(out,
                         "With --stack, and one JOB: where its ranks stand in their program.\n");
    options_help(ps_rules, out);
    buffer_append_string(out, "\nMore in banyan-ps(1).\n");
}

/* When its root began to listen. */
static time_t time_begun(const char *directory)
{
    char *path = memory_printf("%s/" CONTROL_SOCKET, directory);
    struct stat status;
    time_t begun = stat(path, &status) == 0 ? status.st_mtime : 0;

    free(path);
    return begun;
}

/* about: empty; the report points into it. */
static void report_of(const struct instance_client *client, const struct pmi_instance_facts *facts,
                      struct session_about *about, struct instance_report *ret_report)
{
    (void)session_about_read(client->directory, about); /* without, no job is shown */
    *ret_report = (struct instance_report){.directory = client->directory,
                                           .root = (uint32_t)client->root,
                                           .since = time_begun(client->directory),
                                           .scheduler_job = about->job,
                                           .scheduler_name = about->name,
                                           .roster = &client->roster,
                                           .facts = facts};
}

static int show_status(struct instance_client *client, const struct instance_settings *settings,
                       char *const *words, struct error *error)
{
    struct instance_report report;
    struct pmi_instance_facts facts;
    struct session_about about = {.version = ""};
    char none[] = "";
    const struct node_list_request all = {.order = NODE_LIST_SHOW, .names = none};
    struct node_list nodes;
    struct buffer text = {0};
    int rc = instance_client_jobs(client, &facts, error);

    (void)words;
    if (rc < 0)
        return rc;
    rc = instance_client_nodes(client, &all, &nodes, error);
    if (rc == 0) {
        report_of(client, &facts, &about, &report);
        report.list = &nodes;
        instance_report_status(&report, settings->json, &text);
        node_list_fini(&nodes);
    }
    pmi_instance_facts_fini(&facts);
    return rc < 0 ? rc : verb_output_print(&text, EXIT_SUCCESS);
}

/* ---- processes ---- */

static void keep_ranks(struct pmi_node_facts *node, const struct ranges *ranks)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < node->processes_count; i++) {
        if (ranges_is_empty(ranks) || ranges_contains(ranks, node->processes[i].rank))
            node->processes[left++] = node->processes[i];
    }
    assert(left <= node->processes_count);
    node->processes_count = left;
}

/* Adds what the nodes of a job say. */
static int add_nodes(struct instance_client *client, const struct pmi_job_facts *job,
                     const struct ranges *ranks, struct instance_report *report,
                     struct error *error)
{
    struct pmi_node_facts *nodes = (struct pmi_node_facts *)(uintptr_t)report->nodes;
    struct buffer data = {0};
    struct wire_reader reader;
    int rc;

    assert(job->phase != PMI_JOB_ENDED);
    rc = instance_client_processes(client, job->number, &job->places, &data, error);

    wire_reader_init(&reader, data.data, data.length_bytes);
    while (rc == 0 && wire_left(&reader) > 0) {
        nodes = memory_resize(nodes, (report->nodes_count + 1) * sizeof(*nodes));
        report->nodes = nodes;
        rc = pmi_node_facts_decode(&nodes[report->nodes_count], &reader);
        if (rc < 0)
            error_set(error, rc, "the answer of the nodes of job %u cannot be read", job->number);
        else
            keep_ranks(&nodes[report->nodes_count++], ranks);
    }
    buffer_fini(&data);
    return rc;
}

static int add_word(struct instance_client *client, const char *word,
                    struct instance_report *report, struct error *error)
{
    const struct pmi_job_facts *job;
    struct job_word parsed;
    int rc = job_word_parse(word, &parsed, error);

    if (rc < 0)
        return rc;
    job = pmi_instance_facts_find(report->facts, parsed.job);
    if (job == NULL || job->phase == PMI_JOB_ENDED)
        rc = error_set(error, -ENOENT, "no job %u is running", parsed.job);
    else if (!ranges_is_empty(&parsed.ranks) && ranges_max(&parsed.ranks) >= job->size)
        rc = error_set(error, -ENOENT, "no job %u is running that has these ranks", parsed.job);
    else
        rc = add_nodes(client, job, &parsed.ranks, report, error);
    job_word_fini(&parsed);
    return rc;
}

static int add_all(struct instance_client *client, char *const *words,
                   struct instance_report *report, struct error *error)
{
    const struct ranges all = {0};
    int rc = 0;

    for (size_t i = 0; words[i] != NULL && rc == 0; i++)
        rc = add_word(client, words[i], report, error);
    for (uint32_t i = 0; words[0] == NULL && i < report->facts->jobs_count && rc == 0; i++) {
        if (report->facts->jobs[i].phase != PMI_JOB_ENDED)
            rc = add_nodes(client, &report->facts->jobs[i], &all, report, error);
    }
    return rc;
}

static void nodes_free(struct instance_report *report)
{
    struct pmi_node_facts *nodes = (struct pmi_node_facts *)(uintptr_t)report->nodes;

    for (uint32_t i = 0; i < report->nodes_count; i++)
        pmi_node_facts_fini(&nodes[i]);
    free(nodes);
}

/* ---- stacks ---- */

static int show_stacks(struct instance_client *client, const struct instance_settings *settings,
                       char *const *words, struct error *error)
{
    struct stack_fold fold;
    struct job_word parsed;
    struct buffer text = {0};
    int rc;

    if (settings->json || settings->processes)
        return error_set(error, -EINVAL, "option --stack cannot be used with --%s",
                         settings->json ? "json" : "processes");
    if (words[0] == NULL || words[1] != NULL)
        return error_set(error, -EINVAL,
                         "option --stack needs one job; usage: banyan ps --stack JOB");
    rc = job_word_parse(words[0], &parsed, error);
    if (rc < 0)
        return rc;
    if (!ranges_is_empty(&parsed.ranks))
        rc = error_set(error, -EINVAL, "option --stack is of a whole job: give its number, %u",
                       parsed.job);
    if (rc == 0)
        rc = instance_client_stacks(client, parsed.job, &fold, error);
    job_word_fini(&parsed);
    if (rc < 0)
        return rc;
    stack_report(&fold, client->roster.names, &text);
    stack_fold_fini(&fold);
    if (text.length_bytes == 0)
        buffer_append_string(&text, "none of its ranks runs\n");
    return verb_output_print(&text, EXIT_SUCCESS);
}

static int list(struct instance_client *client, const struct instance_settings *settings,
                char *const *words, struct error *error)
{
    struct instance_report report;
    struct pmi_instance_facts facts;
    struct session_about about = {.version = ""};
    struct buffer text = {0};
    int rc;

    if (settings->stack)
        return show_stacks(client, settings, words, error);
    rc = instance_client_jobs(client, &facts, error);
    if (rc < 0)
        return rc;
    report_of(client, &facts, &about, &report);
    if (words[0] == NULL && settings->processes == 0) {
        instance_report_jobs(&report, settings->json, &text);
    } else {
        rc = add_all(client, words, &report, error);
        if (rc == 0)
            instance_report_processes(&report, settings->json, &text);
        nodes_free(&report);
    }
    pmi_instance_facts_fini(&facts);
    return rc < 0 ? rc : verb_output_print(&text, EXIT_SUCCESS);
}

int ps_verb_status(int argc, char **argv)
{
    static const struct instance_verb verb = {.rules = status_rules,
                                              .help = ps_verb_help_status,
                                              .usage = "status [OPTIONS]",
                                              .carry_out = show_status};

    return instance_verb_run(&verb, argc, argv);
}

int ps_verb(int argc, char **argv)
{
    static const struct instance_verb verb = {.rules = ps_rules,
                                              .help = ps_verb_help,
                                              .words_max = INT_MAX,
                                              .usage = "ps [OPTIONS] [JOB[:RANKS]...]",
                                              .carry_out = list};

    return instance_verb_run(&verb, argc, argv);
}
