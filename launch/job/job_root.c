/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job at the root.  The table at the end has the handlers by phase and input; a handler returns
 * the next phase.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_print.h"
#include "alloc/placement_local.h"
#include "base/log.h"
#include "base/time.h"
#include "launch/proto/exit_status.h"
#include "launch/job/instance_state.h"
#include "launch/job/job_report.h"
#include "overlay/tree.h"

/* How long ending a job may take beyond its grace before the root stops waiting for the nodes. */
#define END_PATIENCE_MS 5000
/* How long to wait for the last output once all ranks have ended, if some of it may be lost or the
 * user does not want to wait; and after the last piece if the total is not known. */
#define FLUSH_PATIENCE_MS 2000
#define FLUSH_QUIET_MS    200
/* The status of a killed process: 128 + SIGKILL. */
#define STATUS_KILLED 137

/* A failure that does not end a job whose policy is to continue. */
static const struct job_failure ordinary_failure = {.kind = JOB_FAILURE_EXIT};

struct job *job_create(struct instance *instance, uint32_t number, struct job_spec *spec)
{
    struct job *job = memory_allocate_zeroed(sizeof(*job));

    job->instance = instance;
    job->number = number;
    job->spec = *spec;
    job_spec_init(spec);
    job->spec.number = number;
    placement_machines_fini(&job->spec.placement.machines); /* the root asks the nodes themselves */
    job->lost_place = TREE_NO_PLACE;
    job->deadline_ns = job->start_until_ns = job->run_until_ns = UINT64_MAX;
    job->generation = 1;
    return job;
}

void job_destroy(struct job *job)
{
    placement_map_fini(&job->map);
    job_shares_fini(&job->shares);
    placement_cores_fini(&job->cores);
    job_view_fini(&job->own);
    job_spec_fini(&job->spec);
    ranges_fini(&job->places);
    ranges_fini(&job->concerned);
    ranges_fini(&job->told);
    free(job->restart_counts);
    job_ended_fini(&job->summary);
    free(job);
}

int job_is_reported(const struct job *job)
{
    return job->phase >= JOB_LINGERING;
}

void job_set_deadline(struct job *job, uint64_t deadline_ns, struct job_actions *actions)
{
    if (deadline_ns == job->deadline_ns)
        return;
    job->deadline_ns = deadline_ns;
    job_actions_timer(actions, job->number, deadline_ns);
}

/* ---- the report ---- */

/* Text of programs and agents must neither break the line nor control the terminal. */
static void blank_controls(char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = 0;
}

/* Its places and those surveyed before the launch, including dead ones: endpoint_forget. */
static void forget_job(struct job *job, struct job_actions *actions)
{
    if (!ranges_is_empty(&job->concerned))
        ranges_move(&job_actions_add(actions, JOB_ACTION_FORGET, job->number)->places,
                    &job->concerned);
}

/* The one report.  Nothing of the job is left anywhere. */
static enum job_phase report_end(struct job *job, uint32_t status, int banyan_failed,
                                 const char *text, struct job_actions *actions)
{
    struct control_job_end *end = memory_allocate_zeroed(sizeof(*end));

    assert(!job_is_reported(job));
    job_set_deadline(job, UINT64_MAX, actions);
    end->status = status;
    end->banyan_failed = banyan_failed != 0;
    end->processes = job->map.processes;
    end->nodes = (uint32_t)ranges_count(&job->places);
    end->processes_ended = job->summary.processes;
    snprintf(end->text, sizeof(end->text), "%s", text);
    blank_controls(end->text);
    job_spawn_ended(job, end, actions);
    job_actions_add(actions, JOB_ACTION_ENDED, job->number)->end = end;
    return JOB_OVER;
}

/* Ranks fail because others have, or because their node was lost: after that only a failed start or
 * an abort matters. */
