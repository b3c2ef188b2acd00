/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_server.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmix/pmi_wire.h"

/* Limit of client descriptors received before their ADMIT messages. */
#define FDS_MAX 4096u
/* Larger input and output buffers are freed when they are empty. */
#define KEEP_BYTES_MAX (1024u * 1024)

struct pmi_server {
    struct pmi_server_config config;
    const struct host_table *table;
    struct host *host;
    struct error error; /* why there is no host */
    struct buffer in;
    pthread_mutex_t mutex; /* guards out, and the order of writes */
    struct buffer out;
    int *fds; /* in the order of their ADMITs */
    uint32_t fds_count;
};

/* ---- Requests of the host ---- */

/* On any thread: the host calls `collective` on libpmix's own. */
static int tell_daemon(struct pmi_server *server, const struct pmi_message *message)
{
    int rc;

    assert(message->kind >= PMI_MESSAGE_OPENED); /* the rest comes from the daemon */
    pthread_mutex_lock(&server->mutex);
    assert(server->out.length_bytes == 0);
    rc = pmi_message_encode(message, &server->out);
    if (rc == 0)
        server->config.write(server->config.context, server->out.data, server->out.length_bytes);
    if (server->out.capacity_bytes > KEEP_BYTES_MAX)
        buffer_fini(&server->out);
    buffer_clear(&server->out);
    pthread_mutex_unlock(&server->mutex);
    return rc;
}

static void tell_process(void *context, enum pmi_message_kind kind,
                         const struct pmi_process *process)
{
    struct pmi_message message = {.kind = kind, .process = *process};

    (void)tell_daemon(context, &message);
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_OPENED,
                                  .process.job = job,
                                  .status = status,
                                  .text = why,
                                  .number = (uint32_t)pid};

    (void)tell_daemon(context, &message);
}

static void on_connected(void *context, const struct pmi_process *process)
{
    tell_process(context, PMI_MESSAGE_CONNECTED, process);
}

static void on_rejected(void *context, const struct pmi_process *process)
{
    tell_process(context, PMI_MESSAGE_REJECTED, process);
}

static void on_finalized(void *context, const struct pmi_process *process)
{
    tell_process(context, PMI_MESSAGE_FINALIZED, process);
}

static void on_collective(void *context, const struct pmi_collective *collective)
{
    struct pmi_server *server = context;
    struct pmi_message message = {.kind = PMI_MESSAGE_COLLECTIVE,
                                  .id = collective->id,
                                  .number = collective->kind,
                                  .text = collective->name,
                                  .timeout_ms = collective->timeout_ms,
                                  .members = collective->members,
                                  .members_count = collective->members_count,
                                  .data = collective->data,
                                  .data_bytes = collective->data_bytes};

    /* The host must not be answered within this call: the daemon is sent the operation without its
     * data and ends it for all members. */
    if (tell_daemon(server, &message) < 0) {
        message.data_bytes = 0;
        message.status = -EMSGSIZE;
        (void)tell_daemon(server, &message);
    }
}

static void on_fetch(void *context, uint64_t id, const struct pmi_process *process, const char *key,
                     uint32_t timeout_ms)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_FETCH,
                                  .id = id,
                                  .process = *process,
                                  .text = key,
                                  .timeout_ms = timeout_ms};

    (void)tell_daemon(context, &message);
}

static void on_provided(void *context, uint32_t job, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_PROVIDED,
                                  .id = id,
                                  .process.job = job,
                                  .status = status,
                                  .data = data,
                                  .data_bytes = data_bytes};

    if (tell_daemon(context, &message) == -EMSGSIZE) {
        message.status = -EMSGSIZE;
        message.data_bytes = 0;
        (void)tell_daemon(context, &message);
    }
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *text, const struct pmi_process *targets, size_t targets_count)
{
    struct pmi_server *server = context;
    struct pmi_message message = {.kind = PMI_MESSAGE_ABORT,
                                  .id = id,
                                  .process = *caller,
                                  .number = (uint32_t)status,
                                  .text = text,
                                  .members = targets,
                                  .members_count = targets_count};
    int rc = tell_daemon(server, &message);

    if (rc < 0)
        server->table->events.done(server->host, id, rc, NULL, 0);
}

