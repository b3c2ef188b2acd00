/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helper of a simulated daemon: its processes, their output and their fences.
 */
#include "config.h"

#include "base/time.h"
#include "launch/proto/control.h"
#include "launch/sim/sim_internal.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/wire.h"

/* A process that is signalled to end, or calls abort, ends within this time. */
#define DYING_NS 2000000u
/* The maximum bytes of an output message. */
#define CHUNK_BYTES 4096u

const struct sim_start_failure sim_start_failures[SIM_START_FAILURES] = {
    {-ENOENT, START_STEP_EXEC},
    {-EACCES, START_STEP_EXEC},
    {-ENOENT, START_STEP_CHDIR},
    {-EAGAIN, START_STEP_FORK},
};

enum process_state { PROCESS_NONE, PROCESS_STARTING, PROCESS_RUNNING, PROCESS_ENDED };

enum process_plan {
    PLAN_WELL,
    PLAN_EXIT,
    PLAN_SIGNAL,
    PLAN_ABORT,
    PLAN_ABNORMAL,
    PLAN_ENDLESS,
    PLAN_CANNOT_START
};

struct sim_process {
    enum process_state state;
    enum process_plan plan;
    uint32_t plan_step; /* the step in which it happens */
    uint32_t step;
    int stubborn;
    int signalled;   /* by the helper, to end it */
    int lease_ended; /* because the lease expired */
    int dying;       /* its end is scheduled */
};

static void observe_fate(struct sim_part *part, uint32_t index, enum sim_fate fate, int number)
{
    struct sim_machine *machine = part->daemon->machine;
    const struct sim_process *process = &part->processes[index];
    struct sim_process_fact fact = {
        .now_ns = virtual_network_now_ns(machine->sim),
        .job = part->job->number,
        .place = part->daemon->listed,
        .index = index,
        .fate = fate,
        .number = number,
        .by_us = process->signalled,
        .lease_ended = process->lease_ended,
        .abnormal = process->plan == PLAN_ABNORMAL && fate == SIM_FATE_ENDED,
    };

    if (fate == SIM_FATE_CANNOT_START) {
        fact.number = sim_start_failures[number].code;
        fact.text = start_step_name(sim_start_failures[number].step);
    }
    if (machine->watch->process)
        machine->watch->process(machine->context, &fact);
}

static void call_later(struct sim_part *part, uint64_t delay_ns,
                       virtual_network_call_function *function, uint64_t argument)
{
    struct virtual_network *sim = part->daemon->machine->sim;

    virtual_network_at(sim, virtual_network_now_ns(sim) + delay_ns, function, part, argument);
}

/* ---- output ---- */

static void check_drained(struct sim_part *part)
{
    if (!part->cut || part->drained || part->pipe_bytes > 0)
        return;
    part->drained = 1;
    sim_daemon_tell(part, JOB_EVENT_DRAINED, 0, 0, 0);
}

/* Sends as much as there is credit for. */
static void forward_pipe(struct sim_part *part)
{
    static const unsigned char nothing[CHUNK_BYTES];

    if (part->local == NULL || !sim_daemon_is_up(part->daemon) || part->daemon->stopped)
        return;
    while (part->pipe_bytes > 0 && part->credit_bytes > 0) {
        uint32_t bytes = part->pipe_bytes < CHUNK_BYTES ? (uint32_t)part->pipe_bytes : CHUNK_BYTES;
        struct daemon_event event = {
            .kind = DAEMON_EVENT_OUTPUT,
            .job = part->job->number,
            .type = 1,
            .number = (int64_t)virtual_network_now_ns(part->daemon->machine->sim),
            .data = nothing,
            .data_bytes = bytes};

        sim_daemon_post(part->daemon, &event);
        part->pipe_bytes -= bytes;
        part->forwarded_bytes += bytes;
        part->credit_bytes -= bytes;
    }
    check_drained(part);
}

static void process_writes(struct sim_part *part)
{
    struct sim_machine *machine = part->daemon->machine;
    uint64_t bytes = sim_random(machine, part->job->program.output_bytes_max + 1ull);

    machine->output.written_bytes += bytes;
    if (machine->watch->wrote)
        machine->watch->wrote(machine->context, part->job->number, part->daemon->listed, bytes);
    part->pipe_bytes += bytes;
    forward_pipe(part);
}

