/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of exchanges, right and wrong, and how long they take: launch/cli/verb/collective_plan.c. */
#include "config.h"

#include "launch/cli/verb/collective_plan.h"

#include <errno.h>
#include <stdio.h>

#include "test/support/tap.h"

static struct collective_result result;
static char why[sizeof(((struct error *)0)->text)];

static const char *run(int (*steps)(const struct banyan_collective_topology *, uint32_t, uint32_t,
                                    banyan_collective_add *, void *),
                       uint32_t places)
{
    struct banyan_collective collective = {BANYAN_COLLECTIVE_INTERFACE, "plan", steps};
    struct banyan_collective_topology topology = {.places = places,
                                                  .block_bytes = 1000,
                                                  .latency_ns = 100,
                                                  .message_ns = 10,
                                                  .byte_ps = 1000};
    struct error error = ERROR_NONE;
    int rc = collective_plan_run(&collective, &topology, &result, &error);

    snprintf(why, sizeof(why), "%s", rc < 0 ? error.text : "right");
    return why;
}

static void add(banyan_collective_add *to, void *context, uint32_t kind, uint32_t peer,
                uint32_t first, uint32_t blocks)
{
    struct banyan_collective_move move = {
        .kind = kind, .peer = peer, .first = first, .blocks = blocks};

    to(context, &move);
}

/* Each sends its block to each. */
static int direct(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                  banyan_collective_add *to, void *context)
{
    uint32_t places = topology->places;

    for (uint32_t i = 1; step == 0 && i < places; i++) {
        add(to, context, BANYAN_COLLECTIVE_SEND, (place + i) % places, place, 1);
        add(to, context, BANYAN_COLLECTIVE_RECEIVE, (place + places - i) % places,
            (place + places - i) % places, 1);
    }
    return step == 0 && places > 1;
}

static int without_receive(const struct banyan_collective_topology *topology, uint32_t place,
                           uint32_t step, banyan_collective_add *to, void *context)
{
    uint32_t places = topology->places;

    for (uint32_t i = 1; step == 0 && i < places; i++) {
        add(to, context, BANYAN_COLLECTIVE_SEND, (place + i) % places, place, 1);
        if (place != 2 || i != 1)
            add(to, context, BANYAN_COLLECTIVE_RECEIVE, (place + places - i) % places,
                (place + places - i) % places, 1);
    }
    return step == 0;
}

static int without_send(const struct banyan_collective_topology *topology, uint32_t place,
                        uint32_t step, banyan_collective_add *to, void *context)
{
    if (step == 0 && place == 0)
        add(to, context, BANYAN_COLLECTIVE_RECEIVE, 1, 1, 1);
    return step == 0;
}

static int with_others(const struct banyan_collective_topology *topology, uint32_t place,
                       uint32_t step, banyan_collective_add *to, void *context)
{
    if (step == 0 && place == 0)
        add(to, context, BANYAN_COLLECTIVE_SEND, 1, 0, 1);
    if (step == 0 && place == 1)
        add(to, context, BANYAN_COLLECTIVE_RECEIVE, 0, 0, 2);
    return step == 0;
}

/* In the step in which it comes, it cannot be passed on. */
static int too_early(const struct banyan_collective_topology *topology, uint32_t place,
                     uint32_t step, banyan_collective_add *to, void *context)
{
    if (step == 0 && place > 0)
        add(to, context, BANYAN_COLLECTIVE_RECEIVE, place - 1, 0, 1);
    if (step == 0 && place < topology->places - 1)
        add(to, context, BANYAN_COLLECTIVE_SEND, place + 1, 0, 1);
    return step == 0;
}

/* Blocks from the last one on, and then again from 0. */
static int around(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                  banyan_collective_add *to, void *context)
{
    uint32_t places = topology->places, last = places - 1;

    if (step == 0 && place == 0)
        add(to, context, BANYAN_COLLECTIVE_SEND, last, 0, 1);
    if (step == 0 && place == last)
        add(to, context, BANYAN_COLLECTIVE_RECEIVE, 0, 0, 1);
    if (step == 1 && place == last)
        add(to, context, BANYAN_COLLECTIVE_SEND, 0, last, 2);
    if (step == 1 && place == 0)
        add(to, context, BANYAN_COLLECTIVE_RECEIVE, last, last, 2);
    return step < 2;
}

static int endless(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                   banyan_collective_add *to, void *context)
{
    return 1;
}

static int impossible(const struct banyan_collective_topology *topology, uint32_t place,
                      uint32_t step, banyan_collective_add *to, void *context)
{
    if (place == 1)
        add(to, context, BANYAN_COLLECTIVE_SEND, step == 0 ? topology->places : 0, 0, 1);
    return 1;
}

static int after_all(const struct banyan_collective_topology *topology, uint32_t place,
                     uint32_t step, banyan_collective_add *to, void *context)
{
    add(to, context, BANYAN_COLLECTIVE_SEND, 1 - place, place, 1);
    return 0;
}

static int unable(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                  banyan_collective_add *to, void *context)
{
    return -EINVAL;
}

static void test_right(void)
{
    is_string(run(direct, 2), "right", "two places");
    is_uint(result.time_ns, 10 + 1000 + 100 + 10, "send, port, latency, receive");
    is_uint(result.messages, 2, "messages");
    is_uint(result.steps, 1, "steps");
    is_string(run(direct, 5), "right", "five places");
    is_uint(result.bytes, 20000, "bytes of all");
    is_uint(result.most_bytes, 4000, "of one");
    is_uint(result.time_ns, 10 + 4 * 1000 + 100 + 10, "the port sends one after the other");
    is_string(run(direct, 1), "right", "alone");
    is_uint(result.time_ns, 0, "takes no time");
    is_string(run(around, 2), "right", "blocks that begin again at 0");
}

static void test_wrong(void)
{
    is_string(run(without_receive, 4),
              "plan, step 0: place 1 sends 1 blocks from 1 on to place 2, which does not receive "
              "them",
              "a receive is missing");
    is_string(run(without_send, 3),
              "plan, step 0: place 0 receives 1 blocks from 1 on of place 1, which does not send "
              "them",
              "a send is missing");
    is_string(run(with_others, 2),
              "plan, step 0: place 0 sends 1 blocks from 0 on to place 1, which receives 2 from 0 "
              "on",
              "other blocks");
    is_string(run(too_early, 3), "plan, step 0: place 1 sends block 0 to place 2 without having it",
              "too early");
    is_string(run(around, 3), "plan: after its last step, 2, place 0 does not have block 1",
              "not all blocks");
    is_string(run(endless, 2), "plan does not end: it has more than 68 steps", "endless");
    is_string(run(impossible, 2),
              "plan, step 0: place 1 has a message that cannot be: its peer or blocks do not "
              "exist, or the step does not",
              "no such place");
    is_string(run(after_all, 2),
              "plan, step 0: place 0 has a message that cannot be: its peer or blocks do not "
              "exist, or the step does not",
              "after its end");
    is_string(run(unable, 6), "plan has no plan for 6 places: Invalid argument", "no plan");
}

int main(void)
{
    test_right();
    test_wrong();
    return done_testing();
}
