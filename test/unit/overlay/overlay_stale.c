/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nothing acts on what is old, and nothing that is said twice counts twice: one core, and frames as
 * only a daemon gone wrong, or a link that was broken in an unlucky moment, would bring them.  No
 * world of the explorer and of the soaks brings them, so that these checks of the core could go
 * without a test's noticing.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "overlay/overlay.h"
#include "overlay/overlay_wire.h"
#include "overlay/stream_wire.h"
#include "test/support/tap.h"

#define MS 1000000ull

/* A core, the time, and what the last step gave. */
struct bench {
    struct overlay *overlay;
    struct overlay_actions actions;
    uint64_t now_ns;
    uint32_t place;
};

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

static void step(struct bench *bench, struct overlay_event event)
{
    overlay_actions_fini(&bench->actions);
    event.now_ns = bench->now_ns;
    overlay_step(bench->overlay, &event, &bench->actions);
}

static void step_frame(struct bench *bench, uint32_t from, struct frame *frame)
{
    step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_FRAME, .place = from, .frame = frame});
    message_release(frame->payload);
}

/* One of three places, of which 1 and 2 are children of 0. */
static void open_bench(struct bench *bench, uint32_t place)
{
    struct endpoint_ancestor root = {.place = 0, .addresses = {.count = 1, .items = {{4, {0}}}}};
    struct endpoint_config config = {.place = place,
                                     .places = 3,
                                     .radix = 2,
                                     .incarnation = 1,
                                     .inline_bytes = 8 * 1024,
                                     .own = {.count = 1, .items = {{4, {(uint8_t)place}}}},
                                     .ancestors = &root,
                                     .ancestors_count = place > 0,
                                     .merges = merges,
                                     .merges_count = 1};

    *bench =
        (struct bench){.overlay = overlay_create(&config), .now_ns = 1000 * MS, .place = place};
    step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_START});
}

static void close_bench(struct bench *bench)
{
    overlay_actions_fini(&bench->actions);
    overlay_destroy(bench->overlay);
}

static void step_up(struct bench *bench, uint32_t place)
{
    step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_UP, .place = place, .incarnation = 1});
}

static void adopt(struct bench *bench, uint32_t place)
{
    struct overlay_join join = {.version = OVERLAY_VERSION,
                                .places = 3,
                                .radix = 2,
                                .stamp_ns = 5 * MS,
                                .scope = {place, place}};
    struct frame frame;

    join.addresses.count = 1;
    ranges_add(&join.arrived, place, place);
    step_up(bench, place);
    overlay_encode_join(&join, &frame);
    step_frame(bench, place, &frame);
    overlay_join_fini(&join);
}

/* The log up to head is to follow. */
static void welcome(struct bench *bench, uint64_t head)
{
    struct overlay_welcome message = {
        .range = {bench->place, bench->place}, .head = head, .lease = {.round = 1}};
    struct frame frame;

    step_up(bench, 0);
    message.lease.echo_stamp_ns = bench->now_ns;
    overlay_encode_welcome(&message, &frame);
    step_frame(bench, 0, &frame);
}

/* Place 1, joined. */
static void open_joined(struct bench *bench, uint64_t head)
{
    open_bench(bench, 1);
    welcome(bench, head);
}

/* The last frame of a type that the last step sent to a place, or NULL. */
static const struct frame *sent(const struct bench *bench, uint32_t place, uint8_t type)
{
    const struct frame *found = NULL;

    for (uint32_t i = 0; i < bench->actions.count; i++) {
        const struct overlay_action *action = &bench->actions.items[i];

        if (action->kind == OVERLAY_ACTION_SEND && action->place == place &&
            action->frame.type == type)
            found = &action->frame;
    }
    return found;
}

static uint32_t count(const struct bench *bench, enum overlay_action_kind kind)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < bench->actions.count; i++)
        found += bench->actions.items[i].kind == kind;
    return found;
}