void sim_process_credit(struct sim_part *part, uint32_t bytes)
{
    part->credit_bytes += bytes;
    forward_pipe(part);
}

void sim_process_credit_renew(struct sim_part *part)
{
    if (part->processes_count > 0 && part->credit_bytes < (int64_t)CONTROL_NODE_WINDOW)
        part->credit_bytes = CONTROL_NODE_WINDOW;
    forward_pipe(part);
}

static void call_give_up(void *context, uint64_t argument)
{
    struct sim_part *part = context;

    (void)argument;
    part->daemon->machine->output.given_up_bytes += part->pipe_bytes;
    part->pipe_bytes = 0;
    check_drained(part);
}

void sim_process_cut(struct sim_part *part, uint64_t milliseconds, int discard)
{
    part->cut = 1;
    forward_pipe(part);
    if (discard && !part->drained)
        call_later(part, milliseconds * NS_PER_MS, call_give_up, 0);
}

/* ---- ends ---- */

static void check_group_empty(struct sim_part *part)
{
    if (part->sealed && part->starting == 0 && part->living == 0 && sim_daemon_is_up(part->daemon))
        sim_daemon_tell(part, JOB_EVENT_GROUP_EMPTY, 0, 0, 0);
}

void sim_process_seal(struct sim_part *part)
{
    part->sealed = 1;
    check_group_empty(part);
}

static void process_ends(struct sim_part *part, uint32_t index, int wait_status)
{
    struct sim_process *process = &part->processes[index];

    if (index >= part->processes_count || process->state != PROCESS_RUNNING)
        return;
    observe_fate(part, index, SIM_FATE_ENDED, wait_status);
    process->state = PROCESS_ENDED;
    part->living--;
    if (process->plan == PLAN_ABNORMAL)
        sim_daemon_tell(part, JOB_EVENT_ABNORMAL, index, 0, 0);
    sim_daemon_tell(part, JOB_EVENT_EXITED, index, (uint32_t)wait_status, process->signalled);
    check_group_empty(part);
}

/* argument: wait status << 32 | index */
static void call_ends(void *context, uint64_t argument)
{
    process_ends(context, (uint32_t)argument, (int)(argument >> 32));
}

static void ends_within(struct sim_part *part, uint32_t index, uint64_t delay_ns, int wait_status)
{
    part->processes[index].dying = 1;
    call_later(part, sim_random(part->daemon->machine, delay_ns), call_ends,
               (uint64_t)wait_status << 32 | index);
}

static int is_running(const struct sim_process *process)
{
    return process->state == PROCESS_RUNNING;
}

static void kill_all(struct sim_part *part)
{
    for (uint32_t i = 0; i < part->processes_count; i++)
        if (is_running(&part->processes[i])) {
            part->processes[i].signalled = 1;
            ends_within(part, i, DYING_NS, SIGKILL);
        }
}

static void call_kill(void *context, uint64_t argument)
{
    (void)argument;
    kill_all(context);
}

void sim_process_end_group(struct sim_part *part, uint64_t grace_ms)
{
    part->sealed = 1;
    if (part->starting == 0 && part->living == 0) {
        check_group_empty(part);
        return;
    }
    if (grace_ms == 0) {
        part->ending = 2;
        kill_all(part);
        return;
    }
    if (part->ending)
        return;
    part->ending = 1;
    for (uint32_t i = 0; i < part->processes_count; i++) {
        struct sim_process *process = &part->processes[i];

        process->signalled = is_running(process) || process->signalled;
        if (is_running(process) && !process->stubborn)
            ends_within(part, i, DYING_NS, SIGTERM);
    }
    call_later(part, grace_ms * NS_PER_MS, call_kill, 0);
}

void sim_process_lease_ended(struct sim_part *part)
{
    for (uint32_t i = 0; i < part->processes_count; i++)
        if (is_running(&part->processes[i]) && !part->processes[i].signalled)
            part->processes[i].lease_ended = 1;
    kill_all(part);
}

