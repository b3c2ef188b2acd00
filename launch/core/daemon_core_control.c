/* SPDX-License-Identifier: BSD-3-Clause */
/* The root: a process controls a job (JOB_MESSAGE_CONTROL). */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/proto/exit_status.h"

/* As signal(7) has them for every system that this runs on. */
#define SIGNAL_KILL      9
#define SIGNAL_TERMINATE 15
#define SIGNAL_CONTINUE  18

static void end_whole(struct daemon_core *core, const struct job_control *control)
{
    int at_once = control->kind == JOB_CONTROL_KILL;
    struct control_end end = {.status = at_once ? EXIT_STATUS_SIGNAL + SIGNAL_KILL
                                                : EXIT_STATUS_TERMINATED,
                              .at_once = (uint8_t)at_once};
    struct job_event event = {.kind = JOB_EVENT_END, .job = control->number, .end = &end};

    snprintf(end.reason, sizeof(end.reason), "%s by %s", at_once ? "killed" : "terminated",
             control->by);
    daemon_core_job(core, &event);
}

static void send_signal(struct daemon_core *core, const struct job_control *control, int number)
{
    struct job_event event = {.kind = JOB_EVENT_SIGNAL,
                              .job = control->number,
                              .number = number,
                              .places = ranges_is_empty(&control->ranks) ? NULL : &control->ranks};

    daemon_core_job(core, &event);
}

/* A process that is stopped gets SIGTERM when it goes on. */
static void obey(struct daemon_core *core, const struct job_control *control)
{
    if (control->kind == JOB_CONTROL_SIGNAL) {
        send_signal(core, control, (int)control->signal);
    } else if (ranges_is_empty(&control->ranks)) {
        end_whole(core, control);
    } else if (control->kind == JOB_CONTROL_KILL) {
        send_signal(core, control, SIGNAL_KILL);
    } else {
        send_signal(core, control, SIGNAL_TERMINATE);
        send_signal(core, control, SIGNAL_CONTINUE);
    }
}

static int has_ranks(const struct daemon_core *core, const struct job_control *control)
{
    uint32_t node;

    return ranges_is_empty(&control->ranks) ||
           instance_job_find(core->instance, control->number, ranges_max(&control->ranks), &node) ==
               0;
}

/* What is being started or ended already can still be ended, for example faster. */
static int is_there(const struct daemon_core *core, const struct job_control *control)
{
    if (control->kind == JOB_CONTROL_SIGNAL || !ranges_is_empty(&control->ranks))
        return instance_job_is_running(core->instance, control->number) && has_ranks(core, control);
    return instance_job_spec(core->instance, control->number) != NULL &&
           instance_job_state(core->instance, control->number) != INSTANCE_JOB_ENDED;
}

int daemon_core_control(struct daemon_core *core, struct wire_reader *reader)
{
    struct job_control control;
    int rc = daemon_core_is_root(core) ? job_control_decode(&control, reader) : -ENOTSUP;

    if (rc < 0)
        return rc;
    if (!is_there(core, &control))
        rc = -ENOENT;
    else
        obey(core, &control);
    ranges_fini(&control.ranks);
    return rc;
}
