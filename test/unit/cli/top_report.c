/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/top_report.h"

#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "test/support/tap.h"

static struct allocation roster;
static struct pmi_instance_facts facts;
static struct node_list list;
static struct load load;
static const struct instance_report instance = {.directory = "/tmp/x",
                                                .roster = &roster,
                                                .facts = &facts,
                                                .list = &list};
static struct top_report report = {.instance = &instance, .load = &load};

static void make_jobs(void)
{
    char *app[] = {(char *)"./app\033[2J", (char *)"-x", NULL};

    for (uint32_t number = 1; number <= 4; number++) {
        struct pmi_job_facts *job = pmi_instance_facts_add(&facts, number);

        job->phase = number == 3 ? PMI_JOB_ENDED : number == 4 ? PMI_JOB_WAITING : PMI_JOB_RUNNING;
        job->size = number;
        if (job->phase == PMI_JOB_RUNNING)
            ranges_add(&job->places, number, number + 1);
        pmi_job_facts_add(job, 0, number, app);
    }
}

static void make_nodes(void)
{
    struct node_list_group *group;

    allocation_init(&roster);
    allocation_generate(&roster, "n", 4, 2);
    node_list_init(&list);
    group = node_list_add(&list, 3);
    group->slots = 2;
    group->used = 1;
    group = node_list_add(&list, 1);
    group->state = NODE_LIST_LOST;
    hostlist_append_slice(list.names, roster.names, 0, 4);
    for (uint32_t place = 0; place < 4; place++) {
        struct load_row row = {.place = place};

        row.figures[LOAD_PROCESSES] = place;
        row.figures[LOAD_PROCESSES_CPU] = 1500 * place;
        row.figures[LOAD_PROCESSES_KIB] = 1536 * place;
        row.figures[LOAD_MACHINE_CPUS] = place > 0 ? 4000 : 0;
        row.figures[LOAD_MACHINE_BUSY] = place > 0 ? 3000 : 0;
        row.figures[LOAD_MACHINE_KIB] = place > 0 ? 4 * 1048576 : 0;
        row.figures[LOAD_MACHINE_USED_KIB] = place > 0 ? 1048576 : 0;
        row.figures[LOAD_DAEMONS] = 1;
        row.figures[LOAD_DAEMONS_KIB] = 600;
        row.figures[LOAD_MESSAGES] = 10;
        load_add(&load, &row, LOAD_ROWS_MAX);
    }
    load_add_job(&load, &(struct load_job){.number = 2, .cpu = 8500, .kib = 9000});
    load_add_job(&load, &(struct load_job){.number = 1, .cpu = 500, .kib = 216});
    load_sort_jobs(&load);
}

static void prints(uint32_t lines, uint32_t columns, const char *expected, const char *name)
{
    struct buffer text = {0};

    report.lines = lines;
    report.columns = columns;
    top_report_text(&report, &text);
    is_string(buffer_string(&text), expected, "%s", name);
    buffer_fini(&text);
}

#define HEAD                                                                                 \
    "nodes     3 up, 1 lost; 3 of 6 slots in use; 3 jobs, 1 waiting\n"                       \
    "programs  6 processes, 9.00 CPUs, 9.0 MiB; machines 75 % busy, 25 % of 12.0 GiB used\n" \
    "daemons   4, 0.00 CPUs, 2.3 MiB; 40 messages/s, 0 KiB/s\n"
#define JOBS "\n  JOB  STATE     PROCESSES     CPU%      MEMORY  NODES             COMMAND\n"
#define JOB2 "    2  running           2    850.0     8.8 MiB  n[2-3]            ./app [2J -x\n"
#define JOB1 "    1  running           1     50.0     216 KiB  n[1-2]            ./app [2J -x\n"
#define JOB4 "    4  waiting           4      0.0       0 KiB  -                 ./app [2J -x\n"
#define NODES \
    "\nNODE              PROCESSES     CPU%      MEMORY    BUSY    USED  DAEMON%      MEMORY MESSAGES/s\n"
#define NODE3 \
    "n3                        3    450.0     4.5 MiB     75%     25%     0.0%     600 KiB         10\n"
#define NODE2 \
    "n2                        2    300.0     3.0 MiB     75%     25%     0.0%     600 KiB         10\n"
#define NODE1 \
    "n1                        1    150.0     1.5 MiB     75%     25%     0.0%     600 KiB         10\n"
#define ROOT \
    "(root)                    0      0.0       0 KiB       -       -     0.0%     600 KiB         10\n"

static void test_text(void)
{
    prints(0, 0, HEAD JOBS JOB2 JOB1 JOB4 NODES NODE3 NODE2 NODE1 ROOT, "a page");
    prints(14, 0, HEAD JOBS JOB2 JOB1 JOB4 NODES NODE3 NODE2 NODE1 ROOT, "of which all fits");
    prints(11, 0, HEAD JOBS JOB2 JOB1 NODES NODE3 NODE2, "half of it for jobs");
    prints(3, 0, HEAD JOBS NODES, "no room");
    prints(0, 4, "node\nprog\ndaem\n\n  JO\n    \n    \n    \n\nNODE\nn3  \nn2  \nn1  \n(roo\n",
           "a narrow terminal");
    ranges_add(&load.silent, 1, 2);
    prints(9, 0, HEAD "no answer from n[1-2]\n" JOBS NODES NODE3, "nodes that are silent");
    ranges_clear(&load.silent);
}

static void test_json(void)
{
    struct buffer text = {0};
    json_t *page;

    ranges_add(&load.silent, 2, 2);
    top_report_json(&report, &text);
    page = json_loads(buffer_string(&text), 0, NULL);
    buffer_fini(&text);
    ok(page != NULL, "JSON");
    is_uint((uint64_t)json_array_size(json_object_get(page, "busiest")), 4, "with rows of nodes");
    is_uint((uint64_t)json_array_size(json_object_get(page, "jobs")), 3, "and of jobs");
    is_string(json_string_value(
                  json_object_get(json_array_get(json_object_get(page, "busiest"), 0), "node")),
              "n3", "the busiest node");
    ok(json_real_value(json_object_get(json_object_get(page, "all"), "processes_cpu")) > 8.999,
       "sums");
    is_string(json_string_value(json_object_get(page, "silent")), "n2", "who is silent");
    json_decref(page);
}

int main(void)
{
    make_jobs();
    make_nodes();
    test_text();
    test_json();
    load_fini(&load);
    node_list_fini(&list);
    pmi_instance_facts_fini(&facts);
    allocation_fini(&roster);
    return done_testing();
}
