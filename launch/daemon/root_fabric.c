/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/root_fabric.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/time.h"
#include "fabric/file_read.h"
#include "fabric/topology/fabric_read.h"
#include "fabric/topology/fabric_write.h"
#include "launch/exec/file_watch.h"
#include "launch/exec/session_about.h"
#include "pmix/pmi_notice.h"

#define LOOK_MS 1000

struct root_fabric {
    struct daemon *daemon;
    const char *topology; /* the daemon's record's */
    struct loop_timer *timer;
    struct file_watch *watch;  /* of the file; NULL: there is none, or no process for it */
    uint64_t text_hash;        /* of the last text that was taken */
    struct fabric_model whole; /* as described */
    struct ranges living;      /* the places that lived at the last look, */
    uint32_t nodes;            /* and the size of the roster */
    uint8_t *marks;            /* by the nodes of whole: it lives */
    uint32_t marks_count;
    struct fabric_model part; /* of the marked nodes */
    uint8_t is_followed;      /* the watch is open, unless it failed or there is no file */
    uint8_t is_other;         /* whole has changed since part was made */
};

/* ---- The description ---- */

static int take_text(struct root_fabric *fabric, const char *path, struct buffer *text,
                     struct error *error)
{
    uint64_t hash = hash_bytes(text->data, text->length_bytes, text->length_bytes);
    struct fabric_model model = {.switches = NULL};
    int rc;

    if (fabric->whole.is_settled && hash == fabric->text_hash)
        return 0;
    rc = fabric_read_text(&model, buffer_string(text), text->length_bytes, error);
    if (rc < 0) {
        fabric_model_fini(&model);
        error_prefix(error, "%s", path);
        return rc;
    }
    fabric_model_fini(&fabric->whole);
    fabric->whole = model;
    fabric->text_hash = hash;
    fabric->is_other = 1;
    return 0;
}

static int read_file(struct root_fabric *fabric, const char *path, struct error *error)
{
    struct buffer text = {.data = NULL};
    int rc = file_read(path, FILE_WATCH_BYTES_MAX, &text);

    if (rc < 0)
        error_set(error, rc, "cannot read %s: %s", path, strerror(-rc));
    else
        rc = take_text(fabric, path, &text, error);
    buffer_fini(&text);
    return rc;
}

/* The front end has read the same a moment ago. */
static int read_first(struct root_fabric *fabric, struct error *error)
{
    if (fabric_read_is_generated(fabric->topology))
        return fabric_read_generate(&fabric->whole, fabric->topology, error);
    return read_file(fabric, fabric->topology, error);
}

/* A root that has been recovered goes on with what it has written for others, or without a fabric, until the file can be
 * read again. */
static void read_copy(struct root_fabric *fabric, const struct error *why)
{
    char *path = memory_printf("%s/" SESSION_FABRIC_FILE, fabric->daemon->session.directory);
    struct error error = ERROR_NONE;

    if (read_file(fabric, path, &error) == 0)
        log_warning("%s: the fabric is as it was when the root died", why->text);
    else
        log_warning("%s: there is no fabric until it can be read", why->text);
    free(path);
}

/* ---- The nodes that live ---- */

static void find_living(const struct root_fabric *fabric, struct ranges *ret_living,
                        uint32_t *ret_nodes)
{
    const struct instance *instance = daemon_core_instance(fabric->daemon->core);
    struct ranges lost = {0};

    if (fabric->nodes > 0 && !instance_is_up(instance)) { /* it ends: that nodes leave is no news */
        ranges_copy(ret_living, &fabric->living);
        *ret_nodes = fabric->nodes;
        return;
    }
    instance_nodes_all(instance, ret_living);
    instance_lost_places(instance, &lost);
    ranges_remove_all(ret_living, &lost);
    ranges_fini(&lost);
    *ret_nodes = allocation_nodes(instance_roster(instance));
}

