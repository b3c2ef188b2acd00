/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard input of jobs at the root: it comes from the job's client, and from processes and tools (PMIx_IOF_push).  The
 * node of the rank that reads it reports how much has been taken, in the order in which it was sent; who has sent
 * that is kept here.  The client has a window (CONTROL_STDIN_WINDOW), and another place one piece under way, which is
 * answered when it has been taken.
 *
 * A request is repeated when a relay dies.  The ids of a place's requests ascend, so one that is not above the last has been
 * sent to the rank before, and is not sent again.  Input for all processes goes through daemon_core_input.c, and is never lost.
 *
 * Cost: O(1) for each piece; for a job that has got input what is under way, and O(places that have sent some).
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"

/* Input under way, of one sender. */
struct part {
    struct list_link node;
    uint32_t place; /* 0: the job's client */
    uint32_t id;    /* of the request */
    uint32_t bytes; /* that have not been taken */
};

/* Who has sent input by a request. */
struct sender {
    struct list_link node;
    uint32_t place;
    uint32_t id; /* of the last request */
    int status;  /* its answer, unless it is under way */
};

struct stdin_flow {
    struct list_link node;
    uint32_t job;
    bool is_ended;
    struct list parts; /* the oldest first */
    struct list senders;
};

static struct stdin_flow *flow_find(const struct daemon_core *core, uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->flows, node, spare)
    {
        struct stdin_flow *flow = list_entry(node, struct stdin_flow, node);

        if (flow->job == job)
            return flow;
    }
    return NULL;
}

static struct stdin_flow *flow_of(struct daemon_core *core, uint32_t job)
{
    struct stdin_flow *flow = flow_find(core, job);

    if (flow != NULL)
        return flow;
    flow = memory_allocate_zeroed(sizeof(*flow));
    flow->job = job;
    list_init(&flow->parts);
    list_init(&flow->senders);
    list_append(&core->root->flows, &flow->node);
    return flow;
}

static struct sender *sender_of(struct stdin_flow *flow, uint32_t place)
{
    struct list_link *node, *spare;
    struct sender *sender;

    list_for_each(&flow->senders, node, spare)
    {
        sender = list_entry(node, struct sender, node);
        if (sender->place == place)
            return sender;
    }
    sender = memory_allocate_zeroed(sizeof(*sender));
    sender->place = place;
    list_append(&flow->senders, &sender->node);
    return sender;
}

static void reply(struct daemon_core *core, uint32_t place, uint32_t id, int status)
{
    core->tree->reply(core->tree_context, place, id, job_reply_message(status, NULL, 0));
}

static void part_add(struct stdin_flow *flow, uint32_t place, uint32_t id, uint32_t bytes)
{
    struct part *part = memory_allocate_zeroed(sizeof(*part));

    assert(bytes > 0);
    part->place = place;
    part->id = id;
    part->bytes = bytes;
    list_append(&flow->parts, &part->node);
}

/* It has been taken, or is lost. */
static void part_end(struct daemon_core *core, struct stdin_flow *flow, struct part *part,
                     int status)
{
    list_remove(&part->node);
    if (part->place != 0) {
        sender_of(flow, part->place)->status = status;
        reply(core, part->place, part->id, status);
    }
    free(part);
}

static void flow_empty(struct daemon_core *core, struct stdin_flow *flow, int status)
{
    struct list_link *node, *spare;
    uint32_t of_client = 0;

    list_for_each(&flow->parts, node, spare)
    {
        struct part *part = list_entry(node, struct part, node);

        if (part->place == 0)
            of_client += part->bytes;
        part_end(core, flow, part, status);
    }
    if (of_client > 0)
        clients_input_taken(core->clients, flow->job, of_client);
}

static void flow_free(struct stdin_flow *flow)
{
    struct list_link *node;

    while ((node = list_first(&flow->parts)) != NULL) {
        list_remove(node);
        free(list_entry(node, struct part, node));
    }
    while ((node = list_first(&flow->senders)) != NULL) {
        list_remove(node);
        free(list_entry(node, struct sender, node));
    }
    list_remove(&flow->node);
    free(flow);
}

/* ---- input ---- */

/* The place of the rank that reads. */
static int find_reader(const struct daemon_core *core, uint32_t job, uint32_t *ret_place)
{
    const struct job_spec *spec = instance_job_spec(core->instance, job);
    struct ranges places = {0};
    uint32_t node;
    int is_lost;

    assert(daemon_core_is_root(core));
    if (spec == NULL || instance_job_find(core->instance, job, spec->stdin_rank, &node) < 0)
        return -ENOENT;
    instance_job_places(core->instance, job, spec->stdin_rank, &places);
    is_lost = ranges_is_empty(&places);
    ranges_fini(&places);
    if (is_lost)
        return -ECONNRESET;
    *ret_place = node + 1;
    return 0;
}

/* 0 if the rank's node, or all, get it. */
static int send_input(struct daemon_core *core, uint32_t job, const void *data, size_t bytes)
{
    const struct job_spec *spec = instance_job_spec(core->instance, job);
    uint32_t place;
    int rc;

    if (spec != NULL && spec->stdin_rank == JOB_STDIN_ALL)
        return daemon_core_input_send(core, job, data, bytes);
    rc = find_reader(core, job, &place);
    if (rc == 0)
        daemon_core_send(core, place, FRAME_BULK, job_stdin_message(job, data, bytes));
    return rc;
}

