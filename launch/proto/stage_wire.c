/* SPDX-License-Identifier: BSD-3-Clause */
/* The manifest and packs; reports and what clients say are in stage_report_wire.c. */
#include "config.h"

#include "launch/proto/stage.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/compress.h"
#include "launch/proto/job_wire.h"

#define RANGES_MAX 16777216u

bool stage_path_is_safe(const char *path)
{
    size_t length = strlen(path);

    if (length == 0 || length > STAGE_PATH_BYTES_MAX)
        return false;
    for (;;) {
        size_t bytes = strcspn(path, "/");

        if (bytes == 0 || (bytes == 1 && path[0] == '.') ||
            (bytes == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        if (path[bytes] == '\0')
            return true;
        path += bytes + 1;
    }
}

bool stage_set_has(const void *set, size_t set_bytes, uint32_t chunk)
{
    const unsigned char *bytes = set;

    return chunk / 8 < set_bytes && (bytes[chunk / 8] >> (chunk % 8) & 1) != 0;
}

void stage_set_add(unsigned char *set, size_t set_bytes, uint32_t chunk)
{
    assert(chunk / 8 < set_bytes);
    set[chunk / 8] = (unsigned char)(set[chunk / 8] | 1u << (chunk % 8));
}

void stage_manifest_fini(struct stage_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->roots_count; i++)
        free(manifest->roots[i]);
    for (uint32_t i = 0; i < manifest->entries_count; i++) {
        free(manifest->entries[i].path);
        free(manifest->entries[i].target);
        free(manifest->entries[i].chunks);
    }
    for (uint32_t i = 0; i < manifest->checks_count; i++) {
        free(manifest->checks[i].program);
        free(manifest->checks[i].directory);
        free(manifest->checks[i].path);
        free(manifest->checks[i].library_path);
    }
    free(manifest->roots);
    free(manifest->entries);
    free(manifest->chunks);
    free(manifest->checks);
    *manifest = (struct stage_manifest){0};
}

/* ---- entries ---- */

static void put_entry(const struct stage_entry *entry, struct buffer *out)
{
    assert(entry->kind < STAGE_KIND_COUNT && stage_path_is_safe(entry->path));
    assert((entry->kind == STAGE_SYMLINK) == (entry->target != NULL));
    wire_put_u8(out, entry->kind);
    wire_put_varint(out, entry->root);
    wire_put_string(out, entry->path);
    if (entry->kind == STAGE_SYMLINK) {
        wire_put_string(out, entry->target);
        return;
    }
    wire_put_varint(out, entry->mode);
    if (entry->kind == STAGE_DIRECTORY)
        return;
    wire_put_u64(out, entry->time_ns);
    wire_put_varint(out, entry->bytes);
    wire_put_varint(out, entry->chunks_count);
    for (uint32_t i = 0; i < entry->chunks_count; i++)
        wire_put_varint(out, entry->chunks[i]);
}

/* The chunks must be as long as the file. */
static void get_content(const struct stage_manifest *manifest, struct wire_reader *reader,
                        struct stage_entry *entry)
{
    uint64_t bytes = 0;
    uint32_t count;

    entry->time_ns = wire_get_u64(reader);
    entry->bytes = wire_get_varint(reader);
    count = (uint32_t)wire_get_varint_max(reader, wire_left(reader));
    entry->chunks = memory_allocate_zeroed((count + 1) * sizeof(*entry->chunks));
    entry->chunks_count = count;
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        entry->chunks[i] = (uint32_t)wire_get_varint_max(reader, STAGE_CHUNKS_MAX);
        if (entry->chunks[i] >= manifest->chunks_count)
            wire_fail(reader);
        else
            bytes += manifest->chunks[entry->chunks[i]].bytes;
    }
    if (bytes != entry->bytes)
        wire_fail(reader);
}

static void get_entry(const struct stage_manifest *manifest, struct wire_reader *reader,
                      struct stage_entry *entry)
{
    entry->kind = wire_get_u8(reader);
    entry->root = (uint32_t)wire_get_varint_max(reader, manifest->roots_count);
    entry->path = wire_get_string(reader, STAGE_PATH_BYTES_MAX);
    if (entry->kind == STAGE_SYMLINK) {
        entry->target = wire_get_string(reader, STAGE_PATH_BYTES_MAX);
        if (entry->target[0] == '\0')
            wire_fail(reader);
    } else {
        entry->mode = (uint32_t)wire_get_varint_max(reader, 0777);
    }
    if (entry->kind == STAGE_FILE)
        get_content(manifest, reader, entry);
    if (entry->kind >= STAGE_KIND_COUNT || !stage_path_is_safe(entry->path))
        wire_fail(reader);
}

/* ---- programs ---- */

static void put_check(const struct stage_check *check, struct buffer *out)
{
    wire_put_u8(out, check->is_staged);
    wire_put_string(out, check->program);
    wire_put_string(out, check->directory);
    wire_put_string(out, check->path);
    wire_put_string(out, check->library_path);
}

