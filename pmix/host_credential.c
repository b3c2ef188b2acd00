/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_credential.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "pmix/host_client.h"
#include "pmix/host_internal.h"
#include "pmix/host_munge.h"
#include "pmix/host_status.h"
#include "pmix/host_thread.h"

#include <pmix.h>

#define TYPE_MUNGE "munge"
/* Without PMIX_TIMEOUT; libmunge gives up before. */
#define LIMIT_S  30u
#define OPEN_MAX 4096u /* requests; each is libpmix's memory, too */
#define MS_PER_S 1000

enum state { STATE_WAITING, STATE_ASKED, STATE_ANSWERED, STATE_COUNT };

struct credential {
    struct host_call call;   /* posted when it has been answered */
    struct credential *next; /* of those that are open */
    enum state state;
    pmix_proc_t caller;
    const pmix_byte_object_t *bytes; /* libpmix's until the callback; NULL: one is requested */
    uint32_t limit_s;
    int64_t end_ms;
    struct host_munge_answer answer;
    pmix_credential_cbfunc_t got; /* one of the two; both are NULL when libpmix has its answer */
    pmix_validation_cbfunc_t validated;
    void *context;
};

static struct {
    pthread_mutex_t mutex; /* guards all, and the states; libpmix is not called with it held */
    pthread_cond_t asking; /* there is a new request */
    pthread_cond_t timing; /* there is a new time limit; of the monotonic clock */
    struct credential *first;
    struct credential *last;
    size_t count;
    struct credential *asked; /* by the thread; NULL: none, or one that has been answered since */
    int has_clock;            /* the threads that run */
    int has_asker;
} desk = {.mutex = PTHREAD_MUTEX_INITIALIZER, .asking = PTHREAD_COND_INITIALIZER};

static const char *const known[] = {PMIX_CRED_TYPE, PMIX_TIMEOUT, NULL};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

/* ---- The answer, on the main thread ---- */

static void credential_say(const struct credential *credential)
{
    char *text;

    if (credential->answer.why[0] == '\0')
        return;
    text = memory_printf("MUNGE cannot %s on %s: %s\n",
                         credential->bytes == NULL ? "make a credential" : "validate a credential",
                         host_self()->node_name, credential->answer.why);
    host_client_say(&credential->caller, text);
}

/* PMIx 4.1, Security: the type, and the owner of what has been validated. */
static void credential_give(struct credential *credential)
{
    struct host_munge_answer *answer = &credential->answer;
    int is_success = answer->status == PMIX_SUCCESS;
    pmix_info_t info[3];
    size_t count = 0;

    assert((credential->got == NULL) != (credential->validated == NULL));
    if (is_success)
        PMIX_INFO_LOAD(&info[count++], PMIX_CRED_TYPE, TYPE_MUNGE, PMIX_STRING);
    if (is_success && credential->validated != NULL) {
        PMIX_INFO_LOAD(&info[count++], PMIX_USERID, &answer->uid, PMIX_UINT32);
        PMIX_INFO_LOAD(&info[count++], PMIX_GRPID, &answer->gid, PMIX_UINT32);
    }
    if (credential->validated != NULL) {
        credential->validated(answer->status, count > 0 ? info : NULL, count, credential->context);
    } else {
        pmix_byte_object_t bytes = {.bytes = answer->credential,
                                    .size = is_success ? strlen(answer->credential) + 1 : 0};

        credential->got(answer->status, is_success ? &bytes : NULL, count > 0 ? info : NULL, count,
                        credential->context);
    }
    for (size_t i = 0; i < count; i++)
        PMIX_INFO_DESTRUCT(&info[i]);
    credential->got = NULL;
    credential->validated = NULL;
}

static void credential_free(struct credential *credential)
{
    host_munge_answer_fini(&credential->answer);
    free(credential);
}

/* With the mutex held. */
static void desk_remove(struct credential *credential)
{
    struct credential *before = NULL, *at = desk.first;

    for (; at != credential; at = at->next)
        before = at;
    if (before == NULL)
        desk.first = credential->next;
    else
        before->next = credential->next;
    if (desk.last == credential)
        desk.last = before;
    if (desk.asked == credential)
        desk.asked = NULL;
    desk.count--;
}

static void credential_run(struct host *host, struct host_call *call)
{
    struct credential *credential = (struct credential *)call;

    assert(host == host_self() && credential->state == STATE_ANSWERED);
    pthread_mutex_lock(&desk.mutex);
    desk_remove(credential);
    pthread_mutex_unlock(&desk.mutex);
    if (credential->got != NULL || credential->validated != NULL) {
        credential_say(credential);
        credential_give(credential);
    }
    credential_free(credential);
}

