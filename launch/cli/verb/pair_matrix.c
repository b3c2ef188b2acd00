/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/pair_matrix.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "launch/cli/verb/node_run.h"
#include "launch/exec/pair_worker.h"

/* ---- What the processes print ---- */

void pair_matrix_fini(struct pair_matrix *matrix)
{
    for (uint32_t i = 0; matrix->names != NULL && i < matrix->nodes; i++)
        free(matrix->names[i]);
    free(matrix->names);
    free(matrix->paths);
    *matrix = (struct pair_matrix){.nodes = 0};
}

struct pair_path *pair_matrix_path(const struct pair_matrix *matrix, uint32_t from, uint32_t to)
{
    assert(from < matrix->nodes && to < matrix->nodes);
    return &matrix->paths[(size_t)from * matrix->nodes + to];
}

static int take_line(struct pair_matrix *matrix, const char *line, struct error *error)
{
    char name[256] = "";
    struct pair_path path;
    uint32_t from, to;

    if (sscanf(line, "node %" SCNu32 " %255s", &from, name) == 2 && from < matrix->nodes) {
        free(matrix->names[from]);
        matrix->names[from] = memory_copy_string(name);
        return 0;
    }
    if (sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64, &from, &to, &path.latency_ns,
               &path.transfer_ns) == 4 &&
        from < matrix->nodes && to < matrix->nodes && from != to && path.latency_ns > 0 &&
        path.transfer_ns > 0) {
        *pair_matrix_path(matrix, from, to) = path;
        return 0;
    }
    return node_run_refuse("measure", line, error);
}

static int check_complete(const struct pair_matrix *matrix, struct error *error)
{
    for (uint32_t from = 0; from < matrix->nodes; from++) {
        for (uint32_t to = 0; to < matrix->nodes; to++) {
            if (matrix->names[from] == NULL)
                return error_set(error, -EPROTO, "cannot measure: process %u has said nothing",
                                 from);
            if (from != to && pair_matrix_path(matrix, from, to)->latency_ns == 0)
                return error_set(error, -EPROTO,
                                 "cannot measure: nothing is known of the path from %s to %s",
                                 matrix->names[from], matrix->names[to]);
        }
    }
    return 0;
}

static int take_lines(struct pair_matrix *matrix, const char *lines, struct error *error)
{
    int rc = 0;

    for (const char *line = lines; *line != '\0'; line = node_run_next_line(line))
        matrix->nodes += strncmp(line, "node ", 5) == 0;
    if (matrix->nodes > PAIR_MATRIX_NODES_MAX)
        return error_set(error, -E2BIG, "cannot measure more than %u nodes", PAIR_MATRIX_NODES_MAX);
    matrix->names = memory_allocate_zeroed((matrix->nodes + 1) * sizeof(*matrix->names));
    matrix->paths = memory_allocate_zeroed(((size_t)matrix->nodes * matrix->nodes + 1) *
                                           sizeof(*matrix->paths));
    for (const char *line = lines; *line != '\0' && rc == 0; line = node_run_next_line(line))
        rc = take_line(matrix, line, error);
    if (rc == 0 && matrix->nodes < 2)
        rc = error_set(error, -EINVAL, "cannot measure paths: there are fewer than two nodes");
    return rc == 0 ? check_complete(matrix, error) : rc;
}

int pair_matrix_take(const char *lines, struct pair_matrix *ret_matrix, struct error *error)
{
    struct pair_matrix matrix = {.nodes = 0};
    int rc = take_lines(&matrix, lines, error);

    if (rc < 0) {
        pair_matrix_fini(&matrix);
        return rc;
    }
    assert(matrix.nodes >= 2);
    *ret_matrix = matrix;
    return 0;
}

/* ---- What is asked of it ---- */

uint64_t pair_matrix_ns(const struct pair_matrix *matrix, bool is_latency, uint32_t from,
                        uint32_t to)
{
    const struct pair_path *path = pair_matrix_path(matrix, from, to);

    return is_latency ? path->latency_ns : path->transfer_ns;
}

/* The latency of a pair is in both directions half of the same round trip. */
static bool is_counted(bool is_latency, uint32_t from, uint32_t to)
{
    return is_latency ? from < to : from != to;
}

uint64_t *pair_matrix_times(const struct pair_matrix *matrix, bool is_latency, uint32_t *ret_count)
{
    uint64_t *times = memory_allocate((size_t)matrix->nodes * matrix->nodes * sizeof(*times));
    uint32_t count = 0;

    assert(matrix->nodes >= 2 && matrix->nodes <= PAIR_MATRIX_NODES_MAX);
    for (uint32_t from = 0; from < matrix->nodes; from++) {
        for (uint32_t to = 0; to < matrix->nodes; to++) {
            if (is_counted(is_latency, from, to))
                times[count++] = pair_matrix_ns(matrix, is_latency, from, to);
        }
    }
    *ret_count = count;
    return times;
}

/* Keeps them sorted; of equal ones the first stays. */
static void put_pair(struct pair_matrix_pair *pairs, uint32_t *count, uint32_t maximum,
                     struct pair_matrix_pair pair)
{
    uint32_t at = *count;

    if (at == maximum && pairs[at - 1].ns >= pair.ns)
        return;
    if (at == maximum)
        at--;
    else
        (*count)++;
    for (; at > 0 && pairs[at - 1].ns < pair.ns; at--)
        pairs[at] = pairs[at - 1];
    pairs[at] = pair;
}

uint32_t pair_matrix_slowest(const struct pair_matrix *matrix, bool is_latency, uint32_t maximum,
                             struct pair_matrix_pair *ret_pairs)
{
    uint32_t count = 0;

    assert(maximum > 0);
    for (uint32_t from = 0; from < matrix->nodes; from++) {
        for (uint32_t to = 0; to < matrix->nodes; to++) {
            if (is_counted(is_latency, from, to))
                put_pair(
                    ret_pairs, &count, maximum,
                    (struct pair_matrix_pair){.from = from,
                                              .to = to,
                                              .ns = pair_matrix_ns(matrix, is_latency, from, to)});
        }
    }
    return count;
}

/* ---- The run ---- */

int pair_matrix_measure(const struct pair_matrix_run *run, struct pair_matrix *ret_matrix,
                        struct error *error)
{
    char *bytes = memory_printf("%" PRIu64, run->bytes);
    char *repeats = memory_printf("%" PRIu32, run->repeats);
    const char *const words[] = {PAIR_WORKER_WORD, bytes, repeats, run->provider, NULL};
    const struct node_run all = {.options = run->options,
                                 .options_count = run->options_count,
                                 .mpi = "pmi1",
                                 .words = words,
                                 .what = "measure"};
    struct buffer lines = {0};
    int rc;

    assert(run->bytes > 0 && run->repeats > 0);
    rc = node_run_read(&all, &lines, error);
    if (rc == 0)
        rc = pair_matrix_take(buffer_string(&lines), ret_matrix, error);
    buffer_fini(&lines);
    free(bytes);
    free(repeats);
    return rc;
}