static void get_check(struct wire_reader *reader, struct stage_check *check)
{
    check->is_staged = (uint8_t)wire_get_u8(reader);
    check->program = wire_get_string(reader, STAGE_PATH_BYTES_MAX);
    check->directory = wire_get_string(reader, STAGE_VARIABLE_BYTES_MAX);
    check->path = wire_get_string(reader, STAGE_VARIABLE_BYTES_MAX);
    check->library_path = wire_get_string(reader, STAGE_VARIABLE_BYTES_MAX);
    if (check->is_staged > 1 || check->program[0] == '\0' ||
        (check->is_staged && !stage_path_is_safe(check->program)))
        wire_fail(reader);
}

/* ---- the manifest ---- */

void stage_manifest_encode(const struct stage_manifest *manifest, struct buffer *out)
{
    struct buffer plain = {0};

    assert(manifest->entries_count <= STAGE_ENTRIES_MAX);
    assert(manifest->chunks_count <= STAGE_CHUNKS_MAX);
    wire_put_u8(&plain, manifest->force);
    wire_put_varint(&plain, manifest->roots_count);
    for (uint32_t i = 0; i < manifest->roots_count; i++)
        wire_put_string(&plain, manifest->roots[i]);
    wire_put_varint(&plain, manifest->chunks_count);
    for (uint32_t i = 0; i < manifest->chunks_count; i++) {
        assert(manifest->chunks[i].bytes > 0 && manifest->chunks[i].bytes <= STAGE_CHUNK_BYTES);
        buffer_append(&plain, manifest->chunks[i].hash, STAGE_HASH_BYTES);
        wire_put_varint(&plain, manifest->chunks[i].bytes);
    }
    wire_put_varint(&plain, manifest->entries_count);
    for (uint32_t i = 0; i < manifest->entries_count; i++)
        put_entry(&manifest->entries[i], &plain);
    wire_put_varint(&plain, manifest->checks_count);
    for (uint32_t i = 0; i < manifest->checks_count; i++)
        put_check(&manifest->checks[i], &plain);
    compress_put(out, plain.data, plain.length_bytes);
    buffer_fini(&plain);
}

/* Each item takes at least a byte, which bounds what is allocated for them. */
static uint32_t get_count(struct wire_reader *reader, uint32_t maximum)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, maximum);

    if (count <= wire_left(reader))
        return count;
    wire_fail(reader);
    return 0;
}

static void get_chunks(struct wire_reader *reader, struct stage_manifest *manifest)
{
    uint32_t count = get_count(reader, STAGE_CHUNKS_MAX);

    manifest->chunks = memory_allocate_zeroed((count + 1) * sizeof(*manifest->chunks));
    manifest->chunks_count = count;
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        if (wire_left(reader) < STAGE_HASH_BYTES) {
            wire_fail(reader);
            return;
        }
        memcpy(manifest->chunks[i].hash, reader->position, STAGE_HASH_BYTES);
        reader->position += STAGE_HASH_BYTES;
        manifest->chunks[i].bytes = (uint32_t)wire_get_varint_max(reader, STAGE_CHUNK_BYTES);
        if (manifest->chunks[i].bytes == 0)
            wire_fail(reader);
    }
}

static void get_roots(struct wire_reader *reader, struct stage_manifest *manifest)
{
    uint32_t count = get_count(reader, STAGE_ROOTS_MAX);

    manifest->roots = memory_allocate_zeroed((count + 1) * sizeof(*manifest->roots));
    manifest->roots_count = count;
    for (uint32_t i = 0; i < count; i++) {
        manifest->roots[i] = wire_get_string(reader, STAGE_PATH_BYTES_MAX);
        if (manifest->roots[i][0] != '/')
            wire_fail(reader);
    }
}

static void get_entries(struct wire_reader *reader, struct stage_manifest *manifest)
{
    uint32_t count = get_count(reader, STAGE_ENTRIES_MAX);

    manifest->entries = memory_allocate_zeroed((count + 1) * sizeof(*manifest->entries));
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++)
        get_entry(manifest, reader, &manifest->entries[manifest->entries_count++]);
}

static void get_checks(struct wire_reader *reader, struct stage_manifest *manifest)
{
    uint32_t count = get_count(reader, STAGE_CHECKS_MAX);

    manifest->checks = memory_allocate_zeroed((count + 1) * sizeof(*manifest->checks));
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++)
        get_check(reader, &manifest->checks[manifest->checks_count++]);
}

int stage_manifest_decode(struct stage_manifest *ret_manifest, struct wire_reader *reader)
{
    struct stage_manifest manifest = {0};
    struct buffer plain = {0};
    struct wire_reader inner;

    compress_get(reader, STAGE_MANIFEST_BYTES_MAX, &plain);
    wire_reader_init(&inner, plain.data, plain.length_bytes);
    manifest.force = wire_get_u8(&inner);
    if (manifest.force > 1)
        wire_fail(&inner);
    get_roots(&inner, &manifest);
    get_chunks(&inner, &manifest);
    get_entries(&inner, &manifest);
    get_checks(&inner, &manifest);
    if (wire_finish(&inner) < 0)
        wire_fail(reader);
    buffer_fini(&plain);
    if (wire_finish(reader) < 0) {
        stage_manifest_fini(&manifest);
        *ret_manifest = manifest;
        return -EBADMSG;
    }
    *ret_manifest = manifest;
    return 0;
}

