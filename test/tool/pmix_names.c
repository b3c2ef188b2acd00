/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PMIx client that publishes and looks up: pmix_names CALL..., each one of
 *
 *     pub:KEY[,KEY...]:VALUE[:OPTION...]    VALUE is a text
 *     look:KEY[,KEY...][:OPTION...]
 *     unpub:KEY[,KEY...][:OPTION...]        KEY "*": all
 *     fence  sleep:MS  exit                 exit: without finalize
 *     await:FILE                            until there is such a file
 *     run:COMMAND                           of the shell
 *     bench:COUNT[/KEYS]                    publishes COUNT keys and looks up those of the next rank, KEYS (1) a call
 *
 * and with "rRANK:" before it for that rank alone.  Options: local, namespace, session, global, rm, process, custom=0+2
 * (ranks of this namespace), first, exits, app, forever, replace, wait, wait=COUNT, limit=SECONDS, unknown, required
 * (unknown, and required).  Prints a line for each call: what was called, the status, and of a lookup KEY=VALUE@RANK of
 * what was found.
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEYS_MAX    64
#define OPTIONS_MAX 8

static pmix_proc_t self;

struct options {
    pmix_info_t infos[OPTIONS_MAX];
    size_t count;
};

static const struct {
    const char *name;
    const char *key;
    int value;
} words[] = {
    {"local", PMIX_RANGE, PMIX_RANGE_LOCAL},
    {"namespace", PMIX_RANGE, PMIX_RANGE_NAMESPACE},
    {"session", PMIX_RANGE, PMIX_RANGE_SESSION},
    {"global", PMIX_RANGE, PMIX_RANGE_GLOBAL},
    {"rm", PMIX_RANGE, PMIX_RANGE_RM},
    {"process", PMIX_RANGE, PMIX_RANGE_PROC_LOCAL},
    {"custom", PMIX_RANGE, PMIX_RANGE_CUSTOM},
    {"first", PMIX_PERSISTENCE, PMIX_PERSIST_FIRST_READ},
    {"exits", PMIX_PERSISTENCE, PMIX_PERSIST_PROC},
    {"app", PMIX_PERSISTENCE, PMIX_PERSIST_APP},
    {"forever", PMIX_PERSISTENCE, PMIX_PERSIST_INDEF},
};

static void add(struct options *options, const char *key, const void *value, pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&options->infos[options->count], key, value, type);
    options->count++;
}

static void add_custom(struct options *options, const char *ranks)
{
    pmix_data_array_t array = {.type = PMIX_PROC};
    pmix_proc_t procs[KEYS_MAX];
    char *copy = strdup(ranks), *rest = copy, *rank;

    while ((rank = strsep(&rest, "+")) != NULL) {
        PMIX_LOAD_PROCID(&procs[array.size], self.nspace, (pmix_rank_t)atoi(rank));
        array.size++;
    }
    array.array = procs;
    add(options, PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    free(copy);
}

static void add_option(struct options *options, char *text)
{
    char *value = strchr(text, '=');
    int number = value != NULL ? atoi(value + 1) : 0;
    bool yes = true;

    if (value != NULL)
        *value++ = '\0';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        uint8_t byte = (uint8_t)words[i].value;

        if (strcmp(words[i].name, text) == 0)
            add(options, words[i].key, &byte,
                strcmp(words[i].key, PMIX_RANGE) == 0 ? PMIX_DATA_RANGE : PMIX_PERSIST);
    }
    if (strcmp(text, "custom") == 0 && value != NULL)
        add_custom(options, value);
    else if (strcmp(text, "wait") == 0)
        add(options, PMIX_WAIT, &number, PMIX_INT);
    else if (strcmp(text, "limit") == 0)
        add(options, PMIX_TIMEOUT, &number, PMIX_INT);
    else if (strcmp(text, "replace") == 0)
        add(options, "banyan.publish.replace", &yes, PMIX_BOOL);
    else if (strcmp(text, "unknown") == 0 || strcmp(text, "required") == 0)
        add(options, "pmix.never.heard", &yes, PMIX_BOOL);
    if (strcmp(text, "required") == 0)
        PMIX_INFO_REQUIRED(&options->infos[options->count - 1]);
}

static size_t split(char *text, char *keys[KEYS_MAX + 1])
{
    size_t count = 0;

    while (count < KEYS_MAX && (keys[count] = strsep(&text, ",")) != NULL)
        count++;
    keys[count] = NULL;
    return count;
}

static pmix_status_t publish(char *names, const char *value, struct options *options)
{
    pmix_info_t infos[KEYS_MAX + OPTIONS_MAX];
    char *keys[KEYS_MAX + 1];
    size_t count = split(names, keys);
    pmix_status_t status;

    for (size_t i = 0; i < count; i++)
        PMIX_INFO_LOAD(&infos[i], keys[i], value, PMIX_STRING);
    for (size_t i = 0; i < options->count; i++)
        PMIX_INFO_XFER(&infos[count + i], &options->infos[i]);
    status = PMIx_Publish(infos, count + options->count);
    for (size_t i = 0; i < count + options->count; i++)
        PMIX_INFO_DESTRUCT(&infos[i]);
    return status;
}

