/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/place_local.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/place_device.h"
#include "alloc/place_map_internal.h"
#include "base/hash.h"
#include "base/hash_map.h"

/* Use of a unit whose core another job is bound to: what the job has itself is preferred to it. */
#define USE_OF_OTHERS (UINT32_MAX / 2)

/* ---- Units ---- */

/* The units of a node in the order in which they are taken, and what has been taken so far. */
struct desk {
    const struct place_map *map;
    const struct place_kind *kind;
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
    struct device_desk devices;
};

/* First threads of all cores, then second ones, and so on. */
static void fill_threads(struct desk *desk)
{
    const struct topology *view = desk->view;
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
                desk->threads[desk->units++] = seen[core];
                left--;
            }
        }
    }
    free(seen);
    free(turns);
}

static void fill_cores(struct desk *desk)
{
    const uint32_t *cores = desk->view->objects[TOPOLOGY_CORE];

    for (uint32_t i = desk->view->threads; i > 0; i--)
        desk->threads[cores[i - 1]] = i - 1;
    desk->units = desk->view->counts[TOPOLOGY_CORE];
}

static bool thread_is_taken(const struct desk *desk, uint32_t thread)
{
    return ranges_contains(&desk->kind->taken, desk->view->os[thread]);
}

static void desk_init(struct desk *desk, const struct place_map *map, uint32_t kind)
{
    assert(kind < map->placement->machines.kinds_count);
    *desk = (struct desk){.map = map, .kind = &map->placement->machines.kinds[kind]};
    desk->view = &desk->kind->view;
    desk->threads = memory_allocate(desk->view->threads * sizeof(*desk->threads));
    if (map->in_threads)
        fill_threads(desk);
    else
        fill_cores(desk);
    desk->use = memory_allocate(desk->units * sizeof(*desk->use));
    for (uint32_t i = 0; i < desk->units; i++)
        desk->use[i] = thread_is_taken(desk, desk->threads[i]) ? USE_OF_OTHERS : 0;
    desk->picked = memory_allocate_zeroed(desk->units * sizeof(*desk->picked));
    desk->sorted = memory_allocate(desk->units * sizeof(*desk->sorted));
    desk->starts = memory_allocate((desk->view->threads + 2) * sizeof(*desk->starts));
    assert(desk->units > 0 && desk->units <= desk->view->threads);
    device_desk_init(&desk->devices, desk->view);
}

static void desk_fini(struct desk *desk)
{
    free(desk->threads);
    free(desk->use);
    free(desk->picked);
    free(desk->sorted);
    free(desk->starts);
    device_desk_fini(&desk->devices);
}

/* ---- Objects ---- */

/* Sorts the units by their objects of the application's level. */
static void desk_set_level(struct desk *desk, enum topology_level level)
{
    const uint32_t *objects = desk->view->objects[level];

    desk->objects = desk->view->counts[level];
    desk->cycle = 0;
    memset(desk->starts, 0, (desk->objects + 2) * sizeof(*desk->starts));
    for (uint32_t i = 0; i < desk->units; i++) {
        if (objects[desk->threads[i]] != TOPOLOGY_NONE)
            desk->starts[objects[desk->threads[i]] + 2]++;
    }
    for (uint32_t i = 0; i < desk->objects; i++)
        desk->starts[i + 2] += desk->starts[i + 1];
    for (uint32_t i = 0; i < desk->units; i++) {
        if (objects[desk->threads[i]] != TOPOLOGY_NONE)
            desk->sorted[desk->starts[objects[desk->threads[i]] + 1]++] = i;
    }
}

static bool has_free(const struct desk *desk, uint32_t object, uint32_t wanted)
{
    uint32_t found = 0;

    for (uint32_t i = desk->starts[object]; i < desk->starts[object + 1] && found < wanted; i++)
        found += desk->use[desk->sorted[i]] == 0;
    return found == wanted;
}

static uint32_t next_in_cycle(struct desk *desk, uint32_t wanted)
{
    uint32_t object = desk->cycle;

    for (uint32_t i = 0; i < desk->objects; i++) {
        uint32_t candidate = (desk->cycle + i) % desk->objects;

        if (has_free(desk, candidate, wanted)) {
            object = candidate;
            break;
        }
    }
    assert(object < desk->objects);
    desk->cycle = (object + 1) % desk->objects;
    return object;
}

