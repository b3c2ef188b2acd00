/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dispatches what arrives from the tree: messages and requests by their kind, replies by the id of the
 * request, results by the kind of the operation.  Everything not in a table goes to the job logic.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/core/names.h"
#include "launch/core/stage_root.h"
#include "launch/core/stall_report.h"
#include "launch/job/clients.h"
#include "overlay/tree.h"

/* ---- messages ---- */

typedef void message_handler(struct daemon_core *core, uint32_t source, struct wire_reader *reader);

static void output_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    clients_output(core->clients, source, reader->position, wire_left(reader));
    daemon_core_pull_output(core, reader);
}

static void copy_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    (void)source;
    daemon_core_pull_came(core, reader);
}

static void input_was_taken(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);
    uint32_t bytes = wire_get_u32(reader);

    (void)source;
    if (wire_finish(reader) == 0)
        daemon_core_push_taken(core, job, bytes);
}

static void text_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    (void)source;
    daemon_core_clients_text(core, reader);
}

static void operation_stalls(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    (void)source;
    stall_report_take(core->stalls, reader);
}

static void credit_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);
    uint32_t bytes = wire_get_u32(reader);

    (void)source;
    if (wire_finish(reader) == 0)
        core->ops->ranks->credit(core->context, job, bytes);
}

static void input_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);

    (void)source;
    if (wire_status(reader) == 0)
        core->ops->ranks->input(core->context, job, reader->position, wire_left(reader));
}

static void window_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    struct window window;
    uint32_t job;

    (void)source;
    if (window_decode(&job, &window, reader) == 0)
        core->ops->ranks->window(core->context, job, &window);
}

static void feed_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    (void)source;
    if (daemon_core_is_root(core))
        daemon_core_feed_ended(core, reader);
    else
        daemon_core_feed_came(core, reader);
}

static void trace_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    daemon_core_trace_came(core, source, reader);
}

static void numbered_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    struct daemon_event inner = {.kind = DAEMON_EVENT_RECEIVED, .place = source};

    inner.message = daemon_core_resend_came(core, source, reader);
    if (inner.message == NULL)
        return;
    daemon_core_route_received(core, &inner);
    message_release(inner.message);
}

static const struct {
    message_handler *at_root;
    message_handler *elsewhere;
} messages[JOB_MESSAGE_COUNT] = {
    [JOB_MESSAGE_OUTPUT] = {.at_root = output_came},
    [JOB_MESSAGE_STDIN_ACK] = {.at_root = input_was_taken},
    [JOB_MESSAGE_TEXT] = {.at_root = text_came},
    [JOB_MESSAGE_STALLED] = {.at_root = operation_stalls},
    [JOB_MESSAGE_PULL_GONE] = {.at_root = daemon_core_pull_refused},
    [JOB_MESSAGE_PULLED] = {.elsewhere = copy_came},
    [JOB_MESSAGE_CREDIT] = {.elsewhere = credit_came},
    [JOB_MESSAGE_STDIN] = {.elsewhere = input_came},
    [JOB_MESSAGE_WINDOW] = {.elsewhere = window_came},
    [JOB_MESSAGE_FEED] = {.elsewhere = feed_came},
    [JOB_MESSAGE_FEED_END] = {.at_root = feed_came},
    [JOB_MESSAGE_TRACE] = {.at_root = trace_came},
    [JOB_MESSAGE_BENCH] = {.at_root = daemon_core_bench_came, .elsewhere = daemon_core_bench_came},
    [JOB_MESSAGE_NUMBERED] = {.at_root = numbered_came},
    [JOB_MESSAGE_TAKEN] = {.elsewhere = daemon_core_resend_taken},
};

void daemon_core_route_received(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event received = {
        .kind = JOB_EVENT_RECEIVED, .place = event->place, .message = event->message};
    message_handler *handler = NULL;
    struct wire_reader reader;
    uint8_t kind;

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    kind = wire_get_u8(&reader);
    if (kind < JOB_MESSAGE_COUNT)
        handler = daemon_core_is_root(core) ? messages[kind].at_root : messages[kind].elsewhere;
    if (handler != NULL)
        handler(core, event->place, &reader);
    else if (daemon_core_is_root(
                 core)) /* other places learn of it by a broadcast of the job logic */
        daemon_core_job(core, &received);
}

