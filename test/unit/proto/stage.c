/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch/proto/stage_wire.c and launch/proto/stage_report_wire.c: what is written is read, no path leaves its
 * destination, nothing that is cut short is accepted, and reports become one in any order.
 */
#include "config.h"

#include "launch/proto/stage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/job_wire.h"
#include "test/support/tap.h"
#include "test/support/truncated.h"

static void add_entry(struct stage_manifest *manifest, struct stage_entry entry)
{
    manifest->entries =
        memory_resize(manifest->entries, (manifest->entries_count + 1) * sizeof(entry));
    manifest->entries[manifest->entries_count++] = entry;
}

static void make_manifest(struct stage_manifest *manifest)
{
    uint32_t chunks[] = {0, 1, 0};

    *manifest = (struct stage_manifest){.force = 1, .roots_count = 1, .chunks_count = 2};
    manifest->roots = memory_allocate_zeroed(sizeof(char *));
    manifest->roots[0] = memory_copy_string("/scratch");
    manifest->chunks = memory_allocate_zeroed(2 * sizeof(*manifest->chunks));
    memset(manifest->chunks[0].hash, 1, STAGE_HASH_BYTES);
    memset(manifest->chunks[1].hash, 2, STAGE_HASH_BYTES);
    manifest->chunks[0].bytes = STAGE_CHUNK_BYTES;
    manifest->chunks[1].bytes = 5;
    add_entry(manifest, (struct stage_entry){.kind = STAGE_DIRECTORY,
                                             .path = memory_copy_string("d"),
                                             .mode = 0555});
    add_entry(manifest, (struct stage_entry){.kind = STAGE_SYMLINK,
                                             .path = memory_copy_string("d/l"),
                                             .target = memory_copy_string("/usr/bin/python3")});
    add_entry(manifest, (struct stage_entry){.kind = STAGE_FILE,
                                             .root = 1,
                                             .path = memory_copy_string("a/b"),
                                             .mode = 0751,
                                             .time_ns = 12345678901234567u,
                                             .bytes = 2 * STAGE_CHUNK_BYTES + 5,
                                             .chunks = memory_copy(chunks, sizeof(chunks)),
                                             .chunks_count = 3});
    manifest->checks = memory_allocate_zeroed(sizeof(*manifest->checks));
    manifest->checks_count = 1;
    manifest->checks[0] = (struct stage_check){.is_staged = 1,
                                               .program = memory_copy_string("bin/app"),
                                               .directory = memory_copy_string("/"),
                                               .path = memory_copy_string("/bin"),
                                               .library_path = memory_copy_string("")};
}

static int decode_manifest(struct wire_reader *reader)
{
    struct stage_manifest manifest;
    int rc = stage_manifest_decode(&manifest, reader);

    stage_manifest_fini(&manifest);
    return rc;
}

