/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden traces: small trees in virtual time, every message sent and every upcall told, one line
 * each, compared with test/trace/NAME.txt.  They read as the protocol's description and are quoted
 * in doc/protocol.rst.  GOLDEN_WRITE=1 writes them anew; look at the difference before you commit.
 *
 * Seven places of radix 2 are the tree 0 (1 (2 3) 4 (5 6)).  Each frame takes 0.1 ms.
 */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "overlay/overlay_print.h"
#include "overlay/overlay_wire.h"
#include "test/support/cluster.h"
#include "test/support/golden.h"
#include "test/support/tap.h"

#define MS   1000000ull
#define MORE 2 /* places that an instance may grow by */

struct scene {
    struct cluster *cluster;
    struct buffer trace;
    uint64_t zero_ns; /* what is printed as +0.00ms */
    bool is_silent;   /* nothing is written */
    bool with_acks;
    bool chunk_seen[7 + MORE]
                   [7 + MORE]; /* of the chunks over a link the first is written, and no credit */
    uint8_t kill_on;           /* sending a frame of this type kills place */
    uint32_t kill_place;
    uint32_t kill_after; /* so many of them */
};

static void print_time(struct scene *scene)
{
    buffer_printf(&scene->trace, "+%.2fms ",
                  (double)(virtual_network_now_ns(scene->cluster->sim) - scene->zero_ns) / 1e6);
}

static struct scene *scene_of(struct cluster *cluster)
{
    return cluster->config.context;
}

static void say(struct scene *scene, uint32_t place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct scene *scene, uint32_t place, const char *format, ...)
{
    char text[256];
    va_list arguments;

    if (scene->is_silent)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    print_time(scene);
    buffer_printf(&scene->trace, "%u %s\n", place, text);
}

/* ---- upcalls ---- */

static void on_joined(struct cluster *cluster, uint32_t place)
{
    say(scene_of(cluster), place, "is joined");
}

static void on_complete(struct cluster *cluster)
{
    say(scene_of(cluster), 0, "is complete");
}

static void on_broadcast(struct cluster *cluster, uint32_t place, struct message *payload)
{
    if (payload->length_bytes > 1000)
        say(scene_of(cluster), place, "is told the broadcast of %zu bytes", payload->length_bytes);
    else
        say(scene_of(cluster), place, "is told the broadcast \"%.*s\"", (int)payload->length_bytes,
            (const char *)payload->data);
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct buffer places = {0};

    ranges_print(lost, &places);
    if (status == 0 && payload != NULL && payload->length_bytes > 1000)
        say(scene_of(cluster), place, "is told the result gen=%u: %zu bytes", key->generation,
            payload->length_bytes);
    else if (status == 0)
        say(scene_of(cluster), place, "is told the result gen=%u: \"%.*s\"", key->generation,
            payload != NULL ? (int)payload->length_bytes : 0,
            payload != NULL ? (const char *)payload->data : "");
    else if (status == -ETIMEDOUT)
        say(scene_of(cluster), place, "is told the result gen=%u: timed out", key->generation);
    else
        say(scene_of(cluster), place, "is told the result gen=%u: lost [%s]", key->generation,
            buffer_string(&places));
    buffer_fini(&places);
}

static void on_lost(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    struct buffer text = {0};

    ranges_print(places, &text);
    say(scene_of(cluster), place, "is told that [%s] died", buffer_string(&text));
    buffer_fini(&text);
}

static void on_grown(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    struct buffer text = {0};

    ranges_print(places, &text);
    say(scene_of(cluster), place, "is told that [%s] are new", buffer_string(&text));
    buffer_fini(&text);
}

static void on_left(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    struct buffer text = {0};

    ranges_print(places, &text);
    say(scene_of(cluster), place, "is told that [%s] left", buffer_string(&text));
    buffer_fini(&text);
}

static void on_missing(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                       const struct endpoint_missing *missing)
{
    struct buffer text = {0};

    if (missing == NULL) {
        say(scene_of(cluster), place, "is told that gen=%u waits for nobody any more",
            key->generation);
        return;
    }
    ranges_print(&missing->absent, &text);
    buffer_append_string(&text, "], unjoined [");
    ranges_print(&missing->unjoined, &text);
    buffer_append_string(&text, "], silent [");
    ranges_print(&missing->silent, &text);
    say(scene_of(cluster), place, "is told that gen=%u waits for absent [%s]", key->generation,
        buffer_string(&text));
    buffer_fini(&text);
}