static int is_news(const struct job *job, const struct job_failure *failure)
{
    return job_failure_outweighs(failure, &job->failure) &&
           (job->lost_place == TREE_NO_PLACE || job_failure_outweighs(failure, &ordinary_failure));
}

/* A job that continued without the ranks of a lost node ends as if these had been killed, as they
 * were. */
static uint32_t highest_status(const struct job *job)
{
    uint32_t status = job->summary.status;

    if (job->loss == JOB_LOSS_WENT_ON && job->lost_place != TREE_NO_PLACE && status < STATUS_KILLED)
        status = STATUS_KILLED;
    return status;
}

static enum job_phase report_loss(struct job *job, struct job_actions *actions)
{
    struct buffer text = {0};
    char name[HOST_NAME_BYTES_MAX + 1];
    enum job_phase phase;

    hostlist_name(job->instance->allocation->names, job->lost_place - 1, name);
    buffer_printf(&text, "lost node %s: ", name);
    job_report_loss(job->instance->root, job->lost_place, &text);
    if (job->stays != NULL)
        buffer_printf(&text, "; %s", job->stays);
    buffer_printf(&text, "; the job %s",
                  job->loss == JOB_LOSS_WENT_ON ? "went on without it" : "was ended");
    phase =
        report_end(job, job->loss == JOB_LOSS_WENT_ON ? highest_status(job) : EXIT_STATUS_FAILED,
                   job->loss != JOB_LOSS_WENT_ON, buffer_string(&text), actions);
    buffer_fini(&text);
    return phase;
}

/* First the rank whose status it is; then, if different, the failure reported first. */
static void report_text(const struct job *job, uint32_t status, char *text, size_t text_bytes)
{
    const struct job_failure *highest = &job->summary.highest;
    char first[sizeof(((struct control_job_end *)0)->text) / 2];

    if (status == job_report_status(&job->failure) || highest->kind == JOB_FAILURE_NONE ||
        status != job_report_status(highest)) {
        job_report_failure(job, &job->failure, text, text_bytes);
        return;
    }
    job_report_failure(job, &job->failure, first, sizeof(first));
    job_report_failure(job, highest, text, text_bytes);
    snprintf(text + strlen(text), text_bytes - strlen(text), "; before that, %s", first);
}

static enum job_phase report_ranks(struct job *job, struct job_actions *actions)
{
    char text[sizeof(((struct control_job_end *)0)->text)];
    uint32_t status = job_report_status(&job->failure);
    int ours = job->failure.kind == JOB_FAILURE_START || job->failure.kind == JOB_FAILURE_SERVICES;

    if (!ours && job->failure.kind != JOB_FAILURE_ABORT && status < highest_status(job))
        status = highest_status(job);
    report_text(job, status, text, sizeof(text));
    return report_end(job, status, ours, text, actions);
}

/* What its processes have used, as far as their nodes live. */
static void report_usage(const struct job *job, struct job_actions *actions)
{
    struct buffer table = {0};
    char *line, *rest;

    if (job->summary.usage == NULL)
        return;
    usage_print(job->summary.usage, &table);
    rest = (char *)buffer_string(&table);
    while ((line = strsep(&rest, "\n")) != NULL)
        job_actions_text(actions, job->number, LOG_LEVEL_WARNING, line);
    buffer_fini(&table);
}

/* Determines status and text, in order of precedence: the user's request, a failed start, an abort,
 * a lost node or the ranks' own ends, whichever was first. */
static enum job_phase report_outcome(struct job *job, struct job_actions *actions)
{
    uint32_t status = job->end.status;

    report_usage(job, actions);
    if (is_news(job, &job->summary.failure))
        job->failure = job->summary.failure;
    if (job->cause != JOB_CAUSE_NONE)
        return report_end(job, status,
                          status == EXIT_STATUS_TIMED_OUT || status == EXIT_STATUS_FAILED,
                          job->end.reason, actions);
    if (job->failure.kind == JOB_FAILURE_NONE && job->lost_place != TREE_NO_PLACE)
        return report_loss(job, actions);
    return report_ranks(job, actions);
}

