/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input for all processes of a job (launch/proto/input_piece.h).  The root broadcasts it in pieces, of which at
 * most PIECES_MAX are under way; the tree carries them past the death of a relay, in order and once.  A node keeps
 * what its slowest process has not taken, and reports a piece when all have; the reports are gathered on their
 * way up, and then the sender has credit again.  Small pieces that must wait become one.  When a node is lost, gathers
 * that it was a member of fail, and the others are asked again how far they are.
 *
 * Cost: for each piece a broadcast to the job's nodes and a gather; at a node and at the root what is under way.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/time.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/proto/input_piece.h"
#include "launch/proto/job_wire.h"

#define PIECES_MAX 4
/* Too many broadcasts are outstanding. */
#define AGAIN_MS 100

/* ---- the root ---- */

struct source_piece {
    struct list_link node;
    uint32_t generation;
    uint32_t bytes;
    uint64_t end; /* offset of what follows it */
};

/* The input of a job. */
struct input_source {
    struct list_link node;
    uint32_t job;
    struct ranges places; /* its living nodes */
    struct buffer pending;
    uint64_t offset; /* of what is pending */
    bool is_ending;  /* the end follows what is pending */
    uint32_t generation;
    struct list pieces; /* struct source_piece: under way, in their order */
    uint32_t pieces_count;
};

static void source_check(const struct input_source *source)
{
    assert(source->job > 0 && source->pieces_count <= PIECES_MAX);
    assert((source->pieces_count == 0) == list_is_empty(&source->pieces));
}

static struct input_source *source_find(const struct daemon_core *core, uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->input_sources, node, spare)
    {
        struct input_source *source = list_entry(node, struct input_source, node);

        if (source->job == job)
            return source;
    }
    return NULL;
}

static struct input_source *source_create(struct daemon_core *core, uint32_t job)
{
    struct input_source *source = memory_allocate_zeroed(sizeof(*source));

    source->job = job;
    list_init(&source->pieces);
    instance_job_places(core->instance, job, UINT32_MAX, &source->places);
    list_append(&core->root->input_sources, &source->node);
    return source;
}

static void piece_free(struct input_source *source, struct source_piece *piece)
{
    list_remove(&piece->node);
    source->pieces_count--;
    free(piece);
}

static void source_free(struct input_source *source)
{
    struct list_link *node;

    while ((node = list_first(&source->pieces)) != NULL)
        piece_free(source, list_entry(node, struct source_piece, node));
    list_remove(&source->node);
    ranges_fini(&source->places);
    buffer_fini(&source->pending);
    free(source);
}

static int broadcast(struct daemon_core *core, const struct input_source *source,
                     struct input_piece *piece)
{
    piece->job = source->job;
    piece->places = source->places; /* borrowed */
    return core->tree->broadcast(core->tree_context, &source->places, input_piece_message(piece));
}

static uint32_t next_generation(struct input_source *source)
{
    if (++source->generation == 0)
        source->generation = 1;
    return source->generation;
}

/* What is pending first; -EAGAIN: later. */
static int send_piece(struct daemon_core *core, struct input_source *source)
{
    size_t bytes = source->pending.length_bytes;
    struct input_piece message = {.offset = source->offset};
    struct source_piece *piece;
    int rc;

    if (bytes > INPUT_PIECE_BYTES_MAX)
        bytes = INPUT_PIECE_BYTES_MAX;
    message.data = (struct wire_bytes){.data = source->pending.data, .length_bytes = bytes};
    message.is_end = source->is_ending && bytes == source->pending.length_bytes;
    message.generation = bytes > 0 ? next_generation(source) : 0;
    rc = broadcast(core, source, &message);
    if (rc < 0)
        return rc;
    source->offset += bytes;
    source->is_ending = source->is_ending && !message.is_end;
    if (bytes == 0)
        return 0;
    buffer_consume(&source->pending, bytes);
    piece = memory_allocate_zeroed(sizeof(*piece));
    piece->generation = message.generation;
    piece->bytes = (uint32_t)bytes;
    piece->end = source->offset;
    list_append(&source->pieces, &piece->node);
    source->pieces_count++;
    return 0;
}

static void send_later(struct daemon_core *core)
{
    core->ops->timer(core->context, DAEMON_TIMER_INPUT, 0,
                     core->ops->now_ns(core->context) + AGAIN_MS * NS_PER_MS);
}

static void send_pieces(struct daemon_core *core, struct input_source *source)
{
    int rc = 0;

    while (rc == 0 && source->pieces_count < PIECES_MAX &&
           (source->pending.length_bytes > 0 || source->is_ending))
        rc = send_piece(core, source);
    if (rc < 0)
        send_later(core);
    source_check(source);
}

