/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/report_line.h"

#include <assert.h>
#include <string.h>

void report_line_print(const char *line, const char *node_name, uint64_t nodes, struct buffer *out)
{
    const char *at = line;
    const char *mark;

    assert(nodes > 0 && node_name[0] != '\0');
    while ((mark = strstr(at, REPORT_LINE_NODE)) != NULL) {
        buffer_append(out, at, (size_t)(mark - at));
        buffer_append_string(out, node_name);
        at = mark + strlen(REPORT_LINE_NODE);
    }
    buffer_append_string(out, at);
    if (at != line && nodes > 1)
        buffer_printf(out, " (reported by %s)", node_name);
}
