/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who says nothing, in words for the user.  Only what is known is said: that somebody is silent, for how
 * long, and where it can be looked up (the process is on this machine) in what state it is.
 */
#include "config.h"

#include "base/time.h"
#include "launch/daemon/daemon_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "launch/daemon/roll_call.h"
#include "launch/start/starter.h"

#define HELPER_NOTICE_S 10

static const char *process_state(pid_t pid)
{
    switch (roll_call_process_state(pid)) {
    case 'T':
        return " (stopped)";
    case 't':
        return " (stopped by a debugger)";
    case 'D':
        return " (waiting in the kernel)";
    case 'R':
        return " (waiting for a CPU)";
    default:
        return "";
    }
}

/* It is told of after as many seconds as a daemon that is silent.  Whoever has been stopped himself has
 * not counted meanwhile. */
void daemon_watch_helper(struct daemon *daemon)
{
    pid_t pid = helper_pid(daemon->helper);
    char *text;

    if (!helper_is_behind(daemon->helper)) {
        daemon->helper_behind = 0;
        return;
    }
    if (++daemon->helper_behind != HELPER_NOTICE_S || roll_call_process_state(pid) != 'T')
        return;
    text = memory_printf(
        "%s: banyan's helper, process %d, has been stopped for %d s; no process can start or end there until it continues",
        daemon->record.place ? daemon->record.name : "root", (int)pid, HELPER_NOTICE_S);
    daemon_text(daemon, 0, LOG_LEVEL_WARNING, text);
    free(text);
}

static void tell_own(struct daemon *daemon, uint64_t silent_ns)
{
    char *text =
        memory_printf("banyan's root was itself stopped or got no CPU for %.1f s; the job goes on",
                      (double)silent_ns / (double)NS_PER_S);

    daemon_text(daemon, 0, LOG_LEVEL_WARNING, text);
    free(text);
}

void daemon_silent(void *context, uint32_t place, uint64_t silent_ns)
{
    struct daemon *daemon = context;
    double patience_s = daemon->record.instance.lease_ms / 2000.0;
    char node[HOST_NAME_BYTES_MAX + 1];
    char *text;

    if (daemon->ending)
        return;
    if (place == daemon->record.place) {
        tell_own(daemon, silent_ns);
        return;
    }
    if (daemon_place_name(daemon, place, node)[0] == 0)
        snprintf(node, sizeof node, "node %u", place);
    if (silent_ns == 0)
        text = memory_printf("%s is responding again", node);
    else
        text = memory_printf(
            "%s has not responded for %.0f s%s; it will be treated as lost after %.0f s", node,
            (double)silent_ns / (double)NS_PER_S,
            process_state(starter_daemon_pid(daemon->starter, place)), patience_s);
    daemon_text(daemon, 0, silent_ns == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, text);
    free(text);
}

void daemon_seen(void *context, const struct ranges *places, enum node_loss loss,
                 uint64_t silent_ns)
{
    struct job_event event = {.kind = JOB_EVENT_SEEN,
                              .places = places,
                              .status = (int)loss,
                              .number = (int64_t)silent_ns};

    daemon_job_event(context, &event);
}
