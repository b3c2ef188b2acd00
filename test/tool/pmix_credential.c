/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that gets credentials and has them validated: pmix_credential CALL...  Each rank prints a line
 * "rank R: CALL=STATUS" for each call, with the type that the answer names, the owner of what was valid, and " after N s"
 * if it took one or more.  A credential itself is never printed.
 *
 *     get[:OPTION...]      gets a credential, which is kept
 *     begin[:OPTION...]    the same, but goes on; "end" waits for it
 *     plain                the blocking call, which says nothing of the type
 *     give                 puts the credential, all ranks fence; with data, if "give:data"
 *     check:RANK[:OPTION...]   gets and validates that of RANK
 *     file:PATH[:OPTION...]    validates what is in a file
 *     bytes:COUNT          validates so many letters; 0: nothing
 *     nul                  validates the credential with a NUL in its middle
 *     end fence sleep:MS await:PATH make:PATH
 *     rN:CALL              on rank N only
 *
 * OPTION: type=LIST; tN: a time limit of N s; x, y: a directive that there is not, y is marked as required.
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS_MAX    3
#define BYTES_MAX      (2u << 20)
#define KEY_CREDENTIAL "test.credential"

static pmix_proc_t self;
static pmix_byte_object_t kept;

struct pending {
    int is_done;
    pmix_status_t status;
    pmix_byte_object_t credential;
    char details[128];
    struct timespec from;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct pending begun;

static const char *next_word(char **rest)
{
    const char *word = *rest == NULL ? NULL : strsep(rest, ":");

    return word == NULL ? "" : word;
}

static size_t parse_options(char *rest, pmix_info_t *info)
{
    size_t count = 0;

    for (const char *word = next_word(&rest); *word != '\0' && count < OPTIONS_MAX;
         word = next_word(&rest)) {
        int seconds = atoi(word + 1);

        if (strncmp(word, "type=", 5) == 0)
            PMIX_INFO_LOAD(&info[count], PMIX_CRED_TYPE, word + 5, PMIX_STRING);
        else if (*word == 't')
            PMIX_INFO_LOAD(&info[count], PMIX_TIMEOUT, &seconds, PMIX_INT);
        else
            PMIX_INFO_LOAD(&info[count], "test.unknown", NULL, PMIX_BOOL);
        if (*word == 'y')
            PMIX_INFO_REQUIRED(&info[count]);
        count++;
    }
    return count;
}

static void say(const char *call, const struct pending *pending)
{
    struct timespec now;
    double took_s;

    clock_gettime(CLOCK_MONOTONIC, &now);
    took_s = (double)(now.tv_sec - pending->from.tv_sec) +
             (double)(now.tv_nsec - pending->from.tv_nsec) / 1e9;
    printf("rank %u: %s=%s%s", self.rank, call, status_name(pending->status), pending->details);
    if (took_s >= 0.99)
        printf(" after %.0f s", took_s);
    printf("\n");
    fflush(stdout);
}

static void note_info(struct pending *pending, const pmix_info_t *info, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(pending->details), room = sizeof(pending->details) - length;

        if (PMIX_CHECK_KEY(&info[i], PMIX_CRED_TYPE))
            snprintf(pending->details + length, room, " type=%s", info[i].value.data.string);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_USERID))
            snprintf(pending->details + length, room, " uid=%u", info[i].value.data.uint32);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_GRPID))
            snprintf(pending->details + length, room, " gid=%u", info[i].value.data.uint32);
        else
            snprintf(pending->details + length, room, " %s", info[i].key);
    }
}

