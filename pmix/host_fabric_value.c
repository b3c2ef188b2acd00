/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_fabric_value.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#define DEVICE_ITEMS     7
#define DEVICE_ITEMS_MAX (DEVICE_ITEMS + 10)
#define PCI_BYTES        (NIC_TEXT_BYTES + 1)

/* The array belongs to the value. */
static void *load_array(size_t count, pmix_data_type_t type, pmix_value_t *ret_value)
{
    pmix_data_array_t *array;

    assert(count > 0);
    PMIX_DATA_ARRAY_CREATE(array, count, type);
    PMIX_VALUE_CONSTRUCT(ret_value);
    ret_value->type = PMIX_DATA_ARRAY;
    ret_value->data.darray = array;
    return array->array;
}

int host_fabric_index(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value)
{
    size_t index = facts->plane;

    PMIX_VALUE_LOAD(ret_value, &index, PMIX_SIZE);
    return 0;
}

int host_fabric_devices_count(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value)
{
    size_t count = facts->devices;

    PMIX_VALUE_LOAD(ret_value, &count, PMIX_SIZE);
    return 0;
}

int host_fabric_dims(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value)
{
    PMIX_VALUE_LOAD(ret_value, &facts->dims, PMIX_UINT32);
    return 0;
}

int host_fabric_planes(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value)
{
    char **names;

    if (facts->planes_count == 0)
        return -ENOENT;
    names = load_array(facts->planes_count, PMIX_STRING, ret_value);
    for (uint32_t i = 0; i < facts->planes_count; i++)
        names[i] = strdup(facts->planes[i]);
    return 0;
}

int host_fabric_costs(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value)
{
    size_t count = (size_t)facts->rows_count * facts->devices;

    if (count == 0)
        return facts->is_cut ? -ENOBUFS : -ENOENT;
    memcpy(load_array(count, PMIX_UINT16, ret_value), facts->costs, count * sizeof(*facts->costs));
    return 0;
}

/* A place in the tree of switches, in the logical view. */
static void load_coordinates(const struct pmi_fabric_facts *facts,
                             const struct pmi_fabric_device *device, pmix_info_t *item)
{
    pmix_geometry_t *geometry = memory_allocate_zeroed(sizeof(*geometry));
    pmix_coord_t *coordinates = memory_allocate_zeroed(sizeof(*coordinates));

    coordinates->view = PMIX_COORD_LOGICAL_VIEW;
    coordinates->dims = facts->dims;
    coordinates->coord = memory_copy(device->place, facts->dims * sizeof(*device->place));
    geometry->fabric = facts->plane;
    geometry->uuid = memory_copy_string(device->name);
    geometry->osname = memory_copy_string(device->name);
    geometry->coordinates = coordinates;
    geometry->ncoords = 1;
    PMIX_INFO_CONSTRUCT(item);
    PMIX_LOAD_KEY(item->key, PMIX_FABRIC_DEVICE_COORDINATES);
    item->value.type = PMIX_GEOMETRY;
    item->value.data.geometry = geometry;
}

/* "0000:c1:00.0" is "0000:c1:00:00" to the standard. */
static void print_pci(const char *pci, char ret_text[PCI_BYTES])
{
    const char *dot = strrchr(pci, '.');

    assert(dot != NULL && strlen(dot) == 2);
    snprintf(ret_text, PCI_BYTES, "%.*s:0%s", (int)(dot - pci), pci, dot + 1);
}

static void load_text(const char *key, const char *text, pmix_info_t *items, size_t *count)
{
    if (text[0] != '\0')
        PMIX_INFO_LOAD(&items[(*count)++], key, text, PMIX_STRING);
}

static void load_number(const char *key, uint64_t number, pmix_info_t *items, size_t *count)
{
    size_t size = number;

    if (number > 0 && number <= SIZE_MAX)
        PMIX_INFO_LOAD(&items[(*count)++], key, &size, PMIX_SIZE);
}