/* With the mutex held; by whichever thread has the answer first. */
static void credential_finish(struct credential *credential)
{
    assert(credential->state < STATE_ANSWERED);
    credential->state = STATE_ANSWERED;
    credential->call.run = credential_run;
    host_thread_post(&credential->call);
}

static struct credential *open_of(const char *namespace)
{
    struct credential *credential = desk.first;

    while (credential != NULL && (strcmp(credential->caller.nspace, namespace) != 0 ||
                                  (credential->got == NULL && credential->validated == NULL)))
        credential = credential->next;
    return credential;
}

/* What has been posted already is freed when its turn comes. */
void host_credential_fail(struct host *host, const char *namespace, int status)
{
    struct credential *credential;
    int is_posted;

    assert(host == host_self() && status < 0);
    for (;;) {
        pthread_mutex_lock(&desk.mutex);
        credential = open_of(namespace);
        is_posted = credential != NULL && credential->state == STATE_ANSWERED;
        if (credential != NULL && !is_posted)
            desk_remove(credential);
        pthread_mutex_unlock(&desk.mutex);
        if (credential == NULL)
            return;
        if (!is_posted)
            credential->answer.status = host_status_from_errno(status);
        credential_give(credential);
        if (!is_posted)
            credential_free(credential);
    }
}

/* ---- The thread that asks munged ---- */

static struct credential *first_waiting(void)
{
    struct credential *credential = desk.first;

    while (credential != NULL && credential->state != STATE_WAITING)
        credential = credential->next;
    return credential;
}

/* A copy of what must be validated: libpmix frees its bytes when the request's time is over. */
static pmix_byte_object_t *work_take(void)
{
    pmix_byte_object_t *copy = NULL;

    pthread_mutex_lock(&desk.mutex);
    while ((desk.asked = first_waiting()) == NULL)
        pthread_cond_wait(&desk.asking, &desk.mutex);
    desk.asked->state = STATE_ASKED;
    if (desk.asked->bytes != NULL) {
        copy = memory_allocate_zeroed(sizeof(*copy));
        copy->size = desk.asked->bytes->size;
        copy->bytes = memory_copy(desk.asked->bytes->bytes, copy->size);
    }
    pthread_mutex_unlock(&desk.mutex);
    return copy;
}

static void work_return(struct host_munge_answer *answer)
{
    pthread_mutex_lock(&desk.mutex);
    if (desk.asked != NULL) {
        desk.asked->answer = *answer;
        credential_finish(desk.asked);
        desk.asked = NULL;
    } else {
        host_munge_answer_fini(answer);
    }
    pthread_mutex_unlock(&desk.mutex);
}

static void *ask_thread(void *context)
{
    assert(context == NULL);
    for (;;) {
        pmix_byte_object_t *bytes = work_take();
        struct host_munge_answer answer;

        if (bytes == NULL) {
            host_munge_encode(&answer);
        } else {
            host_munge_decode(bytes->bytes, bytes->size, &answer);
            explicit_bzero(bytes->bytes, bytes->size);
            free(bytes->bytes);
            free(bytes);
        }
        work_return(&answer);
    }
    return NULL;
}

/* ---- The thread that watches the time ---- */

static void credential_expire(struct credential *credential)
{
    credential->answer = (struct host_munge_answer){.status = PMIX_ERR_TIMEOUT};
    snprintf(credential->answer.why, sizeof(credential->answer.why),
             "munged has not answered within %u s (does it work on this node?)",
             credential->limit_s);
    if (desk.asked == credential)
        desk.asked = NULL;
    credential_finish(credential);
}

/* The next time limit; -1: there is none. */
static int64_t limits_check(int64_t at_ms)
{
    int64_t next_ms = -1;

    for (struct credential *credential = desk.first; credential != NULL;
         credential = credential->next) {
        if (credential->state == STATE_ANSWERED)
            continue;
        if (credential->end_ms <= at_ms)
            credential_expire(credential);
        else if (next_ms < 0 || credential->end_ms < next_ms)
            next_ms = credential->end_ms;
    }
    return next_ms;
}

static void *time_thread(void *context)
{
    assert(context == NULL);
    pthread_mutex_lock(&desk.mutex);
    for (;;) {
        int64_t next_ms = limits_check(now_ms());
        struct timespec until = {.tv_sec = next_ms / MS_PER_S,
                                 .tv_nsec = next_ms % MS_PER_S * 1000000};

        if (next_ms < 0)
            pthread_cond_wait(&desk.timing, &desk.mutex);
        else
            (void)pthread_cond_timedwait(&desk.timing, &desk.mutex, &until);
    }
    return NULL;
}

