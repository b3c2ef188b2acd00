/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process of the root is killed between any two of its messages, and another goes on with its state when
 * all leases have long been over.  Nobody else has ended; what was under way comes to the end that it would
 * have had; and the log is taken once, in order, everywhere.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/overlay_wire.h"
#include "test/support/cluster.h"
#include "test/support/tap.h"

#define MS          1000000ull
#define PLACES      10u
#define SEEDS       3u
#define BROADCASTS  6u
#define LATE        9u
#define KILLS_MAX   400u
#define LARGE_BYTES (3 * CLUSTER_INLINE_BYTES)
#define SURVIVE_MS  600000u
#define DEAD_MS     (3 * CLUSTER_LEASE_NS / MS)
#define GENERATIONS 4u

struct told {
    uint32_t exchanges; /* that have ended well, with the right bytes */
    uint32_t gathers;
    uint32_t others; /* that have ended in any other way */
    uint32_t broadcasts;
    uint32_t recovered;
    bool is_wrong;
};

struct play {
    struct cluster *cluster;
    struct told told[PLACES];
    uint32_t reply; /* how many requests of the root have been answered, and those of place 7 */
    uint32_t asked;
    uint32_t deaths;
    uint32_t ended;
    uint32_t after; /* killed after so many of its frames; 0: never */
    uint32_t counted;
    bool large;
};

static struct play *play_of(struct cluster *cluster)
{
    return cluster->config.context;
}

static size_t exchange_bytes(const struct play *play)
{
    return PLACES * (play->large ? LARGE_BYTES / PLACES + 1 : 2u);
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct play *play = play_of(cluster);
    struct told *told = &play->told[place];

    (void)lost;
    if (status == 0 && key->target == ENDPOINT_TARGET_ROOT && (place > 0 || payload != NULL))
        told->gathers++;
    else if (status == 0 && payload != NULL && payload->length_bytes == exchange_bytes(play))
        told->exchanges++;
    else
        told->others++;
}

static void on_broadcast(struct cluster *cluster, uint32_t place, struct message *payload)
{
    struct told *told = &play_of(cluster)->told[place];
    char text[16];

    snprintf(text, sizeof(text), "%u", told->broadcasts++);
    told->is_wrong = told->is_wrong || payload->length_bytes < strlen(text) ||
                     memcmp(payload->data, text, strlen(text)) != 0;
}

static void on_recovered(struct cluster *cluster, uint32_t place)
{
    play_of(cluster)->told[place].recovered++;
}

static void on_request(struct cluster *cluster, uint32_t place, uint32_t source, uint32_t id,
                       struct message *payload)
{
    endpoint_reply(cluster->places[place].node, source, id, message_reference(payload));
}

static void on_reply(struct cluster *cluster, uint32_t place, uint32_t id, int status,
                     struct message *payload)
{
    (void)place;
    (void)id;
    if (status == 0 && payload != NULL)
        play_of(cluster)->reply++;
}

static void on_lost(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    if (place == 0)
        play_of(cluster)->deaths += (uint32_t)ranges_count(places);
}

static void on_ended(struct cluster *cluster, uint32_t place, enum endpoint_end end)
{
    (void)place;
    (void)end;
    play_of(cluster)->ended++;
}

static const struct cluster_events events = {
    .result = on_result,
    .broadcast = on_broadcast,
    .recovered = on_recovered,
    .request = on_request,
    .reply = on_reply,
    .lost = on_lost,
    .ended = on_ended,
};

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

static void on_fact(void *context, uint64_t now_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    struct play *play = context;

    (void)now_ns;
    if (play->after == 0 || fact != VIRTUAL_NETWORK_FACT_SEND || (from != 0 && to != 0) ||
        frame == NULL || frame->type == OVERLAY_LEASE || frame->type == OVERLAY_LEASE_ECHO ||
        ++play->counted != play->after)
        return;
    cluster_kill(play->cluster, 0);
}

static void run(struct play *play, uint64_t length_ms)
{
    virtual_network_run_until(play->cluster->sim,
                              virtual_network_now_ns(play->cluster->sim) + length_ms * MS);
}

static struct message *piece(const struct play *play)
{
    size_t bytes = exchange_bytes(play) / PLACES;
    struct message *message = message_create_blank(bytes);

    memset(message->data, 'x', bytes);
    return message;
}

static void contribute(struct play *play, uint32_t place, uint32_t generation)
{
    struct operation_name exchange = {.set_id = 77, .generation = generation, .owner = 1};
    struct operation_name gather = {
        .set_id = 78, .generation = generation, .owner = 1, .target = ENDPOINT_TARGET_ROOT};
    struct ranges all = {0};

    ranges_add(&all, 0, PLACES - 1);
    endpoint_contribute(play->cluster->places[place].node, &exchange, &all, piece(play));
    endpoint_contribute(play->cluster->places[place].node, &gather, &all, message_create("g", 1));
    ranges_fini(&all);
}

/* What the root does in a step is part of its state, even if it is killed meanwhile. */
static void take_step(struct play *play, uint32_t step)
{
    char text[16];
    struct endpoint *root = play->cluster->places[0].node;
    struct message *message;

    snprintf(text, sizeof(text), "%u", step);
    message = message_create_blank(play->large && step == 3 ? LARGE_BYTES : strlen(text));
    memset(message->data, ' ', message->length_bytes);
    memcpy(message->data, text, strlen(text));
    (void)endpoint_broadcast(root, NULL, message);
    if (step < GENERATIONS)
        contribute(play, 0, step + 1);
    (void)endpoint_request(root, 8, message_create("?", 1));
}