/* ---- ending ---- */

static enum job_phase end_job(struct job *job, uint64_t now_ns, uint32_t grace_ms,
                              struct job_actions *actions)
{
    struct job_end_message message = {
        .grace_ms = grace_ms, .discard = job->impatient, .tell = job->cause == JOB_CAUSE_PLACEMENT};

    if (!job_end_ask(job, &message, actions))
        return report_outcome(job, actions);
    job_set_deadline(job, now_ns + (grace_ms + END_PATIENCE_MS) * NS_PER_MS, actions);
    return JOB_ENDING;
}

static enum job_phase end_in_order(struct job *job, uint64_t now_ns, struct job_actions *actions)
{
    return end_job(job, now_ns, job->instance->spec->kill_grace_ms, actions);
}

/* 1 if a node that it needs is dead: then that must be reported as lost. */
static int needs_the_dead(struct job *job)
{
    struct ranges dead = {0};

    ranges_intersect(&job->places, &job->instance->root->dead, &dead);
    if (!ranges_is_empty(&dead))
        job->lost_place = ranges_min(&dead);
    ranges_fini(&dead);
    return job->lost_place != TREE_NO_PLACE;
}

/* ---- before the launch ---- */

int job_is_held(const struct job *job)
{
    return job->phase == JOB_QUEUED && job->spec.stage != 0 && !job->is_staged;
}

/* Asks the nodes of job->places. */
static enum job_phase survey_nodes(struct job *job, unsigned int want, struct job_actions *actions)
{
    if (needs_the_dead(job))
        return report_loss(job, actions);
    job_survey_ask(job, want, actions);
    return JOB_SURVEYING;
}

/* It does not fit at the moment, or ever. */
static enum job_phase wait_for_slots(struct job *job, const struct error *error,
                                     struct job_actions *actions)
{
    if (job_queue_add(job, actions))
        return JOB_WAITING;
    return report_end(job, EXIT_STATUS_FAILED, 1, error->text, actions);
}

static enum job_phase launch_job(struct job *job, struct job_actions *actions)
{
    struct error error = ERROR_NONE;
    struct buffer payload = {0};
    int rc = job_map_make(job, &error);

    if (rc == -EAGAIN)
        return survey_nodes(job, job_survey_wanted(job, 1), actions);
    if (rc < 0)
        return wait_for_slots(job, &error, actions);
    if (needs_the_dead(job))
        return report_loss(job, actions);
    if (job_ledger_take(job->instance->root->book, job->number, &job->shares, &error) < 0)
        return report_end(job, EXIT_STATUS_FAILED, 1, error.text, actions);
    job_queue_started(job);
    ranges_add_all(&job->concerned, &job->places);
    job_map_launch(job, &payload);
    job_actions_broadcast(actions, job->number, &job->places, &payload);
    return JOB_LAUNCHING;
}

/* If the nodes' properties are needed, they are surveyed. */
static enum job_phase begin_job(struct job *job, const struct job_event *event,
                                struct job_actions *actions)
{
    struct error error = ERROR_NONE;
    unsigned int want;

    (void)event;
    if (job_is_held(job))
        return JOB_QUEUED;
    if (job_queue_hold(job, &error) < 0)
        return wait_for_slots(job, &error, actions);
    want = job_survey_wanted(job, 0);
    return want != 0 ? survey_nodes(job, want, actions) : launch_job(job, actions);
}

static enum job_phase report_abandoned(struct job *job, const struct job_event *event,
                                       struct job_actions *actions)
{
    return report_end(job, EXIT_STATUS_FAILED, 1, event->text, actions);
}

static enum job_phase take_survey(struct job *job, const struct job_event *event,
                                  struct job_actions *actions)
{
    struct error error = ERROR_NONE;

