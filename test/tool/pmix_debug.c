/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that waits for a debugger, and one that spawns it:
 *
 *     pmix_debug             initializes, waits if it finds PMIX_DEBUG_STOP_IN_APP, and says "rank R of N goes on"
 *     pmix_debug STOP COUNT [FILE]
 *                            rank 0 spawns COUNT processes of this program with STOP: exec, init, app, both (exec and
 *                            init), rank (init, of one rank only), false; says what PMIX_READY_FOR_DEBUG has told, makes FILE,
 *                            lets them go on, and waits for their end
 *     pmix_debug daemons PER_NODE PER_PROCESS [NAMESPACE [RANK]]
 *                            rank 0 spawns "pmix_debug watch" beside the processes of its job, or of that one
 *     pmix_debug watch       says "daemon R of N on HOST watches COUNT of RANK", of what it is to debug
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <fcntl.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S 60

static pmix_proc_t self;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_ready, is_released, has_ended;
static char ready_text[512];

static const pmix_info_t *find(const pmix_info_t *info, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(info[i].key, key) == 0)
            return &info[i];
    }
    return NULL;
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t count, pmix_info_t *results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t callback, void *context)
{
    const pmix_info_t *point = find(info, count, PMIX_BREAKPOINT);
    const pmix_info_t *affected = find(info, count, PMIX_EVENT_AFFECTED_PROC);

    pthread_mutex_lock(&mutex);
    if (status == PMIX_READY_FOR_DEBUG) {
        is_ready++;
        snprintf(ready_text, sizeof(ready_text), "%s %s",
                 point != NULL ? point->value.data.string : "nowhere",
                 affected != NULL && affected->value.data.proc->rank == PMIX_RANK_WILDCARD
                     ? "all"
                     : "some");
    }
    is_released += status == PMIX_DEBUGGER_RELEASE;
    has_ended += status == PMIX_EVENT_JOB_END;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    if (callback != NULL)
        callback(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static int wait_for(const int *flag)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    pthread_mutex_lock(&mutex);
    while (*flag == 0 && rc == 0)
        rc = pthread_cond_timedwait(&changed, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return rc == 0;
}

static void listen_to(pmix_status_t code)
{
    PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);
}

/* ---- The program ---- */

static void say_ready(void)
{
    pmix_info_t info[2];

    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_BREAKPOINT, "here", PMIX_STRING);
    PMIx_Notify_event(PMIX_READY_FOR_DEBUG, &self, PMIX_RANGE_RM, info, 2, NULL, NULL);
}

static int program(void)
{
    pmix_proc_t job;
    pmix_value_t *value;
    uint32_t size = 0;

    PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value) == PMIX_SUCCESS)
        size = value->data.uint32;
    if (PMIx_Get(&job, PMIX_DEBUG_STOP_IN_APP, NULL, 0, &value) == PMIX_SUCCESS) {
        listen_to(PMIX_DEBUGGER_RELEASE);
        say_ready();
        if (!wait_for(&is_released))
            return 3;
    }
    printf("rank %u of %u goes on\n", self.rank, size);
    fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}

/* ---- Its debugger ---- */

static size_t want(const char *stop, pmix_info_t *info)
{
    pmix_rank_t one = 1;
    bool no = false;

    if (strcmp(stop, "rank") == 0)
        PMIX_INFO_LOAD(&info[0], PMIX_DEBUG_STOP_IN_INIT, &one, PMIX_PROC_RANK);
    else if (strcmp(stop, "false") == 0)
        PMIX_INFO_LOAD(&info[0], PMIX_DEBUG_STOP_IN_INIT, &no, PMIX_BOOL);
    else if (strcmp(stop, "app") == 0)
        PMIX_INFO_LOAD(&info[0], PMIX_DEBUG_STOP_IN_APP, NULL, PMIX_BOOL);
    else if (strcmp(stop, "init") == 0)
        PMIX_INFO_LOAD(&info[0], PMIX_DEBUG_STOP_IN_INIT, NULL, PMIX_BOOL);
    else
        PMIX_INFO_LOAD(&info[0], PMIX_DEBUG_STOP_ON_EXEC, NULL, PMIX_BOOL);
    if (strcmp(stop, "both") != 0)
        return 1;
    PMIX_INFO_LOAD(&info[1], PMIX_DEBUG_STOP_IN_INIT, NULL, PMIX_BOOL);
    return 2;
}

/* What stopped on exec goes on by SIGCONT, the others by an event. */
static void let_go(const char *stop, const pmix_proc_t *job)
{
    pmix_info_t info, *results = NULL;
    size_t count = 0;
    pmix_status_t status;

    if (strcmp(stop, "exec") == 0) {
        PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_RESUME, NULL, PMIX_BOOL);
        status = PMIx_Job_control(job, 1, &info, 1, &results, &count);
    } else {
        PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, job, PMIX_PROC);
        status = PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &self, PMIX_RANGE_CUSTOM, &info, 1, NULL,
                                   NULL);
    }
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        printf("release: %s\n", status_name(status));
}