static void finish(struct pending *pending, pmix_status_t status, const pmix_info_t *info,
                   size_t count)
{
    pthread_mutex_lock(&mutex);
    pending->status = status;
    note_info(pending, info, count);
    pending->is_done = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void on_credential(pmix_status_t status, pmix_byte_object_t *credential, pmix_info_t info[],
                          size_t count, void *context)
{
    struct pending *pending = context;

    if (status == PMIX_SUCCESS) {
        pending->credential.bytes = malloc(credential->size);
        memcpy(pending->credential.bytes, credential->bytes, credential->size);
        pending->credential.size = credential->size;
    }
    finish(pending, status, info, count);
}

static void on_validated(pmix_status_t status, pmix_info_t info[], size_t count, void *context)
{
    finish(context, status, info, count);
}

static void begin(struct pending *pending, char *options)
{
    pmix_info_t info[OPTIONS_MAX];
    size_t count = parse_options(options, info);
    pmix_status_t status;

    *pending = (struct pending){.is_done = 0};
    clock_gettime(CLOCK_MONOTONIC, &pending->from);
    status = PMIx_Get_credential_nb(info, count, on_credential, pending);
    if (status != PMIX_SUCCESS)
        finish(pending, status, NULL, 0);
}

static void await(const char *call, struct pending *pending)
{
    pthread_mutex_lock(&mutex);
    while (!pending->is_done)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    if (pending->credential.size > 0)
        kept = pending->credential;
    say(call, pending);
}

static void validate(const char *call, const pmix_byte_object_t *credential, char *options)
{
    struct pending pending = {.is_done = 0};
    pmix_info_t info[OPTIONS_MAX];
    size_t count = parse_options(options, info);
    pmix_status_t status;

    clock_gettime(CLOCK_MONOTONIC, &pending.from);
    status = PMIx_Validate_credential_nb(credential, info, count, on_validated, &pending);
    if (status != PMIX_SUCCESS)
        finish(&pending, status, NULL, 0);
    await(call, &pending);
}

static void plain(void)
{
    struct pending pending = {.is_done = 1};
    pmix_byte_object_t credential = {0};

    clock_gettime(CLOCK_MONOTONIC, &pending.from);
    pending.status = PMIx_Get_credential(NULL, 0, &credential);
    if (pending.status == PMIX_SUCCESS)
        kept = credential;
    say("plain", &pending);
}

static void give(const char *how)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data.bo = kept};
    pmix_info_t info;

    if (kept.size > 0 && (PMIx_Put(PMIX_GLOBAL, KEY_CREDENTIAL, &value) != PMIX_SUCCESS ||
                          PMIx_Commit() != PMIX_SUCCESS))
        printf("rank %u: cannot put the credential\n", self.rank);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
    (void)PMIx_Fence(NULL, 0, &info, *how != '\0');
}

static void check(char *rest)
{
    const char *rank = next_word(&rest);
    pmix_value_t *value = NULL;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, self.nspace, (pmix_rank_t)atoi(rank));
    if (PMIx_Get(&proc, KEY_CREDENTIAL, NULL, 0, &value) != PMIX_SUCCESS)
        printf("rank %u: cannot get the credential of rank %s\n", self.rank, rank);
    else
        validate("check", &value->data.bo, rest);
}

static void validate_file(char *rest)
{
    FILE *file = fopen(next_word(&rest), "r");
    static char content[BYTES_MAX];
    pmix_byte_object_t bytes = {.bytes = content};

    bytes.size = file == NULL ? 0 : fread(content, 1, sizeof(content), file);
    if (file != NULL)
        (void)fclose(file);
    validate("file", &bytes, rest);
}

static void validate_bytes(size_t count)
{
    static char letters[BYTES_MAX];
    pmix_byte_object_t bytes = {.bytes = letters, .size = count < BYTES_MAX ? count : BYTES_MAX};

    memset(letters, 'A', sizeof(letters));
    validate("bytes", &bytes, NULL);
}

static void validate_nul(void)
{
    pmix_byte_object_t bytes = {.bytes = malloc(kept.size + 2), .size = kept.size + 2};

    memset(bytes.bytes, 'A', bytes.size);
    memcpy(bytes.bytes, kept.bytes, kept.size);
    validate("nul", &bytes, NULL);
    free(bytes.bytes);
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void await_file(const char *path)
{
    while (access(path, F_OK) < 0)
        sleep_ms(20);
}

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");

    if (file != NULL)
        (void)fclose(file);
}

static void call(char *text)
{
    unsigned int rank;
    int bytes = 0;
    const char *name;

    if (sscanf(text, "r%u:%n", &rank, &bytes) == 1 && bytes > 0) {
        if (rank != self.rank)
            return;
        text += bytes;
    }
    name = next_word(&text);
    if (strcmp(name, "get") == 0 || strcmp(name, "begin") == 0)
        begin(&begun, text);
    if (strcmp(name, "get") == 0 || strcmp(name, "end") == 0)
        await("get", &begun);
    else if (strcmp(name, "plain") == 0)
        plain();
    else if (strcmp(name, "give") == 0)
        give(next_word(&text));
    else if (strcmp(name, "check") == 0)
        check(text);
    else if (strcmp(name, "file") == 0)
        validate_file(text);
    else if (strcmp(name, "bytes") == 0)
        validate_bytes((size_t)atol(next_word(&text)));
    else if (strcmp(name, "nul") == 0)
        validate_nul();
    else if (strcmp(name, "fence") == 0)
        (void)PMIx_Fence(NULL, 0, NULL, 0);
    else if (strcmp(name, "sleep") == 0)
        sleep_ms(atol(next_word(&text)));
    else if (strcmp(name, "await") == 0)
        await_file(next_word(&text));
    else if (strcmp(name, "make") == 0)
        make_file(next_word(&text));
    else if (strcmp(name, "begin") != 0)
        printf("rank %u: no call %s\n", self.rank, name);
}

int main(int argc, char **argv)
{
    pmix_status_t status = PMIx_Init(&self, NULL, 0);

    if (status != PMIX_SUCCESS) {
        printf("PMIx_Init: %s\n", status_name(status));
        return 1;
    }
    for (int i = 1; i < argc; i++)
        call(argv[i]);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
