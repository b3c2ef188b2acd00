/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace of a job that wants one (launch/proto/run_trace.h).  A node notes when things happen, and sends that to the root
 * once, before it contributes to the job's end, on the same way; the root passes it on to the client, and adds its own times.
 *
 * Clocks: a node asks its parent what the root's clock shows, CLOCK_ROUNDS times, when a launch arrives; a parent that does not
 * know it asks its own first, and answers then.  So it costs a place O(children), and the errors of a path add up.
 *
 * Cost: nothing without such jobs.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/run_trace.h"

#define CLOCK_ROUNDS     3u
#define CLOCK_AGE_NS_MAX (10 * NS_PER_S) /* clocks drift */
#define CLOCK_WAIT_MAX   256u            /* places that wait for an answer */

struct trace_job {
    struct list_link node;
    uint32_t job;
    struct run_trace trace;
    struct operation_name keys[RUN_TRACE_SPANS_MAX]; /* of spans */
};

struct clock_waiter {
    uint32_t place;
    uint32_t id;
    uint64_t received_ns;
};

struct core_trace {
    struct list jobs;
    struct run_trace_clock clock;
    uint64_t compared_ns; /* when it was last */
    uint32_t request;     /* to the parent; valid while rounds > 0 */
    uint32_t rounds;      /* to be answered */
    uint64_t asked_ns;
    struct clock_waiter *waiters;
    uint32_t waiters_count;
};

static struct core_trace *state_of(struct daemon_core *core)
{
    if (core->trace == NULL) {
        core->trace = memory_allocate_zeroed(sizeof(*core->trace));
        list_init(&core->trace->jobs);
    }
    assert(core->trace->waiters_count <= CLOCK_WAIT_MAX && core->trace->rounds <= CLOCK_ROUNDS);
    return core->trace;
}

static struct trace_job *find(const struct daemon_core *core, uint32_t job)
{
    struct list_link *node, *spare;

    if (core->trace == NULL)
        return NULL;
    list_for_each(&core->trace->jobs, node, spare)
    {
        struct trace_job *one = list_entry(node, struct trace_job, node);

        if (one->job == job)
            return one;
    }
    return NULL;
}

static struct trace_job *add(struct daemon_core *core, uint32_t job)
{
    struct trace_job *one = memory_allocate_zeroed(sizeof(*one));

    assert(find(core, job) == NULL);
    one->job = job;
    one->trace.place = core->place;
    one->trace.error_ns = daemon_core_is_root(core) ? 0 : RUN_TRACE_ERROR_UNKNOWN;
    list_append(&state_of(core)->jobs, &one->node);
    return one;
}

static void job_free(struct trace_job *one)
{
    list_remove(&one->node);
    free(one);
}

static uint64_t now_ns(const struct daemon_core *core)
{
    return core->ops->now_ns(core->context);
}

/* ---- clocks ---- */

/* Without knowledge of the clock the answer is an error, and the other clock stays unknown. */
static void clock_answer(struct daemon_core *core, const struct clock_waiter *waiter)
{
    const struct run_trace_clock *clock = &state_of(core)->clock;
    struct buffer data = {0};
    int status = 0;

    if (daemon_core_is_root(core))
        run_trace_clock_encode(waiter->received_ns, now_ns(core), 0, &data);
    else if (clock->is_known)
        run_trace_clock_encode(waiter->received_ns + (uint64_t)clock->offset_ns,
                               now_ns(core) + (uint64_t)clock->offset_ns, clock->error_ns, &data);
    else
        status = -EAGAIN;
    core->tree->reply(core->tree_context, waiter->place, waiter->id,
                      job_reply_message(status, data.data, data.length_bytes));
    buffer_fini(&data);
}

static void clock_settled(struct daemon_core *core)
{
    struct core_trace *state = state_of(core);

    for (uint32_t i = 0; i < state->waiters_count; i++)
        clock_answer(core, &state->waiters[i]);
    free(state->waiters);
    state->waiters = NULL;
    state->waiters_count = 0;
}

static void clock_ask(struct daemon_core *core)
{
    struct core_trace *state = state_of(core);
    uint32_t parent = core->tree->parent(core->tree_context);

    assert(!daemon_core_is_root(core) && state->rounds > 0);
    state->asked_ns = now_ns(core);
    state->request = core->tree->request(core->tree_context, parent != UINT32_MAX ? parent : 0,
                                         job_request_message(JOB_MESSAGE_TRACE_CLOCK, NULL, 0));
}

