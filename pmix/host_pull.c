/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_pull.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/list.h"
#include "base/time.h"
#include "pmix/host_entry.h"
#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/host_status.h"
#include "pmix/host_timer.h"
#include "pmix/pmi_pull.h"

#include <pmix.h>

/* What is reported to the daemon at once, and what libpmix is given before it has written any of it. */
#define TAKEN_BYTES (PMI_PULL_WINDOW / 8)
#define GIVEN_BYTES (256u * 1024)

/* What we drop when the window is full is the newest. */
static const char *const known[] = {PMIX_IOF_DROP_NEWEST, PMIX_IOF_STOP, NULL};

/* A connection, which is the same as long as the descriptor has this inode. */
struct connection {
    int fd; /* -1: not known */
    ino_t inode;
};

struct target {
    uint64_t call; /* that has asked for it */
    uint32_t job;
    uint32_t rank; /* or PMI_RANK_ALL */
    uint8_t channels;
};

/* One who has asked.  Which of several calls is taken back libpmix does not say: all are with the last. */
struct caller {
    struct list_link node;
    struct connection connection;
    uint32_t calls;
    struct target *targets;
    size_t targets_count;
};

/* A job that is asked for.  Each has its own queue: who reads one too slowly does not hold up the others. */
struct source {
    struct list_link node;
    uint32_t job;
    uint32_t taken_bytes; /* and not reported */
    struct list chunks;   /* that wait, the oldest first */
    char namespace[PMI_NAMESPACE_BYTES];
};

struct chunk {
    struct host_call call;
    struct list_link node;
    struct pmi_process process;
    int stream;
    pmix_proc_t proc; /* this and the next are libpmix's while it has the chunk */
    pmix_info_t complete;
    pmix_byte_object_t object;
    char bytes[];
};

/* A call of PMIx_IOF_pull until it is answered: its jobs are requested one at a time. */
struct pull {
    struct host_request request;
    uint64_t number;
    struct connection connection;
    uint8_t channels;
    struct host_process *targets;
    size_t targets_count;
    size_t next;
    int status; /* of the upcall */
    pmix_op_cbfunc_t callback;
    void *context;
};

/* A call of PMIx_IOF_deregister. */
struct stop {
    struct host_call call;
    struct connection connection;
};

/* The main thread's. */
static struct {
    struct list callers;
    struct list sources;
    size_t given_bytes; /* to libpmix, which has not called back */
    uint64_t calls;
} pulls;

/* libpmix's thread's: an upcall that has just returned. */
static struct pull *returning;

void host_pull_open(void)
{
    list_init(&pulls.callers);
    list_init(&pulls.sources);
}

/* ---- Connections ---- */

static struct connection connection_now(void)
{
    struct connection connection = {.fd = host_timer_reader()};
    struct stat stat;

    if (connection.fd < 0 || fstat(connection.fd, &stat) < 0)
        return (struct connection){.fd = -1};
    connection.inode = stat.st_ino;
    return connection;
}

static int connection_is_open(const struct connection *connection)
{
    struct stat stat;

    return connection->fd < 0 || (fstat(connection->fd, &stat) == 0 && S_ISSOCK(stat.st_mode) &&
                                  stat.st_ino == connection->inode);
}

static int connection_is_full(const struct connection *connection)
{
    struct pollfd state = {.fd = connection->fd, .events = POLLOUT};

    return connection->fd >= 0 && poll(&state, 1, 0) == 0;
}

/* ---- What callers have requested of a job ---- */

static struct source *source_find(uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&pulls.sources, node, spare)
    {
        struct source *source = list_entry(node, struct source, node);

        if (source->job == job)
            return source;
    }
    return NULL;
}

static void source_add(uint32_t job, const char *namespace)
{
    struct source *source = source_find(job);

    assert(job != PMI_JOB_NONE);
    if (source != NULL)
        return;
    source = memory_allocate_zeroed(sizeof(*source));
    source->job = job;
    list_init(&source->chunks);
    memcpy(source->namespace, namespace, sizeof(source->namespace));
    list_append(&pulls.sources, &source->node);
}

