/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a job stand in their programs (launch/proto/stack_fold.h).  A place that is asked about a set of places, of
 * which it is the first, hands the others on in parts, as launch/core/daemon_core_load.c does.  Meanwhile the stacks of some local
 * ranks are taken by another process: of ranks that do different things first, as far as activity shows it.  It
 * answers when all of that has arrived, or when its time is over.  Nothing is kept between two requests.
 *
 * Cost: nothing without requests; then O(radix) messages of bounded size, and STACK_FOLD_RANKS_MAX stacks of a node.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/stack_fold.h"

#define INQUIRIES_MAX 16u    /* at a time, at a place */
#define LOOK_MS_MAX   12000u /* for the stacks of a node */

struct stacks_inquiry {
    struct list_link node;
    bool is_client;
    uint32_t asker;   /* a client, or a place */
    uint32_t request; /* its number of it */
    uint32_t job;
    uint32_t patience_ms;
    uint64_t due_ns;
    uint32_t look; /* of the local ranks, under way; 0: none */
    uint32_t looked_count;
    uint32_t looked[STACK_FOLD_RANKS_MAX]; /* indices whose stacks have not come */
    uint32_t ranks[STACK_FOLD_RANKS_MAX];  /* and these ranks */
    struct hash_map *asked;                /* id of a request -> struct ranges: the part */
    struct stack_fold fold;
};

static void part_free(struct ranges *part)
{
    ranges_fini(part);
    free(part);
}

static void inquiry_free(struct stacks_inquiry *inquiry)
{
    struct ranges *part;
    size_t cursor = 0;

    assert(list_is_linked(&inquiry->node) && inquiry->looked_count <= STACK_FOLD_RANKS_MAX);
    list_remove(&inquiry->node);
    while ((part = hash_map_next(inquiry->asked, &cursor)) != NULL)
        part_free(part);
    hash_map_destroy(inquiry->asked);
    stack_fold_fini(&inquiry->fold);
    free(inquiry);
}

static void inquiry_answer(struct daemon_core *core, struct stacks_inquiry *inquiry)
{
    struct buffer data = {0};
    struct ranges *part;
    size_t cursor = 0;

    while ((part = hash_map_next(inquiry->asked, &cursor)) != NULL)
        ranges_add_all(&inquiry->fold.silent, part);
    if (inquiry->look != 0)
        ranges_add(&inquiry->fold.silent, core->place, core->place);
    stack_fold_encode(&inquiry->fold, &data);
    if (inquiry->is_client)
        daemon_core_request_answer(core, inquiry->asker, inquiry->request, 0, &data);
    else
        core->tree->reply(core->tree_context, inquiry->asker, inquiry->request,
                          job_reply_message(0, data.data, data.length_bytes));
    buffer_fini(&data);
    inquiry_free(inquiry);
}

/* ---- this place ---- */

static bool is_like_one(const struct activity_rank *seen, uint64_t count,
                        const struct activity_rank *what)
{
    for (uint64_t i = 0; i < count; i++)
        if (seen[i].state == what->state && seen[i].pmi == what->pmi &&
            strcmp(seen[i].channel, what->channel) == 0)
            return true;
    return false;
}

/* Local ranks that run: those that differ from the ones before, then the first ones.  Returns how many run. */
static uint64_t choose(struct daemon_core *core, const struct job_local *part,
                       struct ranges *ret_chosen)
{
    struct activity_rank seen[STACK_FOLD_RANKS_MAX];
    struct ranges running = {0};
    uint64_t count;
    uint32_t index = 0;

    for (uint32_t i = 0; i < part->count; i++) {
        struct activity_rank what = {.state = 0};

        core->ops->ranks->activity(core->context, part->number, i, &what);
        if (what.state == 0)
            continue;
        ranges_add(&running, i, i);
        count = ranges_count(ret_chosen);
        if (count == STACK_FOLD_RANKS_MAX || is_like_one(seen, count, &what))
            continue;
        seen[count] = what;
        ranges_add(ret_chosen, i, i);
    }
    for (; ranges_count(ret_chosen) < STACK_FOLD_RANKS_MAX && ranges_next(&running, index, &index);
         index++)
        if (!ranges_contains(ret_chosen, index))
            ranges_add(ret_chosen, index, index);
    count = ranges_count(&running);
    ranges_fini(&running);
    return count;
}

static uint32_t look_number(const struct daemon_core *core)
{
    uint32_t number = 1;
    struct list_link *node, *spare;

    list_for_each(&core->stacks, node, spare)
    {
        const struct stacks_inquiry *inquiry = list_entry(node, struct stacks_inquiry, node);

        if (inquiry->look >= number)
            number = inquiry->look + 1;
    }
    return number;
}

