/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "pmix/host_entry.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"
#include "pmix/host_status.h"
#include "pmix/host_thread.h"

#include <pmix.h>

/* connected, finalized and text. */
struct host_notice {
    struct host_call call;
    struct host_process process;
    struct buffer text;
    pmix_op_cbfunc_t callback; /* or NULL */
    void *context;
};

struct host_abort {
    struct host_call call;
    uint64_t id;
    struct host_process caller;
    int status;
    char *message;
    struct host_process *targets;
    size_t targets_count;
    pmix_op_cbfunc_t callback;
    void *context;
};

static struct host_notice *notice_create(void (*run)(struct host *, struct host_call *),
                                         const pmix_proc_t *proc, pmix_op_cbfunc_t callback,
                                         void *context)
{
    struct host_notice *notice = memory_allocate_zeroed(sizeof(*notice));

    notice->call.run = run;
    host_process_from_pmix(proc, &notice->process);
    notice->callback = callback;
    notice->context = context;
    return notice;
}

static void notice_free(struct host_notice *notice)
{
    buffer_fini(&notice->text);
    free(notice);
}

static void connected_run(struct host *host, struct host_call *call)
{
    struct host_notice *notice = (struct host_notice *)call;

    struct pmi_process process;

    process = host_job_pmi(host, &notice->process);
    host->ops.connected(host->ops.context, &process);
    notice_free(notice);
}

pmix_status_t host_client_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                    size_t info_count, pmix_op_cbfunc_t callback, void *context)
{
    struct host_notice *notice = notice_create(connected_run, proc, NULL, NULL);

    host_entry_connected(&notice->process);
    host_thread_post(&notice->call);
    return PMIX_OPERATION_SUCCEEDED;
}

static void finalized_run(struct host *host, struct host_call *call)
{
    struct host_notice *notice = (struct host_notice *)call;

    struct pmi_process process;

    process = host_job_pmi(host, &notice->process);
    host->ops.finalized(host->ops.context, &process);
    if (notice->callback != NULL)
        notice->callback(PMIX_SUCCESS, notice->context);
    notice_free(notice);
}

pmix_status_t host_client_finalized(const pmix_proc_t *proc, void *object,
                                    pmix_op_cbfunc_t callback, void *context)
{
    host_thread_post(&notice_create(finalized_run, proc, callback, context)->call);
    return PMIX_SUCCESS;
}

static void abort_free(struct host_abort *abort)
{
    free(abort->message);
    free(abort->targets);
    free(abort);
}

static void abort_run(struct host *host, struct host_call *call)
{
    struct host_abort *abort = (struct host_abort *)call;
    struct pmi_process caller, *targets;

    assert(abort->id == 0);
    abort->id = host_next_id(host);
    hash_map_put_u64(host->aborts, abort->id, abort);
    caller = host_job_pmi(host, &abort->caller);
    targets = host_job_pmi_all(host, abort->targets, abort->targets_count);
    /* The answer may come at once: abort is not touched after this. */
    host->ops.abort(host->ops.context, abort->id, &caller, abort->status, abort->message, targets,
                    abort->targets_count);
    free(targets);
}

pmix_status_t host_client_abort(const pmix_proc_t *proc, void *object, int status,
                                const char message[], pmix_proc_t procs[], size_t procs_count,
                                pmix_op_cbfunc_t callback, void *context)
{
    struct host_abort *abort = memory_allocate_zeroed(sizeof(*abort));

    abort->call.run = abort_run;
    host_process_from_pmix(proc, &abort->caller);
    abort->status = status;
    abort->message = memory_copy_string(message == NULL ? "" : message);
    abort->targets_count = procs == NULL ? 0 : procs_count;
    abort->targets = memory_allocate(abort->targets_count * sizeof(*abort->targets));
    for (size_t i = 0; i < abort->targets_count; i++)
        host_process_from_pmix(&procs[i], &abort->targets[i]);
    abort->callback = callback;
    abort->context = context;
    host_thread_post(&abort->call);
    return PMIX_SUCCESS;
}

static void abort_answer(struct host *host, struct host_abort *abort, int status)
{
    assert(status <= 0 && hash_map_get_u64(host->aborts, abort->id) == abort);
    hash_map_remove_u64(host->aborts, abort->id);
    if (abort->callback != NULL)
        abort->callback(host_status_from_errno(status), abort->context);
    abort_free(abort);
}

