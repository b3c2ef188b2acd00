/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --on LOGIN: the same run on another machine, over ssh.  ssh's stdout and stderr are ours; its
 * stdin carries frames (kind, u16 length, bytes), so that signals travel along with the input, and
 * so that its end shows that we have exited:
 *
 *     D bytes    input              E    end of input
 *     S number   a signal           H    we are alive, every ON_ALIVE_MS
 *
 * There `banyan relay run ...` (remote_relay.c) is the run's parent: it forwards input and signals, and
 * ends the run when the frames end, or when none has arrived for ON_SILENCE_MS.
 */
#ifndef LAUNCH_CLI_REMOTE_REMOTE_H
#define LAUNCH_CLI_REMOTE_REMOTE_H

#include <stdint.h>

#define ON_RELAY_VERB  "relay"
#define ON_ALIVE_MS    5000
#define ON_SILENCE_MS  30000
#define ON_FRAME_BYTES 3
#define ON_DATA_MAX    16384u

enum on_frame { ON_DATA = 'D', ON_END = 'E', ON_SIGNAL = 'S', ON_ALIVE = 'H' };

/* The value of --on in the words of `banyan run`, or NULL. */
const char *remote_submit_wanted(int argc, char *const *argv);
/* Runs there; returns the exit status.  banyan is its path there. */
int remote_submit_run(const char *login, int argc, char *const *argv, const char *banyan);
/* The other side: argv is `run ...`. */
int remote_relay_run(int argc, char *const *argv, const char *banyan);

#endif