/* ---- orders and packs ---- */

static struct wire_bytes get_rest(struct wire_reader *reader)
{
    struct wire_bytes rest = {.data = reader->position, .length_bytes = wire_left(reader)};

    reader->position = reader->end;
    return rest;
}

void stage_order_fini(struct stage_order *order)
{
    ranges_fini(&order->places);
}

void stage_order_encode(const struct stage_order *order, struct buffer *out)
{
    assert(order->step < STAGE_STEP_COUNT);
    wire_put_u8(out, JOB_MESSAGE_STAGE);
    wire_put_u8(out, order->step);
    wire_put_u32(out, order->job);
    wire_put_u32(out, order->transfer);
    wire_put_u32(out, order->generation);
    ranges_encode(&order->places, out);
    buffer_append(out, order->body.data, order->body.length_bytes);
}

int stage_order_decode(struct stage_order *ret_order, struct wire_reader *reader)
{
    struct stage_order order = {.step = wire_get_u8(reader)};

    order.job = wire_get_u32(reader);
    order.transfer = wire_get_u32(reader);
    order.generation = wire_get_u32(reader);
    ranges_decode(reader, RANGES_MAX, &order.places);
    order.body = get_rest(reader);
    if (order.step >= STAGE_STEP_COUNT || wire_status(reader) < 0) {
        stage_order_fini(&order);
        return -EBADMSG;
    }
    *ret_order = order;
    return 0;
}

void stage_reply_encode(uint32_t generation, const struct buffer *report, struct buffer *out)
{
    wire_put_u32(out, generation);
    buffer_append(out, report->data, report->length_bytes);
}

int stage_reply_decode(struct stage_reply *ret_reply, struct wire_reader *reader)
{
    struct stage_reply reply = {.generation = wire_get_u32(reader)};

    reply.report = get_rest(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    *ret_reply = reply;
    return 0;
}

void stage_piece_encode(const struct stage_piece *piece, struct buffer *out)
{
    assert(piece->is_compressed <= 1 && piece->bytes.length_bytes > 0);
    wire_put_varint(out, piece->chunk);
    wire_put_u8(out, piece->is_compressed);
    wire_put_bytes(out, piece->bytes.data, piece->bytes.length_bytes);
}

int stage_piece_decode(struct stage_piece *ret_piece, struct wire_reader *reader)
{
    struct stage_piece piece;

    if (wire_status(reader) == 0 && wire_left(reader) == 0)
        return 0;
    piece.chunk = (uint32_t)wire_get_varint_max(reader, STAGE_CHUNKS_MAX);
    piece.is_compressed = wire_get_u8(reader);
    piece.bytes = wire_get_bytes(reader, STAGE_CHUNK_BYTES);
    if (piece.is_compressed > 1 || piece.bytes.length_bytes == 0)
        wire_fail(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    *ret_piece = piece;
    return 1;
}

void stage_request_encode(const struct stage_request *request, struct buffer *out)
{
    assert(request->step < STAGE_REMOVE);
    wire_put_u8(out, request->step);
    wire_put_u32(out, request->job);
    buffer_append(out, request->body.data, request->body.length_bytes);
}

int stage_request_decode(struct stage_request *ret_request, struct wire_reader *reader)
{
    struct stage_request request = {.step = wire_get_u8(reader)};

    request.job = wire_get_u32(reader);
    request.body = get_rest(reader);
    if (wire_status(reader) < 0 || request.step >= STAGE_REMOVE)
        return -EBADMSG;
    *ret_request = request;
    return 0;
}

void stage_answer_encode(const struct stage_answer *answer, struct buffer *out)
{
    assert(answer->outcome < STAGE_OUTCOME_COUNT);
    wire_put_u8(out, answer->outcome);
    wire_put_u32(out, answer->nodes);
    wire_put_bytes(out, answer->text.data, answer->text.length_bytes);
    wire_put_bytes(out, answer->lacks.data, answer->lacks.length_bytes);
}

int stage_answer_decode(struct stage_answer *ret_answer, struct wire_reader *reader)
{
    struct stage_answer answer = {.outcome = wire_get_u8(reader)};

    answer.nodes = wire_get_u32(reader);
    answer.text = wire_get_bytes(reader, STAGE_MANIFEST_BYTES_MAX);
    answer.lacks = wire_get_bytes(reader, STAGE_SET_BYTES(STAGE_CHUNKS_MAX));
    if (wire_finish(reader) < 0 || answer.outcome >= STAGE_OUTCOME_COUNT)
        return -EBADMSG;
    *ret_answer = answer;
    return 0;
}
