/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the daemons of child ranges, through the helper, by the instance's starter: `local` and
 * `virtual` fork without exec, `ssh` runs any agent called as AGENT HOST COMMAND.  Watches each
 * until it has its boot record, keeps the end of its standard error, and says in one line why one did not come up.
 */
#ifndef LAUNCH_START_STARTER_H
#define LAUNCH_START_STARTER_H

#include "fabric/loop.h"
#include "launch/proto/boot.h"
#include "launch/exec/helper.h"

struct starter;

struct starter_events {
    /* The daemon of a place will not come: why names neither place nor node ("ssh exited 255:
     * Connection refused", "no answer within 10 s", ...).  Called once per place, before or after
     * it joined: a starter that ends while its daemon should run is the death of that daemon. */
    void (*failed)(void *context, uint32_t place, const struct error *why);
    /* A line that a daemon wrote to its stderr (or stdout) after the start: for the log.  Place 0:
     * one of those that a one-shot starter started, or that one itself; the line begins with which. */
    void (*line)(void *context, uint32_t place, const char *text);
    /* The starter process of a place has ended after starter_expect_end. */
    void (*ended)(void *context, uint32_t place);
};

struct starter *starter_create(struct loop *loop, struct helper *helper,
                               const struct starter_events *events, void *context);
/* Encodes and keeps what it needs of record; record stays the caller's. */
void starter_start(struct starter *starter, const struct boot_record *record);
/* Of a one-shot starter, which the root calls for all: starts the daemons of all places that the record
 * of one_shot_record or one_shot_record_added names.  A start is given up when no daemon has shown up
 * for the start time-out, each place separately. */
void starter_start_all(struct starter *starter, const struct boot_record *record);
/* The root sees to the daemons of all places, and no daemon starts another. */
int starter_is_one_shot(enum starter_kind kind);
/* The place has joined: its start time-out no longer runs. */
void starter_joined(struct starter *starter, uint32_t place);
/* The daemon of a place that fails has started none of those below it: it had no boot record, or could not
 * use it. */
int starter_is_barren(const struct starter *starter, uint32_t place);
/* From now on ends are expected (leave, abort). */
void starter_expect_end(struct starter *starter);
/* We are no longer part of the instance, but those below may be: they are neither waited for nor
 * killed. */
void starter_let_go(struct starter *starter);
/* Kills what has not ended. */
void starter_kill(struct starter *starter);
uint32_t starter_running(const struct starter *starter); /* how many starter processes live */
/* To be called by the owner of the helper's events for ids that starter_owns. */
int starter_owns(const struct starter *starter, uint32_t id);
void starter_process_started(struct starter *starter, uint32_t id, pid_t pid);
/* The process of a place's daemon, where that is on this machine and was started by us; else 0. */
pid_t starter_daemon_pid(const struct starter *starter, uint32_t place);
void starter_process_failed(struct starter *starter, uint32_t id, int code, enum start_step step);
void starter_process_exited(struct starter *starter, uint32_t id, int wait_status);
/* Runs `banyand --clean SESSION.PLACE` on the node of a place whose daemon is dead, by the same starter:
 * kills what is left of the session there and removes its directories.  Nothing is done where the
 * start did not come to its boot record: nothing is there. */
void starter_clean(struct starter *starter, const struct instance_spec *instance, uint32_t place,
                   const char *node_name);
void starter_destroy(struct starter *starter);

#endif
