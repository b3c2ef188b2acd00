/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's variables: jobs, heterogeneous jobs, steps, and what may be wrong in them.
 */
#include "config.h"

#include "test/support/source_world.h"
#include "test/support/tap.h"

#include <stdio.h>
#include <string.h>

#define JOB "SLURM_JOB_ID=7"

/* A job of four nodes with that count. */
static void counts_good(const char *counts, const char *expected)
{
    char variable[200];

    snprintf(variable, sizeof(variable), "SLURM_TASKS_PER_NODE=%s", counts);
    source_good("slurm", ENV(JOB, "SLURM_JOB_NODELIST=n[1-4]", variable), NO_FILES, expected);
}

static void counts_bad(const char *counts, const char *expected)
{
    char variable[200];
    char message[300];

    snprintf(variable, sizeof(variable), "SLURM_TASKS_PER_NODE=%s", counts);
    snprintf(message, sizeof(message), "Slurm job 7: SLURM_TASKS_PER_NODE%s", expected);
    source_bad("slurm", ENV(JOB, "SLURM_JOB_NODELIST=n[1-4]", variable), NO_FILES, message);
}

static void list_bad(const char *list, const char *expected)
{
    char variable[400];
    char message[500];

    snprintf(variable, sizeof(variable), "SLURM_JOB_NODELIST=%s", list);
    snprintf(message, sizeof(message), "Slurm job 7: SLURM_JOB_NODELIST%s", expected);
    source_bad("slurm", ENV(JOB, "SLURM_TASKS_PER_NODE=2(x64)", variable), NO_FILES, message);
}

static void test_jobs(void)
{
    counts_good("2(x4)", "n[1-4]:2");
    counts_good("2(x3),1", "n[1-3]:2 n4:1");
    counts_good("1,2,3,4", "n1:1 n2:2 n3:3 n4:4");
    counts_good("1(x2),1(x2)", "n[1-4]:1");
    counts_good("4(x30)", "n[1-4]:4");
    counts_good("3(x4),2", "n[1-4]:3");
    source_good("slurm",
                ENV("SLURM_JOBID=7", "SLURM_NODELIST=rack[1-2]n[1-2],m[08-10]-ib",
                    "SLURM_TASKS_PER_NODE=2(x3),3(x4)"),
                NO_FILES, "rack1n[1-2],rack2n1:2 rack2n2,m[08-10]-ib:3");
    source_good("slurm",
                ENV(JOB, "SLURM_NODELIST=old[1-2]", "SLURM_TASKS_PER_NODE=1(x2)",
                    "SLURM_JOB_NODELIST=new[1-2]"),
                NO_FILES, "new[1-2]:1");
    source_good(
        "slurm",
        ENV(JOB, "SLURM_JOB_NODELIST=nid[001234-101233]", "SLURM_TASKS_PER_NODE=128(x99999),64"),
        NO_FILES, "nid[001234-101232]:128 nid101233:64");
}

static void test_cpus(void)
{
    source_good("slurm", ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_CPUS_PER_NODE=72(x2),36"),
                NO_FILES, "n[1-2]:72 n3:36");
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_CPUS_PER_NODE=72(x2),35",
                    "SLURM_CPUS_PER_TASK=4"),
                NO_FILES, "n[1-2]:18 n3:8 cpus 4");
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_CPUS_PER_NODE=72(x2),36",
                    "SLURM_TASKS_PER_NODE=1(x3)"),
                NO_FILES, "n[1-3]:1");
    source_good("slurm", ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]"), NO_FILES, "n[1-3]:1 unknown");
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_CPUS_PER_NODE=72(x3)",
                    "SLURM_TRES_PER_TASK=gres/gpu:1,cpu:8"),
                NO_FILES, "n[1-3]:9 cpus 8");
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=2(x3)",
                    "SLURM_TRES_PER_TASK=cpu=2", "SLURM_CPUS_PER_TASK=3"),
                NO_FILES, "n[1-3]:2 cpus 3");
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=2(x3)",
                    "SLURM_TRES_PER_TASK=gres/gpu=2"),
                NO_FILES, "n[1-3]:2");
    source_good("slurm",
                ENV("SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=n1", "SLURM_STEP_TASKS_PER_NODE=2", JOB,
                    "SLURM_CPUS_PER_TASK=2"),
                NO_FILES, "n1:2 cpus 2");
    source_good("slurm",
                ENV(JOB, "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=a1",
                    "SLURM_TASKS_PER_NODE_HET_GROUP_0=1", "SLURM_CPUS_PER_TASK_HET_GROUP_0=4",
                    "SLURM_JOB_NODELIST_HET_GROUP_1=b1", "SLURM_TASKS_PER_NODE_HET_GROUP_1=1",
                    "SLURM_CPUS_PER_TASK_HET_GROUP_1=2"),
                NO_FILES, "a1,b1:1");
    source_bad("slurm", ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TRES_PER_TASK=cpu=2x"),
               NO_FILES,
               "Slurm job 7: SLURM_TRES_PER_TASK: column 6: ',' is missing after the CPUs");
    source_bad(
        "slurm",
        ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_JOB_CPUS_PER_NODE=72(x2),36",
            "SLURM_CPUS_PER_TASK=0"),
        NO_FILES,
        "Slurm job 7: SLURM_CPUS_PER_TASK: column 1: it must be a number from 1 to 1000000, not "
        "\"0\"");
    source_bad("slurm",
               ENV(JOB, "SLURM_JOB_NODELIST=n[1-3]", "SLURM_CPUS_PER_TASK=8",
                   "SLURM_JOB_CPUS_PER_NODE=4(x3)"),
               NO_FILES, "Slurm job 7: no node has a slot");
}

