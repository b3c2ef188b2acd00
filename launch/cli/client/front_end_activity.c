/* SPDX-License-Identifier: BSD-3-Clause */
/* When the time of a job is over what its ranks were doing is reported, before they are ended. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "launch/cli/client/front_end_internal.h"
#include "launch/job/job_report.h"
#include "launch/proto/activity.h"
#include "launch/proto/job_wire.h"

#define LINES_MAX 20u
/* The root answers within 2.5 s, whatever its nodes do. */
#define ANSWER_PATIENCE_MS 5000

static void append_places(const struct front_end *front, const struct ranges *places,
                          struct buffer *out)
{
    struct hostlist *names = hostlist_create();

    hostlist_append_places(names, front->request->allocation.names, places);
    if (hostlist_count(names) > 0)
        hostlist_print(names, out);
    else
        buffer_append_string(out, "unknown nodes");
    hostlist_destroy(names);
}

static const char *state_text(uint8_t state)
{
    switch (state) {
    case 0:
        return "ended, or not started yet";
    case 'R':
        return "running (R)";
    case 'S':
    case 'I':
        return "sleeping (S)";
    case 'D':
        return "waiting for a device or a file system (D)";
    case 'T':
    case 't':
        return "stopped (T)";
    case 'Z':
        return "exited (Z)";
    default:
        return "in an unknown state";
    }
}

static void say_group(struct front_end *front, const struct activity_group *group)
{
    static const char *const uses[ACTIVITY_PMI_COUNT] = {
        [ACTIVITY_PMI_NONE] = "not using PMI",
        [ACTIVITY_PMI_CONNECTED] = "connected by PMI",
        [ACTIVITY_PMI_WAITS] = "waiting in a fence or barrier",
        [ACTIVITY_PMI_FINALIZED] = "has finalized PMI",
    };
    const struct activity_rank *what = &group->what;
    struct buffer line = {0};

    job_report_rank_set(&group->ranks, &line);
    buffer_append_string(&line, " on ");
    append_places(front, &group->places, &line);
    buffer_printf(&line, ": %s", state_text(what->state));
    if (what->channel[0] != '\0')
        buffer_printf(&line, " in %s", what->channel);
    buffer_printf(&line, ", %s", uses[what->pmi]);
    output_writer_message(front->writer, buffer_string(&line));
    buffer_fini(&line);
}

/* The large groups first. */
static int compare_groups(const void *a, const void *b)
{
    const struct activity_group *left = a, *right = b;
    uint64_t left_count = ranges_count(&left->ranks), right_count = ranges_count(&right->ranks);

    if (left_count != right_count)
        return left_count > right_count ? -1 : 1;
    return ranges_min(&left->ranks) < ranges_min(&right->ranks) ? -1 : 1;
}

static int is_named(const struct activity *activity)
{
    for (uint32_t i = 0; i < activity->count; i++)
        if (ranges_is_empty(&activity->groups[i].ranks) ||
            ranges_is_empty(&activity->groups[i].places))
            return 0;
    return 1;
}

static void say_activity(struct front_end *front, struct activity *activity)
{
    struct buffer line = {0};
    uint32_t shown = activity->count, lines = LINES_MAX;

    lines -= !ranges_is_empty(&activity->silent);
    if (shown > lines || (shown == lines && activity->more > 0))
        shown = lines - 1;
    qsort(activity->groups, activity->count, sizeof(*activity->groups), compare_groups);
    for (uint32_t i = 0; i < activity->count; i++) {
        if (i < shown)
            say_group(front, &activity->groups[i]);
        else
            activity->more += ranges_count(&activity->groups[i].ranks);
    }
    if (activity->more > 0) {
        buffer_printf(&line, "and %llu more ranks, in other states",
                      (unsigned long long)activity->more);
        output_writer_message(front->writer, buffer_string(&line));
        buffer_clear(&line);
    }
    if (!ranges_is_empty(&activity->silent)) {
        buffer_append_string(&line, "no answer within 2.5 s from ");
        append_places(front, &activity->silent, &line);
        output_writer_message(front->writer, buffer_string(&line));
    }
    buffer_fini(&line);
}

/* The time-out that waits is over: it asks again, and learns that it has asked. */
static void go_on(struct front_end *front)
{
    assert(front->asks_activity);
    loop_timer_set(front->timeout, loop_now_ns());
}

int front_end_activity_ask(struct front_end *front)
{
    struct control_request request = {.request = FRONT_ACTIVITY_REQUEST,
                                      .kind = JOB_MESSAGE_ACTIVITY};
    struct buffer payload = {0}, data = {0};

    if (front->asks_activity || front->channel == NULL || front->job == 0) {
        front->asks_activity = 0;
        return 0;
    }
    activity_encode_request(front->job, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    control_request_encode(&request, &payload);
    channel_send_buffer(front->channel, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(&data);
    front->asks_activity = 1;
    loop_timer_set(front->timeout, loop_now_ns() + ANSWER_PATIENCE_MS * NS_PER_MS);
    return 1;
}

int front_end_activity_answer(struct front_end *front, const struct control_answer *answer)
{
    struct wire_reader inner;
    struct activity activity;

    assert(answer->request == FRONT_ACTIVITY_REQUEST);
    if (!front->asks_activity)
        return 0; /* it comes too late */
    if (answer->status == 0) {
        wire_reader_init(&inner, answer->data.data, answer->data.length_bytes);
        if (activity_decode(&activity, &inner) < 0)
            return -EBADMSG;
        if (is_named(&activity) && !front->has_job_end)
            say_activity(front, &activity);
        activity_fini(&activity);
    }
    go_on(front);
    return 0;
}
