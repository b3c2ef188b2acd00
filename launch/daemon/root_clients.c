/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/root_clients.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "base/time.h"
#include "launch/daemon/roll_call.h"
#include "launch/exec/descriptor.h"
#include "launch/job/clients.h"
#include "launch/rank/output.h"

#define FLUSH_MS 1000
/* What leaving in order may take: a whole tree; one whose start has failed. */
#define LEAVE_MS            5000
#define LEAVE_INCOMPLETE_MS 300
#define LISTEN_BACKLOG      256

/* When a job's deadline is over, or (job 0) the instance's. */
struct root_timer {
    struct daemon *daemon;
    struct loop_timer *timer;
    uint32_t job;
};

struct root_client {
    struct list_node node;
    struct daemon *daemon;
    struct channel *channel;
    uint32_t number;
    uint8_t dropped; /* once what is queued has been written */
};

struct root {
    int channel_fd; /* of the first client, until root_open */
    struct clients *clients;
    struct list channels; /* struct root_client */
    struct map *by_number;
    struct map *timers; /* job -> struct root_timer that runs */
    uint32_t last_client;
    int listen_fd; /* -1: nobody but the first client comes */
    struct loop_watch *listen_watch;
};

struct root *root_create(int channel_fd)
{
    struct root *root = memory_allocate_zeroed(sizeof *root);

    root->channel_fd = channel_fd;
    root->listen_fd = -1;
    list_init(&root->channels);
    root->by_number = map_create();
    root->timers = map_create();
    return root;
}

/* ---- channels ---- */

static struct root_client *client_find(const struct daemon *daemon, uint32_t number)
{
    return daemon->root ? map_get_u64(daemon->root->by_number, number) : NULL;
}

static void client_free(struct root_client *client, uint32_t flush_ms)
{
    (void)map_remove_u64(client->daemon->root->by_number, client->number);
    list_remove(&client->node);
    channel_destroy(client->channel, flush_ms);
    free(client);
}

static void on_message(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    struct root_client *client = context;

    if (!client->dropped)
        clients_message(client->daemon->root->clients, client->number, type, payload,
                        payload_bytes);
}

static void on_closed(void *context, const char *why)
{
    struct root_client *client = context;
    struct daemon *daemon = client->daemon;
    uint32_t number = client->number;

    (void)why;
    client_free(client, 0);
    clients_gone(daemon->root->clients, number);
}

static void client_open(struct daemon *daemon, int fd)
{
    static const struct channel_events events = {.message = on_message, .closed = on_closed};
    struct root *root = daemon->root;
    struct root_client *client = memory_allocate_zeroed(sizeof *client);

    client->daemon = daemon;
    client->number = ++root->last_client;
    client->channel = channel_create(daemon->loop, fd, &events, client);
    list_append(&root->channels, &client->node);
    (void)map_put_u64(root->by_number, client->number, client);
    clients_join(root->clients, client->number);
}

/* ---- what the clients' logic wants ---- */

static void ops_send(void *context, uint32_t number, uint8_t type, const void *payload,
                     size_t bytes)
{
    struct root_client *client = client_find(context, number);

    if (client)
        channel_send(client->channel, type, payload, bytes);
}

static size_t ops_queued(void *context, uint32_t number)
{
    const struct root_client *client = client_find(context, number);

    return client ? channel_queued(client->channel) : 0;
}

static void ops_drop_now(void *context)
{
    struct root_client *client = context;
    struct daemon *daemon = client->daemon;
    uint32_t number = client->number;

    client_free(client, 0);
    clients_gone(daemon->root->clients, number);
}

/* Not at once: we may be inside its message. */
static void ops_drop(void *context, uint32_t number)
{
    struct daemon *daemon = context;
    struct root_client *client = client_find(daemon, number);

    if (!client || client->dropped)
        return;
    client->dropped = 1;
    loop_defer(daemon->loop, ops_drop_now, client);
}

static void ops_step(void *context, struct job_event *event)
{
    daemon_job_event(context, event);
}

static void ops_credit(void *context, uint32_t job, uint32_t place, uint32_t bytes)
{
    struct daemon *daemon = context;
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_CREDIT);
    wire_put_u32(&payload, job);
    wire_put_u32(&payload, bytes);
    node_send(daemon->node, place, FRAME_CONTROL, message_from_buffer(&payload));
    buffer_fini(&payload);
}

