/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch/core/stage_root.c in random worlds: nodes, of which some share a cache, carry out orders whenever chance lets
 * them, and die; clients send what is lacking.  Whatever happens, each living node has all files in the end, a chunk
 * that a cache has is not sent again, and no more packs are on their way than is allowed.
 */
#include "config.h"

#include "launch/core/stage_root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/list.h"
#include "base/random.h"
#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

#define NODES   7u /* places 1 to 7, of which 1 to 3 share a cache */
#define SHARED  3u
#define CHUNKS  12u
#define CLIENTS 2u
#define ROUNDS  300u

struct order {
    struct list_link node;
    struct message *message;
};

struct gather {
    struct list_link node;
    uint32_t generation;
    struct ranges waiting; /* have not reported */
    struct ranges lost;
    struct buffer report; /* merged so far */
};

struct client {
    uint32_t number;
    uint32_t requests;
    uint32_t answered;
    uint32_t under_way;
    uint32_t next;
    unsigned char lacks[STAGE_SET_BYTES(CHUNKS)];
    enum { CLIENT_NEW, CLIENT_OPENING, CLIENT_SENDING, CLIENT_COMMITTING, CLIENT_DONE } state;
    bool is_open;
    bool is_stale;
    bool has_failed;
};

static struct {
    struct stage_root *root;
    struct random_state random;
    struct ranges dead;
    struct list orders[NODES + 1];
    struct list gathers;
    bool cache[NODES + 1][CHUNKS]; /* index 1: of the places that share one */
    bool placed[NODES + 1][CLIENTS + 1];
    struct client clients[CLIENTS + 1];
    uint32_t packs_max;
    uint32_t sent_twice; /* chunks that reached a cache that had them, without a loss */
    uint32_t forgotten;
    uint32_t staged;
    uint32_t removed;
} world;

static uint32_t cache_of(uint32_t place)
{
    return place <= SHARED ? 1 : place;
}

/* ---- what the root does ---- */

static int ops_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct stage_order order;
    struct wire_reader reader;

    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    if (message->data[0] != JOB_MESSAGE_STAGE || stage_order_decode(&order, &reader) < 0)
        bail_out("an order that cannot be read");
    if (order.step == STAGE_REMOVE) {
        world.removed++;
    } else {
        struct gather *gather = memory_allocate_zeroed(sizeof(*gather));

        gather->generation = order.generation;
        ranges_copy(&gather->waiting, places);
        list_append(&world.gathers, &gather->node);
        for (uint32_t place = 1; place <= NODES; place++) {
            struct order *copy;

            if (!ranges_contains(places, place))
                continue;
            copy = memory_allocate_zeroed(sizeof(*copy));
            copy->message = message_reference(message);
            list_append(&world.orders[place], &copy->node);
        }
    }
    stage_order_fini(&order);
    message_release(message);
    return 0;
}

static void ops_answer(void *context, uint32_t number, uint32_t request, int status,
                       const struct buffer *data)
{
    struct client *client = &world.clients[number];
    struct stage_answer answer;
    struct wire_reader reader;

    client->answered++;
    if (status < 0) {
        client->has_failed = true;
        return;
    }
    wire_reader_init(&reader, data->data, data->length_bytes);
    if (stage_answer_decode(&answer, &reader) < 0)
        bail_out("an answer that cannot be read");
    if (answer.outcome == STAGE_FAILED) {
        client->has_failed = true;
    } else if (client->state == CLIENT_SENDING) {
        client->under_way--;
        client->is_stale |= answer.outcome == STAGE_AGAIN;
    } else if (answer.outcome == STAGE_AGAIN) {
        client->state = CLIENT_NEW;
        client->is_open = true;
    } else if (client->state == CLIENT_OPENING) {
        client->is_open = true;
        client->is_stale = false;
        client->next = 0;
        memset(client->lacks, 0, sizeof(client->lacks));
        memcpy(client->lacks, answer.lacks.data, answer.lacks.length_bytes);
        client->state = CLIENT_SENDING;
    } else {
        client->state = CLIENT_DONE;
    }
}

static void ops_forget(void *context, uint32_t owner)
{
    world.forgotten++;
}

static void ops_staged(void *context, uint32_t job)
{
    world.staged++;
}

static bool ops_is_waiting(void *context, uint32_t job)
{
    return job == 1;
}

static void ops_name(void *context, const struct ranges *places, struct buffer *out)
{
    ranges_print(places, out);
}

