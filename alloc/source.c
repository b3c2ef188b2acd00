/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/source_internal.h"

#define VARIABLE_BYTES_MAX 64

/* The order is that of doc/allocation.rst: the innermost first, and what is exact before what may
 * linger in an environment. */
static const struct source sources[] = {
    {
        .name = "flux",
        .title = "Flux",
        .present = {"FLUX_URI FLUX_JOB_ID", "FLUX_URI !SLURM_STEP_ID"},
        .job = {"FLUX_JOB_ID"},
        .reads = "FLUX_JOB_ID",
        .read = source_read_flux,
    },
    {
        .name = "pals",
        .title = "PALS",
        .present = {"PALS_APID", "PALS_APINFO"},
        .job = {"PALS_APID"},
        .job_name = "PBS_JOBNAME",
        .reads = "PALS_APINFO PBS_NODEFILE",
        .read = source_read_pals,
    },
    {
        .name = "slurm",
        .title = "Slurm",
        .present = {"SLURM_JOB_ID", "SLURM_JOBID"},
        .job = {"SLURM_JOB_ID", "SLURM_JOBID"},
        .job_name = "SLURM_JOB_NAME",
        .reads = "SLURM_STEP_ID SLURM_STEP_NODELIST SLURM_STEP_TASKS_PER_NODE SLURM_HET_SIZE "
                 "SLURM_JOB_NODELIST* SLURM_NODELIST* SLURM_TASKS_PER_NODE* "
                 "SLURM_JOB_CPUS_PER_NODE* SLURM_CPUS_PER_TASK* SLURM_TRES_PER_TASK",
        .read = source_read_slurm,
    },
    {
        .name = "lsf",
        .title = "LSF",
        .present = {"LSB_JOBID"},
        .job = {"LSB_JOBID"},
        .job_name = "LSB_JOBNAME",
        .reads = "LSB_DJOB_HOSTFILE LSB_DJOB_RANKFILE LSB_MCPU_HOSTS LSB_HOSTS "
                 "LSB_AFFINITY_HOSTFILE CSM_ALLOCATION_ID",
        .read = source_read_lsf,
    },
    {
        .name = "pbs",
        .title = "PBS",
        .present = {"PBS_JOBID"},
        .job = {"PBS_JOBID"},
        .job_name = "PBS_JOBNAME",
        .reads = "PBS_NODEFILE",
        .read = source_read_pbs,
    },
    {
        .name = "gridengine",
        .title = "Grid Engine",
        .present = {"PE_HOSTFILE", "SGE_ROOT JOB_ID SGE_TASK_ID"},
        .job = {"JOB_ID"},
        .job_name = "JOB_NAME",
        .reads = "PE_HOSTFILE",
        .read = source_read_grid_engine,
    },
    {
        .name = "cobalt",
        .title = "Cobalt",
        .present = {"COBALT_JOBID", "COBALT_NODEFILE"},
        .job = {"COBALT_JOBID"},
        .reads = "COBALT_NODEFILE",
        .read = source_read_cobalt,
    },
    {
        .name = "oar",
        .title = "OAR",
        .present = {"OAR_JOB_ID", "OAR_JOBID", "OAR_NODEFILE"},
        .job = {"OAR_JOB_ID", "OAR_JOBID"},
        .job_name = "OAR_JOB_NAME",
        .reads = "OAR_NODEFILE OAR_NODE_FILE OAR_FILE_NODES",
        .read = source_read_oar,
    },
    {
        .name = "pjm",
        .title = "PJM",
        .present = {"PJM_JOBID", "PJM_O_NODEINF"},
        .job = {"PJM_JOBID"},
        .job_name = "PJM_JOBNAME",
        .reads = "PJM_O_NODEINF PJM_PROC_BY_NODE",
        .read = source_read_pjm,
    },
    {
        .name = "loadleveler",
        .title = "LoadLeveler",
        .present = {"LOADL_STEP_ID"},
        .job = {"LOADL_STEP_ID"},
        .job_name = "LOADL_JOB_NAME",
        .reads = "LOADL_HOSTFILE LOADL_PROCESSOR_LIST",
        .read = source_read_loadleveler,
    },
    {
        .name = "condor",
        .title = "HTCondor",
        .present = {"_CONDOR_PROCNO"},
        .job = {NULL},
        .reads = "_CONDOR_NPROCS _CONDOR_JOB_AD CONDOR_CONTACT_FILE",
        .read = source_read_condor,
    },
    {
        .name = "awsbatch",
        .title = "AWS Batch",
        .present = {"AWS_BATCH_JOB_NUM_NODES"},
        .job = {"AWS_BATCH_JOB_ID"},
        .reads = "AWS_BATCH_JOB_NUM_NODES AWS_BATCH_JOB_NODE_INDEX AWS_BATCH_JOB_MAIN_NODE_INDEX",
        .read = source_read_aws_batch,
    },
    {
        .name = "mpioperator",
        .title = "MPI operator",
        .present = {"KUBERNETES_SERVICE_HOST"},
        .present_file = "/etc/mpi/hostfile",
        .job = {NULL},
        .reads = "OMPI_MCA_orte_default_hostfile I_MPI_HYDRA_HOST_FILE HYDRA_HOST_FILE",
        .read = source_read_mpi_operator,
    },
};

