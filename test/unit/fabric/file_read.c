/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/file_read.h"
#include "test/support/tap.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 50000u /* some pieces and a part of one */

static char path[] = "/tmp/file-read-XXXXXX";

static void make_file(void)
{
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");

    assert(file != NULL);
    for (uint32_t i = 0; i < BYTES; i++)
        fputc((int)(i % 251), file);
    assert(fclose(file) == 0);
}

static int is_as_written(const struct buffer *contents, size_t from, size_t bytes)
{
    if (contents->length_bytes != from + bytes)
        return 0;
    for (size_t i = 0; i < bytes; i++)
        if (contents->data[from + i] != i % 251)
            return 0;
    return 1;
}

static void test_whole(void)
{
    struct buffer contents = {0};

    is_int(file_read(path, SIZE_MAX, &contents), 0, "a file is read");
    ok(is_as_written(&contents, 0, BYTES), "whole");
    buffer_clear(&contents);
    buffer_append_string(&contents, "abc");
    is_int(file_read(path, BYTES, &contents), 0, "one as long as is allowed, too");
    ok(is_as_written(&contents, 3, BYTES) && memcmp(contents.data, "abc", 3) == 0,
       "after what was there");
    buffer_clear(&contents);
    is_int(file_read(path, BYTES - 1, &contents), -EFBIG, "a longer one is too long");
    ok(is_as_written(&contents, 0, BYTES - 1), "and read as far as is allowed");
    buffer_fini(&contents);
}

/* What has no size, and what comes in parts. */
static void test_sizeless(void)
{
    struct buffer contents = {0};
    int ends[2];

    is_int(file_read("/proc/self/status", 65536, &contents), 0, "a file of /proc is read");
    ok(strstr(buffer_string(&contents), "\nPid:") != NULL, "whole");
    buffer_clear(&contents);
    assert(pipe(ends) == 0);
    if (fork() == 0) {
        (void)!write(ends[1], "one ", 4);
        usleep(20000);
        (void)!write(ends[1], "two", 3);
        _exit(0);
    }
    close(ends[1]);
    is_int(file_read_fd(ends[0], 100, &contents), 0, "a pipe is read");
    is_string(buffer_string(&contents), "one two", "to its end");
    close(ends[0]);
    buffer_fini(&contents);
}

static void test_refused(void)
{
    struct buffer contents = {0};

    is_int(file_read("/no/such/file", 10, &contents), -ENOENT, "no file");
    is_int(file_read("/", 10, &contents), -EISDIR, "a directory");
    is_int(file_read("/dev/null", 0, &contents), 0, "nothing, where nothing is allowed");
    is_uint(contents.length_bytes, 0, "nothing was read");
    buffer_fini(&contents);
}

int main(void)
{
    make_file();
    test_whole();
    test_sizeless();
    test_refused();
    unlink(path);
    return done_testing();
}
