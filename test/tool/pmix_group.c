/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that makes groups: pmix_group CALL...  Each rank prints a line "rank R: CALL=STATUS" for each call
 * that is not a fence of the job, and " context=N" after a construct that asks for one and gets it.
 *
 *     construct:NAME:RANKS[:OPTION...]  RANKS: a list with commas, of "3", "all", "2.all" (job 2); c: wants a context, tN: a time limit of N s,
 *                                       iKEY: the rank's number under this key as data of the group,
 *                                       x: a directive that there is not, marked as required
 *     both:NAME:NAME                    two constructs of all ranks under way at once, in this order
 *     begin:NAME:RANKS                  a construct that nobody waits for, and that says nothing
 *     destruct:NAME[:OPTION...]
 *     accept decline                    from now on, who is invited joins, or does not
 *     invite:NAME:RANKS[:OPTION...]     waits for their answers
 *     joined                            waits until a group that it has joined is complete; prints "joined NAME"
 *     ask:NAME:RANKS                    an invitation that nobody waits for
 *     refused                           waits until somebody has declined that; prints "refused by RANK"
 *     put:KEY get:RANK:KEY              a value of the rank's number; the value is printed
 *     got:RANK:KEY                      likewise, of the data of the last group that has a context
 *     fence[:NAME]                      of the job, or of the group
 *     sleep:MS exit:STATUS
 *     meet:FILE:COUNT                   adds a byte to a file and waits until it has so many
 *     rN:CALL                           on rank N only; rN-M:CALL on several
 *
 * "pmix_group version" prints the first number of libpmix's version.
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define RANKS_MAX   64
#define OPTIONS_MAX 3

static pmix_proc_t self;
static size_t last_context;

static const char *next_word(char **rest)
{
    const char *word = *rest == NULL ? NULL : strsep(rest, ":");

    return word == NULL ? "" : word;
}

/* "3", "all", and of another job of the instance "2.3", "2.all". */
static void parse_rank(const char *word, pmix_proc_t *proc)
{
    const char *job = strchr(word, '.'), *end = strrchr(self.nspace, '-');
    const char *rank = job != NULL ? job + 1 : word;
    char namespace[PMIX_MAX_NSLEN + 1];

    if (job != NULL && end != NULL)
        snprintf(namespace, sizeof(namespace), "%.*s-%d", (int)(end - self.nspace), self.nspace,
                 atoi(word));
    else
        snprintf(namespace, sizeof(namespace), "%s", self.nspace);
    PMIX_LOAD_PROCID(proc, namespace,
                     strcmp(rank, "all") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(rank));
}

static size_t parse_ranks(const char *text, pmix_proc_t *procs)
{
    char *copy = strdup(text), *rest = copy, *word;
    size_t count = 0;

    for (; (word = strsep(&rest, ",")) != NULL && count < RANKS_MAX; count++)
        parse_rank(word, &procs[count]);
    free(copy);
    return count;
}

