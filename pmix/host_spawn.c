/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_spawn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/host_status.h"
#include "pmix/pmi_spawn.h"

#include <pmix.h>

struct host_spawn {
    struct host_request request;
    pmix_spawn_cbfunc_t callback;
    void *context;
};

/* Directives that are obeyed, and those that libpmix itself adds or that say what is so anyway: output
 * goes to the user, who spawns is a client or a tool, and gets an event when the job ends. */
static const char *const known[] = {PMIX_WDIR,
                                    PMIX_HOST,
                                    PMIX_MAPBY,
                                    PMIX_RANKBY,
                                    PMIX_BINDTO,
                                    PMIX_PPR,
                                    PMIX_CPUS_PER_PROC,
                                    PMIX_CPU_LIST,
                                    PMIX_NO_OVERSUBSCRIBE,
                                    PMIX_REPORT_BINDINGS,
                                    PMIX_JOB_RECOVERABLE,
                                    PMIX_FWD_STDIN,
                                    PMIX_STDIN_TGT,
                                    PMIX_SET_ENVAR,
                                    PMIX_ADD_ENVAR,
                                    PMIX_UNSET_ENVAR,
                                    PMIX_PREPEND_ENVAR,
                                    PMIX_APPEND_ENVAR,
                                    PMIX_FIRST_ENVAR,
                                    PMIX_TIMEOUT,
                                    PMIX_SPAWN_TIMEOUT,
                                    PMIX_JOB_TIMEOUT,
                                    PMIX_DEBUG_STOP_ON_EXEC,
                                    PMIX_DEBUG_STOP_IN_INIT,
                                    PMIX_DEBUG_STOP_IN_APP,
                                    PMIX_DEBUGGER_DAEMONS,
                                    PMIX_DEBUG_TARGET,
                                    PMIX_DEBUG_DAEMONS_PER_NODE,
                                    PMIX_DEBUG_DAEMONS_PER_PROC,
                                    PMIX_PERSONALITY,
                                    PMIX_FWD_STDOUT,
                                    PMIX_FWD_STDERR,
                                    PMIX_NOTIFY_COMPLETION,
                                    PMIX_REQUESTOR_IS_CLIENT,
                                    PMIX_REQUESTOR_IS_TOOL,
                                    PMIX_PARENT_ID,
                                    PMIX_SPAWNED,
                                    NULL};

const char *const *host_spawn_directives(void)
{
    return known;
}

/* Whatever is not required of these is ignored; but who names nodes wants no others. */
static int is_refused(const pmix_info_t *info, size_t count)
{
    static const char *const never[] = {PMIX_HOSTFILE, PMIX_ADD_HOST, PMIX_ADD_HOSTFILE};

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < sizeof(never) / sizeof(never[0]); j++) {
            if (PMIX_CHECK_KEY(&info[i], never[j]))
                return 1;
        }
    }
    return host_refuses(info, count, known);
}

static const char *text_of(const pmix_info_t *info, const char *key)
{
    return PMIX_CHECK_KEY(info, key) && info->value.type == PMIX_STRING ? info->value.data.string
                                                                        : NULL;
}

static void take_text(const pmix_info_t *info, const char *key, char **field)
{
    const char *text = text_of(info, key);

    if (text != NULL)
        pmi_spawn_set(field, text);
}

static void take_rule(const pmix_info_t *info, struct pmi_spawn_rule *rule)
{
    const char *ppr = text_of(info, PMIX_PPR), *cpus = text_of(info, PMIX_CPU_LIST);

    take_text(info, PMIX_HOST, &rule->hosts);
    take_text(info, PMIX_MAPBY, &rule->map_by);
    take_text(info, PMIX_RANKBY, &rule->rank_by);
    take_text(info, PMIX_BINDTO, &rule->bind_to);
    if (ppr != NULL) {
        free(rule->map_by);
        rule->map_by = memory_printf("ppr:%s", ppr);
    }
    if (cpus != NULL) {
        free(rule->map_by);
        rule->map_by = memory_printf("pe-list=%s", cpus);
    }
    if (PMIX_CHECK_KEY(info, PMIX_CPUS_PER_PROC) && info->value.type == PMIX_UINT32)
        rule->cpus_per_process = info->value.data.uint32;
    if (PMIX_CHECK_KEY(info, PMIX_NO_OVERSUBSCRIBE))
        rule->no_oversubscribe = PMIX_INFO_TRUE(info);
}

