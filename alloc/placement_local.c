/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_local.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_device.h"
#include "alloc/placement_map_internal.h"
#include "base/hash.h"
#include "base/hash_map.h"

/* Use of a unit whose core another job is bound to: what the job has itself is preferred to it. */
#define USE_OF_OTHERS (UINT32_MAX / 2)

/* ---- Units ---- */

/* The units of a node in the order in which they are taken, and what has been taken so far. */
struct binder {
    const struct placement_map *map;
    const struct placement_kind *kind;
    const struct topology *view;
    uint32_t units;
    uint32_t *threads; /* by unit: its first thread */
    uint32_t *use;     /* by unit: processes that took it */
    uint32_t *picked;  /* by unit: the last process that took it, from 1 */
    uint32_t serial;   /* of the process at hand */
    uint8_t is_overloaded;
    uint8_t is_contended; /* a process has taken a unit that another job has */
    /* Of the application at hand: units sorted by object, which begins at starts[object]. */
    uint32_t objects;
    uint32_t *sorted;
    uint32_t *starts;
    uint32_t cycle; /* the object that comes next */
    struct device_binder devices;
};

/* First threads of all cores, then second ones, and so on. */
static void fill_threads(struct binder *binder)
{
    const struct topology *view = binder->view;
    const uint32_t *cores = view->objects[TOPOLOGY_CORE];
    uint32_t *seen = memory_allocate_zeroed(view->counts[TOPOLOGY_CORE] * sizeof(*seen));
    uint32_t *turns = memory_allocate(view->threads * sizeof(*turns));
    uint32_t left = view->threads;

    for (uint32_t i = 0; i < view->threads; i++)
        turns[i] = seen[cores[i]]++;
    for (uint32_t turn = 0; left > 0; turn++) {
        for (uint32_t core = 0; core < view->counts[TOPOLOGY_CORE]; core++)
            seen[core] = UINT32_MAX;
        for (uint32_t i = 0; i < view->threads; i++) {
            if (turns[i] == turn)
                seen[cores[i]] = i;
        }
        for (uint32_t core = 0; core < view->counts[TOPOLOGY_CORE]; core++) {
            if (seen[core] != UINT32_MAX) {
                binder->threads[binder->units++] = seen[core];
                left--;
            }
        }
    }
    free(seen);
    free(turns);
}

static void fill_cores(struct binder *binder)
{
    const uint32_t *cores = binder->view->objects[TOPOLOGY_CORE];

    for (uint32_t i = binder->view->threads; i > 0; i--)
        binder->threads[cores[i - 1]] = i - 1;
    binder->units = binder->view->counts[TOPOLOGY_CORE];
}

static bool thread_is_taken(const struct binder *binder, uint32_t thread)
{
    return ranges_contains(&binder->kind->taken, binder->view->os[thread]);
}

static void binder_init(struct binder *binder, const struct placement_map *map, uint32_t kind)
{
    assert(kind < map->placement->machines.kinds_count);
    *binder = (struct binder){.map = map, .kind = &map->placement->machines.kinds[kind]};
    binder->view = &binder->kind->view;
    binder->threads = memory_allocate(binder->view->threads * sizeof(*binder->threads));
    if (map->in_threads)
        fill_threads(binder);
    else
        fill_cores(binder);
    binder->use = memory_allocate(binder->units * sizeof(*binder->use));
    for (uint32_t i = 0; i < binder->units; i++)
        binder->use[i] = thread_is_taken(binder, binder->threads[i]) ? USE_OF_OTHERS : 0;
    binder->picked = memory_allocate_zeroed(binder->units * sizeof(*binder->picked));
    binder->sorted = memory_allocate(binder->units * sizeof(*binder->sorted));
    binder->starts = memory_allocate((binder->view->threads + 2) * sizeof(*binder->starts));
    assert(binder->units > 0 && binder->units <= binder->view->threads);
    placement_device_init(&binder->devices, binder->view);
}

