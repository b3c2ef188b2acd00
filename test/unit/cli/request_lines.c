/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_lines.h"

#include <errno.h>
#include <string.h>

#include "test/support/tap.h"

/* Gathers them; refuses "stop". */
static int take(const char *path, unsigned int number, char *line, void *context,
                struct error *error)
{
    buffer_printf(context, "%s:%u<%s>", path, number, line);
    return strcmp(line, "stop") == 0 ? error_set(error, -EPERM, "it stops") : 0;
}

static void reads(const char *data, size_t bytes, int status, const char *expected,
                  const char *name)
{
    struct error error = ERROR_NONE;
    struct buffer text = {0}, seen = {0};

    buffer_append(&text, data, bytes);
    is_int(request_lines_read("f", &text, take, &seen, &error), status, "%s: %s", name, error.text);
    is_string(buffer_string(&seen), expected, "%s", name);
    buffer_fini(&seen);
    buffer_fini(&text);
}

int main(void)
{
    reads("", 0, 0, "f:1<>", "an empty file");
    reads("a\n\nb", 4, 0, "f:1<a>f:2<>f:3<b>", "the last line needs no end");
    reads("a\nstop\nb\n", 9, -EPERM, "f:1<a>f:2<stop>", "the first that is refused is the last");
    reads("a\n\0b\n", 5, -EINVAL, "", "a NUL");
    return done_testing();
}
