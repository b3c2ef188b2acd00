/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects the name service to the tree, the clock and the jobs. */
#include "config.h"

#include <assert.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/core/names.h"

static uint32_t request_place(void *context, uint32_t place, struct message *message)
{
    struct daemon_core *core = context;

    return core->tree->request(core->tree_context, place, message);
}

static void reply_place(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct daemon_core *core = context;

    core->tree->reply(core->tree_context, source, id, message);
}

static void set_timer(void *context, uint64_t deadline_ns)
{
    struct daemon_core *core = context;

    core->ops->timer(core->context, DAEMON_TIMER_NAMES, 0, deadline_ns);
}

static uint64_t now_ns(void *context)
{
    struct daemon_core *core = context;

    return core->ops->now_ns(core->context);
}

static bool job_is_running(void *context, uint32_t job)
{
    return instance_job_is_running(((struct daemon_core *)context)->instance, job);
}

/* With the first request: most instances never have one, and a million daemons are simulated. */
static void open_names(struct daemon_core *core)
{
    struct names_ops ops = {
        .context = core,
        .request = request_place,
        .reply = reply_place,
        .timer = set_timer,
        .now_ns = now_ns,
        .job_is_running = job_is_running,
    };

    assert(core->names == NULL);
    core->names = names_create(core->place, core->spec->places - 1, &ops);
    names_lost(core->names, &core->lost);
}

void daemon_core_names_joined(struct daemon_core *core)
{
    struct ranges dead = {0};

    core->tree->dead(core->tree_context, &dead);
    daemon_core_names_lost(core, &dead);
    ranges_fini(&dead);
}

void daemon_core_names_lost(struct daemon_core *core, const struct ranges *places)
{
    if (core->names == NULL)
        ranges_add_all(&core->lost, places);
    else
        names_lost(core->names, places);
}

int daemon_core_names_request(struct daemon_core *core, uint8_t kind,
                              const struct daemon_event *event, struct wire_reader *reader,
                              int *ret_status)
{
    if (kind < JOB_MESSAGE_NAMES || kind > JOB_MESSAGE_NAME_WATCH)
        return 0;
    if (core->names == NULL)
        open_names(core);
    *ret_status =
        names_request(core->names, (enum job_message)kind, event->place, event->id, reader);
    return 1;
}

void daemon_core_names_job_event(struct daemon_core *core, const struct job_event *event)
{
    const struct job_local *part = instance_part(core->instance, event->job);

    if (event->kind == JOB_EVENT_EXITED && part != NULL)
        names_process_ended(core->names, event->job,
                            instance_part_rank(core->instance, part, event->index));
}
