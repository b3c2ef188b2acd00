/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/clients.h"
#include "launch/job/clients_state.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "launch/proto/exit_status.h"
#include "launch/proto/job_wire.h"

#define FIRST_CLIENT 1u

static bool has_unwritten(const struct client_job *job)
{
    return !unwritten_is_empty(&job->unwritten);
}

static void job_check(const struct client_job *job)
{
    assert(job->number > 0 && job->credits != NULL && job->head->head == job->head);
    assert(job->head == job || (!has_unwritten(job) && job->members == 0 && job->kept == NULL));
    assert(job->kept == NULL || job->owner == 0);
    for (uint32_t i = 0; i < job->subscribers_count; i++)
        assert(job->subscribers[i] != job->owner); /* it has the streams already */
}

/* What is listed is found by its number, and nothing else. */
static void clients_check(const struct clients *clients)
{
    assert(list_is_empty(&clients->clients) == (hash_map_count(clients->by_number) == 0));
    assert(list_is_empty(&clients->jobs) == (hash_map_count(clients->jobs_by_number) == 0));
}

static struct client *client_find(const struct clients *clients, uint32_t number)
{
    return hash_map_get_u64(clients->by_number, number);
}

static struct client_job *job_find(const struct clients *clients, uint32_t number)
{
    return hash_map_get_u64(clients->jobs_by_number, number);
}

struct clients *clients_create(const struct clients_config *config, const struct clients_ops *ops,
                               void *context)
{
    struct clients *clients = memory_allocate_zeroed(sizeof(*clients));

    clients->config = *config;
    clients->ops = *ops;
    clients->context = context;
    list_init(&clients->clients);
    list_init(&clients->jobs);
    clients->by_number = hash_map_create();
    clients->jobs_by_number = hash_map_create();
    clients->ended = clients_ended_create();
    return clients;
}

static void job_free(struct clients *clients, struct client_job *job)
{
    (void)hash_map_remove_u64(clients->jobs_by_number, job->number);
    list_remove(&job->node);
    hash_map_destroy(job->credits);
    free(job->subscribers);
    unwritten_fini(&job->unwritten);
    clients_kept_destroy(job->kept);
    free(job);
}

static void client_free(struct clients *clients, struct client *client)
{
    (void)hash_map_remove_u64(clients->by_number, client->number);
    list_remove(&client->node);
    free(client);
}

void clients_destroy(struct clients *clients)
{
    struct list_link *node;

    if (clients == NULL)
        return;
    while ((node = list_first(&clients->jobs)) != NULL)
        job_free(clients, list_entry(node, struct client_job, node));
    while ((node = list_first(&clients->clients)) != NULL)
        client_free(clients, list_entry(node, struct client, node));
    hash_map_destroy(clients->by_number);
    hash_map_destroy(clients->jobs_by_number);
    clients_ended_destroy(clients->ended);
    free(clients);
}

uint32_t clients_count(const struct clients *clients)
{
    return (uint32_t)hash_map_count(clients->by_number);
}

uint32_t clients_jobs(const struct clients *clients)
{
    return (uint32_t)hash_map_count(clients->jobs_by_number);
}

/* ---- sending ---- */

static void send_buffer(struct clients *clients, uint32_t client, uint8_t type,
                        struct buffer *payload)
{
    clients->ops.send(clients->context, client, type, payload->data, payload->length_bytes);
    buffer_fini(payload);
}

/* To the owner and all subscribers; a subscriber that does not read is not waited for. */
static void send_job(struct clients *clients, const struct client_job *of, uint8_t type,
                     const void *payload, size_t bytes)
{
    const struct clients_ops *ops = &clients->ops;
    struct client_job *job = of->head;

    if (job->owner != 0)
        ops->send(clients->context, job->owner, type, payload, bytes);
    for (uint32_t i = job->subscribers_count; i-- > 0;) {
        uint32_t subscriber = job->subscribers[i];

        if (ops->queued(clients->context, subscriber) <= CONTROL_SUBSCRIBER_BYTES_MAX) {
            ops->send(clients->context, subscriber, type, payload, bytes);
            continue;
        }
        job->subscribers[i] = job->subscribers[--job->subscribers_count];
        ops->drop(clients->context, subscriber);
    }
}

static void send_refused(struct clients *clients, uint32_t client, uint32_t request,
                         const char *why)
{
    struct buffer payload = {0};

    control_refused_encode(request, why, &payload);
    send_buffer(clients, client, CONTROL_REFUSED, &payload);
}

