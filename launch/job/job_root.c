/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "launch/job/job_book.h"
#include "launch/job/job_engine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/place_cpus.h"
#include "alloc/place_draw.h"
#include "alloc/place_local.h"
#include "alloc/place_require.h"
#include "base/log.h"
#include "launch/proto/exit_status.h"
#include "overlay/tree.h"

#define SIGNAL_MAX 64
/* How long more failures of a start are gathered, so that equal ones are told in one line. */
#define START_GATHER_MS 300
/* When it is told which daemons have not joined yet. */
#define START_TELL_MS 5000
/* Said of a place whose own starter has not said more: that may still be under way. */
#define LOST_BEFORE_COMPLETE "it ended before the tree was complete"
/* What ending a job may take beyond its grace before the root gives up waiting for the nodes. */
#define END_PATIENCE_MS 5000
/* How long the last output may take to come once all ranks have ended, if some of it may be lost or
 * the user does not want to wait; and after the last of it when nobody can say how much there is. */
#define FLUSH_PATIENCE_MS 2000
#define FLUSH_QUIET_MS    200
/* What a process that was killed ends with: 128 + SIGKILL. */
#define STATUS_KILLED 137

/* What a rank may do without ending a job that goes on. */
static const struct job_failure ordinary_failure = {.kind = JOB_FAILURE_EXIT};

struct job_root *job_root_create(const struct instance_spec *instance)
{
    struct job_root *root = memory_allocate_zeroed(sizeof *root);

    (void)instance;
    job_spec_init(&root->spec);
    root->lost_place = TREE_NO_PLACE;
    root->deadline_ns = UINT64_MAX;
    root->generation = 1;
    return root;
}

void job_root_destroy(struct job_root *root)
{
    if (!root)
        return;
    place_map_fini(&root->map);
    node_pool_destroy(root->book);
    job_spec_fini(&root->spec);
    ranges_fini(&root->places);
    ranges_fini(&root->concerned);
    ranges_fini(&root->dead);
    ranges_fini(&root->told);
    for (uint32_t i = 0; i < root->seen_count; i++)
        ranges_fini(&root->seen[i].places);
    free(root->seen);
    free(root->start_failures);
    free(root);
}

static void set_deadline(struct job_root *root, uint64_t deadline_ns, struct job_actions *actions)
{
    if (deadline_ns == root->deadline_ns)
        return;
    root->deadline_ns = deadline_ns;
    job_actions_add(actions, JOB_ACTION_TIMER, root->number)->number =
        deadline_ns == UINT64_MAX ? -1 : (int64_t)deadline_ns;
}

/* What programs and agents said must neither break the line nor steer the terminal. */
static void blank_controls(char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            text[i] = ' ';
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = 0;
}

/* The one report, then the instance ends. */
static void report_end(struct job_root *root, uint32_t status, int banyan_failed, const char *text,
                       struct job_actions *actions)
{
    struct control_job_end *end;

    if (root->state == JOB_ROOT_REPORTED)
        return;
    root->state = JOB_ROOT_REPORTED;
    if (root->book)
        node_pool_give_back(root->book, root->number);
    set_deadline(root, UINT64_MAX, actions);
    end = &job_actions_add(actions, JOB_ACTION_ENDED, root->number)->end;
    end->status = status;
    end->banyan_failed = banyan_failed != 0;
    end->processes = root->map.processes;
    end->nodes = (uint32_t)ranges_count(&root->places);
    end->processes_ended = root->summary.processes;
    snprintf(end->text, sizeof end->text, "%s", text);
    blank_controls(end->text);
    job_actions_add(actions, JOB_ACTION_LEAVE, root->number);
}

/* Ranks fail because others have, or because their node was lost: after that only a failed start or
 * an abort is news. */
static int is_news(const struct job_root *root, const struct job_failure *failure)
{
    return job_failure_outweighs(failure, &root->failure) &&
           (root->lost_place == TREE_NO_PLACE || job_failure_outweighs(failure, &ordinary_failure));
}

