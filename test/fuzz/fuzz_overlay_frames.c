/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/fuzz/fuzz_overlay.h"

#include <string.h>

#include "overlay/overlay_wire.h"
#include "overlay/stream_wire.h"

struct operation_name fuzz_overlay_key(uint64_t set_id, enum endpoint_target target)
{
    return (struct operation_name){.set_id = set_id, .generation = 1, .target = (uint8_t)target};
}

static const struct wire_bytes text = {(const unsigned char *)"abcdefgh", 8};

static void some_places(struct ranges *set)
{
    ranges_add(set, 1, 3);
}

static void frame_of_join(struct frame *ret_frame)
{
    struct overlay_join join = {.version = OVERLAY_VERSION,
                                .places = FUZZ_PLACES,
                                .radix = FUZZ_RADIX,
                                .stamp_ns = 1000,
                                .scope = {3, 3}};

    join.addresses.count = 1;
    join.addresses.items[0].length_bytes = 2;
    ranges_add(&join.arrived, 3, 3);
    overlay_encode_join(&join, ret_frame);
    overlay_join_fini(&join);
}

static void frame_of_lease(struct frame *ret_frame)
{
    struct overlay_lease lease = {.round = 3, .age_ns = 10, .echo_stamp_ns = 1000};

    overlay_encode_lease(&lease, ret_frame);
}

static void frame_of_welcome(struct frame *ret_frame)
{
    struct overlay_welcome welcome = {.range = {1, 3}, .lease = {.echo_stamp_ns = 1000}};

    overlay_encode_welcome(&welcome, ret_frame);
}

static void frame_of_first_welcome(struct frame *ret_frame)
{
    struct overlay_welcome welcome = {
        .range = {1, 3}, .lease = {.echo_stamp_ns = 1000}, .base = 4, .head = 4, .population = 9};

    ranges_add(&welcome.dead, 5, 5);
    ranges_add(&welcome.left, 5, 5);
    overlay_encode_welcome(&welcome, ret_frame);
    overlay_welcome_fini(&welcome);
}

static void frame_of_redirect(struct frame *ret_frame)
{
    struct overlay_redirect redirect = {.place = 1, .whole = 1, .addresses = {.count = 1}};

    overlay_encode_redirect(&redirect, ret_frame);
}

static void frame_of_refuse(struct frame *ret_frame)
{
    struct overlay_refuse refuse = {.refusal = OVERLAY_REFUSAL_EVICTED, .text = "gone"};

    overlay_encode_refuse(&refuse, ret_frame);
}

static void frame_of_arrived(struct frame *ret_frame)
{
    struct ranges set = {0};

    some_places(&set);
    overlay_encode_arrived(&set, ret_frame);
    ranges_fini(&set);
}

static void frame_of_waiting(struct frame *ret_frame)
{
    struct ranges set = {0};

    some_places(&set);
    overlay_encode_waiting(&set, ret_frame);
    ranges_fini(&set);
}

static void frame_of_lost(struct frame *ret_frame)
{
    struct overlay_death death = {
        .range = {3, 3}, .incarnation = 1, .loss = ENDPOINT_LOSS_SILENT, .silent_ns = 1000};
    struct overlay_lost lost = {.count = 1, .items = &death};

    overlay_encode_lost(&lost, ret_frame);
}

static void frame_of_user_entry(struct frame *ret_frame)
{
    struct overlay_entry entry = {.sequence = 1, .payload = text};

    overlay_encode_entry(&entry, ret_frame);
}

static void death(uint32_t place, struct frame *ret_frame)
{
    struct overlay_entry entry = {.sequence = 2, .kind = OVERLAY_ENTRY_DEATH};
    struct ranges dead = {0};
    struct buffer payload = {0};

    ranges_add(&dead, place, place);
    ranges_add(&dead, FUZZ_PLACES - 1, FUZZ_PLACES - 1);
    overlay_put_places(&dead, &payload);
    ranges_fini(&dead);
    entry.payload = (struct wire_bytes){payload.data, payload.length_bytes};
    overlay_encode_entry(&entry, ret_frame);
    buffer_fini(&payload);
}

static void frame_of_death(struct frame *ret_frame)
{
    death(2, ret_frame);
}

/* Of whom it is sent to, too. */
static void frame_of_own_death(struct frame *ret_frame)
{
    death(1, ret_frame);
}

static void about(enum overlay_entry_kind kind, struct range places, struct frame *ret_frame)
{
    struct overlay_entry entry = {.sequence = 2, .kind = (uint8_t)kind};
    struct buffer payload = {0};
    struct ranges set = {0};

    ranges_add(&set, places.first, places.last);
    overlay_put_places(&set, &payload);
    ranges_fini(&set);
    entry.payload = (struct wire_bytes){payload.data, payload.length_bytes};
    overlay_encode_entry(&entry, ret_frame);
    buffer_fini(&payload);
}