void sim_process_vanish(struct sim_part *part)
{
    part->starting = 0;
    for (uint32_t i = 0; i < part->processes_count; i++) {
        struct sim_process *process = &part->processes[i];

        if (process->state == PROCESS_RUNNING) {
            observe_fate(part, i, SIM_FATE_VANISHED, 0);
            part->living--;
        }
        process->state = PROCESS_ENDED;
    }
}

void sim_process_signal(struct sim_part *part, int number)
{
    for (uint32_t i = 0; i < part->processes_count; i++)
        if (is_running(&part->processes[i]) && !part->processes[i].stubborn)
            ends_within(part, i, DYING_NS, number);
}

enum job_stall_state sim_process_state(const struct sim_part *part, uint32_t index,
                                       uint32_t generation)
{
    const struct sim_process *process = &part->processes[index];

    assert(index < part->processes_count);
    if (process->state == PROCESS_NONE || process->state == PROCESS_STARTING)
        return JOB_ROLL_NEW;
    if (process->state == PROCESS_ENDED)
        return JOB_ROLL_ENDED;
    return process->step >= generation ? JOB_ROLL_ARRIVED : JOB_ROLL_RUNNING;
}

/* ---- steps ---- */

static void call_step_over(void *context, uint64_t index);

static void step_begins(struct sim_part *part, uint32_t index)
{
    struct sim_machine *machine = part->daemon->machine;

    call_later(part, sim_random(machine, part->job->program.step_ns_max + 1), call_step_over,
               index);
}

/* Contributes once all processes here have reached the fence.  Each place adds its number, so the
 * result is the list of members. */
static void check_fence(struct sim_part *part)
{
    struct operation_name key = {.set_id = job_set_id(part->job->number, JOB_OPERATION_PMI1),
                                 .owner = part->job->number,
                                 .kind = JOB_OPERATION_PMI1,
                                 .merge = JOB_MERGE_CONCATENATE,
                                 .target = ENDPOINT_TARGET_ALL};
    struct buffer payload = {0};

    if (part->local == NULL || !sim_daemon_is_up(part->daemon) || part->daemon->stopped ||
        part->arrived < part->processes_count)
        return;
    key.generation = ++part->fence;
    part->arrived = 0;
    wire_put_u32(&payload, part->daemon->listed);
    daemon_core_contribute(part->daemon->core, &key, &part->local->places,
                           message_from_buffer(&payload));
    buffer_fini(&payload);
}

void sim_process_continue(struct sim_part *part)
{
    forward_pipe(part);
    if (part->processes_count > 0)
        check_fence(part);
}

/* As in MPI: processes that can no longer reach the others give up, some at once, some never. */
void sim_process_fence_result(struct sim_part *part, int status)
{
    for (uint32_t i = 0; i < part->processes_count; i++) {
        if (!is_running(&part->processes[i]) || part->processes[i].dying)
            continue;
        if (status == 0)
            step_begins(part, i);
        else if (sim_random(part->daemon->machine, 2) == 0)
            ends_within(part, i, DYING_NS, 1 << 8);
    }
}

static void plan_comes_true(struct sim_part *part, uint32_t index)
{
    struct sim_process *process = &part->processes[index];
    int number = 1 + (int)sim_random(part->daemon->machine, 250);

    switch (process->plan) {
    case PLAN_EXIT:
        process_ends(part, index, number << 8);
        break;
    case PLAN_SIGNAL:
        process_ends(part, index, SIGSEGV);
        break;
    case PLAN_ABORT:
        observe_fate(part, index, SIM_FATE_ABORTED, number);
        sim_daemon_tell(part, JOB_EVENT_ABORT, index, (uint32_t)number, 0);
        ends_within(part, index, DYING_NS, number << 8);
        break;
    case PLAN_ABNORMAL:
        process_ends(part, index, 0);
        break;
    default:
        break; /* it waits forever */
    }
}

