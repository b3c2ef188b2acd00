/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/core/stage_root.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/list.h"

enum transfer_phase {
    TRANSFER_WAITING,    /* until all nodes have joined */
    TRANSFER_OPENING,    /* the nodes compare the manifest with their caches */
    TRANSFER_READY,      /* packs may come */
    TRANSFER_COMMITTING, /* the nodes write the files */
    TRANSFER_PHASE_COUNT
};

struct transfer {
    struct list_link node;
    uint32_t number;
    uint32_t client;
    uint32_t job;
    enum transfer_phase phase;
    bool is_stale;       /* a node was lost: what is lacking must be determined again */
    uint32_t request;    /* of the step that is under way: OPEN or COMMIT */
    uint32_t generation; /* of its gather */
    struct buffer manifest;
    struct ranges places;  /* living nodes */
    struct ranges keepers; /* nodes that get the packs */
    struct list packs;     /* struct pack */
};

struct pack {
    struct list_link node;
    struct transfer *transfer;
    uint32_t request;
    uint32_t generation; /* of its gather; 0: it has not been sent */
    struct buffer body;  /* until then */
};

struct stage_root {
    struct stage_root_ops ops;
    void *context;
    struct ranges places; /* living nodes */
    bool is_up;
    struct list transfers;
    uint32_t transfers_count;
    uint32_t last_transfer;
    uint32_t last_generation;
    struct hash_map *under_way; /* generation -> struct pack */
    struct hash_map *jobs;      /* that have stage directories */
};

static void transfer_check(const struct transfer *transfer)
{
    assert(transfer->phase < TRANSFER_PHASE_COUNT && transfer->number > 0);
    assert(transfer->phase == TRANSFER_READY || transfer->request > 0 || transfer->client > 0);
    assert(transfer->phase == TRANSFER_READY || list_is_empty(&transfer->packs));
    assert(ranges_contains_all(&transfer->places, &transfer->keepers));
}

static void root_check(const struct stage_root *root)
{
    assert(hash_map_count(root->under_way) <= STAGE_PACKS_MAX);
    assert((root->transfers_count == 0) == list_is_empty(&root->transfers));
    assert(root->transfers_count <= STAGE_TRANSFERS_MAX);
}

struct stage_root *stage_root_create(uint32_t nodes, const struct stage_root_ops *ops,
                                     void *context)
{
    struct stage_root *root = memory_allocate_zeroed(sizeof(*root));

    root->ops = *ops;
    root->context = context;
    if (nodes > 0)
        ranges_add(&root->places, 1, nodes);
    list_init(&root->transfers);
    root->under_way = hash_map_create();
    root->jobs = hash_map_create();
    return root;
}

uint32_t stage_root_transfers(const struct stage_root *root)
{
    return root->transfers_count;
}

uint32_t stage_root_packs(const struct stage_root *root)
{
    return (uint32_t)hash_map_count(root->under_way);
}

/* ---- answers ---- */

static void answer_with(struct stage_root *root, const struct transfer *transfer, uint32_t request,
                        const struct stage_answer *answer)
{
    struct buffer data = {0};

    stage_answer_encode(answer, &data);
    root->ops.answer(root->context, transfer->client, request, 0, &data);
    buffer_fini(&data);
}

static void answer_outcome(struct stage_root *root, const struct transfer *transfer,
                           uint32_t request, enum stage_outcome outcome)
{
    struct stage_answer answer = {.outcome = (uint8_t)outcome,
                                  .nodes = (uint32_t)ranges_count(&transfer->places)};

    answer_with(root, transfer, request, &answer);
}

static void answer_text(struct stage_root *root, const struct transfer *transfer, uint32_t request,
                        const char *text)
{
    struct stage_answer answer = {.outcome = STAGE_FAILED};

    answer.text =
        (struct wire_bytes){.data = (const unsigned char *)text, .length_bytes = strlen(text)};
    answer_with(root, transfer, request, &answer);
}

static void answer_error(struct stage_root *root, uint32_t client, uint32_t request, int status)
{
    root->ops.answer(root->context, client, request, status, NULL);
}