static void binder_fini(struct binder *binder)
{
    free(binder->threads);
    free(binder->use);
    free(binder->picked);
    free(binder->sorted);
    free(binder->starts);
    placement_device_fini(&binder->devices);
}

/* ---- Objects ---- */

/* Sorts the units by their objects of the application's level. */
static void binder_set_level(struct binder *binder, enum topology_level level)
{
    const uint32_t *objects = binder->view->objects[level];

    binder->objects = binder->view->counts[level];
    binder->cycle = 0;
    memset(binder->starts, 0, (binder->objects + 2) * sizeof(*binder->starts));
    for (uint32_t i = 0; i < binder->units; i++) {
        if (objects[binder->threads[i]] != TOPOLOGY_NONE)
            binder->starts[objects[binder->threads[i]] + 2]++;
    }
    for (uint32_t i = 0; i < binder->objects; i++)
        binder->starts[i + 2] += binder->starts[i + 1];
    for (uint32_t i = 0; i < binder->units; i++) {
        if (objects[binder->threads[i]] != TOPOLOGY_NONE)
            binder->sorted[binder->starts[objects[binder->threads[i]] + 1]++] = i;
    }
}

static bool has_free(const struct binder *binder, uint32_t object, uint32_t wanted)
{
    uint32_t found = 0;

    for (uint32_t i = binder->starts[object]; i < binder->starts[object + 1] && found < wanted; i++)
        found += binder->use[binder->sorted[i]] == 0;
    return found == wanted;
}

static uint32_t next_in_cycle(struct binder *binder, uint32_t wanted)
{
    uint32_t object = binder->cycle;

    for (uint32_t i = 0; i < binder->objects; i++) {
        uint32_t candidate = (binder->cycle + i) % binder->objects;

        if (has_free(binder, candidate, wanted)) {
            object = candidate;
            break;
        }
    }
    assert(object < binder->objects);
    binder->cycle = (object + 1) % binder->objects;
    return object;
}

static uint32_t nearest_numa(struct binder *binder, uint32_t wanted)
{
    assert(binder->devices.numa_order != NULL); /* placement_device_order has been called */
    for (uint32_t i = 0; i < binder->objects; i++) {
        if (has_free(binder, binder->devices.numa_order[i], wanted))
            return binder->devices.numa_order[i];
    }
    return binder->devices.numa_order[0];
}

static uint32_t choose_object(struct binder *binder, const struct placement_rule *rule,
                              uint32_t dealt)
{
    uint32_t wanted = rule->pe > 0 ? rule->pe : 1;

    if (rule->policy == PLACEMENT_PER_OBJECT)
        return dealt / rule->per;
    if (rule->policy == PLACEMENT_BY_DISTANCE)
        return nearest_numa(binder, wanted);
    return binder->objects > 1 ? next_in_cycle(binder, wanted) : 0;
}

/* ---- Bindings ---- */

/* What belongs to a unit: a core's threads, or the thread itself. */
static void add_home(const struct binder *binder, uint32_t unit, struct ranges *home)
{
    const uint32_t *cores = binder->view->objects[TOPOLOGY_CORE];
    uint32_t thread = binder->threads[unit];

    if (binder->map->in_threads) {
        ranges_add(home, thread, thread);
        return;
    }
    for (uint32_t i = 0; i < binder->view->threads; i++) {
        if (cores[i] == cores[thread])
            ranges_add(home, i, i);
    }
}

static void take_unit(struct binder *binder, uint32_t unit, struct placement_binding *binding)
{
    assert(unit < binder->units && binder->picked[unit] != binder->serial);
    binder->is_overloaded |= binder->use[unit] > 0;
    binder->is_contended |= binder->use[unit] >= USE_OF_OTHERS;
    binder->use[unit]++;
    binder->picked[unit] = binder->serial;
    add_home(binder, unit, &binding->home);
}