    if (event->status < 0 || event->key->generation != job->surveys)
        return job->phase; /* losses are reported separately */
    if (job_survey_take(job, event, &error) < 0)
        return report_end(job, EXIT_STATUS_FAILED, 1, error.text, actions);
    return launch_job(job, actions);
}

static enum job_phase lost_survey(struct job *job, const struct job_event *event,
                                  struct job_actions *actions)
{
    (void)event;
    return needs_the_dead(job) ? report_loss(job, actions) : job->phase;
}

/* ---- the launch ---- */

/* Draws where each process is bound, once all agree. */
static void report_bindings(const struct job *job, struct job_actions *actions)
{
    struct placement_sorts *sorts = placement_sorts_create(&job->map);
    struct buffer text = {0};

    for (uint32_t rank = 0; rank < job->map.processes; rank++) {
        char name[HOST_NAME_BYTES_MAX + 1];
        uint32_t node, index;

        placement_map_find(&job->map, rank, &node, &index);
        hostlist_name(job->instance->allocation->names, node, name);
        buffer_clear(&text);
        if (job->spec.parent > 0)
            buffer_printf(&text, "job %u: ", job->number);
        buffer_printf(&text, "rank %u on %s: ", rank, name);
        placement_print_layout(&job->map, node,
                               &placement_sorts_get(sorts, node, NULL)->items[index], &text);
        job_actions_text(actions, job->number, LOG_LEVEL_WARNING, buffer_string(&text));
    }
    buffer_fini(&text);
    placement_sorts_destroy(sorts);
}

static enum job_phase report_started(struct job *job, struct job_actions *actions)
{
    struct control_started *started =
        &job_actions_add(actions, JOB_ACTION_STARTED, job->number)->started;

    started->processes = job->map.processes;
    started->nodes = (uint32_t)ranges_count(&job->places);
    job_spawn_started(job, actions);
    if (job->spec.stop == PMI_STOP_EXEC)
        job_spawn_stopped(job, actions);
    job_set_deadline(job, job_spawn_limit_ns(job), actions);
    if (job->spec.report_bindings)
        report_bindings(job, actions);
    return JOB_RUNNING;
}

static enum job_phase take_launched(struct job *job, const struct job_event *event,
                                    struct job_actions *actions)
{
    struct job_launched message;

    if (event->status < 0)
        return job->phase; /* losses are handled by their own input */
    if (!event->message ||
        job_launched_decode(&message, event->message->data, event->message->length_bytes) < 0 ||
        message.processes != job->map.processes ||
        message.hash != placement_map_hash_total(&job->map)) {
        job->cause = JOB_CAUSE_PLACEMENT;
        job->end = (struct control_end){.status = EXIT_STATUS_FAILED};
        snprintf(
            job->end.reason, sizeof(job->end.reason),
            "the placement computed by the nodes differs from the root's; please report this bug");
        return end_job(job, event->now_ns, 0, actions);
    }
    if (message.failure.kind != JOB_FAILURE_NONE)
        job->failure = message.failure;
    if (message.failure.kind != JOB_FAILURE_NONE && !job_policy_goes_on(job))
        return end_in_order(job, event->now_ns, actions);
    return report_started(job, actions);
}

/* A node reports its placement: the first one that differs is named. */
static enum job_phase compare_placement(struct job *job, const struct job_event *event,
                                        struct job_actions *actions)
{
    struct wire_reader reader;
    uint32_t place;
    uint64_t hash;
    char name[HOST_NAME_BYTES_MAX + 1];

    (void)actions;
    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    (void)wire_get_u8(&reader);
    (void)wire_get_u32(&reader);
    place = wire_get_u32(&reader);
    hash = wire_get_u64(&reader);
    if (wire_finish(&reader) < 0 || job->cause != JOB_CAUSE_PLACEMENT || job->other_place != 0 ||
        !ranges_contains(&job->places, place) ||
        hash == placement_map_hash_node(&job->map, place - 1))
        return job->phase;
    job->other_place = place;
    hostlist_name(job->instance->allocation->names, place - 1, name);
    snprintf(job->end.reason, sizeof(job->end.reason),
             "the placement computed by %.80s differs from the root's; please report this bug",
             name);
    return job->phase;
}

