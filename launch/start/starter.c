/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/starter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/ranges.h"
#include "base/time.h"
#include "base/wire.h"
#include "launch/start/boot_carry.h"
#include "launch/start/stderr_tail.h"
#include "launch/start/one_shot.h"
#include "launch/start/starter_call.h"
#include "launch/start/starter_method.h"
#include "launch/start/starter_retry.h"

#define READ_BYTES 4096
#define LINE_BYTES 2048     /* a longer line is cut */
#define STALLED_NS NS_PER_S /* a timer that is later than that */

/* The progress of one daemon, as seen from here. */
enum progress {
    PROGRESS_STARTED, /* its marker has not come */
    PROGRESS_READY,   /* it gets or has its boot record */
    PROGRESS_JOINED,
    PROGRESS_CLEANING /* no daemon: `banyand --clean` */
};

/* Of one daemon, or of many by a one-shot starter: these have neither joined nor failed. */
struct many {
    struct ranges pending;
    struct hostlist *names; /* of all places from first on; NULL: one daemon */
    uint32_t first;
};

struct start {
    struct list_link node;
    struct starter *starter;
    uint32_t id;
    uint32_t place;
    enum progress progress;
    int is_daemon;                  /* the process is the daemon itself, on this machine */
    pid_t pid;                      /* of the process; 0 before it runs */
    int said_error;                 /* before it has started any other */
    int failed;                     /* the owner has been notified */
    int waiting;                    /* its agent is called again when the timer fires */
    uint32_t calls;                 /* of the agent so far */
    struct instance_spec *instance; /* for further calls, without the secret; NULL: none */
    unsigned int timeout_s;
    char node_name[HOST_NAME_BYTES_MAX + 1];
    char *path;          /* what is run, as the user said it */
    const char *program; /* its last part, as messages say it */
    int input_fd;        /* the daemon's 0; -1 once the record is written */
    int output_fd;       /* its 1 and 2 */
    struct loop_watch *input;
    struct loop_watch *output;
    struct loop_timer *timer;
    uint64_t deadline_ns;
    struct buffer record; /* yet to be written */
    size_t record_written;
    struct buffer line; /* the beginning of one */
    struct buffer words;
    struct many many;
    char *boot_word;  /* the record's, if it does not go over stdin */
    struct error why; /* why it cannot even be tried */
};

struct starter {
    struct loop *loop;
    struct helper *helper;
    const struct starter_events *events;
    void *context;
    struct list starts;
    struct ranges reached; /* places that may have something to clean: they got their boot record */
    uint32_t running;
    uint32_t last_id;
    int expecting_end;
    char *boot_directory; /* of records in files, once there is one */
};

static void starter_check(const struct starter *starter)
{
    assert((starter->running == 0) == list_is_empty(&starter->starts));
    assert(starter->last_id >= starter->running);
}

static void start_check(const struct start *start)
{
    assert(list_is_linked(&start->node) && start->id <= start->starter->last_id);
    assert(start->progress <= PROGRESS_CLEANING);
    assert(start->input == NULL || start->input_fd >= 0);
    assert((start->output == NULL) == (start->output_fd < 0));
    assert(start->input_fd < 0 || start->record_written <= start->record.length_bytes);
    assert(start->many.names != NULL || start->many.pending.count == 0);
    assert(start->many.names == NULL || !start->is_daemon);
    assert(start->line.length_bytes <= LINE_BYTES);
    assert(!start->waiting || (start->instance != NULL && start->output == NULL));
}

struct starter *starter_create(struct loop *loop, struct helper *helper,
                               const struct starter_events *events, void *context)
{
    struct starter *starter = memory_allocate_zeroed(sizeof(*starter));

    assert(loop != NULL && events != NULL);
    starter->loop = loop;
    starter->helper = helper;
    starter->events = events;
    starter->context = context;
    list_init(&starter->starts);
    return starter;
}

/* ---- One start ---- */

static void close_input_pipe(struct start *start)
{
    loop_watch_destroy(start->input);
    start->input = NULL;
    if (start->input_fd >= 0)
        close(start->input_fd);
    start->input_fd = -1;
}

static void close_input(struct start *start)
{
    close_input_pipe(start);
    if (start->record.length_bytes > 0)
        explicit_bzero(start->record.data, start->record.length_bytes);
    buffer_fini(&start->record);
}

