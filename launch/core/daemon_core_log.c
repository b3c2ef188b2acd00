/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens to a daemon, for its log (--log): one line for each event that its user may want to know of after its
 * death.  Neither data nor environments are logged, nor anything that is secret.
 * Cost: nothing without --log.
 */
#include "config.h"

#include <assert.h>

#include "base/log.h"
#include "base/ranges.h"
#include "launch/core/daemon_core_internal.h"

static const char *text_of(const struct daemon_event *event)
{
    return event->text != NULL ? event->text : "";
}

static void log_places(const struct daemon_event *event, const char *what)
{
    struct buffer places = {0};

    ranges_print(event->places, &places);
    log_debug("%s: %s", what, buffer_string(&places));
    buffer_fini(&places);
}

/* Of a process of a job here. */
static void log_process(const struct daemon_core *core, const struct job_event *event)
{
    const struct job_local *part = instance_part(core->instance, event->job);
    char end[64];
    uint32_t rank;

    if (part == NULL || event->index >= part->count)
        return;
    rank = instance_part_rank(core->instance, part, event->index);
    switch (event->kind) {
    case JOB_EVENT_STARTED:
        log_debug("job %u: rank %u started", event->job, rank);
        break;
    case JOB_EVENT_START_FAILED:
        log_debug("job %u: rank %u could not be started: error %d", event->job, rank,
                  (int)-event->number);
        break;
    case JOB_EVENT_EXITED:
        job_local_end_text((int)event->number, end, sizeof(end));
        log_debug("job %u: rank %u %s", event->job, rank, end);
        break;
    case JOB_EVENT_ABORT:
        log_debug("job %u: rank %u has asked to abort the job", event->job, rank);
        break;
    case JOB_EVENT_GROUP_EMPTY:
        log_debug("job %u: none of its processes is left", event->job);
        break;
    case JOB_EVENT_DRAINED:
        log_debug("job %u: its output has been sent: %lld bytes", event->job,
                  (long long)event->number);
        break;
    default:
        break;
    }
}

static void log_tree(const struct daemon_event *event)
{
    switch (event->kind) {
    case DAEMON_EVENT_JOINED:
        log_debug("this daemon has joined the tree");
        break;
    case DAEMON_EVENT_LINKED:
        log_debug("linked with place %u", event->place);
        break;
    case DAEMON_EVENT_UNLINKED:
        log_debug("the link with place %u has ended: %s", event->place, text_of(event));
        break;
    case DAEMON_EVENT_COMPLETE:
        log_debug("all places have joined");
        break;
    case DAEMON_EVENT_SILENT:
        log_debug("place %u is silent", event->place);
        break;
    case DAEMON_EVENT_LOST:
        log_places(event, event->number == 1 ? "places that leave" : "places that are lost");
        break;
    default:
        break;
    }
}

void daemon_core_log(const struct daemon_core *core, const struct daemon_event *event)
{
    switch (event->kind) {
    case DAEMON_EVENT_JOB:
        log_process(core, event->job_event);
        break;
    case DAEMON_EVENT_SIGNALLED:
        log_debug("signal %d from %s", (int)event->number,
                  text_of(event)[0] != '\0' ? event->text : "an unknown sender");
        break;
    case DAEMON_EVENT_HELPER_LOST:
        log_debug("the helper process was killed");
        break;
    case DAEMON_EVENT_PLACE_FAILED:
        log_debug("the daemon of place %u did not start: %s", event->place, text_of(event));
        break;
    case DAEMON_EVENT_LEAVE:
        log_debug("all daemons are asked to leave");
        break;
    case DAEMON_EVENT_END:
        log_debug("this daemon ends: %s", text_of(event)[0] != '\0' ? event->text : "all leave");
        break;
    case DAEMON_EVENT_CLIENT_OPENED:
        log_debug("client %u has connected", event->place);
        break;
    case DAEMON_EVENT_CLIENT_CLOSED:
        log_debug("client %u has disconnected", event->place);
        break;
    default:
        log_tree(event);
    }
}
