/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"

#define LEVEL_FIRST TOPOLOGY_PACKAGE /* those that differ from machine to machine */
#define LEVEL_LAST  TOPOLOGY_CORE

static const struct {
    const char *word;
    enum topology_level level;
} level_words[] = {
    {"node", TOPOLOGY_NODE},    {"package", TOPOLOGY_PACKAGE}, {"numa", TOPOLOGY_NUMA},
    {"l3cache", TOPOLOGY_L3},   {"l2cache", TOPOLOGY_L2},      {"l1cache", TOPOLOGY_L1},
    {"core", TOPOLOGY_CORE},    {"hwthread", TOPOLOGY_THREAD}, {"socket", TOPOLOGY_PACKAGE},
    {"l3", TOPOLOGY_L3},        {"l2", TOPOLOGY_L2},           {"l1", TOPOLOGY_L1},
    {"thread", TOPOLOGY_THREAD}};

const char *topology_level_name(enum topology_level level)
{
    return level_words[level].word;
}

int topology_level_parse(const char *word, size_t word_bytes, enum topology_level *ret_level)
{
    for (size_t i = 0; i < sizeof(level_words) / sizeof(level_words[0]); i++) {
        if (strlen(level_words[i].word) == word_bytes &&
            strncasecmp(level_words[i].word, word, word_bytes) == 0) {
            *ret_level = level_words[i].level;
            return 0;
        }
    }
    return -EINVAL;
}

void topology_init(struct topology *topology, uint32_t threads)
{
    *topology = (struct topology){.threads = threads};
    topology->os = memory_allocate_zeroed(threads * sizeof(*topology->os));
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++) {
        topology->objects[level] = memory_allocate(threads * sizeof(**topology->objects));
        for (uint32_t i = 0; i < threads; i++)
            topology->objects[level][i] = level == TOPOLOGY_NODE     ? 0
                                          : level == TOPOLOGY_THREAD ? i
                                                                     : TOPOLOGY_NONE;
    }
    topology->counts[TOPOLOGY_NODE] = 1;
    topology->counts[TOPOLOGY_THREAD] = threads;
}

void topology_fini(struct topology *topology)
{
    free(topology->os);
    for (uint32_t i = 0; topology->memory != NULL && i < topology->counts[TOPOLOGY_NUMA]; i++)
        ranges_fini(&topology->memory[i]);
    free(topology->memory);
    for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++)
        free(topology->objects[level]);
    for (uint32_t i = 0; i < topology->devices_count; i++)
        ranges_fini(&topology->devices[i].near);
    free(topology->devices);
    *topology = (struct topology){0};
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

/* The distinct numbers of a level in ascending order, without TOPOLOGY_NONE. */
static uint32_t distinct_numbers(const uint32_t *objects, uint32_t threads, uint32_t *ret_numbers)
{
    uint32_t count = 0;

    memcpy(ret_numbers, objects, threads * sizeof(*objects));
    qsort(ret_numbers, threads, sizeof(*objects), compare_numbers);
    for (uint32_t i = 0; i < threads; i++) {
        if (ret_numbers[i] != TOPOLOGY_NONE &&
            (count == 0 || ret_numbers[count - 1] != ret_numbers[i]))
            ret_numbers[count++] = ret_numbers[i];
    }
    return count;
}

/* That of the NUMA nodes with these old numbers, ascending: what is overwritten has been moved away. */
static void keep_memory(struct topology *topology, const uint32_t *numbers, uint32_t count,
                        uint32_t count_before)
{
    for (uint32_t i = 0; i < count; i++)
        ranges_move(&topology->memory[i], &topology->memory[numbers[i]]);
    for (uint32_t i = count; i < count_before; i++)
        ranges_fini(&topology->memory[i]);
}

static void number_level(struct topology *topology, enum topology_level level, uint32_t *numbers)
{
    uint32_t *objects = topology->objects[level];
    uint32_t count = distinct_numbers(objects, topology->threads, numbers);
    uint32_t count_before = topology->counts[level];

    topology->counts[level] = count;
    for (uint32_t i = 0; i < topology->threads; i++) {
        const uint32_t *found =
            bsearch(&objects[i], numbers, count, sizeof(*numbers), compare_numbers);

        if (found != NULL)
            objects[i] = (uint32_t)(found - numbers);
    }
    if (level == TOPOLOGY_NUMA && topology->memory != NULL)
        keep_memory(topology, numbers, count, count_before);
}

void topology_number(struct topology *topology)
{
    uint32_t *numbers = memory_allocate(topology->threads * sizeof(*numbers));

    for (int level = LEVEL_FIRST; level <= LEVEL_LAST; level++)
        number_level(topology, (enum topology_level)level, numbers);
    free(numbers);
}

void topology_add_memory(struct topology *topology, uint32_t numa_nodes)
{
    topology->memory = memory_allocate_zeroed((numa_nodes + 1) * sizeof(*topology->memory));
    topology->counts[TOPOLOGY_NUMA] = numa_nodes;
}

