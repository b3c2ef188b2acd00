/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated world's network and faults against figures that can be computed by hand: what one
 * frame costs, how ports, uplinks and cores are shared, what passes what, and who is never let in.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/message.h"
#include "fabric/virtual_network.h"
#include "test/support/tap.h"

#define US         1000ull
#define MS         (1000 * US)
#define SLOTS      8u
#define FRAMES_MAX 64u

struct arrival {
    uint64_t now_ns;
    uint32_t to;
    uint32_t from;
    uint32_t stream;
    uint32_t bytes;
    uint8_t class;
    uint8_t type;
};

struct world {
    struct virtual_network *sim;
    struct virtual_network_config config;
    struct place {
        struct world *world;
        uint32_t slot;
        uint32_t up;
        uint32_t down;
        int code; /* of the last down, */
        uint64_t down_ns;
        uint32_t echoes; /* frames that are sent to place 0 for each that comes */
    } places[SLOTS];
    struct arrival arrivals[FRAMES_MAX];
    uint32_t count;
    uint32_t worked;
};

static void send(struct world *world, uint32_t from, uint32_t to, enum frame_class class,
                 uint32_t stream, size_t bytes)
{
    struct buffer payload = {0};
    struct frame frame = {.type = 20, .class = class, .stream = stream};

    while (payload.length_bytes < bytes - FRAME_HEADER_BYTES)
        buffer_append(&payload, "x", 1);
    frame.payload = message_from_buffer(&payload);
    virtual_network_transport_ops()->send(virtual_network_transport(world->sim, from), to, &frame);
    buffer_fini(&payload);
}

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    struct place *at = context;

    (void)place;
    (void)incarnation;
    at->up++;
}

static void on_down(void *context, uint32_t place, const struct error *why)
{
    struct place *at = context;

    (void)place;
    at->down++;
    at->code = why->code;
    at->down_ns = virtual_network_now_ns(at->world->sim);
}

static void on_frame(void *context, uint32_t place, const struct frame *frame)
{
    struct place *at = context;
    struct world *world = at->world;

    world->arrivals[world->count++] =
        (struct arrival){.now_ns = virtual_network_now_ns(world->sim),
                         .to = at->slot,
                         .from = place,
                         .stream = frame->stream,
                         .bytes = (uint32_t)frame->payload->length_bytes + FRAME_HEADER_BYTES,
                         .class = frame->class,
                         .type = frame->type};
    for (uint32_t i = 0; i < at->echoes; i++)
        send(world, at->slot, place, FRAME_CONTROL, 100 + i, 100);
}

static void on_timer(void *context)
{
    (void)context;
}

static const struct transport_events events = {.up = on_up,
                                               .down = on_down,
                                               .frame = on_frame,
                                               .timer = on_timer};

static void connect_to(struct world *world, uint32_t from, uint32_t to)
{
    virtual_network_transport_ops()->connect(virtual_network_transport(world->sim, from), to, NULL);
}

/* Everyone is linked to place 0, and that is over. */
static void open_world(struct world *world, const struct virtual_network_config *config)
{
    memset(world, 0, sizeof *world);
    world->config = *config;
    world->config.places = SLOTS;
    world->sim = virtual_network_create(&world->config);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        world->places[slot].world = world;
        world->places[slot].slot = slot;
        virtual_network_attach(world->sim, slot, 1, &events, &world->places[slot]);
    }
    for (uint32_t slot = 1; slot < SLOTS; slot++)
        connect_to(world, slot, 0);
    virtual_network_run_until(world->sim, 1000 * MS);
}

static uint64_t since_ns(const struct world *world, uint32_t arrival)
{
    return world->arrivals[arrival].now_ns - 1000 * MS;
}

static void run(struct world *world)
{
    virtual_network_run_until(world->sim, virtual_network_now_ns(world->sim) + 1000 * MS);
}