static void test_steps(void)
{
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-4]", "SLURM_TASKS_PER_NODE=4(x4)",
                    "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=n[2-3]",
                    "SLURM_STEP_TASKS_PER_NODE=1,2"),
                NO_FILES, "n2:1 n3:2");
    source_good("slurm",
                ENV(JOB, "SLURM_HET_SIZE=2", "SLURM_STEP_ID=3", "SLURM_STEP_NODELIST=n[2-3]",
                    "SLURM_STEP_TASKS_PER_NODE=1(x2)"),
                NO_FILES, "n[2-3]:1");
    source_good("slurm", ENV(JOB, "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=n[2-3]"), NO_FILES,
                "n[2-3]:1 unknown");
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-4]", "SLURM_TASKS_PER_NODE=4(x4)",
                    "SLURM_STEP_NODELIST=n1", "SLURM_STEP_TASKS_PER_NODE=1",
                    "SLURM_STEP_ID=4294967290"),
                NO_FILES, "n[1-4]:4");
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=n[1-4]", "SLURM_TASKS_PER_NODE=4(x4)",
                    "SLURM_STEP_NODELIST=n1", "SLURM_STEP_ID=interactive"),
                NO_FILES, "n[1-4]:4");
    source_bad("slurm",
               ENV(JOB, "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=n[2-4]",
                   "SLURM_STEP_TASKS_PER_NODE=1(x2)"),
               NO_FILES, "Slurm job 7: SLURM_STEP_TASKS_PER_NODE counts for 2 of the 3 nodes");
}

static void test_heterogeneous(void)
{
    source_good("slurm",
                ENV(JOB, "SLURM_JOB_NODELIST=a1", "SLURM_TASKS_PER_NODE=1", "SLURM_HET_SIZE=3",
                    "SLURM_JOB_NODELIST_HET_GROUP_0=a1", "SLURM_TASKS_PER_NODE_HET_GROUP_0=1",
                    "SLURM_NODELIST_HET_GROUP_1=g[1-2]", "SLURM_TASKS_PER_NODE_HET_GROUP_1=4(x2)",
                    "SLURM_JOB_NODELIST_HET_GROUP_2=c[01-03]", "SLURM_CPUS_PER_TASK_HET_GROUP_2=2",
                    "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_2=64(x2),32"),
                NO_FILES, "a1:1 g[1-2]:4 c[01-02]:32 c03:16");
    source_good("slurm",
                ENV(JOB, "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2]",
                    "SLURM_TASKS_PER_NODE_HET_GROUP_0=1(x2)",
                    "SLURM_JOB_NODELIST_HET_GROUP_1=n[2-3]",
                    "SLURM_TASKS_PER_NODE_HET_GROUP_1=2(x2)"),
                NO_FILES, "n1:1 n2:3 n3:2");
    source_bad(
        "slurm",
        ENV(JOB, "SLURM_JOB_NODELIST=a1", "SLURM_TASKS_PER_NODE=1", "SLURM_HET_SIZE=2",
            "SLURM_JOB_NODELIST_HET_GROUP_0=a1", "SLURM_TASKS_PER_NODE_HET_GROUP_0=1"),
        NO_FILES,
        "Slurm job 7: neither SLURM_JOB_NODELIST_HET_GROUP_1 nor SLURM_NODELIST_HET_GROUP_1 is set");
    source_bad(
        "slurm",
        ENV(JOB, "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=a1",
            "SLURM_TASKS_PER_NODE_HET_GROUP_0=1(x"),
        NO_FILES,
        "Slurm job 7: SLURM_TASKS_PER_NODE_HET_GROUP_0: column 4: a repetition must be a number from 1 to 16777216, not \"\"");
    source_bad(
        "slurm", ENV(JOB, "SLURM_JOB_NODELIST=a1", "SLURM_HET_SIZE=two"), NO_FILES,
        "Slurm job 7: SLURM_HET_SIZE: column 1: it must be a number from 1 to 1024, not \"two\"");
    source_bad(
        "slurm", ENV(JOB, "SLURM_JOB_NODELIST=a1", "SLURM_HET_SIZE=1000000000"), NO_FILES,
        "Slurm job 7: SLURM_HET_SIZE: column 1: it must be a number from 1 to 1024, not \"1000000000\"");
}

