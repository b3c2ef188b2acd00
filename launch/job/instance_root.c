/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's view of its instance: dead places, the start of the daemons, the jobs, and the end.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "launch/proto/exit_status.h"
#include "launch/job/instance.h"
#include "launch/job/instance_state.h"
#include "launch/job/job_report.h"
#include "overlay/tree.h"

#define SIGNAL_MAX 64
/* How long further failures of a start are collected, so that equal ones are reported in one
 * line; longer where agents are called again, after different delays. */
#define START_GATHER_MS 300
/* When daemons that have not joined yet are reported. */
#define START_TELL_MS 5000

struct instance_root *instance_root_create(const struct allocation *allocation,
                                           enum instance_policy policy)
{
    struct instance_root *root = memory_allocate_zeroed(sizeof(*root));

    assert(policy < INSTANCE_POLICY_COUNT);
    root->policy = policy;
    list_init(&root->jobs);
    root->jobs_by_number = hash_map_create();
    root->book = job_ledger_create(allocation);
    root->deadline_ns = UINT64_MAX;
    return root;
}

void instance_root_destroy(struct instance_root *root)
{
    struct list_link *node, *spare;

    if (root == NULL)
        return;
    list_for_each(&root->jobs, node, spare) job_destroy(list_entry(node, struct job, node));
    hash_map_destroy(root->jobs_by_number);
    node_pool_destroy(root->book);
    job_machines_fini(&root->machines);
    ranges_fini(&root->dead);
    ranges_fini(&root->drained);
    ranges_fini(&root->removed);
    ranges_fini(&root->spares);
    free(root->stand_ins);
    job_view_fini(&root->usable);
    ranges_fini(&root->absent);
    for (uint32_t i = 0; i < root->seen_count; i++)
        ranges_fini(&root->seen[i].places);
    free(root->seen);
    free(root->start_failures);
    free(root);
}

/* ---- jobs ---- */

/* Passes an input to a job and handles its new phase. */
static void give_input(struct instance *instance, struct job *job, enum job_input input,
                       const struct job_event *event, struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    int was_reported = job_is_reported(job);
    int has_waited = job_queue_has(job);

    job_take(job, input, event, actions);
    if (has_waited && !job_queue_has(job))
        root->slots_moved = 1; /* it may have held others */
    if (!was_reported && job_is_reported(job))
        root->unreported--;
    job_spawn_leave(job);
    if (job->phase != JOB_OVER)
        return;
    root->slots_moved |= job->shares.count > 0;
    node_pool_give_back(root->book, job->number);
    (void)hash_map_remove_u64(root->jobs_by_number, job->number);
    list_remove(&job->node);
    job_destroy(job);
}

static void give_all(struct instance *instance, enum job_input input, const struct job_event *event,
                     struct job_actions *actions)
{
    struct list_link *node, *spare;

    list_for_each(&instance->root->jobs, node, spare)
        give_input(instance, list_entry(node, struct job, node), input, event, actions);
}

/* Passes it to the job that it names, if that still exists. */
static void give_to(struct instance *instance, uint32_t number, enum job_input input,
                    const struct job_event *event, struct job_actions *actions)
{
    struct job *job = instance_find_job(instance, number);

    if (job)
        give_input(instance, job, input, event, actions);
}

static void set_deadline(struct instance_root *root, uint64_t deadline_ns,
                         struct job_actions *actions)
{
    if (deadline_ns == root->deadline_ns)
        return;
    root->deadline_ns = deadline_ns;
    job_actions_timer(actions, 0, deadline_ns);
}

/* ---- the start ---- */

/* The time-out is for one node: those of the next level are started once it is up. */
static uint64_t start_patience_ns(const struct instance_spec *spec)
{
    struct tree tree = {.places = spec->places, .radix = spec->radix};
    uint64_t levels = tree_depth(&tree) > 0 ? tree_depth(&tree) : 1;

    return (levels * spec->start_timeout_s * 1000ull + 2ull * START_GATHER_MS) * NS_PER_MS;
}

/* A user who has waited for a while wants to know for which nodes. */
static void expect_daemons(struct instance *instance, uint64_t now_ns, struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    uint64_t tell_ns = now_ns + START_TELL_MS * NS_PER_MS;

    assert(root->phase == INSTANCE_STARTING);
    if (root->start_until_ns > 0)
        return;
    root->start_until_ns = now_ns + start_patience_ns(instance->spec);
    if (instance_start_is_enough(instance))
        set_deadline(root, tell_ns < root->start_until_ns ? tell_ns : root->start_until_ns,
                     actions);
}

