/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_jobs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "fabric/loop.h"
#include "launch/cli/verb/bench_row_pairs.h"
#include "launch/cli/verb/pair_matrix.h"
#include "launch/cli/verb/this_machine.h"
#include "launch/start/command_output.h"

/* Lines of 64 bytes. */
#define LINES "yes 012345678901234567890123456789012345678901234567890123456789012 | head -c \"$0\""

const char *bench_jobs_name(uint8_t operation)
{
    static const char *const names[] = {"launch", "io", "pairs", "pairs_latency"};

    assert(operation >= BENCH_OPERATION_COUNT && operation < BENCH_JOB_END);
    return names[operation - BENCH_JOB_LAUNCH];
}

/* One job: argv of banyan run.  *ret_ns: from its exec to its end. */
static int run_job(const char *const *argv, uint64_t bytes, uint64_t *ret_ns, struct error *error)
{
    struct buffer out = {0};
    uint64_t begun_ns = loop_now_ns();
    int rc = command_output(argv, &out, error);

    *ret_ns = loop_now_ns() - begun_ns;
    if (rc == 0 && out.length_bytes != bytes)
        rc = error_set(error, -EIO,
                       "cannot measure io: a job has written %llu bytes, of which "
                       "%zu have arrived",
                       (unsigned long long)bytes, out.length_bytes);
    buffer_fini(&out);
    return rc;
}

static int run_all(const char *const *argv, const struct bench_request *what, uint64_t bytes,
                   uint64_t *ret_times, struct error *error)
{
    uint32_t rounds = what->warm_up + what->repeat;
    int rc = 0;

    for (uint32_t i = 0; i < rounds && rc == 0; i++) {
        uint64_t ns;

        rc = run_job(argv, bytes, &ns, error);
        if (i >= what->warm_up)
            ret_times[i - what->warm_up] = ns;
    }
    return rc;
}

/* All nodes that live, or the first ones. */
static int measure_pairs(const char *directory, const struct bench_request *what, uint32_t nodes,
                         const char *provider, struct bench_row *ret_row, struct error *error)
{
    bool is_latency = what->operation == BENCH_JOB_PAIRS_LATENCY;
    bool is_some = what->nodes > 0 && what->nodes < nodes;
    char *count = memory_printf("%u", what->nodes);
    const char *const options[] = {"--instance", directory, "-n", count};
    const struct pair_matrix_run run = {.options = options,
                                        .options_count = is_some ? 4 : 2,
                                        .bytes = what->size_bytes,
                                        .repeats = what->repeat,
                                        .provider = provider};
    struct pair_matrix matrix;
    uint32_t measured = is_some ? what->nodes : nodes;
    int rc = 0;

    if (measured > PAIR_MATRIX_NODES_MAX)
        rc = error_set(error, -E2BIG,
                       "cannot measure pairs of %u nodes: at most %u; use a smaller --node-counts",
                       measured, PAIR_MATRIX_NODES_MAX);
    else if (measured < 2)
        rc = error_set(error, -EINVAL, "cannot measure pairs: the instance at %s has one node only",
                       directory);
    if (rc == 0)
        rc = pair_matrix_measure(&run, &matrix, error);
    if (rc == 0)
        bench_row_paired(ret_row, what, is_latency, &matrix);
    free(count);
    return rc;
}

/* `banyan run` is timed. */
static int measure_runs(const char *directory, const struct bench_request *what, uint32_t nodes,
                        struct bench_row *ret_row, struct error *error)
{
    uint32_t processes = what->nodes > 0 && what->nodes < nodes ? what->nodes : nodes;
    bool is_io = what->operation == BENCH_JOB_IO;
    uint64_t bytes = is_io ? (uint64_t)what->size_bytes * processes : 0, *times;
    char *banyan, *count, *size;
    int rc;

    assert(nodes > 0 && what->repeat > 0);
    if (bytes > COMMAND_OUTPUT_BYTES_MAX)
        return error_set(error, -EMSGSIZE,
                         "cannot measure io of %u bytes: all nodes together would write more than "
                         "64M; use a smaller --size",
                         what->size_bytes);
    banyan = this_machine_banyan();
    count = memory_printf("%u", processes);
    size = memory_printf("%u", what->size_bytes);
    times = memory_allocate_zeroed(what->repeat * sizeof(*times));
    {
        const char *const launch[] = {banyan, "run", "--instance", directory, "-N",
                                      "1",    "-n",  count,        "true",    NULL};
        const char *const io[] = {banyan, "run", "--instance", directory, "-N", "1", "-n",
                                  count,  "sh",  "-c",         LINES,     size, NULL};

        rc = run_all(is_io ? io : launch, what, bytes, times, error);
    }
    if (rc == 0)
        bench_row_timed(ret_row, bench_jobs_name(what->operation), what, processes, times);
    free(times);
    free(size);
    free(count);
    free(banyan);
    return rc;
}

int bench_jobs_measure(const char *directory, const struct bench_request *what, uint32_t nodes,
                       const char *provider, struct bench_row *ret_row, struct error *error)
{
    bool is_pairs =
        what->operation == BENCH_JOB_PAIRS || what->operation == BENCH_JOB_PAIRS_LATENCY;

    assert(what->operation >= BENCH_JOB_LAUNCH && what->operation < BENCH_JOB_END);
    return is_pairs ? measure_pairs(directory, what, nodes, provider, ret_row, error)
                    : measure_runs(directory, what, nodes, ret_row, error);
}