static void on_request(struct cluster *cluster, uint32_t place, uint32_t source, uint32_t id,
                       struct message *payload)
{
    say(scene_of(cluster), place, "is asked by %u", source);
    endpoint_reply(cluster->places[place].node, source, id, message_reference(payload));
}

static void on_reply(struct cluster *cluster, uint32_t place, uint32_t id, int status,
                     struct message *payload)
{
    (void)payload;
    say(scene_of(cluster), place, "is answered id=%u: %s", id, status == 0 ? "ok" : "host down");
}

static void on_ended(struct cluster *cluster, uint32_t place, enum endpoint_end end)
{
    static const char *const ends[ENDPOINT_END_COUNT] = {"left", "orphan", "lease over", "evicted",
                                                         "refused"};

    say(scene_of(cluster), place, "ends: %s", ends[end]);
}

static const struct cluster_events events = {
    .joined = on_joined,
    .complete = on_complete,
    .broadcast = on_broadcast,
    .result = on_result,
    .lost = on_lost,
    .grown = on_grown,
    .left = on_left,
    .missing = on_missing,
    .request = on_request,
    .reply = on_reply,
    .ended = on_ended,
};

/* ---- the world ---- */

/* A stream is told by its first chunk over each link. */
static bool is_written(struct scene *scene, uint32_t from, uint32_t to, const struct frame *frame)
{
    bool seen;

    if (frame->type == OVERLAY_ACK)
        return scene->with_acks;
    if (frame->type != OVERLAY_CHUNK && frame->type != OVERLAY_RISE)
        return frame->type != OVERLAY_LEASE && frame->type != OVERLAY_LEASE_ECHO &&
               frame->type != OVERLAY_HEIRS && frame->type != OVERLAY_CREDIT;
    seen = scene->chunk_seen[from][to];
    scene->chunk_seen[from][to] = true;
    return !seen;
}

static void on_fact(void *context, uint64_t now_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    struct scene *scene = context;

    (void)now_ns;
    if (fact == VIRTUAL_NETWORK_FACT_KILL && cluster_is_alive(scene->cluster, from) == false &&
        !scene->cluster->places[from].ended)
        say(scene, from, "is killed");
    if (fact != VIRTUAL_NETWORK_FACT_SEND)
        return;
    if (!scene->is_silent && is_written(scene, from, to, frame)) {
        print_time(scene);
        buffer_printf(&scene->trace, "%u -> %u ", from, to);
        overlay_print(frame, &scene->trace);
        buffer_append_string(&scene->trace, "\n");
    }
    if (scene->kill_after > 0 && frame->type == scene->kill_on && from == scene->kill_place &&
        --scene->kill_after == 0)
        cluster_kill(scene->cluster, from);
}

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

static void scene_open(struct scene *scene, uint32_t places, uint64_t seed)
{
    struct cluster_config config = {
        .radix = 2, .merges = merges, .merges_count = 1, .events = &events, .context = scene};

    memset(scene, 0, sizeof(*scene));
    config.sim = (struct virtual_network_config){
        .places = places + MORE, .seed = seed, .latency_ns = MS / 10};
    config.places = places;
    scene->cluster = cluster_create(&config);
    virtual_network_set_trace(scene->cluster->sim, on_fact, scene);
}

static void scene_run(struct scene *scene, uint64_t length_ns)
{
    virtual_network_run_until(scene->cluster->sim,
                              virtual_network_now_ns(scene->cluster->sim) + length_ns);
}

/* A tree of seven that is complete; from here on it is written down. */
static void scene_begin_seed(struct scene *scene, uint64_t seed)
{
    scene_open(scene, 7, seed);
    scene->is_silent = true;
    for (uint32_t place = 0; place < 7; place++)
        cluster_start(scene->cluster, place);
    scene_run(scene, 100 * MS);
    scene->is_silent = false;
    scene->zero_ns = virtual_network_now_ns(scene->cluster->sim);
}

static void scene_begin(struct scene *scene)
{
    scene_begin_seed(scene, 1);
}