static const char *result_text(const struct bench *bench)
{
    static char text[64];

    snprintf(text, sizeof text, "none");
    for (uint32_t i = 0; i < bench->actions.count; i++) {
        const struct overlay_action *action = &bench->actions.items[i];

        if (action->kind == OVERLAY_ACTION_RESULT)
            snprintf(text, sizeof text, "%.*s",
                     action->payload != NULL ? (int)action->payload->length_bytes : 0,
                     action->payload != NULL ? (const char *)action->payload->data : "");
    }
    return text;
}

/* ---- exchanges ---- */

static const struct operation_name key = {.set_id = 5, .generation = 1};

static struct ranges everyone(void)
{
    struct ranges set = {0};

    ranges_add(&set, 0, 2);
    return set;
}

static void call(struct bench *bench, const char *text)
{
    struct message *payload = message_create(text, strlen(text));
    struct ranges set = everyone();

    step(bench, (struct overlay_event){
                    .kind = OVERLAY_EVENT_CONTRIBUTE, .key = key, .set = &set, .payload = payload});
    message_release(payload);
    ranges_fini(&set);
}

static void contribute(struct bench *bench, uint32_t from, uint32_t attempt, const char *text)
{
    struct overlay_contribute contribute = {.key = key,
                                            .set = everyone(),
                                            .state = OVERLAY_PART_COLLECTED,
                                            .low = 1,
                                            .payload = {(const unsigned char *)text, strlen(text)}};
    struct frame frame;

    overlay_encode_contribute(&contribute, attempt, &frame);
    step_frame(bench, from, &frame);
    ranges_fini(&contribute.set);
}

static void release(struct bench *bench, uint32_t attempt, const char *text)
{
    struct overlay_release release = {.key = key,
                                      .payload = {(const unsigned char *)text, strlen(text)}};
    struct frame frame;

    overlay_encode_release(&release, attempt, &frame);
    step_frame(bench, 0, &frame);
}

/* The parent, a new one perhaps, wants the result that is held here. */
static void ask(struct bench *bench, uint32_t attempt)
{
    struct overlay_query query = {
        .key = key, .set = everyone(), .within = {0, 2}, .want = OVERLAY_WANT_RESULT, .lossy = 1};
    struct frame frame;

    overlay_encode_query(&query, attempt, &frame);
    step_frame(bench, 0, &frame);
    ranges_fini(&query.set);
}

/* Of the last contribution that the last step sent up. */
static const char *contributed_text(const struct bench *bench)
{
    static char text[64];
    struct overlay_contribute contribute;
    const struct frame *frame = sent(bench, 0, OVERLAY_CONTRIBUTE);

    snprintf(text, sizeof text, "none");
    if (frame != NULL && overlay_decode_contribute(frame, &contribute) == 0) {
        snprintf(text, sizeof text, "%.*s", (int)contribute.payload.length_bytes,
                 (const char *)contribute.payload.data);
        overlay_contribute_fini(&contribute);
    }
    return text;
}

static void test_contribute_twice(void)
{
    struct bench bench;

    open_bench(&bench, 0);
    adopt(&bench, 1);
    adopt(&bench, 2);
    call(&bench, "r");
    contribute(&bench, 1, 0, "a");
    contribute(&bench, 1, 0, "a");
    is_uint(count(&bench, OVERLAY_ACTION_RESULT), 0, "who says it twice is not two");
    contribute(&bench, 2, 1, "x");
    is_uint(count(&bench, OVERLAY_ACTION_RESULT), 0, "another attempt is not this one");
    contribute(&bench, 2, 0, "b");
    is_string(result_text(&bench), "rab", "each counts once");
    ok(sent(&bench, 1, OVERLAY_RELEASE) != NULL && sent(&bench, 2, OVERLAY_RELEASE) != NULL,
       "and is released");
    contribute(&bench, 1, 0, "z");
    is_uint(count(&bench, OVERLAY_ACTION_RESULT), 0, "what is decided is not decided again");
    ok(sent(&bench, 2, OVERLAY_RELEASE) == NULL, "and the others hear nothing more");
    close_bench(&bench);
}

