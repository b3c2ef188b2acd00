/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/core/daemon_core.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/core/names.h"
#include "launch/core/stall_report.h"
#include "launch/core/stage_root.h"
#include "launch/job/clients.h"
#include "overlay/tree.h"

void daemon_core_check(const struct daemon_core *core)
{
    assert(core->phase < DAEMON_PHASE_COUNT);
    assert(core->instance != NULL);
    assert(daemon_core_is_root(core) == (core->clients != NULL));
    assert(daemon_core_is_root(core) == (core->stalls != NULL));
    assert(daemon_core_is_root(core) == (core->root->stage != NULL));
    assert(core->phase != DAEMON_LEAVING || daemon_core_is_root(core));
    assert(core->is_stepping || list_is_empty(&core->kept));
    daemon_core_shape_check(core);
}

/* ---- events of this node ---- */

#define OUTPUT_HEADER_BYTES (1 + 4 + JOB_OUTPUT_HEADER_BYTES) /* u8 kind, u32 job */

static void on_output(struct daemon_core *core, const struct daemon_event *event)
{
    const struct job_local *part = instance_part(core->instance, event->job);
    struct message *message;
    struct buffer header = {0};

    if (part == NULL)
        return;
    message = message_create_blank(OUTPUT_HEADER_BYTES + event->data_bytes);
    wire_put_u8(&header, JOB_MESSAGE_OUTPUT);
    wire_put_u32(&header, event->job);
    wire_put_u32(&header, instance_part_rank(core->instance, part, event->id));
    wire_put_u8(&header, event->type);
    wire_put_u64(&header, (uint64_t)event->number);
    wire_put_u32(&header, core->place);
    assert(header.length_bytes == OUTPUT_HEADER_BYTES);
    memcpy(message->data, header.data, OUTPUT_HEADER_BYTES);
    if (event->data_bytes > 0)
        memcpy(message->data + OUTPUT_HEADER_BYTES, event->data, event->data_bytes);
    buffer_fini(&header);
    daemon_core_send(core, 0, FRAME_BULK, message);
}

static void on_input_taken(struct daemon_core *core, const struct daemon_event *event)
{
    struct buffer payload = {0};

    if (daemon_core_input_taken(core, event->job, (uint32_t)event->number))
        return;
    wire_put_u8(&payload, JOB_MESSAGE_STDIN_ACK);
    wire_put_u32(&payload, event->job);
    wire_put_u32(&payload, (uint32_t)event->number);
    daemon_core_send(core, 0, FRAME_BULK, message_from_buffer(&payload));
    buffer_fini(&payload);
}

static void on_missed(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event missed = {.kind = JOB_EVENT_MISSED, .job = event->job};
    char name[STALL_NAME_BYTES];

    stall_report_name(event->key, event->job, name);
    missed.text = name;
    daemon_core_job(core, &missed);
}

/* A signal from outside ends all jobs in order: each daemon that gets one asks the root for that. */
static void on_signalled(struct daemon_core *core, const struct daemon_event *event)
{
    struct buffer payload = {0};
    struct daemon_event received = {.kind = DAEMON_EVENT_RECEIVED};
    char why[64];

    if (daemon_core_is_ending(core))
        return;
    if (!daemon_core_is_root(core) && !core->has_joined) {
        snprintf(why, sizeof(why), "it received signal %d before it joined", (int)event->number);
        daemon_core_end_begin(core, ENDPOINT_END_ORPHAN, why);
        return;
    }
    wire_put_u8(&payload, JOB_MESSAGE_CANCEL);
    wire_put_u32(&payload, (uint32_t)event->number);
    wire_put_string(&payload, event->text);
    received.message = message_from_buffer(&payload);
    buffer_fini(&payload);
    if (daemon_core_is_root(core)) {
        daemon_core_route_received(core, &received);
        message_release(received.message);
    } else {
        daemon_core_send(core, 0, FRAME_CONTROL, received.message);
    }
}

/* The ends of its children are no longer reported. */
static void on_helper_lost(struct daemon_core *core, const struct daemon_event *event)
{
    (void)event;
    daemon_core_end_begin(core, ENDPOINT_END_EVICTED, "the helper process was killed");
    if (daemon_core_is_root(core))
        core->has_failed = true;
    daemon_core_end_check_idle(core);
}

