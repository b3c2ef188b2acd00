/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every order of deliveries and every point of death, for trees of 3 to 5 places: a search in depth
 * over the choices of a small world (test/soak/explore.h), which goes on from each state once.  After
 * each step and at each end the checker (test/support/overlay_checker.h) says whether all was right.  Says
 * for each scenario how many states there are, how many orders of events lead through them, and
 * that the space is exhausted.
 *
 *     EXPLORE=full   the larger scenarios too     EXPLORE=NAME   this one only
 *     EXPLORE_SECONDS=n  as much as can be done in that time (explore_search.h)
 *     EXPLORE_PATH=1,0,2  with a NAME: follows these choices and prints what happens
 */
#include "config.h"

#include "test/soak/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/soak/explore_search.h"
#include "test/support/tap.h"

/* ---- the scenarios ---- */

struct row {
    struct scenario scenario;
    bool is_long; /* with EXPLORE=full only */
};

#define EXCHANGE(first, last)                    \
    {                                            \
        CALL_EXCHANGE, EVERYBODY, first, last, 1 \
    }
#define EXCHANGES(first, last, count)                \
    {                                                \
        CALL_EXCHANGE, EVERYBODY, first, last, count \
    }
#define LARGE(first, last)                              \
    {                                                   \
        CALL_EXCHANGE, EVERYBODY, first, last, 1, 16500 \
    }
#define LARGE_OF_FIRST(first, last)                           \
    {                                                         \
        CALL_EXCHANGE, EVERYBODY, first, last, 1, 16500, true \
    }
#define GATHER(first, last)                    \
    {                                          \
        CALL_GATHER, EVERYBODY, first, last, 1 \
    }
#define BROADCAST(first, last)         \
    {                                  \
        CALL_BROADCAST, 0, first, last \
    }
#define LARGE_BROADCAST(first, last)             \
    {                                            \
        CALL_BROADCAST, 0, first, last, 1, 72000 \
    }
#define CANCEL(place, first, last)      \
    {                                   \
        CALL_CANCEL, place, first, last \
    }
#define REQUEST(from, to)      \
    {                          \
        CALL_REQUEST, from, to \
    }

#define BROADCAST_ALL                   \
    {                                   \
        CALL_BROADCAST, 0, 0, EVERYBODY \
    }
#define GROW         \
    {                \
        CALL_GROW, 0 \
    }
#define SHRINK(first, last)         \
    {                               \
        CALL_SHRINK, 0, first, last \
    }