/* What goes on without the ranks of a lost node ends as if they had been killed, which they were. */
static uint32_t highest_status(const struct job_root *root)
{
    uint32_t status = root->summary.status;

    if (root->went_on && root->lost_place != TREE_NO_PLACE && status < STATUS_KILLED)
        status = STATUS_KILLED;
    return status;
}

static void report_loss(const struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct buffer text = {0};
    char name[HOST_NAME_BYTES_MAX + 1];

    hostlist_name(engine->allocation->names, root->lost_place - 1, name);
    buffer_printf(&text, "lost node %s: ", name);
    job_report_loss(root, root->lost_place, &text);
    buffer_printf(&text, "; the job %s", root->went_on ? "went on without it" : "was ended");
    report_end(root, root->went_on ? highest_status(root) : EXIT_STATUS_FAILED, !root->went_on,
               buffer_string(&text), actions);
    buffer_fini(&text);
}

/* The rank whose status it is comes first; then, if that is another one, what was heard of first. */
static void report_text(const struct job_engine *engine, uint32_t status, char *text,
                        size_t text_bytes)
{
    const struct job_root *root = engine->root;
    const struct job_failure *highest = &root->summary.highest;
    char first[sizeof((struct control_job_end *)0)->text / 2];

    if (status == job_report_status(&root->failure) || highest->kind == JOB_FAILURE_NONE ||
        status != job_report_status(highest)) {
        job_report_failure(engine, &root->failure, text, text_bytes);
        return;
    }
    job_report_failure(engine, &root->failure, first, sizeof first);
    job_report_failure(engine, highest, text, text_bytes);
    snprintf(text + strlen(text), text_bytes - strlen(text), "; before that, %s", first);
}

/* Puts status and text together from what is known, in the order: the user's wish, a start that
 * failed, an abort, a lost node or the ranks' own ends, whichever was first. */
static void report(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    char text[sizeof((struct control_job_end *)0)->text];
    uint32_t status;

    if (is_news(root, &root->summary.failure))
        root->failure = root->summary.failure;
    status = job_report_status(&root->failure);
    if (root->has_end) {
        status = root->end.status;
        report_end(root, status, status == EXIT_STATUS_TIMED_OUT || status == EXIT_STATUS_FAILED,
                   root->end.reason, actions);
    } else if (root->failure.kind == JOB_FAILURE_NONE && root->lost_place != TREE_NO_PLACE) {
        report_loss(engine, actions);
    } else {
        int ours =
            root->failure.kind == JOB_FAILURE_START || root->failure.kind == JOB_FAILURE_SERVICES;

        if (!ours && root->failure.kind != JOB_FAILURE_ABORT && status < highest_status(root))
            status = highest_status(root);
        report_text(engine, status, text, sizeof text);
        report_end(root, status, ours, text, actions);
    }
}

static void live_places(const struct job_root *root, struct ranges *ret_places)
{
    ranges_copy(ret_places, &root->places);
    ranges_remove_all(ret_places, &root->dead);
}

void job_root_ask(struct job_engine *engine, struct job_end_message *message,
                  struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct buffer payload = {0};

    live_places(root, &message->places);
    if (ranges_is_empty(&message->places)) {
        report(engine, actions);
        return;
    }
    message->number = root->number;
    message->generation = ++root->generation;
    wire_put_u8(&payload, JOB_MESSAGE_END);
    job_end_message_encode(message, &payload);
    job_actions_broadcast(actions, &message->places, &payload);
    ranges_fini(&message->places);
}

static void end_job(struct job_engine *engine, uint64_t now_ns, uint32_t grace_ms,
                    struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct job_end_message message = {
        .grace_ms = grace_ms, .discard = root->impatient, .tell = root->other_placement};

    root->state = JOB_ROOT_ENDING;
    job_root_ask(engine, &message, actions);
    if (root->state == JOB_ROOT_ENDING)
        set_deadline(root, now_ns + (grace_ms + END_PATIENCE_MS) * NS_PER_MS, actions);
}

/* 1, and the job is reported as lost, if a node that it needs is dead. */
static int needs_the_dead(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct ranges dead = {0};

    ranges_intersect(&root->places, &root->dead, &dead);
    if (ranges_is_empty(&dead))
        return 0;
    root->lost_place = ranges_min(&dead);
    ranges_fini(&dead);
    report_loss(engine, actions);
    return 1;
}

