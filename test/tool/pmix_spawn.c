/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that spawns, and what it spawns: pmix_spawn CALL...; each call becomes a line
 * "CALL=STATUS" with libpmix's name of the status.  The other namespace is that of the last job that was
 * spawned, or for a spawned process that of its parent.
 *
 *     spawn N [KEY=VALUE]... -- PROGRAM [ARGUMENT]... [+ N ...]... end
 *                    by rank 0; all ranks then know the namespace.  KEY: wdir, env (a variable NAME=VALUE),
 *                    host, map, bind; set, add, prepend, append, first (NAME=VALUE, with ":" between
 *                    elements) and unset (NAME); job-host, job-map and "job-" and one of the latter for
 *                    the whole job; cpus; stdin (a rank), and stdin-proc; flag (one of the job that is true); timeout, start-timeout and run-timeout (seconds); must (a directive that is required and unknown), may (one that is
 *                    not required)
 *     start N ... end
 *                    likewise, but the others do not take part
 *     say            what the process knows of itself
 *     connect disconnect both
 *                    of all ranks of both namespaces; "both" is a fence that collects
 *     put            puts and commits a value
 *     get            gets the value of each rank of the other namespace
 *     size           of the other namespace
 *     push:TEXT      a line of input for the other namespace
 *     halt resume    stops the process that has started it, and lets it go on
 *     sleep:MS  exit:STATUS (without finalize)  abort:STATUS
 *     rN:CALL        CALL on rank N only
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define APPS_MAX  8
#define INFOS_MAX 16

static pmix_proc_t self, parent, other;
static uint32_t world_size;

static uint32_t number_of(const pmix_proc_t *proc, const char *key)
{
    pmix_value_t *value = NULL;
    uint32_t number = 0;

    if (PMIx_Get(proc, key, NULL, 0, &value) != PMIX_SUCCESS)
        return 0;
    number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number;
}

static uint32_t size_of(const char *namespace)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    uint32_t size = 0;

    PMIX_LOAD_PROCID(&proc, namespace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&proc, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS)
        return 0;
    size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return size;
}

/* ---- spawn ---- */

struct infos {
    pmix_info_t items[INFOS_MAX];
    size_t count;
};

static void add_info(struct infos *infos, const char *key, const char *text)
{
    if (infos->count < INFOS_MAX)
        PMIX_INFO_LOAD(&infos->items[infos->count++], key, text, PMIX_STRING);
}

static void append(char ***strings, const char *text)
{
    size_t count = 0;

    while (*strings != NULL && (*strings)[count] != NULL)
        count++;
    *strings = realloc(*strings, (count + 2) * sizeof(**strings));
    (*strings)[count] = strdup(text);
    (*strings)[count + 1] = NULL;
}

/* 1 if it is one for the environment. */
static int add_envar(struct infos *infos, const char *word)
{
    static const char *const keys[][2] = {
        {"set=", PMIX_SET_ENVAR},       {"add=", PMIX_ADD_ENVAR},
        {"unset=", PMIX_UNSET_ENVAR},   {"prepend=", PMIX_PREPEND_ENVAR},
        {"append=", PMIX_APPEND_ENVAR}, {"first=", PMIX_FIRST_ENVAR},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        size_t bytes = strlen(keys[i][0]);
        const char *equals = strchr(word + bytes, '=');
        pmix_envar_t envar = {.separator = ':'};

        if (strncmp(word, keys[i][0], bytes) != 0)
            continue;
        if (strcmp(keys[i][1], PMIX_UNSET_ENVAR) == 0) {
            add_info(infos, PMIX_UNSET_ENVAR, word + bytes);
            return 1;
        }
        envar.envar = strndup(word + bytes, (size_t)(equals - word) - bytes);
        envar.value = strdup(equals + 1);
        PMIX_INFO_LOAD(&infos->items[infos->count++], keys[i][1], &envar, PMIX_ENVAR);
        return 1;
    }
    return 0;
}

static int add_seconds(struct infos *infos, const char *word)
{
    static const char *const keys[][2] = {
        {"timeout=", PMIX_TIMEOUT},
        {"start-timeout=", PMIX_SPAWN_TIMEOUT},
        {"run-timeout=", PMIX_JOB_TIMEOUT},
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int seconds = atoi(strchr(word, '=') + 1);

        if (strncmp(word, keys[i][0], strlen(keys[i][0])) != 0)
            continue;
        PMIX_INFO_LOAD(&infos->items[infos->count++], keys[i][1], &seconds, PMIX_INT);
        return 1;
    }
    return 0;
}