/* ---- credit ---- */

static void credit_add(struct clients *clients, uint32_t number, uint32_t place, uint32_t bytes)
{
    struct client_job *job = job_find(clients, number);
    uintptr_t sum;

    if (job == NULL || job->has_ended)
        return; /* nothing more will come */
    sum = (uintptr_t)hash_map_get_u64(job->credits, place) + bytes;
    if (sum >= clients->config.piece_bytes) {
        clients->ops.credit(clients->context, job->number, place, (uint32_t)sum);
        (void)hash_map_remove_u64(job->credits, place);
    } else if (sum > 0) {
        (void)hash_map_put_u64(job->credits, place, (void *)sum);
    }
}

/* The client has written output: the daemon from which it came may send as much again. */
static void said_written(struct clients *clients, struct client_job *job,
                         struct wire_reader *reader)
{
    struct unwritten_part part;

    control_get_written(reader, &part);
    if (wire_finish(reader) == 0)
        credit_add(clients, part.job, part.place, unwritten_take(&job->unwritten, &part));
    job_check(job);
}

int clients_wait(const struct clients *clients, uint32_t number)
{
    const struct client_job *job = job_find(clients, number);

    return job != NULL && has_unwritten(job->head);
}

/* ---- clients that come and go ---- */

void clients_join(struct clients *clients, uint32_t number)
{
    struct client *client = memory_allocate_zeroed(sizeof(*client));

    assert(client_find(clients, number) == NULL);
    client->number = number;
    client->holds = number == FIRST_CLIENT;
    list_append(&clients->clients, &client->node);
    (void)hash_map_put_u64(clients->by_number, number, client);
}

static void unsubscribe_client(struct client_job *job, uint32_t client)
{
    for (uint32_t i = 0; i < job->subscribers_count; i++)
        if (job->subscribers[i] == client)
            job->subscribers[i--] = job->subscribers[--job->subscribers_count];
}

/* Its output is no longer read. */
static void disown_job(struct clients *clients, struct client_job *job)
{
    struct unwritten_part part;
    size_t cursor = 0;

    job->owner = 0;
    while (unwritten_take_next(&job->unwritten, &cursor, UINT64_MAX, &part))
        credit_add(clients, part.job, part.place, part.bytes);
    job_check(job);
}

/* Numbers of the jobs of a family that have not ended, the youngest last; returns how many. */
static uint32_t family_numbers(const struct clients *clients, const struct client_job *head,
                               uint32_t **ret_numbers)
{
    struct list_link *node, *spare;
    uint32_t count = 0;

    *ret_numbers = memory_allocate_zeroed((head->members + 1) * sizeof(**ret_numbers));
    list_for_each(&clients->jobs, node, spare)
    {
        const struct client_job *job = list_entry(node, struct client_job, node);

        if (job->head == head && !job->has_ended)
            (*ret_numbers)[count++] = job->number;
    }
    assert(count == head->members);
    return count;
}

/* To all jobs of the family; this may end some at once, and free the head. */
static void step_family(struct clients *clients, const struct client_job *head,
                        struct job_event *event)
{
    uint32_t *numbers;
    uint32_t count = family_numbers(clients, head, &numbers);

    for (uint32_t i = 0; i < count; i++) {
        event->job = numbers[i];
        clients->ops.step(clients->context, event);
    }
    free(numbers);
}

static struct client_job *head_owned_by(const struct clients *clients, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&clients->jobs, node, spare)
    {
        struct client_job *job = list_entry(node, struct client_job, node);

        if (job->owner == client)
            return job;
    }
    return NULL;
}

/* Jobs of a client that has disconnected are ended. */
void clients_gone(struct clients *clients, uint32_t number)
{
    struct client *client = client_find(clients, number);
    struct control_end end = {.status = EXIT_STATUS_TERMINATED,
                              .reason = "the front end went away"};
    struct job_event event = {.kind = JOB_EVENT_END, .end = &end};
    struct list_link *node, *spare;
    struct client_job *head;
    int holds;

    if (client == NULL)
        return;
    clients_check(clients);
    holds = client->holds;
    client_free(clients, client);
    list_for_each(&clients->jobs, node, spare)
        unsubscribe_client(list_entry(node, struct client_job, node), number);
    while ((head = head_owned_by(clients, number)) != NULL) {
        disown_job(clients, head);
        step_family(clients, head, &event);
    }
    if (holds) {
        event = (struct job_event){.kind = JOB_EVENT_LEAVE, .end = &end};
        clients->ops.step(clients->context, &event);
    }
}