/* ---- environment ---- */

/* VARIABLE_EDIT_KIND_COUNT: it is no directive for the environment. */
static enum variable_edit_kind edit_kind(const pmix_info_t *info)
{
    static const char *const keys[VARIABLE_EDIT_KIND_COUNT] = {
        [VARIABLE_EDIT_SET] = PMIX_SET_ENVAR,       [VARIABLE_EDIT_ADD] = PMIX_ADD_ENVAR,
        [VARIABLE_EDIT_UNSET] = PMIX_UNSET_ENVAR,   [VARIABLE_EDIT_PREPEND] = PMIX_PREPEND_ENVAR,
        [VARIABLE_EDIT_APPEND] = PMIX_APPEND_ENVAR, [VARIABLE_EDIT_FIRST] = PMIX_FIRST_ENVAR,
    };
    unsigned int kind = 0;

    while (kind < VARIABLE_EDIT_KIND_COUNT && !PMIX_CHECK_KEY(info, keys[kind]))
        kind++;
    return (enum variable_edit_kind)kind;
}

/* NULL if its value is of another type, or has none. */
static const char *edit_name(const pmix_info_t *info)
{
    if (info->value.type == PMIX_ENVAR)
        return info->value.data.envar.envar;
    return PMIX_CHECK_KEY(info, PMIX_UNSET_ENVAR) ? text_of(info, PMIX_UNSET_ENVAR) : NULL;
}

static int edits_are_valid(const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edit_kind(&info[i]) < VARIABLE_EDIT_KIND_COUNT &&
            !variable_name_is_valid(edit_name(&info[i])))
            return 0;
    }
    return 1;
}

static void take_edits(const pmix_info_t *info, size_t count, struct pmi_spawn_app *app)
{
    for (size_t i = 0; i < count; i++) {
        const pmix_envar_t *envar = &info[i].value.data.envar;
        enum variable_edit_kind kind = edit_kind(&info[i]);

        assert(kind == VARIABLE_EDIT_KIND_COUNT || edit_name(&info[i]) != NULL);
        if (kind == VARIABLE_EDIT_UNSET)
            pmi_spawn_edit(app, kind, edit_name(&info[i]), "", '\0');
        else if (kind < VARIABLE_EDIT_KIND_COUNT)
            pmi_spawn_edit(app, kind, envar->envar, envar->value != NULL ? envar->value : "",
                           envar->separator);
    }
}

/* ---- the request ---- */

/* The directives of the job are those of each application, before its own. */
static void add_app(struct pmi_spawn *spawn, const pmix_app_t *app, const pmix_info_t *job_info,
                    size_t job_info_count)
{
    struct pmi_spawn_app *added = pmi_spawn_add_app(
        spawn, app->cmd, app->argv, app->env, app->maxprocs > 0 ? (uint32_t)app->maxprocs : 1);

    assert(added->edits.count == 0 || app->env != NULL);
    take_edits(job_info, job_info_count, added);
    take_edits(app->info, app->ninfo, added);
    if (app->cwd != NULL)
        pmi_spawn_set(&added->directory, app->cwd);
    for (size_t i = 0; i < job_info_count; i++)
        take_text(&job_info[i], PMIX_WDIR, &added->directory);
    for (size_t i = 0; i < app->ninfo; i++) {
        take_text(&app->info[i], PMIX_WDIR, &added->directory);
        take_rule(&app->info[i], &added->rule);
    }
}

