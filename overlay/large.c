/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large exchanges.  A place's data, its own contribution merged with inline data from below, is
 * sent up if it is at most inline_bytes of the configuration; otherwise it stays, and only its size
 * is sent (SIZED).  So the meeting point gets the total, and the order of places gives each piece
 * its offset: GO goes down the tree with the offset of every child range's part, and a stream
 * (stream.h) carries the pieces to all members.  Each merges them in order.
 *
 * A hop that is not a member offers nothing itself over the two trees: GO hands its pieces to the
 * first child.  Via the top (STREAM_VIA_TOP) it does: all pieces go up the main tree to the meeting
 * point.
 *
 * A member that has the whole stream has seen the decision: it delivers it, keeps the stream, and
 * reports STORED in every later attempt; then the places that store it spread it in the same way.
 * A place reports DONE when everything at and below it has the stream; when all members have it,
 * OVER goes down and the stream is forgotten.  A place that knows this answers STORED with OVER,
 * and reports it upward in every later attempt (the state OVER of CONTRIBUTE), because OVER may be
 * lost with a relay; nothing is streamed in such an attempt, since a contribution is missing at the
 * meeting point.  A stream that breaks because a lateral link does (BROKEN, up) continues over the
 * main tree in the next round of the same attempt, with the bytes already received; a death begins
 * a new attempt, as with every operation.
 */
#include "config.h"

#include "overlay/large.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "overlay/broadcast.h"
#include "overlay/collective.h"
#include "overlay/series.h"
#include "overlay/stream.h"
#include "overlay/stream_cost.h"

#define NARROW_NS (60 * 1000000000ull) /* no lateral links for this time after one failed */

/* ---- pieces ---- */

static void drop_pieces(struct operation *operation)
{
    for (uint32_t i = 0; i < operation->pieces_count; i++)
        message_release(operation->pieces[i].payload);
    free(operation->pieces);
    operation->pieces = NULL;
    operation->pieces_count = 0;
}

static struct piece *add_piece(struct operation *operation, uint32_t child, uint64_t bytes)
{
    struct piece *piece;

    operation->pieces = memory_resize(operation->pieces,
                                      (operation->pieces_count + 1) * sizeof(*operation->pieces));
    piece = &operation->pieces[operation->pieces_count++];
    *piece = (struct piece){.child = child, .bytes = bytes};
    return piece;
}

/* Ends a run of inline data. */
static void end_run(struct operation *operation, struct buffer *run)
{
    struct buffer packed = {0};
    struct piece *piece;

    if (run->length_bytes == 0)
        return;
    wire_put_bytes(&packed, run->data, run->length_bytes);
    buffer_clear(run);
    piece = add_piece(operation, PIECE_OWN, packed.length_bytes);
    piece->payload = message_from_buffer(&packed);
    buffer_fini(&packed);
}

bool large_fold(struct overlay *overlay, struct series *series, struct operation *operation,
                struct buffer *ret_inline)
{
    struct message *own = operation->own;
    bool large = false;

    drop_pieces(operation);
    if (own != NULL)
        collective_merge_one(overlay, series, ret_inline,
                             (struct wire_bytes){own->data, own->length_bytes});
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        const struct part *part = &operation->parts[i];

        if (part->state == OVERLAY_PART_SIZED) {
            end_run(operation, ret_inline);
            add_piece(operation, i, part->bytes);
            large = true;
        } else {
            collective_merge_one(overlay, series, ret_inline, part->payload);
        }
    }
    if (!large && ret_inline->length_bytes <= overlay->inline_bytes)
        return true;
    end_run(operation, ret_inline);
    return false;
}

bool large_is_held(const struct operation *operation)
{
    bool held = operation_is_stored(operation);

    for (uint32_t i = 0; !held && i < operation->parts_count; i++)
        held = operation->parts[i].state == OVERLAY_PART_STORED;
    return held;
}

uint64_t large_bytes(const struct operation *operation)
{
    uint64_t bytes = 0;

    if (operation_is_stored(operation))
        return operation->stream->total_bytes;
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        if (operation->parts[i].state == OVERLAY_PART_STORED)
            return operation->parts[i].bytes;
    }
    for (uint32_t i = 0; i < operation->pieces_count; i++)
        bytes += operation->pieces[i].bytes;
    return bytes;
}

