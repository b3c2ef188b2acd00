/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/daemon_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "launch/daemon/roll_call.h"

static void send_up(struct daemon *daemon, enum frame_class class, struct buffer *payload)
{
    node_send(daemon->node, 0, class, message_from_buffer(payload));
    buffer_fini(payload);
}

#define OUTPUT_HEADER_BYTES 10 /* u8 kind, u32 job, u32 rank, u8 stream */

/* No bytes: the stream has ended inside a line. */
static void output_data(void *context, uint32_t index, uint8_t stream, const void *data,
                        size_t bytes)
{
    struct daemon *daemon = context;
    struct message *message = message_create_blank(OUTPUT_HEADER_BYTES + bytes);
    struct buffer header = {0};

    wire_put_u8(&header, JOB_MESSAGE_OUTPUT);
    wire_put_u32(&header, daemon->job);
    wire_put_u32(&header, job_engine_rank(daemon->engine, daemon->job, index));
    wire_put_u8(&header, stream);
    assert(header.length_bytes == OUTPUT_HEADER_BYTES);
    memcpy(message->data, header.data, OUTPUT_HEADER_BYTES);
    if (bytes > 0)
        memcpy(message->data + OUTPUT_HEADER_BYTES, data, bytes);
    buffer_fini(&header);
    node_send(daemon->node, 0, FRAME_BULK, message);
}

static void output_line_ended(void *context, uint32_t index, uint8_t stream)
{
    output_data(context, index, stream, NULL, 0);
}

static void output_drained(void *context, uint64_t total_bytes)
{
    struct daemon *daemon = context;
    struct job_event event = {
        .kind = JOB_EVENT_DRAINED, .job = daemon->job, .number = (int64_t)total_bytes};

    daemon_job_event(daemon, &event);
}

static const struct output_events output_events = {
    .data = output_data,
    .line_ended = output_line_ended,
    .drained = output_drained,
};

static void stdin_taken(void *context, uint32_t bytes)
{
    struct daemon *daemon = context;
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_STDIN_ACK);
    wire_put_u32(&payload, daemon->job);
    wire_put_u32(&payload, bytes);
    send_up(daemon, FRAME_BULK, &payload);
}

static void services_contribute(void *context, const struct node_key *key,
                                const struct ranges *places, struct message *payload)
{
    struct daemon *daemon = context;

    node_contribute(daemon->node, key, places, payload);
}

static void services_cancel(void *context, const struct node_key *key)
{
    node_cancel(((struct daemon *)context)->node, key);
}

static uint32_t services_send_request(void *context, uint32_t place, struct message *payload)
{
    return node_request(((struct daemon *)context)->node, place, payload);
}

static void services_send_reply(void *context, uint32_t source, uint32_t id,
                                struct message *payload)
{
    node_reply(((struct daemon *)context)->node, source, id, payload);
}

static void services_aborted(void *context, uint32_t index, int status, const char *message)
{
    struct daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_ABORT,
                              .job = daemon->job,
                              .index = index,
                              .number = status,
                              .text = message};

    daemon_job_event(daemon, &event);
}

static uint8_t services_process_state(void *context, uint32_t index)
{
    return roll_call_process_state(((struct daemon *)context)->pids[index]);
}

/* Help texts of MPI libraries: shown as the rank's stderr would be. */
static void services_text(void *context, const char *text, size_t text_bytes)
{
    struct daemon *daemon = context;
    char *line = memory_printf("%.*s", (int)text_bytes, text);

    daemon_text(daemon, daemon->job, LOG_LEVEL_ERROR, line);
    free(line);
}

static void services_failed(void *context, const struct error *why)
{
    struct daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_ABORT,
                              .job = daemon->job,
                              .number = why->code,
                              .text = why->text,
                              .flag = 1};

    daemon_job_event(daemon, &event);
}

static void services_missed(void *context, const struct node_key *key)
{
    struct daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_MISSED, .job = daemon->job};
    char name[64];

    roll_call_name(key, daemon->job, name, sizeof name);
    event.text = name;
    daemon_job_event(daemon, &event);
}

