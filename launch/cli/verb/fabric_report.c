/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/fabric_report.h"

#include <assert.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/memory.h"
#include "fabric/topology/fabric_write.h"
#include "launch/cli/option/json_text.h"

#define SLOWEST_MAX 5u

struct level {
    uint32_t switches; /* that have NICs below them */
    uint32_t least;    /* NICs below one of them */
    uint32_t most;
};

/* Of the switches of a depth. */
static struct level level_of(const struct fabric_model *model, uint32_t depth)
{
    struct level level = {.switches = 0, .least = UINT32_MAX};

    assert(depth < FABRIC_LEVELS_MAX);
    for (uint32_t i = 0; i < model->switches_count; i++) {
        const struct fabric_switch *own = &model->switches[i];

        if (own->depth != depth || own->below == 0)
            continue;
        level.switches++;
        level.least = own->below < level.least ? own->below : level.least;
        level.most = own->below > level.most ? own->below : level.most;
    }
    return level;
}

static uint32_t vertices_of_plane(const struct fabric_model *model, uint32_t plane)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->vertices_count; i++)
        count += model->vertices[i].plane == plane;
    return count;
}

static const char *plural(uint32_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* ---- Measured ways ---- */

struct way {
    uint32_t from;
    uint32_t to;
    uint16_t cost;
};

static int is_slower(const struct way *way, const struct way *other)
{
    return way->cost > other->cost;
}

/* The slowest ones, the slowest first; returns how many. */
static uint32_t find_slowest(const struct fabric_model *model, struct way slowest[SLOWEST_MAX])
{
    uint32_t count = 0, vertices = model->vertices_count;

    assert(model->matrix != NULL);
    for (size_t i = 0; i < (size_t)vertices * vertices; i++) {
        const struct way way = {(uint32_t)(i / vertices), (uint32_t)(i % vertices),
                                model->matrix[i]};
        uint32_t at = count < SLOWEST_MAX ? count : SLOWEST_MAX - 1;

        if (way.from == way.to || way.cost == FABRIC_COST_NO_WAY ||
            (count == SLOWEST_MAX && !is_slower(&way, &slowest[at])))
            continue;
        for (; at > 0 && is_slower(&way, &slowest[at - 1]); at--)
            slowest[at] = slowest[at - 1];
        slowest[at] = way;
        count += count < SLOWEST_MAX;
    }
    return count;
}

/* How many ways have each cost. */
static void report_costs(const struct fabric_model *model, struct buffer *out)
{
    uint64_t *ways = memory_allocate_zeroed((FABRIC_COST_MAX + 1u) * sizeof(*ways));
    uint32_t least = FABRIC_COST_MAX, most = 0, median = 0;
    uint64_t total = 0, before = 0;

    for (size_t i = 0; i < (size_t)model->vertices_count * model->vertices_count; i++) {
        uint16_t cost = model->matrix[i];

        if (i % (model->vertices_count + 1) == 0 || cost == FABRIC_COST_NO_WAY)
            continue;
        ways[cost]++;
        total++;
        least = cost < least ? cost : least;
        most = cost > most ? cost : most;
    }
    while (median < FABRIC_COST_MAX && 2 * (before + ways[median]) < total)
        before += ways[median++];
    if (total > 0)
        buffer_printf(out, "costs are measured: %u to %u, median %u\n", least, most, median);
    free(ways);
}

static void report_matrix(const struct fabric_model *model, struct buffer *out)
{
    struct way slowest[SLOWEST_MAX];
    uint32_t count = find_slowest(model, slowest);

    report_costs(model, out);
    for (uint32_t i = 0; i < count; i++)
        buffer_printf(out, "%s%s -> %s: %u%s", i == 0 ? "slowest: " : ", ",
                      fabric_model_name(model, model->vertices[slowest[i].from].name),
                      fabric_model_name(model, model->vertices[slowest[i].to].name),
                      slowest[i].cost, i + 1 == count ? "\n" : "");
}

void fabric_report_text(const struct fabric_model *model, struct buffer *out)
{
    uint32_t levels = fabric_model_levels(model);

    assert(model->vertices_count > 0 && model->planes_count > 0);
    buffer_printf(out, "%u %s on %u %s, %u %s of switches\n", model->vertices_count,
                  plural(model->vertices_count, "NIC", "NICs"), model->nodes_count,
                  plural(model->nodes_count, "node", "nodes"), levels,
                  plural(levels, "level", "levels"));
    for (uint32_t i = 0; i < model->planes_count && model->planes_count > 1; i++) {
        const char *name = fabric_model_name(model, model->planes[i]);

        buffer_printf(out, "plane %s: %u NICs\n", name[0] != '\0' ? name : "without a name",
                      vertices_of_plane(model, i));
    }
    buffer_append_string(out, "LEVEL   SWITCHES  NICS BELOW EACH\n");
    for (uint32_t depth = 0; depth < levels; depth++) {
        struct level level = level_of(model, depth);

        assert(level.switches > 0);
        buffer_printf(out, "%5u %10u  %u", depth, level.switches, level.least);
        if (level.most != level.least)
            buffer_printf(out, "-%u", level.most);
        buffer_append_string(out, "\n");
    }
    if (model->matrix != NULL)
        report_matrix(model, out);
}

/* As in a description. */
static json_t *facts_json(const struct nic_facts *facts)
{
    struct buffer text = {0};
    json_t *json;

    fabric_write_facts(facts, &text);
    json = json_loadb(buffer_string(&text), text.length_bytes, 0, NULL);
    assert(json != NULL);
    buffer_fini(&text);
    return json;
}

/* The NICs of which more is known than their place. */
static json_t *known_devices(const struct fabric_model *model)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < model->vertices_count; i++) {
        const struct fabric_vertex *vertex = &model->vertices[i];
        struct nic_facts facts;
        json_t *item;

        if (!fabric_model_facts(model, i, &facts))
            continue;
        item = json_object();
        json_object_set_new(item, "name", json_text(fabric_model_name(model, vertex->name)));
        json_object_set_new(item, "node",
                            json_text(fabric_model_name(model, model->nodes[vertex->node])));
        json_object_set_new(item, "device", facts_json(&facts));
        json_array_append_new(list, item);
    }
    return list;
}