static void load_state(enum nic_state state, pmix_info_t *items, size_t *count)
{
    pmix_info_t *item = &items[*count];

    if (state == NIC_STATE_UNKNOWN)
        return;
    PMIX_INFO_CONSTRUCT(item);
    PMIX_LOAD_KEY(item->key, PMIX_FABRIC_DEVICE_STATE);
    item->value.type = PMIX_LINK_STATE;
    item->value.data.linkstate = state == NIC_UP ? PMIX_LINK_UP : PMIX_LINK_DOWN;
    (*count)++;
}

/* What is known of the NIC.  What the standard calls VENDORID identifies the product. */
static void load_facts(const struct nic_facts *facts, pmix_info_t *items, size_t *count)
{
    char pci[PCI_BYTES] = "";

    if (facts->texts[NIC_PCI][0] != '\0')
        print_pci(facts->texts[NIC_PCI], pci);
    load_text(PMIX_FABRIC_DEVICE_VENDOR, facts->texts[NIC_VENDOR], items, count);
    load_text(PMIX_FABRIC_DEVICE_VENDORID, facts->texts[NIC_DEVICE], items, count);
    load_text(PMIX_FABRIC_DEVICE_DRIVER, facts->texts[NIC_DRIVER], items, count);
    load_text(PMIX_FABRIC_DEVICE_ADDRESS, facts->texts[NIC_ADDRESS], items, count);
    load_number(PMIX_FABRIC_DEVICE_SPEED, facts->speed, items, count);
    load_number(PMIX_FABRIC_DEVICE_MTU, facts->mtu, items, count);
    load_state((enum nic_state)facts->state, items, count);
    load_text(PMIX_FABRIC_DEVICE_TYPE, facts->texts[NIC_TYPE], items, count);
    load_text(PMIX_FABRIC_DEVICE_BUS_TYPE, pci[0] != '\0' ? "PCI" : "", items, count);
    load_text(PMIX_FABRIC_DEVICE_PCI_DEVID, pci, items, count);
}

static void load_device(const struct pmi_fabric_facts *facts,
                        const struct pmi_fabric_device *device, pmix_value_t *ret_value)
{
    pmix_info_t items[DEVICE_ITEMS_MAX];
    size_t count = DEVICE_ITEMS;

    PMIX_INFO_LOAD(&items[0], PMIX_DEVICE_ID, device->name, PMIX_STRING);
    PMIX_INFO_LOAD(&items[1], PMIX_FABRIC_DEVICE_NAME, device->name, PMIX_STRING);
    PMIX_INFO_LOAD(&items[2], PMIX_FABRIC_DEVICE_INDEX, &device->index, PMIX_UINT32);
    PMIX_INFO_LOAD(&items[3], PMIX_HOSTNAME, device->node, PMIX_STRING);
    PMIX_INFO_LOAD(&items[4], PMIX_FABRIC_SWITCH, device->switch_name, PMIX_STRING);
    PMIX_INFO_LOAD(&items[5], PMIX_FABRIC_PLANE, facts->planes[facts->plane], PMIX_STRING);
    load_coordinates(facts, device, &items[6]);
    if (device->facts != NULL)
        load_facts(device->facts, items, &count);
    assert(count <= DEVICE_ITEMS_MAX);
    memcpy(load_array(count, PMIX_INFO, ret_value), items, count * sizeof(*items));
}

int host_fabric_devices(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value)
{
    pmix_info_t *entries;

    if (facts->list_count == 0)
        return facts->is_cut ? -ENOBUFS : -ENOENT;
    entries = load_array(facts->list_count, PMIX_INFO, ret_value);
    for (uint32_t i = 0; i < facts->list_count; i++) {
        PMIX_LOAD_KEY(entries[i].key, PMIX_FABRIC_DEVICE);
        load_device(facts, &facts->list[i], &entries[i].value);
    }
    return 0;
}

int host_fabric_device(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value)
{
    if (facts->list_count == 0)
        return facts->is_cut ? -EINVAL : -ENOENT;
    if (facts->list_count > 1)
        return -EINVAL;
    load_device(facts, &facts->list[0], ret_value);
    return 0;
}