static uint32_t nearest(struct desk *desk, uint32_t wanted)
{
    assert(desk->devices.numa_order != NULL); /* device_desk_order has been called */
    for (uint32_t i = 0; i < desk->objects; i++) {
        if (has_free(desk, desk->devices.numa_order[i], wanted))
            return desk->devices.numa_order[i];
    }
    return desk->devices.numa_order[0];
}

static uint32_t choose_object(struct desk *desk, const struct map_rule *rule, uint32_t dealt)
{
    uint32_t wanted = rule->pe > 0 ? rule->pe : 1;

    if (rule->policy == MAP_PER_OBJECT)
        return dealt / rule->per;
    if (rule->policy == MAP_BY_DISTANCE)
        return nearest(desk, wanted);
    return desk->objects > 1 ? next_in_cycle(desk, wanted) : 0;
}

/* ---- Seats ---- */

/* What belongs to a unit: a core's threads, or the thread itself. */
static void add_home(const struct desk *desk, uint32_t unit, struct ranges *home)
{
    const uint32_t *cores = desk->view->objects[TOPOLOGY_CORE];
    uint32_t thread = desk->threads[unit];

    if (desk->map->in_threads) {
        ranges_add(home, thread, thread);
        return;
    }
    for (uint32_t i = 0; i < desk->view->threads; i++) {
        if (cores[i] == cores[thread])
            ranges_add(home, i, i);
    }
}

static void take_unit(struct desk *desk, uint32_t unit, struct place_seat *seat)
{
    assert(unit < desk->units && desk->picked[unit] != desk->serial);
    desk->is_overloaded |= desk->use[unit] > 0;
    desk->is_contended |= desk->use[unit] >= USE_OF_OTHERS;
    desk->use[unit]++;
    desk->picked[unit] = desk->serial;
    add_home(desk, unit, &seat->home);
}

/* The unit of the object that fewest have taken, and not yet this process; or UINT32_MAX. */
static uint32_t least_used(const struct desk *desk, uint32_t object)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = desk->starts[object]; i < desk->starts[object + 1]; i++) {
        uint32_t unit = desk->sorted[i];

        if (desk->picked[unit] == desk->serial)
            continue;
        if (desk->use[unit] == 0)
            return unit;
        if (best == UINT32_MAX || desk->use[unit] < desk->use[best])
            best = unit;
    }
    return best;
}

static int take_units(struct desk *desk, const struct map_rule *rule, struct place_seat *seat,
                      struct error *error)
{
    for (uint32_t i = 0; i < (rule->pe > 0 ? rule->pe : 1); i++) {
        uint32_t unit = least_used(desk, seat->object);

        if (unit == UINT32_MAX)
            return error_set(error, -ENOSPC,
                             "each process needs %u %s of its %s, which has only %u", rule->pe,
                             desk->map->in_threads ? "hardware threads" : "cores",
                             topology_level_name(map_rule_dealing_level(rule)), i);
        take_unit(desk, unit, seat);
    }
    return 0;
}

/* The core of a thread as hwloc counts all of the machine: views count anew, so it is known by the
 * kernel's number. */
static uint32_t core_of_thread(const struct desk *desk, uint32_t of)
{
    const struct topology *class = &desk->map->placement->machines.classes[desk->kind->class];
    uint32_t thread = 0;

    assert(of < desk->view->threads);
    while (class->os[thread] != desk->view->os[of])
        thread++;
    return class->objects[TOPOLOGY_CORE][thread];
}

/* The units of named cores. */
static int take_listed(struct desk *desk, const struct ranges *cores, struct place_seat *seat,
                       struct error *error)
{
    struct ranges found = {0}; /* a core may have several units */
    uint64_t usable;

