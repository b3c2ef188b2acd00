/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology/fabric_read.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/topology/fabric_read_internal.h"

#define FACTORS_MAX 16u

const struct fabric_link fabric_read_link = {.up = 1, .down = 1};

int fabric_read_add_nodes(struct fabric_model *model, const struct hostlist *nodes,
                          const char *plane, uint32_t top, struct fabric_link link,
                          struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1], nic[HOST_NAME_BYTES_MAX + 1 + FABRIC_NAME_BYTES_MAX + 2];
    int rc = 0;

    for (uint32_t i = 0; i < hostlist_count(nodes) && rc == 0; i++) {
        hostlist_name(nodes, i, name);
        snprintf(nic, sizeof(nic), "%s%s%s", name, plane[0] != '\0' ? ":" : "", plane);
        rc = fabric_model_add_vertex(model, nic, name, plane, top, link, error);
    }
    return rc;
}

/* The first word of each format is one that the others do not begin with. */
int fabric_read_text(struct fabric_model *model, const char *text, size_t text_bytes,
                     struct error *error)
{
    const char *at = text + strspn(text, " \t\r\n");

    if (*at == '{' || *at == '[')
        return fabric_read_json(model, text, text_bytes, error);
    if (strstr(text, "\nCa\t") != NULL || strstr(text, "\nCa ") != NULL ||
        strncmp(at, "Ca ", 3) == 0 || strncmp(at, "Ca\t", 3) == 0)
        return fabric_read_infiniband(model, text, error);
    if (fabric_read_is_address(text))
        return fabric_read_addresses(model, text, error);
    return fabric_read_slurm(model, text, error);
}

/* ---- Generated ---- */

static const char fat_tree[] = "fat-tree:";
static const char dragonfly[] = "dragonfly:";

/* What one shape puts on top of the other, from the nodes up. */
struct shape {
    uint32_t factors[FACTORS_MAX];
    uint32_t count;
    int is_dragonfly;
};

int fabric_read_is_generated(const char *text)
{
    return strncmp(text, fat_tree, strlen(fat_tree)) == 0 ||
           strncmp(text, dragonfly, strlen(dragonfly)) == 0;
}

static int shape_parse(const char *text, struct shape *ret_shape, struct error *error)
{
    const char *at = text + (text[0] == 'd' ? strlen(dragonfly) : strlen(fat_tree));
    uint64_t nodes = 1;

    assert(fabric_read_is_generated(text));
    *ret_shape = (struct shape){.is_dragonfly = text[0] == 'd'};
    for (;;) {
        char *end;
        unsigned long factor = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;

        if (factor == 0 || factor > FABRIC_VERTICES_MAX || ret_shape->count == FACTORS_MAX)
            return error_set(error, -EINVAL, "\"%.80s\": numbers from 1, joined by x, expected",
                             text);
        nodes *= factor;
        if (nodes > FABRIC_VERTICES_MAX)
            return error_set(error, -E2BIG, "\"%.80s\": more than %u nodes", text,
                             FABRIC_VERTICES_MAX);
        ret_shape->factors[ret_shape->count++] = (uint32_t)factor;
        if (*end == '\0')
            break;
        at = *end == 'x' ? end + 1 : end;
        if (at == end)
            return error_set(error, -EINVAL, "\"%.80s\": unexpected \"%.20s\"", text, end);
    }
    if (ret_shape->is_dragonfly && ret_shape->count != 3)
        return error_set(error, -EINVAL,
                         "\"%.80s\": nodes of a router x routers of a group x groups expected",
                         text);
    return 0;
}

/* What a way across a switch of that level costs: of a dragonfly the links between routers of a group,
 * and between groups, of which all are connected. */
static uint16_t across_of(const struct shape *shape, uint32_t level)
{
    static const uint16_t of_dragonfly[] = {0, 1, 3}; /* router, local, local + global + local */

    return shape->is_dragonfly ? of_dragonfly[level] : 0;
}

static int add_level(struct fabric_model *model, const struct shape *shape, uint32_t level,
                     uint32_t parent, uint32_t *next_node, struct error *error);

static int add_below(struct fabric_model *model, const struct shape *shape, uint32_t level,
                     uint32_t top, uint32_t *next_node, struct error *error)
{
    int rc = 0;

    for (uint32_t i = 0; i < shape->factors[level] && rc == 0; i++) {
        char name[32];

        if (level > 0) {
            rc = add_level(model, shape, level - 1, top, next_node, error);
        } else {
            snprintf(name, sizeof(name), "n%u", ++*next_node);
            rc = fabric_model_add_vertex(model, name, name, "", top, fabric_read_link, error);
        }
    }
    return rc;
}

/* A switch with all below it; levels are counted from the leaves. */
static int add_level(struct fabric_model *model, const struct shape *shape, uint32_t level,
                     uint32_t parent, uint32_t *next_node, struct error *error)
{
    static const struct fabric_link none = {.up = 0, .down = 0};
    char name[48];
    uint32_t own;
    int rc;

    assert(level < shape->count);
    snprintf(name, sizeof(name), "s%u-%u", level, model->switches_count);
    rc = fabric_model_add_switch(model, name, across_of(shape, level), &own, error);
    if (rc == 0 && parent != FABRIC_NONE)
        rc = fabric_model_set_parent(model, own, parent,
                                     shape->is_dragonfly ? none : fabric_read_link, error);
    if (rc == 0)
        rc = add_below(model, shape, level, own, next_node, error);
    return rc;
}

int fabric_read_generate(struct fabric_model *model, const char *text, struct error *error)
{
    struct shape shape;
    uint32_t next_node = 0;
    int rc = shape_parse(text, &shape, error);

    if (rc == 0)
        rc = add_level(model, &shape, shape.count - 1, FABRIC_NONE, &next_node, error);
    return rc < 0 ? rc : fabric_model_settle(model, error);
}
