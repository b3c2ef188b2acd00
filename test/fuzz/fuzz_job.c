/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages about jobs: the input is one message, which comes as a broadcast to a node with a
 * running job, to a node without one, and to the root from a node.
 */
#include "config.h"

#include "base/time.h"
#include "launch/job/instance.h"
#include "launch/proto/job_moved.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

#define NODES 3u

static struct instance_spec instance;
static struct allocation allocation;

static void set_up(void)
{
    if (allocation.names)
        return;
    instance_spec_init(&instance);
    instance.places = NODES + 1;
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", NODES, 2);
}

static void job_of(struct job_spec *ret_spec)
{
    job_spec_init(ret_spec);
    placement_add(&ret_spec->placement, &(struct placement_rule){.processes = 4});
    ret_spec->apps = memory_allocate_zeroed(sizeof *ret_spec->apps);
    ret_spec->apps_count = 1;
    ret_spec->apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    ret_spec->apps[0].argv[0] = memory_copy_string("app");
    ret_spec->apps[0].set = memory_allocate_zeroed(sizeof(char *));
    variable_edits_add(&ret_spec->apps[0].edits, VARIABLE_EDIT_SET, "V", "v", ':');
}

/* Processes of the first node are on the third: as this node hears it, which is the second; or of the second one, which
 * this node has. */
static void sample_move(int is_relaunch, struct buffer *out)
{
    struct placement_move move = {.from = 0, .to = is_relaunch ? 1 : 2};
    uint32_t restarts[] = {1, 1};
    struct job_moved moved = {.number = 1,
                              .generation = 2,
                              .moves = {.items = &move, .count = 1},
                              .restarts = restarts,
                              .restarts_count = is_relaunch ? 2 : 0};
    struct job_spec spec;

    ranges_add(&moved.places, 2, 3);
    job_moved_encode(&moved, is_relaunch ? JOB_MESSAGE_RELAUNCH : JOB_MESSAGE_MOVED, out);
    ranges_fini(&moved.places);
    if (!is_relaunch)
        return;
    wire_put_u32(out, 1);
    wire_put_varint(out, 0);
    job_of(&spec);
    spec.placement.rules[0].processes = 2;
    spec.on_failure = JOB_ON_FAILURE_RESTART;
    spec.restarts_max = 3;
    job_spec_encode(&spec, out);
    job_spec_fini(&spec);
}

/* Message `number` of those that a good run has. */
static void sample(unsigned number, struct buffer *out)
{
    struct job_end_message end = {.number = 1, .generation = 2, .grace_ms = 2000};
    struct job_failure failure = {
        .number = 1, .kind = JOB_FAILURE_EXIT, .rank = 2, .place = 2, .code = 3};
    struct job_restarted restarted = {.failure = failure, .count = 1, .delay_ms = 1000};
    struct job_spec spec;

    wire_put_u8(out, (uint8_t)(JOB_MESSAGE_ROSTER + number));
    switch (JOB_MESSAGE_ROSTER + number) {
    case JOB_MESSAGE_ROSTER:
        wire_put_u32(out, 1);
        allocation_encode(&allocation, out);
        break;
    case JOB_MESSAGE_LAUNCH:
        wire_put_u32(out, 1);
        wire_put_u32(out, 1);
        wire_put_varint(out, 0);
        job_of(&spec);
        job_spec_encode(&spec, out);
        job_spec_fini(&spec);
        break;
    case JOB_MESSAGE_END:
        ranges_add(&end.places, 1, 2);
        buffer_clear(out);
        job_end_message_encode(&end, out);
        ranges_fini(&end.places);
        break;
    case JOB_MESSAGE_PLACE_FAILED:
        wire_put_u32(out, 3);
        wire_put_string(out, "ssh exited 255");
        break;
    case JOB_MESSAGE_RANK_FAILED:
        job_failure_encode(&failure, out);
        break;
    case JOB_MESSAGE_RANK_FAILED + 1: /* the next number that concerns the root */
        ranges_add(&restarted.ranks, 2, 3);
        buffer_clear(out);
        job_restarted_encode(&restarted, out);
        ranges_fini(&restarted.ranks);
        break;
    case JOB_MESSAGE_RANK_FAILED + 2: /* and those of ranks that have moved */
    case JOB_MESSAGE_RANK_FAILED + 3:
        buffer_clear(out);
        sample_move(number + JOB_MESSAGE_ROSTER == JOB_MESSAGE_RANK_FAILED + 3, out);
        break;
    case JOB_MESSAGE_SIGNAL:
        buffer_clear(out);
        job_signal_encode(1, 10, &(struct ranges){0}, out);
        break;
    default:
        buffer_clear(out);
    }
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct buffer bytes = {0};
    size_t length_bytes;

    set_up();
    sample(number, &bytes);
    length_bytes = bytes.length_bytes;
    assert(length_bytes <= buffer_bytes);
    if (length_bytes > 0)
        memcpy(buffer, bytes.data, length_bytes);
    buffer_fini(&bytes);
    return length_bytes;
}

