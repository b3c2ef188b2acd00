/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/start.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "fabric/channel.h"
#include "fabric/loop.h"
#include "launch/cli/client/root_process.h"
#include "launch/exec/descriptor.h"
#include "launch/exec/session.h"
#include "launch/proto/control.h"
#include "launch/proto/exit_status.h"

/* From the end request to the root's end, plus the grace of the jobs. */
#define LEAVE_PATIENCE_MS 15000
#define FLUSH_MS          1000

struct starting {
    const struct run_request *request;
    struct loop *loop;
    struct channel *channel; /* NULL once it is closed */
    struct root_process root;
    struct loop_timer *patience;
    struct loop_signal *watches[3];
    int wishes; /* to end */
    int is_ready;
    int has_failed;
    int detached;
    char *directory; /* once it is ready */
};

static void print_on_stderr(const char *text)
{
    fprintf(stderr, "banyan: %s\n", text);
}

static void ask_leave(struct starting *starting, const char *reason)
{
    struct control_end end = {.status = EXIT_STATUS_SIGNAL + SIGTERM};
    struct buffer payload = {0};

    starting->wishes++;
    loop_timer_set(starting->patience,
                   loop_now_ns() +
                       (starting->request->instance.kill_grace_ms + LEAVE_PATIENCE_MS) * NS_PER_MS);
    if (starting->channel == NULL)
        return;
    end.at_once = starting->wishes > 1;
    snprintf(end.reason, sizeof(end.reason), "%s", reason);
    control_end_encode(&end, &payload);
    channel_send_buffer(starting->channel, CONTROL_LEAVE, &payload);
    buffer_fini(&payload);
}

static void on_end_signal(void *context)
{
    ask_leave(context, "the instance was ended");
}

/* It hangs: what it started ends with it. */
static void on_patience(void *context)
{
    struct starting *starting = context;
    char text[96];

    snprintf(text, sizeof(text), "root process %d did not exit; killing it",
             (int)starting->root.pid);
    print_on_stderr(text);
    root_process_signal(&starting->root, SIGKILL);
}

/* ---- messages of the root ---- */

/* This line shows readers of our output that the instance is ready. */
static void on_ready(struct starting *starting, struct wire_reader *reader)
{
    const uint32_t instance = 0;
    struct control_ready ready;
    struct buffer payload = {0};

    if (control_ready_decode(&ready, reader) < 0)
        return;
    assert(starting->channel != NULL);
    starting->is_ready = 1;
    free(starting->directory);
    starting->directory = memory_copy_string(ready.directory);
    printf("%s\n", ready.directory);
    if (fflush(stdout) != 0) {
        print_on_stderr("cannot write to standard output; ending the instance");
        ask_leave(starting, "the instance could not be announced");
        return;
    }
    if (starting->request->verbose > 0)
        fprintf(stderr, "banyan: %u nodes are ready; the root is process %d\n", ready.nodes,
                (int)starting->root.pid);
    if (!starting->request->daemonize)
        return;
    starting->detached = 1;
    control_put_job(instance, &payload);
    channel_send_buffer(starting->channel, CONTROL_DETACH, &payload);
    buffer_fini(&payload);
    loop_stop(starting->loop);
}

static void on_failed(struct starting *starting, struct wire_reader *reader)
{
    char *why;

    if (control_failed_decode(&why, reader) == 0 && !starting->has_failed)
        print_on_stderr(why);
    starting->has_failed = 1;
    free(why);
}

static void on_message(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    struct starting *starting = context;
    struct wire_reader reader;

    wire_reader_init(&reader, payload, payload_bytes);
    if (type == CONTROL_READY)
        on_ready(starting, &reader);
    else if (type == CONTROL_TEXT)
        root_process_print_text(&reader);
    else if (type == CONTROL_FAILED)
        on_failed(starting, &reader);
}

static void check_gone(struct starting *starting)
{
    if (starting->root.has_ended && starting->channel == NULL)
        loop_stop(starting->loop);
}

static void on_closed(void *context, const char *why)
{
    struct starting *starting = context;

    assert(starting->channel != NULL);
    (void)why;
    channel_destroy(starting->channel, 0);
    starting->channel = NULL;
    check_gone(starting);
}

