/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence SIZE: a PMIx client that times fences. All ranks do FENCES fences without data, then as
 * many before each of which every rank has put and committed 64 new bytes, collected by the fence.
 * Rank 0 prints the medians:
 *
 *     fence SIZE BARRIER_NS MODEX_NS
 *
 * Every rank then gets the last bytes of the next rank and checks them, so that a server cannot be
 * fast by doing nothing. Any failure is an exit code of 9 and a line on standard error.
 */
#include "config.h"

#include <inttypes.h>
#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FENCES = 21, BLOB_BYTES = 64 };

static pmix_proc_t self;

static void check(pmix_status_t status, const char *what)
{
    if (status == PMIX_SUCCESS)
        return;
    fprintf(stderr, "fence: rank %u: %s: %s\n", self.rank, what, PMIx_Error_string(status));
    exit(9);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;

    return (*a > *b) - (*a < *b);
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

/* What a rank puts before a fence: 64 bytes that no other rank and no other fence has. */
static void fill(char *blob, unsigned rank, unsigned round)
{
    memset(blob, (int)(rank * 7 + round), BLOB_BYTES);
    snprintf(blob, BLOB_BYTES, "rank %u round %u", rank, round);
}

static void put(unsigned round)
{
    char blob[BLOB_BYTES];
    char key[32];
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};

    fill(blob, self.rank, round);
    snprintf(key, sizeof key, "bench.%u", round);
    value.data.bo.bytes = blob;
    value.data.bo.size = sizeof blob;
    check(PMIx_Put(PMIX_GLOBAL, key, &value), "put");
    check(PMIx_Commit(), "commit");
}

static void check_next(unsigned size)
{
    char blob[BLOB_BYTES];
    char key[32];
    pmix_proc_t next;
    pmix_value_t *value;

    PMIX_PROC_LOAD(&next, self.nspace, (self.rank + 1) % size);
    fill(blob, next.rank, FENCES - 1);
    snprintf(key, sizeof key, "bench.%u", FENCES - 1);
    check(PMIx_Get(&next, key, NULL, 0, &value), "get");
    if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != BLOB_BYTES ||
        memcmp(value->data.bo.bytes, blob, BLOB_BYTES) != 0)
        check(PMIX_ERROR, "wrong bytes");
    PMIX_VALUE_RELEASE(value);
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
    static uint64_t barrier_ns[FENCES], modex_ns[FENCES];
    unsigned size;

    check(PMIx_Init(&self, NULL, 0), "init");
    size = job_size();
    if (argc < 2 || size != (unsigned)atoi(argv[1]))
        check(PMIX_ERROR, "the job has another size than expected");
    timed_fence(false);
    for (unsigned i = 0; i < FENCES; i++)
        barrier_ns[i] = timed_fence(false);
    for (unsigned i = 0; i < FENCES; i++) {
        put(i);
        modex_ns[i] = timed_fence(true);
    }
    check_next(size);
    timed_fence(false);
    if (self.rank == 0) {
        qsort(barrier_ns, FENCES, sizeof *barrier_ns, compare);
        qsort(modex_ns, FENCES, sizeof *modex_ns, compare);
        printf("fence %u %" PRIu64 " %" PRIu64 "\n", size, barrier_ns[FENCES / 2],
               modex_ns[FENCES / 2]);
    }
    check(PMIx_Finalize(NULL, 0), "finalize");
    return 0;
}