static void take_directive(const char *word, pmix_app_t *app, struct infos *own, struct infos *all)
{
    const char *value = strchr(word, '=') + 1;
    pmix_proc_t proc;
    uint32_t rank;

    if (add_envar(own, word) || add_seconds(all, word) ||
        (strncmp(word, "job-", 4) == 0 && add_envar(all, word + 4)))
        return;
    if (strncmp(word, "wdir=", 5) == 0)
        add_info(own, PMIX_WDIR, value);
    else if (strncmp(word, "env=", 4) == 0)
        append(&app->env, value);
    else if (strncmp(word, "host=", 5) == 0)
        add_info(own, PMIX_HOST, value);
    else if (strncmp(word, "map=", 4) == 0)
        add_info(own, PMIX_MAPBY, value);
    else if (strncmp(word, "bind=", 5) == 0)
        add_info(own, PMIX_BINDTO, value);
    else if (strncmp(word, "job-host=", 9) == 0)
        add_info(all, PMIX_HOST, value);
    else if (strncmp(word, "job-map=", 8) == 0)
        add_info(all, PMIX_MAPBY, value);
    else if (strncmp(word, "cpus=", 5) == 0)
        add_info(own, PMIX_CPU_LIST, value);
    else if (strncmp(word, "stdin=", 6) == 0) {
        rank = (uint32_t)atoi(value);
        PMIX_INFO_LOAD(&all->items[all->count++], PMIX_STDIN_TGT, &rank, PMIX_UINT32);
    } else if (strncmp(word, "stdin-proc=", 11) == 0) {
        PMIX_LOAD_PROCID(&proc, NULL, (pmix_rank_t)atoi(value));
        PMIX_INFO_LOAD(&all->items[all->count++], PMIX_STDIN_TGT, &proc, PMIX_PROC);
    } else if (strncmp(word, "flag=", 5) == 0)
        PMIX_INFO_LOAD(&all->items[all->count++], value, NULL, PMIX_BOOL);
    else if (strncmp(word, "may=", 4) == 0)
        add_info(all, value, "x");
    else if (strncmp(word, "must=", 5) == 0) {
        add_info(all, value, "x");
        PMIX_INFO_REQUIRED(&all->items[all->count - 1]);
    }
}

/* Reads an application; returns the words read. */
static int take_app(char **words, pmix_app_t *app, struct infos *own, struct infos *all)
{
    int at = 0;

    PMIX_APP_CONSTRUCT(app);
    app->maxprocs = atoi(words[at++]);
    while (words[at] != NULL && strcmp(words[at], "--") != 0)
        take_directive(words[at++], app, own, all);
    at += words[at] != NULL;
    for (int depth = 1; words[at] != NULL; at++) {
        if (depth == 1 && strcmp(words[at], "+") == 0)
            break;
        depth += strcmp(words[at], "spawn") == 0;
        depth -= strcmp(words[at], "end") == 0;
        if (depth == 0)
            break;
        append(&app->argv, words[at]);
    }
    if (app->argv != NULL)
        app->cmd = strdup(app->argv[0]);
    app->info = own->count > 0 ? own->items : NULL; /* it looks for the end of an empty one */
    app->ninfo = own->count;
    return at;
}

struct pushed {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int is_answered;
    pmix_status_t status;
};

static void on_pushed(pmix_status_t status, void *context)
{
    struct pushed *pushed = context;

    pthread_mutex_lock(&pushed->mutex);
    pushed->status = status;
    pushed->is_answered = 1;
    pthread_cond_signal(&pushed->cond);
    pthread_mutex_unlock(&pushed->mutex);
}

