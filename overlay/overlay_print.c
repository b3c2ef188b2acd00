/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/overlay_print.h"

#include <stddef.h>

#include "overlay/overlay_wire.h"
#include "overlay/stream_wire.h"

static void print_ranges(const char *name, const struct ranges *ranges, struct buffer *out)
{
    buffer_printf(out, " %s=[", name);
    ranges_print(ranges, out);
    buffer_append_string(out, "]");
}

static void print_range(const char *name, struct range range, struct buffer *out)
{
    struct range item = range;
    struct ranges ranges = {.items = &item, .count = 1};

    print_ranges(name, &ranges, out);
}

static void print_payload(struct wire_bytes payload, struct buffer *out)
{
    if (payload.length_bytes > 0)
        buffer_printf(out, " %zuB", payload.length_bytes);
}

static void print_key(const struct operation_name *key, const struct frame *frame,
                      struct buffer *out)
{
    if (key->target == ENDPOINT_TARGET_ROOT)
        buffer_append_string(out, " to=root");
    buffer_printf(out, " gen=%u attempt=%u", key->generation, frame->attempt);
}

static int print_join(const struct frame *frame, struct buffer *out)
{
    struct overlay_join join;

    if (overlay_decode_join(frame, &join) < 0)
        return -1;
    print_range("scope", join.scope, out);
    print_ranges("arrived", &join.arrived, out);
    if (!ranges_is_empty(&join.waiting))
        print_ranges("waiting", &join.waiting, out);
    buffer_printf(out, " received=%llu", (unsigned long long)join.received);
    overlay_join_fini(&join);
    return 0;
}

static int print_welcome(const struct frame *frame, struct buffer *out)
{
    struct overlay_welcome welcome;

    if (overlay_decode_welcome(frame, &welcome) < 0)
        return -1;
    print_range("range", welcome.range, out);
    buffer_printf(out, " base=%llu head=%llu", (unsigned long long)welcome.base,
                  (unsigned long long)welcome.head);
    if (welcome.population > 0)
        buffer_printf(out, " population=%u", welcome.population);
    if (!ranges_is_empty(&welcome.dead))
        print_ranges("dead", &welcome.dead, out);
    if (!ranges_is_empty(&welcome.left))
        print_ranges("left", &welcome.left, out);
    if (welcome.recoveries > 0)
        buffer_printf(out, " recoveries=%u", welcome.recoveries);
    overlay_welcome_fini(&welcome);
    return 0;
}

static int print_redirect(const struct frame *frame, struct buffer *out)
{
    struct overlay_redirect redirect;

    if (overlay_decode_redirect(frame, &redirect) < 0)
        return -1;
    buffer_printf(out, " place=%u", redirect.place);
    return 0;
}

static int print_heirs(const struct frame *frame, struct buffer *out)
{
    struct wire_reader reader;
    struct ranges places = {0};
    struct overlay_heir heir;

    for (uint32_t left = overlay_open_heirs(frame->payload, &reader);
         left > 0 && wire_status(&reader) == 0; left--) {
        overlay_get_heir(&reader, &heir);
        ranges_add(&places, heir.place, heir.place);
    }
    print_ranges("places", &places, out);
    ranges_fini(&places);
    return wire_finish(&reader);
}

static int print_refuse(const struct frame *frame, struct buffer *out)
{
    struct overlay_refuse refuse;

    if (overlay_decode_refuse(frame, &refuse) < 0)
        return -1;
    buffer_printf(out, " %s", refuse.text);
    return 0;
}

/* ARRIVED and WAITING. */
static int print_places(const struct frame *frame, struct buffer *out)
{
    struct ranges places;

    if (overlay_decode_arrived(frame, &places) < 0)
        return -1;
    print_ranges("places", &places, out);
    ranges_fini(&places);
    return 0;
}

static int print_lost(const struct frame *frame, struct buffer *out)
{
    struct overlay_lost lost;
    struct ranges places = {0};

    if (overlay_decode_lost(frame, &lost) < 0)
        return -1;
    for (uint32_t i = 0; i < lost.count; i++)
        ranges_add(&places, lost.items[i].range.first, lost.items[i].range.last);
    print_ranges("places", &places, out);
    ranges_fini(&places);
    overlay_lost_fini(&lost);
    return 0;
}

static int print_lease(const struct frame *frame, struct buffer *out)
{
    struct overlay_lease lease;

    if (overlay_decode_lease(frame, &lease) < 0)
        return -1;
    buffer_printf(out, " round=%llu age=%.2fms", (unsigned long long)lease.round,
                  (double)lease.age_ns / 1e6);
    return 0;
}

