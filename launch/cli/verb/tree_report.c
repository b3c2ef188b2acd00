/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/tree_report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "launch/cli/option/json_text.h"
#include "launch/cli/verb/svg.h"

#define NO_ROW      UINT32_MAX
#define ROOT_NAME   "(root)"
#define MARGIN      10u
#define COLUMN_GAP  40u
#define BOX_PADDING 6u
#define BOX_HEIGHT  (SVG_LINE_HEIGHT + 2)
#define ROW_HEIGHT  (SVG_LINE_HEIGHT + 10)

/* ---- Rows ---- */

static uint32_t add_row(struct tree_report *report, uint32_t parent, uint32_t place, uint64_t below)
{
    struct tree_row *row;
    uint32_t level = parent == NO_ROW ? 0 : report->rows[parent].level + 1;

    report->rows = memory_resize(report->rows, (report->rows_count + 1) * sizeof(*report->rows));
    row = &report->rows[report->rows_count];
    *row = (struct tree_row){.parent = parent,
                             .level = level,
                             .below = below,
                             .vertex = tree_fabric_vertex(report->fabric, place),
                             .cost = FABRIC_COST_NO_WAY};
    if (parent != NO_ROW)
        row->cost =
            tree_fabric_cost(report->fabric, ranges_min(&report->rows[parent].places), place);
    ranges_add(&row->places, place, place);
    return report->rows_count++;
}

static uint64_t living_below(const struct tree *tree, uint32_t place)
{
    struct range scope = tree_scope(tree, place);
    uint32_t last = scope.last < tree_population(tree) ? scope.last : tree_population(tree) - 1;
    uint64_t all = last - scope.first;
    uint64_t dead = tree->dead != NULL ? ranges_count_within(tree->dead, scope.first, last) : 0;

    /* The places before the head of its scope are dead. */
    assert(dead <= all);
    return all - dead;
}

/* A row for those of the same switch, in ascending order.  Returns the last. */
static uint32_t add_leaves(struct tree_report *report, uint32_t parent, const struct ranges *leaves)
{
    uint32_t place = 0, row = NO_ROW;

    for (; ranges_next(leaves, place, &place); place++) {
        if (row == NO_ROW || !tree_fabric_is_beside(report->fabric, report->rows[row].vertex,
                                                    tree_fabric_vertex(report->fabric, place)))
            row = add_row(report, parent, place, 0);
        else
            ranges_add(&report->rows[row].places, place, place);
    }
    return row;
}

/* Places with others below them first, then rows of the others. */
static void add_children(struct tree_report *report, uint32_t row, uint32_t place, uint32_t levels)
{
    struct tree_cursor cursor = {{0}};
    struct range range;
    struct ranges leaves = {0};
    uint32_t head, last = NO_ROW;

    assert(report->rows[row].level <= TREE_DEPTH_MAX);
    if (levels > 0 && report->rows[row].level + 1 >= levels)
        return;
    while (tree_next_child(report->tree, place, &cursor, &range, &head)) {
        uint64_t below = living_below(report->tree, head);

        if (below == 0) {
            ranges_add(&leaves, head, head);
            continue;
        }
        last = add_row(report, row, head, below);
        add_children(report, last, head, levels);
    }
    if (!ranges_is_empty(&leaves))
        last = add_leaves(report, row, &leaves);
    if (last != NO_ROW)
        report->rows[last].is_last = 1;
    ranges_fini(&leaves);
}

void tree_report_make(struct tree_report *ret_report, const struct tree *tree,
                      const struct hostlist *names, const struct tree_fabric *fabric,
                      uint32_t levels)
{
    *ret_report = (struct tree_report){.tree = tree, .names = names, .fabric = fabric};
    assert(hostlist_count(names) + 1 >= tree_population(tree));
    add_row(ret_report, NO_ROW, 0, living_below(tree, 0));
    ret_report->rows[0].is_last = 1;
    add_children(ret_report, 0, 0, levels);
}

void tree_report_fini(struct tree_report *report)
{
    for (uint32_t i = 0; i < report->rows_count; i++)
        ranges_fini(&report->rows[i].places);
    free(report->rows);
    *report = (struct tree_report){.rows = NULL};
}

/* "n[4-9]" */
static void print_names(const struct tree_report *report, const struct tree_row *row,
                        struct buffer *out)
{
    struct hostlist *list;

    if (ranges_contains(&row->places, 0)) {
        buffer_append_string(out, ROOT_NAME);
        return;
    }
    list = hostlist_create();
    hostlist_append_places(list, report->names, &row->places);
    hostlist_print(list, out);
    hostlist_destroy(list);
}