static void entry(struct bench *bench, uint64_t sequence, uint8_t kind, const void *data,
                  size_t bytes)
{
    struct overlay_entry entry = {
        .sequence = sequence, .kind = kind, .payload = {(const unsigned char *)data, bytes}};
    struct frame frame;

    overlay_encode_entry(&entry, &frame);
    step_frame(bench, 0, &frame);
}

static void test_release_of_old_attempt(void)
{
    struct ranges dead = {0};
    struct buffer text = {0};
    struct bench bench;

    ranges_add(&dead, 2, 2);
    overlay_put_places(&dead, &text);
    ranges_fini(&dead);
    open_joined(&bench, 0);
    call(&bench, "a");
    ok(sent(&bench, 0, OVERLAY_CONTRIBUTE) != NULL, "a leaf contributes");
    entry(&bench, 1, OVERLAY_ENTRY_DEATH, text.data, text.length_bytes);
    is_uint(sent(&bench, 0, OVERLAY_CONTRIBUTE)->attempt, 1, "and again after a death");
    release(&bench, 0, "old");
    is_string(result_text(&bench), "none", "a release of the attempt before it is not heard");
    release(&bench, 1, "new");
    is_string(result_text(&bench), "new", "that of the present is");
    release(&bench, 1, "other");
    is_string(result_text(&bench), "none", "once");
    ask(&bench, 1);
    is_string(contributed_text(&bench), "new", "and it stays the result, for who asks");
    close_bench(&bench);
    buffer_fini(&text);
}

static void test_joined_again(void)
{
    struct bench bench;

    open_joined(&bench, 0);
    call(&bench, "a");
    ok(sent(&bench, 0, OVERLAY_CONTRIBUTE) != NULL, "a leaf contributes");
    step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 0});
    bench.now_ns += 100 * MS;
    step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    welcome(&bench, 0);
    ok(sent(&bench, 0, OVERLAY_CONTRIBUTE) != NULL, "and again when it has joined again");
    close_bench(&bench);
}

/* What place 1 or 2 says of an exchange of these two, in which the root has no part. */
static void say_of_pair(struct bench *bench, uint32_t from, uint32_t generation,
                        enum overlay_part_state state, uint64_t bytes)
{
    struct overlay_contribute contribute = {
        .key = {.set_id = 6, .generation = generation}, .state = (uint8_t)state, .low = generation};
    struct buffer text = {0};
    struct frame frame;

    if (bytes > 0)
        wire_put_varint(&text, bytes);
    contribute.payload = (struct wire_bytes){text.data, text.length_bytes};
    ranges_add(&contribute.set, 1, 2);
    overlay_encode_contribute(&contribute, 0, &frame);
    step_frame(bench, from, &frame);
    ranges_fini(&contribute.set);
    buffer_fini(&text);
}

static void test_over_of_new_series(void)
{
    struct stream_over over = {.stable = 7};
    struct bench bench;

    open_bench(&bench, 0);
    adopt(&bench, 1);
    adopt(&bench, 2);
    say_of_pair(&bench, 2, 7, OVERLAY_PART_OVER, 0);
    say_of_pair(&bench, 1, 7, OVERLAY_PART_STORED, 10000);
    if (ok(sent(&bench, 1, OVERLAY_OVER) != NULL, "who stores what is over is told so")) {
        is_int(stream_decode_over(sent(&bench, 1, OVERLAY_OVER), &over), 0, "in a frame");
        is_uint(over.key.generation, 7, "of that generation");
        ok((int32_t)(over.stable - 1) <= 0, "which ends none before it that is open yet");
    }
    close_bench(&bench);
}

/* ---- the log ---- */

