/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "launch/exec/helper_state.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/exec/helper_cgroup.h"
#include "launch/exec/orphan.h"

/* Between two looks at something that should be dead: it may hang in the system, or an orphan may
 * come into view only when its parent has gone. */
#define RETRY_MS 20

static void group_check(const struct group *group)
{
    assert(group->number > 0);
    assert(!group->killed || group->ending);
    assert(!group->ending || group->sealed);
    assert(group->ending == (group->kill_at_ns != UINT64_MAX));
    assert((group->cgroup_fd >= 0) == (group->cgroup_path != NULL));
}

struct group *helper_group_find(struct helper_state *state, uint32_t number)
{
    struct list_link *node, *spare;

    list_for_each(&state->groups, node, spare)
    {
        struct group *group = list_entry(node, struct group, node);
        if (group->number == number)
            return group;
    }
    return NULL;
}

struct group *helper_group_get(struct helper_state *state, uint32_t number)
{
    struct group *group = helper_group_find(state, number);

    assert(number > 0);
    if (group != NULL)
        return group;
    group = memory_allocate_zeroed(sizeof(*group));
    group->number = number;
    group->kill_at_ns = UINT64_MAX;
    group->cgroup_path = helper_cgroup_create(number, &group->cgroup_fd);
    memory_kills_begin(&group->memory_kills);
    list_append(&state->groups, &group->node);
    return group;
}

enum helper_end helper_group_killer(struct helper_state *state, uint32_t number)
{
    static const enum helper_end ends[] = {[MEMORY_KILL_NONE] = HELPER_END_OTHERS,
                                           [MEMORY_KILL_NEAR] = HELPER_END_MEMORY_NEAR,
                                           [MEMORY_KILL_PROVEN] = HELPER_END_MEMORY};
    struct group *group = helper_group_find(state, number);

    if (group == NULL)
        return HELPER_END_OTHERS;
    return ends[memory_kills_judge(&group->memory_kills, group->cgroup_fd)];
}

static void group_destroy(struct group *group)
{
    assert(group->living == 0);
    list_remove(&group->node);
    if (group->cgroup_fd >= 0)
        close(group->cgroup_fd);
    free(group->cgroup_path);
    free(group);
}

void helper_group_seal(struct helper_state *state, uint32_t number)
{
    struct group *group = helper_group_find(state, number);

    if (group == NULL)
        return;
    group->sealed = 1;
    state->look |= group->living == 0;
}

/* The process leads its group, and its number stays its own until it is reaped; it may have left
 * the group since. */
void helper_worker_signal(struct worker *worker, int signal_number)
{
    kill(-worker->pid, signal_number);
    if (getpgid(worker->pid) != worker->pid)
        kill(worker->pid, signal_number);
    if (signal_number == SIGKILL || signal_number == SIGTERM)
        worker->ended_by_us = 1;
}

static void signal_workers(struct helper_state *state, uint32_t number, int signal_number)
{
    size_t cursor = 0;
    struct worker *worker;

    while ((worker = hash_map_next(state->by_pid, &cursor)) != NULL)
        if (worker->group == number)
            helper_worker_signal(worker, signal_number);
}

void helper_group_signal(struct helper_state *state, uint32_t number, int signal_number)
{
    if (number > 0)
        signal_workers(state, number, signal_number);
}

static void group_kill(struct helper_state *state, struct group *group)
{
    group->ending = 1;
    group->sealed = 1;
    group->killed = 1;
    group->kill_at_ns = helper_now_ns() + RETRY_MS * NS_PER_MS;
    signal_workers(state, group->number, SIGKILL);
    helper_cgroup_kill(group->cgroup_fd);
    state->look = 1;
}

void helper_group_end(struct helper_state *state, uint32_t number, uint32_t grace_ms)
{
    struct group *group;

    if (number == 0)
        return;
    group = helper_group_get(state, number);
    if (grace_ms == 0 || group->living == 0) {
        group_kill(state, group);
        return;
    }
    if (group->ending)
        return;
    group->ending = 1;
    group->sealed = 1;
    group->kill_at_ns = helper_now_ns() + grace_ms * NS_PER_MS;
    signal_workers(state, number, SIGTERM);
    signal_workers(state, number, SIGCONT);
}

/* A process that has ended keeps its number, which is that of its process group, until it is reaped. */
static void end_leftovers(const struct helper_state *state, const siginfo_t *info)
{
    const struct worker *worker = hash_map_get_u64(state->by_pid, (uint64_t)info->si_pid);
    int has_failed = info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED ||
                     (info->si_code == CLD_EXITED && info->si_status != 0);

    if (worker != NULL && worker->ends_group && has_failed)
        kill(-info->si_pid, SIGKILL);
}

pid_t helper_group_reap_next(const struct helper_state *state, int *ret_status,
                             struct rusage *ret_usage)
{
    siginfo_t info = {.si_pid = 0};

