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

/* What a process learns of itself; then it is the program. */
#define SHELL_SCRIPT                                                           \
    "export BANYAN_JOB=1 BANYAN_RANK=$SLURM_PROCID BANYAN_SIZE=$SLURM_NTASKS " \
    "BANYAN_LOCAL_RANK=$SLURM_LOCALID BANYAN_NODE=$SLURMD_NODENAME; exec \"$0\" \"$@\""

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
    words = memory_allocate_zeroed((args + 16) * sizeof(*words));
    add_word(words, &count, memory_copy_string("srun"));
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

int direct_srun_become(const struct run_request *request, const struct placement_map *map,
                       struct error *error)
{
    char **words = direct_srun_words(request, map);
    int rc = make_host_file(request, map, error);

    for (char **set = request->job.apps[0].set; set != NULL && *set != NULL; set++)
        putenv(*set);
    if (rc == 0) {
        execvp(words[0], words);
        rc = error_set(error, -errno, "cannot run srun: %s", strerror(errno));
    }
    for (size_t i = 0; words[i] != NULL; i++)
        free(words[i]);
    free(words);
    return rc;
}