/* Without a callback libpmix 4.2.2 never returns. */
static pmix_status_t push_line(const char *text)
{
    struct pushed pushed = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    pmix_proc_t target;
    pmix_byte_object_t object;
    pmix_status_t status;
    char line[256];

    PMIX_LOAD_PROCID(&target, other.nspace, PMIX_RANK_WILDCARD);
    object.bytes = line;
    object.size = (size_t)snprintf(line, sizeof(line), "%s\n", text);
    status = PMIx_IOF_push(&target, 1, &object, NULL, 0, on_pushed, &pushed);
    if (status != PMIX_SUCCESS)
        return status;
    pthread_mutex_lock(&pushed.mutex);
    while (!pushed.is_answered)
        pthread_cond_wait(&pushed.cond, &pushed.mutex);
    pthread_mutex_unlock(&pushed.mutex);
    return pushed.status;
}

/* All ranks learn its namespace from rank 0. */
static pmix_status_t share(pmix_status_t status, const char *namespace)
{
    static int spawned;
    pmix_value_t value, *got = NULL;
    pmix_proc_t root;
    pmix_info_t info;
    bool yes = true;
    char key[32];

    if (world_size == 1)
        return status;
    snprintf(key, sizeof(key), "child.%d", spawned++); /* clients cache what they get */
    if (self.rank == 0) {
        PMIX_VALUE_LOAD(&value, namespace, PMIX_STRING);
        (void)PMIx_Put(PMIX_GLOBAL, key, &value);
        PMIX_VALUE_DESTRUCT(&value);
        (void)PMIx_Commit();
    }
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    (void)PMIx_Fence(NULL, 0, &info, 1);
    PMIX_LOAD_PROCID(&root, self.nspace, 0);
    if (self.rank == 0)
        return status;
    status = PMIx_Get(&root, key, NULL, 0, &got);
    if (status != PMIX_SUCCESS)
        return status;
    PMIX_LOAD_NSPACE(other.nspace, got->data.string);
    PMIX_VALUE_RELEASE(got);
    return status;
}

static pmix_status_t spawn(char **words, int is_shared, int *ret_read)
{
    static pmix_app_t apps[APPS_MAX];
    static struct infos own[APPS_MAX];
    struct infos all = {.count = 0};
    size_t count = 0;
    pmix_status_t status = PMIX_SUCCESS;
    pmix_nspace_t child = "";
    int at = 0;

    do {
        own[count].count = 0;
        at += take_app(words + at, &apps[count], &own[count], &all);
        count++;
    } while (words[at] != NULL && strcmp(words[at++], "+") == 0 && count < APPS_MAX);
    *ret_read = at;
    /* libpmix 5.0.7 returns PMIX_ERR_EMPTY at once if there is none. */
    if (PMIX_VERSION_MAJOR >= 5 && all.count == 0)
        PMIX_INFO_LOAD(&all.items[all.count++], PMIX_FWD_STDOUT, NULL, PMIX_BOOL);
    if (self.rank == 0 || !is_shared)
        status = PMIx_Spawn(all.items, all.count, apps, count, child);
    PMIX_LOAD_NSPACE(other.nspace, child);
    return is_shared ? share(status, child) : status;
}

/* ---- both namespaces ---- */

static size_t both_namespaces(pmix_proc_t procs[2])
{
    PMIX_LOAD_PROCID(&procs[0], self.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&procs[1], other.nspace, PMIX_RANK_WILDCARD);
    return 2;
}

static pmix_status_t put_value(void)
{
    pmix_value_t value;
    char text[PMIX_MAX_NSLEN + 16];
    pmix_status_t status;

    snprintf(text, sizeof(text), "%s.%u", self.nspace, self.rank);
    PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
    status = PMIx_Put(PMIX_GLOBAL, "value", &value);
    PMIX_VALUE_DESTRUCT(&value);
    return status == PMIX_SUCCESS ? PMIx_Commit() : status;
}

static pmix_status_t get_values(void)
{
    uint32_t size = size_of(other.nspace);
    pmix_status_t status = size > 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
    char expected[PMIX_MAX_NSLEN + 16];

    for (uint32_t rank = 0; rank < size && status == PMIX_SUCCESS; rank++) {
        pmix_value_t *value = NULL;
        pmix_proc_t proc;

        PMIX_LOAD_PROCID(&proc, other.nspace, rank);
        status = PMIx_Get(&proc, "value", NULL, 0, &value);
        snprintf(expected, sizeof(expected), "%s.%u", other.nspace, rank);
        if (status == PMIX_SUCCESS && strcmp(value->data.string, expected) != 0) {
            printf("rank %u of %s has %s\n", rank, other.nspace, value->data.string);
            status = PMIX_ERR_BAD_PARAM;
        }
        if (value != NULL)
            PMIX_VALUE_RELEASE(value);
    }
    return status;
}