static enum instance_phase begin_instance(struct instance *instance, const struct job_event *event,
                                          struct job_actions *actions)
{
    expect_daemons(instance, event->now_ns, actions);
    return INSTANCE_STARTING;
}

static enum instance_phase open_instance(struct instance *instance, const struct job_event *event,
                                         struct job_actions *actions)
{
    struct instance_root *root = instance->root;

    assert(root->is_complete && instance_start_is_enough(instance));
    instance_start_tell_absent(instance, actions);
    if (!ranges_is_empty(&root->absent)) {
        instance_spares_take(instance, &root->absent, actions);
        instance_nodes_changed(instance);
    }
    set_deadline(root, UINT64_MAX, actions);
    instance_roster_tell(instance, actions);
    if (root->policy == INSTANCE_STAYS)
        ranges_copy(&job_actions_add(actions, JOB_ACTION_READY, 0)->places, &root->absent);
    give_all(instance, JOB_INPUT_START, event, actions);
    return INSTANCE_UP;
}

/* The tree may be complete before it is known why some are not part of it. */
static enum instance_phase open_if_ready(struct instance *instance, const struct job_event *event,
                                         struct job_actions *actions)
{
    struct instance_root *root = instance->root;

    if (!root->is_complete || !instance_start_is_enough(instance))
        return INSTANCE_STARTING;
    if (instance_start_knows_reasons(root))
        return open_instance(instance, event, actions);
    set_deadline(root, event->now_ns + START_GATHER_MS * NS_PER_MS, actions);
    return INSTANCE_STARTING;
}

static enum instance_phase tree_completed(struct instance *instance, const struct job_event *event,
                                          struct job_actions *actions)
{
    instance->root->is_complete = 1;
    return open_if_ready(instance, event, actions);
}

/* A failed start is not reported at once, so that further failures soon after join the same
 * line.  If the others are enough, the next place of its range may need as long as it has taken. */
static void place_failed(struct instance *instance, uint64_t now_ns, uint32_t place,
                         const char *text, struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    int was_enough = instance_start_is_enough(instance);

    assert(root->phase == INSTANCE_STARTING);
    if (!instance_start_failed(root, place, text))
        return;
    if (was_enough && !instance_start_is_enough(instance))
        set_deadline(root,
                     now_ns + START_GATHER_MS * NS_PER_MS +
                         instance_spec_retry_spread_ns(instance->spec),
                     actions);
    else if (was_enough && root->start_until_ns > 0)
        root->start_until_ns = now_ns + start_patience_ns(instance->spec);
}

static enum instance_phase place_fails(struct instance *instance, const struct job_event *event,
                                       struct job_actions *actions)
{
    place_failed(instance, event->now_ns, event->place, event->text, actions);
    return open_if_ready(instance, event, actions);
}

static enum instance_phase start_given_up(struct instance *instance, const struct job_event *event,
                                          struct job_actions *actions)
{
    char *text = instance_start_tell_failed(instance, event->places, actions);
    struct job_event abandoned = {.now_ns = event->now_ns, .text = text};
    struct job_action *action;

    if (instance->root->policy == INSTANCE_STAYS) {
        action = job_actions_add(actions, JOB_ACTION_FAILED, 0);
        action->text.words = memory_copy_string(text);
        action->text.level = LOG_LEVEL_ERROR;
    }
    give_all(instance, JOB_INPUT_ABANDONED, &abandoned, actions);
    free(text);
    return INSTANCE_ENDING;
}

/* Nobody has said why they have not joined.  The tree continues without them. */
static enum instance_phase give_up_missing(struct instance *instance, const struct job_event *event,
                                           struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    struct job_action *action;
    uint32_t place = 0;
    char text[64];

    if (!instance_spec_may_miss(instance->spec) || ranges_is_empty(event->places))
        return start_given_up(instance, event, actions);
    snprintf(text, sizeof(text), "it has not joined within %u s (--start-timeout)",
             instance->spec->start_timeout_s);
    for (; ranges_next(event->places, place, &place); place++)
        (void)instance_start_failed(root, place, text);
    if (!instance_start_is_enough(instance))
        return start_given_up(instance, event, actions);
    action = job_actions_add(actions, JOB_ACTION_LEAVE_OUT, 0);
    ranges_copy(&action->places, event->places);
    root->start_until_ns = event->now_ns + start_patience_ns(instance->spec);
    set_deadline(root, root->start_until_ns, actions);
    return INSTANCE_STARTING;
}

