/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "test/support/processes.h"
#include "test/support/tap.h"

#define SESSION     "fedcba9876543210"
#define PATIENCE_MS 10000

static char scratch[64];
static struct instance_spec instance;

static void set_tmpdir(const char *path)
{
    free(instance.tmpdir);
    instance.tmpdir = path != NULL ? memory_copy_string(path) : NULL;
    instance_spec_localize(&instance, "n1");
}

static int exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static mode_t mode_of(const char *path)
{
    struct stat status = {0};

    return lstat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

/* The head of a journal says for how many seconds. */
static void is_survived(const char *directory, const char *head, int is_left, const char *name)
{
    char *path = memory_printf("%s/journal", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ok(fd >= 0 && write(fd, head, 20) == 20, "a journal");
    close(fd);
    is_int(session_is_left(directory), is_left, "%s", name);
    unlink(path);
    free(path);
}

/* A child holds it, then ends. */
static void test_hold(void)
{
    char *path = memory_printf("%s/held", scratch);
    int to_parent[2], to_child[2];
    char byte;
    pid_t pid;

    mkdir(path, 0700);
    ok(session_is_left(path), "a directory that nobody holds is left over");
    ok(session_is_left(path), "to ask does not hold it");
    ok(pipe2(to_parent, O_CLOEXEC) == 0 && pipe2(to_child, O_CLOEXEC) == 0, "pipes");
    pid = fork();
    if (pid == 0) {
        session_hold(path);
        close(to_child[1]);
        (void)!write(to_parent[1], "h", 1);
        (void)!read(to_child[0], &byte, 1); /* until the parent lets go */
        _exit(0);
    }
    is_int(read(to_parent[0], &byte, 1), 1, "a child holds it");
    ok(!session_is_left(path), "it is not left over then");
    close(to_child[1]);
    is_int(waitpid(pid, NULL, 0), pid, "the child ends");
    ok(session_is_left(path), "then it is");
    is_survived(path, "BANYAN-JOURNAL 2\x58\x02\0\0", 0, "unless its instance survives the root");
    is_survived(path, "BANYAN-JOURNAL 2\0\0\0\0", 1, "which one for no time does not");
    rmdir(path);
    ok(!session_is_left(path), "what is not there is not left over");
    for (int i = 0; i < 2; i++)
        close(to_parent[i]);
    close(to_child[0]);
    free(path);
}

static void test_create(void)
{
    struct session session, second;
    struct error error = ERROR_NONE;
    char *expected = memory_printf("%s/banyan-%u/" SESSION ".12", scratch, geteuid());
    char *parent = memory_printf("%s/banyan-%u", scratch, geteuid());

    set_tmpdir(scratch);
    is_int(session_open(&session, &instance, 12, &error), 0, "a session is opened");
    is_string(session.directory, expected, "its directory has the name it should have");
    ok(!exists(parent), "and is not yet there");
    ok(!exists(session.shared_directory), "nor is the one in memory, until its helper knows of it");
    session_share(&session);
    is_int(session_create(&session, &error), 0, "it is made when it is wanted");
    is_uint(mode_of(session.directory), 0700, "for the user alone");
    is_uint(mode_of(parent), 0700, "as the user's directory");
    is_string(session.shared_directory, "/dev/shm/banyan-" SESSION ".12", "and one in memory");
    is_uint(mode_of(session.shared_directory), 0700, "for the user alone, too");
    is_int(session_open(&second, &instance, 13, &error), 0, "a second one beside it");
    session_share(&second);
    is_int(session_create(&second, &error), 0, "is made");
    is_int(session_create(&second, &error), -EEXIST, "but not twice the same");
    session_remove(&session);
    ok(!exists(session.directory) && !exists(session.shared_directory), "both are removed");
    ok(exists(parent), "while another session is there the user's directory stays");
    session_remove(&second);
    ok(!exists(parent), "the last one takes it along");
    free(parent);
    free(expected);
}

static void expect(const char *tmpdir, int code, const char *words)
{
    struct session session = {.directory = "untouched"};
    struct error error = ERROR_NONE;

    set_tmpdir(tmpdir);
    is_int(session_open(&session, &instance, 1, &error), code, "TMPDIR %s: %s", tmpdir,
           strerror(-code));
    has_string(error.text, words, "the message says so");
    has_string(error.text, "TMPDIR", "and what to set");
    is_string(session.directory, "untouched", "nothing is returned");
    diag("%s", error.text);
}

static void test_bad(void)
{
    char *missing = memory_printf("%s/missing", scratch);
    char *file = memory_printf("%s/file", scratch);
    char *foreign = memory_printf("%s/foreign", scratch);
    char *foreign_user = memory_printf("%s/foreign/banyan-%u", scratch, geteuid());
    char *deep = memory_printf("%s/%050d", scratch, 0);

    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (mkdir(deep, 0700) < 0 || mkdir(foreign, 0700) < 0 || symlink("/", foreign_user) < 0)
        bail_out("cannot make directories in %s", scratch);
    expect(missing, -ENOENT, "No such file or directory");
    expect(file, -ENOTDIR, "not a directory");
    expect("tmp", -EINVAL, "not an absolute path");
    expect(deep, -ENAMETOOLONG, "too long for socket paths");
    expect(foreign, -EPERM, "not a directory that only this user can access");
    unlink(foreign_user);
    free(missing);
    free(file);
    free(foreign);
    free(foreign_user);
    free(deep);
}

/* As another user, since nothing is unwritable for root. */
static void test_unwritable(void)
{
    pid_t pid;
    int status = -1;

    if (geteuid() != 0) {
        expect("/", -EACCES, "Permission denied");
        return;
    }
    pid = fork();
    if (pid == 0) {
        struct session session;
        struct error error = ERROR_NONE;
        set_tmpdir("/");
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(1);
        if (session_open(&session, &instance, 1, &error) != -EACCES)
            _exit(2);
        _exit(strstr(error.text, "cannot create /banyan-65534: Permission denied") != NULL ? 0 : 3);
    }
    waitpid(pid, &status, 0);
    is_int(status, 0, "an unwritable TMPDIR is named");
}

static void test_full(void)
{
    char *path = memory_printf("%s/full", scratch);
    char *file = memory_printf("%s/full/file", scratch);
    static const char zeros[65536];
    int fd;

    if (mkdir(path, 0700) < 0)
        bail_out("cannot make %s", path);
    if (mount("tmpfs", path, "tmpfs", 0, "size=2m") < 0) {
        skip(4, "a file system of one's own needs root");
    } else {
        fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        while (write(fd, zeros, sizeof zeros) > 0)
            ;
        close(fd);
        expect(path, -ENOSPC, "not enough space in");
        umount(path);
    }
    rmdir(path);
    free(file);
    free(path);
}

static void test_environment(void)
{
    struct session session;
    struct error error = ERROR_NONE;

    set_tmpdir(NULL);
    setenv("TMPDIR", scratch, 1);
    is_int(session_open(&session, &instance, 1, &error), 0, "TMPDIR of the environment counts");
    has_string(session.directory, scratch, "if no other directory is given");
    session_remove(&session);
    is_string(session_base("/x"), "/x", "what is given counts more");
    unsetenv("TMPDIR");
    is_string(session_base(NULL), "/tmp", "without any it is /tmp");
}

static void test_remove_tree(void)
{
    char *top = memory_printf("%s/top", scratch);
    char *command = memory_printf("mkdir -p %s/keep %s/a/b/c && touch %s/keep/me %s/a/b/f && ln -s "
                                  "%s/keep %s/a/link && chmod 0 %s/a/b/c",
                                  scratch, top, scratch, top, scratch, top, top);
    char *kept = memory_printf("%s/keep/me", scratch);

    is_int(system(command), 0, "a tree with a link out of it");
    is_int(session_remove_tree(top), 0, "is removed");
    ok(!exists(top), "all of it");
    ok(exists(kept), "but not what a link in it points to");
    is_int(session_remove_tree(top), 0, "what is not there is no error");
    free(kept);
    free(command);
    free(top);
}

static void test_clean(void)
{
    struct session session;
    struct error error = ERROR_NONE;
    const char *mark = processes_setting();
    char *command =
        memory_printf("%s BANYAN_SESSION=" SESSION " sh -c 'setsid sleep 300 & sleep 300 & wait' & "
                      "%s BANYAN_SESSION=0" SESSION " sleep 300 &",
                      mark, mark);
    char *virtual_base = memory_printf("%s/" SESSION_VIRTUAL_PREFIX SESSION, scratch);

    set_tmpdir(scratch);
    is_int(mkdir(virtual_base, 0700), 0, "a directory of virtual nodes");
    is_int(session_open(&session, &instance, 5, &error), 0, "a session");
    session_share(&session);
    is_int(session_create(&session, &error), 0, "with its directory");
    is_int(system(command), 0, "and processes of it and of another");
    ok(processes_wait(mark, 4, PATIENCE_MS) >= 0, "run");
    is_int(session_clean(SESSION, scratch, &error), 0, "clean it");
    is_uint(processes_count(mark), 1, "its processes are gone, the other's are not");
    ok(!exists(session.directory), "its directory is removed");
    ok(!exists(session.shared_directory), "and the one in memory");
    ok(!exists(virtual_base), "and that of virtual nodes");
    free(virtual_base);
    is_int(session_clean("../../etc", scratch, &error), -EINVAL, "what is no session is refused");
    has_string(error.text, "../../etc", "and named");
    processes_kill(mark);
    free(command);
}

int main(void)
{
    char *command;

    snprintf(scratch, sizeof scratch, "/tmp/bt-s.XXXXXX");
    if (mkdtemp(scratch) == NULL)
        bail_out("no scratch directory");
    instance_spec_init(&instance);
    memcpy(instance.session, SESSION, sizeof SESSION);
    test_hold();
    test_create();
    test_bad();
    test_unwritable();
    test_full();
    test_environment();
    test_remove_tree();
    test_clean();
    instance_spec_fini(&instance);
    command = memory_printf("rm -rf %s", scratch);
    is_int(system(command), 0, "the scratch directory is removed");
    free(command);
    return done_testing();
}
