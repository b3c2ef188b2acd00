/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is told again.  In a tree of seven places everybody takes part in something; then the same is
 * run once for each frame that was sent, and that one frame is lost.  Whatever it was, nobody dies of
 * it, and everybody is told the same within some stall times.  (Where somebody dies or waits no longer,
 * what all are told may be another answer.)  Then each frame is spoiled instead, several times, in
 * another byte each time: a place may be lost by that, but all who live are told something.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/overlay_print.h"
#include "overlay/overlay_wire.h"
#include "test/support/cluster.h"
#include "test/support/tap.h"

#define MS         1000000ull
#define PLACES     7
#define FRAMES_MAX 1024
#define SPOILED    24            /* times each frame, by so many seeds */
#define WAIT_NS    (120000 * MS) /* for all who live */
#define FULL_BYTES (64 * 1024)   /* of a contribution that is streamed */
#define SOME_BYTES 3000          /* that hops hold, and pass on */

struct sent {
    uint32_t from;
    uint32_t number; /* of its sender's, from 0 */
    uint8_t type;
};

struct play {
    struct cluster *cluster;
    uint32_t told[PLACES]; /* so often */
    int status[PLACES];
    size_t bytes[PLACES];
    bool is_counting;
    uint32_t counts[PLACES]; /* of frames of each */
    struct sent sent[FRAMES_MAX];
    uint32_t sent_count;
    struct sent victim;
    enum virtual_network_damage damage;
};

static struct play *play_of(struct cluster *cluster)
{
    return cluster->config.context;
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct play *play = play_of(cluster);

    (void)lost;
    if (key->generation != 1 || key->set_id < 9000 || key->set_id > 9001)
        return;
    play->told[place]++;
    play->status[place] = status;
    play->bytes[place] = payload != NULL ? payload->length_bytes : 0;
}

static const struct cluster_events events = {.result = on_result};

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

/* What operations say.  (The log, leases and joining are not told again.) */
static bool is_of_an_operation(uint8_t type)
{
    return type == OVERLAY_LOST || (type >= OVERLAY_CONTRIBUTE && type <= OVERLAY_RELEASE) ||
           (type >= OVERLAY_STALLED && type < OVERLAY_MESSAGE_END && type != OVERLAY_HEIRS);
}

static void damage_next(struct play *play, uint32_t place)
{
    if (play->damage != VIRTUAL_NETWORK_DAMAGE_NONE && place == play->victim.from &&
        play->counts[place] == play->victim.number)
        virtual_network_damage(play->cluster->sim, place, play->damage);
}

static void on_fact(void *context, uint64_t now_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    struct play *play = context;

    (void)now_ns;
    (void)to;
    if (fact != VIRTUAL_NETWORK_FACT_SEND || !play->is_counting)
        return;
    if (play->sent_count < FRAMES_MAX && play->damage == VIRTUAL_NETWORK_DAMAGE_NONE)
        play->sent[play->sent_count++] = (struct sent){from, play->counts[from], frame->type};
    play->counts[from]++;
    damage_next(play, from);
}

static void run(struct play *play, uint64_t length_ns)
{
    virtual_network_run_until(play->cluster->sim,
                              virtual_network_now_ns(play->cluster->sim) + length_ns);
}

static void contribute(struct play *play, uint32_t place, enum endpoint_target target, size_t bytes)
{
    struct operation_name key = {.set_id = 9000 + (target == ENDPOINT_TARGET_ROOT),
                                 .generation = 1,
                                 .target = (uint8_t)target};
    struct message *payload = message_create_blank(bytes);
    struct ranges set = {0};

    memset(payload->data, 'a' + (int)place, bytes);
    ranges_add(&set, target == ENDPOINT_TARGET_ROOT ? 1 : 0, PLACES - 1);
    if (cluster_is_alive(play->cluster, place))
        endpoint_contribute(play->cluster->places[place].node, &key, &set, payload);
    else
        message_release(payload);
    ranges_fini(&set);
}

/* ---- what is played ---- */

static void play_exchange(struct play *play)
{
    for (uint32_t place = 0; place < PLACES; place++)
        contribute(play, place, ENDPOINT_TARGET_ALL, place % 2 == 0 ? SOME_BYTES / 4 : 0);
}

static void play_large(struct play *play)
{
    for (uint32_t place = 0; place < PLACES; place++)
        contribute(play, place, ENDPOINT_TARGET_ALL, place == 4 ? SOME_BYTES : FULL_BYTES);
}

static void play_gather(struct play *play)
{
    for (uint32_t place = 1; place < PLACES; place++)
        contribute(play, place, ENDPOINT_TARGET_ROOT, SOME_BYTES);
}

/* 3 does not call, and 2 waits no longer. */
static void play_cancel(struct play *play)
{
    struct operation_name key = {.set_id = 9000, .generation = 1};

    for (uint32_t place = 0; place < PLACES; place++) {
        if (place != 3)
            contribute(play, place, ENDPOINT_TARGET_ALL, 100);
    }
    run(play, 2 * MS);
    if (cluster_is_alive(play->cluster, 2))
        endpoint_cancel(play->cluster->places[2].node, &key);
    run(play, 1000 * MS);
    contribute(play, 3, ENDPOINT_TARGET_ALL, 100);
}

