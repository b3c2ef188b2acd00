/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a daemon ends: it kills its ranks, waits for the starter's processes, lets the links write what
 * is queued, and stops.  Each wait is limited.
 */
#include "config.h"

#include <assert.h>

#include "base/log.h"
#include "base/time.h"
#include "launch/core/daemon_core_internal.h"

/* How long the processes of the starter may take to end by themselves once all have left. */
#define END_PATIENCE_MS 1500
/* The same after a failed start: some of them wait for a daemon that never starts. */
#define END_PATIENCE_INCOMPLETE_MS 300

static void set_patience(struct daemon_core *core)
{
    bool is_incomplete = daemon_core_is_root(core) && !core->was_complete;
    uint64_t patience_ms = is_incomplete ? END_PATIENCE_INCOMPLETE_MS : END_PATIENCE_MS;

    core->ops->timer(core->context, DAEMON_TIMER_END, 0,
                     core->ops->now_ns(core->context) + patience_ms * NS_PER_MS);
}

typedef enum daemon_phase way_out(struct daemon_core *core);

static enum daemon_phase begin_ending(struct daemon_core *core)
{
    core->ops->ranks->end_all(core->context);
    core->ops->starter->expect_end(core->context);
    set_patience(core);
    return DAEMON_ENDING;
}

static enum daemon_phase finish_daemon(struct daemon_core *core)
{
    core->ops->finish(core->context);
    return DAEMON_FINISHING;
}

static enum daemon_phase kill_starter(struct daemon_core *core)
{
    core->ops->starter->kill(core->context);
    set_patience(core);
    return DAEMON_KILLING;
}

static enum daemon_phase stop_daemon(struct daemon_core *core)
{
    core->ops->stop(core->context);
    return DAEMON_STOPPED;
}

/* NULL: no change. */
static way_out *const ways[DAEMON_PHASE_COUNT][DAEMON_OUT_COUNT] = {
    [DAEMON_RUNNING] = {[DAEMON_OUT_END] = begin_ending},
    [DAEMON_LEAVING] = {[DAEMON_OUT_END] = begin_ending, [DAEMON_OUT_PATIENCE] = begin_ending},
    [DAEMON_ENDING] = {[DAEMON_OUT_IDLE] = finish_daemon, [DAEMON_OUT_PATIENCE] = kill_starter},
    [DAEMON_FINISHING] =
        {[DAEMON_OUT_PATIENCE] = kill_starter, [DAEMON_OUT_FINISHED] = stop_daemon},
    [DAEMON_KILLING] = {[DAEMON_OUT_PATIENCE] = stop_daemon, [DAEMON_OUT_FINISHED] = stop_daemon},
};

void daemon_core_end_step(struct daemon_core *core, enum daemon_step_out what)
{
    way_out *way = ways[core->phase][what];

    assert(what < DAEMON_OUT_COUNT);
    assert(what != DAEMON_OUT_PATIENCE || core->phase != DAEMON_RUNNING);
    assert(what != DAEMON_OUT_FINISHED || core->phase >= DAEMON_FINISHING);
    if (way == NULL)
        return;
    core->phase = way(core);
    daemon_core_end_check_idle(core);
}

void daemon_core_end_check_idle(struct daemon_core *core)
{
    if (core->phase == DAEMON_ENDING && core->ops->starter->running(core->context) == 0)
        daemon_core_end_step(core, DAEMON_OUT_IDLE);
}

void daemon_core_end_begin(struct daemon_core *core, enum endpoint_end end, const char *why)
{
    if (daemon_core_is_ending(core))
        return;
    if (end != ENDPOINT_END_LEFT) {
        log_info("this daemon ends: %s", why != NULL ? why : "");
        core->has_failed = true;
        if (daemon_core_is_root(core))
            daemon_core_fail(core, why != NULL ? why : "the tree has ended");
        else
            core->ops->starter->let_go(core->context);
    } else if (core->tree->is_departing(core->tree_context)) {
        core->ops->starter->let_go(core->context); /* those below have another head, and stay */
    }
    daemon_core_end_step(core, DAEMON_OUT_END);
}

/* At the root, which then ends when all others have ended or its timer expires. */
void daemon_core_end_leave(struct daemon_core *core, uint32_t patience_ms)
{
    assert(daemon_core_is_root(core));
    if (core->phase != DAEMON_RUNNING)
        return;
    core->phase = DAEMON_LEAVING;
    core->ops->starter->expect_end(core->context);
    core->ops->timer(core->context, DAEMON_TIMER_END, 0,
                     core->ops->now_ns(core->context) + patience_ms * NS_PER_MS);
    core->tree->leave(core->tree_context);
}