void topology_add_device(struct topology *topology, const char *name,
                         enum topology_device_kind kind, struct ranges *near)
{
    struct topology_device *device;

    topology->devices = memory_resize(topology->devices,
                                      (topology->devices_count + 1) * sizeof(*topology->devices));
    device = &topology->devices[topology->devices_count++];
    *device = (struct topology_device){.kind = kind};
    snprintf(device->name, sizeof(device->name), "%s", name);
    ranges_move(&device->near, near);
}

/* The threads that are near a device and left, or if none is those that are left of its packages. */
static void near_left(const struct topology *source, const struct topology_device *device,
                      const uint32_t *new_numbers, struct ranges *near)
{
    const uint32_t *packages = source->objects[TOPOLOGY_PACKAGE];
    struct ranges homes = {0};

    for (uint32_t t = 0; t < source->threads; t++) {
        if (!ranges_contains(&device->near, t))
            continue;
        if (new_numbers[t] != TOPOLOGY_NONE)
            ranges_add(near, new_numbers[t], new_numbers[t]);
        if (packages[t] != TOPOLOGY_NONE)
            ranges_add(&homes, packages[t], packages[t]);
    }
    if (!ranges_is_empty(near))
        ranges_clear(&homes);
    for (uint32_t t = 0; t < source->threads; t++) {
        if (new_numbers[t] != TOPOLOGY_NONE && ranges_contains(&homes, packages[t]))
            ranges_add(near, new_numbers[t], new_numbers[t]);
    }
    ranges_fini(&homes);
}

/* The devices of a topology whose threads have got new numbers (TOPOLOGY_NONE: gone). */
static void copy_devices(const struct topology *source, const uint32_t *new_numbers,
                         struct topology *target)
{
    for (uint32_t i = 0; i < source->devices_count; i++) {
        const struct topology_device *device = &source->devices[i];
        struct ranges near = {0};

        near_left(source, device, new_numbers, &near);
        topology_add_device(target, device->name, device->kind, &near);
        ranges_fini(&near);
    }
}

static void copy_memory(const struct topology *source, struct topology *target)
{
    uint32_t count = source->counts[TOPOLOGY_NUMA];

    if (source->memory == NULL)
        return;
    topology_add_memory(target, count);
    for (uint32_t i = 0; i < count; i++)
        ranges_copy(&target->memory[i], &source->memory[i]);
}

int topology_restrict(const struct topology *topology, const struct ranges *allowed,
                      struct topology *ret_topology)
{
    uint32_t *new_numbers = memory_allocate(topology->threads * sizeof(*new_numbers));
    uint32_t left = 0;

    for (uint32_t i = 0; i < topology->threads; i++)
        new_numbers[i] = ranges_contains(allowed, topology->os[i]) ? left++ : TOPOLOGY_NONE;
    if (left == 0) {
        free(new_numbers);
        return -ENOENT;
    }
    topology_init(ret_topology, left);
    copy_memory(topology, ret_topology);
    for (uint32_t i = 0; i < topology->threads; i++) {
        if (new_numbers[i] == TOPOLOGY_NONE)
            continue;
        ret_topology->os[new_numbers[i]] = topology->os[i];
        for (int level = LEVEL_FIRST; level <= LEVEL_LAST; level++)
            ret_topology->objects[level][new_numbers[i]] = topology->objects[level][i];
    }
    topology_number(ret_topology);
    copy_devices(topology, new_numbers, ret_topology);
    free(new_numbers);
    return 0;
}

uint32_t topology_gpus(const struct topology *topology, enum topology_device_kind *ret_vendor)
{
    uint32_t counts[TOPOLOGY_DEVICE_KIND_COUNT] = {0};
    enum topology_device_kind most = TOPOLOGY_DEVICE_NVIDIA;

    for (uint32_t i = 0; i < topology->devices_count; i++)
        counts[topology->devices[i].kind]++;
    for (int vendor = TOPOLOGY_DEVICE_NVIDIA; vendor <= TOPOLOGY_DEVICE_INTEL; vendor++) {
        if (counts[vendor] > counts[most])
            most = (enum topology_device_kind)vendor;
    }
    if (ret_vendor != NULL)
        *ret_vendor = most;
    return counts[most];
}

void topology_all(const struct topology *topology, struct ranges *ret_threads)
{
    ranges_clear(ret_threads);
    for (uint32_t i = 0; i < topology->threads; i++)
        ranges_add(ret_threads, topology->os[i], topology->os[i]);
}

uint64_t topology_hash(const struct topology *topology)
{
    struct buffer bytes = {0};
    uint64_t hash;

    topology_encode(topology, &bytes);
    hash = hash_bytes(bytes.data, bytes.length_bytes, 0);
    buffer_fini(&bytes);
    return hash;
}