/* The unit of the object that fewest have taken, and not yet this process; or UINT32_MAX. */
static uint32_t least_used(const struct binder *binder, uint32_t object)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = binder->starts[object]; i < binder->starts[object + 1]; i++) {
        uint32_t unit = binder->sorted[i];

        if (binder->picked[unit] == binder->serial)
            continue;
        if (binder->use[unit] == 0)
            return unit;
        if (best == UINT32_MAX || binder->use[unit] < binder->use[best])
            best = unit;
    }
    return best;
}

static int take_units(struct binder *binder, const struct placement_rule *rule,
                      struct placement_binding *binding, struct error *error)
{
    for (uint32_t i = 0; i < (rule->pe > 0 ? rule->pe : 1); i++) {
        uint32_t unit = least_used(binder, binding->object);

        if (unit == UINT32_MAX)
            return error_set(error, -ENOSPC,
                             "each process needs %u %s of its %s, which has only %u", rule->pe,
                             binder->map->in_threads ? "hardware threads" : "cores",
                             topology_level_name(placement_rule_dealing_level(rule)), i);
        take_unit(binder, unit, binding);
    }
    return 0;
}

/* The core of a thread as hwloc counts all of the machine: views count anew, so it is known by the
 * kernel's number. */
static uint32_t core_of_thread(const struct binder *binder, uint32_t of)
{
    const struct topology *class = &binder->map->placement->machines.classes[binder->kind->class];
    uint32_t thread = 0;

    assert(of < binder->view->threads);
    while (class->os[thread] != binder->view->os[of])
        thread++;
    return class->objects[TOPOLOGY_CORE][thread];
}

/* The units of named cores. */
static int take_listed(struct binder *binder, const struct ranges *cores,
                       struct placement_binding *binding, struct error *error)
{
    struct ranges found = {0}; /* a core may have several units */
    uint64_t usable;

    for (uint32_t unit = 0; unit < binder->units; unit++) {
        uint32_t core = core_of_thread(binder, binder->threads[unit]);

        if (!ranges_contains(cores, core))
            continue;
        ranges_add(&found, core, core);
        take_unit(binder, unit, binding);
    }
    usable = ranges_count(&found);
    ranges_fini(&found);
    if (usable < ranges_count(cores))
        return error_set(error, -ENOSPC,
                         "of the %u cores that the rank file gives a process, only %u can be used",
                         (uint32_t)ranges_count(cores), (uint32_t)usable);
    return 0;
}

/* ---- Cores that pe-list names ---- */

/* The units of its cores, in their own order, become the one object of the application. */
static int binder_set_cpus(struct binder *binder, const struct placement_rule *rule,
                           struct error *error)
{
    struct ranges listed = {0}, usable = {0};
    uint32_t count = 0, found;

    placement_rule_cpus(rule, &listed);
    for (uint32_t unit = 0; unit < binder->units; unit++) {
        uint32_t core = core_of_thread(binder, binder->threads[unit]);

        if (ranges_contains(&listed, core)) {
            ranges_add(&usable, core, core);
            binder->sorted[count++] = unit;
        }
    }
    assert(count <= binder->units);
    binder->objects = 1;
    binder->starts[0] = 0;
    binder->starts[1] = count;
    found = (uint32_t)ranges_count(&usable);
    ranges_fini(&listed);
    ranges_fini(&usable);
    if (found < placement_rule_cpus_count(rule))
        return error_set(error, -ENOSPC, "of the %u cores in pe-list, only %u can be used",
                         placement_rule_cpus_count(rule), found);
    return 0;
}

/* The core whose turn it is; when the list is over it begins anew. */
static int take_ordered(struct binder *binder, const struct placement_rule *rule, uint32_t dealt,
                        struct placement_binding *binding, struct error *error)
{
    const struct range *part = rule->listed.parts;
    uint32_t turn = dealt % placement_rule_cpus_count(rule);
    struct ranges core = {0};
    int rc;

    for (; turn > part->last - part->first; part++)
        turn -= part->last - part->first + 1;
    ranges_add(&core, part->first + turn, part->first + turn);
    rc = take_listed(binder, &core, binding, error);
    ranges_fini(&core);
    return rc;
}

/* One thread more for a process, unless its core is another job's and no process had to take such a
 * core. */
