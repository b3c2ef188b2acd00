/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALLOWED_RANGES_MAX TOPOLOGY_THREADS_MAX
#define NODE_RANGES_MAX    16777216u

/* ---- Machines ---- */

void place_machines_fini(struct place_machines *machines)
{
    for (uint32_t i = 0; i < machines->classes_count; i++)
        topology_fini(&machines->classes[i]);
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        topology_fini(&machines->kinds[i].view);
        ranges_fini(&machines->kinds[i].allowed);
        ranges_fini(&machines->kinds[i].nodes);
    }
    free(machines->classes);
    free(machines->kinds);
    *machines = (struct place_machines){0};
}

static int same_topology(const struct topology *a, const struct topology *b)
{
    struct buffer left = {0}, right = {0};
    int same;

    if (a->threads != b->threads)
        return 0;
    topology_encode(a, &left);
    topology_encode(b, &right);
    same = left.length_bytes == right.length_bytes &&
           memcmp(left.data, right.data, left.length_bytes) == 0;
    buffer_fini(&left);
    buffer_fini(&right);
    return same;
}

static void copy_topology(const struct topology *topology, struct topology *ret_copy)
{
    struct ranges all = {0};

    topology_all(topology, &all);
    (void)topology_restrict(topology, &all, ret_copy);
    ranges_fini(&all);
}

static uint32_t class_of(struct place_machines *machines, const struct topology *topology)
{
    for (uint32_t i = 0; i < machines->classes_count; i++) {
        if (same_topology(&machines->classes[i], topology))
            return i;
    }
    machines->classes = memory_resize(machines->classes,
                                      (machines->classes_count + 1) * sizeof(*machines->classes));
    copy_topology(topology, &machines->classes[machines->classes_count]);
    return machines->classes_count++;
}

/* The kind of that class and these threads, made if need be; NULL if no thread is there. */
static struct place_kind *kind_of(struct place_machines *machines, uint32_t class,
                                  const struct ranges *allowed)
{
    struct place_kind *kind;
    struct topology view;

    assert(class < machines->classes_count);
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        kind = &machines->kinds[i];
        if (kind->class == class && ranges_equal(&kind->allowed, allowed))
            return kind;
    }
    if (topology_restrict(&machines->classes[class], allowed, &view) < 0)
        return NULL;
    machines->kinds =
        memory_resize(machines->kinds, (machines->kinds_count + 1) * sizeof(*machines->kinds));
    kind = &machines->kinds[machines->kinds_count++];
    *kind = (struct place_kind){.class = class, .view = view};
    ranges_copy(&kind->allowed, allowed);
    return kind;
}

int place_machines_add(struct place_machines *machines, const struct topology *topology,
                       const struct ranges *allowed, uint32_t first, uint32_t last)
{
    struct place_kind *kind = kind_of(machines, class_of(machines, topology), allowed);

    assert(first <= last);
    if (kind == NULL)
        return -ENOENT;
    ranges_add(&kind->nodes, first, last);
    return 0;
}

void place_machines_merge(struct place_machines *machines, const struct place_machines *other)
{
    for (uint32_t i = 0; i < other->kinds_count; i++) {
        const struct place_kind *source = &other->kinds[i];
        assert(source->class < other->classes_count);
        struct place_kind *kind =
            kind_of(machines, class_of(machines, &other->classes[source->class]), &source->allowed);

        if (kind != NULL)
            ranges_add_all(&kind->nodes, &source->nodes);
    }
}

uint32_t place_machines_kind(const struct place_machines *machines, uint32_t node)
{
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        if (ranges_contains(&machines->kinds[i].nodes, node))
            return i;
    }
    return UINT32_MAX;
}

void place_machines_encode(const struct place_machines *machines, struct buffer *out)
{
    wire_put_varint(out, machines->classes_count);
    for (uint32_t i = 0; i < machines->classes_count; i++)
        topology_encode(&machines->classes[i], out);
    wire_put_varint(out, machines->kinds_count);
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        assert(machines->kinds[i].class < machines->classes_count);
        wire_put_varint(out, machines->kinds[i].class);
        ranges_encode(&machines->kinds[i].allowed, out);
        ranges_encode(&machines->kinds[i].nodes, out);
    }
}

