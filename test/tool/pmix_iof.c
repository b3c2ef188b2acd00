/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output of a job for those who ask for it (PMIx_IOF_pull), and input from them (PMIx_IOF_push): pmix_iof job FILE is a process of the job, which does what the
 * lines say that are written to FILE, each on the ranks that it names ("all", or one):
 *
 *     out:RANK:TEXT, err:RANK:TEXT   prints "TEXT RANK"
 *     flood:RANK:KIB                 prints so much, in lines, and then "flooded RANK"
 *     pull:RANK:NS:RANK:CHANNELS     as the tool below does; what comes is printed as "RANK got SOURCE: LINE"
 *     read:RANK:COUNT                reads so many lines of its standard input, and prints "read LINE" each; "read eof"
 *     suck:RANK                      reads all of it, and prints "sucked BYTES"
 *     end:RANK                       finalizes and exits
 *
 * pmix_iof tool URI STEP... is a tool:
 *
 *     pull:NS:RANK[,RANK]:CHANNELS[:KEY]  RANK or "all"; "out", "err", "both" or "diag"; with a required directive
 *     stop[:no]                takes back the last that succeeded
 *     push:NS:RANK:TEXT[:KEY]  a line of input, with a required directive; close:NS:RANK its end
 *     fill:NS:RANK:COUNT       so many calls at once with 1 MiB each; prints "refused" for one that fails before others
 *     stdin:NS:RANK            pushes what the tool reads from its standard input
 *     order:FILE:LINE          writes a line for the job
 *     until:TEXT               waits for a line with this text
 *     bytes:MIB                waits until so much has come
 *     ended                    waits until the job has no more output
 *     touch:FILE, await:FILE
 *     show                     prints the lines that have come, sorted: "RANK.CHANNEL LINE"
 */
#include "config.h"

#include "test/tool/status_name.h"

#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCS_MAX 8
#define POLL_US   10000

static pmix_proc_t self;
static int is_tool;

/* What has come; libpmix's thread writes it. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static size_t text_bytes, came_bytes;
static int has_ended, is_answered;
static pmix_status_t answer;
static size_t answer_id, last_id;

static void add_line(pmix_rank_t rank, pmix_iof_channel_t channel, const char *line, int bytes)
{
    char head[64];
    int head_bytes = snprintf(head, sizeof(head), "%u.%s ", rank,
                              channel == PMIX_FWD_STDERR_CHANNEL ? "err" : "out");

    text = realloc(text, text_bytes + (size_t)(head_bytes + bytes) + 2);
    memcpy(text + text_bytes, head, (size_t)head_bytes);
    memcpy(text + text_bytes + head_bytes, line, (size_t)bytes);
    text_bytes += (size_t)(head_bytes + bytes);
    text[text_bytes++] = '\n';
    text[text_bytes] = 0;
}

/* Lines come whole: what the job prints here is short.  Filling is counted, not kept. */
static void on_output(size_t handler, pmix_iof_channel_t channel, pmix_proc_t *source,
                      pmix_byte_object_t *payload, pmix_info_t info[], size_t info_count)
{
    const char *line = payload->bytes, *end = line + payload->size, *newline;

    pthread_mutex_lock(&mutex);
    came_bytes += payload->size;
    for (size_t i = 0; i < info_count; i++)
        has_ended |= PMIX_CHECK_KEY(&info[i], PMIX_IOF_COMPLETE) && payload->size == 0;
    for (; line < end; line = newline + 1) {
        newline = memchr(line, '\n', (size_t)(end - line));
        if (newline == NULL)
            newline = end;
        if (!is_tool && newline > line && *line != '#')
            printf("%u got %u: %.*s\n", self.rank, source->rank, (int)(newline - line), line);
        else if (newline > line && *line != '#')
            add_line(source->rank, channel, line, (int)(newline - line));
    }
    fflush(stdout);
    pthread_mutex_unlock(&mutex);
}

static void on_registered(pmix_status_t status, size_t id, void *context)
{
    pthread_mutex_lock(&mutex);
    answer = status;
    answer_id = id;
    is_answered = 1;
    pthread_mutex_unlock(&mutex);
}

static void on_stopped(pmix_status_t status, void *context)
{
    on_registered(status, 0, context);
}

static int check(int (*is_so)(const void *), const void *context)
{
    int result;

    pthread_mutex_lock(&mutex);
    result = is_so(context);
    pthread_mutex_unlock(&mutex);
    return result;
}

static void await(int (*is_so)(const void *), const void *context)
{
    while (!check(is_so, context))
        usleep(POLL_US);
}

static int answered(const void *context)
{
    return is_answered;
}

static int ended(const void *context)
{
    return has_ended;
}

static int has_text(const void *context)
{
    return text != NULL && strstr(text, context) != NULL;
}

static int has_bytes(const void *context)
{
    return came_bytes >= *(const size_t *)context;
}

static int file_exists(const void *path)
{
    return access(path, F_OK) == 0;
}

