/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_names.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pmix/pmi.h"

#define LIST_BYTES_MAX (16u << 20)
#define KEYS_BYTES_MAX (63u << 20)

enum names_flag { FLAG_REPLACE = 1, FLAG_WAIT = 2, FLAGS_ALL = 3 };

void pmi_names_member_put(struct buffer *members, const char *namespace, uint32_t rank)
{
    assert(strlen(namespace) < PMI_NAMESPACE_BYTES);
    wire_put_string(members, namespace);
    wire_put_u32(members, rank);
}

static struct wire_bytes member_get(struct wire_reader *reader, uint32_t *ret_rank)
{
    struct wire_bytes namespace = wire_get_bytes(reader, PMI_NAMESPACE_BYTES - 1);

    *ret_rank = wire_get_u32(reader);
    return namespace;
}

static bool is_equal(const struct wire_bytes *a, const struct wire_bytes *b)
{
    return a->length_bytes == b->length_bytes &&
           (a->length_bytes == 0 || memcmp(a->data, b->data, a->length_bytes) == 0);
}

bool pmi_names_has_member(const struct wire_bytes *members, const struct wire_bytes *namespace,
                          uint32_t rank)
{
    struct wire_reader reader;

    wire_reader_init(&reader, members->data, members->length_bytes);
    while (wire_left(&reader) > 0 && wire_status(&reader) == 0) {
        uint32_t member_rank;
        struct wire_bytes member = member_get(&reader, &member_rank);

        if (wire_status(&reader) == 0 && is_equal(&member, namespace) &&
            (member_rank == rank || member_rank == PMI_NAMES_RANK_ALL))
            return true;
    }
    return false;
}

void pmi_names_key_put(struct buffer *keys, const char *key, const void *value, size_t value_bytes)
{
    assert(key[0] != '\0' && strlen(key) <= PMI_NAMES_KEY_BYTES_MAX);
    wire_put_string(keys, key);
    wire_put_bytes(keys, value, value_bytes);
}

void pmi_names_key_get(struct wire_reader *reader, struct wire_bytes *ret_key,
                       struct wire_bytes *ret_value)
{
    *ret_key = wire_get_bytes(reader, PMI_NAMES_KEY_BYTES_MAX);
    if (ret_key->length_bytes == 0)
        wire_fail(reader);
    *ret_value = wire_get_bytes(reader, PMI_NAMES_VALUE_BYTES_MAX);
}

void pmi_names_encode(const struct pmi_names *names, struct buffer *out)
{
    assert(names->range < PMI_NAMES_RANGE_COUNT);
    assert(names->persistence < PMI_NAMES_PERSISTENCE_COUNT && names->count <= PMI_NAMES_KEYS_MAX);
    wire_put_u8(out, (uint8_t)names->range);
    wire_put_u8(out, (uint8_t)names->persistence);
    wire_put_u8(out, (names->may_replace ? FLAG_REPLACE : 0) | (names->waits ? FLAG_WAIT : 0));
    wire_put_u32(out, names->wanted);
    wire_put_bytes(out, names->members.data, names->members.length_bytes);
    wire_put_u32(out, names->count);
    wire_put_bytes(out, names->keys.data, names->keys.length_bytes);
}

/* The parts are sound, so who takes them one by one need not check. */
static bool parts_are_sound(const struct pmi_names *names)
{
    struct wire_bytes key, value;
    struct wire_reader reader;
    uint32_t rank;

    wire_reader_init(&reader, names->members.data, names->members.length_bytes);
    while (wire_left(&reader) > 0 && wire_status(&reader) == 0)
        (void)member_get(&reader, &rank);
    if (wire_finish(&reader) < 0)
        return false;
    wire_reader_init(&reader, names->keys.data, names->keys.length_bytes);
    for (uint32_t i = 0; i < names->count && wire_status(&reader) == 0; i++)
        pmi_names_key_get(&reader, &key, &value);
    return wire_finish(&reader) == 0;
}

int pmi_names_decode(struct pmi_names *ret_names, struct wire_reader *reader)
{
    uint8_t range = wire_get_u8(reader), persistence = wire_get_u8(reader);
    uint8_t flags = wire_get_u8(reader);
    struct pmi_names names = {.may_replace = flags & FLAG_REPLACE, .waits = flags & FLAG_WAIT};

    names.wanted = wire_get_u32(reader);
    names.members = wire_get_bytes(reader, LIST_BYTES_MAX);
    names.count = wire_get_u32(reader);
    names.keys = wire_get_bytes(reader, KEYS_BYTES_MAX);
    if (range >= PMI_NAMES_RANGE_COUNT || persistence >= PMI_NAMES_PERSISTENCE_COUNT ||
        (flags & ~FLAGS_ALL) != 0 || names.count > PMI_NAMES_KEYS_MAX)
        wire_fail(reader);
    if (wire_finish(reader) < 0 || !parts_are_sound(&names))
        return -EBADMSG;
    names.range = (enum pmi_names_range)range;
    names.persistence = (enum pmi_names_persistence)persistence;
    *ret_names = names;
    return 0;
}

void pmi_names_found_encode(const struct pmi_names_found *found, struct buffer *out)
{
    assert(found->namespace.length_bytes < PMI_NAMESPACE_BYTES);
    wire_put_u32(out, found->index);
    wire_put_bytes(out, found->namespace.data, found->namespace.length_bytes);
    wire_put_u32(out, found->rank);
    wire_put_bytes(out, found->value.data, found->value.length_bytes);
}

void pmi_names_found_decode(struct pmi_names_found *ret_found, struct wire_reader *reader)
{
    ret_found->index = wire_get_u32(reader);
    ret_found->namespace = wire_get_bytes(reader, PMI_NAMESPACE_BYTES - 1);
    ret_found->rank = wire_get_u32(reader);
    ret_found->value = wire_get_bytes(reader, PMI_NAMES_VALUE_BYTES_MAX);
}

void pmi_names_removed_encode(uint32_t removed, struct buffer *out)
{
    wire_put_u32(out, removed);
}

uint32_t pmi_names_removed_decode(struct wire_reader *reader)
{
    return wire_get_u32(reader);
}
