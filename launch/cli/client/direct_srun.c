/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/direct_srun.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "launch/start/starter_srun.h"

/* What a process learns of itself; then it is the program.  The tasks of each node are written as "2(x3),1". */
#define SHELL_SCRIPT                                                                       \
    "export BANYAN_JOB=1 BANYAN_RANK=$SLURM_PROCID BANYAN_SIZE=$SLURM_NTASKS "             \
    "BANYAN_LOCAL_RANK=$SLURM_LOCALID BANYAN_NODE=$SLURMD_NODENAME "                       \
    "BANYAN_LOCAL_SIZE=$(IFS=,; n=$SLURM_NODEID; for t in $SLURM_STEP_TASKS_PER_NODE; do " \
    "c=1; case $t in (*x*) c=${t#*x}; c=${c%%)*};; esac; "                                 \
    "[ $n -lt $c ] && echo ${t%%[(]*} && break; n=$((n - c)); done); exec \"$0\" \"$@\""

void direct_srun_hosts(const struct run_request *request, const struct placement_map *map,
                       struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t node, local;

    for (uint32_t rank = 0; rank < map->processes; rank++) {
        placement_map_find(map, rank, &node, &local);
        hostlist_name(request->allocation.names, node, name);
        buffer_printf(out, "%s\n", name);
    }
}

/* By the call of a daemon's step for this version of srun: one without an option is from before 20.11, when steps shared
 * what they have (srun_version.h). */
static bool has_overlap(const char *agent)
{
    return agent == NULL || strstr(agent, " --") != NULL;
}

static void add_word(char **words, size_t *count, char *word)
{
    words[(*count)++] = word;
}

char **direct_srun_words(const struct run_request *request, const struct placement_map *map)
{
    const struct app_spec *app = &request->job.apps[0];
    char **words, *directory = job_spec_directory(app, 0, "", 1);
    size_t count = 0, args = 0;

    assert(request->job.apps_count == 1 && !app->directory_is_template);
    while (app->argv[args] != NULL)
        args++;
    words = memory_allocate_zeroed((args + 20) * sizeof(*words));
    add_word(words, &count, memory_copy_string("srun"));
    if (has_overlap(request->instance.agent))
        add_word(words, &count, memory_copy_string("--overlap"));
    add_word(words, &count, memory_copy_string("--export=ALL"));
    add_word(words, &count, memory_printf("--ntasks=%u", map->processes));
    add_word(words, &count, memory_copy_string("--distribution=arbitrary"));
    add_word(words, &count, memory_copy_string("--input=none"));
    add_word(
        words, &count,
        memory_printf("--kill-on-bad-exit=%d", request->job.on_failure == JOB_ON_FAILURE_ABORT));
    if (request->label)
        add_word(words, &count, memory_copy_string("--label"));
    if (directory != NULL)
        add_word(words, &count, memory_printf("--chdir=%s", directory));
    add_word(words, &count, memory_copy_string("/bin/sh"));
    add_word(words, &count, memory_copy_string("-c"));
    add_word(words, &count, memory_copy_string(SHELL_SCRIPT));
    for (size_t i = 0; i < args; i++)
        add_word(words, &count, memory_copy_string(app->argv[i]));
    free(directory);
    return words;
}

/* A file without a name, which ends with srun. */
static int make_host_file(const struct run_request *request, const struct placement_map *map,
                          struct error *error)
{
    struct buffer hosts = {0};
    int fd = memfd_create("hosts", 0);
    char path[64];

    direct_srun_hosts(request, map, &hosts);
    if (fd < 0 || write(fd, hosts.data, hosts.length_bytes) != (ssize_t)hosts.length_bytes) {
        buffer_fini(&hosts);
        return error_set(error, -EIO, "cannot write the list of nodes for srun: %s",
                         strerror(errno));
    }
    buffer_fini(&hosts);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    setenv("SLURM_HOSTFILE", path, 1);
    return 0;
}

/* Nothing that the job, or a step around us, left to srun is meant for this step. */
static void drop_options(void)
{
    char **variable = environ;

    while (*variable != NULL) {
        char *name = memory_printf("%.*s", (int)strcspn(*variable, "="), *variable);

        if (starter_srun_drops(*variable) && unsetenv(name) == 0)
            variable = environ;
        else
            variable++;
        free(name);
    }
}

/* Of those the user may name one: SLURM_MPI_TYPE, which is forwarded by -x only. */
static void set_variables(const struct app_spec *app)
{
    for (char **set = app->set; set != NULL && *set != NULL; set++)
        if (!starter_srun_drops(*set) || strncmp(*set, "SLURM_MPI_TYPE=", 15) == 0)
            putenv(*set);
}

int direct_srun_become(const struct run_request *request, const struct placement_map *map,
                       struct error *error)
{
    char **words = direct_srun_words(request, map);
    int rc;

    drop_options();
    set_variables(&request->job.apps[0]);
    rc = make_host_file(request, map, error);
    if (rc == 0) {
        execvp(words[0], words);
        rc = error_set(error, -errno, "cannot run srun: %s", strerror(errno));
    }
    for (size_t i = 0; words[i] != NULL; i++)
        free(words[i]);
    free(words);
    return rc;
}
