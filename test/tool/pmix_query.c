/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix that asks about jobs and processes, and controls them: pmix_query STEP..., each on every rank,
 * or on rank N only (rN:STEP).
 *
 *     fence, sleep:MS, await:FILE
 *     running             waits until all processes of the job have been started, as the root knows
 *     ask:KEY[,KEY][;QUALIFIER=VALUE]   prints "KEY: VALUE" for each result and "ask: STATUS"; keys and qualifiers as
 *                         the standard's header has them; !QUALIFIER is required; SELF is the own namespace
 *     letters             of all ranks of the namespace, the state in /proc: "letters: S S T"
 *     control:RANK:DIRECTIVE[:NUMBER]   of a rank or "all", "job" (no target); DIRECTIVE without its "pmix.jctrl.", or
 *                         !DIRECTIVE: required; prints "control: STATUS"
 *     two                 waits until there are two jobs
 *     cleanup:FILE        registers it to be removed after the process's end
 *     settle:RANK:LETTER  waits until a rank has this state in /proc; "-": it has ended
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 64

static pmix_proc_t self;

/* In PID/stat, behind the name in brackets. */
static char letter_of(pid_t pid)
{
    char path[64], text[512] = "";
    const char *end;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (file == NULL)
        return '-';
    if (fgets(text, sizeof(text), file) == NULL)
        text[0] = 0;
    fclose(file);
    end = strrchr(text, ')');
    return end != NULL ? end[2] : '-';
}

/* Prints a name with SELF for the own namespace, wherever that is in it. */
static void print_name(const char *text)
{
    size_t bytes = strlen(self.nspace);

    while (*text != 0) {
        if (strncmp(text, self.nspace, bytes) == 0) {
            printf("SELF");
            text += bytes;
        } else {
            putchar(*text++);
        }
    }
}

static void print_info(const pmix_info_t *info);

static void print_table(const pmix_data_array_t *array)
{
    const pmix_proc_info_t *entries = array->array;

    for (size_t i = 0; i < array->size; i++)
        printf(" %u@%s:%s:%d:%d:%s", entries[i].proc.rank, entries[i].hostname,
               entries[i].executable_name != NULL ? basename(entries[i].executable_name) : "?",
               (int)entries[i].state, entries[i].exit_code, entries[i].pid > 0 ? "pid" : "none");
}

static void print_array(const pmix_data_array_t *array)
{
    if (array->type == PMIX_PROC_INFO) {
        print_table(array);
        return;
    }
    for (size_t i = 0; i < array->size; i++) {
        putchar(' ');
        if (array->type == PMIX_PROC)
            printf("%u", ((pmix_proc_t *)array->array)[i].rank);
        else if (array->type == PMIX_INFO)
            print_info(&((pmix_info_t *)array->array)[i]);
    }
}

static void print_info(const pmix_info_t *info)
{
    const pmix_value_t *value = &info->value;

    printf("%s: ", info->key);
    if (value->type == PMIX_STRING)
        print_name(value->data.string);
    else if (value->type == PMIX_UINT32)
        printf("%u", value->data.uint32);
    else if (value->type == PMIX_SIZE)
        printf("%zu", value->data.size);
    else if (value->type == PMIX_STATUS)
        printf("%s", status_name(value->data.status));
    else if (value->type == PMIX_FLOAT)
        printf("%s", value->data.fval > 0.05F && value->data.fval < 1000 ? "some" : "odd");
    else if (value->type == PMIX_DATA_ARRAY)
        print_array(value->data.darray);
    else
        printf("type %d", (int)value->type);
}

static void load_qualifier(char *text, pmix_info_t *info)
{
    int is_required = *text == '!';
    char *key = text + is_required, *value = strchr(key, '=');

    if (value != NULL)
        *value++ = 0;
    if (value == NULL)
        PMIX_INFO_LOAD(info, key, NULL, PMIX_BOOL);
    else
        PMIX_INFO_LOAD(info, key, strcmp(value, "SELF") == 0 ? self.nspace : value, PMIX_STRING);
    if (is_required)
        PMIX_INFO_REQUIRED(info);
}

static pmix_status_t query(char *text, pmix_info_t **results, size_t *results_count)
{
    char *keys[ENTRIES_MAX] = {NULL}, *rest = strchr(text, ';'), *word;
    pmix_info_t qualifiers[ENTRIES_MAX];
    pmix_query_t query;
    size_t count = 0;

    PMIX_QUERY_CONSTRUCT(&query);
    if (rest != NULL)
        *rest++ = 0;
    while ((word = strsep(&text, ",")) != NULL)
        keys[count++] = word;
    query.keys = keys;
    query.qualifiers = qualifiers;
    while ((word = strsep(&rest, ";")) != NULL)
        load_qualifier(word, &qualifiers[query.nqual++]);
    if (query.nqual == 0)
        query.qualifiers = NULL;
    return PMIx_Query_info(&query, 1, results, results_count);
}

static void ask(const char *what)
{
    pmix_info_t *results = NULL;
    size_t count = 0;
    char *text = strdup(what);
    pmix_status_t status = query(text, &results, &count);

    for (size_t i = 0; i < count; i++) {
        print_info(&results[i]);
        putchar('\n');
    }
    printf("ask: %s\n", status_name(status));
    free(text);
}

