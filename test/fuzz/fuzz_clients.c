/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of a root (launch/job/clients.h): the input is what three of them say, one message after
 * the other, each a byte for the client and what happens to him, a byte for the type, a byte for the
 * length, and so many bytes.  Jobs are accepted, write output and end as the input wants.
 */
#include "config.h"

#include "launch/job/clients.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

#define CLIENTS 3u

static struct clients *clients;
static struct allocation roster;
static uint32_t jobs;
static uint8_t is_there[CLIENTS];
static uint32_t numbers[CLIENTS];
static uint32_t dropped;
static int64_t credit_bytes; /* that daemons have had back, less what they have sent */

static void on_send(void *context, uint32_t client, uint8_t type, const void *payload, size_t bytes)
{
    assert(client > 0 && type > CONTROL_DOCTOR && type < CONTROL_MESSAGE_COUNT &&
           type != CONTROL_REQUEST);
}

static size_t on_queued(void *context, uint32_t client)
{
    return client % 2 ? 0 : CONTROL_SUBSCRIBER_BYTES_MAX + 1;
}

static void on_drop(void *context, uint32_t client)
{
    dropped = client;
}

static void on_step(void *context, struct job_event *event)
{
    struct job_action accepted = {.kind = JOB_ACTION_ACCEPTED};
    struct job_action waits = {.kind = JOB_ACTION_WAITS};
    char why[] = "for a slot";

    if (event->kind != JOB_EVENT_RUN)
        return;
    accepted.job = ++jobs;
    accepted.token = (uint64_t)event->number;
    accepted.is_detached = (event->flag & CONTROL_RUN_DETACHED) != 0;
    clients_action(clients, &accepted);
    waits.job = jobs;
    waits.text.words = why;
    if (event->flag & CONTROL_RUN_MAY_WAIT)
        clients_action(clients, &waits);
}

static void on_credit(void *context, uint32_t job, uint32_t place, uint32_t bytes)
{
    credit_bytes += bytes;
    assert(credit_bytes <= 0); /* never more than was sent */
}

static void on_input(void *context, uint32_t job, uint8_t type, const void *data, size_t bytes)
{
}

static const char *on_missing(void *context, uint32_t job)
{
    return "";
}

static void on_doctor(void *context, struct wire_reader *reader)
{
}

static void on_request(void *context, uint32_t client, const struct control_request *request)
{
    const struct control_answer answer = {.request = request->request, .data = request->data};

    clients_answer(clients, client, &answer);
}

static void on_detached(void *context)
{
}

static void on_unheard(void *context, const char *text)
{
}

static void output(uint32_t job, uint32_t bytes)
{
    struct buffer payload = {0};
    uint32_t before = clients_jobs(clients);

    wire_put_u32(&payload, job);
    wire_put_u32(&payload, 0);
    wire_put_u8(&payload, 1);
    wire_put_u64(&payload, 0);
    wire_put_u32(&payload, 1);
    memset(buffer_reserve(&payload, bytes), 'x', bytes);
    buffer_commit(&payload, bytes);
    if (before > 0 && job >= 1 && job <= jobs)
        credit_bytes -= bytes;
    clients_output(clients, 1, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

static void job_ends(uint32_t job)
{
    struct control_job_end end = {.status = 0};
    struct job_action action = {.kind = JOB_ACTION_ENDED, .job = job, .end = &end};

    clients_action(clients, &action);
}

/* The upper bits say what happens, the lower to whom. */
static void happen(uint8_t what, uint8_t type, const uint8_t *payload, size_t bytes)
{
    static uint32_t last;
    uint32_t client = what % CLIENTS;

    if (!is_there[client]) {
        is_there[client] = 1;
        numbers[client] = clients_count(clients) == 0 && last == 0 ? 1 : ++last + 1;
        clients_join(clients, numbers[client]);
    }
    switch (what >> 6) {
    case 0:
        output(type, (uint32_t)bytes);
        break;
    case 1:
        job_ends(type);
        break;
    case 2:
        clients_message(clients, numbers[client], type, payload, bytes);
        break;
    default:
        clients_gone(clients, numbers[client]);
        is_there[client] = 0;
    }
    for (uint32_t i = 0; i < CLIENTS; i++)
        if (dropped != 0 && is_there[i] && numbers[i] == dropped) {
            clients_gone(clients, dropped);
            is_there[i] = 0;
        }
    dropped = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    static const struct clients_ops ops = {on_send,    on_queued,   on_drop,    on_step,
                                           on_credit,  on_input,    on_missing, on_doctor,
                                           on_request, on_detached, on_unheard};
    const struct clients_config config = {
        .session = "0", .directory = "/", .roster = &roster, .piece_bytes = 4};

    if (roster.names == NULL) {
        allocation_init(&roster);
        allocation_generate(&roster, "n", 2, 2);
    }
    clients = clients_create(&config, &ops, NULL);
    memset(is_there, 0, sizeof(is_there));
    jobs = 0;
    credit_bytes = 0;
    while (data_bytes >= 3) {
        size_t bytes = data[2] < data_bytes - 3 ? data[2] : data_bytes - 3;

        happen(data[0], data[1], data + 3, bytes);
        data += 3 + bytes;
        data_bytes -= 3 + bytes;
    }
    assert(clients_count(clients) <= CLIENTS);
    clients_destroy(clients);
    return 0;
}

static void put(struct buffer *out, uint8_t client, uint8_t type, struct buffer *payload)
{
    wire_put_u8(out, (uint8_t)(0x80 | client));
    wire_put_u8(out, type);
    wire_put_u8(out, (uint8_t)payload->length_bytes);
    buffer_append(out, payload->data, payload->length_bytes);
    buffer_fini(payload);
}

static void put_run(struct buffer *out, uint8_t client)
{
    const struct control_hello hello = {.version = CONTROL_VERSION};
    struct buffer payload = {0};
    struct job_spec spec;

    control_hello_encode(&hello, &payload);
    put(out, client, CONTROL_HELLO, &payload);
    job_spec_init(&spec);
    placement_add(&spec.placement, &(struct placement_rule){.processes = 1});
    spec.apps = memory_allocate_zeroed(sizeof(*spec.apps));
    spec.apps_count = 1;
    spec.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    spec.apps[0].argv[0] = memory_copy_string("a");
    spec.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    control_run_encode(1, CONTROL_RUN_MAY_WAIT, &spec, &payload);
    job_spec_fini(&spec);
    put(out, client, CONTROL_RUN, &payload);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct buffer out = {0}, payload = {0};
    size_t bytes;

    if (number > 1)
        return 0;
    put_run(&out, 0);
    put_run(&out, 1);
    wire_put_u32(&payload, 1);
    put(&out, 1, CONTROL_SUBSCRIBE, &payload);
    buffer_append(&out, "\x00\x01\x03yes", 6); /* output of job 1 */
    wire_put_u32(&payload, 1);
    control_put_written(&(struct unwritten_part){.job = 1, .place = 1, .bytes = 3}, &payload);
    put(&out, 0, CONTROL_OUTPUT_ACK, &payload);
    wire_put_u32(&payload, number);
    put(&out, 0, CONTROL_DETACH, &payload);
    buffer_append(&out, "\xc0\x00\x00", 3); /* client 0 goes away */
    buffer_append(&out, "\x40\x01\x00", 3); /* job 1 ends */
    bytes = out.length_bytes < buffer_bytes ? out.length_bytes : buffer_bytes;
    memcpy(buffer, out.data, bytes);
    buffer_fini(&out);
    return bytes;
}
