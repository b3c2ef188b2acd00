/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_remote.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "pmix/pmi_wire.h"

#define KEEP_BYTES_MAX (1024u * 1024)

struct open_job {
    struct list_link node;
    uint32_t number;
    struct pmi_ops ops;
};

/* A descriptor that goes with a byte of the output. */
struct mark {
    struct list_link node;
    uint64_t at; /* as sent_bytes counts */
    int fd;
};

struct pmi_remote {
    struct list jobs;
    struct buffer in;
    struct buffer out;
    size_t out_sent_bytes; /* of the front of out */
    uint64_t sent_bytes;   /* in all */
    struct list marks;
    uint32_t memory_kib;
    uint32_t closing; /* jobs whose CLOSE has not been answered */
    uint64_t checked;
};

static struct open_job *job_find(const struct pmi_remote *remote, uint32_t number)
{
    struct list_link *node, *spare;

    list_for_each(&remote->jobs, node, spare)
    {
        struct open_job *job = list_entry(node, struct open_job, node);

        if (job->number == number)
            return job;
    }
    return NULL;
}

static void job_forget(struct open_job *job)
{
    assert(job->number != PMI_JOB_NONE);
    list_remove(&job->node);
    free(job);
}

/* ---- To the server ---- */

static int queue_message(struct pmi_remote *remote, const struct pmi_message *message)
{
    assert(message->kind < PMI_MESSAGE_OPENED); /* the rest comes from the server */
    return pmi_message_encode(message, &remote->out);
}

struct pmi_remote *pmi_remote_create(const struct host_config *config)
{
    struct pmi_remote *remote = memory_allocate_zeroed(sizeof(*remote));
    struct pmi_message message = {.kind = PMI_MESSAGE_START};
    struct buffer data = {0};

    list_init(&remote->jobs);
    list_init(&remote->marks);
    pmi_start_encode(config, &data);
    message.data = data.data;
    message.data_bytes = data.length_bytes;
    (void)queue_message(remote, &message);
    buffer_fini(&data);
    return remote;
}

static void mark_remove(struct mark *mark)
{
    list_remove(&mark->node);
    close(mark->fd);
    free(mark);
}

void pmi_remote_destroy(struct pmi_remote *remote)
{
    struct list_link *node;

    if (remote == NULL)
        return;
    while ((node = list_first(&remote->jobs)) != NULL)
        job_forget(list_entry(node, struct open_job, node));
    while ((node = list_first(&remote->marks)) != NULL)
        mark_remove(list_entry(node, struct mark, node));
    buffer_fini(&remote->in);
    buffer_fini(&remote->out);
    free(remote);
}

void pmi_remote_open(struct pmi_remote *remote, const struct pmi_job *job,
                     const struct pmi_ops *ops)
{
    struct open_job *opened = memory_allocate_zeroed(sizeof(*opened));
    struct pmi_message message = {.kind = PMI_MESSAGE_OPEN};
    struct buffer data = {0};
    int rc;

    assert(job_find(remote, job->number) == NULL);
    opened->number = job->number;
    opened->ops = *ops;
    list_append(&remote->jobs, &opened->node);
    pmi_job_encode(job, &data);
    message.data = data.data;
    message.data_bytes = data.length_bytes;
    rc = queue_message(remote, &message);
    buffer_fini(&data);
    if (rc < 0)
        ops->opened(ops->context, job->number, rc, "the job's map is too long for a message", 0);
}

void pmi_remote_close(struct pmi_remote *remote, uint32_t number)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_CLOSE, .process.job = number};
    struct open_job *job = job_find(remote, number);

    if (job == NULL)
        return;
    job_forget(job);
    if (queue_message(remote, &message) == 0)
        remote->closing++;
}

void pmi_remote_admit(struct pmi_remote *remote, int fd, const struct pmi_process *process,
                      const void *message, size_t message_bytes)
{
    struct pmi_message admit = {.kind = PMI_MESSAGE_ADMIT,
                                .process = *process,
                                .data = message,
                                .data_bytes = message_bytes};
    struct mark *mark = memory_allocate_zeroed(sizeof(*mark));

    assert(fd >= 0);
    mark->fd = fd;
    mark->at = remote->sent_bytes + remote->out.length_bytes - remote->out_sent_bytes;
    list_append(&remote->marks, &mark->node);
    if (queue_message(remote, &admit) < 0)
        mark_remove(mark);
}

static void remote_done(void *speaker, uint64_t id, int status, const void *data, size_t data_bytes)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_DONE,
                                  .id = id,
                                  .status = status,
                                  .data = data,
                                  .data_bytes = data_bytes};

    if (queue_message(speaker, &message) == -EMSGSIZE)
        remote_done(speaker, id, -EMSGSIZE, NULL, 0);
}

