/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a place learns of the network from heartbeats and streams, what does not mislead it, and that
 * it chooses accordingly: one core first, then a tree of them on a network of 500 us a hop and 10 ns a
 * byte.
 */
#include "config.h"

#include <string.h>

#include "overlay/measure.h"
#include "overlay/stream_wire.h"
#include "test/support/cluster.h"
#include "test/support/core_bench.h"
#include "test/support/tap.h"

#define US 1000ull

#define HOP_US_DEFAULT  50
#define BYTE_PS_DEFAULT 1000
#define MESSAGE_US      5

#define STREAM_BYTES (1024u * 1024)

static bool is_near(uint64_t value, uint64_t wanted, uint64_t percent, const char *what)
{
    return ok(value * 100 <= wanted * (100 + percent) && value * 100 >= wanted * (100 - percent),
              "%s: %llu, within %llu %% of %llu", what, (unsigned long long)value,
              (unsigned long long)percent, (unsigned long long)wanted);
}

/* ---- one core ---- */

/* The next heartbeat's LEASE: our echo before it and it were on their way for so long. */
static void lease(struct bench *bench, uint64_t trip_ns)
{
    static uint64_t round;
    struct overlay_lease wave = {.round = ++round,
                                 .echo_hold_ns = 1000 * MS - trip_ns % (900 * MS)};
    struct frame frame;

    bench->now_ns += 1000 * MS;
    wave.echo_stamp_ns = bench->now_ns - wave.echo_hold_ns - trip_ns;
    overlay_encode_lease(&wave, &frame);
    bench_step_frame(bench, 0, &frame);
}

static uint64_t hop_ns(const struct bench *bench)
{
    return measure_costs(bench->overlay).hop_ns;
}

static uint64_t byte_ps(const struct bench *bench)
{
    return measure_costs(bench->overlay).byte_ps;
}

static void stream(struct bench *bench, uint64_t ps)
{
    measure_rate(bench->overlay, STREAM_BYTES, 0, STREAM_BYTES * ps / 1000);
}

static void open_child(struct bench *bench)
{
    bench_open(bench, 1, 7);
    bench_welcome(bench, 0, 1, 3, 0, 0);
}

/* There and back, with the CPU of two messages each way. */
static uint64_t trip_of(uint64_t hop_us)
{
    return 2 * (hop_us + MESSAGE_US) * US;
}

static void test_nothing_known(void)
{
    struct bench bench;

    open_child(&bench);
    is_uint(hop_ns(&bench), HOP_US_DEFAULT * US, "before anything is measured the defaults count");
    is_uint(byte_ps(&bench), BYTE_PS_DEFAULT, "of bytes, too");
    lease(&bench, trip_of(2000));
    is_uint(hop_ns(&bench), HOP_US_DEFAULT * US, "a latency alone does not count");
    stream(&bench, 10000);
    is_near(byte_ps(&bench), 10000, 3, "ps a byte, when a stream has come");
    is_near(hop_ns(&bench), 2000 * US, 3, "then ns a hop, too");
    bench_close(&bench);
}

static void test_trips(void)
{
    struct bench bench;
    struct overlay_lease_echo echo;
    const struct frame *sent;

    open_child(&bench);
    stream(&bench, 10000);
    lease(&bench, trip_of(500));
    is_near(hop_ns(&bench), 500 * US, 3, "one heartbeat tells what a hop takes");
    sent = bench_sent(&bench, 0, OVERLAY_LEASE_ECHO);
    ok(sent != NULL && overlay_decode_lease_echo(sent, &echo) == 0 && echo.measured.trip > 0 &&
           echo.measured.rate > 0,
       "the parent is told");
    lease(&bench, 30 * MS);
    ok(hop_ns(&bench) <= 650 * US, "one that was held up for 30 ms adds a quarter (%llu ns)",
       (unsigned long long)hop_ns(&bench));
    lease(&bench, trip_of(500));
    is_near(hop_ns(&bench), 500 * US, 3, "which the next takes back");
    lease(&bench, 800 * MS);
    is_near(hop_ns(&bench), 500 * US, 3, "no network takes 800 ms: somebody was stopped");
    for (uint32_t i = 0; i < 20; i++)
        lease(&bench, trip_of(2000));
    is_near(hop_ns(&bench), 2000 * US, 3, "what has become slow is believed after some heartbeats");
    lease(&bench, trip_of(20));
    is_near(hop_ns(&bench), 20 * US, 5, "what is fast at once");
    bench_close(&bench);
}

