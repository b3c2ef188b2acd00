/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries stand in an array in insertion order; an open-addressing table of 32-bit indexes, twice
 * as large, finds them.  A removed entry stays as a tombstone (value NULL) until the array is full;
 * then the living are packed into a new one, at most half full.
 */
#include "config.h"

#include "base/hash_map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"

#define CAPACITY_MIN     8u
#define CAPACITY_MAX     (1u << 30)
#define INLINE_KEY_BYTES 8 /* such keys cost no allocation */

struct entry {
    uint64_t hash;
    void *value; /* NULL: removed */
    size_t key_bytes;
    union {
        unsigned char bytes[INLINE_KEY_BYTES];
        unsigned char *memory;
    } key;
};

struct hash_map {
    struct entry *entries;
    uint32_t *slots;   /* entry index + 1, 0 = free; 2 * capacity of them */
    uint32_t capacity; /* a power of two, or 0 before the first put */
    uint32_t used;     /* entries written, living and removed */
    uint32_t first;    /* no living entry stands before this one */
    uint32_t count;    /* living */
};

struct hash_map *hash_map_create(void)
{
    return memory_allocate_zeroed(sizeof(struct hash_map));
}

static void entry_fini(struct entry *entry)
{
    if (entry->key_bytes > INLINE_KEY_BYTES)
        free(entry->key.memory);
    entry->key_bytes = 0;
    entry->value = NULL;
}

static const unsigned char *entry_key(const struct entry *entry)
{
    return entry->key_bytes > INLINE_KEY_BYTES ? entry->key.memory : entry->key.bytes;
}

void hash_map_destroy(struct hash_map *map)
{
    if (map == NULL)
        return;
    for (uint32_t i = 0; i < map->used; i++)
        entry_fini(&map->entries[i]);
    free(map->entries);
    free(map->slots);
    free(map);
}

size_t hash_map_count(const struct hash_map *map)
{
    return map->count;
}

static struct entry *hash_map_search(const struct hash_map *map, const void *key, size_t key_bytes,
                                     uint64_t hash)
{
    uint32_t mask = 2 * map->capacity - 1;

    if (map->count == 0)
        return NULL;
    for (uint32_t slot = (uint32_t)hash & mask; map->slots[slot] != 0; slot = (slot + 1) & mask) {
        struct entry *entry = &map->entries[map->slots[slot] - 1];

        if (entry->value != NULL && entry->hash == hash && entry->key_bytes == key_bytes &&
            (key_bytes == 0 || memcmp(entry_key(entry), key, key_bytes) == 0))
            return entry;
    }
    return NULL;
}

static void hash_map_check(const struct hash_map *map)
{
    assert((map->capacity & (map->capacity - 1)) == 0);
    assert(map->count <= map->used && map->used <= map->capacity);
    assert(map->first <= map->used);
    assert(map->capacity == 0 || (map->entries != NULL && map->slots != NULL));
}

static void hash_map_link(struct hash_map *map, uint32_t index)
{
    uint32_t mask = 2 * map->capacity - 1;
    uint32_t slot = (uint32_t)map->entries[index].hash & mask;

    assert(index < map->capacity); /* half of the slots are free: the search for one ends */
    while (map->slots[slot] != 0)
        slot = (slot + 1) & mask;
    map->slots[slot] = index + 1;
}

/* Packs the living entries, in order, into arrays with room for as many again. */
static void hash_map_rebuild(struct hash_map *map)
{
    struct entry *old = map->entries;
    uint32_t old_used = map->used;

    assert(map->count < CAPACITY_MAX / 2);
    map->capacity = CAPACITY_MIN;
    while (map->capacity < 2 * map->count)
        map->capacity *= 2;
    map->entries = memory_allocate(map->capacity * sizeof(*map->entries));
    free(map->slots);
    map->slots = memory_allocate_zeroed(2 * (size_t)map->capacity * sizeof(*map->slots));
    map->used = 0;
    map->first = 0;
    for (uint32_t i = 0; i < old_used; i++) {
        if (old[i].value == NULL)
            continue;
        map->entries[map->used] = old[i];
        hash_map_link(map, map->used);
        map->used++;
    }
    free(old);
}

static void hash_map_append(struct hash_map *map, const void *key, size_t key_bytes, uint64_t hash,
                            void *value)
{
    struct entry *entry;

    if (map->used == map->capacity)
        hash_map_rebuild(map);
    entry = &map->entries[map->used];
    *entry = (struct entry){.hash = hash, .value = value, .key_bytes = key_bytes};
    if (key_bytes > INLINE_KEY_BYTES)
        entry->key.memory = memory_copy(key, key_bytes);
    else if (key_bytes > 0)
        memcpy(entry->key.bytes, key, key_bytes);
    hash_map_link(map, map->used);
    map->used++;
    map->count++;
    hash_map_check(map);
}

void *hash_map_get(const struct hash_map *map, const void *key, size_t key_bytes)
{
    const struct entry *entry = hash_map_search(map, key, key_bytes, hash_bytes(key, key_bytes, 0));

    return entry != NULL ? entry->value : NULL;
}

void *hash_map_put(struct hash_map *map, const void *key, size_t key_bytes, void *value)
{
    uint64_t hash = hash_bytes(key, key_bytes, 0);
    struct entry *entry = hash_map_search(map, key, key_bytes, hash);
    void *replaced;

    assert(value != NULL);
    if (entry == NULL) {
        hash_map_append(map, key, key_bytes, hash, value);
        return NULL;
    }
    replaced = entry->value;
    entry->value = value;
    return replaced;
}

void *hash_map_remove(struct hash_map *map, const void *key, size_t key_bytes)
{
    struct entry *entry = hash_map_search(map, key, key_bytes, hash_bytes(key, key_bytes, 0));
    void *value;

    if (entry == NULL)
        return NULL;
    value = entry->value;
    entry_fini(entry);
    map->count--;
    while (map->first < map->used && map->entries[map->first].value == NULL)
        map->first++;
    hash_map_check(map);
    return value;
}

void *hash_map_get_u64(const struct hash_map *map, uint64_t key)
{
    return hash_map_get(map, &key, sizeof(key));
}

void *hash_map_put_u64(struct hash_map *map, uint64_t key, void *value)
{
    return hash_map_put(map, &key, sizeof(key), value);
}

void *hash_map_remove_u64(struct hash_map *map, uint64_t key)
{
    return hash_map_remove(map, &key, sizeof(key));
}

void *hash_map_next(const struct hash_map *map, size_t *cursor)
{
    return hash_map_next_entry(map, cursor, NULL, NULL);
}

void *hash_map_next_entry(const struct hash_map *map, size_t *cursor, const void **ret_key,
                          size_t *ret_key_bytes)
{
    size_t index = *cursor > map->first ? *cursor : map->first;

    while (index < map->used && map->entries[index].value == NULL)
        index++;
    *cursor = index + 1;
    if (index >= map->used)
        return NULL;
    if (ret_key != NULL)
        *ret_key = entry_key(&map->entries[index]);
    if (ret_key_bytes != NULL)
        *ret_key_bytes = map->entries[index].key_bytes;
    return map->entries[index].value;
}
