/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/document.h"
#include "test/support/tap.h"

static void write_trace(const char *name, const struct buffer *text)
{
    const char *srcdir = getenv("srcdir");
    char *path = memory_printf("%s/%s", srcdir != NULL ? srcdir : ".", name);
    FILE *file = fopen(path, "w");

    if (file == NULL || fwrite(text->data, 1, text->length_bytes, file) != text->length_bytes)
        bail_out("cannot write %s", path);
    fclose(file);
    free(path);
}

void golden_compare(const char *name, struct buffer *trace)
{
    struct buffer golden = {0};
    char *path = memory_printf("test/trace/%s.txt", name);

    if (getenv("GOLDEN_WRITE") != NULL)
        write_trace(path, trace);
    document_read(path, &golden);
    free(path);
    if (!ok(golden.length_bytes == trace->length_bytes &&
                memcmp(golden.data, trace->data, golden.length_bytes) == 0,
            "%s happens as test/trace/%s.txt says", name, name))
        diag("it goes:\n%s", buffer_string(trace));
    buffer_fini(&golden);
}

void golden_check_quoted(const char *name, const char *document, struct buffer *trace)
{
    char *path = memory_printf("doc/%s", document);
    const char *line = buffer_string(trace);
    struct buffer quoted = {0};
    struct buffer text = {0};

    document_read(path, &text);
    free(path);
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