static void test_entry_twice(void)
{
    struct bench bench;

    open_joined(&bench, 0);
    entry(&bench, 1, OVERLAY_ENTRY_USER, "a", 1);
    is_uint(count(&bench, OVERLAY_ACTION_BROADCAST), 1, "an entry is delivered");
    entry(&bench, 1, OVERLAY_ENTRY_USER, "a", 1);
    is_uint(count(&bench, OVERLAY_ACTION_BROADCAST), 0, "once");
    entry(&bench, 3, OVERLAY_ENTRY_USER, "c", 1);
    is_uint(count(&bench, OVERLAY_ACTION_BROADCAST), 1, "one that is not for all may be left out");
    entry(&bench, 2, OVERLAY_ENTRY_USER, "b", 1);
    is_uint(count(&bench, OVERLAY_ACTION_BROADCAST), 0, "and is not delivered behind the next");
    close_bench(&bench);
}

static void test_not_caught_up(void)
{
    struct bench bench;
    uint64_t acked = 0;

    open_joined(&bench, 2);
    entry(&bench, 1, OVERLAY_ENTRY_USER, "a", 1);
    ok(sent(&bench, 0, OVERLAY_ACK) == NULL, "who is not caught up acknowledges nothing");
    entry(&bench, 2, OVERLAY_ENTRY_USER, "b", 1);
    ok(sent(&bench, 0, OVERLAY_ACK) != NULL &&
           overlay_decode_ack(sent(&bench, 0, OVERLAY_ACK), &acked) == 0,
       "then all of it");
    is_uint(acked, 2, "at once");
    close_bench(&bench);
}

/* ---- a streamed broadcast ---- */

#define STREAM_BYTES 60000u

static void streamed_entry(struct bench *bench, uint64_t sequence, uint8_t kind, uint64_t meant)
{
    struct stream_large large = {.sequence = meant,
                                 .total_bytes = STREAM_BYTES,
                                 .chunk_bytes = STREAM_CHUNK_BYTES_MAX,
                                 .algorithm = STREAM_MAIN_TREE};
    struct buffer text = {0};

    stream_put_large(&large, &text);
    entry(bench, sequence, kind, text.data, text.length_bytes);
    buffer_fini(&text);
}

static void chunk(struct bench *bench, uint32_t offset)
{
    static const unsigned char half[STREAM_BYTES / 2];
    struct stream_chunk_frame chunk = {
        .name = {.entry = 1}, .offset = offset, .payload = {half, sizeof half}};
    struct frame frame;

    stream_encode_chunk(&chunk, &frame);
    step_frame(bench, 0, &frame);
}

static void test_stream(void)
{
    struct bench bench;

    open_joined(&bench, 0);
    streamed_entry(&bench, 1, OVERLAY_ENTRY_LARGE, 0);
    ok(sent(&bench, 0, OVERLAY_OPEN) != NULL, "a place opens its edge to the parent");
    step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 0});
    bench.now_ns += 100 * MS;
    step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    welcome(&bench, 0);
    ok(sent(&bench, 0, OVERLAY_OPEN) != NULL, "and again over a new link");
    chunk(&bench, 0);
    chunk(&bench, 0);
    is_uint(count(&bench, OVERLAY_ACTION_BROADCAST), 0, "half of it twice is not the whole");
    streamed_entry(&bench, 2, OVERLAY_ENTRY_SETTLED, 1);
    chunk(&bench, STREAM_BYTES / 2);
    is_uint(count(&bench, OVERLAY_ACTION_BROADCAST), 1, "who has not got it still waits for it");
    close_bench(&bench);
}