/* ---- messages of clients ---- */

static void said_hello(struct clients *clients, struct client *client, struct wire_reader *reader)
{
    struct control_welcome welcome = {.version = CONTROL_VERSION};
    struct control_hello hello;
    struct buffer payload = {0};
    char why[96];

    if (control_hello_decode(&hello, reader) < 0 || client->greeted) {
        send_refused(clients, client->number, 0, "hello cannot be read, or was said twice");
        clients->ops.drop(clients->context, client->number);
        return;
    }
    if (hello.version != CONTROL_VERSION) {
        snprintf(why, sizeof(why), "control protocol mismatch: peer %u, local %u", hello.version,
                 CONTROL_VERSION);
        send_refused(clients, client->number, 0, why);
        clients->ops.drop(clients->context, client->number);
        return;
    }
    client->greeted = 1;
    client->wants = hello.wants;
    snprintf(welcome.session, sizeof(welcome.session), "%s", clients->config.session);
    welcome.has_roster = (hello.wants & CONTROL_WANTS_ROSTER) != 0;
    if (welcome.has_roster)
        welcome.roster = *clients->config.roster; /* borrowed */
    control_welcome_encode(&welcome, &payload);
    send_buffer(clients, client->number, CONTROL_WELCOME, &payload);
}

static void said_run(struct clients *clients, const struct client *client,
                     struct wire_reader *reader)
{
    struct job_event event = {.kind = JOB_EVENT_RUN};
    struct job_spec spec;
    uint32_t request;
    uint8_t flags;

    job_spec_init(&spec);
    if (control_run_decode(&request, &flags, &spec, reader) < 0) {
        send_refused(clients, client->number, request, "the job cannot be read");
    } else {
        event.number = (int64_t)((uint64_t)client->number << 32 | request);
        event.flag = flags;
        event.spec = &spec;
        clients->ops.step(clients->context, &event);
    }
    job_spec_fini(&spec);
}

/* A user who ends a job that hangs wants to know why it did. */
static void said_end(struct clients *clients, const struct client_job *job,
                     struct wire_reader *reader)
{
    struct control_end end;
    struct job_event event = {.kind = JOB_EVENT_END, .end = &end};
    const char *missing = clients->ops.missing(clients->context, job->number);
    size_t length;

    if (control_end_decode(&end, reader) < 0)
        return;
    length = strlen(end.reason);
    if (missing[0] != '\0')
        snprintf(end.reason + length, sizeof(end.reason) - length, "; %s", missing);
    step_family(clients, job, &event);
}

/* What is kept, for one client. */
struct replay {
    struct clients *clients;
    uint32_t client;
};

static void send_kept(void *context, uint8_t type, const void *payload, size_t bytes)
{
    const struct replay *replay = context;

    replay->clients->ops.send(replay->clients->context, replay->client, type, payload, bytes);
}

static void add_subscriber(struct client_job *job, uint32_t client)
{
    unsubscribe_client(job, client);
    job->subscribers =
        memory_resize(job->subscribers, (job->subscribers_count + 1) * sizeof(*job->subscribers));
    job->subscribers[job->subscribers_count++] = client;
}

static void said_subscribe(struct clients *clients, const struct client *client,
                           struct client_job *job)
{
    struct replay replay = {clients, client->number};

    if (job->owner == client->number)
        return;
    add_subscriber(job, client->number);
    if (job->kept != NULL)
        clients_kept_replay(job->kept, job->number, send_kept, &replay);
}

static void said_detach(struct clients *clients, struct client *client, struct client_job *job)
{
    if (job != NULL && job->owner == client->number) {
        disown_job(clients, job);
    } else if (job != NULL) {
        unsubscribe_client(job, client->number);
    } else if (client->holds) {
        client->holds = 0;
        clients->ops.detached(clients->context);
    }
}

static void said_leave(struct clients *clients, struct wire_reader *reader)
{
    struct control_end end;
    struct job_event event = {.kind = JOB_EVENT_LEAVE, .end = &end};

    if (control_end_decode(&end, reader) == 0)
        clients->ops.step(clients->context, &event);
}

