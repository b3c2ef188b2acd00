/* SPDX-License-Identifier: BSD-3-Clause */
/* launch/cli/client/output_files.c: more files than descriptors, and what is no file. */
#include "config.h"

#include "launch/cli/client/output_files.h"
#include "test/support/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"

#define MANY (3 * OUTPUT_FILES_OPEN_MAX)

static char directory[64];

static const char *path_of(const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static int write_to(struct output_files *files, const char *path, const char *text)
{
    int fd = output_files_open(files, output_files_find(files, path));

    if (fd < 0)
        return fd;
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;
}

static void holds(const char *path, const char *expected)
{
    char text[256] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

    text[got > 0 ? got : 0] = '\0';
    is_string(text, expected, "%s", path);
    if (fd >= 0)
        close(fd);
}

static uint32_t open_now(void)
{
    DIR *listing = opendir("/proc/self/fd");
    uint32_t count = 0;

    while (listing != NULL && readdir(listing) != NULL)
        count++;
    if (listing != NULL)
        closedir(listing);
    return count;
}

static void test_many(void)
{
    struct output_files *files = output_files_create();
    struct error error = ERROR_NONE;
    uint32_t before = open_now(), failures = 0, same = 0;
    char name[32];
    size_t cursor = 0;

    for (int round = 0; round < 3; round++)
        for (uint32_t i = 0; i < MANY; i++) {
            snprintf(name, sizeof(name), "many/of/rank.%u", i);
            failures += write_to(files, path_of(name), "line\n") < 0;
        }
    is_uint(failures, 0, "all are written, in directories that did not exist");
    is_uint(open_now() - before, OUTPUT_FILES_OPEN_MAX, "few are open");
    for (uint32_t i = 0; i < MANY; i++) {
        struct stat status;
        snprintf(name, sizeof(name), "many/of/rank.%u", i);
        same += stat(path_of(name), &status) == 0 && status.st_size == 15;
    }
    is_uint(same, MANY, "what was written first is still there");
    for (same = 0; output_files_next(files, &cursor) != NULL; same++)
        ;
    is_uint(same, MANY, "each is known once");
    is_int(output_files_close(files, &error), 0, "they can be closed");
    is_uint(open_now(), before, "then none is open");
    output_files_destroy(files);
}

static void test_again(void)
{
    struct output_files *files = output_files_create();
    struct error error = ERROR_NONE;

    is_int(write_to(files, path_of("again"), "first run\n"), 0, "a file is written");
    output_files_destroy(files);
    files = output_files_create();
    is_int(write_to(files, path_of("again"), "second\n"), 0, "by the next run, too");
    is_int(output_files_close(files, &error), 0, "which closes it");
    is_int(write_to(files, path_of("again"), "more\n"), 0, "and opens it again");
    holds(path_of("again"), "second\nmore\n");
    output_files_destroy(files);
}

static void test_refused(void)
{
    struct output_files *files = output_files_create();
    struct error error = ERROR_NONE;

    if (mkfifo(path_of("pipe"), 0600) < 0)
        bail_out("mkfifo: %s", strerror(errno));
    is_int(write_to(files, directory, "x"), -EISDIR, "a directory is not written");
    is_int(write_to(files, path_of("pipe"), "x"), -ENXIO, "nor a pipe that nobody reads");
    is_int(write_to(files, path_of("again/below"), "x"), -ENOTDIR, "a file is no directory");
    is_int(write_to(files, path_of("new/deep/"), "x"), -EISDIR,
           "nor a directory that is not there");
    is_int(access(path_of("new"), F_OK), -1, "which is not left then");
    is_int(output_files_prepare(path_of("new/deep/"), &error), -EISDIR, "nor before the start");
    is_int(access(path_of("new"), F_OK), -1, "either");
    is_int(mkdir(path_of("old"), 0700), 0, "a directory");
    is_int(write_to(files, path_of("old/deep/"), "x"), -EISDIR, "that was there");
    is_int(access(path_of("old"), F_OK), 0, "stays");
    is_int(write_to(files, "/dev/full", "x"), -ENOSPC, "a full disk is seen");
    is_int(output_files_prepare(directory, &error), -EISDIR, "also before the start");
    has_string(error.text, "cannot write output to", "with a line");
    has_string(error.text, directory, "that names it");
    is_int(output_files_prepare(path_of("again/%r"), &error), -ENOTDIR, "a pattern's directory");
    is_int(output_files_prepare(path_of("none/%r"), &error), 0, "may be missing");
    is_int(output_files_prepare(path_of("%r"), &error), 0, "or be there");
    is_int(output_files_prepare("%r", &error), 0, "or be the current one");
    is_int(output_files_prepare(path_of("again"), &error), 0, "a file is emptied");
    holds(path_of("again"), "");
    is_int(access(path_of("none"), F_OK), -1, "nothing is made of a pattern");
    output_files_destroy(files);
}

int main(void)
{
    char command[128];

    snprintf(directory, sizeof(directory), "/tmp/output_files.XXXXXX");
    if (mkdtemp(directory) == NULL)
        bail_out("mkdtemp: %s", strerror(errno));
    test_many();
    test_again();
    test_refused();
    snprintf(command, sizeof(command), "rm -r '%s'", directory);
    is_int(system(command), 0, "the directory is removed");
    return done_testing();
}
