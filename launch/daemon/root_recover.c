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

struct recovery {
    struct journal_head head;
    struct replay *replay;
};

/* journal_head.record and replay are the child's. */
static int recover_main(void *context, int channel_fd)
{
    struct recovery *recovery = context;
    struct journal_head *head = &recovery->head;
    struct root_config config = {.record = head->record,
                                 .roster = &head->roster,
                                 .policy = head->policy,
                                 .replay = recovery->replay};
    int status;

    explicit_bzero(head->record.instance.secret, SECRET_BYTES);
    status = root_live(&config, channel_fd);

    allocation_fini(&head->roster);
    replay_destroy(recovery->replay);
    return status;
}

int root_recover_fork(const char *directory, pid_t *ret_pid, int *ret_channel_fd,
                      struct error *error)
{
    struct recovery recovery;
    int lock_fd = -1;
    int rc = take_directory(directory, &lock_fd, error);

    if (rc < 0)
        return rc;
    recovery.replay = replay_open(directory, &recovery.head, error);
    if (recovery.replay == NULL) {
        close(lock_fd);
        return error->code;
    }
    rc = root_fork_with(recover_main, &recovery, ret_pid, ret_channel_fd, error);
    close(lock_fd); /* the child has it */
    journal_head_fini(&recovery.head);
    replay_destroy(recovery.replay);
    return rc;
}
