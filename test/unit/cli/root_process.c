/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root as a child: root_fork below takes the place of the real one and forks a child that exits
 * with a status when its channel ends.
 */
#include "config.h"

#include "launch/cli/client/root_process.h"
#include "test/support/tap.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "launch/daemon/root.h"
#include "launch/proto/control.h"

#define CHILD_STATUS 3

static int forks;

int root_fork(struct instance_spec *spec, const struct allocation *allocation,
              enum instance_policy policy, pid_t *ret_pid, int *ret_channel_fd, struct error *error)
{
    int fds[2];
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return error_set(error, -errno, "socketpair: %s", strerror(errno));
    forks++;
    fflush(NULL);
    *ret_pid = fork();
    assert(*ret_pid >= 0);
    if (*ret_pid == 0) {
        close(fds[0]);
        while (read(fds[1], &byte, 1) > 0)
            ;
        _exit(CHILD_STATUS);
    }
    close(fds[1]);
    *ret_channel_fd = fds[0];
    return 0;
}

static void on_ended(void *context)
{
    loop_stop(context);
}

static void test_watch(void)
{
    struct error error = ERROR_NONE;
    struct run_request request = {0};
    struct root_process root = {0};
    struct loop *loop;
    int fd = -1;

    is_int(root_process_fork(&root, &request, INSTANCE_STAYS, &fd, &error), 0, "a root is forked");
    loop = loop_create(&error);
    root_process_watch(&root, loop, on_ended, loop);
    close(fd);
    loop_run(loop);
    ok(root.has_ended && WIFEXITED(root.wait_status), "its exit is seen");
    is_int(WEXITSTATUS(root.wait_status), CHILD_STATUS, "with its status");
    root_process_signal(&root, SIGKILL);
    ok(root.watch == NULL, "nothing is watched any longer, and no signal is sent to its number");
    root_process_unwatch(&root);

    root = (struct root_process){0};
    root_process_signal(&root, SIGKILL);
    is_int(root_process_fork(&root, &request, INSTANCE_STAYS, &fd, &error), 0,
           "without a root there is nobody to signal");
    root_process_watch(&root, loop, on_ended, loop);
    root_process_signal(&root, SIGKILL);
    loop_run(loop);
    ok(root.has_ended && WIFSIGNALED(root.wait_status), "a signal ends it");
    close(fd);
    loop_destroy(loop);
}

static void test_give_up(void)
{
    struct error error = ERROR_NONE;
    struct run_request request = {0};
    struct root_process root = {0};
    int fd = -1;

    is_int(root_process_fork(&root, &request, INSTANCE_STAYS, &fd, &error), 0, "another one");
    root_process_give_up(&root, fd);
    ok(root.has_ended && WEXITSTATUS(root.wait_status) == CHILD_STATUS,
       "given up, it ends with its channel and was waited for");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no child is left");
}

static void test_virtual_base(void)
{
    char path[] = "/tmp/root-process-XXXXXX";
    struct error error = ERROR_NONE;
    struct run_request request = {.instance.virtual_base = path};
    struct root_process root = {0};
    struct stat status;
    int fd = -1, forks_before;

    assert(mkdtemp(path) != NULL && rmdir(path) == 0);
    is_int(root_process_fork(&root, &request, INSTANCE_STAYS, &fd, &error), 0,
           "with virtual nodes");
    ok(stat(path, &status) == 0 && (status.st_mode & 0777) == 0700,
       "their directory is there, for its owner alone");
    root_process_give_up(&root, fd);

    root = (struct root_process){0};
    forks_before = forks;
    is_int(root_process_fork(&root, &request, INSTANCE_STAYS, &fd, &error), -EEXIST,
           "a directory that is there already is somebody else's");
    ok(strstr(error.text, path) != NULL && strstr(error.text, "--tmpdir") != NULL,
       "the line names it and the way out");
    is_int(forks, forks_before, "and nothing is forked");
    rmdir(path);
}

static void append_line(void *context, const char *line)
{
    buffer_printf(context, "[%s]", line);
}

static void test_lines(void)
{
    struct buffer payload = {0}, lines = {0};
    struct wire_reader reader;

    control_text_encode(LOG_LEVEL_WARNING, "one\n\ntwo\n", &payload);
    wire_reader_init(&reader, payload.data, payload.length_bytes);
    is_int(root_process_each_line(&reader, append_line, &lines), 0, "a text of three lines");
    is_string(buffer_string(&lines), "[one][][two]", "is said line by line");
    wire_reader_init(&reader, payload.data, payload.length_bytes - 1);
    buffer_clear(&lines);
    ok(root_process_each_line(&reader, append_line, &lines) < 0, "one that is cut is refused");
    is_uint(lines.length_bytes, 0, "and nothing of it is said");
    buffer_fini(&payload);
    buffer_fini(&lines);
}

int main(void)
{
    test_watch();
    test_give_up();
    test_virtual_base();
    test_lines();
    return done_testing();
}