static void test_bytes(void)
{
    struct virtual_network_config config = {
        .latency_ns = 50 * US, .network = {.send_byte_ps = 1000, .receive_byte_ps = 2000}};
    struct world world;

    open_world(&world, &config);
    send(&world, 1, 2, FRAME_CONTROL, 0, 100);
    is_uint(virtual_network_frames_sent(world.sim), 0, "nothing is sent where there is no link");
    send(&world, 1, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 0), 50 * US + 20 * US, "a frame costs its bytes once, where slowest");
    virtual_network_destroy(world.sim);

    open_world(&world, &config);
    for (uint32_t from = 1; from < 5; from++)
        send(&world, from, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 3), 50 * US + 4 * 20 * US, "four senders share the receiver's port");
    virtual_network_destroy(world.sim);

    open_world(&world, &config);
    for (uint32_t to = 1; to < 5; to++)
        send(&world, 0, to, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 3), 50 * US + 3 * 10 * US + 20 * US, "and receivers the sender's");
    virtual_network_destroy(world.sim);

    open_world(&world, &config);
    virtual_network_set_slow(world.sim, 1, 3);
    send(&world, 1, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 0), 50 * US + 30 * US, "a slow node takes its time");
    virtual_network_destroy(world.sim);
}

static void test_turns(void)
{
    struct virtual_network_config config = {.latency_ns = 0, .network = {.send_byte_ps = 1000}};
    struct world world;

    open_world(&world, &config);
    send(&world, 0, 1, FRAME_BULK, 1, 1048576);
    send(&world, 0, 1, FRAME_BULK, 2, 65536);
    send(&world, 0, 2, FRAME_BULK, 3, 65536);
    send(&world, 0, 1, FRAME_CONTROL, 4, 100);
    run(&world);
    is_uint(world.count, 4, "four frames come");
    is_uint(world.arrivals[0].stream, 4, "control passes bulk");
    is_uint(since_ns(&world, 0), 65536 + 100, "after one chunk of it");
    is_uint(world.arrivals[1].stream, 3, "another link has its turn");
    is_uint(since_ns(&world, 1), 3 * 65536 + 100, "after a chunk each");
    is_uint(world.arrivals[2].stream, 1, "a link keeps the order of its frames");
    is_uint(since_ns(&world, 3), 18 * 65536 + 100, "and no time is lost");
    virtual_network_destroy(world.sim);

    open_world(&world, &config);
    send(&world, 1, 0, FRAME_BULK, 1, 1048576);
    virtual_network_transport_ops()->close(virtual_network_transport(world.sim, 1), 0);
    run(&world);
    ok(world.count == 1 && world.places[0].down == 1, "what was sent before a close comes first");
    virtual_network_destroy(world.sim);
}

static void test_uplinks(void)
{
    struct virtual_network_config config = {.latency_ns = 10 * US,
                                            .network = {.send_byte_ps = 1000,
                                                        .receive_byte_ps = 1000,
                                                        .switch_places = 4,
                                                        .uplink_byte_ps = 2000,
                                                        .uplink_latency_ns = 5 * US}};
    struct world world;

    open_world(&world, &config);
    send(&world, 1, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 0), 20 * US, "below a switch nothing else counts");
    send(&world, 4, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 1) - 1000 * MS, 15 * US + 20 * US, "the uplink is slower and longer");
    connect_to(&world, 5, 1);
    run(&world);
    send(&world, 4, 0, FRAME_BULK, 0, 10000);
    send(&world, 5, 1, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 3) - 3000 * MS, 15 * US + 40 * US, "two pairs of places share it");
    virtual_network_destroy(world.sim);
}

/* top - left (places 0, 1), right - low (places 2, 3), right (places 4 and on): virtual_network_way.c. */
static const struct virtual_network_switch switches[] = {
    {.parent = VIRTUAL_NETWORK_NO_SWITCH, .across_latency_ns = 7 * US},
    {.parent = 0,
     .depth = 1,
     .up_byte_ps = 2000,
     .down_byte_ps = 1000,
     .up_latency_ns = 5 * US,
     .down_latency_ns = 4 * US},
    {.parent = 0,
     .depth = 1,
     .up_byte_ps = 3000,
     .down_byte_ps = 3000,
     .up_latency_ns = 3 * US,
     .down_latency_ns = 3 * US},
    {.parent = 2,
     .depth = 2,
     .up_byte_ps = 4000,
     .down_byte_ps = 500,
     .up_latency_ns = 1 * US,
     .down_latency_ns = 2 * US},
};
static const struct virtual_network_port_at ports[] = {{.top = 1, .down_latency_ns = 1 * US},
                                                       {.top = 1},
                                                       {.top = 3},
                                                       {.top = 3},
                                                       {.top = 2}};

