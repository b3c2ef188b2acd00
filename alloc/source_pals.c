/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PALS (HPE Cray EX).  A task finds the nodes of its application in the file PALS_APINFO: C structs
 * of the machine it runs on, version 5, whose sizes and offsets a header gives.  Slots are the
 * ranks of the application.  Without that file the job's PBS_NODEFILE counts.
 */
#include "config.h"

#include "alloc/source_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define APINFO_VERSION 5u
#define HOSTNAME_BYTES 64u
#define RECORDS_MAX    268435456u

/* Offsets in the file's structs. */
enum {
    HEADER_VERSION = 0, /* int */
    HEADER_PE = 64,     /* size_t: bytes of a record; size_t: offset; int: how many */
    HEADER_NODE = 88,
    HEADER_BYTES = 112, /* as far as it is read */
    PE_NODE = 8,        /* int: index of the node */
    PE_BYTES = 12,
    NODE_NAME = 4, /* char[64] */
    NODE_BYTES = 68
};

struct table {
    const unsigned char *records;
    uint64_t record_bytes;
    uint32_t count;
};

static uint32_t get_u32(const unsigned char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static uint64_t get_u64(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static int table_read(const struct source_reading *reading, const struct buffer *bytes,
                      const char *what, size_t at, size_t least_bytes, struct table *ret_table)
{
    uint64_t record_bytes = get_u64(bytes->data + at);
    uint64_t offset = get_u64(bytes->data + at + 8);
    uint32_t count = get_u32(bytes->data + at + 16);

    if (count == 0 || count > RECORDS_MAX || record_bytes < least_bytes ||
        offset > bytes->length_bytes || record_bytes > (bytes->length_bytes - offset) / count)
        return error_set(reading->error, -EINVAL,
                         "byte %zu: the table of %s does not fit into the file", at + 1, what);
    *ret_table = (struct table){bytes->data + offset, record_bytes, count};
    return 0;
}

/* Counts the ranks of each node. */
static int ranks_count(const struct source_reading *reading, const struct table *ranks,
                       uint32_t nodes, uint32_t *slots)
{
    for (uint32_t i = 0; i < ranks->count; i++) {
        uint32_t node = get_u32(ranks->records + i * ranks->record_bytes + PE_NODE);

        if (node >= nodes)
            return error_set(reading->error, -EINVAL, "rank %u is on node %u, but there are %u", i,
                             node, nodes);
        if (++slots[node] > ALLOCATION_SLOTS_MAX)
            return error_set(reading->error, -E2BIG, "more than %u ranks on node %u",
                             ALLOCATION_SLOTS_MAX, node);
    }
    return 0;
}

static int names_add(struct source_reading *reading, const struct table *nodes,
                     const uint32_t *slots)
{
    for (uint32_t i = 0; i < nodes->count; i++) {
        const char *name = (const char *)nodes->records + i * nodes->record_bytes + NODE_NAME;
        struct source_word word = {name, strnlen(name, HOSTNAME_BYTES)};
        struct source_text text = {.name = "name of a node", .line_start = name};
        int rc;

        text.error = reading->error;
        if (word.bytes == 0 || word.bytes == HOSTNAME_BYTES)
            return error_set(reading->error, -EINVAL, "node %u has no name", i);
        rc = source_reading_add(reading, &text, &word, slots[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int apinfo_parse(struct source_reading *reading, const struct buffer *bytes)
{
    struct table ranks = {0};
    struct table nodes = {0};
    uint32_t *slots;
    int rc;

    if (bytes->length_bytes < HEADER_BYTES)
        return error_set(reading->error, -EINVAL,
                         "the file is too short (%zu bytes) to have a header", bytes->length_bytes);
    if (get_u32(bytes->data + HEADER_VERSION) != APINFO_VERSION)
        return error_set(reading->error, -ENOTSUP, "version %u, not %u",
                         get_u32(bytes->data + HEADER_VERSION), APINFO_VERSION);
    rc = table_read(reading, bytes, "ranks", HEADER_PE, PE_BYTES, &ranks);
    if (rc == 0)
        rc = table_read(reading, bytes, "nodes", HEADER_NODE, NODE_BYTES, &nodes);
    if (rc < 0)
        return rc;
    slots = memory_allocate_zeroed(nodes.count * sizeof(*slots));
    rc = ranks_count(reading, &ranks, nodes.count, slots);
    if (rc == 0)
        rc = names_add(reading, &nodes, slots);
    free(slots);
    return rc;
}

int source_read_pals(struct source_reading *reading)
{
    static const char variable[] = "PALS_APINFO";
    const char *path = source_reading_variable(reading, variable);
    struct buffer bytes = {0};
    int rc;

    if (path == NULL || path[0] == '\0')
        return source_read_pbs(reading);
    rc = source_reading_file(reading, variable, path, &bytes);
    if (rc == 0) {
        rc = apinfo_parse(reading, &bytes);
        if (rc < 0)
            error_prefix(reading->error, "%s: %s", variable, path);
    }
    buffer_fini(&bytes);
    return rc < 0 ? rc : source_reading_finish(reading, variable);
}
