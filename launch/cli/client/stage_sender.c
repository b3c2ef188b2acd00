/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/stage_sender.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/job_wire.h"

enum sender_state {
    SENDER_HASHING,
    SENDER_OPENING, /* waits for what the nodes lack */
    SENDER_SENDING,
    SENDER_COMMITTING, /* waits for the nodes */
    SENDER_DONE,
    SENDER_FAILED,
    SENDER_STATE_COUNT
};

struct stage_sender {
    struct stage_files *files;
    uint32_t job;
    stage_sender_send *send;
    void *context;
    enum sender_state state;
    bool is_open;        /* the root has the manifest */
    bool is_stale;       /* nodes have been lost: no more packs before it is opened again */
    uint32_t requests;   /* made so far */
    uint32_t under_way;  /* packs */
    struct buffer lacks; /* set of chunks */
    uint32_t next;       /* chunk to look at */
    struct stage_sender_sums sums;
};

static void sender_check(const struct stage_sender *sender)
{
    assert(sender->state < SENDER_STATE_COUNT && sender->files != NULL);
    assert(sender->under_way <= STAGE_PACKS_MAX);
    assert(sender->under_way == 0 || sender->state == SENDER_SENDING ||
           sender->state == SENDER_FAILED);
}

struct stage_sender *stage_sender_create(struct stage_files *files, uint32_t job,
                                         stage_sender_send *send, void *context)
{
    struct stage_sender *sender = memory_allocate_zeroed(sizeof(*sender));

    sender->files = files;
    sender->job = job;
    sender->send = send;
    sender->context = context;
    sender_check(sender);
    return sender;
}

void stage_sender_destroy(struct stage_sender *sender)
{
    if (sender == NULL)
        return;
    buffer_fini(&sender->lacks);
    free(sender);
}

bool stage_sender_is_done(const struct stage_sender *sender)
{
    return sender->state == SENDER_DONE;
}

struct stage_sender_sums stage_sender_sums(const struct stage_sender *sender)
{
    return sender->sums;
}

static void send_step(struct stage_sender *sender, enum stage_step step, const struct buffer *body)
{
    struct stage_request request = {.step = (uint8_t)step, .job = sender->job};
    struct control_request control = {.kind = JOB_MESSAGE_STAGE};
    struct buffer data = {0}, payload = {0};

    assert(step < STAGE_REMOVE);
    if (body != NULL)
        request.body = (struct wire_bytes){.data = body->data, .length_bytes = body->length_bytes};
    stage_request_encode(&request, &data);
    control.request = ++sender->requests;
    control.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    control_request_encode(&control, &payload);
    buffer_fini(&data);
    sender->send(sender->context, &payload);
    buffer_fini(&payload);
}

/* ---- slices ---- */

static void open_transfer(struct stage_sender *sender)
{
    struct buffer manifest = {0};

    if (!sender->is_open)
        stage_manifest_encode(stage_files_manifest(sender->files), &manifest);
    send_step(sender, STAGE_OPEN, &manifest);
    buffer_fini(&manifest);
    sender->state = SENDER_OPENING;
    sender->is_stale = false;
}

/* Not less than the manifest takes before it is compressed. */
static uint64_t manifest_bytes(const struct stage_manifest *manifest)
{
    uint64_t bytes = 64 + (STAGE_HASH_BYTES + 5) * (uint64_t)manifest->chunks_count;

    for (uint32_t i = 0; i < manifest->entries_count; i++) {
        const struct stage_entry *entry = &manifest->entries[i];

        bytes += strlen(entry->path) + (entry->target != NULL ? strlen(entry->target) : 0) + 40 +
                 5 * (uint64_t)entry->chunks_count;
    }
    return bytes;
}

static int hash_slice(struct stage_sender *sender, struct error *error)
{
    const struct stage_manifest *manifest = stage_files_manifest(sender->files);
    int more = stage_files_hash(sender->files, error);

    if (more != 0)
        return more;
    if (manifest_bytes(manifest) > STAGE_MANIFEST_BYTES_MAX)
        return error_set(error, -E2BIG, "cannot stage %u files: their list exceeds %u MiB",
                         manifest->entries_count, STAGE_MANIFEST_BYTES_MAX >> 20);
    for (uint32_t i = 0; i < manifest->chunks_count; i++)
        sender->sums.bytes += manifest->chunks[i].bytes;
    open_transfer(sender);
    return 0;
}