static void step(struct instance *engine, struct job_event event, const void *data,
                 size_t data_bytes)
{
    struct job_actions actions;

    job_actions_init(&actions);
    event.message = message_create(data, data_bytes);
    instance_step(engine, &event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        if (actions.items[i].kind == JOB_ACTION_CONTRIBUTE)
            assert(ranges_contains(&actions.items[i].places, 2)); /* as the overlay wants it */
    job_actions_fini(&actions);
    message_release(event.message);
}

static void step_sample(struct instance *engine, enum job_message message)
{
    struct buffer bytes = {0};

    sample(message - JOB_MESSAGE_ROSTER, &bytes);
    step(engine, (struct job_event){.kind = JOB_EVENT_BROADCAST}, bytes.data, bytes.length_bytes);
    buffer_fini(&bytes);
}

/* How much the node knows already. */
enum fuzz_before { NOTHING, ITS_ROSTER, ITS_LAUNCH };

static void to_node(const uint8_t *data, size_t data_bytes, enum fuzz_before before)
{
    struct instance *engine = instance_create(&instance, 2, NULL, INSTANCE_LEAVES_WITH_JOB);
    const struct job_local *part;

    if (before >= ITS_ROSTER)
        step_sample(engine, JOB_MESSAGE_ROSTER);
    if (before == ITS_LAUNCH) {
        step_sample(engine, JOB_MESSAGE_LAUNCH);
    }
    step(engine, (struct job_event){.kind = JOB_EVENT_BROADCAST}, data, data_bytes);
    step(engine, (struct job_event){.kind = JOB_EVENT_TIMER, .job = 1, .now_ns = 3600 * NS_PER_S},
         NULL, 0);
    part = instance_part(engine, 1);
    if (part != NULL && part->count > 0 && instance_part_is_starting(engine, 1, 0))
        step(engine, (struct job_event){.kind = JOB_EVENT_STARTED, .job = 1}, NULL, 0);
    instance_destroy(engine);
}

static void to_root(const uint8_t *data, size_t data_bytes)
{
    struct instance *engine = instance_create(&instance, 0, &allocation, INSTANCE_LEAVES_WITH_JOB);
    struct job_spec spec;

    job_of(&spec);
    step(engine, (struct job_event){.kind = JOB_EVENT_RUN, .spec = &spec}, NULL, 0);
    step(engine, (struct job_event){.kind = JOB_EVENT_RECEIVED, .place = 1}, data, data_bytes);
    step(engine, (struct job_event){.kind = JOB_EVENT_COMPLETE}, NULL, 0);
    step(engine, (struct job_event){.kind = JOB_EVENT_RECEIVED, .place = 1}, data, data_bytes);
    job_spec_fini(&spec);
    instance_destroy(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    set_up();
    to_node(data, data_bytes, NOTHING);
    to_node(data, data_bytes, ITS_ROSTER);
    to_node(data, data_bytes, ITS_LAUNCH);
    to_root(data, data_bytes);
    return 0;
}
