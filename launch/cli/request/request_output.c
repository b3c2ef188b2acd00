/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_output.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/cell.h"
#include "base/memory.h"
#include "launch/cli/option/options.h"

#define RANK_MAX (UINT32_MAX - 1)

/* ---- patterns ---- */

/* A piece of a pattern. */
struct part {
    char letter; /* 0: text */
    uint32_t width;
    const char *text;
    size_t text_bytes;
};

/* Reads the part that begins at *at and moves *at to the next; -EINVAL if it cannot be read. */
static int part_read(const char **at, struct part *ret_part)
{
    const char *start = *at, *end = start + strcspn(start, "%");
    struct part part = {.text = start, .text_bytes = (size_t)(end - start)};

    assert(*start != '\0');
    if (*start == '%') {
        for (end = start + 1; isdigit((unsigned char)*end); end++) {
            part.width = part.width * 10 + (uint32_t)(*end - '0');
            if (part.width > REQUEST_OUTPUT_WIDTH_MAX)
                return -EINVAL;
        }
        if (*end == '\0' || strchr("rjht%", *end) == NULL)
            return -EINVAL;
        if (end > start + 1 && *end != 'r' && *end != 'j')
            return -EINVAL;
        part.letter = *end++;
    }
    *at = end;
    *ret_part = part;
    return 0;
}

/* *ret_has_stream: it contains %t. */
static int pattern_check(const char *option, const char *pattern, int *ret_has_stream,
                         struct error *error)
{
    const char *at = pattern;
    struct part part;

    *ret_has_stream = 0;
    while (*at != '\0') {
        if (part_read(&at, &part) < 0)
            return error_set(error, -EINVAL,
                             "option %s: '%.80s': expected %%r (rank), %%j (job), %%h (node), %%t "
                             "(out or err) or %%%% at '%.8s'; %%4r and %%4j pad with zeros, to at "
                             "most %u digits",
                             option, pattern, at, REQUEST_OUTPUT_WIDTH_MAX);
        *ret_has_stream |= part.letter == 't';
    }
    if (at[-1] == '/')
        return error_set(error, -EINVAL, "option %s: '%.80s' names a directory, not a file", option,
                         pattern);
    return 0;
}

void request_output_path(const char *pattern, const struct request_output_names *names,
                         struct buffer *out)
{
    struct part part;

    assert(names->stream == 1 || names->stream == 2);
    while (*pattern != '\0') {
        int rc = part_read(&pattern, &part);

        assert(rc == 0);
        switch (part.letter) {
        case 'r':
            buffer_printf(out, "%0*u", (int)part.width, names->rank);
            break;
        case 'j':
            buffer_printf(out, "%0*u", (int)part.width, names->job);
            break;
        case 'h':
            cell_put_file_name(names->node, out);
            break;
        case 't':
            buffer_append_string(out, names->stream == 1 ? "out" : "err");
            break;
        case '%':
            buffer_append_string(out, "%");
            break;
        default:
            buffer_append(out, part.text, part.text_bytes);
        }
    }
}

/* ---- options ---- */

/* "0-15,20" */
static int ranks_parse(const char *text, struct ranges *ranks, struct error *error)
{
    char *copy = memory_copy_string(text), *rest = copy;
    const char *word;
    int rc = 0;

    while (rc == 0 && (word = strsep(&rest, ",")) != NULL) {
        uint32_t first, last;

        rc = options_range(word, 0, RANK_MAX, &first, &last);
        if (rc == 0 && first > last)
            rc = -EINVAL;
        if (rc == 0)
            ranges_add(ranks, first, last);
    }
    free(copy);
    if (rc == 0)
        return 0;
    return error_set(error, -EINVAL,
                     "option --output-from: '%.80s' is not a list of ranks, such as 0-3,9", text);
}

static int files_choose(const struct request_settings *settings, struct request_output *output,
                        struct error *error)
{
    const char *stderr_pattern = settings->error;
    int has_stream = 0;
    int rc = 0;

    if (settings->merge > 0 && settings->error != NULL)
        return error_set(error, -EINVAL,
                         "option --merge: standard error goes where standard output goes; it "
                         "cannot go to --error, too");
    if (settings->fold > 0 && (settings->output != NULL || settings->error != NULL))
        return error_set(error, -EINVAL,
                         "option --fold: lines are folded on standard output and error, not in "
                         "files of --output or --error");
    if (settings->error != NULL)
        rc = pattern_check("--error", settings->error, &has_stream, error);
    if (rc == 0 && settings->output != NULL) {
        rc = pattern_check("--output", settings->output, &has_stream, error);
        output->patterns[0] = memory_copy_string(settings->output);
        if (has_stream && stderr_pattern == NULL)
            stderr_pattern = settings->output;
    }
    if (stderr_pattern != NULL)
        output->patterns[1] = memory_copy_string(stderr_pattern);
    output->is_merged = settings->merge > 0;
    output->is_folded = settings->fold > 0;
    return rc;
}

int request_output_make(const struct request_settings *settings, struct request_output *ret_output,
                        struct error *error)
{
    struct request_output output = {0};
    int rc = files_choose(settings, &output, error);

    if (rc == 0 && settings->output_from != NULL)
        rc = ranks_parse(settings->output_from, &output.from, error);
    if (rc < 0)
        request_output_fini(&output);
    else
        *ret_output = output;
    return rc;
}

void request_output_fini(struct request_output *output)
{
    for (size_t i = 0; i < 2; i++)
        free(output->patterns[i]);
    ranges_fini(&output->from);
    *output = (struct request_output){0};
}
