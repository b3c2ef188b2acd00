/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/doctor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "fabric/loop.h"
#include "fabric/channel.h"
#include "launch/cli/client/root_process.h"
#include "launch/cli/verb/doctor_print.h"
#include "launch/proto/control.h"
#include "launch/exec/session.h"
#include "launch/proto/exit_status.h"

#define STATUS_PROBLEM  1
#define END_PATIENCE_MS 10000 /* from the end request until the root is killed */

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define END_SIGNALS (sizeof(end_signals) / sizeof(end_signals[0]))

struct visit;

struct visit_signal {
    struct visit *visit;
    struct loop_signal *watch;
    int number;
};

struct visit {
    const struct run_request *request;
    struct loop *loop;
    struct channel *channel; /* NULL once it is closed */
    struct loop_timer *patience;
    struct root_process root;
    struct visit_signal signals[END_SIGNALS];
    struct doctor_report report;
    int has_report;
    int status; /* of the end, if there is no report */
};

static void say_to_user(const char *text)
{
    fprintf(stderr, "banyan: %s\n", text);
}

/* ---- The root ---- */

static void check_gone(struct visit *visit)
{
    if (visit->root.has_ended && visit->channel == NULL)
        loop_stop(visit->loop);
}

static void wait_for_root(struct visit *visit)
{
    loop_timer_set(visit->patience, loop_now_ns() + END_PATIENCE_MS * NS_PER_MS);
}

static void on_report(struct visit *visit, struct wire_reader *reader)
{
    doctor_report_fini(&visit->report);
    visit->has_report = doctor_report_decode(&visit->report, reader) == 0;
    if (!visit->has_report)
        say_to_user("cannot decode the report from the root; this is a bug in banyan");
    wait_for_root(visit);
}

/* The instance failed. */
static void on_failed(struct visit *visit, struct wire_reader *reader)
{
    char *why;

    if (control_failed_decode(&why, reader) == 0 && !visit->has_report) {
        if (visit->status == EXIT_STATUS_FAILED)
            say_to_user(why);
        wait_for_root(visit);
    }
    free(why);
}

static void on_message(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    struct visit *visit = context;
    struct wire_reader reader;

    wire_reader_init(&reader, payload, payload_bytes);
    if (type == CONTROL_DOCTOR_REPORT)
        on_report(visit, &reader);
    else if (type == CONTROL_TEXT)
        root_process_print_text(&reader);
    else if (type == CONTROL_FAILED)
        on_failed(visit, &reader);
}

static void close_channel(struct visit *visit)
{
    channel_destroy(visit->channel, 0);
    visit->channel = NULL;
    check_gone(visit);
}

static void on_closed(void *context, const char *why)
{
    struct visit *visit = context;

    (void)why;
    close_channel(visit);
    wait_for_root(visit);
}

static void on_root_ended(void *context)
{
    struct visit *visit = context;

    if (WIFSIGNALED(visit->root.wait_status)) {
        say_to_user("the root was killed; everything it started is being killed");
        (void)session_clean(visit->request->instance.session, visit->request->instance.own_tmpdir,
                            NULL);
        if (visit->channel != NULL)
            close_channel(visit);
    }
    check_gone(visit);
}

static void on_patience(void *context)
{
    struct visit *visit = context;

    if (!visit->root.has_ended) {
        root_process_signal(&visit->root, SIGKILL);
        wait_for_root(visit);
    } else {
        loop_stop(visit->loop);
    }
}

/* Without a front end the root ends everything. */
static void on_end_signal(void *context)
{
    struct visit_signal *entry = context;
    struct visit *visit = entry->visit;

    if (visit->status < EXIT_STATUS_SIGNAL)
        say_to_user(entry->number == SIGINT    ? "interrupted"
                    : entry->number == SIGTERM ? "terminated"
                                               : "hung up");
    visit->status = EXIT_STATUS_SIGNAL + entry->number;
    visit->has_report = 0;
    if (visit->channel != NULL)
        close_channel(visit);
    wait_for_root(visit);
}

/* ---- The life ---- */

static void send_wish(struct visit *visit)
{
    const struct run_request *request = visit->request;
    const struct control_hello hello = {.version = CONTROL_VERSION, .wants = CONTROL_WANTS_TEXTS};
    struct buffer payload = {0};

    control_hello_encode(&hello, &payload);
    channel_send_buffer(visit->channel, CONTROL_HELLO, &payload);
    wire_put_string(&payload, PACKAGE_VERSION);
    wire_put_u8(&payload, request->job.apps_count > 0);
    if (request->job.apps_count > 0)
        job_spec_encode(&request->job, &payload);
    channel_send_buffer(visit->channel, CONTROL_DOCTOR, &payload);
    buffer_fini(&payload);
}

static void visit_open(struct visit *visit, int channel_fd)
{
    static const struct channel_events events = {.message = on_message, .closed = on_closed};

    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < END_SIGNALS; i++) {
        struct visit_signal *entry = &visit->signals[i];
        *entry = (struct visit_signal){.visit = visit, .number = end_signals[i]};
        entry->watch = loop_signal_create(visit->loop, entry->number, on_end_signal, entry);
    }
    visit->patience = loop_timer_create(visit->loop, on_patience, visit);
    root_process_watch(&visit->root, visit->loop, on_root_ended, visit);
    visit->channel = channel_create(visit->loop, channel_fd, &events, visit);
    send_wish(visit);
}

static void visit_close(struct visit *visit)
{
    for (size_t i = 0; i < END_SIGNALS; i++)
        loop_signal_destroy(visit->signals[i].watch);
    loop_timer_destroy(visit->patience);
    if (visit->channel != NULL)
        channel_destroy(visit->channel, 0);
    root_process_unwatch(&visit->root);
    loop_destroy(visit->loop);
}

static int visit_live(struct visit *visit, struct run_request *request, struct error *error)
{
    int channel_fd;
    int rc = root_process_fork(&visit->root, request, INSTANCE_LEAVES_WITH_JOB, &channel_fd, error);

    if (rc < 0)
        return rc;
    visit->loop = loop_create(error);
    if (visit->loop == NULL) {
        root_process_give_up(&visit->root, channel_fd);
        return error->code;
    }
    visit_open(visit, channel_fd);
    loop_run(visit->loop);
    visit_close(visit);
    return 0;
}

static int print_report(const struct visit *visit)
{
    const struct hostlist *names = visit->request->allocation.names;
    struct buffer text = {0};
    int rc = 0;

    if (visit->request->json)
        rc = doctor_print_json(&visit->report, names, &text);
    else
        doctor_print_table(&visit->report, names, visit->request->verbose > 0, &text);
    if (rc == 0 && (fwrite(text.data, 1, text.length_bytes, stdout) != text.length_bytes ||
                    fflush(stdout) != 0))
        rc = -errno;
    buffer_fini(&text);
    if (rc < 0) {
        fprintf(stderr, "banyan: cannot write to stdout: %s\n", strerror(-rc));
        return EXIT_STATUS_FAILED;
    }
    return doctor_report_is_well(&visit->report) ? EXIT_SUCCESS : STATUS_PROBLEM;
}

int doctor_run(struct run_request *request)
{
    struct visit visit = {.request = request, .status = EXIT_STATUS_FAILED};
    struct error error = ERROR_NONE;

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (visit_live(&visit, request, &error) < 0)
        say_to_user(error.text);
    if (request->instance.virtual_base != NULL)
        session_remove_tree(request->instance.virtual_base);
    if (visit.has_report)
        visit.status = print_report(&visit);
    doctor_report_fini(&visit.report);
    return visit.status;
}