static pmix_status_t look_up(char *names, struct options *options, char *found, size_t found_bytes)
{
    pmix_pdata_t *data;
    char *keys[KEYS_MAX + 1];
    size_t count = split(names, keys), used = 0;
    pmix_status_t status;

    PMIX_PDATA_CREATE(data, count);
    for (size_t i = 0; i < count; i++)
        PMIX_LOAD_KEY(data[i].key, keys[i]);
    status = PMIx_Lookup(data, count, options->infos, options->count);
    for (size_t i = 0; i < count; i++) {
        if (data[i].value.type == PMIX_STRING)
            used += (size_t)snprintf(found + used, found_bytes - used, " %s=%s@%u", data[i].key,
                                     data[i].value.data.string, data[i].proc.rank);
    }
    PMIX_PDATA_FREE(data, count);
    return status;
}

static pmix_status_t unpublish(char *names, struct options *options)
{
    char *keys[KEYS_MAX + 1];

    (void)split(names, keys);
    return PMIx_Unpublish(strcmp(keys[0], "*") == 0 ? NULL : keys, options->infos, options->count);
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static unsigned benches; /* so far */

/* Keys of a rank, from the first on. */
static char *key_list(uint32_t rank, int first, int keys)
{
    static char list[KEYS_MAX * 32];
    size_t length = 0;

    for (int i = first; i < first + keys; i++)
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%skey-%u-%u-%d",
                                   i > first ? "," : "", benches, rank, i);
    return list;
}

static pmix_status_t bench(const char *text)
{
    struct options none = {.count = 0};
    double begin = seconds(CLOCK_MONOTONIC);
    static char found[KEYS_MAX * 64];
    uint32_t size = (uint32_t)atoi(getenv("BANYAN_SIZE"));
    int count = atoi(text), keys = strchr(text, '/') != NULL ? atoi(strchr(text, '/') + 1) : 1;
    int bad = keys < 1 || keys > KEYS_MAX;

    for (int i = 0; i < count && bad == 0; i += keys)
        bad += publish(key_list(self.rank, i, keys), "the value of a name", &none) != PMIX_SUCCESS;
    bad += PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS;
    for (int i = 0; i < count && bad == 0; i += keys)
        bad += look_up(key_list((self.rank + 1) % size, i, keys), &none, found, sizeof(found)) !=
               PMIX_SUCCESS;
    bad += PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS;
    if (self.rank == 0)
        printf("%.0f operations a second\n",
               2.0 * count * size / (seconds(CLOCK_MONOTONIC) - begin));
    benches++;
    return bad == 0 ? PMIX_SUCCESS : PMIX_ERROR;
}

static void call(const char *text)
{
    char *copy = strdup(text), *rest = copy, *word, *names = NULL, *value = NULL, found[1024] = "";
    const char *what = strsep(&rest, ":");
    struct options options = {.count = 0};
    pmix_status_t status = PMIX_SUCCESS;

    if (rest != NULL)
        names = strsep(&rest, ":");
    if (strcmp(what, "pub") == 0)
        value = strsep(&rest, ":");
    while ((word = strsep(&rest, ":")) != NULL && options.count < OPTIONS_MAX - 1)
        add_option(&options, word);
    if (strcmp(what, "pub") == 0)
        status = publish(names, value, &options);
    else if (strcmp(what, "look") == 0)
        status = look_up(names, &options, found, sizeof(found));
    else if (strcmp(what, "unpub") == 0)
        status = unpublish(names, &options);
    else if (strcmp(what, "fence") == 0)
        status = PMIx_Fence(NULL, 0, NULL, 0);
    else if (strcmp(what, "bench") == 0)
        status = bench(names);
    else if (strcmp(what, "sleep") == 0)
        usleep((useconds_t)atoi(names) * 1000);
    else if (strcmp(what, "run") == 0)
        status = system(text + strlen("run:")) == 0 ? PMIX_SUCCESS : PMIX_ERROR;
    else if (strcmp(what, "await") == 0)
        while (access(names, F_OK) < 0)
            usleep(10000);
    else if (strcmp(what, "exit") == 0)
        _exit(0);
    if (names != NULL && strcmp(what, "sleep") != 0 && strcmp(what, "await") != 0 &&
        strcmp(what, "run") != 0)
        printf("%s %s%s\n", text, status_name(status), found);
    else if (status != PMIX_SUCCESS)
        printf("%s %s\n", text, status_name(status));
    fflush(stdout);
    for (size_t i = 0; i < options.count; i++)
        PMIX_INFO_DESTRUCT(&options.infos[i]);
    free(copy);
}

int main(int argc, char **argv)
{
    pmix_status_t status = PMIx_Init(&self, NULL, 0);

    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "PMIx_Init: %s\n", status_name(status));
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        unsigned long rank = argv[i][0] == 'r' ? strtoul(argv[i] + 1, &end, 10) : 0;

        if (end == argv[i])
            call(argv[i]);
        else if (rank == self.rank)
            call(end + 1);
    }
    status = PMIx_Finalize(NULL, 0);
    return status == PMIX_SUCCESS ? 0 : 1;
}