static bool clock_is_fresh(const struct daemon_core *core)
{
    return daemon_core_is_root(core) ||
           (core->trace != NULL && core->trace->clock.is_known &&
            now_ns(core) - core->trace->compared_ns < CLOCK_AGE_NS_MAX);
}

static void clock_begin(struct daemon_core *core)
{
    struct core_trace *state = state_of(core);

    if (clock_is_fresh(core) || state->rounds > 0)
        return;
    state->clock.is_known = false;
    state->rounds = CLOCK_ROUNDS;
    clock_ask(core);
}

int daemon_core_trace_clock_request(struct daemon_core *core, const struct daemon_event *event)
{
    struct clock_waiter waiter = {
        .place = event->place, .id = event->id, .received_ns = now_ns(core)};
    struct core_trace *state = state_of(core);

    if (clock_is_fresh(core)) {
        clock_answer(core, &waiter);
        return 0;
    }
    if (state->waiters_count == CLOCK_WAIT_MAX)
        return -EAGAIN;
    state->waiters =
        memory_resize(state->waiters, (state->waiters_count + 1) * sizeof(*state->waiters));
    state->waiters[state->waiters_count++] = waiter;
    clock_begin(core);
    return 0;
}

int daemon_core_trace_reply(struct daemon_core *core, const struct daemon_event *event)
{
    struct core_trace *state = core->trace;
    const struct message *message = event->message;
    uint64_t received_ns, sent_ns, error_ns;
    struct wire_reader reader;

    if (state == NULL || state->rounds == 0 || state->request != event->id)
        return 0;
    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    if (job_reply_decode(event->status, &reader) == 0 &&
        run_trace_clock_decode(&reader, &received_ns, &sent_ns, &error_ns) == 0 &&
        run_trace_clock_take(&state->clock, state->asked_ns, received_ns, sent_ns, now_ns(core),
                             error_ns))
        state->compared_ns = now_ns(core);
    if (--state->rounds > 0)
        clock_ask(core);
    else
        clock_settled(core);
    return 1;
}

/* ---- a node ---- */

void daemon_core_trace_open(struct daemon_core *core, uint32_t job)
{
    const struct job_local *part = instance_part(core->instance, job);

    if (part == NULL || !part->spec.trace)
        return;
    (void)add(core, job);
    clock_begin(core);
}

static struct run_trace_rank *rank_of(struct run_trace *trace, uint32_t rank)
{
    for (uint32_t i = 0; i < trace->ranks_count; i++)
        if (trace->ranks[i].rank == rank)
            return &trace->ranks[i];
    if (trace->ranks_count == RUN_TRACE_RANKS_MAX)
        return NULL;
    trace->ranks[trace->ranks_count] = (struct run_trace_rank){.rank = rank};
    return &trace->ranks[trace->ranks_count++];
}

/* Of a rank that is started again it is the first start and the last end. */
void daemon_core_trace_job_event(struct daemon_core *core, const struct job_event *event)
{
    struct trace_job *one = find(core, event->job);
    const struct job_local *part;
    struct run_trace_rank *rank;

    if (one == NULL || (event->kind != JOB_EVENT_STARTED && event->kind != JOB_EVENT_EXITED))
        return;
    part = instance_part(core->instance, event->job);
    if (part == NULL || event->index >= part->count)
        return;
    rank = rank_of(&one->trace, instance_part_rank(core->instance, part, event->index));
    if (rank == NULL) {
        one->trace.ranks_more += event->kind == JOB_EVENT_STARTED;
    } else if (event->kind == JOB_EVENT_EXITED) {
        rank->end_ns = now_ns(core);
        rank->wait_status = (uint32_t)event->number;
    } else if (rank->begin_ns == 0) {
        rank->begin_ns = now_ns(core);
    }
}

static bool is_same(const struct operation_name *a, const struct operation_name *b)
{
    return a->set_id == b->set_id && a->generation == b->generation && a->kind == b->kind;
}

