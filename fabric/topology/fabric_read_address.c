/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Slurm says to each task of where its node is: SLURM_TOPOLOGY_ADDR, "top.leaf.node", and
 * SLURM_TOPOLOGY_ADDR_PATTERN, "switch.switch.node", which shows which parts of it are switches.
 */
#include "config.h"

#include "fabric/topology/fabric_read.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "fabric/topology/fabric_read_internal.h"

static int is_blank(const char *text)
{
    return text[strspn(text, " \t\r")] == '\0';
}

/* The node's name; the address then ends before it.  NULL if it has no level of switches. */
static char *split_node(char *address, const char *pattern)
{
    size_t levels = 0;
    char *node = address;

    for (const char *at = pattern != NULL ? pattern : address; *at != '\0'; at++)
        levels += *at == '.';
    for (size_t i = 0; i < levels; i++) {
        node = strchr(node, '.');
        if (node == NULL)
            return NULL;
        node++;
    }
    if (levels == 0 || *node == '\0')
        return NULL;
    node[-1] = '\0';
    return node;
}

/* The last of the switches of a path, which are added where they are new; FABRIC_NONE if there are none.  Slurm leaves a
 * level empty on which a node has no switch. */
static int add_switches(struct fabric_model *model, char *path, uint32_t *ret_leaf,
                        struct error *error)
{
    uint32_t above = FABRIC_NONE;
    char *rest = path;
    int rc = 0;

    while (rest != NULL && rc == 0) {
        const char *name = strsep(&rest, ".");
        uint32_t own = fabric_model_find_switch(model, name);

        if (name[0] == '\0')
            continue;
        if (own != FABRIC_NONE && model->switches[own].parent != above)
            return error_set(error, -EEXIST,
                             "switch %.80s is below another switch in an earlier line", name);
        if (own == FABRIC_NONE) {
            rc = fabric_model_add_switch(model, name, 0, &own, error);
            if (rc == 0 && above != FABRIC_NONE)
                rc = fabric_model_set_parent(model, own, above, fabric_read_link, error);
        }
        above = own;
    }
    *ret_leaf = above;
    return rc;
}

/* Several tasks of a node may have printed the same. */
static int add_node(struct fabric_model *model, const char *node, uint32_t leaf,
                    struct error *error)
{
    uint32_t known = fabric_model_find_vertex(model, node);

    if (known != FABRIC_NONE && model->vertices[known].top == leaf)
        return 0;
    return fabric_model_add_vertex(model, node, node, "", leaf, fabric_read_link, error);
}

/* *has_blocks: topology/block has been seen. */
static int read_line(struct fabric_model *model, char *line, int *has_blocks, struct error *error)
{
    char *rest = line;
    char *address = strtok_r(rest, " \t\r", &rest);
    const char *pattern = strtok_r(NULL, " \t\r", &rest);
    const char *node;
    uint32_t leaf = FABRIC_NONE;
    int rc;

    assert(address != NULL);
    if (!is_blank(rest))
        return error_set(error, -EINVAL, "ADDRESS [PATTERN] expected, not \"%.80s\" after them",
                         rest);
    *has_blocks |= pattern != NULL && strncmp(pattern, "block", strlen("block")) == 0;
    node = split_node(address, pattern);
    if (node == NULL)
        return error_set(
            error, -EINVAL,
            "\"%.80s\" is not an address like switch.switch.node, which Slurm gives with "
            "TopologyPlugin=topology/tree or topology/block",
            address);
    rc = add_switches(model, address, &leaf, error);
    return rc < 0 || leaf == FABRIC_NONE ? rc : add_node(model, node, leaf, error);
}

/* What topology/block names are blocks, of which each can reach each other. */
static int join_blocks(struct fabric_model *model, struct error *error)
{
    uint32_t count = model->switches_count, top = FABRIC_NONE;
    int rc = 0;

    if (count > 1)
        rc = fabric_model_add_switch(model, "all blocks", 0, &top, error);
    for (uint32_t i = 0; i < count && count > 1 && rc == 0; i++) {
        if (model->switches[i].parent == FABRIC_NONE)
            rc = fabric_model_set_parent(model, i, top, fabric_read_link, error);
    }
    return rc;
}

int fabric_read_addresses(struct fabric_model *model, const char *text, struct error *error)
{
    int rc = 0, has_blocks = 0;

    assert(model->vertices_count == 0);
    for (uint32_t number = 1; *text != '\0' && rc == 0; number++) {
        struct buffer line = {0};
        size_t bytes = strcspn(text, "\n");
        const char *comment = memchr(text, '#', bytes);

        buffer_append(&line, text, comment != NULL ? (size_t)(comment - text) : bytes);
        if (!is_blank(buffer_string(&line)))
            rc = read_line(model, (char *)line.data, &has_blocks, error);
        if (rc < 0)
            error_prefix(error, "line %u", number);
        buffer_fini(&line);
        text += bytes + (text[bytes] == '\n');
    }
    if (rc == 0 && model->vertices_count == 0)
        rc = error_set(error, -EINVAL, "no line has the address of a node below a switch");
    if (rc == 0 && has_blocks)
        rc = join_blocks(model, error);
    return rc < 0 ? rc : fabric_model_settle(model, error);
}

int fabric_read_is_address(const char *text)
{
    const char *at = text + strspn(text, " \t\r\n"), *after;
    size_t word;

    while (*at == '#') {
        at += strcspn(at, "\n");
        at += strspn(at, " \t\r\n");
    }
    word = strcspn(at, " \t\r\n=");
    after = at + word + strspn(at + word, " \t\r");
    return at[word] != '=' && (memchr(at, '.', word) != NULL || strncmp(after, "node", 4) == 0);
}
