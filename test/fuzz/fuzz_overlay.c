/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core of the overlay (overlay_step), fed with whatever its peers may send.  Place 1 of seven
 * has joined; 2 and 3 are its children, and it has an exchange, a gather and a large exchange open.
 * The input is a row of records:
 *
 *     u8 what: 0..3 a frame of peer 0, 2, 3, 5; 4 a link comes up; 5 goes down; 6 time; 7 a call
 *     u8 which: of the frame the type; of the others the peer, the time or the call
 *     u8 attempt, u8 length, and so many bytes of payload
 *
 * Nothing that is sent by others may bring it down, and what it sends itself can be decoded.
 */
#include "config.h"

#include "test/fuzz/fuzz_overlay.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/overlay.h"
#include "overlay/overlay_print.h"
#include "overlay/overlay_wire.h"
#include "test/fuzz/fuzz.h"

#define MS           1000000ull
#define BEGIN_NS     (1000 * MS)
#define LARGE_BYTES  20000
#define RECORD_BYTES 4

static const uint32_t peers[] = {0, 2, 3, 5};

struct place {
    struct overlay *overlay;
    uint64_t now_ns;
    uint32_t generation;
    uint32_t request;
};

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

static void check_sent(const struct frame *frame)
{
    struct buffer text = {0};

    overlay_print(frame, &text);
    assert(strstr(buffer_string(&text), "malformed") == NULL);
    buffer_fini(&text);
}

static void step(struct place *place, struct overlay_event *event)
{
    struct overlay_actions actions = {0};

    event->now_ns = place->now_ns;
    overlay_step(place->overlay, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        if (actions.items[i].kind == OVERLAY_ACTION_SEND)
            check_sent(&actions.items[i].frame);
    }
    overlay_actions_fini(&actions);
}

static void hand(struct place *place, uint32_t from, struct frame *frame)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_FRAME, .place = from, .frame = frame};

    frame->incarnation = 1;
    step(place, &event);
    message_release(frame->payload);
}

static void link_up(struct place *place, uint32_t peer)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_UP, .place = peer, .incarnation = 1};

    step(place, &event);
}

static void contribute(struct place *place, uint64_t set_id, enum endpoint_target target,
                       size_t bytes)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_CONTRIBUTE,
                                  .key = fuzz_overlay_key(set_id, target)};
    void *zeros = memory_allocate_zeroed(bytes);
    struct ranges set = {0};

    ranges_add(&set, 1, 3);
    event.set = &set;
    event.key.generation = place->generation;
    event.payload = message_create(zeros, bytes);
    step(place, &event);
    message_release(event.payload);
    ranges_fini(&set);
    free(zeros);
}

static void join_child(struct place *place, uint32_t child)
{
    struct overlay_join join = {.version = OVERLAY_VERSION,
                                .places = FUZZ_PLACES,
                                .radix = FUZZ_RADIX,
                                .stamp_ns = 1,
                                .scope = {child, child}};
    struct frame frame;

    join.addresses.count = 1;
    ranges_add(&join.arrived, child, child);
    overlay_encode_join(&join, &frame);
    overlay_join_fini(&join);
    link_up(place, child);
    hand(place, child, &frame);
}

static void begin(struct place *place)
{
    static const struct endpoint_ancestor root = {.place = 0, .addresses = {.count = 1}};
    struct endpoint_config config = {.place = 1,
                                     .places = FUZZ_PLACES,
                                     .radix = FUZZ_RADIX,
                                     .incarnation = 1,
                                     .inline_bytes = 8 * 1024,
                                     .ancestors = &root,
                                     .ancestors_count = 1,
                                     .merges = merges,
                                     .merges_count = 1};
    struct overlay_event start = {.kind = OVERLAY_EVENT_START};
    struct overlay_welcome welcome = {.range = {1, 3}, .lease = {.echo_stamp_ns = BEGIN_NS}};
    struct frame frame;

    config.own.count = 1;
    *place =
        (struct place){.overlay = overlay_create(&config), .now_ns = BEGIN_NS, .generation = 1};
    step(place, &start);
    link_up(place, 0);
    overlay_encode_welcome(&welcome, &frame);
    hand(place, 0, &frame);
    assert(overlay_is_joined(place->overlay));
    join_child(place, 2);
    join_child(place, 3);
    assert(overlay_degree(place->overlay) == 3);
    contribute(place, 1, ENDPOINT_TARGET_ALL, 8);
    contribute(place, 2, ENDPOINT_TARGET_ROOT, 8);
    contribute(place, 3, ENDPOINT_TARGET_ALL, LARGE_BYTES);
    place->generation++;
}

