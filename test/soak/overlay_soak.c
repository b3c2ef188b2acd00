/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random worlds: trees of 2 to 5,000 places with delays and deaths, in which every place runs a
 * program of exchanges and gathers over random sets, the root broadcasts, places ask each other, in
 * every second world places come and leave.  Places die, are stopped and go on, links break and are
 * slow; when all is at rest it begins again, at an awkward time.  A checker that knows nothing of the
 * code under test looks at what they were told.
 *
 *     SEEDS=n  so many worlds (default 2,000)      SEED=s  this one only
 *     TRACE=1  print every frame                  PLACES=n  this size
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "overlay/overlay_print.h"
#include "overlay/overlay_wire.h"
#include "test/soak/soak.h"
#include "test/support/tap.h"

#ifdef BANYAN_SANITIZED
#define SEEDS_DEFAULT 200 /* the sanitizers look at the code, not at the protocol */
#else
#define SEEDS_DEFAULT 2000
#endif
#define HORIZON_NS (90000 * MS)

static void print_fact(uint64_t now_ns, enum virtual_network_fact fact, uint32_t from, uint32_t to,
                       const struct frame *frame)
{
    static const char *const facts[] = {
        [VIRTUAL_NETWORK_FACT_UP] = "up",
        [VIRTUAL_NETWORK_FACT_DOWN] = "down",
        [VIRTUAL_NETWORK_FACT_KILL] = "KILLED",
        [VIRTUAL_NETWORK_FACT_STOP] = "STOPPED",
        [VIRTUAL_NETWORK_FACT_CONTINUE] = "CONTINUES",
    };
    struct buffer line = {0};

    if (fact == VIRTUAL_NETWORK_FACT_SEND &&
        (frame->type == OVERLAY_LEASE || frame->type == OVERLAY_LEASE_ECHO))
        return;
    buffer_printf(&line, "%.3fms %u -> %u ", (double)now_ns / 1e6, from, to);
    if (fact == VIRTUAL_NETWORK_FACT_SEND)
        overlay_print(frame, &line);
    else
        buffer_append_string(&line, facts[fact]);
    fprintf(stderr, "%s\n", buffer_string(&line));
    buffer_fini(&line);
}

static void on_fact(void *context, uint64_t now_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    struct world *world = context;

    if (world->is_traced)
        print_fact(now_ns, fact, from, to, frame);
    if (fact == VIRTUAL_NETWORK_FACT_SEND)
        plan_ambush(world, from, to, frame->type);
    if (fact == VIRTUAL_NETWORK_FACT_SEND && frame->type == OVERLAY_LATERAL &&
        world->lateral_ns == 0)
        world->lateral_ns = now_ns;
    if (fact == VIRTUAL_NETWORK_FACT_SEND && frame->type == OVERLAY_CHUNK)
        plan_break(world, from, to);
}

static void run(struct world *world, uint64_t more_ns)
{
    uint64_t until_ns = virtual_network_now_ns(world->cluster->sim) + more_ns;

    while (virtual_network_now_ns(world->cluster->sim) < until_ns && world->failure[0] == '\0') {
        uint64_t next_ns = virtual_network_now_ns(world->cluster->sim) + 100 * MS;

        virtual_network_run_until(world->cluster->sim, next_ns < until_ns ? next_ns : until_ns);
        plan_forget_some(world);
    }
}

/* Until everything has been told, or too late. */
static void run_until_quiet(struct world *world)
{
    uint64_t until_ns = virtual_network_now_ns(world->cluster->sim) + HORIZON_NS;

    run(world, 400 * MS);
    while (!check_is_quiet(world) && world->failure[0] == '\0' &&
           virtual_network_now_ns(world->cluster->sim) < until_ns)
        run(world, 500 * MS);
    check_healed(world);
}

static void soak_one(struct world *world, uint64_t seed)
{
    world_init(world, seed);
    world->is_traced = getenv("TRACE") != NULL;
    virtual_network_set_trace(world->cluster->sim, on_fact, world);
    run_until_quiet(world);
    for (; world->rounds > 0 && world->failure[0] == '\0'; world->rounds--) {
        run(world, round_pause_ns(world));
        plan_round(world);
        run_until_quiet(world);
    }
    run(world, REST_NS);
    if (world->failure[0] == '\0')
        check_rest(world);
    if (world->failure[0] == '\0' && world_survives(world, 0))
        plan_forget(world);
    run(world, 1500 * MS);
    if (world->failure[0] == '\0')
        check_all(world);
    if (world->failure[0] == '\0' && world_survives(world, 0))
        check_forgotten(world);
    if (world->failure[0] == '\0') {
        plan_leave(world);
        run(world, world->ambushes_count > 0 ? 20000 * MS : 1000 * MS);
        check_left(world);
    }
}

static uint64_t number_of_env(const char *name, uint64_t fallback)
{
    return getenv(name) != NULL ? strtoull(getenv(name), NULL, 10) : fallback;
}

int main(void)
{
    static struct world world;
    uint64_t first = number_of_env("SEED", 1);
    uint64_t count = number_of_env("SEEDS", getenv("SEED") != NULL ? 1 : SEEDS_DEFAULT);
    uint64_t failures = 0;
    uint64_t deaths = 0;
    uint64_t places = 0;
    uint64_t frames = 0;
    uint64_t grown = 0;
    uint64_t left = 0;

    for (uint64_t seed = first; seed < first + count && failures < 5; seed++) {
        soak_one(&world, seed);
        if (world.failure[0] != '\0') {
            failures++;
            diag("seed %llu (%u places, radix %u) at %.3f ms: %s", (unsigned long long)seed,
                 world.places, world.radix,
                 (double)virtual_network_now_ns(world.cluster->sim) / 1e6, world.failure);
            diag("replay: SEED=%llu TRACE=1 test/soak/overlay_soak.t", (unsigned long long)seed);
        }
        deaths += ranges_count(&world.killed);
        places += world.places;
        grown += world.population - world.places;
        left += ranges_count(&world.left);
        frames += virtual_network_frames_sent(world.cluster->sim);
        world_fini(&world);
    }
    diag("%llu worlds, %llu places, %llu new ones, %llu asked to leave, %llu deaths, %llu frames",
         (unsigned long long)count, (unsigned long long)places, (unsigned long long)grown,
         (unsigned long long)left, (unsigned long long)deaths, (unsigned long long)frames);
    is_uint(failures, 0, "no violation in %llu worlds from seed %llu", (unsigned long long)count,
            (unsigned long long)first);
    return done_testing();
}