static void said_request(struct clients *clients, const struct client *client,
                         struct wire_reader *reader)
{
    struct control_request request;

    if (control_request_decode(&request, reader) < 0) {
        send_refused(clients, client->number, 0, "the request cannot be read");
        return;
    }
    clients->ops.request(clients->context, client->number, &request);
    ranges_fini(&request.places);
}

/* There is no such job, or it ends with its family: who wants to hear of its end would wait forever, unless that is
 * known. */
static void answer_subscribe(struct clients *clients, const struct client *client, uint32_t number,
                             const struct client_job *of)
{
    struct replay replay = {clients, client->number};
    char why[96];

    if (of == NULL && clients_ended_replay(clients->ended, number, send_kept, &replay))
        return; /* nobody has to wait for it */
    if (of == NULL)
        snprintf(why, sizeof(why), "no job %u is running", number);
    else
        snprintf(why, sizeof(why), "job %u was spawned by processes of job %u: wait for that",
                 number, of->head->number);
    send_refused(clients, client->number, number, why);
}

/* A message about a job that has just ended is not an error. */
static void said_of_job(struct clients *clients, struct client *client, uint8_t type,
                        struct wire_reader *reader)
{
    uint32_t number = control_get_job(reader);
    struct client_job *of = job_find(clients, number);
    struct client_job *job = of != NULL ? of->head : NULL; /* what is said to one is said to all */
    struct job_event event = {.kind = JOB_EVENT_SIGNAL};
    int is_own = job != NULL && job->owner == client->number;

    if (type == CONTROL_SUBSCRIBE && of != job) {
        answer_subscribe(clients, client, number, of);
        return;
    }
    if (job == NULL && type == CONTROL_SUBSCRIBE)
        answer_subscribe(clients, client, number, NULL);
    if (job == NULL && !(type == CONTROL_DETACH && number == 0))
        return;
    switch (type) {
    case CONTROL_SIGNAL:
        event.number = control_get_number(reader);
        if (wire_finish(reader) == 0)
            step_family(clients, job, &event);
        break;
    case CONTROL_END:
        said_end(clients, job, reader);
        break;
    case CONTROL_STDIN:
    case CONTROL_FEED:
    case CONTROL_WINDOW:
        if (is_own && of == job) /* what it has spawned reads what others push */
            clients->ops.input(clients->context, number, type, reader->position, wire_left(reader));
        break;
    case CONTROL_OUTPUT_ACK:
        if (is_own)
            said_written(clients, job, reader);
        break;
    case CONTROL_SUBSCRIBE:
        said_subscribe(clients, client, job);
        break;
    default: /* CONTROL_DETACH */
        said_detach(clients, client, job);
    }
}

void clients_message(struct clients *clients, uint32_t number, uint8_t type, const void *payload,
                     size_t bytes)
{
    struct client *client = client_find(clients, number);
    struct wire_reader reader;

    clients_check(clients);
    wire_reader_init(&reader, payload, bytes);
    if (client == NULL)
        return;
    if (type == CONTROL_HELLO) {
        said_hello(clients, client, &reader);
    } else if (!client->greeted || !control_is_of_client(type)) {
        send_refused(clients, number, 0, "a message that nobody expects");
        clients->ops.drop(clients->context, number);
    } else if (type == CONTROL_RUN) {
        said_run(clients, client, &reader);
    } else if (type == CONTROL_LEAVE) {
        said_leave(clients, &reader);
    } else if (type == CONTROL_REQUEST) {
        said_request(clients, client, &reader);
    } else if (type != CONTROL_DOCTOR) {
        said_of_job(clients, client, type, &reader);
    } else if (client->holds) {
        clients->ops.doctor(clients->context, &reader);
    }
    clients_check(clients);
}

/* ---- messages of nodes ---- */

void clients_output(struct clients *clients, uint32_t place, const void *data, size_t bytes)
{
    struct wire_reader reader;
    struct job_event event = {.kind = JOB_EVENT_OUTPUT};
    struct client_job *job;

    wire_reader_init(&reader, data, bytes);
    event.job = control_get_job(&reader);
    if (wire_left(&reader) < JOB_OUTPUT_HEADER_BYTES)
        return;
    event.number = (int64_t)(wire_left(&reader) - JOB_OUTPUT_HEADER_BYTES);
    job = job_find(clients, event.job);
    if (job == NULL)
        return; /* already reported */
    send_job(clients, job, CONTROL_OUTPUT, data, bytes);
    if (job->head->kept != NULL)
        clients_kept_add(job->head->kept, data, bytes);
    if (job->head->owner != 0 && event.number > 0)
        unwritten_add(&job->head->unwritten,
                      &(struct unwritten_part){job->number, place, (uint32_t)event.number});
    else
        credit_add(clients, job->number, place, (uint32_t)event.number);
    clients->ops.step(clients->context, &event);
}

