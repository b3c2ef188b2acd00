/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/top_report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/memory.h"
#include "launch/cli/option/json_text.h"
#include "launch/cli/verb/node_report.h"

#define WORD_BYTES 32

/* ---- jobs, those that use the most first ---- */

struct job_row {
    const struct pmi_job_facts *job;
    struct load_job use;
};

static int compare_jobs(const void *left, const void *right)
{
    const struct job_row *a = left, *b = right;

    if (a->use.cpu != b->use.cpu)
        return a->use.cpu > b->use.cpu ? -1 : 1;
    return a->job->number < b->job->number ? -1 : a->job->number > b->job->number;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct load_job *a = left, *b = right;

    return a->number < b->number ? -1 : a->number > b->number;
}

/* By their numbers; the caller frees them. */
static struct load_job *sorted_uses(const struct load *load)
{
    struct load_job *uses = memory_allocate_zeroed((load->jobs_count + 1) * sizeof(*uses));

    for (uint32_t i = 0; i < load->jobs_count; i++)
        uses[i] = load->jobs[i];
    qsort(uses, load->jobs_count, sizeof(*uses), compare_numbers);
    return uses;
}

static uint32_t jobs_make(const struct top_report *report, struct job_row **ret_rows)
{
    const struct pmi_instance_facts *facts = report->instance->facts;
    struct job_row *rows = memory_allocate_zeroed((facts->jobs_count + 1) * sizeof(*rows));
    struct load_job *uses = sorted_uses(report->load);
    uint32_t count = 0;

    for (uint32_t i = 0; i < facts->jobs_count; i++) {
        const struct load_job wanted = {.number = facts->jobs[i].number};
        const struct load_job *use =
            bsearch(&wanted, uses, report->load->jobs_count, sizeof(*uses), compare_numbers);

        if (facts->jobs[i].phase != PMI_JOB_ENDED)
            rows[count++] =
                (struct job_row){.job = &facts->jobs[i], .use = use != NULL ? *use : wanted};
    }
    free(uses);
    qsort(rows, count, sizeof(*rows), compare_jobs);
    *ret_rows = rows;
    return count;
}

/* ---- words ---- */

