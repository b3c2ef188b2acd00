/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/survey.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define NODE_RANGES_MAX 16777216u

void survey_fini(struct survey *survey)
{
    placement_machines_fini(&survey->machines);
    facts_table_fini(&survey->facts);
    ranges_fini(&survey->failed);
}

void survey_encode(const struct survey *survey, struct buffer *out)
{
    assert(memchr(survey->why, '\0', sizeof(survey->why)) != NULL);
    placement_machines_encode(&survey->machines, out);
    facts_table_encode(&survey->facts, out);
    ranges_encode(&survey->failed, out);
    wire_put_string(out, survey->why);
}

int survey_decode(struct survey *ret_survey, struct wire_reader *reader)
{
    struct survey survey = {.why = ""};

    if (placement_machines_decode(&survey.machines, reader) == 0)
        (void)facts_table_decode(&survey.facts, reader);
    ranges_decode(reader, NODE_RANGES_MAX, &survey.failed);
    wire_get_string_into(reader, survey.why, sizeof(survey.why));
    if (wire_status(reader) < 0) {
        survey_fini(&survey);
        *ret_survey = (struct survey){.why = ""};
        return -EBADMSG;
    }
    *ret_survey = survey;
    return 0;
}

static void merge(struct survey *sum, const struct survey *part)
{
    assert(sum != part);
    placement_machines_merge(&sum->machines, &part->machines);
    facts_table_merge(&sum->facts, &part->facts);
    if (!ranges_is_empty(&part->failed) &&
        (ranges_is_empty(&sum->failed) || ranges_min(&part->failed) < ranges_min(&sum->failed)))
        memcpy(sum->why, part->why, sizeof(sum->why));
    ranges_add_all(&sum->failed, &part->failed);
    assert(ranges_contains_all(&sum->failed, &part->failed));
}

void survey_merge(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct survey sum, part;
    struct wire_reader reader;

    if (merged->length_bytes == 0) {
        buffer_append(merged, other, other_bytes);
        return;
    }
    wire_reader_init(&reader, other, other_bytes);
    if (survey_decode(&part, &reader) < 0)
        return;
    wire_reader_init(&reader, merged->data, merged->length_bytes);
    if (survey_decode(&sum, &reader) == 0) {
        merge(&sum, &part);
        buffer_clear(merged);
        survey_encode(&sum, merged);
        survey_fini(&sum);
    }
    survey_fini(&part);
}