    for (uint32_t unit = 0; unit < desk->units; unit++) {
        uint32_t core = core_of_thread(desk, desk->threads[unit]);

        if (!ranges_contains(cores, core))
            continue;
        ranges_add(&found, core, core);
        take_unit(desk, unit, seat);
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
static int desk_set_cpus(struct desk *desk, const struct map_rule *rule, struct error *error)
{
    struct ranges listed = {0}, usable = {0};
    uint32_t count = 0, found;

    map_rule_cpus(rule, &listed);
    for (uint32_t unit = 0; unit < desk->units; unit++) {
        uint32_t core = core_of_thread(desk, desk->threads[unit]);

        if (ranges_contains(&listed, core)) {
            ranges_add(&usable, core, core);
            desk->sorted[count++] = unit;
        }
    }
    assert(count <= desk->units);
    desk->objects = 1;
    desk->starts[0] = 0;
    desk->starts[1] = count;
    found = (uint32_t)ranges_count(&usable);
    ranges_fini(&listed);
    ranges_fini(&usable);
    if (found < map_rule_cpus_count(rule))
        return error_set(error, -ENOSPC, "of the %u cores in pe-list, only %u can be used",
                         map_rule_cpus_count(rule), found);
    return 0;
}

/* The core whose turn it is; when the list is over it begins anew. */
static int take_ordered(struct desk *desk, const struct map_rule *rule, uint32_t dealt,
                        struct place_seat *seat, struct error *error)
{
    const struct range *part = rule->listed.parts;
    uint32_t turn = dealt % map_rule_cpus_count(rule);
    struct ranges core = {0};
    int rc;

    for (; turn > part->last - part->first; part++)
        turn -= part->last - part->first + 1;
    ranges_add(&core, part->first + turn, part->first + turn);
    rc = take_listed(desk, &core, seat, error);
    ranges_fini(&core);
    return rc;
}

/* One thread more for a process, unless its core is another job's and no process had to take such a
 * core. */
static void bind_thread(const struct desk *desk, uint32_t thread, struct place_seat *seat)
{
    uint32_t os = desk->view->os[thread];

    if (desk->is_contended || !thread_is_taken(desk, thread))
        ranges_add(&seat->cpus, os, os);
}

/* Without an order to all cores of the list. */
static void bind_to_cpus(const struct desk *desk, const struct map_rule *rule,
                         struct place_seat *seat)
{
    struct ranges listed = {0};

    map_rule_cpus(rule, &listed);
    for (uint32_t t = 0; t < desk->view->threads; t++) {
        if (ranges_contains(&listed, core_of_thread(desk, t)))
            bind_thread(desk, t, seat);
    }
    ranges_fini(&listed);
}

/* ---- Devices ---- */

/* The units near its devices become the object of a process. */
static int take_near(struct desk *desk, const struct map_rule *rule, struct place_seat *seat,
                     struct error *error)
{
    uint32_t devices = map_rule_devices(rule, rule->device_class), count = 0;
    struct device_deal deal;
    int rc = device_desk_deal(&desk->devices, rule->device_class, devices,
                              rule->shared || rule->oversubscribe, &deal, error);

    if (rc < 0)
        return rc;
    for (uint32_t unit = 0; unit < desk->units; unit++) {
        if (ranges_contains(&deal.near, desk->threads[unit]))
            desk->sorted[count++] = unit;
    }
    desk->objects = 1;
    desk->starts[0] = 0;
    desk->starts[1] = count;
    ranges_move(&seat->near, &deal.near);
    if (rule->device_class == MAP_DEVICE_GPU) {
        seat->gpu_kind = deal.kind;
        ranges_move(&seat->gpus, &deal.numbers);
    }
    ranges_fini(&deal.numbers);
    rc = take_units(desk, rule, seat, error);
    seat->object = deal.first; /* what rank-by fill goes by */
    return rc;
}

static int seat_process(struct desk *desk, const struct map_app *app, uint32_t node, uint32_t dealt,
                        struct place_seat *seat, struct error *error)
{
    const struct map_rule *rule = app->rule;
    int rc;

    desk->serial++;
    if (app->by_node != NULL && rule->list->cores != NULL) {
        const struct map_run *run = map_app_run(app, node);
        uint32_t rank =
            app->by_node[run->before + (uint64_t)(node - run->first) * run->count + dealt];

        rc = take_listed(desk, &rule->list->cores[rank], seat, error);
    } else if (rule->policy == MAP_BY_DEVICE) {
        rc = take_near(desk, rule, seat, error);
    } else if (rule->ordered) {
        rc = take_ordered(desk, rule, dealt, seat, error);
    } else {
        seat->object = choose_object(desk, rule, dealt);
        rc = take_units(desk, rule, seat, error);
    }
    if (rc == 0 && rule->gpus > 0 && ranges_is_empty(&seat->gpus))
        rc = device_desk_take(&desk->devices, rule->gpus, rule->oversubscribe, &seat->home,
                              &seat->gpu_kind, &seat->gpus, error);
    return rc;
}

static int compare_objects(const void *a, const void *b)
{
    const struct place_seat *left = a, *right = b;

    if (left->object != right->object)
        return left->object < right->object ? -1 : 1;
    /* As they were dealt: the hash holds the number until it is known. */
    return left->hash < right->hash ? -1 : left->hash > right->hash;
}

static void sort_by_object(struct place_seat *seats, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        seats[i].hash = i;
    qsort(seats, count, sizeof(*seats), compare_objects);
    for (uint32_t i = 0; i < count; i++)
        seats[i].hash = 0;
}

static int seat_app(struct desk *desk, uint32_t number, uint32_t node, struct place_seats *seats,
                    struct error *error)
{
    const struct map_app *app = &desk->map->apps[number];
    uint32_t count = place_map_count_app(desk->map, number, node);
    struct place_seat *first = &seats->items[seats->count];
    int rc = 0;

    assert(number < desk->map->apps_count);
    desk_set_level(desk, map_rule_dealing_level(app->rule));
    if (app->rule->policy == MAP_BY_DISTANCE && count > 0)
        rc = device_desk_order(&desk->devices, app->rule->device, error);
    if (app->rule->policy == MAP_BY_CPUS && count > 0)
        rc = desk_set_cpus(desk, app->rule, error);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        first[i].app = number;
        rc = seat_process(desk, app, node, i, &first[i], error);
        seats->count++;
    }
    if (rc == 0 && map_rule_rank_by(app->rule) == MAP_RANK_BY_FILL && app->by_node == NULL)
        sort_by_object(first, count);
    return rc;
}

/* ---- Binding ---- */

/* Widens the home to all threads of the objects that it touches. */
static void bind_seat(const struct desk *desk, enum topology_level level, struct place_seat *seat)
{
    const struct topology *view = desk->view;
    const uint32_t *objects = view->objects[level];
    uint32_t last = TOPOLOGY_NONE;

    assert(level < TOPOLOGY_LEVEL_COUNT);
    for (uint32_t i = 0; i < seat->home.count; i++) {
        for (uint32_t home = seat->home.items[i].first; home <= seat->home.items[i].last; home++) {
            if (objects[home] == last)
                continue;
            last = objects[home];
            for (uint32_t t = 0; t < view->threads; t++) {
                if (objects[t] == last)
                    bind_thread(desk, t, seat);
            }
        }
    }
}

static void bind_memory(const struct topology *view, struct place_seat *seat)
{
    for (uint32_t t = 0; t < view->threads; t++) {
        uint32_t numa = view->objects[TOPOLOGY_NUMA][t];

        if (numa != TOPOLOGY_NONE && ranges_contains(&seat->cpus, view->os[t]))
            ranges_add_all(&seat->memory, &view->memory[numa]);
    }
}

static void bind_to_near(const struct desk *desk, struct place_seat *seat)
{
    uint32_t thread = 0;

    for (; !desk->is_overloaded && ranges_next(&seat->near, thread, &thread); thread++)
        bind_thread(desk, thread, seat);
}

static uint64_t hash_ranges(const struct ranges *set, uint64_t seed)
{
    for (uint32_t i = 0; i < set->count; i++)
        seed = hash_mix(seed ^ ((uint64_t)set->items[i].first << 32 | set->items[i].last)) + i;
    return hash_mix(seed + 1);
}

static void hash_seat(struct place_seat *seat)
{
    if (ranges_is_empty(&seat->cpus) && ranges_is_empty(&seat->gpus))
        return;
    seat->hash = hash_ranges(&seat->cpus, 1);
    seat->hash = hash_ranges(&seat->memory, seat->hash);
    seat->hash = hash_ranges(&seat->gpus, seat->hash);
}

/* Cores that other jobs are bound to are theirs, unless sharing was asked for. */
static int check_contention(const struct map_rule *rule, const struct desk *desk,
                            struct error *error)
{
    if (!desk->is_contended || rule->oversubscribe || rule->cpus > 0 ||
        !placement_rule_binds(rule, desk->map->in_threads))
        return 0;
    return error_set(
        error, -ENOSPC,
        "other jobs of this instance are bound to %u of %u cores; use fewer processes, "
        "--bind-to none or --oversubscribe",
        place_machines_taken(desk->kind, TOPOLOGY_CORE), desk->view->counts[TOPOLOGY_CORE]);
}

static int check_overload(const struct map_rule *rule, const struct desk *desk, uint32_t processes,
                          struct error *error)
{
    const char *units = desk->map->in_threads ? "hardware threads" : "cores";