/* stdin goes to the daemon that hosts its rank; without one it is thrown away. */
static void ops_input(void *context, uint32_t job, const void *data, size_t bytes)
{
    struct daemon *daemon = context;
    const struct job_spec *spec = instance_job_spec(daemon->instance, job);
    struct buffer payload = {0};
    uint32_t node;

    if (!spec || instance_job_find(daemon->instance, job, spec->stdin_rank, &node) < 0)
        return;
    wire_put_u8(&payload, JOB_MESSAGE_STDIN);
    wire_put_u32(&payload, job);
    buffer_append(&payload, data, bytes);
    node_send(daemon->node, node + 1, FRAME_BULK, message_from_buffer(&payload));
    buffer_fini(&payload);
}

static const char *ops_missing(void *context, uint32_t job)
{
    return roll_call_line(((struct daemon *)context)->roll_call, job);
}

static void ops_doctor(void *context, struct wire_reader *reader)
{
    struct daemon *daemon = context;

    if (daemon->doctor)
        doctor_root_asked(daemon, reader);
}

/* Whoever was at the terminal need not be there any more. */
static void ops_detached(void *context)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)context;
    if (null_fd < 0)
        return;
    (void)dup2(null_fd, STDOUT_FILENO);
    (void)dup2(null_fd, STDERR_FILENO);
    close(null_fd);
}

static void ops_unheard(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "banyan: %s\n", text);
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
    .detached = ops_detached,
    .unheard = ops_unheard,
};

/* ---- what the tree brings ---- */

void root_text(struct daemon *daemon, uint32_t job, uint8_t level, const char *text)
{
    if (daemon->root && daemon->root->clients)
        clients_text(daemon->root->clients, job, level, text);
    else
        fprintf(stderr, "banyan: %s\n", text);
}

static void text_received(struct daemon *daemon, struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);
    uint8_t level = wire_get_u8(reader);
    char *text = wire_get_string(reader, UINT16_MAX);

    if (wire_finish(reader) == 0)
        root_text(daemon, job, level, text);
    free(text);
}

void root_message(struct daemon *daemon, uint32_t source, struct message *payload)
{
    struct job_event event = {.kind = JOB_EVENT_RECEIVED, .place = source, .message = payload};
    struct clients *clients = daemon->root->clients;
    struct wire_reader reader;
    uint32_t job;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    switch (wire_get_u8(&reader)) {
    case JOB_MESSAGE_OUTPUT:
        clients_output(clients, source, reader.position, wire_left(&reader));
        break;
    case JOB_MESSAGE_STDIN_ACK:
        job = wire_get_u32(&reader);
        clients_input_taken(clients, job, wire_get_u32(&reader));
        break;
    case JOB_MESSAGE_STALLED:
        roll_call_stalled(daemon->roll_call, &reader);
        break;
    case JOB_MESSAGE_TEXT:
        text_received(daemon, &reader);
        break;
    default:
        daemon_job_event(daemon, &event);
    }
}

/* ---- what the job logic wants ---- */

static void timer_over(void *context)
{
    struct root_timer *timer = context;
    struct daemon *daemon = timer->daemon;
    struct ranges missing = {0};
    struct job_event event = {.kind = JOB_EVENT_TIMER, .job = timer->job, .places = &missing};

    if (timer->job == 0)
        node_missing(daemon->node, &missing);
    else
        event.flag = clients_wait(daemon->root->clients, timer->job);
    daemon_job_event(daemon, &event);
    ranges_fini(&missing);
}

static void timer_free(struct root_timer *timer)
{
    loop_timer_destroy(timer->timer);
    free(timer);
}

/* A job has a timer only while it has a deadline. */
static void timer_set(struct daemon *daemon, uint32_t job, uint64_t deadline_ns)
{
    struct map *timers = daemon->root->timers;
    struct root_timer *timer = map_get_u64(timers, job);

    if (deadline_ns == UINT64_MAX) {
        if (timer)
            timer_free(map_remove_u64(timers, job));
        return;
    }
    if (!timer) {
        timer = memory_allocate_zeroed(sizeof *timer);
        timer->daemon = daemon;
        timer->job = job;
        timer->timer = loop_timer_create(daemon->loop, timer_over, timer);
        (void)map_put_u64(timers, job, timer);
    }
    loop_timer_set(timer->timer, deadline_ns);
}