/* Draws where each process is bound, once all agree. */
static void report_bindings(const struct job_engine *engine, struct job_actions *actions)
{
    const struct place_map *map = &engine->root->map;
    struct place_sorts *sorts = place_sorts_create(map);
    struct buffer text = {0};

    for (uint32_t rank = 0; rank < map->processes; rank++) {
        struct job_action *action = job_actions_add(actions, JOB_ACTION_TEXT, engine->root->number);
        char name[HOST_NAME_BYTES_MAX + 1];
        uint32_t node, index;

        place_map_find(map, rank, &node, &index);
        hostlist_name(engine->allocation->names, node, name);
        buffer_clear(&text);
        buffer_printf(&text, "rank %u on %s: ", rank, name);
        place_draw_seat(map, node, &place_sorts_get(sorts, node, NULL)->items[index], &text);
        action->number = LOG_LEVEL_WARNING;
        snprintf(action->text, sizeof action->text, "%s", buffer_string(&text));
    }
    buffer_fini(&text);
    place_sorts_destroy(sorts);
}

/* The map, or why there is none, and then who was left out. */
static int make_map(struct job_engine *engine, struct error *error)
{
    struct job_root *root = engine->root;
    struct placement *placement = &root->spec.placement;
    struct buffer left_out = {0};
    int rc = place_require_settle(placement, engine->allocation, error);

    if (rc < 0)
        return rc;
    place_cpus_settle(placement, engine->allocation);
    rc = place_map_make(&root->map, placement, engine->allocation, error);
    if (rc == 0)
        rc = place_map_check(&root->map, engine->allocation, error);
    if (rc < 0) {
        place_require_tell(placement, engine->allocation, &left_out);
        error_set(error, rc, "%s%s", error->text, buffer_string(&left_out));
    } else {
        if (root->book)
            node_pool_add_facts(root->book, &placement->facts);
        place_require_forget(placement);
    }
    buffer_fini(&left_out);
    return rc;
}

static void launch(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct error error = ERROR_NONE;
    struct buffer payload = {0};

    if (make_map(engine, &error) < 0) {
        report_end(root, EXIT_STATUS_FAILED, 1, error.text, actions);
        return;
    }
    place_map_resolve(&root->map, &root->spec.placement);
    root->spec.processes = root->map.processes;
    root->state = JOB_ROOT_LAUNCHING;
    set_deadline(root, UINT64_MAX, actions);
    place_map_places(&root->map, &root->places);
    ranges_add_all(&root->concerned, &root->places);
    if (needs_the_dead(engine, actions))
        return;
    if (job_book_take(root->book, root->number, &root->map, &root->places, &error) < 0) {
        report_end(root, EXIT_STATUS_FAILED, 1, error.text, actions);
        return;
    }
    wire_put_u8(&payload, JOB_MESSAGE_LAUNCH);
    wire_put_u32(&payload, root->number);
    job_spec_encode(&root->spec, &payload);
    job_actions_broadcast(actions, &root->places, &payload);
}

/* Before the launch, if it must be known what the nodes are like. */
static void prepare(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;

    if (!job_survey_wanted(engine)) {
        launch(engine, actions);
        return;
    }
    root->state = JOB_ROOT_SURVEYING;
    set_deadline(root, UINT64_MAX, actions);
    if (!needs_the_dead(engine, actions))
        job_survey_ask(engine, actions);
}

static void surveyed(struct job_engine *engine, const struct job_event *event,
                     struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct error error = ERROR_NONE;

    if (root->state != JOB_ROOT_SURVEYING || event->status < 0)
        return; /* a loss is handled where it is told */
    if (job_survey_take(engine, event, &error) < 0)
        report_end(root, EXIT_STATUS_FAILED, 1, error.text, actions);
    else
        launch(engine, actions);
}