static void on_job(struct daemon_core *core, const struct daemon_event *event)
{
    daemon_core_names_job_event(core, event->job_event);
    daemon_core_feed_job_event(core, event->job_event);
    daemon_core_trace_job_event(core, event->job_event);
    daemon_core_job(core, event->job_event);
}

/* ---- the starter ---- */

static void on_start(struct daemon_core *core, const struct daemon_event *event)
{
    struct tree tree = {.places = core->spec->places, .radix = core->spec->radix};

    core->begun_ns = core->ops->now_ns(core->context);
    (void)event;
    for (uint32_t i = 0; i < tree_cut_count(&tree, core->range); i++)
        core->ops->starter->start(core->context, tree_cut(&tree, core->range, i));
}

/* The next place of a child's range heads it, and starts the others. */
static void start_heir(struct daemon_core *core, uint32_t place)
{
    struct tree tree = {.places = core->spec->places, .radix = core->spec->radix};

    place = daemon_core_shape_tree(core, place);
    for (uint32_t i = 0; i < tree_cut_count(&tree, core->range); i++) {
        struct range range = tree_cut(&tree, core->range, i);

        if (place >= range.first && place < range.last)
            core->ops->starter->start(core->context,
                                      (struct range){.first = place + 1, .last = range.last});
    }
}

static void on_place_failed(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event failed = {
        .kind = JOB_EVENT_PLACE_FAILED, .place = event->place, .text = event->text};

    if (daemon_core_is_ending(core))
        return;
    daemon_core_job(core, &failed);
    daemon_core_add_failed(core, event->place, event->text);
    core->tree->place_failed(core->tree_context, event->place);
    if (instance_spec_may_miss(core->spec) && event->type != 0)
        start_heir(core, event->place);
    daemon_core_end_check_idle(core);
}

static void on_line(struct daemon_core *core, const struct daemon_event *event)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    char *line;

    if (event->place == 0) {
        daemon_core_text(core, 0, LOG_LEVEL_WARNING, event->text);
        return;
    }
    line = memory_printf("%s: %s", daemon_core_shape_name(core, event->place, name), event->text);
    daemon_core_text(core, 0, LOG_LEVEL_WARNING, line);
    free(line);
}

static void on_idle(struct daemon_core *core, const struct daemon_event *event)
{
    (void)event;
    daemon_core_end_check_idle(core);
}

/* ---- the tree; see daemon_core_route.c for the events that come in kinds ---- */

static void on_joined(struct daemon_core *core, const struct daemon_event *event)
{
    (void)event;
    assert(!core->has_joined);
    core->has_joined = true;
    if (!daemon_core_is_root(core) && core->begun_ns > 0)
        instance_joined(core->instance, core->begun_ns, core->ops->now_ns(core->context));
    if (core->place >= core->spec->places)
        daemon_core_names_joined(core);
    core->ops->starter->joined(core->context);
}

static void on_linked(struct daemon_core *core, const struct daemon_event *event)
{
    core->ops->starter->linked(core->context, event->place);
    daemon_core_add_linked(core, event->place);
}

static void on_unlinked(struct daemon_core *core, const struct daemon_event *event)
{
    if (!core->has_joined && !daemon_core_is_ending(core))
        core->ops->starter->unlinked(core->context, event->place, event->status, event->text);
}

static void on_complete(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event complete = {.kind = JOB_EVENT_COMPLETE};

    (void)event;
    if (!core->was_complete)
        core->root->complete_ns = core->ops->now_ns(core->context);
    core->was_complete = true;
    daemon_core_job(core, &complete);
    if (instance_is_up(core->instance))
        stage_root_up(core->root->stage);
}

static void on_broadcast(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event broadcast = {.kind = JOB_EVENT_BROADCAST, .message = event->message};

    if (!daemon_core_notice_broadcast(core, event->message) &&
        !daemon_core_stage_broadcast(core, event->message) &&
        !daemon_core_input_broadcast(core, event->message) &&
        !daemon_core_progress_broadcast(core, event->message) &&
        !daemon_core_bench_broadcast(core, event->message))
        daemon_core_job(core, &broadcast);
}

static void on_seen(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event seen = {.kind = JOB_EVENT_SEEN,
                             .places = event->places,
                             .status = event->status,
                             .number = event->number};

    daemon_core_job(core, &seen);
}

