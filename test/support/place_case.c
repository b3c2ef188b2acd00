/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/place_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 9

static uint32_t pick(struct random_state *random, uint32_t from, uint32_t to)
{
    return from + (uint32_t)random_below(random, to - from + 1);
}

/* ---- Machines ---- */

/* GPUs and network devices, each on a package, on a NUMA node, or on what hwloc does not know. */
static void make_devices(struct random_state *random, struct topology *topology)
{
    uint32_t count = random_chance(random, 0.7) ? pick(random, 2, 8) : 0;
    enum topology_device_kind vendor =
        (enum topology_device_kind)pick(random, TOPOLOGY_DEVICE_NVIDIA, TOPOLOGY_DEVICE_INTEL);
    uint32_t gpus = 0, networks = 0;

    for (uint32_t i = 0; i < count; i++) {
        enum topology_level level = random_chance(random, 0.5) ? TOPOLOGY_NUMA : TOPOLOGY_PACKAGE;
        uint32_t object = pick(random, 0, topology->counts[level]); /* the last is none */
        int is_network = random_chance(random, 0.3);
        struct ranges near = {0};
        char name[16];

        if (random_chance(random, 0.1))
            vendor = (enum topology_device_kind)pick(random, TOPOLOGY_DEVICE_NVIDIA,
                                                     TOPOLOGY_DEVICE_INTEL);
        for (uint32_t t = 0; t < topology->threads; t++) {
            if (topology->objects[level][t] == object)
                ranges_add(&near, t, t);
        }
        snprintf(name, sizeof(name), is_network ? "net%u" : "gpu%u",
                 is_network ? networks++ : gpus++);
        topology_add_device(topology, name, is_network ? TOPOLOGY_DEVICE_NETWORK : vendor, &near);
        ranges_fini(&near);
    }
}

/* One of the kernel's NUMA nodes, now and then also a second one behind all first ones. */
static void make_memory(struct random_state *random, uint32_t numas, uint32_t numa,
                        struct ranges *memory)
{
    ranges_add(memory, 2 * numa + 1, 2 * numa + 1);
    if (random_chance(random, 0.2))
        ranges_add(memory, 2 * (numas + numa), 2 * (numas + numa));
}

/* Packages of NUMA nodes of caches of cores of threads; now and then without a level, or with
 * fewer cores in one than in another. */
static void make_topology(struct random_state *random, struct topology *topology)
{
    uint32_t packages = pick(random, 1, 3), numas = pick(random, 1, 2), caches = pick(random, 1, 2);
    uint32_t cores_most = pick(random, 1, 4), threads = pick(random, 1, 2);
    int is_uneven = random_chance(random, 0.3), has_l3 = !random_chance(random, 0.1);
    int is_interleaved = random_chance(random, 0.5);
    uint32_t without_l3 = random_chance(random, 0.1) ? 0 : TOPOLOGY_NONE;
    uint32_t thread = 0, core = 0;

    topology_init(topology, packages * numas * caches * cores_most * threads);
    topology_add_memory(topology, packages * numas);
    for (uint32_t numa = 0; numa < packages * numas; numa++)
        make_memory(random, packages * numas, numa, &topology->memory[numa]);
    for (uint32_t cache = 0; cache < packages * numas * caches; cache++) {
        uint32_t cores = is_uneven ? pick(random, 1, cores_most) : cores_most;

        for (uint32_t i = 0; i < cores; i++, core++) {
            for (uint32_t t = 0; t < threads; t++, thread++) {
                topology->objects[TOPOLOGY_PACKAGE][thread] = cache / (numas * caches);
                topology->objects[TOPOLOGY_NUMA][thread] = cache / caches;
                topology->objects[TOPOLOGY_L3][thread] =
                    has_l3 && cache != without_l3 ? cache : TOPOLOGY_NONE;
                topology->objects[TOPOLOGY_L2][thread] = core / 2;
                topology->objects[TOPOLOGY_L1][thread] = core;
                topology->objects[TOPOLOGY_CORE][thread] = core;
            }
        }
    }
    topology->threads = thread;
    topology->counts[TOPOLOGY_THREAD] = thread;
    for (uint32_t i = 0; i < thread; i++)
        topology->os[i] = is_interleaved ? i % threads * (thread / threads) + i / threads : i;
    topology_number(topology);
    make_devices(random, topology);
}