void root_action(struct daemon *daemon, struct job_action *action)
{
    switch (action->kind) {
    case JOB_ACTION_TIMER:
        timer_set(daemon, action->job, action->deadline_ns);
        break;
    case JOB_ACTION_LEAVE:
        daemon_leave(daemon, node_is_complete(daemon->node) ? LEAVE_MS : LEAVE_INCOMPLETE_MS);
        break;
    case JOB_ACTION_ENDED:
        roll_call_job_ended(daemon->roll_call, action->job);
        clients_action(daemon->root->clients, action);
        break;
    default:
        clients_action(daemon->root->clients, action);
    }
}

void root_send(struct daemon *daemon, uint8_t type, struct buffer *payload)
{
    ops_send(daemon, 1, type, payload->data, payload->length_bytes);
    buffer_clear(payload);
}

void root_failed(struct daemon *daemon, const char *why)
{
    if (daemon->root->clients)
        clients_failed(daemon->root->clients, why);
}

/* ---- the socket ---- */

static void on_client(void *context, int fd, unsigned int ready)
{
    struct daemon *daemon = context;
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t peer_bytes = sizeof peer;
    int client_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)ready;
    if (client_fd < 0)
        return;
    if (getsockopt(client_fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) < 0 ||
        peer.uid != geteuid()) {
        log_warning("a process of another user wanted to be a client: it was refused");
        close(client_fd);
        return;
    }
    client_open(daemon, client_fd);
}

static int listen_at(struct root *root, const char *directory, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t mask;
    int rc;

    if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", directory,
                         CONTROL_SOCKET) >= sizeof address.sun_path)
        return error_set(error, -ENAMETOOLONG, "the path of the control socket is too long: %s",
                         directory);
    root->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (root->listen_fd < 0)
        return error_set(error, -errno, "cannot make the control socket: %s", strerror(errno));
    mask = umask(0177);
    rc = bind(root->listen_fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (rc < 0 || listen(root->listen_fd, LISTEN_BACKLOG) < 0)
        return error_set(error, -errno, "cannot listen at %s: %s", address.sun_path,
                         strerror(errno));
    return 0;
}

/* An instance that stays is to be found; one of a single run is nobody else's business. */
static int open_listener(struct daemon *daemon, struct error *error)
{
    struct root *root = daemon->root;
    int rc;

    if (instance_policy(daemon->instance) != INSTANCE_STAYS)
        return 0;
    rc = session_create(&daemon->session, error);
    if (rc == 0 || rc == -EEXIST)
        rc = listen_at(root, daemon->session.directory, error);
    if (rc == 0)
        root->listen_watch =
            loop_watch_create(daemon->loop, root->listen_fd, LOOP_READ, on_client, daemon);
    return rc;
}

/* ---- life ---- */

int root_open(struct daemon *daemon, struct error *error)
{
    struct root *root = daemon->root;
    struct job_event begin = {.kind = JOB_EVENT_BEGIN};
    struct clients_config config = {
        .session = daemon->record.instance.session,
        .directory = daemon->session.directory,
        .roster = instance_roster(daemon->instance),
        .piece_bytes = output_window_bytes(daemon->record.instance.places - 1) / 4,
    };
    int rc;

    daemon->roll_call = roll_call_create(daemon);
    root->clients = clients_create(&config, &clients_ops, daemon);
    rc = open_listener(daemon, error);
    client_open(daemon, root->channel_fd);
    if (rc == 0 && instance_policy(daemon->instance) == INSTANCE_STAYS)
        daemon_job_event(daemon, &begin);
    return rc;
}

void root_close(struct daemon *daemon)
{
    struct root *root = daemon->root;
    struct root_timer *timer;
    struct list_node *node;
    size_t cursor = 0;

    roll_call_destroy(daemon->roll_call);
    daemon->roll_call = NULL;
    while ((node = list_first(&root->channels)) != NULL) {
        struct root_client *client = list_entry(node, struct root_client, node);

        loop_defer_cancel(daemon->loop, client);
        client_free(client, FLUSH_MS);
    }
    loop_watch_destroy(root->listen_watch);
    if (root->listen_fd >= 0)
        close(root->listen_fd);
    while ((timer = map_next(root->timers, &cursor)) != NULL)
        timer_free(timer);
    daemon->root = NULL;
    clients_destroy(root->clients);
    map_destroy(root->by_number);
    map_destroy(root->timers);
    free(root);
}