/* "1.5 GiB" */
static const char *memory_text(uint64_t kib, char word[WORD_BYTES])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)kib;
    size_t unit = 0;

    for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        value /= 1024;
    snprintf(word, WORD_BYTES, unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return word;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void place_name(const struct top_report *report, uint32_t place,
                       char name[HOST_NAME_BYTES_MAX + 1])
{
    const struct hostlist *names = report->instance->roster->names;

    if (place == 0)
        snprintf(name, HOST_NAME_BYTES_MAX + 1, "(root)");
    else if (place <= hostlist_count(names))
        hostlist_name(names, place - 1, name);
    else
        snprintf(name, HOST_NAME_BYTES_MAX + 1, "place %u", place);
}

/* ---- text ---- */

static void print_instance(const struct top_report *report, const struct job_row *jobs,
                           uint32_t count, struct buffer *out)
{
    struct node_report_sum sum;
    uint32_t waiting = 0;

    node_report_sum(report->instance->list, &sum);
    for (uint32_t i = 0; i < count; i++)
        waiting += jobs[i].job->phase == PMI_JOB_WAITING;
    buffer_append_string(out, "nodes     ");
    for (int state = 0; state < NODE_LIST_STATE_COUNT; state++) {
        if (sum.nodes[state] > 0 || state == NODE_LIST_UP)
            buffer_printf(out, "%s%u %s", state > 0 ? ", " : "", sum.nodes[state],
                          node_list_state_name((enum node_list_state)state));
    }
    buffer_printf(out, "; %llu of %llu slots in use; %u %s", (unsigned long long)sum.used,
                  (unsigned long long)sum.slots, count, count == 1 ? "job" : "jobs");
    if (waiting > 0)
        buffer_printf(out, ", %u waiting", waiting);
    buffer_append_string(out, "\n");
}

static void print_sums(const struct top_report *report, struct buffer *out)
{
    const uint64_t *sums = report->load->sums;
    char memory[WORD_BYTES], bytes[WORD_BYTES];

    buffer_printf(
        out, "programs  %llu %s, %.2f CPUs, %s; machines %.0f %% busy, %.0f %% of %s used\n",
        (unsigned long long)sums[LOAD_PROCESSES],
        sums[LOAD_PROCESSES] == 1 ? "process" : "processes",
        (double)sums[LOAD_PROCESSES_CPU] / 1000, memory_text(sums[LOAD_PROCESSES_KIB], memory),
        percent(sums[LOAD_MACHINE_BUSY], sums[LOAD_MACHINE_CPUS]),
        percent(sums[LOAD_MACHINE_USED_KIB], sums[LOAD_MACHINE_KIB]),
        memory_text(sums[LOAD_MACHINE_KIB], bytes));
    buffer_printf(out, "daemons   %llu, %.2f CPUs, %s; %llu messages/s, %s/s\n",
                  (unsigned long long)sums[LOAD_DAEMONS], (double)sums[LOAD_DAEMONS_CPU] / 1000,
                  memory_text(sums[LOAD_DAEMONS_KIB], memory),
                  (unsigned long long)sums[LOAD_MESSAGES],
                  memory_text(sums[LOAD_MESSAGES_BYTES] / 1024, bytes));
}

static void print_silent(const struct top_report *report, struct buffer *out)
{
    if (ranges_is_empty(&report->load->silent))
        return;
    buffer_append_string(out, "no answer from ");
    instance_report_places(report->instance, &report->load->silent, out);
    buffer_append_string(out, "\n");
}

static void print_job(const struct top_report *report, const struct job_row *row,
                      struct buffer *out)
{
    struct buffer nodes = {0};
    char memory[WORD_BYTES];

    instance_report_places(report->instance, &row->job->places, &nodes);
    buffer_printf(out, "%5u  %-8s %10u %8.1f %11s  %-16s  ", row->job->number,
                  instance_report_phase(row->job), row->job->size, (double)row->use.cpu / 10,
                  memory_text(row->use.kib, memory), buffer_string(&nodes));
    instance_report_command(row->job, out);
    buffer_append_string(out, "\n");
    buffer_fini(&nodes);
}

static void print_node(const struct top_report *report, const struct load_row *row,
                       struct buffer *out)
{
    const uint64_t *figures = row->figures;
    char name[HOST_NAME_BYTES_MAX + 1], memory[WORD_BYTES], daemon[WORD_BYTES];

    place_name(report, row->place, name);
    buffer_printf(
        out, "%-16s %10llu %8.1f %11s ", name, (unsigned long long)figures[LOAD_PROCESSES],
        (double)figures[LOAD_PROCESSES_CPU] / 10, memory_text(figures[LOAD_PROCESSES_KIB], memory));
    if (figures[LOAD_MACHINE_CPUS] > 0)
        buffer_printf(out, "%6.0f%% %6.0f%%",
                      percent(figures[LOAD_MACHINE_BUSY], figures[LOAD_MACHINE_CPUS]),
                      percent(figures[LOAD_MACHINE_USED_KIB], figures[LOAD_MACHINE_KIB]));
    else
        buffer_printf(out, "%7s %7s", "-", "-");
    buffer_printf(out, " %7.1f%% %11s %10llu\n", (double)figures[LOAD_DAEMONS_CPU] / 10,
                  memory_text(figures[LOAD_DAEMONS_KIB], daemon),
                  (unsigned long long)figures[LOAD_MESSAGES]);
}

/* How many jobs and nodes are listed: all if there is room, else jobs get half of it, or what nodes leave. */
static void share_lines(const struct top_report *report, uint32_t *jobs, uint32_t *nodes)
{
    uint32_t used = 7 + !ranges_is_empty(&report->load->silent); /* heads and empty lines */
    uint32_t room = report->lines > used ? report->lines - used : 0;

    if (report->lines == 0 || *jobs + *nodes <= room)
        return;
    if (*nodes < room - room / 2)
        *jobs = room - *nodes;
    else if (*jobs > room / 2)
        *jobs = room / 2;
    if (*nodes > room - *jobs)
        *nodes = room - *jobs;
}

/* Cuts lines; a byte of UTF-8 that continues a character takes no column. */
static void append_cut(const struct buffer *text, uint32_t columns, struct buffer *out)
{
    uint32_t column = 0;

    for (size_t i = 0; i < text->length_bytes; i++) {
        unsigned char byte = (unsigned char)text->data[i];

        if (byte == '\n')
            column = 0;
        else if ((byte & 0xc0) != 0x80)
            column++;
        if (columns == 0 || column <= columns)
            buffer_append(out, &text->data[i], 1);
    }
}

void top_report_text(const struct top_report *report, struct buffer *out)
{
    struct job_row *jobs;
    uint32_t jobs_count = jobs_make(report, &jobs), nodes_count = report->load->rows_count;
    struct buffer text = {0};

    print_instance(report, jobs, jobs_count, &text);
    print_sums(report, &text);
    print_silent(report, &text);
    share_lines(report, &jobs_count, &nodes_count);
    buffer_append_string(&text,
                         "\n  JOB  STATE     PROCESSES     CPU%      MEMORY  NODES             "
                         "COMMAND\n");
    for (uint32_t i = 0; i < jobs_count; i++)
        print_job(report, &jobs[i], &text);
    buffer_append_string(&text,
                         "\nNODE              PROCESSES     CPU%      MEMORY    BUSY    USED  "
                         "DAEMON%      MEMORY MESSAGES/s\n");
    for (uint32_t i = 0; i < nodes_count; i++)
        print_node(report, &report->load->rows[i], &text);
    append_cut(&text, report->columns, out);
    buffer_fini(&text);
    free(jobs);
}

/* ---- JSON ---- */

static json_t *json_figures(const uint64_t figures[LOAD_FIGURE_COUNT])
{
    static const char *const names[LOAD_FIGURE_COUNT] = {
        [LOAD_PROCESSES] = "processes",
        [LOAD_PROCESSES_CPU] = "processes_cpu",
        [LOAD_PROCESSES_KIB] = "processes_kib",
        [LOAD_MACHINE_CPUS] = "machine_cpus",
        [LOAD_MACHINE_BUSY] = "machine_cpus_busy",
        [LOAD_MACHINE_KIB] = "machine_kib",
        [LOAD_MACHINE_USED_KIB] = "machine_kib_used",
        [LOAD_DAEMONS] = "daemons",
        [LOAD_DAEMONS_CPU] = "daemons_cpu",
        [LOAD_DAEMONS_KIB] = "daemons_kib",
        [LOAD_MESSAGES] = "messages_per_s",
        [LOAD_MESSAGES_BYTES] = "message_bytes_per_s",
    };
    static const uint8_t is_cpu[LOAD_FIGURE_COUNT] = {[LOAD_PROCESSES_CPU] = 1,
                                                      [LOAD_MACHINE_CPUS] = 1,
                                                      [LOAD_MACHINE_BUSY] = 1,
                                                      [LOAD_DAEMONS_CPU] = 1};
    json_t *object = json_object();

    for (int i = 0; i < LOAD_FIGURE_COUNT; i++)
        json_object_set_new(object, names[i],
                            is_cpu[i] ? json_real((double)figures[i] / 1000)
                                      : json_integer((json_int_t)figures[i]));
    return object;
}

static json_t *json_printed(struct buffer *text)
{
    json_t *value = json_text(buffer_string(text));

    buffer_fini(text);
    return value;
}

static json_t *json_places(const struct top_report *report, const struct ranges *places)
{
    struct buffer text = {0};

    if (!ranges_is_empty(places))
        instance_report_places(report->instance, places, &text);
    return json_printed(&text);
}

static json_t *json_job(const struct top_report *report, const struct job_row *row)
{
    json_t *object = json_object();
    struct buffer command = {0};

    instance_report_command(row->job, &command);
    json_object_set_new(object, "job", json_integer(row->job->number));
    json_object_set_new(object, "state", json_string(instance_report_phase(row->job)));
    json_object_set_new(object, "processes", json_integer(row->job->size));
    json_object_set_new(object, "cpu", json_real((double)row->use.cpu / 1000));
    json_object_set_new(object, "memory_kib", json_integer((json_int_t)row->use.kib));
    json_object_set_new(object, "nodes", json_places(report, &row->job->places));
    json_object_set_new(object, "command", json_printed(&command));
    return object;
}

static json_t *json_jobs(const struct top_report *report)
{
    struct job_row *rows;
    uint32_t count = jobs_make(report, &rows);
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_job(report, &rows[i]));
    free(rows);
    return list;
}