static void chunk_free(struct chunk *chunk)
{
    PMIX_INFO_DESTRUCT(&chunk->complete);
    free(chunk);
}

/* Nobody wants what waits. */
static void source_remove(struct source *source)
{
    struct list_link *node;

    while ((node = list_first(&source->chunks)) != NULL) {
        list_remove(node);
        chunk_free(list_entry(node, struct chunk, node));
    }
    list_remove(&source->node);
    free(source);
}

static uint64_t version_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* All callers' targets in it together. */
static void wish_make(uint32_t job, struct pmi_pull *ret_wish)
{
    struct pmi_pull wish = {.kind = PMI_PULL_SET, .job = job, .version = version_now()};
    struct list_link *node, *spare;
    int is_whole = 0;

    list_for_each(&pulls.callers, node, spare)
    {
        const struct caller *caller = list_entry(node, struct caller, node);

        for (size_t i = 0; i < caller->targets_count; i++) {
            const struct target *target = &caller->targets[i];

            if (target->job != job)
                continue;
            wish.channels |= target->channels;
            is_whole |= target->rank == PMI_RANK_ALL;
            if (target->rank != PMI_RANK_ALL)
                ranges_add(&wish.ranks, target->rank, target->rank);
        }
    }
    if (is_whole)
        ranges_clear(&wish.ranks);
    *ret_wish = wish;
}

/* Not answered, and in the name of any job that is open here.  If none is, the daemon has nobody to give output to, and
 * says so when there is some. */
static void tell_daemon(struct host *host, const struct pmi_pull *pull)
{
    struct pmi_request message = {.kind = PMI_REQUEST_PULL};
    struct buffer data = {0};

    if (!host_job_any(host, &message.caller))
        return;
    message.caller.rank = PMI_RANK_ALL;
    pmi_pull_encode(pull, &data);
    message.data = data.data;
    message.data_bytes = data.length_bytes;
    host->ops.request(host->ops.context, &message);
    buffer_fini(&data);
}

static void wishes_renew(struct host *host)
{
    struct list_link *node, *spare;

    list_for_each(&pulls.sources, node, spare)
    {
        struct source *source = list_entry(node, struct source, node);
        struct pmi_pull wish;

        wish_make(source->job, &wish);
        tell_daemon(host, &wish);
        if (wish.channels == 0)
            source_remove(source);
        ranges_fini(&wish.ranks);
    }
}

/* ---- Callers ---- */

static struct caller *caller_find(const struct connection *connection)
{
    struct list_link *node, *spare;

    list_for_each(&pulls.callers, node, spare)
    {
        struct caller *caller = list_entry(node, struct caller, node);

        if (caller->connection.fd == connection->fd &&
            caller->connection.inode == connection->inode)
            return caller;
    }
    return NULL;
}

static void caller_free(struct caller *caller)
{
    list_remove(&caller->node);
    free(caller->targets);
    free(caller);
}

static struct caller *caller_add(const struct connection *connection)
{
    struct caller *caller = caller_find(connection);

    if (caller != NULL)
        return caller;
    assert(connection->fd >= -1);
    caller = memory_allocate_zeroed(sizeof(*caller));
    caller->connection = *connection;
    list_append(&pulls.callers, &caller->node);
    return caller;
}

static void callers_forget_closed(struct host *host)
{
    struct list_link *node, *spare;
    int any = 0;

    list_for_each(&pulls.callers, node, spare)
    {
        struct caller *caller = list_entry(node, struct caller, node);

        if (connection_is_open(&caller->connection))
            continue;
        caller_free(caller);
        any = 1;
    }
    if (any)
        wishes_renew(host);
}

/* Of a call, or of a job; 0: any. */
static void caller_drop_targets(struct caller *caller, uint64_t call, uint32_t job)
{
    size_t left = 0;

    for (size_t i = 0; i < caller->targets_count; i++) {
        if ((call == 0 || caller->targets[i].call == call) &&
            (job == 0 || caller->targets[i].job == job))
            continue;
        caller->targets[left++] = caller->targets[i];
    }
    caller->targets_count = left;
}

