/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire form of base/topology.h.  A level is a list of (number, threads, repeat): objects number,
 * number + 1, ... of that many threads each; number 0 stands for none, so numbers are one higher.
 * The kernel's numbers are differences from what the thread before makes likely.
 */
#include "config.h"

#include "base/topology.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 31

/* The next run of one object: its length, or 0 at the end. */
static uint32_t object_length(const uint32_t *objects, uint32_t threads, uint32_t first)
{
    uint32_t last = first;

    while (last < threads && objects[last] == objects[first])
        last++;
    return last - first;
}

static void put_level(const uint32_t *objects, uint32_t threads, struct buffer *out)
{
    uint32_t position = 0;

    while (position < threads) {
        uint32_t number = objects[position];
        uint32_t length = object_length(objects, threads, position);
        uint32_t repeat = 0;

        do {
            position += length;
            repeat++;
        } while (number != TOPOLOGY_NONE && position < threads &&
                 objects[position] == number + repeat &&
                 object_length(objects, threads, position) == length);
        wire_put_varint(out, number + 1u); /* TOPOLOGY_NONE becomes 0 */
        wire_put_varint(out, length);
        wire_put_varint(out, repeat);
    }
}

static void get_level(struct wire_reader *reader, struct topology *topology,
                      enum topology_level level)
{
    uint32_t *objects = topology->objects[level];
    uint32_t filled = 0;

    while (filled < topology->threads && wire_status(reader) == 0) {
        uint32_t number = (uint32_t)wire_get_varint_max(reader, topology->threads);
        uint32_t length = (uint32_t)wire_get_varint_max(reader, topology->threads - filled);
        uint32_t repeat = (uint32_t)wire_get_varint_max(reader, topology->threads - filled);

        if (length == 0 || repeat == 0 || (uint64_t)length * repeat > topology->threads - filled ||
            (number == 0 && repeat > 1) || number + repeat - 1 > topology->threads) {
            wire_fail(reader);
            return;
        }
        for (uint32_t i = 0; i < length * repeat; i++)
            objects[filled++] = number == 0 ? TOPOLOGY_NONE : number - 1 + i / length;
    }
}

/* Threads of a core lie as far apart as those of the core before, as a rule, and cores follow each
 * other: the guess is what the thread `period` before has, plus one. */
static uint32_t guess_os(const struct topology *topology, uint32_t period, uint32_t thread)
{
    if (thread < period)
        return thread > 0 ? topology->os[thread - 1] + 1 : 0;
    return topology->os[thread - period] + 1;
}

/* Threads of the first core. */
static uint32_t os_period(const struct topology *topology)
{
    return object_length(topology->objects[TOPOLOGY_CORE], topology->threads, 0);
}

/* Differences in zigzag form, equal neighbours together. */
static void put_os(const struct topology *topology, struct buffer *out)
{
    uint32_t period = os_period(topology);
    uint32_t i = 0;

    while (i < topology->threads) {
        uint32_t difference = topology->os[i] - guess_os(topology, period, i);
        uint32_t same = 0;

        do {
            i++;
            same++;
        } while (i < topology->threads &&
                 topology->os[i] - guess_os(topology, period, i) == difference);
        wire_put_varint(out, (difference << 1) ^ (0u - (difference >> 31)));
        wire_put_varint(out, same);
    }
}

static void get_os(struct wire_reader *reader, struct topology *topology)
{
    uint32_t period = os_period(topology);
    uint32_t i = 0;

    while (i < topology->threads && wire_status(reader) == 0) {
        uint32_t zigzag = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        uint32_t same = (uint32_t)wire_get_varint_max(reader, topology->threads - i);

        if (same == 0)
            wire_fail(reader);
        for (; same > 0; same--, i++) {
            topology->os[i] = guess_os(topology, period, i) + ((zigzag >> 1) ^ (0u - (zigzag & 1)));
            if (topology->os[i] > TOPOLOGY_OS_MAX)
                wire_fail(reader);
        }
    }
}

static void put_memory(const struct topology *topology, struct buffer *out)
{
    for (uint32_t i = 0; i < topology->counts[TOPOLOGY_NUMA]; i++) {
        struct ranges none = {0};

        ranges_encode(topology->memory != NULL ? &topology->memory[i] : &none, out);
    }
}

