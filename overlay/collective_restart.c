/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How open operations react to changes in the tree: a death begins another attempt, a new parent
 * must get everything, a child that has joined is sent the queries that its siblings have got.
 */
#include "config.h"

#include "overlay/collective.h"
#include "overlay/series.h"

static void restart_all(struct overlay *overlay, struct series *series)
{
    struct operation *next;

    for (struct operation *operation = series->operations; operation != NULL; operation = next) {
        next = operation->next;
        collective_restart(overlay, series, operation);
        stall_probe_progress(overlay, operation);
        collective_advance(overlay, series, operation);
    }
}

static void restart_list(struct overlay *overlay, struct list *list, const struct ranges *places)
{
    struct list_link *spare;
    struct series *series;

    series_for_each(list, series, spare)
    {
        if (!ranges_overlap(places, series->covering.first, series->covering.last))
            continue;
        series_look_at_dead(overlay, series);
        restart_all(overlay, series);
    }
}

/* Series at rest stay so; open ones may come to rest. */
void collective_death(struct overlay *overlay, const struct ranges *places)
{
    overlay->collective.dead_ranges = 0;
    restart_list(overlay, &overlay->collective.at_rest, places);
    restart_list(overlay, &overlay->collective.open, places);
}

void collective_restart_all(struct overlay *overlay)
{
    struct ranges all = {0};

    ranges_add(&all, 0, TREE_PLACES_MAX - 1);
    collective_death(overlay, &all);
    ranges_fini(&all);
}

static void forget_sent(struct list *list)
{
    struct list_link *spare;
    struct series *series;

    series_for_each(list, series, spare)
    {
        series_joined(series);
        for (struct operation *operation = series->operations; operation != NULL;
             operation = operation->next) {
            operation->sent = ATTEMPT_NONE;
            if (operation->cancel == CANCEL_TOLD)
                operation->cancel = CANCEL_KNOWN;
        }
    }
}

void collective_joined(struct overlay *overlay)
{
    forget_sent(&overlay->collective.at_rest);
    forget_sent(&overlay->collective.open);
}

static void advance_list(struct overlay *overlay, struct list *list)
{
    struct list_link *spare;
    struct series *series;
    struct operation *next;

    series_for_each(list, series, spare)
    {
        for (struct operation *operation = series->operations; operation != NULL;
             operation = next) {
            next = operation->next;
            collective_advance(overlay, series, operation);
        }
    }
}

void collective_ready(struct overlay *overlay)
{
    advance_list(overlay, &overlay->collective.at_rest);
    advance_list(overlay, &overlay->collective.open);
}

void collective_linked(struct overlay *overlay, struct child *child)
{
    uint32_t index = (uint32_t)(child - overlay->children);
    struct list_link *spare;
    struct series *series;

    series_for_each(&overlay->collective.open, series, spare)
    {
        for (struct operation *operation = series->operations; operation != NULL;
             operation = operation->next)
            collective_query_child(overlay, series, operation, index);
    }
}