static void look_here(struct daemon_core *core, struct stacks_inquiry *inquiry)
{
    const struct job_local *part = instance_part(core->instance, inquiry->job);
    uint32_t limit_ms = inquiry->patience_ms / 4 * 3;
    struct ranges chosen = {0};
    uint32_t index = 0;

    if (part == NULL)
        return;
    inquiry->fold.left = choose(core, part, &chosen);
    for (; ranges_next(&chosen, index, &index); index++) {
        inquiry->looked[inquiry->looked_count] = index;
        inquiry->ranks[inquiry->looked_count++] = instance_part_rank(core->instance, part, index);
    }
    assert(inquiry->fold.left >= inquiry->looked_count);
    inquiry->fold.left -= inquiry->looked_count;
    if (inquiry->looked_count > 0) {
        inquiry->look = look_number(core);
        core->ops->ranks->stacks(core->context, inquiry->job, &chosen, inquiry->look,
                                 limit_ms < LOOK_MS_MAX ? limit_ms : LOOK_MS_MAX);
    }
    ranges_fini(&chosen);
}

static void take_stack(struct daemon_core *core, struct stacks_inquiry *inquiry, uint32_t index,
                       bool is_failure, const char *text)
{
    for (uint32_t i = 0; i < inquiry->looked_count; i++) {
        if (inquiry->looked[i] != index)
            continue;
        stack_fold_add(&inquiry->fold, text, is_failure, inquiry->ranks[i], core->place);
        inquiry->looked_count--;
        inquiry->looked[i] = inquiry->looked[inquiry->looked_count];
        inquiry->ranks[i] = inquiry->ranks[inquiry->looked_count];
        return;
    }
}

/* ---- others ---- */

/* Takes the part. */
static void ask_part(struct daemon_core *core, struct stacks_inquiry *inquiry, struct ranges *part)
{
    struct stack_fold_request request = {.job = inquiry->job,
                                         .patience_ms =
                                             inquiry->patience_ms - inquiry->patience_ms / 8,
                                         .places = *part};
    struct buffer data = {0};
    uint32_t id;

    assert(!ranges_is_empty(part) && !ranges_contains(part, core->place));
    stack_fold_request_encode(&request, &data);
    id = core->tree->request(core->tree_context, ranges_min(part),
                             job_request_message(JOB_MESSAGE_STACKS, data.data, data.length_bytes));
    buffer_fini(&data);
    (void)hash_map_put_u64(inquiry->asked, id, part);
}

static void hand_on(struct daemon_core *core, struct stacks_inquiry *inquiry, struct ranges *places)
{
    uint64_t left = ranges_count(places);

    for (uint32_t parts = core->spec->radix; left > 0; parts--) {
        uint64_t count = (left + parts - 1) / parts;

        assert(parts > 0);
        ask_part(core, inquiry, daemon_core_load_take_part(places, count));
        left -= count;
    }
}

/* ---- the course of an inquiry ---- */

static void set_timer(struct daemon_core *core)
{
    uint64_t next_ns = UINT64_MAX;
    struct list_link *node, *spare;

    list_for_each(&core->stacks, node, spare)
    {
        uint64_t due_ns = list_entry(node, struct stacks_inquiry, node)->due_ns;

        if (due_ns < next_ns)
            next_ns = due_ns;
    }
    core->ops->timer(core->context, DAEMON_TIMER_STACKS, 0, next_ns);
}

static void inquiry_check(struct daemon_core *core, struct stacks_inquiry *inquiry)
{
    if ((inquiry->look == 0 && hash_map_count(inquiry->asked) == 0) ||
        inquiry->due_ns <= core->ops->now_ns(core->context))
        inquiry_answer(core, inquiry);
}

void daemon_core_stacks_due(struct daemon_core *core)
{
    struct list_link *node, *spare;

    list_for_each(&core->stacks, node, spare)
        inquiry_check(core, list_entry(node, struct stacks_inquiry, node));
    set_timer(core);
}

void daemon_core_stacks_taken(struct daemon_core *core, const struct daemon_event *event)
{
    struct stacks_inquiry *inquiry = NULL;
    char text[STACK_FOLD_TEXT_BYTES];
    struct list_link *node, *spare;
    struct wire_reader reader;
    uint32_t index;
    bool is_failure;

    list_for_each(&core->stacks, node, spare)
    {
        struct stacks_inquiry *one = list_entry(node, struct stacks_inquiry, node);

        if (one->look == event->id)
            inquiry = one;
    }
    if (inquiry == NULL || event->id == 0)
        return; /* it comes too late */
    wire_reader_init(&reader, event->data, event->data_bytes);
    while (wire_left(&reader) > 0 && stack_fold_get_local(&reader, &index, &is_failure, text) == 0)
        take_stack(core, inquiry, index, is_failure, text);
    while (inquiry->looked_count > 0)
        take_stack(core, inquiry, inquiry->looked[0], true, event->text);
    inquiry->look = 0;
    inquiry_check(core, inquiry);
    set_timer(core);
}