static int thread_start(void *(*run)(void *context), int *is_running)
{
    pthread_t thread;

    if (!*is_running && pthread_create(&thread, NULL, run, NULL) == 0) {
        (void)pthread_detach(thread);
        *is_running = 1;
    }
    return *is_running;
}

static void clock_init(void)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&desk.timing, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* With the mutex held; 1 if both run.  Like libpmix's threads they get no signals. */
static int threads_start(void)
{
    sigset_t all, old;
    int is_running;

    if (desk.has_clock && desk.has_asker)
        return 1;
    if (!desk.has_clock)
        clock_init();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    is_running =
        thread_start(time_thread, &desk.has_clock) && thread_start(ask_thread, &desk.has_asker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return is_running;
}

/* ---- The upcalls ---- */

static int list_has(const char *list, const char *word)
{
    size_t bytes = strlen(word);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, bytes) == 0 && (at[bytes] == ',' || at[bytes] == '\0'))
            return 1;
    }
    return 0;
}

/* PMIX_CRED_TYPE is a list of types of which one will do. */
static pmix_status_t read_directives(const pmix_info_t *directives, size_t count)
{
    if (host_refuses(directives, count, known))
        return PMIX_ERR_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++) {
        const pmix_value_t *value = &directives[i].value;

        if (!PMIX_CHECK_KEY(&directives[i], PMIX_CRED_TYPE))
            continue;
        if (value->type != PMIX_STRING || value->data.string == NULL)
            return PMIX_ERR_BAD_PARAM;
        if (!list_has(value->data.string, TYPE_MUNGE))
            return PMIX_ERR_NOT_SUPPORTED;
    }
    return PMIX_SUCCESS;
}

/* Takes the request, which is answered later unless this returns an error. */
static pmix_status_t desk_add(struct credential *credential)
{
    pmix_status_t status = PMIX_SUCCESS;

    pthread_mutex_lock(&desk.mutex);
    if (desk.count >= OPEN_MAX || !threads_start()) {
        status = PMIX_ERR_OUT_OF_RESOURCE;
        credential_free(credential);
    } else {
        if (desk.last != NULL)
            desk.last->next = credential;
        else
            desk.first = credential;
        desk.last = credential;
        desk.count++;
        pthread_cond_signal(&desk.asking);
        pthread_cond_signal(&desk.timing);
    }
    pthread_mutex_unlock(&desk.mutex);
    return status;
}

static struct credential *credential_create(const pmix_proc_t *proc, const pmix_info_t *directives,
                                            size_t count, void *context)
{
    struct credential *credential = memory_allocate_zeroed(sizeof(*credential));
    uint32_t limit_s = host_timeout_s(directives, count);

    credential->caller = *proc;
    credential->limit_s = limit_s > 0 ? limit_s : LIMIT_S;
    credential->end_ms = now_ms() + (int64_t)credential->limit_s * MS_PER_S;
    credential->context = context;
    return credential;
}

pmix_status_t host_credential_get(const pmix_proc_t *proc, const pmix_info_t directives[],
                                  size_t directives_count, pmix_credential_cbfunc_t callback,
                                  void *context)
{
    pmix_status_t status = read_directives(directives, directives_count);
    struct credential *credential;

    if (status != PMIX_SUCCESS || callback == NULL)
        return status != PMIX_SUCCESS ? status : PMIX_ERR_BAD_PARAM;
    credential = credential_create(proc, directives, directives_count, context);
    credential->got = callback;
    return desk_add(credential);
}

pmix_status_t host_credential_validate(const pmix_proc_t *proc,
                                       const pmix_byte_object_t *credential,
                                       const pmix_info_t directives[], size_t directives_count,
                                       pmix_validation_cbfunc_t callback, void *context)
{
    pmix_status_t status = read_directives(directives, directives_count);
    struct credential *request;

    if (status != PMIX_SUCCESS || callback == NULL)
        return status != PMIX_SUCCESS ? status : PMIX_ERR_BAD_PARAM;
    if (credential == NULL || credential->bytes == NULL || credential->size == 0 ||
        credential->size > HOST_MUNGE_CREDENTIAL_BYTES_MAX)
        return PMIX_ERR_INVALID_CRED;
    request = credential_create(proc, directives, directives_count, context);
    request->bytes = credential;
    request->validated = callback;
    return desk_add(request);
}