/* "n[1-3]: cannot write x: ...; n4: ..." */
static void print_failures(struct stage_root *root, const struct stage_report *report,
                           struct buffer *out)
{
    for (uint32_t i = 0; i < report->failures_count; i++) {
        if (i > 0)
            buffer_append_string(out, "; ");
        root->ops.name(root->context, &report->failures[i].places, out);
        buffer_printf(out, ": %s", report->failures[i].text);
    }
    if (ranges_is_empty(&report->others))
        return;
    buffer_append_string(out, "; and other failures on ");
    root->ops.name(root->context, &report->others, out);
}

/* ---- the end of a transfer ---- */

static void pack_free(struct stage_root *root, struct pack *pack)
{
    if (pack->generation > 0)
        (void)hash_map_remove_u64(root->under_way, pack->generation);
    list_remove(&pack->node);
    buffer_fini(&pack->body);
    free(pack);
}

static void transfer_free(struct stage_root *root, struct transfer *transfer)
{
    struct list_link *node;

    while ((node = list_first(&transfer->packs)) != NULL)
        pack_free(root, list_entry(node, struct pack, node));
    list_remove(&transfer->node);
    assert(root->transfers_count > 0);
    root->transfers_count--;
    buffer_fini(&transfer->manifest);
    ranges_fini(&transfer->places);
    ranges_fini(&transfer->keepers);
    free(transfer);
}

static void transfer_end(struct stage_root *root, struct transfer *transfer)
{
    uint32_t owner = STAGE_OWNER_BIT | transfer->number;
    bool has_asked = transfer->generation > 0;

    transfer_free(root, transfer);
    if (has_asked)
        root->ops.forget(root->context, owner);
}

/* With the answer to the request (0: there is none); what else is outstanding is answered the same. */
static void transfer_fail(struct stage_root *root, struct transfer *transfer, uint32_t request,
                          const char *text)
{
    struct list_link *node, *spare;

    if (request > 0)
        answer_text(root, transfer, request, text);
    list_for_each(&transfer->packs, node, spare)
    {
        const struct pack *pack = list_entry(node, struct pack, node);

        if (pack->request != request)
            answer_text(root, transfer, pack->request, text);
    }
    transfer_end(root, transfer);
}

void stage_root_destroy(struct stage_root *root)
{
    struct list_link *node;

    if (root == NULL)
        return;
    while ((node = list_first(&root->transfers)) != NULL)
        transfer_free(root, list_entry(node, struct transfer, node));
    hash_map_destroy(root->under_way);
    hash_map_destroy(root->jobs);
    ranges_fini(&root->places);
    free(root);
}

/* ---- orders ---- */

static int send_order(struct stage_root *root, const struct transfer *transfer,
                      enum stage_step step, uint32_t generation, const struct ranges *places,
                      const struct buffer *body)
{
    struct stage_order order = {.step = (uint8_t)step,
                                .job = transfer->job,
                                .transfer = transfer->number,
                                .generation = generation,
                                .places = *places}; /* borrowed */
    struct buffer payload = {0};
    int rc;

    assert(!ranges_is_empty(places));
    if (body != NULL)
        order.body = (struct wire_bytes){.data = body->data, .length_bytes = body->length_bytes};
    stage_order_encode(&order, &payload);
    rc = root->ops.broadcast(root->context, places, message_from_buffer(&payload));
    buffer_fini(&payload);
    return rc;
}

static uint32_t next_generation(struct stage_root *root)
{
    if (++root->last_generation == 0)
        root->last_generation = 1;
    return root->last_generation;
}

/* To all nodes of the transfer, which then do it: phase. */
static void order_all(struct stage_root *root, struct transfer *transfer, enum stage_step step,
                      enum transfer_phase phase, const struct buffer *body)
{
    int rc;

    if (ranges_is_empty(&transfer->places)) {
        transfer_fail(root, transfer, transfer->request, "no node is left");
        return;
    }
    transfer->phase = phase;
    transfer->generation = next_generation(root);
    rc = send_order(root, transfer, step, transfer->generation, &transfer->places, body);
    if (rc == 0)
        return;
    answer_error(root, transfer->client, transfer->request, rc);
    transfer_end(root, transfer);
}

static void order_open(struct stage_root *root, struct transfer *transfer)
{
    transfer->is_stale = false;
    ranges_clear(&transfer->keepers);
    order_all(root, transfer, STAGE_OPEN, TRANSFER_OPENING, &transfer->manifest);
}

