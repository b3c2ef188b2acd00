/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input of each process of a job by itself (launch/proto/feed.h): the root passes it on to the
 * process's node, and reports to the job's client which processes no longer read.  What is for a process that
 * has ended, or a node that is lost, is dropped: the client knows.
 * Cost: O(1) for each message, O(jobs) for a loss; nothing is kept.
 */
#include "config.h"

#include <assert.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/feed.h"
#include "launch/proto/job_wire.h"

void daemon_core_feed_client(struct daemon_core *core, uint32_t job, const void *data, size_t bytes)
{
    const struct job_spec *spec = instance_job_spec(core->instance, job);
    struct wire_reader reader;
    struct feed feed = {.job = job};
    uint32_t node;

    assert(daemon_core_is_root(core));
    wire_reader_init(&reader, data, bytes);
    feed.rank = control_get_number(&reader);
    if (wire_status(&reader) < 0 || spec == NULL || spec->stdin_rank != JOB_STDIN_EACH ||
        instance_job_find(core->instance, job, feed.rank, &node) < 0 ||
        ranges_contains(&core->lost, node + 1))
        return;
    feed.data = (struct wire_bytes){.data = reader.position, .length_bytes = wire_left(&reader)};
    daemon_core_send(core, node + 1, FRAME_BULK, feed_message(&feed));
}

/* 1 if the rank is here. */
static int find_here(const struct daemon_core *core, const struct job_local *part, uint32_t rank,
                     uint32_t *ret_index)
{
    uint32_t node;

    assert(core->place > 0);
    if (rank >= part->map.processes)
        return 0;
    placement_map_find(&part->map, rank, &node, ret_index);
    return node == core->place - 1;
}

void daemon_core_feed_came(struct daemon_core *core, struct wire_reader *reader)
{
    const struct job_local *part;
    struct feed feed;
    uint32_t index;

    if (feed_decode(&feed, reader) < 0)
        return;
    part = instance_part(core->instance, feed.job);
    if (part != NULL && part->spec.stdin_rank == JOB_STDIN_EACH &&
        find_here(core, part, feed.rank, &index))
        core->ops->ranks->feed(core->context, feed.job, index, feed.data.data,
                               feed.data.length_bytes);
}

/* Bulk, as its output: so this comes after most of that. */
void daemon_core_feed_job_event(struct daemon_core *core, const struct job_event *event)
{
    const struct job_local *part = instance_part(core->instance, event->job);
    struct feed_end end = {.job = event->job};

    if ((event->kind != JOB_EVENT_EXITED && event->kind != JOB_EVENT_START_FAILED) ||
        part == NULL || part->spec.stdin_rank != JOB_STDIN_EACH || event->index >= part->count)
        return;
    end.rank = instance_part_rank(core->instance, part, event->index);
    daemon_core_send(core, 0, FRAME_BULK, feed_end_message(&end));
}

void daemon_core_feed_ended(struct daemon_core *core, struct wire_reader *reader)
{
    struct buffer payload = {0};
    struct feed_end end;

    assert(daemon_core_is_root(core));
    if (feed_end_decode(&end, reader) < 0)
        return;
    feed_end_encode(&end, &payload);
    clients_send(core->clients, end.job, CONTROL_FEED_END, &payload);
    buffer_fini(&payload);
}

void daemon_core_feed_lost(struct daemon_core *core, const struct ranges *places)
{
    struct ranges numbers = {0};
    uint32_t job = 0;

    if (!daemon_core_is_root(core))
        return;
    instance_job_numbers(core->instance, &numbers);
    for (; ranges_next(&numbers, job, &job); job++) {
        const struct job_spec *spec = instance_job_spec(core->instance, job);
        struct buffer payload = {0};

        if (spec == NULL || spec->stdin_rank != JOB_STDIN_EACH)
            continue;
        feed_lost_encode(job, places, &payload);
        clients_send(core->clients, job, CONTROL_FEED_LOST, &payload);
        buffer_fini(&payload);
    }
    ranges_fini(&numbers);
}