void host_client_abort_done(struct host *host, uint64_t id, int status)
{
    struct host_abort *abort = hash_map_get_u64(host->aborts, id);

    if (abort != NULL)
        abort_answer(host, abort, status);
}

void host_client_fail(struct host *host, const char *namespace, int status)
{
    struct host_abort *abort;
    size_t cursor = 0;

    while ((abort = hash_map_next(host->aborts, &cursor)) != NULL) {
        if (strcmp(abort->caller.namespace, namespace) == 0)
            abort_answer(host, abort, status);
    }
}

/* libpmix holds a lock during the log upcall, and takes it again in the callback: so the callback
 * is called from the daemon's thread only, never from the upcall. */
static void log_run(struct host *host, struct host_call *call)
{
    struct host_notice *notice = (struct host_notice *)call;
    const struct buffer *text = &notice->text;
    struct pmi_process process;

    if (text->length_bytes > 0) {
        process = host_job_pmi(host, &notice->process);
        host->ops.text(host->ops.context, &process, (const char *)text->data, text->length_bytes);
    }
    if (notice->callback != NULL)
        notice->callback(text->length_bytes > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED,
                         notice->context);
    notice_free(notice);
}

/* The channels and directives that may be required.  Text for any other channel goes to the user's standard error,
 * too; libpmix itself adds the source. */
static const char *const log_channels[] = {PMIX_LOG_STDERR, PMIX_LOG_MSG, NULL};
static const char *const log_directives[] = {PMIX_LOG_ONCE, PMIX_LOG_SOURCE, NULL};

static int log_is_once(const pmix_info_t *directives, size_t count)
{
    int is_once = 0;

    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&directives[i], PMIX_LOG_ONCE))
            is_once = PMIX_INFO_TRUE(&directives[i]);
    }
    return is_once;
}

/* PMIX_LOG_ONCE: the first channel that has a text is enough. */
static void log_take(const pmix_info_t *data, size_t count, int is_once, struct buffer *text)
{
    for (size_t i = 0; i < count && !(is_once && text->length_bytes > 0); i++) {
        const pmix_value_t *value = &data[i].value;

        if (value->type == PMIX_STRING && value->data.string != NULL)
            buffer_append_string(text, value->data.string);
        else if (PMIX_CHECK_KEY(&data[i], PMIX_LOG_MSG) && value->type == PMIX_BYTE_OBJECT)
            buffer_append(text, value->data.bo.bytes, value->data.bo.size);
    }
}

void host_client_log(const pmix_proc_t *client, const pmix_info_t data[], size_t data_count,
                     const pmix_info_t directives[], size_t directives_count,
                     pmix_op_cbfunc_t callback, void *context)
{
    struct host_notice *notice = notice_create(log_run, client, callback, context);

    if (!host_refuses(data, data_count, log_channels) &&
        !host_refuses(directives, directives_count, log_directives))
        log_take(data, data_count, log_is_once(directives, directives_count), &notice->text);
    host_thread_post(&notice->call);
}

/* ---- Lines for the user ---- */

#define SAID_COUNT 8

struct saying {
    struct host_call call;
    pmix_proc_t proc;
    char *text;
};

/* The last ones; of the main thread. */
static struct {
    uint32_t job;
    uint64_t hash;
} said[SAID_COUNT];
static size_t said_next;

static int is_said(uint32_t job, uint64_t hash)
{
    for (size_t i = 0; i < SAID_COUNT; i++) {
        if (said[i].job == job && said[i].hash == hash)
            return 1;
    }
    return 0;
}

static void say_run(struct host *host, struct host_call *call)
{
    struct saying *saying = (struct saying *)call;
    uint64_t hash = hash_string(saying->text);
    struct host_process caller;
    struct pmi_process process;

    host_job_caller(host, &saying->proc, &caller);
    process = host_job_pmi(host, &caller);
    if (process.job != PMI_JOB_NONE && !is_said(process.job, hash)) {
        said[said_next].job = process.job;
        said[said_next].hash = hash;
        said_next = (said_next + 1) % SAID_COUNT;
        host->ops.text(host->ops.context, &process, saying->text, strlen(saying->text));
    }
    free(saying->text);
    free(saying);
}

void host_client_say(const pmix_proc_t *proc, char *text)
{
    struct saying *saying = memory_allocate_zeroed(sizeof(*saying));

    assert(text != NULL && *text != '\0');
    saying->call.run = say_run;
    saying->proc = *proc;
    saying->text = text;
    host_thread_post(&saying->call);
}