/* ---- while it runs ---- */

static enum job_phase take_failure(struct job *job, const struct job_event *event,
                                   struct job_actions *actions)
{
    struct wire_reader reader;
    struct job_failure failure = {0};

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    (void)wire_get_u8(&reader);
    job_failure_decode(&reader, &failure);
    assert(wire_finish(&reader) == 0 && failure.number == job->number); /* checked by the caller */
    if (is_news(job, &failure))
        job->failure = failure;
    if (job->phase == JOB_ENDING)
        return job->phase;
    if (!job_policy_goes_on(job) || job_failure_outweighs(&failure, &ordinary_failure))
        return end_in_order(job, event->now_ns, actions);
    job_policy_failure(job, &failure, actions);
    return job->phase;
}

static enum job_phase ranks_restart(struct job *job, const struct job_event *event,
                                    struct job_actions *actions)
{
    struct wire_reader reader;
    struct job_restarted message;

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    (void)wire_get_u8(&reader);
    if (job_restarted_decode(&message, &reader) == 0) {
        job_move_restarted(job, &message.ranks);
        job_policy_restarted(job, &message, actions);
    }
    ranges_fini(&message.ranks);
    return job->phase;
}

static enum job_phase rank_speaks(struct job *job, const struct job_event *event,
                                  struct job_actions *actions)
{
    (void)event;
    (void)actions;
    job->has_joined = 1;
    return job->phase;
}

static void places_of_ranks(const struct job *job, const struct ranges *ranks,
                            struct ranges *ret_places)
{
    uint32_t rank = 0, node, index;

    for (; ranges_next(ranks, rank, &rank); rank++) {
        assert(rank < job->map.processes);
        placement_map_find(&job->map, rank, &node, &index);
        ranges_add(ret_places, node + 1, node + 1);
    }
}

static enum job_phase broadcast_signal(struct job *job, const struct job_event *event,
                                       struct job_actions *actions)
{
    struct ranges places = {0};
    struct buffer payload = {0};

    job_signal_encode(job->number, (uint32_t)event->number,
                      event->places != NULL ? event->places : &(struct ranges){0}, &payload);
    if (event->places != NULL)
        places_of_ranks(job, event->places, &places);
    job_actions_broadcast(actions, job->number, event->places != NULL ? &places : &job->places,
                          &payload);
    ranges_fini(&places);
    return job->phase;
}

/* It is ended for an external reason: the first one counts.  A user who ends it does not want to
 * wait for output. */
static void note_wish(struct job *job, const struct job_event *event)
{
    job->impatient |= event->kind == JOB_EVENT_END || event->kind == JOB_EVENT_LEAVE;
    if (job->cause != JOB_CAUSE_NONE || job->phase >= JOB_ENDING)
        return;
    job->cause = JOB_CAUSE_WISH;
    job->end = *event->end;
}

static enum job_phase end_at_once(struct job *job, const struct job_event *event,
                                  struct job_actions *actions)
{
    note_wish(job, event);
    return report_outcome(job, actions);
}

static enum job_phase end_nodes(struct job *job, const struct job_event *event,
                                struct job_actions *actions)
{
    note_wish(job, event);
    return end_job(job, event->now_ns, event->end->at_once ? 0 : job->instance->spec->kill_grace_ms,
                   actions);
}

/* 1 if one of its time limits has expired, which is then why it is ended. */
static int note_time(struct job *job, const struct job_event *event)
{
    if (event->now_ns < job->deadline_ns)
        return 0;
    assert(job->cause == JOB_CAUSE_NONE && job->phase < JOB_ENDING);
    job->deadline_ns = UINT64_MAX;
    job->cause = JOB_CAUSE_TIME;
    job->end.status = EXIT_STATUS_TIMED_OUT;
    if (event->now_ns >= job->run_until_ns)
        snprintf(job->end.reason, sizeof(job->end.reason), "timed out after %u s",
                 job->spec.run_timeout_s);
    else
        snprintf(job->end.reason, sizeof(job->end.reason),
                 "not all of its processes were started within %u s", job->spec.start_timeout_s);
    return 1;
}