/* 5 dies after it has contributed. */
static void play_death(struct play *play)
{
    for (uint32_t place = 0; place < PLACES; place++) {
        if (place != 3)
            contribute(play, place, ENDPOINT_TARGET_ALL, 100);
    }
    run(play, MS / 4);
    cluster_kill(play->cluster, 5);
    run(play, 20 * MS);
    contribute(play, 3, ENDPOINT_TARGET_ALL, 100);
}

/* The same while a stream goes. */
static void play_large_death(struct play *play)
{
    play_large(play);
    run(play, 2 * MS);
    cluster_kill(play->cluster, 5);
}

static const struct scenario {
    const char *name;
    void (*play)(struct play *play);
    bool is_raced; /* the answer depends on what is first: the lost frame may change it */
} scenarios[] = {
    {"an exchange", play_exchange, false},
    {"a large exchange", play_large, false},
    {"a gather", play_gather, false},
    {"a fence that times out", play_cancel, true},
    {"a fence with a death", play_death, true},
    {"a large exchange with a death", play_large_death, true},
};

static bool everybody_is_told(const struct play *play)
{
    for (uint32_t place = 0; place < PLACES; place++) {
        if (cluster_is_alive(play->cluster, place) && play->told[place] == 0)
            return false;
    }
    return true;
}

static void perform(struct play *play, const struct scenario *scenario, const struct sent *victim,
                    enum virtual_network_damage damage, uint64_t seed)
{
    struct cluster_config config = {
        .radix = 2, .merges = merges, .merges_count = 1, .events = &events, .context = play};
    uint64_t end_ns;

    memset(play, 0, sizeof(*play));
    config.sim =
        (struct virtual_network_config){.places = PLACES, .seed = seed, .latency_ns = MS / 10};
    config.places = PLACES;
    play->cluster = cluster_create(&config);
    virtual_network_set_trace(play->cluster->sim, on_fact, play);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(play->cluster, place);
    run(play, 100 * MS);
    play->is_counting = true;
    play->damage = damage;
    if (damage != VIRTUAL_NETWORK_DAMAGE_NONE) {
        play->victim = *victim;
        damage_next(play, victim->from);
    }
    scenario->play(play);
    run(play, 200 * MS);
    end_ns = virtual_network_now_ns(play->cluster->sim) + WAIT_NS;
    while (!everybody_is_told(play) && virtual_network_now_ns(play->cluster->sim) < end_ns)
        run(play, 1000 * MS);
}

/* ---- what must be ---- */

/* As if nothing had happened. */
static bool is_unharmed(const struct play *play, const struct play *whole)
{
    for (uint32_t place = 0; place < PLACES; place++) {
        if (cluster_is_alive(play->cluster, place) != cluster_is_alive(whole->cluster, place) ||
            play->told[place] != whole->told[place] ||
            play->status[place] != whole->status[place] ||
            play->bytes[place] != whole->bytes[place])
            return false;
    }
    return true;
}

/* All who live have been told once, and the same. */
static bool is_agreed(const struct play *play)
{
    for (uint32_t place = 0; place < PLACES; place++) {
        if (cluster_is_alive(play->cluster, place) &&
            (play->told[place] != 1 || play->status[place] != play->status[0] ||
             play->bytes[place] != play->bytes[0]))
            return false;
    }
    return true;
}

static void complain(const struct play *play, const struct scenario *scenario,
                     const struct sent *victim, const char *what, uint64_t seed)
{
    diag("%s: frame %u of %u, type %u, is %s (seed %llu):", scenario->name, victim->number,
         victim->from, victim->type, what, (unsigned long long)seed);
    for (uint32_t place = 0; place < PLACES; place++)
        diag("  %u %s, told %u times: %d, %zu bytes", place,
             cluster_is_alive(play->cluster, place) ? "lives" : "is gone", play->told[place],
             play->status[place], play->bytes[place]);
}

static void test_scenario(const struct scenario *scenario)
{
    static struct play whole;
    static struct play play;
    uint32_t lost = 0;
    uint32_t harmed = 0;
    uint32_t hung = 0;

    perform(&whole, scenario, NULL, VIRTUAL_NETWORK_DAMAGE_NONE, 1);
    ok(everybody_is_told(&whole), "%s: all are told", scenario->name);
    for (uint32_t i = 0; i < whole.sent_count; i++) {
        const struct sent *victim = &whole.sent[i];

        if (!is_of_an_operation(victim->type))
            continue;
        lost++;
        perform(&play, scenario, victim, VIRTUAL_NETWORK_DAMAGE_LOSE, 1);
        if (!(scenario->is_raced ? is_agreed(&play) : is_unharmed(&play, &whole)) && harmed++ < 3)
            complain(&play, scenario, victim, "lost", 1);
        cluster_destroy(play.cluster);
        for (uint64_t seed = 1; seed <= SPOILED; seed++) {
            perform(&play, scenario, victim, VIRTUAL_NETWORK_DAMAGE_MUTATE, seed);
            if (!everybody_is_told(&play) && hung++ < 3)
                complain(&play, scenario, victim, "spoiled", seed);
            cluster_destroy(play.cluster);
        }
    }
    cluster_destroy(whole.cluster);
    ok(lost > 5, "%s: %u frames", scenario->name, lost);
    is_int((int)harmed, 0, "%s: each of them lost, nobody is harmed", scenario->name);
    is_int((int)hung, 0, "%s: each of them spoiled, nobody waits for ever", scenario->name);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        test_scenario(&scenarios[i]);
    return done_testing();
}