static void load_data(pmix_info_t *info, const char *key)
{
    pmix_data_array_t array;

    PMIX_DATA_ARRAY_CONSTRUCT(&array, 1, PMIX_INFO);
    PMIX_INFO_LOAD((pmix_info_t *)array.array, key, &self.rank, PMIX_UINT32);
    PMIX_INFO_LOAD(info, PMIX_GROUP_INFO, &array, PMIX_DATA_ARRAY);
    PMIX_INFO_REQUIRED(info);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

static size_t parse_options(char *rest, pmix_info_t *info)
{
    size_t count = 0;

    for (const char *word = next_word(&rest); *word != '\0' && count < OPTIONS_MAX;
         word = next_word(&rest)) {
        uint32_t seconds = (uint32_t)atoi(word + 1);

        if (*word == 'c')
            PMIX_INFO_LOAD(&info[count], PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
        else if (*word == 't')
            PMIX_INFO_LOAD(&info[count], PMIX_TIMEOUT, &seconds, PMIX_UINT32);
        else if (*word == 'i')
            load_data(&info[count], word + 1);
        else
            PMIX_INFO_LOAD(&info[count], "test.unknown", NULL, PMIX_BOOL);
        if (*word == 'x')
            PMIX_INFO_REQUIRED(&info[count]);
        count++;
    }
    return count;
}

static void say(const char *call, const char *what, pmix_status_t status,
                const pmix_info_t *results, size_t count)
{
    char context[48] = "";
    size_t number;

    for (size_t i = 0; i < count; i++) {
        pmix_status_t rc;

        if (strcmp(results[i].key, PMIX_GROUP_CONTEXT_ID) != 0)
            continue;
        PMIX_VALUE_GET_NUMBER(rc, &results[i].value, number, size_t);
        if (rc != PMIX_SUCCESS || number == SIZE_MAX)
            continue;
        snprintf(context, sizeof(context), " context=%zu", number);
        last_context = number;
    }
    printf("rank %u: %s %s=%s%s\n", self.rank, call, what, status_name(status), context);
    fflush(stdout);
}

static void construct(char *rest)
{
    const char *name = next_word(&rest);
    pmix_proc_t procs[RANKS_MAX];
    size_t procs_count = parse_ranks(next_word(&rest), procs), count = 0;
    pmix_info_t info[OPTIONS_MAX], *results = NULL;
    size_t info_count = parse_options(rest, info);
    pmix_status_t status =
        PMIx_Group_construct(name, procs, procs_count, info, info_count, &results, &count);

    say("construct", name, status, results, status == PMIX_SUCCESS ? count : 0);
}

static void on_begun(pmix_status_t status, pmix_info_t *info, size_t count, void *context,
                     pmix_release_cbfunc_t release, void *release_context)
{
    if (release != NULL)
        release(release_context);
}

static void begin(char *rest)
{
    const char *name = next_word(&rest);
    pmix_proc_t procs[RANKS_MAX];
    size_t count = parse_ranks(next_word(&rest), procs);
    pmix_status_t status = PMIx_Group_construct_nb(name, procs, count, NULL, 0, on_begun, NULL);

    if (status != PMIX_SUCCESS)
        say("begin", name, status, NULL, 0);
}

static void destruct(char *rest)
{
    const char *name = next_word(&rest);
    pmix_info_t info[OPTIONS_MAX];
    size_t info_count = parse_options(rest, info);

    say("destruct", name, PMIx_Group_destruct(name, info, info_count), NULL, 0);
}

/* ---- Two at once ---- */

struct pending {
    const char *name;
    int done;
    pmix_status_t status;
    pmix_info_t context;
    size_t count;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void on_constructed(pmix_status_t status, pmix_info_t *info, size_t count, void *context,
                           pmix_release_cbfunc_t release, void *release_context)
{
    struct pending *pending = context;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(info[i].key, PMIX_GROUP_CONTEXT_ID) != 0)
            continue;
        PMIX_INFO_XFER(&pending->context, &info[i]);
        pending->count = 1;
    }
    pending->status = status;
    pending->done = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    if (release != NULL)
        release(release_context);
}

static void both(char *rest)
{
    struct pending pending[2] = {{.name = next_word(&rest)}, {.name = next_word(&rest)}};
    pmix_proc_t all;
    pmix_info_t info;

    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
    for (int i = 0; i < 2; i++) {
        pmix_status_t status = PMIx_Group_construct_nb(pending[i].name, &all, 1, &info, 1,
                                                       on_constructed, &pending[i]);

        if (status != PMIX_SUCCESS)
            on_constructed(status, NULL, 0, &pending[i], NULL, NULL);
    }
    pthread_mutex_lock(&mutex);
    while (!pending[0].done || !pending[1].done)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++)
        say("construct", pending[i].name, pending[i].status, &pending[i].context, pending[i].count);
}

/* ---- The rest ---- */