    if (!desk->is_overloaded || rule->overload)
        return 0;
    if (check_contention(rule, desk, error) < 0)
        return -ENOSPC;
    if (rule->bind == MAP_BIND_LEVEL)
        return error_set(error, -ENOSPC,
                         "%u processes cannot be bound to %u %s so that each has its own; use "
                         "fewer, --bind-to %s:overload-allowed or --bind-to none",
                         processes, desk->units, units, topology_level_name(rule->bind_level));
    if (rule->pe > 0 && rule->cpus == 0 && rule->bind == MAP_BIND_DEFAULT && !rule->oversubscribe)
        return error_set(error, -ENOSPC,
                         "%u processes cannot have %u of %u %s each; use fewer, or --oversubscribe",
                         processes, rule->pe, desk->units, units);
    return 0;
}

static int bind_all(struct desk *desk, struct place_seats *seats, struct error *error)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        struct place_seat *seat = &seats->items[i];
        const struct map_rule *rule = desk->map->apps[seat->app].rule;
        enum topology_level level = map_rule_bind_level(rule, desk->map->in_threads);
        int rc = check_overload(rule, desk, seats->count, error);

        if (rc < 0)
            return rc;
        if (rule->policy == MAP_BY_CPUS && rule->bind == MAP_BIND_DEFAULT && !rule->ordered)
            bind_to_cpus(desk, rule, seat);
        else if (rule->policy == MAP_BY_DEVICE && rule->bind == MAP_BIND_DEFAULT && rule->pe == 0)
            bind_to_near(desk, seat);
        else if (level != TOPOLOGY_NODE && (rule->bind == MAP_BIND_LEVEL ||
                                            map_rule_lists_cores(rule) || !desk->is_overloaded))
            bind_seat(desk, level, seat);
        if (rule->memory != MAP_MEMORY_NONE)
            bind_memory(desk->view, seat);
        hash_seat(seat);
    }
    return 0;
}

