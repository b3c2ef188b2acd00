/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_kvs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "pmix/pmi_kvs_wire.h"

/* Limit of a node's puts between two barriers of all. */
#define PUTS_BYTES_MAX (64u << 20)

/* A put that is kept. */
struct put_mark {
    uint32_t owner;
    uint32_t bytes; /* in kvs->puts */
};

struct pmi_kvs {
    struct hash_map *values; /* key -> value, both with their NUL */
    struct buffer puts;      /* of this node, encoded, that are kept */
    struct buffer marks;     /* struct put_mark of each */
    uint64_t forgotten;      /* number of puts before those */
    uint64_t settled;        /* position up to which the last barrier of all had them */
    size_t unsettled_bytes;  /* of those after it */
};

struct pmi_kvs *pmi_kvs_create(void)
{
    struct pmi_kvs *kvs = memory_allocate_zeroed(sizeof(*kvs));

    kvs->values = hash_map_create();
    return kvs;
}

void pmi_kvs_destroy(struct pmi_kvs *kvs)
{
    size_t cursor = 0;
    void *value;

    if (kvs == NULL)
        return;
    while ((value = hash_map_next(kvs->values, &cursor)) != NULL)
        free(value);
    hash_map_destroy(kvs->values);
    buffer_fini(&kvs->puts);
    buffer_fini(&kvs->marks);
    free(kvs);
}

const char *pmi_kvs_get(const struct pmi_kvs *kvs, const char *key)
{
    return hash_map_get(kvs->values, key, strlen(key) + 1);
}

void pmi_kvs_preset(struct pmi_kvs *kvs, const char *key, const char *value)
{
    assert(key[0] != '\0');
    free(hash_map_put(kvs->values, key, strlen(key) + 1, memory_copy_string(value)));
}

static uint64_t kept_count(const struct pmi_kvs *kvs)
{
    return kvs->marks.length_bytes / sizeof(struct put_mark);
}

static const struct put_mark *mark_of(const struct pmi_kvs *kvs, uint64_t index)
{
    assert(index < kept_count(kvs));
    return (const struct put_mark *)(const void *)kvs->marks.data + index;
}

int pmi_kvs_put(struct pmi_kvs *kvs, uint32_t owner, const char *key, const char *value)
{
    struct put_mark mark = {.owner = owner};
    size_t before = kvs->puts.length_bytes;

    if (key[0] == '\0' || strlen(key) >= PMI_KVS_KEY_BYTES)
        return -EINVAL;
    if (strlen(value) >= PMI_KVS_VALUE_BYTES)
        return -EMSGSIZE;
    if (kvs->unsettled_bytes > PUTS_BYTES_MAX)
        return -ENOSPC;
    pmi_kvs_preset(kvs, key, value);
    pmi_kvs_encode_put(key, value, &kvs->puts);
    mark.bytes = (uint32_t)(kvs->puts.length_bytes - before);
    kvs->unsettled_bytes += mark.bytes;
    buffer_append(&kvs->marks, &mark, sizeof(mark));
    return 0;
}

uint64_t pmi_kvs_position(const struct pmi_kvs *kvs)
{
    return kvs->forgotten + kept_count(kvs);
}

void pmi_kvs_puts_since(const struct pmi_kvs *kvs, uint64_t position, const struct ranges *owners,
                        struct buffer *out)
{
    const unsigned char *put = kvs->puts.data;
    uint64_t count = kept_count(kvs);

    assert(position <= pmi_kvs_position(kvs));
    for (uint64_t i = 0; i < count; i++) {
        const struct put_mark *mark = mark_of(kvs, i);

        if (kvs->forgotten + i >= position &&
            (owners == NULL || ranges_contains(owners, mark->owner)))
            buffer_append(out, put, mark->bytes);
        put += mark->bytes;
    }
}

void pmi_kvs_settle(struct pmi_kvs *kvs, uint64_t position)
{
    uint64_t old = kvs->settled - kvs->forgotten, count = kept_count(kvs);
    size_t old_bytes = 0;

    assert(position >= kvs->settled && position <= pmi_kvs_position(kvs));
    kvs->unsettled_bytes = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i < old)
            old_bytes += mark_of(kvs, i)->bytes;
        else if (kvs->forgotten + i >= position)
            kvs->unsettled_bytes += mark_of(kvs, i)->bytes;
    }
    buffer_consume(&kvs->puts, old_bytes);
    buffer_consume(&kvs->marks, old * sizeof(struct put_mark));
    kvs->forgotten = kvs->settled;
    kvs->settled = position;
}

int pmi_kvs_merge(struct pmi_kvs *kvs, const void *puts, size_t bytes)
{
    char key[PMI_KVS_KEY_BYTES], value[PMI_KVS_VALUE_BYTES];
    struct wire_reader reader;

    wire_reader_init(&reader, puts, bytes);
    while (wire_left(&reader) > 0) {
        pmi_kvs_decode_put(&reader, key, value);
        if (wire_status(&reader) < 0)
            break;
        if (key[0] == '\0')
            return -ESRCH;
        pmi_kvs_preset(kvs, key, value);
    }
    return wire_finish(&reader);
}