void daemon_core_trace_collective(struct daemon_core *core, const struct operation_name *key)
{
    struct trace_job *one = find(core, key->owner);
    struct run_trace *trace;

    if (one == NULL)
        return;
    trace = &one->trace;
    for (uint32_t i = 0; i < trace->spans_count; i++)
        if (is_same(&one->keys[i], key))
            return; /* it is contributed to again, after a loss */
    if (trace->spans_count == RUN_TRACE_SPANS_MAX) {
        trace->spans_more++;
        return;
    }
    one->keys[trace->spans_count] = *key;
    trace->spans[trace->spans_count++] = (struct run_trace_span){
        .kind = key->kind == JOB_OPERATION_PMI1 ? RUN_TRACE_PMI1 : RUN_TRACE_PMIX,
        .begin_ns = now_ns(core)};
}

void daemon_core_trace_result(struct daemon_core *core, const struct operation_name *key)
{
    struct trace_job *one = find(core, key->owner);

    for (uint32_t i = 0; one != NULL && i < one->trace.spans_count; i++)
        if (is_same(&one->keys[i], key) && one->trace.spans[i].end_ns == 0)
            one->trace.spans[i].end_ns = now_ns(core);
}

void daemon_core_trace_send(struct daemon_core *core, uint32_t job)
{
    struct trace_job *one = find(core, job);
    const struct run_trace_clock *clock;

    if (one == NULL)
        return;
    assert(!daemon_core_is_root(core));
    clock = &core->trace->clock;
    if (clock->is_known) {
        one->trace.offset_ns = clock->offset_ns;
        one->trace.error_ns = clock->error_ns;
    }
    instance_part_times(core->instance, job, one->trace.times);
    one->trace.times[RUN_TRACE_ENDED] = now_ns(core);
    daemon_core_send(core, 0, FRAME_CONTROL, run_trace_message(job, &one->trace));
    job_free(one);
}

void daemon_core_trace_closed(struct daemon_core *core, uint32_t job)
{
    struct trace_job *one = find(core, job);

    if (one != NULL)
        job_free(one);
}

/* ---- the root ---- */

static void pass_on(struct daemon_core *core, uint32_t job, const struct run_trace *trace)
{
    struct buffer payload = {0};

    control_put_job(job, &payload);
    run_trace_encode(trace, &payload);
    clients_send(core->clients, job, CONTROL_TRACE, &payload);
    buffer_fini(&payload);
}

/* What a node says about a job that wants no trace, or has ended, is nobody's. */
void daemon_core_trace_came(struct daemon_core *core, uint32_t place, struct wire_reader *reader)
{
    uint32_t job = control_get_job(reader);
    struct run_trace trace;

    if (run_trace_decode(&trace, reader) == 0 && trace.place == place && find(core, job) != NULL)
        pass_on(core, job, &trace);
}

void daemon_core_trace_launch(struct daemon_core *core, uint32_t job)
{
    const struct job_spec *spec = instance_job_spec(core->instance, job);
    struct run_trace *trace;

    if (spec == NULL || !spec->trace || find(core, job) != NULL)
        return;
    trace = &add(core, job)->trace;
    trace->times[RUN_TRACE_LAUNCHED] = now_ns(core);
    pass_on(core, job, trace); /* for nodes whose clocks will not be known */
    if (job == 1) {
        trace->times[RUN_TRACE_BEGUN] = core->begun_ns;
        trace->times[RUN_TRACE_JOINED] = core->root->complete_ns;
    }
}

void daemon_core_trace_started(struct daemon_core *core, uint32_t job)
{
    struct trace_job *one = find(core, job);

    if (one != NULL)
        one->trace.times[RUN_TRACE_STARTED] = now_ns(core);
}

void daemon_core_trace_ended(struct daemon_core *core, uint32_t job)
{
    struct trace_job *one = find(core, job);

    if (one == NULL)
        return;
    one->trace.times[RUN_TRACE_ENDED] = now_ns(core);
    pass_on(core, job, &one->trace);
    job_free(one);
}

void daemon_core_trace_close(struct daemon_core *core)
{
    struct list_link *node;

    if (core->trace == NULL)
        return;
    while ((node = list_first(&core->trace->jobs)) != NULL)
        job_free(list_entry(node, struct trace_job, node));
    free(core->trace->waiters);
    free(core->trace);
    core->trace = NULL;
}
