/* SPDX-License-Identifier: BSD-3-Clause */
/* The root's part: asks the nodes, collects answers for a second, prints one line. */
#include "config.h"

#include "launch/core/stall_report.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/time.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/job/job_report.h"

#define ROLLS_MAX  16 /* waiting operations that are tracked; others are not reported */
#define GROUPS_MAX 8  /* groups of ranks in a line */
#define LINE_BYTES 400
#define ANSWER_MS  1000
/* Reports of nodes about themselves within this time are one. */
#define STALL_AGAIN_MS 4000

/* Ranks in the same state. */
struct group {
    uint8_t state;   /* enum job_stall_state, or one of the two below */
    uint8_t process; /* state as in /proc, or 0 */
    struct ranges ranks;
    struct ranges places;
};

enum { STATE_SILENT = JOB_ROLL_STATE_COUNT, STATE_UNJOINED };

struct roll {
    struct list_link node;
    struct job_stalled stalled;
    struct {
        uint32_t id; /* of the request, 0: answered */
        uint32_t place;
    } asked[STALL_ASKED_MAX];
    uint32_t asked_count;
    uint32_t waiting;
    uint64_t due_ns; /* UINT64_MAX: no answers due */
    uint64_t asked_ns;
    uint64_t arrived; /* ranks that have arrived, on nodes that are waited for */
    struct group groups[GROUPS_MAX];
    uint32_t groups_count;
    char line[LINE_BYTES]; /* as last printed */
};

struct stall_report {
    struct daemon_core *core;
    struct list rolls;
    uint32_t count;
};

/* ---- records ---- */

static void groups_clear(struct roll *roll)
{
    for (uint32_t i = 0; i < roll->groups_count; i++) {
        ranges_fini(&roll->groups[i].ranks);
        ranges_fini(&roll->groups[i].places);
    }
    memset(roll->groups, 0, sizeof roll->groups);
    roll->groups_count = 0;
    roll->arrived = 0;
}

static void roll_free(struct stall_report *report, struct roll *roll)
{
    groups_clear(roll);
    job_stalled_fini(&roll->stalled);
    list_remove(&roll->node);
    report->count--;
    free(roll);
}

static struct roll *roll_find(struct stall_report *report, const struct operation_name *key)
{
    struct list_link *node, *spare;

    list_for_each(&report->rolls, node, spare)
    {
        struct roll *roll = list_entry(node, struct roll, node);

        if (roll->stalled.key.set_id == key->set_id &&
            roll->stalled.key.generation == key->generation)
            return roll;
    }
    return NULL;
}

/* When all groups are in use, the rest goes into the last one. */
static struct group *group_of(struct roll *roll, uint8_t state, uint8_t process)
{
    for (uint32_t i = 0; i < roll->groups_count; i++)
        if (roll->groups[i].state == state && roll->groups[i].process == process)
            return &roll->groups[i];
    if (roll->groups_count == GROUPS_MAX)
        return &roll->groups[GROUPS_MAX - 1];
    roll->groups[roll->groups_count] = (struct group){.state = state, .process = process};
    return &roll->groups[roll->groups_count++];
}

/* ---- the line ---- */

static void print_state(const struct group *group, struct buffer *out)
{
    static const char *const states[] = {
        [JOB_ROLL_RUNNING] = "alive",
        [JOB_ROLL_NEW] = "alive, has not initialised",
        [JOB_ROLL_FINALIZED] = "has finalized",
        [JOB_ROLL_ENDED] = "has ended",
        [STATE_SILENT] = "its daemon does not respond",
        [STATE_UNJOINED] = "its daemon has not joined",
    };

    buffer_append_string(out, states[group->state]);
    if (group->process == 'T' || group->process == 't')
        buffer_printf(out, ", stopped in state %c", group->process);
    else if (group->process == 'D')
        buffer_append_string(out, ", in state D: waiting for a device or a file system");
    else if (group->process == 'Z')
        buffer_append_string(out, ", a zombie");
}

/* The rolls of a job are removed with it, so the job exists. */
static const struct placement_map *map_of(const struct stall_report *report,
                                          const struct roll *roll)
{
    const struct placement_map *map =
        instance_job_map(report->core->instance, roll->stalled.key.owner);

    assert(map != NULL);
    return map;
}

