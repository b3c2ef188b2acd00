/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many processes of an application each node gets: doc/placement.rst, "Counts", on runs of nodes
 * that are alike.  A run is cut into three at most: those before the place where the last round
 * ends, the node it ends in, those after.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_device.h"
#include "alloc/placement_map_internal.h"

/* ---- The nodes ---- */

void placement_map_append_free_run(struct free_runs *runs, const struct free_run *run)
{
    struct free_run *last = runs->count > 0 ? &runs->items[runs->count - 1] : NULL;

    assert(last == NULL || last->first + last->nodes <= run->first);
    assert(run->nodes > 0);
    if (last != NULL && last->first + last->nodes == run->first && last->slots == run->slots &&
        last->kind == run->kind && last->used_slots == run->used_slots &&
        last->used_units == run->used_units &&
        memcmp(last->used_devices, run->used_devices, sizeof(run->used_devices)) == 0 &&
        last->is_out == run->is_out) {
        last->nodes += run->nodes;
        return;
    }
    if (runs->count == runs->capacity) {
        runs->capacity = 2 * runs->capacity + 8;
        runs->items = memory_resize(runs->items, runs->capacity * sizeof(*runs->items));
    }
    runs->items[runs->count++] = *run;
}

/* A stretch of nodes and the kind that they are of. */
struct kind_stretch {
    struct range range;
    uint32_t kind;
};

static int compare_stretches(const void *a, const void *b)
{
    const struct kind_stretch *left = a, *right = b;

    return left->range.first < right->range.first ? -1 : left->range.first > right->range.first;
}

static struct kind_stretch *list_stretches(const struct placement_machines *machines,
                                           uint32_t *ret_count)
{
    struct kind_stretch *stretches;
    uint32_t count = 0;

    for (uint32_t i = 0; i < machines->kinds_count; i++)
        count += machines->kinds[i].nodes.count;
    stretches = memory_allocate((count + 1) * sizeof(*stretches));
    count = 0;
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        for (uint32_t j = 0; j < machines->kinds[i].nodes.count; j++)
            stretches[count++] =
                (struct kind_stretch){.range = machines->kinds[i].nodes.items[j], .kind = i};
    }
    qsort(stretches, count, sizeof(*stretches), compare_stretches);
    *ret_count = count;
    return stretches;
}

static uint32_t units_of(const struct placement_map *map, uint32_t kind)
{
    const struct topology *view;

    if (kind == UINT32_MAX)
        return 0;
    assert(kind < map->placement->machines.kinds_count);
    view = &map->placement->machines.kinds[kind].view;
    return view->counts[map->in_threads ? TOPOLOGY_THREAD : TOPOLOGY_CORE];
}

/* What other jobs have: where they are bound to cores, a process of this one has to have a core that is
 * left, and the slots beyond these are of no use. */
static void count_taken(const struct placement_map *map, struct free_run *run)
{
    const struct placement_kind *kind = &map->placement->machines.kinds[run->kind];
    uint64_t left;

    if (ranges_is_empty(&kind->taken))
        return;
    run->used_units =
        placement_machines_taken(kind, map->in_threads ? TOPOLOGY_THREAD : TOPOLOGY_CORE);
    left = run->units - run->used_units;
    if (run->slots > left && run->used_slots < run->slots - left)
        run->used_slots = run->slots - (uint32_t)left;
}

/* Cuts a run by the kinds of its nodes; *stretch is the first that may touch it. */
static int append_by_kind(struct free_runs *runs, const struct placement_map *map,
                          const struct kind_stretch **stretch, const struct kind_stretch *end,
                          struct free_run run, const struct allocation *allocation,
                          struct error *error)
{
    uint32_t after = run.first + run.nodes, used_slots = run.used_slots;

    while (run.first < after) {
        char name[HOST_NAME_BYTES_MAX + 1];

        while (*stretch < end && (*stretch)->range.last < run.first)
            (*stretch)++;
        if (*stretch == end || (*stretch)->range.first > run.first) {
            hostlist_name(allocation->names, run.first, name);
            return error_set(error, -ENOENT, "the topology of node %s is not known", name);
        }
        run.kind = (*stretch)->kind;
        run.units = units_of(map, run.kind);
        run.used_units = 0;
        run.used_slots = used_slots;
        count_taken(map, &run);
        run.nodes = (uint32_t)lesser_u64(after, (uint64_t)(*stretch)->range.last + 1) - run.first;
        placement_map_append_free_run(runs, &run);
        run.first += run.nodes;
    }
    return 0;
}

