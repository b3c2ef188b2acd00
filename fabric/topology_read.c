/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

#include "fabric/hwloc_start.h"

#define PCI_CLASS_DISPLAY 0x03
#define PCI_NVIDIA        0x10de
#define PCI_AMD           0x1002
#define PCI_INTEL         0x8086

static const struct {
    hwloc_obj_type_t type;
    enum topology_level level;
} levels[] = {{HWLOC_OBJ_PACKAGE, TOPOLOGY_PACKAGE},
              {HWLOC_OBJ_L3CACHE, TOPOLOGY_L3},
              {HWLOC_OBJ_L2CACHE, TOPOLOGY_L2},
              {HWLOC_OBJ_L1CACHE, TOPOLOGY_L1},
              {HWLOC_OBJ_CORE, TOPOLOGY_CORE}};

#define LEVELS_COUNT (sizeof(levels) / sizeof(levels[0]))

/* ---- Processors ---- */

/* Logical numbers of the threads of a set. */
static void threads_of(hwloc_topology_t topology, hwloc_const_cpuset_t set, struct ranges *ret)
{
    hwloc_obj_t thread = NULL;

    while ((thread = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, thread)) != NULL) {
        if (hwloc_bitmap_isset(set, thread->os_index))
            ranges_add(ret, thread->logical_index, thread->logical_index);
    }
}

/* The threads that are in an object and in none before it. */
static void fill_object(hwloc_topology_t source, hwloc_obj_t object, uint32_t *objects)
{
    hwloc_obj_t thread = NULL;

    while ((thread = hwloc_get_next_obj_inside_cpuset_by_type(source, object->cpuset, HWLOC_OBJ_PU,
                                                              thread)) != NULL) {
        if (objects[thread->logical_index] == TOPOLOGY_NONE)
            objects[thread->logical_index] = object->logical_index;
    }
}

static void fill_level(hwloc_topology_t source, size_t index, struct topology *topology)
{
    hwloc_obj_t object = NULL;

    while ((object = hwloc_get_next_obj_by_type(source, levels[index].type, object)) != NULL)
        fill_object(source, object, topology->objects[levels[index].level]);
}

/* ---- NUMA nodes ---- */

/* The narrowest set first; of equal ones in hwloc's order. */
static int compare_reach(const void *a, const void *b)
{
    const hwloc_obj_t left = *(const hwloc_obj_t *)a, right = *(const hwloc_obj_t *)b;
    int threads_left = hwloc_bitmap_weight(left->cpuset);
    int threads_right = hwloc_bitmap_weight(right->cpuset);

    if (threads_left != threads_right)
        return threads_left < threads_right ? -1 : 1;
    return left->logical_index < right->logical_index ? -1 : 1;
}

/* The NUMA node that has been given exactly these threads, or NULL. */
static hwloc_obj_t owner_of(hwloc_topology_t source, hwloc_const_cpuset_t set,
                            const uint32_t *objects)
{
    hwloc_obj_t thread = hwloc_get_next_obj_inside_cpuset_by_type(source, set, HWLOC_OBJ_PU, NULL);
    hwloc_obj_t owner = NULL;

    if (thread != NULL)
        owner = hwloc_get_obj_by_type(source, HWLOC_OBJ_NUMANODE, objects[thread->logical_index]);
    return owner != NULL && hwloc_bitmap_isequal(owner->cpuset, set) ? owner : NULL;
}

/* A thread belongs to the NUMA node of the narrowest set of threads that holds it.  A memory of
 * exactly this set (fast memory beside the large one) is another memory of the same NUMA node; one of
 * a wider set (a package's beside those of its halves) is of none, and so is one that this process's
 * cgroup forbids. */
static void fill_numa(hwloc_topology_t source, struct topology *topology)
{
    int count = hwloc_get_nbobjs_by_type(source, HWLOC_OBJ_NUMANODE); /* of NUMA nodes at least 1 */
    hwloc_obj_t *numas = memory_allocate((size_t)(count > 0 ? count : 1) * sizeof(hwloc_obj_t));
    hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(source);
    uint32_t *objects = topology->objects[TOPOLOGY_NUMA];

    topology_add_memory(topology, (uint32_t)count);
    for (int i = 0; i < count; i++)
        numas[i] = hwloc_get_obj_by_type(source, HWLOC_OBJ_NUMANODE, (unsigned int)i);
    qsort(numas, (size_t)count, sizeof(*numas), compare_reach);
    for (int i = 0; i < count; i++) {
        uint32_t memory = numas[i]->os_index;
        hwloc_obj_t owner;

        fill_object(source, numas[i], objects);
        owner = owner_of(source, numas[i]->cpuset, objects);
        if (owner != NULL && memory < TOPOLOGY_MEMORY_MAX && hwloc_bitmap_isset(allowed, memory))
            ranges_add(&topology->memory[owner->logical_index], memory, memory);
    }
    free(numas);
}

