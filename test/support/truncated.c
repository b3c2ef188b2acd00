/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/truncated.h"

#include <errno.h>
#include <stdlib.h>

#include "test/support/tap.h"

void truncated_is_refused(const struct buffer *whole, int (*decode)(struct wire_reader *reader),
                          const char *what)
{
    size_t accepted = 0;

    for (size_t bytes = 0; bytes < whole->length_bytes; bytes++) {
        void *part = memory_copy(whole->data, bytes);
        struct wire_reader reader;
        wire_reader_init(&reader, part, bytes);
        accepted += decode(&reader) != -EBADMSG;
        free(part);
    }
    is_uint(accepted, 0, "no beginning of %s is taken for the whole", what);
}
