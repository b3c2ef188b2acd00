/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct modex, both ways: data put by a remote process, for a local one, and data put by a local
 * process, for another node.  Both travel in requests of the overlay.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/rank/rank_pmi_internal.h"

/* A rank whose data others have awaited for this long is reported. */
#define FETCH_LATE_NS (5 * NS_PER_S)
/* How long to wait for a key of a rank that has committed others, if the caller gives no time-out,
 * as libpmix does for a rank of the same node (4.2.2); and how often to check. */
#define FETCH_KEY_NS       (2 * NS_PER_S)
#define FETCH_SLACK_NS     (1 * NS_PER_S) /* the caller's node ends it in time */
#define FETCH_AGAIN_NS     (10 * NS_PER_MS)
#define FETCH_AGAIN_NS_MAX (160 * NS_PER_MS)
#define FETCH_KEY_BYTES    512u

/* A blob of a remote process, requested by a local one. */
struct modex_wait {
    const struct speaker *speaker;
    struct loop_timer *timer; /* NULL: no time-out */
    uint64_t id;              /* the host's */
    uint32_t request;         /* the overlay's */
};

/* A blob of a local process, requested by another node. */
struct fetch_wait {
    struct list_link node;
    struct rank_pmi *rank_pmi;
    struct loop_timer *timer; /* retries, since the key was missing */
    char *key;                /* or "" */
    uint64_t key_until_ns;
    uint64_t again_ns; /* after how long */
    uint64_t id;
    uint32_t source;
    uint32_t request;
    uint32_t rank;
    uint64_t since_ns;
    int told;
};

static void modex_free(struct modex_wait *modex)
{
    loop_timer_destroy(modex->timer);
    free(modex);
}

/* A later answer is ignored. */
static void modex_timed_out(void *context)
{
    struct modex_wait *modex = context;
    const struct speaker *speaker = modex->speaker;
    uint64_t id = modex->id;

    (void)hash_map_remove_u64(speaker->rank_pmi->pmix.requests, modex->request);
    modex_free(modex);
    rank_pmi_answer(speaker, id, -ETIMEDOUT, NULL, 0);
}

static void fetch_from(struct speaker *speaker, uint64_t id, const struct job_local *job,
                       uint32_t rank, const char *key, uint32_t timeout_ms)
{
    struct rank_pmi *rank_pmi = speaker->rank_pmi;
    struct buffer payload = {0};
    uint32_t node, local_index;
    struct modex_wait *modex;

    placement_map_find(&job->map, rank, &node, &local_index);
    if (job == rank_pmi->config.job)
        rank_pmi_lazy_fetched(rank_pmi, node + 1);
    wire_put_u8(&payload, JOB_MESSAGE_MODEX);
    wire_put_u32(&payload, job->number);
    wire_put_u32(&payload, rank);
    wire_put_u32(&payload, timeout_ms);
    wire_put_string(&payload, key);
    modex = memory_allocate_zeroed(sizeof *modex);
    modex->speaker = speaker;
    modex->id = id;
    modex->request =
        rank_pmi->events.request(rank_pmi->events.context, node + 1, message_from_buffer(&payload));
    buffer_fini(&payload);
    if (timeout_ms > 0) {
        modex->timer = loop_timer_create(rank_pmi->config.loop, modex_timed_out, modex);
        loop_timer_set(modex->timer, loop_now_ns() + timeout_ms * NS_PER_MS);
    }
    (void)hash_map_put_u64(rank_pmi->pmix.requests, modex->request, modex);
}

/* A blob of a process of a job of which this node knows nothing yet. */
struct foreign_fetch {
    struct speaker *speaker;
    uint64_t id;
    struct pmi_process process;
    char *key;
    uint32_t timeout_ms;
};

static void foreign_is_known(struct rank_pmi *rank_pmi, void *context, int status)
{
    struct foreign_fetch *fetch = context;
    const struct job_local *job = rank_jobs_map(rank_pmi->config.jobs, fetch->process.job);

    if (status == 0 && fetch->process.rank >= job->map.processes)
        status = -ENOENT;
    if (status == 0)
        fetch_from(fetch->speaker, fetch->id, job, fetch->process.rank, fetch->key,
                   fetch->timeout_ms);
    else if (status != -ECANCELED)
        rank_pmi_answer(fetch->speaker, fetch->id, status, NULL, 0);
    free(fetch->key);
    free(fetch);
}