/* places: after this one, emptied. */
static void inquiry_begin(struct daemon_core *core, const struct stacks_inquiry *about,
                          struct ranges *places)
{
    struct stacks_inquiry *inquiry = memory_copy(about, sizeof(*about));

    inquiry->due_ns = core->ops->now_ns(core->context) + inquiry->patience_ms * NS_PER_MS;
    inquiry->asked = hash_map_create();
    list_append(&core->stacks, &inquiry->node);
    hand_on(core, inquiry, places);
    if (!daemon_core_is_root(core))
        look_here(core, inquiry);
    inquiry_check(core, inquiry);
    set_timer(core);
}

/* 1 if there is no place for one more, or it is a client's second one. */
static bool is_refused(const struct daemon_core *core, bool is_client, uint32_t asker)
{
    struct list_link *node, *spare;
    uint32_t count = 0;

    list_for_each(&core->stacks, node, spare)
    {
        const struct stacks_inquiry *inquiry = list_entry(node, struct stacks_inquiry, node);

        count++;
        if (is_client && inquiry->is_client && inquiry->asker == asker)
            return true;
    }
    return count >= INQUIRIES_MAX;
}

int daemon_core_stacks_request(struct daemon_core *core, const struct daemon_event *event,
                               struct wire_reader *reader)
{
    struct stacks_inquiry about = {.asker = event->place, .request = event->id};
    struct stack_fold_request request;
    int rc = stack_fold_request_decode(&request, reader);

    if (rc < 0)
        return rc;
    if (!daemon_core_load_is_first(core, &request.places))
        rc = -EBADMSG;
    else if (is_refused(core, false, 0))
        rc = -EAGAIN;
    if (rc == 0) {
        about.job = request.job;
        about.patience_ms = request.patience_ms;
        ranges_remove(&request.places, core->place, core->place);
        inquiry_begin(core, &about, &request.places);
    }
    ranges_fini(&request.places);
    return rc;
}

void daemon_core_stacks_client(struct daemon_core *core, uint32_t client, uint32_t number,
                               struct wire_reader *reader)
{
    struct stacks_inquiry about = {.is_client = true,
                                   .asker = client,
                                   .request = number,
                                   .patience_ms = STACK_FOLD_PATIENCE_MS};
    struct stack_fold_request request;
    struct ranges places = {0};
    int rc = stack_fold_request_decode(&request, reader);

    assert(daemon_core_is_root(core));
    if (rc == 0) {
        about.job = request.job;
        ranges_fini(&request.places);
        rc = instance_job_spec(core->instance, about.job) == NULL ? -ENOENT
             : is_refused(core, true, client)                     ? -EAGAIN
                                                                  : 0;
    }
    if (rc < 0) {
        daemon_core_request_answer(core, client, number, rc, NULL);
        return;
    }
    instance_job_places(core->instance, about.job, UINT32_MAX, &places);
    inquiry_begin(core, &about, &places);
    ranges_fini(&places);
}

/* If the first place of a part is lost the next one is asked. */
static void take_reply(struct daemon_core *core, struct stacks_inquiry *inquiry,
                       struct ranges *part, const struct daemon_event *event)
{
    const struct message *message = event->message;
    struct wire_reader reader;
    struct stack_fold fold;
    int rc;

    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    rc = job_reply_decode(event->status, &reader);
    if (rc == -EHOSTDOWN) {
        ranges_remove(part, ranges_min(part), ranges_min(part));
        if (!ranges_is_empty(part)) {
            ask_part(core, inquiry, part);
            return;
        }
    } else if (rc < 0 || stack_fold_decode(&fold, &reader) < 0) {
        ranges_add_all(&inquiry->fold.silent, part);
    } else {
        stack_fold_merge(&inquiry->fold, &fold);
        stack_fold_fini(&fold);
    }
    part_free(part);
}

int daemon_core_stacks_reply(struct daemon_core *core, const struct daemon_event *event)
{
    struct list_link *node, *spare;

    list_for_each(&core->stacks, node, spare)
    {
        struct stacks_inquiry *inquiry = list_entry(node, struct stacks_inquiry, node);
        struct ranges *part = hash_map_remove_u64(inquiry->asked, event->id);

        if (part == NULL)
            continue;
        take_reply(core, inquiry, part, event);
        inquiry_check(core, inquiry);
        set_timer(core);
        return 1;
    }
    return 0;
}

/* Replies that still come are nobody's. */
void daemon_core_stacks_gone(struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->stacks, node, spare)
    {
        struct stacks_inquiry *inquiry = list_entry(node, struct stacks_inquiry, node);

        if (inquiry->is_client && inquiry->asker == client)
            inquiry_free(inquiry);
    }
}

void daemon_core_stacks_open(struct daemon_core *core)
{
    list_init(&core->stacks);
}

void daemon_core_stacks_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->stacks)) != NULL)
        inquiry_free(list_entry(node, struct stacks_inquiry, node));
}
