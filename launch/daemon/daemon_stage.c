/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are staged on this node (doc/stage.rst): a process of the helper (launch/exec/stage_worker.h), started
 * with the first order of the root, gets the orders and reports; the loop never waits for a file system.  What
 * waits here for it is bounded by the root (STAGE_PACKS_MAX, STAGE_TRANSFERS_MAX).
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/daemon/daemon_internal.h"
#include "launch/exec/stage_worker.h"
#include "launch/proto/stage.h"

static void report_failure(struct daemon *daemon, int status, const char *why)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_STAGE_REPORT, .status = status, .text = why};

    assert(status < 0);
    daemon_core_step(daemon->core, &event);
}

static void on_reply(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    struct daemon *daemon = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_STAGE_REPORT};
    struct stage_reply reply;
    struct wire_reader reader;

    daemon_check(daemon);
    assert(type == STAGE_WORKER_MESSAGE); /* the process is the same program */
    wire_reader_init(&reader, payload, payload_bytes);
    if (stage_reply_decode(&reply, &reader) < 0)
        return;
    event.id = reply.generation;
    event.data = reply.report.data;
    event.data_bytes = reply.report.length_bytes;
    daemon_core_step(daemon->core, &event);
}

/* The next order starts another one. */
static void on_closed(void *context, const char *why)
{
    struct daemon *daemon = context;

    (void)why;
    assert(daemon->stage != NULL);
    channel_destroy(daemon->stage, 0);
    daemon->stage = NULL;
    report_failure(daemon, -EPIPE, "the process that stages files has exited");
}

void daemon_stage_close(struct daemon *daemon)
{
    if (daemon->stage != NULL)
        channel_destroy(daemon->stage, 0);
    daemon->stage = NULL;
}

void daemon_stage_directory(const struct daemon *daemon, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/stage", daemon->session.directory);
}

/* Virtual nodes keep what is sent once for all of them. */
static void start_process(struct daemon *daemon, int fd)
{
    const struct instance_spec *instance = &daemon->record.instance;
    uint64_t id = DAEMON_SURVEY_ID + daemon->surveys_made++ % DAEMON_SURVEY_ID;
    char base[PATH_MAX], cache[PATH_MAX];
    int shares = instance->starter == STARTER_VIRTUAL && instance->virtual_base != NULL;

    daemon_stage_directory(daemon, base);
    snprintf(cache, sizeof(cache), "%s/stage-cache",
             shares ? instance->virtual_base : daemon->session.directory);
    helper_stage(daemon->helper, id, base, cache, boot_record_listed_place(&daemon->record), shares,
                 fd);
}

static int open_process(struct daemon *daemon, struct error *error)
{
    static const struct channel_events events = {.message = on_reply, .closed = on_closed};
    int ends[2];
    int rc = session_create(&daemon->session, error);

    if (rc < 0 && rc != -EEXIST)
        return rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(error, -errno, "cannot create a socket: %s", strerror(errno));
    daemon->stage = channel_create(daemon->loop, ends[0], &events, daemon);
    start_process(daemon, ends[1]);
    close(ends[1]);
    return 0;
}

void daemon_stage_order(void *context, struct message *message)
{
    struct daemon *daemon = context;
    struct error error = ERROR_NONE;

    daemon_check(daemon);
    assert(daemon->record.place > 0);
    if (daemon->stage == NULL && open_process(daemon, &error) < 0)
        report_failure(daemon, error.code, error.text);
    else
        channel_send(daemon->stage, STAGE_WORKER_MESSAGE, message->data, message->length_bytes);
}
