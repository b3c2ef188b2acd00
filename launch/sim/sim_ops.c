/* SPDX-License-Identifier: BSD-3-Clause */
/* What the core of a simulated daemon needs of its machine: the clock, and the parts of jobs there. */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "base/time.h"
#include "launch/proto/stage.h"
#include "launch/proto/survey.h"
#include "launch/sim/sim_internal.h"

/* After its links have nothing left to write, a daemon's process is there for so long. */
#define EXIT_MS 200

/* ---- the clock ---- */

static uint64_t ops_now_ns(void *context)
{
    return virtual_network_now_ns(((struct sim_daemon *)context)->machine->sim);
}

static void timer_over(struct sim_daemon *daemon, enum daemon_timer timer, uint32_t job)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_TIMER, .id = timer, .job = job};

    sim_daemon_post(daemon, &event);
}

/* Context is the job, or the machine for its instance's. */
static void call_job_timer(void *context, uint64_t deadline_ns)
{
    struct sim_job *job = context;
    struct sim_daemon *root = &job->machine->daemons[0];

    if (deadline_ns != job->timer_ns ||
        sim_daemon_defers(root, call_job_timer, context, deadline_ns))
        return;
    job->timer_ns = UINT64_MAX;
    timer_over(root, DAEMON_TIMER_JOB, job->number);
}

static void call_instance_timer(void *context, uint64_t deadline_ns)
{
    struct sim_machine *machine = context;
    struct sim_daemon *root = &machine->daemons[0];

    if (deadline_ns != machine->timer_ns ||
        sim_daemon_defers(root, call_instance_timer, context, deadline_ns))
        return;
    machine->timer_ns = UINT64_MAX;
    timer_over(root, DAEMON_TIMER_JOB, 0);
}

static void call_stalls_timer(void *context, uint64_t deadline_ns)
{
    struct sim_machine *machine = context;
    struct sim_daemon *root = &machine->daemons[0];

    if (deadline_ns != machine->stalls_ns ||
        sim_daemon_defers(root, call_stalls_timer, context, deadline_ns))
        return;
    machine->stalls_ns = UINT64_MAX;
    timer_over(root, DAEMON_TIMER_STALLS, 0);
}

static void call_add_timer(void *context, uint64_t deadline_ns)
{
    struct sim_machine *machine = context;
    struct sim_daemon *root = &machine->daemons[0];

    if (deadline_ns != machine->add_ns ||
        sim_daemon_defers(root, call_add_timer, context, deadline_ns))
        return;
    machine->add_ns = UINT64_MAX;
    timer_over(root, DAEMON_TIMER_ADD, 0);
}

static void call_end_timer(void *context, uint64_t deadline_ns)
{
    struct sim_daemon *daemon = context;

    if (deadline_ns != daemon->end_timer_ns ||
        sim_daemon_defers(daemon, call_end_timer, context, deadline_ns))
        return;
    daemon->end_timer_ns = UINT64_MAX;
    timer_over(daemon, DAEMON_TIMER_END, 0);
}

static void call_names_timer(void *context, uint64_t deadline_ns)
{
    struct sim_daemon *daemon = context;

    if (deadline_ns != daemon->names_timer_ns ||
        sim_daemon_defers(daemon, call_names_timer, context, deadline_ns))
        return;
    daemon->names_timer_ns = UINT64_MAX;
    timer_over(daemon, DAEMON_TIMER_NAMES, 0);
}

static void set_names_timer(struct sim_daemon *daemon, uint64_t deadline_ns)
{
    daemon->names_timer_ns = deadline_ns;
    if (deadline_ns != UINT64_MAX)
        virtual_network_at(daemon->machine->sim, deadline_ns, call_names_timer, daemon,
                           deadline_ns);
}

static void call_load_timer(void *context, uint64_t deadline_ns)
{
    struct sim_daemon *daemon = context;

    if (deadline_ns != daemon->load_timer_ns ||
        sim_daemon_defers(daemon, call_load_timer, context, deadline_ns))
        return;
    daemon->load_timer_ns = UINT64_MAX;
    timer_over(daemon, DAEMON_TIMER_LOAD, 0);
}

static void set_load_timer(struct sim_daemon *daemon, uint64_t deadline_ns)
{
    daemon->load_timer_ns = deadline_ns;
    if (deadline_ns != UINT64_MAX)
        virtual_network_at(daemon->machine->sim, deadline_ns, call_load_timer, daemon, deadline_ns);
}

