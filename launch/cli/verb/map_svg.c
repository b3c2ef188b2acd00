/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/map_svg.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "launch/cli/verb/svg.h"

#define MARGIN      10u
#define PADDING     6u
#define CELL_WIDTH  30u /* four digits */
#define CELL_HEIGHT SVG_LINE_HEIGHT
#define CELLS_A_ROW 16u
#define SLOTS_MAX   4096u /* that are drawn of a node */
#define FREE        "#ffffff"
#define NOT_ALLOWED "#cccccc"

/* What a node consists of: hardware threads, or slots. */
struct plan {
    struct svg_box *cells; /* relative to the plan's corner */
    uint32_t count;
    struct svg_box *packages;
    uint32_t packages_count;
    uint32_t width;
    uint32_t height;
    const struct topology *topology; /* NULL: the cells are slots */
    const struct ranges *allowed;
};

static const char *colour_of(uint32_t rank)
{
    static const char *const colours[] = {"#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc",
                                          "#fc9272", "#e7cb94", "#9edae5", "#f7b6d2"};

    return colours[rank % (sizeof(colours) / sizeof(colours[0]))];
}

static void plan_fini(struct plan *plan)
{
    free(plan->cells);
    free(plan->packages);
}

/* Grows the plan, and the package it is in, to include a cell. */
static void plan_include(struct plan *plan, const struct svg_box *cell)
{
    struct svg_box *package = &plan->packages[plan->packages_count - 1];
    uint32_t right = cell->x + cell->width, bottom = cell->y + cell->height;

    assert(plan->packages_count > 0 && cell->y >= package->y);
    if (right + PADDING > package->x + package->width)
        package->width = right + PADDING - package->x;
    if (bottom + PADDING > package->y + package->height)
        package->height = bottom + PADDING - package->y;
    if (package->x + package->width > plan->width)
        plan->width = package->x + package->width;
    if (package->y + package->height > plan->height)
        plan->height = package->y + package->height;
}

static void plan_add_package(struct plan *plan)
{
    uint32_t top = plan->packages_count > 0 ? plan->height + PADDING : 0;

    plan->packages =
        memory_resize(plan->packages, (plan->packages_count + 1) * sizeof(*plan->packages));
    plan->packages[plan->packages_count++] = (struct svg_box){.x = 0, .y = top};
}

/* Hardware threads of one core, below each other, at most. */
static uint32_t threads_of_core(const struct topology *topology)
{
    const uint32_t *cores = topology->objects[TOPOLOGY_CORE];
    uint32_t most = 1, run = 1;

    for (uint32_t i = 1; i < topology->threads; i++) {
        run = cores[i] == cores[i - 1] ? run + 1 : 1;
        most = run > most ? run : most;
    }
    return most;
}

static void plan_threads(struct plan *plan, const struct topology *topology)
{
    const uint32_t *packages = topology->objects[TOPOLOGY_PACKAGE];
    const uint32_t *cores = topology->objects[TOPOLOGY_CORE];
    uint32_t row_height = threads_of_core(topology) * CELL_HEIGHT + PADDING;
    uint32_t core = 0, thread = 0;

    plan->topology = topology;
    plan->count = topology->threads;
    plan->cells = memory_allocate(plan->count * sizeof(*plan->cells));
    for (uint32_t i = 0; i < topology->threads; i++) {
        int is_other = i == 0 || packages[i] != packages[i - 1];

        thread = !is_other && cores[i] == cores[i - 1] ? thread + 1 : 0;
        core = is_other ? 0 : thread == 0 ? core + 1 : core;
        if (is_other)
            plan_add_package(plan);
        plan->cells[i] =
            (struct svg_box){PADDING + core % CELLS_A_ROW * CELL_WIDTH,
                             plan->packages[plan->packages_count - 1].y + PADDING +
                                 core / CELLS_A_ROW * row_height + thread * CELL_HEIGHT,
                             CELL_WIDTH, CELL_HEIGHT};
        plan_include(plan, &plan->cells[i]);
    }
}

static void plan_slots(struct plan *plan, uint32_t slots)
{
    plan->count = slots < SLOTS_MAX ? slots : SLOTS_MAX;
    plan->cells = memory_allocate(plan->count * sizeof(*plan->cells));
    plan_add_package(plan);
    for (uint32_t i = 0; i < plan->count; i++) {
        plan->cells[i] =
            (struct svg_box){PADDING + i % CELLS_A_ROW * CELL_WIDTH,
                             PADDING + i / CELLS_A_ROW * CELL_HEIGHT, CELL_WIDTH, CELL_HEIGHT};
        plan_include(plan, &plan->cells[i]);
    }
}

/* Is one of a node's processes bound? */
static int has_bound(const struct placement_bindings *bindings)
{
    for (uint32_t i = 0; bindings != NULL && i < bindings->count; i++) {
        if (!ranges_is_empty(&bindings->items[i].cpus))
            return 1;
    }
    return 0;
}

static void plan_make(struct plan *ret_plan, const struct map_report *report, uint32_t node,
                      const struct placement_bindings *bindings)
{
    const struct placement_machines *machines = &report->map.placement->machines;
    uint32_t kind = report->map.has_topology ? placement_machines_kind(machines, node) : UINT32_MAX;
    uint32_t count = placement_map_count(&report->map, node);
    uint32_t slots = allocation_slots_of(report->allocation, node);

    *ret_plan = (struct plan){.topology = NULL};
    if (kind != UINT32_MAX && has_bound(bindings)) {
        ret_plan->allowed = &machines->kinds[kind].allowed;
        plan_threads(ret_plan, &machines->classes[machines->kinds[kind].class]);
    } else {
        plan_slots(ret_plan, slots > count ? slots : count);
    }
    assert(ret_plan->count > 0);
}

