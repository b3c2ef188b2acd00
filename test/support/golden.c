/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

static void golden_path(const char *name, char *path, size_t bytes)
{
    const char *srcdir = getenv("srcdir");

    snprintf(path, bytes, "%s/test/trace/%s.txt", srcdir != NULL ? srcdir : ".", name);
}

static void read_file(const char *path, struct buffer *text)
{
    FILE *file = fopen(path, "r");
    char part[4096];
    size_t bytes;

    if (file == NULL)
        return;
    while ((bytes = fread(part, 1, sizeof(part), file)) > 0)
        buffer_append(text, part, bytes);
    fclose(file);
}

static void write_file(const char *path, const struct buffer *text)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fwrite(text->data, 1, text->length_bytes, file) != text->length_bytes)
        bail_out("cannot write %s", path);
    fclose(file);
}

void golden_compare(const char *name, struct buffer *trace)
{
    struct buffer golden = {0};
    char path[4096];

    golden_path(name, path, sizeof(path));
    if (getenv("GOLDEN_WRITE") != NULL)
        write_file(path, trace);
    read_file(path, &golden);
    if (!ok(golden.length_bytes == trace->length_bytes &&
                memcmp(golden.data, trace->data, golden.length_bytes) == 0,
            "%s happens as test/trace/%s.txt says", name, name))
        diag("it goes:\n%s", buffer_string(trace));
    buffer_fini(&golden);
}

void golden_check_quoted(const char *name, const char *document, struct buffer *trace)
{
    const char *srcdir = getenv("srcdir");
    const char *line = buffer_string(trace);
    struct buffer quoted = {0};
    struct buffer text = {0};
    char path[4096];

    snprintf(path, sizeof(path), "%s/doc/%s", srcdir != NULL ? srcdir : ".", document);
    read_file(path, &text);
    while (*line != '\0') {
        const char *end = strchr(line, '\n') + 1;

        buffer_append_string(&quoted, "    ");
        buffer_append(&quoted, line, (size_t)(end - line));
        line = end;
    }
    ok(strstr(buffer_string(&text), buffer_string(&quoted)) != NULL,
       "doc/%s quotes %s as it happens", document, name);
    buffer_fini(&quoted);
    buffer_fini(&text);
}
