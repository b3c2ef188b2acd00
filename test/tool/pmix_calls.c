/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that makes calls and prints how each ended: pmix_calls CALL...; each becomes a
 * line "CALL=STATUS", with libpmix's name of the status, and " after N s" if it took one or more.
 *
 *     connect[:S[:DIRECTIVE]]  all ranks of the namespace, with a time limit of S seconds; DIRECTIVE: one that does not
 *                      exist, required if it begins with "!"
 *     disconnect[:S[:DIRECTIVE]]
 *     apart            connect of the even and of the odd ranks, each among themselves
 *     fence[:DIRECTIVE]  of all ranks
 *     put:KEY          puts and commits a value (its rank) under KEY
 *     get:RANK:KEY[:S] gets what RANK has put; "=VALUE" if it is there
 *     fresh:RANK:KEY   the same, past the cache of the client
 *     abort:STATUS[:RANK]  of all ranks, or of RANK alone
 *     sleep:MS
 *     await:FILE       until it is there
 *     exit             ends without finalize
 *     rN:CALL          CALL on rank N only
 *     log:CHANNEL[,CHANNEL][:DIRECTIVE]  a text for each channel, "pmix.log.CHANNEL"; !CHANNEL and !DIRECTIVE
 *                      are required
 *     allocate:DIRECTIVE  PMIx_Allocation_request, by the directive's number
 *     query publish lookup unpublish spawn control monitor pull fabric event:RANGE
 *     register:CODE[:DIRECTIVE]
 *                      the rest of the standard, each with the simplest arguments
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pmix_proc_t self;
static uint32_t world_size;
static char found[64]; /* what the last call found */

static const char *next_word(char **rest)
{
    const char *word = *rest == NULL ? NULL : strsep(rest, ":");

    return word == NULL ? "" : word;
}

/* A directive that does not exist, if the key is not "": "!KEY" is required.  How many there are. */
static size_t load_directive(const char *key, pmix_info_t *info)
{
    if (*key == '\0')
        return 0;
    PMIX_INFO_LOAD(info, key, NULL, PMIX_BOOL);
    if (*key == '!')
        PMIX_INFO_REQUIRED(info);
    return 1;
}

static pmix_status_t joined(int leave, pmix_proc_t *procs, size_t count, char *rest)
{
    int seconds = atoi(next_word(&rest));
    pmix_info_t info[2];
    size_t info_count = 0;

    if (seconds > 0)
        PMIX_INFO_LOAD(&info[info_count++], PMIX_TIMEOUT, &seconds, PMIX_INT);
    info_count += load_directive(next_word(&rest), &info[info_count]);
    return leave ? PMIx_Disconnect(procs, count, info, info_count)
                 : PMIx_Connect(procs, count, info, info_count);
}

static pmix_status_t everyone(int leave, char *rest)
{
    pmix_proc_t all;

    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    return joined(leave, &all, 1, rest);
}

static pmix_status_t fence(char *rest)
{
    pmix_info_t info;
    size_t count = load_directive(next_word(&rest), &info);

    return PMIx_Fence(NULL, 0, &info, count);
}

static pmix_status_t apart(void)
{
    pmix_proc_t *procs = calloc(world_size, sizeof(*procs));
    size_t count = 0;
    pmix_status_t status;

    for (uint32_t rank = self.rank % 2; rank < world_size; rank += 2) {
        PMIX_LOAD_PROCID(&procs[count], self.nspace, rank);
        count++;
    }
    status = joined(0, procs, count, NULL);
    free(procs);
    return status;
}

static pmix_status_t put(const char *key)
{
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = self.rank};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);

    return status == PMIX_SUCCESS ? PMIx_Commit() : status;
}

static pmix_status_t get(char *rest, int fresh)
{
    const char *rank = next_word(&rest), *key = next_word(&rest);
    int seconds = atoi(next_word(&rest));
    pmix_value_t *value = NULL;
    pmix_info_t info[2];
    pmix_proc_t proc;
    pmix_status_t status;
    size_t count = 0;

    PMIX_LOAD_PROCID(&proc, self.nspace, (pmix_rank_t)atoi(rank));
    if (seconds > 0)
        PMIX_INFO_LOAD(&info[count++], PMIX_TIMEOUT, &seconds, PMIX_INT);
    if (fresh)
        PMIX_INFO_LOAD(&info[count++], PMIX_GET_REFRESH_CACHE, NULL, PMIX_BOOL);
    status = PMIx_Get(&proc, key, info, count, &value);
    if (status == PMIX_SUCCESS)
        snprintf(found, sizeof(found), "=%u", value->data.uint32);
    return status;
}

