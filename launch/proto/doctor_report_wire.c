/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/doctor_report.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void doctor_report_line_encode(enum doctor_topic topic, enum doctor_level level, const char *text,
                               const char *remedy, struct buffer *out)
{
    assert(topic < DOCTOR_TOPIC_COUNT && level < DOCTOR_LEVEL_COUNT);
    wire_put_u8(out, (uint8_t)topic);
    wire_put_u8(out, (uint8_t)level);
    wire_put_bytes(out, text, strnlen(text, DOCTOR_TEXT_BYTES_MAX));
    wire_put_bytes(out, remedy, strnlen(remedy, DOCTOR_TEXT_BYTES_MAX));
}

struct line {
    enum doctor_topic topic;
    enum doctor_level level;
    char *text;
    char *remedy;
};

/* Texts are always set. */
static int get_line(struct wire_reader *reader, struct line *ret_line)
{
    uint8_t topic = wire_get_u8(reader);
    uint8_t level = wire_get_u8(reader);
    char *text = wire_get_string(reader, DOCTOR_TEXT_BYTES_MAX);
    char *remedy = wire_get_string(reader, DOCTOR_TEXT_BYTES_MAX);

    if (topic >= DOCTOR_TOPIC_COUNT || level >= DOCTOR_LEVEL_COUNT)
        wire_fail(reader);
    *ret_line = (struct line){.topic = (enum doctor_topic)topic,
                              .level = (enum doctor_level)level,
                              .text = text,
                              .remedy = remedy};
    return wire_status(reader);
}

static void line_fini(struct line *line)
{
    free(line->text);
    free(line->remedy);
}

int doctor_report_line_decode(struct wire_reader *reader, const struct ranges *places,
                              struct doctor_report *report)
{
    struct line line;
    int rc = get_line(reader, &line);

    if (rc == 0)
        doctor_report_add(report, line.topic, line.level, places, line.text, line.remedy);
    line_fini(&line);
    return rc;
}

void doctor_report_encode(const struct doctor_report *report, struct buffer *out)
{
    for (uint32_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->items[i];
        doctor_report_line_encode(finding->topic, finding->level, finding->text, finding->remedy,
                                  out);
        ranges_encode(&finding->places, out);
    }
}

int doctor_report_decode(struct doctor_report *ret_report, struct wire_reader *reader)
{
    *ret_report = (struct doctor_report){0};
    while (wire_left(reader) > 0 && wire_status(reader) == 0) {
        struct ranges places = {0};
        struct line line;

        get_line(reader, &line);
        ranges_decode(reader, DOCTOR_RANGES_MAX, &places);
        if (wire_status(reader) == 0 && !ranges_is_empty(&places))
            doctor_report_add(ret_report, line.topic, line.level, &places, line.text, line.remedy);
        line_fini(&line);
        ranges_fini(&places);
    }
    if (wire_status(reader) == 0)
        return 0;
    doctor_report_fini(ret_report);
    return -EBADMSG;
}

/* Malformed findings of a peer are skipped; the others are kept. */
void doctor_report_fold(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct doctor_report left, right;
    struct wire_reader reader;

    wire_reader_init(&reader, merged->data, merged->length_bytes);
    (void)doctor_report_decode(&left, &reader);
    wire_reader_init(&reader, other, other_bytes);
    (void)doctor_report_decode(&right, &reader);
    doctor_report_merge(&left, &right);
    buffer_clear(merged);
    doctor_report_encode(&left, merged);
    doctor_report_fini(&left);
    doctor_report_fini(&right);
}