static void bind_thread(const struct binder *binder, uint32_t thread,
                        struct placement_binding *binding)
{
    uint32_t os = binder->view->os[thread];

    if (binder->is_contended || !thread_is_taken(binder, thread))
        ranges_add(&binding->cpus, os, os);
}

/* Without an order to all cores of the list. */
static void bind_to_cpus(const struct binder *binder, const struct placement_rule *rule,
                         struct placement_binding *binding)
{
    struct ranges listed = {0};

    placement_rule_cpus(rule, &listed);
    for (uint32_t t = 0; t < binder->view->threads; t++) {
        if (ranges_contains(&listed, core_of_thread(binder, t)))
            bind_thread(binder, t, binding);
    }
    ranges_fini(&listed);
}

/* ---- Devices ---- */

/* The units near its devices become the object of a process. */
static int take_near(struct binder *binder, const struct placement_rule *rule,
                     struct placement_binding *binding, struct error *error)
{
    uint32_t devices = placement_rule_devices(rule, rule->device_class), count = 0;
    struct device_deal deal;
    int rc = placement_device_deal(&binder->devices, rule->device_class, devices,
                                   rule->shared || rule->oversubscribe, &deal, error);

    if (rc < 0)
        return rc;
    for (uint32_t unit = 0; unit < binder->units; unit++) {
        if (ranges_contains(&deal.near, binder->threads[unit]))
            binder->sorted[count++] = unit;
    }
    binder->objects = 1;
    binder->starts[0] = 0;
    binder->starts[1] = count;
    ranges_move(&binding->near, &deal.near);
    if (rule->device_class == PLACEMENT_DEVICE_GPU) {
        binding->gpu_kind = deal.kind;
        ranges_move(&binding->gpus, &deal.numbers);
    }
    ranges_fini(&deal.numbers);
    rc = take_units(binder, rule, binding, error);
    binding->object = deal.first; /* what rank-by fill goes by */
    return rc;
}

static int seat_process(struct binder *binder, const struct placement_app *app, uint32_t node,
                        uint32_t dealt, struct placement_binding *binding, struct error *error)
{
    const struct placement_rule *rule = app->rule;
    int rc;

    binder->serial++;
    if (app->by_node != NULL && rule->list->cores != NULL) {
        const struct placement_run *run = placement_map_app_run(app, node);
        uint32_t rank =
            app->by_node[run->before + (uint64_t)(node - run->first) * run->count + dealt];

        rc = take_listed(binder, &rule->list->cores[rank], binding, error);
    } else if (rule->policy == PLACEMENT_BY_DEVICE) {
        rc = take_near(binder, rule, binding, error);
    } else if (rule->ordered) {
        rc = take_ordered(binder, rule, dealt, binding, error);
    } else {
        binding->object = choose_object(binder, rule, dealt);
        rc = take_units(binder, rule, binding, error);
    }
    if (rc == 0 && rule->gpus > 0 && ranges_is_empty(&binding->gpus))
        rc = placement_device_take(&binder->devices, rule->gpus, rule->oversubscribe,
                                   &binding->home, &binding->gpu_kind, &binding->gpus, error);
    return rc;
}

static int compare_objects(const void *a, const void *b)
{
    const struct placement_binding *left = a, *right = b;

    if (left->object != right->object)
        return left->object < right->object ? -1 : 1;
    /* As they were dealt: the hash holds the number until it is known. */
    return left->hash < right->hash ? -1 : left->hash > right->hash;
}

static void sort_by_object(struct placement_binding *bindings, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        bindings[i].hash = i;
    qsort(bindings, count, sizeof(*bindings), compare_objects);
    for (uint32_t i = 0; i < count; i++)
        bindings[i].hash = 0;
}

static int seat_app(struct binder *binder, uint32_t number, uint32_t node,
                    struct placement_bindings *bindings, struct error *error)
{
    const struct placement_app *app = &binder->map->apps[number];
    uint32_t count = placement_map_count_app(binder->map, number, node);
    struct placement_binding *first = &bindings->items[bindings->count];
    int rc = 0;

