/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that raises events and counts those that it gets: pmix_events CALL...  At its end each rank
 * prints a line "rank R: HANDLER CODE from SOURCE [about RANK...] xCOUNT" for each event that a handler got, in the order
 * of arrival; SOURCE is a rank, or "host" if no process of the job has raised it.
 *
 *     on:HANDLER[:CODE,...]     registers a handler, without codes a default one
 *     stop:HANDLER[:CODE,...]   the same, but the chain of handlers ends with it
 *     off:HANDLER               deregisters it
 *     notify:CODE:RANGE[:RANK,...]  RANGE: proc local namespace session global custom (of these ranks)
 *     special:CODE:RANGE        not for default handlers
 *     late:CODE:RANGE           not to be kept for handlers that are registered later
 *     flood:CODE:COUNT          raises so many for the session, and prints how many were accepted
 *     await:COUNT               until so many events have come in all, for at most 20 s
 *     fence[:RANK,...]          of all ranks, or of these
 *     connect get:RANK:KEY put:KEY abort:STATUS[:RANK,...]
 *     spawn:COMMAND             a job of one process, sh -c COMMAND
 *     gone:FILE                 the process whose number is in it has ended
 *     sleep:MS exit:STATUS raise:SIGNAL
 *     rN:CALL                   on rank N only; rN-M:CALL on several
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HANDLERS_MAX 16
#define EVENTS_MAX   64
#define CODES_MAX    8
#define RANKS_MAX    64
#define TEXT_KEY     "test.text"

struct handler {
    char name[32];
    size_t id;
    int stops;
};

struct event {
    char text[128];
    int count;
};

static pmix_proc_t self;
static struct handler handlers[HANDLERS_MAX];
static int handlers_count;
static struct event events[EVENTS_MAX];
static int events_count, came;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *next_word(char **rest)
{
    const char *word = *rest == NULL ? NULL : strsep(rest, ":");

    return word == NULL ? "" : word;
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* ---- Handlers ---- */

static void add_process(char *text, size_t text_bytes, const pmix_proc_t *proc)
{
    size_t length = strlen(text);

    if (proc->rank == PMIX_RANK_WILDCARD)
        snprintf(text + length, text_bytes - length, " all");
    else
        snprintf(text + length, text_bytes - length, " %u", proc->rank);
}

static void describe(char *text, size_t text_bytes, const pmix_proc_t *source,
                     const pmix_info_t *info, size_t info_count)
{
    size_t length = strlen(text);

    if (PMIX_CHECK_NSPACE(source->nspace, self.nspace))
        snprintf(text + length, text_bytes - length, " from %u", source->rank);
    else
        snprintf(text + length, text_bytes - length, " from host");
    for (size_t i = 0; i < info_count; i++) {
        const pmix_value_t *value = &info[i].value;

        length = strlen(text);
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
            snprintf(text + length, text_bytes - length, " about");
            add_process(text, text_bytes, value->data.proc);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROCS)) {
            snprintf(text + length, text_bytes - length, " about");
            for (size_t j = 0; j < value->data.darray->size; j++)
                add_process(text, text_bytes, &((pmix_proc_t *)value->data.darray->array)[j]);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE)) {
            snprintf(text + length, text_bytes - length, " status %d", value->data.integer);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_HOSTNAME)) {
            snprintf(text + length, text_bytes - length, " on %s", value->data.string);
        } else if (PMIX_CHECK_KEY(&info[i], TEXT_KEY)) {
            snprintf(text + length, text_bytes - length, " %s", value->data.string);
        }
    }
}

static void count(const char *text)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < events_count; i++) {
        if (strcmp(events[i].text, text) == 0) {
            events[i].count++;
            came++;
            pthread_mutex_unlock(&mutex);
            return;
        }
    }
    if (events_count < EVENTS_MAX) {
        snprintf(events[events_count].text, sizeof(events[0].text), "%s", text);
        events[events_count++].count = 1;
    }
    came++;
    pthread_mutex_unlock(&mutex);
}