/* ---- requests and replies ---- */

static void reply_with(struct daemon_core *core, const struct daemon_event *event, int status,
                       const struct buffer *data)
{
    core->tree->reply(core->tree_context, event->place, event->id,
                      job_reply_message(status, data->data, data->length_bytes));
}

static int answer_query(struct daemon_core *core, const struct daemon_event *event,
                        const struct wire_reader *reader)
{
    struct buffer answer = {0};
    int rc = core->ops->pmi->query(core->context, reader->position, wire_left(reader), &answer);

    if (rc == 0)
        reply_with(core, event, 0, &answer);
    buffer_fini(&answer);
    return rc;
}

/* The root answers it later. */
static int job_is_asked_for(struct daemon_core *core, const struct daemon_event *event,
                            struct wire_reader *reader)
{
    struct job_event spawn = {.kind = JOB_EVENT_SPAWN, .place = event->place, .number = event->id};
    struct job_spec spec;

    if (job_spec_decode(&spec, reader) < 0)
        return -EBADMSG;
    spawn.job = spec.parent;
    spawn.spec = &spec;
    daemon_core_job(core, &spawn);
    job_spec_fini(&spec);
    return 0;
}

static int map_is_asked_for(struct daemon_core *core, const struct daemon_event *event,
                            struct wire_reader *reader)
{
    uint32_t number = wire_get_u32(reader);
    struct buffer answer = {0};
    int rc = wire_finish(reader);

    if (rc == 0)
        rc = instance_job_tell(core->instance, number, event->place, &answer);
    if (rc == 0)
        reply_with(core, event, 0, &answer);
    buffer_fini(&answer);
    return rc;
}

static int answer_order(struct daemon_core *core, const struct daemon_event *event, uint8_t kind,
                        struct wire_reader *reader)
{
    int rc = kind == JOB_MESSAGE_CONTROL ? daemon_core_control(core, reader)
                                         : daemon_core_pull_request(core, event->place, reader);

    if (rc == 0)
        reply_with(core, event, 0, &(struct buffer){0});
    return rc;
}

void daemon_core_route_request(struct daemon_core *core, const struct daemon_event *event)
{
    struct wire_reader reader, peek;
    int rc = -ENOENT;
    uint8_t kind;

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    kind = wire_get_u8(&reader);
    peek = reader;
    if (kind == JOB_MESSAGE_MODEX || kind == JOB_MESSAGE_BLOB || kind == JOB_MESSAGE_ABORT)
        rc = core->ops->pmi->request(core->context, kind, wire_get_u32(&peek), event->place,
                                     event->id, &reader);
    else if (kind == JOB_MESSAGE_ROLL && event->place == 0)
        rc = stall_report_answer(core, event->id, &reader);
    else if (kind == JOB_MESSAGE_QUERY)
        rc = answer_query(core, event, &reader);
    else if (kind == JOB_MESSAGE_SPAWN && daemon_core_is_root(core))
        rc = job_is_asked_for(core, event, &reader);
    else if (kind == JOB_MESSAGE_MAP && daemon_core_is_root(core))
        rc = map_is_asked_for(core, event, &reader);
    else if (kind == JOB_MESSAGE_NOTICE && daemon_core_is_root(core))
        rc = daemon_core_notice_request(core, event);
    else if (kind == JOB_MESSAGE_ACTIVITY && event->place == 0)
        rc = daemon_core_activity_request(core, event, &reader);
    else if (kind == JOB_MESSAGE_LOAD && !daemon_core_is_root(core))
        rc = daemon_core_load_request(core, event, &reader);
    else if (kind == JOB_MESSAGE_BENCH)
        rc = daemon_core_bench_request(core, event);
    else if (kind == JOB_MESSAGE_TRACE_CLOCK)
        rc = daemon_core_trace_clock_request(core, event);
    else if (kind == JOB_MESSAGE_STACKS && !daemon_core_is_root(core))
        rc = daemon_core_stacks_request(core, event, &reader);
    else if (kind == JOB_MESSAGE_PUSH)
        rc = daemon_core_push_request(core, event, &reader);
    else if (kind == JOB_MESSAGE_CONTROL || kind == JOB_MESSAGE_PULL)
        rc = answer_order(core, event, kind, &reader);
    else
        (void)daemon_core_names_request(core, kind, event, &reader, &rc);
    if (rc < 0)
        reply_with(core, event, rc, &(struct buffer){0});
}

