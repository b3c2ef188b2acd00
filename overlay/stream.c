/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "overlay/broadcast.h"
#include "overlay/large.h"
#include "overlay/stream_cost.h"
#include "overlay/two_trees.h"

/* An OPEN whose stream or round is not known here yet. */
struct early {
    struct early *next;
    uint32_t place;
    uint32_t attempt;
    uint32_t round;
    uint64_t since_ns;
    struct stream_open open;
};

/* ---- records ---- */

struct stream *stream_find(const struct overlay *overlay, const struct stream_name *name)
{
    struct stream *stream = overlay->streams.first;

    while (stream != NULL && stream_name_compare(&stream->name, name) != 0)
        stream = stream->next;
    return stream;
}

void stream_check(const struct stream *stream)
{
    assert(stream->total_bytes > 0 && stream->total_bytes <= STREAM_BYTES_MAX);
    assert(stream->chunk_bytes > 0);
    assert(stream->have_bytes <= stream->total_bytes);
    assert((stream->have_bytes == 0) == ranges_is_empty(&stream->have));
    assert(stream->have_bytes < stream->total_bytes || stream->have.count == 1);
    assert(stream->chunks_count <= stream->chunks_capacity);
    assert(stream->chunks_count <= stream->have_bytes);
    assert((stream->edges_count == 0) == (stream->edges == NULL));
    assert(!stream->complete_reported || stream_is_complete(stream));
    assert(!stream->broken || stream->lateral); /* links of the main tree are handled by the tree */
    assert(stream->next == NULL || stream_name_compare(&stream->name, &stream->next->name) < 0);
}

/* Each is checked where it changes; here the first one, and early OPENs. */
void stream_check_all(const struct overlay *overlay)
{
    const struct streams *streams = &overlay->streams;

    assert((streams->early_count == 0) == (streams->early == NULL));
    assert(streams->early_count <= STREAM_EARLY_MAX);
    assert(streams->early == NULL || streams->early->since_ns <= overlay->now_ns);
    if (streams->first != NULL)
        stream_check(streams->first);
}

struct stream *stream_create(struct overlay *overlay, const struct stream_name *name,
                             uint32_t attempt, uint32_t total_bytes, uint32_t chunk_bytes)
{
    struct stream **link = &overlay->streams.first;
    struct stream *stream = memory_allocate_zeroed(sizeof(*stream));

    while (*link != NULL && stream_name_compare(&(*link)->name, name) < 0)
        link = &(*link)->next;
    stream->name = *name;
    stream->attempt = attempt;
    stream->total_bytes = total_bytes;
    stream->chunk_bytes = chunk_bytes;
    stream->next = *link;
    *link = stream;
    stream_check(stream);
    return stream;
}

static void drop_edges(struct overlay *overlay, struct stream *stream)
{
    const struct operation_name *key = stream->name.entry > 0 ? NULL : &stream->name.key;

    for (uint32_t i = 0; i < stream->edges_count; i++) {
        if (stream->lateral)
            lateral_used(overlay, stream->edges[i].place, key);
        ranges_fini(&stream->edges[i].peer_has);
    }
    free(stream->edges);
    stream->edges = NULL;
    stream->edges_count = 0;
}

void stream_destroy(struct overlay *overlay, struct stream *stream)
{
    struct stream **link = &overlay->streams.first;

    if (stream == NULL)
        return;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    drop_edges(overlay, stream);
    for (uint32_t i = 0; i < stream->chunks_count; i++)
        message_release(stream->chunks[i].frame);
    free(stream->chunks);
    ranges_fini(&stream->have);
    free(stream);
    overlay->streams.dirty = true; /* another one may have been held back */
}

bool stream_is_complete(const struct stream *stream)
{
    return stream->have_bytes == stream->total_bytes;
}

static struct stream_edge *edge_find(struct stream *stream, uint32_t place, uint8_t trees)
{
    for (uint32_t i = 0; i < stream->edges_count; i++) {
        if (stream->edges[i].place == place && (stream->edges[i].trees & trees) == trees)
            return &stream->edges[i];
    }
    return NULL;
}