static void on_event(size_t id, pmix_status_t code, const pmix_proc_t *source, pmix_info_t info[],
                     size_t info_count, pmix_info_t *results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t callback, void *context)
{
    const struct handler *handler = NULL;
    char text[128];

    (void)results;
    (void)results_count;
    for (size_t i = 0; i < info_count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_RETURN_OBJECT))
            handler = info[i].value.data.ptr;
    }
    (void)id;
    snprintf(text, sizeof(text), "%s %d", handler == NULL ? "?" : handler->name, code);
    describe(text, sizeof(text), source, info, info_count);
    count(text);
    if (callback != NULL)
        callback(handler != NULL && handler->stops ? PMIX_EVENT_ACTION_COMPLETE : PMIX_SUCCESS,
                 NULL, 0, NULL, NULL, context);
}

static size_t parse_codes(char *list, pmix_status_t *codes)
{
    size_t number = 0;
    char *word;

    while (list != NULL && (word = strsep(&list, ",")) != NULL && number < CODES_MAX) {
        if (*word != '\0')
            codes[number++] = atoi(word);
    }
    return number;
}

static pmix_status_t register_handler(char *rest, int stops)
{
    struct handler *handler = &handlers[handlers_count++];
    pmix_status_t codes[CODES_MAX], status;
    pmix_info_t info[2];
    size_t number;

    snprintf(handler->name, sizeof(handler->name), "%s", next_word(&rest));
    handler->stops = stops;
    number = parse_codes(rest, codes);
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_HDLR_NAME, handler->name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_RETURN_OBJECT, handler, PMIX_POINTER);
    /* Without a callback it returns the number of the handler, or an error. */
    status = PMIx_Register_event_handler(number > 0 ? codes : NULL, number, info, 2, on_event, NULL,
                                         NULL);
    handler->id = (size_t)status;
    return status < 0 ? status : PMIX_SUCCESS;
}

static pmix_status_t deregister_handler(const char *name)
{
    for (int i = 0; i < handlers_count; i++) {
        if (strcmp(handlers[i].name, name) == 0)
            return PMIx_Deregister_event_handler(handlers[i].id, NULL, NULL);
    }
    return PMIX_ERR_NOT_FOUND;
}

/* ---- Calls ---- */

static size_t parse_ranks(char *list, pmix_proc_t *procs)
{
    size_t number = 0;
    char *word;

    while (list != NULL && (word = strsep(&list, ",")) != NULL && number < RANKS_MAX) {
        PMIX_LOAD_PROCID(&procs[number], self.nspace, (pmix_rank_t)atoi(word));
        number++;
    }
    return number;
}

static pmix_data_range_t range_of(const char *name)
{
    static const struct {
        const char *name;
        pmix_data_range_t range;
    } ranges[] = {{"proc", PMIX_RANGE_PROC_LOCAL},     {"local", PMIX_RANGE_LOCAL},
                  {"namespace", PMIX_RANGE_NAMESPACE}, {"session", PMIX_RANGE_SESSION},
                  {"global", PMIX_RANGE_GLOBAL},       {"custom", PMIX_RANGE_CUSTOM}};

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (strcmp(ranges[i].name, name) == 0)
            return ranges[i].range;
    }
    return PMIX_RANGE_INVALID;
}

struct answer {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    int is_there;
    pmix_status_t status;
};

static void on_answer(pmix_status_t status, void *context)
{
    struct answer *answer = context;

    pthread_mutex_lock(&answer->mutex);
    answer->status = status;
    answer->is_there = 1;
    pthread_cond_signal(&answer->came);
    pthread_mutex_unlock(&answer->mutex);
}