static void on_text(void *context, const struct pmi_process *from, const char *text,
                    size_t text_bytes)
{
    struct pmi_message message = {
        .kind = PMI_MESSAGE_TEXT, .process = *from, .data = text, .data_bytes = text_bytes};

    (void)tell_daemon(context, &message);
}

static void on_request(void *context, const struct pmi_request *request)
{
    struct pmi_server *server = context;
    struct pmi_message message = {.kind = PMI_MESSAGE_REQUEST,
                                  .id = request->id,
                                  .process = request->caller,
                                  .number = request->kind,
                                  .timeout_ms = request->timeout_ms,
                                  .data = request->data,
                                  .data_bytes = request->data_bytes};

    /* The host must not be answered within this call, as for a collective. */
    if (tell_daemon(server, &message) < 0) {
        message.data_bytes = 0;
        message.status = -EMSGSIZE;
        (void)tell_daemon(server, &message);
    }
}

static const struct pmi_ops ops = {
    .opened = on_opened,
    .connected = on_connected,
    .rejected = on_rejected,
    .finalized = on_finalized,
    .collective = on_collective,
    .fetch = on_fetch,
    .provided = on_provided,
    .abort = on_abort,
    .text = on_text,
    .request = on_request,
};

/* ---- Messages of the daemon ---- */

static int obey_start(struct pmi_server *server, const struct pmi_message *message)
{
    struct pmi_ops own = ops;
    struct host_config config;
    int rc = server->table != NULL ? -EPROTO
                                   : pmi_start_decode(&config, message->data, message->data_bytes);

    if (rc < 0)
        return rc;
    assert(server->host == NULL);
    own.context = server;
    config.ops = &own;
    server->table = server->config.load(server->config.context, &server->error);
    if (server->table != NULL)
        server->host = server->table->create(&config, &server->error);
    pmi_start_fini(&config);
    return 0;
}

static int obey_open(struct pmi_server *server, const struct pmi_message *message)
{
    struct pmi_job job;
    int rc = pmi_job_decode(&job, message->data, message->data_bytes);

    if (rc < 0)
        return rc;
    if (server->host != NULL)
        server->table->job_open(server->host, &job);
    else
        on_opened(server, job.number, server->error.code < 0 ? server->error.code : -ENOTCONN,
                  server->error.text, 0);
    pmi_job_fini(&job);
    return 0;
}

/* On any thread. */
static void on_closed(void *context, uint64_t job)
{
    struct pmi_server *server = context;
    struct pmi_message closed = {.kind = PMI_MESSAGE_CLOSED, .process.job = (uint32_t)job};

    closed.number = server->config.memory_kib(server->config.context);
    (void)tell_daemon(server, &closed);
}

/* CLOSED says that libpmix has forgotten the job, and has removed the files that its processes had registered
 * for that. */
static void obey_close(struct pmi_server *server, const struct pmi_message *message)
{
    uint32_t job = message->process.job;

    if (server->host == NULL) {
        on_closed(server, job);
        return;
    }
    server->table->job_close(server->host, job);
    server->table->check(server->host, job, on_closed, server);
}

static int obey_admit(struct pmi_server *server, const struct pmi_message *message)
{
    int fd;

    if (server->fds_count == 0)
        return -EPROTO;
    fd = server->fds[0];
    server->fds_count--;
    for (uint32_t i = 0; i < server->fds_count; i++)
        server->fds[i] = server->fds[i + 1];
    if (server->host != NULL)
        server->table->admit(server->host, fd, &message->process, message->data,
                             message->data_bytes);
    else
        close(fd);
    return 0;
}