/* ---- messages of a child ---- */

uint64_t large_bytes_said(const struct overlay_contribute *contribute)
{
    uint64_t bytes;

    if (contribute->state != OVERLAY_PART_SIZED && contribute->state != OVERLAY_PART_STORED)
        return 0;
    return stream_get_size(&contribute->payload, &bytes) == 0 ? bytes : 0;
}

bool large_is_said_well(const struct overlay_contribute *contribute)
{
    if (contribute->state == OVERLAY_PART_OVER)
        return contribute->key.target == ENDPOINT_TARGET_ALL;
    if (contribute->state == OVERLAY_PART_STORED)
        return contribute->key.target == ENDPOINT_TARGET_ALL && large_bytes_said(contribute) > 0 &&
               large_bytes_said(contribute) <= STREAM_BYTES_MAX;
    return contribute->state != OVERLAY_PART_SIZED ||
           (contribute->key.target == ENDPOINT_TARGET_ALL && large_bytes_said(contribute) > 0);
}

/* ---- the choice ---- */

static struct stream_shape shape_of(const struct overlay *overlay, const struct series *series)
{
    uint64_t left = (uint64_t)series->covering.last - series->covering.first + 1;
    struct stream_shape shape = {.members = (uint32_t)ranges_count(&series->set),
                                 .radix = overlay->radix,
                                 .is_warm = series->is_warm,
                                 .costs = measure_costs(overlay),
                                 .trees = overlay->trees};

    if (shape.radix > left)
        shape.radix = (uint32_t)left;
    for (; left > 1; left = left / overlay->radix)
        shape.depth++;
    return shape;
}

bool large_is_better_released(const struct overlay *overlay, const struct series *series,
                              size_t bytes)
{
    struct stream_shape shape = shape_of(overlay, series);
    uint64_t release_ns = stream_cost_release(&shape, bytes);

    return bytes <= ENDPOINT_PAYLOAD_BYTES_MAX &&
           (shape.depth == 0 || (release_ns <= stream_cost_main_tree(&shape, bytes) &&
                                 release_ns <= stream_cost_two_trees(&shape, bytes)));
}

/* Via the top is for offers, each place with its own; data that several places already store would
 * be offered by all of them. */
static enum stream_algorithm choose_algorithm(const struct overlay *overlay,
                                              const struct series *series,
                                              const struct operation *operation, uint64_t bytes)
{
    struct stream_shape shape = shape_of(overlay, series);
    enum stream_algorithm best = STREAM_TWO_TREES;
    uint64_t best_ns = stream_cost_two_trees(&shape, bytes);

    if (!large_is_held(operation) && series_is_whole(series) &&
        stream_cost_via_top(&shape, bytes) < best_ns) {
        best = STREAM_VIA_TOP;
        best_ns = stream_cost_via_top(&shape, bytes);
    }
    if (overlay->now_ns < series->narrow_ns || stream_cost_main_tree(&shape, bytes) < best_ns)
        return STREAM_MAIN_TREE;
    return best;
}

/* ---- GO ---- */

static void route_two_trees(struct overlay *overlay, const struct series *series,
                            struct stream *stream, bool via_top)
{
    struct tree tree = overlay_tree(overlay);
    uint32_t top = tree_head(&tree, series->covering);
    struct ranges living = {0};

    if (!series_is_whole(series) ||
        !(series_is_member(overlay, series) || (via_top && overlay->place == top)))
        return;
    ranges_copy(&living, &series->set);
    ranges_remove_all(&living, &overlay->dead);
    if (via_top) {
        ranges_remove(&living, top, top);
        stream_add_down_trees(overlay, stream, &living, top);
    } else {
        stream_add_two_trees(overlay, stream, &living, TREE_NO_PLACE);
    }
    ranges_fini(&living);
}

static void route_main_tree(struct overlay *overlay, const struct series *series,
                            const struct operation *operation)
{
    if (!series_meets_here(overlay, series))
        stream_add_edge(overlay, operation->stream, overlay->join.target, STREAM_TREE_BOTH);
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        if (operation_part_counts(&operation->parts[i]))
            stream_add_edge(overlay, operation->stream, overlay->children[i].head,
                            STREAM_TREE_BOTH);
    }
}

