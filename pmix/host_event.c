/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_event.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/host_debug.h"
#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/pmi_notice.h"

#include <pmix.h>

/* ---- From a client ---- */

/* Events that are not at the root yet.  Clients do not wait for that, so more are refused, though a client of libpmix
 * 4.2.2 is not informed. */
#define EVENTS_OPEN_MAX 65536u

static atomic_uint open_events;

/* libpmix's own mark of what a client has raised. */
#define UPCALL_FOLLOWS "pmix.srvr.internal.notify"

struct host_event {
    struct host_request request;
    struct pmi_notice notice; /* without processes: they have jobs on the main thread only */
    struct host_process source;
    struct host_process *targets;
    size_t targets_count;
    pmix_data_range_t range;
    struct buffer info;
};

static void event_free(struct host_event *event)
{
    buffer_fini(&event->request.data);
    buffer_fini(&event->info);
    free(event->targets);
    free(event);
}

static void event_answer(struct host *host, struct host_request *request, int status,
                         const void *data, size_t data_bytes)
{
    atomic_fetch_sub(&open_events, 1);
    event_free((struct host_event *)request);
}

/* An address means nothing elsewhere, nor does the mark that libpmix has added for itself; who is meant travels
 * apart. */
static int info_travels(const pmix_info_t *info)
{
    return info->value.type != PMIX_POINTER && !PMIX_CHECK_KEY(info, PMIX_EVENT_CUSTOM_RANGE) &&
           !PMIX_CHECK_KEY(info, UPCALL_FOLLOWS);
}

static pmix_status_t info_pack(pmix_info_t *info, size_t info_count, struct buffer *out)
{
    pmix_data_buffer_t packed;
    pmix_status_t status = PMIX_SUCCESS;

    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    for (size_t i = 0; i < info_count && status == PMIX_SUCCESS; i++) {
        if (info_travels(&info[i]))
            status = PMIx_Data_pack(NULL, &packed, &info[i], 1, PMIX_INFO);
    }
    if (status == PMIX_SUCCESS && packed.bytes_used > 0)
        buffer_append(out, packed.base_ptr, packed.bytes_used);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    if (status == PMIX_SUCCESS && out->length_bytes > PMI_NOTICE_BYTES_MAX)
        status = PMIX_ERR_OUT_OF_RESOURCE;
    return status;
}

/* PMIX_EVENT_CUSTOM_RANGE: one process, or an array of them. */
static pmix_status_t targets_take(struct host_event *event, const pmix_value_t *value)
{
    const pmix_data_array_t *array = value->data.darray;
    const pmix_proc_t *procs;
    size_t count = 1;

    if (value->type == PMIX_PROC) {
        procs = value->data.proc;
    } else if (value->type == PMIX_DATA_ARRAY && array != NULL && array->type == PMIX_PROC) {
        procs = array->array;
        count = array->size;
    } else {
        return PMIX_ERR_BAD_PARAM;
    }
    if (procs == NULL || count > PMI_NOTICE_PROCESSES_MAX)
        return PMIX_ERR_BAD_PARAM;
    free(event->targets);
    event->targets = memory_allocate(count * sizeof(*event->targets));
    event->targets_count = count;
    for (size_t i = 0; i < count; i++)
        host_process_from_pmix(&procs[i], &event->targets[i]);
    return PMIX_SUCCESS;
}

static pmix_status_t targets_find(struct host_event *event, const pmix_info_t *info,
                                  size_t info_count)
{
    pmix_status_t status = event->range == PMIX_RANGE_CUSTOM ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;

    for (size_t i = 0; i < info_count && event->range == PMIX_RANGE_CUSTOM; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_CUSTOM_RANGE))
            status = targets_take(event, &info[i].value);
    }
    return status;
}