static void frame_of_forget(struct frame *ret_frame)
{
    struct overlay_entry entry = {.sequence = 1, .kind = OVERLAY_ENTRY_FORGET};
    struct buffer payload = {0};

    overlay_put_owner(0, &payload);
    some_places(&entry.set);
    entry.payload = (struct wire_bytes){payload.data, payload.length_bytes};
    overlay_encode_entry(&entry, ret_frame);
    overlay_entry_fini(&entry);
    buffer_fini(&payload);
}

static void frame_of_grow(struct frame *ret_frame)
{
    about(OVERLAY_ENTRY_GROW, (struct range){FUZZ_PLACES, FUZZ_PLACES + 3}, ret_frame);
}

static void frame_of_departure(struct frame *ret_frame)
{
    about(OVERLAY_ENTRY_DEPARTURE, (struct range){2, 2}, ret_frame);
}

static void frame_of_own_departure(struct frame *ret_frame)
{
    about(OVERLAY_ENTRY_DEPARTURE, (struct range){1, 2}, ret_frame);
}

static void frame_of_leave(struct frame *ret_frame)
{
    struct overlay_entry entry = {.sequence = 3, .kind = OVERLAY_ENTRY_LEAVE};

    overlay_encode_entry(&entry, ret_frame);
}

static void frame_of_echo(struct frame *ret_frame)
{
    overlay_encode_lease_echo(&(struct overlay_lease_echo){1000, {60, 113}}, ret_frame);
}

static void frame_of_ack(struct frame *ret_frame)
{
    overlay_encode_ack(1, ret_frame);
}

static void contribute(uint8_t state, struct wire_bytes payload, struct frame *ret_frame)
{
    struct overlay_contribute contribute = {.key = fuzz_overlay_key(1, ENDPOINT_TARGET_ALL),
                                            .state = state,
                                            .low = 1,
                                            .payload = payload};

    some_places(&contribute.set);
    overlay_encode_contribute(&contribute, 0, ret_frame);
    overlay_contribute_fini(&contribute);
}

static void frame_of_collected(struct frame *ret_frame)
{
    contribute(OVERLAY_PART_COLLECTED, text, ret_frame);
}

static void frame_of_held(struct frame *ret_frame)
{
    contribute(OVERLAY_PART_HELD, (struct wire_bytes){NULL, 0}, ret_frame);
}

static void frame_of_decided(struct frame *ret_frame)
{
    contribute(OVERLAY_PART_DECIDED, text, ret_frame);
}

static void frame_of_sized(struct frame *ret_frame)
{
    static const unsigned char bytes[] = {0xa0, 0x9c, 0x01}; /* 20,000 */

    contribute(OVERLAY_PART_SIZED, (struct wire_bytes){bytes, sizeof(bytes)}, ret_frame);
}

static void frame_of_query(struct frame *ret_frame)
{
    struct overlay_query query = {.key = fuzz_overlay_key(1, ENDPOINT_TARGET_ALL), .want = 1};

    some_places(&query.set);
    overlay_encode_query(&query, 0, ret_frame);
    overlay_query_fini(&query);
}

static void frame_of_release(struct frame *ret_frame)
{
    struct overlay_release release = {
        .key = fuzz_overlay_key(1, ENDPOINT_TARGET_ALL), .stable = 1, .payload = text};

    overlay_encode_release(&release, 0, ret_frame);
}

static void routed(enum overlay_message type, uint32_t to, struct frame *ret_frame)
{
    struct overlay_data data = {.source = 3, .destination = to, .id = 1, .payload = text};

    overlay_encode_data(type, FRAME_COLLECTIVE, &data, ret_frame);
}

static void frame_of_data(struct frame *ret_frame)
{
    routed(OVERLAY_DATA, 1, ret_frame);
}

static void frame_of_request(struct frame *ret_frame)
{
    routed(OVERLAY_REQUEST, 2, ret_frame);
}

static void frame_of_reply(struct frame *ret_frame)
{
    routed(OVERLAY_REPLY, 1, ret_frame);
}

static void frame_of_ask(struct frame *ret_frame)
{
    routed(OVERLAY_ASK, 1, ret_frame);
}

static void frame_of_answer(struct frame *ret_frame)
{
    routed(OVERLAY_ANSWER, 1, ret_frame);
}

static struct overlay_roll_call roll_call(void)
{
    struct overlay_roll_call call = {.key = fuzz_overlay_key(1, ENDPOINT_TARGET_ALL),
                                     .patience_ns = 1000000000};

    some_places(&call.set);
    return call;
}

static void frame_of_roll_call(struct frame *ret_frame)
{
    struct overlay_roll_call call = roll_call();

    overlay_encode_roll_call(&call, ret_frame);
    overlay_roll_call_fini(&call);
}

