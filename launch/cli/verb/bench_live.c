/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_live.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "launch/cli/verb/bench_simulate.h"
#include "launch/cli/verb/collective_plan.h"
#include "launch/proto/exchange_plan.h"

int bench_live_open(struct bench_live *ret_live, const struct bench_settings *settings,
                    struct error *error)
{
    struct bench_live live = {.collectives_count = settings->collectives.count};
    int rc;

    live.collectives =
        memory_allocate_zeroed((live.collectives_count + 1) * sizeof(struct banyan_collective *));
    rc = bench_simulate_open(&settings->collectives, live.collectives, error);
    if (rc < 0)
        bench_live_fini(&live);
    else
        *ret_live = live;
    return rc;
}

void bench_live_fini(struct bench_live *live)
{
    free(live->collectives);
    free(live->topologies);
    *live = (struct bench_live){.count = 0};
}

/* ---- encoding ---- */

struct part_step {
    struct exchange_plan_part *part;
    uint32_t step;
};

static void add_move(void *context, const struct banyan_collective_move *move)
{
    struct part_step *of = context;
    struct exchange_plan_move added = {.step = of->step,
                                       .peer = move->peer,
                                       .first = move->first,
                                       .blocks = move->blocks,
                                       .is_send = move->kind == BANYAN_COLLECTIVE_SEND};

    exchange_plan_part_add(of->part, &added);
}

/* Of a plan that has been checked with that many steps. */
static void ask_part(const struct banyan_collective *collective,
                     const struct banyan_collective_topology *topology, uint32_t place,
                     uint32_t steps, struct exchange_plan_part *ret_part)
{
    struct part_step of = {.part = ret_part};

    for (; of.step < steps; of.step++)
        if (collective->plan(topology, place, of.step, add_move, &of) > 0)
            ret_part->steps = of.step + 1;
}

static int check_bytes(const struct banyan_collective *collective,
                       const struct banyan_collective_topology *topology, const struct buffer *plan,
                       struct error *error)
{
    struct wire_bytes bytes = {plan->data, plan->length_bytes};

    if (plan->length_bytes > EXCHANGE_PLAN_BYTES_MAX)
        return error_set(error, -E2BIG,
                         "the plan of %s for %u places takes %zu bytes; an instance takes at most "
                         "%u: use --simulate, or fewer --node-counts",
                         collective->name, topology->places, plan->length_bytes,
                         EXCHANGE_PLAN_BYTES_MAX);
    if (exchange_plan_check(bytes, topology->places) < 0)
        return error_set(error, -EINVAL,
                         "%s does not plan the same when it is asked again; it must keep nothing",
                         collective->name);
    return 0;
}

int bench_live_encode(const struct banyan_collective *collective,
                      const struct banyan_collective_topology *topology, struct buffer *out,
                      struct error *error)
{
    struct exchange_plan_part *parts;
    struct collective_result result;
    struct buffer plan = {0};
    int rc;

    if (topology->places > EXCHANGE_PLAN_PLACES_MAX)
        return error_set(error, -E2BIG,
                         "an instance carries out plans for at most %u places, and %u would take "
                         "part: use --node-counts, or --simulate",
                         EXCHANGE_PLAN_PLACES_MAX, topology->places);
    rc = collective_plan_run(collective, topology, &result, error);
    if (rc < 0)
        return rc;
    assert(result.steps <= EXCHANGE_PLAN_STEPS_MAX);
    parts = memory_allocate_zeroed(topology->places * sizeof(*parts));
    for (uint32_t i = 0; i < topology->places; i++)
        ask_part(collective, topology, i, result.steps, &parts[i]);
    exchange_plan_encode(parts, topology->places, &plan);
    rc = check_bytes(collective, topology, &plan, error);
    if (rc == 0)
        buffer_append(out, plan.data, plan.length_bytes);
    for (uint32_t i = 0; i < topology->places; i++)
        exchange_plan_part_fini(&parts[i]);
    free(parts);
    buffer_fini(&plan);
    return rc;
}

/* ---- the instance ---- */

static const struct banyan_collective *collective_of(const struct bench_live *live,
                                                     uint32_t request)
{
    assert(request >= live->from && request - live->from < live->count);
    return live->collectives[(request - live->from) / (live->count / live->collectives_count)];
}

const char *bench_live_name(const struct bench_live *live, uint32_t request)
{
    return collective_of(live, request)->name;
}

/* One barrier: its answer says how many take part. */
static int ask_topology(struct instance_client *client, const struct bench_request *what,
                        struct banyan_collective_topology *ret_topology, struct error *error)
{
    struct bench_request barrier = {.operation = BENCH_BARRIER, .repeat = 1, .nodes = what->nodes};
    struct bench_answer answer;
    int rc = instance_client_bench(client, &barrier, &answer, error);

    if (rc < 0)
        return rc;
    *ret_topology = bench_simulate_topology(answer.places, answer.radix, what->size_bytes);
    bench_answer_fini(&answer);
    return 0;
}

int bench_live_check(struct bench_live *live, struct instance_client *client,
                     const struct bench_request *requests, uint32_t count, struct error *error)
{
    struct buffer plan = {0};
    int rc = 0;

    free(live->topologies);
    while (live->from < count && requests[live->from].operation != BENCH_PLAN)
        live->from++;
    live->count = count - live->from;
    live->requests = requests;
    live->topologies = memory_allocate_zeroed((live->count + 1) * sizeof(*live->topologies));
    for (uint32_t i = live->from; i < count && rc == 0; i++) {
        struct banyan_collective_topology *topology = &live->topologies[i - live->from];

        if (i > live->from && requests[i].nodes == requests[i - 1].nodes)
            *topology = bench_simulate_topology(topology[-1].places, topology[-1].radix,
                                                requests[i].size_bytes);
        else
            rc = ask_topology(client, &requests[i], topology, error);
        if (rc == 0)
            rc = bench_live_encode(collective_of(live, i), topology, &plan, error);
        buffer_clear(&plan);
    }
    buffer_fini(&plan);
    return rc;
}

int bench_live_measure(const struct bench_live *live, struct instance_client *client,
                       uint32_t request, struct bench_row *ret_row, struct error *error)
{
    const struct banyan_collective *collective = collective_of(live, request);
    struct bench_request what = live->requests[request];
    struct bench_answer answer;
    struct buffer plan = {0};
    int rc = bench_live_encode(collective, &live->topologies[request - live->from], &plan, error);

    what.plan = (struct wire_bytes){plan.data, plan.length_bytes};
    if (rc == 0)
        rc = instance_client_bench(client, &what, &answer, error);
    buffer_fini(&plan);
    if (rc == 0)
        bench_row_planned(ret_row, collective->name, &what, &answer);
    return rc;
}
