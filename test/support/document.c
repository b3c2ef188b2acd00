/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/document.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECE_BYTES 4096

/* By stdio: the rooms that are tested with it may not know a file. */
void document_read(const char *name, struct buffer *text)
{
    const char *srcdir = getenv("srcdir");
    char *path = memory_printf("%s/%s", srcdir != NULL ? srcdir : ".", name);
    FILE *file = fopen(path, "r");
    size_t bytes;

    while (file != NULL &&
           (bytes = fread(buffer_reserve(text, PIECE_BYTES), 1, PIECE_BYTES, file)) > 0)
        buffer_commit(text, bytes);
    if (file != NULL)
        fclose(file);
    free(path);
}
