/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/instance_report.h"

#include <stdlib.h>

#include <jansson.h>

#include "base/memory.h"
#include "test/support/tap.h"

static struct allocation roster;
static struct pmi_instance_facts facts;
static struct pmi_node_facts nodes[2];
static struct node_list states;
static struct instance_report report = {.directory = "/tmp/banyan-0/1.0",
                                        .root = 4711,
                                        .scheduler_job = "",
                                        .scheduler_name = "",
                                        .roster = &roster,
                                        .facts = &facts,
                                        .list = &states};

static void make_jobs(void)
{
    char *app[] = {(char *)"./app", (char *)"-x", NULL};
    char *other[] = {(char *)"./other", NULL};
    struct pmi_job_facts *job;

    facts.name = memory_copy_string("banyan-1");
    facts.nodes = 4;
    facts.slots = 8;
    job = pmi_instance_facts_add(&facts, 3);
    job->phase = PMI_JOB_RUNNING;
    job->size = 3;
    ranges_add(&job->places, 1, 2);
    pmi_job_facts_add(job, 0, 2, app);
    pmi_job_facts_add(job, 2, 1, other);
    job = pmi_instance_facts_add(&facts, 4);
    job->phase = PMI_JOB_ENDED;
    job->size = 1;
    pmi_job_facts_add(job, 0, 1, app);
    job = pmi_instance_facts_add(&facts, 5);
    job->phase = PMI_JOB_WAITING;
    pmi_job_facts_add(job, 0, 0, app);
}

static void make_processes(void)
{
    static const struct pmi_process_facts processes[] = {
        {.job = 3, .rank = 2, .pid = 12, .state = PMI_PROCESS_RUNNING},
        {.job = 3, .rank = 1, .pid = 11, .state = PMI_PROCESS_CONNECTED, .memory_kib = 2048},
        {.job = 3, .rank = 0, .state = PMI_PROCESS_EXITED, .code = 7},
        {.job = 3, .rank = 3, .state = PMI_PROCESS_KILLED, .code = 9},
        {.job = 3, .rank = 4, .state = PMI_PROCESS_FAILED},
        {.job = 3, .rank = 5, .state = PMI_PROCESS_STARTING},
        {.job = 3, .rank = 6, .state = PMI_PROCESS_KILLED, .code = 64},
    };

    nodes[0].name = memory_copy_string("n2");
    nodes[1].name = memory_copy_string("n1");
    pmi_node_facts_add(&nodes[0], &processes[0]);
    for (size_t i = 1; i < sizeof(processes) / sizeof(processes[0]); i++)
        pmi_node_facts_add(&nodes[1], &processes[i]);
    report.nodes = nodes;
    report.nodes_count = 2;
}

static void prints(void (*print)(const struct instance_report *, int, struct buffer *),
                   const char *expected, const char *name)
{
    struct buffer text = {0};
    json_t *json;

    print(&report, 0, &text);
    is_string(buffer_string(&text), expected, "%s", name);
    buffer_clear(&text);
    print(&report, 1, &text);
    json = json_loads(buffer_string(&text), 0, NULL);
    ok(json != NULL, "%s, as JSON", name);
    json_decref(json);
    buffer_fini(&text);
}

static void test_json(void)
{
    struct buffer text = {0};
    json_t *list, *row;

    instance_report_processes(&report, 1, &text);
    list = json_loads(buffer_string(&text), 0, NULL);
    row = json_array_get(list, 1);
    is_int((int)json_array_size(list), 7, "JSON has all processes");
    ok(json_integer_value(json_object_get(row, "rank")) == 1 &&
           json_integer_value(json_object_get(row, "pid")) == 11 &&
           json_is_true(json_object_get(row, "pmi")) &&
           json_integer_value(json_object_get(row, "memory_kib")) == 2048,
       "with what is known of them");
    ok(json_is_null(json_object_get(json_array_get(list, 0), "pid")), "and null for what is not");
    json_decref(list);
    buffer_fini(&text);
}

/* Of a scheduler: with and without a name. */
static void test_scheduler(void)
{
    struct buffer text = {0};
    json_t *status, *list, *job;

    report.scheduler_job = "slurm 4711";
    instance_report_status(&report, 0, &text);
    has_string(buffer_string(&text), "\njob of    slurm: 4711\nnodes ", "the scheduler's job");
    report.scheduler_name = "two words";
    buffer_clear(&text);
    instance_report_status(&report, 0, &text);
    has_string(buffer_string(&text), "\njob of    slurm: 4711, two words\nnodes ", "and its name");
    buffer_clear(&text);
    instance_report_status(&report, 1, &text);
    status = json_loads(buffer_string(&text), 0, NULL);
    job = json_object_get(status, "scheduler_job");
    is_string(json_string_value(json_object_get(job, "scheduler")), "slurm", "in JSON: whose");
    is_string(json_string_value(json_object_get(job, "job")), "4711", "which");
    is_string(json_string_value(json_object_get(job, "name")), "two words", "its name");
    buffer_clear(&text);
    instance_report_jobs(&report, 1, &text);
    list = json_loads(buffer_string(&text), 0, NULL);
    ok(json_equal(json_object_get(json_array_get(list, 0), "scheduler_job"), job),
       "each job of ours has it");
    json_decref(list);
    json_decref(status);
    report.scheduler_job = report.scheduler_name = "";
    buffer_clear(&text);
    instance_report_status(&report, 1, &text);
    status = json_loads(buffer_string(&text), 0, NULL);
    ok(json_is_null(json_object_get(status, "scheduler_job")), "null where there is none");
    json_decref(status);
    buffer_fini(&text);
}

/* Two nodes are used, two drained. */
static void make_list(void)
{
    node_list_init(&states);
    hostlist_append_slice(states.names, roster.names, 0, 4);
    *node_list_add(&states, 2) = (struct node_list_group){.nodes = 2, .slots = 2, .used = 2};
    *node_list_add(&states, 2) =
        (struct node_list_group){.nodes = 2, .slots = 2, .state = NODE_LIST_DRAINED};
}

int main(void)
{
    allocation_init(&roster);
    allocation_generate(&roster, "n", 4, 2);
    make_jobs();
    make_list();
    make_processes();
    prints(instance_report_status,
           "instance  /tmp/banyan-0/1.0\n"
           "root      process 4711\n"
           "nodes     4: n[1-4], 2 drained\n"
           "slots     8, 4 in use\n"
           "jobs      2, 3 processes, 1 waiting\n",
           "an instance");
    prints(instance_report_jobs,
           "  JOB  STATE     PROCESSES  NODES             COMMAND\n"
           "    3  running           3  n[1-2]            ./app -x : ./other\n"
           "    5  waiting           0  -                 ./app -x\n",
           "jobs that have not ended");
    prints(
        instance_report_processes,
        "  JOB   RANK  NODE              PID            MEMORY  PMI        STATE\n"
        "    3      0  n1                -                   -  -          exited 7\n"
        "    3      1  n1                11           2048 KiB  connected  running\n"
        "    3      2  n2                12                  -  -          running\n"
        "    3      3  n1                -                   -  -          killed by SIGKILL\n"
        "    3      4  n1                -                   -  -          not started\n"
        "    3      5  n1                -                   -  -          starting\n"
        "    3      6  n1                -                   -  -          killed by signal 64\n",
        "processes, in order");
    test_json();
    test_scheduler();
    pmi_node_facts_fini(&nodes[0]);
    pmi_node_facts_fini(&nodes[1]);
    pmi_instance_facts_fini(&facts);
    node_list_fini(&states);
    allocation_fini(&roster);
    return done_testing();
}