/* Name, places, radix, deaths, hurries. */
static const struct row rows[] = {
    {{"join-3", 3, 2, 2, .from_start = true}},
    {{"join-chain", 4, 3, 0, .from_start = true}},
    {{"join-5", 5, 2, 0, .from_start = true}},
    {{"join-hurry", 3, 2, 0, 1, .from_start = true}},
    {{"join-4", 4, 2, 1, .from_start = true}},
    {{"join-5-dies", 5, 2, 1, .from_start = true}, true},
    {{"broadcast-3", 3, 2, 1, .calls = {BROADCAST(0, 2), BROADCAST(1, 1), BROADCAST(2, 2)}}},
    {{"broadcast-4", 4, 2, 1, .calls = {BROADCAST(0, 3), BROADCAST(2, 2)}}},
    {{"broadcast-4-two-die", 4, 2, 2, .calls = {BROADCAST(0, 3), BROADCAST(2, 2)}}, true},
    {{"broadcast-5", 5, 2, 1, .calls = {BROADCAST(0, 4), BROADCAST(2, 2)}}, true},
    {{"broadcast-deep", 9, 2, 1, .absent = 5, .calls = {BROADCAST(0, 3), BROADCAST(3, 3)}}},
    {{"broadcast-deep-two-die", 9, 2, 2, .absent = 5, .calls = {BROADCAST(0, 3)}}, true},
    {{"heal-4", 4, 2, 3}},
    {{"heal-4-hurry", 4, 2, 1, 2}},
    {{"heal-5", 5, 2, 2}},
    {{"heal-5-three-die", 5, 2, 3}, true},
    {{"heal-chain-5", 5, 4, 2}},
    {{"heal-deep", 9, 2, 3, .absent = 5}},
    {{"heal-deep-5", 9, 2, 2, .absent = 4}, true},
    {{"exchange-3", 3, 2, 2, .calls = {EXCHANGE(0, 2)}}},
    {{"exchange-below", 4, 2, 2, .calls = {EXCHANGE(1, 2)}}},
    {{"exchange-row", 4, 2, 1, .calls = {EXCHANGES(1, 2, 3)}}},
    {{"exchange-no-root", 4, 2, 1, .calls = {EXCHANGE(1, 3)}}},
    {{"exchange-hurry", 4, 2, 1, 1, .calls = {EXCHANGE(1, 2)}}},
    {{"exchange-overlap", 4, 2, 0, .calls = {EXCHANGE(0, 2), EXCHANGE(1, 3)}}},
    {{"exchange-4", 4, 2, 1, .calls = {EXCHANGE(0, 3)}}},
    {{"exchange-5", 5, 2, 1, .calls = {EXCHANGE(0, 4)}}, true},
    {{"exchange-overlap-dies", 4, 2, 1, .calls = {EXCHANGE(0, 2), EXCHANGE(1, 3)}}, true},
    {{"exchange-inner", 7, 2, 1, .absent = 3, .calls = {EXCHANGE(1, 3)}}, true},
    {{"exchange-inner-two-die", 7, 2, 2, .absent = 3, .calls = {EXCHANGE(1, 3)}}, true},
    {{"exchange-inner-row", 7, 2, 1, .absent = 3, .calls = {EXCHANGES(1, 3, 2)}}, true},
    {{"exchange-deep", 9, 2, 1, .absent = 5, .calls = {EXCHANGE(1, 3)}}},
    {{"exchange-deep-two-die", 9, 2, 2, .absent = 5, .calls = {EXCHANGE(1, 3)}}, true},
    {{"exchange-deep-row", 9, 2, 1, .absent = 5, .calls = {EXCHANGES(1, 3, 2)}}, true},
    {{"cancel-3", 3, 2, 1, .calls = {EXCHANGES(0, 2, 2), CANCEL(2, 0, 2)}}},
    {{"cancel-below", 4, 2, 2, .calls = {EXCHANGE(1, 2), CANCEL(2, 1, 2)}}},
    {{"cancel-row", 4, 2, 1, .calls = {EXCHANGES(1, 2, 2), CANCEL(2, 1, 2)}}},
    {{"cancel-both", 4, 2, 1, .calls = {EXCHANGE(1, 2), CANCEL(EVERYBODY, 1, 2)}}},
    {{"cancel-no-root", 4, 2, 0, .calls = {EXCHANGES(1, 3, 2), CANCEL(2, 1, 3)}}},
    {{"cancel-inner", 7, 2, 1, .absent = 3, .calls = {EXCHANGE(1, 3), CANCEL(3, 1, 3)}}, true},
    {{"cancel-deep", 9, 2, 1, .absent = 5, .calls = {EXCHANGE(1, 3), CANCEL(3, 1, 3)}}, true},
    {{"cancel-large", 4, 2, 1, .is_patient = true, .calls = {LARGE(1, 2), CANCEL(1, 1, 2)}}},
    {{"slices-3", 3, 2, 2, .long_sets = true, .calls = {EXCHANGE(0, 2)}}},
    {{"slices-below", 4, 2, 2, .long_sets = true, .calls = {EXCHANGE(1, 2)}}},
    {{"slices-row", 4, 2, 1, .long_sets = true, .calls = {EXCHANGES(1, 2, 3)}}},
    {{"slices-no-root", 4, 2, 1, .long_sets = true, .calls = {EXCHANGE(1, 3)}}},
    {{"slices-deep", 9, 2, 1, .absent = 5, .long_sets = true,
      .calls = {EXCHANGES(1, 3, 2), CANCEL(3, 1, 3)}},
     true},
    {{"slices-inner", 7, 2, 1, .absent = 3, .long_sets = true, .calls = {EXCHANGES(1, 3, 2)}},
     true},
    {{"slices-large", 4, 2, 1, .is_patient = true, .long_sets = true, .calls = {LARGE(1, 2)}}},
    {{"large-3", 3, 2, 0, .is_patient = true, .calls = {LARGE(0, 2)}}},
    {{"large-below", 4, 2, 1, .is_patient = true, .calls = {LARGE(1, 2)}}},
    {{"large-no-root", 4, 2, 0, .is_patient = true, .calls = {LARGE(1, 3)}}},
    {{"large-inner", 7, 2, 1, .is_patient = true, .absent = 3, .calls = {LARGE(1, 3)}}, true},
    {{"large-broadcast", 4, 2, 0, .is_patient = true,
      .calls = {LARGE_BROADCAST(1, 3), BROADCAST(0, 2)}}},
    {{"large-broadcast-two-dies", 4, 2, 1, .is_patient = true, .calls = {LARGE_BROADCAST(1, 2)}}},
    {{"large-broadcast-4-dies", 4, 2, 1, .is_patient = true, .calls = {LARGE_BROADCAST(1, 3)}},
     true},
    {{"large-broadcast-below-dies", 4, 2, 1, .is_patient = true, .calls = {LARGE_BROADCAST(2, 2)}}},
    {{"large-dies", 3, 2, 1, .is_patient = true, .calls = {LARGE(0, 2)}}, true},
    {{"two-trees", 3, 2, 1, .is_patient = true, .two_trees = true, .calls = {LARGE(1, 2)}}},
    {{"two-trees-hurry", 3, 2, 0, 1, .is_patient = true, .two_trees = true,
      .calls = {LARGE(1, 2)}}},
    {{"two-trees-breaks", 3, 2, 0, .breaks = 1, .is_patient = true, .two_trees = true,
      .calls = {LARGE(1, 2)}}},
    {{"two-trees-again", 3, 2, 0, 2, .is_patient = true, .two_trees = true, .again = true,
      .calls = {LARGE_OF_FIRST(1, 2)}}},
    {{"via-top", 2, 2, 1, .is_patient = true, .via_top = true, .calls = {LARGE(0, 1)}}},
    {{"via-top-breaks", 2, 2, 0, .breaks = 1, .is_patient = true, .via_top = true,
      .calls = {LARGE(0, 1)}}},
    {{"via-top-again", 2, 2, 0, .is_patient = true, .via_top = true, .again = true,
      .calls = {LARGE(0, 1)}}},
    {{"via-top-3", 3, 2, 0, .is_patient = true, .via_top = true, .calls = {LARGE_OF_FIRST(0, 2)}}},
    {{"broadcast-two-trees", 4, 2, 1, .is_patient = true, .two_trees = true,
      .calls = {LARGE_BROADCAST(2, 2)}}},
    {{"broadcast-two-trees-breaks", 4, 2, 0, .breaks = 1, .is_patient = true, .two_trees = true,
      .calls = {LARGE_BROADCAST(2, 2)}}},
    {{"broadcast-two-trees-again", 4, 2, 0, 2, .is_patient = true, .two_trees = true, .again = true,
      .calls = {LARGE_BROADCAST(2, 2)}}},
    {{"large-breaks", 3, 2, 0, .breaks = 1, .is_patient = true, .calls = {LARGE(0, 2)}}},
    {{"stop-3", 3, 2, 0, .stops = 1, .calls = {EXCHANGE(0, 2)}}},
    {{"stop-root-2", 2, 2, 0, .stops = 1, .root_may_die = true, .calls = {EXCHANGES(0, 1, 2)}}},
    /* While the two seek another parent each of their timers is an instant at which the root may go
     * on: with 6/8 of a lease there are more than 3 million states.  The soaks stop it for longer. */
    {{"stop-root-3", 3, 2, 0, .stops = 1, .stop_eighths = 5, .root_may_die = true,
      .calls = {EXCHANGE(0, 2)}}},
    {{"stop-large-3", 3, 2, 0, .stops = 1, .is_patient = true, .calls = {LARGE(0, 2)}}, true},
    {{"breaks-4", 4, 2, 0, .breaks = 1, .calls = {EXCHANGE(1, 3)}}},
    {{"gather-4", 4, 2, 1, .calls = {GATHER(1, 2)}}},
    {{"request-4", 4, 2, 1, .calls = {REQUEST(2, 3), REQUEST(0, 2)}}},
    {{"request-deep", 9, 2, 1, .absent = 5, .calls = {REQUEST(3, 0), REQUEST(0, 3)}}, true},
    {{"leave-4", 4, 2, 1, .calls = {{CALL_LEAVE}}}},
    {{"leave-deep", 9, 2, 1, .absent = 5, .calls = {{CALL_LEAVE}}}},
    {{"grow-dies", 3, 2, 1, .more = 1, .calls = {GROW, BROADCAST_ALL}}},
    {{"grow-alone", 1, 2, 1, .more = 2, .calls = {GROW, BROADCAST_ALL}}},
    {{"grow-exchange", 2, 2, 1, .more = 1, .calls = {GROW, EXCHANGE(1, 2)}}},
    {{"grow-row-dies", 2, 2, 1, .more = 2, .calls = {GROW, BROADCAST_ALL}}, true},
    {{"shrink-exchange", 4, 2, 1, .calls = {EXCHANGE(1, 2), SHRINK(1, 1)}}},
    {{"shrink-member", 4, 2, 1, .calls = {EXCHANGE(1, 2), SHRINK(2, 2)}}},
    {{"shrink-inner", 7, 2, 1, .absent = 3, .calls = {EXCHANGE(2, 3), SHRINK(1, 1)}}, true},
    {{"shrink-deep", 9, 2, 1, .absent = 5, .calls = {BROADCAST_ALL, SHRINK(1, 2)}}},
    {{"shrink-range-dies", 5, 2, 1, .calls = {BROADCAST_ALL, SHRINK(1, 2)}}, true},
    {{"shrink-grow", 3, 2, 0, .more = 1, .calls = {GROW, SHRINK(1, 1), BROADCAST_ALL}}},
    {{"root-dies-3", 3, 2, 1, .root_may_die = true, .calls = {EXCHANGE(0, 2)}}, true},
    {{"root-dies-deep", 9, 2, 1, .absent = 5, .root_may_die = true}},
};

