/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans for an instance (launch/cli/verb/bench_live.c): what is encoded.  What an instance does with them is in
 * test/system/run_collective.sh.
 */
#include "config.h"

#include "launch/cli/verb/bench_live.h"

#include <stdlib.h>

#include "launch/cli/verb/bench_simulate.h"
#include "launch/proto/exchange_plan.h"
#include "test/support/tap.h"

static uint32_t asked, forgetful_after;

/* Each sends its block to all others, in the next step after the last one did; places times places messages. */
static int plan_in_turn(const struct banyan_collective_topology *topology, uint32_t place,
                        uint32_t step, banyan_collective_add *adds, void *context)
{
    struct banyan_collective_move move = {.first = step, .blocks = 1};

    if (step >= topology->places)
        return 0;
    if (place != step) {
        move.kind = BANYAN_COLLECTIVE_RECEIVE;
        move.peer = step;
        if (++asked != forgetful_after)
            adds(context, &move);
        return 1;
    }
    move.kind = BANYAN_COLLECTIVE_SEND;
    for (move.peer = 0; move.peer < topology->places; move.peer++)
        if (move.peer != place)
            adds(context, &move);
    return 1;
}

static const struct banyan_collective in_turn = {BANYAN_COLLECTIVE_INTERFACE, "in_turn",
                                                 plan_in_turn};

static const char *encoded_for(uint32_t places, struct buffer *out)
{
    static struct error error;
    struct banyan_collective_topology topology = bench_simulate_topology(places, 2, 8);

    error = (struct error)ERROR_NONE;
    asked = 0;
    buffer_clear(out);
    return bench_live_encode(&in_turn, &topology, out, &error) == 0 ? "" : error.text;
}

static void test_encoded(void)
{
    struct exchange_plan_part part;
    struct buffer out = {0};
    struct wire_bytes bytes;

    is_string(encoded_for(5, &out), "", "a plan");
    bytes = (struct wire_bytes){out.data, out.length_bytes};
    is_int(exchange_plan_check(bytes, 5), 0, "is as right there");
    is_int(exchange_plan_pick(bytes, 5, 3, &part), 0, "a part");
    is_uint(part.count, 8, "sends to all others, and receives of them");
    exchange_plan_part_fini(&part);
    is_string(encoded_for(EXCHANGE_PLAN_PLACES_MAX, &out), "", "as many places as there may be");
    has_string(encoded_for(EXCHANGE_PLAN_PLACES_MAX + 1, &out),
               "at most 256 places, and 257 would take part", "and no more");
    is_uint(out.length_bytes, 0, "nothing is encoded");
    buffer_fini(&out);
}

static void test_refused(void)
{
    struct buffer out = {0};

    forgetful_after = 4;
    is_string(encoded_for(5, &out),
              "in_turn, step 0: place 0 sends 1 blocks from 0 on to place 4, which does not "
              "receive them",
              "a wrong plan");
    forgetful_after = 21; /* when it is asked again */
    is_string(encoded_for(5, &out),
              "in_turn does not plan the same when it is asked again; it must keep nothing",
              "one that changes");
    forgetful_after = 0;
    buffer_fini(&out);
}

static void test_requests(void)
{
    const char *files[] = {"a.so", "b.so"}, *sizes = "8,16", *places = "4";
    struct bench_settings settings = {.collectives = {.items = files, .count = 2},
                                      .sizes = {.items = &sizes, .count = 1},
                                      .warm_up = UINT32_MAX};
    struct bench_request *requests = NULL;
    struct error error = ERROR_NONE;
    uint32_t count = 0;

    is_int(bench_plan_make(&settings, &requests, &count, &error), 0, "two plans");
    is_uint(count, 6, "beside an exchange of each size");
    is_uint(requests[1].operation, BENCH_EXCHANGE, "which comes first");
    is_uint(requests[5].operation, BENCH_PLAN, "and they after it");
    is_uint(requests[5].size_bytes, 16, "with the same sizes");
    free(requests);
    settings.simulate = (struct option_list){.items = &places, .count = 1};
    is_int(bench_plan_make(&settings, &requests, &count, &error), 0, "simulated");
    is_uint(count, 2, "they are not the instance's");
    free(requests);
}

int main(void)
{
    test_encoded();
    test_refused();
    test_requests();
    return done_testing();
}