static void test_manifest(void)
{
    struct stage_manifest manifest, back;
    struct buffer out = {0}, again = {0};
    struct wire_reader reader;

    make_manifest(&manifest);
    stage_manifest_encode(&manifest, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(stage_manifest_decode(&back, &reader), 0, "a manifest is read");
    stage_manifest_encode(&back, &again);
    is_bytes(again.data, again.length_bytes, out.data, out.length_bytes, "as it was written");
    is_string(back.entries[2].path, "a/b", "with its paths");
    is_uint(back.entries[2].time_ns, 12345678901234567u, "and times");
    is_uint(back.entries[2].mode, 0751, "and permissions");
    truncated_is_refused(&out, decode_manifest, "manifest");
    stage_manifest_fini(&back);
    stage_manifest_fini(&manifest);
    buffer_fini(&out);
    buffer_fini(&again);
}

/* Written with a byte changed where the encoder would not write it so. */
static void test_bad_manifests(void)
{
    struct stage_manifest manifest;
    struct buffer out = {0};
    struct wire_reader reader;
    unsigned char *found;

    make_manifest(&manifest);
    stage_manifest_encode(&manifest, &out);
    found = memmem(out.data, out.length_bytes, "d/l", 3);
    memcpy(found, "../", 3);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(decode_manifest(&reader), -EBADMSG, "a path that leaves its destination is refused");
    memcpy(found, "/ab", 3);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(decode_manifest(&reader), -EBADMSG, "so is an absolute one");
    memcpy(found, "d/l", 3);
    found = memmem(out.data, out.length_bytes, "/scratch", 8);
    found[0] = 's';
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(decode_manifest(&reader), -EBADMSG, "so is a destination that is not absolute");
    found[0] = '/';
    manifest.entries[2].bytes--;
    buffer_clear(&out);
    stage_manifest_encode(&manifest, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(decode_manifest(&reader), -EBADMSG, "so are chunks that are longer than their file");
    manifest.entries[2].bytes++;
    manifest.entries[2].chunks[1] = 2;
    buffer_clear(&out);
    stage_manifest_encode(&manifest, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(decode_manifest(&reader), -EBADMSG, "so is a chunk that does not exist");
    stage_manifest_fini(&manifest);
    buffer_fini(&out);
}

static void test_paths(void)
{
    static const char *const good[] = {"a", "a/b", "..a/b..", ".hidden", "a/...", NULL};
    static const char *const bad[] = {"",    "/",  "/a",   "a/",   "a//b",   ".", "./a",
                                      "a/.", "..", "../a", "a/..", "a/../b", NULL};

    for (size_t i = 0; good[i] != NULL; i++)
        ok(stage_path_is_safe(good[i]), "'%s' stays below its destination", good[i]);
    for (size_t i = 0; bad[i] != NULL; i++)
        ok(!stage_path_is_safe(bad[i]), "'%s' is refused", bad[i]);
}

static void test_order(void)
{
    struct stage_order order = {.step = STAGE_PACK, .job = 7, .transfer = 8, .generation = 9};
    struct stage_order back;
    struct buffer out = {0};
    struct wire_reader reader;

    ranges_add(&order.places, 1, 5);
    order.body = (struct wire_bytes){.data = (const unsigned char *)"body", .length_bytes = 4};
    stage_order_encode(&order, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(wire_get_u8(&reader), JOB_MESSAGE_STAGE, "an order begins with its kind");
    is_int(stage_order_decode(&back, &reader), 0, "and is read");
    ok(back.step == STAGE_PACK && back.job == 7 && back.transfer == 8 && back.generation == 9 &&
           ranges_equal(&back.places, &order.places) && back.body.length_bytes == 4,
       "as it was written");
    stage_order_fini(&back);
    out.data[1] = STAGE_STEP_COUNT;
    wire_reader_init(&reader, out.data + 1, out.length_bytes - 1);
    is_int(stage_order_decode(&back, &reader), -EBADMSG, "an unknown step is refused");
    stage_order_fini(&order);
    buffer_fini(&out);
}

static void test_pieces(void)
{
    struct stage_piece piece = {.chunk = 3, .is_compressed = 1}, back;
    struct buffer out = {0};
    struct wire_reader reader;

    piece.bytes = (struct wire_bytes){.data = (const unsigned char *)"xyz", .length_bytes = 3};
    stage_piece_encode(&piece, &out);
    piece.chunk = 4;
    piece.is_compressed = 0;
    stage_piece_encode(&piece, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(stage_piece_decode(&back, &reader), 1, "a piece of a pack");
    ok(back.chunk == 3 && back.is_compressed && back.bytes.length_bytes == 3, "is read");
    is_int(stage_piece_decode(&back, &reader), 1, "and the next");
    ok(back.chunk == 4 && !back.is_compressed, "is read");
    is_int(stage_piece_decode(&back, &reader), 0, "then there are no more");
    wire_reader_init(&reader, out.data, out.length_bytes - 1);
    (void)stage_piece_decode(&back, &reader);
    is_int(stage_piece_decode(&back, &reader), -EBADMSG, "one that is cut short is refused");
    buffer_fini(&out);
}

static void test_request_and_answer(void)
{
    struct stage_request request = {.step = STAGE_COMMIT, .job = 3}, request_back;
    struct stage_answer answer = {.outcome = STAGE_AGAIN, .nodes = 12}, answer_back;
    struct stage_reply reply;
    struct buffer out = {0}, report = {0};
    struct wire_reader reader;

    stage_request_encode(&request, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(stage_request_decode(&request_back, &reader), 0, "a request is read");
    ok(request_back.step == STAGE_COMMIT && request_back.job == 3, "as it was written");
    out.data[0] = STAGE_REMOVE;
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(stage_request_decode(&request_back, &reader), -EBADMSG, "clients remove nothing");
    buffer_clear(&out);
    answer.text = (struct wire_bytes){.data = (const unsigned char *)"why", .length_bytes = 3};
    stage_answer_encode(&answer, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(stage_answer_decode(&answer_back, &reader), 0, "an answer is read");
    ok(answer_back.outcome == STAGE_AGAIN && answer_back.nodes == 12 &&
           answer_back.text.length_bytes == 3 && answer_back.lacks.length_bytes == 0,
       "as it was written");
    buffer_clear(&out);
    buffer_append(&report, "r", 1);
    stage_reply_encode(5, &report, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    ok(stage_reply_decode(&reply, &reader) == 0 && reply.generation == 5 &&
           reply.report.length_bytes == 1,
       "a reply is read");
    buffer_fini(&out);
    buffer_fini(&report);
}

static void encode_report(uint32_t place, uint64_t cache, int lacks, const char *failure,
                          struct buffer *out)
{
    struct stage_report report = {.failures = NULL};
    struct stage_shared shared = {.cache = cache, .place = place};

    if (lacks >= 0) {
        unsigned char set[2] = {0};

        stage_set_add(set, sizeof(set), (uint32_t)lacks);
        buffer_append(&report.lacks, set, (size_t)lacks / 8 + 1);
    }
    if (cache != 0) {
        report.shared = memory_copy(&shared, sizeof(shared));
        report.shared_count = 1;
    } else {
        ranges_add(&report.keepers, place, place);
    }
    if (failure != NULL)
        stage_report_fail(&report, place, failure);
    buffer_clear(out);
    stage_report_encode(&report, out);
    stage_report_fini(&report);
}

static void test_merge(void)
{
    struct stage_report report;
    struct buffer sum = {0}, part = {0};
    struct wire_reader reader;

    encode_report(4, 77, 9, "disk full", &sum);
    encode_report(2, 77, 1, "disk full", &part);
    stage_report_merge(&sum, part.data, part.length_bytes);
    encode_report(3, 0, -1, NULL, &part);
    stage_report_merge(&sum, part.data, part.length_bytes);
    encode_report(5, 0, -1, "other", &part);
    stage_report_merge(&sum, part.data, part.length_bytes);
    stage_report_merge(&sum, "rubbish", 7);
    wire_reader_init(&reader, sum.data, sum.length_bytes);
    is_int(stage_report_decode(&report, &reader), 0, "reports are one");
    ok(stage_set_has(report.lacks.data, report.lacks.length_bytes, 9) &&
           stage_set_has(report.lacks.data, report.lacks.length_bytes, 1) &&
           !stage_set_has(report.lacks.data, report.lacks.length_bytes, 8),
       "that lacks what one of them lacks");
    ok(report.shared_count == 1 && report.shared[0].place == 2,
       "the first of those that share a cache keeps");
    is_uint(ranges_count(&report.keepers), 2, "and each of the others");
    ok(report.failures_count == 2 && ranges_count(&report.failures[0].places) == 2,
       "equal failures are one");
    stage_report_fini(&report);
    for (uint32_t place = 6; place < 40; place++) {
        char text[16];

        snprintf(text, sizeof(text), "why %u", place);
        encode_report(place, 0, -1, text, &part);
        stage_report_merge(&sum, part.data, part.length_bytes);
    }
    wire_reader_init(&reader, sum.data, sum.length_bytes);
    is_int(stage_report_decode(&report, &reader), 0, "many different failures");
    is_uint(report.failures_count, STAGE_FAILURES_MAX, "are not all listed");
    is_uint(ranges_count(&report.others), 34 - (STAGE_FAILURES_MAX - 2), "the others are counted");
    stage_report_fini(&report);
    buffer_fini(&sum);
    buffer_fini(&part);
}

int main(void)
{
    test_paths();
    test_manifest();
    test_bad_manifests();
    test_order();
    test_pieces();
    test_request_and_answer();
    test_merge();
    return done_testing();
}