static struct pack *waiting_pack(const struct stage_root *root)
{
    struct list_link *node, *spare, *inner, *inner_spare;

    list_for_each(&root->transfers, node, spare)
    {
        const struct transfer *transfer = list_entry(node, struct transfer, node);

        list_for_each(&transfer->packs, inner, inner_spare)
        {
            struct pack *pack = list_entry(inner, struct pack, node);

            if (pack->generation == 0)
                return pack;
        }
    }
    return NULL;
}

/* The transfers take turns. */
static void send_packs(struct stage_root *root)
{
    struct pack *pack;

    while (stage_root_packs(root) < STAGE_PACKS_MAX && (pack = waiting_pack(root)) != NULL) {
        struct transfer *transfer = pack->transfer;
        int rc;

        pack->generation = next_generation(root);
        (void)hash_map_put_u64(root->under_way, pack->generation, pack);
        rc = send_order(root, transfer, STAGE_PACK, pack->generation, &transfer->keepers,
                        &pack->body);
        buffer_fini(&pack->body);
        list_remove(&transfer->node);
        list_append(&root->transfers, &transfer->node);
        if (rc == 0)
            continue;
        answer_error(root, transfer->client, pack->request, rc);
        pack_free(root, pack);
    }
}

/* ---- requests ---- */

static struct transfer *transfer_find(const struct stage_root *root, uint32_t client, uint32_t job)
{
    struct list_link *node, *spare;

    list_for_each(&root->transfers, node, spare)
    {
        struct transfer *transfer = list_entry(node, struct transfer, node);

        if (transfer->client == client && transfer->job == job)
            return transfer;
    }
    return NULL;
}

static int begin_transfer(struct stage_root *root, uint32_t client, uint32_t number,
                          const struct stage_request *request)
{
    struct transfer *transfer;

    if (root->transfers_count == STAGE_TRANSFERS_MAX)
        return -EAGAIN;
    if (request->job > 0 && !root->ops.is_waiting(root->context, request->job))
        return -ENOENT;
    transfer = memory_allocate_zeroed(sizeof(*transfer));
    transfer->number = ++root->last_transfer & ~STAGE_OWNER_BIT;
    transfer->client = client;
    transfer->job = request->job;
    transfer->request = number;
    buffer_append(&transfer->manifest, request->body.data, request->body.length_bytes);
    ranges_copy(&transfer->places, &root->places);
    list_init(&transfer->packs);
    list_append(&root->transfers, &transfer->node);
    root->transfers_count++;
    if (request->job > 0)
        (void)hash_map_put_u64(root->jobs, request->job, root);
    if (root->is_up)
        order_open(root, transfer);
    return 0;
}

static void take_pack(struct stage_root *root, struct transfer *transfer, uint32_t number,
                      const struct stage_request *request)
{
    struct pack *pack;

    if (transfer->is_stale) {
        answer_outcome(root, transfer, number, STAGE_AGAIN);
        return;
    }
    pack = memory_allocate_zeroed(sizeof(*pack));
    pack->transfer = transfer;
    pack->request = number;
    buffer_append(&pack->body, request->body.data, request->body.length_bytes);
    list_append(&transfer->packs, &pack->node);
    send_packs(root);
}

/* One that has been opened. */
static int go_on(struct stage_root *root, struct transfer *transfer, uint32_t number,
                 const struct stage_request *request)
{
    if (transfer->phase != TRANSFER_READY)
        return -EPROTO;
    if (request->step == STAGE_PACK) {
        take_pack(root, transfer, number, request);
        return 0;
    }
    if (!list_is_empty(&transfer->packs))
        return -EPROTO;
    transfer->request = number;
    if (request->step == STAGE_OPEN)
        order_open(root, transfer);
    else if (transfer->is_stale)
        answer_outcome(root, transfer, number, STAGE_AGAIN);
    else
        order_all(root, transfer, STAGE_COMMIT, TRANSFER_COMMITTING, NULL);
    return 0;
}