/* ---- sending ---- */

static uint8_t tree_of(const struct stream *stream, uint32_t offset)
{
    return offset < stream->total_bytes / 2 ? STREAM_TREE_FIRST : STREAM_TREE_SECOND;
}

static bool edge_carries(const struct stream *stream, const struct stream_edge *edge,
                         const struct stream_chunk *chunk)
{
    if (edge->trees == STREAM_TREE_UP)
        return chunk->rises != 0;
    return (edge->trees & tree_of(stream, chunk->offset)) != 0;
}

static bool edge_needs(const struct stream *stream, const struct stream_edge *edge,
                       const struct stream_chunk *chunk)
{
    return edge_carries(stream, edge, chunk) && chunk->from != edge->place &&
           !ranges_contains(&edge->peer_has, chunk->offset);
}

/* Sends as much as credit allows. */
static void edge_pump(struct overlay *overlay, const struct stream *stream,
                      struct stream_edge *edge)
{
    struct frame frame = {.type = edge->trees == STREAM_TREE_UP ? OVERLAY_RISE : OVERLAY_CHUNK,
                          .class = FRAME_BULK,
                          .attempt = stream->attempt,
                          .stream = stream->round};

    while (edge->cursor < stream->chunks_count) {
        const struct stream_chunk *chunk = &stream->chunks[edge->cursor];

        if (edge_needs(stream, edge, chunk)) {
            if (edge->credit_bytes < chunk->payload.length_bytes)
                return;
            assert(edge->place != chunk->from && chunk->frame != NULL);
            edge->credit_bytes -= chunk->payload.length_bytes;
            frame.payload = chunk->frame;
            overlay_send_copy(overlay, edge->place, &frame);
        }
        edge->cursor++;
    }
}

static void pump_all(struct overlay *overlay, struct stream *stream)
{
    for (uint32_t i = 0; i < stream->edges_count; i++)
        edge_pump(overlay, stream, &stream->edges[i]);
}

static uint32_t window_bytes(const struct stream *stream)
{
    uint32_t half = stream->total_bytes / 2;

    if (half > STREAM_WINDOW_BYTES_MAX - STREAM_CHUNK_BYTES_MAX)
        return STREAM_WINDOW_BYTES_MAX;
    return half + STREAM_CHUNK_BYTES_MAX;
}

static void edge_open(struct overlay *overlay, const struct stream *stream,
                      struct stream_edge *edge)
{
    struct stream_open open = {
        .name = stream->name, .trees = edge->trees, .credit_bytes = window_bytes(stream)};
    struct frame frame;

    if (stream->have.count < STREAM_HAVE_MAX)
        ranges_copy(&open.have, &stream->have);
    /* Bytes from below need not come from above, too, unless something is wrong. */
    if (stream->rising_bytes > 0 && stream->stalls == 0 && edge->trees != STREAM_TREE_UP)
        ranges_add(&open.have, stream->rising_first,
                   stream->rising_first + stream->rising_bytes - 1);
    stream_encode_open(&open, stream->attempt, stream->round, &frame);
    stream_open_fini(&open);
    overlay_send(overlay, edge->place, &frame);
    edge->told = true;
    edge->open_bytes = open.credit_bytes;
    edge->unacked_bytes = 0;
}

/* Opens the edges that can be opened, and asks for missing links, if it is up to us to ask. */
static void activate_edges(struct overlay *overlay, struct stream *stream)
{
    for (uint32_t i = 0; i < stream->edges_count; i++) {
        struct stream_edge *edge = &stream->edges[i];

        if (overlay_has_link(overlay, edge->place)) {
            if (edge->takes && !edge->told && !stream_is_complete(stream))
                edge_open(overlay, stream, edge);
        } else if (stream->lateral && !stream->given_up && !edge->wanted &&
                   edge->trees != STREAM_TREE_UP && overlay->place < edge->place) {
            edge->wanted = true;
            lateral_want(overlay, edge->place);
        }
    }
}