static pmix_status_t abort_ranks(char *rest)
{
    int status = atoi(next_word(&rest));
    const char *rank = next_word(&rest);
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, self.nspace, (pmix_rank_t)atoi(rank));
    return PMIx_Abort(status, "N/A", &proc, *rank != '\0');
}

static pmix_status_t query(void)
{
    char key[] = PMIX_QUERY_NAMESPACES, *keys[] = {key, NULL};
    pmix_query_t query;
    pmix_info_t *results = NULL;
    size_t count = 0;

    PMIX_QUERY_CONSTRUCT(&query);
    query.keys = keys;
    return PMIx_Query_info(&query, 1, &results, &count);
}

static pmix_status_t publish(void)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, "a.service", "a.port", PMIX_STRING);
    return PMIx_Publish(&info, 1);
}

static pmix_status_t lookup(void)
{
    pmix_pdata_t data;

    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, "a.service");
    return PMIx_Lookup(&data, 1, NULL, 0);
}

static pmix_status_t unpublish(void)
{
    char service[] = "a.service", *keys[] = {service, NULL};

    return PMIx_Unpublish(keys, NULL, 0);
}

static pmix_status_t spawn(void)
{
    pmix_nspace_t space;
    pmix_app_t app;

    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup("true");
    app.maxprocs = 1;
    return PMIx_Spawn(NULL, 0, &app, 1, space);
}

static pmix_status_t allocate(const char *directive)
{
    pmix_info_t info, *results = NULL;
    uint64_t nodes = 1;
    size_t count = 0;

    PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
    return PMIx_Allocation_request((pmix_alloc_directive_t)atoi(directive), &info, 1, &results,
                                   &count);
}

static pmix_status_t control(void)
{
    pmix_info_t info, *results = NULL;
    pmix_proc_t other;
    size_t count = 0;

    PMIX_LOAD_PROCID(&other, self.nspace, world_size - 1);
    PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_PAUSE, NULL, PMIX_BOOL);
    return PMIx_Job_control(&other, 1, &info, 1, &results, &count);
}

static pmix_status_t monitor(void)
{
    pmix_info_t what, *results = NULL;
    size_t count = 0;

    PMIX_INFO_LOAD(&what, PMIX_MONITOR_APP_CONTROL, "x", PMIX_STRING);
    return PMIx_Process_monitor(&what, PMIX_MONITOR_HEARTBEAT_ALERT, NULL, 0, &results, &count);
}

/* "once", "!once": the key, which is required or not. */
static void load_log(const char *word, const char *text, pmix_info_t *info)
{
    int is_required = *word == '!';
    char key[PMIX_MAX_KEYLEN];

    snprintf(key, sizeof(key), "pmix.log.%s", word + is_required);
    if (text != NULL)
        PMIX_INFO_LOAD(info, key, text, PMIX_STRING);
    else
        PMIX_INFO_LOAD(info, key, NULL, PMIX_BOOL);
    if (is_required)
        PMIX_INFO_REQUIRED(info);
}

static pmix_status_t log_text(char *rest)
{
    char *channels = strsep(&rest, ":"), *word, text[64];
    pmix_info_t data[4], directive;
    size_t count = 0;

    while ((word = strsep(&channels, ",")) != NULL && count < 4) {
        snprintf(text, sizeof(text), "text for %s\n", word);
        load_log(word, text, &data[count++]);
    }
    if (rest != NULL)
        load_log(rest, NULL, &directive);
    return PMIx_Log(data, count, &directive, rest != NULL);
}

static void on_output(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                      pmix_byte_object_t *bytes, pmix_info_t *info, size_t count)
{
}

static pmix_status_t pull(void)
{
    pmix_proc_t other;
    pmix_status_t status;

    PMIX_LOAD_PROCID(&other, self.nspace, world_size - 1);
    status = PMIx_IOF_pull(&other, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, on_output, NULL, NULL);
    return status >= 0 ? PMIX_SUCCESS : status;
}

