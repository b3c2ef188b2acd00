/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging files (doc/stage.rst): the root's transfers (stage_root.h) with their clients, and at a node the orders
 * of the root, which a process of the node carries out, and whose reports are contributed to the gathers.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/core/stage_root.h"
#include "launch/job/clients.h"
#include "launch/job/job_report.h"

/* An order whose report is due. */
struct stage_due {
    struct list_link node;
    uint32_t transfer;
    uint32_t generation;
    struct ranges places;
};

/* ---- the root ---- */

static int ops_broadcast(void *context, const struct ranges *places, struct message *message)
{
    const struct daemon_core *core = context;

    return core->tree->broadcast(core->tree_context, places, message);
}

static void ops_answer(void *context, uint32_t client, uint32_t request, int status,
                       const struct buffer *data)
{
    const struct daemon_core *core = context;
    struct control_answer answer = {.request = request, .status = status};

    if (data != NULL)
        answer.data = (struct wire_bytes){.data = data->data, .length_bytes = data->length_bytes};
    clients_answer(core->clients, client, &answer);
}

static void ops_forget(void *context, uint32_t owner)
{
    const struct daemon_core *core = context;
    uint32_t nodes = allocation_nodes(instance_roster(core->instance));
    struct ranges places = {0};

    if (nodes > 0)
        ranges_add(&places, 1, nodes);
    core->tree->forget(core->tree_context, owner, &places);
    ranges_fini(&places);
}

/* Deferred: it may be within a step of the job logic. */
static void ops_staged(void *context, uint32_t job)
{
    struct job_event staged = {.kind = JOB_EVENT_STAGED, .job = job};

    daemon_core_keep(context, &staged);
}

static bool ops_is_waiting(void *context, uint32_t job)
{
    return instance_job_is_held(((struct daemon_core *)context)->instance, job);
}

static void ops_name(void *context, const struct ranges *places, struct buffer *out)
{
    job_report_places(((struct daemon_core *)context)->instance, places, out);
}

static const struct stage_root_ops root_ops = {
    .broadcast = ops_broadcast,
    .answer = ops_answer,
    .forget = ops_forget,
    .staged = ops_staged,
    .is_waiting = ops_is_waiting,
    .name = ops_name,
};

void daemon_core_stage_open(struct daemon_core *core)
{
    list_init(&core->stage_due);
    if (daemon_core_is_root(core))
        core->root->stage = stage_root_create(core->spec->places - 1, &root_ops, core);
}

void daemon_core_stage_request(struct daemon_core *core, uint32_t client,
                               const struct control_request *request)
{
    stage_root_request(core->root->stage, client, request->request, request->data.data,
                       request->data.length_bytes);
}

/* The root is no member: it has results of gathers, a node those of its contributions. */
void daemon_core_stage_result(struct daemon_core *core, const struct daemon_event *event)
{
    const struct message *message = event->message;

    if (daemon_core_is_root(core))
        stage_root_result(core->root->stage, event->key->generation, event->status, event->places,
                          message != NULL ? message->data : NULL,
                          message != NULL ? message->length_bytes : 0);
}

/* ---- a node ---- */

static void due_free(struct stage_due *due)
{
    list_remove(&due->node);
    ranges_fini(&due->places);
    free(due);
}

/* Each set of nodes has a separate name. */
static struct operation_name key_of(const struct stage_due *due)
{
    struct operation_name key = {.generation = due->generation,
                                 .owner = STAGE_OWNER_BIT | due->transfer,
                                 .kind = JOB_OPERATION_STAGE,
                                 .merge = JOB_MERGE_STAGE,
                                 .target = ENDPOINT_TARGET_ROOT};
    struct buffer set = {0};

    ranges_encode(&due->places, &set);
    key.set_id = hash_mix(hash_bytes(set.data, set.length_bytes, JOB_OPERATION_STAGE));
    buffer_fini(&set);
    return key;
}

static void contribute(struct daemon_core *core, struct stage_due *due, struct buffer *report)
{
    struct operation_name key = key_of(due);

    core->tree->contribute(core->tree_context, &key, &due->places, message_from_buffer(report));
    due_free(due);
}

static void contribute_failure(struct daemon_core *core, struct stage_due *due, const char *text)
{
    struct stage_report report = {.failures = NULL};
    struct buffer payload = {0};

    stage_report_fail(&report, core->place, text);
    stage_report_encode(&report, &payload);
    contribute(core, due, &payload);
    buffer_fini(&payload);
    stage_report_fini(&report);
}

int daemon_core_stage_broadcast(struct daemon_core *core, struct message *message)
{
    struct stage_order order;
    struct stage_due *due;
    struct wire_reader reader;

    if (message->length_bytes == 0 || message->data[0] != JOB_MESSAGE_STAGE)
        return 0;
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    if (daemon_core_is_root(core) || stage_order_decode(&order, &reader) < 0)
        return 1;
    if (order.step != STAGE_REMOVE) {
        due = memory_allocate_zeroed(sizeof(*due));
        due->transfer = order.transfer;
        due->generation = order.generation;
        ranges_copy(&due->places, &order.places);
        list_append(&core->stage_due, &due->node);
    }
    stage_order_fini(&order);
    core->ops->stage(core->context, message);
    return 1;
}

static struct stage_due *due_find(const struct daemon_core *core, uint32_t generation)
{
    struct list_link *node, *spare;

    list_for_each(&core->stage_due, node, spare)
    {
        struct stage_due *due = list_entry(node, struct stage_due, node);

        if (due->generation == generation)
            return due;
    }
    return NULL;
}

void daemon_core_stage_reported(struct daemon_core *core, const struct daemon_event *event)
{
    struct stage_due *due = due_find(core, event->id);
    struct buffer report = {0};
    struct list_link *node;

    if (event->status == 0) {
        buffer_append(&report, event->data, event->data_bytes);
        if (due != NULL)
            contribute(core, due, &report);
        buffer_fini(&report);
        return;
    }
    while ((node = list_first(&core->stage_due)) != NULL)
        contribute_failure(core, list_entry(node, struct stage_due, node), event->text);
}

void daemon_core_stage_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->stage_due)) != NULL)
        due_free(list_entry(node, struct stage_due, node));
    stage_root_destroy(core->root->stage);
}