/* ---- Drawing ---- */

/* The ranks in a cell, and the first of them; returns how many. */
static uint32_t ranks_at(const struct map_report *report, const struct plan *plan, uint32_t node,
                         uint32_t cell, const struct placement_bindings *bindings,
                         struct ranges *ret_ranks)
{
    uint32_t count = placement_map_count(&report->map, node);

    if (plan->topology == NULL) {
        if (cell < count) {
            uint32_t rank = placement_map_rank(&report->map, node, cell);
            ranges_add(ret_ranks, rank, rank);
        }
        return cell < count;
    }
    for (uint32_t i = 0; i < bindings->count; i++) {
        if (ranges_contains(&bindings->items[i].cpus, plan->topology->os[cell])) {
            uint32_t rank = placement_map_rank(&report->map, node, i);
            ranges_add(ret_ranks, rank, rank);
        }
    }
    return (uint32_t)ranges_count(ret_ranks);
}

static void draw_cell(const struct map_report *report, const struct plan *plan, uint32_t node,
                      uint32_t cell, const struct placement_bindings *bindings,
                      struct svg_box corner, struct buffer *out)
{
    struct svg_box box = plan->cells[cell];
    struct ranges ranks = {0};
    struct buffer tip = {0};
    uint32_t count = ranks_at(report, plan, node, cell, bindings, &ranks);
    const char *fill = count > 0 ? colour_of(ranges_min(&ranks)) : FREE;
    char text[16] = "";

    assert(cell < plan->count);
    if (plan->topology != NULL) {
        if (!ranges_contains(plan->allowed, plan->topology->os[cell]))
            fill = NOT_ALLOWED;
        buffer_printf(&tip, "CPU %u", plan->topology->os[cell]);
    } else {
        buffer_printf(&tip, "slot %u", cell);
    }
    if (count > 0) {
        buffer_append_string(&tip, count == 1 ? ": rank " : ": ranks ");
        ranges_print(&ranks, &tip);
        snprintf(text, sizeof(text), "%u%s", ranges_min(&ranks), count > 1 ? "+" : "");
    }
    box.x += corner.x;
    box.y += corner.y;
    svg_rectangle(out, box, fill, buffer_string(&tip));
    svg_text(out, box.x + 2, box.y + CELL_HEIGHT - 5, text);
    buffer_fini(&tip);
    ranges_fini(&ranks);
}

/* Below y; returns the y below it. */
static uint32_t draw_node(const struct map_report *report, struct placement_sorts *sorts,
                          uint32_t node, uint32_t y, uint32_t *width, struct buffer *out)
{
    const struct placement_bindings *bindings =
        report->map.has_topology ? placement_sorts_get(sorts, node, NULL) : NULL;
    struct svg_box corner = {MARGIN + PADDING, y + SVG_LINE_HEIGHT + PADDING, 0, 0};
    struct svg_box frame = {MARGIN, y, 0, 0};
    char name[HOST_NAME_BYTES_MAX + 1];
    struct plan plan;

    plan_make(&plan, report, node, bindings);
    hostlist_name(report->allocation->names, node, name);
    frame.width = plan.width + 2 * PADDING;
    frame.height = SVG_LINE_HEIGHT + plan.height + 2 * PADDING;
    svg_rectangle(out, frame, "#f4f4f4", NULL);
    svg_text(out, corner.x, y + SVG_LINE_HEIGHT - 2, name);
    for (uint32_t i = 0; i < plan.packages_count; i++) {
        struct svg_box box = plan.packages[i];

        box.x += corner.x;
        box.y += corner.y;
        svg_rectangle(out, box, "none", NULL);
    }
    for (uint32_t i = 0; i < plan.count; i++)
        draw_cell(report, &plan, node, i, bindings, corner, out);
    if (2 * MARGIN + frame.width > *width)
        *width = 2 * MARGIN + frame.width;
    plan_fini(&plan);
    return y + frame.height + MARGIN;
}

int map_svg_print(const struct map_report *report, struct buffer *out, struct error *error)
{
    struct placement_sorts *sorts;
    struct buffer nodes = {0}, title = {0};
    uint32_t y = MARGIN, width = 1, count = 0;

    for (uint32_t node = 0; node < report->map.nodes; node++)
        count += placement_map_count(&report->map, node) > 0;
    if (count > MAP_SVG_NODES_MAX)
        return error_set(error, -E2BIG,
                         "option --svg: %u nodes have processes, and at most %u are drawn; give "
                         "fewer by --nodes or --host",
                         count, MAP_SVG_NODES_MAX);
    sorts = placement_sorts_create(&report->map);
    for (uint32_t node = 0; node < report->map.nodes; node++) {
        if (placement_map_count(&report->map, node) > 0)
            y = draw_node(report, sorts, node, y, &width, &nodes);
    }
    placement_sorts_destroy(sorts);
    buffer_printf(&title, "%u processes on %u node%s", report->map.processes, count,
                  count == 1 ? "" : "s");
    svg_begin(out, width, y, buffer_string(&title));
    buffer_append(out, nodes.data, nodes.length_bytes);
    svg_end(out);
    buffer_fini(&nodes);
    buffer_fini(&title);
    return 0;
}
