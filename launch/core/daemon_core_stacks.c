/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a job stand in their programs (launch/proto/stack_fold.h), by an inquiry that passes from place to
 * place (daemon_core_inquiry.h).  At each place the stacks of some local ranks are taken by another process: of ranks
 * that do different things first, as far as activity shows it.
 *
 * Cost: nothing without requests; then STACK_FOLD_RANKS_MAX stacks of a node, and what the inquiry costs.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/core/daemon_core_inquiry.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/stack_fold.h"

#define LOOK_MS_MAX 12000u /* for the stacks of a node */

struct stacks_inquiry {
    struct core_inquiry core;
    uint32_t job;
    uint32_t look; /* of the local ranks, under way; 0: none */
    uint32_t looked_count;
    uint32_t looked[STACK_FOLD_RANKS_MAX]; /* indices whose stacks have not come */
    uint32_t ranks[STACK_FOLD_RANKS_MAX];  /* and these ranks */
    struct stack_fold fold;
};

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
        const struct stacks_inquiry *inquiry = list_entry(node, struct stacks_inquiry, core.node);

        if (inquiry->look >= number)
            number = inquiry->look + 1;
    }
    return number;
}

static void look_here(struct daemon_core *core, struct stacks_inquiry *inquiry)
{
    const struct job_local *part = instance_part(core->instance, inquiry->job);
    uint32_t limit_ms = inquiry->core.patience_ms / 4 * 3;
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

/* ---- the inquiry ---- */

static bool stacks_is_done(struct daemon_core *core, struct core_inquiry *inquiry)
{
    (void)core;
    return ((struct stacks_inquiry *)inquiry)->look == 0;
}

static struct message *stacks_ask(const struct core_inquiry *inquiry, const struct ranges *part,
                                  uint32_t patience_ms)
{
    const struct stack_fold_request request = {.job = ((const struct stacks_inquiry *)inquiry)->job,
                                               .patience_ms = patience_ms,
                                               .places = *part};
    struct buffer data = {0};
    struct message *message;

    stack_fold_request_encode(&request, &data);
    message = job_request_message(JOB_MESSAGE_STACKS, data.data, data.length_bytes);
    buffer_fini(&data);
    return message;
}

static int stacks_take(struct core_inquiry *inquiry, struct wire_reader *reader)
{
    struct stack_fold fold;
    int rc = stack_fold_decode(&fold, reader);

    if (rc < 0)
        return rc;
    stack_fold_merge(&((struct stacks_inquiry *)inquiry)->fold, &fold);
    stack_fold_fini(&fold);
    return 0;
}

static struct ranges *stacks_silent(struct core_inquiry *inquiry)
{
    return &((struct stacks_inquiry *)inquiry)->fold.silent;
}

static void stacks_answer(struct daemon_core *core, struct core_inquiry *inquiry,
                          struct buffer *out)
{
    struct stacks_inquiry *own = (struct stacks_inquiry *)inquiry;

    if (own->look != 0)
        ranges_add(&own->fold.silent, core->place, core->place);
    stack_fold_encode(&own->fold, out);
}

static void stacks_free(struct core_inquiry *inquiry)
{
    struct stacks_inquiry *own = (struct stacks_inquiry *)inquiry;

    assert(own->looked_count <= STACK_FOLD_RANKS_MAX);
    stack_fold_fini(&own->fold);
}

static const struct inquiry_kind kind = {.timer = DAEMON_TIMER_STACKS,
                                         .list = offsetof(struct daemon_core, stacks),
                                         .is_done = stacks_is_done,
                                         .request = stacks_ask,
                                         .merge = stacks_take,
                                         .silent = stacks_silent,
                                         .encode = stacks_answer,
                                         .fini = stacks_free};

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
        struct stacks_inquiry *one = list_entry(node, struct stacks_inquiry, core.node);

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
    daemon_core_inquiry_check(core, &inquiry->core);
}

/* places: after this one, emptied. */
static void begin(struct daemon_core *core, const struct stacks_inquiry *about,
                  struct ranges *places)
{
    struct stacks_inquiry *inquiry = memory_copy(about, sizeof(*about));

    inquiry->core.kind = &kind;
    inquiry->core.wake_ns = UINT64_MAX;
    daemon_core_inquiry_begin(core, &inquiry->core, places);
    if (!daemon_core_is_root(core))
        look_here(core, inquiry);
    daemon_core_inquiry_check(core, &inquiry->core);
}

int daemon_core_stacks_request(struct daemon_core *core, const struct daemon_event *event,
                               struct wire_reader *reader)
{
    struct stacks_inquiry about = {.core = {.asker = event->place, .request = event->id}};
    struct stack_fold_request request;
    int rc = stack_fold_request_decode(&request, reader);

    if (rc < 0)
        return rc;
    rc = daemon_core_inquiry_accept(core, &kind, false, 0, &request.places);
    if (rc == 0) {
        about.job = request.job;
        about.core.patience_ms = request.patience_ms;
        ranges_remove(&request.places, core->place, core->place);
        begin(core, &about, &request.places);
    }
    ranges_fini(&request.places);
    return rc;
}

void daemon_core_stacks_client(struct daemon_core *core, uint32_t client, uint32_t number,
                               struct wire_reader *reader)
{
    struct stacks_inquiry about = {.core = {.is_client = true,
                                            .asker = client,
                                            .request = number,
                                            .patience_ms = STACK_FOLD_PATIENCE_MS}};
    struct stack_fold_request request;
    struct ranges places = {0};
    int rc = stack_fold_request_decode(&request, reader);

    assert(daemon_core_is_root(core));
    if (rc == 0) {
        about.job = request.job;
        ranges_fini(&request.places);
        rc = instance_job_spec(core->instance, about.job) == NULL
                 ? -ENOENT
                 : daemon_core_inquiry_accept(core, &kind, true, client, NULL);
    }
    if (rc < 0) {
        daemon_core_request_answer(core, client, number, rc, NULL);
        return;
    }
    instance_job_places(core->instance, about.job, UINT32_MAX, &places);
    begin(core, &about, &places);
    ranges_fini(&places);
}

int daemon_core_stacks_reply(struct daemon_core *core, const struct daemon_event *event)
{
    return daemon_core_inquiry_reply(core, &kind, event);
}

void daemon_core_stacks_due(struct daemon_core *core)
{
    daemon_core_inquiry_due(core, &kind);
}

void daemon_core_stacks_gone(struct daemon_core *core, uint32_t client)
{
    daemon_core_inquiry_gone(core, &kind, client);
}

void daemon_core_stacks_open(struct daemon_core *core)
{
    daemon_core_inquiry_open(core, &kind);
}

void daemon_core_stacks_close(struct daemon_core *core)
{
    daemon_core_inquiry_close(core, &kind);
}