static void on_silent(struct daemon_core *core, const struct daemon_event *event)
{
    daemon_core_silence(core, event->place, (uint64_t)event->number);
}

/* To the root, which knows which ranks run where. */
static void send_stalled(struct daemon_core *core, const struct job_stalled *message)
{
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_STALLED);
    job_stalled_encode(message, &payload);
    daemon_core_send(core, 0, FRAME_CONTROL, message_from_buffer(&payload));
    buffer_fini(&payload);
}

/* The meeting point reports. */
static void on_missing(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_stalled message = {.key = *event->key,
                                  .kind = event->missing == NULL ? JOB_STALLED_OVER
                                                                 : JOB_STALLED_MISSING};

    if (event->places != NULL)
        message.set = *event->places; /* borrowed, as the next */
    if (event->missing != NULL)
        message.missing = *event->missing;
    send_stalled(core, &message);
}

/* A node reports of itself.  If all nodes wait in this way there is no operation yet that the tree could find stalled,
 * so the root is given as many nodes to ask as it asks at once, this one first. */
static void on_stalled(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_stalled message = {.key = *event->key, .kind = event->type};
    struct ranges *absent = &message.missing.absent;
    uint32_t place = 0;

    assert(event->type == JOB_STALLED_LOCAL || event->type == JOB_STALLED_LOCAL_OVER);
    if (event->type == JOB_STALLED_LOCAL) {
        message.set = *event->places; /* borrowed, as the next */
        if (event->ranks != NULL)
            message.ranks = *event->ranks;
        ranges_add(absent, core->place, core->place);
        for (; ranges_count(absent) < STALL_ASKED_MAX && ranges_next(&message.set, place, &place);
             place++)
            ranges_add(absent, place, place);
        message.missing.more = ranges_count(&message.set) - ranges_count(absent);
    }
    send_stalled(core, &message);
    ranges_fini(absent);
}

/* ---- clients and clock ---- */

static void on_client_opened(struct daemon_core *core, const struct daemon_event *event)
{
    clients_join(core->clients, event->place);
}

static void on_client_message(struct daemon_core *core, const struct daemon_event *event)
{
    clients_message(core->clients, event->place, event->type, event->data, event->data_bytes);
}

static void on_client_closed(struct daemon_core *core, const struct daemon_event *event)
{
    daemon_core_clients_gone(core, event->place);
}

static void job_timer_over(struct daemon_core *core, uint32_t job)
{
    struct ranges missing = {0};
    struct job_event event = {.kind = JOB_EVENT_TIMER, .job = job, .places = &missing};

    if (job == 0)
        core->tree->missing(core->tree_context, &missing);
    else if (daemon_core_is_root(core))
        event.flag = clients_wait(core->clients, job);
    daemon_core_job(core, &event);
    ranges_fini(&missing);
}

static void on_timer(struct daemon_core *core, const struct daemon_event *event)
{
    switch ((enum daemon_timer)event->id) {
    case DAEMON_TIMER_JOB:
        job_timer_over(core, event->job);
        break;
    case DAEMON_TIMER_STALLS:
        stall_report_due(core->stalls);
        break;
    case DAEMON_TIMER_NAMES:
        assert(core->names != NULL);
        names_timer(core->names);
        break;
    case DAEMON_TIMER_ACTIVITY:
        daemon_core_activity_due(core);
        break;
    case DAEMON_TIMER_STACKS:
        daemon_core_stacks_due(core);
        break;
    case DAEMON_TIMER_LOAD:
        daemon_core_load_due(core);
        break;
    case DAEMON_TIMER_ADD:
        daemon_core_add_due(core);
        break;
    case DAEMON_TIMER_INPUT:
        daemon_core_input_due(core);
        break;
    case DAEMON_TIMER_BENCH:
        daemon_core_bench_due(core);
        break;
    case DAEMON_TIMER_NOTICE:
        daemon_core_notice_due(core);
        break;
    default:
        assert(event->id == DAEMON_TIMER_END);
        daemon_core_end_step(core, DAEMON_OUT_PATIENCE);
    }
}

static void on_leave(struct daemon_core *core, const struct daemon_event *event)
{
    daemon_core_end_leave(core, (uint32_t)event->number);
}