static int print_entry(const struct frame *frame, struct buffer *out)
{
    static const char *const names[OVERLAY_ENTRY_KIND_COUNT] = {
        [OVERLAY_ENTRY_DEATH] = " DEATH",         [OVERLAY_ENTRY_GROW] = " GROW",
        [OVERLAY_ENTRY_DEPARTURE] = " DEPARTURE", [OVERLAY_ENTRY_LARGE] = " LARGE",
        [OVERLAY_ENTRY_REROUTE] = " REROUTE",     [OVERLAY_ENTRY_SETTLED] = " SETTLED",
    };
    static const uint8_t is_of_places[OVERLAY_ENTRY_KIND_COUNT] = {
        [OVERLAY_ENTRY_DEATH] = 1, [OVERLAY_ENTRY_GROW] = 1, [OVERLAY_ENTRY_DEPARTURE] = 1};
    struct overlay_entry entry;
    struct stream_large large;
    struct ranges places;
    uint32_t owner;

    if (overlay_decode_entry(frame, &entry) < 0)
        return -1;
    buffer_printf(out, " seq=%llu", (unsigned long long)entry.sequence);
    if (!ranges_is_empty(&entry.set))
        print_ranges("set", &entry.set, out);
    if (is_of_places[entry.kind] && overlay_get_places(&entry.payload, &places) == 0) {
        buffer_append_string(out, names[entry.kind]);
        print_ranges("places", &places, out);
        ranges_fini(&places);
    } else if (entry.kind == OVERLAY_ENTRY_FORGET &&
               overlay_get_owner(&entry.payload, &owner) == 0) {
        buffer_printf(out, " FORGET owner=%u", owner);
    } else if (entry.kind == OVERLAY_ENTRY_LEAVE) {
        buffer_append_string(out, " LEAVE");
    } else if (entry.kind == OVERLAY_ENTRY_RECOVERY) {
        buffer_append_string(out, " RECOVERY");
    } else if (names[entry.kind] != NULL && stream_get_large(&entry.payload, &large) == 0) {
        buffer_append_string(out, names[entry.kind]);
        if (large.sequence > 0)
            buffer_printf(out, " of=%llu", (unsigned long long)large.sequence);
        buffer_printf(out, " bytes=%u%s", large.total_bytes,
                      large.algorithm == STREAM_TWO_TREES ? " two trees" : " main tree");
    } else {
        print_payload(entry.payload, out);
    }
    overlay_entry_fini(&entry);
    return 0;
}

static int print_ack(const struct frame *frame, struct buffer *out)
{
    uint64_t sequence;

    if (overlay_decode_ack(frame, &sequence) < 0)
        return -1;
    buffer_printf(out, " seq=%llu", (unsigned long long)sequence);
    return 0;
}

static void print_status(uint8_t status, const struct ranges *lost, struct buffer *out)
{
    if (status == OVERLAY_STATUS_LOST)
        print_ranges("lost", lost, out);
    else if (status == OVERLAY_STATUS_TOO_LARGE)
        buffer_append_string(out, " too large");
    else if (status == OVERLAY_STATUS_TIMED_OUT)
        buffer_append_string(out, " timed out");
    else if (status == OVERLAY_STATUS_GONE)
        buffer_append_string(out, " gone");
    else
        buffer_append_string(out, " ok");
}

/* The number sent instead of a payload. */
static void print_bytes(struct wire_bytes payload, struct buffer *out)
{
    uint64_t bytes;

    (void)stream_get_size(&payload, &bytes); /* 0 if it is malformed */
    buffer_printf(out, " bytes=%llu", (unsigned long long)bytes);
}

static int print_contribute(const struct frame *frame, struct buffer *out)
{
    static const char *const states[OVERLAY_PART_STATE_COUNT] = {
        [OVERLAY_PART_ABSENT] = " ABSENT",   [OVERLAY_PART_HELD] = " HELD",
        [OVERLAY_PART_DECIDED] = " DECIDED", [OVERLAY_PART_SIZED] = " SIZED",
        [OVERLAY_PART_STORED] = " STORED",   [OVERLAY_PART_OVER] = " OVER",
    };
    struct overlay_contribute contribute;

    if (overlay_decode_contribute(frame, &contribute) < 0)
        return -1;
    print_ranges("set", &contribute.set, out);
    print_key(&contribute.key, frame, out);
    if (states[contribute.state] != NULL)
        buffer_append_string(out, states[contribute.state]);
    if (contribute.state == OVERLAY_PART_DECIDED)
        print_status(contribute.status, &contribute.lost, out);
    if (contribute.state == OVERLAY_PART_SIZED || contribute.state == OVERLAY_PART_STORED)
        print_bytes(contribute.payload, out);
    else
        print_payload(contribute.payload, out);
    overlay_contribute_fini(&contribute);
    return 0;
}

