/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's srun: one step starts a daemon on each node.  srun hands its stdin to all tasks, so the boot
 * record, with the secret in it, is never on a command line or in a file.  A step has one component
 * of a heterogeneous job, because srun gives stdin to the first component only: one call each.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/starter_method.h"

#define SRUN_DEFAULT    "srun"
#define COMPONENTS_MAX  1024u
#define NODES_BYTES_MAX (120u * 1024) /* the system takes 128 KiB as one argument */
#define ARGUMENTS_MAX   32

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
};

static int is_dropped(const char *variable)
{
    for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
        if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
            return 1;
    }
    return 0;
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
        if (!is_dropped(*variable))
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
static uint32_t components(void)
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
        (void)hostlist_parse(nodes, text, NULL); /* alloc/source_slurm.c has told what is wrong */
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
    uint32_t count = components();

    if (index >= (count > 0 ? count : 1))
        return 0;
    if (count > 0)
        component_select(index, names, ret_selected);
    else
        hostlist_append_slice(ret_selected, names, 0, hostlist_count(names));
    return 1;
}

/* ---- The call ---- */

struct call {
    char *items[ARGUMENTS_MAX];
    size_t count;
};

static void call_add(struct call *call, char *text)
{
    call->items[call->count++] = text;
}

static void call_add_words(struct call *call, const char *const *words)
{
    for (; *words != NULL; words++)
        call_add(call, memory_copy_string(*words));
}

static void call_begin(struct call *call, const struct instance_spec *instance, uint32_t nodes)
{
    /* No share of the job is kept from the job's own steps (--overlap), no task is bound, and one that
     * ends does not take the others along. */
    static const char *const words[] = {
        "--ntasks-per-node=1",  "--overlap", "--mpi=none", "--cpu-bind=none", "--export=ALL",
        "--kill-on-bad-exit=0", "--no-kill", "--wait=0",   "--label",         NULL};

    call_add(call, memory_copy_string(srun_of(instance)));
    call_add(call, memory_printf("--nodes=%u", nodes));
    call_add(call, memory_printf("--ntasks=%u", nodes));
    call_add_words(call, words);
}

/* As Slurm of any version reads it: newer ones alone take something behind a bracket. */
static void print_nodes(const struct hostlist *names, struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    struct hostlist *plain = hostlist_create();

    for (uint32_t i = 0; i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);

        if (run.suffix_bytes == 0)
            hostlist_append_run(plain, &run);
        for (uint32_t k = 0; run.suffix_bytes > 0 && k < run.count; k++) {
            host_run_name(&run, k, name);
            buffer_printf(out, "%s%s", out->length_bytes > 0 ? "," : "", name);
        }
    }
    if (hostlist_count(plain) > 0) {
        buffer_append_string(out, out->length_bytes > 0 ? "," : "");
        hostlist_print(plain, out);
    }
    hostlist_destroy(plain);
}

static void call_add_nodes(struct call *call, const struct hostlist *nodes)
{
    struct buffer text = {0};

    print_nodes(nodes, &text);
    /* A longer list can only be that of the whole job, which is what srun takes without it. */
    if (text.length_bytes < NODES_BYTES_MAX)
        call_add(call, memory_printf("--nodelist=%s", buffer_string(&text)));
    buffer_fini(&text);
}

static void call_make(struct call *call, struct helper *helper, uint32_t id,
                      const struct helper_fd *fds, uint32_t fds_count)
{
    char **environment = srun_environment();
    struct helper_process process = {.id = id,
                                     .argv = call->items,
                                     .environment = environment,
                                     .fds = fds,
                                     .fds_count = fds_count};

    call->items[call->count] = NULL;
    helper_start(helper, &process);
    for (size_t i = 0; i < call->count; i++)
        free(call->items[i]);
    free(environment);
}

static void start_all_srun(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                           uint32_t index, const struct hostlist *nodes,
                           const struct helper_fd *fds, uint32_t fds_count)
{
    struct call call = {.count = 0};

    call_begin(&call, instance, hostlist_count(nodes));
    call_add(&call, memory_copy_string("--input=all"));
    if (components() > 0)
        call_add(&call, memory_printf("--het-group=%u", index));
    call_add_nodes(&call, nodes);
    call_add(&call, memory_copy_string(instance->banyand));
    call_add(&call, memory_copy_string("--started-by"));
    call_add(&call, memory_copy_string("srun"));
    if (instance->boot_word != NULL) {
        call_add(&call, memory_copy_string("--boot"));
        call_add(&call, memory_copy_string(instance->boot_word));
    }
    call_make(&call, helper, id, fds, fds_count);
}

static int clean_srun(struct helper *helper, uint32_t id, const struct instance_spec *instance,
                      uint32_t place, const char *node_name)
{
    struct call call = {.count = 0};

    call_begin(&call, instance, 1);
    for (uint32_t i = 0; i < components(); i++) {
        struct hostlist *nodes = component_nodes(i);

        if (hostlist_find(nodes, node_name, 0) >= 0 && call.count < ARGUMENTS_MAX / 2)
            call_add(&call, memory_printf("--het-group=%u", i));
        hostlist_destroy(nodes);
    }
    call_add(&call, memory_printf("--nodelist=%s", node_name));
    call_add(&call, memory_copy_string(instance->banyand));
    call_add(&call, memory_copy_string("--clean"));
    call_add(&call, memory_printf("%s.%u", instance->session, place));
    if (instance->tmpdir != NULL) {
        call_add(&call, memory_copy_string("--tmpdir"));
        call_add(&call, memory_copy_string(instance->tmpdir));
    }
    call_make(&call, helper, id, NULL, 0);
    return 1;
}

static char *program_srun(const struct instance_spec *instance)
{
    return memory_copy_string(srun_of(instance));
}

const struct starter_method starter_srun = {.name = "srun",
                                            .select = select_srun,
                                            .start_all = start_all_srun,
                                            .clean = clean_srun,
                                            .program = program_srun};
