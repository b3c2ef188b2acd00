/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/collective_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/ranges.h"

#define PS_PER_NS 1000u

struct message {
    uint32_t from;
    uint32_t to;
    uint32_t first;
    uint32_t blocks;
    uint32_t order;   /* of the place's messages in this step */
    uint64_t time_ns; /* when its last byte arrives, if the receiver's port is free */
};

struct messages {
    struct message *items;
    struct message **sorted; /* by sender, receiver and order */
    uint32_t count;
    uint32_t capacity;
};

struct place {
    struct ranges blocks;
    uint64_t ready_ns; /* it begins the step */
    uint64_t sent_bytes;
};

struct run {
    const struct banyan_collective *collective;
    const struct banyan_collective_topology *topology;
    struct place *places;
    struct messages sends, receives; /* of a step */
    uint32_t step;
    uint32_t place; /* that is being asked */
    bool is_wrong;  /* it has added what cannot be */
    struct collective_result result;
};

/* ---- asking ---- */

static void messages_add(struct messages *messages, const struct message *message)
{
    if (messages->count == messages->capacity) {
        messages->capacity = messages->capacity > 0 ? 2 * messages->capacity : 64;
        messages->items =
            memory_resize(messages->items, messages->capacity * sizeof(*messages->items));
        messages->sorted =
            memory_resize(messages->sorted, messages->capacity * sizeof(struct message *));
    }
    assert(messages->count < messages->capacity && message->from != message->to);
    messages->items[messages->count] = *message;
    messages->items[messages->count].order = messages->count;
    messages->count++;
}

static void add_move(void *context, const struct banyan_collective_move *move)
{
    struct run *run = context;
    uint32_t places = run->topology->places;
    bool sends = move->kind == BANYAN_COLLECTIVE_SEND;
    struct message message = {.from = sends ? run->place : move->peer,
                              .to = sends ? move->peer : run->place,
                              .first = move->first,
                              .blocks = move->blocks};

    if (move->kind >= BANYAN_COLLECTIVE_KIND_COUNT || move->peer >= places ||
        move->peer == run->place || move->first >= places || move->blocks == 0 ||
        move->blocks > places)
        run->is_wrong = true;
    else
        messages_add(sends ? &run->sends : &run->receives, &message);
}

/* 1: there is such a step. */
static int ask_step(struct run *run, struct error *error)
{
    const char *name = run->collective->name;
    int is_there = 0;

    run->sends.count = run->receives.count = 0;
    for (run->place = 0; run->place < run->topology->places; run->place++) {
        uint32_t before = run->sends.count + run->receives.count;
        int rc = run->collective->plan(run->topology, run->place, run->step, add_move, run);

        if (rc < 0)
            return error_set(error, rc, "%s has no plan for %u places: %s", name,
                             run->topology->places, strerror(-rc));
        if (run->is_wrong || (rc == 0 && run->sends.count + run->receives.count > before))
            return error_set(error, -EINVAL,
                             "%s, step %u: place %u has a message that cannot be: its peer or "
                             "blocks do not exist, or the step does not",
                             name, run->step, run->place);
        is_there |= rc > 0;
    }
    return is_there;
}

/* ---- checking ---- */

