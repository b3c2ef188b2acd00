/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_fabric_value.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

#define DEVICE_ITEMS 7

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

static void load_device(const struct pmi_fabric_facts *facts,
                        const struct pmi_fabric_device *device, pmix_value_t *ret_value)
{
    pmix_info_t *items = load_array(DEVICE_ITEMS, PMIX_INFO, ret_value);

    PMIX_INFO_LOAD(&items[0], PMIX_DEVICE_ID, device->name, PMIX_STRING);
    PMIX_INFO_LOAD(&items[1], PMIX_FABRIC_DEVICE_NAME, device->name, PMIX_STRING);
    PMIX_INFO_LOAD(&items[2], PMIX_FABRIC_DEVICE_INDEX, &device->index, PMIX_UINT32);
    PMIX_INFO_LOAD(&items[3], PMIX_HOSTNAME, device->node, PMIX_STRING);
    PMIX_INFO_LOAD(&items[4], PMIX_FABRIC_SWITCH, device->switch_name, PMIX_STRING);
    PMIX_INFO_LOAD(&items[5], PMIX_FABRIC_PLANE, facts->planes[facts->plane], PMIX_STRING);
    load_coordinates(facts, device, &items[6]);
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