static void activate_all(struct overlay *overlay)
{
    uint32_t active = 0;

    for (struct stream *stream = overlay->streams.first; stream != NULL; stream = stream->next) {
        if (stream->edges_count > 0 && !stream_is_complete(stream) && ++active > STREAM_ACTIVE_MAX)
            continue;
        activate_edges(overlay, stream);
    }
}

/* ---- received bytes ---- */

static void chunk_append(struct stream *stream, const struct stream_chunk *chunk)
{
    if (stream->chunks_count == stream->chunks_capacity) {
        stream->chunks_capacity = stream->chunks_capacity > 0 ? 2 * stream->chunks_capacity : 16;
        stream->chunks =
            memory_resize(stream->chunks, stream->chunks_capacity * sizeof(*stream->chunks));
    }
    stream->chunks[stream->chunks_count++] = *chunk;
    ranges_add(&stream->have, chunk->offset,
               chunk->offset + (uint32_t)chunk->payload.length_bytes - 1);
    stream->have_bytes += chunk->payload.length_bytes;
}

void stream_offer(struct overlay *overlay, struct stream *stream, uint32_t offset, const void *data,
                  size_t bytes)
{
    const unsigned char *from = data;
    uint32_t half = stream->total_bytes / 2;

    overlay->streams.dirty = true;
    while (bytes > 0) {
        uint64_t left = offset < half && bytes > half - offset ? half - offset : bytes;
        size_t length = stream_even_chunk(left, stream->chunk_bytes);
        struct stream_chunk_frame piece = {.name = stream->name, .offset = offset};
        struct stream_chunk chunk = {.offset = offset, .from = TREE_NO_PLACE, .rises = 1};
        struct frame frame;

        piece.payload = (struct wire_bytes){from, length};
        stream_encode_chunk(&piece, &frame);
        chunk.frame = frame.payload;
        chunk.payload.length_bytes = length;
        chunk.payload.data = frame.payload->data + frame.payload->length_bytes - length;
        chunk_append(stream, &chunk);
        from += length;
        bytes -= length;
        offset += (uint32_t)length;
    }
}

/* ---- routes ---- */

void stream_route(struct overlay *overlay, struct stream *stream, uint32_t attempt, uint32_t round,
                  bool lateral)
{
    drop_edges(overlay, stream);
    stream->attempt = attempt;
    stream->round = round;
    stream->lateral = lateral;
    stream->rising_first = 0;
    stream->rising_bytes = 0;
    stream->begun_ns = 0;
    stream->broken = false;
    stream->given_up = false;
    stream->complete_reported = false; /* its owner has more to do with it on this route */
    for (uint32_t i = 0; i < stream->chunks_count; i++)
        stream->chunks[i].from = TREE_NO_PLACE; /* peers report what they have when they open */
}

static void add_edge(struct overlay *overlay, struct stream *stream, uint32_t place, uint8_t trees,
                     bool takes)
{
    assert(place < TREE_PLACES_MAX && trees >= STREAM_TREE_FIRST && trees <= STREAM_TREE_UP);
    if (place == overlay->place || edge_find(stream, place, trees) != NULL)
        return;
    stream->edges =
        memory_resize(stream->edges, (stream->edges_count + 1) * sizeof(*stream->edges));
    stream->edges[stream->edges_count++] =
        (struct stream_edge){.place = place, .trees = trees, .takes = takes};
}

void stream_add_edge(struct overlay *overlay, struct stream *stream, uint32_t place, uint8_t trees)
{
    add_edge(overlay, stream, place, trees, true);
}

void stream_drop_edge(struct stream *stream, uint32_t place)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < stream->edges_count; i++) {
        if (stream->edges[i].place == place)
            ranges_fini(&stream->edges[i].peer_has);
        else
            stream->edges[kept++] = stream->edges[i];
    }
    stream->edges_count = kept;
}

/* The place of the set with that many before it. */
static uint32_t place_of_rank(const struct ranges *set, uint32_t rank)
{
    uint32_t item = 0;

    while (rank > set->items[item].last - set->items[item].first) {
        rank -= set->items[item].last - set->items[item].first + 1;
        item++;
    }
    return set->items[item].first + rank;
}

