/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/cell.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc/host_name.h"

#define MARK_BYTES (sizeof(CELL_TEMPLATE_MARK) - 1)

size_t cell_bytes(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash != NULL ? (size_t)(slash - name) : 0;
}

const char *cell_node(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash != NULL ? slash + 1 : name;
}

int cell_add_names(const char *cell, const struct hostlist *names, struct hostlist *ret_names,
                   struct error *error)
{
    size_t bytes = strlen(cell) + 1;

    assert(bytes > 1 && bytes <= CELL_BYTES_MAX + 1 && names != ret_names);
    for (uint32_t i = 0; i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);

        if (hostlist_run_name_bytes(&run) + bytes > HOST_NAME_BYTES_MAX)
            return error_set(error, -E2BIG, "%s/ and a name are more than %d bytes", cell,
                             HOST_NAME_BYTES_MAX);
    }
    for (uint32_t i = 0; i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);
        char prefix[2 * HOST_NAME_BYTES_MAX + 2];

        snprintf(prefix, sizeof(prefix), "%s/%.*s", cell, (int)run.prefix_bytes, run.prefix);
        run.prefix = prefix;
        run.prefix_bytes = (uint8_t)(run.prefix_bytes + bytes);
        hostlist_append_run(ret_names, &run);
    }
    return 0;
}

int cell_template_check(const char *text, struct error *error)
{
    const char *mark = strstr(text, CELL_TEMPLATE_MARK);

    if (mark == NULL || strstr(mark + MARK_BYTES, CELL_TEMPLATE_MARK) != NULL)
        return error_set(error, -EINVAL,
                         "'%.80s' does not have %%n once, which is the name of a node, as in "
                         "%%n.west.example",
                         text);
    if (text[0] == '-' || strlen(text) > HOST_NAME_BYTES_MAX / 2)
        return error_set(error, -EINVAL, "'%.80s' cannot be the name of a node", text);
    for (const char *at = text; *at != '\0'; at++) {
        if (at == mark)
            at++;
        else if (!host_name_has_byte(*at))
            return host_name_byte_error(error, *at);
    }
    return 0;
}

/* The template of a cell in the table, and its length; NULL: it has none. */
static const char *find_template(const char *table, const char *cell, size_t bytes,
                                 size_t *ret_bytes)
{
    while (table != NULL && *table != '\0') {
        size_t line = strcspn(table, "\n");

        if (line > bytes && memcmp(table, cell, bytes) == 0 && table[bytes] == ' ') {
            *ret_bytes = line - bytes - 1;
            return table + bytes + 1;
        }
        table += line + (table[line] == '\n');
    }
    return NULL;
}

void cell_address(const char *table, const char *name, char ret_address[HOST_NAME_BYTES_MAX + 1])
{
    size_t bytes = cell_bytes(name);
    size_t template_bytes = 0, before = 0;
    const char *template = bytes > 0 ? find_template(table, name, bytes, &template_bytes) : NULL;
    const char *node = cell_node(name);
    const char *mark =
        template != NULL ? memmem(template, template_bytes, CELL_TEMPLATE_MARK, MARK_BYTES) : NULL;

    if (mark == NULL) {
        snprintf(ret_address, HOST_NAME_BYTES_MAX + 1, "%s", node);
        return;
    }
    before = (size_t)(mark - template);
    snprintf(ret_address, HOST_NAME_BYTES_MAX + 1, "%.*s%s%.*s", (int)before, template, node,
             (int)(template_bytes - before - MARK_BYTES), mark + MARK_BYTES);
}

void cell_put_file_name(const char *name, struct buffer *out)
{
    size_t bytes = cell_bytes(name);

    if (bytes > 0)
        buffer_printf(out, "%.*s-", (int)bytes, name);
    buffer_append_string(out, cell_node(name));
}