/* That many bytes from base on are ours or come from below. */
static void route_to_top(struct overlay *overlay, const struct series *series,
                         const struct operation *operation, uint32_t base, uint32_t bytes)
{
    if (!series_meets_here(overlay, series) && bytes > 0)
        stream_add_parent(overlay, operation->stream, overlay->join.target, base, bytes);
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        if (operation->parts[i].state == OVERLAY_PART_SIZED)
            stream_add_child(overlay, operation->stream, overlay->children[i].head);
    }
}

/* Joins the stream with the edges of GO's algorithm. */
static void take_route(struct overlay *overlay, struct series *series, struct operation *operation,
                       const struct stream_go *go, uint32_t bytes)
{
    bool via_top = go->algorithm == STREAM_VIA_TOP;

    stream_route(overlay, operation->stream, operation->attempt, operation->round,
                 go->algorithm != STREAM_MAIN_TREE);
    if (go->algorithm == STREAM_MAIN_TREE)
        route_main_tree(overlay, series, operation);
    else
        route_two_trees(overlay, series, operation->stream, via_top);
    if (via_top)
        route_to_top(overlay, series, operation, go->base, bytes);
    stream_go(overlay, operation->stream);
}

/* Sends GO to every child that waits; base: the offset of what we and those below offer; attached
 * pieces go to the first. */
static void pass_on(struct overlay *overlay, const struct operation *operation,
                    const struct stream_go *go, const struct stream_go *attached)
{
    uint32_t piece = 0;
    uint64_t base = go->base;
    bool first = true;

    for (uint32_t i = 0; i < operation->parts_count; i++) {
        struct stream_go below = *go;
        struct frame frame;

        for (; piece < operation->pieces_count && operation->pieces[piece].child != i &&
               operation->parts[i].state == OVERLAY_PART_SIZED;
             piece++)
            base += operation->pieces[piece].bytes;
        below.base = operation->parts[i].state == OVERLAY_PART_SIZED ? (uint32_t)base : 0;
        below.pieces_count = first ? attached->pieces_count : 0;
        below.pieces = attached->pieces;
        if (!operation_part_counts(&operation->parts[i]) ||
            overlay->children[i].state != CHILD_LINKED)
            continue;
        first = false;
        stream_encode_go(&below, operation->attempt, operation->round, &frame);
        if (operation->round == 0)
            operation->parts[i].frame = message_reference(frame.payload);
        overlay_send(overlay, overlay->children[i].head, &frame);
    }
}

static void attach_piece(struct stream_go *attached, uint32_t offset, struct wire_bytes payload)
{
    attached->pieces =
        memory_resize(attached->pieces, (attached->pieces_count + 1) * sizeof(*attached->pieces));
    attached->pieces[attached->pieces_count++] =
        (struct stream_piece){.offset = offset, .payload = payload};
}

/* Every piece that is ours or has been handed to us is offered, or handed on. */
static void offer_pieces(struct overlay *overlay, const struct series *series,
                         struct operation *operation, const struct stream_go *go,
                         struct stream_go *ret_attached)
{
    uint64_t offset = go->base;

    assert(operation->stream != NULL);
    for (uint32_t i = 0; i < go->pieces_count; i++)
        attach_piece(ret_attached, go->pieces[i].offset, go->pieces[i].payload);
    for (uint32_t i = 0; i < operation->pieces_count && !go->result; i++) {
        const struct piece *piece = &operation->pieces[i];

        if (piece->child == PIECE_OWN)
            attach_piece(ret_attached, (uint32_t)offset,
                         (struct wire_bytes){piece->payload->data, piece->payload->length_bytes});
        offset += piece->bytes;
    }
    if (!series_is_member(overlay, series) && go->algorithm != STREAM_VIA_TOP)
        return;
    for (uint32_t i = 0; i < ret_attached->pieces_count; i++)
        stream_offer(overlay, operation->stream, ret_attached->pieces[i].offset,
                     ret_attached->pieces[i].payload.data,
                     ret_attached->pieces[i].payload.length_bytes);
    ret_attached->pieces_count = 0;
}

static void begin_streaming(struct overlay *overlay, struct series *series,
                            struct operation *operation, const struct stream_go *go)
{
    uint32_t bytes = go->result ? 0 : (uint32_t)large_bytes(operation);
    struct stream_go attached = {0};

