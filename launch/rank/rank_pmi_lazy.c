/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences whose data stays where it is.  Each node contributes a hash of its data instead, and keeps the data.  libpmix
 * is given none, so its first get of a remote rank makes a request (rank_pmi_fetch.c), and caches the reply for all
 * ranks of its node.  If the hash of a node from which something is cached has changed with a later fence, that
 * node's data is requested before the fence ends here, and given to libpmix as the fence's, which replaces what it
 * has: so a get after a fence returns what was committed before it, as with data in the fence.
 *
 * Memory: this node's data of the last fence of each set that had any, and 16 bytes for each node from which something is cached.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "launch/rank/rank_pmi_internal.h"

struct lazy_blob {
    struct buffer data;
};

struct lazy_cached {
    uint64_t hash; /* of its data in the last fence; 0: not known */
};

/* A fence that waits for changed data. */
struct lazy_fence {
    const struct speaker *speaker;
    uint64_t id;
    uint32_t waiting;
    struct buffer data; /* what has arrived: libpmix takes the nodes' parts in any order */
};

int rank_pmi_is_lazy(const struct rank_pmi *rank_pmi)
{
    return rank_pmi->config.job->spec.modex == JOB_MODEX_LAZY;
}

struct message *rank_pmi_lazy_keep(struct rank_pmi *rank_pmi, uint64_t set_id, const void *data,
                                   size_t data_bytes)
{
    struct lazy_blob *blob = hash_map_get_u64(rank_pmi->lazy.kept, set_id);
    struct job_stamp stamp = {.place = rank_pmi->config.place,
                              .hash = hash_bytes(data, data_bytes, 1)};
    struct buffer payload = {0};
    struct message *message;

    if (blob == NULL) {
        blob = memory_allocate_zeroed(sizeof(*blob));
        (void)hash_map_put_u64(rank_pmi->lazy.kept, set_id, blob);
    }
    buffer_clear(&blob->data);
    buffer_append(&blob->data, data, data_bytes);
    job_stamp_encode(&stamp, &payload);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

void rank_pmi_lazy_fetched(struct rank_pmi *rank_pmi, uint32_t place)
{
    if (rank_pmi_is_lazy(rank_pmi) && hash_map_get_u64(rank_pmi->lazy.cached, place) == NULL)
        (void)hash_map_put_u64(rank_pmi->lazy.cached, place,
                               memory_allocate_zeroed(sizeof(struct lazy_cached)));
}

static void fence_end(struct lazy_fence *fence, int is_closed)
{
    assert(fence->waiting == 0);
    if (!is_closed)
        rank_pmi_answer(fence->speaker, fence->id, 0, fence->data.data, fence->data.length_bytes);
    buffer_fini(&fence->data);
    free(fence);
}

/* A node that has been lost, or has ended its part, has nothing newer. */
static void blob_came(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                      size_t data_bytes)
{
    struct lazy_fence *fence = context;

    assert(fence->waiting > 0 && fence->speaker->rank_pmi == rank_pmi);
    if (status == 0)
        buffer_append(&fence->data, data, data_bytes);
    if (--fence->waiting == 0)
        fence_end(fence, status == -ECANCELED);
}

static void blob_ask(struct rank_pmi *rank_pmi, struct lazy_fence *fence, uint32_t place,
                     uint64_t set_id)
{
    struct job_blob_request request = {.number = rank_pmi->config.job->number, .set_id = set_id};
    struct buffer payload = {0};

    fence->waiting++;
    job_blob_request_encode(&request, &payload);
    rank_pmi_ask(rank_pmi, place, message_from_buffer(&payload), blob_came, fence);
    buffer_fini(&payload);
}

void rank_pmi_lazy_result(struct rank_pmi *rank_pmi, const struct speaker *speaker, uint64_t id,
                          uint64_t set_id, const struct message *payload)
{
    struct lazy_fence *fence = memory_allocate_zeroed(sizeof(*fence));
    struct wire_reader reader;
    struct job_stamp stamp;

    fence->speaker = speaker;
    fence->id = id;
    wire_reader_init(&reader, payload != NULL ? payload->data : NULL,
                     payload != NULL ? payload->length_bytes : 0);
    while (wire_left(&reader) > 0) {
        struct lazy_cached *cached;

        job_stamp_decode(&reader, &stamp);
        if (wire_status(&reader) < 0)
            break;
        cached = hash_map_get_u64(rank_pmi->lazy.cached, stamp.place);
        if (cached == NULL || cached->hash == stamp.hash)
            continue;
        cached->hash = stamp.hash;
        blob_ask(rank_pmi, fence, stamp.place, set_id);
    }
    if (fence->waiting == 0)
        fence_end(fence, 0);
}

void rank_pmi_lazy_request(struct rank_pmi *rank_pmi, uint32_t source, uint32_t id,
                           struct wire_reader *reader)
{
    struct job_blob_request request;
    const struct lazy_blob *blob = NULL;
    int rc = job_blob_request_decode(&request, reader);

    if (rc == 0 && request.number == rank_pmi->config.job->number)
        blob = hash_map_get_u64(rank_pmi->lazy.kept, request.set_id);
    if (blob == NULL)
        rank_pmi_reply_to(rank_pmi, source, id, rc < 0 ? rc : -ENOENT, NULL, 0);
    else
        rank_pmi_reply_to(rank_pmi, source, id, 0, blob->data.data, blob->data.length_bytes);
}

void rank_pmi_lazy_open(struct rank_pmi *rank_pmi)
{
    rank_pmi->lazy.kept = hash_map_create();
    rank_pmi->lazy.cached = hash_map_create();
}

void rank_pmi_lazy_close(struct rank_pmi *rank_pmi)
{
    struct lazy_blob *blob;
    void *cached;
    size_t cursor = 0;

    while ((blob = hash_map_next(rank_pmi->lazy.kept, &cursor)) != NULL) {
        buffer_fini(&blob->data);
        free(blob);
    }
    hash_map_destroy(rank_pmi->lazy.kept);
    cursor = 0;
    while ((cached = hash_map_next(rank_pmi->lazy.cached, &cursor)) != NULL)
        free(cached);
    hash_map_destroy(rank_pmi->lazy.cached);
}
