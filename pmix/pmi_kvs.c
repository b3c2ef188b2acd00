/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_kvs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "pmix/pmi_kvs_wire.h"

/* Limit of a node's puts between two barriers. */
#define PUTS_BYTES_MAX (64u << 20)

struct pmi_kvs {
    struct hash_map *values; /* key -> value, both with their NUL */
    struct buffer puts;      /* of this node since they were last taken */
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

int pmi_kvs_put(struct pmi_kvs *kvs, const char *key, const char *value)
{
    if (key[0] == '\0' || strlen(key) >= PMI_KVS_KEY_BYTES)
        return -EINVAL;
    if (strlen(value) >= PMI_KVS_VALUE_BYTES)
        return -EMSGSIZE;
    if (kvs->puts.length_bytes > PUTS_BYTES_MAX)
        return -ENOSPC;
    pmi_kvs_preset(kvs, key, value);
    pmi_kvs_encode_put(key, value, &kvs->puts);
    return 0;
}

void pmi_kvs_take_puts(struct pmi_kvs *kvs, struct buffer *out)
{
    assert(out->length_bytes == 0);
    buffer_swap(out, &kvs->puts);
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
            return -EBADMSG;
        pmi_kvs_preset(kvs, key, value);
    }
    return wire_finish(&reader);
}