static void add_one_tree(struct overlay *overlay, struct stream *stream,
                         const struct ranges *living, unsigned int tree, bool downward)
{
    uint8_t trees = tree == 0 ? STREAM_TREE_FIRST : STREAM_TREE_SECOND;
    uint32_t count = (uint32_t)ranges_count(living);
    uint32_t rank = (uint32_t)ranges_count_within(living, 0, overlay->place) - 1;
    uint32_t parent = two_trees_parent(count, tree, rank);
    uint32_t ranks[TWO_TREES_DEGREE_MAX];
    uint32_t found = two_trees_neighbours(count, tree, rank, ranks);

    for (uint32_t i = 0; i < found; i++)
        add_edge(overlay, stream, place_of_rank(living, ranks[i]), trees,
                 !downward || ranks[i] == parent);
}

static void add_source(struct overlay *overlay, struct stream *stream, const struct ranges *living,
                       unsigned int tree, uint32_t source, bool downward)
{
    uint8_t trees = tree == 0 ? STREAM_TREE_FIRST : STREAM_TREE_SECOND;
    uint32_t root = place_of_rank(living, two_trees_root((uint32_t)ranges_count(living), tree));

    if (overlay->place == source)
        add_edge(overlay, stream, root, trees, !downward);
    else if (overlay->place == root)
        add_edge(overlay, stream, source, trees, true);
}

static void add_trees(struct overlay *overlay, struct stream *stream, const struct ranges *living,
                      uint32_t source, bool downward)
{
    for (unsigned int tree = 0; tree < 2 && !ranges_is_empty(living); tree++) {
        if (ranges_contains(living, overlay->place))
            add_one_tree(overlay, stream, living, tree, downward);
        if (source != TREE_NO_PLACE)
            add_source(overlay, stream, living, tree, source, downward);
    }
}

void stream_add_two_trees(struct overlay *overlay, struct stream *stream,
                          const struct ranges *living, uint32_t source)
{
    add_trees(overlay, stream, living, source, false);
}

void stream_add_down_trees(struct overlay *overlay, struct stream *stream,
                           const struct ranges *living, uint32_t source)
{
    add_trees(overlay, stream, living, source, true);
}

void stream_add_parent(struct overlay *overlay, struct stream *stream, uint32_t place,
                       uint32_t first, uint32_t bytes)
{
    stream->rising_first = first;
    stream->rising_bytes = bytes;
    add_edge(overlay, stream, place, STREAM_TREE_UP, false);
}

void stream_add_child(struct overlay *overlay, struct stream *stream, uint32_t place)
{
    add_edge(overlay, stream, place, STREAM_TREE_UP, true);
}

/* ---- messages of peers ---- */

static void early_destroy(struct overlay *overlay, struct early **link)
{
    struct early *early = *link;

    *link = early->next;
    stream_open_fini(&early->open);
    free(early);
    overlay->streams.early_count--;
}

/* A later message about an edge replaces the earlier one. */
static void early_replace(struct overlay *overlay, uint32_t place, const struct stream_open *open)
{
    for (struct early **link = &overlay->streams.early; *link != NULL; link = &(*link)->next) {
        if ((*link)->place == place && (*link)->open.trees == open->trees &&
            stream_name_compare(&(*link)->open.name, &open->name) == 0) {
            early_destroy(overlay, link);
            return;
        }
    }
}

/* Keeps it at the end of the list; takes its ranges.  If the list is full the oldest is dropped:
 * its link is closed, which its stream survives. */
static void early_keep(struct overlay *overlay, uint32_t place, const struct frame *frame,
                       struct stream_open *open)
{
    struct early **link = &overlay->streams.early;
    struct early *early = memory_allocate_zeroed(sizeof(*early));