static void close_output(struct start *start)
{
    loop_watch_destroy(start->output);
    start->output = NULL;
    if (start->output_fd >= 0)
        close(start->output_fd);
    start->output_fd = -1;
}

static void start_destroy(struct start *start)
{
    assert(start->starter->running > 0);
    start->starter->running--;
    list_remove(&start->node);
    close_input(start);
    close_output(start);
    loop_timer_destroy(start->timer);
    starter_retry_forget(&start->instance);
    buffer_fini(&start->line);
    buffer_fini(&start->words);
    ranges_fini(&start->many.pending);
    hostlist_destroy(start->many.names);
    boot_carry_forget(start->boot_word);
    free(start->boot_word);
    free(start->path);
    free(start);
}

static void set_timer(struct start *start)
{
    start->deadline_ns = loop_now_ns() + start->timeout_s * NS_PER_S;
    loop_timer_set(start->timer, start->deadline_ns);
}

/* One of many, or all of them that are pending. */
static void fail_many(struct start *start, struct range places, const struct error *why)
{
    struct starter *starter = start->starter;
    struct ranges failed = {0};

    assert(start->many.names != NULL);
    ranges_copy(&failed, &start->many.pending);
    for (uint32_t i = 0; i < failed.count; i++) {
        struct range range = failed.items[i];

        for (uint32_t place = range.first; place <= range.last; place++) {
            if (place < places.first || place > places.last)
                continue;
            ranges_remove(&start->many.pending, place, place);
            if (!starter->expecting_end)
                starter->events->failed(starter->context, place, why);
        }
    }
    ranges_fini(&failed);
    if (start->many.pending.count == 0)
        loop_timer_cancel(start->timer);
}

static void fail_daemon_start(struct start *start, const struct error *why)
{
    struct starter *starter = start->starter;

    if (start->many.names != NULL) {
        fail_many(start, (struct range){0, UINT32_MAX}, why);
        return;
    }
    if (start->failed)
        return;
    start->failed = 1;
    loop_timer_cancel(start->timer);
    helper_signal(starter->helper, start->id, SIGKILL);
    if (start->progress != PROGRESS_CLEANING && !starter->expecting_end)
        starter->events->failed(starter->context, start->place, why);
}

static void call_agent(struct start *start);

/* A line without end is the last of all, or a question. */
static void flush_line(struct start *start)
{
    if (start->line.length_bytes > 0)
        stderr_tail_add(&start->words, start->line.data, start->line.length_bytes);
}

static void on_timeout(void *context)
{
    struct start *start = context;
    struct error why = ERROR_NONE;

    start_check(start);
    if (start->waiting) {
        call_agent(start);
        return;
    }
    if (loop_now_ns() > start->deadline_ns + STALLED_NS) {
        set_timer(start); /* we got no CPU ourselves: the node may have answered meanwhile */
        return;
    }
    flush_line(start);
    stderr_tail_of_timeout(&start->words, start->program, start->node_name, start->timeout_s, &why);
    fail_daemon_start(start, &why);
}

/* ---- The boot record ---- */

/* Writes what the pipe takes.  The reader may have exited: its end says more than EPIPE. */
static void write_record(struct start *start)
{
    assert(start->input_fd >= 0);
    while (start->record_written < start->record.length_bytes) {
        ssize_t bytes = write(start->input_fd, start->record.data + start->record_written,
                              start->record.length_bytes - start->record_written);
        if (bytes < 0 && errno == EAGAIN)
            return;
        if (bytes < 0)
            break;
        start->record_written += (size_t)bytes;
    }
    close_input(start);
}

static void on_input(void *context, int fd, unsigned int ready)
{
    write_record(context);
}

static void send_record(struct start *start)
{
    assert(start->progress == PROGRESS_STARTED);
    start->progress = PROGRESS_READY;
    starter_retry_forget(&start->instance);
    ranges_add(&start->starter->reached, start->place, start->place);
    write_record(start);
    if (start->input_fd >= 0)
        start->input =
            loop_watch_create(start->starter->loop, start->input_fd, LOOP_WRITE, on_input, start);
}

/* ---- What it says ---- */