    assert(number < binder->map->apps_count);
    binder_set_level(binder, placement_rule_dealing_level(app->rule));
    if (app->rule->policy == PLACEMENT_BY_DISTANCE && count > 0)
        rc = placement_device_order(&binder->devices, app->rule->device, error);
    if (app->rule->policy == PLACEMENT_BY_CPUS && count > 0)
        rc = binder_set_cpus(binder, app->rule, error);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        first[i].app = number;
        rc = seat_process(binder, app, node, i, &first[i], error);
        bindings->count++;
    }
    if (rc == 0 && placement_rule_rank_by(app->rule) == PLACEMENT_RANK_BY_FILL &&
        app->by_node == NULL)
        sort_by_object(first, count);
    return rc;
}

/* ---- Binding ---- */

/* Widens the home to all threads of the objects that it touches. */
static void bind_process(const struct binder *binder, enum topology_level level,
                         struct placement_binding *binding)
{
    const struct topology *view = binder->view;
    const uint32_t *objects = view->objects[level];
    uint32_t last = TOPOLOGY_NONE;

    assert(level < TOPOLOGY_LEVEL_COUNT);
    for (uint32_t i = 0; i < binding->home.count; i++) {
        for (uint32_t home = binding->home.items[i].first; home <= binding->home.items[i].last;
             home++) {
            if (objects[home] == last)
                continue;
            last = objects[home];
            for (uint32_t t = 0; t < view->threads; t++) {
                if (objects[t] == last)
                    bind_thread(binder, t, binding);
            }
        }
    }
}

static void bind_memory(const struct topology *view, struct placement_binding *binding)
{
    for (uint32_t t = 0; t < view->threads; t++) {
        uint32_t numa = view->objects[TOPOLOGY_NUMA][t];

        if (numa != TOPOLOGY_NONE && ranges_contains(&binding->cpus, view->os[t]))
            ranges_add_all(&binding->memory, &view->memory[numa]);
    }
}

static void bind_to_near(const struct binder *binder, struct placement_binding *binding)
{
    uint32_t thread = 0;

    for (; !binder->is_overloaded && ranges_next(&binding->near, thread, &thread); thread++)
        bind_thread(binder, thread, binding);
}

static uint64_t hash_ranges(const struct ranges *set, uint64_t seed)
{
    for (uint32_t i = 0; i < set->count; i++)
        seed = hash_mix(seed ^ ((uint64_t)set->items[i].first << 32 | set->items[i].last)) + i;
    return hash_mix(seed + 1);
}

static void hash_binding(struct placement_binding *binding)
{
    if (ranges_is_empty(&binding->cpus) && ranges_is_empty(&binding->gpus))
        return;
    binding->hash = hash_ranges(&binding->cpus, 1);
    binding->hash = hash_ranges(&binding->memory, binding->hash);
    binding->hash = hash_ranges(&binding->gpus, binding->hash);
}

/* Cores that other jobs are bound to are theirs, unless sharing was asked for. */
static int check_contention(const struct placement_rule *rule, const struct binder *binder,
                            struct error *error)
{
    if (!binder->is_contended || rule->oversubscribe || rule->cpus > 0 ||
        !placement_rule_binds(rule, binder->map->in_threads))
        return 0;
    return error_set(
        error, -ENOSPC,
        "other jobs of this instance are bound to %u of %u cores; use fewer processes, "
        "--bind-to none or --oversubscribe",
        placement_machines_taken(binder->kind, TOPOLOGY_CORE), binder->view->counts[TOPOLOGY_CORE]);
}