static void call_part_timer(void *context, uint64_t deadline_ns)
{
    struct sim_part *part = context;

    if (deadline_ns != part->timer_ns || part->local == NULL || !sim_daemon_is_up(part->daemon) ||
        sim_daemon_defers(part->daemon, call_part_timer, context, deadline_ns))
        return;
    part->timer_ns = UINT64_MAX;
    timer_over(part->daemon, DAEMON_TIMER_JOB, part->job->number);
}

/* Of processes that wait to be restarted. */
static void set_part_timer(const struct sim_daemon *daemon, uint32_t job, uint64_t deadline_ns)
{
    struct sim_part *part = sim_daemon_part(daemon, job);

    assert(part != NULL);
    part->timer_ns = deadline_ns;
    if (deadline_ns != UINT64_MAX)
        virtual_network_at(daemon->machine->sim, deadline_ns, call_part_timer, part, deadline_ns);
}

static void ops_timer(void *context, enum daemon_timer timer, uint32_t number, uint64_t deadline_ns)
{
    struct sim_daemon *daemon = context;
    struct sim_machine *machine = daemon->machine;
    struct sim_job *job = number > 0 ? machine->jobs[number - 1] : NULL;
    uint64_t *deadline = timer == DAEMON_TIMER_END      ? &daemon->end_timer_ns
                         : timer == DAEMON_TIMER_STALLS ? &machine->stalls_ns
                         : timer == DAEMON_TIMER_ADD    ? &machine->add_ns
                         : job != NULL                  ? &job->timer_ns
                                                        : &machine->timer_ns;
    virtual_network_call_function *call = timer == DAEMON_TIMER_END      ? call_end_timer
                                          : timer == DAEMON_TIMER_STALLS ? call_stalls_timer
                                          : timer == DAEMON_TIMER_ADD    ? call_add_timer
                                          : job != NULL                  ? call_job_timer
                                                                         : call_instance_timer;
    void *owner = timer == DAEMON_TIMER_END ? (void *)daemon
                  : job != NULL             ? (void *)job
                                            : (void *)machine;

    if (timer == DAEMON_TIMER_NAMES) {
        set_names_timer(daemon, deadline_ns);
        return;
    }
    if (timer == DAEMON_TIMER_LOAD) {
        set_load_timer(daemon, deadline_ns);
        return;
    }
    if (timer == DAEMON_TIMER_JOB && daemon->place > 0) {
        set_part_timer(daemon, number, deadline_ns);
        return;
    }
    assert(timer == DAEMON_TIMER_END || daemon->place == 0);
    /* No simulated client asks, or has input, and no fabric changes. */
    assert(timer != DAEMON_TIMER_ACTIVITY && timer != DAEMON_TIMER_INPUT &&
           timer != DAEMON_TIMER_BENCH && timer != DAEMON_TIMER_NOTICE);
    assert(timer != DAEMON_TIMER_STACKS);
    *deadline = deadline_ns;
    if (deadline_ns != UINT64_MAX)
        virtual_network_at(machine->sim, deadline_ns, call, owner, deadline_ns);
}

/* ---- parts of jobs ---- */

static void ops_open(void *context, uint32_t job)
{
    struct sim_daemon *daemon = context;
    struct sim_part *part = memory_allocate_zeroed(sizeof(*part));

    part->daemon = daemon;
    part->job = daemon->machine->jobs[job - 1];
    part->local = instance_part(sim_daemon_instance(daemon), job);
    part->next = daemon->parts;
    daemon->parts = part;
    assert(part->local->spec.on_failure != JOB_ON_FAILURE_CONTINUE);
    part->sealed = part->local->spec.on_failure != JOB_ON_FAILURE_RESTART;
    sim_process_open(part);
}

static void ops_close(void *context, uint32_t job)
{
    struct sim_part *part = sim_daemon_part(context, job);

    if (part != NULL)
        part->local = NULL;
}

static void ops_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
    struct sim_part *part = sim_daemon_part(context, job);

    for (uint32_t i = 0; part != NULL && i < count; i++)
        sim_process_start(part, first + i);
}

static void ops_seal(void *context, uint32_t job)
{
    struct sim_part *part = sim_daemon_part(context, job);

    if (part != NULL)
        sim_process_seal(part);
}

static void ops_cancel_starts(void *context, uint32_t job)
{
    (void)context; /* all are under way */
    (void)job;
}

/* Nobody in the simulation signals some ranks only. */
static void ops_signal(void *context, uint32_t job, int number, const struct ranges *ranks)
{
    struct sim_part *part = sim_daemon_part(context, job);

    if (part != NULL && ranges_is_empty(ranks))
        sim_process_signal(part, number);
}

