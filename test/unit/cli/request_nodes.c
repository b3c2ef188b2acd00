/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the nodes come from, and who starts there: options before the scheduler's job, the job
 * before this machine, and never this machine because the job cannot be read.
 */
#include "config.h"

#include "launch/cli/request/request_nodes.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/request/request_starter.h"
#include "test/support/source_world.h"

#define CORES 8

static char *const environment[] = {NULL};
static const char *programs; /* that are in PATH: " srun oarsh " */
static int cores_asked;

static int cores(struct error *error)
{
    cores_asked++;
    return CORES;
}

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    buffer_append_string(out, "n2 slots=2\n");
    return 0;
}

static int has_program(char *const *variables, const char *name)
{
    char word[64];

    snprintf(word, sizeof(word), " %s ", name);
    return strstr(programs, word) != NULL;
}

static const char *srun_version; /* NULL: it does not say */

static int ask_command(const char *const *argv, struct buffer *out, struct error *error)
{
    if (srun_version == NULL || strcmp(argv[0], "srun") != 0 || strcmp(argv[1], "--version") != 0)
        return error_set(error, -EIO, "it failed");
    buffer_append_string(out, srun_version);
    return 0;
}

/* "nodes, slots, origin, starter, agent" or the error. */
static const char *choose(struct source_test *test, struct request_settings settings)
{
    static struct buffer text;
    struct source_ops sources = source_test_world(test);
    struct request_ops world = {.environment = environment,
                                .host_name = "n1",
                                .cores = cores,
                                .read_file = read_file,
                                .has_program = has_program,
                                .command = ask_command,
                                .sources = &sources};
    static const char *const starters[] = {"local", "virtual", "ssh", "srun", "pals", "flux"};
    struct instance_spec instance;
    struct request_nodes nodes;
    struct error error = ERROR_NONE;

    buffer_clear(&text);
    cores_asked = 0;
    if (request_nodes_find(&settings, &world, &nodes, &error) < 0) {
        buffer_append_string(&text, error.text);
        return buffer_string(&text);
    }
    instance_spec_init(&instance);
    request_starter_choose(&settings, &world, &nodes, &instance, &error);
    hostlist_print(nodes.allocation.names, &text);
    buffer_printf(&text, " %llu, %s%s, %s%s%s",
                  (unsigned long long)allocation_slots(&nodes.allocation), nodes.allocation.origin,
                  nodes.slots_given ? "" : " (unknown)", starters[instance.starter],
                  instance.agent != NULL ? " " : "", instance.agent != NULL ? instance.agent : "");
    instance_spec_fini(&instance);
    request_nodes_fini(&nodes);
    return buffer_string(&text);
}

#define ONE(text)                                   \
    {                                               \
        .items = (const char *[]){text}, .count = 1 \
    }
#define TWO(one, two)                                   \
    {                                                   \
        .items = (const char *[]){one, two}, .count = 2 \
    }
#define SLURM "SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=2(x2),1"

/* This machine is n1. */
static void test_names_of_one_node(void)
{
    static const struct {
        const char *hosts, *nodes;
    } cases[] = {
        {"n2,localhost:2,127.0.0.1,n1:3", "n2,localhost 7"},
        {"n1,n1", "n1 2"},
        {"n2,n2.cluster.org:2,n3", "n[2-3] 4"},
        {"n2.cluster.org:2,n2", "n2.cluster.org 3"},
        {"n2.east.org,n2.west.org,n2", "n2.east.org,n2.west.org,n2 3"},
        {"n[2-4],n[3-5].cluster.org", "n[2-4],n5.cluster.org 6"},
        {"10,10.0.0.1", "10,10.0.0.1 2"},
        {"n2.cluster.org,n3.cluster.org", "n[2-3].cluster.org 2"},
    };
    struct source_test none = {.variables = ENV(NULL), .files = NO_FILES};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct request_settings settings = {.hosts = ONE(cases[i].hosts)};
        const char *chosen = choose(&none, settings);
        const char *behind = strstr(chosen, ", --host");

        if (ok(behind != NULL, "%s is taken", cases[i].hosts))
            is_bytes(chosen, (size_t)(behind - chosen), cases[i].nodes, strlen(cases[i].nodes),
                     "%s is %s", cases[i].hosts, cases[i].nodes);
    }
}

