/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The users of a simulated machine: what the root would send to the front ends of its jobs, and
 * their deadlines.  Front ends only count bytes, but take time to write them.
 */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/sim/sim_internal.h"

/* Context is the job, or the machine for its instance's. */
static void call_job_timer(void *context, uint64_t deadline_ns)
{
    struct sim_job *job = context;
    struct sim *sim = job->machine->sim;
    struct job_event event = {.kind = JOB_EVENT_TIMER, .job = job->number};

    if (deadline_ns != job->timer_ns)
        return;
    job->timer_ns = UINT64_MAX;
    event.flag = job->reader_free_ns > sim_now_ns(sim);
    sim_daemon_event(&job->machine->daemons[0], &event);
}

static void call_timer(void *context, uint64_t deadline_ns)
{
    struct sim_machine *machine = context;
    struct sim_daemon *root = &machine->daemons[0];
    struct ranges missing = {0};
    struct job_event event = {.kind = JOB_EVENT_TIMER, .places = &missing};

    if (deadline_ns != machine->timer_ns || !sim_daemon_is_up(root))
        return;
    machine->timer_ns = UINT64_MAX;
    node_missing(root->node, &missing);
    sim_daemon_event(root, &event);
    ranges_fini(&missing);
}

static void set_timer(struct sim_machine *machine, uint32_t number, uint64_t deadline_ns)
{
    struct sim_job *job = number > 0 ? machine->jobs[number - 1] : NULL;

    if (job != NULL)
        job->timer_ns = deadline_ns;
    else
        machine->timer_ns = deadline_ns;
    if (deadline_ns != UINT64_MAX)
        sim_at(machine->sim, deadline_ns, job ? call_job_timer : call_timer,
               job ? (void *)job : (void *)machine, deadline_ns);
}

/* The front end has written what a place sent: context is that place's daemon, argument the job
 * and the bytes. */
static void call_credit(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;
    struct sim_daemon *root = &daemon->machine->daemons[0];
    struct buffer payload = {0};

    if (!sim_daemon_is_up(root))
        return;
    wire_put_u8(&payload, JOB_MESSAGE_CREDIT);
    wire_put_u32(&payload, (uint32_t)(argument >> 32));
    wire_put_u32(&payload, (uint32_t)argument);
    node_send(root->node, daemon->place, FRAME_CONTROL, message_from_buffer(&payload));
    buffer_fini(&payload);
}

void sim_user_output(struct sim_daemon *root, uint32_t source, struct wire_reader *reader)
{
    struct sim_machine *machine = root->machine;
    struct job_event event = {.kind = JOB_EVENT_OUTPUT, .job = wire_get_u32(reader)};
    uint64_t bytes = wire_left(reader) - 5; /* after rank and stream */
    uint64_t now_ns = sim_now_ns(machine->sim);
    struct sim_job *job = machine->jobs[event.job - 1];

    if (!job->reported)
        machine->output.received_bytes += bytes;
    if (job->reader_free_ns < now_ns)
        job->reader_free_ns = now_ns;
    job->reader_free_ns += bytes * machine->config.reader_byte_ns;
    sim_at(machine->sim, job->reader_free_ns, call_credit, &machine->daemons[source],
           (uint64_t)event.job << 32 | bytes);
    event.number = (int64_t)bytes;
    sim_daemon_event(root, &event);
}

/* The token of a job is its pointer. */
static void accepted(struct sim_machine *machine, const struct job_action *action)
{
    struct sim_job *job = (struct sim_job *)(uintptr_t)action->token;

    assert(action->job == machine->jobs_count + 1); /* numbers have no gaps */
    machine->jobs = memory_resize(machine->jobs, (machine->jobs_count + 1) * sizeof *machine->jobs);
    machine->jobs[machine->jobs_count++] = job;
    job->number = action->job;
}

void sim_user_action(struct sim_daemon *root, const struct job_action *action)
{
    struct sim_machine *machine = root->machine;
    const struct sim_watch *watch = machine->watch;
    uint64_t now_ns = sim_now_ns(machine->sim);

    switch (action->kind) {
    case JOB_ACTION_ACCEPTED:
        accepted(machine, action);
        break;
    case JOB_ACTION_STARTED:
        if (watch->started)
            watch->started(machine->context, now_ns, action->job, &action->started);
        break;
    case JOB_ACTION_ENDED:
        machine->jobs[action->job - 1]->reported = 1;
        if (watch->report)
            watch->report(machine->context, now_ns, action->job, action->end);
        break;
    case JOB_ACTION_TEXT:
        if (watch->text)
            watch->text(machine->context, now_ns, action->job, action->text.words);
        break;
    case JOB_ACTION_TIMER:
        set_timer(machine, action->job, action->deadline_ns);
        break;
    case JOB_ACTION_READY:
    case JOB_ACTION_FAILED:
        break;
    default:
        assert(action->kind == JOB_ACTION_LEAVE);
        sim_daemon_leave(root);
    }
}