static void job_open_services(struct daemon *daemon, const struct job_local *job)
{
    struct services_world world = {
        .context = daemon,
        .contribute = services_contribute,
        .cancel = services_cancel,
        .request = services_send_request,
        .reply = services_send_reply,
        .aborted = services_aborted,
        .process_state = services_process_state,
        .missed = services_missed,
        .text = services_text,
        .failed = services_failed,
    };
    struct services_config config = {
        .loop = daemon->loop,
        .job = job,
        .allocation = job_engine_allocation(daemon->engine),
        .session = &daemon->session,
        .session_id = daemon->record.instance.session,
        .jobs_name = daemon->jobs_name,
        .node_name = daemon->record.name,
        .net = daemon->record.instance.net,
        .place = daemon->record.place,
        .shared_machine = daemon->record.instance.starter == STARTER_VIRTUAL,
        .world = &world,
    };
    struct error error = ERROR_NONE;

    daemon->services = services_create(&config, &error);
    if (!daemon->services)
        daemon_text(daemon, daemon->job, LOG_LEVEL_ERROR, error.text);
}

static void job_open(struct daemon *daemon, uint32_t number)
{
    const struct job_local *job = job_engine_local(daemon->engine, number);
    int ends[2];

    daemon_job_close(daemon);
    daemon->job = number;
    daemon->output = output_create(daemon->loop, job->count,
                                   output_window_bytes(daemon->record.instance.places - 1),
                                   &output_events, daemon);
    daemon->pids = memory_allocate_zeroed((job->count + 1) * sizeof *daemon->pids);
    job_open_services(daemon, job);
    for (uint32_t i = 0; i < job->count; i++) {
        if (job_engine_rank(daemon->engine, number, i) != job->spec.stdin_rank ||
            pipe2(ends, O_CLOEXEC) < 0)
            continue;
        daemon->input_fd = ends[0];
        daemon->input = input_create(daemon->loop, ends[1], stdin_taken, daemon);
    }
}

void daemon_job_close(struct daemon *daemon)
{
    if (daemon->job == 0)
        return;
    daemon_forget_starts(daemon);
    services_destroy(daemon->services);
    daemon->services = NULL;
    output_destroy(daemon->output);
    daemon->output = NULL;
    input_destroy(daemon->input);
    daemon->input = NULL;
    daemon_close_input_fd(daemon);
    free(daemon->pids);
    daemon->pids = NULL;
    daemon->job = 0;
}

static void set_timer(struct daemon *daemon, int64_t deadline_ns)
{
    if (deadline_ns < 0)
        loop_timer_cancel(daemon->job_timer);
    else
        loop_timer_set(daemon->job_timer, (uint64_t)deadline_ns);
}

static void action_run(struct daemon *daemon, struct job_action *action)
{
    struct message *message = action->message;

    switch (action->kind) {
    case JOB_ACTION_BROADCAST:
        action->message = NULL;
        if (node_broadcast(daemon->node, ranges_is_empty(&action->places) ? NULL : &action->places,
                           message) < 0)
            daemon_text(daemon, action->job, LOG_LEVEL_ERROR,
                        "a message to the nodes was given up: too many are on their way");
        break;
    case JOB_ACTION_CONTRIBUTE:
        action->message = NULL;
        node_contribute(daemon->node, &action->key, &action->places, message);
        break;
    case JOB_ACTION_SEND:
        action->message = NULL;
        node_send(daemon->node, action->place, FRAME_CONTROL, message);
        break;
    case JOB_ACTION_SURVEY:
        daemon_survey_start(daemon, action->job, (unsigned int)action->number,
                            (const char *)action->message->data);
        break;
    case JOB_ACTION_OPEN:
        job_open(daemon, action->job);
        break;
    case JOB_ACTION_START:
        daemon_start_ranks(daemon, action->job, action->index, (uint32_t)action->number);
        break;
    case JOB_ACTION_CANCEL_STARTS:
        daemon_cancel_starts(daemon);
        break;
    case JOB_ACTION_SIGNAL:
        helper_signal_group(daemon->helper, action->job, (int)action->number);
        break;
    case JOB_ACTION_END_GROUP:
        daemon_cancel_starts(daemon);
        helper_end_group(daemon->helper, action->job, (uint32_t)action->number);
        break;
    case JOB_ACTION_CUT_OUTPUT:
        if (daemon->output)
            output_cut(daemon->output, (uint32_t)action->number, (int)action->index);
        break;
    case JOB_ACTION_FORGET:
        node_forget(daemon->node, action->job, &action->places);
        break;
    case JOB_ACTION_CLOSE:
        if (daemon->job == action->job)
            daemon_job_close(daemon);
        break;
    case JOB_ACTION_TIMER:
        set_timer(daemon, action->number);
        break;
    default:
        root_action(daemon, action);
    }
}

