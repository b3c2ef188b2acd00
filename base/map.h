/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash table from a key of bytes to a pointer.  Keys are copied; values belong to the caller.
 * Iteration order is insertion order, so that walks over a map are deterministic;
 * putting a key again keeps its position.  Cost: O(1) expected, also to take the first repeatedly.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map;

struct map *map_create(void);
void map_destroy(struct map *map); /* values are not touched; NULL is fine */
size_t map_count(const struct map *map);
void *map_get(const struct map *map, const void *key, size_t key_bytes);
/* Stores value (not NULL); returns the value it replaces or NULL. */
void *map_put(struct map *map, const void *key, size_t key_bytes, void *value);
void *map_remove(struct map *map, const void *key, size_t key_bytes); /* the value or NULL */
void *map_get_u64(const struct map *map, uint64_t key);
void *map_put_u64(struct map *map, uint64_t key, void *value);
void *map_remove_u64(struct map *map, uint64_t key);
/* Walks values in insertion order: start with *cursor = 0; NULL at the end.  Any value may be
 * removed during the walk; nothing may be put. */
void *map_next(const struct map *map, size_t *cursor);
/* As map_next, with the key, which is valid until the map changes. */
void *map_next_entry(const struct map *map, size_t *cursor, const void **ret_key,
                     size_t *ret_key_bytes);

#endif
