/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is there: starts, deaths, departures, new places, ends. */
#include "config.h"

#include "test/support/overlay_checker_internal.h"

#include "base/buffer.h"

/* Of places in the order of deaths. */
#define MARK_LEFT  (1u << 30)
#define MARK_GROWN (1u << 31)

/* ---- what befalls places ---- */

void checker_started(struct checker *checker, uint32_t place, uint32_t incarnation)
{
    checker->places[place].started = true;
    checker->places[place].incarnation = incarnation;
    checker->places[place].joined = place == 0;
}

void checker_killed(struct checker *checker, uint32_t place, uint64_t now_ns)
{
    checker->places[place].killed = true;
    checker->last_fault_ns = now_ns;
}

void checker_troubled(struct checker *checker, uint32_t place, uint64_t now_ns)
{
    checker->places[place].troubled = true;
    if (now_ns > checker->last_fault_ns)
        checker->last_fault_ns = now_ns;
}

void checker_leaving(struct checker *checker)
{
    checker->leaving = true;
}

/* What was told before does not concern them. */
void checker_grow(struct checker *checker, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        checker->places[checker->population + i].entries_told = checker->entries_count;
    checker->population += count;
}

void checker_shrink(struct checker *checker, const struct ranges *places, uint64_t now_ns)
{
    for (uint32_t i = 0; i < checker->population; i++)
        checker->places[i].asked = checker->places[i].asked || ranges_contains(places, i);
    checker->last_fault_ns = now_ns;
}

bool checker_is_alive(const struct checker *checker, uint32_t place)
{
    const struct checker_place *at = &checker->places[place];

    return at->started && !at->killed && !at->ended;
}

bool checker_may_be_dead(const struct checker *checker, uint32_t place)
{
    return checker->places[place].killed || checker->places[place].troubled;
}

bool checker_may_be_gone(const struct checker *checker, uint32_t place)
{
    return checker_may_be_dead(checker, place) || checker->places[place].asked;
}

void checker_note_life(struct checker *checker, uint32_t place, uint64_t now_ns)
{
    const struct checker_place *at = &checker->places[place];

    if (!checker_is_alive(checker, place))
        checker_fault(checker, "%u is told something though it is gone", place);
    if (at->dead_ns != NEVER_NS && now_ns > at->dead_ns + checker->lease_ns / 2 * 3)
        checker_fault(checker, "%u acts %.1f s after it was counted as dead", place,
                      (double)(now_ns - at->dead_ns) / 1e9);
}

void checker_set_capacity(struct checker *checker, uint32_t capacity)
{
    checker->places = memory_resize(checker->places, capacity * sizeof(*checker->places));
    for (uint32_t i = checker->capacity; i < capacity; i++)
        checker->places[i] = (struct checker_place){.dead_ns = NEVER_NS};
    checker->capacity = capacity;
}

/* ---- membership ---- */

void checker_told_joined(struct checker *checker, uint32_t place)
{
    if (checker->places[place].joined)
        checker_fault(checker, "%u joins twice", place);
    checker->places[place].joined = true;
}

void checker_told_complete(struct checker *checker)
{
    if (checker->complete)
        checker_fault(checker, "the root is complete twice");
    checker->complete = true;
    for (uint32_t i = 0; i < checker->population; i++) {
        if (!checker->places[i].started && !checker_may_be_gone(checker, i))
            checker_fault(checker, "the root is complete without %u", i);
    }
}

static void note_change(struct checker *checker, uint32_t change)
{
    checker->deaths =
        memory_resize(checker->deaths, (checker->deaths_count + 1) * sizeof(*checker->deaths));
    checker->deaths[checker->deaths_count++] = change;
}

static void note_gone(struct checker *checker, uint32_t place, uint32_t mark, uint64_t now_ns)
{
    const struct checker_place *at = &checker->places[place];

    if (place == 0 || place >= checker->population ||
        (mark == MARK_LEFT ? !at->asked : !checker_may_be_dead(checker, place))) {
        checker_fault(checker, "%u is counted as %s and lives", place,
                      mark == MARK_LEFT ? "left" : "dead");
        return;
    }
    if (at->dead_ns != NEVER_NS)
        checker_fault(checker, "%u dies twice", place);
    checker->places[place].dead_ns = now_ns;
    note_change(checker, place | mark);
}

/* In the root's order, which is what the root is told. */
static void check_change(struct checker *checker, uint32_t place, uint32_t change)
{
    struct checker_place *at = &checker->places[place];

    if (at->deaths_told >= checker->deaths_count || checker->deaths[at->deaths_told] != change)
        checker_fault(checker, "%u is told of the death of %u out of the root's order", place,
                      change & ~(MARK_LEFT | MARK_GROWN));
    at->deaths_told++;
}

static void told_gone(struct checker *checker, uint32_t place, uint64_t now_ns,
                      const struct ranges *places, uint32_t mark)
{
    checker_note_life(checker, place, now_ns);
    for (uint32_t i = 0; i < places->count; i++) {
        for (uint32_t gone = places->items[i].first; gone <= places->items[i].last; gone++) {
            if (place == 0)
                note_gone(checker, gone, mark, now_ns);
            check_change(checker, place, gone | mark);
        }
    }
}

void checker_told_dead(struct checker *checker, uint32_t place, uint64_t now_ns,
                       const struct ranges *places)
{
    told_gone(checker, place, now_ns, places, 0);
}

void checker_told_left(struct checker *checker, uint32_t place, uint64_t now_ns,
                       const struct ranges *places)
{
    told_gone(checker, place, now_ns, places, MARK_LEFT);
}

void checker_told_grown(struct checker *checker, uint32_t place, uint64_t now_ns,
                        const struct ranges *places)
{
    uint32_t first = ranges_min(places);

    checker_note_life(checker, place, now_ns);
    if (place == 0) {
        note_change(checker, first | MARK_GROWN);
        checker->complete = false;
        if (ranges_max(places) >= checker->population)
            checker_fault(checker, "there are places that nobody has asked for");
    }
    for (uint32_t i = first; place == 0 && i <= ranges_max(places); i++) {
        if (checker->places[i].started)
            checker_fault(checker, "%u is new, and has been used before", i);
        checker->places[i].deaths_told = checker->deaths_count;
    }
    check_change(checker, place, first | MARK_GROWN);
}

void checker_ended(struct checker *checker, uint32_t place, enum endpoint_end end)
{
    struct checker_place *at = &checker->places[place];
    bool without_root = !checker_is_alive(checker, 0);

    if (at->killed || at->ended)
        checker_fault(checker, "%u ends though it is gone", place);
    at->ended = true;
    if (at->asked && end == ENDPOINT_END_LEFT)
        return;
    if (at->troubled && end != ENDPOINT_END_REFUSED && end != ENDPOINT_END_LEFT)
        return;
    if (checker->leaving && end == ENDPOINT_END_LEFT)
        return;
    /* Who loses its parent to a death while all leave may find nobody left. */
    if (checker->leaving && checker->last_fault_ns > 0 && end != ENDPOINT_END_REFUSED)
        return;
    if (without_root && (end == ENDPOINT_END_ORPHAN || end == ENDPOINT_END_LEASE))
        return;
    checker_fault(checker, "%u ends (%d) though nothing befell it", place, end);
}