static int print_query(const struct frame *frame, struct buffer *out)
{
    static const char *const wants[OVERLAY_WANT_COUNT] = {
        [OVERLAY_WANT_RESULT] = " want", [OVERLAY_WANT_CANCEL] = " cancel"};
    struct overlay_query query;

    if (overlay_decode_query(frame, &query) < 0)
        return -1;
    print_ranges("set", &query.set, out);
    print_key(&query.key, frame, out);
    if (wants[query.want] != NULL)
        buffer_append_string(out, wants[query.want]);
    overlay_query_fini(&query);
    return 0;
}

static int print_release(const struct frame *frame, struct buffer *out)
{
    struct overlay_release release;

    if (overlay_decode_release(frame, &release) < 0)
        return -1;
    print_key(&release.key, frame, out);
    print_status(release.status, &release.lost, out);
    print_payload(release.payload, out);
    overlay_release_fini(&release);
    return 0;
}

static int print_data(const struct frame *frame, struct buffer *out)
{
    struct overlay_data data;

    if (overlay_decode_data(frame, &data) < 0)
        return -1;
    buffer_printf(out, " from=%u to=%u", data.source, data.destination);
    if (frame->type == OVERLAY_REQUEST || frame->type == OVERLAY_REPLY)
        buffer_printf(out, " id=%u", data.id);
    print_payload(data.payload, out);
    return 0;
}

static int print_roll_call(const struct frame *frame, struct buffer *out)
{
    struct overlay_roll_call call;

    if ((frame->type == OVERLAY_ROLL_CALL ? overlay_decode_roll_call(frame, &call)
                                          : overlay_decode_named(frame, &call)) < 0)
        return -1;
    print_ranges("set", &call.set, out);
    buffer_printf(out, " gen=%u", call.key.generation);
    overlay_roll_call_fini(&call);
    return 0;
}

static int print_again(const struct frame *frame, struct buffer *out)
{
    struct overlay_again again;

    if (overlay_decode_again(frame, &again) < 0)
        return -1;
    if (!ranges_is_empty(&again.set))
        print_ranges("set", &again.set, out);
    print_key(&again.key, frame, out);
    if (again.bytes > 0)
        buffer_printf(out, " bytes=%llu", (unsigned long long)again.bytes);
    overlay_again_fini(&again);
    return 0;
}

static int print_roll(const struct frame *frame, struct buffer *out)
{
    struct overlay_roll roll;

    if (overlay_decode_roll(frame, &roll) < 0)
        return -1;
    buffer_printf(out, " gen=%u", roll.key.generation);
    print_ranges("absent", &roll.missing.absent, out);
    if (!ranges_is_empty(&roll.missing.unjoined))
        print_ranges("unjoined", &roll.missing.unjoined, out);
    if (!ranges_is_empty(&roll.missing.silent))
        print_ranges("silent", &roll.missing.silent, out);
    overlay_roll_fini(&roll);
    return 0;
}

static void print_name(const struct stream_name *name, const struct frame *frame,
                       struct buffer *out)
{
    if (name->entry > 0)
        buffer_printf(out, " seq=%llu", (unsigned long long)name->entry);
    else
        print_key(&name->key, frame, out);
    if (frame->stream > 0)
        buffer_printf(out, " round=%u", frame->stream);
}

static int print_go(const struct frame *frame, struct buffer *out)
{
    static const char *const algorithms[] = {[STREAM_TWO_TREES] = " two trees",
                                             [STREAM_MAIN_TREE] = " main tree",
                                             [STREAM_VIA_TOP] = " via the top"};
    struct stream_go go;

    if (stream_decode_go(frame, &go) < 0)
        return -1;
    print_name(&go.name, frame, out);
    buffer_printf(out, "%s%s base=%u bytes=%u", algorithms[go.algorithm],
                  go.result ? " result" : "", go.base, go.total_bytes);
    if (go.pieces_count > 0)
        buffer_printf(out, " pieces=%u", go.pieces_count);
    stream_go_fini(&go);
    return 0;
}

static void print_trees(uint8_t trees, struct buffer *out)
{
    static const char *const names[] = {[STREAM_TREE_FIRST] = "0",
                                        [STREAM_TREE_SECOND] = "1",
                                        [STREAM_TREE_BOTH] = "0,1",
                                        [STREAM_TREE_UP] = "up"};

    buffer_printf(out, " trees=%s", names[trees]);
}

static int print_open(const struct frame *frame, struct buffer *out)
{
    struct stream_open open;

    if (stream_decode_open(frame, &open) < 0)
        return -1;
    print_name(&open.name, frame, out);
    print_trees(open.trees, out);
    stream_open_fini(&open);
    return 0;
}