/* The ranks of a place that take part, added. */
static void add_ranks(const struct stall_report *report, const struct roll *roll, uint32_t place,
                      struct ranges *out)
{
    const struct placement_map *map = map_of(report, roll);
    const struct ranges *members = &roll->stalled.ranks;
    uint32_t count = placement_map_count(map, place - 1);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = placement_map_rank(map, place - 1, i);

        if (ranges_is_empty(members) || ranges_contains(members, rank))
            ranges_add(out, rank, rank);
    }
}

static uint64_t ranks_of(const struct stall_report *report, const struct roll *roll,
                         const struct ranges *places)
{
    struct ranges ranks = {0};
    uint64_t count = 0;
    uint32_t place = 0;

    for (; ranges_next(places, place, &place); place++) {
        if (ranges_is_empty(&roll->stalled.ranks)) {
            count += placement_map_count(map_of(report, roll), place - 1);
            continue;
        }
        add_ranks(report, roll, place, &ranks);
        count += ranges_count(&ranks);
        ranges_clear(&ranks);
    }
    ranges_fini(&ranks);
    return count;
}

/* How many have arrived, if that is known exactly. */
static void print_arrived(const struct stall_report *report, const struct roll *roll,
                          struct buffer *out)
{
    const struct endpoint_missing *missing = &roll->stalled.missing;
    struct ranges arrived = {0};

    ranges_copy(&arrived, &roll->stalled.set);
    ranges_remove_all(&arrived, &missing->absent);
    ranges_remove_all(&arrived, &missing->unjoined);
    ranges_remove_all(&arrived, &missing->silent);
    if (missing->more > 0)
        buffer_printf(out, " and those of %llu more nodes", (unsigned long long)missing->more);
    else
        buffer_printf(out, "; %llu arrived",
                      (unsigned long long)(ranks_of(report, roll, &arrived) + roll->arrived));
    ranges_fini(&arrived);
}

static void line_make(const struct stall_report *report, const struct roll *roll, char *line)
{
    const struct instance *instance = report->core->instance;
    struct buffer out = {0};
    char name[STALL_NAME_BYTES];

    stall_report_name(&roll->stalled.key, roll->stalled.key.owner, name);
    buffer_printf(&out, "%s: waiting for ", name);
    for (uint32_t i = 0; i < roll->groups_count; i++) {
        if (i > 0)
            buffer_append_string(&out, ", ");
        job_report_rank_set(&roll->groups[i].ranks, &out);
        buffer_append_string(&out, " on ");
        job_report_places(instance, &roll->groups[i].places, &out);
        buffer_append_string(&out, " (");
        print_state(&roll->groups[i], &out);
        buffer_append_string(&out, ")");
    }
    if (roll->groups_count == 0)
        buffer_append_string(&out, "data in transit");
    print_arrived(report, roll, &out);
    snprintf(line, LINE_BYTES, "%s", buffer_string(&out));
    buffer_fini(&out);
}

/* ---- asking ---- */

static uint64_t now_ns(const struct stall_report *report)
{
    return report->core->ops->now_ns(report->core->context);
}

static void set_timer(struct stall_report *report, uint64_t deadline_ns)
{
    report->core->ops->timer(report->core->context, DAEMON_TIMER_STALLS, 0, deadline_ns);
}

/* For a node that has not reported the state of its ranks, or was not asked. */
static void add_place(const struct stall_report *report, struct roll *roll, uint32_t place,
                      uint8_t state)
{
    struct group *group = group_of(roll, state, 0);

    ranges_add(&group->places, place, place);
    add_ranks(report, roll, place, &group->ranks);
}

static void add_places(const struct stall_report *report, struct roll *roll,
                       const struct ranges *places, uint8_t state)
{
    const struct allocation *allocation = instance_roster(report->core->instance);
    uint32_t place = 1;

    for (; ranges_next(places, place, &place) && place <= allocation_nodes(allocation); place++)
        add_place(report, roll, place, state);
}

/* Whether the operation belongs to a running job.  If the job is being ended its ranks are missing for
 * that reason, even from operations that they had joined. */
static int is_of_job(const struct stall_report *report, const struct job_stalled *stalled)
{
    return instance_job_is_running(report->core->instance, stalled->key.owner) &&
           job_is_of_processes(&stalled->key);
}