    collective_drop_payloads(operation);
    operation_step(operation, OPERATION_EVENT_GO);
    if (operation->stream == NULL)
        operation->stream =
            stream_create(overlay, &go->name, operation->attempt, go->total_bytes, go->chunk_bytes);
    if (!stream_is_complete(operation->stream))
        offer_pieces(overlay, series, operation, go, &attached);
    pass_on(overlay, operation, go, &attached);
    free(attached.pieces);
    drop_pieces(operation);
    take_route(overlay, series, operation, go, bytes);
    operation_check(overlay, series, operation);
}

void large_go(struct overlay *overlay, struct series *series, struct operation *operation)
{
    struct stream_shape shape = shape_of(overlay, series);
    uint64_t bytes = large_bytes(operation);
    enum stream_algorithm algorithm = choose_algorithm(overlay, series, operation, bytes);
    struct stream_go go = {.name.key = operation_key(series, operation),
                           .algorithm = (uint8_t)algorithm,
                           .result = large_is_held(operation),
                           .total_bytes = (uint32_t)bytes,
                           .chunk_bytes = stream_chunk_bytes(&shape, algorithm, bytes)};

    assert(bytes > 0 && bytes <= STREAM_BYTES_MAX);
    series->is_warm = true;
    begin_streaming(overlay, series, operation, &go);
}

/* The GO of a later round. */
static struct stream_go over_main_tree(const struct series *series,
                                       const struct operation *operation)
{
    return (struct stream_go){.name.key = operation_key(series, operation),
                              .algorithm = STREAM_MAIN_TREE,
                              .result = 1, /* everything has been offered already */
                              .total_bytes = operation->stream->total_bytes,
                              .chunk_bytes = operation->stream->chunk_bytes};
}

void large_go_again(struct overlay *overlay, const struct series *series,
                    struct operation *operation, uint32_t index)
{
    const struct part *part = operation_part(overlay, operation, index);
    struct frame frame = {.type = OVERLAY_GO,
                          .class = FRAME_COLLECTIVE,
                          .attempt = operation->attempt,
                          .payload = part->frame};

    if (part->frame == NULL)
        return; /* it has not been heard from, so nothing depends on it */
    overlay_send_copy(overlay, overlay->children[index].head, &frame);
    if (operation->round > 0) {
        struct stream_go go = over_main_tree(series, operation);

        stream_encode_go(&go, operation->attempt, operation->round, &frame);
        overlay_send(overlay, overlay->children[index].head, &frame);
    }
}

/* The meeting point chooses another route, or has informed us of one. */
static void reroute_operation(struct overlay *overlay, struct series *series,
                              struct operation *operation, const struct stream_go *go,
                              uint32_t round)
{
    struct stream_go nothing = {0};

    assert(operation_is_going(operation) && round > operation->round);
    operation->round = round;
    pass_on(overlay, operation, go, &nothing);
    take_route(overlay, series, operation, go, 0);
}

/* The operation of a frame, if the attempt matches and GO may concern it. */
static struct operation *operation_of(struct overlay *overlay, const struct operation_name *key,
                                      uint32_t attempt, struct series **ret_series)
{
    struct series *series = series_find(overlay, key);
    struct operation *operation = series != NULL ? series_operation(series, key->generation) : NULL;

    *ret_series = series;
    if (operation == NULL || operation_is_over(operation) || operation->attempt != attempt)
        return NULL;
    return operation;
}

static uint64_t hash_of(const struct frame *frame)
{
    return hash_bytes(frame->payload->data, frame->payload->length_bytes, 0);
}

int large_on_go(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct operation *operation;
    struct series *series;
    struct stream_go go;
    int rc = stream_decode_go(frame, &go);
    bool is_first;

    (void)from;
    if (rc < 0)
        return rc;
    operation = operation_of(overlay, &go.name.key, frame->attempt, &series);
    is_first = operation != NULL && operation->sent == operation->attempt && frame->stream == 0 &&
               operation_phase_allows(operation->phase, OPERATION_EVENT_GO);
    if (go.name.entry > 0 || go.name.key.target != ENDPOINT_TARGET_ALL ||
        (is_first && !go.result && large_bytes(operation) > go.total_bytes - go.base))
        rc = -EBADMSG;
    if (rc == 0 && is_first) {
        operation->went = hash_of(frame);
        begin_streaming(overlay, series, operation, &go);
    } else if (rc == 0 && operation != NULL && operation_is_going(operation) &&
               frame->stream == 0) {
        rc = operation->went == hash_of(frame) ? 0 : -EBADMSG; /* sent again: one of the two is
                                                                * wrong */
    } else if (rc == 0 && operation != NULL && operation_is_going(operation) &&
               frame->stream > operation->round) {
        reroute_operation(overlay, series, operation, &go, frame->stream);
    }
    stream_go_fini(&go);
    return rc;
}