static int check_version(struct start *start, const char *version)
{
    struct error why = ERROR_NONE;

    if (strtoul(version, NULL, 10) == BOOT_PROTOCOL_VERSION)
        return 1;
    error_set(
        &why, -EPROTO,
        "protocol mismatch: banyand there has version %s, here %d; install the same version on every node",
        version, BOOT_PROTOCOL_VERSION);
    fail_daemon_start(start, &why);
    return 0;
}

static void take_marker(struct start *start, const char *version)
{
    if (start->progress == PROGRESS_STARTED && check_version(start, version))
        send_record(start);
}

/* Another daemon of many is there: the wait goes on. */
static void take_marker_of_one(struct start *start, const char *version)
{
    if (check_version(start, version) && start->many.pending.count > 0)
        set_timer(start);
}

/* "@NAME text" of the daemon on the node of that name. */
static void take_error_of_one(struct start *start, const char *message)
{
    struct error why = ERROR_NONE;
    const char *text;
    uint32_t place = one_shot_place_of(start->many.names, start->many.first, message, &text);

    if (place == 0) {
        stderr_tail_add(&start->words, message, strlen(message));
        stderr_tail_add(&start->words, "\n", 1);
        return;
    }
    error_set(&why, -EREMOTEIO, "%s", text);
    fail_many(start, (struct range){place, place}, &why);
}

/* srun's line about the end of a task says less than the lines before it. */
static int is_echo(const struct start *start, const char *line)
{
    return start->many.names != NULL && start->words.length_bytes > 0 &&
           strstr(line, "Exited with exit code") != NULL;
}

static void tell_line(const struct start *start, const char *line)
{
    const struct starter *starter = start->starter;

    /* Until all have joined it may be the reason why not, which failed reports. */
    if (start->many.names != NULL && start->many.pending.count == 0 && one_shot_is_line(line))
        starter->events->line(starter->context, 0, line);
    else if (start->many.names == NULL &&
             (start->progress == PROGRESS_READY || start->progress == PROGRESS_JOINED))
        starter->events->line(starter->context, start->place, line);
}

/* A login shell may have written something without an end of line in front of a marker. */
static void take_line(struct start *start)
{
    const char *line = buffer_string(&start->line);
    const char *marker = strstr(line, BOOT_MARKER);
    const char *message = strstr(line, BOOT_ERROR_MARKER);
    const char *waiting = strstr(line, BOOT_WAITING_MARKER);
    struct error why = ERROR_NONE;

    if (message != NULL && start->many.names != NULL) {
        take_error_of_one(start, message + strlen(BOOT_ERROR_MARKER));
    } else if (marker != NULL && start->many.names != NULL) {
        take_marker_of_one(start, marker + strlen(BOOT_MARKER));
    } else if (message != NULL) {
        error_set(&why, -EREMOTEIO, "%s", message + strlen(BOOT_ERROR_MARKER));
        start->said_error = start->progress != PROGRESS_JOINED;
        fail_daemon_start(start, &why);
    } else if (marker != NULL && start->progress == PROGRESS_STARTED) {
        take_marker(start, marker + strlen(BOOT_MARKER));
    } else if (waiting != NULL) {
        waiting += strlen(BOOT_WAITING_MARKER);
        stderr_tail_add(&start->words, waiting, strlen(waiting));
        stderr_tail_add(&start->words, "\n", 1);
    } else {
        if (!is_echo(start, line)) {
            stderr_tail_add(&start->words, start->line.data, start->line.length_bytes);
            stderr_tail_add(&start->words, "\n", 1);
        }
        tell_line(start, line);
    }
    buffer_clear(&start->line);
}

static void take_output(struct start *start, const char *data, size_t bytes)
{
    start_check(start);
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '\n')
            take_line(start);
        else if (start->line.length_bytes < LINE_BYTES && data[i] != '\r')
            buffer_append(&start->line, &data[i], 1);
    }
}

/* One read; 0 at the end of the available data. */
static int read_output(struct start *start)
{
    char data[READ_BYTES];
    ssize_t bytes = start->output_fd >= 0 ? read(start->output_fd, data, sizeof(data)) : 0;

    if (bytes > 0)
        take_output(start, data, (size_t)bytes);
    else if (bytes == 0 || errno != EAGAIN)
        close_output(start);
    return bytes > 0;
}

