/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The users of a simulated machine: clients of its root (launch/proto/control.h), which run jobs, end
 * them, and take their time to write what the jobs print.  What they send is heard by a root that is not
 * stopped; what they are sent they take at once.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/sim/sim_internal.h"

/* ---- what clients send ---- */

struct sent {
    struct list_link node; /* of those that the root has yet to hear */
    struct sim_machine *machine;
    uint32_t client;
    uint8_t type;
    struct buffer payload;
};

static struct sim_client *client_of(struct sim_machine *machine, uint32_t number)
{
    assert(number > 0);
    if (number > machine->clients_count) {
        machine->clients = memory_resize(machine->clients, number * sizeof(*machine->clients));
        memset(machine->clients + machine->clients_count, 0,
               (number - machine->clients_count) * sizeof(*machine->clients));
        machine->clients_count = number;
    }
    return &machine->clients[number - 1];
}

static void post_message(struct sim_machine *machine, uint32_t client, uint8_t type,
                         const struct buffer *payload)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_CLIENT_MESSAGE,
                                 .place = client,
                                 .type = type,
                                 .data = payload->data,
                                 .data_bytes = payload->length_bytes};

    sim_daemon_post(&machine->daemons[0], &event);
}

static void open_client(struct sim_machine *machine, uint32_t number)
{
    struct sim_client *client = client_of(machine, number);
    struct control_hello hello = {.version = CONTROL_VERSION, .wants = CONTROL_WANTS_TEXTS};
    struct daemon_event opened = {.kind = DAEMON_EVENT_CLIENT_OPENED, .place = number};
    struct buffer payload = {0};

    client->is_open = 1;
    sim_daemon_post(&machine->daemons[0], &opened);
    control_hello_encode(&hello, &payload);
    post_message(machine, number, CONTROL_HELLO, &payload);
    buffer_fini(&payload);
}

static void sent_free(struct sent *sent)
{
    list_remove(&sent->node);
    buffer_fini(&sent->payload);
    free(sent);
}

static void call_sent(void *context, uint64_t argument)
{
    struct sent *sent = context;
    struct sim_machine *machine = sent->machine;

    if (sim_daemon_defers(&machine->daemons[0], call_sent, context, argument))
        return;
    if (!client_of(machine, sent->client)->has_closed) {
        if (!client_of(machine, sent->client)->is_open)
            open_client(machine, sent->client);
        post_message(machine, sent->client, sent->type, &sent->payload);
    }
    sent_free(sent);
}

void sim_user_forget(struct sim_machine *machine)
{
    struct list_link *node;

    while ((node = list_first(&machine->sent)) != NULL)
        sent_free(list_entry(node, struct sent, node));
    free(machine->clients);
}

void sim_user_send(struct sim_machine *machine, uint32_t client, uint8_t type,
                   struct buffer *payload)
{
    struct sent *sent;

    if (!sim_daemon_is_up(&machine->daemons[0])) {
        buffer_fini(payload);
        return;
    }
    sent = memory_allocate_zeroed(sizeof(*sent));
    *sent = (struct sent){.machine = machine, .client = client, .type = type};
    buffer_swap(&sent->payload, payload);
    list_append(&machine->sent, &sent->node);
    call_sent(sent, 0);
}

static void call_close(void *context, uint64_t client)
{
    struct sim_machine *machine = context;
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = (uint32_t)client};

    if (!sim_daemon_defers(&machine->daemons[0], call_close, context, client))
        sim_daemon_post(&machine->daemons[0], &closed);
}

void sim_user_close(struct sim_machine *machine, uint32_t number)
{
    struct sim_client *client = client_of(machine, number);

    if (!client->is_open || client->has_closed)
        return;
    client->has_closed = 1;
    call_close(machine, number);
}

void sim_user_run(struct sim_job *job)
{
    struct sim_machine *machine = job->machine;
    struct buffer payload = {0};
    struct job_spec spec;

    job_spec_init(&spec);
    placement_add(&spec.placement, &job->rule);
    spec.apps = memory_allocate_zeroed(sizeof(*spec.apps));
    spec.apps_count = 1;
    spec.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    spec.apps[0].argv[0] = memory_copy_string("app");
    spec.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    if (job->program.restarts > 0) {
        spec.on_failure = JOB_ON_FAILURE_RESTART;
        spec.restarts_max = job->program.restarts;
    }
    control_run_encode(job->request, 0, &spec, &payload);
    job_spec_fini(&spec);
    sim_user_send(machine, job->client, CONTROL_RUN, &payload);
}

/* ---- what clients get ---- */

static struct sim_job *job_of(const struct sim_machine *machine, uint32_t number)
{
    assert(number > 0 && number <= machine->jobs_count);
    return machine->jobs[number - 1];
}

