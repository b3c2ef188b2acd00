/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/boot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "launch/proto/compress.h"
#include "overlay/tree.h"

#define BOOT_NAMES_BYTES_MAX (BOOT_RECORD_BYTES_MAX / 2)
/* An ancestor per level; dead heads can make a chain longer than the static tree is deep. */
#define BOOT_ANCESTORS_MAX 1024u

static void put_names(struct buffer *out, const struct hostlist *names)
{
    struct buffer text = {0};

    if (names != NULL)
        hostlist_print(names, &text);
    compress_put(out, text.data, text.length_bytes);
    buffer_fini(&text);
}

static struct hostlist *get_names(struct wire_reader *reader, uint32_t expected)
{
    struct hostlist *names = hostlist_create();
    struct buffer text = {0};

    compress_get(reader, BOOT_NAMES_BYTES_MAX, &text);
    if (wire_status(reader) == 0 && text.length_bytes > 0 &&
        (memchr(text.data, '\0', text.length_bytes) != NULL ||
         hostlist_parse(names, buffer_string(&text), NULL) < 0))
        wire_fail(reader);
    if (hostlist_count(names) != expected)
        wire_fail(reader);
    buffer_fini(&text);
    return names;
}

static void put_ancestor(struct buffer *out, const struct endpoint_ancestor *ancestor)
{
    wire_put_varint(out, ancestor->place);
    address_wire_put(&ancestor->addresses, out);
}

static void get_ancestor(struct wire_reader *reader, struct endpoint_ancestor *ret_ancestor)
{
    ret_ancestor->place = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX - 1);
    address_wire_get(reader, &ret_ancestor->addresses);
}

static void get_ancestors(struct wire_reader *reader, struct boot_record *record)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, BOOT_ANCESTORS_MAX);

    record->ancestors = memory_allocate_zeroed(count * sizeof(*record->ancestors));
    record->ancestors_count = count;
    for (uint32_t i = 0; i < count; i++)
        get_ancestor(reader, &record->ancestors[i]);
}

/* The secret comes last: a buffer that grows leaves old copies of its content in memory. */
void boot_record_encode(const struct boot_record *record, struct buffer *out)
{
    assert(record->ancestors_count <= BOOT_ANCESTORS_MAX);
    instance_spec_encode(&record->instance, out);
    wire_put_varint(out, record->place);
    wire_put_varint(out, record->incarnation);
    wire_put_string(out, record->name);
    wire_put_varint(out, record->range.first);
    wire_put_varint(out, record->range.last);
    put_names(out, record->names);
    node_order_encode(record->order, out);
    wire_put_varint(out, record->ancestors_count);
    for (uint32_t i = 0; i < record->ancestors_count; i++)
        put_ancestor(out, &record->ancestors[i]);
    wire_put_bytes(out, record->instance.secret, sizeof(record->instance.secret));
}

void boot_record_encode_frame(const struct boot_record *record, struct buffer *out)
{
    struct buffer body = {0};

    boot_record_encode(record, &body);
    wire_put_u32(out, (uint32_t)body.length_bytes);
    buffer_append(out, body.data, body.length_bytes);
    explicit_bzero(body.data, body.length_bytes);
    buffer_fini(&body);
}

static void get_secret(struct wire_reader *reader, unsigned char secret[SECRET_BYTES])
{
    struct wire_bytes bytes = wire_get_bytes(reader, SECRET_BYTES);

    if (bytes.length_bytes == SECRET_BYTES)
        memcpy(secret, bytes.data, SECRET_BYTES);
    else
        wire_fail(reader);
}

static void get_range(struct wire_reader *reader, struct boot_record *record)
{
    uint32_t places = record->instance.places;

    record->range.first = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX - 1);
    record->range.last = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX - 1);
    /* Place 0 above the range: each daemon of those that get this record finds its own. */
    if (record->range.first > record->range.last || record->place > record->range.last ||
        (record->place < record->range.first && record->place != 0))
        wire_fail(reader);
    /* After the initial places come those added when the instance grows. */
    if (record->range.first < places && record->range.last >= places)
        wire_fail(reader);
}

static void get_order(struct wire_reader *reader, struct boot_record *record)
{
    uint32_t first = boot_record_first_named(record->range);

    if (wire_status(reader) == 0 &&
        node_order_decode(reader, first - 1, record->range.last + 1 - first, 0, &record->order) < 0)
        wire_fail(reader);
}

int boot_record_decode(struct boot_record *ret_record, struct wire_reader *reader)
{
    struct boot_record record = {0};
    int rc = instance_spec_decode(&record.instance, reader);

    if (rc < 0)
        return rc;
    record.place = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX - 1);
    record.incarnation = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    wire_get_string_into(reader, record.name, sizeof(record.name));
    get_range(reader, &record);
    record.names = get_names(reader, record.range.last + 1 - boot_record_first_named(record.range));
    get_order(reader, &record);
    get_ancestors(reader, &record);
    get_secret(reader, record.instance.secret);
    if (wire_status(reader) < 0) {
        boot_record_fini(&record);
        return -EBADMSG;
    }
    boot_record_fini(ret_record);
    *ret_record = record;
    explicit_bzero(record.instance.secret, sizeof(record.instance.secret));
    return 0;
}
