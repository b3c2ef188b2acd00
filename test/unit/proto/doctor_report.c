/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/doctor_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

static struct ranges place(uint32_t first, uint32_t last)
{
    struct ranges places = {0};

    ranges_add(&places, first, last);
    return places;
}

static void add(struct doctor_report *report, enum doctor_topic topic, enum doctor_level level,
                uint32_t first, uint32_t last, const char *text, const char *remedy)
{
    struct ranges places = place(first, last);

    doctor_report_add(report, topic, level, &places, text, remedy);
    ranges_fini(&places);
}

/* Folded in any grouping the reports of many places are the same. */
static void test_fold(void)
{
    struct buffer left = {0}, right = {0}, all = {0};

    for (uint32_t i = 0; i < 100; i++) {
        struct doctor_report report = {0};
        struct buffer one = {0};
        add(&report, DOCTOR_BANYAN, DOCTOR_FACT, i, i, "0.1", NULL);
        add(&report, DOCTOR_SPACE, i % 10 == 0 ? DOCTOR_PROBLEM : DOCTOR_FACT, i, i, "room",
            "remedy");
        doctor_report_encode(&report, &one);
        doctor_report_fold(i < 50 ? &left : &right, one.data, one.length_bytes);
        doctor_report_fold(&all, one.data, one.length_bytes);
        doctor_report_fini(&report);
        buffer_fini(&one);
    }
    doctor_report_fold(&left, right.data, right.length_bytes);
    is_bytes(left.data, left.length_bytes, all.data, all.length_bytes, "the grouping is the same");
    ok(all.length_bytes < 120, "a hundred places cost what differs: %zu bytes", all.length_bytes);
    buffer_clear(&right);
    buffer_append_string(&right, "rubbish of a peer");
    doctor_report_fold(&left, right.data, right.length_bytes);
    is_bytes(left.data, left.length_bytes, all.data, all.length_bytes, "rubbish is left out");
    buffer_fini(&left);
    buffer_fini(&right);
    buffer_fini(&all);
}

static void test_wire(void)
{
    struct doctor_report report = {0}, copy;
    struct buffer out = {0};
    struct wire_reader reader;
    char *long_text = memory_allocate(2 * DOCTOR_TEXT_BYTES_MAX + 1);

    memset(long_text, 'x', 2 * DOCTOR_TEXT_BYTES_MAX);
    long_text[2 * DOCTOR_TEXT_BYTES_MAX] = '\0';
    add(&report, DOCTOR_CLOCK, DOCTOR_PROBLEM, 7, 9, long_text, long_text);
    add(&report, DOCTOR_START, DOCTOR_FACT, 1, 9, "", NULL);
    doctor_report_encode(&report, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(doctor_report_decode(&copy, &reader), 0, "a report can be read again");
    is_uint(copy.count, 2, "all of it");
    is_uint(strlen(copy.items[1].text), DOCTOR_TEXT_BYTES_MAX, "a text that is too long was cut");
    ok(ranges_equal(&copy.items[1].places, &report.items[1].places), "places");
    doctor_report_fini(&copy);
    for (size_t bytes = 1; bytes < out.length_bytes; bytes += 97) {
        wire_reader_init(&reader, out.data, bytes);
        is_int(doctor_report_decode(&copy, &reader), -EBADMSG, "not when it is cut to %zu", bytes);
        is_uint(copy.count, 0, "and then nothing is kept");
    }
    out.data[0] = DOCTOR_TOPIC_COUNT;
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(doctor_report_decode(&copy, &reader), -EBADMSG, "nor with a topic that is none");
    buffer_fini(&out);
    doctor_report_fini(&report);
    free(long_text);
}

static void test_many(void)
{
    struct doctor_report report = {0};
    char text[32];

    for (uint32_t i = 0; i < DOCTOR_FINDINGS_MAX + 10; i++) {
        snprintf(text, sizeof(text), "%08u", i);
        add(&report, DOCTOR_SPACE, DOCTOR_PROBLEM, i, i, text, NULL);
    }
    is_uint(report.count, DOCTOR_FINDINGS_MAX + 1, "findings are bounded");
    is_string(report.items[0].text, "not all findings are shown", "which is said");
    is_uint(ranges_count(&report.items[0].places), 10, "with where");
    doctor_report_fini(&report);
}

int main(void)
{
    test_fold();
    test_wire();
    test_many();
    return done_testing();
}