static void get_memory(struct wire_reader *reader, struct topology *topology)
{
    uint32_t count = topology->counts[TOPOLOGY_NUMA];

    topology_add_memory(topology, count);
    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        ranges_decode(reader, TOPOLOGY_MEMORY_MAX, &topology->memory[i]);
        if (!ranges_is_empty(&topology->memory[i]) &&
            ranges_max(&topology->memory[i]) >= TOPOLOGY_MEMORY_MAX)
            wire_fail(reader);
    }
}

static void put_devices(const struct topology *topology, struct buffer *out)
{
    wire_put_varint(out, topology->devices_count);
    for (uint32_t i = 0; i < topology->devices_count; i++) {
        wire_put_string(out, topology->devices[i].name);
        wire_put_u8(out, (uint8_t)topology->devices[i].kind);
        ranges_encode(&topology->devices[i].near, out);
    }
}

static void get_devices(struct wire_reader *reader, struct topology *topology)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, TOPOLOGY_DEVICES_MAX);

    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++) {
        char name[NAME_BYTES_MAX + 1];
        struct ranges near = {0};
        uint8_t kind;

        wire_get_string_into(reader, name, sizeof(name));
        kind = wire_get_u8(reader);
        ranges_decode(reader, topology->threads, &near);
        if (kind >= TOPOLOGY_DEVICE_KIND_COUNT)
            wire_fail(reader);
        else if (wire_status(reader) == 0)
            topology_add_device(topology, name, (enum topology_device_kind)kind, &near);
        ranges_fini(&near);
    }
}

void topology_encode(const struct topology *topology, struct buffer *out)
{
    wire_put_varint(out, topology->threads);
    for (int level = TOPOLOGY_PACKAGE; level <= TOPOLOGY_CORE; level++)
        put_level(topology->objects[level], topology->threads, out);
    put_os(topology, out);
    put_memory(topology, out);
    put_devices(topology, out);
}

/* Every number from 0 to the highest is there: what is decoded is as topology_number left it. */
static bool is_dense(const uint32_t *objects, uint32_t threads, uint32_t count)
{
    uint8_t *seen = memory_allocate_zeroed(count + 1);
    uint32_t distinct = 0;

    for (uint32_t i = 0; i < threads; i++) {
        if (objects[i] != TOPOLOGY_NONE && !seen[objects[i]]) {
            seen[objects[i]] = 1;
            distinct++;
        }
    }
    free(seen);
    return distinct == count;
}

static void count_level(struct wire_reader *reader, struct topology *topology,
                        enum topology_level level)
{
    const uint32_t *objects = topology->objects[level];
    uint32_t count = 0;

    for (uint32_t i = 0; i < topology->threads; i++) {
        if (objects[i] != TOPOLOGY_NONE && objects[i] >= count)
            count = objects[i] + 1;
    }
    topology->counts[level] = count;
    if (!is_dense(objects, topology->threads, count))
        wire_fail(reader);
}

int topology_decode(struct topology *ret_topology, struct wire_reader *reader)
{
    uint32_t threads = (uint32_t)wire_get_varint_max(reader, TOPOLOGY_THREADS_MAX);
    struct topology topology;

    if (threads == 0)
        wire_fail(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    topology_init(&topology, threads);
    for (int level = TOPOLOGY_PACKAGE; level <= TOPOLOGY_CORE; level++) {
        get_level(reader, &topology, (enum topology_level)level);
        if (wire_status(reader) == 0)
            count_level(reader, &topology, (enum topology_level)level);
    }
    if (topology.counts[TOPOLOGY_CORE] == 0)
        wire_fail(reader);
    if (wire_status(reader) == 0)
        get_os(reader, &topology);
    if (wire_status(reader) == 0)
        get_memory(reader, &topology);
    if (wire_status(reader) == 0)
        get_devices(reader, &topology);
    if (wire_status(reader) < 0) {
        topology_fini(&topology);
        return -EBADMSG;
    }
    *ret_topology = topology;
    return 0;
}