static void get_class(struct wire_reader *reader, struct place_machines *machines)
{
    struct topology topology;

    if (topology_decode(&topology, reader) < 0) {
        wire_fail(reader);
        return;
    }
    machines->classes = memory_resize(machines->classes,
                                      (machines->classes_count + 1) * sizeof(*machines->classes));
    machines->classes[machines->classes_count++] = topology;
}

static void get_kind(struct wire_reader *reader, struct place_machines *machines)
{
    uint64_t class = wire_get_varint_max(reader, PLACEMENT_KINDS_MAX);
    struct place_kind kind = {.class = (uint32_t) class};

    ranges_decode(reader, ALLOWED_RANGES_MAX, &kind.allowed);
    ranges_decode(reader, NODE_RANGES_MAX, &kind.nodes);
    if (class >= machines->classes_count || wire_status(reader) < 0 ||
        topology_restrict(&machines->classes[class], &kind.allowed, &kind.view) < 0) {
        wire_fail(reader);
        ranges_fini(&kind.allowed);
        ranges_fini(&kind.nodes);
        return;
    }
    machines->kinds =
        memory_resize(machines->kinds, (machines->kinds_count + 1) * sizeof(*machines->kinds));
    machines->kinds[machines->kinds_count++] = kind;
}

int place_machines_decode(struct place_machines *ret_machines, struct wire_reader *reader)
{
    uint64_t count = wire_get_varint_max(reader, PLACEMENT_KINDS_MAX);

    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++)
        get_class(reader, ret_machines);
    count = wire_get_varint_max(reader, PLACEMENT_KINDS_MAX);
    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++)
        get_kind(reader, ret_machines);
    if (wire_status(reader) == 0)
        return 0;
    place_machines_fini(ret_machines);
    return -EBADMSG;
}

/* ---- Placement ---- */

void placement_fini(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++)
        map_rule_fini(&placement->rules[i]);
    free(placement->rules);
    ranges_fini(&placement->excluded);
    place_machines_fini(&placement->machines);
    facts_table_fini(&placement->facts);
    *placement = (struct placement){0};
}

void placement_add(struct placement *placement, const struct map_rule *rule)
{
    assert(placement->rules_count < PLACEMENT_APPS_MAX);
    placement->rules =
        memory_resize(placement->rules, (placement->rules_count + 1) * sizeof(*placement->rules));
    placement->rules[placement->rules_count++] = *rule;
}

void placement_copy(struct placement *ret_placement, const struct placement *source)
{
    struct buffer bytes = {0};
    struct wire_reader reader;

    placement_encode(source, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    (void)placement_decode(ret_placement, &reader);
    buffer_fini(&bytes);
}

uint32_t placement_processes(const struct placement *placement)
{
    uint32_t processes = 0;

    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement->rules[i].processes == 0)
            return 0;
        processes += placement->rules[i].processes;
    }
    return processes;
}

int placement_wants_topology(const struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (map_rule_wants_topology(&placement->rules[i]))
            return 1;
    }
    return 0;
}

void placement_encode(const struct placement *placement, struct buffer *out)
{
    wire_put_varint(out, placement->rules_count);
    for (uint32_t i = 0; i < placement->rules_count; i++)
        map_rule_encode(&placement->rules[i], out);
    ranges_encode(&placement->excluded, out);
    place_machines_encode(&placement->machines, out);
    facts_table_encode(&placement->facts, out);
}

int placement_decode(struct placement *ret_placement, struct wire_reader *reader)
{
    uint64_t count = wire_get_varint_max(reader, PLACEMENT_APPS_MAX);
    uint64_t processes = 0;

    *ret_placement = (struct placement){0};
    for (uint64_t i = 0; i < count && wire_status(reader) == 0; i++) {
        struct map_rule rule = {.policy = MAP_BY_SLOT};

        if (map_rule_decode(&rule, reader) < 0) {
            wire_fail(reader);
        } else {
            placement_add(ret_placement, &rule);
            processes += rule.processes;
        }
    }
    if (processes > MAP_PROCESSES_MAX)
        wire_fail(reader);
    ranges_decode(reader, NODE_RANGES_MAX, &ret_placement->excluded);
    if (wire_status(reader) == 0)
        (void)place_machines_decode(&ret_placement->machines, reader);
    if (wire_status(reader) == 0)
        (void)facts_table_decode(&ret_placement->facts, reader);
    if (wire_status(reader) == 0)
        return 0;
    placement_fini(ret_placement);
    return -EBADMSG;
}