static void complete(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct buffer payload = {0};

    if (root->start_failures_total > 0 || root->state == JOB_ROOT_REPORTED)
        return; /* complete without those that failed: not a tree to run on */
    root->complete = 1;
    wire_put_u8(&payload, JOB_MESSAGE_ROSTER);
    allocation_encode(engine->allocation, &payload);
    job_actions_broadcast(actions, NULL, &payload);
    if (root->state == JOB_ROOT_QUEUED)
        prepare(engine, actions);
}

/* The time-out is for one node: those of the next level are started when it is up. */
static uint64_t start_patience_ns(const struct instance_spec *instance)
{
    struct tree tree = {.places = instance->places, .radix = instance->radix};
    uint64_t levels = tree_depth(&tree) > 0 ? tree_depth(&tree) : 1;

    return (levels * instance->start_timeout_s * 1000ull + 2ull * START_GATHER_MS) * NS_PER_MS;
}

/* Whoever waits for a while wants to know for whom. */
static void expect_daemons(struct job_engine *engine, uint64_t now_ns, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    uint64_t tell_ns = now_ns + START_TELL_MS * NS_PER_MS;

    root->start_until_ns = now_ns + start_patience_ns(engine->instance);
    set_deadline(root, tell_ns < root->start_until_ns ? tell_ns : root->start_until_ns, actions);
}

static void run(struct job_engine *engine, const struct job_event *event,
                struct job_actions *actions)
{
    struct job_root *root = engine->root;

    if (root->state != JOB_ROOT_NONE)
        return;
    root->spec = *event->spec;
    job_spec_init(event->spec);
    root->book = job_book_create(engine->allocation);
    (void)node_pool_job_add(root->book, 0, &root->number, NULL); /* a new book has room */
    root->spec.number = root->number;
    root->state = JOB_ROOT_QUEUED;
    if (root->complete)
        prepare(engine, actions);
    else if (root->start_failures_total == 0)
        expect_daemons(engine, event->now_ns, actions);
}

static struct start_failure *start_failure_of(struct job_root *root, uint32_t place)
{
    for (uint32_t i = 0; i < root->start_failures_count; i++)
        if (root->start_failures[i].place == place)
            return &root->start_failures[i];
    return NULL;
}

/* A start that fails is not told at once: what else fails in a moment joins the same line. */
static void place_failed(struct job_engine *engine, uint64_t now_ns, uint32_t place,
                         const char *text, struct job_actions *actions)
{
    struct job_root *root = engine->root;

    struct start_failure *failure;

    if (root->complete || root->state == JOB_ROOT_REPORTED)
        return;
    failure = start_failure_of(root, place);
    if (failure) {
        if (!failure->text[0])
            snprintf(failure->text, sizeof failure->text, "%s", text);
        return;
    }
    if (root->start_failures_total++ == 0)
        set_deadline(root, now_ns + START_GATHER_MS * NS_PER_MS, actions);
    if (root->start_failures_count == START_FAILURES_MAX)
        return;
    root->start_failures = memory_resize(root->start_failures, (root->start_failures_count + 1) *
                                                                   sizeof *root->start_failures);
    failure = &root->start_failures[root->start_failures_count++];
    failure->place = place;
    snprintf(failure->text, sizeof failure->text, "%s", text);
}

static void rank_failed(struct job_engine *engine, const struct job_event *event,
                        const struct job_failure *failure, struct job_actions *actions)
{
    struct job_root *root = engine->root;

    if (root->state < JOB_ROOT_LAUNCHING || root->state >= JOB_ROOT_FLUSHING ||
        failure->number != root->number)
        return;
    if (is_news(root, failure))
        root->failure = *failure;
    if (job_policy_goes_on(root) && !job_failure_outweighs(failure, &ordinary_failure))
        job_policy_failure(engine, failure, actions);
    else if (root->state != JOB_ROOT_ENDING)
        end_job(engine, event->now_ns, engine->instance->kill_grace_ms, actions);
}

