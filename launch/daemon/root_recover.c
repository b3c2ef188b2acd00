/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/root.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/daemon/daemon.h"
#include "launch/daemon/replay.h"
#include "launch/exec/descriptor.h"

/* The directory must be the user's own, and nobody may hold it: the lock, which this process keeps, is that of
 * the root (session_hold). */
static int take_directory(const char *directory, int *ret_fd, struct error *error)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    int rc = 0;

    if (fd < 0)
        return error_set(error, -errno, "cannot recover the instance at %s: %s", directory,
                         strerror(errno));
    if (fstat(fd, &status) < 0 || status.st_uid != geteuid() || (status.st_mode & 077) != 0)
        rc = error_set(
            error, -EPERM,
            "cannot recover the instance at %s: it is not a directory that only this user "
            "can access",
            directory);
    else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = error_set(error, -EBUSY,
                       "the root of the instance at %s lives: there is nothing to recover",
                       directory);
    if (rc < 0)
        close(fd);
    else
        *ret_fd = descriptor_move_high(fd);
    return rc;
}

/* journal_head.record and replay are the child's. */
static int recover_main(struct journal_head *head, struct replay *replay, int channel_fd)
{
    struct root_config config = {
        .record = head->record, .roster = &head->roster, .policy = head->policy, .replay = replay};
    int status;

    explicit_bzero(head->record.instance.secret, SECRET_BYTES);
    status = root_live(&config, channel_fd);

    allocation_fini(&head->roster);
    replay_destroy(replay);
    return status;
}

static int fork_recovered(struct journal_head *head, struct replay *replay, pid_t *ret_pid,
                          int *ret_channel_fd, struct error *error)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(error, -errno, "cannot create the control socket: %s", strerror(errno));
    pid = fork();
    if (pid < 0) {
        int rc = error_set(error, -errno, "cannot start the root: %s", strerror(errno));

        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    if (pid == 0) {
        close(ends[0]);
        _exit(recover_main(head, replay, ends[1]));
    }
    close(ends[1]);
    *ret_pid = pid;
    *ret_channel_fd = ends[0];
    return 0;
}

int root_recover_fork(const char *directory, pid_t *ret_pid, int *ret_channel_fd,
                      struct error *error)
{
    struct journal_head head;
    struct replay *replay;
    int lock_fd = -1;
    int rc = take_directory(directory, &lock_fd, error);

    assert(ret_pid != NULL && ret_channel_fd != NULL);
    if (rc < 0)
        return rc;
    replay = replay_open(directory, &head, error);
    if (replay == NULL) {
        close(lock_fd);
        return error->code;
    }
    rc = fork_recovered(&head, replay, ret_pid, ret_channel_fd, error);
    close(lock_fd); /* the child has it */
    journal_head_fini(&head);
    replay_destroy(replay);
    return rc;
}
