/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/boot_tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "launch/proto/boot.h"

int boot_tell(const char *marker, const char *text)
{
    char line[ERROR_TEXT_BYTES + 64];
    int length = snprintf(line, sizeof line, "%s%.*s\n", marker, ERROR_TEXT_BYTES, text);

    return write(STDOUT_FILENO, line, (size_t)length) < 0 ? -errno : 0;
}

int boot_tell_waiting(const char *what, const char *why)
{
    char *text = memory_printf("%s%s", what, why);
    int rc = boot_tell(BOOT_WAITING_MARKER, text);

    free(text);
    return rc;
}