void daemon_job_event(struct daemon *daemon, struct job_event *event)
{
    struct job_actions actions;

    job_actions_init(&actions);
    event->now_ns = loop_now_ns();
    job_step(daemon->engine, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        action_run(daemon, &actions.items[i]);
    job_actions_fini(&actions);
}

void daemon_job_timer(void *context)
{
    struct daemon *daemon = context;
    struct ranges missing = {0};
    struct job_event event = {
        .kind = JOB_EVENT_TIMER, .places = &missing, .flag = root_output_waits(daemon)};

    node_missing(daemon->node, &missing);
    daemon_job_event(daemon, &event);
    ranges_fini(&missing);
}

void daemon_job_message(struct daemon *daemon, uint8_t kind, struct wire_reader *reader)
{
    if (wire_get_u32(reader) != daemon->job || daemon->job == 0)
        return; /* it has ended here */
    if (kind == JOB_MESSAGE_CREDIT)
        output_credit(daemon->output, wire_get_u32(reader));
    else if (kind == JOB_MESSAGE_STDIN && daemon->input)
        input_write(daemon->input, reader->position, wire_left(reader));
}

static int is_rank(uint64_t id)
{
    return id > UINT32_MAX;
}

/* What came of a rank: index and job are in the id. */
static struct job_event rank_event(enum job_event_kind kind, uint64_t id, int64_t number)
{
    return (struct job_event){
        .kind = kind, .job = (uint32_t)(id >> 32), .index = (uint32_t)id, .number = number};
}

static void process_started(void *context, uint64_t id, pid_t pid)
{
    struct daemon *daemon = context;
    struct job_event event = rank_event(JOB_EVENT_STARTED, id, pid);

    if (!is_rank(id)) {
        if (starter_owns(daemon->starter, (uint32_t)id))
            starter_process_started(daemon->starter, (uint32_t)id, pid);
        return;
    }
    if (daemon->job == event.job)
        daemon->pids[event.index] = pid;
    daemon_job_event(daemon, &event);
}

static void process_failed(void *context, uint64_t id, int code, enum start_step step,
                           const char *text)
{
    struct daemon *daemon = context;
    struct job_event event = rank_event(JOB_EVENT_START_FAILED, id, code);

    if (id == DAEMON_SURVEY_ID) /* its end of the pipe is closed: that tells */
        return;
    if (!is_rank(id)) {
        starter_process_failed(daemon->starter, (uint32_t)id, code, step);
        daemon_check_end(daemon);
        return;
    }
    event.step = step;
    event.text = text;
    daemon_job_event(daemon, &event);
}

static void process_exited(void *context, uint64_t id, int wait_status, int by_us)
{
    struct daemon *daemon = context;
    struct job_event event = rank_event(JOB_EVENT_EXITED, id, wait_status);
    struct job_event abnormal = rank_event(JOB_EVENT_ABNORMAL, id, 0);

    if (id == DAEMON_SURVEY_ID)
        return;
    if (!is_rank(id)) {
        starter_process_exited(daemon->starter, (uint32_t)id, wait_status);
        daemon_check_end(daemon);
        return;
    }
    daemon->starts.short_ns = 0;
    if (daemon->job == event.job && daemon->services &&
        services_exited(daemon->services, event.index))
        daemon_job_event(daemon, &abnormal);
    event.flag = by_us;
    daemon_job_event(daemon, &event);
}

static void process_group_empty(void *context, uint32_t group)
{
    struct job_event event = {.kind = JOB_EVENT_GROUP_EMPTY, .job = group};

    daemon_job_event(context, &event);
}

/* If it was ending already nobody else tells of its children any more. */
static void helper_gone(void *context)
{
    struct daemon *daemon = context;
    struct error why;

    error_set(&why, -ECHILD, "the helper process was killed");
    daemon_end(daemon, NODE_END_EVICTED, &why);
    if (daemon->root)
        daemon->exit_status = EXIT_FAILURE;
    daemon_check_end(daemon);
}

const struct helper_events daemon_helper_events = {
    .started = process_started,
    .failed = process_failed,
    .exited = process_exited,
    .group_empty = process_group_empty,
    .room = daemon_start_more,
    .gone = helper_gone,
};
