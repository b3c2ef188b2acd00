/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes what the core of this daemon's overlay is told and does to a file, for
 * `banyan sim --replay` (the form: overlay/record.h).  One write per step, at once, so that the file
 * is whole up to the step in which a daemon dies; a disk that is slow slows the daemon, hence only
 * on request.  A file ends at RECORDER_BYTES_MAX, or with a warning when it cannot be written.
 */
#ifndef LAUNCH_DAEMON_RECORDER_H
#define LAUNCH_DAEMON_RECORDER_H

#include <stdint.h>

#include "base/error.h"
#include "overlay/endpoint.h"

#define RECORDER_BYTES_MAX (256u * 1024 * 1024)

struct recorder;

/* DIRECTORY/banyan-SESSION-PLACE.record, for the user's eyes only.  NULL if it cannot be made. */
struct recorder *recorder_open(const char *directory, const char *session,
                               const struct endpoint_config *config, struct error *error);
void recorder_close(struct recorder *recorder); /* NULL is fine */
/* A endpoint_observer; context is the recorder. */
void recorder_step(void *context, const struct overlay_event *event,
                   const struct overlay_actions *actions);

#endif