static enum instance_phase timer_of_job(struct instance *instance, const struct job_event *event,
                                        struct job_actions *actions)
{
    if (event->job != 0)
        give_to(instance, event->job, JOB_INPUT_TIMER, event, actions);
    return instance->root->phase;
}

static enum instance_phase timer_of_start(struct instance *instance, const struct job_event *event,
                                          struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    char text[512];

    if (event->job != 0)
        return timer_of_job(instance, event, actions);
    if (event->now_ns < root->deadline_ns)
        return INSTANCE_STARTING;
    root->deadline_ns = UINT64_MAX;
    if (!instance_start_is_enough(instance))
        return start_given_up(instance, event, actions);
    if (root->is_complete)
        return open_instance(instance, event, actions);
    if (event->now_ns >= root->start_until_ns)
        return give_up_missing(instance, event, actions);
    job_report_unjoined(instance, event->places, text, sizeof(text));
    job_actions_text(actions, 0, LOG_LEVEL_WARNING, text);
    set_deadline(root, root->start_until_ns, actions);
    return INSTANCE_STARTING;
}

/* ---- new jobs ---- */

static struct job *add_job(struct instance *instance, const struct job_event *event,
                           struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    uint32_t number = 0;
    struct job_action *accepted;
    struct job *job;

    (void)node_pool_job_add(root->book, 0, &number, NULL); /* numbers do not run out */
    job = job_create(instance, number, event->spec);
    job->may_wait = event->kind == JOB_EVENT_RUN && (event->flag & CONTROL_RUN_MAY_WAIT) != 0;
    list_append(&root->jobs, &job->node);
    (void)hash_map_put_u64(root->jobs_by_number, number, job);
    root->unreported++;
    root->has_run = 1;
    if (event->kind == JOB_EVENT_SPAWN) {
        job_spawn_begin(job, event, actions);
        return job;
    }
    accepted = job_actions_add(actions, JOB_ACTION_ACCEPTED, number);
    accepted->token = (uint64_t)event->number;
    accepted->is_detached = (event->flag & CONTROL_RUN_DETACHED) != 0;
    return job;
}

static enum instance_phase run_later(struct instance *instance, const struct job_event *event,
                                     struct job_actions *actions)
{
    (void)add_job(instance, event, actions);
    expect_daemons(instance, event->now_ns, actions);
    return INSTANCE_STARTING;
}

static enum instance_phase run_now(struct instance *instance, const struct job_event *event,
                                   struct job_actions *actions)
{
    give_input(instance, add_job(instance, event, actions), JOB_INPUT_START, event, actions);
    return INSTANCE_UP;
}

/* A job that comes too late gets a report like any other end. */
static enum instance_phase run_refused(struct instance *instance, const struct job_event *event,
                                       struct job_actions *actions)
{
    struct job_event abandoned = {.now_ns = event->now_ns, .text = "the instance is ending"};

    give_input(instance, add_job(instance, event, actions), JOB_INPUT_ABANDONED, &abandoned,
               actions);
    return instance->root->phase;
}

static enum instance_phase spawn_refused(struct instance *instance, const struct job_event *event,
                                         struct job_actions *actions)
{
    if (!job_spawn_is_known(instance, event, actions))
        job_spawn_refuse(event, JOB_SPAWN_ENDED, "the instance is ending", actions);
    return instance->root->phase;
}

/* By a process of a job that runs. */
static enum instance_phase spawn_now(struct instance *instance, const struct job_event *event,
                                     struct job_actions *actions)
{
    if (job_spawn_is_known(instance, event, actions))
        return INSTANCE_UP;
    if (!instance_job_is_running(instance, event->job))
        job_spawn_refuse(event, JOB_SPAWN_ENDED, "the job that spawns it is ending", actions);
    else
        give_input(instance, add_job(instance, event, actions), JOB_INPUT_START, event, actions);
    return INSTANCE_UP;
}

/* The job was held until now. */
static enum instance_phase job_staged(struct instance *instance, const struct job_event *event,
                                      struct job_actions *actions)
{
    struct job *job = hash_map_get_u64(instance->root->jobs_by_number, event->job);

    if (job == NULL || !job_is_held(job))
        return INSTANCE_UP;
    job->is_staged = 1;
    give_input(instance, job, JOB_INPUT_START, event, actions);
    return INSTANCE_UP;
}