/* Two names for the time limit of the call: the shorter one. */
static void take_limits(struct pmi_spawn *spawn, const pmix_info_t *info, size_t count)
{
    uint32_t start_s = host_seconds(info, count, PMIX_SPAWN_TIMEOUT);

    spawn->start_timeout_s = host_timeout_s(info, count);
    if (start_s > 0 && (spawn->start_timeout_s == 0 || start_s < spawn->start_timeout_s))
        spawn->start_timeout_s = start_s;
    spawn->run_timeout_s = host_seconds(info, count, PMIX_JOB_TIMEOUT);
}

/* A rank or a process, as PMIx 4.1 has it or libpmix 4.2.2, or a text, as prun does.  PMIX_RANK_UNDEF: nobody, and
 * for what is no rank PMIX_RANK_WILDCARD, which cannot be served either. */
static pmix_rank_t rank_of(const pmix_value_t *value)
{
    const char *text = value->type == PMIX_STRING ? value->data.string : NULL;
    unsigned long rank;
    char *end;

    if (value->type == PMIX_PROC && value->data.proc != NULL)
        return value->data.proc->rank;
    if (value->type == PMIX_PROC_RANK)
        return value->data.rank;
    if (value->type == PMIX_UINT32)
        return value->data.uint32;
    if (text == NULL || text[0] < '0' || text[0] > '9')
        return text != NULL && strcmp(text, "none") == 0 ? PMIX_RANK_UNDEF : PMIX_RANK_WILDCARD;
    rank = strtoul(text, &end, 10);
    return *end == '\0' && rank < PMIX_RANK_VALID ? (pmix_rank_t)rank : PMIX_RANK_WILDCARD;
}

/* Who gets input: a rank, or the first, or none; -ENOTSUP: it is required that all do, or what is no rank. */
static int take_input(struct pmi_spawn *spawn, const pmix_info_t *info)
{
    pmix_rank_t rank;

    if (!PMIX_CHECK_KEY(info, PMIX_FWD_STDIN) && !PMIX_CHECK_KEY(info, PMIX_STDIN_TGT))
        return 0;
    if (info->value.type == PMIX_BOOL || info->value.type == PMIX_UNDEF) {
        if (PMIX_INFO_TRUE(info) && spawn->stdin_rank == PMI_RANK_ALL)
            spawn->stdin_rank = 0;
        return 0;
    }
    rank = rank_of(&info->value);
    spawn->stdin_rank = rank < PMIX_RANK_VALID ? rank : PMI_RANK_ALL;
    return rank < PMIX_RANK_VALID || rank == PMIX_RANK_UNDEF || rank == PMIX_RANK_INVALID ||
                   !PMIX_INFO_IS_REQUIRED(info)
               ? 0
               : -ENOTSUP;
}

/* What holds for all of the job, which an application may say, too. */
static int take_policies(struct pmi_spawn *spawn, const pmix_info_t *info, size_t count)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_RECOVERABLE))
            spawn->is_recoverable = PMIX_INFO_TRUE(&info[i]);
        if (PMIX_CHECK_KEY(&info[i], PMIX_REPORT_BINDINGS))
            spawn->report_bindings = PMIX_INFO_TRUE(&info[i]);
        rc = take_input(spawn, &info[i]);
    }
    return rc;
}

/* ---- for a debugger ---- */

/* All processes: true, or the rank that means so. */
static int is_for_all(const pmix_value_t *value)
{
    return value->type == PMIX_PROC_RANK ? value->data.rank == PMIX_RANK_WILDCARD
                                         : value->type == PMIX_BOOL || value->type == PMIX_UNDEF;
}

/* 1 if it is one that does not stop anything: false. */
static int is_false(const pmix_info_t *info)
{
    return info->value.type == PMIX_BOOL && !info->value.data.flag;
}

/* Where the processes stop: -ENOTSUP if these directives want several places, or not all processes. */
static int take_stop(enum pmi_stop *stop, const pmix_info_t *info, size_t count)
{
    static const char *const keys[PMI_STOP_COUNT] = {
        [PMI_STOP_EXEC] = PMIX_DEBUG_STOP_ON_EXEC,
        [PMI_STOP_INIT] = PMIX_DEBUG_STOP_IN_INIT,
        [PMI_STOP_APP] = PMIX_DEBUG_STOP_IN_APP,
    };

    for (size_t i = 0; i < count; i++) {
        for (unsigned int k = PMI_STOP_NONE + 1; k < PMI_STOP_COUNT; k++) {
            if (!PMIX_CHECK_KEY(&info[i], keys[k]) || is_false(&info[i]))
                continue;
            if (!is_for_all(&info[i].value) || (*stop != PMI_STOP_NONE && *stop != k))
                return -ENOTSUP;
            *stop = (enum pmi_stop)k;
        }
    }
    return 0;
}

