/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes report about a step of staging, and how reports become one. */
#include "config.h"

#include "launch/proto/stage.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGES_MAX 16777216u

void stage_report_fini(struct stage_report *report)
{
    for (uint32_t i = 0; i < report->failures_count; i++)
        ranges_fini(&report->failures[i].places);
    free(report->failures);
    free(report->shared);
    buffer_fini(&report->lacks);
    ranges_fini(&report->keepers);
    ranges_fini(&report->others);
    *report = (struct stage_report){.failures = NULL};
}

static void add_failure(struct stage_report *report, const struct ranges *places, const char *text)
{
    struct stage_failure *failure;

    for (uint32_t i = 0; i < report->failures_count; i++) {
        failure = &report->failures[i];
        if (strncmp(failure->text, text, STAGE_TEXT_BYTES - 1) == 0) {
            ranges_add_all(&failure->places, places);
            return;
        }
    }
    if (report->failures_count == STAGE_FAILURES_MAX) {
        ranges_add_all(&report->others, places);
        return;
    }
    report->failures =
        memory_resize(report->failures, (report->failures_count + 1) * sizeof(*report->failures));
    failure = &report->failures[report->failures_count++];
    *failure = (struct stage_failure){.text = ""};
    snprintf(failure->text, sizeof(failure->text), "%s", text);
    ranges_add_all(&failure->places, places);
}

void stage_report_fail(struct stage_report *report, uint32_t place, const char *text)
{
    struct ranges places = {0};

    ranges_add(&places, place, place);
    add_failure(report, &places, text);
    ranges_fini(&places);
}

static void add_shared(struct stage_report *report, struct stage_shared shared)
{
    for (uint32_t i = 0; i < report->shared_count; i++) {
        if (report->shared[i].cache != shared.cache)
            continue;
        if (shared.place < report->shared[i].place)
            report->shared[i].place = shared.place;
        return;
    }
    if (report->shared_count == STAGE_SHARED_MAX) {
        ranges_add(&report->keepers, shared.place, shared.place);
        return;
    }
    report->shared =
        memory_resize(report->shared, (report->shared_count + 1) * sizeof(*report->shared));
    report->shared[report->shared_count++] = shared;
}

void stage_report_encode(const struct stage_report *report, struct buffer *out)
{
    assert(report->failures_count <= STAGE_FAILURES_MAX);
    assert(report->shared_count <= STAGE_SHARED_MAX);
    wire_put_bytes(out, report->lacks.data, report->lacks.length_bytes);
    ranges_encode(&report->keepers, out);
    wire_put_varint(out, report->shared_count);
    for (uint32_t i = 0; i < report->shared_count; i++) {
        wire_put_u64(out, report->shared[i].cache);
        wire_put_u32(out, report->shared[i].place);
    }
    wire_put_varint(out, report->failures_count);
    for (uint32_t i = 0; i < report->failures_count; i++) {
        wire_put_string(out, report->failures[i].text);
        ranges_encode(&report->failures[i].places, out);
    }
    ranges_encode(&report->others, out);
}

static void get_shared(struct wire_reader *reader, struct stage_report *report)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, STAGE_SHARED_MAX);

    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        struct stage_shared shared = {.cache = wire_get_u64(reader)};

        shared.place = wire_get_u32(reader);
        if (wire_status(reader) == 0)
            add_shared(report, shared);
    }
}

static void get_failures(struct wire_reader *reader, struct stage_report *report)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, STAGE_FAILURES_MAX);

    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        struct ranges places = {0};
        char text[STAGE_TEXT_BYTES];

        wire_get_string_into(reader, text, sizeof(text));
        ranges_decode(reader, RANGES_MAX, &places);
        if (wire_status(reader) == 0)
            add_failure(report, &places, text);
        ranges_fini(&places);
    }
}

int stage_report_decode(struct stage_report *ret_report, struct wire_reader *reader)
{
    struct stage_report report = {.failures = NULL};
    struct wire_bytes lacks = wire_get_bytes(reader, STAGE_SET_BYTES(STAGE_CHUNKS_MAX));

    buffer_append(&report.lacks, lacks.data, lacks.length_bytes);
    ranges_decode(reader, RANGES_MAX, &report.keepers);
    get_shared(reader, &report);
    get_failures(reader, &report);
    ranges_decode(reader, RANGES_MAX, &report.others);
    if (wire_finish(reader) < 0) {
        stage_report_fini(&report);
        *ret_report = report;
        return -EBADMSG;
    }
    *ret_report = report;
    return 0;
}

static void merge_reports(struct stage_report *sum, const struct stage_report *part)
{
    size_t bytes = part->lacks.length_bytes;

    assert(sum != part);
    if (sum->lacks.length_bytes < bytes) {
        size_t more = bytes - sum->lacks.length_bytes;

        memset(buffer_reserve(&sum->lacks, more), 0, more);
        buffer_commit(&sum->lacks, more);
    }
    for (size_t i = 0; i < bytes; i++)
        sum->lacks.data[i] |= part->lacks.data[i];
    ranges_add_all(&sum->keepers, &part->keepers);
    for (uint32_t i = 0; i < part->shared_count; i++)
        add_shared(sum, part->shared[i]);
    for (uint32_t i = 0; i < part->failures_count; i++)
        add_failure(sum, &part->failures[i].places, part->failures[i].text);
    ranges_add_all(&sum->others, &part->others);
}

/* What cannot be read adds nothing. */
void stage_report_merge(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct stage_report sum, part;
    struct wire_reader reader;

    wire_reader_init(&reader, other, other_bytes);
    if (stage_report_decode(&part, &reader) < 0)
        return;
    wire_reader_init(&reader, merged->data, merged->length_bytes);
    (void)stage_report_decode(&sum, &reader);
    merge_reports(&sum, &part);
    buffer_clear(merged);
    stage_report_encode(&sum, merged);
    stage_report_fini(&sum);
    stage_report_fini(&part);
}