static void roll_say(struct stall_report *report, struct roll *roll)
{
    const struct endpoint_missing *missing = &roll->stalled.missing;
    struct ranges rest = {0};
    char line[LINE_BYTES];

    roll->due_ns = UINT64_MAX;
    if (!is_of_job(report, &roll->stalled))
        return;
    ranges_copy(&rest, &missing->absent);
    for (uint32_t i = 0; i < roll->asked_count; i++) {
        ranges_remove(&rest, roll->asked[i].place, roll->asked[i].place);
        if (roll->asked[i].id != 0)
            add_place(report, roll, roll->asked[i].place, STATE_SILENT);
        roll->asked[i].id = 0;
    }
    add_places(report, roll, &rest, JOB_ROLL_RUNNING);
    add_places(report, roll, &missing->silent, STATE_SILENT);
    add_places(report, roll, &missing->unjoined, STATE_UNJOINED);
    ranges_fini(&rest);
    line_make(report, roll, line);
    if (strcmp(line, roll->line) == 0)
        return;
    snprintf(roll->line, sizeof roll->line, "%s", line);
    daemon_core_text(report->core, roll->stalled.key.owner, LOG_LEVEL_WARNING, line);
}

static void roll_ask(struct stall_report *report, struct roll *roll)
{
    struct job_roll_request request = {.number = roll->stalled.key.owner,
                                       .key = roll->stalled.key,
                                       .set = roll->stalled.set,
                                       .ranks = roll->stalled.ranks}; /* borrowed, as the set */
    const struct allocation *allocation = instance_roster(report->core->instance);
    uint32_t place = 1;

    roll->asked_count = 0;
    for (; roll->asked_count < STALL_ASKED_MAX &&
           ranges_next(&roll->stalled.missing.absent, place, &place) &&
           place <= allocation_nodes(allocation);
         place++) {
        struct buffer payload = {0};

        wire_put_u8(&payload, JOB_MESSAGE_ROLL);
        job_roll_request_encode(&request, &payload);
        roll->asked[roll->asked_count].place = place;
        roll->asked[roll->asked_count++].id = report->core->tree->request(
            report->core->tree_context, place, message_from_buffer(&payload));
        buffer_fini(&payload);
    }
    roll->waiting = roll->asked_count;
    roll->asked_ns = now_ns(report);
    roll->due_ns = roll->asked_ns + ANSWER_MS * NS_PER_MS;
    if (roll->waiting == 0)
        roll_say(report, roll);
    else
        set_timer(report, roll->due_ns);
}

void stall_report_due(struct stall_report *report)
{
    uint64_t next_ns = UINT64_MAX;
    struct list_link *node, *spare;

    list_for_each(&report->rolls, node, spare)
    {
        struct roll *roll = list_entry(node, struct roll, node);

        if (roll->due_ns <= now_ns(report))
            roll_say(report, roll);
        if (roll->due_ns < next_ns)
            next_ns = roll->due_ns;
    }
    if (next_ns != UINT64_MAX)
        set_timer(report, next_ns);
}

/* ---- messages ---- */

static bool is_over(const struct job_stalled *stalled)
{
    return stalled->kind == JOB_STALLED_OVER || stalled->kind == JOB_STALLED_LOCAL_OVER;
}

/* A node's own barrier may go on while its meeting point still waits for others. */
static bool ends(const struct roll *roll, const struct job_stalled *stalled)
{
    return is_over(stalled) &&
           (stalled->kind == JOB_STALLED_OVER || roll->stalled.kind == JOB_STALLED_LOCAL);
}

/* All nodes with ranks that wait may report, of which the first has led to the question; the meeting point knows
 * more than any. */
static bool is_old_news(const struct stall_report *report, const struct roll *roll,
                        const struct job_stalled *stalled)
{
    return stalled->kind == JOB_STALLED_LOCAL &&
           (roll->stalled.kind == JOB_STALLED_MISSING ||
            now_ns(report) < roll->asked_ns + STALL_AGAIN_MS * NS_PER_MS);
}

/* The meeting point of a group does not know its ranks: it is heard when a node has reported that some wait there.
 * (Nodes that stand in for ranks in barriers of groups do so in advance, for which nobody waits.) */