static void on_output(void *context, int fd, unsigned int ready)
{
    read_output(context);
}

/* ---- Starting ---- */

static struct start *add_start(struct starter *starter, const struct instance_spec *instance,
                               const char *node_name)
{
    struct start *start = memory_allocate_zeroed(sizeof(*start));
    const char *slash;

    start->starter = starter;
    start->id = ++starter->last_id;
    start->timeout_s = instance->start_timeout_s;
    snprintf(start->node_name, sizeof(start->node_name), "%s", node_name);
    start->path = starter_method_of(instance->starter)->program(instance);
    start->is_daemon = instance->starter == STARTER_LOCAL || instance->starter == STARTER_VIRTUAL;
    slash = strrchr(start->path, '/');
    start->program = slash != NULL ? slash + 1 : start->path;
    start->input_fd = -1;
    start->output_fd = -1;
    start->timer = loop_timer_create(starter->loop, on_timeout, start);
    set_timer(start);
    list_append(&starter->starts, &start->node);
    starter->running++;
    return start;
}

/* Failures are reported from the loop, never inside starter_start. */
static void fail_now(void *context)
{
    struct start *start = context;

    assert(start->why.code < 0);
    fail_daemon_start(start, &start->why);
    start_destroy(start);
}

static int fail_later(struct start *start)
{
    loop_defer(start->starter->loop, fail_now, start);
    return start->why.code;
}

/* The record becomes a word of the command line, which the method finds in *ret_instance, and does not
 * go over stdin; nothing if that is how it goes. */
static int carry_record(struct start *start, const struct boot_record *record,
                        struct instance_spec *ret_instance)
{
    const struct instance_spec *instance = &record->instance;
    struct starter *starter = start->starter;
    struct buffer body = {0};
    int rc;

    *ret_instance = *instance;
    explicit_bzero(ret_instance->secret, sizeof(ret_instance->secret));
    if (instance->boot == NULL) {
        boot_record_encode_frame(record, &start->record);
        return 0;
    }
    if (starter->boot_directory == NULL) {
        starter->boot_directory =
            boot_carry_directory(instance->boot, instance->session,
                                 record->ancestors_count > 0 ? record->ancestors[0].place : 0);
        if (starter->boot_directory != NULL)
            helper_own_directory(starter->helper, starter->boot_directory);
    }
    boot_record_encode(record, &body);
    rc = boot_carry_pack(starter->boot_directory, start->id, instance->start_timeout_s, body.data,
                         body.length_bytes, &start->boot_word, &start->why);
    explicit_bzero(body.data, body.length_bytes);
    buffer_fini(&body);
    ret_instance->boot_word = start->boot_word;
    return rc < 0 ? fail_later(start) : 0;
}

/* The process's ends are in ret_fds, to be closed once they are given to the helper. */
static int open_pipes(struct start *start, struct helper_fd ret_fds[3])
{
    int input[2], output[2];

    if (starter_call_pipes(input, output) < 0) {
        error_set(&start->why, -EMFILE,
                  "cannot create pipes for the starter: no descriptors are left");
        return fail_later(start);
    }
    ret_fds[0] = (struct helper_fd){.fd = input[0], .target = STDIN_FILENO};
    ret_fds[1] = (struct helper_fd){.fd = output[1], .target = STDOUT_FILENO};
    ret_fds[2] = (struct helper_fd){.fd = output[1], .target = STDERR_FILENO};
    start->input_fd = input[1];
    start->output_fd = output[0];
    start->output =
        loop_watch_create(start->starter->loop, start->output_fd, LOOP_READ, on_output, start);
    return 0;
}

static void call_agent(struct start *start)
{
    struct helper_fd fds[3];

    assert(start->instance != NULL && start->progress == PROGRESS_STARTED);
    start->waiting = 0;
    start->calls++;
    loop_timer_set(start->timer, start->deadline_ns);
    if (open_pipes(start, fds) < 0)
        return;
    starter_method_of(start->instance->starter)
        ->start(start->starter->helper, start->id, start->instance, start->node_name, fds, 3);
    close(fds[0].fd);
    close(fds[1].fd);
}

