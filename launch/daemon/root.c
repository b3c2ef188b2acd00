/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "fabric/secret.h"
#include "launch/daemon/daemon.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/exec/process_title.h"
#include "launch/rank/pmi_process.h"
#include "launch/daemon/roll_call.h"
#include "launch/proto/exit_status.h"

#define FLUSH_MS 1000
/* What leaving in order may take: a whole tree; one whose start has failed. */
#define LEAVE_MS            5000
#define LEAVE_INCOMPLETE_MS 300

/* Output that the front end has not yet written: whose it is. */
struct owed {
    uint32_t place;
    uint32_t bytes;
};

/* When a job's deadline is over, or (job 0) the instance's. */
struct root_timer {
    struct daemon *daemon;
    struct loop_timer *timer;
    uint32_t job;
};

struct root {
    uint32_t job;            /* of the front end; 0: none yet */
    struct map *timers;      /* job -> struct root_timer that runs */
    int channel_fd;          /* until root_open */
    struct channel *channel; /* NULL once the front end is gone */
    uint8_t reported;        /* CONTROL_JOB_END has been sent */
    struct owed *owed;       /* ring of capacity, oldest at first */
    uint32_t owed_first;
    uint32_t owed_count;
    uint32_t owed_capacity;
    struct map *credits; /* place -> bytes taken but not yet told (uintptr_t) */
};

void root_text(struct daemon *daemon, uint32_t job, uint8_t level, const char *text)
{
    struct buffer payload = {0};

    (void)job; /* there is one front end */
    if (!daemon->root || !daemon->root->channel) {
        fprintf(stderr, "banyan: %s\n", text);
        return;
    }
    control_text_encode(level, text, &payload);
    channel_send_buffer(daemon->root->channel, CONTROL_TEXT, &payload);
    buffer_fini(&payload);
}

static void credit_tell(struct daemon *daemon, uint32_t place, uint32_t bytes)
{
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_CREDIT);
    wire_put_u32(&payload, daemon->root->job);
    wire_put_u32(&payload, bytes);
    node_send(daemon->node, place, FRAME_CONTROL, message_from_buffer(&payload));
    buffer_fini(&payload);
}

static void credit_add(struct daemon *daemon, uint32_t place, uint32_t bytes)
{
    struct root *root = daemon->root;
    uint32_t piece_bytes = output_window_bytes(daemon->record.instance.places - 1) / 4;
    uintptr_t sum = (uintptr_t)map_get_u64(root->credits, place) + bytes;

    if (sum >= piece_bytes) {
        credit_tell(daemon, place, (uint32_t)sum);
        (void)map_remove_u64(root->credits, place);
    } else {
        (void)map_put_u64(root->credits, place, (void *)sum);
    }
}

static void owed_push(struct root *root, uint32_t place, uint32_t bytes)
{
    if (root->owed_count == root->owed_capacity) {
        uint32_t capacity = root->owed_capacity ? 2 * root->owed_capacity : 64;
        struct owed *grown = memory_allocate(capacity * sizeof *grown);

        for (uint32_t i = 0; i < root->owed_count; i++)
            grown[i] = root->owed[(root->owed_first + i) % root->owed_capacity];
        free(root->owed);
        root->owed = grown;
        root->owed_first = 0;
        root->owed_capacity = capacity;
    }
    root->owed[(root->owed_first + root->owed_count++) % root->owed_capacity] =
        (struct owed){.place = place, .bytes = bytes};
}

/* The front end has written bytes: the daemons they came from may send as many more. */
static void output_acked(struct daemon *daemon, uint32_t bytes)
{
    struct root *root = daemon->root;

    while (bytes > 0 && root->owed_count > 0) {
        struct owed *oldest = &root->owed[root->owed_first];
        uint32_t part = bytes < oldest->bytes ? bytes : oldest->bytes;

        credit_add(daemon, oldest->place, part);
        bytes -= part;
        oldest->bytes -= part;
        if (oldest->bytes == 0) {
            root->owed_first = (root->owed_first + 1) % root->owed_capacity;
            root->owed_count--;
        }
    }
}

static int output_waits(const struct daemon *daemon)
{
    return daemon->root && daemon->root->channel && daemon->root->owed_count > 0;
}

