/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence SIZE [BYTES [PEERS]]: a PMIx client that times fences. All ranks do FENCES fences without data, then
 * as many (LARGE_FENCES above 4 KiB) before each of which every rank has put and committed BYTES new
 * bytes (64 if not said), collected by the fence, and after each of which it gets the bytes of the next PEERS ranks
 * (0 if not said) and fences again without data. Rank 0 prints the medians, the last with the gets and that fence:
 *
 *     fence SIZE BARRIER_NS MODEX_NS GETS_NS
 *
 * Every rank then gets the last bytes of the next rank and checks them, so that a server cannot be
 * fast by doing nothing. Any failure is an exit code of 9 and a line on standard error.
 */
#include "config.h"

#include "contrib/bench/measure.h"

#include <inttypes.h>
#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FENCES = 21, LARGE_FENCES = 5, BLOB_BYTES = 64, BLOB_BYTES_MAX = 1024 * 1024 };

static size_t blob_bytes = BLOB_BYTES;

static pmix_proc_t self;

static void check(pmix_status_t status, const char *what)
{
    if (status == PMIX_SUCCESS)
        return;
    fprintf(stderr, "fence: rank %u: %s: %s\n", self.rank, what, PMIx_Error_string(status));
    exit(9);
}

static uint64_t timed_fence(bool collect)
{
    pmix_proc_t all;
    pmix_info_t info;
    uint64_t started_ns;

    PMIX_PROC_LOAD(&all, self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    started_ns = now_ns();
    check(PMIx_Fence(&all, 1, &info, 1), "fence");
    return now_ns() - started_ns;
}

/* What a rank puts before a fence: bytes that no other rank and no other fence has. */
static void fill(char *blob, unsigned rank, unsigned round)
{
    memset(blob, (int)(rank * 7 + round), blob_bytes);
    snprintf(blob, blob_bytes, "rank %u round %u", rank, round);
}

static char *new_blob(void)
{
    char *blob = malloc(blob_bytes);

    if (blob == NULL)
        check(PMIX_ERR_NOMEM, "memory");
    return blob;
}

static void put(unsigned round)
{
    char *blob = new_blob();
    char key[32];
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};

    fill(blob, self.rank, round);
    snprintf(key, sizeof key, "bench.%u", round);
    value.data.bo.bytes = blob;
    value.data.bo.size = blob_bytes;
    check(PMIx_Put(PMIX_GLOBAL, key, &value), "put");
    check(PMIx_Commit(), "commit");
    free(blob);
}

static void check_peer(unsigned rank, unsigned rounds)
{
    char *blob = new_blob();
    char key[32];
    pmix_proc_t next;
    pmix_value_t *value;

    PMIX_PROC_LOAD(&next, self.nspace, rank);
    fill(blob, next.rank, rounds - 1);
    snprintf(key, sizeof key, "bench.%u", rounds - 1);
    check(PMIx_Get(&next, key, NULL, 0, &value), "get");
    if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != blob_bytes ||
        memcmp(value->data.bo.bytes, blob, blob_bytes) != 0)
        check(PMIX_ERROR, "wrong bytes");
    PMIX_VALUE_RELEASE(value);
    free(blob);
}

static void get_peers(unsigned size, unsigned peers, unsigned round)
{
    for (unsigned i = 1; i <= peers; i++)
        check_peer((self.rank + i) % size, round + 1);
    if (peers > 0)
        timed_fence(false);
}

static unsigned job_size(void)
{
    pmix_proc_t all;
    pmix_value_t *value;
    unsigned size;

    PMIX_PROC_LOAD(&all, self.nspace, PMIX_RANK_WILDCARD);
    check(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "get the size of the job");
    size = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return size;
}

int main(int argc, char **argv)
{
    static uint64_t barrier_ns[FENCES], modex_ns[FENCES], gets_ns[FENCES];
    unsigned size, rounds, peers = argc > 3 ? (unsigned)atoi(argv[3]) : 0;

    check(PMIx_Init(&self, NULL, 0), "init");
    size = job_size();
    if (argc < 2 || size != (unsigned)atoi(argv[1]))
        check(PMIX_ERROR, "the job has another size than expected");
    if (argc > 2)
        blob_bytes = (size_t)atoi(argv[2]);
    if (blob_bytes < BLOB_BYTES || blob_bytes > BLOB_BYTES_MAX)
        check(PMIX_ERR_BAD_PARAM, "BYTES");
    rounds = blob_bytes > 4096 ? LARGE_FENCES : FENCES;
    timed_fence(false);
    for (unsigned i = 0; i < FENCES; i++)
        barrier_ns[i] = timed_fence(false);
    for (unsigned i = 0; i < rounds; i++) {
        put(i);
        gets_ns[i] = now_ns();
        modex_ns[i] = timed_fence(true);
        get_peers(size, peers, i);
        gets_ns[i] = now_ns() - gets_ns[i];
    }
    check_peer((self.rank + 1) % size, rounds);
    timed_fence(false);
    if (self.rank == 0) {
        qsort(barrier_ns, FENCES, sizeof *barrier_ns, measure_compare);
        qsort(modex_ns, rounds, sizeof *modex_ns, measure_compare);
        qsort(gets_ns, rounds, sizeof *gets_ns, measure_compare);
        printf("fence %u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", size, barrier_ns[FENCES / 2],
               modex_ns[rounds / 2], gets_ns[rounds / 2]);
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}