bool instance_job_is_held(const struct instance *instance, uint32_t number)
{
    const struct job *job = hash_map_get_u64(instance->root->jobs_by_number, number);

    return job != NULL && job_is_held(job);
}

bool instance_is_up(const struct instance *instance)
{
    return instance->root->phase == INSTANCE_UP;
}

/* ---- losses ---- */

static enum instance_phase report_seen(struct instance *instance, const struct job_event *event,
                                       struct job_actions *actions)
{
    (void)actions;
    job_report_seen(instance->root, event);
    return instance->root->phase;
}

static void bury_places(struct instance *instance, const struct ranges *places)
{
    ranges_add_all(&instance->root->dead, places);
    job_ledger_lost(instance->root->book, places);
}

/* Their starters may report more, before or after. */
static enum instance_phase lost_starting(struct instance *instance, const struct job_event *event,
                                         struct job_actions *actions)
{
    uint32_t place = 0;

    bury_places(instance, event->places);
    instance_nodes_changed(instance);
    for (; ranges_next(event->places, place, &place); place++)
        place_failed(instance, event->now_ns, place, "", actions);
    return open_if_ready(instance, event, actions);
}

static enum instance_phase on_places_lost(struct instance *instance, const struct job_event *event,
                                          struct job_actions *actions)
{
    bury_places(instance, event->places);
    instance_spares_take(instance, event->places, actions);
    instance_nodes_changed(instance);
    give_all(instance, JOB_INPUT_LOST, event, actions);
    return instance->root->phase;
}

/* A node that is drained keeps what runs there. */
static enum instance_phase drain_places(struct instance *instance, const struct job_event *event,
                                        struct job_actions *actions)
{
    struct instance_root *root = instance->root;

    (void)actions;
    assert(ranges_is_empty(event->places) || ranges_min(event->places) > 0);
    if (event->flag)
        ranges_add_all(&root->drained, event->places);
    else
        ranges_remove_all(&root->drained, event->places);
    instance_nodes_changed(instance);
    return root->phase;
}

static enum instance_phase remove_places(struct instance *instance, const struct job_event *event,
                                         struct job_actions *actions)
{
    instance_nodes_retire(instance, event->places);
    instance_nodes_changed(instance);
    instance_roster_tell(instance, actions);
    return instance->root->phase;
}

static enum instance_phase add_places(struct instance *instance, const struct job_event *event,
                                      struct job_actions *actions)
{
    instance_grow(instance, event->nodes, event->flag, actions);
    return instance->root->phase;
}

/* ---- the end ---- */

/* Ends all jobs, then the instance. */
static enum instance_phase end_instance(struct instance *instance, const struct job_event *event,
                                        struct job_actions *actions)
{
    give_all(instance, JOB_INPUT_END, event, actions);
    return INSTANCE_ENDING;
}

/* A scheduler signals all daemons: the first report of a signal ends the jobs. */
static enum instance_phase cancel_jobs(struct instance *instance, const struct job_event *event,
                                       struct wire_reader *reader, struct job_actions *actions)
{
    enum instance_phase phase = instance->root->phase;
    uint32_t number = wire_get_u32(reader);
    struct control_end end = {.status = EXIT_STATUS_SIGNAL + number};
    struct job_event wish = {.now_ns = event->now_ns, .end = &end};
    char name[HOST_NAME_BYTES_MAX + 1] = "";
    char sender[64];

    wire_get_string_into(reader, sender, sizeof(sender));
    if (wire_finish(reader) < 0 || number == 0 || number > SIGNAL_MAX || phase >= INSTANCE_ENDING)
        return phase;
    if (event->place > 0 && event->place <= allocation_nodes(instance->allocation))
        hostlist_name(instance->allocation->names, event->place - 1, name);
    snprintf(end.reason, sizeof(end.reason), "cancelled%s%s (signal %u to %s%s)",
             sender[0] ? " by " : "", sender, number,
             name[0] ? "the daemon on " : "the root of this run", name);
    return end_instance(instance, &wish, actions);
}

/* ---- events of one job ---- */

static enum instance_phase pass_signal(struct instance *instance, const struct job_event *event,
                                       struct job_actions *actions)
{
    give_to(instance, event->job, JOB_INPUT_SIGNAL, event, actions);
    return instance->root->phase;
}

static enum instance_phase pass_end(struct instance *instance, const struct job_event *event,
                                    struct job_actions *actions)
{
    give_to(instance, event->job, JOB_INPUT_END, event, actions);
    return instance->root->phase;
}

