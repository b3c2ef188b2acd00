/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a place knows of the set of a series.  Members give it when they call.  A set of few ranges
 * is sent with every message.  A long one is sent to a parent once in an attempt; until the parent
 * has answered the place holds all of it, and then only the part in its own scope, with the first
 * and the last member, which determine the covering range.  So a relay holds its slice, the meeting
 * point all, and a member that has called all until it is answered.
 *
 * After a death places know too little: a place that now heads a larger range, and the slice of a
 * dead parent is lost.  But then all contribute again, and callers send the whole set again; a
 * place that gets it queries all below (QUERY, with their slices) before it waits for them.  Until
 * a place has the set it does not know which places to wait for, and just waits.  A place with only
 * a slice cannot know whether members elsewhere have died: `lossy`, of the attempt `judged`, is the
 * statement of a place that knew all.
 */
#include "config.h"

#include "overlay/series.h"

#include <stdlib.h>

static struct range whole_of(const struct ranges *set)
{
    return (struct range){ranges_min(set), ranges_max(set)};
}

static bool range_covers(struct range outer, struct range inner)
{
    return outer.first <= inner.first && inner.last <= outer.last;
}

void series_slice(const struct ranges *set, struct range range, struct ranges *ret_slice)
{
    struct range whole = whole_of(set);
    uint32_t place = range.first;

    ranges_clear(ret_slice);
    ranges_add(ret_slice, whole.first, whole.first);
    while (ranges_next(set, place, &place) && place <= range.last) {
        uint32_t end;

        if (!ranges_first_gap(set, place, range.last, &end))
            end = range.last + 1;
        ranges_add(ret_slice, place, end - 1);
        if (end > range.last)
            break;
        place = end;
    }
    ranges_add(ret_slice, whole.last, whole.last);
}

bool series_is_whole(const struct series *series)
{
    return range_covers(series->within, whole_of(&series->set));
}

/* The part of the covering range that this place heads now. */
static struct range own_range(const struct overlay *overlay, const struct series *series)
{
    struct tree tree = overlay_tree(overlay);
    struct range scope = tree_scope(&tree, overlay->place);

    if (scope.first < series->covering.first)
        scope.first = series->covering.first;
    if (scope.last > series->covering.last)
        scope.last = series->covering.last;
    return scope;
}

bool series_suffices(const struct overlay *overlay, const struct series *series)
{
    return series_is_whole(series) || (series->judged == series->attempt &&
                                       range_covers(series->within, own_range(overlay, series)));
}

bool series_has_dead(const struct overlay *overlay, const struct series *series)
{
    (void)overlay;
    return series->has_dead || (series->lossy && series->judged == series->attempt);
}

bool series_is_reported(const struct overlay *overlay, const struct series *series)
{
    return series->told == series->attempt;
}

bool series_can_tell(const struct overlay *overlay, const struct series *series)
{
    return series_is_whole(series) || series_is_reported(overlay, series);
}

struct ranges series_set_to_tell(const struct overlay *overlay, struct series *series)
{
    if (!series_is_whole(series) || (series->is_long && series_is_reported(overlay, series)))
        return (struct ranges){0};
    series->said = series->attempt;
    return series->set;
}

void series_heard(struct series *series, uint32_t attempt)
{
    if (series->said == attempt)
        series->told = attempt;
}

void series_judge(struct series *series, uint32_t attempt, bool lossy)
{
    series->told = attempt;
    series->judged = attempt;
    series->lossy = lossy;
}

void series_joined(struct series *series)
{
    series->told = ATTEMPT_NONE;
    series->said = ATTEMPT_NONE;
}

static void learn_set(struct overlay *overlay, struct series *series, const struct ranges *set,
                      struct range within)
{
    ranges_copy(&series->set, set);
    series->within = within;
    series->has_dead = ranges_overlap_set(set, &overlay->dead);
    series->is_long =
        series->is_long || !series_is_whole(series) || set->count >= overlay->long_set_ranges;
}

void series_set_init(struct overlay *overlay, struct series *series, const struct ranges *set,
                     struct range within)
{
    series_joined(series);
    series->judged = ATTEMPT_NONE;
    learn_set(overlay, series, set, within);
}

/* Whether they agree, as far as both are known. */
static bool sets_agree(const struct series *series, const struct ranges *set, struct range within)
{
    struct ranges ours = {0}, theirs = {0};
    bool same =
        ranges_min(set) == ranges_min(&series->set) && ranges_max(set) == ranges_max(&series->set);
    struct range both = {series->within.first > within.first ? series->within.first : within.first,
                         series->within.last < within.last ? series->within.last : within.last};

    if (same && series_is_whole(series) && range_covers(within, whole_of(set)))
        return ranges_equal(&series->set, set);
    if (same && both.first <= both.last) {
        series_slice(&series->set, both, &ours);
        series_slice(set, both, &theirs);
        same = ranges_equal(&ours, &theirs);
    }
    ranges_fini(&ours);
    ranges_fini(&theirs);
    return same;
}

int series_tell(struct overlay *overlay, struct series *series, const struct ranges *set,
                struct range within)
{
    if (!sets_agree(series, set, within))
        return -1;
    if (!series_is_whole(series) && !range_covers(series->within, within))
        learn_set(overlay, series, set, within);
    return 0;
}

/* Whether all members must be known here. */
static bool is_needed(const struct series *series)
{
    for (const struct operation *operation = series->operations; operation != NULL;
         operation = operation->next) {
        if (operation->stream != NULL || (operation->called && !operation_is_decided(operation)))
            return true;
    }
    return false;
}

void series_trim(struct overlay *overlay, struct series *series)
{
    struct ranges slice = {0};
    struct range range;

    if (!series->is_long || !series_is_whole(series) || !series_is_reported(overlay, series) ||
        series_meets_here(overlay, series) || is_needed(series))
        return;
    range = own_range(overlay, series);
    series->lossy = series_has_dead(overlay, series);
    series->judged = series->attempt;
    series_slice(&series->set, range, &slice);
    ranges_fini(&series->set);
    ranges_copy(&series->set, &slice);
    ranges_fini(&slice);
    series->within = range;
    series->has_dead = ranges_overlap_set(&series->set, &overlay->dead);
}