static int compare(const void *a, const void *b)
{
    const struct message *x = *(struct message *const *)a, *y = *(struct message *const *)b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void sort(struct messages *messages)
{
    for (uint32_t i = 0; i < messages->count; i++)
        messages->sorted[i] = &messages->items[i];
    if (messages->count > 0)
        qsort(messages->sorted, messages->count, sizeof(struct message *), compare);
}

static int pair_of(const struct message *a, const struct message *b)
{
    if (a == NULL || b == NULL)
        return (a == NULL) - (b == NULL);
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static int refuse(const struct run *run, const struct message *send, const struct message *receive,
                  struct error *error)
{
    const char *name = run->collective->name;
    int which = pair_of(send, receive);

    assert(send != NULL || receive != NULL);
    if (which < 0)
        return error_set(error, -EINVAL,
                         "%s, step %u: place %u sends %u blocks from %u on to place %u, which does "
                         "not receive them",
                         name, run->step, send->from, send->blocks, send->first, send->to);
    if (which > 0)
        return error_set(error, -EINVAL,
                         "%s, step %u: place %u receives %u blocks from %u on of place %u, which "
                         "does not send them",
                         name, run->step, receive->to, receive->blocks, receive->first,
                         receive->from);
    return error_set(error, -EINVAL,
                     "%s, step %u: place %u sends %u blocks from %u on to place %u, which receives "
                     "%u from %u on",
                     name, run->step, send->from, send->blocks, send->first, send->to,
                     receive->blocks, receive->first);
}

/* Each send has its receive, which gets its time. */
static int match(struct run *run, struct error *error)
{
    struct messages *sends = &run->sends, *receives = &run->receives;
    uint32_t count = sends->count > receives->count ? sends->count : receives->count;

    sort(sends);
    sort(receives);
    assert(sends->count <= sends->capacity && receives->count <= receives->capacity);
    for (uint32_t i = 0; i < count; i++) {
        const struct message *send = i < sends->count ? sends->sorted[i] : NULL;
        struct message *receive = i < receives->count ? receives->sorted[i] : NULL;

        if (pair_of(send, receive) != 0 || send->first != receive->first ||
            send->blocks != receive->blocks)
            return refuse(run, send, receive, error);
        receive->time_ns = send->time_ns;
    }
    return 0;
}

/* The blocks of a message as ranges: they may begin again at 0. */
static void blocks_of(const struct run *run, const struct message *message,
                      struct ranges *ret_blocks)
{
    uint32_t places = run->topology->places;
    uint64_t end = (uint64_t)message->first + message->blocks;

    assert(message->blocks > 0 && message->blocks <= places && message->first < places);
    ranges_clear(ret_blocks);
    if (end > places)
        ranges_add(ret_blocks, 0, (uint32_t)(end - places) - 1);
    ranges_add(ret_blocks, message->first, end > places ? places - 1 : (uint32_t)end - 1);
}

static int check_sends(const struct run *run, struct error *error)
{
    struct ranges blocks = {0};
    int rc = 0;

    for (uint32_t i = 0; i < run->sends.count && rc == 0; i++) {
        const struct message *send = &run->sends.items[i];
        const struct ranges *has = &run->places[send->from].blocks;

        blocks_of(run, send, &blocks);
        if (ranges_contains_all(has, &blocks))
            continue;
        ranges_remove_all(&blocks, has);
        rc = error_set(error, -EINVAL,
                       "%s, step %u: place %u sends block %u to place %u without having it",
                       run->collective->name, run->step, send->from, ranges_min(&blocks), send->to);
    }
    ranges_fini(&blocks);
    return rc;
}

static int check_end(const struct run *run, struct error *error)
{
    uint32_t places = run->topology->places, block;

    for (uint32_t i = 0; i < places; i++) {
        if (ranges_first_gap(&run->places[i].blocks, 0, places - 1, &block))
            return error_set(error, -EINVAL,
                             "%s: after its last step, %u, place %u does not have block %u",
                             run->collective->name, run->step, i, block);
    }
    return 0;
}

/* ---- time ---- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t port_ns(const struct run *run, const struct message *message)
{
    return message->blocks * run->topology->block_bytes * run->topology->byte_ps / PS_PER_NS;
}

struct clock {
    uint64_t cpu_ns;
    uint64_t out_ns; /* the port is free again */
    uint64_t in_ns;
};

static void send_all(struct run *run, struct clock *clocks)
{
    for (uint32_t i = 0; i < run->sends.count; i++) {
        struct message *send = &run->sends.items[i];
        struct clock *clock = &clocks[send->from];
        uint64_t bytes = send->blocks * run->topology->block_bytes;

        clock->cpu_ns += run->topology->message_ns;
        clock->out_ns = later(clock->out_ns, clock->cpu_ns) + port_ns(run, send);
        send->time_ns = clock->out_ns + run->topology->latency_ns;
        run->places[send->from].sent_bytes += bytes;
        run->result.most_bytes = later(run->result.most_bytes, run->places[send->from].sent_bytes);
        run->result.bytes += bytes;
        run->result.messages++;
    }
}

static void receive_all(struct run *run, struct clock *clocks)
{
    struct ranges blocks = {0};

    for (uint32_t i = 0; i < run->receives.count; i++) {
        const struct message *receive = &run->receives.items[i];
        struct clock *clock = &clocks[receive->to];

        clock->in_ns = later(clock->in_ns + port_ns(run, receive), receive->time_ns);
        clock->cpu_ns = later(clock->cpu_ns, clock->in_ns) + run->topology->message_ns;
        blocks_of(run, receive, &blocks);
        ranges_add_all(&run->places[receive->to].blocks, &blocks);
    }
    ranges_fini(&blocks);
}

static int take_step(struct run *run, struct clock *clocks, struct error *error)
{
    int rc = check_sends(run, error);

    for (uint32_t i = 0; i < run->topology->places; i++)
        clocks[i] = (struct clock){.cpu_ns = run->places[i].ready_ns};
    if (rc == 0) {
        send_all(run, clocks);
        rc = match(run, error);
    }
    if (rc < 0)
        return rc;
    receive_all(run, clocks);
    for (uint32_t i = 0; i < run->topology->places; i++) {
        run->places[i].ready_ns = later(clocks[i].cpu_ns, clocks[i].out_ns);
        run->result.time_ns = later(run->result.time_ns, run->places[i].ready_ns);
    }
    return 0;
}

/* ---- the whole ---- */

static int run_steps(struct run *run, struct clock *clocks, struct error *error)
{
    uint64_t steps_max = 2 * (uint64_t)run->topology->places + 64;
    int rc = ask_step(run, error);

    while (rc > 0) {
        rc = take_step(run, clocks, error);
        if (rc < 0)
            return rc;
        run->step++;
        if (run->step > steps_max)
            return error_set(error, -EINVAL, "%s does not end: it has more than %llu steps",
                             run->collective->name, (unsigned long long)steps_max);
        rc = ask_step(run, error);
    }
    return rc < 0 ? rc : check_end(run, error);
}

int collective_plan_run(const struct banyan_collective *collective,
                        const struct banyan_collective_topology *topology,
                        struct collective_result *ret_result, struct error *error)
{
    struct run run = {.collective = collective, .topology = topology};
    struct clock *clocks = memory_allocate_zeroed(topology->places * sizeof(*clocks));
    int rc;

    assert(topology->places > 0);
    run.places = memory_allocate_zeroed(topology->places * sizeof(*run.places));
    for (uint32_t i = 0; i < topology->places; i++)
        ranges_add(&run.places[i].blocks, i, i);
    rc = run_steps(&run, clocks, error);
    run.result.steps = run.step;
    if (rc == 0)
        *ret_result = run.result;
    for (uint32_t i = 0; i < topology->places; i++)
        ranges_fini(&run.places[i].blocks);
    free(run.places);
    free(clocks);
    free(run.sends.items);
    free(run.sends.sorted);
    free(run.receives.items);
    free(run.receives.sorted);
    return rc;
}
