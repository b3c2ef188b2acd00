/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/journal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/loop.h"
#include "launch/exec/descriptor.h"

struct journal {
    struct endpoint *endpoint;
    const struct transport_ops *ops;
    void *transport;
    char *path;
    int fd; /* -1: it is not open, or has ended */
    uint64_t bytes;
    uint64_t now_ns; /* of what is being handled */
    uint32_t depth;  /* 0: nothing is */
};

static void journal_check(const struct journal *journal)
{
    assert(journal->endpoint != NULL);
    assert(journal->fd < 0 || journal->path != NULL);
    assert(journal->bytes <= JOURNAL_BYTES_MAX);
}

struct journal *journal_create(struct endpoint *endpoint)
{
    struct journal *journal = memory_allocate_zeroed(sizeof(*journal));

    assert(endpoint != NULL);
    journal->endpoint = endpoint;
    journal->fd = -1;
    return journal;
}

void journal_destroy(struct journal *journal)
{
    if (journal == NULL)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    free(journal->path);
    free(journal);
}

/* A journal with a gap must not be used. */
static void journal_stop(struct journal *journal, const char *why)
{
    assert(journal->fd >= 0);
    (void)unlink(journal->path);
    (void)!ftruncate(journal->fd, 0); /* its marks say nothing now */
    close(journal->fd);
    journal->fd = -1;
    log_warning("%s: %s; from now on the root cannot be recovered: stop the instance in time and "
                "start another",
                journal->path, why);
}