/* Machines that report no cores get one for each thread. */
static void fill_cores(struct topology *topology)
{
    uint32_t *cores = topology->objects[TOPOLOGY_CORE];

    for (uint32_t i = 0; i < topology->threads; i++) {
        if (cores[i] == TOPOLOGY_NONE)
            cores[i] = topology->threads + i;
    }
}

static int fill_topology(hwloc_topology_t source, struct topology *topology, struct error *error)
{
    int threads = hwloc_get_nbobjs_by_type(source, HWLOC_OBJ_PU);
    hwloc_obj_t thread = NULL;

    if (threads <= 0 || threads > (int)TOPOLOGY_THREADS_MAX)
        return error_set(error, -E2BIG,
                         "the machine has %d hardware threads; 1 to %u are supported", threads,
                         TOPOLOGY_THREADS_MAX);
    topology_init(topology, (uint32_t)threads);
    while ((thread = hwloc_get_next_obj_by_type(source, HWLOC_OBJ_PU, thread)) != NULL)
        topology->os[thread->logical_index] = thread->os_index;
    for (size_t i = 0; i < LEVELS_COUNT; i++)
        fill_level(source, i, topology);
    fill_numa(source, topology);
    fill_cores(topology);
    topology_number(topology);
    return 0;
}

/* ---- Devices ---- */

static enum topology_device_kind gpu_kind(const struct hwloc_pcidev_attr_s *pci)
{
    if (pci->class_id >> 8 != PCI_CLASS_DISPLAY)
        return TOPOLOGY_DEVICE_OTHER;
    switch (pci->vendor_id) {
    case PCI_NVIDIA:
        return TOPOLOGY_DEVICE_NVIDIA;
    case PCI_AMD:
        return TOPOLOGY_DEVICE_AMD;
    case PCI_INTEL:
        return TOPOLOGY_DEVICE_INTEL;
    default:
        return TOPOLOGY_DEVICE_OTHER;
    }
}

static void add_device(hwloc_topology_t source, hwloc_obj_t object, const char *name,
                       enum topology_device_kind kind, struct topology *topology)
{
    hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(source, object);
    struct ranges near = {0};

    if (topology->devices_count >= TOPOLOGY_DEVICES_MAX)
        return;
    if (parent != NULL && parent->cpuset != NULL)
        threads_of(source, parent->cpuset, &near);
    topology_add_device(topology, name, kind, &near);
    ranges_fini(&near);
}

static uint64_t bus_place(const struct hwloc_pcidev_attr_s *pci)
{
    return (uint64_t)pci->domain << 24 | (uint64_t)pci->bus << 16 | (uint64_t)pci->dev << 8 |
           pci->func;
}

static int compare_bus(const void *a, const void *b)
{
    uint64_t left = bus_place(&(*(const hwloc_obj_t *)a)->attr->pcidev);
    uint64_t right = bus_place(&(*(const hwloc_obj_t *)b)->attr->pcidev);

    return left < right ? -1 : left > right;
}

/* The vendors' libraries can be set to count in bus order; hwloc's order is that of the parent
 * objects. */
static uint32_t find_gpus(hwloc_topology_t source, hwloc_obj_t **ret_gpus)
{
    hwloc_obj_t *gpus = NULL, object = NULL;
    uint32_t count = 0;

    while ((object = hwloc_get_next_pcidev(source, object)) != NULL) {
        if (gpu_kind(&object->attr->pcidev) == TOPOLOGY_DEVICE_OTHER)
            continue;
        gpus = memory_resize(gpus, (count + 1) * sizeof(hwloc_obj_t));
        gpus[count++] = object;
    }
    if (count > 1)
        qsort(gpus, count, sizeof(*gpus), compare_bus);
    *ret_gpus = gpus;
    return count;
}

/* Those of the main vendor are gpu0, gpu1 and so on; any others have their vendor's name. */
static void name_gpus(struct topology *topology)
{
    static const char *const others[TOPOLOGY_DEVICE_KIND_COUNT] = {
        [TOPOLOGY_DEVICE_NVIDIA] = "nvidia",
        [TOPOLOGY_DEVICE_AMD] = "amd",
        [TOPOLOGY_DEVICE_INTEL] = "intel",
    };
    uint32_t counts[TOPOLOGY_DEVICE_KIND_COUNT] = {0};
    enum topology_device_kind vendor;

    (void)topology_gpus(topology, &vendor);
    for (uint32_t i = 0; i < topology->devices_count; i++) {
        struct topology_device *gpu = &topology->devices[i];

        snprintf(gpu->name, sizeof(gpu->name), "%s%u",
                 gpu->kind == vendor ? "gpu" : others[gpu->kind], counts[gpu->kind]++);
    }
}