/* ---- the end ---- */

bool large_may_be_over(const struct overlay *overlay, const struct series *series,
                       const struct operation *operation)
{
    return operation_phase_allows(operation->phase, OPERATION_EVENT_OVER) &&
           (operation_is_stored(operation) || !series_is_member(overlay, series));
}

static void end_operation(struct overlay *overlay, struct operation *operation)
{
    operation_step(operation, OPERATION_EVENT_OVER);
    large_reset(overlay, operation);
    collective_drop_payloads(operation); /* kept for GO */
}

/* Sends OVER to all children, and forgets. */
static void pass_over(struct overlay *overlay, struct series *series, struct operation *operation,
                      uint32_t stable)
{
    struct stream_over over = {.key = operation_key(series, operation), .stable = stable};
    struct frame frame;

    stream_encode_over(&over, operation->attempt, &frame);
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        if (operation_part_counts(&operation->parts[i]) &&
            overlay->children[i].state == CHILD_LINKED)
            overlay_send_copy(overlay, overlay->children[i].head, &frame);
    }
    message_release(frame.payload);
    end_operation(overlay, operation);
}

void large_take_over(struct overlay *overlay, struct series *series, struct operation *operation)
{
    pass_over(overlay, series, operation, series->stable);
    large_tell_over(overlay, series, operation);
}