static void call(struct place *place, uint8_t which)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_REQUEST, .place = which % FUZZ_PLACES};

    if (overlay_is_ended(place->overlay))
        return;
    if (which < 3) {
        contribute(place, 1 + which, which == 1 ? ENDPOINT_TARGET_ROOT : ENDPOINT_TARGET_ALL,
                   which == 2 ? LARGE_BYTES : 8);
        place->generation++;
        return;
    }
    event.id = ++place->request;
    if (event.place != 1 && which % 2 == 0)
        event.kind = OVERLAY_EVENT_SEND;
    if (which % 3 == 0)
        event = (struct overlay_event){
            .kind = OVERLAY_EVENT_CANCEL,
            .key = {.set_id = which % 4, .generation = place->generation - 1}};
    step(place, &event);
}

static void tick(struct place *place, uint8_t which)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_TIMER};

    place->now_ns += (uint64_t)which * which * MS / 4;
    step(place, &event);
}

/* One record; returns its bytes. */
static size_t feed(struct place *place, const uint8_t *data, size_t left_bytes)
{
    uint8_t what = data[0] % 8;
    size_t bytes = data[3] < left_bytes - RECORD_BYTES ? data[3] : left_bytes - RECORD_BYTES;
    struct overlay_event down = {.kind = OVERLAY_EVENT_DOWN, .place = data[1] % FUZZ_PLACES};
    struct frame frame = {.type = data[1], .class = data[0] >> 6, .attempt = data[2]};

    if (what < sizeof(peers) / sizeof(peers[0])) {
        frame.payload = message_create(data + RECORD_BYTES, bytes);
        hand(place, peers[what], &frame);
    } else if (what == 4) {
        link_up(place, data[1] % FUZZ_PLACES);
    } else if (what == 5) {
        step(place, &down);
    } else if (what == 6) {
        tick(place, data[1]);
    } else {
        call(place, data[1]);
    }
    return RECORD_BYTES + bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct place place;

    begin(&place);
    while (data_bytes >= RECORD_BYTES) {
        size_t bytes = feed(&place, data, data_bytes);

        data += bytes;
        data_bytes -= bytes;
    }
    overlay_destroy(place.overlay);
    return 0;
}

/* Who sends it: 0 the parent, 1 a child, 2 somebody who wants to join. */
static uint8_t sender_of(uint8_t type)
{
    switch (type) {
    case OVERLAY_JOIN:
    case OVERLAY_LATERAL:
        return 2;
    case OVERLAY_WELCOME:
    case OVERLAY_REDIRECT:
    case OVERLAY_HOLD:
    case OVERLAY_REFUSE:
    case OVERLAY_LEASE:
    case OVERLAY_ENTRY:
    case OVERLAY_QUERY:
    case OVERLAY_RELEASE:
    case OVERLAY_ROLL_CALL:
    case OVERLAY_GO:
    case OVERLAY_OVER:
        return 0;
    default:
        return 1;
    }
}

/* Each valid frame, with something before and after it. */
size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const uint8_t before[] = {5, 3, 0, 0, 4, 3, 0, 0};
    static const uint8_t after[] = {6, 60, 0, 0, 7, 0, 0, 0, 7, 2, 0, 0, 5, 3, 0, 0, 6, 130, 0, 0};
    uint8_t *at = buffer;
    struct frame frame;
    size_t bytes;

    if (!fuzz_overlay_frame(number, &frame))
        return 0;
    bytes = frame.payload->length_bytes;
    assert(bytes < 256 && sizeof(before) + RECORD_BYTES + bytes + sizeof(after) <= buffer_bytes);
    memcpy(at, before, sizeof(before));
    at += sizeof(before);
    *at++ = (uint8_t)(sender_of(frame.type) + (frame.class << 6));
    *at++ = frame.type;
    *at++ = (uint8_t)frame.attempt;
    *at++ = (uint8_t)bytes;
    memcpy(at, frame.payload->data, bytes);
    memcpy(at + bytes, after, sizeof(after));
    message_release(frame.payload);
    return (size_t)(at - buffer) + bytes + sizeof(after);
}
