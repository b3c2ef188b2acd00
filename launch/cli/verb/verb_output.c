/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/verb_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launch/proto/exit_status.h"

int verb_output_fail(const struct error *error)
{
    fprintf(stderr, "banyan: %s\n", error->text);
    return EXIT_STATUS_FAILED;
}

int verb_output_print(struct buffer *text, int status)
{
    struct error error;
    int is_written = fwrite(text->data, 1, text->length_bytes, stdout) == text->length_bytes;

    buffer_fini(text);
    if (is_written && fflush(stdout) == 0)
        return status;
    error_set(&error, -errno, "cannot write to stdout: %s", strerror(errno));
    return verb_output_fail(&error);
}
