/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_simulate.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/verb/this_machine.h"
#include "launch/exec/plugin.h"
#include "launch/start/command_output.h"
#include "overlay/tree.h"

#define OWN_NAME "banyan"
/* The defaults of banyan sim. */
#define LATENCY_NS 10000u
#define MESSAGE_NS 5000u
#define BYTE_PS    80u

/* ---- banyan's own ---- */

/* The time of the last operation of the first run. */
static int time_of(const char *text, uint64_t *ret_ns)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *operations = json_object_get(json_array_get(root, 0), "operations");
    json_t *last = json_array_get(operations, json_array_size(operations) - 1);
    json_t *took = json_object_get(last, "took_ns");
    int rc = json_is_integer(took) ? 0 : -EBADMSG;

    if (rc == 0)
        *ret_ns = (uint64_t)json_integer_value(took);
    json_decref(root);
    return rc;
}

/* A place more than nodes: the root. */
static int simulate_own(uint32_t places, uint32_t radix, uint32_t bytes, uint64_t *ret_ns,
                        struct error *error)
{
    char *banyan = this_machine_banyan();
    char *nodes = memory_printf("%u", places - 1), *cut = memory_printf("%u", radix);
    char *exchange = memory_printf("exchange=%u", bytes);
    const char *const argv[] = {banyan, "sim", "--json", "-N", nodes, "-r", cut, exchange, NULL};
    struct buffer text = {0};
    int rc = command_output(argv, &text, error);

    if (rc == 0 && time_of(buffer_string(&text), ret_ns) < 0)
        rc = error_set(error, -EBADMSG,
                       "cannot read what banyan sim says of an exchange of %u "
                       "bytes",
                       bytes);
    buffer_fini(&text);
    free(banyan);
    free(nodes);
    free(cut);
    free(exchange);
    return rc;
}

struct banyan_collective_topology bench_simulate_topology(uint32_t places, uint32_t radix,
                                                          uint32_t block_bytes)
{
    assert(places > 0);
    return (struct banyan_collective_topology){.places = places,
                                               .radix = radix,
                                               .block_bytes = block_bytes,
                                               .latency_ns = LATENCY_NS,
                                               .message_ns = MESSAGE_NS,
                                               .byte_ps = BYTE_PS};
}

/* ---- all ---- */

static int add_own(struct bench_simulated *simulated, const struct bench_request *what,
                   const struct banyan_collective_topology *topology, struct error *error)
{
    uint64_t ns = 0;
    int rc = topology->places < 2
                 ? 0
                 : simulate_own(topology->places, topology->radix, what->size_bytes, &ns, error);

    if (rc == 0)
        bench_row_simulated(&simulated->rows[simulated->count++], OWN_NAME, what, topology->places,
                            ns);
    return rc;
}

static int add_plan(struct bench_simulated *simulated, const struct bench_request *what,
                    const struct banyan_collective_topology *topology,
                    const struct banyan_collective *collective, struct error *error)
{
    struct collective_result *result = &simulated->results[simulated->count];
    int rc = collective_plan_run(collective, topology, result, error);

    if (rc == 0)
        bench_row_simulated(&simulated->rows[simulated->count++], collective->name, what,
                            topology->places, result->time_ns);
    return rc;
}

static int add_all(struct bench_simulated *simulated, const struct bench_request *requests,
                   uint32_t count, const struct banyan_collective *const *collectives,
                   const struct bench_settings *settings, struct error *error)
{
    int rc = 0;

    for (uint32_t i = 0; i < count && rc == 0; i++) {
        struct banyan_collective_topology topology = bench_simulate_topology(
            requests[i].nodes,
            settings->start.radix > 0 ? settings->start.radix : TREE_RADIX_DEFAULT,
            requests[i].size_bytes);

        rc = add_own(simulated, &requests[i], &topology, error);
        for (uint32_t j = 0; j < settings->collectives.count && rc == 0; j++)
            rc = add_plan(simulated, &requests[i], &topology, collectives[j], error);
    }
    return rc;
}

int bench_simulate_open(const struct option_list *paths,
                        const struct banyan_collective **ret_collectives, struct error *error)
{
    for (uint32_t i = 0; i < paths->count; i++) {
        ret_collectives[i] = plugin_collective(paths->items[i], error);
        if (ret_collectives[i] == NULL) {
            error_prefix(error, "option --collective");
            return error->code;
        }
    }
    return 0;
}

int bench_simulate(const struct bench_settings *settings, struct bench_simulated *ret_simulated,
                   struct error *error)
{
    const struct banyan_collective **collectives = memory_allocate_zeroed(
        (settings->collectives.count + 1) * sizeof(struct banyan_collective *));
    struct bench_simulated simulated = {.count = 0};
    struct bench_request *requests = NULL;
    uint32_t count = 0;
    size_t rows;
    int rc = bench_simulate_open(&settings->collectives, collectives, error);

    if (rc == 0)
        rc = bench_plan_make(settings, &requests, &count, error);
    rows = (size_t)count * (settings->collectives.count + 1) + 1;
    simulated.rows = memory_allocate_zeroed(rows * sizeof(*simulated.rows));
    simulated.results = memory_allocate_zeroed(rows * sizeof(*simulated.results));
    if (rc == 0)
        rc = add_all(&simulated, requests, count, collectives, settings, error);
    assert(simulated.count < rows);
    free(requests);
    free(collectives);
    if (rc < 0)
        bench_simulate_fini(&simulated);
    else
        *ret_simulated = simulated;
    return rc;
}

void bench_simulate_fini(struct bench_simulated *simulated)
{
    free(simulated->rows);
    free(simulated->results);
    *simulated = (struct bench_simulated){.count = 0};
}

void bench_simulate_print(const struct bench_simulated *simulated, struct buffer *out)
{
    buffer_printf(out, "\n%-18s %6s %10s %8s %12s %14s %14s\n", "PLAN", "NODES", "BYTES", "STEPS",
                  "MESSAGES", "BYTES SENT", "BY ONE AT MOST");
    for (uint32_t i = 0; i < simulated->count; i++) {
        const struct bench_row *row = &simulated->rows[i];
        const struct collective_result *result = &simulated->results[i];

        if (result->steps > 0)
            buffer_printf(out, "%-18s %6u %10u %8u %12llu %14llu %14llu\n", row->name, row->nodes,
                          row->what.size_bytes, result->steps, (unsigned long long)result->messages,
                          (unsigned long long)result->bytes,
                          (unsigned long long)result->most_bytes);
    }
}
