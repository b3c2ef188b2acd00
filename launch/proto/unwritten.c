/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/unwritten.h"

#include <assert.h>
#include <string.h>

static uint64_t key_of(const struct unwritten_part *part)
{
    return (uint64_t)part->job << 32 | part->place;
}

void unwritten_fini(struct unwritten *unwritten)
{
    hash_map_destroy(unwritten->bytes);
    unwritten->bytes = NULL;
}

int unwritten_is_empty(const struct unwritten *unwritten)
{
    return unwritten->bytes == NULL;
}

static void set(struct unwritten *unwritten, uint64_t key, uintptr_t bytes)
{
    if (bytes > 0)
        (void)hash_map_put_u64(unwritten->bytes, key, (void *)bytes);
    else
        (void)hash_map_remove_u64(unwritten->bytes, key);
    if (hash_map_count(unwritten->bytes) == 0)
        unwritten_fini(unwritten);
}

void unwritten_add(struct unwritten *unwritten, const struct unwritten_part *part)
{
    uint64_t key = key_of(part);

    if (part->bytes == 0)
        return;
    if (unwritten->bytes == NULL)
        unwritten->bytes = hash_map_create();
    set(unwritten, key, (uintptr_t)hash_map_get_u64(unwritten->bytes, key) + part->bytes);
}

uint32_t unwritten_take(struct unwritten *unwritten, const struct unwritten_part *part)
{
    uint64_t key = key_of(part);
    uintptr_t bytes =
        unwritten->bytes != NULL ? (uintptr_t)hash_map_get_u64(unwritten->bytes, key) : 0;
    uint32_t taken = bytes < part->bytes ? (uint32_t)bytes : part->bytes;

    if (taken > 0)
        set(unwritten, key, bytes - taken);
    return taken;
}

int unwritten_take_next(struct unwritten *unwritten, size_t *cursor, uint64_t bytes_max,
                        struct unwritten_part *ret_part)
{
    size_t before = *cursor, key_bytes;
    const void *key_data;
    uintptr_t bytes;
    uint64_t key;

    assert(bytes_max > 0);
    if (unwritten->bytes == NULL)
        return 0;
    bytes = (uintptr_t)hash_map_next_entry(unwritten->bytes, cursor, &key_data, &key_bytes);
    assert(bytes > 0 && key_bytes == sizeof(key));
    memcpy(&key, key_data, sizeof(key));
    if (bytes_max > UINT32_MAX)
        bytes_max = UINT32_MAX;
    *ret_part = (struct unwritten_part){.job = (uint32_t)(key >> 32),
                                        .place = (uint32_t)key,
                                        .bytes = (uint32_t)(bytes < bytes_max ? bytes : bytes_max)};
    if (ret_part->bytes < bytes)
        *cursor = before;
    set(unwritten, key, bytes - ret_part->bytes);
    return 1;
}