static void test_bad_counts(void)
{
    counts_bad("2(x3", ": column 5: ')' is missing");
    counts_bad("2x3", ": column 2: expected ',' or \"(xNUMBER)\"");
    counts_bad("2(3)", ": column 3: 'x' is missing after '('");
    counts_bad("2(", ": column 3: 'x' is missing after '('");
    counts_bad("", ": column 1: a count must be a number from 1 to 1000000, not \"\"");
    counts_bad("-2", ": column 1: a count must be a number from 1 to 1000000, not '-'");
    counts_bad("(x3)", ": column 1: a count must be a number from 1 to 1000000, not '('");
    counts_bad("2(x4),", ": column 7: a count must be a number from 1 to 1000000, not \"\"");
    counts_bad("2,,2", ": column 3: a count must be a number from 1 to 1000000, not ','");
    counts_bad("0(x4)", ": column 1: a count must be a number from 1 to 1000000, not \"0\"");
    counts_bad("2(x0)", ": column 4: a repetition must be a number from 1 to 16777216, not \"0\"");
    counts_bad("2(x3)1", ": column 6: expected ',' or \"(xNUMBER)\"");
    counts_bad("2 ,2", ": column 2: expected ',' or \"(xNUMBER)\"");
    counts_bad("1(x4000000000)",
               ": column 4: a repetition must be a number from 1 to 16777216, not \"4000000000\"");
    counts_bad("1000001(x4)",
               ": column 1: a count must be a number from 1 to 1000000, not \"1000001\"");
    counts_bad(
        "99999999999999999999",
        ": column 1: a count must be a number from 1 to 1000000, not \"99999999999999999999\"");
    counts_bad("2(x3)", " counts for 3 of the 4 nodes");
    counts_bad("2", " counts for 1 of the 4 nodes");
}

static void test_bad_lists(void)
{
    list_bad("n[3-1]", ": column 3: the range 3-1 runs backwards");
    list_bad("n[1-3", ": column 2: unmatched '['");
    list_bad("n[[1-3]]", ": column 3: a '[' inside brackets");
    list_bad("n[]", ": column 3: missing number");
    list_bad("n[1,,3]", ": column 5: missing number");
    list_bad("n[1-3,]", ": column 7: missing number");
    list_bad("n[a-b]", ": column 3: \"a-b\" is not a range of numbers");
    list_bad("n[1-4/2]", ": column 3: \"1-4/2\" is not a range of numbers");
    list_bad("n[1-3:2]", ": column 3: \"1-3:2\" is not a range of numbers");
    list_bad("n[000x111]", ": column 3: \"000x111\" is not a range of numbers");
    list_bad("n1,foo]", ": column 7: ']' is not allowed in a node name");
    list_bad("n{1..3}", ": column 2: '{' is not allowed in a node name");
    list_bad("n1;reboot", ": column 3: ';' is not allowed in a node name");
    list_bad("n1,n2:4", ": column 6: ':' is not allowed in a node name");
    list_bad("n1,-oProxyCommand=x", ": column 4: a node name cannot begin with '-'");
    list_bad("n1\r", ": column 3: control character 0x0d in a name");
    list_bad("", " is empty");
    list_bad(",, ,", ": contains no node name");
    list_bad("n[1-16777217]", ": column 3: more than 16777216 hosts");
    source_bad("slurm", ENV(JOB), NO_FILES,
               "Slurm job 7: neither SLURM_JOB_NODELIST nor SLURM_NODELIST is set");
    source_bad("slurm", ENV("SLURM_JOBID=9", "SLURM_TASKS_PER_NODE=2"), NO_FILES,
               "Slurm job 9: neither SLURM_JOB_NODELIST nor SLURM_NODELIST is set");
}

static void test_result(void)
{
    struct source_test test = {
        .variables =
            ENV("SLURM_JOB_ID=123456", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=2(x2)"),
        .files = NO_FILES,
    };
    struct source_ops world = source_test_world(&test);
    struct source_result result;
    struct error error = ERROR_NONE;

    if (!ok(source_read(source_find("slurm", &error), &world, &result, &error) == 0, "it is read"))
        return;
    is_string(result.job, "123456", "the job has its id");
    is_string(result.source->name, "slurm", "the source is told");
    is_string(result.allocation.origin, "Slurm, SLURM_TASKS_PER_NODE", "the counts' origin too");
    source_result_fini(&result);
}

int main(void)
{
    test_jobs();
    test_cpus();
    test_steps();
    test_heterogeneous();
    test_bad_counts();
    test_bad_lists();
    test_result();
    return done_testing();
}