/* The living nodes report again when they have taken it. */
static void ask_again(struct daemon_core *core, struct input_source *source,
                      struct source_piece *piece)
{
    struct input_piece message = {.offset = piece->end, .generation = next_generation(source)};

    piece->generation = message.generation;
    if (broadcast(core, source, &message) < 0) {
        piece->generation = 0; /* see daemon_core_input_due */
        send_later(core);
    }
}

/* There is no node that could take it. */
static void source_drop(struct daemon_core *core, struct input_source *source)
{
    uint32_t bytes = (uint32_t)source->pending.length_bytes;
    struct list_link *node;

    assert(ranges_is_empty(&source->places));
    while ((node = list_first(&source->pieces)) != NULL) {
        struct source_piece *piece = list_entry(node, struct source_piece, node);

        bytes += piece->bytes;
        piece_free(source, piece);
    }
    buffer_clear(&source->pending);
    daemon_core_push_taken(core, source->job, bytes);
}

int daemon_core_input_send(struct daemon_core *core, uint32_t job, const void *data, size_t bytes)
{
    struct input_source *source = source_find(core, job);

    assert(daemon_core_is_root(core));
    if (source == NULL)
        source = source_create(core, job);
    if (ranges_is_empty(&source->places))
        return -ECONNRESET;
    buffer_append(&source->pending, data, bytes);
    source->is_ending |= bytes == 0;
    send_pieces(core, source);
    return 0;
}

static struct source_piece *piece_find(const struct input_source *source, uint32_t generation)
{
    struct list_link *node, *spare;

    list_for_each(&source->pieces, node, spare)
    {
        struct source_piece *piece = list_entry(node, struct source_piece, node);

        if (piece->generation == generation)
            return piece;
    }
    return NULL;
}

static void places_lost(struct daemon_core *core, struct input_source *source,
                        const struct ranges *places)
{
    struct list_link *node, *spare;

    if (!ranges_overlap_set(&source->places, places))
        return;
    ranges_remove_all(&source->places, places);
    if (ranges_is_empty(&source->places)) {
        source_drop(core, source);
        return;
    }
    /* Now, in their order, since reports of pieces that come later are of those before, too. */
    list_for_each(&source->pieces, node, spare)
        ask_again(core, source, list_entry(node, struct source_piece, node));
}

void daemon_core_input_result(struct daemon_core *core, const struct daemon_event *event)
{
    struct input_source *source = source_find(core, event->key->owner);
    struct source_piece *piece;
    uint32_t bytes;

    if (source == NULL) /* a node, or the job has ended */
        return;
    if (event->status < 0 && event->places != NULL)
        places_lost(core, source, event->places);
    piece = piece_find(source, event->key->generation);
    if (piece == NULL)
        return;
    if (event->status < 0) {
        ask_again(core, source, piece);
        return;
    }
    bytes = piece->bytes;
    piece_free(source, piece);
    send_pieces(core, source);
    daemon_core_push_taken(core, source->job, bytes);
}

void daemon_core_input_lost(struct daemon_core *core, const struct ranges *places)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->input_sources, node, spare)
        places_lost(core, list_entry(node, struct input_source, node), places);
}

void daemon_core_input_due(struct daemon_core *core)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->input_sources, node, spare)
    {
        struct input_source *source = list_entry(node, struct input_source, node);
        struct list_link *piece, *next;

        list_for_each(&source->pieces, piece, next)
        {
            struct source_piece *unasked = list_entry(piece, struct source_piece, node);

            if (unasked->generation == 0)
                ask_again(core, source, unasked);
        }
        send_pieces(core, source);
    }
}

void daemon_core_input_ended(struct daemon_core *core, uint32_t job)
{
    struct input_source *source = source_find(core, job);

    if (source != NULL)
        source_free(source);
}

/* ---- a node ---- */

/* A report that is due when the processes have taken everything before `end`. */
struct input_report {
    struct list_link node;
    uint32_t generation;
    struct ranges places;
    uint64_t end;
};

/* The input of a job's part. */
struct input_sink {
    struct list_link node;
    uint32_t job;
    uint64_t received; /* bytes */
    uint64_t taken;    /* by all processes */
    struct list reports;
};

static struct input_sink *sink_find(const struct daemon_core *core, uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&core->input_sinks, node, spare)
    {
        struct input_sink *sink = list_entry(node, struct input_sink, node);

        if (sink->job == job)
            return sink;
    }
    return NULL;
}

static struct input_sink *sink_of(struct daemon_core *core, uint32_t job)
{
    struct input_sink *sink = sink_find(core, job);

