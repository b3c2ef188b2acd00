/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output that other places request (PMIx_IOF_pull): the root, through which all output comes, copies it to them.  It
 * neither waits for them nor keeps anything: a place has a window, as have all together, and what does not fit into them
 * is lost at that place, which is reported once.
 *
 * Cost: nothing without requests; else O(places that have made one) for each piece of output.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/proto/job_wire.h"

/* What a place has requested of a job. */
struct puller {
    struct list_link node;
    uint32_t job;
    uint32_t place;
    uint64_t version;
    uint8_t channels; /* 0: nothing now, but an older request may still arrive */
    uint8_t has_lost;
    uint32_t under_way_bytes;
    struct ranges ranks; /* none: all */
};

static struct puller *puller_find(const struct daemon_core *core, uint32_t job, uint32_t place)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->pullers, node, spare)
    {
        struct puller *puller = list_entry(node, struct puller, node);

        if (puller->job == job && puller->place == place)
            return puller;
    }
    return NULL;
}

static void give_back(struct daemon_core *core, struct puller *puller, uint32_t bytes)
{
    bytes = bytes < puller->under_way_bytes ? bytes : puller->under_way_bytes;
    assert(core->root->pulled_bytes >= bytes);
    puller->under_way_bytes -= bytes;
    core->root->pulled_bytes -= bytes;
}

static void puller_remove(struct daemon_core *core, struct puller *puller)
{
    give_back(core, puller, UINT32_MAX);
    list_remove(&puller->node);
    ranges_fini(&puller->ranks);
    free(puller);
}

void daemon_core_pull_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->root->pullers)) != NULL)
        puller_remove(core, list_entry(node, struct puller, node));
}

/* ---- requests ---- */

static void taken(struct daemon_core *core, uint32_t place, const struct job_pull *pull)
{
    struct puller *puller = puller_find(core, pull->number, place);

    if (puller != NULL)
        give_back(core, puller, pull->bytes);
}

/* Ranks are known from the launch on. */
static int is_there(const struct daemon_core *core, const struct job_pull *pull)
{
    uint32_t node;

    if (instance_job_spec(core->instance, pull->number) == NULL)
        return 0;
    return pull->channels == 0 || ranges_is_empty(&pull->ranks) ||
           !instance_job_is_running(core->instance, pull->number) ||
           instance_job_find(core->instance, pull->number, ranges_max(&pull->ranks), &node) == 0;
}

static void set(struct daemon_core *core, uint32_t place, struct job_pull *pull)
{
    struct puller *puller = puller_find(core, pull->number, place);

    if (puller == NULL) {
        puller = memory_allocate_zeroed(sizeof(*puller));
        puller->job = pull->number;
        puller->place = place;
        list_append(&core->root->pullers, &puller->node);
    }
    if (pull->version <= puller->version)
        return;
    puller->version = pull->version;
    puller->channels = pull->channels;
    if (pull->channels == 0)
        give_back(core, puller, UINT32_MAX);
    ranges_fini(&puller->ranks);
    ranges_move(&puller->ranks, &pull->ranks);
}

int daemon_core_pull_request(struct daemon_core *core, uint32_t place, struct wire_reader *reader)
{
    struct job_pull pull;
    int rc = daemon_core_is_root(core) ? job_pull_decode(&pull, reader) : -ENOTSUP;

    if (rc < 0)
        return rc;
    if (pull.kind == JOB_PULL_TAKEN)
        taken(core, place, &pull);
    else if (is_there(core, &pull))
        set(core, place, &pull);
    else
        rc = -ENOENT;
    ranges_fini(&pull.ranks);
    return rc;
}

void daemon_core_pull_refused(struct daemon_core *core, uint32_t place, struct wire_reader *reader)
{
    struct puller *puller = puller_find(core, job_pull_gone_decode(reader), place);

    if (puller == NULL)
        return;
    puller->channels = 0;
    give_back(core, puller, UINT32_MAX);
}

/* ---- output ---- */

static void say_lost(struct daemon_core *core, struct puller *puller)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    char *line;

    if (puller->has_lost)
        return;
    puller->has_lost = 1;
    line = memory_printf(
        "a tool on %s reads the output of job %u too slowly: it does not get all of it",
        daemon_core_shape_name(core, puller->place, name), puller->job);
    daemon_core_text(core, puller->job, LOG_LEVEL_WARNING, line);
    free(line);
}

static void copy_to(struct daemon_core *core, struct puller *puller, const void *data, size_t bytes,
                    uint32_t output_bytes)
{
    if (puller->under_way_bytes + output_bytes > JOB_PULL_WINDOW ||
        core->root->pulled_bytes + output_bytes > JOB_PULL_WINDOWS) {
        say_lost(core, puller);
        return;
    }
    puller->under_way_bytes += output_bytes;
    core->root->pulled_bytes += output_bytes;
    daemon_core_send(core, puller->place, FRAME_BULK,
                     job_request_message(JOB_MESSAGE_PULLED, data, bytes));
}

void daemon_core_pull_output(struct daemon_core *core, const struct wire_reader *reader)
{
    struct wire_reader copy = *reader;
    struct list_link *node, *spare;
    struct job_pulled output;

    if (list_is_empty(&core->root->pullers) || job_pulled_decode(&output, &copy) < 0 ||
        output.data_bytes == 0 || output.stream == 0)
        return;
    list_for_each(&core->root->pullers, node, spare)
    {
        struct puller *puller = list_entry(node, struct puller, node);

        if (puller->job == output.number && (puller->channels & (1u << (output.stream - 1))) != 0 &&
            (ranges_is_empty(&puller->ranks) || ranges_contains(&puller->ranks, output.rank)))
            copy_to(core, puller, reader->position, wire_left(reader), (uint32_t)output.data_bytes);
    }
}

void daemon_core_pull_ended(struct daemon_core *core, uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->pullers, node, spare)
    {
        struct puller *puller = list_entry(node, struct puller, node);

        if (puller->job != job)
            continue;
        if (puller->channels != 0)
            daemon_core_send(core, puller->place, FRAME_BULK, job_pulled_end_message(job));
        puller_remove(core, puller);
    }
}

/* What a relay had may be lost, and so may be the news that output has been taken. */
void daemon_core_pull_lost(struct daemon_core *core, const struct ranges *places)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->pullers, node, spare)
    {
        struct puller *puller = list_entry(node, struct puller, node);

        give_back(core, puller, UINT32_MAX);
        if (ranges_contains(places, puller->place))
            puller_remove(core, puller);
    }
}

/* ---- elsewhere ---- */

void daemon_core_pull_came(struct daemon_core *core, struct wire_reader *reader)
{
    struct job_pulled output;

    if (job_pulled_decode(&output, reader) < 0 || core->ops->pmi->output(core->context, &output) ||
        output.stream == 0)
        return;
    daemon_core_send(core, 0, FRAME_CONTROL, job_pull_gone_message(output.number));
}
