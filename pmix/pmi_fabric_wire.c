/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_fabric.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of what is encoded for each: no more memory is taken than the message itself has bytes for. */
#define PLANE_BYTES_MIN  1u
#define DEVICE_BYTES_MIN 9u
#define ROW_BYTES_MIN    4u
#define PARTS_ALL        (PMI_FABRIC_COSTS | PMI_FABRIC_DEVICES)

/* ---- The question ---- */

void pmi_fabric_query_fini(struct pmi_fabric_query *query)
{
    free(query->plane);
    free(query->device_name);
    free(query->node);
    *query = (struct pmi_fabric_query){.parts = 0};
}

void pmi_fabric_query_encode(const struct pmi_fabric_query *query, struct buffer *out)
{
    assert((query->parts & ~PARTS_ALL) == 0);
    wire_put_u8(out, query->parts);
    wire_put_optional_string(out, query->plane);
    wire_put_u32(out, query->plane_index);
    wire_put_u32(out, query->device);
    wire_put_optional_string(out, query->device_name);
    wire_put_optional_string(out, query->node);
}

void pmi_fabric_query_decode(struct wire_reader *reader, struct pmi_fabric_query *query)
{
    query->parts = wire_get_u8(reader);
    if ((query->parts & ~PARTS_ALL) != 0)
        wire_fail(reader);
    query->plane = wire_get_optional_string(reader, PMI_FABRIC_NAME_MAX);
    query->plane_index = wire_get_u32(reader);
    query->device = wire_get_u32(reader);
    query->device_name = wire_get_optional_string(reader, PMI_FABRIC_NAME_MAX);
    query->node = wire_get_optional_string(reader, PMI_FABRIC_NAME_MAX);
}

/* ---- The answer ---- */

void pmi_fabric_facts_fini(struct pmi_fabric_facts *facts)
{
    for (uint32_t i = 0; i < facts->planes_count; i++)
        free(facts->planes[i]);
    for (uint32_t i = 0; i < facts->list_count; i++) {
        free(facts->list[i].place);
        free(facts->list[i].name);
        free(facts->list[i].node);
        free(facts->list[i].switch_name);
        free(facts->list[i].facts);
    }
    free(facts->planes);
    free(facts->list);
    free(facts->rows);
    free(facts->costs);
    *facts = (struct pmi_fabric_facts){.planes = NULL};
}

static void put_facts(const struct nic_facts *facts, struct buffer *out)
{
    wire_put_u8(out, facts != NULL);
    if (facts == NULL)
        return;
    for (int i = 0; i < NIC_TEXT_COUNT; i++)
        wire_put_string(out, facts->texts[i]);
    wire_put_varint(out, facts->speed);
    wire_put_varint(out, facts->mtu);
    wire_put_u16(out, facts->numa);
    wire_put_u8(out, facts->state);
}

/* The number of elements that follow, each of at least element_bytes. */
static uint32_t get_count(struct wire_reader *reader, size_t element_bytes)
{
    return (uint32_t)wire_get_varint_max(reader, wire_left(reader) / element_bytes);
}

