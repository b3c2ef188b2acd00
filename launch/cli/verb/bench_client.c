/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "fabric/loop.h"

#define KEY_DATA      "banyan.bench.data.%u" /* the size */
#define KEY_PLAN      "banyan.bench.plan"
#define KEY_MEDIANS   "banyan.bench.medians"
#define VARIABLE_JOB  "PMIX_NAMESPACE"
#define VARIABLE_RANK "PMIX_RANK"
#define NAME          "fence"

/* A key that a rank has got stays what it was for that rank, with all else that its owner had put by then: libpmix
 * caches.  So there is a key for each size, and a fence between the last get and the next put. */
struct bench_ranks {
    const struct fence_client_table *client;
    const struct fence_client_self *self;
    char *key; /* of this measurement's data */
};

bool bench_client_is_quiet(void)
{
    const char *rank = getenv(VARIABLE_RANK);

    return getenv(VARIABLE_JOB) != NULL && rank != NULL && strcmp(rank, "0") != 0;
}

int bench_client_check(struct error *error)
{
    if (getenv(VARIABLE_JOB) != NULL && getenv(VARIABLE_RANK) != NULL)
        return 0;
    return error_set(error, -ENOTCONN,
                     "option --client: no launcher offers PMIx to this process (" VARIABLE_JOB
                     " and " VARIABLE_RANK
                     " are not set); start it by 'banyan run -n 2 banyan bench "
                     "--client', or by orterun, prterun or srun --mpi=pmix");
}

/* What a rank puts in a round: bytes of no other rank and no other round. */
static void fill(unsigned char *data, uint32_t bytes, uint32_t rank, uint32_t round)
{
    struct random_state random;

    random_init(&random, (uint64_t)rank << 32 | round);
    for (uint32_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t next = random_next(&random);

        memcpy(data + at, &next, bytes - at < sizeof(next) ? bytes - at : sizeof(next));
    }
}

/* Whether a rank has put exactly that with the key. */
static int compare(const struct bench_ranks *ranks, uint32_t rank, const char *key,
                   const void *expected, size_t expected_bytes, bool *ret_same, struct error *error)
{
    void *data = NULL;
    size_t bytes = 0;
    int rc = ranks->client->get(rank, key, &data, &bytes, error);

    if (rc < 0)
        return rc;
    *ret_same = bytes == expected_bytes && memcmp(data, expected, bytes) == 0;
    free(data);
    return 0;
}

/* Ranks with other options would wait for fences that never come. */
static int check_plan(const struct bench_ranks *ranks, const struct bench_request *requests,
                      uint32_t count, struct error *error)
{
    struct buffer plan = {0};
    bool same = false;
    int rc;

    for (uint32_t i = 0; i < count; i++)
        bench_request_encode(&requests[i], &plan);
    rc = ranks->client->put(KEY_PLAN, plan.data, plan.length_bytes, error);
    if (rc == 0)
        rc = ranks->client->fence(1, error);
    if (rc == 0)
        rc = compare(ranks, 0, KEY_PLAN, plan.data, plan.length_bytes, &same, error);
    if (rc == 0 && !same)
        rc = error_set(
            error, -EINVAL,
            "option --client: rank %u was given other sizes or repetitions than rank 0; give all "
            "ranks the same options",
            ranks->self->rank);
    buffer_fini(&plan);
    return rc < 0 ? rc : ranks->client->fence(0, error);
}

static int check_neighbour(const struct bench_ranks *ranks, const struct bench_request *what,
                           uint32_t round, unsigned char *expected, struct error *error)
{
    uint32_t neighbour = (ranks->self->rank + 1) % ranks->self->ranks;
    bool same = false;
    int rc;

    fill(expected, what->size_bytes, neighbour, round);
    rc = compare(ranks, neighbour, ranks->key, expected, what->size_bytes, &same, error);
    if (rc == 0 && !same)
        rc = error_set(
            error, -EBADMSG,
            "rank %u: after a fence PMIx does not give the last %u bytes that rank %u has put",
            ranks->self->rank, what->size_bytes, neighbour);
    return rc < 0 ? rc : ranks->client->fence(0, error);
}