static enum instance_phase pass_output(struct instance *instance, const struct job_event *event,
                                       struct job_actions *actions)
{
    give_to(instance, event->job, JOB_INPUT_OUTPUT, event, actions);
    return instance->root->phase;
}

static enum instance_phase on_root_message(struct instance *instance, const struct job_event *event,
                                           struct job_actions *actions)
{
    enum instance_phase phase = instance->root->phase;
    struct wire_reader reader, copy;
    struct job_failure failure = {0};
    char text[START_FAILURE_TEXT_BYTES];
    uint32_t place;

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    switch (wire_get_u8(&reader)) {
    case JOB_MESSAGE_PLACE_FAILED:
        place = wire_get_u32(&reader);
        wire_get_string_into(&reader, text, sizeof(text));
        if (wire_finish(&reader) < 0 || phase != INSTANCE_STARTING)
            break;
        place_failed(instance, event->now_ns, place, text, actions);
        return open_if_ready(instance, event, actions);
    case JOB_MESSAGE_PLACED:
        copy = reader;
        give_to(instance, wire_get_u32(&copy), JOB_INPUT_PLACED, event, actions);
        break;
    case JOB_MESSAGE_SPOKEN:
        place = wire_get_u32(&reader);
        if (wire_finish(&reader) == 0)
            give_to(instance, place, JOB_INPUT_SPOKEN, event, actions);
        break;
    case JOB_MESSAGE_CANCEL:
        return cancel_jobs(instance, event, &reader, actions);
    case JOB_MESSAGE_RESTARTED:
        copy = reader;
        job_failure_decode(&copy, &failure);
        if (failure.kind != JOB_FAILURE_NONE)
            give_to(instance, failure.number, JOB_INPUT_RESTARTED, event, actions);
        break;
    case JOB_MESSAGE_RANK_FAILED:
        job_failure_decode(&reader, &failure);
        if (wire_finish(&reader) == 0)
            give_to(instance, failure.number, JOB_INPUT_FAILED, event, actions);
        break;
    default:
        log_warning("place %u sent a message of an unknown kind", event->place);
    }
    return phase;
}

static enum instance_phase pass_result(struct instance *instance, const struct job_event *event,
                                       struct job_actions *actions)
{
    static const enum job_input inputs[] = {
        [JOB_OPERATION_LAUNCHED] = JOB_INPUT_LAUNCHED,
        [JOB_OPERATION_ENDED] = JOB_INPUT_ENDED,
        [JOB_OPERATION_SURVEY] = JOB_INPUT_SURVEYED,
    };
    uint8_t kind = event->key->kind;

    if (kind == JOB_OPERATION_LAUNCHED || kind == JOB_OPERATION_ENDED ||
        kind == JOB_OPERATION_SURVEY)
        give_to(instance, event->key->owner, inputs[kind], event, actions);
    return instance->root->phase;
}

static enum instance_phase ignore_event(struct instance *instance, const struct job_event *event,
                                        struct job_actions *actions)
{
    (void)event;
    (void)actions;
    return instance->root->phase;
}

/* ---- the table ---- */

typedef enum instance_phase instance_handler(struct instance *instance,
                                             const struct job_event *event,
                                             struct job_actions *actions);

/* A row for each event of the root, a column for each phase.  NULL cannot happen: the start begins once, and
 * nothing is added before the tree is complete. */
