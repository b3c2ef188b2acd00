/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one directory of a daemon: <base>/banyan-<uid>/<session>.<place>, mode 0700, and its
 * counterpart for shared memory, /dev/shm/banyan-<session>.<place>.  Both are removed at the end by
 * the daemon or, if it dies, by its helper; what both left behind is found by session_clean.
 * The one on disk is made when the first file is to lie in it: on ext4 to make and remove it costs
 * 0.5 ms, a tenth of all that a node costs.  That it can be made is checked at the start.
 */
#ifndef LAUNCH_EXEC_SESSION_H
#define LAUNCH_EXEC_SESSION_H

#include <stdint.h>

#include "base/error.h"
#include "launch/proto/instance_spec.h"

#define SESSION_VIRTUAL_PREFIX \
    "bv-" /* and the session: the directory of virtual nodes, in the base */
#define SESSION_FREE_BYTES_MIN (1024u * 1024) /* below this TMPDIR counts as full */
/* Of the root, whose instance survives it (launch/daemon/journal.h). */
#define SESSION_JOURNAL_FILE "journal"

struct session {
    char directory[104];        /* short enough that a socket path fits in it */
    char shared_directory[104]; /* "" if /dev/shm is not there */
};

/* The names that both have for a place with that base.  Returns the length of the one on disk, which
 * is cut if it does not fit. */
int session_name(struct session *ret_session, const char *base, const char *session_id,
                 uint32_t place);
/* Names both and looks whether they can be made.  Errors name the path and what to do: TMPDIR missing,
 * unwritable, full, too long for a socket path (108 bytes incl. NUL, with 24 left for names inside). */
int session_open(struct session *ret_session, const struct instance_spec *instance, uint32_t place,
                 struct error *error);
/* Creates the one in memory; without /dev/shm its name becomes "".  Its helper must own it before: a
 * process killed in between leaves it forever. */
void session_share(struct session *session);
/* Creates the one on disk; -EEXIST if it is there. */
int session_create(const struct session *session, struct error *error);
/* Holds a directory as long as this process lives: who comes later sees that it is not left over.  To
 * have no lock is no error: some file systems know none. */
void session_hold(const char *path);
/* 1 if nobody holds it, 0 if a process does or it is not known. */
int session_is_left(const char *path);
/* Of a root whose instance went on without it, and which nobody has recovered in time: the same, and the time is over. */
int session_is_outlived(const char *path);
/* Removes both, and the user's directory if it is empty then. */
void session_remove(const struct session *session);
/* Removes one of the two, or another directory that has the session in its name, and the banyan-<uid> above it
 * when that is empty then. */
void session_remove_directory(const char *path);
/* path: of one of the two of another place.  Removes what the root of the session has left there, if it is
 * dead: front end, root and its helper may have been killed together, as a scheduler does that ends the
 * step in which they are. */
void session_remove_of_root(const char *path);
/* Where session directories are made: tmpdir, else $TMPDIR, else /tmp. */
const char *session_base(const char *tmpdir);
/* Removes a tree without following links or crossing devices; silent if it is not there. -EPERM if it
 * is not this user's. */
int session_remove_tree(const char *path);
/* Removes what instances of this user have left on this machine when all of their processes here were
 * killed together: directories that nobody holds, and cgroups.  Cost: a look at /dev/shm. */
void session_sweep(const char *tmpdir);
/* Kills (SIGKILL) every process of this user whose environment holds BANYAN_SESSION=<session> except
 * the caller, and removes the session's directories on this node. */
/* session: SESSION, or SESSION.PLACE for what one place has left (BANYAN_PLACE). */
int session_clean(const char *session, const char *tmpdir, struct error *error);

#endif