/* Before all other devices. */
static void add_gpus(hwloc_topology_t source, struct topology *topology)
{
    hwloc_obj_t *gpus;
    uint32_t count = find_gpus(source, &gpus);

    for (uint32_t i = 0; i < count; i++)
        add_device(source, gpus[i], "", gpu_kind(&gpus[i]->attr->pcidev), topology);
    name_gpus(topology);
    free(gpus);
}

static int is_network(hwloc_obj_t object)
{
    return object->type == HWLOC_OBJ_OS_DEVICE &&
           (object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
            object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS);
}

/* A card may appear as mlx5_0 and as ib0: only its first verbs device counts, or its first of any
 * kind, so that one card is not taken for two. */
static int is_second_name(hwloc_obj_t object)
{
    hwloc_obj_t other =
        object->parent->type == HWLOC_OBJ_PCI_DEVICE ? object->parent->io_first_child : NULL;
    int is_before = 1;

    for (; other != NULL; other = other->next_sibling) {
        if (other == object)
            is_before = 0;
        else if (is_network(other) &&
                 (other->attr->osdev.type == object->attr->osdev.type
                      ? is_before
                      : other->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS))
            return 1;
    }
    return 0;
}

static void add_networks(hwloc_topology_t source, struct topology *topology)
{
    hwloc_obj_t object = NULL;

    while ((object = hwloc_get_next_osdev(source, object)) != NULL) {
        if (is_network(object))
            add_device(source, object, object->name,
                       is_second_name(object) ? TOPOLOGY_DEVICE_OTHER : TOPOLOGY_DEVICE_NETWORK,
                       topology);
    }
}

/* ---- Loading ---- */

/* All that hwloc keeps by itself, also what is no level here (groups, dies): NUMA nodes are
 * attached to it, and one whose parent was filtered out would be moved to the package and get its
 * threads. */
static void choose_objects(hwloc_topology_t source, int with_devices)
{
    if (with_devices)
        hwloc_topology_set_io_types_filter(source, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    hwloc_topology_set_flags(source, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
}

static void find_allowed(hwloc_topology_t source, struct ranges *ret_allowed)
{
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    hwloc_const_cpuset_t set = hwloc_topology_get_allowed_cpuset(source);
    int number = -1;

    if (bound != NULL && hwloc_topology_is_thissystem(source) &&
        hwloc_get_cpubind(source, bound, HWLOC_CPUBIND_PROCESS) == 0)
        set = bound;
    ranges_clear(ret_allowed);
    while ((number = hwloc_bitmap_next(set, number)) >= 0 && number <= (int)TOPOLOGY_OS_MAX)
        ranges_add(ret_allowed, (uint32_t)number, (uint32_t)number);
    hwloc_bitmap_free(bound);
}

static int load_topology(hwloc_topology_t source, int with_devices, struct topology *ret_topology,
                         struct ranges *ret_allowed, struct error *error)
{
    int rc;

    choose_objects(source, with_devices);
    errno = EINVAL;
    if (hwloc_topology_load(source) < 0)
        return error_set(error, -errno, "hwloc cannot read the topology: %s", strerror(errno));
    rc = fill_topology(source, ret_topology, error);
    if (rc < 0)
        return rc;
    if (with_devices) {
        add_gpus(source, ret_topology);
        add_networks(source, ret_topology);
    }
    find_allowed(source, ret_allowed);
    return 0;
}

/* `prepare` may be NULL; it says where the topology comes from. */
static int read_with(int (*prepare)(hwloc_topology_t source, const char *text), const char *text,
                     int with_devices, struct topology *ret_topology, struct ranges *ret_allowed,
                     struct error *error)
{
    hwloc_topology_t source;
    int rc = hwloc_start(&source);

    if (rc < 0)
        return rc;
    errno = EINVAL;
    if (prepare != NULL && prepare(source, text) < 0)
        rc = error_set(error, -errno, "cannot read topology '%.200s': %s", text,
                       errno == EINVAL ? "not in hwloc's synthetic form" : strerror(errno));
    if (rc == 0)
        rc = load_topology(source, with_devices, ret_topology, ret_allowed, error);
    hwloc_topology_destroy(source);
    return rc;
}

int topology_read(int with_devices, struct topology *ret_topology, struct ranges *ret_allowed,
                  struct error *error)
{
    return read_with(NULL, NULL, with_devices, ret_topology, ret_allowed, error);
}

static int is_file(const char *text)
{
    size_t bytes = strlen(text);

    return strchr(text, '/') != NULL || (bytes > 4 && strcmp(text + bytes - 4, ".xml") == 0);
}

int topology_read_text(const char *text, struct topology *ret_topology, struct ranges *ret_allowed,
                       struct error *error)
{
    return read_with(is_file(text) ? hwloc_topology_set_xml : hwloc_topology_set_synthetic, text, 1,
                     ret_topology, ret_allowed, error);
}
