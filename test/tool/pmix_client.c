/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small PMIx client for the tests: pmix_client MODE [NUMBER]. Every mode ends with 0 if all that it
 * checked held, and says on standard error what did not.
 *
 *     init                 init and finalize; world and local size must be those of the environment
 *     fence [TIMES]        64 bytes per rank, collected; every peer's value is compared
 *     direct               the same without collecting: each peer's value is fetched
 *     many [TIMES]         TIMES fences; rank 0 prints microseconds per fence
 *     open                 fences of the even, the odd and all ranks, open at the same time
 *     grow [TIMES]         collecting fences of all ranks, and of the even and the odd ones; each adds a key or changes a
 *                          value; each rank in its turn asks for everything
 *     near [TIMES]         the same, without asking another node (PMIX_IMMEDIATE)
 *     missing              a fence with a time limit that rank 0 does not join must time out
 *     cut                  a fence that the server ends with an error
 *     quit                 rank 0 ends without finalize while the others wait in a fence
 *     lost                 rank 0 ends without having committed; the others ask for its value
 *     abort                rank 0 aborts with status 7
 *     log                  each rank sends a line for the user
 *     away RANK            RANK does not join the fence, but sleeps
 *     stopped RANK         RANK does not join the fence, but stops itself
 *     unput RANK           the others ask for a value of RANK, which stops itself instead
 *     survive RANK         fences of all until one fails, for RANK's node is lost; then ten among
 *                          the others; prints how long the longest took
 *     setup DIRECTORY GDS  not a client: prints what PMIx_server_setup_fork would export
 */
#include "config.h"

#include <pmix.h>
#include <pmix_server.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VALUE_BYTES 64

static pmix_proc_t self;
static uint32_t world_size;
static int failures;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "# pmix_client %s.%u: ", self.nspace, self.rank);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    failures++;
}

static int check(pmix_status_t status, const char *what)
{
    if (status != PMIX_SUCCESS)
        complain("%s: %s", what, PMIx_Error_string(status));
    return status == PMIX_SUCCESS;
}

static uint32_t get_number(const char *key, pmix_rank_t rank)
{
    pmix_value_t *value = NULL;
    pmix_proc_t proc;
    uint32_t number = UINT32_MAX;

    PMIX_LOAD_PROCID(&proc, self.nspace, rank);
    if (!check(PMIx_Get(&proc, key, NULL, 0, &value), key))
        return number;
    if (value->type == PMIX_UINT32)
        number = value->data.uint32;
    else if (value->type == PMIX_UINT16)
        number = value->data.uint16;
    else
        complain("%s has type %d", key, (int)value->type);
    PMIX_VALUE_RELEASE(value);
    return number;
}

static uint32_t expected(const char *name)
{
    const char *text = getenv(name);

    return text == NULL ? UINT32_MAX : (uint32_t)strtoul(text, NULL, 10);
}

static void expect(const char *what, uint32_t got, const char *variable)
{
    if (getenv(variable) == NULL)
        complain("%s is not set: who starts this client must say what is right", variable);
    else if (got != expected(variable))
        complain("%s is %u, not %u", what, got, expected(variable));
}

static void start(void)
{
    if (!check(PMIx_Init(&self, NULL, 0), "PMIx_Init"))
        exit(1);
    world_size = get_number(PMIX_JOB_SIZE, PMIX_RANK_WILDCARD);
    expect("PMIX_JOB_SIZE", world_size, "TEST_SIZE");
    expect("PMIX_LOCAL_SIZE", get_number(PMIX_LOCAL_SIZE, PMIX_RANK_WILDCARD), "TEST_LOCAL_SIZE");
    expect("rank", self.rank, "TEST_RANK");
    expect("PMIX_LOCAL_RANK", get_number(PMIX_LOCAL_RANK, self.rank), "TEST_LOCAL_RANK");
    expect("PMIX_NODE_RANK", get_number(PMIX_NODE_RANK, self.rank), "TEST_LOCAL_RANK");
    get_number(PMIX_UNIV_SIZE, PMIX_RANK_WILDCARD);
    get_number(PMIX_APPNUM, self.rank);
}

static int finish(void)
{
    check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    return failures > 0;
}

/* What rank puts in round: 64 bytes that depend on both. */
static void value_fill(char *bytes, uint32_t rank, uint32_t round)
{
    for (uint32_t i = 0; i < VALUE_BYTES; i++)
        bytes[i] = (char)(rank * 31 + round * 7 + i);
}

static void put(uint32_t number, uint32_t round)
{
    char bytes[VALUE_BYTES], key[32];
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};

    value_fill(bytes, self.rank, round);
    snprintf(key, sizeof(key), "test.%u", number);
    value.data.bo.bytes = bytes;
    value.data.bo.size = VALUE_BYTES;
    check(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
    check(PMIx_Commit(), "PMIx_Commit");
}