/* JOB_MESSAGE_OUTPUT behind its kind: u32 job, u32 rank, u8 stream, bytes; none: the stream has ended inside a line. */
static void output_received(struct daemon *daemon, uint32_t source, struct wire_reader *reader)
{
    struct job_event event = {.kind = JOB_EVENT_OUTPUT};
    uint32_t bytes;

    event.job = wire_get_u32(reader);
    if (wire_left(reader) < 5)
        return;
    bytes = (uint32_t)wire_left(reader) - 5;
    event.number = bytes;
    if (daemon->root->channel) {
        channel_send(daemon->root->channel, CONTROL_OUTPUT, reader->position, wire_left(reader));
        if (bytes > 0)
            owed_push(daemon->root, source, bytes);
    } else {
        credit_add(daemon, source, bytes);
    }
    daemon_job_event(daemon, &event);
}

static void stdin_acked(struct daemon *daemon, struct wire_reader *reader)
{
    struct buffer payload = {0};

    (void)wire_get_u32(reader);
    wire_put_u32(&payload, wire_get_u32(reader));
    if (daemon->root->channel)
        channel_send_buffer(daemon->root->channel, CONTROL_STDIN_ACK, &payload);
    buffer_fini(&payload);
}

void root_message(struct daemon *daemon, uint32_t source, struct message *payload)
{
    struct job_event event = {.kind = JOB_EVENT_RECEIVED, .place = source, .message = payload};
    struct wire_reader reader;
    uint32_t job;
    uint8_t level;
    char *text;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    switch (wire_get_u8(&reader)) {
    case JOB_MESSAGE_OUTPUT:
        output_received(daemon, source, &reader);
        break;
    case JOB_MESSAGE_STDIN_ACK:
        stdin_acked(daemon, &reader);
        break;
    case JOB_MESSAGE_STALLED:
        roll_call_stalled(daemon->roll_call, &reader);
        break;
    case JOB_MESSAGE_TEXT:
        job = wire_get_u32(&reader);
        level = wire_get_u8(&reader);
        text = wire_get_string(&reader, UINT16_MAX);
        if (wire_finish(&reader) == 0)
            root_text(daemon, job, level, text);
        free(text);
        break;
    default:
        daemon_job_event(daemon, &event);
    }
}

/* stdin goes to the daemon that hosts its rank; without one it is thrown away, which is credit. */
static void stdin_forward(struct daemon *daemon, const void *data, size_t bytes)
{
    const struct job_spec *spec = instance_job_spec(daemon->instance, daemon->root->job);
    struct buffer payload = {0};
    uint32_t node;

    if (!spec || instance_job_find(daemon->instance, spec->number, spec->stdin_rank, &node) < 0)
        return;
    wire_put_u8(&payload, JOB_MESSAGE_STDIN);
    wire_put_u32(&payload, spec->number);
    buffer_append(&payload, data, bytes);
    node_send(daemon->node, node + 1, FRAME_BULK, message_from_buffer(&payload));
    buffer_fini(&payload);
}

static void control_run(struct daemon *daemon, struct wire_reader *reader)
{
    struct job_event event = {.kind = JOB_EVENT_RUN};
    struct job_spec spec;

    job_spec_init(&spec);
    if (job_spec_decode(&spec, reader) < 0) {
        job_spec_fini(&spec);
        root_failed(daemon, "the job that the front end sent cannot be read");
        daemon_leave(daemon, LEAVE_INCOMPLETE_MS);
        return;
    }
    event.spec = &spec;
    daemon_job_event(daemon, &event);
    job_spec_fini(&spec);
}

/* Who ends a job that hangs wants to know why it did. */
static void name_missing(const struct daemon *daemon, struct control_end *end)
{
    const char *line = roll_call_line(daemon->roll_call, daemon->root->job);
    size_t length = strlen(end->reason);

    if (line[0])
        snprintf(end->reason + length, sizeof end->reason - length, "; %s", line);
}