void daemon_core_push_window(struct daemon_core *core, uint32_t job, const void *data, size_t bytes)
{
    const struct job_spec *spec = instance_job_spec(core->instance, job);
    struct wire_reader reader;
    struct window window;
    uint32_t place;

    assert(daemon_core_is_root(core) && data != NULL);
    wire_reader_init(&reader, data, bytes);
    window_get(&reader, &window);
    if (wire_finish(&reader) == 0 && spec != NULL && spec->has_terminal &&
        find_reader(core, job, &place) == 0)
        daemon_core_send(core, place, FRAME_BULK, window_message(job, &window));
}

/* Where there is no rank that reads it, it is discarded. */
void daemon_core_push_client(struct daemon_core *core, uint32_t job, const void *data, size_t bytes)
{
    struct stdin_flow *flow;

    if (send_input(core, job, data, bytes) < 0)
        return;
    flow = flow_of(core, job);
    if (bytes > 0)
        part_add(flow, 0, 0, (uint32_t)bytes);
    else
        flow->is_ended = true;
}

static int may_push(const struct daemon_core *core, const struct job_push *push)
{
    const struct job_spec *spec = instance_job_spec(core->instance, push->number);
    const struct stdin_flow *flow = flow_find(core, push->number);

    if (spec == NULL || !instance_job_is_running(core->instance, push->number))
        return -ENOENT;
    if (spec->stdin_rank == UINT32_MAX ||
        (push->rank != JOB_RANK_ALL && push->rank != spec->stdin_rank))
        return -ENOTSUP;
    return flow != NULL && flow->is_ended ? -EPIPE : 0;
}

static void take_push(struct daemon_core *core, const struct daemon_event *event,
                      const struct job_push *push)
{
    struct stdin_flow *flow = flow_of(core, push->number);
    struct sender *sender = sender_of(flow, event->place);
    int status = send_input(core, push->number, push->data, push->data_bytes);

    sender->id = event->id;
    sender->status = status == 0 && push->data_bytes > 0 ? -EINPROGRESS : status;
    if (sender->status == -EINPROGRESS) {
        part_add(flow, event->place, event->id, (uint32_t)push->data_bytes);
        return;
    }
    flow->is_ended |= status == 0;
    reply(core, event->place, event->id, status);
}

int daemon_core_push_request(struct daemon_core *core, const struct daemon_event *event,
                             struct wire_reader *reader)
{
    struct job_push push;
    const struct sender *sender;
    int rc = daemon_core_is_root(core) ? job_push_decode(&push, reader) : -ENOTSUP;

    if (rc < 0)
        return rc;
    if (flow_find(core, push.number) != NULL) {
        sender = sender_of(flow_of(core, push.number), event->place);
        if (sender->id != 0 && (int32_t)(event->id - sender->id) <= 0) {
            if (sender->status != -EINPROGRESS)
                reply(core, event->place, event->id, sender->status);
            return 0;
        }
    }
    rc = may_push(core, &push);
    if (rc == 0)
        take_push(core, event, &push);
    return rc;
}

void daemon_core_push_taken(struct daemon_core *core, uint32_t job, uint32_t bytes)
{
    struct stdin_flow *flow = flow_find(core, job);
    struct list_link *node;
    uint32_t of_client = 0;

    while (flow != NULL && bytes > 0 && (node = list_first(&flow->parts)) != NULL) {
        struct part *part = list_entry(node, struct part, node);
        uint32_t taken = bytes < part->bytes ? bytes : part->bytes;

        bytes -= taken;
        part->bytes -= taken;
        if (part->place == 0)
            of_client += taken;
        if (part->bytes == 0)
            part_end(core, flow, part, 0);
    }
    if (of_client > 0)
        clients_input_taken(core->clients, job, of_client);
}

/* ---- ends ---- */

void daemon_core_push_ended(struct daemon_core *core, uint32_t job)
{
    struct stdin_flow *flow = flow_find(core, job);

    daemon_core_input_ended(core, job);
    if (flow == NULL)
        return;
    flow_empty(core, flow, -EPIPE);
    flow_free(flow);
}

/* A tool lives on without the job through which it has spawned. */
void daemon_core_push_orphan(struct daemon_core *core, uint32_t job)
{
    const struct job_spec *spec = instance_job_spec(core->instance, job);
    struct stdin_flow *flow;

    if (spec == NULL || spec->parent == 0 || spec->tool != NULL || spec->stdin_rank == UINT32_MAX ||
        instance_job_state(core->instance, job) != INSTANCE_JOB_RUNNING ||
        instance_job_is_running(core->instance, spec->parent))
        return;
    flow = flow_of(core, job);
    if (!flow->is_ended)
        flow->is_ended = send_input(core, job, NULL, 0) == 0;
}

void daemon_core_push_orphans(struct daemon_core *core)
{
    struct ranges numbers = {0};
    uint32_t job = 0;

    instance_job_numbers(core->instance, &numbers);
    for (; ranges_next(&numbers, job, &job); job++)
        daemon_core_push_orphan(core, job);
    ranges_fini(&numbers);
}

/* A relay may have had input, or its end, or the news that it has been taken.  The client's window begins again. */
void daemon_core_push_lost(struct daemon_core *core)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->flows, node, spare)
    {
        struct stdin_flow *flow = list_entry(node, struct stdin_flow, node);
        const struct job_spec *spec = instance_job_spec(core->instance, flow->job);

        if (spec != NULL && spec->stdin_rank == JOB_STDIN_ALL)
            continue;
        flow_empty(core, flow, -ECONNRESET);
        if (flow->is_ended) /* to say it twice is harmless */
            (void)send_input(core, flow->job, NULL, 0);
    }
}

void daemon_core_push_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->root->flows)) != NULL)
        flow_free(list_entry(node, struct stdin_flow, node));
}
