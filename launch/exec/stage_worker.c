/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/stage_worker.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "fabric/channel.h"
#include "launch/exec/library_list.h"
#include "launch/exec/stage_store.h"
#include "launch/proto/exit_status.h"
#include "launch/proto/job_wire.h"

/* Of one that has been opened here. */
struct staging {
    struct list_link node;
    uint32_t transfer;
    struct stage_manifest manifest;
};

struct stage_worker {
    int fd;
    uint32_t place;
    int shares;
    struct stage_store *store; /* NULL: why says why */
    struct error why;
    struct list stagings; /* at most STAGE_TRANSFERS_MAX, the oldest first */
    uint32_t stagings_count;
};

/* ---- transfers ---- */

static void staging_free(struct stage_worker *worker, struct staging *staging)
{
    assert(worker->stagings_count > 0);
    worker->stagings_count--;
    list_remove(&staging->node);
    stage_manifest_fini(&staging->manifest);
    free(staging);
}

static struct staging *staging_find(const struct stage_worker *worker, uint32_t transfer)
{
    struct list_link *node, *spare;

    list_for_each(&worker->stagings, node, spare)
    {
        struct staging *staging = list_entry(node, struct staging, node);

        if (staging->transfer == transfer)
            return staging;
    }
    return NULL;
}

/* Instead of an earlier one of the same number; those of clients that have disconnected make room. */
static struct staging *staging_open(struct stage_worker *worker, uint32_t transfer)
{
    struct staging *staging = staging_find(worker, transfer);

    if (staging != NULL)
        staging_free(worker, staging);
    while (worker->stagings_count >= 2 * STAGE_TRANSFERS_MAX)
        staging_free(worker, list_entry(list_first(&worker->stagings), struct staging, node));
    staging = memory_allocate_zeroed(sizeof(*staging));
    staging->transfer = transfer;
    list_append(&worker->stagings, &staging->node);
    worker->stagings_count++;
    return staging;
}

/* ---- programs ---- */

/* With the libraries that were staged for it, as a process of the job will have it. */
static int check_program(const struct stage_worker *worker, const struct stage_check *check,
                         uint32_t job, struct error *error)
{
    char directory[PATH_MAX], path[PATH_MAX], loader[PATH_MAX];
    char *environment[] = {NULL, NULL};
    struct buffer list = {0}, missing = {0};
    int is_found, status;

    stage_store_directory(worker->store, job, directory);
    is_found = library_list_find(check->program, check->is_staged ? directory : check->directory,
                                 check->path, path);
    if (!is_found)
        return error_set(error, -ENOENT, "%.200s does not exist or is not executable",
                         check->program);
    if (!library_list_loader(path, loader))
        return 0;
    environment[0] = check->is_staged ? memory_printf("LD_LIBRARY_PATH=%s/lib%s%s", directory,
                                                      check->library_path[0] != '\0' ? ":" : "",
                                                      check->library_path)
                                      : memory_printf("LD_LIBRARY_PATH=%s", check->library_path);
    status = library_list_run(loader, path, environment, NULL, &list);
    library_list_missing(&list, &missing);
    if (missing.length_bytes > 0)
        error_set(error, -ELIBACC, "%.100s: missing shared libraries: %.200s", check->program,
                  buffer_string(&missing));
    else if (status != 0)
        error_set(error, -ELIBBAD, "%.100s: its loader rejects it: %.*s", check->program,
                  (int)strcspn(buffer_string(&list), "\n"), buffer_string(&list));
    free(environment[0]);
    buffer_fini(&list);
    buffer_fini(&missing);
    return error->code;
}

/* ---- steps ---- */

static int do_open(struct stage_worker *worker, const struct stage_order *order,
                   struct stage_report *report, struct error *error)
{
    struct staging *staging = staging_open(worker, order->transfer);
    struct wire_reader reader;

    wire_reader_init(&reader, order->body.data, order->body.length_bytes);
    if (stage_manifest_decode(&staging->manifest, &reader) < 0) {
        staging_free(worker, staging);
        return error_set(error, -EBADMSG, "cannot decode the list of files to stage");
    }
    stage_store_lacks(worker->store, &staging->manifest, &report->lacks);
    if (!worker->shares) {
        ranges_add(&report->keepers, worker->place, worker->place);
        return 0;
    }
    report->shared = memory_allocate_zeroed(sizeof(*report->shared));
    report->shared[0].cache = stage_store_cache_id(worker->store);
    report->shared[0].place = worker->place;
    report->shared_count = 1;
    return 0;
}

static int do_pack(struct stage_worker *worker, const struct stage_order *order,
                   struct error *error)
{
    const struct staging *staging = staging_find(worker, order->transfer);
    struct stage_piece piece;
    struct wire_reader reader;
    int more, rc = 0;