    early_replace(overlay, place, open);
    early->place = place;
    early->attempt = frame->attempt;
    early->round = frame->stream;
    early->since_ns = overlay->now_ns;
    early->open = *open;
    open->have = (struct ranges){0};
    while (*link != NULL)
        link = &(*link)->next;
    *link = early;
    if (++overlay->streams.early_count > STREAM_EARLY_MAX)
        lateral_give_up(overlay, overlay->streams.early->place);
    if (overlay->streams.early_count > STREAM_EARLY_MAX)
        early_destroy(overlay, &overlay->streams.early);
}

static void edge_take_open(struct overlay *overlay, struct stream *stream, uint32_t place,
                           struct stream_open *open)
{
    struct stream_edge *edge = edge_find(stream, place, open->trees);

    if (edge == NULL)
        return; /* not an edge by our tree; a death not yet known here or there will show */
    edge->credit_bytes = open->credit_bytes;
    edge->cursor = 0;
    ranges_move(&edge->peer_has, &open->have);
    edge_pump(overlay, stream, edge);
}

void stream_go(struct overlay *overlay, struct stream *stream)
{
    struct early **link = &overlay->streams.early;

    stream->moved_ns = overlay->now_ns;
    stream->stalls = 0;
    overlay->streams.dirty = true;
    while (*link != NULL) {
        struct early *early = *link;

        if (stream_name_compare(&early->open.name, &stream->name) != 0 ||
            early->attempt > stream->attempt ||
            (early->attempt == stream->attempt && early->round > stream->round)) {
            link = &early->next;
            continue;
        }
        if (early->attempt == stream->attempt && early->round == stream->round)
            edge_take_open(overlay, stream, early->place, &early->open);
        early_destroy(overlay, link);
    }
}

/* Of an earlier round (-1), of this one (0), or of a later one (1). */
static int frame_age(const struct stream *stream, const struct frame *frame)
{
    if (frame->attempt != stream->attempt)
        return frame->attempt < stream->attempt ? -1 : 1;
    if (frame->stream != stream->round)
        return frame->stream < stream->round ? -1 : 1;
    return 0;
}

int stream_on_open(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct stream_open open;
    struct stream *stream;
    int rc = stream_decode_open(frame, &open);

    if (rc < 0)
        return rc;
    stream = stream_find(overlay, &open.name);
    if (stream == NULL || frame_age(stream, frame) > 0)
        early_keep(overlay, from, frame, &open);
    else if (frame_age(stream, frame) == 0)
        edge_take_open(overlay, stream, from, &open);
    stream_open_fini(&open);
    return 0;
}

int stream_on_credit(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct stream_credit credit;
    struct stream_edge *edge = NULL;
    struct stream *stream;
    int rc = stream_decode_credit(frame, &credit);

    if (rc < 0)
        return rc;
    stream = stream_find(overlay, &credit.name);
    if (stream != NULL && frame_age(stream, frame) == 0)
        edge = edge_find(stream, from, credit.trees);
    if (edge == NULL)
        return 0;
    edge->credit_bytes += credit.bytes;
    edge_pump(overlay, stream, edge);
    return 0;
}

/* The bytes that an edge may still bring. */
static uint64_t missing_bytes(const struct stream *stream, const struct stream_edge *edge)
{
    uint32_t half = stream->total_bytes / 2;
    uint64_t missing = stream->total_bytes - stream->have_bytes;
    uint64_t missing_first;

    if (half == 0 || (edge->trees != STREAM_TREE_FIRST && edge->trees != STREAM_TREE_SECOND))
        return missing;
    missing_first = half - ranges_count_within(&stream->have, 0, half - 1);
    return edge->trees == STREAM_TREE_FIRST ? missing_first : missing - missing_first;
}

/* Renews the window of an edge when a quarter of it has arrived, unless the rest suffices, plus one
 * chunk, which may be one that we have. */
static void edge_credit(struct overlay *overlay, const struct stream *stream,
                        struct stream_edge *edge, size_t bytes)
{
    struct stream_credit credit = {.name = stream->name, .trees = edge->trees};
    struct frame frame;