static enum job_phase time_is_up_early(struct job *job, const struct job_event *event,
                                       struct job_actions *actions)
{
    return note_time(job, event) ? report_outcome(job, actions) : job->phase;
}

static enum job_phase time_is_up(struct job *job, const struct job_event *event,
                                 struct job_actions *actions)
{
    return note_time(job, event) ? end_in_order(job, event->now_ns, actions) : job->phase;
}

static enum job_phase take_loss(struct job *job, const struct job_event *event,
                                struct job_actions *actions)
{
    struct ranges hit = {0};
    enum job_phase phase = job->phase;

    ranges_intersect(&job->places, event->places, &hit);
    if (!ranges_is_empty(&hit) && !job_spawn_waits(job) && job_move(job, &hit, actions)) {
        if (phase == JOB_LAUNCHING)
            phase = report_started(job, actions); /* nodes say themselves what cannot be started */
    } else if (!ranges_is_empty(&hit)) {
        if (job->loss == JOB_LOSS_NONE || job->loss == JOB_LOSS_MOVED)
            job->loss = JOB_LOSS_ENDED;
        if (job->failure.kind == JOB_FAILURE_NONE && job->lost_place == TREE_NO_PLACE)
            job->lost_place = ranges_min(&hit);
        if (!job_policy_goes_on(job)) {
            phase = end_in_order(job, event->now_ns, actions);
        } else {
            if (phase == JOB_LAUNCHING)
                phase = report_started(
                    job, actions); /* what LAUNCHED would have reported comes with ENDED */
            if (!job_policy_loss(job, &hit, actions))
                phase = report_outcome(job, actions);
        }
    }
    ranges_fini(&hit);
    return phase;
}

/* ---- the end ---- */

/* All ranks have ended and been counted: reported once their last output has arrived.  Without
 * losses that is certain to come; after one, the root waits as long as some still arrives. */
static enum job_phase check_flushed(struct job *job, uint64_t now_ns, struct job_actions *actions)
{
    int all_here = job->output_bytes >= job->summary.output_bytes;
    int begins = job->phase != JOB_FLUSHING;

    if (all_here && (job->loss == JOB_LOSS_NONE || job->impatient))
        return report_outcome(job, actions);
    if (job->impatient ? begins : !ranges_is_empty(&job->instance->root->dead))
        job_set_deadline(job, now_ns + (all_here ? FLUSH_QUIET_MS : FLUSH_PATIENCE_MS) * NS_PER_MS,
                         actions);
    else if (begins)
        job_set_deadline(job, UINT64_MAX, actions);
    return JOB_FLUSHING;
}

/* It lies in the message. */
static void pass_profile_on(struct job *job, struct job_actions *actions)
{
    struct wire_bytes *profile = &job->summary.profile;
    struct buffer payload = {0};

    if (job->spec.profile && profile->length_bytes > 0) {
        buffer_append(&payload, profile->data, profile->length_bytes);
        job_actions_add(actions, JOB_ACTION_PROFILE, job->number)->message =
            message_from_buffer(&payload);
        buffer_fini(&payload);
    }
    *profile = (struct wire_bytes){.data = NULL};
}

/* Any generation will do: if an earlier one was answered after all, all nodes have ended. */
static enum job_phase take_ended(struct job *job, const struct job_event *event,
                                 struct job_actions *actions)
{
    job_ended_fini(&job->summary);
    if (event->status < 0 || !event->message ||
        job_ended_decode(&job->summary, event->message->data, event->message->length_bytes) < 0)
        return job->phase;
    pass_profile_on(job, actions);
    forget_job(job, actions);
    return check_flushed(job, event->now_ns, actions);
}

