/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints random cases of who goes where and what alloc/ makes of them, a line of JSON each, for
 * test/tool/placement_reference.py: place_cases SEED COUNT.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "alloc/placement_cpus.h"
#include "alloc/placement_local.h"
#include "test/support/place_case.h"

static void print_set(const struct ranges *set, struct buffer *out)
{
    uint32_t number = 0;

    buffer_append_string(out, ",[");
    for (uint32_t i = 0; ranges_next(set, number, &number); i++)
        buffer_printf(out, "%s%u", i > 0 ? "," : "", number++);
    buffer_append_string(out, "]");
}

static void print_process(const struct placement_map *map, struct placement_sorts *sorts,
                          uint32_t rank, struct buffer *out)
{
    const struct placement_bindings *bindings = NULL;
    const struct placement_binding *binding, unbound = {0};
    uint32_t node, index;

    placement_map_find(map, rank, &node, &index);
    buffer_printf(out, "%s[%u,%u", rank > 0 ? "," : "", node, placement_map_app(map, rank));
    if (map->has_topology)
        bindings = placement_sorts_get(sorts, node, NULL);
    binding = bindings != NULL ? &bindings->items[index] : &unbound;
    print_set(&binding->cpus, out);
    print_set(&binding->memory, out);
    print_set(&binding->gpus, out);
    buffer_append_string(out, "]");
}

static void print_result(struct place_case *c, struct buffer *out)
{
    struct placement_map map;
    struct placement_sorts *sorts;

    buffer_append_string(out, ",\"result\":");
    placement_cpus_settle(&c->placement, &c->allocation);
    if (placement_map_make(&map, &c->placement, &c->allocation, NULL) < 0) {
        buffer_append_string(out, "null");
        return;
    }
    if (placement_map_check(&map, &c->allocation, NULL) < 0) {
        buffer_append_string(out, "null");
        placement_map_fini(&map);
        return;
    }
    sorts = placement_sorts_create(&map);
    buffer_append_string(out, "[");
    for (uint32_t rank = 0; rank < map.processes; rank++)
        print_process(&map, sorts, rank, out);
    buffer_append_string(out, "]");
    placement_sorts_destroy(sorts);
    placement_map_fini(&map);
}

int main(int argc, char **argv)
{
    struct random_state random;
    struct buffer line = {0};

    if (argc != 3)
        return EXIT_FAILURE;
    random_init(&random, strtoull(argv[1], NULL, 10));
    for (long i = strtol(argv[2], NULL, 10); i > 0; i--) {
        struct place_case c;

        place_case_make(&c, &random);
        buffer_clear(&line);
        buffer_append_string(&line, "{\"case\":");
        place_case_print(&c, &line);
        print_result(&c, &line);
        buffer_append_string(&line, "}");
        puts(buffer_string(&line));
        place_case_fini(&c);
    }
    buffer_fini(&line);
    return EXIT_SUCCESS;
}
