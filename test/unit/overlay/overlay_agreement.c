/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement, with the meeting point killed between any two of its messages.  An exchange meets at
 * place 1; 1 is killed after each number of frames that it has sent or was to be given, and after
 * each of these its heir is killed the same way.  Whenever it happens, all survivors are told, once,
 * and the same: success at one is success at all.  Which of the frames in flight are lost with a death is
 * decided by the seed.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/overlay_wire.h"
#include "test/support/cluster.h"
#include "test/support/tap.h"

#define MS     1000000ull
#define PLACES 10
#define SEEDS  3

struct told {
    uint32_t times;
    int status;
    char payload[64];
};

struct play {
    struct cluster *cluster;
    struct told told[PLACES];
    uint32_t victims[2]; /* the second: place number once the first is dead, 0: none */
    uint32_t after[2];   /* killed after so many of its frames, 0: never */
    uint32_t counted[2];
};

static struct play *play_of(struct cluster *cluster)
{
    return cluster->config.context;
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct told *told = &play_of(cluster)->told[place];

    (void)key;
    (void)lost;
    told->times++;
    told->status = status;
    if (payload != NULL)
        snprintf(told->payload, sizeof(told->payload), "%.*s", (int)payload->length_bytes,
                 (const char *)payload->data);
}

static const struct cluster_events events = {.result = on_result};

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

/* Heartbeats are no part of it. */
static bool counts(const struct frame *frame)
{
    return frame != NULL && frame->type != OVERLAY_LEASE && frame->type != OVERLAY_LEASE_ECHO;
}

static void on_fact(void *context, uint64_t now_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    struct play *play = context;

    (void)now_ns;
    for (int i = 0; i < 2; i++) {
        uint32_t victim = play->victims[i];
        bool its = fact == VIRTUAL_NETWORK_FACT_SEND && (from == victim || to == victim);

        if (play->after[i] == 0 || !its || !counts(frame) ||
            (i == 1 && cluster_is_alive(play->cluster, play->victims[0])) ||
            ++play->counted[i] != play->after[i])
            continue;
        cluster_kill(play->cluster, victim);
    }
}

static void run(struct play *play, uint64_t length_ns)
{
    virtual_network_run_until(play->cluster->sim,
                              virtual_network_now_ns(play->cluster->sim) + length_ns);
}

static void contribute(struct play *play, const struct ranges *set, uint32_t place)
{
    struct operation_name key = {.set_id = 77, .generation = 1};
    char text[8];

    if (!cluster_is_alive(play->cluster, place))
        return;
    snprintf(text, sizeof(text), "%u ", place);
    endpoint_contribute(play->cluster->places[place].node, &key, set,
                        message_create(text, strlen(text)));
}

/* Two members are late, so that there is something to wait for. */
static void play_all(struct play *play, const struct ranges *set, uint64_t seed)
{
    struct cluster_config config = {
        .radix = 2, .merges = merges, .merges_count = 1, .events = &events, .context = play};

    config.sim = (struct virtual_network_config){
        .places = PLACES, .seed = seed, .latency_ns = MS / 10, .jitter_ns = MS / 10};
    play->cluster = cluster_create(&config);
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(play->cluster, place);
    run(play, 100 * MS);
    virtual_network_set_trace(play->cluster->sim, on_fact, play);
    for (uint32_t place = 0; place < PLACES; place++) {
        if (ranges_contains(set, place) && place % 4 != 3)
            contribute(play, set, place);
    }
    run(play, MS);
    for (uint32_t place = 0; place < PLACES; place++) {
        if (ranges_contains(set, place) && place % 4 == 3)
            contribute(play, set, place);
    }
    run(play, 12000 * MS);
}

/* What is wrong, or NULL. */
static const char *judge(const struct play *play, const struct ranges *set)
{
    const struct told *first = NULL;

    for (uint32_t place = 0; place < PLACES; place++) {
        const struct told *told = &play->told[place];

        if (!ranges_contains(set, place))
            continue;
        if (told->times > 1)
            return "somebody is told twice";
        if (!cluster_is_alive(play->cluster, place))
            continue;
        if (told->times == 0)
            return "a survivor waits for ever";
        if (first != NULL &&
            (first->status != told->status || strcmp(first->payload, told->payload) != 0))
            return "survivors disagree";
        first = told;
    }
    return NULL;
}

struct tally {
    uint32_t played;
    uint32_t successes; /* of those with a death */
    uint32_t losses;
    uint32_t wrong;
};

/* Plays one; returns how many frames the two victims had to do with. */
static void play_one(struct tally *tally, const struct ranges *set, uint32_t after, uint32_t heir,
                     uint32_t heir_after, uint64_t seed, uint32_t ret_counted[2])
{
    struct play play = {.victims = {1, heir}, .after = {after, heir_after}};
    const char *wrong;

    play_all(&play, set, seed);
    wrong = judge(&play, set);
    tally->played++;
    for (uint32_t place = 2; place < PLACES; place++) {
        if (!ranges_contains(set, place) || !cluster_is_alive(play.cluster, place))
            continue;
        tally->successes += play.told[place].status == 0;
        tally->losses += play.told[place].status != 0;
        break;
    }
    if (wrong != NULL) {
        tally->wrong++;
        diag("%s: 1 killed after %u frames, %u after %u, seed %llu", wrong, after, heir, heir_after,
             (unsigned long long)seed);
    }
    ret_counted[0] = play.counted[0];
    ret_counted[1] = play.counted[1];
    cluster_destroy(play.cluster);
}

/* heir: the place that meets once 1 is dead. */
static void test_set(const char *what, uint32_t first, uint32_t last, bool with_meeting_point)
{
    struct tally one = {0}, two = {0};
    struct ranges set = {0};
    uint32_t counted[2];

    ranges_add(&set, first, last);
    if (with_meeting_point)
        ranges_add(&set, 1, 1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint32_t after = 0;

        do {
            uint32_t heir_after = 0;

            play_one(&one, &set, ++after, 2, 0, seed, counted);
            if (counted[0] < after)
                break; /* it never had so many: it was not killed */
            do
                play_one(&two, &set, after, 2, ++heir_after, seed, counted);
            while (counted[1] >= heir_after);
        } while (after < 1000);
    }
    is_uint(one.wrong, 0, "%s: the meeting point dies at any of its frames: agreement", what);
    is_uint(two.wrong, 0, "%s: and its heir at any of its own: agreement", what);
    ok(one.successes > 0 && (!with_meeting_point || one.losses > 0),
       "%s: both ends happen where both can", what);
    diag("%s: %u and %u worlds; success %u and %u, loss %u and %u", what, one.played, two.played,
         one.successes, two.successes, one.losses, two.losses);
    ranges_fini(&set);
}

int main(void)
{
    /* Ten places of radix 2: 0 (1 (2 (3) 4 (5)) 6 (7 (8) 9)), ranges 1-5 and 6-9. */
    test_set("members below it", 2, 5, false);
    test_set("members and itself", 2, 5, true);
    test_set("two leaves", 3, 4, true);
    return done_testing();
}