/* libpmix needs info until it has answered. */
static pmix_status_t notify_and_wait(pmix_status_t code, pmix_data_range_t range, pmix_info_t *info,
                                     size_t info_count)
{
    struct answer answer = {.mutex = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
    pmix_status_t status =
        PMIx_Notify_event(code, &self, range, info, info_count, on_answer, &answer);

    if (status != PMIX_SUCCESS)
        return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    pthread_mutex_lock(&answer.mutex);
    while (!answer.is_there)
        pthread_cond_wait(&answer.came, &answer.mutex);
    pthread_mutex_unlock(&answer.mutex);
    return answer.status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : answer.status;
}

static pmix_status_t notify(char *rest, const char *directive)
{
    pmix_status_t code = atoi(next_word(&rest)), status;
    pmix_data_range_t range = range_of(next_word(&rest));
    pmix_proc_t procs[RANKS_MAX];
    pmix_data_array_t *targets;
    pmix_info_t info[3];
    char text[32];
    size_t number = 0;

    snprintf(text, sizeof(text), "text-%u", self.rank);
    PMIX_INFO_LOAD(&info[0], TEXT_KEY, text, PMIX_STRING);
    number = 1;
    if (directive != NULL) {
        PMIX_INFO_LOAD(&info[1], directive, NULL, PMIX_BOOL);
        number = 2;
    }
    if (range == PMIX_RANGE_CUSTOM) {
        size_t count = parse_ranks(rest, procs);

        PMIX_DATA_ARRAY_CREATE(targets, count, PMIX_PROC);
        memcpy(targets->array, procs, count * sizeof(procs[0]));
        PMIX_LOAD_KEY(info[number].key, PMIX_EVENT_CUSTOM_RANGE);
        info[number].flags = 0;
        info[number].value.type = PMIX_DATA_ARRAY;
        info[number++].value.data.darray = targets;
    }
    status = notify_and_wait(code, range, info, number);
    for (size_t i = 0; i < number; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    return status;
}

static pmix_status_t flood(char *rest)
{
    const char *code = next_word(&rest);
    int wanted = atoi(next_word(&rest)), accepted = 0;

    for (int i = 0; i < wanted; i++) {
        char *one = NULL;

        if (asprintf(&one, "%s:session", code) < 0)
            return PMIX_ERR_NOMEM;
        accepted += notify(one, NULL) == PMIX_SUCCESS;
        free(one);
    }
    printf("accepted %d\n", accepted);
    return PMIX_SUCCESS;
}

static pmix_status_t await(int wanted)
{
    for (int i = 0; i < 2000; i++) {
        int now;

        pthread_mutex_lock(&mutex);
        now = came;
        pthread_mutex_unlock(&mutex);
        if (now >= wanted)
            return PMIX_SUCCESS;
        sleep_ms(10);
    }
    return PMIX_ERR_TIMEOUT;
}

static pmix_status_t fence(char *rest)
{
    pmix_proc_t procs[RANKS_MAX];
    size_t number = parse_ranks(rest, procs);

    return PMIx_Fence(number > 0 ? procs : NULL, number, NULL, 0);
}

static pmix_status_t connect_all(void)
{
    pmix_proc_t all;

    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    return PMIx_Connect(&all, 1, NULL, 0);
}

static pmix_status_t put(const char *key)
{
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = self.rank};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);

    return status == PMIX_SUCCESS ? PMIx_Commit() : status;
}

static pmix_status_t get(char *rest)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_status_t status;

    PMIX_LOAD_PROCID(&proc, self.nspace, (pmix_rank_t)atoi(next_word(&rest)));
    status = PMIx_Get(&proc, next_word(&rest), NULL, 0, &value);
    if (status == PMIX_SUCCESS)
        PMIX_VALUE_RELEASE(value);
    return status;
}

static pmix_status_t abort_ranks(char *rest)
{
    int code = atoi(next_word(&rest));
    pmix_proc_t procs[RANKS_MAX];
    size_t number = parse_ranks(rest, procs);

    return PMIx_Abort(code, "enough", number > 0 ? procs : NULL, number);
}

