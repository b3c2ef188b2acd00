/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/instance_report.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "launch/cli/client/scheduler_job.h"
#include "launch/cli/option/json_text.h"
#include "launch/cli/verb/node_report.h"

#define WORD_BYTES 64

static const char *const phases[PMI_JOB_PHASE_COUNT] = {
    [PMI_JOB_WAITING] = "waiting", [PMI_JOB_STARTING] = "starting", [PMI_JOB_RUNNING] = "running",
    [PMI_JOB_ENDING] = "ending",   [PMI_JOB_ENDED] = "ended",
};

/* ---- words ---- */

void instance_report_places(const struct instance_report *report, const struct ranges *places,
                            struct buffer *out)
{
    struct hostlist *names = hostlist_create();

    hostlist_append_places(names, report->roster->names, places);
    if (hostlist_count(names) > 0)
        hostlist_print(names, out);
    else
        buffer_append_string(out, "-");
    hostlist_destroy(names);
}

/* Of all applications. */
static void print_command(const struct pmi_job_facts *job, struct buffer *out)
{
    for (uint32_t app = 0; app < job->apps_count; app++)
        buffer_printf(out, "%s%s", app > 0 ? " : " : "", job->apps[app].command);
}

/* Arguments of programs must neither break the line nor control the terminal. */
void instance_report_command(const struct pmi_job_facts *job, struct buffer *out)
{
    size_t begin = out->length_bytes;

    print_command(job, out);
    for (size_t i = begin; i < out->length_bytes; i++) {
        if ((unsigned char)out->data[i] < ' ' || out->data[i] == 0x7f)
            out->data[i] = ' ';
    }
}

const char *instance_report_phase(const struct pmi_job_facts *job)
{
    assert(job->phase < PMI_JOB_PHASE_COUNT);
    return phases[job->phase];
}

static const char *state_of(const struct pmi_process_facts *process, char word[WORD_BYTES])
{
    const char *name = sigabbrev_np((int)process->code);

    switch (process->state) {
    case PMI_PROCESS_STARTING:
        return "starting";
    case PMI_PROCESS_EXITED:
        snprintf(word, WORD_BYTES, "exited %u", process->code);
        return word;
    case PMI_PROCESS_KILLED:
        if (name != NULL)
            snprintf(word, WORD_BYTES, "killed by SIG%s", name);
        else
            snprintf(word, WORD_BYTES, "killed by signal %u", process->code);
        return word;
    case PMI_PROCESS_FAILED:
        return "not started";
    default:
        return "running";
    }
}

static const char *pmi_of(const struct pmi_process_facts *process)
{
    return process->state == PMI_PROCESS_CONNECTED ? "connected" : "-";
}

/* ---- status ---- */

/* What has ended is kept for a moment. */
static int has_ended(const struct pmi_job_facts *job)
{
    assert(job->phase < PMI_JOB_PHASE_COUNT);
    return job->phase == PMI_JOB_ENDED;
}

static uint32_t count_jobs(const struct pmi_instance_facts *facts, uint64_t *ret_processes)
{
    uint32_t count = 0;

    *ret_processes = 0;
    for (uint32_t i = 0; i < facts->jobs_count; i++) {
        if (has_ended(&facts->jobs[i]))
            continue;
        count++;
        *ret_processes += facts->jobs[i].size;
    }
    return count;
}

static uint32_t count_waiting(const struct pmi_instance_facts *facts)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < facts->jobs_count; i++)
        count += facts->jobs[i].phase == PMI_JOB_WAITING;
    return count;
}

static void since_text(time_t since, char text[WORD_BYTES])
{
    struct tm local;

    text[0] = '\0';
    if (since != 0 && localtime_r(&since, &local) != NULL)
        (void)strftime(text, WORD_BYTES, "%Y-%m-%dT%H:%M:%S%z", &local);
}

static void print_json(json_t *value, struct buffer *out)
{
    char *text = json_dumps(value, JSON_INDENT(2));

    json_decref(value);
    buffer_printf(out, "%s\n", text != NULL ? text : "{}");
    free(text);
}

static json_t *json_places(const struct instance_report *report, const struct ranges *places)
{
    struct buffer text = {0};
    json_t *value;

    instance_report_places(report, places, &text);
    value = json_text(buffer_string(&text));
    buffer_fini(&text);
    return value;
}