static void call_take_back(struct host *host, const struct connection *connection)
{
    struct caller *caller = caller_find(connection);

    if (caller == NULL)
        return;
    assert(caller->calls > 0);
    if (--caller->calls == 0)
        caller_free(caller);
    wishes_renew(host);
}

/* ---- PMIx_IOF_pull ---- */

static void pull_end(struct host *host, struct pull *pull, int status)
{
    struct caller *caller = status < 0 ? caller_find(&pull->connection) : NULL;

    if (caller != NULL && pull->next < pull->targets_count) {
        caller_drop_targets(caller, pull->number, 0);
        call_take_back(host, &pull->connection);
    }
    pull->callback(host_status_from_errno(status), pull->context);
    free(pull->targets);
    free(pull);
}

static void pull_go_on(struct host *host, struct host_call *call)
{
    struct pull *pull = (struct pull *)call;
    struct pmi_pull wish;

    assert(pull->next <= pull->targets_count);
    if (pull->next == pull->targets_count) {
        pull_end(host, pull, 0);
        return;
    }
    if (host_job_first(host, pull->request.caller.namespace) < 0) {
        pull_end(host, pull, -ENOENT);
        return;
    }
    pull->request.caller.rank = PMI_RANK_ALL;
    wish_make(host_job_pmi(host, &pull->targets[pull->next]).job, &wish);
    pmi_pull_encode(&wish, &pull->request.data);
    ranges_fini(&wish.ranks);
    pull->request.id = 0;
    host_request_send(&pull->request);
}

/* -ECANCELED: the job in whose name was asked is being closed; the next question is in the name of another. */
static void pull_answered(struct host *host, struct host_request *request, int status,
                          const void *data, size_t data_bytes)
{
    struct pull *pull = (struct pull *)request;

    (void)data;
    (void)data_bytes;
    assert(status <= 0 && pull->next < pull->targets_count);
    if (status < 0 && status != -ECANCELED) {
        pull_end(host, pull, status);
        return;
    }
    pull->next += status == 0;
    pull->request.call.run = pull_go_on;
    host_thread_post(&pull->request.call);
}

static int pull_add_targets(struct host *host, struct pull *pull)
{
    struct caller *caller;

    for (size_t i = 0; i < pull->targets_count; i++) {
        if (host_job_pmi(host, &pull->targets[i]).job == PMI_JOB_NONE)
            return -ENOENT;
    }
    caller = caller_add(&pull->connection);
    caller->calls++;
    caller->targets = memory_resize(caller->targets, (caller->targets_count + pull->targets_count) *
                                                         sizeof(*caller->targets));
    for (size_t i = 0; i < pull->targets_count; i++) {
        struct pmi_process process = host_job_pmi(host, &pull->targets[i]);

        source_add(process.job, pull->targets[i].namespace);
        caller->targets[caller->targets_count++] = (struct target){.call = pull->number,
                                                                   .job = process.job,
                                                                   .rank = process.rank,
                                                                   .channels = pull->channels};
    }
    return 0;
}

static void pull_run(struct host *host, struct host_call *call)
{
    struct pull *pull = (struct pull *)call;
    int status = pull->status;

    callers_forget_closed(host);
    pull->number = ++pulls.calls;
    if (status == 0)
        status = pull_add_targets(host, pull);
    if (status == 0) {
        pull_go_on(host, call);
    } else {
        pull->next = pull->targets_count; /* nothing has been added */
        pull_end(host, pull, status);
    }
}

static void on_held(int fd, short what, void *context)
{
    struct pull *pull = context;

    (void)fd;
    (void)what;
    pull->request.call.run = pull_run;
    host_thread_post(&pull->request.call);
}

host_timer_function *host_pull_holds(const void *context, void **ret_context)
{
    if (returning == NULL || returning->context != context)
        return NULL;
    *ret_context = returning;
    returning = NULL;
    return on_held;
}

static void stop_run(struct host *host, struct host_call *call)
{
    struct stop *stop = (struct stop *)call;

    call_take_back(host, &stop->connection);
    free(stop);
}