static enum job_phase output_flushes(struct job *job, const struct job_event *event,
                                     struct job_actions *actions)
{
    job->output_bytes += (uint64_t)event->number;
    return check_flushed(job, event->now_ns, actions);
}

static enum job_phase output_comes(struct job *job, const struct job_event *event,
                                   struct job_actions *actions)
{
    (void)actions;
    job->output_bytes += (uint64_t)event->number;
    return job->phase;
}

static enum job_phase lost_flushing(struct job *job, const struct job_event *event,
                                    struct job_actions *actions)
{
    return check_flushed(job, event->now_ns, actions);
}

/* Anything that has not arrived by now is not expected. */
static enum job_phase give_up(struct job *job, struct job_actions *actions)
{
    struct ranges hit = {0};

    if (job->phase == JOB_FLUSHING && !job->impatient &&
        job->output_bytes < job->summary.output_bytes) {
        job_actions_text(actions, job->number, LOG_LEVEL_WARNING,
                         "some of the output was lost with the nodes");
        ranges_intersect(&job->places, &job->instance->root->dead, &hit);
        if (job->lost_place == TREE_NO_PLACE && !ranges_is_empty(&hit))
            job->lost_place = ranges_min(&hit);
        ranges_fini(&hit);
    }
    (void)report_outcome(job, actions);
    return job->phase == JOB_FLUSHING ? JOB_OVER : JOB_LINGERING; /* nodes still have parts of it */
}

static enum job_phase take_timer(struct job *job, const struct job_event *event,
                                 struct job_actions *actions)
{
    if (event->now_ns < job->deadline_ns)
        return job->phase;
    job->deadline_ns = UINT64_MAX;
    if (!event->flag || job->impatient)
        return give_up(job, actions);
    /* A slow reader delays the nodes' output; they do not hang. */
    job_set_deadline(job, event->now_ns + END_PATIENCE_MS * NS_PER_MS, actions);
    return job->phase;
}

static enum job_phase ended_late(struct job *job, const struct job_event *event,
                                 struct job_actions *actions)
{
    (void)actions;
    return event->status < 0 ? job->phase : JOB_OVER;
}

/* The others are asked again, without those. */
static enum job_phase lost_late(struct job *job, const struct job_event *event,
                                struct job_actions *actions)
{
    struct job_end_message message = {.discard = 1};
    struct ranges hit = {0};
    int is_hit;

    ranges_intersect(&job->places, event->places, &hit);
    is_hit = !ranges_is_empty(&hit);
    ranges_fini(&hit);
    return is_hit && !job_end_ask(job, &message, actions) ? JOB_OVER : job->phase;
}

/* It comes too early or too late: from the network, or because two messages have crossed. */
static enum job_phase ignore_input(struct job *job, const struct job_event *event,
                                   struct job_actions *actions)
{
    (void)event;
    (void)actions;
    return job->phase;
}

/* ---- the table ---- */

typedef enum job_phase job_handler(struct job *job, const struct job_event *event,
                                   struct job_actions *actions);

/* A row for each input, a column for each phase.  NULL cannot happen: START and ABANDONED are of jobs that
 * have waited for the tree, and START of those that wait for slots. */