static void test_rates(void)
{
    struct bench bench;

    open_child(&bench);
    for (uint32_t i = 0; i < 4; i++)
        stream(&bench, 10000);
    stream(&bench, 0);
    is_near(byte_ps(&bench), 10000, 3, "a stream that comes all at once does not count");
    for (uint32_t i = 0; i < 3; i++)
        stream(&bench, 900000);
    stream(&bench, 10000);
    is_near(byte_ps(&bench), 10000, 3, "nor do three that were held up");
    for (uint32_t i = 0; i < 5; i++)
        stream(&bench, 300);
    is_near(byte_ps(&bench), 300, 3, "five streams tell what has changed");
    measure_rate(bench.overlay, STREAM_BYTES, 10, STREAM_BYTES);
    for (uint32_t i = 0; i < 4; i++)
        measure_rate(bench.overlay, STREAM_BYTES, 10, STREAM_BYTES);
    is_near(byte_ps(&bench), 1000 - 1000 * 2 * 10 * MESSAGE_US * US / STREAM_BYTES, 3,
            "the CPU of chunks is not the bytes'");
    bench_close(&bench);
}

static void test_bounds(void)
{
    struct bench bench;

    open_child(&bench);
    for (uint32_t i = 0; i < MEASURE_RATES; i++)
        stream(&bench, 0);
    lease(&bench, 0);
    ok(byte_ps(&bench) >= 10 && hop_ns(&bench) >= 200, "nothing takes no time (%llu ps, %llu ns)",
       (unsigned long long)byte_ps(&bench), (unsigned long long)hop_ns(&bench));
    for (uint32_t i = 0; i < MEASURE_RATES; i++)
        measure_rate(bench.overlay, 1, 0, UINT64_MAX / 2);
    for (uint32_t i = 0; i < 100; i++)
        lease(&bench, 60 * MS);
    ok(byte_ps(&bench) <= 1000000 && hop_ns(&bench) <= 10 * MS, "nor for ever (%llu ps, %llu ns)",
       (unsigned long long)byte_ps(&bench), (unsigned long long)hop_ns(&bench));
    bench_close(&bench);
}

static void test_another_parent(void)
{
    struct bench bench;

    open_child(&bench);
    stream(&bench, 1000);
    lease(&bench, trip_of(20));
    bench_step(&bench, (struct overlay_event){
                           .kind = OVERLAY_EVENT_DOWN, .place = 0, .loss = ENDPOINT_LOSS_UNKNOWN});
    bench.now_ns += 100 * MS;
    for (uint32_t i = 0; i < 100 && bench_find(&bench, OVERLAY_ACTION_CONNECT) == NULL; i++) {
        bench.now_ns += 10 * MS;
        bench_step(&bench, (struct overlay_event){.kind = OVERLAY_EVENT_TIMER});
    }
    bench_welcome(&bench, 0, 1, 3, 0, 0);
    is_uint(hop_ns(&bench), HOP_US_DEFAULT * US, "of a new link up nothing is known");
    lease(&bench, trip_of(2000));
    is_near(hop_ns(&bench), 2000 * US, 3, "until its first heartbeat");
    bench_close(&bench);
}

/* ---- what a meeting point does with what it is told ---- */

#define PIECE_BYTES (128u * 1024)

