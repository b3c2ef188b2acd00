/* SPDX-License-Identifier: BSD-3-Clause */
/* What the NICs of a model are: texts that many share are kept once, addresses each for itself. */
#include "config.h"

#include "fabric/topology/fabric_model.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_ROOM 16u

static uint32_t put_text(struct fabric_model *model, const char *text)
{
    size_t offset = model->names.length_bytes;

    buffer_append(&model->names, text, strlen(text) + 1);
    assert(offset + 1 < FABRIC_NONE);
    return (uint32_t)offset + 1;
}

static uint32_t keep_text(struct fabric_model *model, enum nic_text kind, const char *text)
{
    uint32_t found;

    if (text[0] == '\0')
        return 0;
    if (kind == NIC_ADDRESS)
        return put_text(model, text);
    if (model->text_index == NULL)
        model->text_index = hash_map_create();
    found = (uint32_t)(uintptr_t)hash_map_get(model->text_index, text, strlen(text));
    if (found == 0) {
        found = put_text(model, text);
        (void)hash_map_put(model->text_index, text, strlen(text), (void *)(uintptr_t)found);
    }
    return found;
}

/* Room for the vertex; nothing is known of those before that have not been described. */
static struct fabric_device *make_room(struct fabric_model *model, uint32_t vertex)
{
    uint32_t room = model->devices_count > FIRST_ROOM ? model->devices_count : FIRST_ROOM;

    if (vertex < model->devices_count)
        return &model->devices[vertex];
    while (room <= vertex)
        room *= 2;
    model->devices = memory_resize(model->devices, room * sizeof(*model->devices));
    memset(model->devices + model->devices_count, 0,
           (room - model->devices_count) * sizeof(*model->devices));
    model->devices_count = room;
    return &model->devices[vertex];
}

void fabric_model_describe(struct fabric_model *model, uint32_t vertex,
                           const struct nic_facts *facts)
{
    struct fabric_device *device;

    assert(!model->is_settled && vertex < model->vertices_count);
    assert(facts->state < NIC_STATE_COUNT);
    if (!nic_facts_known(facts))
        return;
    device = make_room(model, vertex);
    *device = (struct fabric_device){.speed = facts->speed,
                                     .mtu = facts->mtu,
                                     .numa = (uint16_t)(facts->numa + 1),
                                     .state = facts->state};
    for (int i = 0; i < NIC_TEXT_COUNT; i++)
        device->texts[i] = keep_text(model, (enum nic_text)i, facts->texts[i]);
}

static const struct fabric_device *device_of(const struct fabric_model *model, uint32_t vertex)
{
    static const struct fabric_device unknown;

    return vertex < model->devices_count ? &model->devices[vertex] : &unknown;
}

bool fabric_model_facts(const struct fabric_model *model, uint32_t vertex,
                        struct nic_facts *ret_facts)
{
    const struct fabric_device *device = device_of(model, vertex);
    struct nic_facts facts = {.speed = device->speed,
                              .mtu = device->mtu,
                              .numa = (uint16_t)(device->numa - 1),
                              .state = (uint8_t)device->state};

    assert(vertex < model->vertices_count);
    for (int i = 0; i < NIC_TEXT_COUNT; i++) {
        if (device->texts[i] > 0)
            nic_text_set(facts.texts[i], NIC_TEXT_BYTES,
                         fabric_model_name(model, device->texts[i] - 1));
    }
    if (!nic_facts_known(&facts))
        return false;
    *ret_facts = facts;
    return true;
}

bool fabric_model_same_facts(const struct fabric_model *model, uint32_t vertex, uint32_t other)
{
    return memcmp(device_of(model, vertex), device_of(model, other),
                  sizeof(struct fabric_device)) == 0;
}