static void make_allowed(struct random_state *random, const struct topology *topology,
                         struct ranges *allowed)
{
    topology_all(topology, allowed);
    if (random_chance(random, 0.6))
        return;
    for (uint32_t i = 0; i < topology->threads; i++) {
        if (random_chance(random, 0.3) && ranges_count(allowed) > 1)
            ranges_remove(allowed, topology->os[i], topology->os[i]);
    }
}

static void make_machines(struct random_state *random, uint32_t nodes,
                          struct placement_machines *machines)
{
    uint32_t first = 0;

    while (first < nodes) {
        uint32_t last = random_chance(random, 0.5) ? nodes - 1 : pick(random, first, nodes - 1);
        struct topology topology;
        struct ranges allowed = {0};

        make_topology(random, &topology);
        make_allowed(random, &topology, &allowed);
        (void)placement_machines_add(machines, &topology, &allowed, first, last);
        topology_fini(&topology);
        ranges_fini(&allowed);
        first = last + 1;
    }
}

/* ---- Rules ---- */

static void make_list(struct random_state *random, uint32_t nodes, struct placement_rule *rule)
{
    struct placement_list *list = memory_allocate_zeroed(sizeof(*list));

    list->count = pick(random, 1, 12);
    list->nodes = memory_allocate(list->count * sizeof(*list->nodes));
    for (uint32_t i = 0; i < list->count; i++)
        list->nodes[i] = pick(random, 0, nodes - 1);
    if (random_chance(random, 0.4)) {
        uint32_t last = pick(random, 0, 12);

        list->cores = memory_allocate_zeroed(list->count * sizeof(*list->cores));
        for (uint32_t i = 0; i < list->count; i++) {
            for (uint32_t more = pick(random, 1, 2); more > 0; more--) {
                uint32_t core = pick(random, 0, last);

                ranges_add(&list->cores[i], core, core);
            }
        }
    }
    rule->list = list;
}

/* Some of the first cores of a machine, in any order. */
static void make_cpus(struct random_state *random, struct placement_rule *rule)
{
    struct ranges seen = {0};

    rule->ordered = random_chance(random, 0.5);
    rule->listed.parts = memory_allocate(3 * sizeof(*rule->listed.parts));
    for (uint32_t left = pick(random, 1, 3); left > 0; left--) {
        uint32_t first = pick(random, 0, 5), last = first + pick(random, 0, 2);

        if (ranges_overlap(&seen, first, last))
            continue;
        ranges_add(&seen, first, last);
        rule->listed.parts[rule->listed.count++] = (struct range){.first = first, .last = last};
    }
    ranges_fini(&seen);
}

/* Mostly what can be placed: refusals are easy to find by themselves. */
static void make_rule(struct random_state *random, const struct allocation *allocation,
                      struct placement_rule *rule)
{
    uint32_t nodes = allocation_nodes(allocation);
    uint32_t slots = (uint32_t)allocation_slots(allocation);