static void test_fabric(void)
{
    static const struct virtual_network_fabric fabric = {
        .switches = switches, .switches_count = 4, .ports = ports, .ports_count = 5};
    struct virtual_network_config config = {
        .latency_ns = 10 * US,
        .network = {.send_byte_ps = 1000, .receive_byte_ps = 1000, .fabric = &fabric}};
    struct world world;

    open_world(&world, &config);
    send(&world, 1, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 0), 10 * US + 1 * US + 10 * US, "below a switch no link counts");
    send(&world, 2, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 1) - 1000 * MS, (10 + 1 + 3 + 7 + 4 + 1) * US + 40 * US,
            "across the top: the latencies of all, the bytes at the slowest");
    send(&world, 7, 0, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 2) - 2000 * MS, (10 + 3 + 7 + 4 + 1) * US + 30 * US,
            "places that are not listed are where the last one is");
    connect_to(&world, 3, 4);
    connect_to(&world, 5, 1);
    run(&world);
    send(&world, 2, 0, FRAME_BULK, 0, 10000);
    send(&world, 3, 4, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 3) - 4000 * MS, (10 + 1 + 3 + 7 + 4 + 1) * US + 40 * US,
            "what was first at the lowest link goes further");
    is_uint(since_ns(&world, 4) - 4000 * MS, (10 + 1) * US + 80 * US,
            "and shares it with what goes up one level only");
    send(&world, 4, 0, FRAME_BULK, 0, 10000);
    send(&world, 5, 1, FRAME_BULK, 0, 10000);
    run(&world);
    is_uint(since_ns(&world, 6) - 5000 * MS, (10 + 3 + 7 + 4) * US + 60 * US,
            "two senders share the link up");
    virtual_network_destroy(world.sim);
}

static void count_work(void *context, uint64_t argument)
{
    struct world *world = context;

    world->worked += (uint32_t)argument;
}

static void test_cpu(void)
{
    struct virtual_network_config config = {
        .latency_ns = 50 * US,
        .network = {.cpu_send_ns = 5 * US, .cpu_receive_ns = 4 * US, .cpu_receive_byte_ps = 10000}};
    struct world world;

    open_world(&world, &config);
    send(&world, 1, 0, FRAME_CONTROL, 0, 100);
    run(&world);
    is_uint(since_ns(&world, 0), 5 * US + 50 * US + 5 * US, "a message costs both ends their time");
    virtual_network_destroy(world.sim);

    open_world(&world, &config);
    for (uint32_t from = 1; from < 5; from++)
        send(&world, from, 0, FRAME_CONTROL, 0, 100);
    world.places[0].echoes = 2;
    run(&world);
    is_uint(world.count, 12, "each is answered twice");
    is_uint(world.arrivals[1].now_ns - world.arrivals[0].now_ns, 15 * US,
            "the next is received when the answers are out");
    virtual_network_destroy(world.sim);

    open_world(&world, &config);
    virtual_network_work(world.sim, 3, 1000 * MS, 7 * US, count_work, &world, 1);
    virtual_network_work(world.sim, 3, 1000 * MS, 7 * US, count_work, &world, 10);
    virtual_network_run_until(world.sim, 1000 * MS + 10 * US);
    is_uint(world.worked, 1, "work of a place is done one after the other");
    virtual_network_kill(world.sim, 3);
    virtual_network_attach(world.sim, 3, 2, &events, &world.places[3]);
    run(&world);
    is_uint(world.worked, 1, "and not after its death, even if it comes back");
    virtual_network_destroy(world.sim);

    config.network.cores = 2;
    open_world(&world, &config);
    for (uint32_t slot = 0; slot < 5; slot++)
        virtual_network_work(world.sim, slot, 1000 * MS, 10 * US, count_work, &world, 1);
    virtual_network_run_until(world.sim, 1000 * MS + 25 * US);
    is_uint(world.worked, 4, "places share two cores");
    run(&world);
    is_uint(world.worked, 5, "in turn");
    virtual_network_destroy(world.sim);
}