/* What a place would say that has measured this. */
static struct measured measured_as(uint64_t hop_us, uint64_t ps)
{
    struct measured usual;
    struct bench bench;

    open_child(&bench);
    stream(&bench, ps);
    lease(&bench, trip_of(hop_us));
    usual = measure_usual(bench.overlay);
    bench_close(&bench);
    return usual;
}

static void say_measured(struct bench *bench, uint32_t from, struct measured measured)
{
    struct frame frame;

    overlay_encode_lease_echo(&(struct overlay_lease_echo){bench->now_ns + MS, measured}, &frame);
    bench_step_frame(bench, from, &frame);
}

static void say_sized(struct bench *bench, uint32_t from, const struct operation_name *key)
{
    struct range items[] = {{1, 6}};
    struct buffer size = {0};
    struct overlay_contribute contribute = {.key = *key,
                                            .set = {.items = items, .count = 1},
                                            .state = OVERLAY_PART_SIZED,
                                            .low = key->generation};
    struct frame frame;

    wire_put_varint(&size, PIECE_BYTES);
    contribute.payload = (struct wire_bytes){size.data, size.length_bytes};
    overlay_encode_contribute(&contribute, 0, &frame);
    bench_step_frame(bench, from, &frame);
    buffer_fini(&size);
}

/* The root of 7 decides for 2 x 128 KiB when both children have told what they measured. */
static struct stream_go choice(struct measured first, struct measured second)
{
    static const struct operation_name key = {.set_id = 9, .generation = 1, .owner = 9};
    struct stream_go go = {.total_bytes = 0};
    const struct frame *sent;
    struct bench bench;

    bench_open(&bench, 0, 7);
    bench_adopt(&bench, 1, 1, 3, 7);
    bench_adopt(&bench, 4, 4, 6, 7);
    say_measured(&bench, 1, first);
    say_measured(&bench, 4, second);
    say_sized(&bench, 1, &key);
    say_sized(&bench, 4, &key);
    sent = bench_sent(&bench, 1, OVERLAY_GO);
    if (ok(sent != NULL, "both have said what they have: GO"))
        is_int(stream_decode_go(sent, &go), 0, "it can be read");
    stream_go_fini(&go);
    bench_close(&bench);
    return go;
}

static void test_choice(void)
{
    struct measured slow = measured_as(50, 10000);
    struct measured far = measured_as(5000, 1000);
    struct measured nothing = {.trip = 0};
    struct measured absurd = {.trip = UINT8_MAX, .rate = UINT8_MAX};
    struct stream_go go = choice(nothing, nothing);
    uint32_t chunk_bytes = go.chunk_bytes;

    is_uint(go.algorithm, STREAM_MAIN_TREE, "unmeasured, 256 KiB go the main tree");
    go = choice(slow, slow);
    ok(go.algorithm != STREAM_MAIN_TREE, "at 10 ns a byte no place sends them several times");
    ok(go.chunk_bytes < chunk_bytes, "and chunks are smaller (%u, %u bytes)", go.chunk_bytes,
       chunk_bytes);
    ok(choice(slow, absurd).algorithm != STREAM_MAIN_TREE,
       "one child that tells nonsense changes nothing");
    is_uint(choice(far, far).algorithm, STREAM_MAIN_TREE,
            "at 5 ms a hop links are not worth opening");
}

/* ---- a tree ---- */

#define PLACES  15
#define HOP_US  500
#define BYTE_PS 10000
/* Of a place: in so much the ways do not matter. */
#define MUCH_BYTES (512u * 1024)

struct world {
    struct cluster *cluster;
    uint32_t results;
    uint32_t generation;
    bool complete;
};

