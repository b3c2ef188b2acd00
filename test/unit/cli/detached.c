/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `banyan run --detach` makes of what an instance says, which lies ready in a socket:
 * launch/cli/client/detached.c.
 */
#include "config.h"

#include "launch/cli/client/detached.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/cli/client/instance_message.h"
#include "launch/proto/control.h"
#include "test/support/tap.h"

static int instance_fd;
static char printed[2][256]; /* on standard output and standard error */
static uint8_t flags;        /* of the RUN that came */

static void say(uint8_t type, struct buffer *payload)
{
    if (instance_message_send(instance_fd, type, payload) < 0)
        exit(1);
    buffer_clear(payload);
}

static void say_accepted(uint32_t job)
{
    struct buffer payload = {0};

    control_accepted_encode(1, job, &payload);
    say(CONTROL_ACCEPTED, &payload);
    buffer_fini(&payload);
}

static void make_request(struct run_request *request)
{
    *request = (struct run_request){.detach = 1};
    instance_spec_init(&request->instance);
    job_spec_init(&request->job);
    allocation_init(&request->allocation);
    placement_add(&request->job.placement, &(struct placement_rule){.processes = 1});
    request->job.apps = memory_allocate_zeroed(sizeof(*request->job.apps));
    request->job.apps_count = 1;
    request->job.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    request->job.apps[0].argv[0] = memory_copy_string("app");
    request->job.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    request->job.stdin_rank = UINT32_MAX;
}

/* Standard output (1) or error (2) goes to a file; returns what it was. */
static int redirect(int fd)
{
    char path[] = "/tmp/detached.XXXXXX";
    int file = mkstemp(path), old = dup(fd);

    if (file < 0 || old < 0 || unlink(path) < 0 || dup2(file, fd) < 0)
        exit(1);
    close(file);
    return old;
}

static void restore(int fd, int old, char text[256])
{
    ssize_t bytes = pread(fd, text, 255, 0);

    text[bytes > 0 ? bytes : 0] = '\0';
    (void)dup2(old, fd);
    close(old);
}

/* What was sent to the instance: one RUN. */
static void take_run(void)
{
    struct buffer payload = {0};
    struct wire_reader reader;
    struct job_spec spec;
    uint32_t request;
    uint8_t type = 0;

    is_int(instance_message_read(instance_fd, 1000, &type, &payload), 0, "the instance gets");
    is_uint(type, CONTROL_RUN, "a job");
    wire_reader_init(&reader, payload.data, payload.length_bytes);
    if (ok(control_run_decode(&request, &flags, &spec, &reader) == 0, "that can be read"))
        job_spec_fini(&spec);
    buffer_fini(&payload);
}

static void runs(int client_fd, int no_wait, int status, const char *out, const char *err)
{
    struct run_request request;
    int old[2], got;

    make_request(&request);
    request.instance_fd = client_fd;
    request.no_wait = no_wait;
    fflush(stdout);
    old[0] = redirect(STDOUT_FILENO);
    old[1] = redirect(STDERR_FILENO);
    got = detached_run(&request);
    restore(STDOUT_FILENO, old[0], printed[0]);
    restore(STDERR_FILENO, old[1], printed[1]);
    is_int(got, status, "the exit status");
    is_string(printed[0], out, "the number");
    is_string(printed[1], err, "the words");
    take_run();
    is_uint(flags, CONTROL_RUN_DETACHED | (no_wait ? 0 : CONTROL_RUN_MAY_WAIT), "and its flags");
    close(instance_fd);
    request_fini(&request);
}

static int begin(void)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        exit(1);
    instance_fd = fds[1];
    return fds[0];
}

static void test_started(void)
{
    const struct control_started started = {.processes = 1, .nodes = 1};
    const struct control_output output = {.stream = 1,
                                          .bytes = {(const unsigned char *)"hello\n", 6}};
    struct buffer payload = {0};
    int fd = begin();

    say_accepted(7);
    control_put_job(7, &payload);
    control_output_encode(&output, &payload);
    say(CONTROL_OUTPUT, &payload);
    control_put_job(7, &payload);
    control_started_encode(&started, &payload);
    say(CONTROL_STARTED, &payload);
    runs(fd, 0, 0, "7\n", "");
    buffer_fini(&payload);
}

static void test_waits(void)
{
    struct buffer payload = {0};
    int fd = begin();

    say_accepted(8);
    control_put_job(8, &payload);
    control_waits_encode("job 8 waits for 2 slots", &payload);
    say(CONTROL_WAITS, &payload);
    runs(fd, 0, 0, "8\n", "banyan: job 8 waits for 2 slots\n");
    buffer_fini(&payload);
}

/* It ended before all of it ran: by itself, or because it could not be started. */
static void test_ended(int banyan_failed)
{
    struct control_job_end end = {.status = 3, .text = "why"};
    struct buffer payload = {0};
    int fd = begin();

    end.banyan_failed = (uint8_t)banyan_failed;
    say_accepted(9);
    control_put_job(9, &payload);
    control_job_end_encode(&end, &payload);
    say(CONTROL_JOB_END, &payload);
    runs(fd, 1, banyan_failed ? 3 : 0, banyan_failed ? "" : "9\n", "banyan: why\n");
    buffer_fini(&payload);
}

static void test_refused(void)
{
    struct buffer payload = {0};
    int fd = begin();

    control_refused_encode(1, "no", &payload);
    say(CONTROL_REFUSED, &payload);
    runs(fd, 0, 125, "", "banyan: no\n");
    buffer_fini(&payload);
}

static void test_gone(void)
{
    int fd = begin();

    say_accepted(7);
    shutdown(instance_fd, SHUT_WR);
    runs(fd, 0, 125, "", "banyan: the root of the instance went away; the job ends with it\n");
}

int main(void)
{
    test_started();
    test_waits();
    test_ended(0);
    test_ended(1);
    test_refused();
    test_gone();
    return done_testing();
}