void stage_root_request(struct stage_root *root, uint32_t client, uint32_t number, const void *data,
                        size_t bytes)
{
    struct stage_request request;
    struct transfer *transfer;
    struct wire_reader reader;
    int rc;

    root_check(root);
    wire_reader_init(&reader, data, bytes);
    if (stage_request_decode(&request, &reader) < 0) {
        answer_error(root, client, number, -EBADMSG);
        return;
    }
    transfer = transfer_find(root, client, request.job);
    if (transfer != NULL)
        rc = go_on(root, transfer, number, &request);
    else if (request.step != STAGE_OPEN || request.body.length_bytes == 0)
        rc = -ENOENT;
    else
        rc = begin_transfer(root, client, number, &request);
    if (rc < 0)
        answer_error(root, client, number, rc);
    root_check(root);
}

/* ---- results ---- */

static void opened(struct stage_root *root, struct transfer *transfer,
                   const struct stage_report *report)
{
    struct stage_answer answer = {.nodes = (uint32_t)ranges_count(&transfer->places)};

    ranges_copy(&transfer->keepers, &report->keepers);
    for (uint32_t i = 0; i < report->shared_count; i++)
        ranges_add(&transfer->keepers, report->shared[i].place, report->shared[i].place);
    ranges_remove(&transfer->keepers, 0, 0);
    if (!ranges_contains_all(&transfer->places, &transfer->keepers) ||
        ranges_is_empty(&transfer->keepers)) {
        ranges_clear(&transfer->keepers); /* one has been lost meanwhile */
        transfer->is_stale = true;
    }
    transfer->phase = TRANSFER_READY;
    answer.outcome = transfer->is_stale ? STAGE_AGAIN : STAGE_DONE;
    answer.lacks =
        (struct wire_bytes){.data = report->lacks.data, .length_bytes = report->lacks.length_bytes};
    answer_with(root, transfer, transfer->request, &answer);
    transfer_check(transfer);
}

static void committed(struct stage_root *root, struct transfer *transfer)
{
    uint32_t job = transfer->job;

    answer_outcome(root, transfer, transfer->request, STAGE_DONE);
    transfer_end(root, transfer);
    if (job > 0)
        root->ops.staged(root->context, job);
}

/* Nodes have been lost: the others are asked again, for what they have may have changed. */
static void step_lost(struct stage_root *root, struct transfer *transfer)
{
    if (transfer->phase == TRANSFER_OPENING) {
        order_open(root, transfer);
        return;
    }
    transfer->phase = TRANSFER_READY;
    transfer->is_stale = true;
    if (ranges_is_empty(&transfer->places))
        transfer_fail(root, transfer, transfer->request, "no node is left");
    else
        answer_outcome(root, transfer, transfer->request, STAGE_AGAIN);
}

/* 1 if it reports failures, which end the transfer. */
static int has_failed(struct stage_root *root, struct transfer *transfer, uint32_t request,
                      const struct stage_report *report)
{
    struct buffer text = {0};

    if (report->failures_count == 0)
        return 0;
    print_failures(root, report, &text);
    transfer_fail(root, transfer, request, buffer_string(&text));
    buffer_fini(&text);
    return 1;
}

static void step_result(struct stage_root *root, struct transfer *transfer, int status,
                        const struct stage_report *report)
{
    transfer_check(transfer);
    if (status < 0)
        step_lost(root, transfer);
    else if (has_failed(root, transfer, transfer->request, report))
        return;
    else if (transfer->phase == TRANSFER_OPENING)
        opened(root, transfer, report);
    else
        committed(root, transfer);
}

/* Packs that have not been sent would go to the wrong nodes; those that have been may have no node left that could
 * report, and then no gather begins. */
static void answer_stale_packs(struct stage_root *root, struct transfer *transfer)
{
    struct list_link *node, *spare;

    list_for_each(&transfer->packs, node, spare)
    {
        struct pack *pack = list_entry(node, struct pack, node);

        answer_outcome(root, transfer, pack->request, STAGE_AGAIN);
        pack_free(root, pack);
    }
}

static void pack_result(struct stage_root *root, struct pack *pack, int status,
                        const struct stage_report *report)
{
    struct transfer *transfer = pack->transfer;
    uint32_t request = pack->request;

    transfer_check(transfer);
    pack_free(root, pack);
    if (status < 0) {
        transfer->is_stale = true;
        answer_outcome(root, transfer, request, STAGE_AGAIN);
        answer_stale_packs(root, transfer);
    } else if (!has_failed(root, transfer, request, report)) {
        answer_outcome(root, transfer, request, STAGE_DONE);
    }
}

