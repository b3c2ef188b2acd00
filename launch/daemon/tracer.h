/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the events and actions of this daemon's overlay core to a file, for `banyan sim --replay`
 * (format: overlay/trace.h).  Each step is written immediately, so that the file is complete up to the
 * step in which a daemon dies.  A slow disk slows the daemon, so traces are written only on request.  A
 * file ends at RECORDER_BYTES_MAX, or with a warning when a write fails.
 */
#ifndef LAUNCH_DAEMON_TRACER_H
#define LAUNCH_DAEMON_TRACER_H

#include <stdint.h>

#include "base/error.h"
#include "overlay/endpoint.h"

#define RECORDER_BYTES_MAX (256u * 1024 * 1024)

struct tracer;

/* Creates DIRECTORY/banyan-SESSION-PLACE.record, with mode 0600.  NULL if that fails. */
struct tracer *tracer_open(const char *directory, const char *session,
                           const struct endpoint_config *config, struct error *error);
void tracer_close(struct tracer *tracer); /* NULL is fine */
/* An endpoint_observer; context is the tracer. */
void tracer_step(void *context, const struct overlay_event *event,
                 const struct overlay_actions *actions);

#endif