    *rule = (struct placement_rule){
        .policy = (enum placement_policy)pick(random, 0, PLACEMENT_POLICY_COUNT - 1)};
    rule->level = rule->policy == PLACEMENT_BY_DISTANCE ? TOPOLOGY_NUMA : TOPOLOGY_NODE;
    if (rule->policy == PLACEMENT_BY_DISTANCE)
        snprintf(rule->device, sizeof(rule->device), random_chance(random, 0.5) ? "net0" : "gpu0");
    if (rule->policy == PLACEMENT_BY_OBJECT)
        rule->level = (enum topology_level)pick(random, TOPOLOGY_PACKAGE, TOPOLOGY_THREAD);
    if (rule->policy == PLACEMENT_PER_OBJECT) {
        rule->level = (enum topology_level)pick(random, TOPOLOGY_NODE, TOPOLOGY_THREAD);
        rule->per = pick(random, 1, 3);
    }
    if (rule->policy == PLACEMENT_BY_LIST)
        make_list(random, nodes, rule);
    if (rule->policy == PLACEMENT_BY_CPUS)
        make_cpus(random, rule);
    if (rule->policy == PLACEMENT_BY_DEVICE) {
        rule->device_class = (enum placement_device)pick(random, 0, PLACEMENT_DEVICE_COUNT - 1);
        rule->shared = random_chance(random, 0.3);
        rule->span = random_chance(random, 0.3);
    }
    if (random_chance(random, rule->policy == PLACEMENT_BY_LIST ? 0.05 : 0.7))
        rule->processes = pick(random, 1, random_chance(random, 0.7) && slots > 0 ? slots : 60);
    if (rule->policy != PLACEMENT_BY_CPUS &&
        random_chance(random, rule->list != NULL && rule->list->cores != NULL ? 0.02 : 0.2))
        rule->pe = pick(random, 1, 3);
    if (rule->pe == 0 && rule->policy < PLACEMENT_BY_LIST && random_chance(random, 0.2))
        rule->cpus = pick(random, 2, 4);
    if ((rule->policy < PLACEMENT_PER_OBJECT || rule->policy == PLACEMENT_BY_CPUS) &&
        random_chance(random, 0.15))
        rule->per = pick(random, 1, 5);
    else if (rule->policy < PLACEMENT_PER_OBJECT)
        rule->span = random_chance(random, 0.3);
    if (rule->policy != PLACEMENT_BY_LIST && random_chance(random, 0.4))
        rule->rank_by = (enum placement_rank_by)pick(random, 0, PLACEMENT_RANK_BY_COUNT - 1);
    if (random_chance(random, 0.4))
        rule->bind = (enum placement_bind)pick(random, 0, PLACEMENT_BIND_COUNT - 1);
    if (rule->bind == PLACEMENT_BIND_LEVEL) {
        rule->bind_level = (enum topology_level)pick(random, TOPOLOGY_PACKAGE, TOPOLOGY_THREAD);
        rule->overload = random_chance(random, 0.5);
    }
    if (random_chance(random, 0.1))
        rule->gpus = pick(random, 1, 2);
    if (random_chance(random, 0.2))
        rule->memory = (enum placement_memory)pick(random, 0, PLACEMENT_MEMORY_COUNT - 1);
    rule->oversubscribe = random_chance(random, rule->per > 0 ? 0.7 : 0.4);
}

static void make_slots(struct random_state *random, struct allocation *allocation, uint32_t nodes)
{
    uint32_t slots_most = pick(random, 1, 10);
    uint32_t slots = 0;
    char name[16];

    for (uint32_t node = 0; node < nodes; node++) {
        /* Half the time as the node before, so that there are runs. */
        if (node == 0 || random_chance(random, 0.5))
            slots = random_chance(random, 0.1) ? 0 : pick(random, 1, slots_most);
        snprintf(name, sizeof(name), "n%u", node);
        allocation_add(allocation, name, slots);
    }
}

void place_case_make(struct place_case *ret_case, struct random_state *random)
{
    uint32_t nodes = pick(random, 1, NODES_MAX);
    uint32_t apps = random_chance(random, 0.7) ? 1 : pick(random, 2, 3);

    *ret_case = (struct place_case){.placement = {0}};
    allocation_init(&ret_case->allocation);
    make_slots(random, &ret_case->allocation, nodes);
    for (uint32_t i = 0; i < apps; i++) {
        struct placement_rule rule;

        make_rule(random, &ret_case->allocation, &rule);
        placement_add(&ret_case->placement, &rule);
    }
    for (uint32_t node = 0; node < nodes; node++) {
        if (random_chance(random, 0.05))
            ranges_add(&ret_case->placement.excluded, node, node);
    }
    make_machines(random, nodes, &ret_case->placement.machines);
}

void place_case_fini(struct place_case *c)
{
    placement_fini(&c->placement);
    allocation_fini(&c->allocation);
}

/* ---- As text ---- */

static void print_numbers(const uint32_t *numbers, uint32_t count, struct buffer *out)
{
    buffer_append_string(out, "[");
    for (uint32_t i = 0; i < count; i++)
        buffer_printf(out, "%s%d", i > 0 ? "," : "", (int)numbers[i]); /* none is -1 */
    buffer_append_string(out, "]");
}

static void print_set(const struct ranges *set, struct buffer *out)
{
    uint32_t number = 0;

    buffer_append_string(out, "[");
    for (uint32_t i = 0; ranges_next(set, number, &number); i++)
        buffer_printf(out, "%s%u", i > 0 ? "," : "", number++);
    buffer_append_string(out, "]");
}

