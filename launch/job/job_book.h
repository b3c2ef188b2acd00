/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job takes of the root's nodes (alloc/node_pool.h): as many slots of each node as it has
 * processes there.
 */
#ifndef LAUNCH_JOB_JOB_BOOK_H
#define LAUNCH_JOB_JOB_BOOK_H

#include "alloc/allocation.h"
#include "alloc/node_pool.h"
#include "alloc/place_map.h"

/* The book of an instance's nodes: node i is place i + 1.  O(nodes). */
struct node_pool *job_book_create(const struct allocation *allocation);
/* Takes them; places are those of the map.  Whether a node may get more than it has slots the map
 * has decided.  O(places). */
int job_book_take(struct node_pool *pool, uint32_t job, const struct place_map *map,
                  const struct ranges *places, struct error *error);
/* The daemons of places are gone. */
void job_book_lost(struct node_pool *pool, const struct ranges *places);

#endif