static void put(const char *key)
{
    pmix_value_t value = {.type = PMIX_UINT32, .data.uint32 = self.rank};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);

    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    if (status != PMIX_SUCCESS)
        say("put", key, status, NULL, 0);
}

static void get(const char *call, char *rest, const pmix_info_t *info, size_t count)
{
    const char *rank = next_word(&rest), *key = next_word(&rest);
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    pmix_status_t status;

    parse_rank(rank, &proc);
    status = PMIx_Get(&proc, key, info, count, &value);
    if (status == PMIX_SUCCESS)
        printf("rank %u: %s %s=%u\n", self.rank, call, key, value->data.uint32);
    else
        say(call, key, status, NULL, 0);
    fflush(stdout);
}

static void got(char *rest)
{
    pmix_info_t info;

    PMIX_INFO_LOAD(&info, PMIX_GROUP_CONTEXT_ID, &last_context, PMIX_SIZE);
    PMIX_INFO_SET_QUALIFIER(&info);
    get("got", rest, &info, 1);
}

static void fence(const char *name)
{
    pmix_proc_t group;

    PMIX_LOAD_PROCID(&group, name, PMIX_RANK_WILDCARD);
    if (*name == '\0')
        (void)PMIx_Fence(NULL, 0, NULL, 0);
    else
        say("fence", name, PMIx_Fence(&group, 1, NULL, 0), NULL, 0);
}

/* ---- Invitations ---- */

static pmix_group_opt_t answer;
static char complete[64]; /* the group that is */
static char decliner[16];

static const char *group_of(const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ID))
            return info[i].value.data.string;
    }
    return "";
}

