/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a subreaper adopts: processes whose parents have ended.  Every process that the helper starts
 * carries a mark in its environment, "BANYAN_HELPER=<pid of the helper>.<group>", by which an
 * adopted one can be told apart.  Cost: one file of /proc per look, and one more per orphan.
 */
#ifndef LAUNCH_EXEC_ORPHAN_H
#define LAUNCH_EXEC_ORPHAN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ORPHAN_MARK     "BANYAN_HELPER="
#define HELPER_NAME     "banyan-helper" /* as ps shows it: 13 of at most 15 bytes */
#define DAEMON_NAME     "banyand"
#define SURVEY_NAME     "banyan-survey"
#define STAGE_NAME      "banyan-stage"
#define STACKS_NAME     "banyan-stacks"
#define ORPHAN_NO_GROUP UINT32_MAX

/* All children of this single-threaded process, also ended ones that nobody has waited for;
 * *ret_pids is the caller's, free().  Returns how many. */
size_t orphan_list(pid_t **ret_pids);

enum orphan_kind {
    ORPHAN_MARKED,   /* *ret_helper and *ret_group are set */
    ORPHAN_HELPER,   /* a helper that outlives its daemon: it cleans up and ends by itself */
    ORPHAN_DAEMON,   /* a node's daemon that outlives the one that started it */
    ORPHAN_ENDING,   /* without memory: it exits, or its first thread has */
    ORPHAN_UNMARKED, /* its environment is empty or closed to us */
    ORPHAN_KIND_COUNT
};

enum orphan_kind orphan_examine(pid_t pid, pid_t *ret_helper, uint32_t *ret_group);
/* One that was killed and has not been waited for lives no more, nor does one whose number is another's
 * by now. */
int orphan_helper_lives(pid_t pid);
/* SIGKILL to a child of ours and, with its group, to its process group, unless that is ours.  The child
 * must not have been waited for: its number is then still its own. */
void orphan_kill(pid_t pid, int with_group);
/* Kills and reaps all children but helpers and, if so asked, daemons, and what falls to
 * us then, until none is left or milliseconds are over.  Returns how many are left. */
size_t orphan_kill_all(uint32_t milliseconds, int spare_daemons);

#endif