    edge->unacked_bytes += (uint32_t)bytes;
    edge->open_bytes -= bytes < edge->open_bytes ? bytes : edge->open_bytes;
    if (edge->unacked_bytes < window_bytes(stream) / 4 ||
        edge->open_bytes >= missing_bytes(stream, edge) + STREAM_CHUNK_BYTES_MAX)
        return;
    credit.bytes = edge->unacked_bytes;
    edge->open_bytes += credit.bytes;
    edge->unacked_bytes = 0;
    stream_encode_credit(&credit, stream->attempt, stream->round, &frame);
    overlay_send(overlay, edge->place, &frame);
}

/* 1: new; 0: had; -EBADMSG: it cuts across what we have, or lies outside. */
static int chunk_judge(const struct stream *stream, const struct stream_chunk_frame *chunk)
{
    uint64_t bytes = chunk->payload.length_bytes;
    uint64_t had;

    if (chunk->offset >= stream->total_bytes || bytes > stream->total_bytes - chunk->offset)
        return -EBADMSG;
    had = ranges_count_within(&stream->have, chunk->offset, chunk->offset + (uint32_t)bytes - 1);
    if (had == 0)
        return 1;
    return had == bytes ? 0 : -EBADMSG;
}

static void chunk_take(struct overlay *overlay, struct stream *stream,
                       const struct stream_chunk_frame *piece, uint32_t from,
                       const struct frame *frame)
{
    struct stream_chunk chunk = {.frame = message_reference(frame->payload),
                                 .payload = piece->payload,
                                 .offset = piece->offset,
                                 .from = from,
                                 .rises = frame->type == OVERLAY_RISE};

    chunk_append(stream, &chunk);
    stream_check(stream);
    measure_stream(overlay, stream);
    stream->moved_ns = overlay->now_ns;
    stream->stalls = 0;
    pump_all(overlay, stream);
    if (stream_is_complete(stream))
        overlay->streams.dirty = true;
}

int stream_on_chunk(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct stream_chunk_frame chunk;
    struct stream_edge *edge = NULL;
    struct stream *stream;
    int rc = stream_decode_chunk(frame, &chunk);

    if (rc < 0)
        return rc;
    stream = stream_find(overlay, &chunk.name);
    if (stream != NULL && frame_age(stream, frame) == 0)
        edge = edge_find(stream, from,
                         frame->type == OVERLAY_RISE ? (uint8_t)STREAM_TREE_UP
                                                     : tree_of(stream, chunk.offset));
    if (edge == NULL || !edge->told)
        return 0; /* of an earlier route */
    rc = chunk_judge(stream, &chunk);
    if (rc < 0)
        return rc;
    if (rc > 0)
        chunk_take(overlay, stream, &chunk, from, frame);
    edge_credit(overlay, stream, edge, chunk.payload.length_bytes);
    return 0;
}

/* ---- links ---- */

bool stream_uses(const struct overlay *overlay, uint32_t place)
{
    for (const struct stream *stream = overlay->streams.first; stream != NULL;
         stream = stream->next) {
        for (uint32_t i = 0; i < stream->edges_count; i++) {
            if (stream->edges[i].place == place)
                return true;
        }
    }
    for (const struct early *early = overlay->streams.early; early != NULL; early = early->next) {
        if (early->place == place)
            return true;
    }
    return false;
}

void stream_link_up(struct overlay *overlay, uint32_t place)
{
    if (stream_uses(overlay, place))
        overlay->streams.dirty = true;
}

static void edge_link_down(struct overlay *overlay, struct stream *stream, struct stream_edge *edge,
                           bool lateral)
{
    bool was_used = edge->told || edge->wanted || edge->credit_bytes > 0;

    edge->told = false;
    edge->wanted = false;
    edge->credit_bytes = 0;
    overlay->streams.dirty = true; /* complete places open no edge, but must ask for its link */
    if (was_used && lateral && stream->lateral && overlay->place < edge->place)
        stream->broken = true;
}

