/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which directories count as a build tree: those as libtool leaves them, that belong to the owner of
 * the program and that nobody else can write to.
 */
#include "config.h"

#include "launch/exec/build_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "test/support/tap.h"

static char directory[] = "/tmp/banyan-build-tree.XXXXXX";

/* A path in the directory; free() it. */
static char *path_of(const char *name)
{
    return memory_printf("%s/%s", directory, name);
}

static void make_file(const char *name)
{
    char *path = path_of(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    if (fd < 0)
        bail_out("cannot make %s", path);
    close(fd);
    free(path);
}

static void change_mode(const char *name, mode_t mode)
{
    char *path = path_of(name);

    if (chmod(path, mode) < 0)
        bail_out("cannot change %s", path);
    free(path);
}

static void remove_path(const char *name)
{
    char *path = path_of(name);

    if (remove(path) < 0)
        bail_out("cannot remove %s", path);
    free(path);
}

static int is_found(void)
{
    char *program = path_of("banyan");
    char *object = build_tree_object_of(program, "pmix_host");
    int found = object != NULL;

    free(program);
    free(object);
    return found;
}

static void make_tree(void)
{
    char *libs;

    if (mkdtemp(directory) == NULL)
        bail_out("cannot make a directory in /tmp");
    libs = path_of(".libs");
    if (mkdir(libs, 0755) < 0)
        bail_out("cannot make %s", libs);
    free(libs);
    make_file("banyan");
    make_file("pmix_host.la");
    make_file(".libs/pmix_host.so");
}

static void test_safe(void)
{
    static const char *const names[] = {".", ".libs", ".libs/pmix_host.so", "pmix_host.la"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        change_mode(names[i], 0777);
        ok(!is_found(), "not if others can write to %s", names[i]);
        change_mode(names[i], 0755);
    }
    if (geteuid() == 0) {
        char *object = path_of(".libs/pmix_host.so");

        ok(chown(object, 12345, (gid_t)-1) == 0 && !is_found(), "not if it is somebody else's");
        ok(chown(object, 0, (gid_t)-1) == 0 && is_found(), "again when it is the owner's");
        free(object);
    } else {
        skip(2, "only root can give files away");
    }
}

static void test_links(void)
{
    char *object = path_of(".libs/pmix_host.so");

    remove_path(".libs/pmix_host.so");
    ok(!is_found(), "not without the object");
    ok(symlink("../banyan", object) == 0 && !is_found(), "not if the object is a link");
    remove_path(".libs/pmix_host.so");
    make_file(".libs/pmix_host.so");
    remove_path("pmix_host.la");
    ok(!is_found(), "not without libtool's file: a .libs alone is no build tree");
    free(object);
}

int main(void)
{
    char *own;

    make_tree();
    ok(is_found(), "a shared object as libtool leaves it is found");
    test_safe();
    test_links();
    own = build_tree_object("no_such_object");
    ok(own == NULL, "the running program has no such object");
    free(own);
    ok(build_tree_object_of("banyan", "pmix_host") == NULL, "a path without a directory is none");
    remove_path(".libs/pmix_host.so");
    remove_path(".libs");
    remove_path("banyan");
    rmdir(directory);
    return done_testing();
}