void large_tell_ended(struct overlay *overlay, struct series *series, uint32_t generation)
{
    struct overlay_contribute contribute = {
        .key = series->key, .state = OVERLAY_PART_OVER, .low = generation + 1};
    struct frame frame;

    if (!collective_can_contribute(overlay, series))
        return;
    contribute.key.generation = generation;
    contribute.set = series_set_to_tell(overlay, series);
    overlay_encode_contribute(&contribute, series->attempt, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

void large_tell_over(struct overlay *overlay, struct series *series, struct operation *operation)
{
    if (operation->sent == operation->attempt || !collective_can_contribute(overlay, series))
        return;
    large_tell_ended(overlay, series, operation->generation);
    operation->sent = operation->attempt;
}

void large_answer_ended(struct overlay *overlay, const struct series *series, uint32_t generation,
                        uint32_t place)
{
    struct stream_over over = {.key = series->key, .stable = series->stable};
    struct frame frame;

    over.key.generation = generation;
    if (generation_before(generation, over.stable))
        over.stable = generation;
    stream_encode_over(&over, series->attempt, &frame);
    overlay_send(overlay, place, &frame);
}

/* Everything at and below this place has all of it. */
static bool is_done(const struct overlay *overlay, const struct series *series,
                    const struct operation *operation)
{
    if (series_is_member(overlay, series) && !operation_is_decided(operation))
        return false;
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        if (operation_part_counts(&operation->parts[i]) && !operation->parts[i].done)
            return false;
    }
    return true;
}

static void say_done(struct overlay *overlay, const struct series *series,
                     const struct operation *operation)
{
    struct operation_name key = operation_key(series, operation);
    struct frame frame;

    stream_encode_done(&key, operation->attempt, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

static void say_broken(struct overlay *overlay, const struct series *series,
                       const struct operation *operation)
{
    struct stream_name name = {.key = operation_key(series, operation)};
    struct frame frame;

    stream_encode_broken(&name, operation->attempt, operation->round, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

void large_say_again(struct overlay *overlay, const struct series *series,
                     const struct operation *operation)
{
    if (operation_is_going(operation) && operation->broken > operation->round)
        say_broken(overlay, series, operation);
    if (operation->phase == OPERATION_DONE || operation->phase == OPERATION_RELAYED)
        say_done(overlay, series, operation);
}

/* The operation may have been freed afterwards. */
static void check_done(struct overlay *overlay, struct series *series, struct operation *operation)
{
    if (!operation_phase_allows(operation->phase, OPERATION_EVENT_DONE) ||
        !is_done(overlay, series, operation))
        return;
    if (series_meets_here(overlay, series)) {
        uint32_t low = collective_low(overlay, series, operation);

        if (generation_before(low, series->stable))
            low = series->stable;
        assert(!generation_before(operation->generation, low));
        pass_over(overlay, series, operation, low);
        collective_raise_stable(overlay, series, low);
    } else if (collective_can_contribute(overlay, series)) {
        operation_step(operation, OPERATION_EVENT_DONE);
        say_done(overlay, series, operation);
    }
}

int large_on_done(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct operation *operation;
    struct series *series;
    struct operation_name key;
    uint32_t index;
    int rc = stream_decode_done(frame, &key);

    if (rc < 0)
        return rc;
    operation = operation_of(overlay, &key, frame->attempt, &series);
    if (operation == NULL || !operation_is_going(operation))
        return 0;
    index = (uint32_t)(membership_linked(overlay, from) - overlay->children);
    operation_part(overlay, operation, index)->done = true;
    check_done(overlay, series, operation);
    return 0;
}

int large_on_over(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct operation *operation;
    struct series *series;
    struct stream_over over;
    int rc = stream_decode_over(frame, &over);

    (void)from;
    if (rc < 0 || generation_before(over.key.generation, over.stable))
        return -EBADMSG;
    operation = operation_of(overlay, &over.key, frame->attempt, &series);
    if (operation != NULL && large_may_be_over(overlay, series, operation))
        pass_over(overlay, series, operation, over.stable);
    if (series != NULL) {
        series_heard(series, frame->attempt);
        collective_raise_stable(overlay, series, over.stable);
        series_trim(overlay, series);
    }
    return 0;
}

/* ---- callbacks of streams ---- */

void large_stream_complete(struct overlay *overlay, struct stream *stream)
{
    struct series *series;
    struct operation *operation =
        operation_of(overlay, &stream->name.key, stream->attempt, &series);
    struct ranges nobody = {0};

    if (operation == NULL || operation->stream != stream)
        return;
    if (series_is_member(overlay, series) && !operation_is_decided(operation))
        collective_settle(overlay, series, operation, OVERLAY_STATUS_OK, &nobody, NULL);
    check_done(overlay, series, operation);
}

static void tell_broken(struct overlay *overlay, struct series *series, struct operation *operation)
{
    struct stream_go go = over_main_tree(series, operation);

    if (operation->broken > operation->round)
        return;
    operation->broken = operation->round + 1;
    if (series_meets_here(overlay, series)) {
        series->narrow_ns = overlay->now_ns + NARROW_NS;
        reroute_operation(overlay, series, operation, &go, operation->round + 1);
    } else if (collective_can_contribute(overlay, series)) {
        say_broken(overlay, series, operation);
    }
}

void large_stream_broken(struct overlay *overlay, struct stream *stream)
{
    struct series *series;
    struct operation *operation =
        operation_of(overlay, &stream->name.key, stream->attempt, &series);

    if (operation != NULL && operation_is_going(operation) && operation->round == stream->round)
        tell_broken(overlay, series, operation);
}

int large_on_broken(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct operation *operation;
    struct stream_name name;
    struct series *series;
    int rc = stream_decode_broken(frame, &name);

    (void)from;
    if (rc < 0)
        return rc;
    if (name.entry > 0) {
        broadcast_large_broken(overlay, name.entry);
        return 0;
    }
    operation = operation_of(overlay, &name.key, frame->attempt, &series);
    if (operation != NULL && operation_is_going(operation) && operation->round == frame->stream)
        tell_broken(overlay, series, operation);
    return 0;
}

void large_reset(struct overlay *overlay, struct operation *operation)
{
    operation_step(operation, OPERATION_EVENT_RESTART);
    drop_pieces(operation);
    operation->broken = 0;
    operation->round = 0;
    if (operation_is_stored(operation)) {
        stream_route(overlay, operation->stream, operation->attempt, 0, false);
    } else {
        stream_destroy(overlay, operation->stream);
        operation->stream = NULL;
    }
}