static pmix_status_t take_back(void)
{
    struct stop *stop = memory_allocate_zeroed(sizeof(*stop));

    stop->connection = connection_now();
    stop->call.run = stop_run;
    host_thread_post(&stop->call);
    return PMIX_OPERATION_SUCCEEDED;
}

/* libpmix makes the upcall without processes when a request is taken back, and adds the directive to the caller's,
 * which may have it, too, with another value. */
static int is_stop(size_t procs_count, const pmix_info_t *directives, size_t count)
{
    int stops = 0;

    for (size_t i = 0; i < count && procs_count == 0; i++)
        stops |= PMIX_CHECK_KEY(&directives[i], PMIX_IOF_STOP) && PMIX_INFO_TRUE(&directives[i]);
    return stops;
}

pmix_status_t host_pull_upcall(const pmix_proc_t procs[], size_t procs_count,
                               const pmix_info_t directives[], size_t directives_count,
                               pmix_iof_channel_t channels, pmix_op_cbfunc_t callback,
                               void *context)
{
    struct pull *pull;

    if (is_stop(procs_count, directives, directives_count))
        return take_back();
    if (!host_timer_is_called() || returning != NULL) /* no answer can be intercepted, or was */
        return PMIX_ERR_NOT_SUPPORTED;
    pull = memory_allocate_zeroed(sizeof(*pull));
    pull->request.kind = PMI_REQUEST_PULL;
    pull->request.answer = pull_answered;
    pull->connection = connection_now();
    pull->channels = (uint8_t)(((channels & PMIX_FWD_STDOUT_CHANNEL) ? PMI_PULL_STDOUT : 0) |
                               ((channels & PMIX_FWD_STDERR_CHANNEL) ? PMI_PULL_STDERR : 0));
    pull->targets = memory_allocate_zeroed((procs_count + 1) * sizeof(*pull->targets));
    pull->targets_count = procs_count;
    for (size_t i = 0; i < procs_count; i++)
        host_process_from_pmix(&procs[i], &pull->targets[i]);
    if (host_refuses(directives, directives_count, known) || pull->channels == 0)
        pull->status = -ENOTSUP;
    else if (procs_count == 0)
        pull->status = -EINVAL;
    pull->callback = callback;
    pull->context = context;
    returning = pull;
    return PMIX_OPERATION_SUCCEEDED;
}

/* ---- Output ---- */

static uint8_t channel_of(const struct chunk *chunk)
{
    assert(chunk->stream == 1 || chunk->stream == 2);
    return chunk->stream == 1 ? PMI_PULL_STDOUT : PMI_PULL_STDERR;
}

static int caller_wants(const struct caller *caller, const struct chunk *chunk)
{
    for (size_t i = 0; i < caller->targets_count; i++) {
        const struct target *target = &caller->targets[i];

        if (target->job != chunk->process.job)
            continue;
        if (chunk->stream == 0 ||
            ((target->channels & channel_of(chunk)) != 0 &&
             (target->rank == PMI_RANK_ALL || target->rank == chunk->process.rank)))
            return 1;
    }
    return 0;
}

/* Who wants it; *ret_full: one of them, if its connection is full, or NULL. */
static int chunk_callers(const struct chunk *chunk, const struct caller **ret_full)
{
    struct list_link *node, *spare;
    int count = 0;

    *ret_full = NULL;
    list_for_each(&pulls.callers, node, spare)
    {
        const struct caller *caller = list_entry(node, struct caller, node);

        if (!caller_wants(caller, chunk))
            continue;
        count++;
        if (connection_is_full(&caller->connection))
            *ret_full = caller;
    }
    return count;
}

static void job_ended(struct source *source)
{
    struct list_link *node, *spare;

    list_for_each(&pulls.callers, node, spare)
        caller_drop_targets(list_entry(node, struct caller, node), 0, source->job);
    source_remove(source);
}