static void compare_near(uint32_t rank, uint32_t number, uint32_t round, bool near)
{
    char bytes[VALUE_BYTES], key[32];
    pmix_value_t *value = NULL;
    pmix_proc_t proc;
    pmix_info_t info;

    PMIX_LOAD_PROCID(&proc, self.nspace, rank);
    PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    snprintf(key, sizeof(key), "test.%u", number);
    if (!check(PMIx_Get(&proc, key, &info, near ? 1 : 0, &value), key))
        return;
    value_fill(bytes, rank, round);
    if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != VALUE_BYTES ||
        memcmp(value->data.bo.bytes, bytes, VALUE_BYTES) != 0)
        complain("the value of rank %u in round %u is wrong", rank, round);
    PMIX_VALUE_RELEASE(value);
}

static void compare(uint32_t rank, uint32_t number, uint32_t round)
{
    compare_near(rank, number, round, false);
}

static pmix_status_t fence(bool collect, int timeout_s)
{
    pmix_info_t info[2];
    pmix_status_t status;

    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
    status = PMIx_Fence(NULL, 0, info, timeout_s > 0 ? 2 : 1);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return status;
}

static void exchange(bool collect, uint32_t rounds)
{
    for (uint32_t round = 0; round < rounds; round++) {
        put(round, round);
        check(fence(collect, 0), "PMIx_Fence");
        for (uint32_t rank = 0; rank < world_size; rank++)
            compare(rank, round, round);
    }
    check(fence(false, 0), "PMIx_Fence");
}

/* Each round replaces the values of the one before.  A process asks once, for libpmix would not ask its server again,
 * and after another of its node, whose answer the server may have kept. */
static void replace(uint32_t rounds)
{
    for (uint32_t round = 0; round < rounds; round++) {
        put(0, round);
        check(fence(true, 0), "PMIx_Fence");
        for (uint32_t rank = 0; rank < world_size && self.rank % rounds == round; rank++)
            compare(rank, 0, round);
        check(fence(false, 0), "PMIx_Fence");
    }
}

static void fence_of_half(void)
{
    bool collect = true;
    pmix_info_t info;
    pmix_proc_t *half = calloc(world_size, sizeof(*half));
    size_t count = 0;

    for (uint32_t rank = self.rank % 2; rank < world_size; rank += 2) {
        PMIX_LOAD_PROCID(&half[count], self.nspace, rank);
        count++;
    }
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    check(PMIx_Fence(half, count, &info, 1), "fence of a half");
    free(half);
}

/* Key 0 goes to and fro between two values, at odd ranks from round 1 on, and key N is put in round N; in every third round
 * halves fence, too. */
static void grow(uint32_t rounds, bool near)
{
    for (uint32_t round = 0; round < rounds; round++) {
        if (round > 0 || self.rank % 2 == 0)
            put(0, round % 2);
        if (round % 3 == 2)
            fence_of_half();
        if (round % 4 > 0)
            put(0, 0);
        if (round > 0 && round % 5 > 0)
            put(round, round);
        check(fence(true, 0), "PMIx_Fence");
        for (uint32_t rank = 0; rank < world_size && self.rank % rounds == round; rank++) {
            if (round > 0 || rank % 2 == 0)
                compare_near(rank, 0, 0, near);
            for (uint32_t number = 1; number <= round; number++) {
                if (number % 5 > 0)
                    compare_near(rank, number, number, near);
            }
        }
        check(fence(false, 0), "PMIx_Fence"); /* nobody goes on before all have asked */
    }
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* One fence of some ranks (NULL: all); raises longest_ms to how long it took. */
static pmix_status_t fence_timed(const pmix_proc_t *members, size_t count, double *longest_ms)
{
    double from_ms = now_ms();
    pmix_status_t status = PMIx_Fence(members, count, NULL, 0);
    double took_ms = now_ms() - from_ms;

    if (took_ms > *longest_ms)
        *longest_ms = took_ms;
    return status;
}

/* The node of rank `doomed` is killed in the meantime. */
static void survive(uint32_t doomed)
{
    pmix_proc_t *others = calloc(world_size, sizeof(*others));
    double longest_ms = 0;
    pmix_status_t status;
    uint32_t count = 0;

    for (uint32_t rank = 0; rank < world_size; rank++) {
        if (rank == doomed)
            continue;
        PMIX_LOAD_PROCID(&others[count], self.nspace, rank);
        count++;
    }
    check(fence_timed(NULL, 0, &longest_ms), "the first fence");
    longest_ms = 0;
    printf("up\n");
    fflush(stdout);
    do {
        status = fence_timed(NULL, 0, &longest_ms);
    } while (status == PMIX_SUCCESS);
    for (int i = 0; i < 10; i++)
        check(fence_timed(others, count, &longest_ms), "a fence of the survivors");
    printf("longest %.0f ms, error %s\n", longest_ms, PMIx_Error_string(status));
    free(others);
}

static void many(uint32_t times)
{
    struct timespec from, to;

    check(fence(false, 0), "PMIx_Fence");
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint32_t i = 0; i < times; i++)
        check(fence(false, 0), "PMIx_Fence");
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (self.rank == 0)
        printf("%.1f us per fence\n", ((double)(to.tv_sec - from.tv_sec) * 1e6 +
                                       (double)(to.tv_nsec - from.tv_nsec) / 1e3) /
                                          times);
}