static void on_root_ended(void *context)
{
    check_gone(context);
}

/* ---- life ---- */

static void open_all(struct starting *starting, int channel_fd)
{
    static const struct channel_events events = {.message = on_message, .closed = on_closed};
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    const struct control_hello hello = {.version = CONTROL_VERSION, .wants = CONTROL_WANTS_TEXTS};
    struct buffer payload = {0};

    assert(starting->channel == NULL && channel_fd >= 0);
    root_process_watch(&starting->root, starting->loop, on_root_ended, starting);
    starting->patience = loop_timer_create(starting->loop, on_patience, starting);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        starting->watches[i] =
            loop_signal_create(starting->loop, signals[i], on_end_signal, starting);
    signal(SIGPIPE, SIG_IGN);
    starting->channel = channel_create(starting->loop, channel_fd, &events, starting);
    control_hello_encode(&hello, &payload);
    channel_send_buffer(starting->channel, CONTROL_HELLO, &payload);
    buffer_fini(&payload);
}

static void close_all(struct starting *starting)
{
    for (size_t i = 0; i < sizeof(starting->watches) / sizeof(starting->watches[0]); i++)
        loop_signal_destroy(starting->watches[i]);
    loop_timer_destroy(starting->patience);
    root_process_unwatch(&starting->root);
    if (starting->channel != NULL)
        channel_destroy(starting->channel, FLUSH_MS);
    loop_destroy(starting->loop);
}

static int status_of(const struct starting *starting)
{
    int wait_status = starting->root.wait_status;

    if (starting->detached)
        return EXIT_SUCCESS;
    assert(starting->root.has_ended);
    if (WIFSIGNALED(wait_status) && starting->wishes == 0)
        fprintf(stderr, "banyan: the root was killed by signal %d\n", WTERMSIG(wait_status));
    if (starting->has_failed || !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != EXIT_SUCCESS)
        return EXIT_STATUS_FAILED;
    return starting->is_ready ? EXIT_SUCCESS : EXIT_STATUS_FAILED;
}

static int start_live(struct starting *starting, struct run_request *request, struct error *error)
{
    int channel_fd;
    int rc = descriptor_require(error);

    if (rc == 0)
        rc = root_process_fork(&starting->root, request, INSTANCE_STAYS, &channel_fd, error);
    if (rc < 0)
        return rc;
    starting->loop = loop_create(error);
    if (starting->loop == NULL) {
        root_process_give_up(&starting->root, channel_fd);
        return error->code;
    }
    open_all(starting, channel_fd);
    loop_run(starting->loop);
    close_all(starting);
    return 0;
}

/* What the root has left is needed; without its journal it is of no use. */
static int was_survived(const struct starting *starting)
{
    char *journal;
    int is_there;

    if (starting->request->instance.survive_s == 0 || starting->directory == NULL ||
        !starting->root.has_ended || !WIFSIGNALED(starting->root.wait_status))
        return 0;
    journal = memory_printf("%s/" SESSION_JOURNAL_FILE, starting->directory);
    is_there = access(journal, F_OK) == 0;
    free(journal);
    return is_there;
}

/* After an instance that has ended. */
static void clean_up(const struct run_request *request, const struct starting *starting)
{
    if (starting->root.has_ended && WIFSIGNALED(starting->root.wait_status))
        (void)session_clean(request->instance.session, request->instance.own_tmpdir, NULL);
    if (request->instance.virtual_base != NULL)
        session_remove_tree(request->instance.virtual_base);
}

int start_run(struct run_request *request)
{
    struct starting starting = {.request = request};
    struct error error = ERROR_NONE;
    int rc;

    if (!request->daemonize)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    rc = start_live(&starting, request, &error);
    if (rc < 0)
        print_on_stderr(error.text);
    if (starting.detached)
        rc = 0;
    else if (was_survived(&starting))
        print_on_stderr("its nodes go on: 'banyan recover' makes another root, within the time of "
                        "--survive");
    else
        clean_up(request, &starting);
    free(starting.directory);
    if (starting.detached)
        return EXIT_SUCCESS;
    return rc < 0 ? EXIT_STATUS_FAILED : status_of(&starting);
}