static int check_overload(const struct placement_rule *rule, const struct binder *binder,
                          uint32_t processes, struct error *error)
{
    const char *units = binder->map->in_threads ? "hardware threads" : "cores";

    if (!binder->is_overloaded || rule->overload)
        return 0;
    if (check_contention(rule, binder, error) < 0)
        return -ENOSPC;
    if (rule->bind == PLACEMENT_BIND_LEVEL)
        return error_set(error, -ENOSPC,
                         "%u processes cannot be bound to %u %s so that each has its own; use "
                         "fewer, --bind-to %s:overload-allowed or --bind-to none",
                         processes, binder->units, units, topology_level_name(rule->bind_level));
    if (rule->pe > 0 && rule->cpus == 0 && rule->bind == PLACEMENT_BIND_DEFAULT &&
        !rule->oversubscribe)
        return error_set(error, -ENOSPC,
                         "%u processes cannot have %u of %u %s each; use fewer, or --oversubscribe",
                         processes, rule->pe, binder->units, units);
    return 0;
}

static int bind_all(struct binder *binder, struct placement_bindings *bindings, struct error *error)
{
    for (uint32_t i = 0; i < bindings->count; i++) {
        struct placement_binding *binding = &bindings->items[i];
        const struct placement_rule *rule = binder->map->apps[binding->app].rule;
        enum topology_level level = placement_rule_bind_level(rule, binder->map->in_threads);
        int rc = check_overload(rule, binder, bindings->count, error);

        if (rc < 0)
            return rc;
        if (rule->policy == PLACEMENT_BY_CPUS && rule->bind == PLACEMENT_BIND_DEFAULT &&
            !rule->ordered)
            bind_to_cpus(binder, rule, binding);
        else if (rule->policy == PLACEMENT_BY_DEVICE && rule->bind == PLACEMENT_BIND_DEFAULT &&
                 rule->pe == 0)
            bind_to_near(binder, binding);
        else if (level != TOPOLOGY_NODE &&
                 (rule->bind == PLACEMENT_BIND_LEVEL || placement_rule_lists_cores(rule) ||
                  !binder->is_overloaded))
            bind_process(binder, level, binding);
        if (rule->memory != PLACEMENT_MEMORY_NONE)
            bind_memory(binder->view, binding);
        hash_binding(binding);
    }
    return 0;
}

/* ---- One node ---- */

static uint32_t kind_of_node(const struct placement_map *map, uint32_t node)
{
    for (uint32_t i = 0; i < map->apps_count; i++) {
        const struct placement_run *run = placement_map_app_run(&map->apps[i], node);

        if (run != NULL)
            return run->kind;
    }
    return UINT32_MAX;
}

int placement_bindings_make(struct placement_bindings *ret_bindings,
                            const struct placement_map *map, uint32_t node, struct error *error)
{
    uint32_t kind = map->has_topology ? kind_of_node(map, node) : UINT32_MAX;
    uint32_t count = placement_map_count(map, node);
    struct placement_bindings bindings = {
        .items = memory_allocate_zeroed(count * sizeof(*bindings.items))};
    struct binder binder;
    int rc = 0;

    assert(node < map->nodes);
    if (kind == UINT32_MAX) {
        bindings.count = count;
        *ret_bindings = bindings;
        return 0;
    }
    binder_init(&binder, map, kind);
    for (uint32_t i = 0; rc == 0 && i < map->apps_count; i++)
        rc = seat_app(&binder, i, node, &bindings, error);
    if (rc == 0)
        rc = bind_all(&binder, &bindings, error);
    assert(rc < 0 || bindings.count == count);
    bindings.is_overloaded = binder.is_overloaded;
    binder_fini(&binder);
    if (rc < 0)
        placement_bindings_fini(&bindings);
    else
        *ret_bindings = bindings;
    return rc;
}

void placement_bindings_fini(struct placement_bindings *bindings)
{
    for (uint32_t i = 0; i < bindings->count; i++) {
        ranges_fini(&bindings->items[i].cpus);
        ranges_fini(&bindings->items[i].home);
        ranges_fini(&bindings->items[i].near);
        ranges_fini(&bindings->items[i].memory);
        ranges_fini(&bindings->items[i].gpus);
    }
    free(bindings->items);
    *bindings = (struct placement_bindings){0};
}

/* ---- Sorts of nodes ---- */

struct placement_sorts {
    const struct placement_map *map;
    struct hash_map *bindings; /* kind and counts -> placement_bindings */
    uint32_t *key;
};