enum { SOURCES = sizeof(sources) / sizeof(*sources) };

const struct source *source_at(size_t index)
{
    return index < SOURCES ? &sources[index] : NULL;
}

const struct source *source_find(const char *name, struct error *error)
{
    struct buffer names = {0};

    for (size_t i = 0; i < SOURCES; i++) {
        if (strcmp(sources[i].name, name) == 0)
            return &sources[i];
    }
    for (size_t i = 0; i < SOURCES; i++)
        buffer_printf(&names, "%s%s", i > 0 ? ", " : "", sources[i].name);
    error_set(error, -EINVAL, "unknown scheduler \"%.40s\"; known are %s", name,
              buffer_string(&names));
    buffer_fini(&names);
    return NULL;
}

/* ---- Detection ---- */

static bool is_set(const struct source_ops *ops, const char *name)
{
    const char *value = ops->variable(ops->context, name);

    return value != NULL && value[0] != '\0';
}

/* All of "A B !C" hold. */
static bool all_hold(const struct source_ops *ops, const char *names)
{
    bool held = true;

    while (held && *names != '\0') {
        char name[VARIABLE_BYTES_MAX];
        size_t bytes = strcspn(names, " ");
        bool negated = *names == '!';

        snprintf(name, sizeof(name), "%.*s", (int)bytes - negated, names + negated);
        held = is_set(ops, name) != negated;
        names += bytes;
        names += strspn(names, " ");
    }
    return held;
}

static bool any_is_set(const struct source_ops *ops, const char *names)
{
    bool set = false;

    while (!set && *names != '\0') {
        char name[VARIABLE_BYTES_MAX];
        size_t bytes = strcspn(names, " ");

        snprintf(name, sizeof(name), "%.*s", (int)bytes, names);
        set = is_set(ops, name);
        names += bytes;
        names += strspn(names, " ");
    }
    return set;
}

static bool file_is_there(const struct source_ops *ops, const char *path)
{
    struct buffer bytes = {0};
    int rc = ops->file(ops->context, path, &bytes);

    buffer_fini(&bytes);
    return rc == 0;
}

static bool is_present(const struct source_ops *ops, const struct source *source)
{
    bool present = false;

    for (size_t i = 0; i < sizeof(source->present) / sizeof(*source->present); i++)
        present = present || (source->present[i] != NULL && all_hold(ops, source->present[i]));
    if (present && source->present_file != NULL)
        present = any_is_set(ops, source->reads) || file_is_there(ops, source->present_file);
    return present;
}

const struct source *source_detect(const struct source_ops *ops)
{
    for (size_t i = 0; i < SOURCES; i++) {
        if (is_present(ops, &sources[i]))
            return &sources[i];
    }
    return NULL;
}

/* ---- Reading ---- */

static void job_find(const struct source_ops *ops, struct source_result *result)
{
    for (const char *const *name = result->source->job; *name != NULL; name++) {
        if (is_set(ops, *name)) {
            const char *job = ops->variable(ops->context, *name);

            snprintf(result->job, sizeof(result->job), "%s", job);
            return;
        }
    }
}

static void error_title(const struct source_result *result, struct error *error)
{
    if (result->job[0] != '\0')
        error_prefix(error, "%s job %s", result->source->title, result->job);
    else
        error_prefix(error, "%s", result->source->title);
}

int source_read(const struct source *source, const struct source_ops *ops,
                struct source_result *ret_result, struct error *error)
{
    struct source_result result = {.source = source};
    struct source_reading reading = {.ops = ops, .result = &result, .error = error};
    int rc;

    job_find(ops, &result);
    allocation_init(&result.allocation);
    result.allocation.trace = ops->trace;
    allocation_builder_init(&reading.builder, &result.allocation);
    rc = source->read(&reading);
    allocation_builder_fini(&reading.builder);
    if (rc < 0) {
        error_title(&result, error);
        source_result_fini(&result);
        return rc;
    }
    *ret_result = result;
    return 0;
}

void source_result_fini(struct source_result *result)
{
    allocation_fini(&result->allocation);
    for (uint32_t i = 0; i < result->tasks_count; i++)
        ranges_fini(&result->tasks[i].cpus);
    free(result->tasks);
    result->tasks = NULL;
    result->tasks_count = 0;
}