static void merge_all(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static void on_complete(struct cluster *cluster)
{
    ((struct world *)cluster->config.context)->complete = true;
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    (void)place;
    (void)key;
    (void)lost;
    if (status == 0 && payload != NULL && payload->length_bytes == PLACES * MUCH_BYTES)
        ((struct world *)cluster->config.context)->results++;
}

static void wait_ms(struct world *world, uint64_t ms)
{
    struct virtual_network *sim = world->cluster->sim;

    virtual_network_run_until(sim, virtual_network_now_ns(sim) + ms * MS);
}

static void world_open(struct world *world)
{
    static endpoint_merge_function *const merges[] = {merge_all};
    static const struct cluster_events events = {.complete = on_complete, .result = on_result};
    struct cluster_config config = {.radix = 2,
                                    .merges = merges,
                                    .merges_count = 1,
                                    .events = &events,
                                    .context = world,
                                    .sim = {.places = PLACES,
                                            .seed = 1,
                                            .latency_ns = HOP_US * US,
                                            .network = {.send_byte_ps = BYTE_PS,
                                                        .receive_byte_ps = BYTE_PS,
                                                        .cpu_send_ns = MESSAGE_US * US,
                                                        .cpu_receive_ns = MESSAGE_US * US}}};

    *world = (struct world){.cluster = cluster_create(&config)};
    for (uint32_t place = 0; place < PLACES; place++)
        cluster_start(world->cluster, place);
    for (uint32_t i = 0; i < 100 && !world->complete; i++)
        wait_ms(world, 100);
    ok(world->complete, "all are there");
}

static void exchange_begin(struct world *world)
{
    struct operation_name key = {.set_id = 7, .generation = ++world->generation, .owner = 7};
    struct range items[] = {{0, PLACES - 1}};
    struct ranges set = {.items = items, .count = 1};
    static unsigned char data[MUCH_BYTES];

    world->results = 0;
    for (uint32_t place = 0; place < PLACES; place++)
        endpoint_contribute(world->cluster->places[place].node, &key, &set,
                            message_create(data, sizeof(data)));
}

static void exchange_end(struct world *world)
{
    for (uint32_t i = 0; i < 100 && world->results < PLACES; i++)
        wait_ms(world, 100);
    is_uint(world->results, PLACES, "everyone has everything");
}

/* At the root and two others who may have to decide.  Bytes take what they take in a stream: ports are
 * shared by two trees, and are idle at its ends. */
static void check_learned(const struct world *world, const char *when)
{
    static const uint32_t deciders[] = {0, 1, 8};

    for (uint32_t i = 0; i < sizeof(deciders) / sizeof(deciders[0]); i++) {
        struct endpoint_costs costs = endpoint_costs_now(world->cluster->places[deciders[i]].node);

        diag("%s, place %u:", when, deciders[i]);
        is_near(costs.hop_ns, HOP_US * US, 10, "ns a hop");
        is_near(costs.byte_ps, BYTE_PS, 30, "ps a byte");
    }
}

static void test_tree(void)
{
    struct world world;

    world_open(&world);
    for (uint32_t i = 0; i < 5; i++) {
        exchange_begin(&world);
        exchange_end(&world);
        wait_ms(&world, 1000);
    }
    wait_ms(&world, 4000);
    check_learned(&world, "learned");
    for (uint32_t place = 1; place < PLACES; place += 7) {
        virtual_network_stop(world.cluster->sim,
                             place); /* 1 and 8, with whom everybody has to do */
        wait_ms(&world, 1030);
        virtual_network_continue(world.cluster->sim, place);
    }
    exchange_begin(&world);
    wait_ms(&world, 5);
    virtual_network_stop(world.cluster->sim, 1);
    wait_ms(&world, 700);
    virtual_network_continue(world.cluster->sim, 1);
    exchange_end(&world);
    check_learned(&world, "just after stops");
    wait_ms(&world, 4000);
    check_learned(&world, "some heartbeats after stops");
    cluster_destroy(world.cluster);
}

int main(void)
{
    test_nothing_known();
    test_trips();
    test_rates();
    test_bounds();
    test_another_parent();
    test_choice();
    test_tree();
    return done_testing();
}