static void on_end(struct daemon_core *core, const struct daemon_event *event)
{
    daemon_core_end_begin(core, (enum endpoint_end)event->status, event->text);
}

static void on_finished(struct daemon_core *core, const struct daemon_event *event)
{
    (void)event;
    daemon_core_end_step(core, DAEMON_OUT_FINISHED);
}

/* ---- steps ---- */

static daemon_event_handler *const handlers[DAEMON_EVENT_KIND_COUNT] = {
    [DAEMON_EVENT_JOINED] = on_joined,
    [DAEMON_EVENT_LINKED] = on_linked,
    [DAEMON_EVENT_UNLINKED] = on_unlinked,
    [DAEMON_EVENT_COMPLETE] = on_complete,
    [DAEMON_EVENT_BROADCAST] = on_broadcast,
    [DAEMON_EVENT_RESULT] = daemon_core_route_result,
    [DAEMON_EVENT_RECEIVED] = daemon_core_route_received,
    [DAEMON_EVENT_REQUEST] = daemon_core_route_request,
    [DAEMON_EVENT_REPLY] = daemon_core_route_reply,
    [DAEMON_EVENT_SEEN] = on_seen,
    [DAEMON_EVENT_SILENT] = on_silent,
    [DAEMON_EVENT_LOST] = daemon_core_route_lost,
    [DAEMON_EVENT_MISSING] = on_missing,
    [DAEMON_EVENT_RECOVERED] = daemon_core_resend_all,
    [DAEMON_EVENT_JOB] = on_job,
    [DAEMON_EVENT_OUTPUT] = on_output,
    [DAEMON_EVENT_INPUT_TAKEN] = on_input_taken,
    [DAEMON_EVENT_MISSED] = on_missed,
    [DAEMON_EVENT_STALLED] = on_stalled,
    [DAEMON_EVENT_SIGNALLED] = on_signalled,
    [DAEMON_EVENT_HELPER_LOST] = on_helper_lost,
    [DAEMON_EVENT_STAGE_REPORT] = daemon_core_stage_reported,
    [DAEMON_EVENT_STACKS] = daemon_core_stacks_taken,
    [DAEMON_EVENT_START] = on_start,
    [DAEMON_EVENT_PLACE_FAILED] = on_place_failed,
    [DAEMON_EVENT_LINE] = on_line,
    [DAEMON_EVENT_IDLE] = on_idle,
    [DAEMON_EVENT_CLIENT_OPENED] = on_client_opened,
    [DAEMON_EVENT_CLIENT_MESSAGE] = on_client_message,
    [DAEMON_EVENT_CLIENT_CLOSED] = on_client_closed,
    [DAEMON_EVENT_NOTICE] = daemon_core_notice_all,
    [DAEMON_EVENT_TIMER] = on_timer,
    [DAEMON_EVENT_LEAVE] = on_leave,
    [DAEMON_EVENT_END] = on_end,
    [DAEMON_EVENT_FINISHED] = on_finished,
};

static void handle_event(struct daemon_core *core, const struct daemon_event *event)
{
    assert(event->kind < DAEMON_EVENT_KIND_COUNT && handlers[event->kind] != NULL);
    if (core->spec->log != NULL)
        daemon_core_log(core, event);
    handlers[event->kind](core, event);
}

/* As handle_event, in an instance whose tree does not go by the allocation. */
static void handle_shaped(struct daemon_core *core, const struct daemon_event *event)
{
    struct daemon_shaped_event shaped;

    if (daemon_core_shape_event(core, event, &shaped)) {
        handle_event(core, &shaped.event);
        daemon_core_shape_event_fini(&shaped);
    }
    if (daemon_core_shape_losses(core, &shaped)) {
        handle_event(core, &shaped.event);
        daemon_core_shape_event_fini(&shaped);
    }
}

static void run_handler(struct daemon_core *core, const struct daemon_event *event)
{
    if (core->shape == NULL)
        handle_event(core, event);
    else
        handle_shaped(core, event);
}

static void run_kept(struct daemon_core *core)
{
    const struct daemon_event *kept;

    for (; (kept = daemon_core_kept_first(core)) != NULL; daemon_core_kept_drop(core))
        run_handler(core, kept);
}