    if (staging == NULL)
        return error_set(error, -ENOENT, "received files that are not expected here");
    wire_reader_init(&reader, order->body.data, order->body.length_bytes);
    while (rc == 0 && (more = stage_piece_decode(&piece, &reader)) != 0)
        rc = more > 0 ? stage_store_put(worker->store, &staging->manifest, &piece, error)
                      : error_set(error, more, "cannot decode a pack of files");
    return rc;
}

static int do_commit(struct stage_worker *worker, const struct stage_order *order,
                     struct error *error)
{
    struct staging *staging = staging_find(worker, order->transfer);
    int rc;

    if (staging == NULL)
        return error_set(error, -ENOENT, "received files that are not expected here");
    rc = stage_store_place(worker->store, &staging->manifest, order->job, error);
    for (uint32_t i = 0; rc == 0 && i < staging->manifest.checks_count; i++)
        rc = check_program(worker, &staging->manifest.checks[i], order->job, error);
    return rc;
}

static void carry_out(struct stage_worker *worker, const struct stage_order *order,
                      struct stage_report *report)
{
    struct error error = ERROR_NONE;
    int rc = 0;

    if (worker->store == NULL)
        error = worker->why;
    else if (order->step == STAGE_OPEN)
        rc = do_open(worker, order, report, &error);
    else if (order->step == STAGE_PACK)
        rc = do_pack(worker, order, &error);
    else if (order->step == STAGE_COMMIT)
        rc = do_commit(worker, order, &error);
    else
        stage_store_remove(worker->store, order->job);
    assert(rc == 0 || error.code < 0);
    if (error.code < 0)
        stage_report_fail(report, worker->place, error.text);
}

/* ---- messages ---- */

static int read_bytes(int fd, size_t bytes, struct buffer *out)
{
    while (bytes > 0) {
        ssize_t got = read(fd, buffer_reserve(out, bytes), bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -EPIPE;
        buffer_commit(out, (size_t)got);
        bytes -= (size_t)got;
    }
    return 0;
}

static int read_message(int fd, struct buffer *payload)
{
    struct buffer header = {0};
    uint32_t bytes = 0;
    uint8_t type = 0;
    int rc = read_bytes(fd, CHANNEL_HEADER_BYTES, &header);

    buffer_clear(payload);
    if (rc == 0)
        channel_header_get(header.data, &bytes, &type);
    if (rc == 0)
        rc = type == STAGE_WORKER_MESSAGE ? read_bytes(fd, bytes, payload) : -EBADMSG;
    buffer_fini(&header);
    return rc;
}

static int send_reply(int fd, uint32_t generation, const struct stage_report *report)
{
    struct buffer encoded = {0}, payload = {0}, frame = {0};
    size_t sent = 0;
    ssize_t bytes = 1;

    stage_report_encode(report, &encoded);
    stage_reply_encode(generation, &encoded, &payload);
    channel_header_put((uint32_t)payload.length_bytes, STAGE_WORKER_MESSAGE, &frame);
    buffer_append(&frame, payload.data, payload.length_bytes);
    while (sent < frame.length_bytes && (bytes > 0 || errno == EINTR)) {
        bytes = send(fd, frame.data + sent, frame.length_bytes - sent, MSG_NOSIGNAL);
        sent += bytes > 0 ? (size_t)bytes : 0;
    }
    buffer_fini(&encoded);
    buffer_fini(&payload);
    buffer_fini(&frame);
    return bytes > 0 ? 0 : -EPIPE;
}

/* An order has its kind in front, as it came from the root. */
static int obey(struct stage_worker *worker, const struct buffer *payload)
{
    struct stage_report report = {.failures = NULL};
    struct stage_order order;
    struct wire_reader reader;
    int rc = 0;

    if (payload->length_bytes == 0 || payload->data[0] != JOB_MESSAGE_STAGE)
        return -EBADMSG;
    wire_reader_init(&reader, payload->data + 1, payload->length_bytes - 1);
    if (stage_order_decode(&order, &reader) < 0)
        return -EBADMSG;
    carry_out(worker, &order, &report);
    if (order.step != STAGE_REMOVE)
        rc = send_reply(worker->fd, order.generation, &report);
    stage_order_fini(&order);
    stage_report_fini(&report);
    return rc;
}

int stage_worker_run(int fd, const char *base, const char *cache, uint32_t place, int shares)
{
    struct stage_worker worker = {.fd = fd, .place = place, .shares = shares};
    struct buffer payload = {0};
    int rc;

    list_init(&worker.stagings);
    worker.store = stage_store_create(base, cache, &worker.why);
    do {
        rc = read_message(fd, &payload);
        if (rc == 0)
            rc = obey(&worker, &payload);
    } while (rc == 0);
    while (worker.stagings_count > 0)
        staging_free(&worker, list_entry(list_first(&worker.stagings), struct staging, node));
    stage_store_destroy(worker.store);
    buffer_fini(&payload);
    return rc == -EPIPE ? EXIT_SUCCESS : EXIT_STATUS_FAILED;
}
