/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every message of the overlay: it comes back as it went (what was decoded is encoded to the same
 * bytes); cut off at any byte it is refused or gives another message that holds; with any bit
 * turned it is refused or decoded, and nothing is read beyond its end (the sanitizers look).
 */
#include "config.h"

#include "overlay/overlay_wire.h"

#include <stdio.h>
#include <string.h>

#include "overlay/overlay_print.h"
#include "overlay/stream_wire.h"
#include "test/support/tap.h"

/* ---- decode and encode again ---- */

static int again_welcome(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_welcome message;
    int status = overlay_decode_welcome(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_welcome(&message, ret_again);
    overlay_welcome_fini(&message);
    return 0;
}

static int again_redirect(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_redirect message;
    int status = overlay_decode_redirect(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_redirect(&message, ret_again);
    return 0;
}

static int again_refuse(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_refuse message;
    int status = overlay_decode_refuse(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_refuse(&message, ret_again);
    return 0;
}

static int again_join(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_join message;
    int status = overlay_decode_join(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_join(&message, ret_again);
    overlay_join_fini(&message);
    return 0;
}

static int again_waiting(const struct frame *frame, struct frame *ret_again)
{
    struct ranges message;
    int status = overlay_decode_waiting(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_waiting(&message, ret_again);
    ranges_fini(&message);
    return 0;
}

static int again_arrived(const struct frame *frame, struct frame *ret_again)
{
    struct ranges message;
    int status = overlay_decode_arrived(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_arrived(&message, ret_again);
    ranges_fini(&message);
    return 0;
}

static int again_lost(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_lost message;
    int status = overlay_decode_lost(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_lost(&message, ret_again);
    overlay_lost_fini(&message);
    return 0;
}

static int again_lease(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_lease message;
    int status = overlay_decode_lease(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_lease(&message, ret_again);
    return 0;
}

static int again_entry(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_entry message;
    int status = overlay_decode_entry(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_entry(&message, ret_again);
    overlay_entry_fini(&message);
    return 0;
}

static int again_contribute(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_contribute message;
    int status = overlay_decode_contribute(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_contribute(&message, frame->attempt, ret_again);
    overlay_contribute_fini(&message);
    return 0;
}

static int again_query(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_query message;
    int status = overlay_decode_query(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_query(&message, frame->attempt, ret_again);
    overlay_query_fini(&message);
    return 0;
}

static int again_release(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_release message;
    int status = overlay_decode_release(frame, &message);

    if (status < 0)
        return status;
    overlay_encode_release(&message, frame->attempt, ret_again);
    overlay_release_fini(&message);
    return 0;
}

static int again_lease_echo(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_lease_echo echo;
    int status = overlay_decode_lease_echo(frame, &echo);

    if (status == 0)
        overlay_encode_lease_echo(&echo, ret_again);
    return status;
}

static int again_ack(const struct frame *frame, struct frame *ret_again)
{
    uint64_t number;
    int status = overlay_decode_ack(frame, &number);

    if (status == 0)
        overlay_encode_ack(number, ret_again);
    return status;
}

static int again_hold(const struct frame *frame, struct frame *ret_again)
{
    int status = overlay_decode_hold(frame);

    if (status == 0)
        overlay_encode_hold(ret_again);
    return status;
}

static int again_data(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_data message;
    int status = overlay_decode_data(frame, &message);

    if (status == 0)
        overlay_encode_data(frame->type, frame->class, &message, ret_again);
    return status;
}

static int again_roll_call(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_roll_call message;
    int status = overlay_decode_roll_call(frame, &message);

    if (status == 0)
        overlay_encode_roll_call(&message, ret_again);
    overlay_roll_call_fini(&message);
    return status;
}

static int again_named(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_roll_call message;
    int status = overlay_decode_named(frame, &message);

    if (status == 0)
        overlay_encode_named((enum overlay_message)frame->type, &message, ret_again);
    overlay_roll_call_fini(&message);
    return status;
}

static int again_again(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_again message;
    int status = overlay_decode_again(frame, &message);

    if (status == 0)
        overlay_encode_again((enum overlay_message)frame->type, &message, frame->attempt,
                             ret_again);
    overlay_again_fini(&message);
    return status;
}

static int again_roll(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_roll message;
    int status = overlay_decode_roll(frame, &message);

    if (status == 0)
        overlay_encode_roll(&message, ret_again);
    overlay_roll_fini(&message);
    return status;
}

static int again_go(const struct frame *frame, struct frame *ret_again)
{
    struct stream_go message;
    int status = stream_decode_go(frame, &message);

    if (status < 0)
        return status;
    stream_encode_go(&message, frame->attempt, frame->stream, ret_again);
    stream_go_fini(&message);
    return 0;
}

static int again_open(const struct frame *frame, struct frame *ret_again)
{
    struct stream_open message;
    int status = stream_decode_open(frame, &message);

    if (status < 0)
        return status;
    stream_encode_open(&message, frame->attempt, frame->stream, ret_again);
    stream_open_fini(&message);
    return 0;
}

static int again_chunk(const struct frame *frame, struct frame *ret_again)
{
    struct stream_chunk_frame message;
    int status = stream_decode_chunk(frame, &message);

    if (status < 0)
        return status;
    stream_encode_chunk(&message, ret_again);
    ret_again->type = frame->type;
    ret_again->attempt = frame->attempt;
    return 0;
}

static int again_credit(const struct frame *frame, struct frame *ret_again)
{
    struct stream_credit message;
    int status = stream_decode_credit(frame, &message);

    if (status < 0)
        return status;
    stream_encode_credit(&message, frame->attempt, frame->stream, ret_again);
    return 0;
}

static int again_broken(const struct frame *frame, struct frame *ret_again)
{
    struct stream_name name;
    int status = stream_decode_broken(frame, &name);

    if (status < 0)
        return status;
    stream_encode_broken(&name, frame->attempt, frame->stream, ret_again);
    return 0;
}

static int again_done(const struct frame *frame, struct frame *ret_again)
{
    struct operation_name done;
    int status = stream_decode_done(frame, &done);

    if (status < 0)
        return status;
    stream_encode_done(&done, frame->attempt, ret_again);
    return 0;
}

static int again_over(const struct frame *frame, struct frame *ret_again)
{
    struct stream_over message;
    int status = stream_decode_over(frame, &message);

    if (status < 0)
        return status;
    stream_encode_over(&message, frame->attempt, ret_again);
    return 0;
}

static int again_heirs(const struct frame *frame, struct frame *ret_again)
{
    struct overlay_heir heir;
    struct wire_reader reader;
    struct buffer items = {0};
    uint32_t count = overlay_open_heirs(frame->payload, &reader);

    for (uint32_t i = 0; i < count && wire_status(&reader) == 0; i++) {
        overlay_get_heir(&reader, &heir);
        overlay_put_heir(heir.place, &heir.addresses, &items);
    }
    if (wire_finish(&reader) == 0)
        overlay_encode_heirs(count, &items, ret_again);
    buffer_fini(&items);
    return wire_finish(&reader);
}

static int again_lateral(const struct frame *frame, struct frame *ret_again)
{
    int status = stream_decode_lateral(frame);

    if (status < 0)
        return status;
    stream_encode_lateral(ret_again);
    return 0;
}

static int (*const again[OVERLAY_MESSAGE_END])(const struct frame *, struct frame *) = {
    [OVERLAY_JOIN] = again_join,
    [OVERLAY_WAITING] = again_waiting,
    [OVERLAY_WELCOME] = again_welcome,
    [OVERLAY_REDIRECT] = again_redirect,
    [OVERLAY_HOLD] = again_hold,
    [OVERLAY_REFUSE] = again_refuse,
    [OVERLAY_ARRIVED] = again_arrived,
    [OVERLAY_LOST] = again_lost,
    [OVERLAY_LEASE] = again_lease,
    [OVERLAY_LEASE_ECHO] = again_lease_echo,
    [OVERLAY_ENTRY] = again_entry,
    [OVERLAY_ACK] = again_ack,
    [OVERLAY_CONTRIBUTE] = again_contribute,
    [OVERLAY_QUERY] = again_query,
    [OVERLAY_RELEASE] = again_release,
    [OVERLAY_DATA] = again_data,
    [OVERLAY_REQUEST] = again_data,
    [OVERLAY_REPLY] = again_data,
    [OVERLAY_STALLED] = again_named,
    [OVERLAY_CANCEL] = again_named,
    [OVERLAY_UNANSWERED] = again_again,
    [OVERLAY_AGAIN] = again_again,
    [OVERLAY_HEIRS] = again_heirs,
    [OVERLAY_ROLL_CALL] = again_roll_call,
    [OVERLAY_ROLL] = again_roll,
    [OVERLAY_ASK] = again_data,
    [OVERLAY_ANSWER] = again_data,
    [OVERLAY_LATERAL] = again_lateral,
    [OVERLAY_GO] = again_go,
    [OVERLAY_OPEN] = again_open,
    [OVERLAY_CHUNK] = again_chunk,
    [OVERLAY_RISE] = again_chunk,
    [OVERLAY_CREDIT] = again_credit,
    [OVERLAY_BROKEN] = again_broken,
    [OVERLAY_DONE] = again_done,
    [OVERLAY_OVER] = again_over,
};

/* ---- one of each ---- */

static struct range places_of_set[] = {{1, 4}, {7, 7}, {100, 70000}};
static const struct ranges set = {.items = places_of_set, .count = 3};
static const struct wire_bytes payload = {(const unsigned char *)"payload", 7};
static const struct operation_name key = {.set_id = 0x1234567890abcdef,
                                          .generation = 300,
                                          .kind = 2,
                                          .merge = 1,
                                          .target = 1};
static const struct addresses addresses = {
    .count = 2,
    .items = {{.length_bytes = 3, .bytes = {1, 2, 3}}, {.length_bytes = 1, .bytes = {9}}}};
static const struct overlay_lease lease = {.round = 7,
                                           .age_ns = 1000000,
                                           .echo_stamp_ns = UINT64_MAX,
                                           .echo_hold_ns = 1,
                                           .cut_ns = 12345};

static void make_joining(struct frame *frames)
{
    const struct overlay_join join = {.version = OVERLAY_VERSION,
                                      .places = 100000,
                                      .radix = 16,
                                      .received = 1ull << 40,
                                      .stamp_ns = 5,
                                      .scope = {5, 1000},
                                      .addresses = addresses,
                                      .arrived = set,
                                      .waiting = set};
    const struct overlay_welcome welcome = {.range = {5, 9},
                                            .base = 3,
                                            .head = 1000,
                                            .cut_ns = 77,
                                            .closed = 1,
                                            .lease = lease,
                                            .population = 100017,
                                            .dead = set,
                                            .left = set,
                                            .recoveries = 3};
    const struct overlay_redirect redirect = {.place = 77, .whole = 1, .addresses = addresses};
    const struct overlay_refuse refuse = {.refusal = OVERLAY_REFUSAL_LEFT, .text = "we leave"};
    struct buffer heirs = {0};
    struct overlay_death deaths[] = {{{3, 3}, 1, ENDPOINT_LOSS_SILENT, 61000000000},
                                     {{9, 200}, 0, 0, 0}};
    const struct overlay_lost lost = {.count = 2, .items = deaths};

    overlay_encode_join(&join, &frames[OVERLAY_JOIN]);
    overlay_encode_waiting(&set, &frames[OVERLAY_WAITING]);
    overlay_encode_welcome(&welcome, &frames[OVERLAY_WELCOME]);
    overlay_encode_redirect(&redirect, &frames[OVERLAY_REDIRECT]);
    overlay_encode_hold(&frames[OVERLAY_HOLD]);
    overlay_encode_refuse(&refuse, &frames[OVERLAY_REFUSE]);
    overlay_encode_arrived(&set, &frames[OVERLAY_ARRIVED]);
    overlay_encode_lost(&lost, &frames[OVERLAY_LOST]);
    overlay_put_heir(5, &addresses, &heirs);
    overlay_put_heir(70000, &addresses, &heirs);
    overlay_encode_heirs(2, &heirs, &frames[OVERLAY_HEIRS]);
    buffer_fini(&heirs);
    overlay_encode_lease(&lease, &frames[OVERLAY_LEASE]);
    overlay_encode_lease_echo(&(struct overlay_lease_echo){123456789, {17, 255}},
                              &frames[OVERLAY_LEASE_ECHO]);
}

static void make_working(struct frame *frames)
{
    const struct overlay_entry entry = {
        .sequence = 900, .kind = OVERLAY_ENTRY_USER, .set = set, .payload = payload};
    const struct overlay_contribute contribute = {.key = key,
                                                  .set = set,
                                                  .state = OVERLAY_PART_DECIDED,
                                                  .low = 299,
                                                  .status = OVERLAY_STATUS_LOST,
                                                  .lost = set,
                                                  .payload = payload};
    const struct overlay_query query = {.key = key, .set = set, .want = 1};
    const struct overlay_release release = {
        .key = key, .status = OVERLAY_STATUS_OK, .stable = 298, .lost = set, .payload = payload};
    const struct overlay_data data = {.source = 1,
                                      .destination = 4000000,
                                      .id = 17,
                                      .status = OVERLAY_STATUS_OK,
                                      .payload = payload};
    const struct overlay_roll_call call = {.key = key, .set = set, .patience_ns = 5000};
    const struct overlay_again unanswered = {
        .key = key, .set = set, .dead = 1ull << 60, .bytes = 300};
    const struct overlay_roll roll = {
        .key = key, .missing = {.absent = set, .unjoined = set, .silent = set, .more = 70}};

    overlay_encode_named(OVERLAY_STALLED, &call, &frames[OVERLAY_STALLED]);
    overlay_encode_named(OVERLAY_CANCEL, &call, &frames[OVERLAY_CANCEL]);
    overlay_encode_again(OVERLAY_UNANSWERED, &unanswered, 8, &frames[OVERLAY_UNANSWERED]);
    overlay_encode_again(OVERLAY_AGAIN, &unanswered, 9, &frames[OVERLAY_AGAIN]);
    overlay_encode_roll_call(&call, &frames[OVERLAY_ROLL_CALL]);
    overlay_encode_roll(&roll, &frames[OVERLAY_ROLL]);
    overlay_encode_entry(&entry, &frames[OVERLAY_ENTRY]);
    overlay_encode_ack(77777, &frames[OVERLAY_ACK]);
    overlay_encode_contribute(&contribute, 5, &frames[OVERLAY_CONTRIBUTE]);
    overlay_encode_query(&query, 6, &frames[OVERLAY_QUERY]);
    overlay_encode_release(&release, 7, &frames[OVERLAY_RELEASE]);
    overlay_encode_data(OVERLAY_DATA, FRAME_BULK, &data, &frames[OVERLAY_DATA]);
    overlay_encode_data(OVERLAY_REQUEST, FRAME_COLLECTIVE, &data, &frames[OVERLAY_REQUEST]);
    overlay_encode_data(OVERLAY_REPLY, FRAME_COLLECTIVE, &data, &frames[OVERLAY_REPLY]);
    overlay_encode_data(OVERLAY_ASK, FRAME_COLLECTIVE, &data, &frames[OVERLAY_ASK]);
    overlay_encode_data(OVERLAY_ANSWER, FRAME_COLLECTIVE, &data, &frames[OVERLAY_ANSWER]);
}

static void make_streams(struct frame *frames)
{
    struct stream_piece pieces[] = {{1000, payload}, {70000, payload}};
    const struct stream_name operation = {.key = key};
    const struct stream_name entry = {.entry = 300};
    const struct stream_go go = {.name = operation,
                                 .algorithm = STREAM_TWO_TREES,
                                 .base = 1000,
                                 .total_bytes = 100000,
                                 .chunk_bytes = STREAM_CHUNK_BYTES_MAX,
                                 .pieces_count = 2,
                                 .pieces = pieces};
    const struct stream_open open = {
        .name = operation, .trees = STREAM_TREE_SECOND, .credit_bytes = 262144, .have = set};
    const struct stream_chunk_frame chunk = {.name = entry, .offset = 999, .payload = payload};
    const struct stream_credit credit = {.name = entry, .trees = STREAM_TREE_BOTH, .bytes = 65536};
    const struct stream_over over = {.key = key, .stable = 12};

    stream_encode_go(&go, 2, 1, &frames[OVERLAY_GO]);
    stream_encode_open(&open, 2, 1, &frames[OVERLAY_OPEN]);
    stream_encode_chunk(&chunk, &frames[OVERLAY_CHUNK]);
    stream_encode_chunk(&chunk, &frames[OVERLAY_RISE]);
    frames[OVERLAY_RISE].type = OVERLAY_RISE;
    stream_encode_credit(&credit, 2, 0, &frames[OVERLAY_CREDIT]);
    stream_encode_broken(&operation, 2, 1, &frames[OVERLAY_BROKEN]);
    stream_encode_done(&key, 2, &frames[OVERLAY_DONE]);
    stream_encode_over(&over, 2, &frames[OVERLAY_OVER]);
    stream_encode_lateral(&frames[OVERLAY_LATERAL]);
}

/* ---- the tests ---- */

static bool same_frame(const struct frame *a, const struct frame *b)
{
    return a->type == b->type && a->class == b->class && a->attempt == b->attempt &&
           a->payload->length_bytes == b->payload->length_bytes &&
           memcmp(a->payload->data, b->payload->data, a->payload->length_bytes) == 0;
}

static void name_of(const struct frame *frame, char *name, size_t bytes)
{
    struct buffer line = {0};

    overlay_print(frame, &line);
    snprintf(name, bytes, "%s", buffer_string(&line));
    buffer_fini(&line);
}

static void test_round_trip(const struct frame *frame)
{
    struct frame copy = {0};
    char name[200];

    name_of(frame, name, sizeof(name));
    if (!is_int(again[frame->type](frame, &copy), 0, "decodes: %s", name))
        return;
    ok(same_frame(frame, &copy), "comes back as it went");
    ok(strstr(name, "malformed") == NULL && strchr(name, '?') == NULL, "can be printed");
    message_release(copy.payload);
}

/* Refused, or decoded without harm; with must_match, encoding it again gives the same bytes. */
static bool decodes_as_itself(const struct frame *frame, bool must_match)
{
    struct frame copy = {0};
    bool fine = true;

    if (again[frame->type](frame, &copy) == 0) {
        fine = !must_match || same_frame(frame, &copy);
        message_release(copy.payload);
    }
    return fine;
}

static void test_truncated(const struct frame *frame)
{
    bool fine = true;

    for (size_t bytes = 0; bytes < frame->payload->length_bytes && fine; bytes++) {
        struct frame cut = *frame;

        cut.payload = message_create(frame->payload->data, bytes);
        fine = decodes_as_itself(&cut, true);
        message_release(cut.payload);
    }
    ok(fine, "type %u cut off anywhere is refused or another whole message", frame->type);
}

static void test_bits(const struct frame *frame)
{
    bool fine = true;

    for (size_t bit = 0; bit < 8 * frame->payload->length_bytes; bit++) {
        struct frame turned = *frame;

        turned.payload = message_create(frame->payload->data, frame->payload->length_bytes);
        turned.payload->data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        fine = decodes_as_itself(&turned, false) && fine;
        message_release(turned.payload);
    }
    ok(fine, "type %u with any bit turned does no harm", frame->type);
}

static void test_no_payload(void)
{
    for (uint8_t type = OVERLAY_JOIN; type < OVERLAY_MESSAGE_END; type++) {
        struct frame frame = {.type = type};
        struct frame copy = {0};

        if (type == OVERLAY_HOLD || type == OVERLAY_LATERAL)
            continue;
        ok(again[type](&frame, &copy) < 0 || copy.payload != NULL, "type %u without a payload",
           type);
        message_release(copy.payload);
    }
}

int main(void)
{
    struct frame frames[OVERLAY_MESSAGE_END] = {{0}};

    make_joining(frames);
    make_working(frames);
    make_streams(frames);
    for (uint8_t type = OVERLAY_JOIN; type < OVERLAY_MESSAGE_END; type++) {
        is_uint(frames[type].type, type, "type %u is made", type);
        test_round_trip(&frames[type]);
        test_truncated(&frames[type]);
        test_bits(&frames[type]);
        message_release(frames[type].payload);
    }
    test_no_payload();
    return done_testing();
}
