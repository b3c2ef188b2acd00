/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages about staged files (launch/proto/stage.h): the first byte chooses a manifest, an order with a pack, a
 * report, which is also merged with itself, or what a client requests of a root with three nodes.
 */
#include "config.h"

#include "launch/core/stage_root.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static void read_manifest(struct wire_reader *reader)
{
    struct stage_manifest manifest, again;
    struct buffer encoded = {0};

    if (stage_manifest_decode(&manifest, reader) < 0)
        return;
    for (uint32_t i = 0; i < manifest.entries_count; i++) {
        assert(stage_path_is_safe(manifest.entries[i].path));
        for (uint32_t j = 0; j < manifest.entries[i].chunks_count; j++)
            assert(manifest.entries[i].chunks[j] < manifest.chunks_count);
    }
    stage_manifest_encode(&manifest, &encoded);
    wire_reader_init(reader, encoded.data, encoded.length_bytes);
    assert(stage_manifest_decode(&again, reader) == 0);
    assert(again.entries_count == manifest.entries_count);
    stage_manifest_fini(&again);
    stage_manifest_fini(&manifest);
    buffer_fini(&encoded);
}

static void read_order(struct wire_reader *reader)
{
    struct stage_order order;
    struct stage_piece piece;

    if (stage_order_decode(&order, reader) < 0)
        return;
    wire_reader_init(reader, order.body.data, order.body.length_bytes);
    while (stage_piece_decode(&piece, reader) > 0)
        assert(piece.bytes.length_bytes > 0);
    stage_order_fini(&order);
}

static void read_report(const uint8_t *data, size_t bytes)
{
    struct stage_report report;
    struct buffer merged = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (stage_report_decode(&report, &reader) < 0)
        return;
    stage_report_encode(&report, &merged);
    stage_report_merge(&merged, data, bytes);
    stage_report_fini(&report);
    wire_reader_init(&reader, merged.data, merged.length_bytes);
    assert(stage_report_decode(&report, &reader) == 0);
    assert(report.failures_count <= STAGE_FAILURES_MAX);
    stage_report_fini(&report);
    buffer_fini(&merged);
}

/* ---- a root ---- */

static int on_broadcast(void *context, const struct ranges *places, struct message *message)
{
    message_release(message);
    return 0;
}

static void on_answer(void *context, uint32_t client, uint32_t request, int status,
                      const struct buffer *data)
{
    assert(status < 0 || data != NULL);
}

static void on_number(void *context, uint32_t number)
{
}

static bool on_question(void *context, uint32_t job)
{
    return job % 2 == 0;
}

static void on_name(void *context, const struct ranges *places, struct buffer *out)
{
    ranges_print(places, out);
}

static const struct stage_root_ops root_ops = {.broadcast = on_broadcast,
                                               .answer = on_answer,
                                               .forget = on_number,
                                               .staged = on_number,
                                               .is_waiting = on_question,
                                               .name = on_name};

