/* SPDX-License-Identifier: BSD-3-Clause */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <banyan/collective.h>

/*
 * Two binary trees over the places, the second one the mirror image of the first: the first half of the blocks goes up
 * and down the first, the other half the second, so that places which pass on much in one pass on little in the other.
 * A tree is a range that is headed by its middle; so the blocks of a subtree are a range, too.
 */
#include <stdbool.h>

struct spot {
    uint32_t first, last; /* the subtree */
    uint32_t level;
    uint32_t parent;
};

static uint32_t middle(uint32_t first, uint32_t last)
{
    return first + (last - first) / 2;
}

static struct spot find(uint32_t places, uint32_t place)
{
    struct spot spot = {.first = 0, .last = places - 1};

    for (;;) {
        uint32_t head = middle(spot.first, spot.last);

        if (head == place)
            return spot;
        spot.parent = head;
        spot.level++;
        if (place < head)
            spot.last = head - 1;
        else
            spot.first = head + 1;
    }
}

static uint32_t depth_of(uint32_t places)
{
    uint32_t depth = 0;

    while (places > 1) {
        places /= 2;
        depth++;
    }
    return depth;
}

struct walk {
    uint32_t places;
    bool is_mirrored;
    uint32_t first, last; /* blocks of this tree */
    banyan_collective_add *add;
    void *context;
};

/* Blocks of a range, as far as they are this tree's; all in the numbers of the tree. */
static void move(const struct walk *walk, uint32_t kind, uint32_t peer, uint32_t first,
                 uint32_t last)
{
    struct banyan_collective_move move = {.kind = kind};

    if (first < walk->first)
        first = walk->first;
    if (last > walk->last)
        last = walk->last;
    if (first > last)
        return;
    move.peer = walk->is_mirrored ? walk->places - 1 - peer : peer;
    move.first = walk->is_mirrored ? walk->places - 1 - last : first;
    move.blocks = last - first + 1;
    walk->add(walk->context, &move);
}

/* up: each child's subtree; down: everything. */
static void with_children(const struct walk *walk, uint32_t kind, const struct spot *spot,
                          uint32_t place, bool is_up)
{
    if (spot->first < place)
        move(walk, kind, middle(spot->first, place - 1), is_up ? spot->first : 0,
             is_up ? place - 1 : walk->places - 1);
    if (place < spot->last)
        move(walk, kind, middle(place + 1, spot->last), is_up ? place + 1 : 0,
             is_up ? spot->last : walk->places - 1);
}

static void step_of_tree(const struct walk *walk, uint32_t place, uint32_t step)
{
    uint32_t depth = depth_of(walk->places);
    struct spot spot = find(walk->places, place);

    if (step < depth) {
        uint32_t level = depth - step; /* whose places send */

        if (spot.level == level)
            move(walk, BANYAN_COLLECTIVE_SEND, spot.parent, spot.first, spot.last);
        else if (spot.level + 1 == level)
            with_children(walk, BANYAN_COLLECTIVE_RECEIVE, &spot, place, true);
    } else if (spot.level == step - depth) {
        with_children(walk, BANYAN_COLLECTIVE_SEND, &spot, place, false);
    } else if (spot.level == step - depth + 1) {
        move(walk, BANYAN_COLLECTIVE_RECEIVE, spot.parent, 0, walk->places - 1);
    }
}

static int plan(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                banyan_collective_add *add, void *context)
{
    uint32_t places = topology->places, half = (places + 1) / 2;
    struct walk walk = {.places = places, .last = half - 1, .add = add, .context = context};

    if (step >= 2 * depth_of(places))
        return 0;
    step_of_tree(&walk, place, step);
    if (half == places)
        return 1;
    walk.is_mirrored = true;
    walk.last = places - 1 - half; /* block half is that, mirrored */
    step_of_tree(&walk, places - 1 - place, step);
    return 1;
}

const struct banyan_collective banyan_collective = {BANYAN_COLLECTIVE_INTERFACE, "two_trees", plan};