static uint32_t get_number(struct wire_reader *reader)
{
    return (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
}

/* NULL: nothing is known. */
static struct nic_facts *get_facts(struct wire_reader *reader)
{
    uint8_t is_known = wire_get_u8(reader);
    struct nic_facts *facts;

    if (is_known > 1)
        wire_fail(reader);
    if (is_known != 1)
        return NULL;
    facts = memory_allocate_zeroed(sizeof(*facts));
    for (int i = 0; i < NIC_TEXT_COUNT; i++)
        wire_get_string_into(reader, facts->texts[i], NIC_TEXT_BYTES);
    facts->speed = wire_get_varint_max(reader, INT64_MAX);
    facts->mtu = get_number(reader);
    facts->numa = wire_get_u16(reader);
    facts->state = wire_get_u8(reader);
    if (!nic_facts_are_valid(facts))
        wire_fail(reader);
    return facts;
}

void pmi_fabric_facts_encode(const struct pmi_fabric_facts *facts, struct buffer *out)
{
    assert(facts->plane < facts->planes_count && facts->is_cut <= 1);
    assert(facts->dims <= PMI_FABRIC_DIMS_MAX);
    wire_put_varint(out, facts->planes_count);
    for (uint32_t i = 0; i < facts->planes_count; i++)
        wire_put_string(out, facts->planes[i]);
    wire_put_varint(out, facts->plane);
    wire_put_varint(out, facts->devices);
    wire_put_varint(out, facts->dims);
    wire_put_u8(out, facts->is_cut);
    wire_put_varint(out, facts->list_count);
    for (uint32_t i = 0; i < facts->list_count; i++) {
        wire_put_varint(out, facts->list[i].index);
        wire_put_string(out, facts->list[i].name);
        wire_put_string(out, facts->list[i].node);
        wire_put_string(out, facts->list[i].switch_name);
        wire_put_u16(out, facts->list[i].up);
        wire_put_u16(out, facts->list[i].down);
        for (uint32_t j = 0; j < facts->dims; j++)
            wire_put_varint(out, facts->list[i].place[j]);
        put_facts(facts->list[i].facts, out);
    }
    wire_put_varint(out, facts->rows_count);
    for (uint32_t i = 0; i < facts->rows_count; i++) {
        wire_put_u32(out, facts->rows[i]);
        for (uint32_t column = 0; column < facts->devices; column++)
            wire_put_u16(out, facts->costs[(size_t)i * facts->devices + column]);
    }
}

static void get_planes(struct wire_reader *reader, struct pmi_fabric_facts *facts)
{
    facts->planes_count = get_count(reader, PLANE_BYTES_MIN);
    facts->planes = memory_allocate_zeroed(facts->planes_count * sizeof(*facts->planes));
    for (uint32_t i = 0; i < facts->planes_count; i++)
        facts->planes[i] = wire_get_string(reader, PMI_FABRIC_NAME_MAX);
    facts->plane = get_number(reader);
    if (facts->plane >= facts->planes_count)
        wire_fail(reader);
}

static void get_list(struct wire_reader *reader, struct pmi_fabric_facts *facts)
{
    facts->list_count = get_count(reader, DEVICE_BYTES_MIN + facts->dims);
    facts->list = memory_allocate_zeroed(facts->list_count * sizeof(*facts->list));
    for (uint32_t i = 0; i < facts->list_count; i++) {
        struct pmi_fabric_device *device = &facts->list[i];

        device->index = get_number(reader);
        device->name = wire_get_string(reader, PMI_FABRIC_NAME_MAX);
        device->node = wire_get_string(reader, PMI_FABRIC_NAME_MAX);
        device->switch_name = wire_get_string(reader, PMI_FABRIC_NAME_MAX);
        device->up = wire_get_u16(reader);
        device->down = wire_get_u16(reader);
        device->place = memory_allocate_zeroed(facts->dims * sizeof(*device->place));
        for (uint32_t j = 0; j < facts->dims; j++)
            device->place[j] = get_number(reader);
        device->facts = get_facts(reader);
        if (device->index >= facts->devices)
            wire_fail(reader);
    }
}

static void get_rows(struct wire_reader *reader, struct pmi_fabric_facts *facts)
{
    facts->rows_count = get_count(reader, ROW_BYTES_MIN + (size_t)2 * facts->devices);
    facts->rows = memory_allocate_zeroed(facts->rows_count * sizeof(*facts->rows));
    facts->costs =
        memory_allocate_zeroed((size_t)facts->rows_count * facts->devices * sizeof(*facts->costs));
    for (uint32_t i = 0; i < facts->rows_count; i++) {
        facts->rows[i] = wire_get_u32(reader);
        if (facts->rows[i] >= facts->devices)
            wire_fail(reader);
        for (uint32_t column = 0; column < facts->devices; column++)
            facts->costs[(size_t)i * facts->devices + column] = wire_get_u16(reader);
    }
}

int pmi_fabric_facts_decode(struct pmi_fabric_facts *ret_facts, const void *data, size_t bytes)
{
    struct pmi_fabric_facts facts = {.planes = NULL};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    get_planes(&reader, &facts);
    facts.devices = get_number(&reader);
    facts.dims = (uint32_t)wire_get_varint_max(&reader, PMI_FABRIC_DIMS_MAX);
    facts.is_cut = wire_get_u8(&reader);
    if (facts.is_cut > 1)
        wire_fail(&reader);
    get_list(&reader, &facts);
    get_rows(&reader, &facts);
    if (wire_finish(&reader) < 0) {
        pmi_fabric_facts_fini(&facts);
        return -EBADMSG;
    }
    *ret_facts = facts;
    return 0;
}