/* libpmix is not sent the map meanwhile: it would ask once more for what it waits for. */
static void fetch_foreign(struct speaker *speaker, uint64_t id, const struct pmi_process *process,
                          const char *key, uint32_t timeout_ms)
{
    struct foreign_fetch *fetch = memory_allocate(sizeof(*fetch));

    *fetch = (struct foreign_fetch){.speaker = speaker,
                                    .id = id,
                                    .process = *process,
                                    .key = memory_copy_string(key),
                                    .timeout_ms = timeout_ms};
    rank_jobs_need(speaker->rank_pmi, process->job, 0, foreign_is_known, fetch);
}

void rank_pmi_fetch(struct speaker *speaker, uint64_t id, const struct pmi_process *process,
                    const char *key, uint32_t timeout_ms)
{
    const struct job_local *job = speaker->rank_pmi->config.job;

    if (process->rank == PMI_RANK_ALL)
        rank_pmi_answer(speaker, id, -ENOENT, NULL, 0);
    else if (process->job != job->number)
        fetch_foreign(speaker, id, process, key, timeout_ms);
    else if (process->rank >= job->map.processes)
        rank_pmi_answer(speaker, id, -ENOENT, NULL, 0);
    else
        fetch_from(speaker, id, job, process->rank, key, timeout_ms);
}

void rank_pmi_reply(struct rank_pmi *rank_pmi, uint32_t id, int status, struct message *payload)
{
    struct modex_wait *modex = hash_map_remove_u64(rank_pmi->pmix.requests, id);
    struct wire_reader reader;

    wire_reader_init(&reader, payload ? payload->data : NULL, payload ? payload->length_bytes : 0);
    status = job_reply_decode(status, &reader);
    if (modex == NULL) {
        rank_pmi_asked(rank_pmi, id, status, reader.position, wire_left(&reader));
        return;
    }
    rank_pmi_answer(modex->speaker, modex->id, status, reader.position, wire_left(&reader));
    modex_free(modex);
}

static void fetch_free(struct fetch_wait *fetch)
{
    assert(fetch->id >> 32 == fetch->rank_pmi->config.job->number);
    list_remove(&fetch->node);
    loop_timer_destroy(fetch->timer);
    free(fetch->key);
    free(fetch);
}

/* Asks for the key, or after its time limit for any data. */
static void fetch_ask(struct fetch_wait *fetch)
{
    const struct rank_pmi *rank_pmi = fetch->rank_pmi;
    const struct speaker *speaker = &rank_pmi->speakers[SPEAKER_PMIX];
    struct pmi_process process = {.job = rank_pmi->config.job->number, .rank = fetch->rank};
    int has_time = loop_now_ns() < fetch->key_until_ns;

    if (speaker->handle != NULL)
        speaker->events->provide(speaker->handle, fetch->id, &process, has_time ? fetch->key : "");
}

static void fetch_ask_again(void *context)
{
    fetch_ask(context);
}

static void fetch_later(struct fetch_wait *fetch)
{
    assert(fetch->again_ns > 0 && fetch->again_ns <= 2 * FETCH_AGAIN_NS_MAX);
    if (fetch->timer == NULL)
        fetch->timer = loop_timer_create(fetch->rank_pmi->config.loop, fetch_ask_again, fetch);
    loop_timer_set(fetch->timer, loop_now_ns() + fetch->again_ns);
    if (fetch->again_ns < FETCH_AGAIN_NS_MAX)
        fetch->again_ns *= 2;
}

void rank_pmi_provided(struct rank_pmi *rank_pmi, uint64_t id, int status, const void *data,
                       size_t data_bytes)
{
    struct list_link *node, *spare;

    list_for_each(&rank_pmi->pmix.fetches, node, spare)
    {
        struct fetch_wait *fetch = list_entry(node, struct fetch_wait, node);

        if (fetch->id != id)
            continue;
        if (status == -EAGAIN) {
            fetch_later(fetch);
            return;
        }
        rank_pmi_reply_to(rank_pmi, fetch->source, fetch->request, status, data, data_bytes);
        fetch_free(fetch);
        return;
    }
}

/* Others wait for data that a rank has not committed: reported once for each rank. */
static void fetch_tell(struct rank_pmi *rank_pmi, const struct fetch_wait *fetch)
{
    int64_t index = rank_pmi_local_index(rank_pmi, fetch->rank);
    uint8_t state = 0;

    if (index >= 0)
        state = rank_pmi->events.process_state(rank_pmi->events.context, (uint32_t)index);
    rank_pmi_say(rank_pmi, "others wait for data that rank %u on %s has not committed (alive%s%s)",
                 fetch->rank, rank_pmi->config.node_name,
                 state == 'T' || state == 't' ? ", stopped in state " : "",
                 state == 'T'   ? "T"
                 : state == 't' ? "t"
                                : "");
}