/* The parent lives: its lease is heard, and then the timer fires. */
static void pass_time(struct bench *bench, uint64_t more_ns)
{
    struct overlay_lease lease = {.round = 2};
    struct frame frame;

    for (uint64_t passed_ns = 0; passed_ns < more_ns; passed_ns += 1000 * MS) {
        bench->now_ns += 1000 * MS;
        lease.echo_stamp_ns = bench->now_ns;
        overlay_encode_lease(&lease, &frame);
        step_frame(bench, 0, &frame);
    }
    step(bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
}

/* What was said of a stream was lost, or what was answered. */
static void test_stream_stalls(void)
{
    struct stream_open open = {0};
    struct bench bench;

    open_joined(&bench, 0);
    streamed_entry(&bench, 1, OVERLAY_ENTRY_LARGE, 0);
    chunk(&bench, 0);
    pass_time(&bench, 4000 * MS);
    ok(sent(&bench, 0, OVERLAY_OPEN) == NULL, "a stream may be slow");
    pass_time(&bench, 1000 * MS);
    if (ok(sent(&bench, 0, OVERLAY_OPEN) != NULL, "if nothing comes for 5 s it is opened again")) {
        stream_decode_open(sent(&bench, 0, OVERLAY_OPEN), &open);
        ok(ranges_contains(&open.have, STREAM_BYTES / 2 - 1) &&
               !ranges_contains(&open.have, STREAM_BYTES / 2),
           "with what has come");
    }
    stream_open_fini(&open);
    ok(overlay_kept_stream_bytes(bench.overlay) > STREAM_BYTES / 2, "its bytes are kept");
    chunk(&bench, STREAM_BYTES / 2);
    is_uint(count(&bench, OVERLAY_ACTION_BROADCAST), 1, "and then it comes to its end");
    pass_time(&bench, 6000 * MS);
    ok(sent(&bench, 0, OVERLAY_OPEN) == NULL, "after which nothing is asked for");
    streamed_entry(&bench, 2, OVERLAY_ENTRY_SETTLED, 1);
    is_uint(overlay_kept_stream_bytes(bench.overlay), 0, "nor kept when all have it");
    close_bench(&bench);
}

static void open_early(struct bench *bench, uint64_t entry)
{
    struct stream_open open = {
        .name = {.entry = entry}, .trees = STREAM_TREE_BOTH, .credit_bytes = 1000};
    struct frame frame;

    stream_encode_open(&open, 0, 0, &frame);
    step_frame(bench, 0, &frame);
}

static void test_open_of_no_stream(void)
{
    struct bench bench;

    open_joined(&bench, 0);
    open_early(&bench, 1);
    open_early(&bench, 2);
    open_early(&bench, 1);
    is_uint(overlay_early_opens(bench.overlay), 2, "an OPEN may be there before its stream");
    pass_time(&bench, 9000 * MS);
    is_uint(overlay_early_opens(bench.overlay), 2, "by some seconds");
    pass_time(&bench, 1000 * MS);
    is_uint(overlay_early_opens(bench.overlay), 0, "and is forgotten if that never comes");
    close_bench(&bench);
}

/* ---- lateral links ---- */

/* Place 1 wants a link to place 2. */
static void ask_link(struct bench *bench)
{
    struct addresses addresses = {.count = 1, .items = {{4, {1}}}};
    struct overlay_data data = {.source = 1, .destination = 2};
    struct buffer packed = {0};
    struct frame frame;

    address_wire_put(&addresses, &packed);
    data.payload = (struct wire_bytes){packed.data, packed.length_bytes};
    overlay_encode_data(OVERLAY_ASK, FRAME_COLLECTIVE, &data, &frame);
    step_frame(bench, 0, &frame);
    buffer_fini(&packed);
}

static void test_link_asked_again(void)
{
    struct bench bench;

    open_bench(&bench, 2);
    welcome(&bench, 0);
    ask_link(&bench);
    is_uint(count(&bench, OVERLAY_ACTION_CONNECT), 1, "who is asked for a link connects");
    step_up(&bench, 1);
    ask_link(&bench);
    step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 1});
    is_uint(count(&bench, OVERLAY_ACTION_CONNECT), 1,
            "and again if it is asked before it hears that the link is closed");
    step_up(&bench, 1);
    ask_link(&bench);
    pass_time(&bench, 3000 * MS);
    step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_DOWN, .place = 1});
    is_uint(count(&bench, OVERLAY_ACTION_CONNECT), 0,
            "but not for who has had that link for long since it asked");
    close_bench(&bench);
}

int main(void)
{
    test_contribute_twice();
    test_release_of_old_attempt();
    test_joined_again();
    test_over_of_new_series();
    test_entry_twice();
    test_not_caught_up();
    test_stream();
    test_stream_stalls();
    test_open_of_no_stream();
    test_link_asked_again();
    return done_testing();
}