int placement_map_make_free_runs(struct free_runs *ret_runs, const struct placement_map *map,
                                 const struct allocation *allocation, struct error *error)
{
    uint32_t stretches_count, first = 0;
    struct kind_stretch *stretches = list_stretches(&map->placement->machines, &stretches_count);
    const struct kind_stretch *stretch = stretches;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < allocation->runs_count; i++) {
        struct free_run run = {.slots = allocation->runs[i].slots,
                               .used_slots = allocation->runs[i].used,
                               .kind = UINT32_MAX};
        uint32_t after = first + allocation->runs[i].nodes, gap;

        while (rc == 0 && run.slots > 0 && first < after &&
               ranges_first_gap(&map->placement->excluded, first, after - 1, &gap)) {
            uint32_t stop = after;

            if (ranges_next(&map->placement->excluded, gap, &stop) == 0 || stop > after)
                stop = after;
            run.first = gap;
            run.nodes = stop - gap;
            if (map->has_topology)
                rc = append_by_kind(ret_runs, map, &stretch, stretches + stretches_count, run,
                                    allocation, error);
            else
                placement_map_append_free_run(ret_runs, &run);
            first = stop;
        }
        first = after;
    }
    free(stretches);
    return rc;
}

/* ---- Messages ---- */

static const char *one_or_many(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* "there are 16 slots on 4 nodes (from --virtual-nodes)" */
static void describe_slots(const struct allocation *allocation, char *text, size_t text_bytes)
{
    uint64_t slots = allocation_slots(allocation);
    uint32_t nodes = allocation_nodes(allocation);
    int has_origin = allocation->origin[0] != '\0';

    snprintf(text, text_bytes, "there %s %" PRIu64 " %s on %u %s%s%s%s",
             one_or_many(slots, "is", "are"), slots, one_or_many(slots, "slot", "slots"), nodes,
             one_or_many(nodes, "node", "nodes"), has_origin ? " (from " : "", allocation->origin,
             has_origin ? ")" : "");
}

/* What took some of the slots away, for the messages. */
static const char *describe_less(const struct placement_map *map, const struct placement_app *app,
                                 uint64_t total, const struct allocation *allocation, char *text,
                                 size_t text_bytes)
{
    text[0] = '\0';
    if (total < allocation_slots(allocation))
        snprintf(text, text_bytes, ", of which %" PRIu64 " %s%s%s%s", total,
                 one_or_many(total, "is free", "are free"),
                 app > map->apps ? " after the other applications" : "",
                 app->rule->pe > 1 ? " with the cores that each process takes"
                 : app->rule->policy == PLACEMENT_BY_CPUS
                     ? " with a core of pe-list for each process"
                 : app->rule->policy == PLACEMENT_BY_DEVICE ? " with devices for each process"
                                                            : "",
                 ranges_is_empty(&map->placement->excluded) && ranges_is_empty(&app->rule->excluded)
                     ? ""
                     : " on the remaining nodes");
    return text;
}

static int too_few_slots(const struct placement_app *app, const struct placement_map *map,
                         uint64_t total, const struct allocation *allocation, struct error *error)
{
    uint32_t processes = app->rule->processes;
    char slots[256], less[160];

    describe_slots(allocation, slots, sizeof(slots));
    describe_less(map, app, total, allocation, less, sizeof(less));
    if (processes == 0 || total == 0)
        return error_set(error, -ENOSPC, "no process fits: %s%s", slots, less);
    return error_set(error, -ENOSPC,
                     "%u %s requested, but %s%s; use -n %" PRIu64 " or fewer, or --oversubscribe",
                     processes, one_or_many(processes, "process", "processes"), slots, less, total);
}

/* More than `per` on each: oversubscribing does not help, the number is exact. */
static int too_few_objects(const struct placement_app *app, uint64_t total, uint64_t objects,
                           const struct allocation *allocation, struct error *error)
{
    const struct placement_rule *rule = app->rule;
    const char *level =
        rule->policy == PLACEMENT_PER_OBJECT ? topology_level_name(rule->level) : "node";
    uint64_t needed = (rule->processes + objects - 1) / objects;
    char slots[256];

    describe_slots(allocation, slots, sizeof(slots));
    return error_set(
        error, -ENOSPC,
        "%u %s requested, %u on each %s, but %s; use -n %" PRIu64 " or fewer, or %s%" PRIu64 "%s%s",
        rule->processes, one_or_many(rule->processes, "process", "processes"), rule->per, level,
        slots, total, rule->policy == PLACEMENT_PER_OBJECT ? "--map-by ppr:" : "--per-node ",
        needed, rule->policy == PLACEMENT_PER_OBJECT ? ":" : "",
        rule->policy == PLACEMENT_PER_OBJECT ? level : "");
}

static int node_too_small(const struct placement_app *app, const struct free_run *run,
                          uint32_t node, uint32_t wanted, const struct allocation *allocation,
                          struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    int has_origin = allocation->origin[0] != '\0';
    int is_per_node = app->rule->per > 0 && app->rule->policy != PLACEMENT_PER_OBJECT;
    uint32_t left = run->slots > run->used_slots ? run->slots - run->used_slots : 0;
    char hint[64] = "fewer";

    hostlist_name(allocation->names, node, name);
    if (is_per_node && left > 0)
        snprintf(hint, sizeof(hint), "--per-node %u or fewer", left);
    return error_set(error, -ENOSPC,
                     "%u %s requested on %s, but %s has %u %s%s%s%s%s; use %s, or --oversubscribe",
                     is_per_node ? app->rule->per : wanted,
                     one_or_many(is_per_node ? app->rule->per : wanted, "process", "processes"),
                     is_per_node ? "each node" : name, is_per_node ? name : "it", left,
                     one_or_many(left, "slot", "slots"), run->used_slots > 0 ? " left" : "",
                     has_origin ? " (from " : "", allocation->origin, has_origin ? ")" : "", hint);
}

static int no_such_object(const struct placement_rule *rule, const struct free_run *run,
                          enum topology_level level, const struct allocation *allocation,
                          struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    (void)rule;
    hostlist_name(allocation->names, run->first, name);
    return error_set(error, -ENODEV,
                     "node %s has no usable %s; 'banyan map --show-topology' shows what it has",
                     name, topology_level_name(level));
}

/* ---- What a node can take ---- */

/* A run of nodes as one application sees it. */
struct room {
    struct free_run run;
    uint64_t whole;
    uint64_t free;
    uint64_t width;
};

struct rooms {
    struct room *items;
    uint32_t count;
    uint64_t total; /* free of all */
    uint64_t turns; /* rounds until all is used up, at most */
    uint64_t widths;
};

static uint32_t objects_of(const struct placement_map *map, const struct free_run *run,
                           enum topology_level level)
{
    if (level == TOPOLOGY_NODE || run->kind == UINT32_MAX)
        return 1;
    return map->placement->machines.kinds[run->kind].view.counts[level];
}

static uint64_t less_or_none(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

static uint32_t devices_of(const struct placement_map *map, const struct free_run *run,
                           enum placement_device device_class)
{
    assert(run->kind < map->placement->machines.kinds_count);
    return placement_device_count(&map->placement->machines.kinds[run->kind].view, device_class);
}

/* Objects of the level that processes are dealt over; by device, as many as have separate devices. */
static uint32_t objects_dealt(const struct placement_map *map, const struct free_run *run,
                              const struct placement_rule *rule)
{
    if (rule->policy != PLACEMENT_BY_DEVICE)
        return objects_of(map, run, rule->level);
    return devices_of(map, run, rule->device_class) /
           placement_rule_devices(rule, rule->device_class);
}

/* Nodes that take part must have devices of the class. */
static int check_devices(const struct placement_rule *rule, const struct placement_map *map,
                         const struct free_run *run, const struct allocation *allocation,
                         struct error *error)
{
    uint32_t wanted = placement_rule_devices(rule, rule->device_class);
    char name[HOST_NAME_BYTES_MAX + 1];

    if (rule->policy != PLACEMENT_BY_DEVICE || objects_dealt(map, run, rule) > 0)
        return 0;
    hostlist_name(allocation->names, run->first, name);
    return error_set(
        error, -ENODEV,
        "node %s has %u of the %u %s devices that each process needs; 'banyan map --show-topology' shows what it has%s",
        name, devices_of(map, run, rule->device_class), wanted,
        placement_device_name(rule->device_class),
        rule->device_class == PLACEMENT_DEVICE_GPU
            ? ", --require 'gpus>=N' excludes nodes with fewer"
            : "");
}

/* If each process needs separate devices, these are a limit. */
static void measure_devices(const struct placement_rule *rule, const struct placement_map *map,
                            const struct free_run *run, struct room *room)
{
    uint64_t left;

    if (rule->policy != PLACEMENT_BY_DEVICE || rule->shared)
        return;
    left = less_or_none(devices_of(map, run, rule->device_class),
                        run->used_devices[rule->device_class]);
    room->whole = lesser_u64(room->whole, objects_dealt(map, run, rule));
    room->free = lesser_u64(room->free, left / placement_rule_devices(rule, rule->device_class));
}

static void measure_room(const struct placement_rule *rule, const struct placement_map *map,
                         const struct free_run *run, struct room *room)
{
    uint64_t slots_left = less_or_none(run->slots, run->used_slots);
    uint64_t units_left = less_or_none(run->units, run->used_units);

    *room = (struct room){.run = *run};
    if (rule->policy == PLACEMENT_PER_OBJECT || rule->per > 0) {
        room->whole = rule->policy == PLACEMENT_PER_OBJECT
                          ? (uint64_t)rule->per * objects_of(map, run, rule->level)
                          : rule->per;
        room->free = room->whole;
    } else {
        room->whole = rule->pe > 0 ? lesser_u64(run->slots, run->units / rule->pe) : run->slots;
        room->free = rule->pe > 0 ? lesser_u64(slots_left, units_left / rule->pe) : slots_left;
        if (rule->policy == PLACEMENT_BY_CPUS) {
            room->whole = lesser_u64(room->whole, placement_rule_cpus_count(rule));
            room->free = lesser_u64(room->free, placement_rule_cpus_count(rule));
        }
        measure_devices(rule, map, run, room);
    }
    if (room->whole == 0)
        room->free = 0;
    else if (rule->policy == PLACEMENT_BY_NODE)
        room->width = 1;
    else if (rule->span)
        room->width = rule->policy == PLACEMENT_BY_OBJECT || rule->policy == PLACEMENT_BY_DEVICE
                          ? objects_dealt(map, run, rule)
                          : 1;
    else
        room->width = room->whole;
}

static int measure_all(const struct placement_rule *rule, const struct placement_map *map,
                       const struct free_runs *runs, const struct allocation *allocation,
                       struct rooms *rooms, struct error *error)
{
    enum topology_level bind = placement_rule_bind_level(rule, map->in_threads);

    for (uint32_t i = 0; i < runs->count; i++) {
        struct room *room = &rooms->items[rooms->count];

        if (runs->items[i].is_out) {
            *room = (struct room){.run = runs->items[i]};
            rooms->count++;
            continue;
        }
        if (objects_of(map, &runs->items[i], rule->level) == 0)
            return no_such_object(rule, &runs->items[i], rule->level, allocation, error);
        if (objects_of(map, &runs->items[i], bind) == 0)
            return no_such_object(rule, &runs->items[i], bind, allocation, error);
        if (check_devices(rule, map, &runs->items[i], allocation, error) < 0)
            return -ENODEV;
        measure_room(rule, map, &runs->items[i], room);
        rooms->count++;
        rooms->total += room->free * room->run.nodes;
        rooms->widths += room->width * room->run.nodes;
        if (room->width > 0 && (room->free + room->width - 1) / room->width > rooms->turns)
            rooms->turns = (room->free + room->width - 1) / room->width;
    }
    return 0;
}

/* ---- Dealing ---- */

static uint64_t dealt_before(const struct rooms *rooms, uint64_t turn)
{
    uint64_t dealt = 0;

    for (uint32_t i = 0; i < rooms->count; i++)
        dealt += rooms->items[i].run.nodes *
                 lesser_u64(rooms->items[i].free, rooms->items[i].width * turn);
    return dealt;
}

/* Number of whole rounds in that many processes. */
static uint64_t whole_turns(const struct rooms *rooms, uint64_t processes)
{
    uint64_t low = 0, high = rooms->turns;

    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;

        if (dealt_before(rooms, middle) <= processes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Where the counts go: runs of the map, and what is left for the next application. */
struct outcome {
    struct placement_app *app;
    const struct placement_map *map;
    struct free_runs left;
    uint64_t before;
    uint32_t capacity;
};

static uint32_t numbering_width(const struct placement_map *map, const struct placement_rule *rule,
                                const struct free_run *run)
{
    switch (placement_rule_rank_by(rule)) {
    case PLACEMENT_RANK_BY_NODE:
        return 1;
    case PLACEMENT_RANK_BY_SPAN:
        return rule->policy == PLACEMENT_BY_OBJECT || rule->policy == PLACEMENT_PER_OBJECT ||
                       rule->policy == PLACEMENT_BY_DEVICE
                   ? objects_dealt(map, run, rule)
                   : 1;
    default:
        return PLACEMENT_WIDTH_ALL;
    }
}

/* `nodes` nodes of a run from `first` on get `count` each. */
static void give_nodes(struct outcome *outcome, const struct free_run *run, uint32_t first,
                       uint32_t nodes, uint64_t count)
{
    const struct placement_rule *rule = outcome->app->rule;
    uint32_t width = numbering_width(outcome->map, rule, run);
    struct free_run left = *run;
    struct placement_app *app = outcome->app;
    struct placement_run *last;

    if (nodes == 0)
        return;
    left.first = first;
    left.nodes = nodes;
    left.is_out = 0;
    left.used_slots = (uint32_t)lesser_u64(run->used_slots + count, UINT32_MAX);
    left.used_units += count * (rule->pe > 0 ? rule->pe : 1);
    for (int i = 0; i < PLACEMENT_DEVICE_COUNT; i++)
        left.used_devices[i] += count * placement_rule_devices(rule, (enum placement_device)i);
    placement_map_append_free_run(&outcome->left, &left);
    outcome->before += count * nodes;
    if (count == 0)
        return;
    last = app->runs_count > 0 ? &app->runs[app->runs_count - 1] : NULL;
    if (last != NULL && last->first + last->nodes == first && last->count == count &&
        last->width == width && last->kind == run->kind) {
        last->nodes += nodes;
        return;
    }
    if (app->runs_count == outcome->capacity) {
        outcome->capacity = 2 * outcome->capacity + 4;
        app->runs = memory_resize(app->runs, outcome->capacity * sizeof(*app->runs));
    }
    app->runs[app->runs_count++] =
        (struct placement_run){.first = first,
                               .nodes = nodes,
                               .count = (uint32_t)count,
                               .width = width,
                               .kind = run->kind,
                               .before = outcome->before - count * nodes};
}

/* Every node has `base` and up to `more` of what is left of the last round. */
static void give_room(struct outcome *outcome, const struct room *room, uint64_t base,
                      uint64_t more, uint64_t *rest)
{
    uint32_t first = room->run.first, nodes = room->run.nodes;
    uint32_t full = more > 0 ? (uint32_t)lesser_u64(nodes, *rest / more) : nodes;

    give_nodes(outcome, &room->run, first, full, base + more);
    *rest -= full * more;
    if (full == nodes)
        return;
    give_nodes(outcome, &room->run, first + full, 1, base + *rest);
    *rest = 0;
    give_nodes(outcome, &room->run, first + full + 1, nodes - full - 1, base);
}

static void deal_processes(struct outcome *outcome, const struct rooms *rooms, uint64_t processes)
{
    uint64_t rest, turns;

    if (processes > rooms->total) {
        assert(rooms->widths > 0);
        turns = (processes - rooms->total) / rooms->widths;
        rest = (processes - rooms->total) % rooms->widths;
        for (uint32_t i = 0; i < rooms->count; i++) {
            const struct room *room = &rooms->items[i];

            give_room(outcome, room, room->free + room->width * turns, room->width, &rest);
        }
        return;
    }
    turns = whole_turns(rooms, processes);
    rest = processes - dealt_before(rooms, turns);
    for (uint32_t i = 0; i < rooms->count; i++) {
        const struct room *room = &rooms->items[i];
        uint64_t base = lesser_u64(room->free, room->width * turns);

        give_room(outcome, room, base, lesser_u64(room->width, room->free - base), &rest);
    }
}

/* ---- Lists ---- */

/* How many processes a list gives each node of the allocation. */
static int count_listed(const struct placement_list *list, const struct allocation *allocation,
                        uint32_t *counts, struct error *error)
{
    uint32_t nodes = allocation_nodes(allocation);

    for (uint32_t i = 0; i < list->count; i++) {
        if (list->nodes[i] >= nodes)
            return error_set(error, -EINVAL, "the list names nodes that do not exist");
        counts[list->nodes[i]]++;
    }
    return 0;
}

/* Nodes that are listed must take part. */
static int check_listed(const uint32_t *counts, uint32_t first, uint32_t last,
                        const struct allocation *allocation, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t node = first; node < last; node++) {
        if (counts[node] == 0)
            continue;
        hostlist_name(allocation->names, node, name);
        return error_set(error, -ENOSPC,
                         "the list names node %s, which has no slots or is excluded", name);
    }
    return 0;
}

/* Listed nodes must have the objects to which their processes will be bound. */
static int check_bindable(const struct outcome *outcome, const struct free_run *run, uint32_t node,
                          const struct allocation *allocation, struct error *error)
{
    const struct placement_rule *rule = outcome->app->rule;
    enum topology_level bind = placement_rule_bind_level(rule, outcome->map->in_threads);
    struct free_run named = *run;

    if (objects_of(outcome->map, run, bind) > 0)
        return 0;
    named.first = node;
    return no_such_object(rule, &named, bind, allocation, error);
}

/* O(nodes + processes): a list is irregular anyway. */
static int give_list(struct outcome *outcome, const struct free_runs *runs,
                     const struct allocation *allocation, struct error *error)
{
    uint32_t nodes = allocation_nodes(allocation), last = 0;
    uint32_t *counts = memory_allocate_zeroed((nodes + 1) * sizeof(*counts));
    int rc = count_listed(outcome->app->rule->list, allocation, counts, error);

    for (uint32_t i = 0; rc == 0 && i < runs->count; i++) {
        const struct free_run *run = &runs->items[i];
        uint32_t after = run->first + run->nodes;

        rc = check_listed(counts, last, run->is_out ? after : run->first, allocation, error);
        for (uint32_t node = run->first; rc == 0 && node < after;) {
            uint32_t equal = 1;

            while (node + equal < after && counts[node + equal] == counts[node])
                equal++;
            if (counts[node] > 0)
                rc = check_bindable(outcome, run, node, allocation, error);
            give_nodes(outcome, run, node, equal, counts[node]);
            node += equal;
        }
        last = after;
    }
    if (rc == 0)
        rc = check_listed(counts, last, nodes, allocation, error);
    free(counts);
    return rc;
}

/* ---- One application ---- */

/* Where the number on each node is exact, no node may get more than it has slots. */
static int check_slots(const struct placement_app *app, const struct free_runs *runs,
                       const struct allocation *allocation, struct error *error)
{
    uint32_t j = 0;

    for (uint32_t i = 0; i < runs->count; i++) {
        const struct free_run *run = &runs->items[i];

        while (j < app->runs_count && app->runs[j].first + app->runs[j].nodes <= run->first)
            j++;
        for (uint32_t k = j; k < app->runs_count && app->runs[k].first < run->first + run->nodes;
             k++) {
            uint32_t node = app->runs[k].first > run->first ? app->runs[k].first : run->first;

            if (app->runs[k].count > less_or_none(run->slots, run->used_slots))
                return node_too_small(app, run, node, app->runs[k].count, allocation, error);
        }
    }
    return 0;
}

static int check_processes(const struct placement_app *app, const struct placement_map *map,
                           const struct rooms *rooms, uint64_t processes, int is_exact,
                           const struct allocation *allocation, struct error *error)
{
    if (rooms->widths == 0 || processes == 0)
        return too_few_slots(app, map, rooms->total, allocation, error);
    if (processes > PLACEMENT_PROCESSES_MAX)
        return error_set(error, -E2BIG, "%" PRIu64 " processes are more than %u", processes,
                         PLACEMENT_PROCESSES_MAX);
    if (app->rule->policy == PLACEMENT_BY_CPUS &&
        app->rule->per > placement_rule_cpus_count(app->rule) && !app->rule->oversubscribe)
        return error_set(error, -ENOSPC,
                         "%u processes requested on each node, but pe-list has %u cores; use "
                         "--per-node %u or fewer, or --oversubscribe",
                         app->rule->per, placement_rule_cpus_count(app->rule),
                         placement_rule_cpus_count(app->rule));
    if (processes > rooms->total && is_exact)
        return too_few_objects(app, rooms->total, rooms->total / app->rule->per, allocation, error);
    if (processes > rooms->total && !app->rule->oversubscribe)
        return too_few_slots(app, map, rooms->total, allocation, error);
    return 0;
}

static int count_rooms(struct outcome *outcome, const struct free_runs *runs,
                       const struct allocation *allocation, struct error *error)
{
    struct placement_app *app = outcome->app;
    struct rooms rooms = {.items = memory_allocate((runs->count + 1) * sizeof(*rooms.items))};
    int is_exact = app->rule->policy == PLACEMENT_PER_OBJECT || app->rule->per > 0;
    uint64_t processes;
    int rc = measure_all(app->rule, outcome->map, runs, allocation, &rooms, error);

    processes = app->rule->processes > 0 ? app->rule->processes : rooms.total;
    if (rc == 0)
        rc = check_processes(app, outcome->map, &rooms, processes, is_exact, allocation, error);
    if (rc == 0) {
        deal_processes(outcome, &rooms, processes);
        assert(outcome->before == processes);
        app->processes = (uint32_t)processes;
        if (is_exact && !app->rule->oversubscribe)
            rc = check_slots(app, runs, allocation, error);
    }
    free(rooms.items);
    return rc;
}

static int count_list(struct outcome *outcome, const struct free_runs *runs,
                      const struct allocation *allocation, struct error *error)
{
    struct placement_app *app = outcome->app;
    int rc;

    if (app->rule->list == NULL || app->rule->list->count == 0)
        return error_set(error, -EINVAL, "the list of processes is empty");
    if (app->rule->processes > 0 && app->rule->processes != app->rule->list->count)
        return error_set(error, -EINVAL, "%u processes requested, but the list has %u; omit -n",
                         app->rule->processes, app->rule->list->count);
    if (app->rule->pe > 0 && placement_rule_lists_cores(app->rule))
        return error_set(error, -EINVAL,
                         "the rank file already sets the cores of each process; omit pe=%u",
                         app->rule->pe);
    app->processes = app->rule->list->count;
    rc = give_list(outcome, runs, allocation, error);
    assert(rc < 0 || outcome->before == app->processes);
    if (rc == 0 && !app->rule->oversubscribe)
        rc = check_slots(app, runs, allocation, error);
    return rc;
}

/* Cuts the runs where nodes begin or end that the application excludes. */
static void mark_out(struct free_runs *runs, const struct ranges *excluded)
{
    struct free_runs cut = {0};

    for (uint32_t i = 0; i < runs->count; i++) {
        struct free_run run = runs->items[i];
        uint32_t after = run.first + run.nodes;

        while (run.first < after) {
            uint32_t stop = after, gap;

            run.is_out = ranges_contains(excluded, run.first) != 0;
            if (run.is_out && ranges_first_gap(excluded, run.first, after - 1, &gap))
                stop = gap;
            else if (!run.is_out && ranges_next(excluded, run.first, &gap) && gap < after)
                stop = gap;
            run.nodes = stop - run.first;
            placement_map_append_free_run(&cut, &run);
            run.first = stop;
        }
    }
    free(runs->items);
    *runs = cut;
}

int placement_map_deal_app(struct placement_app *app, const struct placement_map *map,
                           struct free_runs *runs, const struct allocation *allocation,
                           struct error *error)
{
    struct outcome outcome = {.app = app, .map = map};
    int rc;

    assert(app->rule != NULL && app->runs_count == 0);
    if (!ranges_is_empty(&app->rule->excluded))
        mark_out(runs, &app->rule->excluded);
    rc = app->rule->policy == PLACEMENT_BY_LIST ? count_list(&outcome, runs, allocation, error)
                                                : count_rooms(&outcome, runs, allocation, error);
    free(runs->items);
    *runs = outcome.left;
    return rc;
}