/* A node says what it has computed: the first one that differs is named. */
static void placed(struct job_engine *engine, struct wire_reader *reader)
{
    struct job_root *root = engine->root;
    uint32_t number = wire_get_u32(reader), place = wire_get_u32(reader);
    uint64_t hash = wire_get_u64(reader);
    char name[HOST_NAME_BYTES_MAX + 1];

    if (wire_finish(reader) < 0 || !root->other_placement || root->other_place != 0 ||
        number != root->number || !ranges_contains(&root->places, place) ||
        hash == place_map_hash_node(&root->map, place - 1))
        return;
    root->other_place = place;
    hostlist_name(engine->allocation->names, place - 1, name);
    snprintf(root->end.reason, sizeof root->end.reason,
             "%.80s computed another placement than the root; please report this", name);
}

/* The job is to end, for a reason that is none of its own. */
static void wish_end(struct job_engine *engine, const struct control_end *end, uint64_t now_ns,
                     struct job_actions *actions)
{
    struct job_root *root = engine->root;
    uint32_t grace_ms = end->at_once ? 0 : engine->instance->kill_grace_ms;

    if (!root->has_end && root->state < JOB_ROOT_ENDING) {
        root->has_end = 1;
        root->end = *end;
    }
    if (root->state < JOB_ROOT_LAUNCHING || root->state == JOB_ROOT_FLUSHING)
        report(engine, actions);
    else if (root->state < JOB_ROOT_FLUSHING)
        end_job(engine, now_ns, grace_ms, actions);
}

/* A scheduler signals all daemons: the first one of which that is heard ends the job. */
static void cancelled(struct job_engine *engine, const struct job_event *event,
                      struct wire_reader *reader, struct job_actions *actions)
{
    uint32_t number = wire_get_u32(reader);
    struct control_end end = {.status = EXIT_STATUS_SIGNAL + number};
    char name[HOST_NAME_BYTES_MAX + 1] = "";
    char sender[64];

    wire_get_string_into(reader, sender, sizeof sender);
    if (wire_finish(reader) < 0 || number == 0 || number > SIGNAL_MAX || engine->root->has_end ||
        engine->root->state >= JOB_ROOT_ENDING)
        return;
    if (event->place > 0 && event->place <= allocation_nodes(engine->allocation))
        hostlist_name(engine->allocation->names, event->place - 1, name);
    snprintf(end.reason, sizeof end.reason, "cancelled%s%s (signal %u to %s%s)",
             sender[0] ? " by " : "", sender, number,
             name[0] ? "the daemon on " : "the root of this run", name);
    wish_end(engine, &end, event->now_ns, actions);
}

static void received(struct job_engine *engine, const struct job_event *event,
                     struct job_actions *actions)
{
    struct wire_reader reader;
    struct job_failure failure = {0};
    char text[START_FAILURE_TEXT_BYTES];
    uint32_t place;

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    switch (wire_get_u8(&reader)) {
    case JOB_MESSAGE_PLACE_FAILED:
        place = wire_get_u32(&reader);
        wire_get_string_into(&reader, text, sizeof text);
        if (wire_finish(&reader) == 0)
            place_failed(engine, event->now_ns, place, text, actions);
        break;
    case JOB_MESSAGE_PLACED:
        placed(engine, &reader);
        break;
    case JOB_MESSAGE_CANCEL:
        cancelled(engine, event, &reader, actions);
        break;
    case JOB_MESSAGE_RANK_FAILED:
        job_failure_decode(&reader, &failure);
        if (wire_finish(&reader) == 0)
            rank_failed(engine, event, &failure, actions);
        break;
    default:
        log_warning("place %u sent a message of an unknown kind", event->place);
    }
}

static void runs(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct control_started *started;

    root->state = JOB_ROOT_RUNNING;
    started = &job_actions_add(actions, JOB_ACTION_STARTED, root->number)->started;
    started->processes = root->map.processes;
    started->nodes = (uint32_t)ranges_count(&root->places);
    if (root->spec.report_bindings)
        report_bindings(engine, actions);
}