void daemon_core_step(struct daemon_core *core, const struct daemon_event *event)
{
    if (core->root->observer != NULL)
        core->root->observer->begins(core->root->observer_context, event, core->is_stepping);
    if (core->is_stepping) {
        daemon_core_keep_event(core, event);
        return;
    }
    daemon_core_check(core);
    core->is_stepping = true;
    run_handler(core, event);
    run_kept(core);
    daemon_core_nodes_go_on(core);
    run_kept(core);
    core->is_stepping = false;
    daemon_core_check(core);
    if (core->root->observer != NULL)
        core->root->observer->ends(core->root->observer_context);
}

void daemon_core_observe(struct daemon_core *core, const struct daemon_core_observer *observer,
                         void *context)
{
    assert(!core->is_stepping && daemon_core_is_root(core));
    core->root->observer = observer;
    core->root->observer_context = context;
}

void daemon_core_hand_over(struct daemon_core *core, const struct daemon_ops *ops, void *context)
{
    assert(!core->is_stepping && ops != NULL);
    core->ops = ops;
    core->context = context;
}

/* ---- life ---- */

static struct core_root no_root;

struct daemon_core *daemon_core_create(const struct daemon_core_config *config)
{
    struct daemon_core *core = memory_allocate_zeroed(sizeof(*core));

    assert((config->place == 0) == (config->roster != NULL));
    core->ops = config->ops;
    core->context = config->context;
    core->spec = config->spec;
    core->range = config->range;
    core->place = config->place;
    daemon_core_shape_open(core, config->order);
    core->root = daemon_core_is_root(core) ? memory_allocate_zeroed(sizeof(*core->root)) : &no_root;
    list_init(&core->root->pullers);
    list_init(&core->root->flows);
    daemon_core_input_open(core);
    daemon_core_request_open(core);
    daemon_core_activity_open(core);
    daemon_core_progress_open(core);
    daemon_core_load_open(core);
    daemon_core_bench_open(core);
    daemon_core_stacks_open(core);
    daemon_core_nodes_open(core);
    daemon_core_stage_open(core);
    list_init(&core->kept);
    core->instance = instance_create(config->spec, config->place, config->roster, config->policy);
    if (daemon_core_is_root(core)) {
        core->stalls = stall_report_create(core);
        daemon_core_clients_open(core, config);
    }
    daemon_core_check(core);
    return core;
}

void daemon_core_attach(struct daemon_core *core, const struct daemon_tree_ops *ops, void *tree)
{
    assert(core->tree == NULL && ops != NULL);
    core->tree = ops;
    core->tree_context = tree;
    if (core->shape != NULL)
        daemon_core_shape_attach(core);
}

void daemon_core_destroy(struct daemon_core *core)
{
    if (core == NULL)
        return;
    assert(!core->is_stepping);
    while (daemon_core_kept_first(core) != NULL)
        daemon_core_kept_drop(core);
    daemon_core_pull_close(core);
    daemon_core_push_close(core);
    daemon_core_input_close(core);
    daemon_core_request_close(core);
    daemon_core_activity_close(core);
    daemon_core_progress_close(core);
    daemon_core_load_close(core);
    daemon_core_bench_close(core);
    daemon_core_stacks_close(core);
    daemon_core_trace_close(core);
    daemon_core_nodes_close(core);
    daemon_core_stage_close(core);
    daemon_core_resend_close(core);
    names_destroy(core->names);
    ranges_fini(&core->lost);
    daemon_core_shape_close(core);
    stall_report_destroy(core->stalls);
    clients_destroy(core->clients);
    instance_destroy(core->instance);
    hash_map_destroy(core->requests);
    hash_map_destroy(core->root->notices);
    message_release(core->root->notice);
    if (core->root != &no_root)
        free(core->root);
    free(core);
}

uint32_t daemon_core_request(struct daemon_core *core, uint32_t job, uint32_t place,
                             struct message *message)
{
    uint32_t id = core->tree->request(core->tree_context, place, message);

    assert(job > 0);
    if (core->requests == NULL)
        core->requests = hash_map_create();
    (void)hash_map_put_u64(core->requests, id, (void *)(uintptr_t)job);
    return id;
}

void daemon_core_contribute(struct daemon_core *core, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    core->tree->contribute(core->tree_context, key, places, message);
}

void daemon_core_reply(struct daemon_core *core, uint32_t source, uint32_t id,
                       struct message *message)
{
    core->tree->reply(core->tree_context, source, id, message);
}