    if (state->ends_groups == 0)
        return wait4(-1, ret_status, WNOHANG, ret_usage);
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return 0;
    end_leftovers(state, &info);
    return wait4(info.si_pid, ret_status, WNOHANG, ret_usage);
}

void helper_group_worker_gone(struct helper_state *state, uint32_t number)
{
    struct group *group = helper_group_find(state, number);

    if (group == NULL)
        return;
    assert(group->living > 0);
    group->living--;
    state->look |= group->living == 0;
}

void helper_groups_kill(struct helper_state *state)
{
    struct list_link *node, *spare;

    list_for_each(&state->groups, node, spare)
        group_kill(state, list_entry(node, struct group, node));
}

void helper_workers_kill(struct helper_state *state)
{
    size_t cursor = 0;
    struct worker *worker;

    while ((worker = hash_map_next(state->by_pid, &cursor)) != NULL)
        helper_worker_signal(worker, SIGKILL);
}

static int group_is_over(const struct group *group)
{
    return group->killed || (group->sealed && group->living == 0);
}

/* Whether any job still has started processes here. */
static int any_group_lives(const struct helper_state *state)
{
    struct list_link *node, *spare;

    list_for_each(&state->groups, node,
                  spare) if (!group_is_over(list_entry(node, struct group, node))) return 1;
    return 0;
}

/* Must this adopted process end now?  An orphan of a helper that is dead, too, comes to us when
 * daemon and helper of a node on this machine were killed together.  *ret_alone: nothing is known of its process
 * group. */
static int must_end(struct helper_state *state, pid_t pid, struct group **ret_group, int *ret_alone)
{
    enum orphan_kind kind;
    pid_t helper;
    uint32_t number;
    struct group *group;

    kind = orphan_examine(pid, &helper, &number);
    *ret_alone = kind == ORPHAN_ENDING;
    switch (kind) {
    case ORPHAN_HELPER:
        state->awaits_helper = state->closing; /* until it has ended: its orphans become ours */
        return 0;
    case ORPHAN_DAEMON:
        return state->closing && !state->spares_daemons;
    case ORPHAN_MARKED:
        if (state->closing)
            return 1;
        if (helper != getpid())
            return !orphan_helper_lives(helper);
        if (number == 0)
            return 0;
        group = helper_group_find(state, number);
        *ret_group = group;
        return group == NULL || group_is_over(group);
    default:
        return state->closing || !any_group_lives(state);
    }
}

/* The process group of an agent that still runs, which may hold daemons, is not an orphan's. */
static int is_in_worker(const struct helper_state *state, pid_t pid)
{
    return hash_map_get_u64(state->by_pid, (uint64_t)getpgid(pid)) != NULL;
}

/* Kills the orphans that must end; how many there were.  Those of a group are counted against it. */
static size_t kill_orphans(struct helper_state *state)
{
    pid_t *pids;
    size_t count = orphan_list(&pids);
    size_t killed = 0;

    for (size_t i = 0; i < count; i++) {
        struct group *group = NULL;
        int is_alone;

        if (hash_map_get_u64(state->by_pid, (uint64_t)pids[i]) != NULL ||
            !must_end(state, pids[i], &group, &is_alone))
            continue;
        orphan_kill(pids[i], !is_alone && !is_in_worker(state, pids[i]));
        killed++;
    }
    free(pids);
    return killed;
}

static void report_empty(struct helper_state *state)
{
    struct list_link *node, *spare;

    list_for_each(&state->groups, node, spare)
    {
        struct group *group = list_entry(node, struct group, node);
        if (!group_is_over(group) || group->living > 0)
            continue;
        if (!helper_cgroup_remove(group->cgroup_path, group->cgroup_fd)) {
            state->look = 1;
            continue;
        }
        helper_tell(state, HELPER_GROUP_EMPTY, group->number, 0, 0);
        group_destroy(group);
    }
}

static void kill_overdue(struct helper_state *state)
{
    uint64_t now_ns = helper_now_ns();
    struct list_link *node, *spare;

    list_for_each(&state->groups, node, spare)
    {
        struct group *group = list_entry(node, struct group, node);
        group_check(group);
        if (group->kill_at_ns <= now_ns)
            group_kill(state, group);
    }
}

void helper_groups_step(struct helper_state *state)
{
    kill_overdue(state);
    if (!state->look)
        return;
    /* What was killed comes back as an ended child, which makes us look again. */
    state->awaits_helper = 0;
    state->look = kill_orphans(state) > 0 || state->awaits_helper;
    if (!state->look)
        report_empty(state);
}

uint64_t helper_groups_deadline_ns(const struct helper_state *state)
{
    uint64_t deadline_ns = state->look ? helper_now_ns() + RETRY_MS * NS_PER_MS : UINT64_MAX;
    struct list_link *node, *spare;

    list_for_each(&state->groups, node, spare)
    {
        struct group *group = list_entry(node, struct group, node);
        if (group->kill_at_ns < deadline_ns)
            deadline_ns = group->kill_at_ns;
    }
    return deadline_ns;
}