static int debugger(char **argv)
{
    const char *stop = argv[1];
    pmix_info_t info[2];
    size_t info_count = want(stop, info);
    pmix_status_t status;
    pmix_nspace_t namespace;
    pmix_proc_t job;
    pmix_app_t app;

    listen_to(PMIX_READY_FOR_DEBUG);
    listen_to(PMIX_EVENT_JOB_END);
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(argv[0]);
    app.maxprocs = atoi(argv[2]);
    status = PMIx_Spawn(info, info_count, &app, 1, namespace);
    if (status != PMIX_SUCCESS) {
        printf("spawn: %s\n", status_name(status));
        return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
    }
    PMIX_LOAD_PROCID(&job, namespace, PMIX_RANK_WILDCARD);
    if (strcmp(stop, "false") != 0) {
        printf("ready: %s\n", wait_for(&is_ready) ? ready_text : "never");
        if (argv[3] != NULL)
            close(open(argv[3], O_CREAT | O_WRONLY, 0600));
        let_go(stop, &job);
    }
    printf("end: %s, %d times ready\n", wait_for(&has_ended) ? "yes" : "never", is_ready);
    fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}

/* ---- Debugger daemons ---- */

static int beside(char **argv)
{
    uint16_t per_node = (uint16_t)atoi(argv[2]), per_process = (uint16_t)atoi(argv[3]);
    char *watch[] = {argv[0], (char[]){"watch"}, NULL};
    pmix_status_t status;
    pmix_nspace_t namespace;
    pmix_info_t info[4];
    pmix_proc_t target;
    pmix_app_t app;
    size_t count = 2;

    PMIX_LOAD_PROCID(&target, argv[4] != NULL && argv[4][0] != '\0' ? argv[4] : self.nspace,
                     argv[4] != NULL && argv[5] != NULL ? (pmix_rank_t)atoi(argv[5])
                                                        : PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_DEBUGGER_DAEMONS, NULL, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_DEBUG_TARGET, &target, PMIX_PROC);
    if (per_node > 0)
        PMIX_INFO_LOAD(&info[count++], PMIX_DEBUG_DAEMONS_PER_NODE, &per_node, PMIX_UINT16);
    if (per_process > 0)
        PMIX_INFO_LOAD(&info[count++], PMIX_DEBUG_DAEMONS_PER_PROC, &per_process, PMIX_UINT16);
    listen_to(PMIX_EVENT_JOB_END);
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(argv[0]);
    app.argv = watch;
    status = PMIx_Spawn(info, count, &app, 1, namespace);
    printf("spawn: %s\n", status_name(status));
    if (status == PMIX_SUCCESS)
        printf("end: %s\n", wait_for(&has_ended) ? "yes" : "never");
    fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}

/* How many processes of a namespace are here. */
static size_t count_here(char *namespace)
{
    char key[] = PMIX_QUERY_LOCAL_PROC_TABLE, *keys[] = {key, NULL};
    pmix_info_t qualifier, *results = NULL;
    pmix_query_t query;
    size_t count = 0;

    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_INFO_LOAD(&qualifier, PMIX_NSPACE, namespace, PMIX_STRING);
    query.keys = keys;
    query.qualifiers = &qualifier;
    query.nqual = 1;
    if (PMIx_Query_info(&query, 1, &results, &count) != PMIX_SUCCESS || count != 1)
        return 0;
    return results[0].value.data.darray->size;
}

static int watch(void)
{
    char rank[16] = "all";
    pmix_value_t *value, *size, *job_value;
    char host[256] = "";
    pmix_proc_t job;

    PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
    gethostname(host, sizeof(host) - 1);
    if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &size) != PMIX_SUCCESS ||
        PMIx_Get(&job, PMIX_DEBUG_TARGET, NULL, 0, &value) != PMIX_SUCCESS ||
        PMIx_Get(&job, PMIX_DEBUG_JOB, NULL, 0, &job_value) != PMIX_SUCCESS ||
        value->type != PMIX_PROC ||
        !PMIX_CHECK_NSPACE(job_value->data.string, value->data.proc->nspace)) {
        printf("daemon %u has no target\n", self.rank);
    } else {
        if (value->data.proc->rank != PMIX_RANK_WILDCARD)
            snprintf(rank, sizeof(rank), "%u", value->data.proc->rank);
        printf("daemon %u of %u on %s watches %zu of %s\n", self.rank, size->data.uint32, host,
               count_here(value->data.proc->nspace), rank);
    }
    fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv)
{
    pmix_status_t status = PMIx_Init(&self, NULL, 0);

    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "PMIx_Init: %s\n", status_name(status));
        return 1;
    }
    if (argc == 2)
        return watch();
    if (argc < 3)
        return program();
    if (self.rank != 0)
        return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
    return strcmp(argv[1], "daemons") == 0 ? beside(argv) : debugger(argv);
}