/* Near: logical threads. */
static void print_devices(const struct topology *topology, struct buffer *out)
{
    static const char *const kinds[TOPOLOGY_DEVICE_KIND_COUNT] = {"other", "nvidia", "amd", "intel",
                                                                  "network"};

    buffer_append_string(out, ",\"devices\":[");
    for (uint32_t i = 0; i < topology->devices_count; i++) {
        const struct topology_device *device = &topology->devices[i];

        buffer_printf(out, "%s{\"name\":\"%s\",\"kind\":\"%s\",\"near\":", i > 0 ? "," : "",
                      device->name, kinds[device->kind]);
        print_set(&device->near, out);
        buffer_append_string(out, "}");
    }
    buffer_append_string(out, "]");
}

static void print_machine(const struct placement_machines *machines, uint32_t node,
                          struct buffer *out)
{
    const struct placement_kind *kind = &machines->kinds[placement_machines_kind(machines, node)];
    const struct topology *topology = &machines->classes[kind->class];

    buffer_append_string(out, "{\"os\":");
    print_numbers(topology->os, topology->threads, out);
    for (int level = TOPOLOGY_PACKAGE; level <= TOPOLOGY_CORE; level++) {
        buffer_printf(out, ",\"%s\":", topology_level_name((enum topology_level)level));
        print_numbers(topology->objects[level], topology->threads, out);
    }
    buffer_append_string(out, ",\"memory\":[");
    for (uint32_t i = 0; i < topology->counts[TOPOLOGY_NUMA]; i++) {
        buffer_append_string(out, i > 0 ? "," : "");
        print_set(&topology->memory[i], out);
    }
    buffer_append_string(out, "]");
    buffer_append_string(out, ",\"allowed\":");
    print_set(&kind->allowed, out);
    print_devices(topology, out);
    buffer_append_string(out, "}");
}

static void print_rule(const struct placement_rule *rule, struct buffer *out)
{
    struct placement_rule plain = *rule;
    struct buffer words = {0};

    plain.pe = 0;
    plain.span = 0;
    plain.oversubscribe = 0;
    placement_rule_print(&plain, &words);
    buffer_printf(out, "{\"map\":\"%s\",\"n\":%u,\"pe\":%u,\"cpus\":%u,\"span\":%u,\"per_node\":%u",
                  buffer_string(&words), rule->processes, rule->pe, rule->cpus, rule->span,
                  rule->policy == PLACEMENT_PER_OBJECT ? 0 : rule->per);
    buffer_printf(out, ",\"oversubscribe\":%u,\"overload\":%u,\"rank_by\":\"%s\"",
                  rule->oversubscribe, rule->overload, placement_rank_by_name(rule->rank_by));
    buffer_printf(out, ",\"bind\":\"%s\",\"gpus\":%u,\"memory\":%d",
                  rule->bind == PLACEMENT_BIND_DEFAULT ? "default"
                  : rule->bind == PLACEMENT_BIND_NONE  ? "none"
                                                       : topology_level_name(rule->bind_level),
                  rule->gpus, rule->memory != PLACEMENT_MEMORY_NONE);
    if (rule->list != NULL) {
        buffer_append_string(out, ",\"list\":");
        print_numbers(rule->list->nodes, rule->list->count, out);
    }
    if (rule->list != NULL && rule->list->cores != NULL) {
        buffer_append_string(out, ",\"cores\":[");
        for (uint32_t i = 0; i < rule->list->count; i++) {
            buffer_append_string(out, i > 0 ? "," : "");
            print_set(&rule->list->cores[i], out);
        }
        buffer_append_string(out, "]");
    }
    buffer_append_string(out, "}");
    buffer_fini(&words);
}

void place_case_print(const struct place_case *c, struct buffer *out)
{
    uint32_t nodes = allocation_nodes(&c->allocation);

    buffer_append_string(out, "{\"nodes\":[");
    for (uint32_t i = 0; i < nodes; i++) {
        buffer_printf(out, "%s{\"slots\":%u,\"excluded\":%d,\"machine\":", i > 0 ? "," : "",
                      allocation_slots_of(&c->allocation, i),
                      ranges_contains(&c->placement.excluded, i));
        print_machine(&c->placement.machines, i, out);
        buffer_append_string(out, "}");
    }
    buffer_append_string(out, "],\"apps\":[");
    for (uint32_t i = 0; i < c->placement.rules_count; i++) {
        buffer_append_string(out, i > 0 ? "," : "");
        print_rule(&c->placement.rules[i], out);
    }
    buffer_append_string(out, "]}");
}