static int write_all(int fd, const struct buffer *text)
{
    size_t done = 0;

    while (done < text->length_bytes) {
        ssize_t written = write(fd, text->data + done, text->length_bytes - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        done += (size_t)written;
    }
    return 0;
}

static void journal_put(struct journal *journal, struct journal_record *record)
{
    struct buffer text = {0};
    int rc;

    journal_check(journal);
    if (journal->fd < 0)
        return;
    record->now_ns = journal->now_ns;
    rc = journal_record_encode(record, &text);
    if (rc == 0 && journal->bytes + text.length_bytes > JOURNAL_BYTES_MAX)
        rc = -EFBIG;
    if (rc == 0)
        rc = write_all(journal->fd, &text);
    journal->bytes += rc == 0 ? text.length_bytes : 0;
    buffer_fini(&text);
    if (rc < 0)
        journal_stop(journal, rc == -EOPNOTSUPP ? "an event cannot be written" : strerror(-rc));
}

static void journal_begin(struct journal *journal, struct journal_record *record)
{
    if (journal->depth++ > 0)
        return;
    journal->now_ns = loop_now_ns();
    journal_put(journal, record);
}

static void journal_end(struct journal *journal)
{
    assert(journal->depth > 0);
    journal->depth--;
}

uint64_t journal_now_ns(const struct journal *journal)
{
    return journal->depth > 0 ? journal->now_ns : loop_now_ns();
}

int journal_open(struct journal *journal, const char *directory, const struct journal_head *head,
                 uint64_t bytes, struct error *error)
{
    int flags = O_WRONLY | O_CLOEXEC | O_APPEND | (head != NULL ? O_CREAT | O_EXCL : 0);
    struct buffer text = {0};
    int rc = 0;

    assert(journal->fd < 0 && journal->path == NULL);
    journal->path = memory_printf("%s/" SESSION_JOURNAL_FILE, directory);
    journal->fd = open(journal->path, flags, 0600);
    if (journal->fd < 0)
        return error_set(error, -errno, "cannot create %s: %s", journal->path, strerror(errno));
    journal->fd = descriptor_move_high(journal->fd);
    if (head == NULL) {
        journal->bytes = bytes;
        rc = ftruncate(journal->fd, (off_t)bytes) < 0 ? -errno : 0;
    } else {
        journal_head_encode(head, &text);
        journal->bytes = text.length_bytes;
        rc = write_all(journal->fd, &text);
        explicit_bzero(text.data, text.length_bytes);
        buffer_fini(&text);
    }
    if (rc < 0)
        error_set(error, rc, "cannot write %s: %s", journal->path, strerror(-rc));
    return rc;
}

void journal_mark(const struct journal *journal, const char *directory)
{
    char *mark = memory_printf("%s/" SESSION_JOURNAL_FILE, directory);

    assert(journal->path != NULL);
    if (link(journal->path, mark) < 0 && errno != EEXIST)
        log_debug("cannot link %s: %s", mark, strerror(errno));
    free(mark);
}

void journal_start(struct journal *journal, const struct journal_head *head)
{
    assert(journal->depth == 0);
    journal->depth++;
    journal->now_ns = head->now_ns;
    endpoint_start(journal->endpoint, &head->own);
    journal_end(journal);
}

void journal_begin_recovery(struct journal *journal)
{
    struct journal_record record = {.kind = JOURNAL_RECOVERED};

    assert(journal->depth == 0);
    journal_begin(journal, &record);
}

void journal_end_recovery(struct journal *journal)
{
    journal_end(journal);
}

/* ---- what comes from the links ---- */

static void links_up(void *context, uint32_t place, uint32_t incarnation)
{
    struct journal *journal = context;
    struct journal_record record = {.kind = JOURNAL_UP, .place = place, .number = incarnation};

    journal_begin(journal, &record);
    endpoint_transport_events()->up(journal->endpoint, place, incarnation);
    journal_end(journal);
}

static void links_down(void *context, uint32_t place, const struct error *why)
{
    struct journal *journal = context;
    struct journal_record record = {.kind = JOURNAL_DOWN,
                                    .place = place,
                                    .number = why->code,
                                    .text = (char *)(uintptr_t)why->text};

    journal_begin(journal, &record);
    endpoint_transport_events()->down(journal->endpoint, place, why);
    journal_end(journal);
}

static void links_frame(void *context, uint32_t place, const struct frame *frame)
{
    struct journal *journal = context;
    struct journal_record record = {.kind = JOURNAL_FRAME, .place = place, .frame = *frame};

    journal_begin(journal, &record);
    endpoint_transport_events()->frame(journal->endpoint, place, frame);
    journal_end(journal);
}

static void links_timer(void *context)
{
    struct journal *journal = context;
    struct journal_record record = {.kind = JOURNAL_TIMER};

    journal_begin(journal, &record);
    endpoint_transport_events()->timer(journal->endpoint);
    journal_end(journal);
}

const struct transport_events *journal_transport_events(void)
{
    static const struct transport_events events = {
        .up = links_up, .down = links_down, .frame = links_frame, .timer = links_timer};

    return &events;
}

/* ---- what goes to the links ---- */

static int tree_connect(void *context, uint32_t place, const struct addresses *addresses)
{
    struct journal *journal = context;
    struct journal_record record = {.kind = JOURNAL_REFUSED, .place = place};
    int rc = journal->ops->connect(journal->transport, place, addresses);

    if (rc < 0)
        journal_put(journal, &record);
    return rc;
}

static int tree_send(void *context, uint32_t place, const struct frame *frame)
{
    struct journal *journal = context;

    return journal->ops->send(journal->transport, place, frame);
}

static void tree_close(void *context, uint32_t place)
{
    struct journal *journal = context;

    journal->ops->close(journal->transport, place);
}

static uint64_t tree_now_ns(void *context)
{
    return journal_now_ns(context);
}

static void tree_timer(void *context, uint64_t deadline_ns)
{
    struct journal *journal = context;

    journal->ops->timer(journal->transport, deadline_ns);
}

const struct transport_ops *journal_transport_ops(struct journal *journal,
                                                  const struct transport_ops *ops, void *transport)
{
    static const struct transport_ops journaled = {
        .name = "journal",
        .connect = tree_connect,
        .send = tree_send,
        .close = tree_close,
        .now_ns = tree_now_ns,
        .timer = tree_timer,
    };

    assert(ops != NULL && journal->ops == NULL);
    journal->ops = ops;
    journal->transport = transport;
    return &journaled;
}

/* ---- what the core is given ---- */

static void core_begins(void *context, const struct daemon_event *event, bool is_posted)
{
    struct journal *journal = context;
    struct journal_record record = {.kind = is_posted ? JOURNAL_POSTED : JOURNAL_EVENT};

    record.event = *event;
    if (is_posted)
        journal_put(journal, &record);
    else
        journal_begin(journal, &record);
}

static void core_ends(void *context)
{
    journal_end(context);
}

const struct daemon_core_observer journal_core_observer = {.begins = core_begins,
                                                           .ends = core_ends};