/* ---- One node ---- */

static uint32_t kind_of_node(const struct place_map *map, uint32_t node)
{
    for (uint32_t i = 0; i < map->apps_count; i++) {
        const struct map_run *run = map_app_run(&map->apps[i], node);

        if (run != NULL)
            return run->kind;
    }
    return UINT32_MAX;
}

int place_seats_make(struct place_seats *ret_seats, const struct place_map *map, uint32_t node,
                     struct error *error)
{
    uint32_t kind = map->has_topology ? kind_of_node(map, node) : UINT32_MAX;
    uint32_t count = place_map_count(map, node);
    struct place_seats seats = {.items = memory_allocate_zeroed(count * sizeof(*seats.items))};
    struct desk desk;
    int rc = 0;

    assert(node < map->nodes);
    if (kind == UINT32_MAX) {
        seats.count = count;
        *ret_seats = seats;
        return 0;
    }
    desk_init(&desk, map, kind);
    for (uint32_t i = 0; rc == 0 && i < map->apps_count; i++)
        rc = seat_app(&desk, i, node, &seats, error);
    if (rc == 0)
        rc = bind_all(&desk, &seats, error);
    assert(rc < 0 || seats.count == count);
    seats.is_overloaded = desk.is_overloaded;
    desk_fini(&desk);
    if (rc < 0)
        place_seats_fini(&seats);
    else
        *ret_seats = seats;
    return rc;
}

