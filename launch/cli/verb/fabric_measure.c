/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/fabric_measure.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "fabric/topology/fabric_model.h"
#include "launch/cli/option/json_text.h"

/* The shortest path costs so much, so that paths which differ by some percent have different costs. */
#define COST_OF_SHORTEST 10.0

static void print_text(const char *text, struct buffer *out)
{
    json_t *json = json_text(text);
    char *printed = json_dumps(json, JSON_ENCODE_ANY);

    buffer_append_string(out, printed);
    free(printed);
    json_decref(json);
}

static double time_of(const struct pair_path *path)
{
    return (double)path->latency_ns + (double)path->transfer_ns;
}

static double shortest_time(const struct pair_matrix *matrix)
{
    double shortest = 0;

    for (uint32_t from = 0; from < matrix->nodes; from++) {
        for (uint32_t to = 0; to < matrix->nodes; to++) {
            double time = from != to ? time_of(pair_matrix_path(matrix, from, to)) : 0;

            if (from != to && (shortest == 0 || time < shortest))
                shortest = time;
        }
    }
    return shortest;
}

static uint64_t cost_of(const struct pair_path *path, double shortest)
{
    double cost;

    assert(shortest > 0 && path->latency_ns > 0);
    cost = time_of(path) / shortest * COST_OF_SHORTEST + 0.5;

    return cost < FABRIC_COST_MAX ? (uint64_t)cost : FABRIC_COST_MAX;
}

static uint64_t number_of(const struct pair_path *path, int column, double shortest)
{
    switch (column) {
    case 0:
        return cost_of(path, shortest);
    case 1:
        return path->latency_ns;
    default:
        return path->transfer_ns;
    }
}

/* A list of rows. */
static void print_square(const struct pair_matrix *matrix, int column, struct buffer *out)
{
    double shortest = shortest_time(matrix);

    buffer_append_string(out, "[");
    for (uint32_t from = 0; from < matrix->nodes; from++) {
        buffer_append_string(out, from > 0 ? ",\n  [" : "\n  [");
        for (uint32_t to = 0; to < matrix->nodes; to++)
            buffer_printf(
                out, "%s%" PRIu64, to > 0 ? ", " : "",
                from != to ? number_of(pair_matrix_path(matrix, from, to), column, shortest) : 0);
        buffer_append_string(out, "]");
    }
    buffer_append_string(out, "]");
}

static void print_description(const struct pair_matrix *matrix, uint64_t bytes, const char *fabric,
                              struct buffer *out)
{
    buffer_append_string(out, "{\"switches\": [{\"name\": \"network\"}],\n \"nics\": [");
    for (uint32_t i = 0; i < matrix->nodes; i++) {
        buffer_append_string(out, i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ");
        print_text(matrix->names[i], out);
        buffer_append_string(out, ", \"node\": ");
        print_text(matrix->names[i], out);
        buffer_append_string(out, ", \"switch\": \"network\"}");
    }
    buffer_append_string(out, "],\n \"costs\": ");
    print_square(matrix, 0, out);
    buffer_printf(out, ",\n \"measured\": {\"bytes\": %" PRIu64 ",\n \"fabric\": ", bytes);
    print_text(fabric, out);
    buffer_append_string(out, ",\n \"latency_ns\": ");
    print_square(matrix, 1, out);
    buffer_append_string(out, ",\n \"transfer_ns\": ");
    print_square(matrix, 2, out);
    buffer_append_string(out, "}}\n");
}

int fabric_measure_describe(const char *lines, uint64_t bytes, const char *fabric,
                            struct buffer *out, struct error *error)
{
    struct pair_matrix matrix;
    int rc = pair_matrix_take(lines, &matrix, error);

    if (rc < 0)
        return rc;
    print_description(&matrix, bytes, fabric, out);
    pair_matrix_fini(&matrix);
    return 0;
}

int fabric_measure_run(const struct pair_matrix_run *run, struct buffer *out, struct error *error)
{
    int is_ofi = run->provider != NULL, is_named = is_ofi && run->provider[0] != '\0';
    struct pair_matrix matrix;
    char *fabric;
    int rc = pair_matrix_measure(run, &matrix, error);

    if (rc != 0)
        return rc;
    fabric = memory_printf("%s%s%s", is_ofi ? "ofi" : "tcp", is_named ? ":" : "",
                           is_named ? run->provider : "");
    print_description(&matrix, run->bytes, fabric, out);
    free(fabric);
    pair_matrix_fini(&matrix);
    return 0;
}