static int measure_rounds(const struct bench_ranks *ranks, const struct bench_request *what,
                          unsigned char *data, uint64_t *ret_times, struct error *error)
{
    uint32_t rounds = what->warm_up + what->repeat;
    int rc = 0;

    for (uint32_t i = 0; i < rounds && rc == 0; i++) {
        uint64_t begun_ns;

        fill(data, what->size_bytes, ranks->self->rank, i);
        begun_ns = loop_now_ns();
        if (what->size_bytes > 0)
            rc = ranks->client->put(ranks->key, data, what->size_bytes, error);
        if (rc == 0)
            rc = ranks->client->fence(what->size_bytes > 0, error);
        if (i >= what->warm_up)
            ret_times[i - what->warm_up] = loop_now_ns() - begun_ns;
    }
    if (rc == 0 && what->size_bytes > 0)
        rc = check_neighbour(ranks, what, rounds - 1, data, error);
    return rc;
}

static int measure_one(struct bench_ranks *ranks, const struct bench_request *what,
                       struct bench_row *ret_row, struct error *error)
{
    uint64_t *times = memory_allocate_zeroed(what->repeat * sizeof(*times));
    unsigned char *data = memory_allocate_zeroed(what->size_bytes + 1);
    int rc;

    assert(what->operation == BENCH_EXCHANGE && what->size_bytes <= BENCH_CLIENT_SIZE_MAX);
    ranks->key = memory_printf(KEY_DATA, what->size_bytes);
    rc = measure_rounds(ranks, what, data, times, error);
    if (rc == 0)
        bench_row_ranks(ret_row, NAME, what, ranks->self->ranks, times);
    free(ranks->key);
    free(data);
    free(times);
    return rc;
}

static int take_medians(const struct bench_ranks *ranks, uint32_t rank, uint64_t *medians_ns,
                        uint32_t count, struct bench_row *rows, struct error *error)
{
    struct wire_reader reader;
    void *data = NULL;
    size_t bytes = 0;
    int rc = ranks->client->get(rank, KEY_MEDIANS, &data, &bytes, error);

    if (rc < 0)
        return rc;
    wire_reader_init(&reader, data, bytes);
    rc = bench_medians_decode(medians_ns, count, &reader);
    free(data);
    if (rc < 0)
        return error_set(error, rc,
                         "rank %u has put no medians of %u measurements; is banyan of "
                         "one version on all nodes?",
                         rank, count);
    for (uint32_t i = 0; i < count; i++) {
        if (rank > 0 && medians_ns[i] <= rows[i].slowest_ns)
            continue;
        rows[i].slowest_rank = rank;
        rows[i].slowest_ns = medians_ns[i];
    }
    return 0;
}

static int find_slowest(const struct bench_ranks *ranks, uint32_t count, struct bench_row *rows,
                        struct error *error)
{
    uint64_t *medians_ns = memory_allocate_zeroed((count + 1) * sizeof(*medians_ns));
    struct buffer out = {0};
    int rc;

    for (uint32_t i = 0; i < count; i++)
        medians_ns[i] = rows[i].median_ns;
    bench_medians_encode(medians_ns, count, &out);
    rc = ranks->client->put(KEY_MEDIANS, out.data, out.length_bytes, error);
    if (rc == 0)
        rc = ranks->client->fence(1, error);
    if (ranks->self->rank == 0)
        for (uint32_t i = 0; i < ranks->self->ranks && rc == 0; i++)
            rc = take_medians(ranks, i, medians_ns, count, rows, error);
    buffer_fini(&out);
    free(medians_ns);
    return rc;
}

int bench_client_measure(const struct fence_client_table *client,
                         const struct fence_client_self *self, const struct bench_request *requests,
                         uint32_t count, struct bench_row *ret_rows, struct error *error)
{
    struct bench_ranks ranks = {.client = client, .self = self};
    int rc = check_plan(&ranks, requests, count, error);

    assert(self->rank < self->ranks);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = measure_one(&ranks, &requests[i], &ret_rows[i], error);
    return rc < 0 ? rc : find_slowest(&ranks, count, ret_rows, error);
}