static const struct stage_root_ops ops = {
    .broadcast = ops_broadcast,
    .answer = ops_answer,
    .forget = ops_forget,
    .staged = ops_staged,
    .is_waiting = ops_is_waiting,
    .name = ops_name,
};

/* ---- what nodes do ---- */

static struct gather *gather_find(uint32_t generation)
{
    struct list_link *node, *spare;

    list_for_each(&world.gathers, node, spare)
    {
        struct gather *gather = list_entry(node, struct gather, node);

        if (gather->generation == generation)
            return gather;
    }
    return NULL;
}

static void gather_drop(struct gather *gather)
{
    list_remove(&gather->node);
    ranges_fini(&gather->waiting);
    ranges_fini(&gather->lost);
    buffer_fini(&gather->report);
    free(gather);
}

static void gather_end(struct gather *gather)
{
    int status = ranges_is_empty(&gather->lost) ? 0 : -EHOSTDOWN;
    uint32_t generation = gather->generation;
    struct buffer report = {0};
    struct ranges lost = {0};

    buffer_swap(&report, &gather->report);
    ranges_move(&lost, &gather->lost);
    gather_drop(gather);
    stage_root_result(world.root, generation, status, status < 0 ? &lost : NULL, report.data,
                      status < 0 ? 0 : report.length_bytes);
    ranges_fini(&lost);
    buffer_fini(&report);
}

static void receive_pack(uint32_t place, const struct stage_order *order)
{
    struct stage_piece piece;
    struct wire_reader reader;

    wire_reader_init(&reader, order->body.data, order->body.length_bytes);
    while (stage_piece_decode(&piece, &reader) > 0) {
        bool *has = &world.cache[cache_of(place)][piece.chunk];

        world.sent_twice += *has && ranges_is_empty(&world.dead);
        *has = true;
    }
}

static void fill_report(uint32_t place, const struct stage_order *order,
                        struct stage_report *report)
{
    struct stage_shared shared = {.cache = 9, .place = place};
    unsigned char lacks[STAGE_SET_BYTES(CHUNKS)] = {0};

    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++)
        if (!world.cache[cache_of(place)][chunk])
            stage_set_add(lacks, sizeof(lacks), chunk);
    if (order->step == STAGE_COMMIT) {
        for (size_t i = 0; i < sizeof(lacks); i++)
            if (lacks[i] != 0)
                stage_report_fail(report, place, "a chunk is lacking");
        world.placed[place][order->job + 1] = true;
    } else if (order->step == STAGE_OPEN) {
        buffer_append(&report->lacks, lacks, sizeof(lacks));
        if (place <= SHARED) {
            report->shared = memory_copy(&shared, sizeof(shared));
            report->shared_count = 1;
        } else {
            ranges_add(&report->keepers, place, place);
        }
    }
}

/* Carries out its first order. */
static void work(uint32_t place)
{
    struct order *first = list_entry(list_first(&world.orders[place]), struct order, node);
    struct stage_report report = {.failures = NULL};
    struct buffer encoded = {0};
    struct stage_order order;
    struct wire_reader reader;
    struct gather *gather;

    wire_reader_init(&reader, first->message->data + 1, first->message->length_bytes - 1);
    (void)stage_order_decode(&order, &reader);
    if (order.step == STAGE_PACK)
        receive_pack(place, &order);
    fill_report(place, &order, &report);
    stage_report_encode(&report, &encoded);
    gather = gather_find(order.generation);
    if (gather != NULL && gather->report.length_bytes == 0)
        buffer_append(&gather->report, encoded.data, encoded.length_bytes);
    else if (gather != NULL)
        stage_report_merge(&gather->report, encoded.data, encoded.length_bytes);
    if (gather != NULL)
        ranges_remove(&gather->waiting, place, place);
    stage_report_fini(&report);
    stage_order_fini(&order);
    buffer_fini(&encoded);
    list_remove(&first->node);
    message_release(first->message);
    free(first);
    if (gather != NULL && ranges_is_empty(&gather->waiting))
        gather_end(gather);
}

static void drop_orders(uint32_t place)
{
    struct list_link *node;

    while ((node = list_first(&world.orders[place])) != NULL) {
        struct order *order = list_entry(node, struct order, node);

        list_remove(&order->node);
        message_release(order->message);
        free(order);
    }
}