/* The namespace of the source, those of a list, or everyone. */
static void event_run(struct host *host, struct host_call *call)
{
    struct host_event *event = (struct host_event *)call;
    struct pmi_notice *notice = &event->notice;
    struct pmi_process *targets = NULL, namespace;

    notice->source = host_job_pmi(host, &event->source);
    namespace = (struct pmi_process){.job = notice->source.job, .rank = PMI_RANK_ALL};
    if (event->range == PMIX_RANGE_CUSTOM) {
        notice->targets = targets = host_job_pmi_all(host, event->targets, event->targets_count);
        notice->targets_count = event->targets_count;
    } else if (event->range == PMIX_RANGE_NAMESPACE) {
        notice->targets = &namespace;
        notice->targets_count = 1;
    }
    notice->info = event->info.data;
    notice->info_bytes = event->info.length_bytes;
    pmi_notice_encode(notice, &event->request.data);
    free(targets);
    host_request_send(&event->request);
}

/* The client is answered before the event is on its way: when the callback is called later, libpmix (4.2.2) has freed
 * what it needs for that. */
pmix_status_t host_event_upcall(pmix_status_t code, const pmix_proc_t *source,
                                pmix_data_range_t range, pmix_info_t info[], size_t info_count,
                                pmix_op_cbfunc_t callback, void *context)
{
    struct host_event *event;
    pmix_status_t status;

    if (code == PMIX_READY_FOR_DEBUG && range == PMIX_RANGE_RM)
        host_debug_ready(source);
    if (range == PMIX_RANGE_PROC_LOCAL || range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_RM)
        return PMIX_OPERATION_SUCCEEDED;
    if (range == PMIX_RANGE_INVALID)
        return PMIX_ERR_BAD_PARAM;
    if (atomic_load(&open_events) >= EVENTS_OPEN_MAX)
        return PMIX_ERR_OUT_OF_RESOURCE;
    event = memory_allocate_zeroed(sizeof(*event));
    event->range = range;
    event->notice.code = code;
    host_process_from_pmix(source, &event->source);
    status = targets_find(event, info, info_count);
    if (status == PMIX_SUCCESS)
        status = info_pack(info, info_count, &event->info);
    if (status != PMIX_SUCCESS) {
        event_free(event);
        return status;
    }
    atomic_fetch_add(&open_events, 1);
    event->request.call.run = event_run;
    event->request.kind = PMI_REQUEST_NOTIFY;
    host_job_caller(host_self(), source, &event->request.caller);
    event->request.answer = event_answer;
    host_thread_post(&event->request.call);
    return PMIX_OPERATION_SUCCEEDED;
}

/* libpmix itself obeys these.  It calls us for events of the system only, the codes -230 to -330. */
static const char *const register_known[] = {PMIX_EVENT_AFFECTED_PROC, PMIX_EVENT_AFFECTED_PROCS,
                                             NULL};

pmix_status_t host_event_register(pmix_status_t *codes, size_t codes_count,
                                  const pmix_info_t info[], size_t info_count,
                                  pmix_op_cbfunc_t callback, void *context)
{
    return host_refuses(info, info_count, register_known) ? PMIX_ERR_NOT_SUPPORTED
                                                          : PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t host_event_deregister(pmix_status_t *codes, size_t codes_count,
                                    pmix_op_cbfunc_t callback, void *context)
{
    return PMIX_OPERATION_SUCCEEDED;
}

/* ---- From libpmix itself ---- */

/* What a client has raised comes by an upcall, too; libpmix marks it. */
static int is_of_client(const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], UPCALL_FOLLOWS))
            return 1;
    }
    return 0;
}