static void launched(struct job_engine *engine, const struct job_event *event,
                     struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct job_launched message;

    if (root->state != JOB_ROOT_LAUNCHING || event->status < 0)
        return; /* a loss is handled where it is told */
    if (!event->message ||
        job_launched_decode(&message, event->message->data, event->message->length_bytes) < 0 ||
        message.processes != root->map.processes ||
        message.hash != place_map_hash_total(&root->map)) {
        root->has_end = 1;
        root->other_placement = 1;
        root->end = (struct control_end){.status = EXIT_STATUS_FAILED};
        snprintf(root->end.reason, sizeof root->end.reason,
                 "the nodes computed another placement than the root; please report this");
        end_job(engine, event->now_ns, 0, actions);
        return;
    }
    if (message.failure.kind != JOB_FAILURE_NONE)
        root->failure = message.failure;
    if (message.failure.kind != JOB_FAILURE_NONE && root->spec.on_failure == JOB_ON_FAILURE_ABORT) {
        end_job(engine, event->now_ns, engine->instance->kill_grace_ms, actions);
        return;
    }
    runs(engine, actions);
}

/* All ranks have ended and been counted: reported once their last output is here.  Without losses
 * that is certain to come; after one it is waited for while some comes. */
static void check_flushed(struct job_engine *engine, uint64_t now_ns, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    int all_here = root->output_bytes >= root->summary.output_bytes;
    int begins = root->state != JOB_ROOT_FLUSHING;

    if (!root->has_summary || root->state == JOB_ROOT_REPORTED)
        return;
    root->state = JOB_ROOT_FLUSHING;
    if (all_here && (!root->partial || root->impatient))
        report(engine, actions);
    else if (root->impatient ? begins : !ranges_is_empty(&root->dead))
        set_deadline(root, now_ns + (all_here ? FLUSH_QUIET_MS : FLUSH_PATIENCE_MS) * NS_PER_MS,
                     actions);
    else if (begins)
        set_deadline(root, UINT64_MAX, actions);
}

/* Any generation will do: if an earlier one was answered after all, everybody has ended. */
static void ended(struct job_engine *engine, const struct job_event *event,
                  struct job_actions *actions)
{
    struct job_root *root = engine->root;

    if (event->status < 0 || !event->message || root->state < JOB_ROOT_LAUNCHING ||
        root->state >= JOB_ROOT_FLUSHING)
        return;
    if (job_ended_decode(&root->summary, event->message->data, event->message->length_bytes) < 0)
        return;
    root->has_summary = 1;
    /* Its places and those that were asked before the launch, the dead among them: node_forget. */
    ranges_copy(&job_actions_add(actions, JOB_ACTION_FORGET, root->number)->places,
                &root->concerned);
    check_flushed(engine, event->now_ns, actions);
}

/* Its starter may have more to say, before or after. */
static void starts_lost(struct job_engine *engine, const struct job_event *event,
                        struct job_actions *actions)
{
    for (uint32_t i = 0; i < event->places->count; i++)
        for (uint32_t place = event->places->items[i].first; place <= event->places->items[i].last;
             place++)
            place_failed(engine, event->now_ns, place, "", actions);
}

static void lost(struct job_engine *engine, const struct job_event *event,
                 struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct ranges hit = {0};

    ranges_add_all(&root->dead, event->places);
    if (root->book)
        job_book_lost(root->book, event->places);
    if (!root->complete) {
        starts_lost(engine, event, actions);
        return;
    }
    if (root->state == JOB_ROOT_SURVEYING) {
        (void)needs_the_dead(engine, actions);
        return;
    }
    check_flushed(engine, event->now_ns, actions);
    ranges_intersect(&root->places, event->places, &hit);
    if (!ranges_is_empty(&hit) && root->state >= JOB_ROOT_LAUNCHING &&
        root->state < JOB_ROOT_FLUSHING) {
        root->partial = 1;
        if (root->failure.kind == JOB_FAILURE_NONE && root->lost_place == TREE_NO_PLACE)
            root->lost_place = ranges_min(&hit);
        if (job_policy_goes_on(root) && root->state == JOB_ROOT_LAUNCHING)
            runs(engine, actions); /* what LAUNCHED would have told comes with ENDED */
        if (job_policy_goes_on(root))
            job_policy_loss(engine, &hit, actions);
        else
            end_job(engine, event->now_ns, engine->instance->kill_grace_ms, actions);
    }
    ranges_fini(&hit);
}