static void remote_provide(void *speaker, uint64_t id, const struct pmi_process *process,
                           const char *key)
{
    struct pmi_message message = {
        .kind = PMI_MESSAGE_PROVIDE, .id = id, .process = *process, .text = key};

    (void)queue_message(speaker, &message);
}

static void remote_gone(void *speaker, const struct pmi_process *process)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_GONE, .process = *process};

    (void)queue_message(speaker, &message);
}

static void remote_notice(void *speaker, enum pmi_notice_kind kind,
                          const struct pmi_process *process, const void *data, size_t data_bytes)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_NOTICE,
                                  .number = kind,
                                  .process = *process,
                                  .data = data,
                                  .data_bytes = data_bytes};

    (void)queue_message(speaker, &message);
}

const struct pmi_events pmi_remote_events = {
    .done = remote_done,
    .provide = remote_provide,
    .gone = remote_gone,
    .notice = remote_notice,
};

void pmi_remote_output(const struct pmi_remote *remote, struct pmi_piece *ret_piece)
{
    size_t bytes = remote->out.length_bytes - remote->out_sent_bytes;
    struct list_link *node = list_first(&remote->marks);
    const struct mark *mark = node != NULL ? list_entry(node, struct mark, node) : NULL;

    assert(remote->out_sent_bytes <= remote->out.length_bytes);
    assert(mark == NULL || mark->at >= remote->sent_bytes);
    *ret_piece = (struct pmi_piece){.fd = -1};
    if (bytes == 0)
        return;
    if (mark != NULL && mark->at == remote->sent_bytes) {
        ret_piece->fd = mark->fd;
        node = node->next != &remote->marks.head ? node->next : NULL;
        mark = node != NULL ? list_entry(node, struct mark, node) : NULL;
    }
    if (mark != NULL && mark->at - remote->sent_bytes < bytes)
        bytes = (size_t)(mark->at - remote->sent_bytes);
    ret_piece->data = remote->out.data + remote->out_sent_bytes;
    ret_piece->bytes = bytes;
}

void pmi_remote_sent(struct pmi_remote *remote, size_t bytes)
{
    struct list_link *node = list_first(&remote->marks);
    struct buffer *out = &remote->out;

    if (bytes == 0)
        return;
    if (node != NULL && list_entry(node, struct mark, node)->at == remote->sent_bytes)
        mark_remove(list_entry(node, struct mark, node));
    assert(bytes <= out->length_bytes - remote->out_sent_bytes);
    remote->sent_bytes += bytes;
    remote->out_sent_bytes += bytes;
    if (remote->out_sent_bytes == out->length_bytes) {
        buffer_clear(out);
        remote->out_sent_bytes = 0;
        if (out->capacity_bytes > KEEP_BYTES_MAX)
            buffer_fini(out);
    } else if (remote->out_sent_bytes > out->length_bytes / 2) {
        buffer_consume(out, remote->out_sent_bytes);
        remote->out_sent_bytes = 0;
    }
}

/* ---- From the server ---- */

/* The first of the members whose job has processes here counts as the caller. */
static struct open_job *job_of_members(const struct pmi_remote *remote,
                                       const struct pmi_message *message)
{
    for (size_t i = 0; i < message->members_count; i++) {
        struct open_job *job = job_find(remote, message->members[i].job);

        if (job != NULL && job->ops.collective != NULL)
            return job;
    }
    return NULL;
}

/* A process of a job without processes here: any job that has some asks for its data. */
static struct open_job *job_that_fetches(const struct pmi_remote *remote, struct open_job *job)
{
    struct list_link *node, *spare;

    if (job != NULL && job->ops.fetch != NULL)
        return job;
    list_for_each(&remote->jobs, node, spare)
    {
        job = list_entry(node, struct open_job, node);
        if (job->ops.fetch != NULL)
            return job;
    }
    return NULL;
}

static void heed_collective(struct pmi_remote *remote, const struct pmi_message *message)
{
    const struct open_job *job = job_of_members(remote, message);
    struct pmi_collective collective = {
        .id = message->id,
        .kind = (enum pmi_kind)message->number,
        .name = message->text,
        .members = message->members,
        .members_count = message->members_count,
        .data = message->data,
        .data_bytes = message->data_bytes,
        .timeout_ms = message->timeout_ms,
    };

    if (message->status < 0)
        remote_done(remote, message->id, message->status, NULL, 0);
    else if (job != NULL)
        job->ops.collective(job->ops.context, &collective);
    else
        remote_done(remote, message->id, -ENOENT, NULL, 0);
}