static void ops_end(void *context, uint32_t job, uint32_t grace_ms)
{
    struct sim_part *part = sim_daemon_part(context, job);

    if (part != NULL)
        sim_process_end_group(part, grace_ms);
}

static void ops_end_all(void *context)
{
    sim_daemon_leaves(context, SIM_DAEMON_ENDING);
}

static void ops_cut_output(void *context, uint32_t job, uint32_t within_ms, bool discard)
{
    struct sim_part *part = sim_daemon_part(context, job);

    if (part != NULL)
        sim_process_cut(part, within_ms, discard);
}

static void ops_credit(void *context, uint32_t job, uint32_t bytes)
{
    struct sim_part *part = sim_daemon_part(context, job);

    if (part != NULL)
        sim_process_credit(part, bytes);
}

static void ops_renew_credit(void *context)
{
    const struct sim_daemon *daemon = context;

    for (struct sim_part *part = daemon->parts; part != NULL; part = part->next)
        sim_process_credit_renew(part);
}

static void ops_input(void *context, uint32_t job, const void *data, size_t bytes)
{
    (void)context; /* simulated processes do not read */
    (void)job;
    (void)data;
    (void)bytes;
}

static void ops_feed(void *context, uint32_t job, uint32_t index, const void *data, size_t bytes)
{
    (void)index;
    ops_input(context, job, data, bytes);
}

static void ops_window(void *context, uint32_t job, const struct window *window)
{
    (void)context; /* simulated processes have no terminal */
    (void)job;
    (void)window;
}

static uint8_t ops_state(void *context, uint32_t job, uint32_t index)
{
    (void)context;
    (void)job;
    (void)index;
    return 'S';
}

/* What is asked for counts on real nodes only. */
static void ops_survey(void *context, uint32_t job, uint32_t want, const char *require)
{
    struct sim_daemon *daemon = context;
    struct survey survey = {.why = ""};
    struct buffer payload = {0};
    struct job_event event = {.kind = JOB_EVENT_SURVEYED, .job = job};

    (void)want;
    (void)require;
    sim_machine_add(daemon->machine->config.machine_sorts, daemon->listed, &survey.machines);
    survey_encode(&survey, &payload);
    event.message = message_from_buffer(&payload);
    sim_daemon_post_job(daemon, &event);
    message_release(event.message);
    survey_fini(&survey);
    buffer_fini(&payload);
}

static void ops_activity(void *context, uint32_t job, uint32_t index,
                         struct activity_rank *ret_rank)
{
    (void)context;
    (void)job;
    (void)index;
    ret_rank->state = 'S';
}

/* Nor has it stacks. */
static void ops_stacks(void *context, uint32_t job, const struct ranges *indices, uint32_t id,
                       uint32_t limit_ms)
{
    (void)context;
    (void)job;
    (void)indices;
    (void)id;
    (void)limit_ms;
    assert(!"nobody has asked");
}

/* Simulated processes sleep. */
static bool ops_process_load(void *context, uint32_t job, uint32_t index, uint64_t *ret_cpu_ns,
                             uint64_t *ret_kib)
{
    const struct sim_part *part = sim_daemon_part(context, job);

    if (part == NULL || index >= part->processes_count)
        return false;
    *ret_cpu_ns = 0;
    *ret_kib = 0;
    return true;
}

static const struct daemon_rank_ops rank_ops = {
    .open = ops_open,
    .close = ops_close,
    .start = ops_start,
    .seal = ops_seal,
    .cancel_starts = ops_cancel_starts,
    .signal = ops_signal,
    .end = ops_end,
    .end_all = ops_end_all,
    .cut_output = ops_cut_output,
    .credit = ops_credit,
    .renew_credit = ops_renew_credit,
    .input = ops_input,
    .feed = ops_feed,
    .window = ops_window,
    .state = ops_state,
    .survey = ops_survey,
    .activity = ops_activity,
    .stacks = ops_stacks,
    .load = ops_process_load,
};

/* ---- their fences ---- */

static void pmi_result(void *context, const struct operation_name *key, int status,
                       struct message *message)
{
    const struct sim_daemon *daemon = context;
    const struct sim_watch *watch = sim_daemon_watch(daemon);
    struct sim_part *part = sim_daemon_part(daemon, key->owner);

    if (part == NULL)
        return;
    if (watch->fence)
        watch->fence(daemon->machine->context, key->owner, daemon->listed, key->generation, status,
                     message);
    sim_process_fence_result(part, status);
}

