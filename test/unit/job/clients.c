/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients of an instance: a root without sockets, jobs or nodes, and a trace of what it does. */
#include "config.h"

#include "launch/job/clients.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/wire.h"
#include "test/support/document.h"
#include "test/support/tap.h"

static struct buffer trace;
static size_t queued_bytes; /* of every client */
static struct allocation roster;
static uint32_t jobs_given;
static struct clients *clients;

static void line(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void line(const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    buffer_printf(&trace, "%s\n", text);
}

/* ---- the world ---- */

static uint32_t last_status; /* of JOB_END */

static const char *const names[CONTROL_MESSAGE_COUNT] = {
    [CONTROL_WELCOME] = "WELCOME", [CONTROL_REFUSED] = "REFUSED", [CONTROL_ACCEPTED] = "ACCEPTED",
    [CONTROL_STARTED] = "STARTED", [CONTROL_OUTPUT] = "OUTPUT",   [CONTROL_STDIN_ACK] = "STDIN_ACK",
    [CONTROL_TEXT] = "TEXT",       [CONTROL_JOB_END] = "JOB_END", [CONTROL_READY] = "READY",
    [CONTROL_FAILED] = "FAILED",   [CONTROL_SPAWNED] = "SPAWNED", [CONTROL_ANSWER] = "ANSWER",
    [CONTROL_WAITS] = "WAITS",
};

static void on_send(void *context, uint32_t client, uint8_t type, const void *payload, size_t bytes)
{
    struct wire_reader reader;
    uint32_t first;

    wire_reader_init(&reader, payload, bytes);
    first = wire_get_u32(&reader);
    if (type == CONTROL_JOB_END)
        last_status = wire_get_u32(&reader);
    if (type == CONTROL_ACCEPTED)
        line("root -> client %u: ACCEPTED request %u as job %u", client, first,
             wire_get_u32(&reader));
    else if ((type >= CONTROL_STARTED && type <= CONTROL_JOB_END) || type == CONTROL_WAITS)
        line("root -> client %u: %s of job %u", client, names[type], first);
    else
        line("root -> client %u: %s", client, names[type]);
}

static size_t on_queued(void *context, uint32_t client)
{
    return queued_bytes;
}

static void on_drop(void *context, uint32_t client)
{
    line("root drops client %u", client);
}

static void on_step(void *context, struct job_event *event)
{
    struct job_action accepted = {.kind = JOB_ACTION_ACCEPTED};

    switch (event->kind) {
    case JOB_EVENT_RUN:
        accepted.job = ++jobs_given;
        accepted.token = (uint64_t)event->number;
        accepted.is_detached = (event->flag & CONTROL_RUN_DETACHED) != 0;
        clients_action(clients, &accepted);
        break;
    case JOB_EVENT_END:
        line("root ends job %u: %s", event->job, event->end->reason);
        break;
    case JOB_EVENT_LEAVE:
        line("root ends the instance: %s", event->end->reason);
        break;
    case JOB_EVENT_SIGNAL:
        line("root signals job %u: %d", event->job, (int)event->number);
        break;
    default:
        break;
    }
}

static void on_credit(void *context, uint32_t job, uint32_t place, uint32_t bytes)
{
    line("root -> place %u: credit of job %u for %u bytes", place, job, bytes);
}

static void on_input(void *context, uint32_t job, uint8_t type, const void *data, size_t bytes)
{
    line("root -> job %u: %zu bytes of %s", job, bytes,
         type == CONTROL_FEED ? "input for one process" : "input");
}

static const char *on_missing(void *context, uint32_t job)
{
    return job == 2 ? "barrier 1 of job 2: waiting for rank 0" : "";
}

static void on_doctor(void *context, struct wire_reader *reader)
{
    line("root examines");
}

static void on_request(void *context, uint32_t client, const struct control_request *request)
{
    const struct control_answer answer = {.request = request->request};

    line("client %u requests %u: kind %u, %zu bytes", client, request->request, request->kind,
         request->data.length_bytes);
    clients_answer(clients, client, &answer);
    clients_answer(clients, 99, &answer); /* who has gone */
}

static void on_detached(void *context)
{
    line("the instance is on its own");
}

static void on_unheard(void *context, const char *text)
{
    line("nobody hears: %s", text);
}

static void begin(void)
{
    static const struct clients_ops ops = {.send = on_send,
                                           .queued = on_queued,
                                           .drop = on_drop,
                                           .step = on_step,
                                           .credit = on_credit,
                                           .input = on_input,
                                           .missing = on_missing,
                                           .doctor = on_doctor,
                                           .request = on_request,
                                           .detached = on_detached,
                                           .unheard = on_unheard};
    const struct clients_config config = {.session = "0123456789abcdef",
                                          .directory = "/tmp/banyan-0/0123456789abcdef.0",
                                          .roster = &roster,
                                          .piece_bytes = 4};

    jobs_given = 0;
    queued_bytes = 0;
    clients = clients_create(&config, &ops, NULL);
    buffer_clear(&trace);
}

static void end(void)
{
    clients_destroy(clients);
    clients = NULL;
}

/* ---- what clients say ---- */

static void say(uint32_t client, uint8_t type, struct buffer *payload)
{
    clients_message(clients, client, type, payload->data, payload->length_bytes);
    buffer_fini(payload);
}

static void hello(uint32_t client, uint32_t version, uint8_t wants)
{
    const struct control_hello message = {.version = version, .wants = wants};
    struct buffer payload = {0};

    clients_join(clients, client);
    line("client %u -> root: HELLO", client);
    control_hello_encode(&message, &payload);
    say(client, CONTROL_HELLO, &payload);
}

static void run_with(uint32_t client, uint32_t request, uint8_t flags)
{
    struct buffer payload = {0};
    struct job_spec spec;

    job_spec_init(&spec);
    placement_add(&spec.placement, &(struct placement_rule){.processes = 1});
    spec.apps = memory_allocate_zeroed(sizeof(*spec.apps));
    spec.apps_count = 1;
    spec.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    spec.apps[0].argv[0] = memory_copy_string("app");
    spec.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    line("client %u -> root: RUN request %u%s", client, request,
         flags & CONTROL_RUN_DETACHED ? ", detached" : "");
    control_run_encode(request, flags, &spec, &payload);
    job_spec_fini(&spec);
    say(client, CONTROL_RUN, &payload);
}

static void run(uint32_t client, uint32_t request)
{
    run_with(client, request, 0);
}

static void of_job(uint32_t client, uint8_t type, const char *name, uint32_t job,
                   const uint32_t *number)
{
    struct buffer payload = {0};

    line("client %u -> root: %s of job %u", client, name, job);
    wire_put_u32(&payload, job);
    if (number != NULL)
        wire_put_u32(&payload, *number);
    say(client, type, &payload);
}

/* Of the client's job, or one that it has spawned. */
static void writes(uint32_t client, uint32_t job, const struct unwritten_part *part)
{
    struct buffer payload = {0};

    line("client %u -> root: OUTPUT_ACK of job %u: %u bytes of job %u at place %u", client, job,
         part->bytes, part->job, part->place);
    wire_put_u32(&payload, job);
    control_put_written(part, &payload);
    say(client, CONTROL_OUTPUT_ACK, &payload);
}

static uint8_t output_stream = 1;

static void output(uint32_t place, uint32_t job, const char *text)
{
    struct buffer payload = {0};

    line("place %u -> root: OUTPUT of job %u", place, job);
    wire_put_u32(&payload, job);
    wire_put_u32(&payload, 0);
    wire_put_u8(&payload, output_stream);
    wire_put_u64(&payload, 0);
    wire_put_u32(&payload, place);
    buffer_append_string(&payload, text);
    clients_output(clients, place, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

static void job_waits(uint32_t job)
{
    char why[] = "for a slot";
    struct job_action action = {.kind = JOB_ACTION_WAITS, .job = job};

    action.text.words = why;
    line("job %u waits", job);
    clients_action(clients, &action);
}

static void job_fails(uint32_t job, uint32_t status)
{
    struct control_job_end report = {.status = status};
    struct job_action action = {.kind = JOB_ACTION_ENDED, .job = job, .end = &report};

    line("job %u has ended", job);
    clients_action(clients, &action);
}

static void job_ends(uint32_t job)
{
    job_fails(job, 0);
}

static void job_spawns(uint32_t parent)
{
    struct job_action action = {.kind = JOB_ACTION_CHILD, .job = ++jobs_given, .parent = parent};

    line("job %u spawns job %u", parent, action.job);
    clients_action(clients, &action);
}

/* This happened, and doc/control.rst says so, indented by four blanks. */
static void happens(const char *expected, const char *what)
{
    struct buffer quoted = {0}, document = {0};

    is_string(buffer_string(&trace), expected, "%s", what);
    for (const char *next = expected; *next; next = strchr(next, '\n') + 1)
        buffer_printf(&quoted, "    %.*s", (int)strcspn(next, "\n") + 1, next);
    document_read("doc/control.rst", &document);
    ok(strstr(buffer_string(&document), buffer_string(&quoted)), "doc/control.rst says so, too");
    buffer_fini(&quoted);
    buffer_fini(&document);
    buffer_clear(&trace);
}

/* ---- tests ---- */

/* Nobody reads stdout, of which there is more; what others write to stderr comes back to them. */
static void test_streams(void)
{
    const struct unwritten_part first = {.job = 1, .place = 1, .bytes = 6};
    const struct unwritten_part second = {.job = 1, .place = 2, .bytes = 6};

    begin();
    hello(2, CONTROL_VERSION, 0);
    run(2, 1);
    output(1, 1, "stdout that nobody reads");
    output_stream = 2;
    output(2, 1, "stderr");
    output_stream = 1;
    buffer_clear(&trace);
    writes(2, 1, &second);
    writes(2, 1, &second); /* more than there is */
    writes(2, 1, &first);
    happens("client 2 -> root: OUTPUT_ACK of job 1: 6 bytes of job 1 at place 2\n"
            "root -> place 2: credit of job 1 for 6 bytes\n"
            "client 2 -> root: OUTPUT_ACK of job 1: 6 bytes of job 1 at place 2\n"
            "client 2 -> root: OUTPUT_ACK of job 1: 6 bytes of job 1 at place 1\n"
            "root -> place 1: credit of job 1 for 6 bytes\n",
            "the place whose output was written gets credit");
    end();
}

static void test_two_jobs(void)
{
    const struct unwritten_part own = {.job = 1, .place = 1, .bytes = 8};
    const struct unwritten_part other = {.job = 2, .place = 2, .bytes = 8};

    begin();
    hello(2, CONTROL_VERSION, CONTROL_WANTS_ROSTER);
    hello(3, CONTROL_VERSION, CONTROL_WANTS_ROSTER);
    run(2, 1);
    run(3, 1);
    output(1, 1, "from one");
    output(2, 2, "from two");
    writes(2, 1, &own);
    writes(2, 2, &other); /* not its own */
    clients_gone(clients, 3);
    line("client 3 is gone");
    job_ends(1);
    job_ends(2);
    happens("client 2 -> root: HELLO\n"
            "root -> client 2: WELCOME\n"
            "client 3 -> root: HELLO\n"
            "root -> client 3: WELCOME\n"
            "client 2 -> root: RUN request 1\n"
            "root -> client 2: ACCEPTED request 1 as job 1\n"
            "client 3 -> root: RUN request 1\n"
            "root -> client 3: ACCEPTED request 1 as job 2\n"
            "place 1 -> root: OUTPUT of job 1\n"
            "root -> client 2: OUTPUT of job 1\n"
            "place 2 -> root: OUTPUT of job 2\n"
            "root -> client 3: OUTPUT of job 2\n"
            "client 2 -> root: OUTPUT_ACK of job 1: 8 bytes of job 1 at place 1\n"
            "root -> place 1: credit of job 1 for 8 bytes\n"
            "client 2 -> root: OUTPUT_ACK of job 2: 8 bytes of job 2 at place 2\n"
            "root -> place 2: credit of job 2 for 8 bytes\n"
            "root ends job 2: the front end went away\n"
            "client 3 is gone\n"
            "job 1 has ended\n"
            "root -> client 2: JOB_END of job 1\n"
            "job 2 has ended\n",
            "two jobs at once, one of a client that goes away");
    is_uint(clients_jobs(clients), 0, "nothing is kept of jobs");
    is_uint(clients_count(clients), 1, "nor of clients that are gone");
    end();
}

static void test_detach(void)
{
    begin();
    hello(1, CONTROL_VERSION, CONTROL_WANTS_TEXTS);
    hello(2, CONTROL_VERSION, 0);
    run(2, 1);
    output(1, 1, "before");
    hello(3, CONTROL_VERSION, 0);
    of_job(3, CONTROL_SUBSCRIBE, "SUBSCRIBE", 1, NULL);
    of_job(2, CONTROL_DETACH, "DETACH", 1, NULL);
    clients_gone(clients, 2);
    line("client 2 is gone");
    output(1, 1, "after");
    of_job(1, CONTROL_DETACH, "DETACH", 0, NULL);
    clients_gone(clients, 1);
    line("client 1 is gone");
    clients_text(clients, 0, LOG_LEVEL_WARNING, "n1 is silent");
    job_ends(1);
    happens("client 1 -> root: HELLO\n"
            "root -> client 1: WELCOME\n"
            "client 2 -> root: HELLO\n"
            "root -> client 2: WELCOME\n"
            "client 2 -> root: RUN request 1\n"
            "root -> client 2: ACCEPTED request 1 as job 1\n"
            "place 1 -> root: OUTPUT of job 1\n"
            "root -> client 2: OUTPUT of job 1\n"
            "client 3 -> root: HELLO\n"
            "root -> client 3: WELCOME\n"
            "client 3 -> root: SUBSCRIBE of job 1\n"
            "client 2 -> root: DETACH of job 1\n"
            "root -> place 1: credit of job 1 for 6 bytes\n"
            "client 2 is gone\n"
            "place 1 -> root: OUTPUT of job 1\n"
            "root -> client 3: OUTPUT of job 1\n"
            "root -> place 1: credit of job 1 for 5 bytes\n"
            "client 1 -> root: DETACH of job 0\n"
            "the instance is on its own\n"
            "client 1 is gone\n"
            "nobody hears: n1 is silent\n"
            "job 1 has ended\n"
            "root -> client 3: JOB_END of job 1\n",
            "a client that detaches");
    end();
}

/* A family is one job for its client. */
static void test_family(void)
{
    const struct unwritten_part parent = {.job = 1, .place = 1, .bytes = 6};
    const struct unwritten_part child = {.job = 2, .place = 2, .bytes = 6};

    begin();
    hello(2, CONTROL_VERSION, 0);
    run(2, 1);
    job_spawns(1);
    output(1, 1, "parent");
    output(2, 2, "child!");
    writes(2, 1, &parent);
    writes(2, 1, &child);
    job_ends(1);
    job_spawns(2);
    output(3, 3, "grandchild");
    job_fails(2, 3);
    clients_gone(clients, 2);
    line("client 2 is gone");
    happens("client 2 -> root: HELLO\n"
            "root -> client 2: WELCOME\n"
            "client 2 -> root: RUN request 1\n"
            "root -> client 2: ACCEPTED request 1 as job 1\n"
            "job 1 spawns job 2\n"
            "root -> client 2: SPAWNED of job 1\n"
            "place 1 -> root: OUTPUT of job 1\n"
            "root -> client 2: OUTPUT of job 1\n"
            "place 2 -> root: OUTPUT of job 2\n"
            "root -> client 2: OUTPUT of job 2\n"
            "client 2 -> root: OUTPUT_ACK of job 1: 6 bytes of job 1 at place 1\n"
            "root -> place 1: credit of job 1 for 6 bytes\n"
            "client 2 -> root: OUTPUT_ACK of job 1: 6 bytes of job 2 at place 2\n"
            "root -> place 2: credit of job 2 for 6 bytes\n"
            "job 1 has ended\n"
            "job 2 spawns job 3\n"
            "root -> client 2: SPAWNED of job 1\n"
            "place 3 -> root: OUTPUT of job 3\n"
            "root -> client 2: OUTPUT of job 3\n"
            "job 2 has ended\n"
            "root -> place 3: credit of job 3 for 10 bytes\n"
            "root ends job 3: the front end went away\n"
            "client 2 is gone\n",
            "jobs that are spawned belong to the client of the first");
    end();
    begin();
    hello(2, CONTROL_VERSION, 0);
    run(2, 1);
    job_spawns(1);
    job_fails(2, 3);
    job_fails(1, 5);
    has_string(buffer_string(&trace), "root -> client 2: JOB_END of job 1\n", "one end for all");
    is_uint(last_status, 3, "with the first failure");
    end();
}

static void test_wrong(void)
{
    struct buffer payload = {0};

    begin();
    hello(1, CONTROL_VERSION + 1, 0);
    clients_join(clients, 2);
    run(2, 1);
    hello(3, CONTROL_VERSION, 0);
    say(3, CONTROL_WELCOME, &payload);
    wire_put_u32(&payload, 9);
    say(3, CONTROL_RUN, &payload);
    is_string(buffer_string(&trace),
              "client 1 -> root: HELLO\n"
              "root -> client 1: REFUSED\n"
              "root drops client 1\n"
              "client 2 -> root: RUN request 1\n"
              "root -> client 2: REFUSED\n"
              "root drops client 2\n"
              "client 3 -> root: HELLO\n"
              "root -> client 3: WELCOME\n"
              "root -> client 3: REFUSED\n"
              "root drops client 3\n"
              "root -> client 3: REFUSED\n",
              "another version, no hello, a message that is not a client's, a job that is none");
    buffer_clear(&trace);
    clients_gone(clients, 1);
    is_string(buffer_string(&trace), "root ends the instance: the front end went away\n",
              "the first client's end is the instance's");
    end();
}

static void test_request(void)
{
    const struct control_request request = {
        .request = 7, .kind = 2, .data = {(const uint8_t *)"x", 1}};
    struct buffer payload = {0};

    begin();
    hello(2, CONTROL_VERSION, 0);
    buffer_clear(&trace);
    control_request_encode(&request, &payload);
    say(2, CONTROL_REQUEST, &payload);
    wire_put_u8(&payload, 1);
    say(2, CONTROL_REQUEST, &payload);
    is_string(buffer_string(&trace),
              "client 2 requests 7: kind 2, 1 bytes\n"
              "root -> client 2: ANSWER\n"
              "root -> client 2: REFUSED\n",
              "a request is passed on, and its answer; one that cannot be read is refused");
    buffer_clear(&trace);
    of_job(2, CONTROL_SUBSCRIBE, "SUBSCRIBE", 5, NULL);
    is_string(buffer_string(&trace),
              "client 2 -> root: SUBSCRIBE of job 5\n"
              "root -> client 2: REFUSED\n",
              "nobody waits for a job that there is not");
    run(2, 1);
    job_spawns(1);
    buffer_clear(&trace);
    of_job(2, CONTROL_SUBSCRIBE, "SUBSCRIBE", 2, NULL);
    is_string(buffer_string(&trace),
              "client 2 -> root: SUBSCRIBE of job 2\n"
              "root -> client 2: REFUSED\n",
              "nor for one that ends with its family");
    buffer_clear(&trace);
    queued_bytes = CONTROL_SUBSCRIBER_BYTES_MAX + 1;
    buffer_clear(&payload);
    control_request_encode(&request, &payload);
    say(2, CONTROL_REQUEST, &payload);
    is_string(buffer_string(&trace),
              "client 2 requests 7: kind 2, 1 bytes\n"
              "root drops client 2\n",
              "a client that asks and does not read is dropped");
    end();
}

/* A subscriber who does not read is dropped; the job's client is waited for, by its credit. */
static void test_slow_subscriber(void)
{
    begin();
    hello(2, CONTROL_VERSION, 0);
    run(2, 1);
    hello(3, CONTROL_VERSION, 0);
    of_job(3, CONTROL_SUBSCRIBE, "SUBSCRIBE", 1, NULL);
    buffer_clear(&trace);
    queued_bytes = CONTROL_SUBSCRIBER_BYTES_MAX + 1;
    output(1, 1, "much");
    output(1, 1, "more");
    is_string(buffer_string(&trace),
              "place 1 -> root: OUTPUT of job 1\n"
              "root -> client 2: OUTPUT of job 1\n"
              "root drops client 3\n"
              "place 1 -> root: OUTPUT of job 1\n"
              "root -> client 2: OUTPUT of job 1\n",
              "a subscriber who does not read is dropped");
    ok(clients_wait(clients, 1), "the job's client has output to take");
    end();
}

static void test_end_names_missing(void)
{
    const struct control_end wish = {.status = 130, .reason = "interrupted"};
    struct buffer payload = {0};

    begin();
    hello(2, CONTROL_VERSION, 0);
    run(2, 1);
    run(2, 2);
    buffer_clear(&trace);
    for (uint32_t job = 1; job <= 2; job++) {
        wire_put_u32(&payload, job);
        control_end_encode(&wish, &payload);
        say(2, CONTROL_END, &payload);
    }
    is_string(buffer_string(&trace),
              "root ends job 1: interrupted\n"
              "root ends job 2: interrupted; barrier 1 of job 2: waiting for rank 0\n",
              "who ends a job that hangs is told why it did");
    buffer_clear(&trace);
    clients_failed(clients, "its helper died");
    is_string(buffer_string(&trace),
              "root -> client 2: JOB_END of job 1\nroot -> client 2: JOB_END of job 2\n",
              "a root that cannot go on reports every job");
    end();
}

static void test_waits(void)
{
    begin();
    hello(2, CONTROL_VERSION, 0);
    run(2, 1);
    job_waits(1);
    clients_gone(clients, 2);
    line("client 2 is gone");
    happens("client 2 -> root: HELLO\n"
            "root -> client 2: WELCOME\n"
            "client 2 -> root: RUN request 1\n"
            "root -> client 2: ACCEPTED request 1 as job 1\n"
            "job 1 waits\n"
            "root -> client 2: WAITS of job 1\n"
            "root ends job 1: the front end went away\n"
            "client 2 is gone\n",
            "a client that vanishes while its job waits");
    end();
}

static void test_left(void)
{
    begin();
    hello(2, CONTROL_VERSION, 0);
    run_with(2, 1, CONTROL_RUN_DETACHED);
    output(1, 1, "before");
    clients_gone(clients, 2);
    line("client 2 is gone");
    hello(3, CONTROL_VERSION, 0);
    of_job(3, CONTROL_SUBSCRIBE, "SUBSCRIBE", 1, NULL);
    output(1, 1, "after");
    job_ends(1);
    of_job(3, CONTROL_SUBSCRIBE, "SUBSCRIBE", 1, NULL);
    of_job(3, CONTROL_SUBSCRIBE, "SUBSCRIBE", 2, NULL);
    happens("client 2 -> root: HELLO\n"
            "root -> client 2: WELCOME\n"
            "client 2 -> root: RUN request 1, detached\n"
            "root -> client 2: ACCEPTED request 1 as job 1\n"
            "place 1 -> root: OUTPUT of job 1\n"
            "root -> client 2: OUTPUT of job 1\n"
            "root -> place 1: credit of job 1 for 6 bytes\n"
            "client 2 is gone\n"
            "client 3 -> root: HELLO\n"
            "root -> client 3: WELCOME\n"
            "client 3 -> root: SUBSCRIBE of job 1\n"
            "root -> client 3: OUTPUT of job 1\n"
            "place 1 -> root: OUTPUT of job 1\n"
            "root -> client 3: OUTPUT of job 1\n"
            "root -> place 1: credit of job 1 for 5 bytes\n"
            "job 1 has ended\n"
            "root -> client 3: JOB_END of job 1\n"
            "client 3 -> root: SUBSCRIBE of job 1\n"
            "root -> client 3: OUTPUT of job 1\n"
            "root -> client 3: JOB_END of job 1\n"
            "client 3 -> root: SUBSCRIBE of job 2\n"
            "root -> client 3: REFUSED\n",
            "a job that its client leaves behind, and one who comes back to it twice");
    end();
}

int main(void)
{
    test_left();
    test_waits();
    allocation_init(&roster);
    allocation_generate(&roster, "n", 2, 4);
    test_streams();
    test_two_jobs();
    test_detach();
    test_family();
    test_wrong();
    test_request();
    test_slow_subscriber();
    test_end_names_missing();
    allocation_fini(&roster);
    buffer_fini(&trace);
    return done_testing();
}