static pmix_status_t spawn(const char *command)
{
    pmix_app_t app;
    pmix_nspace_t namespace;
    pmix_status_t status;

    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup("/bin/sh");
    PMIX_ARGV_APPEND(status, app.argv, "/bin/sh");
    PMIX_ARGV_APPEND(status, app.argv, "-c");
    PMIX_ARGV_APPEND(status, app.argv, command);
    app.maxprocs = 1;
    status = PMIx_Spawn(NULL, 0, &app, 1, namespace);
    PMIX_APP_DESTRUCT(&app);
    return status;
}

static pmix_status_t is_gone(const char *path)
{
    FILE *file = fopen(path, "r");
    int pid = 0;

    if (file == NULL)
        return PMIX_ERR_NOT_FOUND;
    if (fscanf(file, "%d", &pid) != 1)
        pid = 0;
    fclose(file);
    return pid > 0 && kill(pid, 0) < 0 ? PMIX_SUCCESS : PMIX_ERR_EXISTS;
}

static pmix_status_t wait_ms(const char *ms)
{
    sleep_ms(atoi(ms));
    return PMIX_SUCCESS;
}

static pmix_status_t call(char *text)
{
    const char *name = next_word(&text);

    if (strcmp(name, "on") == 0 || strcmp(name, "stop") == 0)
        return register_handler(text, name[0] == 's');
    if (strcmp(name, "off") == 0)
        return deregister_handler(next_word(&text));
    if (strcmp(name, "notify") == 0)
        return notify(text, NULL);
    if (strcmp(name, "special") == 0)
        return notify(text, PMIX_EVENT_NON_DEFAULT);
    if (strcmp(name, "late") == 0)
        return notify(text, PMIX_EVENT_DO_NOT_CACHE);
    if (strcmp(name, "flood") == 0)
        return flood(text);
    if (strcmp(name, "await") == 0)
        return await(atoi(next_word(&text)));
    if (strcmp(name, "fence") == 0)
        return fence(text);
    if (strcmp(name, "connect") == 0)
        return connect_all();
    if (strcmp(name, "put") == 0)
        return put(next_word(&text));
    if (strcmp(name, "get") == 0)
        return get(text);
    if (strcmp(name, "abort") == 0)
        return abort_ranks(text);
    if (strcmp(name, "spawn") == 0)
        return spawn(text);
    if (strcmp(name, "gone") == 0)
        return is_gone(next_word(&text));
    if (strcmp(name, "sleep") == 0)
        return wait_ms(next_word(&text));
    if (strcmp(name, "exit") == 0)
        _exit(atoi(next_word(&text)));
    if (strcmp(name, "raise") == 0)
        raise(atoi(next_word(&text)));
    return PMIX_ERR_BAD_PARAM;
}

/* rN: and rN-M: say who makes the call. */
static int is_mine(char **text)
{
    unsigned int first, last;
    int read_bytes = 0;

    if (sscanf(*text, "r%u-%u:%n", &first, &last, &read_bytes) == 2 && read_bytes > 0) {
        *text += read_bytes;
        return self.rank >= first && self.rank <= last;
    }
    read_bytes = 0;
    if (sscanf(*text, "r%u:%n", &first, &read_bytes) == 1 && read_bytes > 0) {
        *text += read_bytes;
        return self.rank == first;
    }
    return 1;
}

static void print_events(void)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < events_count; i++)
        printf("rank %u: %s x%d\n", self.rank, events[i].text, events[i].count);
    pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
    pmix_status_t status = PMIx_Init(&self, NULL, 0);

    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "# PMIx_Init: %s\n", status_name(status));
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        char *text = strdup(argv[i]), *start = text;

        if (is_mine(&start)) {
            status = call(start);
            if (status != PMIX_SUCCESS)
                printf("rank %u: %s=%s\n", self.rank, argv[i], status_name(status));
        }
        free(text);
    }
    print_events();
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