/* Of a job, as of every application of it. */
static int take_stops(struct pmi_spawn *spawn, const pmix_info_t *job_info, size_t job_info_count,
                      const pmix_app_t *apps, size_t apps_count)
{
    int rc = take_stop(&spawn->stop, job_info, job_info_count);

    for (size_t i = 0; i < apps_count && rc == 0; i++) {
        enum pmi_stop stop = spawn->stop;

        rc = take_stop(&stop, apps[i].info, apps[i].ninfo);
        if (rc == 0 && stop != spawn->stop && (i > 0 || apps_count > 1))
            rc = -ENOTSUP;
        if (rc == 0)
            spawn->stop = stop;
    }
    return rc;
}

/* Debugger daemons, which the directives of the job say, or those of an application. */
static void take_target(struct pmi_spawn_target *target, const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const pmix_value_t *value = &info[i].value;

        if (PMIX_CHECK_KEY(&info[i], PMIX_DEBUG_TARGET) && value->type == PMIX_PROC) {
            pmi_spawn_set(&target->namespace, value->data.proc->nspace);
            target->rank = value->data.proc->rank == PMIX_RANK_WILDCARD ? PMI_RANK_ALL
                                                                        : value->data.proc->rank;
        }
        if (value->type != PMIX_UINT16)
            continue;
        if (PMIX_CHECK_KEY(&info[i], PMIX_DEBUG_DAEMONS_PER_NODE))
            target->per_node = value->data.uint16;
        else if (PMIX_CHECK_KEY(&info[i], PMIX_DEBUG_DAEMONS_PER_PROC))
            target->per_process = value->data.uint16;
    }
}

static int take_debugger(struct pmi_spawn *spawn, const pmix_info_t *job_info,
                         size_t job_info_count, const pmix_app_t *apps, size_t apps_count)
{
    take_target(&spawn->target, job_info, job_info_count);
    for (size_t i = 0; i < apps_count; i++)
        take_target(&spawn->target, apps[i].info, apps[i].ninfo);
    if (!pmi_spawn_is_beside(spawn) &&
        (spawn->target.per_node > 0 || spawn->target.per_process > 0))
        return -EINVAL;
    for (size_t i = 0; i < apps_count; i++) {
        if (apps[i].maxprocs < 1 && !pmi_spawn_is_beside(spawn))
            return -EINVAL;
    }
    return take_stops(spawn, job_info, job_info_count, apps, apps_count);
}

/* ---- the answer ---- */

static pmix_status_t status_of(const struct pmi_spawn_answer *answer)
{
    static const pmix_status_t statuses[PMI_SPAWN_FAILURE_COUNT] = {
        [PMI_SPAWN_FAILURE_NONE] = PMIX_SUCCESS,
        [PMI_SPAWN_FAILURE_REFUSED] = PMIX_ERR_BAD_PARAM,
        [PMI_SPAWN_FAILURE_MAP] = PMIX_ERR_JOB_FAILED_TO_MAP,
        [PMI_SPAWN_FAILURE_EXECUTABLE] = PMIX_ERR_JOB_EXE_NOT_FOUND,
        [PMI_SPAWN_FAILURE_DIRECTORY] = PMIX_ERR_JOB_WDIR_NOT_FOUND,
        [PMI_SPAWN_FAILURE_START] = PMIX_ERR_JOB_FAILED_TO_LAUNCH,
        [PMI_SPAWN_FAILURE_ENDED] = PMIX_ERR_JOB_CANCELED,
        [PMI_SPAWN_FAILURE_TIME] = PMIX_ERR_TIMEOUT,
    };

    assert(answer->failure < PMI_SPAWN_FAILURE_COUNT);
    return statuses[answer->failure];
}

