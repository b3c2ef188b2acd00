/* SPDX-License-Identifier: BSD-3-Clause */
/* launch/cli/client/output_label.c: times and ranks before lines. */
#include "config.h"

#include "launch/cli/client/output_label.h"
#include "test/support/tap.h"

#include <string.h>

#include "base/time.h"

/* 2026-11-26T11:30:51Z */
#define THEN_S 1795692651ull

static void label_is(enum output_label_times times, int ranks, uint32_t job, uint64_t time_ns,
                     const char *expected)
{
    const struct output_label_style style = {.times = times, .ranks = ranks};
    struct buffer out = {0};

    output_label_append(&style, job, 3, time_ns, &out);
    is_string(buffer_string(&out), expected, "the label '%s'", expected);
    buffer_fini(&out);
}

static void test_labels(void)
{
    uint64_t then_ns = THEN_S * NS_PER_S;

    label_is(OUTPUT_LABEL_NO_TIME, 0, 0, then_ns, "");
    label_is(OUTPUT_LABEL_NO_TIME, 1, 0, then_ns, "[3] ");
    label_is(OUTPUT_LABEL_NO_TIME, 1, 2, then_ns, "[2.3] ");
    label_is(OUTPUT_LABEL_MILLISECONDS, 0, 2, then_ns, "2026-11-26T11:30:51.000Z ");
    label_is(OUTPUT_LABEL_MILLISECONDS, 1, 0, then_ns + 42999999, "2026-11-26T11:30:51.042Z [3] ");
    label_is(OUTPUT_LABEL_NANOSECONDS, 1, 2, then_ns + 42999999,
             "2026-11-26T11:30:51.042999999Z [2.3] ");
    label_is(OUTPUT_LABEL_NANOSECONDS, 0, 0, 1, "1970-01-01T00:00:00.000000001Z ");
    label_is(OUTPUT_LABEL_MILLISECONDS, 0, 0, UINT64_MAX, "2554-07-21T23:34:33.709Z ");
}

static void test_counts(void)
{
    is_int(output_label_times_of(0), OUTPUT_LABEL_NO_TIME, "no option, no time");
    is_int(output_label_times_of(1), OUTPUT_LABEL_MILLISECONDS, "once: milliseconds");
    is_int(output_label_times_of(2), OUTPUT_LABEL_NANOSECONDS, "twice: nanoseconds");
    is_int(output_label_times_of(7), OUTPUT_LABEL_NANOSECONDS, "more: nanoseconds");
}

static void put(struct output_label_line *line, uint32_t job, uint32_t rank, const char *text,
                struct buffer *out)
{
    const struct output_label_style style = {.ranks = 1};
    const struct control_output output = {
        .rank = rank,
        .stream = 1,
        .bytes = {.data = (const unsigned char *)text, .length_bytes = strlen(text)}};

    output_label_append_lines(&style, line, job, &output, out);
}

static void test_lines(void)
{
    struct output_label_line line = {0};
    struct buffer out = {0};

    put(&line, 0, 0, "a\nb", &out);
    put(&line, 0, 0, "c\n", &out);
    is_string(buffer_string(&out), "[0] a\n[0] bc\n", "a line is labelled once");
    buffer_clear(&out);
    put(&line, 0, 0, "begin", &out);
    put(&line, 1, 0, "spawned\n", &out);
    put(&line, 0, 0, "end\n", &out);
    is_string(buffer_string(&out), "[0] begin\n[1.0] spawned\n[0] end\n",
              "and again where others have interrupted it");
    buffer_clear(&out);
    put(&line, 0, 2, "last", &out);
    put(&line, 0, 2, "", &out);
    put(&line, 0, 2, "next\n\n", &out);
    is_string(buffer_string(&out), "[2] last\n[2] next\n[2] \n",
              "a line that ended without a newline is not continued");
    buffer_fini(&out);
}

int main(void)
{
    test_labels();
    test_counts();
    test_lines();
    return done_testing();
}