/* Its operations end with the loss; the root may learn of it before or after. */
static void kill_place(uint32_t place)
{
    struct ranges places = {0};
    struct list_link *node, *spare;
    bool is_told_first = random_below(&world.random, 2) != 0;

    ranges_add(&places, place, place);
    ranges_add(&world.dead, place, place);
    drop_orders(place);
    if (is_told_first)
        stage_root_lost(world.root, &places);
    list_for_each(&world.gathers, node, spare)
    {
        struct gather *gather = list_entry(node, struct gather, node);

        if (!ranges_contains(&gather->waiting, place))
            continue;
        ranges_remove(&gather->waiting, place, place);
        ranges_add(&gather->lost, place, place);
    }
    for (;;) {
        struct gather *over = NULL;

        list_for_each(&world.gathers, node, spare)
        {
            struct gather *gather = list_entry(node, struct gather, node);

            if (ranges_is_empty(&gather->waiting))
                over = gather;
        }
        if (over == NULL)
            break;
        if (over->report.length_bytes > 0)
            gather_end(over);
        else
            gather_drop(over); /* the root has never heard of it */
    }
    if (!is_told_first)
        stage_root_lost(world.root, &places);
    ranges_fini(&places);
}

/* ---- what clients do ---- */

static void request(struct client *client, enum stage_step step, const struct buffer *body)
{
    struct stage_request message = {.step = (uint8_t)step, .job = client->number - 1};
    struct buffer data = {0};

    message.body = (struct wire_bytes){.data = body->data, .length_bytes = body->length_bytes};
    stage_request_encode(&message, &data);
    client->requests++;
    stage_root_request(world.root, client->number, client->requests, data.data, data.length_bytes);
    buffer_fini(&data);
}

static bool send_chunk(struct client *client)
{
    struct stage_piece piece = {
        .bytes = {.data = (const unsigned char *)"content", .length_bytes = 7}};
    struct buffer body = {0};

    while (client->next < CHUNKS &&
           !stage_set_has(client->lacks, sizeof(client->lacks), client->next))
        client->next++;
    if (client->next == CHUNKS || client->under_way == STAGE_PACKS_MAX || client->is_stale)
        return false;
    piece.chunk = client->next++;
    stage_piece_encode(&piece, &body);
    client->under_way++;
    request(client, STAGE_PACK, &body);
    buffer_fini(&body);
    return true;
}

/* false: it waits. */
static bool client_acts(struct client *client)
{
    struct buffer body = {0};

    if (client->has_failed)
        return false;
    if (client->state == CLIENT_NEW ||
        (client->state == CLIENT_SENDING && client->is_stale && client->under_way == 0)) {
        if (!client->is_open)
            buffer_append(&body, "manifest", 8);
        client->state = CLIENT_OPENING;
        request(client, STAGE_OPEN, &body);
        buffer_fini(&body);
        return true;
    }
    if (client->state != CLIENT_SENDING)
        return false;
    if (send_chunk(client))
        return true;
    if (client->under_way > 0 || client->is_stale)
        return false;
    client->state = CLIENT_COMMITTING;
    request(client, STAGE_COMMIT, &body);
    return true;
}

/* ---- worlds ---- */

static void world_open(uint64_t seed)
{
    memset(&world, 0, sizeof(world));
    random_init(&world.random, seed);
    list_init(&world.gathers);
    for (uint32_t place = 0; place <= NODES; place++)
        list_init(&world.orders[place]);
    for (uint32_t i = 1; i <= CLIENTS; i++)
        world.clients[i].number = i;
    world.root = stage_root_create(NODES, &ops, NULL);
}

static void world_close(void)
{
    for (uint32_t place = 1; place <= NODES; place++)
        drop_orders(place);
    while (list_first(&world.gathers) != NULL)
        gather_drop(list_entry(list_first(&world.gathers), struct gather, node));
    ranges_fini(&world.dead);
    stage_root_destroy(world.root);
}

/* Something that can happen happens; false if nothing can. */
static bool world_step(void)
{
    uint32_t start = (uint32_t)random_below(&world.random, NODES + CLIENTS);

    for (uint32_t i = 0; i < NODES + CLIENTS; i++) {
        uint32_t who = (start + i) % (NODES + CLIENTS);

        if (who >= NODES && client_acts(&world.clients[who - NODES + 1]))
            return true;
        if (who < NODES && !list_is_empty(&world.orders[who + 1])) {
            work(who + 1);
            return true;
        }
    }
    return false;
}