static void contribute(struct scene *scene, uint32_t place, uint32_t first, uint32_t last,
                       uint32_t generation)
{
    struct operation_name key = {.set_id = 7000 + first, .generation = generation};
    struct ranges set = {0};
    char text[32];

    snprintf(text, sizeof(text), "%u.%u ", place, generation);
    ranges_add(&set, first, last);
    say(scene, place, "contributes to gen=%u", generation);
    endpoint_contribute(scene->cluster->places[place].node, &key, &set,
                        message_create(text, strlen(text)));
    ranges_fini(&set);
}

/* The places from..to, one after the other, to a collective of the places first..last. */
static void contribute_each(struct scene *scene, uint32_t from, uint32_t to, uint32_t first,
                            uint32_t last, uint32_t generation)
{
    for (uint32_t place = from; place <= to; place++)
        contribute(scene, place, first, last, generation);
}

/* ---- scenes ---- */

static void scene_join(struct scene *scene)
{
    scene_open(scene, 5, 1);
    for (uint32_t place = 0; place < 5; place++)
        cluster_start(scene->cluster, place == 0 ? 0 : 5 - place); /* children before parents */
    scene_run(scene, 200 * MS);
}

static void scene_broadcast(struct scene *scene)
{
    struct ranges set = {0};

    scene_begin(scene);
    scene->with_acks = true;
    endpoint_broadcast(scene->cluster->places[0].node, NULL, message_create("hello all", 9));
    ranges_add(&set, 3, 4);
    endpoint_broadcast(scene->cluster->places[0].node, &set, message_create("hello 3-4", 9));
    scene_run(scene, 10 * MS);
    ranges_fini(&set);
}

static void scene_exchange(struct scene *scene)
{
    scene_begin(scene);
    contribute_each(scene, 2, 5, 2, 5, 1);
    scene_run(scene, 10 * MS);
}

static void contribute_much(struct scene *scene, uint32_t place)
{
    struct operation_name key = {.set_id = 7000, .generation = 1};
    struct ranges set = {0};
    struct buffer much = {0};

    memset(buffer_reserve(&much, 400000), (int)place, 400000);
    buffer_commit(&much, 400000);
    ranges_add(&set, 2, 5);
    say(scene, place, "contributes to gen=1");
    endpoint_contribute(scene->cluster->places[place].node, &key, &set, message_from_buffer(&much));
    buffer_fini(&much);
    ranges_fini(&set);
}

static void scene_large_exchange(struct scene *scene)
{
    scene_begin(scene);
    for (uint32_t place = 2; place <= 5; place++)
        contribute_much(scene, place);
    scene_run(scene, 10 * MS);
}

/* The lateral link between 3 and 4 breaks. */
static void scene_lateral_breaks(struct scene *scene)
{
    scene_begin(scene);
    for (uint32_t place = 2; place <= 5; place++)
        contribute_much(scene, place);
    scene_run(scene, MS);
    say(scene, 3, "loses its link to 4");
    virtual_network_break(scene->cluster->sim, 3, 4);
    scene_run(scene, 10 * MS);
}

static void scene_large_broadcast(struct scene *scene)
{
    struct buffer much = {0};

    scene_begin(scene);
    scene->with_acks = true;
    memset(buffer_reserve(&much, 4000000), 'b', 4000000);
    buffer_commit(&much, 4000000);
    endpoint_broadcast(scene->cluster->places[0].node, NULL, message_from_buffer(&much));
    endpoint_broadcast(scene->cluster->places[0].node, NULL, message_create("behind it", 9));
    buffer_fini(&much);
    scene_run(scene, 20 * MS);
}

static void scene_two_exchanges(struct scene *scene)
{
    scene_begin(scene);
    contribute_each(scene, 1, 3, 1, 3, 1);
    scene_run(scene, MS / 4);
    contribute_each(scene, 1, 3, 1, 3, 2);
    scene_run(scene, 10 * MS);
    for (uint32_t place = 1; place <= 3; place++)
        say(scene, place, "keeps %u operation",
            endpoint_kept_operations(scene->cluster->places[place].node));
}

static void scene_pair(struct scene *scene)
{
    scene_begin(scene);
    contribute(scene, 5, 4, 5, 1);
    contribute(scene, 4, 4, 5, 1);
    scene_run(scene, 10 * MS);
}

