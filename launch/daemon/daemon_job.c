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
    const struct daemon_job *job = context;
    struct message *message = message_create_blank(OUTPUT_HEADER_BYTES + bytes);
    struct buffer header = {0};

    wire_put_u8(&header, JOB_MESSAGE_OUTPUT);
    wire_put_u32(&header, job->number);
    wire_put_u32(&header, instance_part_rank(job->daemon->instance, job->local, index));
    wire_put_u8(&header, stream);
    assert(header.length_bytes == OUTPUT_HEADER_BYTES);
    memcpy(message->data, header.data, OUTPUT_HEADER_BYTES);
    if (bytes > 0)
        memcpy(message->data + OUTPUT_HEADER_BYTES, data, bytes);
    buffer_fini(&header);
    node_send(job->daemon->node, 0, FRAME_BULK, message);
}

static void output_line_ended(void *context, uint32_t index, uint8_t stream)
{
    output_data(context, index, stream, NULL, 0);
}

static void output_drained(void *context, uint64_t total_bytes)
{
    struct daemon_job *job = context;
    struct job_event event = {
        .kind = JOB_EVENT_DRAINED, .job = job->number, .number = (int64_t)total_bytes};

    daemon_job_event(job->daemon, &event);
}

static const struct output_events output_events = {
    .data = output_data,
    .line_ended = output_line_ended,
    .drained = output_drained,
};

static void stdin_taken(void *context, uint32_t bytes)
{
    struct daemon_job *job = context;
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_STDIN_ACK);
    wire_put_u32(&payload, job->number);
    wire_put_u32(&payload, bytes);
    send_up(job->daemon, FRAME_BULK, &payload);
}

static void services_contribute(void *context, const struct node_key *key,
                                const struct ranges *places, struct message *payload)
{
    struct daemon_job *job = context;

    node_contribute(job->daemon->node, key, places, payload);
}

static void services_cancel(void *context, const struct node_key *key)
{
    node_cancel(((struct daemon_job *)context)->daemon->node, key);
}

static uint32_t services_send_request(void *context, uint32_t place, struct message *payload)
{
    struct daemon_job *job = context;
    uint32_t id = node_request(job->daemon->node, place, payload);

    (void)map_put_u64(job->daemon->requests, id, (void *)(uintptr_t)job->number);
    return id;
}

static void services_send_reply(void *context, uint32_t source, uint32_t id,
                                struct message *payload)
{
    node_reply(((struct daemon_job *)context)->daemon->node, source, id, payload);
}

static void services_aborted(void *context, uint32_t index, int status, const char *message)
{
    struct daemon_job *job = context;
    struct job_event event = {.kind = JOB_EVENT_ABORT,
                              .job = job->number,
                              .index = index,
                              .number = status,
                              .text = message};

    daemon_job_event(job->daemon, &event);
}

static uint8_t services_process_state(void *context, uint32_t index)
{
    return roll_call_process_state(((struct daemon_job *)context)->pids[index]);
}

/* Help texts of MPI libraries: shown as the rank's stderr would be. */
static void services_text(void *context, const char *text, size_t text_bytes)
{
    struct daemon_job *job = context;
    char *line = memory_printf("%.*s", (int)text_bytes, text);

    daemon_text(job->daemon, job->number, LOG_LEVEL_ERROR, line);
    free(line);
}

static void services_failed(void *context, const struct error *why)
{
    struct daemon_job *job = context;
    struct job_event event = {.kind = JOB_EVENT_ABORT,
                              .job = job->number,
                              .number = why->code,
                              .text = why->text,
                              .flag = 1};

    daemon_job_event(job->daemon, &event);
}

/* The ranks that had to wait for it may start. */
static void services_ready(void *context)
{
    daemon_start_more(context);
}

static void services_missed(void *context, const struct node_key *key)
{
    struct daemon_job *job = context;
    struct job_event event = {.kind = JOB_EVENT_MISSED, .job = job->number};
    char name[64];

    roll_call_name(key, job->number, name, sizeof name);
    event.text = name;
    daemon_job_event(job->daemon, &event);
}

