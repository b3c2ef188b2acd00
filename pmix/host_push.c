/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_push.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/host_status.h"
#include "pmix/pmi_push.h"

#include <pmix.h>

/* The first is obeyed by libpmix of the caller, which reads its standard input. */
static const char *const known[] = {PMIX_IOF_PUSH_STDIN, PMIX_IOF_COMPLETE, NULL};

/* A call; its first member is of the piece that is under way. */
struct push {
    struct host_request request;
    struct list_link node;
    struct host_process *targets;
    size_t targets_count;
    size_t target; /* the next, and how much it has got */
    size_t sent_bytes;
    size_t piece_bytes; /* of the one under way */
    int closes;         /* after its data */
    int is_begun;
    pmix_op_cbfunc_t callback;
    void *context;
    size_t data_bytes; /* 0: the end of input */
    char data[];
};

/* The main thread's: calls, the oldest first.  Those with a job in common are served one at a time. */
static struct list pushes;
static size_t pushes_count;

void host_push_open(void)
{
    list_init(&pushes);
}

/* A closed input is no failure to libpmix of the caller: it stops to read its own. */
static void push_free(struct push *push, int status)
{
    push->callback(status == -EPIPE ? PMIX_ERR_IOF_COMPLETE : host_status_from_errno(status),
                   push->context);
    free(push->targets);
    free(push);
}

static void push_send(struct host *host, struct push *push)
{
    struct pmi_process target = host_job_pmi(host, &push->targets[push->target]);
    struct pmi_push piece = {
        .job = target.job, .rank = target.rank, .data = push->data + push->sent_bytes};

    assert(push->sent_bytes <= push->data_bytes);
    piece.data_bytes = push->data_bytes - push->sent_bytes;
    if (piece.data_bytes > PMI_PUSH_BYTES_MAX)
        piece.data_bytes = PMI_PUSH_BYTES_MAX;
    push->piece_bytes = piece.data_bytes;
    /* A tool's is in the name of its target, if that is here: it does not end with another job. */
    if (push->request.caller.rank == PMI_RANK_ALL)
        (void)host_job_near(host, push->targets[push->target].namespace,
                            push->request.caller.namespace);
    pmi_push_encode(&piece, &push->request.data);
    push->request.id = 0;
    host_request_send(&push->request);
}

static int have_common_job(const struct push *push, const struct push *other)
{
    for (size_t i = 0; i < push->targets_count; i++) {
        for (size_t j = 0; j < other->targets_count; j++) {
            if (strcmp(push->targets[i].namespace, other->targets[j].namespace) == 0)
                return 1;
        }
    }
    return 0;
}

static int must_wait(const struct push *push)
{
    struct list_link *node, *spare;

    list_for_each(&pushes, node, spare)
    {
        const struct push *other = list_entry(node, struct push, node);

        if (other == push)
            return 0;
        if (have_common_job(push, other))
            return 1;
    }
    assert(!"it is one of them");
    return 1;
}

/* Beside what waits for the same jobs. */
static int has_room(const struct push *push)
{
    struct list_link *node, *spare;
    size_t bytes = push->data_bytes, calls = 1;

    list_for_each(&pushes, node, spare)
    {
        const struct push *other = list_entry(node, struct push, node);

        if (!have_common_job(push, other))
            continue;
        bytes += other->data_bytes;
        calls++;
    }
    return bytes <= HOST_PUSH_BYTES_MAX && calls <= HOST_PUSH_CALLS_MAX;
}

static void push_begin(struct host *host, struct push *push)
{
    if (push->is_begun || must_wait(push))
        return;
    push->is_begun = 1;
    push_send(host, push);
}

static void push_end(struct host *host, struct push *push, int status)
{
    struct list_link *node, *spare;

    assert(pushes_count > 0 && push->is_begun);
    pushes_count--;
    list_remove(&push->node);
    push_free(push, status);
    list_for_each(&pushes, node, spare) push_begin(host, list_entry(node, struct push, node));
}

static void push_answered(struct host *host, struct host_request *request, int status,
                          const void *data, size_t data_bytes)
{
    struct push *push = (struct push *)request;

    (void)data;
    (void)data_bytes;
    assert(push->is_begun && push->target < push->targets_count);
    if (status == -ECANCELED && push->request.caller.rank == PMI_RANK_ALL &&
        strcmp(push->request.caller.namespace, push->targets[push->target].namespace) == 0)
        status = -EPIPE; /* the target's job has ended */
    push->sent_bytes += push->piece_bytes;
    if (status == 0 && push->sent_bytes == push->data_bytes &&
        (!push->closes || push->piece_bytes == 0)) {
        push->target++;
        push->sent_bytes = 0;
    }
    if (status < 0 || push->target == push->targets_count)
        push_end(host, push, status);
    else
        push_send(host, push);
}

static void push_run(struct host *host, struct host_call *call)
{
    struct push *push = (struct push *)call;

    for (size_t i = 0; i < push->targets_count; i++) {
        if (host_job_pmi(host, &push->targets[i]).job == PMI_JOB_NONE) {
            push_free(push, -ENOENT);
            return;
        }
    }
    if (pushes_count == HOST_PUSH_ALL_MAX || !has_room(push)) {
        push_free(push, -ENOBUFS);
        return;
    }
    pushes_count++;
    list_append(&pushes, &push->node);
    push_begin(host, push);
}

static int is_last(const pmix_info_t *directives, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&directives[i], PMIX_IOF_COMPLETE))
            return PMIX_INFO_TRUE(&directives[i]);
    }
    return 0;
}

pmix_status_t host_push_upcall(const pmix_proc_t *source, const pmix_proc_t targets[],
                               size_t targets_count, const pmix_info_t directives[],
                               size_t directives_count, const pmix_byte_object_t *data,
                               pmix_op_cbfunc_t callback, void *context)
{
    size_t bytes = data != NULL && data->bytes != NULL ? data->size : 0;
    struct push *push;

    if (host_refuses(directives, directives_count, known))
        return PMIX_ERR_NOT_SUPPORTED;
    if (callback == NULL || targets == NULL || targets_count == 0 ||
        targets_count > HOST_PUSH_TARGETS_MAX)
        return PMIX_ERR_BAD_PARAM;
    push = memory_allocate_zeroed(sizeof(*push) + bytes);
    push->request.kind = PMI_REQUEST_PUSH;
    push->request.answer = push_answered;
    push->request.call.run = push_run;
    host_job_caller(host_self(), source, &push->request.caller);
    push->targets = memory_allocate_zeroed(targets_count * sizeof(*push->targets));
    push->targets_count = targets_count;
    for (size_t i = 0; i < targets_count; i++)
        host_process_from_pmix(&targets[i], &push->targets[i]);
    push->closes = is_last(directives, directives_count);
    push->callback = callback;
    push->context = context;
    push->data_bytes = bytes;
    if (bytes > 0)
        memcpy(push->data, data->bytes, bytes);
    host_thread_post(&push->request.call);
    return PMIX_SUCCESS;
}
