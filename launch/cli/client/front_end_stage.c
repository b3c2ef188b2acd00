/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that a run stages: scanned before anything starts, and sent when the root has accepted the job, which it
 * holds until they are on the nodes.  If that fails, the job is ended.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "launch/cli/client/front_end_internal.h"
#include "launch/cli/client/stage_program.h"
#include "launch/cli/client/stage_sender.h"
#include "launch/proto/exit_status.h"

/* To remove a file, of a slow file system. */
#define REMOVE_ENTRY_MS 2u
#define REMOVE_MAX_MS   1800000u

int front_end_stage_scan(struct front_end *front, struct run_request *request, struct error *error)
{
    const struct request_stage *stage = &request->stage;
    int rc = 0;

    if (request->job.stage == 0)
        return 0;
    front->stage_files = stage_files_create(stage->force);
    for (uint32_t i = 0; i < stage->words_count && rc == 0; i++)
        rc = stage_files_add(front->stage_files, stage->words[i], error);
    for (uint32_t i = 0; i < request->job.apps_count && rc == 0; i++) {
        if (stage->binary)
            rc = stage_program_add(front->stage_files, &request->job.apps[i], error);
        if (rc == 0 && stage->check_libraries)
            stage_program_check(front->stage_files, &request->job.apps[i], stage->binary);
    }
    return rc;
}

static void send_payload(void *context, struct buffer *payload)
{
    const struct front_end *front = context;

    if (front->channel != NULL)
        channel_send_buffer(front->channel, CONTROL_REQUEST, payload);
}

static void report_done(struct front_end *front)
{
    struct stage_sender_sums sums = stage_sender_sums(front->stage_sender);
    char text[160];

    if (front->request->verbose == 0)
        return;
    snprintf(text, sizeof(text), "staged %llu bytes on %u nodes, of which %llu were sent",
             (unsigned long long)sums.bytes, sums.nodes, (unsigned long long)sums.sent_bytes);
    front_end_message(front, text);
}

static void fail_stage(struct front_end *front, const struct error *error)
{
    front_end_fail(front, EXIT_STATUS_FAILED, RUN_FAILURE_BANYAN, error->text);
}

/* A slice of the work in each turn of the loop. */
static void on_stage_timer(void *context)
{
    struct front_end *front = context;
    struct error error = ERROR_NONE;
    int more;

    assert(front->stage_sender != NULL && front->stage_files != NULL);
    if (front->channel == NULL || front->has_job_end || front->has_failure)
        return;
    more = stage_sender_work(front->stage_sender, &error);
    if (more > 0)
        loop_timer_set(front->stage_timer, loop_now_ns());
    else if (more < 0)
        fail_stage(front, &error);
}

void front_end_stage_begin(struct front_end *front)
{
    if (front->stage_files == NULL || front->stage_sender != NULL)
        return;
    assert(front->job > 0);
    front->stage_sender = stage_sender_create(front->stage_files, front->job, send_payload, front);
    front->stage_timer = loop_timer_create(front->loop, on_stage_timer, front);
    loop_timer_set(front->stage_timer, loop_now_ns());
}

int front_end_stage_answer(struct front_end *front, const struct control_answer *answer)
{
    struct error error = ERROR_NONE;

    if (front->stage_sender == NULL)
        return -EPROTO;
    if (front->has_job_end || front->has_failure || front->end_wishes > 0)
        return 0; /* the job is being ended, and with it the transfer */
    if (stage_sender_answer(front->stage_sender, answer, &error) < 0)
        fail_stage(front, &error);
    else if (stage_sender_is_done(front->stage_sender))
        report_done(front);
    else
        loop_timer_set(front->stage_timer, loop_now_ns());
    return 0;
}

uint32_t front_end_stage_leave_ms(const struct front_end *front)
{
    uint64_t entries;

    if (front->stage_files == NULL)
        return 0;
    entries = stage_files_manifest(front->stage_files)->entries_count;
    if (front->request->instance.virtual_base != NULL) /* all on this machine */
        entries *= allocation_nodes(&front->request->allocation);
    return entries * REMOVE_ENTRY_MS < REMOVE_MAX_MS ? (uint32_t)(entries * REMOVE_ENTRY_MS)
                                                     : REMOVE_MAX_MS;
}

void front_end_stage_close(struct front_end *front)
{
    loop_timer_destroy(front->stage_timer);
    stage_sender_destroy(front->stage_sender);
    front->stage_timer = NULL;
    front->stage_sender = NULL;
}