static void spawn_answer(struct host *host, struct host_request *request, int status,
                         const void *data, size_t data_bytes)
{
    struct host_spawn *spawn = (struct host_spawn *)request;
    struct pmi_spawn_answer answer = {.job = 0};
    pmix_nspace_t namespace;

    if (status == 0)
        status = pmi_spawn_answer_decode(&answer, data, data_bytes);
    PMIX_LOAD_NSPACE(namespace, answer.namespace);
    spawn->callback(status < 0 ? host_status_from_errno(status) : status_of(&answer), namespace,
                    spawn->context);
    free(spawn);
}

static int are_valid(const pmix_app_t *apps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (apps[i].cmd == NULL || apps[i].cmd[0] == '\0' ||
            !edits_are_valid(apps[i].info, apps[i].ninfo))
            return 0;
    }
    return count > 0 && count <= PMI_SPAWN_APPS_MAX;
}

/* Time limits are those of the job. */
static int has_required_limit(const pmix_info_t *info, size_t count)
{
    static const char *const limits[] = {PMIX_TIMEOUT, PMIX_SPAWN_TIMEOUT, PMIX_JOB_TIMEOUT};

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < sizeof(limits) / sizeof(limits[0]); j++) {
            if (PMIX_CHECK_KEY(&info[i], limits[j]) && PMIX_INFO_IS_REQUIRED(&info[i]))
                return 1;
        }
    }
    return 0;
}

static int one_is_refused(const pmix_info_t *job_info, size_t job_info_count,
                          const pmix_app_t *apps, size_t apps_count)
{
    int refused = is_refused(job_info, job_info_count);

    for (size_t i = 0; i < apps_count; i++) {
        refused |= is_refused(apps[i].info, apps[i].ninfo);
        refused |= has_required_limit(apps[i].info, apps[i].ninfo);
    }
    return refused;
}

pmix_status_t host_spawn_upcall(const pmix_proc_t *proc, const pmix_info_t job_info[],
                                size_t job_info_count, const pmix_app_t apps[], size_t apps_count,
                                pmix_spawn_cbfunc_t callback, void *context)
{
    struct host_spawn *waiting;
    struct pmi_spawn spawn;
    int rc;

    if (!are_valid(apps, apps_count) || !edits_are_valid(job_info, job_info_count))
        return PMIX_ERR_BAD_PARAM;
    if (one_is_refused(job_info, job_info_count, apps, apps_count))
        return PMIX_ERR_NOT_SUPPORTED;
    pmi_spawn_init(&spawn);
    for (size_t i = 0; i < apps_count; i++)
        add_app(&spawn, &apps[i], job_info, job_info_count);
    for (size_t i = 0; i < job_info_count; i++)
        take_rule(&job_info[i], &spawn.rule);
    take_limits(&spawn, job_info, job_info_count);
    rc = take_policies(&spawn, job_info, job_info_count);
    for (size_t i = 0; i < apps_count && rc == 0; i++)
        rc = take_policies(&spawn, apps[i].info, apps[i].ninfo);
    if (rc == 0)
        rc = take_debugger(&spawn, job_info, job_info_count, apps, apps_count);
    if (rc < 0) {
        pmi_spawn_fini(&spawn);
        return host_status_from_errno(rc);
    }
    waiting = memory_allocate_zeroed(sizeof(*waiting));
    waiting->callback = callback;
    waiting->context = context;
    waiting->request.kind = PMI_REQUEST_SPAWN;
    waiting->request.answer = spawn_answer;
    host_job_caller(host_self(), proc, &waiting->request.caller);
    if (waiting->request.caller.rank == PMI_RANK_ALL) {
        pmi_spawn_set(&spawn.tool, proc->nspace);
        spawn.tool_rank = proc->rank;
    }
    pmi_spawn_encode(&spawn, &waiting->request.data);
    pmi_spawn_fini(&spawn);
    host_request_send(&waiting->request);
    return PMIX_SUCCESS;
}
