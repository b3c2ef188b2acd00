/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/root_clients.h"

#include <assert.h>
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
#include "base/hash_map.h"
#include "launch/daemon/doctor_root.h"
#include "launch/daemon/root_fabric.h"
#include "launch/exec/session_about.h"
#include "launch/start/source_environment.h"

#define FLUSH_MS       1000
#define LISTEN_BACKLOG 256

struct root_client {
    struct list_link node;
    struct daemon *daemon;
    struct channel *channel;
    uint32_t number;
    uint8_t dropped; /* the drop is due in this turn of the loop */
};

struct root {
    int channel_fd;       /* the first client's, until root_open */
    struct list channels; /* struct root_client */
    struct hash_map *by_number;
    uint32_t last_client;
    uint8_t is_recovered;
    int listen_fd; /* -1: there is only the first client */
    struct loop_watch *listen_watch;
};

struct root *root_create(int channel_fd)
{
    struct root *root = memory_allocate_zeroed(sizeof *root);

    root->channel_fd = channel_fd;
    root->listen_fd = -1;
    list_init(&root->channels);
    root->by_number = hash_map_create();
    return root;
}

static void root_check(const struct daemon *daemon)
{
    const struct root *root = daemon->root;

    assert(root != NULL && daemon->record.place == 0);
    assert(list_is_empty(&root->channels) == (hash_map_count(root->by_number) == 0));
    assert(hash_map_count(root->by_number) <= root->last_client);
    assert(root->listen_watch == NULL || root->listen_fd >= 0);
}

static void client_check(const struct root_client *client)
{
    root_check(client->daemon);
    assert(client->channel != NULL && list_is_linked(&client->node));
    assert(client->number > 0 && client->number <= client->daemon->root->last_client);
}

/* ---- channels ---- */

static struct root_client *client_find(const struct daemon *daemon, uint32_t number)
{
    return daemon->root ? hash_map_get_u64(daemon->root->by_number, number) : NULL;
}

static void client_free(struct root_client *client, uint32_t flush_ms)
{
    loop_defer_cancel(client->daemon->loop, client); /* its drop, if one is due */
    (void)hash_map_remove_u64(client->daemon->root->by_number, client->number);
    list_remove(&client->node);
    channel_destroy(client->channel, flush_ms);
    free(client);
}

static void on_message(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    const struct root_client *client = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_CLIENT_MESSAGE,
                                 .place = client->number,
                                 .type = type,
                                 .data = payload,
                                 .data_bytes = payload_bytes};

    client_check(client);
    if (!client->dropped)
        daemon_core_step(client->daemon->core, &event);
}

static void client_close(struct root_client *client)
{
    const struct daemon *daemon = client->daemon;
    struct daemon_event event = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = client->number};

    client_check(client);
    client_free(client, 0);
    daemon_core_step(daemon->core, &event);
}

static void on_closed(void *context, const char *why)
{
    (void)why;
    client_close(context);
}

static void client_open(struct daemon *daemon, int fd)
{
    static const struct channel_events events = {.message = on_message, .closed = on_closed};
    struct root *root = daemon->root;
    struct root_client *client = memory_allocate_zeroed(sizeof(*client));
    struct daemon_event event = {.kind = DAEMON_EVENT_CLIENT_OPENED};

    root_check(daemon);
    assert(fd >= 0);
    client->daemon = daemon;
    client->number = ++root->last_client;
    client->channel = channel_create(daemon->loop, fd, &events, client);
    list_append(&root->channels, &client->node);
    (void)hash_map_put_u64(root->by_number, client->number, client);
    event.place = client->number;
    daemon_core_step(daemon->core, &event);
}

/* ---- operations ---- */

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

    assert(client->dropped);
    client_close(client);
}

/* Deferred: its message may be being handled. */
static void ops_drop(void *context, uint32_t number)
{
    struct daemon *daemon = context;
    struct root_client *client = client_find(daemon, number);

    if (!client || client->dropped)
        return;
    client->dropped = 1;
    loop_defer(daemon->loop, ops_drop_now, client);
}

static void ops_doctor(void *context, struct wire_reader *reader)
{
    struct daemon *daemon = context;

    root_check(daemon);
    if (daemon->doctor)
        doctor_root_asked(daemon, reader);
}

/* The terminal may be closed from now on. */
/* Who reads what the front end writes, as ssh or a shell's $(...), need not wait for the end of the instance. */
static void ops_detached(void *context)
{
    struct daemon *daemon = context;
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    helper_detach(daemon->helper);
    if (null_fd < 0)
        return;
    (void)dup2(null_fd, STDOUT_FILENO);
    (void)dup2(null_fd, STDERR_FILENO);
    close(null_fd);
}

