/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences of PMIx clients (launch/cli/verb/bench_client.c): of three ranks that are threads here, with a PMIx of this
 * program, and of one whose PMIx does wrong.
 */
#include "config.h"

#include "launch/cli/verb/bench_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/tap.h"

#define RANKS    3u
#define REQUESTS 2u
#define KEYS_MAX 8u
#define ROUNDS   7u /* warm-up included */

static const struct bench_request requests[REQUESTS] = {
    {.operation = BENCH_EXCHANGE, .size_bytes = 0, .warm_up = 2, .repeat = 5},
    {.operation = BENCH_EXCHANGE, .size_bytes = 13, .warm_up = 2, .repeat = 5}};

struct entry {
    char key[32];
    unsigned char data[128];
    size_t bytes;
};

static struct entry entries[RANKS][KEYS_MAX];
static unsigned puts_done[RANKS], fences[RANKS], collects[RANKS], repeated[RANKS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static _Thread_local uint32_t own_rank;

static struct entry *entry_of(uint32_t rank, const char *key)
{
    unsigned i = 0;

    while (i < KEYS_MAX - 1 && entries[rank][i].key[0] != '\0' &&
           strcmp(entries[rank][i].key, key) != 0)
        i++;
    return &entries[rank][i];
}

/* ---- a PMIx that works ---- */

static int put(const char *key, const void *data, size_t bytes, struct error *error)
{
    struct entry *entry;

    (void)error;
    pthread_mutex_lock(&mutex);
    entry = entry_of(own_rank, key);
    repeated[own_rank] += entry->bytes == bytes && memcmp(entry->data, data, bytes) == 0;
    snprintf(entry->key, sizeof(entry->key), "%s", key);
    memcpy(entry->data, data, bytes);
    entry->bytes = bytes;
    puts_done[own_rank]++;
    pthread_mutex_unlock(&mutex);
    return 0;
}

static int fence(int collect, struct error *error)
{
    (void)error;
    fences[own_rank]++;
    collects[own_rank] += collect != 0;
    pthread_barrier_wait(&barrier);
    return 0;
}

static int get(uint32_t rank, const char *key, void **ret_data, size_t *ret_bytes,
               struct error *error)
{
    const struct entry *entry;
    int rc = 0;

    pthread_mutex_lock(&mutex);
    entry = entry_of(rank, key);
    if (strcmp(entry->key, key) == 0) {
        *ret_bytes = entry->bytes;
        *ret_data = memory_allocate(entry->bytes + 1);
        memcpy(*ret_data, entry->data, entry->bytes);
    } else {
        rc = error_set(error, -ENOENT, "rank %u has no %s", rank, key);
    }
    pthread_mutex_unlock(&mutex);
    return rc;
}

struct outcome {
    struct fence_client_self self;
    struct bench_row rows[REQUESTS];
    struct error error;
    int rc;
};

static void *be_rank(void *context)
{
    static const struct fence_client_table works = {.put = put, .fence = fence, .get = get};
    struct outcome *outcome = context;

    own_rank = outcome->self.rank;
    outcome->rc = bench_client_measure(&works, &outcome->self, requests, REQUESTS, outcome->rows,
                                       &outcome->error);
    return NULL;
}

static void check_row(const struct bench_row *row, uint32_t bytes)
{
    is_string(row->name, "fence", "a fence");
    ok(row->is_of_ranks && row->nodes == RANKS, "of all ranks");
    ok(row->what.size_bytes == bytes && row->what.repeat == 5, "as it was asked for");
    ok(row->min_ns <= row->median_ns && row->median_ns <= row->max_ns && row->max_ns > 0, "timed");
    ok(row->slowest_rank < RANKS && row->slowest_ns >= row->median_ns, "one rank is the slowest");
}

static void test_ranks(void)
{
    struct outcome outcomes[RANKS] = {{.rc = 0}};
    pthread_t threads[RANKS];

    pthread_barrier_init(&barrier, NULL, RANKS);
    for (uint32_t i = 0; i < RANKS; i++) {
        outcomes[i].self = (struct fence_client_self){.rank = i, .ranks = RANKS};
        if (pthread_create(&threads[i], NULL, be_rank, &outcomes[i]) != 0)
            bail_out("no thread");
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        pthread_join(threads[i], NULL);
        is_int(outcomes[i].rc, 0, "rank %u has measured%s", i, outcomes[i].error.text);
        is_uint(puts_done[i], 1 + ROUNDS + 1, "the plan, each round's data, medians");
        is_uint(repeated[i], 0, "each time new bytes");
        is_uint(fences[i], 2 + ROUNDS + ROUNDS + 1 + 1, "a fence for each round, and around them");
        is_uint(collects[i], 1 + ROUNDS + 1, "those with data collect");
    }
    pthread_barrier_destroy(&barrier);
    check_row(&outcomes[0].rows[0], 0);
    check_row(&outcomes[0].rows[1], 13);
}

/* ---- one rank of two, whose PMIx does wrong ---- */

static enum { RIGHT, NO_PUT, NO_FENCE, OTHER_PLAN, OTHER_BYTES, OTHER_MEDIANS } wrong;

static int wrong_put(const char *key, const void *data, size_t bytes, struct error *error)
{
    if (wrong == NO_PUT)
        return error_set(error, -EPROTO, "no put");
    return put(key, data, bytes, error);
}

static int wrong_fence(int collect, struct error *error)
{
    (void)collect;
    return wrong == NO_FENCE ? error_set(error, -EPROTO, "no fence") : 0;
}

/* The other rank puts_done what this one does, but medians. */
static int wrong_get(uint32_t rank, const char *key, void **ret_data, size_t *ret_bytes,
                     struct error *error)
{
    const uint64_t medians_ns[REQUESTS] = {1, UINT64_MAX};
    struct buffer out = {0};
    int rc = get(own_rank, key, ret_data, ret_bytes, error);

    if (rc == 0 && wrong == OTHER_PLAN && strstr(key, "plan") != NULL)
        ++*(unsigned char *)*ret_data;
    if (rc == 0 && rank != own_rank && strstr(key, "medians") != NULL) {
        free(*ret_data);
        bench_medians_encode(medians_ns, wrong == OTHER_MEDIANS ? 1 : REQUESTS, &out);
        *ret_data = buffer_take(&out, ret_bytes);
    }
    return rc;
}

static int measure_wrong(uint32_t rank, uint32_t size_bytes, struct bench_row *ret_rows,
                         struct error *error)
{
    static const struct fence_client_table table = {
        .put = wrong_put, .fence = wrong_fence, .get = wrong_get};
    const struct bench_request both[REQUESTS] = {
        {.operation = BENCH_EXCHANGE, .repeat = 1},
        {.operation = BENCH_EXCHANGE, .size_bytes = size_bytes, .repeat = 1}};
    struct fence_client_self self = {.rank = rank, .ranks = 2};

    own_rank = rank;
    return bench_client_measure(&table, &self, both, REQUESTS, ret_rows, error);
}

static void test_slowest(void)
{
    struct bench_row rows[REQUESTS];
    struct error error = ERROR_NONE;

    wrong = RIGHT;
    is_int(measure_wrong(0, 0, rows, &error), 0, "rank 0 gets medians");
    is_uint(rows[0].slowest_rank, 0, "one row is its own");
    ok(rows[1].slowest_rank == 1 && rows[1].slowest_ns == UINT64_MAX, "one is of the other rank");
}

static void test_wrong(void)
{
    static const struct {
        int what;
        uint32_t rank;
        uint32_t size_bytes;
        const char *text;
    } cases[] = {
        {NO_PUT, 0, 0, "no put"},
        {NO_FENCE, 0, 0, "no fence"},
        {OTHER_PLAN, 1, 0,
         "option --client: rank 1 was given other sizes or repetitions than rank 0; give all ranks "
         "the same options"},
        {OTHER_BYTES, 1, 9,
         "rank 1: after a fence PMIx does not give the last 9 bytes that rank 0 has put"},
        {OTHER_MEDIANS, 0, 0, "rank 1 has put no medians of 2 measurements"}};
    struct bench_row rows[REQUESTS];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error error = ERROR_NONE;

        wrong = cases[i].what;
        ok(measure_wrong(cases[i].rank, cases[i].size_bytes, rows, &error) < 0, "it fails");
        ok(strncmp(error.text, cases[i].text, strlen(cases[i].text)) == 0, "%s", error.text);
    }
}

