/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What placing costs: the whole map of 10,000 nodes of 128 processes with its hash, as the root
 * makes it, and the own part of one daemon of 1,000,000 nodes, for every policy.  Processor time and
 * the memory that is used at most, each in a process of its own.  Prints a line of JSON for each,
 * and fails if a bar is not met (issue "Where the nodes come from", figures).
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "alloc/placement_local.h"
#include "alloc/placement_map.h"

#define SLOTS 128

struct bar {
    const char *what;
    uint32_t nodes;
    int is_whole;
    double ms;
    double mib;
};

static const struct bar bars[] = {
    {"whole map and hash", 10000, 1, 100, 64},
    {"own part of a daemon", 1000000, 0, 2, 1},
};

static const struct placement_rule rules[] = {
    {.policy = PLACEMENT_BY_SLOT},
    {.policy = PLACEMENT_BY_NODE},
    {.policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_CORE},
    {.policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_NUMA},
    {.policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_PACKAGE, .span = 1},
    {.policy = PLACEMENT_PER_OBJECT, .level = TOPOLOGY_L3, .per = 8},
    {.policy = PLACEMENT_BY_SLOT, .pe = 2},
    {.policy = PLACEMENT_BY_NODE, .bind = PLACEMENT_BIND_LEVEL, .bind_level = TOPOLOGY_CORE},
    {.policy = PLACEMENT_BY_LIST},
};

/* Two packages of four NUMA nodes of two caches of eight cores of two threads. */
static void describe(struct placement_machines *machines, uint32_t nodes)
{
    struct topology topology;
    struct ranges allowed = {0};

    topology_init(&topology, 2 * SLOTS);
    topology_add_memory(&topology, 8);
    for (uint32_t i = 0; i < topology.threads; i++) {
        uint32_t core = i / 2;

        topology.os[i] = core + i % 2 * SLOTS;
        topology.objects[TOPOLOGY_PACKAGE][i] = core / 64;
        topology.objects[TOPOLOGY_NUMA][i] = core / 16;
        topology.objects[TOPOLOGY_L3][i] = core / 8;
        topology.objects[TOPOLOGY_L2][i] = topology.objects[TOPOLOGY_L1][i] = core;
        topology.objects[TOPOLOGY_CORE][i] = core;
        ranges_add(&topology.memory[core / 16], core / 16, core / 16);
    }
    topology_number(&topology);
    topology_all(&topology, &allowed);
    (void)placement_machines_add(machines, &topology, &allowed, 0, nodes - 1);
    topology_fini(&topology);
    ranges_fini(&allowed);
}

/* A list that puts no two neighbours on one node. */
static struct placement_list *make_list(uint32_t nodes)
{
    struct placement_list *list = memory_allocate_zeroed(sizeof(*list));

    list->count = nodes * SLOTS;
    list->nodes = memory_allocate(list->count * sizeof(*list->nodes));
    for (uint32_t i = 0; i < list->count; i++)
        list->nodes[i] = (uint32_t)((uint64_t)i * 7919 % nodes);
    return list;
}

static double now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static double peak_mib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* In a child: 0 if the bar is met. */
static int measure(const struct bar *bar, const struct placement_rule *rule)
{
    struct placement placement = {0};
    struct placement_rule own = *rule;
    struct allocation allocation;
    struct placement_map map;
    struct buffer words = {0};
    double start_ms, start_mib, ms, mib;
    uint64_t hash;

    allocation_init(&allocation);
    allocation_generate(&allocation, "n", bar->nodes, SLOTS);
    if (own.policy == PLACEMENT_BY_LIST)
        own.list = make_list(bar->nodes);
    placement_add(&placement, &own);
    describe(&placement.machines, bar->nodes);
    placement_rule_print(&own, &words);
    start_mib = peak_mib();
    start_ms = now_ms();
    if (placement_map_make(&map, &placement, &allocation, NULL) < 0 ||
        (bar->is_whole && placement_map_check(&map, &allocation, NULL) < 0))
        return 1;
    hash = bar->is_whole ? placement_map_hash_total(&map)
                         : placement_map_hash_node(&map, bar->nodes / 2);
    ms = now_ms() - start_ms;
    mib = peak_mib() - start_mib;
    printf("{\"what\": \"%s\", \"nodes\": %u, \"map_by\": \"%s\", \"bound\": %d, "
           "\"processes\": %u, \"cpu_ms\": %.2f, \"mib\": %.1f, \"hash\": \"%016llx\"}\n",
           bar->what, bar->nodes, buffer_string(&words),
           placement_rule_bind_level(&own, 0) != TOPOLOGY_NODE, map.processes, ms, mib,
           (unsigned long long)hash);
    fflush(stdout);
    return ms > bar->ms || mib > bar->mib;
}

int main(void)
{
    int failed = 0;

    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++) {
        for (size_t j = 0; j < sizeof(rules) / sizeof(rules[0]); j++) {
            int status = 1;
            pid_t child;

            if (!bars[i].is_whole && rules[j].policy == PLACEMENT_BY_LIST)
                continue; /* not a regular policy */
            child = fork();
            if (child == 0)
                _exit(measure(&bars[i], &rules[j]));
            if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
                failed = 1;
        }
    }
    return failed;
}
