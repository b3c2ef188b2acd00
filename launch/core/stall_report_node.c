/* SPDX-License-Identifier: BSD-3-Clause */
/* Each daemon's answer when the root asks which ranks an operation waits for. */
#include "config.h"

#include "launch/core/stall_report.h"

#include <errno.h>
#include <stdio.h>

#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"

void stall_report_name(const struct operation_name *key, uint32_t job, char text[STALL_NAME_BYTES])
{
    if (key->kind == JOB_OPERATION_STOPPED) {
        snprintf(text, STALL_NAME_BYTES, "the stop of job %u for a debugger", job);
        return;
    }
    snprintf(text, STALL_NAME_BYTES, "%s %u of %sjob %u",
             key->kind == JOB_OPERATION_PMI1 ? "barrier" : "fence", key->generation,
             job_is_group_barrier(key) ? "a group of " : "", job);
}

static void roll_add(struct job_roll *roll, uint32_t rank, uint8_t state, uint8_t process)
{
    struct job_roll_entry *last = roll->count > 0 ? &roll->entries[roll->count - 1] : NULL;

    if (last != NULL && last->last + 1 == rank && last->state == state && last->process == process)
        last->last = rank;
    else if (roll->count < JOB_ROLL_ENTRIES_MAX)
        roll->entries[roll->count++] = (struct job_roll_entry){
            .first = rank, .last = rank, .state = state, .process = process};
}

/* Whether any rank could still join, and whether one cannot. */
struct roll_left {
    bool is_any;
    bool is_lost;
};

static struct roll_left roll_of_node(const struct daemon_core *core, const struct job_local *part,
                                     const struct job_roll_request *request,
                                     struct job_roll *ret_roll)
{
    const struct daemon_ops *ops = core->ops;
    struct roll_left left = {.is_any = false};

    ret_roll->count = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        bool has_ended = instance_part_has_ended(core->instance, part->number, i);
        uint32_t rank = instance_part_rank(core->instance, part, i);
        enum job_stall_state state = JOB_ROLL_ENDED;

        if (!ranges_is_empty(&request->ranks) && !ranges_contains(&request->ranks, rank))
            continue;
        if (!has_ended)
            state = ops->pmi->rank_state(core->context, part->number, &request->key, i);
        left.is_any |= state != JOB_ROLL_ENDED;
        left.is_lost |= state == JOB_ROLL_ENDED || state == JOB_ROLL_FINALIZED;
        roll_add(ret_roll, rank, (uint8_t)state,
                 state == JOB_ROLL_ENDED ? 0 : ops->ranks->state(core->context, part->number, i));
    }
    return left;
}

/* No rank of this node will ever join.  The barrier of a group waits for each member, and fails if one has ended.  A
 * debugger may go on without those that do not stop. */
static void none_left(struct daemon_core *core, const struct job_local *part,
                      const struct job_roll_request *request)
{
    struct job_event event = {.kind = JOB_EVENT_MISSED, .job = request->number};
    char name[STALL_NAME_BYTES];

    if (request->key.kind == JOB_OPERATION_STOPPED)
        return;
    if (job_is_group_barrier(&request->key)) {
        core->ops->pmi->stand_in(core->context, request->number, &request->key, &request->set);
        return;
    }
    if (part->spec.on_failure == JOB_ON_FAILURE_CONTINUE)
        core->ops->pmi->stand_in(core->context, request->number, &request->key, &request->set);
    stall_report_name(&request->key, request->number, name);
    event.text = name;
    daemon_core_job(core, &event);
}

/* For a valid request that names this place. */
static const struct job_local *part_of(const struct daemon_core *core,
                                       const struct job_roll_request *request, int *ret_rc)
{
    const struct job_local *part = instance_part(core->instance, request->number);

    *ret_rc = 0;
    if (part == NULL || !core->ops->pmi->is_served(core->context, request->number))
        *ret_rc = -ENOENT;
    else if (!ranges_contains(&request->set, core->place))
        *ret_rc = -EINVAL;
    return part;
}

int stall_report_answer(struct daemon_core *core, uint32_t id, struct wire_reader *reader)
{
    struct job_roll_request request = {0};
    struct job_roll roll = {0};
    struct buffer answer = {0};
    const struct job_local *part = NULL;
    struct roll_left left = {.is_any = true};
    int rc = job_roll_request_decode(&request, reader);

    if (rc == 0)
        part = part_of(core, &request, &rc);
    if (rc == 0)
        left = roll_of_node(core, part, &request, &roll);
    if (rc == 0 && (job_is_group_barrier(&request.key) ? left.is_lost : !left.is_any))
        none_left(core, part, &request);
    wire_put_u32(&answer, (uint32_t)rc);
    if (rc == 0)
        job_roll_encode(&roll, &answer);
    core->tree->reply(core->tree_context, 0, id, message_from_buffer(&answer));
    buffer_fini(&answer);
    job_roll_request_fini(&request);
    return 0;
}