static int has_rows_below(const struct tree_report *report, uint32_t row)
{
    return row + 1 < report->rows_count && report->rows[row + 1].parent == row;
}

/* What is not listed below a row, as "+85". */
static void print_hidden(const struct tree_report *report, uint32_t row, struct buffer *out)
{
    if (report->rows[row].below > 0 && !has_rows_below(report, row))
        buffer_printf(out, " +%llu", (unsigned long long)report->rows[row].below);
}

/* " [s1, cost 2]" */
static void print_fabric(const struct tree_report *report, const struct tree_row *row,
                         struct buffer *out)
{
    if (report->fabric == NULL)
        return;
    buffer_printf(out, " [%s", tree_fabric_switch(report->fabric, row->vertex));
    if (row->cost != FABRIC_COST_NO_WAY)
        buffer_printf(out, ", cost %u", row->cost);
    buffer_append_string(out, "]");
}

/* ---- Text ---- */

static void print_summary(const struct tree_report *report, struct buffer *out)
{
    uint64_t nodes = report->rows[0].below;

    assert(report->rows_count > 0 && report->rows[0].level == 0);
    buffer_printf(out, "%llu node%s, radix %u, %u level%s below the root\n",
                  (unsigned long long)nodes, nodes == 1 ? "" : "s", report->tree->radix,
                  tree_depth(report->tree), tree_depth(report->tree) == 1 ? "" : "s");
}

void tree_report_text(const struct tree_report *report, struct buffer *out)
{
    int is_last_at[TREE_DEPTH_MAX + 2] = {0};

    for (uint32_t i = 0; i < report->rows_count; i++) {
        const struct tree_row *row = &report->rows[i];

        assert(row->level <= TREE_DEPTH_MAX + 1);
        is_last_at[row->level] = row->is_last;
        for (uint32_t level = 1; level < row->level; level++)
            buffer_append_string(out, is_last_at[level] ? "   " : "|  ");
        if (row->level > 0)
            buffer_append_string(out, row->is_last ? "`- " : "|- ");
        print_names(report, row, out);
        print_hidden(report, i, out);
        print_fabric(report, row, out);
        buffer_append_string(out, "\n");
    }
    print_summary(report, out);
    if (report->fabric != NULL)
        tree_fabric_text(report->fabric, report->tree, out);
}

/* ---- JSON ---- */

static json_t *json_names(const struct tree_report *report, const struct tree_row *row)
{
    struct buffer text = {0};
    json_t *value;

    print_names(report, row, &text);
    value = json_text(buffer_string(&text));
    buffer_fini(&text);
    return value;
}

void tree_report_json(const struct tree_report *report, struct buffer *out)
{
    json_t *lists[TREE_DEPTH_MAX + 2] = {NULL};
    json_t *document = json_object();
    char *text;

    json_object_set_new(document, "nodes", json_integer((json_int_t)report->rows[0].below));
    json_object_set_new(document, "radix", json_integer(report->tree->radix));
    json_object_set_new(document, "depth", json_integer(tree_depth(report->tree)));
    for (uint32_t i = 0; i < report->rows_count; i++) {
        const struct tree_row *row = &report->rows[i];
        json_t *object = json_object();

        json_object_set_new(object, "nodes", json_names(report, row));
        json_object_set_new(object, "below", json_integer((json_int_t)row->below));
        if (row->vertex != FABRIC_NONE)
            json_object_set_new(object, "switch",
                                json_text(tree_fabric_switch(report->fabric, row->vertex)));
        if (row->cost != FABRIC_COST_NO_WAY)
            json_object_set_new(object, "cost", json_integer(row->cost));
        lists[row->level] = json_array();
        json_object_set_new(object, "children", lists[row->level]);
        if (row->level > 0)
            json_array_append_new(lists[row->level - 1], object);
        else
            json_object_set_new(document, "tree", object);
    }
    if (report->fabric != NULL)
        json_object_set_new(document, "edges", tree_fabric_json(report->fabric, report->tree));
    text = json_dumps(document, JSON_INDENT(2));
    json_decref(document);
    buffer_printf(out, "%s\n", text != NULL ? text : "{}");
    free(text);
}

/* ---- dot(1) ---- */

static void print_name(const struct tree_report *report, uint32_t place, struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1] = ROOT_NAME;

    if (place > 0)
        hostlist_name(report->names, place - 1, name);
    buffer_printf(out, "\"%s\"", name);
}