/* What one write carries is read at once; who has slept, and whose caches others had, takes longer. */
static void test_wakes(void)
{
    struct virtual_network_config config = {
        .latency_ns = 50 * US,
        .network = {.cpu_wake_ns = 10 * US, .cpu_read_ns = 4 * US, .cpu_write_ns = 3 * US}};
    struct world world;
    uint64_t before_ns;

    open_world(&world, &config);
    before_ns = virtual_network_cpu_used(world.sim).time_ns;
    send(&world, 1, 0, FRAME_CONTROL, 0, 100);
    send(&world, 1, 0, FRAME_CONTROL, 1, 100);
    run(&world);
    is_uint(since_ns(&world, 0), (3 + 50 + 10 + 4) * US, "a frame: write, hop, wake up, read");
    is_uint(world.arrivals[1].now_ns, world.arrivals[0].now_ns,
            "another in the same write: nothing");
    is_uint(virtual_network_cpu_used(world.sim).time_ns - before_ns, (3 + 10 + 4) * US,
            "that is what the cores did");
    virtual_network_destroy(world.sim);

    config.network.cores = 1;
    config.network.cpu_cold_ns = 60 * US;
    config.network.cache_places = 2;
    open_world(&world, &config);
    for (uint32_t slot = 0; slot < 3; slot++)
        virtual_network_work(world.sim, slot, 1000 * MS, 1 * US, count_work, &world, 1);
    run(&world);
    virtual_network_work(world.sim, 2, 3000 * MS, 1 * US, count_work, &world, 1);
    virtual_network_work(world.sim, 0, 4000 * MS, 1 * US, count_work, &world, 1);
    virtual_network_run_until(world.sim, 3000 * MS + 11 * US);
    is_uint(world.worked, 4, "nobody has come between");
    virtual_network_run_until(world.sim, 4000 * MS + 11 * US + 35 * US);
    is_uint(world.worked, 4, "three have: of what two places fill");
    virtual_network_run_until(world.sim, 4000 * MS + 11 * US + 36 * US);
    is_uint(world.worked, 5, "three fifths are gone");
    virtual_network_destroy(world.sim);
}

static void test_partition(void)
{
    struct virtual_network_config config = {.latency_ns = 50 * US};
    struct world world;

    open_world(&world, &config);
    virtual_network_set_side(world.sim, 1, 1);
    virtual_network_set_blocked(world.sim, 1, 0, 1);
    send(&world, 1, 0, FRAME_CONTROL, 1, 100);
    send(&world, 0, 1, FRAME_CONTROL, 2, 100);
    connect_to(&world, 1, 2);
    connect_to(&world, 3, 1);
    run(&world);
    ok(world.count == 1 && world.arrivals[0].stream == 2, "one way is blocked, the other is not");
    virtual_network_run_until(world.sim, 7000 * MS);
    ok(world.places[1].down == 2 && world.places[3].down == 1, "no attempt to connect lasts");
    send(&world, 1, 0, FRAME_CONTROL, 3, 100);
    virtual_network_transport_ops()->close(virtual_network_transport(world.sim, 1), 0);
    virtual_network_set_blocked(world.sim, 1, 0, 0);
    run(&world);
    ok(world.count == 3 && world.arrivals[1].stream == 1 && world.arrivals[2].stream == 3,
       "what was held back comes in order");
    is_uint(world.places[0].down, 1, "then the close");
    virtual_network_destroy(world.sim);
}

static void test_strangers(void)
{
    struct virtual_network_config config = {.latency_ns = 50 * US, .strangers = 1};
    struct world world;
    struct place stranger = {.world = &world, .slot = SLOTS};

    open_world(&world, &config);
    virtual_network_attach_as(world.sim, SLOTS, 3, 1, &events, &stranger);
    connect_to(&world, SLOTS, 0);
    connect_to(&world, SLOTS, 5);
    run(&world);
    is_uint(stranger.down, 1, "who claims a place that has a link is refused");
    ok(stranger.up == 1 && world.places[5].up == 2, "where it has none he is taken for it");
    virtual_network_set_secret(world.sim, SLOTS, 1);
    connect_to(&world, SLOTS, 6);
    run(&world);
    ok(stranger.down == 2 && world.places[6].up == 1, "without the secret nobody hears of him");
    virtual_network_destroy(world.sim);
}