void daemon_core_route_reply(struct daemon_core *core, const struct daemon_event *event)
{
    uint32_t job = 0;

    if (core->requests != NULL)
        job = (uint32_t)(uintptr_t)hash_map_remove_u64(core->requests, event->id);
    if (job > 0)
        core->ops->pmi->reply(core->context, job, event->id, event->status, event->message);
    else if (!names_reply(core->names, event->id, event->status, event->message) &&
             !daemon_core_load_reply(core, event) && !daemon_core_bench_reply(core, event) &&
             !daemon_core_stacks_reply(core, event) && !daemon_core_trace_reply(core, event) &&
             !daemon_core_request_reply(core, event) && daemon_core_is_root(core))
        stall_report_reply(core->stalls, event->id, event->status, event->message);
}

/* ---- operations and losses ---- */

void daemon_core_route_result(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event result = {.kind = JOB_EVENT_RESULT,
                               .key = event->key,
                               .status = event->status,
                               .places = event->places,
                               .message = event->message};

    daemon_core_trace_result(core, event->key);
    if (job_is_of_processes(event->key))
        core->ops->pmi->result(core->context, event->key, event->status, event->message);
    else if (event->key->kind == JOB_OPERATION_STAGE)
        daemon_core_stage_result(core, event);
    else if (event->key->kind == JOB_OPERATION_INPUT)
        daemon_core_input_result(core, event);
    else if (event->key->kind == JOB_OPERATION_PROGRESS)
        daemon_core_progress_result(core, event);
    else if (event->key->kind == JOB_OPERATION_BENCH)
        daemon_core_bench_result(core, event);
    else
        daemon_core_job(core, &result);
}

/* Daemons that have been added are all the root's to start. */
static void added_lost(struct daemon_core *core, const struct daemon_event *event)
{
    uint32_t place = core->spec->places;

    for (; event->number == 0 && ranges_next(event->places, place, &place); place++)
        core->ops->starter->clean(core->context, place);
    daemon_core_add_lost(core, event->places);
}

/* The starter cleans up after a dead daemon that it has started; one that leaves does so itself.  Output or
 * credit that the daemon relayed may be lost. */
void daemon_core_route_lost(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event lost = {.kind = JOB_EVENT_LOST, .places = event->places};
    struct tree tree = {.places = core->spec->places, .radix = core->spec->radix};

    for (uint32_t i = 0; i < tree_cut_count(&tree, core->range); i++) {
        uint32_t head = tree_cut(&tree, core->range, i).first;

        if (event->number == 0 &&
            ranges_contains(event->places, daemon_core_shape_listed(core, head)))
            core->ops->starter->clean(core->context, head);
    }
    if (daemon_core_is_root(core))
        added_lost(core, event);
    daemon_core_resend_lost(core);
    core->ops->ranks->renew_credit(core->context);
    core->ops->pmi->lost(core->context, event->places);
    daemon_core_names_lost(core, event->places);
    daemon_core_pull_lost(core, event->places);
    daemon_core_input_lost(core, event->places);
    daemon_core_push_lost(core);
    daemon_core_feed_lost(core, event->places);
    daemon_core_bench_lost(core, event->places);
    if (daemon_core_is_root(core))
        stage_root_lost(core->root->stage, event->places);
    if (daemon_core_is_root(core) && event->number == 0 && core->ops->lost != NULL &&
        instance_is_up(core->instance))
        core->ops->lost(core->context, event->places);
    daemon_core_job(core, &lost);
}