static bool is_nameless(const struct roll *roll, const struct job_stalled *stalled)
{
    return roll == NULL && stalled->kind == JOB_STALLED_MISSING &&
           job_is_group_barrier(&stalled->key);
}

void stall_report_take(struct stall_report *report, struct wire_reader *reader)
{
    struct job_stalled stalled;
    struct roll *roll;

    if (job_stalled_decode(&stalled, reader) < 0)
        return;
    roll = roll_find(report, &stalled.key);
    if (roll != NULL && ends(roll, &stalled)) {
        roll_free(report, roll);
        roll = NULL;
    }
    if (is_over(&stalled) || is_nameless(roll, &stalled) ||
        (roll != NULL && is_old_news(report, roll, &stalled)) || !is_of_job(report, &stalled) ||
        (roll == NULL && report->count == ROLLS_MAX)) {
        job_stalled_fini(&stalled);
        return;
    }
    if (roll == NULL) {
        roll = memory_allocate_zeroed(sizeof *roll);
        list_append(&report->rolls, &roll->node);
        report->count++;
    }
    groups_clear(roll);
    if (ranges_is_empty(&stalled.ranks))
        ranges_move(&stalled.ranks, &roll->stalled.ranks);
    job_stalled_fini(&roll->stalled);
    roll->stalled = stalled;
    roll_ask(report, roll);
}

static void take_entries(struct roll *roll, uint32_t place, const struct job_roll *answer)
{
    for (uint32_t i = 0; i < answer->count; i++) {
        const struct job_roll_entry *entry = &answer->entries[i];
        struct group *group;

        if (entry->state == JOB_ROLL_ARRIVED) {
            roll->arrived += entry->last - entry->first + 1;
            continue;
        }
        /* Sleeping or running: neither explains why it has not called. */
        group = group_of(roll, entry->state, strchr("TtDZ", entry->process) ? entry->process : 0);
        ranges_add(&group->ranks, entry->first, entry->last);
        ranges_add(&group->places, place, place);
    }
}

static void roll_answered(struct stall_report *report, struct roll *roll, uint32_t index,
                          const struct message *payload)
{
    struct job_roll answer;
    struct wire_reader reader;

    wire_reader_init(&reader, payload ? payload->data : NULL, payload ? payload->length_bytes : 0);
    if (wire_get_u32(&reader) == 0 && job_roll_decode(&answer, &reader) == 0) {
        roll->asked[index].id = 0;
        take_entries(roll, roll->asked[index].place, &answer);
    }
    if (--roll->waiting == 0)
        roll_say(report, roll);
}

void stall_report_reply(struct stall_report *report, uint32_t id, int status,
                        const struct message *payload)
{
    struct list_link *node, *spare;

    list_for_each(&report->rolls, node, spare)
    {
        struct roll *roll = list_entry(node, struct roll, node);

        for (uint32_t i = 0; i < roll->asked_count; i++)
            if (roll->asked[i].id == id) {
                roll_answered(report, roll, i, status == 0 ? payload : NULL);
                return;
            }
    }
}

const char *stall_report_line(const struct stall_report *report, uint32_t job)
{
    const char *line = "";
    struct list_link *node, *spare;

    list_for_each(&report->rolls, node, spare)
    {
        const struct roll *roll = list_entry(node, struct roll, node);

        if (roll->stalled.key.owner != job || roll->line[0] == 0)
            continue;
        line = roll->line;
        if (roll->stalled.key.kind != JOB_OPERATION_STOPPED) /* the others may have gone on */
            break;
    }
    return line;
}

void stall_report_job_ended(struct stall_report *report, uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&report->rolls, node, spare)
    {
        struct roll *roll = list_entry(node, struct roll, node);

        if (roll->stalled.key.owner == job)
            roll_free(report, roll);
    }
}

/* ---- life ---- */

struct stall_report *stall_report_create(struct daemon_core *core)
{
    struct stall_report *report = memory_allocate_zeroed(sizeof *report);

    report->core = core;
    list_init(&report->rolls);
    return report;
}

void stall_report_destroy(struct stall_report *report)
{
    struct list_link *node;

    if (report == NULL)
        return;
    while ((node = list_first(&report->rolls)) != NULL)
        roll_free(report, list_entry(node, struct roll, node));
    free(report);
}
