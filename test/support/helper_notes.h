/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon of which only this much is left: it starts processes by a helper and notes what it is told.
 */
#ifndef TEST_SUPPORT_HELPER_NOTES_H
#define TEST_SUPPORT_HELPER_NOTES_H

#include <stdint.h>
#include <sys/types.h>

#include "launch/exec/helper.h"

#define HELPER_NOTES_MAX 1024
#define PATIENCE_MS      20000

struct note {
    int started;
    int failed;
    int code;
    enum start_step step;
    char text[16];
    int exited;
    int status;
    int by_us;
    int order_is_right;
};

extern struct note notes[HELPER_NOTES_MAX]; /* by the ids of processes */
extern pid_t last_pid;                      /* of what was started last */
extern int started_count, failed_count, exited_count, empty_count, gone_count;
extern struct loop *loop;
extern struct helper *helper;
extern char scratch[64]; /* a directory */
extern const char
    *setting; /* in the environment of all that is started (test/support/processes.h) */

/* on_room: of struct helper_events, or NULL. */
void helper_notes_begin(void (*on_room)(void *context));
/* The helper must have been closed. */
void helper_notes_end(void);

/* Runs the loop until *counter is at least `wanted`; the milliseconds it took, or -1. */
int64_t wait_for(const int *counter, int wanted);
/* All notes and counters but gone_count. */
void forget(void);
/* The environment of this test and its setting; valid until the next call. */
const char *const *environment(void);
void start_full(uint64_t id, uint32_t group, const char *const *argv, const char *const *variables,
                const char *directory, const struct helper_fd *fds, uint32_t count);
void start_shell(uint64_t id, uint32_t group, const char *script);
/* A file in the scratch directory; its path, free(). */
char *make_file(const char *name, const char *contents, mode_t mode);

#endif