void fabric_report_json(const struct fabric_model *model, struct buffer *out)
{
    uint32_t levels = fabric_model_levels(model);
    json_t *document = json_object();
    json_t *list = json_array(), *planes = json_array();
    char *text;

    json_object_set_new(document, "nics", json_integer(model->vertices_count));
    json_object_set_new(document, "nodes", json_integer(model->nodes_count));
    for (uint32_t i = 0; i < model->planes_count; i++)
        json_array_append_new(planes, json_text(fabric_model_name(model, model->planes[i])));
    json_object_set_new(document, "planes", planes);
    for (uint32_t depth = 0; depth < levels; depth++) {
        struct level level = level_of(model, depth);

        json_array_append_new(list, json_pack("{s:i, s:i, s:i, s:i}", "level", (int)depth,
                                              "switches", (int)level.switches, "nics_min",
                                              (int)level.least, "nics_max", (int)level.most));
    }
    json_object_set_new(document, "levels", list);
    if (model->devices_count > 0)
        json_object_set_new(document, "devices", known_devices(model));
    text = json_dumps(document, JSON_INDENT(2));
    json_decref(document);
    buffer_printf(out, "%s\n", text != NULL ? text : "{}");
    free(text);
}

static void print_cost(uint16_t cost, struct buffer *out)
{
    if (cost == FABRIC_COST_NO_WAY)
        buffer_append_string(out, "-");
    else
        buffer_printf(out, "%u", cost);
}

static void print_way(const struct fabric_model *model, uint32_t from, uint32_t to,
                      struct buffer *out)
{
    buffer_printf(out, "%s -> %s: ", fabric_model_name(model, model->vertices[from].name),
                  fabric_model_name(model, model->vertices[to].name));
    print_cost(fabric_model_cost(model, from, to), out);
    buffer_append_string(out, "\n");
}

void fabric_report_cost(const struct fabric_model *model, uint32_t from, uint32_t to,
                        struct buffer *out)
{
    print_way(model, from, to, out);
    print_way(model, to, from, out);
}

void fabric_report_matrix(const struct fabric_model *model, const uint32_t *vertices,
                          uint32_t count, struct buffer *out)
{
    assert(count <= FABRIC_REPORT_MATRIX_MAX);
    buffer_append_string(out, "from");
    for (uint32_t i = 0; i < count; i++)
        buffer_printf(out, ",%s", fabric_model_name(model, model->vertices[vertices[i]].name));
    buffer_append_string(out, "\n");
    for (uint32_t row = 0; row < count; row++) {
        buffer_append_string(out, fabric_model_name(model, model->vertices[vertices[row]].name));
        for (uint32_t column = 0; column < count; column++) {
            buffer_append_string(out, ",");
            print_cost(fabric_model_cost(model, vertices[row], vertices[column]), out);
        }
        buffer_append_string(out, "\n");
    }
}
