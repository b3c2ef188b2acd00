/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/tool_door.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/log.h"

/* Of a server that speaks the handshake of version 2 and later. */
#define TOOL_SERVER_VERSION "v4.2.2"

struct named_job {
    struct list_link node;
    uint32_t number;
    char *path; /* of its file */
};

struct tool_door {
    struct tool_door_config config;
    struct door *door;
    struct list jobs; /* struct named_job */
    uint16_t port;
    char host[HOST_NAME_MAX + 1]; /* as libpmix has it */
};

/* The names of servers and jobs begin like this.  libpmix 4.2.2 cannot refuse a tool: when its host does, it uses
 * memory that has been freed. */
#define RESERVED_NAMES "banyan-"

static void tool_arrived(void *context, int fd, const struct hello *hello, const void *message,
                         size_t message_bytes)
{
    struct tool_door *door = context;

    if (!hello->is_tool)
        pmi_door_refuse(fd, PMI_DOOR_NOT_SUPPORTED);
    else if (strncmp(hello->namespace, RESERVED_NAMES, strlen(RESERVED_NAMES)) == 0)
        pmi_door_refuse(fd, PMI_DOOR_NOT_PERMITTED);
    else
        door->config.admit(door->config.context, fd, hello, message, message_bytes);
}

/* libpmix takes the name without the domain, and what the environment says first. */
static void name_host(struct tool_door *door)
{
    char *dot;

    if (gethostname(door->host, sizeof(door->host)) < 0)
        door->host[0] = 0;
    door->host[HOST_NAME_MAX] = 0;
    dot = strchr(door->host, '.');
    if (dot != NULL)
        *dot = 0;
}

static char *path_of(const struct tool_door *door, const char *name)
{
    return memory_printf("%s/pmix.%s.tool.%s", door->config.directory, door->host, name);
}

/* First another name, so that a tool never reads half a file. */
static void write_file(const struct tool_door *door, const char *name)
{
    char *path = path_of(door, name);
    char *new_path = memory_printf("%s/tool.new", door->config.directory);
    int fd = open(new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (file != NULL) {
        fprintf(file, "%s.%u;tcp4://127.0.0.1:%u\n%s\n%d\n%u:%u\n", door->config.namespace,
                door->config.rank, door->port, TOOL_SERVER_VERSION, (int)door->config.pid,
                (unsigned int)geteuid(), (unsigned int)getegid());
        if (fclose(file) != 0 || rename(new_path, path) < 0)
            log_info("tools cannot find the PMIx server: %s: %s", path, strerror(errno));
    } else if (fd >= 0) {
        close(fd);
    }
    free(new_path);
    free(path);
}

void tool_door_add_job(struct tool_door *door, uint32_t number, const char *namespace)
{
    struct named_job *job;

    if (door == NULL)
        return;
    job = memory_allocate(sizeof(*job));
    job->number = number;
    job->path = path_of(door, namespace);
    list_append(&door->jobs, &job->node);
    write_file(door, namespace);
}

static void forget_job(struct named_job *job)
{
    list_remove(&job->node);
    free(job->path);
    free(job);
}

void tool_door_remove_job(struct tool_door *door, uint32_t number)
{
    struct list_link *node, *spare;

    if (door == NULL)
        return;
    list_for_each(&door->jobs, node, spare)
    {
        struct named_job *job = list_entry(node, struct named_job, node);

        if (job->number != number)
            continue;
        (void)unlink(job->path);
        forget_job(job);
    }
}

struct tool_door *tool_door_open(const struct tool_door_config *config)
{
    struct tool_door *door = memory_allocate_zeroed(sizeof(*door));
    struct error error = ERROR_NONE;
    char pid[16];

    door->config = *config;
    list_init(&door->jobs);
    name_host(door);
    door->door = pmi_door_open(config->loop, tool_arrived, door, &door->port, &error);
    if (door->door == NULL) {
        log_info("no tools: %s", error.text);
        free(door);
        return NULL;
    }
    snprintf(pid, sizeof(pid), "%d", (int)config->pid);
    write_file(door, pid);
    write_file(door, config->namespace);
    return door;
}

void tool_door_close(struct tool_door *door)
{
    struct list_link *node;

    if (door == NULL)
        return;
    while ((node = list_first(&door->jobs)) != NULL)
        forget_job(list_entry(node, struct named_job, node));
    pmi_door_close(door->door);
    free(door);
}
