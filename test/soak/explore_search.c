/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/soak/explore_search.h"

#include <stdlib.h>
#include <time.h>

#include "base/time.h"
#include "test/support/tap.h"

#define DEPTH_MAX  1000
#define STATES_MAX (200u << 20) /* 16 bytes each */

static const struct search_space *space;
static uint64_t end_ns; /* of its time; 0: none */
static bool is_cut;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---- the states that were seen ---- */

struct seen {
    uint64_t hash; /* 0: empty */
    double orders; /* of events from here to an end; GOING_ON: this is on the way */
};

#define GOING_ON (-1.0)

static struct seen *table;
static size_t table_size; /* a power of two */
static size_t table_count;

static struct seen *table_slot(uint64_t hash)
{
    size_t at = hash & (table_size - 1);

    while (table[at].hash != 0 && table[at].hash != hash)
        at = (at + 1) & (table_size - 1);
    return &table[at];
}

static void table_grow(void)
{
    struct seen *old = table;
    size_t old_size = table_size;

    table_size = old_size > 0 ? 2 * old_size : 1u << 16;
    table = memory_allocate_zeroed(table_size * sizeof(*table));
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].hash != 0)
            *table_slot(old[i].hash) = old[i];
    }
    free(old);
}

static void table_put(uint64_t hash, double orders)
{
    struct seen *slot = table_slot(hash);

    if (slot->hash == 0) {
        if (2 * table_count >= table_size) {
            table_grow();
            slot = table_slot(hash);
        }
        table_count++;
    }
    *slot = (struct seen){.hash = hash, .orders = orders};
}

static void table_clear(void)
{
    free(table);
    table = NULL;
    table_size = table_count = 0;
    table_grow();
}

/* ---- the search ---- */

struct level {
    struct snapshot before;
    struct choice choices[EXPLORE_CHOICES_MAX];
    uint32_t count;
    uint32_t at;
};

static struct level levels[DEPTH_MAX];
static uint64_t steps;
static uint64_t ends;
static uint32_t deepest;

static double violation(uint32_t depth, const char *what)
{
    struct buffer path = {0};

    diag("%s: %s", space->name, what);
    for (uint32_t i = 0; i < depth; i++)
        buffer_printf(&path, "%s%u", i > 0 ? "," : "", levels[i].at);
    diag("replay: EXPLORE=%s EXPLORE_PATH=%s %s", space->name, buffer_string(&path), space->test);
    buffer_fini(&path);
    return -1;
}

/* Looks at the clock now and then. */
static bool is_out_of_time(void)
{
    if (!is_cut && end_ns > 0 && steps % 4096 == 0)
        is_cut = now_ns() > end_ns;
    return is_cut;
}

static bool only_troubles(const struct level *level)
{
    return level->count == 0 || space->is_trouble(&level->choices[0]);
}

/* Nothing happens but what is asked for, and trouble.  (Whoever waits for a call may.) */
static bool only_asks(const struct level *level)
{
    for (uint32_t i = 0; i < level->count; i++) {
        if (!space->is_ask(&level->choices[i]) && !space->is_trouble(&level->choices[i]))
            return false;
    }
    return true;
}

/* Nothing is left to happen (but deaths). */
static void check_end(void)
{
    ends++;
    space->finish();
}

/* Returns how many orders lead from here to an end; negative after a violation. */
static double search(uint32_t depth)
{
    uint64_t hash = space->hash();
    struct level *level = &levels[depth];
    const struct seen *slot = table_slot(hash);
    double orders = 0;

    if (slot->hash == hash && slot->orders != GOING_ON)
        return slot->orders;
    if (is_out_of_time())
        return 0;
    if (slot->hash == hash)
        return violation(depth, "it comes back to where it was, for ever");
    table_put(hash, GOING_ON);
    if (depth + 1 == DEPTH_MAX || table_count == STATES_MAX)
        bail_out("the space is larger than the bound");
    deepest = depth > deepest ? depth : deepest;
    level->count = space->choices(level->choices);
    arena_save(&level->before);
    if (only_troubles(level)) {
        check_end();
        orders = 1;
    } else if (only_asks(level) && !space->is_quiet()) {
        return violation(depth, "somebody waits, for nothing that is under way");
    }
    for (level->at = 0; level->at < level->count && space->failure()[0] == '\0' && !is_cut;
         level->at++) {
        double more;

        arena_restore(&level->before);
        space->apply(&level->choices[level->at]);
        steps++;
        if (space->failure()[0] != '\0')
            break;
        more = search(depth + 1);
        if (more < 0)
            return -1;
        orders += more;
    }
    if (space->failure()[0] != '\0')
        return violation(level->at < level->count ? depth + 1 : depth, space->failure());
    table_put(hash, orders);
    return orders;
}

/* Of all searches together; 0: without limit. */
static uint64_t budget_ns(void)
{
    const char *seconds = getenv("EXPLORE_SECONDS");

    return seconds != NULL ? strtoull(seconds, NULL, 10) * NS_PER_S : 0;
}

static uint64_t time_over_ns(void)
{
    static uint64_t all_ns;
    uint64_t own_ns = now_ns() + budget_ns() / 10;

    if (budget_ns() == 0)
        return 0;
    if (all_ns == 0)
        all_ns = now_ns() + budget_ns();
    return own_ns < all_ns ? own_ns : all_ns;
}

size_t search_first(size_t count)
{
    size_t first = budget_ns() > 0 ? (size_t)(now_ns() / NS_PER_S) % count : 0;

    if (budget_ns() > 0)
        diag("begins with search %zu of %zu", first + 1, count);
    return first;
}

void search_all(const struct search_space *what, const char *text)
{
    double orders;

    space = what;
    table_clear();
    steps = ends = deepest = 0;
    is_cut = false;
    end_ns = time_over_ns();
    orders = search(0);
    if (is_cut && orders >= 0) {
        skip(1, "%s: %s%zu states are as they should be, there are more than its time allows",
             space->name, text, table_count);
        return;
    }
    ok(orders >= 0, "%s: %sexhausted: %zu states, %llu steps, %llu ends, %.3g orders, %u deep",
       space->name, text, table_count, (unsigned long long)steps, (unsigned long long)ends, orders,
       deepest);
}

/* ---- one path ---- */

static void say(const struct choice *choice)
{
    struct buffer line = {0};

    space->describe(choice, &line);
    diag("%s", buffer_string(&line));
    buffer_fini(&line);
}

void search_follow(const struct search_space *what, const char *path)
{
    struct choice choices[EXPLORE_CHOICES_MAX];

    space = what;
    while (*path != '\0') {
        uint32_t count = space->choices(choices);
        char *end;
        unsigned long at = strtoul(path, &end, 10);

        if (at >= count || end == path)
            bail_out("no such choice");
        say(&choices[at]);
        space->apply(&choices[at]);
        path = *end == ',' ? end + 1 : end;
    }
    if (space->failure()[0] == '\0' && space->choices(choices) == 0)
        space->finish();
    is_string(space->failure(), "", "all is right on this path");
}

void search_fini(void)
{
    for (uint32_t i = 0; i < DEPTH_MAX; i++)
        snapshot_fini(&levels[i].before);
    free(table);
    table = NULL;
}