/* One message after another, each a byte for what happens, and for its length. */
static void drive_root(const uint8_t *data, size_t bytes)
{
    struct stage_root *root = stage_root_create(3, &root_ops, NULL);
    struct ranges lost = {0};
    uint32_t generation = 0, request = 0;

    while (bytes >= 2) {
        uint8_t what = data[0];
        size_t length = data[1] < bytes - 2 ? data[1] : bytes - 2;

        data += 2;
        ranges_clear(&lost);
        ranges_add(&lost, 1 + what % 3, 1 + what % 3);
        if (what % 8 == 0)
            stage_root_up(root);
        else if (what % 8 == 1)
            stage_root_lost(root, &lost);
        else if (what % 8 == 2)
            stage_root_client_gone(root, what / 64);
        else if (what % 8 == 3)
            stage_root_result(root, ++generation, -1, &lost, NULL, 0);
        else if (what % 8 < 6)
            stage_root_result(root, ++generation, 0, NULL, data, length);
        else
            stage_root_request(root, what / 64, ++request, data, length);
        assert(stage_root_packs(root) <= STAGE_PACKS_MAX);
        assert(stage_root_transfers(root) <= STAGE_TRANSFERS_MAX);
        data += length;
        bytes -= length + 2;
    }
    ranges_fini(&lost);
    stage_root_destroy(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct wire_reader reader;

    if (data_bytes == 0)
        return 0;
    wire_reader_init(&reader, data + 1, data_bytes - 1);
    switch (fuzz_choice(data[0], 4)) {
    case 0:
        read_manifest(&reader);
        break;
    case 1:
        read_order(&reader);
        break;
    case 2:
        read_report(data + 1, data_bytes - 1);
        break;
    default:
        drive_root(data + 1, data_bytes - 1);
    }
    return 0;
}

/* ---- samples ---- */

static void sample_manifest(struct buffer *out)
{
    char root[] = "/far", name[] = "d/file", link[] = "d/link", target[] = "../x";
    char *roots[] = {root};
    uint32_t chunks[] = {0, 0};
    struct stage_chunk chunk = {.hash = {1}, .bytes = 6};
    struct stage_entry entries[] = {{.kind = STAGE_FILE,
                                     .root = 1,
                                     .path = name,
                                     .mode = 0644,
                                     .bytes = 12,
                                     .chunks = chunks,
                                     .chunks_count = 2},
                                    {.kind = STAGE_SYMLINK, .path = link, .target = target}};
    struct stage_check check = {
        .program = name, .directory = root, .path = root, .library_path = target};
    struct stage_manifest manifest = {.roots = roots,
                                      .roots_count = 1,
                                      .entries = entries,
                                      .entries_count = 2,
                                      .chunks = &chunk,
                                      .chunks_count = 1,
                                      .checks = &check,
                                      .checks_count = 1};

    stage_manifest_encode(&manifest, out);
}

static void sample_report(struct buffer *out)
{
    struct stage_report report = {.failures = NULL};
    struct stage_shared shared = {.cache = 5, .place = 2};

    buffer_append(&report.lacks, "\3", 1);
    ranges_add(&report.keepers, 3, 3);
    report.shared = memory_copy(&shared, sizeof(shared));
    report.shared_count = 1;
    stage_report_encode(&report, out);
    stage_report_fini(&report);
}

static void add_event(struct buffer *out, uint8_t what, const struct buffer *body)
{
    uint8_t header[2] = {what, (uint8_t)body->length_bytes};

    buffer_append(out, header, 2);
    buffer_append(out, body->data, body->length_bytes);
}

static void sample_events(struct buffer *out)
{
    struct stage_request request = {.step = STAGE_OPEN};
    struct buffer body = {0}, report = {0}, nothing = {0};

    request.body = (struct wire_bytes){.data = (const unsigned char *)"m", .length_bytes = 1};
    stage_request_encode(&request, &body);
    sample_report(&report);
    add_event(out, 0, &nothing);
    add_event(out, 6, &body);
    add_event(out, 4, &report);
    request.step = STAGE_PACK;
    buffer_clear(&body);
    stage_request_encode(&request, &body);
    add_event(out, 6, &body);
    add_event(out, 4, &report);
    request.step = STAGE_COMMIT;
    buffer_clear(&body);
    stage_request_encode(&request, &body);
    add_event(out, 6, &body);
    add_event(out, 3, &nothing);
    buffer_fini(&body);
    buffer_fini(&report);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct stage_order order = {.step = STAGE_PACK, .transfer = 1};
    struct stage_piece piece = {
        .bytes = {.data = (const unsigned char *)"content", .length_bytes = 7}};
    struct buffer bytes = {0}, body = {0}, encoded = {0};
    uint8_t choice = (uint8_t)number;

    if (number > 3)
        return 0;
    buffer_append(&bytes, &choice, 1);
    if (number == 0) {
        sample_manifest(&bytes);
    } else if (number == 1) {
        stage_piece_encode(&piece, &body);
        order.body = (struct wire_bytes){.data = body.data, .length_bytes = body.length_bytes};
        stage_order_encode(&order, &encoded);
        buffer_append(&bytes, encoded.data + 1, encoded.length_bytes - 1); /* without its kind */
    } else if (number == 2) {
        sample_report(&bytes);
    } else {
        sample_events(&bytes);
    }
    buffer_fini(&body);
    buffer_fini(&encoded);
    return fuzz_hand_over(&bytes, buffer, buffer_bytes);
}
