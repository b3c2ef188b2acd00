/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's srun: one step starts a daemon on each node.  srun hands its stdin to all tasks, so the boot
 * record, with the secret in it, is never on a command line or in a file.  A step has one component
 * of a heterogeneous job, because srun gives stdin to the first component only: one call each.
 */
#include "config.h"

#include "launch/start/starter_srun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/start/srun_version.h"
#include "launch/start/starter_call.h"

#define SRUN_DEFAULT   "srun " SRUN_VERSION_STEP_OPTION
#define COMPONENTS_MAX 1024u

/* What salloc, sbatch or an outer srun left becomes srun's options; none of it is meant for us. */
static const char *const dropped[] = {
    "SLURM_NTASKS",        "SLURM_NPROCS",       "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",  "SLURM_CPU_BIND",     "SLURM_MEM_BIND",       "SLURM_DISTRIBUTION",
    "SLURM_HOSTFILE",      "SLURM_EXCLUSIVE",    "SLURM_EXACT",          "SLURM_GPU_BIND",
    "SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_",  "SLURM_KILL_BAD_EXIT",  "SLURM_NO_KILL",
    "SLURM_LABELIO",       "SLURM_UNBUFFEREDIO", "SLURM_MPI_TYPE",       "SLURM_STDINMODE",
    "SLURM_STDOUTMODE",    "SLURM_STDERRMODE",   "SLURM_WAIT",           "SLURM_RELATIVE",
    "SLURM_THREADS",       "SLURM_TASK_PROLOG",  "SLURM_TASK_EPILOG",    "SLURM_WORKING_DIR",
    "SLURM_HINT",          "SLURM_MULTI_PROG",   "SLURM_EXPORT_ENV",     "SLURM_STEP_",
    "SLURM_OVERLAP",       "SLURM_EXTERNAL_",    "SLURM_CPUS_PER_GPU",   "SLURM_TRES_PER_TASK",
    "SLURM_CPU_FREQ",      "SLURM_DEPENDENCY",   "SLURM_IMMEDIATE",      "SRUN_EXPORT_ENV",
};

bool starter_srun_drops(const char *variable)
{
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
            return true;
    }
    return false;
}

/* Pointers into environ; free() the array. */
static char **srun_environment(void)
{
    char **kept;
    size_t count = 0;

    while (environ[count] != NULL)
        count++;
    kept = memory_allocate((count + 1) * sizeof(*kept));
    count = 0;
    for (char **variable = environ; *variable != NULL; variable++) {
        if (!starter_srun_drops(*variable))
            kept[count++] = *variable;
    }
    kept[count] = NULL;
    return kept;
}

static const char *srun_of(const struct instance_spec *instance)
{
    return instance->agent != NULL ? instance->agent : SRUN_DEFAULT;
}

/* ---- The components of a job ---- */

/* 0: the job is not heterogeneous. */
static uint32_t count_components(void)
{
    const char *text = getenv("SLURM_HET_SIZE");
    unsigned long count = text != NULL ? strtoul(text, NULL, 10) : 0;

    return count <= COMPONENTS_MAX ? (uint32_t)count : 0;
}

static struct hostlist *component_nodes(uint32_t index)
{
    struct hostlist *nodes = hostlist_create();
    char variable[64];
    const char *text;

    snprintf(variable, sizeof(variable), "SLURM_JOB_NODELIST_HET_GROUP_%u", index);
    text = getenv(variable);
    if (text != NULL)
        (void)hostlist_parse(nodes, text, NULL); /* alloc/source_slurm.c has reported the error */
    return nodes;
}

/* Those of the names that are in the component; not in their order. */
static void component_select(uint32_t index, const struct hostlist *names,
                             struct hostlist *ret_selected)
{
    struct hostlist *nodes = component_nodes(index);
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < hostlist_count(nodes); i++) {
        hostlist_name(nodes, i, name);
        if (hostlist_find(names, name, 0) >= 0)
            hostlist_append(ret_selected, name);
    }
    hostlist_destroy(nodes);
}

static int select_srun(uint32_t index, const struct hostlist *names, struct hostlist *ret_selected)
{
    uint32_t count = count_components();

    if (index >= (count > 0 ? count : 1))
        return 0;
    if (count > 0)
        component_select(index, names, ret_selected);
    else
        hostlist_append_slice(ret_selected, names, 0, hostlist_count(names));
    return 1;
}

/* ---- The call ---- */

/* The program and its options. */
static void add_agent(struct starter_call *call, const char *agent)
{
    char *copy = memory_copy_string(agent), *rest = copy, *word;

    while ((word = strsep(&rest, " ")) != NULL) {
        if (word[0] != '\0')
            starter_call_add(call, memory_copy_string(word));
    }
    free(copy);
}

static void call_begin(struct starter_call *call, const struct instance_spec *instance,
                       uint32_t nodes)
{
    /* No task is bound, and one that ends does not take the others along. */
    static const char *const words[] = {"--ntasks-per-node=1",
                                        "--mpi=none",
                                        "--cpu-bind=none",
                                        "--export=ALL",
                                        "--kill-on-bad-exit=0",
                                        "--no-kill",
                                        "--wait=0",
                                        "--label",
                                        NULL};

    add_agent(call, srun_of(instance));
    starter_call_add(call, memory_printf("--nodes=%u", nodes));
    starter_call_add(call, memory_printf("--ntasks=%u", nodes));
    starter_call_add_words(call, words);
}

static void call_make(struct starter_call *call, struct helper *helper, uint32_t id,
                      const struct helper_fd *fds, uint32_t fds_count)
{
    char **environment = srun_environment();

    starter_call_make(call, helper, id, environment, fds, fds_count);
    free(environment);
}

static void start_all_srun(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                           uint32_t index, const struct hostlist *nodes,
                           const struct helper_fd *fds, uint32_t fds_count)
{
    struct starter_call call = {.count = 0};

    call_begin(&call, instance, hostlist_count(nodes));
    starter_call_add(&call, memory_copy_string("--input=all"));
    if (count_components() > 0)
        starter_call_add(&call, memory_printf("--het-group=%u", index));
    starter_call_add_nodes(&call, "--nodelist", nodes, 1);
    starter_call_add_daemon(&call, instance, "srun");
    call_make(&call, helper, id, fds, fds_count);
}

static int clean_srun(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                      uint32_t place, const char *node_name)
{
    struct starter_call call = {.count = 0};

    call_begin(&call, instance, 1);
    for (uint32_t i = 0; i < count_components(); i++) {
        struct hostlist *nodes = component_nodes(i);

        if (hostlist_find(nodes, node_name, 0) >= 0 && call.count < STARTER_CALL_WORDS_MAX / 2)
            starter_call_add(&call, memory_printf("--het-group=%u", i));
        hostlist_destroy(nodes);
    }
    starter_call_add(&call, memory_printf("--nodelist=%s", node_name));
    starter_call_add_clean(&call, instance, place, node_name);
    call_make(&call, helper, id, NULL, 0);
    return 1;
}

static char *program_srun(const struct instance_spec *instance)
{
    const char *agent = srun_of(instance);

    return memory_printf("%.*s", (int)strcspn(agent, " "), agent);
}

const struct starter_method starter_srun = {.name = "srun",
                                            .select = select_srun,
                                            .start_all = start_all_srun,
                                            .clean = clean_srun,
                                            .program = program_srun};