void place_seats_fini(struct place_seats *seats)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        ranges_fini(&seats->items[i].cpus);
        ranges_fini(&seats->items[i].home);
        ranges_fini(&seats->items[i].near);
        ranges_fini(&seats->items[i].memory);
        ranges_fini(&seats->items[i].gpus);
    }
    free(seats->items);
    *seats = (struct place_seats){0};
}

/* ---- Sorts of nodes ---- */

struct place_sorts {
    const struct place_map *map;
    struct hash_map *seats; /* kind and counts -> place_seats */
    uint32_t *key;
};

struct place_sorts *place_sorts_create(const struct place_map *map)
{
    struct place_sorts *sorts = memory_allocate_zeroed(sizeof(*sorts));

    sorts->map = map;
    sorts->seats = hash_map_create();
    sorts->key = memory_allocate_zeroed((map->apps_count + 2) * sizeof(*sorts->key));
    return sorts;
}

void place_sorts_destroy(struct place_sorts *sorts)
{
    struct place_seats *seats;
    size_t cursor = 0;

    if (sorts == NULL)
        return;
    while ((seats = hash_map_next(sorts->seats, &cursor)) != NULL) {
        place_seats_fini(seats);
        free(seats);
    }
    hash_map_destroy(sorts->seats);
    free(sorts->key);
    free(sorts);
}

/* Lists may name other cores on every node. */
static bool has_list_of_cores(const struct place_map *map)
{
    for (uint32_t i = 0; i < map->apps_count; i++) {
        if (map->apps[i].rule->list != NULL && map->apps[i].rule->list->cores != NULL)
            return true;
    }
    return false;
}

const struct place_seats *place_sorts_get(struct place_sorts *sorts, uint32_t node,
                                          struct error *error)
{
    const struct place_map *map = sorts->map;
    size_t key_bytes = (map->apps_count + 2) * sizeof(*sorts->key);
    struct place_seats *seats;

    assert(node < map->nodes);
    sorts->key[0] = kind_of_node(map, node);
    sorts->key[1] = has_list_of_cores(map) ? node : 0;
    for (uint32_t i = 0; i < map->apps_count; i++)
        sorts->key[i + 2] = place_map_count_app(map, i, node);
    seats = hash_map_get(sorts->seats, sorts->key, key_bytes);
    if (seats != NULL)
        return seats;
    seats = memory_allocate_zeroed(sizeof(*seats));
    if (place_seats_make(seats, map, node, error) < 0) {
        free(seats);
        return NULL;
    }
    (void)hash_map_put(sorts->seats, sorts->key, key_bytes, seats);
    return seats;
}

uint32_t place_map_alike(const struct place_map *map, uint32_t node)
{
    uint32_t after = map->nodes;

    if (has_list_of_cores(map))
        return 1;
    for (uint32_t i = 0; i < map->apps_count; i++) {
        const struct map_app *app = &map->apps[i];
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
            after = (uint32_t)lesser(after, app->runs[low].first);
        else
            after = (uint32_t)lesser(after, app->runs[low].first + app->runs[low].nodes);
    }
    return after > node ? after - node : 1;
}

static int check_run(struct place_sorts *sorts, const struct map_run *run,
                     const struct allocation *allocation, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < run->nodes; i += place_map_alike(sorts->map, run->first + i)) {
        if (place_sorts_get(sorts, run->first + i, error) == NULL) {
            hostlist_name(allocation->names, run->first + i, name);
            error_prefix(error, "node %s", name);
            return error != NULL ? error->code : -ENOSPC;
        }
    }
    return 0;
}

int place_map_check(const struct place_map *map, const struct allocation *allocation,
                    struct error *error)
{
    struct place_sorts *sorts;
    int rc = 0;

    if (!map->has_topology)
        return 0;
    sorts = place_sorts_create(map);
    for (uint32_t i = 0; rc == 0 && i < map->apps_count; i++) {
        for (uint32_t j = 0; rc == 0 && j < map->apps[i].runs_count; j++)
            rc = check_run(sorts, &map->apps[i].runs[j], allocation, error);
    }
    place_sorts_destroy(sorts);
    return rc;
}
