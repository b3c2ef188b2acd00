/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tool that connects to a PMIx server: pmix_tool WAY [NAME] STEP...  WAY: pid:PID, namespace:NAME, file:PATH, uri:URI
 * or search; NAME: "name=NAMESPACE", what the tool calls itself.  STEP:
 *
 *     jobs         prints the namespaces of the server's jobs
 *     table:NS     prints the ranks of a namespace and their nodes
 *     pause:NS:RANK, resume:NS:RANK, kill:NS:RANK ("all")
 *     look:KEY     prints a published text, and the rank that has published it
 *     spawn:N:PROGRAM[:ARGUMENT]...
 *                  spawns it, and prints how that went and that it has ended
 *     stopped:N:PROGRAM[:ARGUMENT]...
 *                  likewise, stopped in PMIx_Init: prints where it waits, and lets it go on
 *     release:NS   raises PMIX_DEBUGGER_RELEASE for a namespace
 *     allocate:N   PMIx_Allocation_request, by the directive's number
 *     self         prints the namespace that it has been given
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pmix_proc_t self;

static void name_way(char *text, pmix_info_t *info)
{
    char *rest = text, *way = strsep(&rest, ":");
    pid_t pid;

    if (strcmp(way, "pid") == 0) {
        pid = (pid_t)atoi(rest);
        PMIX_INFO_LOAD(info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    } else if (strcmp(way, "namespace") == 0) {
        PMIX_INFO_LOAD(info, PMIX_SERVER_NSPACE, rest, PMIX_STRING);
    } else if (strcmp(way, "file") == 0) {
        PMIX_INFO_LOAD(info, PMIX_TOOL_ATTACHMENT_FILE, rest, PMIX_STRING);
    } else if (strcmp(way, "uri") == 0) {
        PMIX_INFO_LOAD(info, PMIX_SERVER_URI, rest, PMIX_STRING);
    } else {
        PMIX_INFO_LOAD(info, PMIX_CONNECT_SYSTEM_FIRST, NULL, PMIX_BOOL);
    }
}

static void ask(const char *key, char *namespace)
{
    char copy[PMIX_MAX_KEYLEN], *keys[] = {copy, NULL};
    pmix_info_t qualifier, *results = NULL;
    size_t count = 0;
    pmix_query_t query;
    pmix_status_t status;

    snprintf(copy, sizeof(copy), "%s", key);
    PMIX_QUERY_CONSTRUCT(&query);
    query.keys = keys;
    if (namespace != NULL) {
        PMIX_INFO_LOAD(&qualifier, PMIX_NSPACE, namespace, PMIX_STRING);
        query.qualifiers = &qualifier;
        query.nqual = 1;
    }
    status = PMIx_Query_info(&query, 1, &results, &count);
    if (status != PMIX_SUCCESS || count != 1) {
        printf("%s: %s\n", key, status_name(status));
    } else if (results[0].value.type == PMIX_STRING) {
        printf("jobs: %s\n", results[0].value.data.string);
    } else {
        const pmix_proc_info_t *entries = results[0].value.data.darray->array;

        printf("table:");
        for (size_t i = 0; i < results[0].value.data.darray->size; i++)
            printf(" %u@%s", entries[i].proc.rank, entries[i].hostname);
        printf("\n");
    }
}

static void look_up(const char *key)
{
    pmix_pdata_t data;
    pmix_status_t status;

    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, key);
    status = PMIx_Lookup(&data, 1, NULL, 0);
    printf("look: %s %s@%u\n", status_name(status),
           data.value.type == PMIX_STRING ? data.value.data.string : "nothing", data.proc.rank);
    PMIX_PDATA_DESTRUCT(&data);
}

static void control(const char *name, char *rest)
{
    const char *namespace = strsep(&rest, ":");
    pmix_info_t info, *results = NULL;
    char key[PMIX_MAX_KEYLEN];
    size_t count = 0;
    pmix_proc_t proc;

    snprintf(key, sizeof(key), "pmix.jctrl.%s", name);
    PMIX_INFO_LOAD(&info, key, NULL, PMIX_BOOL);
    PMIX_LOAD_PROCID(&proc, namespace,
                     strcmp(rest, "all") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(rest));
    printf("%s: %s\n", name, status_name(PMIx_Job_control(&proc, 1, &info, 1, &results, &count)));
}