/* Below the node's name. */
static void print_switch(const struct tree_report *report, const struct tree_row *row,
                         uint32_t place, struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1] = ROOT_NAME;

    if (place > 0)
        hostlist_name(report->names, place - 1, name);
    buffer_printf(out, "    \"%s\" [label=\"%s\\n%s\"];\n", name, name,
                  tree_fabric_switch(report->fabric, row->vertex));
}

void tree_report_dot(const struct tree_report *report, struct buffer *out)
{
    buffer_append_string(out, "digraph banyan {\n    rankdir=LR;\n    node [shape=box];\n");
    for (uint32_t i = 0; i < report->rows_count; i++) {
        const struct tree_row *row = &report->rows[i];
        uint32_t place = 0;

        for (; ranges_next(&row->places, place, &place); place++) {
            buffer_append_string(out, "    ");
            if (row->parent != NO_ROW) {
                print_name(report, ranges_min(&report->rows[row->parent].places), out);
                buffer_append_string(out, " -> ");
            }
            print_name(report, place, out);
            if (row->cost != FABRIC_COST_NO_WAY)
                buffer_printf(out, " [label=%u]", row->cost);
            buffer_append_string(out, ";\n");
            if (row->vertex != FABRIC_NONE)
                print_switch(report, row, place, out);
        }
    }
    buffer_append_string(out, "}\n");
}

/* ---- Drawing ---- */

static void row_text(const struct tree_report *report, uint32_t row, struct buffer *text)
{
    buffer_clear(text);
    print_names(report, &report->rows[row], text);
    print_hidden(report, row, text);
    print_fabric(report, &report->rows[row], text);
}

/* Of the boxes of each level; returns the number of levels. */
static uint32_t column_widths(const struct tree_report *report, uint32_t widths[TREE_DEPTH_MAX + 2])
{
    struct buffer text = {0};
    uint32_t levels = 0;

    for (uint32_t i = 0; i < report->rows_count; i++) {
        uint32_t level = report->rows[i].level;
        uint32_t width;

        row_text(report, i, &text);
        width = (uint32_t)text.length_bytes * SVG_CHARACTER_WIDTH + 2 * BOX_PADDING;
        if (width > widths[level])
            widths[level] = width;
        if (level >= levels)
            levels = level + 1;
    }
    buffer_fini(&text);
    return levels;
}

/* The edge from the box of the parent, whose right side is at x1. */
static void draw_edge(struct buffer *out, uint32_t x1, uint32_t parent, uint32_t x2, uint32_t row)
{
    uint32_t middle = x1 + COLUMN_GAP / 2;
    uint32_t y1 = MARGIN + parent * ROW_HEIGHT + BOX_HEIGHT / 2;
    uint32_t y2 = MARGIN + row * ROW_HEIGHT + BOX_HEIGHT / 2;

    svg_line(out, x1, y1, middle, y1);
    svg_line(out, middle, y1, middle, y2);
    svg_line(out, middle, y2, x2, y2);
}

void tree_report_svg(const struct tree_report *report, struct buffer *out)
{
    uint32_t widths[TREE_DEPTH_MAX + 2] = {0}, lefts[TREE_DEPTH_MAX + 2] = {MARGIN};
    uint32_t levels = column_widths(report, widths);
    struct buffer text = {0};

    for (uint32_t level = 1; level < levels; level++)
        lefts[level] = lefts[level - 1] + widths[level - 1] + COLUMN_GAP;
    print_summary(report, &text);
    svg_begin(out, lefts[levels - 1] + widths[levels - 1] + MARGIN,
              report->rows_count * ROW_HEIGHT + 2 * MARGIN, buffer_string(&text));
    for (uint32_t i = 0; i < report->rows_count; i++) {
        const struct tree_row *row = &report->rows[i];
        struct svg_box box = {lefts[row->level], MARGIN + i * ROW_HEIGHT, widths[row->level],
                              BOX_HEIGHT};

        row_text(report, i, &text);
        if (row->parent != NO_ROW)
            draw_edge(out, lefts[row->level - 1] + widths[row->level - 1], row->parent, box.x, i);
        svg_rectangle(out, box, row->below > 0 ? "#d8e8f8" : "#eef6e8", NULL);
        svg_text(out, box.x + BOX_PADDING, box.y + SVG_LINE_HEIGHT - 4, buffer_string(&text));
    }
    svg_end(out);
    buffer_fini(&text);
}