static void fetches_late(void *context)
{
    struct rank_pmi *rank_pmi = context;
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;
    uint64_t now_ns = loop_now_ns();
    struct list_link *node, *spare, *other, *other_spare;

    list_for_each(&pmix->fetches, node, spare)
    {
        struct fetch_wait *fetch = list_entry(node, struct fetch_wait, node);

        if (fetch->told || now_ns < fetch->since_ns + FETCH_LATE_NS)
            continue;
        fetch_tell(rank_pmi, fetch);
        list_for_each(&pmix->fetches, other, other_spare)
        {
            struct fetch_wait *same = list_entry(other, struct fetch_wait, node);

            same->told |= same->rank == fetch->rank;
        }
    }
    if (!list_is_empty(&pmix->fetches))
        loop_timer_set(pmix->fetch_timer, now_ns + FETCH_LATE_NS);
}

static void fetch_watch(struct rank_pmi *rank_pmi)
{
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;

    if (!pmix->fetch_timer)
        pmix->fetch_timer = loop_timer_create(rank_pmi->config.loop, fetches_late, rank_pmi);
    if (list_is_empty(&pmix->fetches))
        loop_timer_set(pmix->fetch_timer, loop_now_ns() + FETCH_LATE_NS);
}

/* The node's PMIx server has the fetches of all jobs in one table. */
static uint64_t fetch_next_id(struct rank_pmi *rank_pmi)
{
    uint64_t id = (uint64_t)rank_pmi->config.job->number << 32 | ++rank_pmi->pmix.fetch_next;

    assert(rank_pmi->pmix.fetch_next > 0);
    return id;
}

static void modex_request(struct rank_pmi *rank_pmi, uint32_t source, uint32_t id,
                          struct wire_reader *reader)
{
    uint32_t number = wire_get_u32(reader);
    uint32_t rank = wire_get_u32(reader);
    uint32_t timeout_ms = wire_get_u32(reader);
    char *key = wire_get_string(reader, FETCH_KEY_BYTES);
    struct fetch_wait *fetch;

    if (wire_finish(reader) < 0 || number != rank_pmi->config.job->number ||
        rank_pmi_local_index(rank_pmi, rank) < 0 || rank_pmi_pmix_need(rank_pmi) < 0) {
        rank_pmi_reply_to(rank_pmi, source, id, -ENOENT, NULL, 0);
        free(key);
        return;
    }
    fetch = memory_allocate_zeroed(sizeof *fetch);
    fetch->rank_pmi = rank_pmi;
    fetch->key = key;
    fetch->again_ns = FETCH_AGAIN_NS;
    fetch->key_until_ns =
        loop_now_ns() + (timeout_ms > 0 ? timeout_ms * NS_PER_MS + FETCH_SLACK_NS : FETCH_KEY_NS);
    fetch->id = fetch_next_id(rank_pmi);
    fetch->source = source;
    fetch->request = id;
    fetch->rank = rank;
    fetch->since_ns = loop_now_ns();
    fetch_watch(rank_pmi);
    list_append(&rank_pmi->pmix.fetches, &fetch->node);
    fetch_ask(fetch);
}

void rank_pmi_request(struct rank_pmi *rank_pmi, uint8_t kind, uint32_t source, uint32_t id,
                      struct wire_reader *reader)
{
    assert(kind == JOB_MESSAGE_MODEX || kind == JOB_MESSAGE_BLOB || kind == JOB_MESSAGE_ABORT);
    if (kind == JOB_MESSAGE_ABORT)
        rank_pmi_abort_request(rank_pmi, source, id, reader);
    else if (kind == JOB_MESSAGE_BLOB)
        rank_pmi_lazy_request(rank_pmi, source, id, reader);
    else
        modex_request(rank_pmi, source, id, reader);
}

void rank_pmi_fetch_open(struct rank_pmi *rank_pmi)
{
    list_init(&rank_pmi->pmix.fetches);
    rank_pmi->pmix.requests = hash_map_create();
}

void rank_pmi_fetch_close(struct rank_pmi *rank_pmi)
{
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;
    struct list_link *node;
    struct modex_wait *waiting;
    size_t cursor = 0;

    if (pmix->fetch_timer)
        loop_timer_destroy(pmix->fetch_timer);
    while ((node = list_first(&pmix->fetches)) != NULL)
        fetch_free(list_entry(node, struct fetch_wait, node));
    while ((waiting = hash_map_next(pmix->requests, &cursor)) != NULL)
        modex_free(waiting);
    hash_map_destroy(pmix->requests);
}