static void test_order(void)
{
    struct source_test none = {.variables = ENV(NULL), .files = NO_FILES};
    struct source_test slurm = {.variables = ENV(SLURM), .files = NO_FILES};

    programs = " srun ";
    is_string(choose(&none, (struct request_settings){0}), "n1 8, the cores of this machine, local",
              "without a scheduler it is this machine");
    is_string(choose(&slurm, (struct request_settings){0}),
              "n[1-3] 5, Slurm, SLURM_TASKS_PER_NODE, srun", "in a job it is the job");
    is_int(cores_asked, 0, "nobody asks for our cores then");
    srun_version = "slurm 24.05.1";
    is_string(choose(&slurm, (struct request_settings){0}),
              "n[1-3] 5, Slurm, SLURM_TASKS_PER_NODE, srun srun --external-launcher",
              "with what its srun can do");
    srun_version = NULL;
    is_string(choose(&slurm, (struct request_settings){.source = "local"}),
              "n1 8, the cores of this machine, local", "who says so gets this machine");
    is_string(choose(&slurm, (struct request_settings){.virtual_nodes = 2, .slots = 1}),
              "v[1-2] 2, --virtual-nodes 2 and --slots, virtual", "virtual nodes come first");
    is_string(choose(&slurm, (struct request_settings){.hosts = ONE("n3,n2:2")}),
              "n[3,2] 3, --host, srun", "--host comes first; srun reaches nodes of the job");
    is_string(choose(&slurm, (struct request_settings){.hosts = ONE("n3,x1")}),
              "n3,x1 2, --host, ssh ssh", "ssh those that are not");
    is_string(choose(&slurm, (struct request_settings){.host_files = ONE("f")}),
              "n2 2, host file f, srun", "--hostfile comes first");
    is_string(choose(&slurm, (struct request_settings){.hosts = TWO("n3,n2:2", "n3:4")}),
              "n[3,2] 7, --host, srun", "a second --host adds its nodes and slots");
    is_string(choose(&slurm, (struct request_settings){.hosts = TWO("n[1-3]", "^n2")}),
              "n[1,3] 2, --host, srun", "or takes some away");
    is_string(choose(&slurm, (struct request_settings){.host_files = TWO("f", "f")}),
              "n2 4, host file f, srun", "a second --hostfile adds, too");
    is_string(choose(&slurm, (struct request_settings){.hosts = ONE("^n2")}),
              "n[1,3] 3, --host, srun", "all of the job but one");
    is_string(choose(&slurm, (struct request_settings){.hosts = ONE("+n2,+n0:1")}),
              "n[3,1] 2, --host, srun", "nodes by their number in the job");
    is_string(choose(&none, (struct request_settings){.hosts = ONE("+n0")}), "n1 8, --host, local",
              "without a job that is this machine");
    is_string(choose(&slurm, (struct request_settings){.hosts = ONE("me@n3")}),
              "n3 1, --host, ssh ssh -l me", "somebody else needs ssh");
    is_string(choose(&slurm, (struct request_settings){.hosts = ONE("n1")}), "n1 1, --host, local",
              "this machine needs no starter");
    is_string(choose(&slurm, (struct request_settings){.agent = "rsh"}),
              "n[1-3] 5, Slurm, SLURM_TASKS_PER_NODE, ssh rsh", "an agent that is named is used");
    is_string(choose(&slurm, (struct request_settings){.starter = "ssh"}),
              "n[1-3] 5, Slurm, SLURM_TASKS_PER_NODE, ssh ssh", "so is a starter");
    is_string(choose(&slurm, (struct request_settings){.slots = 3}),
              "option --slots: Slurm already sets the slots of its nodes; use --host to override "
              "them",
              "--slots has no say where slots are told");
    is_string(choose(&slurm, (struct request_settings){.alloc = "slurm: -N2"}),
              "option --alloc is for banyan run only", "who starts nothing asks for nothing");
    programs = " ";
    is_string(choose(&slurm, (struct request_settings){0}),
              "n[1-3] 5, Slurm, SLURM_TASKS_PER_NODE, ssh ssh", "without srun it is ssh");
}