static void close_link(struct world *world, uint32_t from, uint32_t to)
{
    virtual_network_transport_ops()->close(virtual_network_transport(world->sim, from), to);
}

static void expect_attempt(struct world *world, uint32_t from, int code, uint64_t lasted_ns,
                           const char *what)
{
    const struct place *place = &world->places[from];
    uint64_t begin_ns = virtual_network_now_ns(world->sim);
    uint32_t down = place->down;

    connect_to(world, from, 6);
    run(world);
    virtual_network_run_until(world->sim, begin_ns + 4000 * MS);
    ok(place->down == down + 1 && place->code == code && place->down_ns - begin_ns == lasted_ns,
       "%s: %d after %.1f ms", what, place->code, (double)(place->down_ns - begin_ns) / 1e6);
}

/* As links of a real network do (test/unit/fabric/link.c). */
static void test_attempts(void)
{
    struct virtual_network_config config = {.latency_ns = 50 * US};
    struct world world;
    const struct place *places = world.places;

    open_world(&world, &config);
    connect_to(&world, 3, 5);
    connect_to(&world, 5, 3);
    run(&world);
    ok(places[3].up == 2 && places[5].up == 2 && places[3].down + places[5].down == 0,
       "two places that connect to each other at once get a link");
    send(&world, 5, 3, FRAME_CONTROL, 1, 100);
    send(&world, 3, 5, FRAME_CONTROL, 2, 100);
    run(&world);
    is_uint(world.count, 2, "and one only, over which both can speak");

    virtual_network_set_delay(world.sim, 5,
                              20 * MS); /* so it is heard of late that it has closed the link */
    close_link(&world, 5, 3);
    virtual_network_set_delay(world.sim, 5, 0);
    connect_to(&world, 5, 3);
    run(&world);
    ok(places[5].up == 3 && places[5].down == 0 && places[3].down == 1 && places[3].up == 3,
       "who is taken to have a link tries again");

    virtual_network_set_delay(world.sim, 5, 20 * MS); /* the same of its death */
    virtual_network_kill(world.sim, 5);
    virtual_network_set_delay(world.sim, 5, 0);
    virtual_network_attach(world.sim, 5, 2, &events, &world.places[5]);
    connect_to(&world, 5, 3);
    virtual_network_run_until(world.sim, virtual_network_now_ns(world.sim) + 1 * MS);
    ok(places[5].up == 4 && places[3].down == 2 && places[3].code == -ESTALE && places[3].up == 4,
       "a place that has come back replaces its old link");

    virtual_network_stop(world.sim, 6);
    expect_attempt(&world, 3, -ETIME, 3500 * MS, "to a place that is stopped");
    virtual_network_continue(world.sim, 6);
    virtual_network_kill(world.sim, 6);
    expect_attempt(&world, 3, -ECONNREFUSED, 100 * US, "to one that is dead");
    virtual_network_destroy(world.sim);
}

static void test_damage(void)
{
    struct virtual_network_config config = {.latency_ns = 50 * US};
    struct world world;

    open_world(&world, &config);
    virtual_network_damage(world.sim, 1, VIRTUAL_NETWORK_DAMAGE_TRUNCATE);
    send(&world, 1, 0, FRAME_CONTROL, 1, 100);
    send(&world, 1, 0, FRAME_CONTROL, 2, 100);
    virtual_network_set_delay(world.sim, 2, 30 * US);
    send(&world, 2, 0, FRAME_CONTROL, 3, 100);
    run(&world);
    ok(world.arrivals[0].bytes < 100 && world.arrivals[1].bytes == 100,
       "one frame is truncated, the next is whole");
    is_uint(since_ns(&world, 2), 80 * US, "what is delayed comes later");
    virtual_network_destroy(world.sim);
}

int main(void)
{
    test_bytes();
    test_turns();
    test_uplinks();
    test_fabric();
    test_cpu();
    test_wakes();
    test_partition();
    test_strangers();
    test_attempts();
    test_damage();
    return done_testing();
}
