/* SPDX-License-Identifier: BSD-3-Clause */
/* What befalls places of an explored world beside death: they are stopped, links break. */
#include "config.h"

#include "test/soak/explore_internal.h"

/* Who is stopped for less is not harmed, nor is anybody below. */
#define STOP_NS (EXPLORE_LEASE_NS / 2 - EXPLORE_OFTEN_NS * 3 / 2)

static bool may_break(uint32_t place, uint32_t peer)
{
    return world->places[place].ends[peer].state == END_UP &&
           world->places[peer].ends[place].state == END_UP &&
           world_end_other(place, peer) != NULL && !world->places[place].ends[peer].down &&
           !world->places[peer].ends[place].down;
}

void trouble_choices(struct choice *choices, uint32_t *count)
{
    const struct scenario *scenario = world->scenario;

    for (uint8_t place = 0; place < world_capacity() && world->stops > 0; place++) {
        if (world_is_alive(place) && scenario->root_may_die == (place == 0))
            choice_add(choices, count, (struct choice){.kind = CHOICE_STOP, .place = place});
    }
    for (uint8_t place = 0; place < world_capacity() && world->breaks > 0; place++) {
        for (uint8_t peer = place + 1; peer < world_capacity(); peer++) {
            if (may_break(place, peer))
                choice_add(choices, count,
                           (struct choice){.kind = CHOICE_BREAK, .place = place, .peer = peer});
        }
    }
}

/* Who is stopped goes on when the others have nothing left to do but to wait. */
void trouble_continue_choices(struct choice *choices, uint32_t *count)
{
    for (uint8_t place = 0; place < world_capacity(); place++) {
        if (world->places[place].stopped)
            choice_add(choices, count, (struct choice){.kind = CHOICE_CONTINUE, .place = place});
    }
}

bool trouble_is_stopped(void)
{
    for (uint32_t place = 0; place < world_capacity(); place++) {
        if (world->places[place].stopped)
            return true;
    }
    return false;
}

void trouble_stop(uint32_t place)
{
    world->stops--;
    world->places[place].stopped = true;
    world->stopped_ns = world->now_ns;
}

/* Who is stopped for long may count as dead; if it is the root, everybody may. */
static void note_stop(uint32_t place)
{
    if (world->now_ns - world->stopped_ns <= STOP_NS)
        return;
    for (uint32_t other = 1; other < world_capacity(); other++) {
        if (other == place || place == 0)
            checker_troubled(&world->checker, other, world->now_ns);
    }
}

void trouble_time_passes(void)
{
    for (uint32_t place = 0; place < world_capacity(); place++) {
        if (world->places[place].stopped)
            note_stop(place);
    }
}

void trouble_continue(uint32_t place)
{
    world->places[place].stopped = false;
    note_stop(place);
}

/* Whose link to its parent breaks may count as dead. */
void trouble_break(uint32_t place, uint32_t peer)
{
    world->breaks--;
    if (overlay_parent(world->places[peer].overlay) == place)
        checker_troubled(&world->checker, peer, world->now_ns);
    if (overlay_parent(world->places[place].overlay) == peer)
        checker_troubled(&world->checker, place, world->now_ns);
    for (uint32_t i = 0; i < 2; i++) {
        struct end *end =
            i == 0 ? &world->places[place].ends[peer] : &world->places[peer].ends[place];

        end->down = true;
        end->is_cut = true;
    }
}