static void scene_gather(struct scene *scene)
{
    struct operation_name key = {.set_id = 9, .generation = 1, .target = ENDPOINT_TARGET_ROOT};
    struct ranges set = {0};

    scene_begin(scene);
    ranges_add(&set, 2, 2);
    ranges_add(&set, 5, 5);
    say(scene, 2, "contributes to gen=1");
    endpoint_contribute(scene->cluster->places[2].node, &key, &set, message_create("two ", 4));
    say(scene, 5, "contributes to gen=1");
    endpoint_contribute(scene->cluster->places[5].node, &key, &set, message_create("five ", 5));
    scene_run(scene, 10 * MS);
    ranges_fini(&set);
}

static void scene_request(struct scene *scene)
{
    scene_begin(scene);
    endpoint_request(scene->cluster->places[3].node, 5, message_create("?", 1));
    scene_run(scene, 10 * MS);
}

/* 1 is no member; its death costs nothing but a second attempt over its heir 2. */
static void scene_relay_dies(struct scene *scene)
{
    scene_begin(scene);
    contribute_each(scene, 3, 5, 2, 5, 1);
    scene_run(scene, MS / 4);
    cluster_kill(scene->cluster, 1);
    scene_run(scene, 5 * MS);
    contribute(scene, 2, 2, 5, 1);
    scene_run(scene, 20 * MS);
}

/* 1 is the meeting point and dies after the first of two releases: 2 has seen success.  (The seed
 * decides whether that one arrives.) */
static void scene_half_released(struct scene *scene)
{
    scene_begin_seed(scene, 7);
    contribute_each(scene, 2, 3, 1, 3, 1);
    scene->kill_on = OVERLAY_RELEASE;
    scene->kill_place = 1;
    scene->kill_after = 1;
    scene_run(scene, MS / 4);
    contribute(scene, 1, 1, 3, 1);
    scene_run(scene, 20 * MS);
}

/* 5 dies before anything was decided; 6 has not even called and is not waited for. */
static void scene_member_dies(struct scene *scene)
{
    scene_begin(scene);
    contribute_each(scene, 4, 5, 4, 6, 1);
    scene_run(scene, MS / 4);
    cluster_kill(scene->cluster, 5);
    scene_run(scene, 5 * MS);
    contribute(scene, 6, 4, 6, 1);
    scene_run(scene, 5 * MS);
}

/* 2 waits no longer, and so nobody does; 5 comes late and finds that; the next fence is as any. */
static void scene_fence_times_out(struct scene *scene)
{
    struct operation_name key = {.set_id = 7002, .generation = 1};

    scene_begin(scene);
    contribute_each(scene, 2, 4, 2, 5, 1);
    scene_run(scene, MS / 2);
    say(scene, 2, "waits no longer for gen=1");
    endpoint_cancel(scene->cluster->places[2].node, &key);
    scene_run(scene, 5 * MS);
    contribute(scene, 5, 2, 5, 1);
    scene_run(scene, MS);
    contribute_each(scene, 2, 5, 2, 5, 2);
    scene_run(scene, 10 * MS);
    for (uint32_t place = 2; place <= 5; place++)
        say(scene, place, "keeps %u operation",
            endpoint_kept_operations(scene->cluster->places[place].node));
}

/* 6 has never been started, 3 and 5 do not call: after 5 s the meeting point asks. */
static void scene_missing(struct scene *scene)
{
    scene_open(scene, 7, 1);
    scene->is_silent = true;
    for (uint32_t place = 0; place < 6; place++)
        cluster_start(scene->cluster, place);
    scene_run(scene, 100 * MS);
    scene->is_silent = false;
    scene->zero_ns = virtual_network_now_ns(scene->cluster->sim);
    contribute(scene, 2, 2, 6, 1);
    contribute(scene, 4, 2, 6, 1);
    scene_run(scene, 6000 * MS);
    contribute(scene, 3, 2, 6, 1);
    contribute(scene, 5, 2, 6, 1);
    cluster_start(scene->cluster, 6);
    scene_run(scene, 10 * MS);
    contribute(scene, 6, 2, 6, 1);
    scene_run(scene, 10 * MS);
}

/* 4 is stopped: it cannot say who is missing below it. */
static void scene_silent(struct scene *scene)
{
    struct operation_name key = {.set_id = 7002, .generation = 1};

    scene_begin(scene);
    contribute_each(scene, 2, 3, 2, 6, 1);
    scene_run(scene, MS);
    virtual_network_stop(scene->cluster->sim, 4);
    endpoint_ask(scene->cluster->places[0].node, &key);
    scene_run(scene, 1500 * MS);
}

