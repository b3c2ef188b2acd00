/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/survey.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/job_wire.h"

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

static void merge_surveys(struct survey *sum, const struct survey *part)
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
        merge_surveys(&sum, &part);
        buffer_clear(merged);
        survey_encode(&sum, merged);
        survey_fini(&sum);
    }
    survey_fini(&part);
}

void survey_request_encode(const struct survey_request *request, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_SURVEY);
    wire_put_u32(out, request->number);
    wire_put_u32(out, request->generation);
    wire_put_u8(out, request->want);
    wire_put_string(out, request->require);
    ranges_encode(&request->places, out);
}

int survey_request_decode(struct survey_request *ret_request, struct wire_reader *reader)
{
    *ret_request = (struct survey_request){.places = {0}};
    ret_request->number = wire_get_u32(reader);
    ret_request->generation = wire_get_u32(reader);
    ret_request->want = wire_get_u8(reader);
    ret_request->require = wire_get_string(reader, SURVEY_REQUIRE_BYTES_MAX);
    ranges_decode(reader, UINT32_MAX, &ret_request->places);
    return wire_finish(reader);
}

void survey_request_fini(struct survey_request *request)
{
    free(request->require);
    ranges_fini(&request->places);
    *request = (struct survey_request){.places = {0}};
}