static void control_message(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    struct daemon *daemon = context;
    struct job_event event = {0};
    struct control_end end;
    struct wire_reader reader;

    wire_reader_init(&reader, payload, payload_bytes);
    switch (type) {
    case CONTROL_RUN:
        control_run(daemon, &reader);
        break;
    case CONTROL_SIGNAL:
        event = (struct job_event){
            .kind = JOB_EVENT_SIGNAL, .job = daemon->root->job, .number = wire_get_u32(&reader)};
        daemon_job_event(daemon, &event);
        break;
    case CONTROL_END:
        event = (struct job_event){.kind = JOB_EVENT_END, .job = daemon->root->job, .end = &end};
        if (control_end_decode(&end, &reader) == 0) {
            name_missing(daemon, &end);
            daemon_job_event(daemon, &event);
        }
        break;
    case CONTROL_STDIN:
        stdin_forward(daemon, payload, payload_bytes);
        break;
    case CONTROL_DOCTOR:
        if (daemon->doctor)
            doctor_root_asked(daemon, &reader);
        break;
    case CONTROL_OUTPUT_ACK:
        output_acked(daemon, wire_get_u32(&reader));
        break;
    default:
        log_error("the front end sent a message of an unknown kind");
    }
}

/* Nobody is left to report to: what runs is ended. */
static void control_closed(void *context, const char *why)
{
    struct daemon *daemon = context;
    struct control_end end = {.status = 143, .at_once = 0, .reason = "the front end went away"};
    struct job_event event = {.kind = JOB_EVENT_LEAVE, .end = &end};

    (void)why;
    channel_destroy(daemon->root->channel, 0);
    daemon->root->channel = NULL;
    output_acked(daemon, UINT32_MAX);
    daemon_job_event(daemon, &event);
}

static void timer_over(void *context)
{
    struct root_timer *timer = context;
    struct daemon *daemon = timer->daemon;
    struct ranges missing = {0};
    struct job_event event = {.kind = JOB_EVENT_TIMER, .job = timer->job, .places = &missing};

    if (timer->job == 0)
        node_missing(daemon->node, &missing);
    else
        event.flag = output_waits(daemon);
    daemon_job_event(daemon, &event);
    ranges_fini(&missing);
}

static void timer_free(struct root_timer *timer)
{
    loop_timer_destroy(timer->timer);
    free(timer);
}

/* A job has a timer only while it has a deadline. */
static void timer_set(struct daemon *daemon, uint32_t job, uint64_t deadline_ns)
{
    struct map *timers = daemon->root->timers;
    struct root_timer *timer = map_get_u64(timers, job);

    if (deadline_ns == UINT64_MAX) {
        if (timer)
            timer_free(map_remove_u64(timers, job));
        return;
    }
    if (!timer) {
        timer = memory_allocate_zeroed(sizeof *timer);
        timer->daemon = daemon;
        timer->job = job;
        timer->timer = loop_timer_create(daemon->loop, timer_over, timer);
        (void)map_put_u64(timers, job, timer);
    }
    loop_timer_set(timer->timer, deadline_ns);
}

void root_send(struct daemon *daemon, uint8_t type, struct buffer *payload)
{
    if (daemon->root && daemon->root->channel)
        channel_send_buffer(daemon->root->channel, type, payload);
}

void root_action(struct daemon *daemon, struct job_action *action)
{
    struct channel *channel = daemon->root ? daemon->root->channel : NULL;
    struct buffer payload = {0};

    switch (action->kind) {
    case JOB_ACTION_ACCEPTED:
        daemon->root->job = action->job;
        break;
    case JOB_ACTION_TIMER:
        timer_set(daemon, action->job, action->deadline_ns);
        break;
    case JOB_ACTION_STARTED:
        control_started_encode(&action->started, &payload);
        if (channel)
            channel_send_buffer(channel, CONTROL_STARTED, &payload);
        break;
    case JOB_ACTION_ENDED:
        daemon->root->reported = 1;
        roll_call_job_ended(daemon->roll_call, action->job);
        control_job_end_encode(action->end, &payload);
        if (channel)
            channel_send_buffer(channel, CONTROL_JOB_END, &payload);
        break;
    case JOB_ACTION_TEXT:
        root_text(daemon, action->job, action->text.level, action->text.words);
        break;
    case JOB_ACTION_LEAVE:
        daemon_leave(daemon, node_is_complete(daemon->node) ? LEAVE_MS : LEAVE_INCOMPLETE_MS);
        break;
    default:
        log_error("an action of the job logic has no hand: %d", (int)action->kind);
    }
    buffer_fini(&payload);
}

