/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients of the root: the operations that launch/job/clients.h needs. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/core/stage_root.h"
#include "launch/core/stall_report.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"

static void ops_send(void *context, uint32_t client, uint8_t type, const void *payload,
                     size_t bytes)
{
    const struct daemon_core *core = context;

    core->ops->clients->send(core->context, client, type, payload, bytes);
}

static size_t ops_queued(void *context, uint32_t client)
{
    const struct daemon_core *core = context;

    return core->ops->clients->queued(core->context, client);
}

static void ops_drop(void *context, uint32_t client)
{
    const struct daemon_core *core = context;

    core->ops->clients->drop(core->context, client);
}

/* Deferred: the actions of the job logic may call the clients again. */
static void ops_step(void *context, struct job_event *event)
{
    daemon_core_keep(context, event);
}

static void ops_credit(void *context, uint32_t job, uint32_t place, uint32_t bytes)
{
    const struct daemon_core *core = context;
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_CREDIT);
    wire_put_u32(&payload, job);
    wire_put_u32(&payload, bytes);
    core->tree->send(core->tree_context, place, FRAME_CONTROL, message_from_buffer(&payload));
    buffer_fini(&payload);
}

static void ops_input(void *context, uint32_t job, uint8_t type, const void *data, size_t bytes)
{
    if (type == CONTROL_STDIN)
        daemon_core_push_client(context, job, data, bytes);
    else if (type == CONTROL_WINDOW)
        daemon_core_push_window(context, job, data, bytes);
    else
        daemon_core_feed_client(context, job, data, bytes);
}

static const char *ops_missing(void *context, uint32_t job)
{
    return stall_report_line(((struct daemon_core *)context)->stalls, job);
}

static void ops_doctor(void *context, struct wire_reader *reader)
{
    const struct daemon_core *core = context;

    core->ops->clients->doctor(core->context, reader);
}

static void ops_request(void *context, uint32_t client, const struct control_request *request)
{
    struct daemon_core *core = context;
    struct wire_reader reader;

    assert(daemon_core_is_root(core));
    wire_reader_init(&reader, request->data.data, request->data.length_bytes);
    switch (request->kind) {
    case JOB_MESSAGE_QUERY:
        daemon_core_request_client(core, client, request);
        break;
    case JOB_MESSAGE_NODES:
        daemon_core_nodes_client(core, client, request);
        break;
    case JOB_MESSAGE_ACTIVITY:
        daemon_core_activity_client(core, client, request->request, &reader);
        break;
    case JOB_MESSAGE_LOAD:
        daemon_core_load_client(core, client, request->request, &reader);
        break;
    case JOB_MESSAGE_STACKS:
        daemon_core_stacks_client(core, client, request->request, &reader);
        break;
    case JOB_MESSAGE_PROGRESS:
        daemon_core_progress_client(core, client, request->request, &reader);
        break;
    case JOB_MESSAGE_BENCH:
        daemon_core_bench_client(core, client, request->request, &reader);
        break;
    case JOB_MESSAGE_STAGE:
        daemon_core_stage_request(core, client, request);
        break;
    case JOB_MESSAGE_CONTROL:
        daemon_core_request_answer(core, client, request->request,
                                   daemon_core_control(core, &reader), NULL);
        break;
    default:
        daemon_core_request_answer(core, client, request->request, -ENOTSUP, NULL);
    }
}

static void ops_detached(void *context)
{
    const struct daemon_core *core = context;

    core->ops->clients->detached(core->context);
}

static void ops_unheard(void *context, const char *text)
{
    const struct daemon_core *core = context;

    core->ops->print(core->context, text);
}

static const struct clients_ops clients_ops = {
    .send = ops_send,
    .queued = ops_queued,
    .drop = ops_drop,
    .step = ops_step,
    .credit = ops_credit,
    .input = ops_input,
    .missing = ops_missing,
    .doctor = ops_doctor,
    .request = ops_request,
    .detached = ops_detached,
    .unheard = ops_unheard,
};

void daemon_core_clients_open(struct daemon_core *core, const struct daemon_core_config *config)
{
    struct clients_config clients = {
        .session = config->spec->session,
        .directory = config->directory,
        .roster = instance_usable(core->instance),
        .piece_bytes = config->credit_piece_bytes,
    };

    assert(core->clients == NULL);
    core->clients = clients_create(&clients, &clients_ops, core);
}

void daemon_core_clients_text(struct daemon_core *core, struct wire_reader *reader)
{
    uint32_t job;
    uint8_t level;
    char *text;

    if (job_text_decode(reader, &job, &level, &text) == 0)
        daemon_core_text(core, job, level, text);
    free(text);
}

void daemon_core_clients_gone(struct daemon_core *core, uint32_t client)
{
    daemon_core_request_gone(core, client);
    daemon_core_activity_gone(core, client);
    daemon_core_load_gone(core, client);
    daemon_core_stacks_gone(core, client);
    daemon_core_progress_gone(core, client);
    daemon_core_bench_gone(core, client);
    daemon_core_nodes_gone(core, client);
    stage_root_client_gone(core->root->stage, client);
    clients_gone(core->clients, client);
}