static int pmi_request(void *context, uint8_t kind, uint32_t job, uint32_t source, uint32_t id,
                       struct wire_reader *reader)
{
    (void)context; /* simulated processes publish nothing */
    (void)kind;
    (void)job;
    (void)source;
    (void)id;
    (void)reader;
    return -ENOENT;
}

static void pmi_reply(void *context, uint32_t job, uint32_t id, int status, struct message *message)
{
    (void)context;
    (void)job;
    (void)id;
    (void)status;
    (void)message;
    assert(!"nobody has asked");
}

static void pmi_notice(void *context, const struct job_notice *notice)
{
    (void)context; /* nor raise events */
    (void)notice;
}

static void pmi_lost(void *context, const struct ranges *places)
{
    (void)context;
    (void)places;
}

static bool pmi_is_served(void *context, uint32_t job)
{
    return sim_daemon_part(context, job) != NULL;
}

static enum job_stall_state pmi_rank_state(void *context, uint32_t job,
                                           const struct operation_name *key, uint32_t index)
{
    return sim_process_state(sim_daemon_part(context, job), index, key->generation);
}

static void pmi_stand_in(void *context, uint32_t job, const struct operation_name *key,
                         const struct ranges *places)
{
    (void)context;
    (void)job;
    (void)key;
    (void)places;
    assert(!"simulated jobs end when a rank fails");
}

static int pmi_query(void *context, const void *data, size_t bytes, struct buffer *answer)
{
    (void)context;
    (void)data;
    (void)bytes;
    (void)answer;
    return -ENOTSUP;
}

static bool pmi_output(void *context, const struct job_pulled *output)
{
    (void)context;
    (void)output;
    return false;
}

static const struct daemon_pmi_ops pmi_ops = {
    .result = pmi_result,
    .request = pmi_request,
    .reply = pmi_reply,
    .notice = pmi_notice,
    .lost = pmi_lost,
    .is_served = pmi_is_served,
    .rank_state = pmi_rank_state,
    .stand_in = pmi_stand_in,
    .query = pmi_query,
    .output = pmi_output,
};

/* ---- the end ---- */

static void ops_print(void *context, const char *text)
{
    (void)context; /* nobody reads it */
    (void)text;
}

static void call_finished(void *context, uint64_t incarnation)
{
    struct sim_daemon *daemon = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_FINISHED};

    if (daemon->incarnation != incarnation ||
        sim_daemon_defers(daemon, call_finished, context, incarnation))
        return; /* it has been started again */
    sim_daemon_post(daemon, &event);
}

static void ops_finish(void *context)
{
    struct sim_daemon *daemon = context;
    struct virtual_network *sim = daemon->machine->sim;

    virtual_network_at(sim, virtual_network_now_ns(sim) + EXIT_MS * NS_PER_MS, call_finished,
                       daemon, daemon->incarnation);
}

static void ops_stop(void *context)
{
    sim_daemon_exit(context);
}

/* Nodes have everything already. */
static void ops_stage(void *context, struct message *message)
{
    struct sim_daemon *daemon = context;
    struct stage_report report = {.failures = NULL};
    struct daemon_event event = {.kind = DAEMON_EVENT_STAGE_REPORT};
    struct stage_order order;
    struct wire_reader reader;
    struct buffer payload = {0};

    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    if (stage_order_decode(&order, &reader) < 0)
        return;
    ranges_add(&report.keepers, daemon->listed, daemon->listed);
    stage_report_encode(&report, &payload);
    event.id = order.generation;
    event.data = payload.data;
    event.data_bytes = payload.length_bytes;
    if (order.step != STAGE_REMOVE)
        daemon_core_step(daemon->core, &event);
    stage_order_fini(&order);
    stage_report_fini(&report);
    buffer_fini(&payload);
}

/* Of simulated machines nothing is known but the clock. */
static void ops_load(void *context, struct daemon_load *ret_load)
{
    *ret_load = (struct daemon_load){.cpus = 1, .idle_ticks = ops_now_ns(context)};
}

const struct daemon_ops sim_ops = {
    .now_ns = ops_now_ns,
    .timer = ops_timer,
    .print = ops_print,
    .finish = ops_finish,
    .stop = ops_stop,
    .stage = ops_stage,
    .load = ops_load,
    .ranks = &rank_ops,
    .pmi = &pmi_ops,
    .starter = &sim_starter_ops,
    .clients = &sim_client_ops,
};