/* What ended before there was a daemon may do better in a moment, within the time-out of all calls. */
static int call_later(struct start *start, int wait_status)
{
    uint64_t at_ns;

    if (start->instance == NULL || start->is_daemon || start->failed ||
        start->starter->expecting_end || start->calls > start->instance->start_retries ||
        starter_retry_is_useless(&start->words, wait_status))
        return 0;
    at_ns = loop_now_ns() +
            starter_retry_delay_ns(start->instance->session, start->place, start->calls);
    if (at_ns >= start->deadline_ns)
        return 0;
    close_input_pipe(start);
    close_output(start);
    buffer_clear(&start->words);
    start->pid = 0;
    start->id = ++start->starter->last_id;
    start->waiting = 1;
    loop_timer_set(start->timer, at_ns);
    return 1;
}

void starter_start(struct starter *starter, const struct boot_record *record)
{
    struct start *start = add_start(starter, &record->instance, record->name);
    struct instance_spec instance;

    assert(starter_method_of(record->instance.starter)->start != NULL);
    start->place = record->place;
    if (carry_record(start, record, &instance) < 0)
        return;
    start->instance = starter_retry_keep(&instance);
    call_agent(start);
}

/* ---- Starting all at once ---- */

int starter_is_one_shot(enum starter_kind kind)
{
    return starter_method_of(kind)->start == NULL;
}

/* The record goes at once: no login shell is in the way, and a daemon that starts later gets it later. */
static void start_many(struct starter *starter, const struct boot_record *record, uint32_t index,
                       const struct hostlist *nodes, struct ranges *places)
{
    struct start *start = add_start(starter, &record->instance, "");
    struct instance_spec instance;
    struct helper_fd fds[3];

    assert(places->count > 0 && record->names != NULL);
    start->place = places->items[0].first;
    start->many.names = hostlist_create();
    hostlist_append_slice(start->many.names, record->names, 0, hostlist_count(record->names));
    start->many.first = boot_record_first_named(record->range);
    start->many.pending = *places;
    *places = (struct ranges){0};
    ranges_add_all(&starter->reached, &start->many.pending);
    if (carry_record(start, record, &instance) < 0 || open_pipes(start, fds) < 0)
        return;
    starter_method_of(instance.starter)
        ->start_all(starter->helper, start->id, &instance, index, nodes, fds, 3);
    close(fds[0].fd);
    close(fds[1].fd);
    send_record(start);
}

void starter_start_all(struct starter *starter, const struct boot_record *record)
{
    const struct starter_method *method = starter_method_of(record->instance.starter);
    uint32_t first = boot_record_first_named(record->range);
    struct hostlist *wanted = hostlist_create();
    struct ranges given = {0};

    assert(method->select != NULL && method->start_all != NULL && record->place == 0);
    for (uint32_t i = 0; method->select(i, record->names, wanted); i++) {
        struct ranges places = {0};
        struct hostlist *nodes = one_shot_take_nodes(record->names, first, wanted, &given, &places);

        if (places.count > 0)
            start_many(starter, record, i, nodes, &places);
        ranges_fini(&places);
        hostlist_destroy(nodes);
        hostlist_destroy(wanted);
        wanted = hostlist_create();
    }
    hostlist_destroy(wanted);
    ranges_fini(&given);
}

void starter_clean(struct starter *starter, const struct instance_spec *instance, uint32_t place,
                   const char *node_name)
{
    struct start *start;

    if (!ranges_contains(&starter->reached, place))
        return;
    start = add_start(starter, instance, node_name);
    start->progress = PROGRESS_CLEANING;
    if (!starter_method_of(instance->starter)
             ->clean(starter->helper, start->id, instance, place, node_name))
        start_destroy(start);
}

/* ---- What happens to it ---- */

void starter_joined(struct starter *starter, uint32_t place)
{
    struct list_link *node, *spare;

    starter_check(starter);
    list_for_each(&starter->starts, node, spare)
    {
        struct start *start = list_entry(node, struct start, node);
        if (start->many.names != NULL && ranges_contains(&start->many.pending, place)) {
            ranges_remove(&start->many.pending, place, place);
            if (start->many.pending.count > 0)
                set_timer(start);
            else
                loop_timer_cancel(start->timer);
        }
        if (start->many.names != NULL || start->place != place || start->progress != PROGRESS_READY)
            continue;
        start->progress = PROGRESS_JOINED;
        loop_timer_cancel(start->timer);
    }
}