static void heed_request(struct pmi_remote *remote, const struct open_job *job,
                         const struct pmi_message *message)
{
    struct pmi_request request = {.id = message->id,
                                  .kind = (enum pmi_request_kind)message->number,
                                  .caller = message->process,
                                  .timeout_ms = message->timeout_ms,
                                  .data = message->data,
                                  .data_bytes = message->data_bytes};

    if (job == NULL || job->ops.collective == NULL || message->status < 0)
        remote_done(remote, message->id, message->status < 0 ? message->status : -ENOENT, NULL, 0);
    else if (message->kind == PMI_MESSAGE_REQUEST)
        job->ops.request(job->ops.context, &request);
    else if (message->kind == PMI_MESSAGE_FETCH)
        job->ops.fetch(job->ops.context, message->id, &message->process, message->text,
                       message->timeout_ms);
    else
        job->ops.abort(job->ops.context, message->id, &message->process, (int32_t)message->number,
                       message->text, message->members, message->members_count);
}

static void heed_notice(const struct open_job *job, const struct pmi_message *message)
{
    const struct pmi_ops *ops = &job->ops;

    switch (message->kind) {
    case PMI_MESSAGE_OPENED:
        ops->opened(ops->context, job->number, message->status, message->text,
                    (int32_t)message->number);
        break;
    case PMI_MESSAGE_CONNECTED:
        ops->connected(ops->context, &message->process);
        break;
    case PMI_MESSAGE_REJECTED:
        ops->rejected(ops->context, &message->process);
        break;
    case PMI_MESSAGE_FINALIZED:
        ops->finalized(ops->context, &message->process);
        break;
    case PMI_MESSAGE_PROVIDED:
        ops->provided(ops->context, job->number, message->id, message->status, message->data,
                      message->data_bytes);
        break;
    default:
        assert(message->kind == PMI_MESSAGE_TEXT);
        ops->text(ops->context, &message->process, message->data, message->data_bytes);
    }
}

static int heed_closed(struct pmi_remote *remote, const struct pmi_message *message)
{
    if (remote->closing == 0)
        return -EPROTO;
    remote->closing--;
    remote->memory_kib = message->number;
    return 0;
}

static int heed_message(void *context, const struct pmi_message *message)
{
    struct pmi_remote *remote = context;
    struct open_job *job = job_find(remote, message->process.job);

    assert(message->status <= 0); /* the decoder lets no other through */
    if (message->kind < PMI_MESSAGE_OPENED)
        return -EPROTO;
    if (message->kind == PMI_MESSAGE_CLOSED)
        return heed_closed(remote, message);
    if (message->kind == PMI_MESSAGE_CHECKED)
        remote->checked = message->id;
    else if (message->kind == PMI_MESSAGE_COLLECTIVE)
        heed_collective(remote, message);
    else if (message->kind == PMI_MESSAGE_FETCH || message->kind == PMI_MESSAGE_ABORT ||
             message->kind == PMI_MESSAGE_REQUEST)
        heed_request(remote,
                     message->kind == PMI_MESSAGE_FETCH ? job_that_fetches(remote, job) : job,
                     message);
    else if (job != NULL && (job->ops.collective != NULL || message->kind == PMI_MESSAGE_OPENED))
        heed_notice(job, message);
    return 0;
}

void *pmi_remote_room(struct pmi_remote *remote, size_t min_bytes, size_t *ret_bytes)
{
    *ret_bytes = pmi_frame_wanted(&remote->in, min_bytes);
    return buffer_reserve(&remote->in, *ret_bytes);
}

int pmi_remote_came(struct pmi_remote *remote, size_t bytes)
{
    int rc;

    buffer_commit(&remote->in, bytes);
    rc = pmi_frames_take(&remote->in, heed_message, remote);
    if (remote->in.length_bytes == 0 && remote->in.capacity_bytes > KEEP_BYTES_MAX)
        buffer_fini(&remote->in);
    return rc;
}

int pmi_remote_input(struct pmi_remote *remote, const void *data, size_t bytes)
{
    memcpy(buffer_reserve(&remote->in, bytes), data, bytes);
    return pmi_remote_came(remote, bytes);
}

void pmi_remote_lose(struct pmi_remote *remote, const char *why)
{
    struct list_link *node;

    while ((node = list_first(&remote->jobs)) != NULL) {
        struct open_job *job = list_entry(node, struct open_job, node);
        struct pmi_ops ops = job->ops;
        uint32_t number = job->number;

        job_forget(job);
        ops.lost(ops.context, number, why);
    }
}

uint32_t pmi_remote_jobs(const struct pmi_remote *remote)
{
    struct list_link *node, *spare;
    uint32_t count = 0;

    list_for_each(&remote->jobs, node, spare) count++;
    return count;
}

void pmi_remote_check(struct pmi_remote *remote, uint64_t id)
{
    struct pmi_message message = {.kind = PMI_MESSAGE_CHECK, .id = id};

    (void)queue_message(remote, &message);
}

uint64_t pmi_remote_checked(const struct pmi_remote *remote)
{
    return remote->checked;
}

uint32_t pmi_remote_closing(const struct pmi_remote *remote)
{
    return remote->closing;
}

uint32_t pmi_remote_memory_kib(const struct pmi_remote *remote)
{
    return remote->memory_kib;
}