/* The table, or an empty one. */
static const pmix_data_array_t *table(void)
{
    static const pmix_data_array_t none = {0};
    char text[] = PMIX_QUERY_PROC_TABLE ";" PMIX_NSPACE "=SELF;" PMIX_QUERY_REFRESH_CACHE;
    pmix_info_t *results = NULL;
    size_t count = 0;

    if (query(text, &results, &count) != PMIX_SUCCESS || count != 1)
        return &none;
    return results[0].value.data.darray;
}

static void letters(void)
{
    const pmix_data_array_t *array = table();
    const pmix_proc_info_t *entries = array->array;

    printf("letters:");
    for (size_t i = 0; i < array->size; i++) {
        char letter = letter_of(entries[i].pid);

        printf(" %c", letter == 'R' || letter == 'D' ? 'S' : letter);
    }
    printf("\n");
}

/* The daemons learn a moment after the processes that these have been started. */
static void await_running(void)
{
    pmix_status_t status = PMIX_OPERATION_IN_PROGRESS;

    while (status != PMIX_SUCCESS) {
        char text[] = PMIX_QUERY_JOB_STATUS ";" PMIX_NSPACE "=SELF;" PMIX_QUERY_REFRESH_CACHE;
        pmix_info_t *results = NULL;
        size_t count = 0;

        if (query(text, &results, &count) == PMIX_SUCCESS && count == 1)
            status = results[0].value.data.status;
        usleep(10000);
    }
}

/* Another job has been started, too. */
static void await_two(void)
{
    const char *names = "";

    while (strchr(names, ',') == NULL) {
        char text[] = PMIX_QUERY_NAMESPACES ";" PMIX_QUERY_REFRESH_CACHE;
        pmix_info_t *results = NULL;
        size_t count = 0;

        if (query(text, &results, &count) == PMIX_SUCCESS && count == 1)
            names = results[0].value.data.string;
        usleep(10000);
    }
}

static char state_of(uint32_t rank)
{
    const pmix_data_array_t *array = table();
    const pmix_proc_info_t *entries = array->array;

    for (size_t i = 0; i < array->size; i++) {
        if (entries[i].proc.rank == rank)
            return letter_of(entries[i].pid);
    }
    return '?';
}

static void settle(char *rest)
{
    uint32_t rank = (uint32_t)atoi(strsep(&rest, ":"));

    while (state_of(rank) != *rest)
        usleep(10000);
}

static void control(char *rest)
{
    const char *target = strsep(&rest, ":");
    char *directive = strsep(&rest, ":"), key[PMIX_MAX_KEYLEN];
    int number = rest != NULL ? atoi(rest) : 0;
    pmix_info_t info, *results = NULL;
    size_t count = 0;
    pmix_proc_t proc;

    snprintf(key, sizeof(key), "pmix.jctrl.%s", directive + (*directive == '!'));
    if (rest != NULL)
        PMIX_INFO_LOAD(&info, key, &number, PMIX_INT);
    else
        PMIX_INFO_LOAD(&info, key, NULL, PMIX_BOOL);
    if (*directive == '!')
        PMIX_INFO_REQUIRED(&info);
    PMIX_LOAD_PROCID(&proc, self.nspace,
                     strcmp(target, "all") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(target));
    printf("control: %s\n", status_name(PMIx_Job_control(&proc, strcmp(target, "job") != 0, &info,
                                                         1, &results, &count)));
}

/* Registers a file to be removed after the process's end. */
static void clean_up(const char *path)
{
    pmix_info_t info, *results = NULL;
    size_t count = 0;

    PMIX_INFO_LOAD(&info, PMIX_REGISTER_CLEANUP, path, PMIX_STRING);
    printf("cleanup: %s\n", status_name(PMIx_Job_control(NULL, 0, &info, 1, &results, &count)));
}

static void await_file(const char *path)
{
    while (access(path, F_OK) < 0)
        usleep(20000);
}

static void step(char *text)
{
    char *rest = text, *name = strsep(&rest, ":");

    if (strcmp(name, "fence") == 0)
        PMIx_Fence(NULL, 0, NULL, 0);
    else if (strcmp(name, "sleep") == 0)
        usleep((useconds_t)atoi(rest) * 1000);
    else if (strcmp(name, "await") == 0)
        await_file(rest);
    else if (strcmp(name, "ask") == 0)
        ask(rest);
    else if (strcmp(name, "letters") == 0)
        letters();
    else if (strcmp(name, "cleanup") == 0)
        clean_up(rest);
    else if (strcmp(name, "running") == 0)
        await_running();
    else if (strcmp(name, "two") == 0)
        await_two();
    else if (strcmp(name, "settle") == 0)
        settle(rest);
    else
        control(rest);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    pmix_status_t status = PMIx_Init(&self, NULL, 0);

    if (status != PMIX_SUCCESS) {
        fprintf(stderr, "PMIx_Init: %s\n", status_name(status));
        return 1;
    }
    for (int i = 1; i < argc; i++) {
        char *text = argv[i], *end;

        if (text[0] == 'r' && text[1] >= '0' && text[1] <= '9') {
            if (strtoul(text + 1, &end, 10) != self.rank)
                continue;
            text = end + 1;
        }
        step(text);
    }
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