static json_t *json_command(const struct pmi_job_facts *job)
{
    struct buffer text = {0};
    json_t *value;

    print_command(job, &text);
    value = json_text(buffer_string(&text));
    buffer_fini(&text);
    return value;
}

static json_t *json_scheduler(const struct instance_report *report)
{
    return scheduler_job_json(report->scheduler_job, report->scheduler_name);
}

static json_t *json_job(const struct instance_report *report, const struct pmi_job_facts *job)
{
    json_t *object = json_object();

    json_object_set_new(object, "job", json_integer(job->number));
    json_object_set_new(object, "state", json_string(phases[job->phase]));
    json_object_set_new(object, "processes", json_integer(job->size));
    json_object_set_new(object, "nodes", json_places(report, &job->places));
    json_object_set_new(object, "command", json_command(job));
    json_object_set_new(object, "scheduler_job", json_scheduler(report));
    return object;
}

static json_t *json_jobs(const struct instance_report *report)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < report->facts->jobs_count; i++) {
        if (!has_ended(&report->facts->jobs[i]))
            json_array_append_new(list, json_job(report, &report->facts->jobs[i]));
    }
    return list;
}

static json_t *json_states(const struct node_report_sum *sum)
{
    json_t *object = json_object();

    for (int state = 0; state < NODE_LIST_STATE_COUNT; state++)
        json_object_set_new(object, node_list_state_name((enum node_list_state)state),
                            json_integer(sum->nodes[state]));
    return object;
}

static json_t *json_names(const struct node_list *list)
{
    struct buffer text = {0};
    json_t *value;

    hostlist_print(list->names, &text);
    value = json_text(buffer_string(&text));
    buffer_fini(&text);
    return value;
}

static json_t *json_status(const struct instance_report *report, const char *since,
                           const struct node_report_sum *sum)
{
    json_t *object = json_object();

    json_object_set_new(object, "instance", json_text(report->directory));
    json_object_set_new(object, "root", json_integer(report->root));
    json_object_set_new(object, "since", json_text(since));
    json_object_set_new(object, "scheduler_job", json_scheduler(report));
    json_object_set_new(object, "nodes", json_integer(hostlist_count(report->list->names)));
    json_object_set_new(object, "names", json_names(report->list));
    json_object_set_new(object, "states", json_states(sum));
    json_object_set_new(object, "slots", json_integer((json_int_t)sum->slots));
    json_object_set_new(object, "slots_in_use", json_integer((json_int_t)sum->used));
    json_object_set_new(object, "jobs", json_jobs(report));
    return object;
}

/* Those that are not up. */
static void print_states(const struct node_report_sum *sum, struct buffer *out)
{
    for (int state = NODE_LIST_UP + 1; state < NODE_LIST_STATE_COUNT; state++) {
        if (sum->nodes[state] > 0)
            buffer_printf(out, ", %u %s", sum->nodes[state],
                          node_list_state_name((enum node_list_state)state));
    }
}

static void print_scheduler(const struct instance_report *report, struct buffer *out)
{
    const char *job = strchr(report->scheduler_job, ' ');

    if (job == NULL)
        return;
    buffer_printf(out, "job of    %.*s:%s", (int)(job - report->scheduler_job),
                  report->scheduler_job, job);
    if (report->scheduler_name[0] != '\0')
        buffer_printf(out, ", %s", report->scheduler_name);
    buffer_append_string(out, "\n");
}

static void print_status(const struct instance_report *report, const char *since,
                         const struct node_report_sum *sum, struct buffer *out)
{
    uint64_t processes;
    uint32_t jobs = count_jobs(report->facts, &processes);

    buffer_printf(out, "instance  %s\nroot      process %u%s%s\n", report->directory, report->root,
                  since[0] != '\0' ? ", since " : "", since);
    print_scheduler(report, out);
    buffer_printf(out, "nodes     %u: ", hostlist_count(report->list->names));
    hostlist_print(report->list->names, out);
    print_states(sum, out);
    buffer_printf(out, "\nslots     %llu", (unsigned long long)sum->slots);
    if (sum->used > 0)
        buffer_printf(out, ", %llu in use", (unsigned long long)sum->used);
    buffer_printf(out, "\njobs      %u", jobs);
    if (jobs > 0)
        buffer_printf(out, ", %llu %s", (unsigned long long)processes,
                      processes == 1 ? "process" : "processes");
    if (count_waiting(report->facts) > 0)
        buffer_printf(out, ", %u waiting", count_waiting(report->facts));
    buffer_append_string(out, "\n");
}

