/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grid Engine, sge_pe(5): lines "node slots queue binding".  A node that is in several queues has
 * several lines.  The fields after the slots are not read.
 */
#include "config.h"

#include "alloc/source_internal.h"

#include <errno.h>

static int lines_add(struct source_reading *reading, struct source_text *text)
{
    struct source_word node, slots;
    uint32_t count;
    int rc;

    while ((rc = source_text_line(text)) > 0) {
        source_text_word(text, &node);
        rc = source_text_expect(text, "the number of slots", &slots);
        if (rc == 0)
            rc = source_word_number(text, &slots, "the number of slots", 1, ALLOCATION_SLOTS_MAX,
                                    &count);
        if (rc == 0)
            rc = source_reading_add(reading, text, &node, count);
        if (rc < 0)
            break;
    }
    return rc;
}

int source_read_grid_engine(struct source_reading *reading)
{
    static const char *const variables[] = {"PE_HOSTFILE", NULL};
    struct buffer bytes = {0};
    struct source_text text;
    const char *name, *path;
    int rc = source_reading_require(reading, variables, &name, &path);

    if (rc < 0) {
        error_prefix(reading->error, "no parallel environment was requested (qsub -pe)");
        return rc;
    }
    rc = source_reading_file(reading, name, path, &bytes);
    if (rc == 0) {
        source_text_file(&text, path, bytes.data, bytes.length_bytes, reading->error);
        rc = lines_add(reading, &text);
        if (rc < 0)
            error_prefix(reading->error, "%s", name);
    }
    buffer_fini(&bytes);
    return rc < 0 ? rc : source_reading_finish(reading, name);
}