/* The daemon may send more. */
static void chunk_taken(struct host *host, struct chunk *chunk)
{
    struct source *source = source_find(chunk->process.job);

    if (source != NULL)
        source->taken_bytes += (uint32_t)chunk->object.size;
    if (source != NULL && source->taken_bytes >= TAKEN_BYTES) {
        struct pmi_pull taken = {
            .kind = PMI_PULL_TAKEN, .job = source->job, .bytes = source->taken_bytes};

        source->taken_bytes = 0;
        tell_daemon(host, &taken);
    }
    chunk_free(chunk);
}

static void chunk_run(struct host *host, struct host_call *call)
{
    struct chunk *chunk = (struct chunk *)call;

    assert(pulls.given_bytes >= chunk->object.size);
    pulls.given_bytes -= chunk->object.size;
    chunk_taken(host, chunk);
}

static void on_delivered(pmix_status_t status, void *context)
{
    struct chunk *chunk = context;

    (void)status;
    chunk->call.run = chunk_run;
    host_thread_post(&chunk->call);
}

static void chunk_deliver(struct chunk *chunk)
{
    pmix_iof_channel_t channels =
        chunk->stream == 1 ? PMIX_FWD_STDOUT_CHANNEL : PMIX_FWD_STDERR_CHANNEL;

    if (chunk->stream == 0)
        channels = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
    pulls.given_bytes += chunk->object.size;
    if (PMIx_server_IOF_deliver(&chunk->proc, channels, &chunk->object, &chunk->complete,
                                chunk->stream == 0, on_delivered, chunk) != PMIX_SUCCESS)
        on_delivered(PMIX_ERROR, chunk);
}

/* As far as its callers' connections have room. */
static void source_run(struct host *host, struct source *source)
{
    struct list_link *node;
    int is_last = 0;

    while (!is_last && pulls.given_bytes < GIVEN_BYTES &&
           (node = list_first(&source->chunks)) != NULL) {
        struct chunk *chunk = list_entry(node, struct chunk, node);
        const struct caller *full;
        int count = chunk_callers(chunk, &full);

        assert(chunk->process.job == source->job && (full == NULL || count > 0));
        if (full != NULL) {
            host_entry_watch_output(full->connection.fd);
            return;
        }
        list_remove(node);
        is_last = chunk->stream == 0;
        if (count > 0)
            chunk_deliver(chunk);
        else
            chunk_taken(host, chunk);
    }
    if (is_last)
        job_ended(source);
}

static int any_waits(void)
{
    struct list_link *node, *spare;

    list_for_each(&pulls.sources, node, spare)
    {
        if (!list_is_empty(&list_entry(node, struct source, node)->chunks))
            return 1;
    }
    return 0;
}

void host_pull_run(struct host *host)
{
    struct list_link *node, *spare, *first;

    if (pulls.given_bytes >= GIVEN_BYTES || !any_waits())
        return;
    callers_forget_closed(host);
    list_for_each(&pulls.sources, node, spare)
        source_run(host, list_entry(node, struct source, node));
    /* So that none is always the last to be given room. */
    first = list_first(&pulls.sources);
    if (first != NULL && pulls.given_bytes >= GIVEN_BYTES) {
        list_remove(first);
        list_append(&pulls.sources, first);
    }
}

void host_pull_output(struct host *host, const struct pmi_process *process, int stream,
                      const void *data, size_t data_bytes)
{
    struct source *source = source_find(process->job);
    struct host_process named = {.rank = process->rank};
    struct chunk *chunk;

    assert(stream >= 0 && stream <= 2);
    if (source == NULL) /* the last to ask for it has just gone */
        return;
    memcpy(named.namespace, source->namespace, sizeof(named.namespace));
    chunk = memory_allocate_zeroed(sizeof(*chunk) + data_bytes);
    chunk->process = *process;
    chunk->stream = stream;
    host_process_to_pmix(&named, &chunk->proc);
    PMIX_INFO_LOAD(&chunk->complete, PMIX_IOF_COMPLETE, NULL, PMIX_BOOL);
    if (data_bytes > 0)
        memcpy(chunk->bytes, data, data_bytes);
    chunk->object = (pmix_byte_object_t){.bytes = chunk->bytes, .size = data_bytes};
    list_append(&source->chunks, &chunk->node);
    host_pull_run(host);
}