    if (sink != NULL)
        return sink;
    sink = memory_allocate_zeroed(sizeof(*sink));
    sink->job = job;
    list_init(&sink->reports);
    list_append(&core->input_sinks, &sink->node);
    return sink;
}

/* Each set of nodes has a separate name. */
static void contribute(struct daemon_core *core, uint32_t job, uint32_t generation,
                       const struct ranges *places)
{
    struct operation_name key = {.generation = generation,
                                 .owner = job,
                                 .kind = JOB_OPERATION_INPUT,
                                 .merge = JOB_MERGE_CONCATENATE,
                                 .target = ENDPOINT_TARGET_ROOT};
    struct buffer set = {0};

    ranges_encode(places, &set);
    key.set_id =
        hash_mix(hash_bytes(set.data, set.length_bytes, job_set_id(job, JOB_OPERATION_INPUT)));
    buffer_fini(&set);
    core->tree->contribute(core->tree_context, &key, places, NULL);
}

static void report_send(struct daemon_core *core, const struct input_sink *sink,
                        struct input_report *report)
{
    contribute(core, sink->job, report->generation, &report->places);
    list_remove(&report->node);
    ranges_fini(&report->places);
    free(report);
}

static void report_add(struct input_sink *sink, struct input_piece *piece)
{
    struct input_report *report = memory_allocate_zeroed(sizeof(*report));

    report->generation = piece->generation;
    report->end = piece->offset + piece->data.length_bytes;
    ranges_move(&report->places, &piece->places);
    list_append(&sink->reports, &report->node);
}

static void send_reports(struct daemon_core *core, const struct input_sink *sink)
{
    struct list_link *node, *spare;

    assert(sink->taken <= sink->received);
    list_for_each(&sink->reports, node, spare)
    {
        struct input_report *report = list_entry(node, struct input_report, node);

        if (report->end <= sink->taken)
            report_send(core, sink, report);
    }
}

static void piece_came(struct daemon_core *core, struct input_piece *piece)
{
    struct input_sink *sink = sink_of(core, piece->job);
    size_t bytes = piece->data.length_bytes;

    if (bytes > 0 ? piece->offset != sink->received : piece->offset > sink->received)
        return; /* the root would be wrong */
    sink->received += bytes;
    if (piece->generation > 0)
        report_add(sink, piece);
    if (bytes > 0)
        core->ops->ranks->input(core->context, piece->job, piece->data.data, bytes);
    if (piece->is_end)
        core->ops->ranks->input(core->context, piece->job, NULL, 0);
    send_reports(core, sink);
}

int daemon_core_input_broadcast(struct daemon_core *core, const struct message *message)
{
    struct wire_reader reader;
    struct input_piece piece;
    const struct job_local *part;

    if (message->length_bytes == 0 || message->data[0] != JOB_MESSAGE_STDIN_ALL)
        return 0;
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    if (daemon_core_is_root(core) || input_piece_decode(&piece, &reader) < 0)
        return 1;
    part = instance_part(core->instance, piece.job);
    if (part != NULL && part->spec.stdin_rank == JOB_STDIN_ALL)
        piece_came(core, &piece);
    else if (piece.generation > 0) /* all processes have ended here */
        contribute(core, piece.job, piece.generation, &piece.places);
    input_piece_fini(&piece);
    return 1;
}

int daemon_core_input_taken(struct daemon_core *core, uint32_t job, uint32_t bytes)
{
    struct input_sink *sink = sink_find(core, job);

    if (sink == NULL)
        return 0;
    sink->taken += bytes;
    send_reports(core, sink);
    return 1;
}

void daemon_core_input_part_closed(struct daemon_core *core, uint32_t job)
{
    struct input_sink *sink = sink_find(core, job);

    if (sink == NULL)
        return;
    sink->taken = sink->received;
    send_reports(core, sink);
    list_remove(&sink->node);
    free(sink);
}

/* ---- life ---- */

void daemon_core_input_open(struct daemon_core *core)
{
    list_init(&core->root->input_sources);
    list_init(&core->input_sinks);
}

void daemon_core_input_close(struct daemon_core *core)
{
    struct list_link *node, *spare;

    while ((node = list_first(&core->root->input_sources)) != NULL)
        source_free(list_entry(node, struct input_source, node));
    list_for_each(&core->input_sinks, node, spare)
    {
        struct input_sink *sink = list_entry(node, struct input_sink, node);
        struct list_link *report;

        while ((report = list_first(&sink->reports)) != NULL) {
            ranges_fini(&list_entry(report, struct input_report, node)->places);
            list_remove(report);
            free(list_entry(report, struct input_report, node));
        }
        free(sink);
    }
}