void starter_expect_end(struct starter *starter)
{
    struct list_link *node, *spare;

    starter->expecting_end = 1;
    list_for_each(&starter->starts, node, spare)
    {
        struct start *start = list_entry(node, struct start, node);
        if (start->waiting) /* no process of it has to end */
            start_destroy(start);
    }
}

void starter_let_go(struct starter *starter)
{
    struct list_link *node;

    while ((node = list_first(&starter->starts)) != NULL) {
        struct start *start = list_entry(node, struct start, node);

        loop_defer_cancel(starter->loop, start);
        start_destroy(start);
    }
}

void starter_kill(struct starter *starter)
{
    struct list_link *node, *spare;

    list_for_each(&starter->starts, node, spare)
        helper_signal(starter->helper, list_entry(node, struct start, node)->id, SIGKILL);
}

uint32_t starter_running(const struct starter *starter)
{
    /* They have died with the helper, and nobody is left to say so. */
    return helper_is_gone(starter->helper) ? 0 : starter->running;
}

static struct start *find_start(const struct starter *starter, uint32_t id)
{
    struct list_link *node, *spare;

    list_for_each(&starter->starts, node, spare)
    {
        struct start *start = list_entry(node, struct start, node);
        if (start->id == id)
            return start;
    }
    return NULL;
}

int starter_owns(const struct starter *starter, uint32_t id)
{
    return find_start(starter, id) != NULL;
}

void starter_process_started(struct starter *starter, uint32_t id, pid_t pid)
{
    struct start *start = find_start(starter, id);

    assert(pid > 0);
    if (start != NULL)
        start->pid = pid;
}

/* That of a place's only daemon, or NULL. */
static const struct start *start_of_place(const struct starter *starter, uint32_t place)
{
    struct list_link *node, *spare;

    list_for_each(&starter->starts, node, spare)
    {
        const struct start *start = list_entry(node, struct start, node);
        if (start->place == place && start->many.names == NULL &&
            start->progress != PROGRESS_CLEANING)
            return start;
    }
    return NULL;
}

int starter_is_barren(const struct starter *starter, uint32_t place)
{
    const struct start *start = start_of_place(starter, place);

    return start != NULL && (start->progress == PROGRESS_STARTED || start->said_error);
}

pid_t starter_daemon_pid(const struct starter *starter, uint32_t place)
{
    const struct start *start = start_of_place(starter, place);

    return start != NULL && start->is_daemon ? start->pid : 0;
}

/* The last report of a start. */
static void tell_end(struct start *start)
{
    struct starter *starter = start->starter;
    int is_daemon = start->progress != PROGRESS_CLEANING;
    uint32_t place = start->place;

    start_destroy(start);
    if (is_daemon && starter->expecting_end)
        starter->events->ended(starter->context, place);
}

void starter_process_failed(struct starter *starter, uint32_t id, int code, enum start_step step)
{
    struct start *start = find_start(starter, id);
    struct error why = ERROR_NONE;

    starter_check(starter);
    if (start == NULL)
        return;
    if (step == START_STEP_EXEC || step == START_STEP_INTERPRETER)
        error_set(&why, code, "cannot run the agent \"%s\": %s", start->path, strerror(-code));
    else
        error_set(&why, code, "cannot start %s: %s: %s", start->program, start_step_name(step),
                  strerror(-code));
    fail_daemon_start(start, &why);
    tell_end(start);
}

void starter_process_exited(struct starter *starter, uint32_t id, int wait_status)
{
    struct start *start = find_start(starter, id);
    struct error why = ERROR_NONE;

    starter_check(starter);
    if (start == NULL)
        return;
    while (read_output(start))
        ;
    flush_line(start);
    buffer_clear(&start->line);
    if (call_later(start, wait_status))
        return;
    stderr_tail_of_end(&start->words, start->program, start->node_name, wait_status, &why);
    fail_daemon_start(start, &why);
    tell_end(start);
}

void starter_destroy(struct starter *starter)
{
    if (starter == NULL)
        return;
    starter_let_go(starter);
    ranges_fini(&starter->reached);
    /* The records in it went with their starts; a helper that was killed does not remove it. */
    if (starter->boot_directory != NULL)
        (void)rmdir(starter->boot_directory);
    free(starter->boot_directory);
    free(starter);
}