static void on_invited(size_t id, pmix_status_t status, const pmix_proc_t *source,
                       pmix_info_t info[], size_t info_count, pmix_info_t *results,
                       size_t results_count, pmix_event_notification_cbfunc_fn_t done,
                       void *context)
{
    if (!PMIX_CHECK_PROCID(source, &self))
        (void)PMIx_Group_join_nb(group_of(info, info_count), source, answer, NULL, 0, NULL, NULL);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static void on_complete(size_t id, pmix_status_t status, const pmix_proc_t *source,
                        pmix_info_t info[], size_t info_count, pmix_info_t *results,
                        size_t results_count, pmix_event_notification_cbfunc_fn_t done,
                        void *context)
{
    pthread_mutex_lock(&mutex);
    snprintf(complete, sizeof(complete), "%s", group_of(info, info_count));
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static void on_declined(size_t id, pmix_status_t status, const pmix_proc_t *source,
                        pmix_info_t info[], size_t info_count, pmix_info_t *results,
                        size_t results_count, pmix_event_notification_cbfunc_fn_t done,
                        void *context)
{
    pthread_mutex_lock(&mutex);
    snprintf(decliner, sizeof(decliner), "%u", source->rank);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, context);
}

static void on_event_of(pmix_status_t code, pmix_notification_fn_t handler)
{
    pmix_status_t status = PMIx_Register_event_handler(&code, 1, NULL, 0, handler, NULL, NULL);

    if (status < 0)
        say("register", "", status, NULL, 0);
}

static void await_invitations(pmix_group_opt_t option)
{
    answer = option;
    on_event_of(PMIX_GROUP_INVITED, on_invited);
    on_event_of(PMIX_GROUP_CONSTRUCT_COMPLETE, on_complete);
    on_event_of(PMIX_GROUP_INVITE_DECLINED, on_declined);
}

static void invite(char *rest)
{
    const char *name = next_word(&rest);
    pmix_proc_t procs[RANKS_MAX];
    size_t count = parse_ranks(next_word(&rest), procs), results_count = 0;
    pmix_info_t info[OPTIONS_MAX], *results = NULL;
    size_t info_count = parse_options(rest, info);
    pmix_status_t status =
        PMIx_Group_invite(name, procs, count, info, info_count, &results, &results_count);

    say("invite", name, status, results, results_count);
}

static void joined(void)
{
    pthread_mutex_lock(&mutex);
    while (complete[0] == '\0')
        pthread_cond_wait(&changed, &mutex);
    printf("rank %u: joined %s\n", self.rank, complete);
    fflush(stdout);
    complete[0] = '\0';
    pthread_mutex_unlock(&mutex);
}

/* libpmix's own handler, for several codes, does not pass an answer on; ours, for one code, comes before it. */
static void ask(char *rest)
{
    const char *name = next_word(&rest);
    pmix_proc_t procs[RANKS_MAX];
    size_t count = parse_ranks(next_word(&rest), procs);
    pmix_status_t status = PMIx_Group_invite_nb(name, procs, count, NULL, 0, NULL, NULL);

    say("ask", name, status, NULL, 0);
}

static void refused(void)
{
    pthread_mutex_lock(&mutex);
    while (decliner[0] == '\0')
        pthread_cond_wait(&changed, &mutex);
    printf("rank %u: refused by %s\n", self.rank, decliner);
    fflush(stdout);
    pthread_mutex_unlock(&mutex);
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void meet(char *rest)
{
    const char *path = next_word(&rest);
    off_t count = atoi(next_word(&rest));
    FILE *file = fopen(path, "a");
    struct stat state = {0};

    if (file == NULL || fputc('.', file) == EOF || fclose(file) != 0)
        return;
    while (stat(path, &state) == 0 && state.st_size < count)
        sleep_ms(20);
}

static int is_for_me(char **text)
{
    unsigned int first, last;
    int bytes = 0;

    if (sscanf(*text, "r%u-%u:%n", &first, &last, &bytes) < 2 || bytes == 0) {
        bytes = 0;
        if (sscanf(*text, "r%u:%n", &first, &bytes) < 1 || bytes == 0)
            return 1;
        last = first;
    }
    *text += bytes;
    return self.rank >= first && self.rank <= last;
}

static void call(char *text)
{
    const char *name;

    if (!is_for_me(&text))
        return;
    name = next_word(&text);
    if (strcmp(name, "construct") == 0)
        construct(text);
    else if (strcmp(name, "begin") == 0)
        begin(text);
    else if (strcmp(name, "both") == 0)
        both(text);
    else if (strcmp(name, "destruct") == 0)
        destruct(text);
    else if (strcmp(name, "accept") == 0 || strcmp(name, "decline") == 0)
        await_invitations(*name == 'a' ? PMIX_GROUP_ACCEPT : PMIX_GROUP_DECLINE);
    else if (strcmp(name, "invite") == 0)
        invite(text);
    else if (strcmp(name, "joined") == 0)
        joined();
    else if (strcmp(name, "ask") == 0)
        ask(text);
    else if (strcmp(name, "refused") == 0)
        refused();
    else if (strcmp(name, "put") == 0)
        put(next_word(&text));
    else if (strcmp(name, "get") == 0)
        get(name, text, NULL, 0);
    else if (strcmp(name, "got") == 0)
        got(text);
    else if (strcmp(name, "fence") == 0)
        fence(next_word(&text));
    else if (strcmp(name, "sleep") == 0)
        sleep_ms(atol(next_word(&text)));
    else if (strcmp(name, "meet") == 0)
        meet(text);
    else if (strcmp(name, "exit") == 0)
        exit(atoi(next_word(&text)));
    else
        printf("rank %u: no call %s\n", self.rank, name);
}

int main(int argc, char **argv)
{
    const char *version = PMIx_Get_version();
    pmix_status_t status;

    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        printf("%d\n", atoi(version + strcspn(version, "0123456789")));
        return 0;
    }
    status = PMIx_Init(&self, NULL, 0);

    if (status != PMIX_SUCCESS) {
        printf("PMIx_Init: %s\n", status_name(status));
        return 1;
    }
    for (int i = 1; i < argc; i++)
        call(argv[i]);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
