/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/join_root.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "fabric/secret.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/start/join_roster.h"
#include "launch/start/one_shot.h"

struct join_root {
    struct daemon *daemon;
    struct join_roster *book;
    unsigned char *secret; /* the session's, until all daemons have it */
    struct loop_timer *timer;
    char *path; /* of the token file while it exists, else NULL */
};

static void join_check(const struct join_root *join)
{
    assert(join->daemon->root != NULL && join->daemon->join_root == join);
    assert(join->book != NULL && join->secret != NULL && join->timer != NULL);
    assert(join->path == NULL || join_roster_left(join->book) > 0);
}

/* ---- Who comes ---- */

static int find_guest_key(void *context, const char *identity, unsigned char *ret_key)
{
    return join_roster_key(((struct join_root *)context)->book, identity, ret_key);
}

/* The record of a one-shot starter, with the place filled in. */
static void make_record(const struct join_root *join, uint32_t place,
                        struct boot_record *ret_record)
{
    const struct daemon *daemon = join->daemon;
    char name[HOST_NAME_BYTES_MAX + 1];
    struct addresses addresses;
    struct error why;

    assert(place > 0 && place <= daemon->record.range.last);
    link_set_addresses(daemon->links, &addresses);
    one_shot_record(&daemon->record, &addresses, ret_record);
    memcpy(ret_record->instance.secret, join->secret, SECRET_BYTES);
    /* Cannot fail: the list contains the name. */
    (void)one_shot_take_place(ret_record, daemon_place_name(daemon, place, name), &why);
}

static struct message *answer_guest(void *context, const char *identity, struct error *why)
{
    struct join_root *join = context;
    struct boot_record record;
    struct buffer text = {0};
    struct message *message;
    uint32_t place;

    join_check(join);
    if (join_roster_claim(join->book, identity, loop_now_ns(), &place, why) < 0)
        return NULL;
    make_record(join, place, &record);
    log_info("%s presented its token", record.name);
    boot_record_encode(&record, &text);
    boot_record_fini(&record);
    message = message_create(text.data, text.length_bytes);
    explicit_bzero(text.data, text.length_bytes);
    buffer_fini(&text);
    secret_clear_stack();
    return message;
}

const struct link_guests join_root_guests = {.find_key = find_guest_key, .answer = answer_guest};

/* ---- The file ---- */