/* ---- what launchers say ---- */

static void test_environment(void)
{
    struct error error = ERROR_NONE;

    unsetenv("PMIX_NAMESPACE");
    setenv("PMIX_RANK", "1", 1);
    ok(bench_client_check(&error) < 0, "no launcher");
    ok(strstr(error.text, "start it by 'banyan run -n 2 banyan bench --client'") != NULL,
       "how to have one");
    ok(!bench_client_is_quiet(), "somebody must say it");
    setenv("PMIX_NAMESPACE", "job", 1);
    is_int(bench_client_check(&error), 0, "there is one");
    ok(bench_client_is_quiet(), "rank 0 says it");
    setenv("PMIX_RANK", "0", 1);
    ok(!bench_client_is_quiet(), "as here");
}

/* ---- reports ---- */

static void test_report(void)
{
    uint64_t times[] = {3000, 1000, 2000};
    const struct bench_request what = {
        .operation = BENCH_EXCHANGE, .size_bytes = 1000, .repeat = 3};
    struct allocation nobody = {.names = NULL};
    struct bench_row row, again;
    struct buffer out = {0};
    json_t *object;

    bench_row_ranks(&row, "fence", &what, 4, times);
    row.slowest_rank = 2;
    row.slowest_ns = 9000;
    bench_row_print_heading(&row, &out);
    ok(strncmp(buffer_string(&out), "OPERATION           RANKS      BYTES ", 36) == 0, "ranks");
    buffer_clear(&out);
    bench_row_csv_heading(true, &out);
    bench_row_csv(&row, NULL, &out);
    is_string(buffer_string(&out),
              "operation,ranks,bytes,times,min_ns,median_ns,p99_ns,max_ns,median_low_ns,"
              "median_high_ns,mb_s,slowest_from,slowest_to,variant\n"
              "fence,4,1000,3,1000,2000,3000,3000,1000,3000,2000.000,,,\n",
              "CSV: the bytes of all ranks");
    buffer_clear(&out);
    bench_row_print_slowest(&row, 1, &out);
    is_string(buffer_string(&out),
              "\nslowest rank of each:\n       BYTES     RANK    MEDIAN us\n"
              "        1000        2          9.0\n",
              "the slowest");
    object = bench_row_json(&row, &nobody);
    is_int(json_integer_value(json_object_get(object, "ranks")), 4, "JSON");
    is_int(json_integer_value(json_object_get(object, "slowest_median_ns")), 9000, "the slowest");
    ok(json_object_get(object, "levels") == NULL, "there is no tree");
    is_int(bench_row_from_json(&again, object), 0, "and back");
    ok(again.is_of_ranks && again.nodes == 4 && again.median_ns == 2000, "as it was");
    json_decref(object);
    buffer_fini(&out);
}

int main(void)
{
    test_ranks();
    test_slowest();
    test_wrong();
    test_environment();
    test_report();
    return done_testing();
}