/* The next chunk that is lacking; -1 if there are no more. */
static int64_t next_chunk(struct stage_sender *sender)
{
    uint32_t count = stage_files_manifest(sender->files)->chunks_count;

    for (; sender->next < count; sender->next++)
        if (stage_set_has(sender->lacks.data, sender->lacks.length_bytes, sender->next))
            return sender->next++;
    return -1;
}

static int send_pack(struct stage_sender *sender, struct error *error)
{
    struct buffer pack = {0};
    int64_t chunk = 0;
    int rc = 0;

    assert(sender->is_open && !sender->is_stale);
    while (rc == 0 && pack.length_bytes < STAGE_PACK_BYTES && (chunk = next_chunk(sender)) >= 0)
        rc = stage_files_put(sender->files, (uint32_t)chunk, &pack, error);
    if (rc == 0 && pack.length_bytes > 0) {
        sender->sums.sent_bytes += pack.length_bytes;
        sender->under_way++;
        send_step(sender, STAGE_PACK, &pack);
    }
    buffer_fini(&pack);
    return rc < 0 ? rc : chunk >= 0;
}

static int send_slice(struct stage_sender *sender, struct error *error)
{
    if (!sender->is_stale && sender->under_way < STAGE_PACKS_MAX) {
        int more = send_pack(sender, error);

        if (more != 0)
            return more < 0 ? more : sender->under_way < STAGE_PACKS_MAX;
    }
    if (sender->under_way > 0)
        return 0;
    if (sender->is_stale) {
        open_transfer(sender);
    } else {
        sender->state = SENDER_COMMITTING;
        send_step(sender, STAGE_COMMIT, NULL);
    }
    return 0;
}

int stage_sender_work(struct stage_sender *sender, struct error *error)
{
    int rc = 0;

    sender_check(sender);
    if (sender->state == SENDER_HASHING)
        rc = hash_slice(sender, error);
    else if (sender->state == SENDER_SENDING)
        rc = send_slice(sender, error);
    if (rc < 0)
        sender->state = SENDER_FAILED;
    sender_check(sender);
    return rc;
}

/* ---- answers ---- */

static void take_opened(struct stage_sender *sender, const struct stage_answer *answer)
{
    sender->is_open = true;
    sender->sums.nodes = answer->nodes;
    if (answer->outcome == STAGE_AGAIN) {
        open_transfer(sender);
        return;
    }
    buffer_clear(&sender->lacks);
    buffer_append(&sender->lacks, answer->lacks.data, answer->lacks.length_bytes);
    sender->next = 0;
    sender->state = SENDER_SENDING;
}

static void take_outcome(struct stage_sender *sender, const struct stage_answer *answer)
{
    switch (sender->state) {
    case SENDER_OPENING:
        take_opened(sender, answer);
        break;
    case SENDER_SENDING:
        if (sender->under_way > 0)
            sender->under_way--;
        sender->is_stale |= answer->outcome == STAGE_AGAIN;
        break;
    case SENDER_COMMITTING:
        sender->sums.nodes = answer->nodes;
        if (answer->outcome == STAGE_AGAIN)
            open_transfer(sender);
        else
            sender->state = SENDER_DONE;
        break;
    default: /* of one that has failed */
        break;
    }
}

int stage_sender_answer(struct stage_sender *sender, const struct control_answer *message,
                        struct error *error)
{
    struct stage_answer answer;
    struct wire_reader reader;
    int rc = message->status;

    sender_check(sender);
    if (sender->state == SENDER_FAILED)
        return 0;
    wire_reader_init(&reader, message->data.data, message->data.length_bytes);
    if (rc == 0)
        rc = stage_answer_decode(&answer, &reader);
    if (rc == -EAGAIN)
        error_set(error, rc,
                  "cannot stage files: too many transfers are under way; try again later");
    else if (rc < 0)
        error_set(error, rc, "cannot stage files: the root answers: %s", strerror(-rc));
    else if (answer.outcome == STAGE_FAILED)
        rc = error_set(error, -EIO, "cannot stage files: %.*s",
                       (int)(answer.text.length_bytes < 900 ? answer.text.length_bytes : 900),
                       (const char *)answer.text.data);
    else
        take_outcome(sender, &answer);
    if (rc < 0)
        sender->state = SENDER_FAILED;
    sender_check(sender);
    return rc;
}