static void call_step_over(void *context, uint64_t index)
{
    struct sim_part *part = context;
    struct sim_process *process = &part->processes[index];
    struct sim_machine *machine = part->daemon->machine;

    if (index >= part->processes_count || !is_running(process) || process->dying)
        return; /* or the daemon has been restarted */
    process_writes(part);
    if (process->plan != PLAN_WELL && process->plan_step == process->step) {
        plan_comes_true(part, (uint32_t)index);
    } else if (process->step == part->job->program.fences) {
        process_ends(part, (uint32_t)index, 0);
    } else {
        if (process->step == 0 && part->job->program.restarts > 0)
            sim_daemon_tell(part, JOB_EVENT_JOINED, (uint32_t)index, 0, 0);
        process->step++;
        part->arrived++;
        if (machine->watch->called)
            machine->watch->called(machine->context, part->job->number, part->daemon->listed,
                                   (uint32_t)index, process->step);
        check_fence(part);
    }
}

/* ---- starts ---- */

static void plan_process(struct sim_machine *machine, const struct sim_program *program,
                         struct sim_process *process)
{
    process->plan_step = (uint32_t)sim_random(machine, program->fences + 1ull);
    process->stubborn = random_chance(&machine->random, program->stubborn);
    if (random_chance(&machine->random, program->cannot_start))
        process->plan = PLAN_CANNOT_START;
    else if (random_chance(&machine->random, program->endless))
        process->plan = PLAN_ENDLESS;
    else if (random_chance(&machine->random, program->fails))
        process->plan =
            (enum process_plan)(PLAN_EXIT + sim_random(machine, PLAN_ENDLESS - PLAN_EXIT));
}

void sim_process_open(struct sim_part *part)
{
    uint32_t count = part->local->count;

    assert(!part->processes);
    part->processes = memory_allocate_zeroed((count + 1) * sizeof *part->processes);
    part->processes_count = count;
    part->credit_bytes = CONTROL_NODE_WINDOW;
    for (uint32_t i = 0; i < count; i++)
        plan_process(part->daemon->machine, &part->job->program, &part->processes[i]);
}

static void call_started(void *context, uint64_t index)
{
    struct sim_part *part = context;
    struct sim_process *process = &part->processes[index];
    uint32_t failure;

    if (index >= part->processes_count || process->state != PROCESS_STARTING)
        return;
    part->starting--;
    if (process->plan == PLAN_CANNOT_START) {
        process->state = PROCESS_ENDED;
        failure = (uint32_t)sim_random(part->daemon->machine, SIM_START_FAILURES);
        observe_fate(part, (uint32_t)index, SIM_FATE_CANNOT_START, (int)failure);
        sim_daemon_tell(part, JOB_EVENT_START_FAILED, (uint32_t)index, failure, 0);
        check_group_empty(part);
        return;
    }
    process->state = PROCESS_RUNNING;
    part->living++;
    observe_fate(part, (uint32_t)index, SIM_FATE_STARTED, 0);
    sim_daemon_tell(part, JOB_EVENT_STARTED, (uint32_t)index, 0, 0);
    step_begins(part, (uint32_t)index);
    if (part->ending) {
        process->signalled = 1;
        if (part->ending > 1 || !process->stubborn)
            ends_within(part, (uint32_t)index, DYING_NS, part->ending > 1 ? SIGKILL : SIGTERM);
    }
}

void sim_process_start(struct sim_part *part, uint32_t index)
{
    struct sim_machine *machine = part->daemon->machine;
    uint64_t delay_ns;

    if (part->processes[index].state == PROCESS_ENDED) {
        part->processes[index] = (struct sim_process){.state = PROCESS_NONE};
        plan_process(machine, &part->job->program, &part->processes[index]);
    }
    assert(part->processes[index].state == PROCESS_NONE);
    part->processes[index].state = PROCESS_STARTING;
    part->starting++;
    delay_ns = 1 + sim_random(machine, part->job->program.start_ns_max);
    if (machine->config.process_cpu_ns == 0)
        call_later(part, delay_ns, call_started, index);
    else
        virtual_network_work(machine->sim, part->daemon->slot,
                             virtual_network_now_ns(machine->sim) + delay_ns,
                             machine->config.process_cpu_ns, call_started, part, index);
}