static int write_all(int fd, const struct buffer *text)
{
    size_t done = 0;

    while (done < text->length_bytes) {
        ssize_t written = write(fd, text->data + done, text->length_bytes - done);

        if (written < 0 && errno != EINTR)
            return -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static int write_head(const struct join_root *join, int fd)
{
    const struct instance_spec *instance = &join->daemon->record.instance;
    time_t until = time(NULL) + (time_t)instance->start_timeout_s;
    struct buffer line = {0};
    char text[64];
    struct tm when;
    int rc;

    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", localtime_r(&until, &when));
    buffer_printf(&line,
                  "# banyan session %s: on each node run banyand --join FILE, or with its line on "
                  "standard input, until %s\n",
                  instance->session, text);
    rc = write_all(fd, &line);
    buffer_fini(&line);
    return rc;
}

/* Line by line: a buffer that grows leaves copies of secrets in freed memory. */
static int write_lines(const struct join_root *join, int fd)
{
    const struct daemon *daemon = join->daemon;
    char name[HOST_NAME_BYTES_MAX + 1];
    struct addresses addresses;
    struct buffer line = {0};
    int rc = 0;

    link_set_addresses(daemon->links, &addresses);
    buffer_reserve(&line, JOIN_TOKEN_BYTES_MAX + sizeof(name));
    for (uint32_t place = 1; rc == 0 && place < daemon->record.instance.places; place++) {
        struct join_token token;

        join_roster_token(join->book, place, &token);
        token.addresses = addresses;
        buffer_clear(&line);
        buffer_printf(&line, "%s ", daemon_place_name(daemon, place, name));
        join_token_print(&token, &line);
        buffer_append_string(&line, "\n");
        rc = write_all(fd, &line);
        explicit_bzero(&token, sizeof(token));
    }
    explicit_bzero(line.data, line.capacity_bytes);
    buffer_fini(&line);
    return rc;
}

/* The file gets its name when it is complete, and only if no other file has that name. */
static int write_file(const struct join_root *join, const char *path, struct error *error)
{
    char *draft = memory_printf("%s.%s", path, join->daemon->record.instance.session);
    int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = fd < 0 ? -errno : write_head(join, fd);

    if (rc == 0)
        rc = write_lines(join, fd);
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = -errno;
    if (rc == 0 && link(draft, path) < 0)
        rc = -errno;
    if (fd >= 0)
        (void)unlink(draft);
    free(draft);
    if (rc == -EEXIST)
        return error_set(error, rc,
                         "option --join-file: %s already exists: remove it or name another file",
                         path);
    if (rc < 0)
        return error_set(error, rc, "option --join-file: cannot write %s: %s", path, strerror(-rc));
    return 0;
}

static void remove_file(struct join_root *join)
{
    if (join->path != NULL)
        (void)unlink(join->path);
    free(join->path);
    join->path = NULL;
}

/* ---- The wait ---- */

static void fail_places(struct join_root *join, const struct error *why)
{
    struct daemon *daemon = join->daemon;
    const struct starter_events *events =
        daemon->doctor ? &doctor_starter_events : &daemon_starter_events;
    struct ranges missing = {0};

    join_roster_missing(join->book, &missing);
    for (uint32_t i = 0; i < missing.count; i++)
        for (uint32_t place = missing.items[i].first; place <= missing.items[i].last; place++)
            events->failed(daemon, place, why);
    ranges_fini(&missing);
}

static void on_join_timeout(void *context)
{
    struct join_root *join = context;
    struct error why = ERROR_NONE;

    join_check(join);
    error_set(&why, -ETIMEDOUT, "no daemon joined with its token within %u s (--start-timeout)",
              join->daemon->record.instance.start_timeout_s);
    remove_file(join);
    fail_places(join, &why);
}

static void tell_user(struct join_root *join)
{
    const struct boot_record *record = &join->daemon->record;
    uint32_t nodes = record->instance.places - 1;
    char *text = memory_printf(
        "waiting up to %u s for %u node%s: run `banyand --join FILE` on each, with its line from %s",
        record->instance.start_timeout_s, nodes, nodes == 1 ? "" : "s", join->path);

    daemon_core_text(join->daemon->core, 0, LOG_LEVEL_WARNING, text);
    free(text);
}

struct join_root *join_root_create(struct daemon *daemon)
{
    const struct instance_spec *instance = &daemon->record.instance;
    struct join_root *join = memory_allocate_zeroed(sizeof(*join));
    uint64_t expires_ns = loop_now_ns() + instance->start_timeout_s * NS_PER_S;

    join->daemon = daemon;
    join->book = join_roster_create(instance->session, instance->places, expires_ns);
    join->secret = secret_create(SECRET_BYTES);
    memcpy(join->secret, instance->secret, SECRET_BYTES);
    join->timer = loop_timer_create(daemon->loop, on_join_timeout, join);
    loop_timer_set(join->timer, expires_ns);
    return join;
}

int join_root_start(struct join_root *join, struct error *error)
{
    const char *path = join->daemon->record.instance.join_file;
    int rc = write_file(join, path, error);

    assert(join->path == NULL);
    if (rc < 0)
        return rc;
    join->path = memory_copy_string(path);
    tell_user(join);
    return 0;
}

void join_root_linked(struct join_root *join, uint32_t place)
{
    if (join == NULL)
        return;
    join_check(join);
    join_roster_joined(join->book, place);
    if (join_roster_left(join->book) > 0)
        return;
    loop_timer_cancel(join->timer);
    secret_clear(join->secret, SECRET_BYTES);
    remove_file(join);
}

void join_root_destroy(struct join_root *join)
{
    if (join == NULL)
        return;
    remove_file(join);
    loop_timer_destroy(join->timer);
    secret_destroy(join->secret, SECRET_BYTES);
    join_roster_destroy(join->book);
    free(join);
}