/* ---- the search ---- */

static bool is_trouble(const struct choice *choice)
{
    return choice->kind >= CHOICE_KILL;
}

static bool is_ask(const struct choice *choice)
{
    return choice->kind == CHOICE_CALL;
}

static struct search_space space_of(const struct scenario *scenario)
{
    return (struct search_space){.name = scenario->name,
                                 .test = "test/soak/explore.t",
                                 .choices = world_choices,
                                 .apply = world_apply,
                                 .describe = world_describe,
                                 .hash = world_hash,
                                 .is_trouble = is_trouble,
                                 .is_ask = is_ask,
                                 .is_quiet = world_is_quiet,
                                 .finish = world_finish,
                                 .failure = world_failure};
}

static void explore(const struct scenario *scenario)
{
    struct search_space space = space_of(scenario);
    char text[64];

    world_create(scenario);
    snprintf(text, sizeof(text), "%u places of radix %u, %u deaths: ", scenario->places,
             scenario->radix, scenario->deaths);
    search_all(&space, text);
}

static void replay(const struct scenario *scenario, const char *path)
{
    struct search_space space = space_of(scenario);

    world_create(scenario);
    search_follow(&space, path);
}

#define ROWS (sizeof(rows) / sizeof(rows[0]))

int main(void)
{
    const char *which = getenv("EXPLORE");
    const char *path = getenv("EXPLORE_PATH");
    const char *sanitizers = getenv("BANYAN_SANITIZERS");
    bool is_slow = sanitizers != NULL && sanitizers[0] != '\0';
    bool is_full = which != NULL && strcmp(which, "full") == 0;
    size_t first = search_first(ROWS);

    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &rows[(first + i) % ROWS];
        const struct scenario *scenario = &row->scenario;

        if (which != NULL && !is_full && strcmp(which, scenario->name) != 0)
            continue;
        if (which == NULL && row->is_long)
            continue;
        if (which == NULL && is_slow &&
            (scenario->places + scenario->more > 3 || scenario->two_trees)) {
            skip(1, "%s takes too long under sanitizers", scenario->name);
            continue;
        }
        if (path != NULL)
            replay(scenario, path);
        else
            explore(scenario);
    }
    search_fini();
    return done_testing();
}
