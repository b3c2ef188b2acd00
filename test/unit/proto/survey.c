/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers of nodes about themselves: through the wire, and two of them made one.
 */
#include "config.h"

#include "launch/proto/survey.h"

#include <errno.h>
#include <stdio.h>

#include "test/support/tap.h"

/* One node that could not look at itself, packed. */
static void put_failed(uint32_t node, const char *why, struct buffer *out)
{
    struct survey survey = {.why = ""};

    ranges_add(&survey.failed, node, node);
    snprintf(survey.why, sizeof(survey.why), "%s", why);
    survey_encode(&survey, out);
    survey_fini(&survey);
}

static int decode(const struct buffer *packed, size_t bytes, struct survey *ret_survey)
{
    struct wire_reader reader;

    wire_reader_init(&reader, packed->data, bytes);
    return survey_decode(ret_survey, &reader);
}

static void test_round_trip(void)
{
    struct buffer packed = {0};
    struct survey survey;

    put_failed(7, "no /sys", &packed);
    is_int(decode(&packed, packed.length_bytes, &survey), 0, "an answer is read");
    is_uint(ranges_count(&survey.failed), 1, "one node failed");
    is_uint(ranges_min(&survey.failed), 7, "which one is told");
    is_string(survey.why, "no /sys", "and why");
    survey_fini(&survey);
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++) {
        is_int(decode(&packed, bytes, &survey), -EBADMSG, "%zu bytes of it are refused", bytes);
        ok(ranges_is_empty(&survey.failed), "and leave nothing");
    }
    buffer_fini(&packed);
}

static void test_merge(void)
{
    struct buffer merged = {0}, other = {0};
    struct survey survey;

    put_failed(9, "of 9", &other);
    survey_merge(&merged, other.data, other.length_bytes);
    is_bytes(merged.data, merged.length_bytes, other.data, other.length_bytes,
             "the first answer is taken as it is");
    buffer_clear(&other);
    put_failed(3, "of 3", &other);
    survey_merge(&merged, other.data, other.length_bytes);
    buffer_clear(&other);
    put_failed(12, "of 12", &other);
    survey_merge(&merged, other.data, other.length_bytes);
    survey_merge(&merged, "\xff", 1);
    is_int(decode(&merged, merged.length_bytes, &survey), 0, "what was merged is read");
    is_uint(ranges_count(&survey.failed), 3,
            "all nodes are in it, and nothing of a damaged answer");
    is_string(survey.why, "of 3", "the reason is that of the lowest node");
    survey_fini(&survey);
    buffer_fini(&merged);
    buffer_fini(&other);
}

/* The message's kind stands before what is decoded. */
static void test_request(void)
{
    struct survey_request request = {.number = 4,
                                     .generation = 2,
                                     .want = SURVEY_FACTS,
                                     .require = memory_copy_string("mem>1G")};
    struct survey_request back;
    struct buffer packed = {0};
    struct wire_reader reader;
    int refused = 1;

    ranges_add(&request.places, 1, 9);
    survey_request_encode(&request, &packed);
    wire_reader_init(&reader, packed.data + 1, packed.length_bytes - 1);
    is_int(survey_request_decode(&back, &reader), 0, "a question is read");
    is_uint(back.number, 4, "its job");
    is_uint(back.generation, 2, "which of its surveys");
    is_uint(back.want, SURVEY_FACTS, "what is asked");
    is_string(back.require, "mem>1G", "for what");
    ok(ranges_equal(&back.places, &request.places), "and of whom");
    survey_request_fini(&back);
    for (size_t bytes = 0; bytes + 1 < packed.length_bytes; bytes++) {
        wire_reader_init(&reader, packed.data + 1, bytes);
        refused &= survey_request_decode(&back, &reader) == -EBADMSG;
        survey_request_fini(&back);
    }
    ok(refused, "one that is cut anywhere is refused");
    survey_request_fini(&request);
    buffer_fini(&packed);
}

int main(void)
{
    test_round_trip();
    test_merge();
    test_request();
    return done_testing();
}