static pmix_status_t fabric(void)
{
    pmix_fabric_t one;

    PMIX_FABRIC_CONSTRUCT(&one);
    return PMIx_Fabric_register(&one, NULL, 0);
}

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t info_count, pmix_info_t *results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t done, void *context)
{
    const pmix_proc_t *about = source;

    for (size_t i = 0; i < info_count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            about = info[i].value.data.proc;
    }
    printf("event %d about %u\n", status, about->rank);
    fflush(stdout);
    if (done != NULL)
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static pmix_status_t register_event(char *rest)
{
    const char *code = next_word(&rest), *key = next_word(&rest);
    pmix_status_t codes[1] = {atoi(code)}, status;
    pmix_info_t info;
    size_t count = load_directive(key, &info);

    status = PMIx_Register_event_handler(codes, *code != '\0', &info, count, on_event, NULL, NULL);
    return status >= 0 ? PMIX_SUCCESS : status;
}

static void notified(pmix_status_t status, void *context)
{
    *(volatile pmix_status_t *)context = status;
}

/* With a callback: without one, libpmix tells nobody what the server has answered. */
static pmix_status_t event(const char *range)
{
    volatile pmix_status_t answer = 1;
    pmix_status_t status = PMIx_Notify_event(-3001, &self, (pmix_data_range_t)atoi(range), NULL, 0,
                                             notified, (void *)(uintptr_t)&answer);

    while (status == PMIX_SUCCESS && answer == 1)
        usleep(1000);
    return status == PMIX_SUCCESS ? answer : status;
}

static const struct {
    const char *name;
    pmix_status_t (*call)(void);
} plain[] = {
    {"query", query},   {"publish", publish}, {"lookup", lookup},   {"unpublish", unpublish},
    {"spawn", spawn},   {"control", control}, {"monitor", monitor}, {"pull", pull},
    {"fabric", fabric}, {"apart", apart},
};

static pmix_status_t plain_call(const char *name)
{
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strcmp(plain[i].name, name) == 0)
            return plain[i].call();
    }
    fprintf(stderr, "no call is named %s\n", name);
    exit(2);
}

static pmix_status_t await_file(const char *path)
{
    while (access(path, F_OK) < 0)
        usleep(20000);
    return PMIX_SUCCESS;
}

static pmix_status_t call(const char *name, char *rest)
{
    if (strcmp(name, "connect") == 0 || strcmp(name, "disconnect") == 0)
        return everyone(*name == 'd', rest);
    if (strcmp(name, "fence") == 0)
        return fence(rest);
    if (strcmp(name, "put") == 0)
        return put(next_word(&rest));
    if (strcmp(name, "get") == 0 || strcmp(name, "fresh") == 0)
        return get(rest, *name == 'f');
    if (strcmp(name, "allocate") == 0)
        return allocate(next_word(&rest));
    if (strcmp(name, "log") == 0)
        return log_text(rest);
    if (strcmp(name, "abort") == 0)
        return abort_ranks(rest);
    if (strcmp(name, "event") == 0)
        return event(next_word(&rest));
    if (strcmp(name, "register") == 0)
        return register_event(rest);
    if (strcmp(name, "sleep") == 0)
        return usleep((useconds_t)atoi(next_word(&rest)) * 1000) < 0 ? PMIX_ERROR : PMIX_SUCCESS;
    if (strcmp(name, "await") == 0)
        return await_file(next_word(&rest));
    if (strcmp(name, "exit") == 0)
        _exit(0);
    return plain_call(name);
}

static void report(const char *argument)
{
    char *text = strdup(argument), *rest = text;
    const char *name = next_word(&rest);
    struct timespec from, to;
    pmix_status_t status;
    double took_s;

    if (*name == 'r' && name[1] >= '0' && name[1] <= '9') {
        if ((uint32_t)atoi(name + 1) != self.rank)
            return;
        name = next_word(&rest);
    }
    *found = '\0';
    clock_gettime(CLOCK_MONOTONIC, &from);
    status = call(name, rest);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%s=%s%s", argument, status_name(status), found);
    took_s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    if (took_s >=
        0.99) /* timers of libevent count in steps of 4 ms, and may come that much early */
        printf(" after %.1f s", took_s);
    printf("\n");
    fflush(stdout);
    free(text);
}

int main(int argc, char **argv)
{
    pmix_value_t *value = NULL;
    pmix_proc_t job;

    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 1;
    PMIX_LOAD_PROCID(&job, self.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS)
        return 1;
    world_size = value->data.uint32;
    for (int i = 1; i < argc; i++)
        report(argv[i]);
    return PMIx_Finalize(NULL, 0) != PMIX_SUCCESS;
}