void stream_link_down(struct overlay *overlay, uint32_t place, bool lateral)
{
    struct early **link = &overlay->streams.early;

    for (struct stream *stream = overlay->streams.first; stream != NULL; stream = stream->next) {
        for (uint32_t i = 0; i < stream->edges_count; i++) {
            if (stream->edges[i].place == place)
                edge_link_down(overlay, stream, &stream->edges[i], lateral);
        }
    }
    while (*link != NULL) {
        if ((*link)->place == place)
            early_destroy(overlay, link);
        else
            link = &(*link)->next;
    }
}

/* ---- time ---- */

/* The next stream, from `stream` on, that gets bytes or should; or NULL. */
static struct stream *next_active(struct stream *stream, uint32_t *active)
{
    while (stream != NULL && (stream->edges_count == 0 || stream_is_complete(stream)))
        stream = stream->next;
    return stream != NULL && (*active)++ < STREAM_ACTIVE_MAX ? stream : NULL;
}

uint64_t stream_deadline_ns(const struct overlay *overlay)
{
    uint64_t deadline_ns = OVERLAY_NEVER_NS;
    uint32_t active = 0;

    if (overlay->streams.early != NULL)
        deadline_ns = overlay->streams.early->since_ns + STREAM_EARLY_NS;
    for (struct stream *stream = next_active(overlay->streams.first, &active); stream != NULL;
         stream = next_active(stream->next, &active)) {
        if (stream->moved_ns + overlay->stall_ns < deadline_ns)
            deadline_ns = stream->moved_ns + overlay->stall_ns;
    }
    return deadline_ns;
}

/* Repeats all messages over its edges. */
static void stream_stall(struct overlay *overlay, struct stream *stream)
{
    bool is_linked = true;

    assert(!stream_is_complete(stream) && stream->edges_count > 0);
    stream->moved_ns = overlay->now_ns;
    stream->stalls++;
    for (uint32_t i = 0; i < stream->edges_count; i++) {
        stream->edges[i].told = false;
        stream->edges[i].wanted = false;
        is_linked = is_linked && overlay_has_link(overlay, stream->edges[i].place);
    }
    if (stream->lateral && !is_linked && stream->stalls >= STREAM_STALLS_MAX && !stream->given_up)
        stream->broken = true;
    overlay->streams.dirty = true;
}

void stream_timer(struct overlay *overlay)
{
    uint32_t active = 0;

    while (overlay->streams.early != NULL &&
           overlay->now_ns >= overlay->streams.early->since_ns + STREAM_EARLY_NS)
        early_destroy(overlay, &overlay->streams.early);
    for (struct stream *stream = next_active(overlay->streams.first, &active); stream != NULL;
         stream = next_active(stream->next, &active)) {
        if (overlay->now_ns >= stream->moved_ns + overlay->stall_ns)
            stream_stall(overlay, stream);
    }
}

/* ---- the end of a step ---- */

/* Notifies one owner of one event; false if there is none.  May free streams. */
static bool tell_one(struct overlay *overlay)
{
    for (struct stream *stream = overlay->streams.first; stream != NULL; stream = stream->next) {
        if (stream_is_complete(stream) && !stream->complete_reported) {
            stream->complete_reported = true;
            stream_check(stream);
            if (stream->name.entry > 0)
                broadcast_large_complete(overlay);
            else
                large_stream_complete(overlay, stream);
            return true;
        }
        if (stream->broken) {
            stream->broken = false;
            stream->given_up = true;
            if (stream->name.entry > 0)
                broadcast_large_broken(overlay, stream->name.entry);
            else
                large_stream_broken(overlay, stream);
            return true;
        }
    }
    return false;
}

void stream_step_end(struct overlay *overlay)
{
    while (overlay->streams.dirty && !overlay->ended) {
        overlay->streams.dirty = false;
        while (tell_one(overlay))
            ;
        for (struct stream *stream = overlay->streams.first; stream != NULL; stream = stream->next)
            pump_all(overlay, stream);
        activate_all(overlay);
    }
}

void stream_fini(struct overlay *overlay)
{
    while (overlay->streams.first != NULL)
        stream_destroy(overlay, overlay->streams.first);
    while (overlay->streams.early != NULL)
        early_destroy(overlay, &overlay->streams.early);
}