static void job_accepted(struct sim_machine *machine, struct wire_reader *reader)
{
    struct sim_job *job;
    uint32_t request, number;

    if (control_accepted_decode(&request, &number, reader) < 0)
        assert(!"the root encodes what can be decoded");
    job = machine->told[request];
    job->number = number;
    assert(job->number == machine->jobs_count + 1); /* numbers have no gaps */
    machine->jobs =
        memory_resize(machine->jobs, (machine->jobs_count + 1) * sizeof(*machine->jobs));
    machine->jobs[machine->jobs_count++] = job;
}

static void job_started(struct sim_machine *machine, struct wire_reader *reader)
{
    uint32_t number = control_get_job(reader);
    struct control_started message;

    if (control_started_decode(&message, reader) < 0)
        assert(!"the root encodes what can be decoded");
    if (machine->watch->started)
        machine->watch->started(machine->context, virtual_network_now_ns(machine->sim), number,
                                &message);
}

static void job_reported(struct sim_machine *machine, struct wire_reader *reader)
{
    uint32_t number = control_get_job(reader);
    struct control_job_end message;

    if (control_job_end_decode(&message, reader) < 0)
        assert(!"the root encodes what can be decoded");
    job_of(machine, number)->reported = 1;
    if (machine->watch->report)
        machine->watch->report(machine->context, virtual_network_now_ns(machine->sim), number,
                               &message);
}

static void text_came(struct sim_machine *machine, struct wire_reader *reader)
{
    uint32_t number = control_get_job(reader);
    struct control_text message;
    char *text;

    if (control_text_decode(&message, reader) < 0)
        assert(!"the root encodes what can be decoded");
    text = memory_printf("%.*s", (int)message.text.length_bytes, (const char *)message.text.data);
    if (machine->watch->text)
        machine->watch->text(machine->context, virtual_network_now_ns(machine->sim), number, text);
    free(text);
}

/* It has written what a job printed: context is the job, argument place << 32 | bytes. */
static void call_written(void *context, uint64_t argument)
{
    const struct sim_job *job = context;
    struct buffer payload = {0};

    control_put_job(job->number, &payload);
    control_put_written(&(struct unwritten_part){.job = job->number,
                                                 .place = (uint32_t)(argument >> 32),
                                                 .bytes = (uint32_t)argument},
                        &payload);
    sim_user_send(job->machine, job->client, CONTROL_OUTPUT_ACK, &payload);
}

static void output_came(struct sim_machine *machine, struct wire_reader *reader)
{
    struct sim_job *job = job_of(machine, control_get_job(reader));
    uint64_t now_ns = virtual_network_now_ns(machine->sim);
    struct control_output message;

    if (control_output_decode(&message, reader) < 0)
        assert(!"the root encodes what can be decoded");
    if (!job->reported)
        machine->output.received_bytes += message.bytes.length_bytes;
    if (job->reader_free_ns < now_ns)
        job->reader_free_ns = now_ns;
    job->reader_free_ns += message.bytes.length_bytes * machine->config.reader_byte_ns;
    virtual_network_at(machine->sim, job->reader_free_ns, call_written, job,
                       (uint64_t)message.place << 32 | message.bytes.length_bytes);
}

static void ops_send(void *context, uint32_t client, uint8_t type, const void *data, size_t bytes)
{
    struct sim_machine *machine = ((struct sim_daemon *)context)->machine;
    struct wire_reader reader;

    if (client_of(machine, client)->has_closed)
        return;
    if (machine->watch->told)
        machine->watch->told(machine->context, virtual_network_now_ns(machine->sim), client, type,
                             data, bytes);
    wire_reader_init(&reader, data, bytes);
    switch ((enum control_message)type) {
    case CONTROL_ACCEPTED:
        job_accepted(machine, &reader);
        break;
    case CONTROL_STARTED:
        job_started(machine, &reader);
        break;
    case CONTROL_OUTPUT:
        output_came(machine, &reader);
        break;
    case CONTROL_TEXT:
        text_came(machine, &reader);
        break;
    case CONTROL_JOB_END:
        job_reported(machine, &reader);
        break;
    default:
        break; /* WELCOME, READY, FAILED, REFUSED: it goes on */
    }
}

/* They take at once what they are sent. */
static size_t ops_queued(void *context, uint32_t client)
{
    (void)context;
    (void)client;
    return 0;
}

static void ops_drop(void *context, uint32_t client)
{
    sim_user_close(((struct sim_daemon *)context)->machine, client);
}

static void ops_doctor(void *context, struct wire_reader *reader)
{
    (void)context;
    (void)reader;
    assert(!"no simulated user examines nodes");
}

static void ops_detached(void *context)
{
    (void)context; /* it has no terminal */
}

const struct daemon_client_ops sim_client_ops = {
    .send = ops_send,
    .queued = ops_queued,
    .drop = ops_drop,
    .doctor = ops_doctor,
    .detached = ops_detached,
};
