/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/detached.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launch/cli/client/instance_message.h"
#include "launch/cli/client/root_process.h"
#include "launch/proto/control.h"
#include "launch/proto/exit_status.h"

#define DETACHED_REQUEST 1 /* there is one */

struct detached {
    uint32_t job;
    int is_done;
    int status;
};

static int fail(struct detached *detached, const char *why)
{
    fprintf(stderr, "banyan: %s\n", why);
    detached->is_done = 1;
    detached->status = EXIT_STATUS_FAILED;
    return -1;
}

static void say_number(struct detached *detached)
{
    assert(detached->job > 0);
    printf("%u\n", detached->job);
    if (fflush(stdout) != 0)
        (void)fail(detached, "cannot write the job's number to standard output");
    detached->is_done = 1;
}

static void take_waits(struct detached *detached, struct wire_reader *reader)
{
    char *why;

    (void)control_get_job(reader);
    if (control_waits_decode(&why, reader) == 0)
        fprintf(stderr, "banyan: %s\n", why);
    free(why);
    say_number(detached);
}

/* Before all of it ran: it could not, or ended first. */
static void take_end(struct detached *detached, struct wire_reader *reader)
{
    struct control_job_end end;

    (void)control_get_job(reader);
    if (control_job_end_decode(&end, reader) < 0) {
        (void)fail(detached, "cannot decode the job's end");
        return;
    }
    if (end.text[0] != '\0')
        fprintf(stderr, "banyan: %s\n", end.text);
    detached->is_done = 1;
    if (end.banyan_failed)
        detached->status = (int)end.status;
    else
        say_number(detached);
}

static void take_message(struct detached *detached, uint8_t type, const struct buffer *payload)
{
    struct control_refused refused;
    struct wire_reader reader;
    uint32_t request;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    switch (type) {
    case CONTROL_ACCEPTED:
        if (control_accepted_decode(&request, &detached->job, &reader) < 0)
            (void)fail(detached, "cannot decode the job's number");
        break;
    case CONTROL_REFUSED:
        (void)fail(detached,
                   control_refused_decode(&refused, &reader) == 0 ? refused.why : "refused");
        break;
    case CONTROL_WAITS:
        take_waits(detached, &reader);
        break;
    case CONTROL_STARTED:
        say_number(detached);
        break;
    case CONTROL_TEXT:
        root_process_print_text(&reader);
        break;
    case CONTROL_JOB_END:
        take_end(detached, &reader);
        break;
    default:
        break; /* its output is kept by the root */
    }
}

int detached_run(const struct run_request *request)
{
    uint8_t flags = CONTROL_RUN_DETACHED | (request->no_wait ? 0 : CONTROL_RUN_MAY_WAIT);
    struct detached detached = {.job = 0};
    struct buffer payload = {0};
    int fd = request->instance_fd;
    uint8_t type = 0;
    int rc;

    assert(fd >= 0 && request->job.stdin_rank == UINT32_MAX);
    control_run_encode(DETACHED_REQUEST, flags, &request->job, &payload);
    rc = instance_message_send(fd, CONTROL_RUN, &payload);
    while (rc == 0 && !detached.is_done) {
        buffer_clear(&payload);
        rc = instance_message_read(fd, -1, &type, &payload);
        if (rc == 0)
            take_message(&detached, type, &payload);
    }
    if (rc < 0)
        (void)fail(&detached, "the root of the instance went away; the job ends with it");
    buffer_fini(&payload);
    close(fd);
    return detached.status;
}
