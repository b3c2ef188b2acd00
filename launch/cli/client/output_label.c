/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/output_label.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/time.h"

enum output_label_times output_label_times_of(int count)
{
    assert(count >= 0);
    return count < OUTPUT_LABEL_TIMES_COUNT ? (enum output_label_times)count
                                            : OUTPUT_LABEL_NANOSECONDS;
}

/* ISO 8601, in UTC: the clocks of nodes may be in different zones. */
static void append_time(enum output_label_times times, uint64_t time_ns, struct buffer *out)
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    uint64_t rest_ns = time_ns % NS_PER_S;
    struct tm parts;
    char text[32];

    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        return; /* no clock says so: the year does not fit */
    if (times == OUTPUT_LABEL_MILLISECONDS)
        buffer_printf(out, "%s.%03uZ ", text, (unsigned)(rest_ns / NS_PER_MS));
    else
        buffer_printf(out, "%s.%09uZ ", text, (unsigned)rest_ns);
}

void output_label_append(const struct output_label_style *style, uint32_t job, uint32_t rank,
                         uint64_t time_ns, struct buffer *out)
{
    assert(style->times < OUTPUT_LABEL_TIMES_COUNT);
    if (style->times != OUTPUT_LABEL_NO_TIME)
        append_time(style->times, time_ns, out);
    if (style->ranks && job > 0)
        buffer_printf(out, "[%u.%u] ", job, rank);
    else if (style->ranks)
        buffer_printf(out, "[%u] ", rank);
}

static int line_is_of(const struct output_label_line *line, uint32_t job,
                      const struct control_output *output)
{
    return line->job == job && line->rank == output->rank && line->stream == output->stream;
}

void output_label_append_lines(const struct output_label_style *style,
                               struct output_label_line *line, uint32_t job,
                               const struct control_output *output, struct buffer *out)
{
    const char *data = (const char *)output->bytes.data;
    size_t left = output->bytes.length_bytes;
    int continues = line->is_open && line_is_of(line, job, output);

    assert(output->stream == 1 || output->stream == 2);
    if (left == 0) {
        line->ended |= continues;
        return;
    }
    if (line->is_open && (!continues || line->ended)) {
        buffer_append_string(out, "\n");
        continues = 0;
    }
    *line = (struct output_label_line){
        .job = job, .rank = output->rank, .stream = output->stream, .is_open = 1};
    while (left > 0) {
        const char *newline = memchr(data, '\n', left);
        size_t bytes = newline != NULL ? (size_t)(newline - data) + 1 : left;

        if (!continues)
            output_label_append(style, job, output->rank, output->time_ns, out);
        buffer_append(out, data, bytes);
        continues = 0;
        line->is_open = newline == NULL;
        data += bytes;
        left -= bytes;
    }
}
