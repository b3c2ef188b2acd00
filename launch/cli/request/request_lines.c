/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

int request_lines_read(const char *path, const struct buffer *text, request_lines_take *take,
                       void *context, struct error *error)
{
    char *copy = memory_allocate(text->length_bytes + 1), *rest = copy, *line;
    unsigned int number = 0;
    int rc = 0;

    if (text->length_bytes > 0)
        memcpy(copy, text->data, text->length_bytes);
    copy[text->length_bytes] = '\0';
    if (strlen(copy) != text->length_bytes)
        rc = error_set(error, -EINVAL, "%s is not a text file: it contains a NUL byte", path);
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL)
        rc = take(path, ++number, line, context, error);
    free(copy);
    return rc;
}