/* The contribution of 3 is lost, and so is the release to 5: both are told again. */
static void scene_told_again(struct scene *scene)
{
    scene_begin(scene);
    virtual_network_damage(scene->cluster->sim, 3, VIRTUAL_NETWORK_DAMAGE_LOSE);
    contribute_each(scene, 2, 5, 2, 5, 1);
    scene_run(scene, 5000 * MS + 4 * MS / 10);
    virtual_network_damage(scene->cluster->sim, 4, VIRTUAL_NETWORK_DAMAGE_LOSE);
    scene_run(scene, 20000 * MS);
}

/* 1 is stopped for long, and 3, whose link to it breaks, is sent there by the root: it waits for 1
 * until the root, where 1 has died, looks for it. */
static void scene_heir_stopped(struct scene *scene)
{
    scene_begin(scene);
    virtual_network_stop(scene->cluster->sim, 1);
    virtual_network_break(scene->cluster->sim, 3, 1);
    scene_run(scene, 12000 * MS);
}

static void scene_leave(struct scene *scene)
{
    scene_begin(scene);
    endpoint_leave(scene->cluster->places[0].node);
    scene_run(scene, 50 * MS);
}

/* 7 and 8 are new, and 8 is up first.  What was told before does not concern them. */
static void scene_grow(struct scene *scene)
{
    struct endpoint *root;
    uint32_t first;

    scene_begin(scene);
    root = scene->cluster->places[0].node;
    cluster_kill(scene->cluster, 6);
    endpoint_broadcast(root, NULL, message_create("before", 6));
    scene_run(scene, 5 * MS);
    first = endpoint_grow(root, 2);
    cluster_start(scene->cluster, first + 1);
    scene_run(scene, MS);
    cluster_start(scene->cluster, first);
    scene_run(scene, 50 * MS);
    endpoint_broadcast(root, NULL, message_create("after", 5));
    scene_run(scene, 5 * MS);
}

/* 1 leaves, over which an exchange goes, and 5, which is a member of another. */
static void scene_shrink(struct scene *scene)
{
    struct ranges leaving = {0};

    scene_begin(scene);
    contribute_each(scene, 3, 4, 2, 4, 1);
    contribute(scene, 6, 5, 6, 1);
    scene_run(scene, MS);
    ranges_add(&leaving, 1, 1);
    ranges_add(&leaving, 5, 5);
    endpoint_shrink(scene->cluster->places[0].node, &leaving);
    ranges_fini(&leaving);
    scene_run(scene, 5 * MS);
    contribute(scene, 2, 2, 4, 1);
    scene_run(scene, 20 * MS);
}

/* The root dies: everyone ends, all at about the same time. */
static void scene_root_dies(struct scene *scene)
{
    scene_begin(scene);
    cluster_kill(scene->cluster, 0);
    scene_run(scene, 10000 * MS);
}

static const struct {
    const char *name;
    void (*play)(struct scene *scene);
    bool is_quoted; /* in doc/protocol.rst */
} scenes[] = {
    {"join", scene_join, true},
    {"broadcast", scene_broadcast, true},
    {"exchange", scene_exchange, true},
    {"large_exchange", scene_large_exchange, true},
    {"lateral_breaks", scene_lateral_breaks, false},
    {"large_broadcast", scene_large_broadcast, false},
    {"two_exchanges", scene_two_exchanges, true},
    {"pair", scene_pair, true},
    {"gather", scene_gather, false},
    {"request", scene_request, true},
    {"relay_dies", scene_relay_dies, true},
    {"half_released", scene_half_released, true},
    {"member_dies", scene_member_dies, true},
    {"fence_times_out", scene_fence_times_out, true},
    {"missing", scene_missing, true},
    {"silent", scene_silent, false},
    {"told_again", scene_told_again, true},
    {"heir_stopped", scene_heir_stopped, true},
    {"grow", scene_grow, true},
    {"shrink", scene_shrink, true},
    {"leave", scene_leave, true},
    {"root_dies", scene_root_dies, true},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        struct scene scene;

        scenes[i].play(&scene);
        scene.is_silent = true;
        golden_compare(scenes[i].name, &scene.trace);
        if (scenes[i].is_quoted)
            golden_check_quoted(scenes[i].name, "protocol.rst", &scene.trace);
        cluster_destroy(scene.cluster);
        buffer_fini(&scene.trace);
    }
    return done_testing();
}