/* The user's wish: Ctrl-C, a time-out, a reader that went away. */
static void end_wished(struct job_engine *engine, const struct job_event *event,
                       struct job_actions *actions)
{
    engine->root->impatient = 1;
    wish_end(engine, event->end, event->now_ns, actions);
}

/* What has not come by now is not going to. */
static void give_up(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct ranges hit = {0};
    struct job_action *action;

    if (root->state == JOB_ROOT_FLUSHING && !root->impatient &&
        root->output_bytes < root->summary.output_bytes) {
        action = job_actions_add(actions, JOB_ACTION_TEXT, root->number);
        action->number = LOG_LEVEL_WARNING;
        snprintf(action->text, sizeof action->text, "some of the output was lost with the nodes");
        ranges_intersect(&root->places, &root->dead, &hit);
        if (root->lost_place == TREE_NO_PLACE && !ranges_is_empty(&hit))
            root->lost_place = ranges_min(&hit);
        ranges_fini(&hit);
    }
    report(engine, actions);
}

static void timer(struct job_engine *engine, const struct job_event *event,
                  struct job_actions *actions)
{
    struct job_root *root = engine->root;
    char text[sizeof((struct control_job_end *)0)->text];

    if (event->now_ns < root->deadline_ns)
        return;
    root->deadline_ns = UINT64_MAX;
    if (!root->complete && event->now_ns < root->start_until_ns &&
        root->start_failures_total == 0) {
        struct job_action *action = job_actions_add(actions, JOB_ACTION_TEXT, root->number);

        action->number = LOG_LEVEL_WARNING;
        job_report_unjoined(engine, event->places, action->text, sizeof action->text);
        set_deadline(root, root->start_until_ns, actions);
    } else if (!root->complete) {
        job_report_start(engine, event->places, text, sizeof text);
        report_end(root, EXIT_STATUS_FAILED, 1, text, actions);
    } else if (event->flag && !root->impatient) {
        /* A slow reader holds the nodes' output up; they do not hang. */
        set_deadline(root, event->now_ns + END_PATIENCE_MS * NS_PER_MS, actions);
    } else {
        give_up(engine, actions);
    }
}

void job_root_step(struct job_engine *engine, const struct job_event *event,
                   struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct buffer payload = {0};

    switch (event->kind) {
    case JOB_EVENT_RUN:
        run(engine, event, actions);
        break;
    case JOB_EVENT_COMPLETE:
        complete(engine, actions);
        break;
    case JOB_EVENT_RESULT:
        if (event->key->kind == JOB_OPERATION_LAUNCHED)
            launched(engine, event, actions);
        else if (event->key->kind == JOB_OPERATION_ENDED)
            ended(engine, event, actions);
        else if (event->key->kind == JOB_OPERATION_SURVEY)
            surveyed(engine, event, actions);
        break;
    case JOB_EVENT_RECEIVED:
        received(engine, event, actions);
        break;
    case JOB_EVENT_PLACE_FAILED:
        place_failed(engine, event->now_ns, event->place, event->text, actions);
        break;
    case JOB_EVENT_SEEN:
        job_report_seen(root, event);
        break;
    case JOB_EVENT_LOST:
        lost(engine, event, actions);
        break;
    case JOB_EVENT_SIGNAL:
        if (root->state != JOB_ROOT_LAUNCHING && root->state != JOB_ROOT_RUNNING)
            break;
        wire_put_u8(&payload, JOB_MESSAGE_SIGNAL);
        wire_put_u32(&payload, root->number);
        wire_put_u32(&payload, (uint32_t)event->number);
        job_actions_broadcast(actions, &root->places, &payload);
        break;
    case JOB_EVENT_END:
        end_wished(engine, event, actions);
        break;
    case JOB_EVENT_OUTPUT:
        root->output_bytes += (uint64_t)event->number;
        check_flushed(engine, event->now_ns, actions);
        break;
    case JOB_EVENT_TIMER:
        timer(engine, event, actions);
        break;
    default:
        assert(!"an event of the root");
    }
}