struct pending {
    volatile int done;
    volatile pmix_status_t status;
};

static void fence_done(pmix_status_t status, void *context)
{
    struct pending *pending = context;

    pending->status = status;
    __atomic_store_n(&pending->done, 1, __ATOMIC_SEQ_CST);
}

static void pending_wait(const struct pending *pending, const char *what)
{
    while (!__atomic_load_n(&pending->done, __ATOMIC_SEQ_CST))
        usleep(100);
    check(pending->status, what);
}

/* Every rank opens two or three fences before it waits for any. */
static void open_fences(uint32_t rounds)
{
    uint32_t count = 0;
    pmix_proc_t *half = calloc(world_size, sizeof(*half));
    pmix_proc_t pair[2];

    for (uint32_t rank = self.rank % 2; rank < world_size; rank += 2) {
        PMIX_LOAD_PROCID(&half[count], self.nspace, rank);
        count++;
    }
    PMIX_LOAD_PROCID(&pair[0], self.nspace, 0);
    PMIX_LOAD_PROCID(&pair[1], self.nspace, world_size - 1);
    for (uint32_t round = 0; round < rounds; round++) {
        struct pending pending[3] = {{0}, {0}, {0}};
        bool in_pair = self.rank == 0 || self.rank == world_size - 1;

        if (in_pair)
            check(PMIx_Fence_nb(pair, 2, NULL, 0, fence_done, &pending[2]), "fence of a pair");
        check(PMIx_Fence_nb(NULL, 0, NULL, 0, fence_done, &pending[0]), "fence of all");
        check(PMIx_Fence_nb(half, count, NULL, 0, fence_done, &pending[1]), "fence of half");
        pending_wait(&pending[1], "fence of half");
        pending_wait(&pending[0], "fence of all");
        if (in_pair)
            pending_wait(&pending[2], "fence of a pair");
    }
    free(half);
}

/* libpmix 5.0.7 tells the status of a fence that failed to the first of its local clients only, and
 * success to the others. */
static bool may_be_told(pmix_status_t status)
{
    return PMIX_VERSION_MAJOR == 5 && status == PMIX_SUCCESS;
}

/* Waits until a neighbour has put its value.  It may have to ask again: libpmix waits 2 s at most for
 * one, and misses one that is being written (4.2.2, ds21). */
static void wait_for(uint32_t rank)
{
    pmix_status_t status = PMIX_ERR_TIMEOUT;
    pmix_value_t *value = NULL;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, self.nspace, rank);
    for (int i = 0; i < 1000 && status != PMIX_SUCCESS; i++) {
        status = PMIx_Get(&proc, "test.0", NULL, 0, &value);
        if (status != PMIX_SUCCESS)
            usleep(10000);
    }
    if (status == PMIX_SUCCESS)
        PMIX_VALUE_RELEASE(value);
    else
        complain("the value of rank %u: %s", rank, PMIx_Error_string(status));
}

/* Rank 0 does not join; it stays until every other rank says that its time is over. */
static void missing(void)
{
    for (uint32_t rank = 1; self.rank == 0 && rank < world_size; rank++)
        wait_for(rank);
    if (self.rank != 0) {
        pmix_status_t status = fence(false, 1);

        if (status != PMIX_ERR_TIMEOUT && !may_be_told(status))
            complain("a fence that must time out: %s", PMIx_Error_string(status));
        put(0, 0);
    }
}

/* One rank comes to the first fence when all others have been told that the time is over: so is it,
 * at once.  Then all fence again. */
static void late(uint32_t who)
{
    pmix_status_t status;
    double from_ms;

    for (uint32_t rank = 0; self.rank == who && rank < world_size; rank++) {
        if (rank != who)
            wait_for(rank);
    }
    from_ms = now_ms();
    status = fence(false, self.rank == who ? 0 : 1 + (int)self.rank % 2);
    if (status != PMIX_ERR_TIMEOUT && !may_be_told(status))
        complain("a fence that must time out: %s", PMIx_Error_string(status));
    if (self.rank == who && now_ms() - from_ms > 20000)
        complain("it is told after %.0f ms only", now_ms() - from_ms);
    put(0, 0);
    for (int i = 0; i < 3; i++)
        check(fence(i == 1, 20), "a fence after one that timed out");
    printf("rank %u: through\n", self.rank);
}