static pmix_status_t fence_both(void)
{
    pmix_proc_t procs[2];
    pmix_info_t info;
    bool yes = true;

    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    return PMIx_Fence(procs, both_namespaces(procs), &info, 1);
}

/* ---- the rest ---- */

static const char *job_of(const char *namespace)
{
    const char *dash = strrchr(namespace, '-');

    return dash != NULL ? dash + 1 : "none";
}

static void say(void)
{
    char directory[4096], host[256];
    const char *variable = getenv("SPAWN_TEST");

    gethostname(host, sizeof(host));
    printf("job %s rank %u of %u app %u parent %s.%d in %s with %s\n", job_of(self.nspace),
           self.rank, world_size, number_of(&self, PMIX_APPNUM),
           parent.nspace[0] != '\0' ? job_of(parent.nspace) : "none",
           parent.nspace[0] != '\0' ? (int)parent.rank : -1,
           getcwd(directory, sizeof(directory)) != NULL ? directory : "?",
           variable != NULL ? variable : "nothing");
}

static void sleep_ms(int milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

    while (nanosleep(&time, &time) != 0)
        ;
}

static void make_call(char **words, int *ret_read)
{
    const char *word = words[0];
    pmix_status_t status = PMIX_SUCCESS;
    pmix_proc_t procs[2];

    *ret_read = 0;
    if (strcmp(word, "spawn") == 0)
        status = spawn(words + 1, 1, ret_read);
    else if (strcmp(word, "start") == 0)
        status = spawn(words + 1, 0, ret_read);
    else if (strcmp(word, "connect") == 0)
        status = PMIx_Connect(procs, both_namespaces(procs), NULL, 0);
    else if (strcmp(word, "disconnect") == 0)
        status = PMIx_Disconnect(procs, both_namespaces(procs), NULL, 0);
    else if (strcmp(word, "both") == 0)
        status = fence_both();
    else if (strcmp(word, "put") == 0)
        status = put_value();
    else if (strcmp(word, "get") == 0)
        status = get_values();
    else if (strncmp(word, "push:", 5) == 0)
        status = push_line(word + 5);
    else if (strcmp(word, "size") == 0)
        printf("size %u\n", size_of(other.nspace));
    else if (strcmp(word, "say") == 0)
        say();
    else if (strcmp(word, "halt") == 0)
        status = kill(getppid(), SIGSTOP) == 0 ? PMIX_SUCCESS : PMIX_ERROR;
    else if (strcmp(word, "resume") == 0)
        status = kill(getppid(), SIGCONT) == 0 ? PMIX_SUCCESS : PMIX_ERROR;
    else if (strncmp(word, "sleep:", 6) == 0)
        sleep_ms(atoi(word + 6));
    else if (strncmp(word, "exit:", 5) == 0) {
        fflush(stdout);
        _exit(atoi(word + 5));
    } else if (strncmp(word, "abort:", 6) == 0)
        status = PMIx_Abort(atoi(word + 6), "on request", NULL, 0);
    else
        status = PMIX_ERR_BAD_PARAM;
    if (strcmp(word, "say") != 0 && strcmp(word, "size") != 0 && strncmp(word, "sleep:", 6) != 0)
        printf("%s=%s\n", word, status_name(status));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_value_t *value = NULL;

    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS) {
        fprintf(stderr, "PMIx_Init failed\n");
        return 1;
    }
    world_size = size_of(self.nspace);
    if (PMIx_Get(&self, PMIX_PARENT_ID, NULL, 0, &value) == PMIX_SUCCESS) {
        parent = other = *value->data.proc;
        PMIX_VALUE_RELEASE(value);
    }
    for (int i = 1; i < argc; i++) {
        int read = 0;
        unsigned int rank;
        int skip = 0;

        if (sscanf(argv[i], "r%u:%n", &rank, &skip) == 1 && skip > 0) {
            if (rank != self.rank)
                continue;
            argv[i] += skip;
        }
        make_call(argv + i, &read);
        i += read;
    }
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