static void world_run(uint32_t deaths)
{
    bool up = false;

    for (uint32_t step = 0;; step++) {
        uint32_t packs;

        if (!up && random_below(&world.random, 4) == 0) {
            up = true;
            stage_root_up(world.root);
        }
        if (deaths > 0 && random_below(&world.random, 25) == 0) {
            uint32_t place = 1 + (uint32_t)random_below(&world.random, NODES);

            if (!ranges_contains(&world.dead, place)) {
                deaths--;
                kill_place(place);
            }
        }
        packs = stage_root_packs(world.root);
        world.packs_max = packs > world.packs_max ? packs : world.packs_max;
        if (!world_step() && up)
            break;
    }
}

static bool world_is_complete(void)
{
    for (uint32_t i = 1; i <= CLIENTS; i++) {
        const struct client *client = &world.clients[i];

        if (client->state != CLIENT_DONE || client->has_failed ||
            client->answered != client->requests)
            return false;
        for (uint32_t place = 1; place <= NODES; place++)
            if (!ranges_contains(&world.dead, place) && !world.placed[place][i])
                return false;
    }
    return true;
}

static void test_worlds(uint32_t deaths)
{
    uint32_t complete = 0, twice = 0, bounded = 0, idle = 0;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool is_good;

        world_open(1000 * deaths + round);
        world_run(deaths);
        is_good = world_is_complete();
        if (!is_good)
            diag("seed %u of %u deaths", round, deaths);
        complete += is_good;
        twice += world.sent_twice > CHUNKS * (CLIENTS - 1) * (NODES - SHARED + 1);
        bounded += world.packs_max <= STAGE_PACKS_MAX;
        idle += stage_root_transfers(world.root) == 0 && stage_root_packs(world.root) == 0 &&
                world.forgotten == CLIENTS && world.staged == 1;
        world_close();
    }
    is_uint(complete, ROUNDS, "%u deaths: all living nodes have all files", deaths);
    is_uint(twice, 0, "nothing is sent more often than clients want it");
    is_uint(bounded, ROUNDS, "the packs on their way are bounded");
    is_uint(idle, ROUNDS, "nothing is left at the root");
}

/* ---- single events ---- */

static void run_all(void)
{
    while (world_step())
        continue;
}

static void test_second_time(void)
{
    struct client *second = &world.clients[2];

    world_open(1);
    stage_root_up(world.root);
    world.clients[2].has_failed = true; /* later */
    run_all();
    second->has_failed = false;
    world.sent_twice = 0;
    run_all();
    is_int(second->state, CLIENT_DONE, "the same content for another client");
    is_uint(second->requests, 2, "needs nothing but the manifest and the commit");
    stage_root_job_ended(world.root, 1);
    is_uint(world.removed, 1, "at the end of the job its files are removed");
    stage_root_job_ended(world.root, 1);
    is_uint(world.removed, 1, "once");
    world_close();
}

static void test_refused(void)
{
    struct buffer empty = {0};
    struct client *client = &world.clients[1];

    world_open(2);
    stage_root_up(world.root);
    request(client, STAGE_COMMIT, &empty);
    ok(client->has_failed && client->answered == 1, "nothing to commit");
    client->has_failed = false;
    stage_root_request(world.root, 1, 2, "\7", 1);
    ok(client->has_failed && client->answered == 2, "an unreadable request is answered");
    world_close();
}

static void test_client_leaves(void)
{
    world_open(3);
    stage_root_up(world.root);
    world.clients[2].has_failed = true;
    for (int i = 0; i < 30; i++)
        (void)world_step();
    stage_root_client_gone(world.root, 1);
    is_uint(stage_root_transfers(world.root), 0, "the transfer of a client that disconnects ends");
    is_uint(world.forgotten, 1, "and its operations are forgotten");
    world.clients[1].has_failed = true;
    run_all();
    is_uint(stage_root_packs(world.root), 0, "what nodes still report is ignored");
    world_close();
}

static void test_all_die(void)
{
    world_open(4);
    stage_root_up(world.root);
    for (int i = 0; i < 10; i++)
        (void)world_step();
    for (uint32_t place = 1; place <= NODES; place++)
        kill_place(place);
    run_all();
    ok(world.clients[1].has_failed && world.clients[2].has_failed,
       "without nodes both clients hear of it");
    is_uint(stage_root_transfers(world.root), 0, "and the transfers end");
    world_close();
}

int main(void)
{
    test_worlds(0);
    test_worlds(1);
    test_worlds(3);
    test_worlds(6);
    test_second_time();
    test_refused();
    test_client_leaves();
    test_all_die();
    return done_testing();
}