static json_t *json_nodes(const struct top_report *report)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < report->load->rows_count; i++) {
        const struct load_row *row = &report->load->rows[i];
        json_t *object = json_figures(row->figures);
        char name[HOST_NAME_BYTES_MAX + 1];

        place_name(report, row->place, name);
        json_object_set_new(object, "node", json_text(name));
        json_array_append_new(list, object);
    }
    return list;
}

void top_report_json(const struct top_report *report, struct buffer *out)
{
    const struct instance_report *instance = report->instance;
    json_t *object = json_object(), *states = json_object();
    struct node_report_sum sum;
    char *text;

    assert(instance->list != NULL);
    node_report_sum(instance->list, &sum);
    for (int state = 0; state < NODE_LIST_STATE_COUNT; state++)
        json_object_set_new(states, node_list_state_name((enum node_list_state)state),
                            json_integer(sum.nodes[state]));
    json_object_set_new(object, "instance", json_text(instance->directory));
    json_object_set_new(object, "states", states);
    json_object_set_new(object, "slots", json_integer((json_int_t)sum.slots));
    json_object_set_new(object, "slots_in_use", json_integer((json_int_t)sum.used));
    json_object_set_new(object, "all", json_figures(report->load->sums));
    json_object_set_new(object, "jobs", json_jobs(report));
    json_object_set_new(object, "busiest", json_nodes(report));
    json_object_set_new(object, "silent", json_places(report, &report->load->silent));
    text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(object);
    buffer_printf(out, "%s\n", text != NULL ? text : "{}");
    free(text);
}
