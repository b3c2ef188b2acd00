/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests for credentials with a munged that does what the test wants, also nothing: who waits, who is answered with
 * what, and that the main thread never waits.  The real one: pmix/host_munge.c in test/system/run_pmix_credential.sh,
 * and for pmix/host_allocation.c run_pmix_calls.sh.
 */
#include "config.h"

#include "pmix/host_credential.h"
#include "test/support/tap.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "pmix/host_client.h"
#include "pmix/host_internal.h"
#include "pmix/host_munge.h"
#include "pmix/host_thread.h"

#include <pmix.h>

#define HANG_S   60
#define OPEN_MAX 4096
#define SECRET   "MUNGE:secret:"

/* ---- The munged of this test ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int is_hanging;
    int asked; /* how often, so far */
    char seen[64];
} munged = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void munged_hang(int is_hanging)
{
    pthread_mutex_lock(&munged.mutex);
    munged.is_hanging = is_hanging;
    pthread_cond_broadcast(&munged.changed);
    pthread_mutex_unlock(&munged.mutex);
}

static int munged_asked(void)
{
    int asked;

    pthread_mutex_lock(&munged.mutex);
    asked = munged.asked;
    pthread_mutex_unlock(&munged.mutex);
    return asked;
}

static void munged_await(int asked)
{
    pthread_mutex_lock(&munged.mutex);
    while (munged.asked < asked)
        pthread_cond_wait(&munged.changed, &munged.mutex);
    pthread_mutex_unlock(&munged.mutex);
}

static void munged_ask(const char *bytes, size_t count)
{
    pthread_mutex_lock(&munged.mutex);
    munged.asked++;
    snprintf(munged.seen, sizeof(munged.seen), "%.*s", (int)count, bytes);
    pthread_cond_broadcast(&munged.changed);
    while (munged.is_hanging)
        pthread_cond_wait(&munged.changed, &munged.mutex);
    pthread_mutex_unlock(&munged.mutex);
}

void host_munge_encode(struct host_munge_answer *ret_answer)
{
    munged_ask("", 0);
    *ret_answer = (struct host_munge_answer){.credential = memory_copy_string(SECRET)};
}

void host_munge_decode(const char *credential, size_t bytes, struct host_munge_answer *ret_answer)
{
    munged_ask(credential, bytes);
    *ret_answer = (struct host_munge_answer){.uid = 17, .gid = 18};
    if (bytes < strlen(SECRET))
        ret_answer->status = PMIX_ERR_INVALID_CRED;
    if (bytes == 1)
        snprintf(ret_answer->why, sizeof(ret_answer->why), "it is broken");
}

void host_munge_answer_fini(struct host_munge_answer *answer)
{
    free(answer->credential);
}

static char said[256];

void host_client_say(const pmix_proc_t *proc, char *text)
{
    snprintf(said, sizeof(said), "%u: %s", proc->rank, text);
    free(text);
}

/* ---- The clients ---- */

struct client {
    pmix_proc_t proc;
    int answers;
    pmix_status_t status;
    char text[128];
    pthread_t thread;
};

static void note(struct client *client, pmix_status_t status, const pmix_info_t *info, size_t count)
{
    client->answers++;
    client->status = status;
    client->thread = pthread_self();
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(client->text), room = sizeof(client->text) - length;

        if (info[i].value.type == PMIX_STRING)
            snprintf(client->text + length, room, " %s=%s", info[i].key, info[i].value.data.string);
        else
            snprintf(client->text + length, room, " %s=%u", info[i].key, info[i].value.data.uint32);
    }
}

static void on_got(pmix_status_t status, pmix_byte_object_t *credential, pmix_info_t info[],
                   size_t count, void *context)
{
    struct client *client = context;

    if (credential != NULL)
        snprintf(client->text, sizeof(client->text), "%s/%zu", credential->bytes, credential->size);
    note(client, status, info, count);
}

static void on_validated(pmix_status_t status, pmix_info_t info[], size_t count, void *context)
{
    note(context, status, info, count);
}

