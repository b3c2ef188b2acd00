/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events between processes of different nodes (PMIx_Notify_event).  A daemon sends it to the root as a request, which
 * is repeated when a relay dies; the root broadcasts it to the nodes of those who are meant, and a broadcast reaches
 * each of them once, in the root's order, whatever dies.  A daemon has one request for each job open at a time, so
 * its ids ascend, and one that is not above the last has been broadcast before: it is answered again, and no more.
 * That all processes of a job wait for a debugger is for who has spawned it.
 *
 * Cost: a number for each node of a job that has sent one, as long as the job lives.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/time.h"
#include "launch/core/daemon_core_internal.h"

#define RETRY_NS (100 * NS_PER_MS)

static uint64_t sender_key(uint32_t job, uint32_t place)
{
    return ((uint64_t)job << 32) | place;
}

/* Nobody: the processes that are meant have ended. */
static int send_notice(struct daemon_core *core, const struct job_notice *notice,
                       struct message *message)
{
    struct ranges places = {0};
    int rc = 0;

    for (uint32_t i = 0; i < notice->targets_count; i++)
        instance_job_places(core->instance, notice->targets[i].number, notice->targets[i].rank,
                            &places);
    if (notice->told > 0 && notice->targets_count > 0)
        ranges_remove(&places, notice->told, notice->told);
    if (notice->targets_count == 0)
        rc = core->tree->broadcast(core->tree_context, NULL, message_reference(message));
    else if (!ranges_is_empty(&places))
        rc = core->tree->broadcast(core->tree_context, &places, message_reference(message));
    ranges_fini(&places);
    return rc;
}

/* The job knows who has spawned it, and where a tool is. */
static int send_stop(struct daemon_core *core, const struct job_notice *notice)
{
    struct ranges places = {0};
    struct buffer data = {0};
    int rc = 0;

    instance_stop_notice(core->instance, notice->child, (enum pmi_stop)notice->stop, &places,
                         &data);
    if (!ranges_is_empty(&places))
        rc = core->tree->broadcast(core->tree_context, &places, message_from_buffer(&data));
    ranges_fini(&places);
    buffer_fini(&data);
    return rc;
}

static int take_notice(struct daemon_core *core, const struct daemon_event *event,
                       const struct job_notice *notice)
{
    uint64_t key = sender_key(notice->number, event->place);
    uint32_t last;
    int rc;

    if (core->root->notices == NULL)
        core->root->notices = hash_map_create();
    last = (uint32_t)(uintptr_t)hash_map_get_u64(core->root->notices, key);
    if (last != 0 && (int32_t)(event->id - last) <= 0)
        return 0;
    rc = notice->stop != PMI_STOP_NONE ? send_stop(core, notice)
                                       : send_notice(core, notice, event->message);
    if (rc == 0)
        (void)hash_map_put_u64(core->root->notices, key, (void *)(uintptr_t)event->id);
    return rc;
}

int daemon_core_notice_request(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_notice notice;
    struct buffer answer = {0};
    int rc;

    assert(daemon_core_is_root(core));
    rc = job_notice_decode(&notice, event->message);
    if (rc < 0)
        return rc;
    if (notice.stop >= PMI_STOP_COUNT || notice.stop == PMI_STOP_EXEC) /* that is the root's */
        notice.stop = PMI_STOP_NONE;
    rc = instance_job_spec(core->instance, notice.number) == NULL
             ? -ENOENT
             : take_notice(core, event, &notice);
    job_notice_fini(&notice);
    job_reply_encode(rc, NULL, 0, &answer);
    core->tree->reply(core->tree_context, event->place, event->id, message_from_buffer(&answer));
    buffer_fini(&answer);
    return 0;
}

/* What waits gives way to what comes after it. */
static void drop_waiting(struct daemon_core *core)
{
    if (core->root->notice == NULL)
        return;
    message_release(core->root->notice);
    core->root->notice = NULL;
    core->ops->timer(core->context, DAEMON_TIMER_NOTICE, 0, UINT64_MAX);
}

/* There is no room while acknowledgements of earlier broadcasts are on their way. */
static void tell_all(struct daemon_core *core, struct message *message, bool may_wait)
{
    uint64_t now_ns = core->ops->now_ns(core->context);

    if (instance_jobs(core->instance) == 0 || daemon_core_is_ending(core))
        return;
    if (core->tree->broadcast(core->tree_context, NULL, message_reference(message)) == 0 ||
        !may_wait)
        return;
    core->root->notice = message_reference(message);
    core->ops->timer(core->context, DAEMON_TIMER_NOTICE, 0, now_ns + RETRY_NS);
}

void daemon_core_notice_all(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_notice notice = {.data = event->data, .data_bytes = event->data_bytes};
    struct buffer payload = {0};
    struct message *message;

    assert(daemon_core_is_root(core));
    drop_waiting(core);
    job_notice_encode(&notice, &payload);
    message = message_from_buffer(&payload);
    tell_all(core, message, event->number != 0);
    message_release(message);
    buffer_fini(&payload);
}

void daemon_core_notice_due(struct daemon_core *core)
{
    struct message *message = core->root->notice;

    if (message == NULL) /* a root that has been recovered may not know that the timer is over */
        return;
    core->root->notice = NULL;
    tell_all(core, message, true);
    message_release(message);
}

int daemon_core_notice_broadcast(struct daemon_core *core, const struct message *message)
{
    struct job_notice notice;

    if (message->length_bytes == 0 || message->data[0] != JOB_MESSAGE_NOTICE)
        return 0;
    if (daemon_core_is_root(core) || job_notice_decode(&notice, message) < 0)
        return 1;
    if (notice.told != core->place)
        core->ops->pmi->notice(core->context, &notice);
    job_notice_fini(&notice);
    return 1;
}

void daemon_core_notice_forget(struct daemon_core *core, uint32_t job)
{
    const void *name;
    size_t cursor = 0, name_bytes;
    uint64_t key;

    while (core->root->notices != NULL &&
           hash_map_next_entry(core->root->notices, &cursor, &name, &name_bytes) != NULL) {
        assert(name_bytes == sizeof(key));
        memcpy(&key, name, sizeof(key));
        if (key >> 32 == job)
            (void)hash_map_remove_u64(core->root->notices, key);
    }
}