static void open_services(struct daemon_job *job)
{
    const struct daemon *daemon = job->daemon;
    struct services_world world = {
        .context = job,
        .contribute = services_contribute,
        .cancel = services_cancel,
        .request = services_send_request,
        .reply = services_send_reply,
        .aborted = services_aborted,
        .process_state = services_process_state,
        .missed = services_missed,
        .text = services_text,
        .failed = services_failed,
        .ready = services_ready,
    };
    struct services_config config = {
        .loop = daemon->loop,
        .job = job->local,
        .allocation = instance_roster(daemon->instance),
        .session = &daemon->session,
        .pmi_node = daemon->pmi_node,
        .jobs_name = daemon->jobs_name,
        .node_name = daemon->record.name,
        .net = daemon->record.instance.net,
        .place = daemon->record.place,
        .shared_machine = daemon->record.instance.starter == STARTER_VIRTUAL,
        .world = &world,
    };
    struct error error = ERROR_NONE;

    job->services = services_create(&config, &error);
    if (!job->services)
        daemon_text(job->daemon, job->number, LOG_LEVEL_ERROR, error.text);
}

/* For the rank that gets it, if it is here. */
static void open_input(struct daemon_job *job)
{
    const struct instance *instance = job->daemon->instance;
    int ends[2];

    for (uint32_t i = 0; i < job->local->count; i++) {
        if (instance_part_rank(instance, job->local, i) != job->local->spec.stdin_rank ||
            pipe2(ends, O_CLOEXEC) < 0)
            continue;
        job->input_fd = ends[0];
        job->input = input_create(job->daemon->loop, ends[1], stdin_taken, job);
    }
}

struct daemon_job *daemon_job_find(const struct daemon *daemon, uint32_t number)
{
    struct list_node *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
    {
        struct daemon_job *job = list_entry(node, struct daemon_job, node);

        if (job->number == number)
            return job;
    }
    return NULL;
}

void daemon_job_open(struct daemon *daemon, uint32_t number)
{
    struct daemon_job *job = memory_allocate_zeroed(sizeof *job);

    assert(!daemon_job_find(daemon, number));
    job->daemon = daemon;
    job->number = number;
    job->local = instance_part(daemon->instance, number);
    job->input_fd = -1;
    job->start_timer = loop_timer_create(daemon->loop, daemon_start_more, job);
    job->output =
        output_create(daemon->loop, job->local->count,
                      output_window_bytes(daemon->record.instance.places - 1), &output_events, job);
    job->pids = memory_allocate_zeroed((job->local->count + 1) * sizeof *job->pids);
    list_append(&daemon->jobs, &job->node);
    open_services(job);
    open_input(job);
}

void daemon_job_close(struct daemon_job *job)
{
    if (job == NULL)
        return;
    daemon_forget_starts(job);
    list_remove(&job->node);
    loop_timer_destroy(job->start_timer);
    services_destroy(job->services);
    output_destroy(job->output);
    input_destroy(job->input);
    daemon_close_input_fd(job);
    free(job->pids);
    free(job);
}

void daemon_jobs_close(struct daemon *daemon)
{
    struct list_node *node;

    while ((node = list_first(&daemon->jobs)) != NULL)
        daemon_job_close(list_entry(node, struct daemon_job, node));
}

void daemon_job_message(struct daemon *daemon, uint8_t kind, struct wire_reader *reader)
{
    struct daemon_job *job = daemon_job_find(daemon, wire_get_u32(reader));

    if (job == NULL)
        return; /* it has ended here */
    if (kind == JOB_MESSAGE_CREDIT)
        output_credit(job->output, wire_get_u32(reader));
    else if (kind == JOB_MESSAGE_STDIN && job->input)
        input_write(job->input, reader->position, wire_left(reader));
}