static void client_init(struct client *client, const char *namespace, pmix_rank_t rank)
{
    *client = (struct client){.answers = 0};
    PMIX_LOAD_PROCID(&client->proc, namespace, rank);
}

static pmix_status_t get_within(struct client *client, uint32_t limit_s)
{
    pmix_info_t info;
    pmix_status_t status;

    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit_s, PMIX_UINT32);
    status = host_credential_get(&client->proc, &info, limit_s > 0, on_got, client);
    PMIX_INFO_DESTRUCT(&info);
    return status;
}

static pmix_status_t validate(struct client *client, const pmix_byte_object_t *bytes)
{
    return host_credential_validate(&client->proc, bytes, NULL, 0, on_validated, client);
}

/* Runs what has been posted until so many answers have come to the client. */
static void await(struct host *host, const struct client *client)
{
    struct pollfd fd = {.fd = host_thread_descriptor(), .events = POLLIN};

    while (client->answers == 0) {
        (void)poll(&fd, 1, -1);
        host_thread_run(host);
    }
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- The tests ---- */

static void test_served(struct host *host)
{
    char secret[] = SECRET, letter[] = "x";
    pmix_byte_object_t bytes = {.bytes = secret, .size = sizeof(secret)};
    struct client first, second;

    client_init(&first, "space.1", 0);
    client_init(&second, "space.1", 1);
    is_int(get_within(&first, 0), PMIX_SUCCESS, "a credential is requested");
    is_int(first.answers, 0, "it is never answered in the upcall");
    await(host, &first);
    is_int(first.status, PMIX_SUCCESS, "it comes");
    is_string(first.text, "MUNGE:secret:/14 " PMIX_CRED_TYPE "=munge", "with its end and its type");
    ok(pthread_equal(first.thread, pthread_self()), "on the main thread");
    is_int(validate(&second, &bytes), PMIX_SUCCESS, "one is to be validated");
    await(host, &second);
    is_string(second.text, " " PMIX_CRED_TYPE "=munge " PMIX_USERID "=17 " PMIX_GRPID "=18",
              "the owner is known");
    is_string(munged.seen, SECRET, "munged has seen it");
    bytes = (pmix_byte_object_t){.bytes = letter, .size = 1};
    client_init(&second, "space.1", 1);
    is_int(validate(&second, &bytes), PMIX_SUCCESS, "one that is no good");
    await(host, &second);
    is_int(second.status, PMIX_ERR_INVALID_CRED, "has its code");
    is_string(second.text, "", "and no owner");
    is_string(said, "1: MUNGE cannot validate a credential on n1: it is broken\n",
              "what munged says reaches the user");
}

static void test_refused(void)
{
    static const char *const types[] = {"native", "munges", "xmunge,native", "", NULL};
    pmix_byte_object_t bytes = {.bytes = NULL, .size = 0};
    char letter[] = "x";
    struct client client;
    pmix_info_t info;
    int one = 1;

    client_init(&client, "space.1", 0);
    for (size_t i = 0; types[i] != NULL; i++) {
        PMIX_INFO_LOAD(&info, PMIX_CRED_TYPE, types[i], PMIX_STRING);
        is_int(host_credential_get(&client.proc, &info, 1, on_got, &client), PMIX_ERR_NOT_SUPPORTED,
               "the types '%s'", types[i]);
        PMIX_INFO_DESTRUCT(&info);
    }
    PMIX_INFO_LOAD(&info, PMIX_CRED_TYPE, &one, PMIX_INT);
    is_int(host_credential_get(&client.proc, &info, 1, on_got, &client), PMIX_ERR_BAD_PARAM,
           "a type that is a number");
    is_int(validate(&client, &bytes), PMIX_ERR_INVALID_CRED, "an empty credential");
    bytes = (pmix_byte_object_t){.bytes = letter, .size = HOST_MUNGE_CREDENTIAL_BYTES_MAX + 1};
    is_int(validate(&client, &bytes), PMIX_ERR_INVALID_CRED, "one that is too long, unseen");
    is_int(client.answers, 0, "none of them is answered twice");
}

/* The one that munged is asked for, one that waits, and one that comes when it is over. */
static void test_hanging(struct host *host)
{
    struct client asked, waiting, after;
    int before = munged_asked();
    double from_s = now_s();

    client_init(&asked, "space.1", 2);
    client_init(&waiting, "space.1", 3);
    client_init(&after, "space.1", 4);
    munged_hang(1);
    (void)get_within(&asked, 1);
    munged_await(before + 1);
    (void)get_within(&waiting, 1);
    (void)get_within(&after, 50);
    host_thread_run(host);
    ok(now_s() - from_s < 1, "while munged hangs the main thread goes on");
    await(host, &asked);
    await(host, &waiting);
    ok(now_s() - from_s > 0.9 && now_s() - from_s < 30, "after a second");
    is_int(asked.status, PMIX_ERR_TIMEOUT, "the one that it was asked for is over");
    is_int(waiting.status, PMIX_ERR_TIMEOUT, "and the next");
    has_string(said, "munged has not answered within 1 s", "the user reads why");
    is_int(after.answers, 0, "but not one that has more time");
    munged_hang(0);
    await(host, &after);
    is_int(after.status, PMIX_SUCCESS, "which is served when munged goes on");
    is_int(munged_asked() - before, 2, "it has not been asked for one that was over");
    is_int(asked.answers + waiting.answers, 2, "what came too late is dropped");
}

/* A job that is closed, with one request that munged is asked for, one that waits, one that has been answered, but whose
 * answer has not been delivered, and one of another job. */
static void test_closed(struct host *host)
{
    struct client ready, asked, waiting, other;
    int before = munged_asked();

    client_init(&ready, "space.1", 5);
    client_init(&asked, "space.1", 6);
    client_init(&waiting, "space.1", 7);
    client_init(&other, "space.2", 0);
    (void)get_within(&ready, 50);
    munged_await(before + 1);
    munged_hang(1);
    (void)get_within(&asked, 50);
    munged_await(before + 2);
    (void)get_within(&waiting, 50);
    (void)get_within(&other, 50);
    host_credential_fail(host, "space.1", -ECANCELED);
    is_int(ready.answers + asked.answers + waiting.answers, 3,
           "a job that is closed: all is answered at once");
    is_int(ready.status, PMIX_SUCCESS, "what has come");
    is_int(asked.status, PMIX_ERR_JOB_ABORTED, "and what will not");
    is_int(waiting.status, PMIX_ERR_JOB_ABORTED, "or has not been asked for");
    is_int(other.answers, 0, "another job is not concerned");
    munged_hang(0);
    await(host, &other);
    is_int(other.status, PMIX_SUCCESS, "and is served");
    is_int(ready.answers + asked.answers + waiting.answers, 3, "none is answered twice");
}

static void test_flood(struct host *host)
{
    struct client *clients = calloc(OPEN_MAX + 1, sizeof(*clients));
    int before = munged_asked(), taken = 0, served = 0;

    munged_hang(1);
    for (int i = 0; i <= OPEN_MAX; i++) {
        client_init(&clients[i], "space.1", (pmix_rank_t)i);
        taken += get_within(&clients[i], 50) == PMIX_SUCCESS;
    }
    munged_await(before + 1);
    is_int(taken, OPEN_MAX, "of a flood the last is refused");
    munged_hang(0);
    await(host, &clients[OPEN_MAX - 1]);
    for (int i = 0; i < OPEN_MAX; i++)
        served += clients[i].answers == 1 && clients[i].status == PMIX_SUCCESS;
    is_int(served, OPEN_MAX, "the others are served");
    free(clients);
}

int main(void)
{
    static const struct pmi_ops ops = {.context = NULL};
    struct host_config config = {
        .directory = "/", .node_name = "n1", .server_namespace = "banyan-test", .ops = &ops};
    struct error error = ERROR_NONE;
    struct host *host;

    alarm(HANG_S);
    if (host_thread_open(&error) < 0)
        bail_out("%s", error.text);
    host = host_state_create(&config);
    test_refused();
    test_served(host);
    test_hanging(host);
    test_closed(host);
    test_flood(host);
    return done_testing();
}