struct placement_sorts *placement_sorts_create(const struct placement_map *map)
{
    struct placement_sorts *sorts = memory_allocate_zeroed(sizeof(*sorts));

    sorts->map = map;
    sorts->bindings = hash_map_create();
    sorts->key = memory_allocate_zeroed((map->apps_count + 2) * sizeof(*sorts->key));
    return sorts;
}

void placement_sorts_destroy(struct placement_sorts *sorts)
{
    struct placement_bindings *bindings;
    size_t cursor = 0;

    if (sorts == NULL)
        return;
    while ((bindings = hash_map_next(sorts->bindings, &cursor)) != NULL) {
        placement_bindings_fini(bindings);
        free(bindings);
    }
    hash_map_destroy(sorts->bindings);
    free(sorts->key);
    free(sorts);
}

/* Lists may name other cores on every node. */
static bool has_list_of_cores(const struct placement_map *map)
{
    for (uint32_t i = 0; i < map->apps_count; i++) {
        if (map->apps[i].rule->list != NULL && map->apps[i].rule->list->cores != NULL)
            return true;
    }
    return false;
}

const struct placement_bindings *placement_sorts_get(struct placement_sorts *sorts, uint32_t node,
                                                     struct error *error)
{
    const struct placement_map *map = sorts->map;
    size_t key_bytes = (map->apps_count + 2) * sizeof(*sorts->key);
    struct placement_bindings *bindings;

    assert(node < map->nodes);
    sorts->key[0] = kind_of_node(map, node);
    sorts->key[1] = has_list_of_cores(map) ? node : 0;
    for (uint32_t i = 0; i < map->apps_count; i++)
        sorts->key[i + 2] = placement_map_count_app(map, i, node);
    bindings = hash_map_get(sorts->bindings, sorts->key, key_bytes);
    if (bindings != NULL)
        return bindings;
    bindings = memory_allocate_zeroed(sizeof(*bindings));
    if (placement_bindings_make(bindings, map, node, error) < 0) {
        free(bindings);
        return NULL;
    }
    (void)hash_map_put(sorts->bindings, sorts->key, key_bytes, bindings);
    return bindings;
}

uint32_t placement_map_alike(const struct placement_map *map, uint32_t node)
{
    uint32_t after = map->nodes;

    if (has_list_of_cores(map))
        return 1;
    for (uint32_t i = 0; i < map->apps_count; i++) {
        const struct placement_app *app = &map->apps[i];
        uint32_t low = 0, high = app->runs_count;

        /* The first run that ends after the node. */
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;

            if (app->runs[middle].first + app->runs[middle].nodes <= node)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == app->runs_count)
            continue;
        if (app->runs[low].first > node)
            after = (uint32_t)lesser_u64(after, app->runs[low].first);
        else
            after = (uint32_t)lesser_u64(after, app->runs[low].first + app->runs[low].nodes);
    }
    return after > node ? after - node : 1;
}

static int check_run(struct placement_sorts *sorts, const struct placement_run *run,
                     const struct allocation *allocation, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < run->nodes; i += placement_map_alike(sorts->map, run->first + i)) {
        if (placement_sorts_get(sorts, run->first + i, error) == NULL) {
            hostlist_name(allocation->names, run->first + i, name);
            error_prefix(error, "node %s", name);
            return error != NULL ? error->code : -ENOSPC;
        }
    }
    return 0;
}

int placement_map_check(const struct placement_map *map, const struct allocation *allocation,
                        struct error *error)
{
    struct placement_sorts *sorts;
    int rc = 0;

    if (!map->has_topology)
        return 0;
    sorts = placement_sorts_create(map);
    for (uint32_t i = 0; rc == 0 && i < map->apps_count; i++) {
        for (uint32_t j = 0; rc == 0 && j < map->apps[i].runs_count; j++)
            rc = check_run(sorts, &map->apps[i].runs[j], allocation, error);
    }
    placement_sorts_destroy(sorts);
    return rc;
}