static void release(const char *namespace)
{
    pmix_info_t info;
    pmix_proc_t proc;
    pmix_status_t status;

    PMIX_LOAD_PROCID(&proc, namespace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, &proc, PMIX_PROC);
    status =
        PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &self, PMIX_RANGE_CUSTOM, &info, 1, NULL, NULL);
    printf("release: %s\n",
           status_name(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status));
}

static void allocate(const char *directive)
{
    pmix_info_t info, *results = NULL;
    uint64_t nodes = 1;
    size_t count = 0;

    PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
    printf("allocate: %s\n",
           status_name(PMIx_Allocation_request((pmix_alloc_directive_t)atoi(directive), &info, 1,
                                               &results, &count)));
}

/* ---- Spawn ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int has_ended, is_ready;

/* The end of a job, or that all of its processes wait for a debugger. */
static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t count, pmix_info_t *results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t callback, void *context)
{
    pthread_mutex_lock(&mutex);
    if (status == PMIX_EVENT_JOB_END)
        has_ended = 1;
    else
        is_ready = 1;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(info[i].key, PMIX_EXIT_CODE) == 0)
            printf("end: %d\n", info[i].value.data.integer);
        else if (strcmp(info[i].key, PMIX_BREAKPOINT) == 0)
            printf("ready: %s\n", info[i].value.data.string);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    if (callback != NULL)
        callback(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static void await(int *event, const char *name)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&mutex);
    while (!*event && rc == 0)
        rc = pthread_cond_timedwait(&changed, &mutex, &until);
    *event = 0;
    pthread_mutex_unlock(&mutex);
    if (rc != 0)
        printf("%s: never\n", name);
}

static void spawn(char *rest, int stops)
{
    static int is_listening;
    pmix_status_t status, codes[] = {PMIX_EVENT_JOB_END, PMIX_READY_FOR_DEBUG};
    char *argv[16] = {NULL};
    pmix_nspace_t namespace;
    pmix_info_t stop;
    pmix_app_t app;

    if (!is_listening)
        PMIx_Register_event_handler(codes, 2, NULL, 0, on_event, NULL, NULL);
    is_listening = 1;
    PMIX_INFO_LOAD(&stop, PMIX_DEBUG_STOP_IN_INIT, NULL, PMIX_BOOL);
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = atoi(strsep(&rest, ":"));
    for (size_t i = 0; rest != NULL && i < 15; i++)
        argv[i] = strsep(&rest, ":");
    app.cmd = argv[0];
    app.argv = argv;
    status = PMIx_Spawn(stops ? &stop : NULL, stops ? 1 : 0, &app, 1, namespace);
    printf("spawn: %s\n", status_name(status));
    if (status == PMIX_SUCCESS && stops) {
        await(&is_ready, "ready");
        release(namespace);
    }
    if (status == PMIX_SUCCESS)
        await(&has_ended, "end");
}

static void step(char *text)
{
    char *rest = text, *name = strsep(&rest, ":");

    if (strcmp(name, "jobs") == 0)
        ask(PMIX_QUERY_NAMESPACES, NULL);
    else if (strcmp(name, "table") == 0)
        ask(PMIX_QUERY_PROC_TABLE, rest);
    else if (strcmp(name, "look") == 0)
        look_up(rest);
    else if (strcmp(name, "spawn") == 0)
        spawn(rest, 0);
    else if (strcmp(name, "stopped") == 0)
        spawn(rest, 1);
    else if (strcmp(name, "release") == 0)
        release(rest);
    else if (strcmp(name, "allocate") == 0)
        allocate(rest);
    else if (strcmp(name, "self") == 0)
        printf("self: %s\n", self.nspace);
    else
        control(name, rest);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_rank_t rank = 0;
    pmix_status_t status;
    pmix_info_t info[3];
    size_t count = 1;
    int next = 2;

    if (argc < 2)
        return 2;
    name_way(argv[1], &info[0]);
    if (argc > 2 && strncmp(argv[2], "name=", 5) == 0) {
        PMIX_INFO_LOAD(&info[count++], PMIX_TOOL_NSPACE, argv[next++] + 5, PMIX_STRING);
        PMIX_INFO_LOAD(&info[count++], PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    }
    status = PMIx_tool_init(&self, info, count);
    if (status != PMIX_SUCCESS) {
        printf("PMIx_tool_init: %s\n", status_name(status));
        return 1;
    }
    for (; next < argc; next++)
        step(argv[next]);
    return PMIx_tool_finalize() == PMIX_SUCCESS ? 0 : 1;
}