/* 1 if the part is of other nodes than before; they become its marks. */
static int mark_nodes(struct root_fabric *fabric)
{
    const struct allocation *roster = instance_roster(daemon_core_instance(fabric->daemon->core));
    uint8_t *marks = memory_allocate_zeroed(fabric->whole.nodes_count);
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t place = 0;
    int differs;

    for (; ranges_next(&fabric->living, place, &place); place++) {
        uint32_t node;

        hostlist_name(roster->names, place - 1, name);
        node = fabric_model_find_node(&fabric->whole, name);
        if (node != FABRIC_NONE)
            marks[node] = 1;
    }
    differs = fabric->marks == NULL || fabric->marks_count != fabric->whole.nodes_count ||
              memcmp(marks, fabric->marks, fabric->marks_count) != 0;
    free(fabric->marks);
    fabric->marks = marks;
    fabric->marks_count = fabric->whole.nodes_count;
    return differs;
}

static void make_part(struct root_fabric *fabric)
{
    fabric_model_fini(&fabric->part);
    fabric_model_part(&fabric->whole, fabric->marks, &fabric->part);
}

/* ---- The file for others ---- */

static int write_text(const char *path, const struct buffer *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t done = 0;
    ssize_t wrote;
    int rc = 0;

    if (fd < 0)
        return -errno;
    while (rc == 0 && done < text->length_bytes) {
        wrote = write(fd, text->data + done, text->length_bytes - done);
        if (wrote < 0 && errno != EINTR)
            rc = -errno;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    close(fd);
    return rc;
}

/* A description has at least one NIC: if no node of it lives, the last one stays. */
static void write_part(const struct root_fabric *fabric)
{
    const char *directory = fabric->daemon->session.directory;
    struct buffer text = {.data = NULL};
    char *path, *next;
    int rc;

    if (fabric->daemon->policy != INSTANCE_STAYS || fabric->part.vertices_count == 0)
        return;
    path = memory_printf("%s/" SESSION_FABRIC_FILE, directory);
    next = memory_printf("%s.next", path);
    fabric_write_json(&fabric->part, &text);
    rc = write_text(next, &text);
    if (rc == 0 && rename(next, path) < 0)
        rc = -errno;
    if (rc < 0) {
        log_warning("cannot write %s: %s: schedulers see the fabric as it was", path,
                    strerror(-rc));
        (void)unlink(next);
    }
    buffer_fini(&text);
    free(path);
    free(next);
}

/* ---- Changes ---- */

/* Processes that have registered for it hear of it (PMIx 4.1, 14.3.4). */
static void tell(const struct root_fabric *fabric, enum pmi_event about, int may_wait)
{
    struct pmi_notice notice = {.event = about, .source = {.job = PMI_JOB_NONE, .rank = 0}};
    struct daemon_event event = {.kind = DAEMON_EVENT_NOTICE, .number = may_wait};
    struct buffer data = {.data = NULL};

    pmi_notice_encode(&notice, &data);
    event.data = data.data;
    event.data_bytes = data.length_bytes;
    daemon_core_step(fabric->daemon->core, &event);
    buffer_fini(&data);
}

static void replace_part(struct root_fabric *fabric)
{
    tell(fabric, PMI_EVENT_FABRIC_PENDING, 0);
    make_part(fabric);
    write_part(fabric);
    tell(fabric, PMI_EVENT_FABRIC_UPDATED, 1);
}

static void refresh(struct root_fabric *fabric)
{
    struct ranges living = {0};
    uint32_t nodes;

    if (!fabric->whole.is_settled)
        return;
    find_living(fabric, &living, &nodes);
    if (fabric->is_other || nodes != fabric->nodes || !ranges_equal(&living, &fabric->living)) {
        ranges_copy(&fabric->living, &living);
        fabric->nodes = nodes;
        if (mark_nodes(fabric) || fabric->is_other)
            replace_part(fabric);
        fabric->is_other = 0;
    }
    ranges_fini(&living);
}

static void on_text(void *context, struct buffer *text)
{
    struct root_fabric *fabric = context;
    struct error error = ERROR_NONE;

    daemon_check(fabric->daemon);
    if (take_text(fabric, fabric->topology, text, &error) < 0)
        log_warning("%s: the fabric stays as it was", error.text);
    else
        refresh(fabric);
}

static void on_failed(void *context, int code)
{
    const struct root_fabric *fabric = context;

    daemon_check(fabric->daemon);
    if (code == -EPIPE)
        log_warning("the process that follows %s has died: the fabric stays as it is",
                    fabric->topology);
    else
        log_warning("cannot read %s: %s: the fabric stays as it was", fabric->topology,
                    strerror(-code));
}

/* Not before the loop runs: until then the daemon has the secret in its memory, which the process would inherit. */
static void follow(struct root_fabric *fabric)
{
    static const struct file_watch_events events = {.text = on_text, .failed = on_failed};
    struct error error = ERROR_NONE;

    fabric->is_followed = 1;
    if (fabric_read_is_generated(fabric->topology))
        return;
    fabric->watch =
        file_watch_create(fabric->daemon->loop, fabric->topology, LOOK_MS, &events, fabric, &error);
    if (fabric->watch == NULL)
        log_warning("%s: the fabric stays as it is", error.text);
}

static void look_again(void *context)
{
    struct root_fabric *fabric = context;

    daemon_check(fabric->daemon);
    if (!fabric->is_followed)
        follow(fabric);
    refresh(fabric);
    loop_timer_set(fabric->timer, loop_now_ns() + LOOK_MS * NS_PER_MS);
}

static void begin(struct root_fabric *fabric)
{
    find_living(fabric, &fabric->living, &fabric->nodes);
    (void)mark_nodes(fabric);
    make_part(fabric);
    write_part(fabric);
}

int root_fabric_open(struct daemon *daemon, struct error *error)
{
    struct root_fabric *fabric;
    int rc;

    assert(daemon->root != NULL && daemon->fabric == NULL);
    if (daemon->record.instance.fabric_topology == NULL)
        return 0;
    fabric = memory_allocate_zeroed(sizeof(*fabric));
    fabric->daemon = daemon;
    fabric->topology = daemon->record.instance.fabric_topology;
    fabric->timer = loop_timer_create(daemon->loop, look_again, fabric);
    daemon->fabric = fabric;
    rc = read_first(fabric, error);
    if (rc < 0 && daemon->replay == NULL) {
        error_prefix(error, "option --fabric-topology");
        return rc;
    }
    if (rc < 0)
        read_copy(fabric, error);
    if (fabric->whole.is_settled)
        begin(fabric);
    /* Processes may not have heard of what has changed since its predecessor died. */
    fabric->is_other = daemon->replay != NULL;
    loop_timer_set(fabric->timer, loop_now_ns() + LOOK_MS * NS_PER_MS);
    return 0;
}

void root_fabric_close(struct daemon *daemon)
{
    struct root_fabric *fabric = daemon->fabric;

    if (fabric == NULL)
        return;
    assert(fabric->daemon == daemon);
    loop_timer_destroy(fabric->timer);
    file_watch_destroy(fabric->watch);
    fabric_model_fini(&fabric->whole);
    fabric_model_fini(&fabric->part);
    ranges_fini(&fabric->living);
    free(fabric->marks);
    free(fabric);
    daemon->fabric = NULL;
}

const struct fabric_model *root_fabric_model(struct daemon *daemon)
{
    if (daemon->fabric == NULL)
        return NULL;
    assert(daemon->record.place == 0);
    if (daemon->fabric->watch != NULL)
        file_watch_look(daemon->fabric->watch);
    refresh(daemon->fabric);
    return daemon->fabric->part.vertices_count > 0 ? &daemon->fabric->part : NULL;
}
