/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes what the core of this daemon's overlay is told and does to a file, for
 * `banyan sim --replay` (the form: overlay/trace.h).  One write per step, at once, so that the file
 * is whole up to the step in which a daemon dies; a disk that is slow slows the daemon, hence only
 * on request.  A file ends at RECORDER_BYTES_MAX, or with a warning when it cannot be written.
 */
#ifndef LAUNCH_DAEMON_TRACER_H
#define LAUNCH_DAEMON_TRACER_H

#include <stdint.h>

#include "base/error.h"
#include "overlay/endpoint.h"

#define RECORDER_BYTES_MAX (256u * 1024 * 1024)

struct tracer;

/* DIRECTORY/banyan-SESSION-PLACE.record, for the user's eyes only.  NULL if it cannot be made. */
struct tracer *tracer_open(const char *directory, const char *session,
                           const struct endpoint_config *config, struct error *error);
void tracer_close(struct tracer *tracer); /* NULL is fine */
/* A endpoint_observer; context is the tracer. */
void tracer_step(void *context, const struct overlay_event *event,
                 const struct overlay_actions *actions);

#endif