/* clang-format off */
static instance_handler *const handlers[JOB_EVENT_KIND_COUNT][INSTANCE_PHASE_COUNT] = {
    /* phase                    STARTING         UP               ENDING           LEAVING */
    [JOB_EVENT_BEGIN] =        {begin_instance,  NULL,            NULL,            NULL},
    [JOB_EVENT_COMPLETE] =     {tree_completed,  ignore_event,    ignore_event,    ignore_event},
    [JOB_EVENT_PLACE_FAILED] = {place_fails,     ignore_event,    ignore_event,    ignore_event},
    [JOB_EVENT_RUN] =          {run_later,       run_now,         run_refused,     run_refused},
    [JOB_EVENT_SPAWN] =        {spawn_refused,   spawn_now,       spawn_refused,   spawn_refused},
    [JOB_EVENT_STAGED] =       {ignore_event,    job_staged,      ignore_event,    ignore_event},
    [JOB_EVENT_SIGNAL] =       {pass_signal,     pass_signal,     pass_signal,     pass_signal},
    [JOB_EVENT_END] =          {pass_end,        pass_end,        pass_end,        pass_end},
    [JOB_EVENT_DRAIN] =        {drain_places,    drain_places,    drain_places,    drain_places},
    [JOB_EVENT_REMOVE] =       {remove_places,   remove_places,   remove_places,   remove_places},
    [JOB_EVENT_GROW] =         {NULL,            add_places,      ignore_event,    ignore_event},
    [JOB_EVENT_LEAVE] =        {end_instance,    end_instance,    end_instance,    ignore_event},
    [JOB_EVENT_RESULT] =       {pass_result,     pass_result,     pass_result,     pass_result},
    [JOB_EVENT_RECEIVED] =     {on_root_message, on_root_message, on_root_message, on_root_message},
    [JOB_EVENT_OUTPUT] =       {pass_output,     pass_output,     pass_output,     pass_output},
    [JOB_EVENT_SEEN] =         {report_seen,     report_seen,     report_seen,     report_seen},
    [JOB_EVENT_LOST] =         {lost_starting,   on_places_lost,  on_places_lost,  on_places_lost},
    [JOB_EVENT_TIMER] =        {timer_of_start,  timer_of_job,    timer_of_job,    timer_of_job},
};
/* clang-format on */

static void root_check(const struct instance *instance)
{
    const struct instance_root *root = instance->root;

    assert(instance->place == 0 && instance->allocation != NULL);
    assert(root->phase < INSTANCE_PHASE_COUNT && root->policy < INSTANCE_POLICY_COUNT);
    assert(root->unreported <= hash_map_count(root->jobs_by_number));
    assert(root->has_run || hash_map_count(root->jobs_by_number) == 0);
    assert(root->phase != INSTANCE_LEAVING || root->unreported == 0);
    assert((instance->roster_version > 0) || root->phase != INSTANCE_UP);
    assert(root->start_failures_count <= ranges_count(&root->absent));
    assert(root->phase != INSTANCE_UP || instance_start_is_enough(instance));
    assert(root->deadline_ns == UINT64_MAX || root->phase < INSTANCE_LEAVING);
}

/* Leaves once every job has been reported, if by policy or request no other job will come. */
static enum instance_phase check_leave(struct instance_root *root, struct job_actions *actions)
{
    int is_over = root->phase == INSTANCE_ENDING ||
                  (root->policy == INSTANCE_LEAVES_WITH_JOB && root->has_run);

    if (!is_over || root->unreported > 0 || root->phase == INSTANCE_LEAVING)
        return root->phase;
    set_deadline(root, UINT64_MAX, actions);
    job_actions_add(actions, JOB_ACTION_LEAVE, 0);
    return INSTANCE_LEAVING;
}

/* Jobs end with the one whose process has spawned them, unless that has ended well. */
static void end_orphans(struct instance *instance, uint64_t now_ns, struct job_actions *actions)
{
    struct control_end end = {.reason = "the job that has spawned it was ended"};
    struct job_event wish = {.now_ns = now_ns, .end = &end};
    struct job *job;

    while ((job = job_spawn_next_orphan(instance)) != NULL) {
        job->is_orphan = 0;
        give_input(instance, job, JOB_INPUT_END, &wish, actions);
    }
}

/* Those that wait start if they fit now, in their order.  Held ones stay. */
static void start_waiting(struct instance *instance, uint64_t now_ns, struct job_actions *actions)
{
    struct instance_root *root = instance->root;
    uint32_t numbers[JOB_QUEUE_LOOKS];
    struct job_event event = {.now_ns = now_ns};
    uint32_t count;

    if (!root->slots_moved || root->phase != INSTANCE_UP)
        return;
    root->slots_moved = 0;
    count = job_queue_list(root, numbers);
    assert(count <= JOB_QUEUE_LOOKS);
    for (uint32_t i = 0; i < count; i++)
        give_to(instance, numbers[i], JOB_INPUT_START, &event, actions);
}

void instance_root_step(struct instance *instance, const struct job_event *event,
                        struct job_actions *actions)
{
    struct instance_root *root = instance->root;

    root_check(instance);
    assert(handlers[event->kind][root->phase] != NULL);
    root->phase = handlers[event->kind][root->phase](instance, event, actions);
    end_orphans(instance, event->now_ns, actions);
    start_waiting(instance, event->now_ns, actions);
    root->phase = check_leave(root, actions);
    root_check(instance);
}