void instance_report_status(const struct instance_report *report, int as_json, struct buffer *out)
{
    struct node_report_sum sum;
    char since[WORD_BYTES];

    assert(report->list != NULL);
    node_report_sum(report->list, &sum);
    since_text(report->since, since);
    if (as_json)
        print_json(json_status(report, since, &sum), out);
    else
        print_status(report, since, &sum, out);
}

/* ---- jobs ---- */

void instance_report_jobs(const struct instance_report *report, int as_json, struct buffer *out)
{
    if (as_json) {
        print_json(json_jobs(report), out);
        return;
    }
    buffer_append_string(out, "  JOB  STATE     PROCESSES  NODES             COMMAND\n");
    for (uint32_t i = 0; i < report->facts->jobs_count; i++) {
        const struct pmi_job_facts *job = &report->facts->jobs[i];
        struct buffer nodes = {0};

        if (has_ended(job))
            continue;
        instance_report_places(report, &job->places, &nodes);
        buffer_printf(out, "%5u  %-8s %10u  %-16s  ", job->number, phases[job->phase], job->size,
                      buffer_string(&nodes));
        instance_report_command(job, out);
        buffer_append_string(out, "\n");
        buffer_fini(&nodes);
    }
}

/* ---- processes ---- */

struct row {
    const struct pmi_process_facts *process;
    const char *node;
};

static int compare_rows(const void *left, const void *right)
{
    const struct pmi_process_facts *a = ((const struct row *)left)->process;
    const struct pmi_process_facts *b = ((const struct row *)right)->process;

    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static uint32_t rows_make(const struct instance_report *report, struct row **ret_rows)
{
    struct row *rows = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < report->nodes_count; i++) {
        const struct pmi_node_facts *node = &report->nodes[i];

        rows = memory_resize(rows, (count + node->processes_count + 1) * sizeof(*rows));
        for (uint32_t p = 0; p < node->processes_count; p++)
            rows[count++] = (struct row){.process = &node->processes[p], .node = node->name};
    }
    if (count > 0)
        qsort(rows, count, sizeof(*rows), compare_rows);
    *ret_rows = rows;
    return count;
}

static json_t *json_process(const struct row *row)
{
    const struct pmi_process_facts *process = row->process;
    json_t *object = json_object();
    char word[WORD_BYTES];

    json_object_set_new(object, "job", json_integer(process->job));
    json_object_set_new(object, "rank", json_integer(process->rank));
    json_object_set_new(object, "node", json_text(row->node));
    json_object_set_new(object, "pid", process->pid > 0 ? json_integer(process->pid) : json_null());
    json_object_set_new(object, "state", json_string(state_of(process, word)));
    json_object_set_new(object, "pmi", json_boolean(process->state == PMI_PROCESS_CONNECTED));
    json_object_set_new(object, "memory_kib", json_integer((json_int_t)process->memory_kib));
    return object;
}

void instance_report_processes(const struct instance_report *report, int as_json,
                               struct buffer *out)
{
    struct row *rows;
    uint32_t count = rows_make(report, &rows);
    json_t *list = as_json ? json_array() : NULL;

    if (!as_json)
        buffer_printf(out, "%5s %6s  %-16s  %-8s %12s  %-9s  %s\n", "JOB", "RANK", "NODE", "PID",
                      "MEMORY", "PMI", "STATE");
    for (uint32_t i = 0; i < count; i++) {
        const struct pmi_process_facts *process = rows[i].process;
        char word[WORD_BYTES], pid[16] = "-", memory[32] = "-";

        if (as_json) {
            json_array_append_new(list, json_process(&rows[i]));
            continue;
        }
        if (process->pid > 0)
            snprintf(pid, sizeof(pid), "%u", process->pid);
        if (process->memory_kib > 0)
            snprintf(memory, sizeof(memory), "%llu KiB", (unsigned long long)process->memory_kib);
        buffer_printf(out, "%5u %6u  %-16s  %-8s %12s  %-9s  %s\n", process->job, process->rank,
                      rows[i].node, pid, memory, pmi_of(process), state_of(process, word));
    }
    if (as_json)
        print_json(list, out);
    free(rows);
}