/* clang-format off */
static job_handler *const handlers[JOB_INPUT_COUNT][JOB_OVER] = {
    /* phase                 QUEUED            SURVEYING         WAITING       LAUNCHING         RUNNING           ENDING             FLUSHING           LINGERING */
    [JOB_INPUT_START] =     {begin_job,        NULL,             begin_job,    NULL,             NULL,             NULL,              NULL,              NULL},
    [JOB_INPUT_ABANDONED] = {report_abandoned, NULL,             NULL,         NULL,             NULL,             NULL,              NULL,              NULL},
    [JOB_INPUT_SURVEYED] =  {ignore_input,     take_survey,      ignore_input, ignore_input,     ignore_input,     ignore_input,      ignore_input,      ignore_input},
    [JOB_INPUT_LAUNCHED] =  {ignore_input,     ignore_input,     ignore_input, take_launched,    ignore_input,     ignore_input,      ignore_input,      ignore_input},
    [JOB_INPUT_ENDED] =     {ignore_input,     ignore_input,     ignore_input, take_ended,       take_ended,       take_ended,        ignore_input,      ended_late},
    [JOB_INPUT_FAILED] =    {ignore_input,     ignore_input,     ignore_input, take_failure,     take_failure,     take_failure,      ignore_input,      ignore_input},
    [JOB_INPUT_PLACED] =    {ignore_input,     ignore_input,     ignore_input, ignore_input,     ignore_input,     compare_placement, compare_placement, ignore_input},
    [JOB_INPUT_RESTARTED] = {ignore_input,     ignore_input,     ignore_input, ranks_restart,    ranks_restart,    ignore_input,      ignore_input,      ignore_input},
    [JOB_INPUT_SPOKEN] =    {ignore_input,     ignore_input,     ignore_input, rank_speaks,      rank_speaks,      ignore_input,      ignore_input,      ignore_input},
    [JOB_INPUT_SIGNAL] =    {ignore_input,     ignore_input,     ignore_input, broadcast_signal, broadcast_signal, ignore_input,      ignore_input,      ignore_input},
    [JOB_INPUT_END] =       {end_at_once,      end_at_once,      end_at_once,  end_nodes,        end_nodes,        end_nodes,         end_at_once,       ignore_input},
    [JOB_INPUT_LOST] =      {ignore_input,     lost_survey,      ignore_input, take_loss,        take_loss,        take_loss,         lost_flushing,     lost_late},
    [JOB_INPUT_OUTPUT] =    {ignore_input,     ignore_input,     ignore_input, output_comes,     output_comes,     output_comes,      output_flushes,    ignore_input},
    [JOB_INPUT_TIMER] =     {ignore_input,     time_is_up_early, ignore_input, time_is_up,       time_is_up,       take_timer,        take_timer,        ignore_input},
};
/* clang-format on */

static void job_check(const struct job *job)
{
    assert(job->phase < JOB_PHASE_COUNT && job->cause < JOB_CAUSE_COUNT);
    assert(job->loss < JOB_LOSS_COUNT && job->number > 0);
    /* It has slots, and may lose nodes, from its launch on. */
    assert(job->phase == JOB_OVER || (job->shares.count > 0) == (job->phase >= JOB_LAUNCHING));
    assert(job->cores.count == 0 || job->phase >= JOB_LAUNCHING);
    assert(job->loss == JOB_LOSS_NONE || job->phase >= JOB_LAUNCHING);
    /* Nodes are asked to end it only after the launch, and ENDING means that they have been. */
    assert(job->generation == 1 || job->phase >= JOB_LAUNCHING);
    assert(job->phase != JOB_ENDING || job->generation > 1);
    assert(job->surveys > 0 || job->phase != JOB_SURVEYING);
    assert(job->phase != JOB_WAITING || job->waits);
    assert(!job->waits || (job->may_wait && job->spec.parent == 0));
    assert(job->deadline_ns == UINT64_MAX || job->phase == JOB_ENDING ||
           job->phase == JOB_FLUSHING ||
           (job->phase < JOB_ENDING && job->deadline_ns == job_spawn_limit_ns(job)));
}

void job_take(struct job *job, enum job_input input, const struct job_event *event,
              struct job_actions *actions)
{
    assert(job->phase < JOB_OVER && input < JOB_INPUT_COUNT);
    assert(handlers[input][job->phase] != NULL);
    job_check(job);
    job->phase = handlers[input][job->phase](job, event, actions);
    if (job->phase == JOB_OVER)
        forget_job(job, actions);
    job_check(job);
}