void clients_input_taken(struct clients *clients, uint32_t number, uint32_t bytes)
{
    struct buffer payload = {0};

    control_put_job(number, &payload);
    control_put_number(bytes, &payload);
    clients_send(clients, number, CONTROL_STDIN_ACK, &payload);
    buffer_fini(&payload);
}

void clients_send(struct clients *clients, uint32_t number, uint8_t type, struct buffer *message)
{
    const struct client_job *job = job_find(clients, number);

    if (job != NULL && job->owner != 0)
        send_buffer(clients, job->owner, type, message);
}

/* ---- actions of the job logic ---- */

/* head: NULL if it is one. */
static struct client_job *job_add(struct clients *clients, uint32_t number, struct client_job *head)
{
    struct client_job *job = memory_allocate_zeroed(sizeof(*job));

    assert(job_find(clients, number) == NULL);
    job->number = number;
    job->head = head != NULL ? head : job;
    job->head->members++;
    job->credits = hash_map_create();
    list_append(&clients->jobs, &job->node);
    (void)hash_map_put_u64(clients->jobs_by_number, job->number, job);
    return job;
}

static void send_accepted(struct clients *clients, const struct job_action *action)
{
    struct client_job *job = job_add(clients, action->job, NULL);
    struct buffer payload = {0};
    uint32_t client = (uint32_t)(action->token >> 32);

    control_accepted_encode((uint32_t)action->token, job->number, &payload);
    send_buffer(clients, client, CONTROL_ACCEPTED, &payload);
    if (!action->is_detached) {
        job->owner = client;
        return;
    }
    job->kept = clients_kept_create();
    if (client_find(clients, client) != NULL) /* it may have gone meanwhile */
        add_subscriber(job, client);
}

