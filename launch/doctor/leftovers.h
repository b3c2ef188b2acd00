/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What dead instances of this user have left on this machine: session directories that no process
 * holds (session_hold), processes whose helper has died, and cgroups of such helpers.  What belongs to
 * a living instance or to another user is never found.  A directory on a file system that other
 * machines may share counts only if its counterpart in memory was left here too, because its holder may
 * run on another machine.  Cost: O(processes and cgroups of the machine).
 */
#ifndef LAUNCH_DOCTOR_LEFTOVERS_H
#define LAUNCH_DOCTOR_LEFTOVERS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "launch/proto/instance_spec.h"

enum leftover_kind { LEFTOVER_DIRECTORY, LEFTOVER_PROCESS, LEFTOVER_CGROUP, LEFTOVER_KIND_COUNT };

struct leftover {
    enum leftover_kind kind;
    const char *session; /* begins with its 16 digits; NULL for a cgroup */
    const char *path;    /* of a directory or cgroup, else NULL */
    pid_t pid;           /* of a process, else 0 */
};

typedef void leftovers_found(void *context, const struct leftover *leftover);

/* tmpdir: as for session_base.  What is passed to found is valid during that call, and may be removed
 * by it. */
void leftovers_find(const char *tmpdir, leftovers_found *found, void *context);
/* Removes or kills (SIGKILL) it, unless it is no longer a leftover.  0, also if it does not exist; else
 * -errno, and an error that names it.  A directory that was changed within the last seconds may belong
 * to an instance that is just starting: the call waits, then checks it again. */
int leftovers_remove(const struct leftover *leftover, struct error *error);

/* ---- How many there are ---- */

#define LEFTOVERS_SESSIONS_MAX 16u /* that are counted separately */

struct leftovers_count {
    struct leftovers_session {
        char session[SESSION_ID_BYTES];
        uint32_t directories;
        uint32_t processes;
    } sessions[LEFTOVERS_SESSIONS_MAX];
    uint32_t sessions_count;
    uint32_t more; /* of other sessions */
    uint32_t cgroups;
};

void leftovers_count_add(struct leftovers_count *count, const struct leftover *leftover);
/* Appends "2 directories, 1 process", without zero counts. */
void leftovers_session_print(const struct leftovers_session *session, struct buffer *out);

#endif