static void cut(void)
{
    pmix_status_t status = fence(false, 0);

    if (status == PMIX_SUCCESS && !may_be_told(status))
        complain("a fence of a job that is over succeeded");
}

static void lost(void)
{
    pmix_value_t *value = NULL;
    pmix_proc_t proc;

    check(fence(false, 0), "PMIx_Fence");
    if (self.rank == 0)
        _exit(0);
    PMIX_LOAD_PROCID(&proc, self.nspace, 0);
    if (PMIx_Get(&proc, "test.never", NULL, 0, &value) == PMIX_SUCCESS)
        complain("a value that was never put was found");
}

static void log_line(void)
{
    char text[64];
    pmix_info_t info;

    snprintf(text, sizeof(text), "line of rank %u\n", self.rank);
    PMIX_INFO_LOAD(&info, PMIX_LOG_STDERR, text, PMIX_STRING);
    check(PMIx_Log(&info, 1, NULL, 0), "PMIx_Log");
    PMIX_INFO_DESTRUCT(&info);
}

/* What libpmix itself would export, for namespace "space", rank 3 of the server "dvm", rank 7. */
static int setup(const char *directory, const char *gds)
{
    pmix_server_module_t module;
    pmix_info_t info[5], job[2];
    pmix_rank_t rank = 7;
    pmix_proc_t proc;
    char **environment = NULL, *nodes, *ranks;

    memset(&module, 0, sizeof(module));
    setenv("PMIX_MCA_gds", gds, 1);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, directory, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_NSPACE, "dvm", PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, "node7", PMIX_STRING);
    if (PMIx_server_init(&module, info, 5) != PMIX_SUCCESS)
        return 1;
    PMIX_LOAD_PROCID(&proc, "space", 3);
    PMIx_generate_regex("node6,node7", &nodes);
    PMIx_generate_ppn("0,1;2,3", &ranks);
    PMIX_INFO_LOAD(&job[0], PMIX_NODE_MAP, nodes, PMIX_REGEX);
    PMIX_INFO_LOAD(&job[1], PMIX_PROC_MAP, ranks, PMIX_REGEX);
    PMIx_server_register_nspace(proc.nspace, 2, job, 2, NULL, NULL);
    PMIx_server_register_client(&proc, getuid(), getgid(), NULL, NULL, NULL);
    if (PMIx_server_setup_fork(&proc, &environment) != PMIX_SUCCESS)
        return 1;
    printf("PID=%d\n", (int)getpid());
    for (char **entry = environment; *entry != NULL; entry++)
        puts(*entry);
    PMIx_server_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    uint32_t times = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;

    if (strcmp(mode, "setup") == 0)
        return argc > 3 ? setup(argv[2], argv[3]) : 2;
    start();
    if (strcmp(mode, "fence") == 0)
        exchange(true, times);
    else if (strcmp(mode, "direct") == 0)
        exchange(false, times);
    else if (strcmp(mode, "replace") == 0)
        replace(times);
    else if (strcmp(mode, "many") == 0)
        many(times);
    else if (strcmp(mode, "grow") == 0 || strcmp(mode, "near") == 0)
        grow(times, strcmp(mode, "near") == 0);
    else if (strcmp(mode, "open") == 0)
        open_fences(times);
    else if (strcmp(mode, "away") == 0 && self.rank == times)
        pause();
    else if (strcmp(mode, "stopped") == 0 && self.rank == times)
        raise(SIGSTOP);
    else if (strcmp(mode, "unput") == 0 && self.rank == times)
        raise(SIGSTOP);
    else if (strcmp(mode, "unput") == 0)
        compare(times, 0, 0);
    else if (strcmp(mode, "away") == 0 || strcmp(mode, "stopped") == 0)
        (void)fence(false, 0);
    else if (strcmp(mode, "survive") == 0)
        survive(times);
    else if (strcmp(mode, "missing") == 0)
        missing();
    else if (strcmp(mode, "late") == 0)
        late(times);
    else if (strcmp(mode, "cut") == 0)
        cut();
    else if (strcmp(mode, "lost") == 0)
        lost();
    else if (strcmp(mode, "log") == 0)
        log_line();
    else if (strcmp(mode, "abort") == 0 && self.rank == 0)
        PMIx_Abort(7, "enough", NULL, 0);
    else if (strcmp(mode, "quit") == 0 && self.rank == 0)
        _exit(0);
    else if (strcmp(mode, "abort") == 0 || strcmp(mode, "quit") == 0)
        (void)fence(false, 0);
    return finish();
}