static pmix_iof_channel_t channel_of(const char *name)
{
    if (strcmp(name, "out") == 0)
        return PMIX_FWD_STDOUT_CHANNEL;
    if (strcmp(name, "err") == 0)
        return PMIX_FWD_STDERR_CHANNEL;
    return strcmp(name, "diag") == 0 ? PMIX_FWD_STDDIAG_CHANNEL
                                     : PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
}

/* NS:RANK[,RANK]:CHANNELS[:KEY] */
static void pull(char *rest)
{
    const char *namespace = strsep(&rest, ":");
    char *ranks = strsep(&rest, ":"), *rank;
    const char *channels = strsep(&rest, ":");
    pmix_proc_t procs[PROCS_MAX];
    size_t count = 0, info_count = rest != NULL;
    pmix_status_t status;
    pmix_info_t info;

    for (; (rank = strsep(&ranks, ",")) != NULL && count < PROCS_MAX; count++)
        PMIX_LOAD_PROCID(&procs[count], namespace,
                         strcmp(rank, "all") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(rank));
    if (rest != NULL) {
        PMIX_INFO_LOAD(&info, rest, NULL, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&info);
    }
    is_answered = 0;
    status = PMIx_IOF_pull(procs, count, info_count ? &info : NULL, info_count,
                           channel_of(channels), on_output, on_registered, NULL);
    if (status == PMIX_SUCCESS) {
        await(answered, NULL);
        status = answer;
    }
    if (status == PMIX_SUCCESS)
        last_id = answer_id;
    printf("pull: %s\n", status_name(status));
}

/* The library says itself that this stops it; "no": whatever the caller says.  The status in the answer says nothing:
 * the server of 4.2.2 sends memory that it has not set. */
static void stop(const char *rest)
{
    bool no = false;
    pmix_status_t status;
    pmix_info_t info;

    is_answered = 0;
    PMIX_INFO_LOAD(&info, PMIX_IOF_STOP, &no, PMIX_BOOL);
    status = PMIx_IOF_deregister(last_id, &info, rest != NULL ? 1 : 0, on_stopped, NULL);
    if (status == PMIX_SUCCESS)
        await(answered, NULL);
    printf("stop: %s\n", status_name(status));
}

/* ---- input ---- */

static int awaited;

static void on_pushed(pmix_status_t status, void *context)
{
    pthread_mutex_lock(&mutex);
    if (status != PMIX_SUCCESS)
        answer = status;
    if (status != PMIX_SUCCESS && awaited > 1) {
        printf("refused\n");
        fflush(stdout);
    }
    is_answered = --awaited == 0;
    pthread_mutex_unlock(&mutex);
}

static void push(const char *namespace, const char *rank, const char *data, size_t bytes, int count,
                 const char *key)
{
    pmix_byte_object_t object = {.bytes = (char *)(uintptr_t)data, .size = bytes};
    pmix_status_t status = PMIX_SUCCESS;
    pmix_proc_t proc;
    pmix_info_t info;

    PMIX_LOAD_PROCID(&proc, namespace,
                     strcmp(rank, "all") == 0 ? PMIX_RANK_WILDCARD : (pmix_rank_t)atoi(rank));
    if (key != NULL) {
        PMIX_INFO_LOAD(&info, key, NULL, PMIX_BOOL);
        PMIX_INFO_REQUIRED(&info);
    }
    is_answered = 0;
    answer = PMIX_SUCCESS;
    awaited = count;
    for (int i = 0; i < count && status == PMIX_SUCCESS; i++)
        status = PMIx_IOF_push(&proc, 1, &object, key != NULL ? &info : NULL, key != NULL,
                               on_pushed, NULL);
    if (status == PMIX_SUCCESS) {
        await(answered, NULL);
        status = answer;
    }
    printf("push: %s\n", status_name(status));
}

static void push_stdin(const char *namespace, const char *rank)
{
    pmix_proc_t proc;
    pmix_info_t info;

    PMIX_LOAD_PROCID(&proc, namespace, (pmix_rank_t)atoi(rank));
    PMIX_INFO_LOAD(&info, PMIX_IOF_PUSH_STDIN, NULL, PMIX_BOOL);
    printf("stdin: %s\n",
           PMIx_IOF_push(&proc, 1, NULL, &info, 1, NULL, NULL) < 0 ? "failed" : "SUCCESS");
}

static void input_step(const char *name, char *rest)
{
    static char filling[1 << 20];
    const char *namespace = strsep(&rest, ":"), *rank = strsep(&rest, ":");
    char line[256];

    if (strcmp(name, "stdin") == 0) {
        push_stdin(namespace, rank);
    } else if (strcmp(name, "close") == 0) {
        push(namespace, rank, NULL, 0, 1, NULL);
    } else if (strcmp(name, "fill") == 0) {
        memset(filling, '.', sizeof(filling));
        push(namespace, rank, filling, sizeof(filling), atoi(rest), NULL);
    } else {
        snprintf(line, sizeof(line), "%s\n", strsep(&rest, ":"));
        push(namespace, rank, line, strlen(line), 1, rest);
    }
}

