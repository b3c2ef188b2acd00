/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash table from a key of bytes to a pointer.  Keys are copied; values belong to the caller.
 * Iteration order is insertion order, so that walks over a map are deterministic;
 * putting a key again keeps its position.  Cost: O(1) expected, also to take the first repeatedly.
 */
#ifndef BASE_HASH_MAP_H
#define BASE_HASH_MAP_H

#include <stddef.h>
#include <stdint.h>

struct hash_map;

struct hash_map *hash_map_create(void);
void hash_map_destroy(struct hash_map *map); /* values are not touched; NULL is fine */
size_t hash_map_count(const struct hash_map *map);
void *hash_map_get(const struct hash_map *map, const void *key, size_t key_bytes);
/* Stores value (not NULL); returns the value it replaces or NULL. */
void *hash_map_put(struct hash_map *map, const void *key, size_t key_bytes, void *value);
void *hash_map_remove(struct hash_map *map, const void *key,
                      size_t key_bytes); /* the value or NULL */
void *hash_map_get_u64(const struct hash_map *map, uint64_t key);
void *hash_map_put_u64(struct hash_map *map, uint64_t key, void *value);
void *hash_map_remove_u64(struct hash_map *map, uint64_t key);
/* Walks values in insertion order: start with *cursor = 0; NULL at the end.  Any value may be
 * removed during the walk; nothing may be put. */
void *hash_map_next(const struct hash_map *map, size_t *cursor);
/* As hash_map_next, with the key, which is valid until the map changes. */
void *hash_map_next_entry(const struct hash_map *map, size_t *cursor, const void **ret_key,
                          size_t *ret_key_bytes);

#endif