const struct daemon_client_ops root_client_ops = {
    .send = ops_send,
    .queued = ops_queued,
    .drop = ops_drop,
    .doctor = ops_doctor,
    .detached = ops_detached,
};

void root_send(struct daemon *daemon, uint8_t type, struct buffer *payload)
{
    ops_send(daemon, 1, type, payload->data, payload->length_bytes);
    buffer_clear(payload);
}

/* ---- the socket ---- */

static void on_client(void *context, int fd, unsigned int ready)
{
    struct daemon *daemon = context;
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t peer_bytes = sizeof peer;
    int client_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)ready;
    root_check(daemon);
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
    if (root->is_recovered)
        (void)unlink(address.sun_path); /* nobody listens there */
    mask = umask(0177);
    rc = bind(root->listen_fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (rc < 0 || listen(root->listen_fd, LISTEN_BACKLOG) < 0)
        return error_set(error, -errno, "cannot listen at %s: %s", address.sun_path,
                         strerror(errno));
    return 0;
}

/* Before anyone can connect. */
static int say_about(const char *directory, struct error *error)
{
    struct source_environment *sources = source_environment_create(environ);
    char *job = source_environment_job(source_environment_ops(sources));
    char *name = source_environment_job_name(source_environment_ops(sources));
    struct session_about about = {.version = ""};
    int rc;

    snprintf(about.version, sizeof about.version, "%s", session_about_version());
    session_about_set(about.job, job);
    session_about_set(about.name, name);
    rc = session_about_write(directory, &about, error);
    free(job);
    free(name);
    source_environment_destroy(sources);
    return rc;
}

/* Only an instance that stays can be found by other clients. */
static int open_listener(struct daemon *daemon, struct error *error)
{
    struct root *root = daemon->root;
    int rc;

    if (daemon->policy != INSTANCE_STAYS)
        return 0;
    rc = session_create(&daemon->session, error);
    if (rc == 0 || rc == -EEXIST)
        rc = say_about(daemon->session.directory, error);
    if (rc == 0)
        rc = listen_at(root, daemon->session.directory, error);
    if (rc == 0)
        root->listen_watch =
            loop_watch_create(daemon->loop, root->listen_fd, LOOP_READ, on_client, daemon);
    return rc;
}

/* ---- life ---- */

void root_count_clients(struct daemon *daemon, uint32_t last_client)
{
    assert(list_is_empty(&daemon->root->channels));
    daemon->root->last_client = last_client;
    daemon->root->is_recovered = 1;
}

/* To the one who has recovered it. */
static void say_ready(struct daemon *daemon)
{
    const struct endpoint *endpoint = daemon->endpoint;
    struct control_ready ready = {.nodes = endpoint_population(endpoint) - 1 -
                                           (uint32_t)ranges_count(endpoint_dead(endpoint))};
    struct buffer payload = {0};

    snprintf(ready.directory, sizeof(ready.directory), "%s", daemon->session.directory);
    control_ready_encode(&ready, &payload);
    ops_send(daemon, daemon->root->last_client, CONTROL_READY, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    ops_detached(daemon);
}

int root_open(struct daemon *daemon, struct error *error)
{
    struct root *root = daemon->root;
    struct job_event begin = {.kind = JOB_EVENT_BEGIN};
    struct daemon_event event = {.kind = DAEMON_EVENT_JOB, .job_event = &begin};
    int rc = open_listener(daemon, error);

    if (rc == 0)
        rc = root_fabric_open(daemon, error);
    assert(list_is_empty(&root->channels)); /* the first client comes first */
    client_open(daemon, root->channel_fd);
    if (rc == 0 && daemon->replay != NULL)
        say_ready(daemon);
    else if (rc == 0 && daemon->policy == INSTANCE_STAYS)
        daemon_core_step(daemon->core, &event);
    return rc;
}

void root_close(struct daemon *daemon)
{
    struct root *root = daemon->root;
    struct list_link *node;

    root_check(daemon);
    root_fabric_close(daemon);
    while ((node = list_first(&root->channels)) != NULL)
        client_free(list_entry(node, struct root_client, node), FLUSH_MS);
    loop_watch_destroy(root->listen_watch);
    if (root->listen_fd >= 0)
        close(root->listen_fd);
    daemon->root = NULL;
    hash_map_destroy(root->by_number);
    free(root);
}