void root_failed(struct daemon *daemon, const char *why)
{
    struct control_job_end end = {.status = EXIT_STATUS_FAILED, .banyan_failed = 1};
    struct job_action action = {.kind = JOB_ACTION_ENDED, .end = &end};

    if (daemon->root->reported)
        return;
    snprintf(end.text, sizeof end.text, "the root cannot go on: %s", why);
    root_action(daemon, &action);
}

int root_open(struct daemon *daemon, struct error *error)
{
    static const struct channel_events events = {
        .message = control_message,
        .closed = control_closed,
    };

    daemon->roll_call = roll_call_create(daemon);
    daemon->root->channel = channel_create(daemon->loop, daemon->root->channel_fd, &events, daemon);
    (void)error;
    return 0;
}

void root_close(struct daemon *daemon)
{
    struct root *root = daemon->root;
    struct root_timer *timer;
    size_t cursor = 0;

    daemon->root = NULL;
    roll_call_destroy(daemon->roll_call);
    daemon->roll_call = NULL;
    if (root->channel)
        channel_destroy(root->channel, FLUSH_MS);
    while ((timer = map_next(root->timers, &cursor)) != NULL)
        timer_free(timer);
    map_destroy(root->timers);
    map_destroy(root->credits);
    free(root->owed);
    free(root);
}

/* The root speaks to nobody's terminal: the front end does, and agents must not ask there. */
static void leave_terminal(void)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    if (null_fd >= 0)
        (void)dup2(null_fd, STDIN_FILENO);
}

static void root_record(const struct instance_spec *spec, const struct allocation *allocation,
                        struct boot_record *ret_record)
{
    boot_record_init(ret_record);
    instance_spec_copy(&ret_record->instance, spec);
    ret_record->incarnation = 1;
    ret_record->range = (struct range){.first = 0, .last = spec->places - 1};
    hostlist_append_slice(ret_record->names, allocation->names, 0, allocation_nodes(allocation));
}

/* The helper does without the secret, and so does everything that it forks. */
static struct helper *fork_helper(struct instance_spec *spec, struct error *error)
{
    unsigned char *secret = secret_create(SECRET_BYTES);
    struct helper *helper;

    secret_keep_from_children(secret, SECRET_BYTES);
    memcpy(secret, spec->secret, SECRET_BYTES);
    explicit_bzero(spec->secret, SECRET_BYTES);
    secret_clear_stack();
    helper = helper_fork(error);
    memcpy(spec->secret, secret, SECRET_BYTES);
    secret_destroy(secret, SECRET_BYTES);
    return helper;
}

static int root_main(struct instance_spec *spec, const struct allocation *allocation,
                     int channel_fd)
{
    struct daemon daemon = {.root = memory_allocate_zeroed(sizeof *daemon.root)};
    struct error error = ERROR_NONE;

    leave_terminal();
    daemon.root->credits = map_create();
    daemon.root->timers = map_create();
    daemon.root->channel_fd = channel_fd;
    helper_set_entries(daemon_main, pmi_process_main);
    daemon.helper = fork_helper(spec, &error);
    if (!daemon.helper) {
        fprintf(stderr, "banyan: %s\n", error.text);
        return EXIT_FAILURE;
    }
    process_title_set("banyan-root", NULL);
    root_record(spec, allocation, &daemon.record);
    explicit_bzero(spec->secret, SECRET_BYTES);
    secret_clear_stack();
    daemon.instance =
        instance_create(&daemon.record.instance, 0, allocation, INSTANCE_LEAVES_WITH_JOB);
    if (daemon_run(&daemon, &error) < 0) {
        fprintf(stderr, "banyan: %s\n", error.text);
        return EXIT_FAILURE;
    }
    return daemon.exit_status;
}

int root_fork(struct instance_spec *spec, const struct allocation *allocation, pid_t *ret_pid,
              int *ret_channel_fd, struct error *error)
{
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(error, -errno, "cannot make the control socket: %s", strerror(errno));
    pid = fork();
    if (pid < 0) {
        int rc = error_set(error, -errno, "cannot start the root: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    if (pid == 0) {
        close(ends[0]);
        _exit(root_main(spec, allocation, ends[1]));
    }
    explicit_bzero(spec->secret, SECRET_BYTES);
    secret_clear_stack();
    close(ends[1]);
    *ret_pid = pid;
    *ret_channel_fd = ends[0];
    return 0;
}