static int print_chunk(const struct frame *frame, struct buffer *out)
{
    struct stream_chunk_frame chunk;

    if (stream_decode_chunk(frame, &chunk) < 0)
        return -1;
    print_name(&chunk.name, frame, out);
    buffer_printf(out, " at=%u", chunk.offset);
    print_payload(chunk.payload, out);
    return 0;
}

static int print_credit(const struct frame *frame, struct buffer *out)
{
    struct stream_credit credit;

    if (stream_decode_credit(frame, &credit) < 0)
        return -1;
    print_name(&credit.name, frame, out);
    print_trees(credit.trees, out);
    buffer_printf(out, " bytes=%u", credit.bytes);
    return 0;
}

static int print_broken(const struct frame *frame, struct buffer *out)
{
    struct stream_name name;

    if (stream_decode_broken(frame, &name) < 0)
        return -1;
    print_name(&name, frame, out);
    return 0;
}

static int print_done(const struct frame *frame, struct buffer *out)
{
    struct operation_name key;

    if (stream_decode_done(frame, &key) < 0)
        return -1;
    print_key(&key, frame, out);
    return 0;
}

static int print_over(const struct frame *frame, struct buffer *out)
{
    struct stream_over over;

    if (stream_decode_over(frame, &over) < 0)
        return -1;
    print_key(&over.key, frame, out);
    return 0;
}

static int print_nothing(const struct frame *frame, struct buffer *out)
{
    (void)frame;
    (void)out;
    return 0;
}

static const struct {
    const char *name;
    int (*print)(const struct frame *frame, struct buffer *out);
} forms[OVERLAY_MESSAGE_END] = {
    [OVERLAY_JOIN] = {"JOIN", print_join},
    [OVERLAY_WAITING] = {"WAITING", print_places},
    [OVERLAY_WELCOME] = {"WELCOME", print_welcome},
    [OVERLAY_REDIRECT] = {"REDIRECT", print_redirect},
    [OVERLAY_HOLD] = {"HOLD", print_nothing},
    [OVERLAY_REFUSE] = {"REFUSE", print_refuse},
    [OVERLAY_ARRIVED] = {"ARRIVED", print_places},
    [OVERLAY_LOST] = {"LOST", print_lost},
    [OVERLAY_LEASE] = {"LEASE", print_lease},
    [OVERLAY_LEASE_ECHO] = {"LEASE_ECHO", print_nothing},
    [OVERLAY_ENTRY] = {"ENTRY", print_entry},
    [OVERLAY_ACK] = {"ACK", print_ack},
    [OVERLAY_CONTRIBUTE] = {"CONTRIBUTE", print_contribute},
    [OVERLAY_QUERY] = {"QUERY", print_query},
    [OVERLAY_RELEASE] = {"RELEASE", print_release},
    [OVERLAY_DATA] = {"DATA", print_data},
    [OVERLAY_REQUEST] = {"REQUEST", print_data},
    [OVERLAY_REPLY] = {"REPLY", print_data},
    [OVERLAY_STALLED] = {"STALLED", print_roll_call},
    [OVERLAY_ROLL_CALL] = {"ROLL_CALL", print_roll_call},
    [OVERLAY_ROLL] = {"ROLL", print_roll},
    [OVERLAY_ASK] = {"ASK", print_data},
    [OVERLAY_ANSWER] = {"ANSWER", print_data},
    [OVERLAY_LATERAL] = {"LATERAL", print_nothing},
    [OVERLAY_GO] = {"GO", print_go},
    [OVERLAY_OPEN] = {"OPEN", print_open},
    [OVERLAY_CHUNK] = {"CHUNK", print_chunk},
    [OVERLAY_RISE] = {"RISE", print_chunk},
    [OVERLAY_CREDIT] = {"CREDIT", print_credit},
    [OVERLAY_BROKEN] = {"BROKEN", print_broken},
    [OVERLAY_DONE] = {"DONE", print_done},
    [OVERLAY_OVER] = {"OVER", print_over},
    [OVERLAY_CANCEL] = {"CANCEL", print_roll_call},
    [OVERLAY_UNANSWERED] = {"UNANSWERED", print_again},
    [OVERLAY_AGAIN] = {"AGAIN", print_again},
    [OVERLAY_HEIRS] = {"HEIRS", print_heirs},
};

void overlay_print(const struct frame *frame, struct buffer *out)
{
    if (frame->type >= OVERLAY_MESSAGE_END || forms[frame->type].name == NULL) {
        buffer_printf(out, "type %u?", frame->type);
        return;
    }
    buffer_append_string(out, forms[frame->type].name);
    if (forms[frame->type].print(frame, out) < 0)
        buffer_append_string(out, " malformed");
}