/* A spawned job belongs to who has run the first of its family. */
static void send_child(struct clients *clients, const struct job_action *action)
{
    const struct client_job *parent = job_find(clients, action->parent);
    const struct client_job *job =
        job_add(clients, action->job, parent != NULL ? parent->head : NULL);
    struct buffer payload = {0};

    control_put_job(job->head->number, &payload);
    control_put_number(job->number, &payload);
    send_job(clients, job, CONTROL_SPAWNED, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

/* Its client gets the first failure of a family. */
static void add_end(struct client_job *job, const struct control_job_end *end)
{
    struct control_job_end *sum = &job->head->end;
    struct control_job_end before = *sum;

    if (job->head == job) {
        *sum = *end;
        if (before.status == 0)
            return;
        sum->status = before.status;
        sum->banyan_failed = before.banyan_failed;
        memcpy(sum->text, before.text, sizeof(sum->text));
    } else if (sum->status == 0 && end->status != 0) {
        sum->status = end->status;
        sum->banyan_failed = end->banyan_failed;
        snprintf(sum->text, sizeof(sum->text), "job %u: %.*s", job->number,
                 (int)sizeof(sum->text) - 24, end->text);
    }
}

/* Sends the end of the family with its last job. */
static void send_job_end(struct clients *clients, uint32_t number,
                         const struct control_job_end *end)
{
    struct client_job *job = job_find(clients, number);
    struct client_job *head = job != NULL ? job->head : NULL;
    struct buffer payload = {0};

    if (job == NULL || job->has_ended)
        return;
    add_end(job, end);
    job->has_ended = 1;
    head->members--;
    if (job != head)
        job_free(clients, job);
    if (head->members > 0)
        return;
    control_put_job(head->number, &payload);
    control_job_end_encode(&head->end, &payload);
    send_job(clients, head, CONTROL_JOB_END, payload.data, payload.length_bytes);
    clients_ended_add(clients->ended, head->number, &payload, head->kept);
    head->kept = NULL; /* taken */
    buffer_fini(&payload);
    job_free(clients, head);
}

/* To all clients subscribed to the instance; returns whether there are any. */
static int send_instance(struct clients *clients, uint8_t type, const struct buffer *payload)
{
    struct list_link *node, *spare;
    int any = 0;

    list_for_each(&clients->clients, node, spare)
    {
        const struct client *client = list_entry(node, struct client, node);

        if (!client->greeted || !(client->wants & CONTROL_WANTS_TEXTS))
            continue;
        clients->ops.send(clients->context, client->number, type, payload->data,
                          payload->length_bytes);
        any = 1;
    }
    return any;
}

void clients_text(struct clients *clients, uint32_t number, uint8_t level, const char *text)
{
    struct client_job *job = number > 0 ? job_find(clients, number) : NULL;
    struct buffer payload = {0};

    control_put_job(job != NULL ? number : 0, &payload);
    control_text_encode(level, text, &payload);
    if (job != NULL)
        send_job(clients, job, CONTROL_TEXT, payload.data, payload.length_bytes);
    else if (!send_instance(clients, CONTROL_TEXT, &payload))
        clients->ops.unheard(clients->context, text);
    buffer_fini(&payload);
}

void clients_answer(struct clients *clients, uint32_t number, const struct control_answer *answer)
{
    struct buffer payload = {0};

    if (client_find(clients, number) == NULL) /* it has gone meanwhile */
        return;
    if (clients->ops.queued(clients->context, number) > CONTROL_SUBSCRIBER_BYTES_MAX) {
        clients->ops.drop(clients->context, number); /* it asks, and does not read */
        return;
    }
    control_answer_encode(answer, &payload);
    send_buffer(clients, number, CONTROL_ANSWER, &payload);
}

static void send_ready(struct clients *clients, const struct ranges *absent)
{
    struct control_ready ready = {.nodes = allocation_nodes(clients->config.roster) -
                                           (uint32_t)ranges_count(absent)};
    struct buffer payload = {0};

    snprintf(ready.directory, sizeof(ready.directory), "%s", clients->config.directory);
    control_ready_encode(&ready, &payload);
    (void)send_instance(clients, CONTROL_READY, &payload);
    buffer_fini(&payload);
}

static void send_failed(struct clients *clients, const char *why)
{
    struct buffer payload = {0};

    control_failed_encode(why, &payload);
    if (!send_instance(clients, CONTROL_FAILED, &payload))
        clients->ops.unheard(clients->context, why);
    buffer_fini(&payload);
}

void clients_failed(struct clients *clients, const char *why)
{
    struct control_job_end end = {.status = EXIT_STATUS_FAILED, .banyan_failed = 1};
    struct list_link *node, *spare;
    int has_jobs = !list_is_empty(&clients->jobs);

    snprintf(end.text, sizeof(end.text), "the root cannot go on: %s", why);
    list_for_each(&clients->jobs, node, spare) /* a head comes before its family */
        send_job_end(clients, list_entry(node, struct client_job, node)->number, &end);
    if (!has_jobs)
        send_failed(clients, end.text);
}

void clients_action(struct clients *clients, const struct job_action *action)
{
    struct client_job *job = job_find(clients, action->job);
    struct buffer payload = {0};

    switch (action->kind) {
    case JOB_ACTION_ACCEPTED:
        send_accepted(clients, action);
        break;
    case JOB_ACTION_CHILD:
        send_child(clients, action);
        break;
    case JOB_ACTION_STARTED:
        control_put_job(action->job, &payload);
        control_started_encode(&action->started, &payload);
        if (job != NULL)
            send_job(clients, job, CONTROL_STARTED, payload.data, payload.length_bytes);
        buffer_fini(&payload);
        break;
    case JOB_ACTION_WAITS:
        control_put_job(action->job, &payload);
        control_waits_encode(action->text.words, &payload);
        if (job != NULL)
            send_job(clients, job, CONTROL_WAITS, payload.data, payload.length_bytes);
        buffer_fini(&payload);
        break;
    case JOB_ACTION_ENDED:
        send_job_end(clients, action->job, action->end);
        break;
    case JOB_ACTION_TEXT:
        clients_text(clients, action->job, action->text.level, action->text.words);
        break;
    case JOB_ACTION_READY:
        send_ready(clients, &action->places);
        break;
    case JOB_ACTION_FAILED:
        send_failed(clients, action->text.words);
        break;
    default:
        log_error("an action of the job logic has no hand: %d", (int)action->kind);
    }
}