/* All that the root has to do, if it is there; returns how many steps were taken. */
static uint32_t take_steps(struct play *play, uint32_t step)
{
    while (step < BROADCASTS && cluster_is_alive(play->cluster, 0)) {
        take_step(play, step++);
        run(play, 1);
    }
    return step;
}

static void play_all(struct play *play, uint64_t seed)
{
    struct cluster_config config = {.radix = 2,
                                    .merges = merges,
                                    .merges_count = 1,
                                    .events = &events,
                                    .context = play,
                                    .survive_ns = SURVIVE_MS * MS};
    uint32_t step;

    config.sim = (struct virtual_network_config){
        .places = PLACES, .seed = seed, .latency_ns = MS / 10, .jitter_ns = MS / 10};
    play->cluster = cluster_create(&config);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(play->cluster, place);
    run(play, 100);
    virtual_network_set_trace(play->cluster->sim, on_fact, play);
    for (uint32_t generation = 1; generation <= GENERATIONS; generation++)
        for (uint32_t place = 1; place < PLACES; place++)
            if (place != LATE)
                contribute(play, place, generation);
    step = take_steps(play, 0);
    (void)endpoint_request(play->cluster->places[7].node, 0, message_create("!", 1));
    run(play, 2);
    for (uint32_t generation = 1; generation <= GENERATIONS; generation++)
        contribute(play, LATE, generation);
    run(play, 50);
    if (!cluster_is_alive(play->cluster, 0)) {
        run(play, DEAD_MS);
        play->after = 0;
        cluster_recover(play->cluster);
        take_steps(play, step);
    }
    play->after = 0;
    run(play, 60000);
}

static bool is_well(const struct play *play, const char **ret_what)
{
    uint32_t recovered = play->told[1].recovered;

    *ret_what = "a place ended or counts as dead";
    if (play->ended > 0 || play->deaths > 0)
        return false;
    *ret_what = "a request has no answer";
    if (play->reply != BROADCASTS + 1)
        return false;
    for (uint32_t place = 0; place < PLACES; place++) {
        const struct told *told = &play->told[place];

        *ret_what = "an operation did not end, or not well";
        if (told->exchanges != GENERATIONS || told->gathers != GENERATIONS || told->others > 0)
            return false;
        *ret_what = "a broadcast is missing, or in the wrong order";
        if (told->is_wrong || told->broadcasts != BROADCASTS)
            return false;
        *ret_what = "not all have been told of the recovery";
        if (told->recovered != recovered)
            return false;
    }
    return true;
}

/* Returns whether the root was killed, which it is not if it has fewer frames. */
static bool play_once(uint32_t after, uint64_t seed, bool large, bool *ret_is_well)
{
    struct play play = {.after = after, .large = large};
    const char *what;
    bool was_killed;

    play_all(&play, seed);
    was_killed = play.told[1].recovered > 0;
    *ret_is_well = is_well(&play, &what);
    if (!*ret_is_well)
        diag("killed after frame %u, seed %llu, large %d: %s", after, (unsigned long long)seed,
             large, what);
    cluster_destroy(play.cluster);
    return was_killed;
}

static void test_killed_anywhere(bool large)
{
    uint32_t worlds = 0;
    uint32_t wrong = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool was_killed = true;

        for (uint32_t after = 1; was_killed && after < KILLS_MAX; after++) {
            bool well;

            was_killed = play_once(after, seed, large, &well);
            worlds += was_killed;
            wrong += !well;
        }
    }
    ok(worlds > 100, "the root was killed and recovered in %u worlds, %s", worlds,
       large ? "with large operations" : "with small operations");
    ok(wrong == 0, "and nobody else noticed (%u did)", wrong);
}

/* Without a recovery all end, when that time is over and not before. */
static void test_time_is_over(void)
{
    struct play play = {0};
    struct cluster_config config = {.radix = 2,
                                    .merges = merges,
                                    .merges_count = 1,
                                    .events = &events,
                                    .context = &play,
                                    .survive_ns = 30000 * MS};

    config.sim =
        (struct virtual_network_config){.places = PLACES, .seed = 5, .latency_ns = MS / 10};
    play.cluster = cluster_create(&config);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(play.cluster, place);
    run(&play, 1000);
    cluster_kill(play.cluster, 0);
    run(&play, 25000);
    ok(play.ended == 0, "without the root all go on for the time that is given");
    run(&play, 10000);
    ok(play.ended == PLACES - 1, "and no longer (%u of %u)", play.ended, PLACES - 1);
    cluster_destroy(play.cluster);
}

/* The head of a range dies while there is no root. */
static void test_head_dies_meanwhile(void)
{
    struct play play = {0};
    struct cluster_config config = {.radix = 2,
                                    .merges = merges,
                                    .merges_count = 1,
                                    .events = &events,
                                    .context = &play,
                                    .survive_ns = SURVIVE_MS * MS};

    config.sim =
        (struct virtual_network_config){.places = PLACES, .seed = 6, .latency_ns = MS / 10};
    play.cluster = cluster_create(&config);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(play.cluster, place);
    run(&play, 1000);
    cluster_kill(play.cluster, 0);
    run(&play, 20000);
    cluster_kill(play.cluster, 1);
    run(&play, 20000);
    cluster_recover(play.cluster);
    run(&play, 20000);
    ok(play.ended == 0 && play.deaths == 1, "a place that dies without a root is lost later (%u)",
       play.deaths);
    take_step(&play, 0);
    run(&play, 1000);
    for (uint32_t place = 2; place < PLACES; place++)
        play.asked += play.told[place].broadcasts;
    ok(play.asked == PLACES - 2, "and those below it have found another way");
    cluster_destroy(play.cluster);
}

int main(void)
{
    test_killed_anywhere(false);
    test_killed_anywhere(true);
    test_time_is_over();
    test_head_dies_meanwhile();
    return done_testing();
}