static void write_line(const char *path, const char *line)
{
    FILE *file = fopen(path, "a");

    if (file == NULL)
        return;
    fprintf(file, "%s\n", line);
    fclose(file);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show(void)
{
    char *lines[4096], *rest, *line;
    size_t count = 0;

    pthread_mutex_lock(&mutex);
    for (rest = text; rest != NULL && (line = strsep(&rest, "\n")) != NULL && count < 4096;) {
        if (*line != 0)
            lines[count++] = line;
    }
    qsort(lines, count, sizeof(lines[0]), compare);
    for (size_t i = 0; i < count; i++)
        printf("%s\n", lines[i]);
    text = NULL;
    text_bytes = 0;
    pthread_mutex_unlock(&mutex);
}

static void step(char *words)
{
    char *rest = words, *name = strsep(&rest, ":");
    size_t bytes;

    if (strcmp(name, "pull") == 0) {
        pull(rest);
    } else if (strcmp(name, "stop") == 0) {
        stop(rest);
    } else if (strcmp(name, "order") == 0) {
        const char *path = strsep(&rest, ":");

        write_line(path, rest);
    } else if (strcmp(name, "until") == 0) {
        await(has_text, rest);
    } else if (strcmp(name, "bytes") == 0) {
        bytes = strtoul(rest, NULL, 10) << 20;
        await(has_bytes, &bytes);
    } else if (strcmp(name, "ended") == 0) {
        await(ended, NULL);
        printf("ended\n");
    } else if (strcmp(name, "touch") == 0) {
        write_line(rest, "");
    } else if (strcmp(name, "await") == 0) {
        await(file_exists, rest);
    } else if (strcmp(name, "show") == 0) {
        show();
    } else {
        input_step(name, rest);
    }
    fflush(stdout);
}

static int be_tool(int argc, char **argv)
{
    pmix_status_t status;
    pmix_info_t info;

    is_tool = 1;
    PMIX_INFO_LOAD(&info, PMIX_SERVER_URI, argv[2], PMIX_STRING);
    status = PMIx_tool_init(&self, &info, 1);
    if (status != PMIX_SUCCESS) {
        printf("PMIx_tool_init: %s\n", status_name(status));
        return 1;
    }
    for (int i = 3; i < argc; i++)
        step(argv[i]);
    PMIx_tool_finalize();
    return 0;
}

/* ---- a process of the job ---- */

static void flood(unsigned long kib)
{
    static char line[1024];

    memset(line, '#', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    for (unsigned long i = 0; i < kib; i++)
        fwrite(line, sizeof(line), 1, stdout);
    printf("flooded %u\n", self.rank);
}

static void read_lines(int count)
{
    char line[512];

    for (; count > 0; count--) {
        if (fgets(line, sizeof(line), stdin) == NULL) {
            printf("read eof\n");
            return;
        }
        printf("read %s", line);
    }
}

static void suck(void)
{
    static char data[1 << 16];
    size_t bytes = 0, got;

    while ((got = fread(data, 1, sizeof(data), stdin)) > 0)
        bytes += got;
    printf("sucked %zu\n", bytes);
}

/* 0: end. */
static int obey(char *rest)
{
    const char *name = strsep(&rest, ":"), *rank = strsep(&rest, ":");

    if (rank == NULL || (strcmp(rank, "all") != 0 && (pmix_rank_t)atoi(rank) != self.rank))
        return 1;
    if (strcmp(name, "out") == 0)
        printf("%s %u\n", rest, self.rank);
    else if (strcmp(name, "err") == 0)
        fprintf(stderr, "%s %u\n", rest, self.rank);
    else if (strcmp(name, "flood") == 0)
        flood(strtoul(rest, NULL, 10));
    else if (strcmp(name, "read") == 0)
        read_lines(atoi(rest));
    else if (strcmp(name, "suck") == 0)
        suck();
    else if (strcmp(name, "pull") == 0)
        pull(rest);
    fflush(stdout);
    return strcmp(name, "end") != 0;
}

static int be_job(const char *path)
{
    char line[512], *newline;
    FILE *file;
    int goes_on = 1;

    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 1;
    await(file_exists, path);
    file = fopen(path, "r");
    while (file != NULL && goes_on) {
        long here = ftell(file);

        if (fgets(line, sizeof(line), file) != NULL && (newline = strchr(line, '\n')) != NULL) {
            *newline = 0;
            goes_on = obey(line);
            continue;
        }
        usleep(POLL_US);
        clearerr(file);
        (void)fseek(file, here, SEEK_SET);
    }
    PMIx_Finalize(NULL, 0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "job") == 0)
        return be_job(argv[2]);
    return argc > 2 ? be_tool(argc, argv) : 2;
}