/* On libpmix's thread. */
static void on_alert(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t info_count, pmix_info_t *results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t callback, void *context)
{
    struct host *host = host_self();
    struct host_process process;
    int is_local;

    host_process_from_pmix(source, &process);
    pthread_mutex_lock(&host->mutex);
    is_local = host_job_is_local(host, &process);
    pthread_mutex_unlock(&host->mutex);
    if (is_local && !is_of_client(info, info_count))
        (void)host_event_upcall(status, source, PMIX_RANGE_NAMESPACE, info, info_count, NULL, NULL);
    if (callback != NULL)
        callback(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static void on_registered(pmix_status_t status, size_t id, void *context)
{
}

void host_event_open(void)
{
    pmix_status_t alerts[] = {PMIX_MONITOR_HEARTBEAT_ALERT, PMIX_MONITOR_FILE_ALERT};

    PMIx_Register_event_handler(alerts, sizeof(alerts) / sizeof(alerts[0]), NULL, 0, on_alert,
                                on_registered, NULL);
}

/* ---- To clients ---- */

/* Keys and values for libpmix, which copies them. */
struct info_array {
    pmix_info_t *items;
    size_t count;
};

static pmix_info_t *info_next(struct info_array *array)
{
    array->items = memory_resize(array->items, (array->count + 1) * sizeof(array->items[0]));
    PMIX_INFO_CONSTRUCT(&array->items[array->count]);
    return &array->items[array->count++];
}

static void info_array_fini(struct info_array *array)
{
    for (size_t i = 0; i < array->count; i++)
        PMIX_INFO_DESTRUCT(&array->items[i]);
    free(array->items);
}

static void name_process(const struct host *host, const struct pmi_process *process,
                         pmix_proc_t *ret_proc)
{
    struct host_process named;

    host_job_name(host, process, &named);
    host_process_to_pmix(&named, ret_proc);
}

static void add_processes(const struct host *host, const char *key,
                          const struct pmi_process *processes, size_t count,
                          struct info_array *array)
{
    pmix_info_t *info = info_next(array);
    pmix_data_array_t *list;

    PMIX_DATA_ARRAY_CREATE(list, count, PMIX_PROC);
    for (size_t i = 0; i < count; i++)
        name_process(host, &processes[i], &((pmix_proc_t *)list->array)[i]);
    PMIX_LOAD_KEY(info->key, key);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = list;
}

static void unpack_info(const struct pmi_notice *notice, struct info_array *array)
{
    pmix_data_buffer_t packed;
    pmix_info_t info;
    int32_t one = 1;

    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    packed.base_ptr = packed.unpack_ptr = (char *)(uintptr_t)notice->info;
    packed.pack_ptr = packed.base_ptr + notice->info_bytes;
    packed.bytes_used = packed.bytes_allocated = notice->info_bytes;
    for (;;) {
        PMIX_INFO_CONSTRUCT(&info);
        if (notice->info_bytes == 0 ||
            PMIx_Data_unpack(NULL, &packed, &info, &one, PMIX_INFO) != PMIX_SUCCESS || one != 1)
            break;
        *info_next(array) = info;
    }
}

/* Where processes wait, by the names of libpmix and of MPI libraries. */
static const char *breakpoint_of(const struct pmi_notice *notice)
{
    static const char *const names[PMI_STOP_COUNT] = {
        [PMI_STOP_EXEC] = "exec", [PMI_STOP_INIT] = "pmix-init", [PMI_STOP_APP] = "app"};

    return notice->code > PMI_STOP_NONE && notice->code < PMI_STOP_COUNT ? names[notice->code] : "";
}

/* The default handlers of MPI libraries abort (Open MPI), but a job that goes on shall not end by this event: so only
 * processes that have registered the code get it. */
static void add_own(const struct host *host, const struct pmi_notice *notice,
                    struct info_array *array)
{
    int status = notice->code;
    pmix_proc_t proc;

    PMIX_INFO_LOAD(info_next(array), PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    if (notice->affected_count == 1) {
        name_process(host, notice->affected, &proc);
        PMIX_INFO_LOAD(info_next(array), PMIX_EVENT_AFFECTED_PROC, &proc, PMIX_PROC);
    } else if (notice->affected_count > 1) {
        add_processes(host, PMIX_EVENT_AFFECTED_PROCS, notice->affected, notice->affected_count,
                      array);
    }
    if (notice->event == PMI_EVENT_NODE_LOST)
        PMIX_INFO_LOAD(info_next(array), PMIX_HOSTNAME, notice->text, PMIX_STRING);
    else if (notice->event == PMI_EVENT_STOPPED)
        PMIX_INFO_LOAD(info_next(array), PMIX_BREAKPOINT, breakpoint_of(notice), PMIX_STRING);
    else if (notice->event < PMI_EVENT_FABRIC_PENDING)
        PMIX_INFO_LOAD(info_next(array), PMIX_EXIT_CODE, &status, PMIX_INT);
}

/* Who is meant: processes, or the tool that has spawned a job. */
static void add_targets(const struct host *host, const struct pmi_notice *notice,
                        struct info_array *array)
{
    pmix_proc_t tool;

    if ((notice->event == PMI_EVENT_JOB_ENDED || notice->event == PMI_EVENT_STOPPED) &&
        notice->text[0] != '\0') {
        PMIX_LOAD_PROCID(&tool, notice->text, notice->targets[0].rank);
        PMIX_INFO_LOAD(info_next(array), PMIX_EVENT_CUSTOM_RANGE, &tool, PMIX_PROC);
        return;
    }
    /* libpmix takes the targets of this one for the members of the group. */
    if (notice->event == PMI_EVENT_CLIENT && notice->code == PMIX_GROUP_CONSTRUCT_COMPLETE &&
        notice->affected_count > 0)
        add_processes(host, PMIX_EVENT_CUSTOM_RANGE, notice->affected, notice->affected_count,
                      array);
    else
        add_processes(host, PMIX_EVENT_CUSTOM_RANGE, notice->targets, notice->targets_count, array);
}

static pmix_status_t code_of(const struct pmi_notice *notice)
{
    static const pmix_status_t codes[PMI_EVENT_COUNT] = {
        [PMI_EVENT_EXITED] = PMIX_ERR_EXIT_NONZERO_TERM,
        [PMI_EVENT_SIGNALLED] = PMIX_ERR_PROC_ABORTED_BY_SIG,
        [PMI_EVENT_UNSYNCED] = PMIX_ERR_PROC_TERM_WO_SYNC,
        [PMI_EVENT_ABORTED] = PMIX_ERR_PROC_KILLED_BY_CMD,
        [PMI_EVENT_NODE_LOST] = PMIX_EVENT_NODE_DOWN,
        [PMI_EVENT_JOB_ENDED] = PMIX_EVENT_JOB_END,
        [PMI_EVENT_STOPPED] = PMIX_READY_FOR_DEBUG,
        [PMI_EVENT_FABRIC_PENDING] = PMIX_FABRIC_UPDATE_PENDING,
        [PMI_EVENT_FABRIC_UPDATED] = PMIX_FABRIC_UPDATED,
    };

    return notice->event == PMI_EVENT_CLIENT ? notice->code : codes[notice->event];
}

static void on_notified(pmix_status_t status, void *context)
{
}

void host_event_deliver(struct host *host, const void *data, size_t data_bytes)
{
    struct info_array array = {.count = 0};
    struct pmi_notice notice;
    pmix_proc_t source;

    if (pmi_notice_decode(&notice, data, data_bytes) < 0)
        return;
    assert(notice.targets_count > 0);
    if (notice.event == PMI_EVENT_CLIENT)
        unpack_info(&notice, &array);
    else
        add_own(host, &notice, &array);
    add_targets(host, &notice, &array);
    name_process(host, &notice.source, &source);
    (void)PMIx_Notify_event(code_of(&notice), &source, PMIX_RANGE_CUSTOM, array.items, array.count,
                            on_notified, NULL);
    info_array_fini(&array);
    pmi_notice_fini(&notice);
}