static struct transfer *transfer_of(const struct stage_root *root, uint32_t generation)
{
    struct list_link *node, *spare;

    list_for_each(&root->transfers, node, spare)
    {
        struct transfer *transfer = list_entry(node, struct transfer, node);

        if (transfer->generation == generation &&
            (transfer->phase == TRANSFER_OPENING || transfer->phase == TRANSFER_COMMITTING))
            return transfer;
    }
    return NULL;
}

/* true if some of them were of the transfer. */
static bool remove_places(struct transfer *transfer, const struct ranges *places)
{
    struct ranges lost = {0};
    bool are_its_own = ranges_overlap_set(&transfer->places, places);

    ranges_intersect(&transfer->keepers, places, &lost);
    if (!ranges_is_empty(&lost))
        transfer->is_stale = true;
    ranges_remove_all(&transfer->keepers, places);
    ranges_remove_all(&transfer->places, places);
    ranges_fini(&lost);
    return are_its_own;
}

void stage_root_result(struct stage_root *root, uint32_t generation, int status,
                       const struct ranges *lost, const void *data, size_t bytes)
{
    struct pack *pack = hash_map_get_u64(root->under_way, generation);
    struct transfer *transfer = pack != NULL ? pack->transfer : transfer_of(root, generation);
    struct stage_report report = {.failures = NULL};
    struct wire_reader reader;

    root_check(root);
    if (transfer == NULL) /* of one that has ended */
        return;
    if (lost != NULL)
        (void)remove_places(transfer, lost);
    wire_reader_init(&reader, data, bytes);
    if (status == 0 && stage_report_decode(&report, &reader) < 0)
        stage_report_fail(&report, 0, "a report cannot be read");
    if (pack != NULL)
        pack_result(root, pack, status, &report);
    else
        step_result(root, transfer, status, &report);
    stage_report_fini(&report);
    send_packs(root);
    root_check(root);
}

/* ---- what else happens ---- */

void stage_root_grown(struct stage_root *root, const struct ranges *places)
{
    ranges_add_all(&root->places, places);
    root_check(root);
}

void stage_root_lost(struct stage_root *root, const struct ranges *places)
{
    struct list_link *node, *spare;

    ranges_remove_all(&root->places, places);
    list_for_each(&root->transfers, node, spare)
    {
        struct transfer *transfer = list_entry(node, struct transfer, node);

        if (!remove_places(transfer, places))
            continue;
        if (transfer->is_stale)
            answer_stale_packs(root, transfer);
        if (transfer->phase == TRANSFER_OPENING || transfer->phase == TRANSFER_COMMITTING)
            step_lost(root, transfer);
    }
    send_packs(root);
    root_check(root);
}

void stage_root_up(struct stage_root *root)
{
    struct list_link *node, *spare;

    root->is_up = true;
    list_for_each(&root->transfers, node, spare)
    {
        struct transfer *transfer = list_entry(node, struct transfer, node);

        if (transfer->phase == TRANSFER_WAITING)
            order_open(root, transfer);
    }
    root_check(root);
}

void stage_root_client_gone(struct stage_root *root, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&root->transfers, node, spare)
    {
        struct transfer *transfer = list_entry(node, struct transfer, node);

        if (transfer->client == client)
            transfer_end(root, transfer);
    }
    send_packs(root);
}

static void send_remove(struct stage_root *root, uint32_t job)
{
    struct stage_order order = {.step = STAGE_REMOVE, .job = job};
    struct buffer payload = {0};

    stage_order_encode(&order, &payload);
    (void)root->ops.broadcast(root->context, NULL, message_from_buffer(&payload));
    buffer_fini(&payload);
}

void stage_root_job_ended(struct stage_root *root, uint32_t job)
{
    struct list_link *node, *spare;

    assert(job > 0);
    list_for_each(&root->transfers, node, spare)
    {
        struct transfer *transfer = list_entry(node, struct transfer, node);

        if (transfer->job == job)
            transfer_fail(root, transfer, transfer->phase == TRANSFER_READY ? 0 : transfer->request,
                          "the job has ended");
    }
    if (hash_map_remove_u64(root->jobs, job) != NULL)
        send_remove(root, job);
    send_packs(root);
}