static void test_force(void)
{
    struct source_test both = {.variables = ENV("SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[1-3]",
                                                "OAR_JOB_ID=3", "OAR_NODEFILE=/f"),
                               .files = FILES("/f", "a\na\nb\n")};

    programs = " srun oarsh ";
    is_string(choose(&both, (struct request_settings){.source = "oar"}),
              "a,b 3, OAR, OAR_NODEFILE, ssh oarsh", "--source forces one that comes later");
    is_string(choose(&both, (struct request_settings){.source = "slurm"}),
              "n[1-3] 3, Slurm, which gives no slot counts (unknown), srun",
              "slots may not be told");
    is_string(choose(&both, (struct request_settings){.slots = 4}),
              "n[1-3] 12, Slurm and --slots, srun", "--slots tells them then");
    is_string(
        choose(&both, (struct request_settings){.source = "torque"}),
        "option --source: unknown scheduler \"torque\"; known are flux, pals, slurm, lsf, pbs, gridengine, cobalt, oar, pjm, loadleveler, condor, awsbatch, mpioperator",
        "names are checked");
    is_string(
        choose(&both, (struct request_settings){.source = "lsf"}),
        "LSF: none of LSB_DJOB_HOSTFILE, LSB_DJOB_RANKFILE, LSB_MCPU_HOSTS and LSB_HOSTS is set",
        "what is forced must be there");
}

/* On a machine of PALS a job is one of PBS. */
static void test_one_shot(void)
{
    struct source_test pbs = {.variables = ENV("PBS_JOBID=5", "PBS_NODEFILE=/f"),
                              .files = FILES("/f", "a\na\nb\n")};

    programs = " aprun pbs_tmrsh ";
    is_string(choose(&pbs, (struct request_settings){0}), "a,b 3, PBS, PBS_NODEFILE, pals",
              "aprun starts all");
    programs = " pbs_tmrsh ";
    is_string(choose(&pbs, (struct request_settings){0}), "a,b 3, PBS, PBS_NODEFILE, ssh pbs_tmrsh",
              "else one is started after the other");
    programs = " pbsdsh ";
    is_string(choose(&pbs, (struct request_settings){0}), "a,b 3, PBS, PBS_NODEFILE, ssh pbsdsh -h",
              "Torque has another program");
    is_string(choose(&pbs, (struct request_settings){.starter = "flux"}),
              "a,b 3, PBS, PBS_NODEFILE, flux", "or as one says");
    programs = " ";
}

static void test_one_node(void)
{
    struct source_test here = {.variables = ENV("COBALT_JOBID=1", "COBALT_NODEFILE=/f"),
                               .files = FILES("/f", "n1\n")};
    struct source_test there = {.variables = ENV("COBALT_JOBID=1", "COBALT_NODEFILE=/f"),
                                .files = FILES("/f", "n9\n")};

    is_string(choose(&here, (struct request_settings){0}),
              "n1 8, Cobalt and the cores of this machine, local",
              "this machine's cores are known");
    is_string(choose(&there, (struct request_settings){0}),
              "n9 1, Cobalt, which gives no slot counts (unknown), ssh ssh", "another's are not");
}

/* A job id and nothing, or nothing right, beside it. */
static void test_never_here(void)
{
    static const char *const jobs[][2] = {
        {"SLURM_JOB_ID=7", "Slurm job 7: neither SLURM_JOB_NODELIST nor SLURM_NODELIST is set"},
        {"PBS_JOBID=7", "PBS job 7: PBS_NODEFILE is not set"},
        {"LSB_JOBID=7",
         "LSF job 7: none of LSB_DJOB_HOSTFILE, LSB_DJOB_RANKFILE, LSB_MCPU_HOSTS and LSB_HOSTS is set"},
        {"COBALT_JOBID=7", "Cobalt job 7: COBALT_NODEFILE is not set"},
        {"OAR_JOB_ID=7",
         "OAR job 7: none of OAR_NODEFILE, OAR_NODE_FILE and OAR_FILE_NODES is set"},
        {"PJM_JOBID=7", "PJM job 7: PJM_O_NODEINF is not set"},
        {"LOADL_STEP_ID=7",
         "LoadLeveler job 7: neither LOADL_HOSTFILE nor LOADL_PROCESSOR_LIST is set"},
        {"AWS_BATCH_JOB_NUM_NODES=2", "AWS Batch: "},
        {"_CONDOR_PROCNO=0", "HTCondor: "},
        {"PALS_APID=7", "PALS job 7: "},
        {"PE_HOSTFILE=/none", "Grid Engine: PE_HOSTFILE: cannot read /none: No such file"},
    };

    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct source_test test = {.variables = ENV(jobs[i][0]), .files = NO_FILES};

        has_string(choose(&test, (struct request_settings){0}), jobs[i][1], "%s: an error",
                   jobs[i][0]);
        is_int(cores_asked, 0, "and not this machine");
    }
}

int main(void)
{
    test_order();
    test_names_of_one_node();
    test_force();
    test_one_shot();
    test_one_node();
    test_never_here();
    return done_testing();
}