/* On any thread. */
static void on_checked(void *context, uint64_t id)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_CHECKED, .id = id};

    (void)tell_daemon(context, &message);
}

static void obey_check(struct pmi_server *server, const struct pmi_message *message)
{
    if (server->host != NULL)
        server->table->check(server->host, message->id, on_checked, server);
    else
        on_checked(server, message->id);
}

static int obey_message(void *context, const struct pmi_message *message)
{
    struct pmi_server *server = context;

    switch (message->kind) {
    case PMI_MESSAGE_START:
        return obey_start(server, message);
    case PMI_MESSAGE_OPEN:
        return obey_open(server, message);
    case PMI_MESSAGE_CLOSE:
        obey_close(server, message);
        return 0;
    case PMI_MESSAGE_ADMIT:
        return obey_admit(server, message);
    case PMI_MESSAGE_DONE:
        if (server->host != NULL)
            server->table->events.done(server->host, message->id, message->status, message->data,
                                       message->data_bytes);
        return 0;
    case PMI_MESSAGE_PROVIDE:
        if (server->host != NULL)
            server->table->events.provide(server->host, message->id, &message->process,
                                          message->text);
        else
            on_provided(server, message->process.job, message->id, -ENOENT, NULL, 0);
        return 0;
    case PMI_MESSAGE_GONE:
        if (server->host != NULL)
            server->table->events.gone(server->host, &message->process);
        return 0;
    case PMI_MESSAGE_CHECK:
        obey_check(server, message);
        return 0;
    case PMI_MESSAGE_NOTICE:
        if (server->host != NULL)
            server->table->events.notice(server->host, (enum pmi_notice_kind)message->number,
                                         &message->process, message->data, message->data_bytes);
        return 0;
    default:
        return -EPROTO;
    }
}

void *pmi_server_room(struct pmi_server *server, size_t min_bytes, size_t *ret_bytes)
{
    *ret_bytes = pmi_frame_wanted(&server->in, min_bytes);
    return buffer_reserve(&server->in, *ret_bytes);
}

int pmi_server_came(struct pmi_server *server, size_t bytes)
{
    int rc;

    buffer_commit(&server->in, bytes);
    rc = pmi_frames_take(&server->in, obey_message, server);
    if (server->in.length_bytes == 0 && server->in.capacity_bytes > KEEP_BYTES_MAX)
        buffer_fini(&server->in);
    return rc;
}

int pmi_server_input(struct pmi_server *server, const void *data, size_t bytes)
{
    memcpy(buffer_reserve(&server->in, bytes), data, bytes);
    return pmi_server_came(server, bytes);
}

void pmi_server_take_fd(struct pmi_server *server, int fd)
{
    assert(fd >= 0 && server->fds_count <= FDS_MAX);
    if (server->fds_count == FDS_MAX) {
        close(fd);
        return;
    }
    server->fds = memory_resize(server->fds, (server->fds_count + 1) * sizeof(*server->fds));
    server->fds[server->fds_count++] = fd;
}

int pmi_server_wait(struct pmi_server *server, int fd)
{
    return server->host != NULL ? server->table->wait(server->host, fd) : -ENOTCONN;
}

void pmi_server_process(struct pmi_server *server)
{
    if (server->host != NULL)
        server->table->process(server->host);
}

struct pmi_server *pmi_server_create(const struct pmi_server_config *config)
{
    struct pmi_server *server = memory_allocate_zeroed(sizeof(*server));

    assert(config->load != NULL && config->write != NULL && config->memory_kib != NULL);
    server->config = *config;
    pthread_mutex_init(&server->mutex, NULL);
    return server;
}

void pmi_server_destroy(struct pmi_server *server)
{
    if (server == NULL)
        return;
    for (uint32_t i = 0; i < server->fds_count; i++)
        close(server->fds[i]);
    free(server->fds);
    buffer_fini(&server->in);
    buffer_fini(&server->out);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}