static void frame_of_cancel(struct frame *ret_frame)
{
    struct overlay_roll_call call = roll_call();

    overlay_encode_named(OVERLAY_CANCEL, &call, ret_frame);
    overlay_roll_call_fini(&call);
}

static void frame_of_unanswered(struct frame *ret_frame)
{
    struct overlay_again again = {.key = fuzz_overlay_key(1, ENDPOINT_TARGET_ALL), .bytes = 70000};

    some_places(&again.set);
    overlay_encode_again(OVERLAY_UNANSWERED, &again, 0, ret_frame);
    overlay_again_fini(&again);
}

static void frame_of_again(struct frame *ret_frame)
{
    struct overlay_again again = {.key = fuzz_overlay_key(1, ENDPOINT_TARGET_ALL)};

    overlay_encode_again(OVERLAY_AGAIN, &again, 0, ret_frame);
}

static void frame_of_stalled(struct frame *ret_frame)
{
    struct overlay_roll_call call = roll_call();

    overlay_encode_named(OVERLAY_STALLED, &call, ret_frame);
    overlay_roll_call_fini(&call);
}

static struct stream_name large_name(void)
{
    return (struct stream_name){.key = fuzz_overlay_key(3, ENDPOINT_TARGET_ALL)};
}

static void frame_of_go(struct frame *ret_frame)
{
    struct stream_go go = {
        .name = large_name(), .total_bytes = 28000, .chunk_bytes = STREAM_CHUNK_BYTES_MIN};

    stream_encode_go(&go, 0, 0, ret_frame);
}

static void frame_of_open(struct frame *ret_frame)
{
    struct stream_open open = {
        .name = large_name(), .trees = STREAM_TREE_BOTH, .credit_bytes = 65536};

    stream_encode_open(&open, 0, 0, ret_frame);
}

static void frame_of_chunk(struct frame *ret_frame)
{
    struct stream_chunk_frame chunk = {.name = large_name(), .offset = 20000, .payload = text};

    stream_encode_chunk(&chunk, ret_frame);
}

static void frame_of_rise(struct frame *ret_frame)
{
    frame_of_chunk(ret_frame);
    ret_frame->type = OVERLAY_RISE;
}

static void frame_of_credit(struct frame *ret_frame)
{
    struct stream_credit credit = {.name = large_name(), .trees = STREAM_TREE_FIRST, .bytes = 4096};

    stream_encode_credit(&credit, 0, 0, ret_frame);
}

static void frame_of_broken(struct frame *ret_frame)
{
    struct stream_name name = large_name();

    stream_encode_broken(&name, 0, 0, ret_frame);
}

static void frame_of_done(struct frame *ret_frame)
{
    struct operation_name key = fuzz_overlay_key(3, ENDPOINT_TARGET_ALL);

    stream_encode_done(&key, 0, ret_frame);
}

static void frame_of_over(struct frame *ret_frame)
{
    struct stream_over over = {.key = fuzz_overlay_key(3, ENDPOINT_TARGET_ALL), .stable = 1};

    stream_encode_over(&over, 0, ret_frame);
}

static void frame_of_heirs(struct frame *ret_frame)
{
    const struct addresses addresses = {.count = 1, .items = {{4, {2}}}};
    struct buffer items = {0};

    overlay_put_heir(3, &addresses, &items);
    overlay_put_heir(4, &addresses, &items);
    overlay_encode_heirs(2, &items, ret_frame);
    buffer_fini(&items);
}

bool fuzz_overlay_frame(unsigned number, struct frame *ret_frame)
{
    static void (*const makers[])(struct frame *) = {
        frame_of_join,       frame_of_waiting,       frame_of_welcome,       frame_of_redirect,
        overlay_encode_hold, frame_of_refuse,        frame_of_arrived,       frame_of_lost,
        frame_of_lease,      frame_of_echo,          frame_of_user_entry,    frame_of_death,
        frame_of_own_death,  frame_of_leave,         frame_of_grow,          frame_of_forget,
        frame_of_departure,  frame_of_own_departure, frame_of_first_welcome, frame_of_ack,
        frame_of_collected,  frame_of_held,          frame_of_decided,       frame_of_sized,
        frame_of_query,      frame_of_release,       frame_of_data,          frame_of_request,
        frame_of_reply,      frame_of_ask,           frame_of_answer,        frame_of_stalled,
        frame_of_roll_call,  frame_of_unanswered,    frame_of_again,         stream_encode_lateral,
        frame_of_go,         frame_of_open,          frame_of_chunk,         frame_of_credit,
        frame_of_broken,     frame_of_done,          frame_of_over,          frame_of_cancel,
        frame_of_heirs,      frame_of_rise,
    };

    if (number >= sizeof(makers) / sizeof(makers[0]))
        return false;
    makers[number](ret_frame);
    return true;
}
