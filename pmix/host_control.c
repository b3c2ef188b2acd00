/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_control.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/host_status.h"
#include "pmix/host_thread.h"
#include "pmix/pmi_control.h"

#include <pmix.h>

struct host_control {
    struct host_request request;
    pmix_info_cbfunc_t callback;
    void *context;
};

/* What is done.  A directive that is false does not count. */
static const struct {
    const char *key;
    enum pmi_control_kind kind;
    int signal; /* -1: the directive's value; 0: none */
} actions[] = {
    {PMIX_JOB_CTRL_SIGNAL, PMI_CONTROL_SIGNAL, -1},
    {PMIX_JOB_CTRL_PAUSE, PMI_CONTROL_SIGNAL, SIGSTOP},
    {PMIX_JOB_CTRL_RESUME, PMI_CONTROL_SIGNAL, SIGCONT},
    {PMIX_JOB_CTRL_TERMINATE, PMI_CONTROL_TERMINATE, 0},
    {PMIX_JOB_CTRL_KILL, PMI_CONTROL_KILL, 0},
};

/* These may be required: what they ask for is done, or follows. */
static const char *const known[] = {
    PMIX_JOB_CTRL_SIGNAL,    PMIX_JOB_CTRL_PAUSE,       PMIX_JOB_CTRL_RESUME,
    PMIX_JOB_CTRL_TERMINATE, PMIX_JOB_CTRL_KILL,        PMIX_JOB_CTRL_ID,
    PMIX_REGISTER_CLEANUP,   PMIX_REGISTER_CLEANUP_DIR, PMIX_CLEANUP_RECURSIVE,
    PMIX_CLEANUP_IGNORE,     PMIX_CLEANUP_LEAVE_TOPDIR, NULL};

/* What processes declare of themselves.  It changes nothing: no job is preempted, and none checkpointed. */
static const char *const declarations[] = {
    PMIX_JOB_CTRL_PREEMPTIBLE,       PMIX_JOB_CTRL_CHECKPOINT_EVENT,
    PMIX_JOB_CTRL_CHECKPOINT_SIGNAL, PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT,
    PMIX_JOB_CTRL_CHECKPOINT_METHOD, NULL};

#define ACTIONS_COUNT (sizeof(actions) / sizeof(actions[0]))

static int find_action(const pmix_info_t *info)
{
    for (size_t i = 0; i < ACTIONS_COUNT; i++) {
        if (PMIX_CHECK_KEY(info, actions[i].key))
            return (int)i;
    }
    return -ENOENT;
}

static pmix_status_t read_signal(const pmix_value_t *value, uint32_t *ret_signal)
{
    pmix_status_t status;
    int number = 0;

    PMIX_VALUE_GET_NUMBER(status, value, number, int);
    if (status != PMIX_SUCCESS || number < 1 || number > (int)PMI_CONTROL_SIGNAL_MAX)
        return PMIX_ERR_BAD_PARAM;
    *ret_signal = (uint32_t)number;
    return PMIX_SUCCESS;
}

static int is_declaration(const pmix_info_t *info)
{
    for (size_t i = 0; declarations[i] != NULL; i++) {
        if (PMIX_CHECK_KEY(info, declarations[i]))
            return 1;
    }
    return 0;
}

/* 1 if there is nothing else. */
static int are_declarations(const pmix_info_t *directives, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_declaration(&directives[i]))
            return 0;
    }
    return count > 0;
}

/* One action a call: what two would mean together is not defined.  A call that only declares something has none, and
 * PMIX_OPERATION_SUCCEEDED. */
static pmix_status_t read_directives(const pmix_info_t *directives, size_t count,
                                     struct pmi_control *control)
{
    pmix_status_t status = PMIX_SUCCESS;
    int chosen = -ENOENT;

    if (host_refuses(directives, count, known))
        return PMIX_ERR_NOT_SUPPORTED;
    for (size_t i = 0; i < count && status == PMIX_SUCCESS; i++) {
        const pmix_value_t *value = &directives[i].value;
        int action = find_action(&directives[i]);

        if (action < 0 || (value->type == PMIX_BOOL && !PMIX_INFO_TRUE(&directives[i])))
            continue;
        if (chosen >= 0)
            return PMIX_ERR_BAD_PARAM;
        chosen = action;
        control->kind = actions[action].kind;
        control->signal = actions[action].signal > 0 ? (uint32_t)actions[action].signal : 0;
        if (actions[action].signal < 0)
            status = read_signal(value, &control->signal);
    }
    if (are_declarations(directives, count))
        return PMIX_OPERATION_SUCCEEDED;
    return chosen < 0 ? PMIX_ERR_NOT_SUPPORTED : status;
}

static void control_answered(struct host *host, struct host_request *request, int status,
                             const void *data, size_t data_bytes)
{
    struct host_control *control = (struct host_control *)request;

    control->callback(host_status_from_errno(status), NULL, 0, control->context, NULL, NULL);
    free(control);
}

/* libpmix 4.2.2 takes PMIX_OPERATION_SUCCEEDED from an upcall for an error. */
static void declared_run(struct host *host, struct host_call *call)
{
    control_answered(host, (struct host_request *)call, 0, NULL, 0);
}

static void add_target(struct pmi_control *control, const char *namespace, pmix_rank_t rank)
{
    struct pmi_control_target *target = &control->targets[control->targets_count++];

    snprintf(target->namespace, sizeof(target->namespace), "%s", namespace);
    target->rank = rank == PMIX_RANK_WILDCARD ? PMI_RANK_ALL : rank;
}

/* Without targets the caller's whole job is meant. */
static void read_targets(const pmix_proc_t *requestor, const pmix_proc_t *targets, size_t count,
                         struct pmi_control *control)
{
    control->targets = memory_allocate_zeroed((count + 1) * sizeof(*control->targets));
    for (size_t i = 0; i < count; i++)
        add_target(control, targets[i].nspace, targets[i].rank);
    if (count == 0)
        add_target(control, requestor->nspace, PMIX_RANK_WILDCARD);
}

pmix_status_t host_control(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                           size_t targets_count, const pmix_info_t directives[],
                           size_t directives_count, pmix_info_cbfunc_t callback, void *context)
{
    struct pmi_control request = {0};
    pmix_status_t status = read_directives(directives, directives_count, &request);
    struct host_control *control;

    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        return status;
    if (callback == NULL)
        return PMIX_ERR_BAD_PARAM;
    control = memory_allocate_zeroed(sizeof(*control));
    control->request.kind = PMI_REQUEST_CONTROL;
    control->request.answer = control_answered;
    host_job_caller(host_self(), requestor, &control->request.caller);
    control->callback = callback;
    control->context = context;
    if (status == PMIX_OPERATION_SUCCEEDED) {
        control->request.call.run = declared_run;
        host_thread_post(&control->request.call);
        return PMIX_SUCCESS;
    }
    read_targets(requestor, targets, targets == NULL ? 0 : targets_count, &request);
    pmi_control_encode(&request, &control->request.data);
    pmi_control_fini(&request);
    host_request_send(&control->request);
    return PMIX_SUCCESS;
}
