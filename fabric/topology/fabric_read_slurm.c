/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology.conf(5): lines of NAME=VALUE, names in any case, '#' begins a comment and a backslash at the end joins lines.
 */
#include "config.h"

#include "fabric/topology/fabric_read.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "fabric/topology/fabric_read_internal.h"

#define SIZES_MAX 16u

/* "Switches=" of a line, which may name switches of later lines. */
struct uplink {
    uint32_t parent;
    uint32_t line;
    char *below;
};

struct slurm_reader {
    struct fabric_model *model;
    struct uplink *uplinks;
    uint32_t uplinks_count;
    uint32_t *blocks; /* their switches, in order */
    uint32_t blocks_count;
    uint32_t sizes[SIZES_MAX]; /* of BlockSizes */
    uint32_t sizes_count;
    uint32_t line; /* number of the current one, from 1 */
};

/* The values of one line; NULL: not given. */
struct slurm_line {
    char *switch_name;
    char *switches;
    char *nodes;
    char *block_name;
    char *block_sizes;
    char *level; /* as scontrol shows it: Nodes are then those of all switches below */
};

static void reader_fini(struct slurm_reader *reader)
{
    for (uint32_t i = 0; i < reader->uplinks_count; i++)
        free(reader->uplinks[i].below);
    free(reader->uplinks);
    free(reader->blocks);
}

static int fail_at(const struct slurm_reader *reader, struct error *error)
{
    error_prefix(error, "line %u", reader->line);
    return error != NULL ? error->code : -EINVAL;
}

static int split_line(struct slurm_reader *reader, char *text, struct slurm_line *ret_line,
                      struct error *error)
{
    char *rest = text, *word;

    *ret_line = (struct slurm_line){.nodes = NULL};
    while ((word = strtok_r(rest, " \t\r", &rest)) != NULL) {
        char *value = strchr(word, '=');

        if (value == NULL)
            return error_set(error, -EINVAL, "line %u: NAME=VALUE expected, not \"%.80s\"",
                             reader->line, word);
        *value++ = '\0';
        if (strcasecmp(word, "SwitchName") == 0)
            ret_line->switch_name = value;
        else if (strcasecmp(word, "Switches") == 0)
            ret_line->switches = value;
        else if (strcasecmp(word, "Nodes") == 0)
            ret_line->nodes = value;
        else if (strcasecmp(word, "BlockName") == 0)
            ret_line->block_name = value;
        else if (strcasecmp(word, "BlockSizes") == 0)
            ret_line->block_sizes = value;
        else if (strcasecmp(word, "Level") == 0)
            ret_line->level = value;
        else if (strcasecmp(word, "LinkSpeed") != 0)
            return error_set(error, -EINVAL, "line %u: unknown name \"%.80s\"", reader->line, word);
    }
    return 0;
}

static int add_nodes(struct slurm_reader *reader, const char *nodes, uint32_t top,
                     struct error *error)
{
    struct hostlist *list = hostlist_create();
    int rc = hostlist_parse(list, nodes, error);

    if (rc == 0)
        rc = fabric_read_add_nodes(reader->model, list, "", top, fabric_read_link, error);
    hostlist_destroy(list);
    return rc < 0 ? fail_at(reader, error) : 0;
}

static void add_uplink(struct slurm_reader *reader, uint32_t parent, const char *below)
{
    reader->uplinks =
        memory_resize(reader->uplinks, (reader->uplinks_count + 1) * sizeof(*reader->uplinks));
    reader->uplinks[reader->uplinks_count++] =
        (struct uplink){.parent = parent, .line = reader->line, .below = memory_copy_string(below)};
}

static int add_switch(struct slurm_reader *reader, const struct slurm_line *line,
                      struct error *error)
{
    uint32_t own;

    if (line->nodes == NULL && line->switches == NULL)
        return error_set(error, -EINVAL, "line %u: switch %.80s has neither Nodes nor Switches",
                         reader->line, line->switch_name);
    if (fabric_model_add_switch(reader->model, line->switch_name, 0, &own, error) < 0)
        return fail_at(reader, error);
    if (line->switches != NULL)
        add_uplink(reader, own, line->switches);
    if (line->switches != NULL && line->level != NULL)
        return 0;
    return line->nodes != NULL ? add_nodes(reader, line->nodes, own, error) : 0;
}

static int add_block(struct slurm_reader *reader, const struct slurm_line *line,
                     struct error *error)
{
    uint32_t own;

    if (line->nodes == NULL)
        return error_set(error, -EINVAL, "line %u: block %.80s has no Nodes", reader->line,
                         line->block_name);
    if (fabric_model_add_switch(reader->model, line->block_name, 0, &own, error) < 0)
        return fail_at(reader, error);
    reader->blocks =
        memory_resize(reader->blocks, (reader->blocks_count + 1) * sizeof(*reader->blocks));
    reader->blocks[reader->blocks_count++] = own;
    return add_nodes(reader, line->nodes, own, error);
}

/* "BlockSizes=4,16": ascending, each a multiple of the one before. */
static int read_sizes(struct slurm_reader *reader, const char *text, struct error *error)
{
    const char *at = text;

    reader->sizes_count = 0;
    while (*at != '\0') {
        char *end = NULL;
        unsigned long size = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        uint32_t last = reader->sizes_count > 0 ? reader->sizes[reader->sizes_count - 1] : 1;

        if (size == 0 || size > FABRIC_VERTICES_MAX || size % last != 0 ||
            (reader->sizes_count > 0 && size <= last) || (*end != ',' && *end != '\0') ||
            reader->sizes_count == SIZES_MAX)
            return error_set(error, -EINVAL,
                             "line %u: BlockSizes=%.80s: ascending numbers expected, each a "
                             "multiple of the one before",
                             reader->line, text);
        reader->sizes[reader->sizes_count++] = (uint32_t)size;
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static int read_line(struct slurm_reader *reader, char *text, struct error *error)
{
    struct slurm_line line;
    int rc = split_line(reader, text, &line, error);

    if (rc < 0)
        return rc;
    if (line.switch_name != NULL && line.block_name != NULL)
        return error_set(error, -EINVAL, "line %u: a switch and a block", reader->line);
    if (line.switch_name != NULL)
        return add_switch(reader, &line, error);
    if (line.block_name != NULL)
        return add_block(reader, &line, error);
    if (line.block_sizes != NULL)
        return read_sizes(reader, line.block_sizes, error);
    if (line.nodes != NULL || line.switches != NULL)
        return error_set(error, -EINVAL, "line %u: SwitchName or BlockName is missing",
                         reader->line);
    return 0;
}

/* Joins lines that end with a backslash and drops comments; each line is then read. */
static int read_lines(struct slurm_reader *reader, const char *text, struct error *error)
{
    uint32_t next = 1;
    int rc = 0;

    while (*text != '\0' && rc == 0) {
        struct buffer line = {0};
        int joins;

        reader->line = next;
        do {
            size_t length = strcspn(text, "\n"), used = length;
            const char *comment = memchr(text, '#', length);

            used = comment != NULL ? (size_t)(comment - text) : used;
            while (used > 0 && text[used - 1] == '\r')
                used--;
            joins = used > 0 && text[used - 1] == '\\';
            buffer_append(&line, text, joins ? used - 1 : used);
            text += length + (text[length] == '\n');
            next++;
        } while (joins && *text != '\0');
        (void)buffer_string(&line);
        rc = read_line(reader, (char *)line.data, error);
        buffer_fini(&line);
    }
    return rc;
}

/* Puts the switches that a line names below its own. */
static int resolve_uplink(struct slurm_reader *reader, const struct uplink *uplink,
                          struct error *error)
{
    struct hostlist *list = hostlist_create();
    char name[HOST_NAME_BYTES_MAX + 1];
    int rc = hostlist_parse(list, uplink->below, error);

    reader->line = uplink->line;
    for (uint32_t i = 0; i < hostlist_count(list) && rc == 0; i++) {
        uint32_t child;

        hostlist_name(list, i, name);
        child = fabric_model_find_switch(reader->model, name);
        if (child == FABRIC_NONE)
            rc = error_set(error, -ENOENT, "switch %s is not described", name);
        else
            rc = fabric_model_set_parent(reader->model, child, uplink->parent, fabric_read_link,
                                         error);
    }
    hostlist_destroy(list);
    return rc < 0 ? fail_at(reader, error) : 0;
}

/* Switches above others, of which `per` are below each.  size: nodes below each; 0: all. */
static int add_groups(struct slurm_reader *reader, uint32_t **members, uint32_t *count,
                      uint32_t per, uint32_t size, struct error *error)
{
    uint32_t groups = (*count + per - 1) / per;
    uint32_t *tops = memory_allocate(groups * sizeof(*tops));
    int rc = 0;

    for (uint32_t i = 0; i < *count && rc == 0; i++) {
        char name[64];

        if (i % per == 0) {
            if (size > 0)
                snprintf(name, sizeof(name), "blocks of %u, number %u", size, i / per);
            else
                snprintf(name, sizeof(name), "all blocks");
            rc = fabric_model_add_switch(reader->model, name, 0, &tops[i / per], error);
        }
        if (rc == 0)
            rc = fabric_model_set_parent(reader->model, (*members)[i], tops[i / per],
                                         fabric_read_link, error);
    }
    free(*members);
    *members = tops;
    *count = groups;
    return rc;
}

/* Blocks of the smallest size are described; those of the others are aggregated in their order. */
static int group_blocks(struct slurm_reader *reader, struct error *error)
{
    int rc = 0;

    for (uint32_t i = 1; i < reader->sizes_count && rc == 0 && reader->blocks_count > 1; i++)
        rc = add_groups(reader, &reader->blocks, &reader->blocks_count,
                        reader->sizes[i] / reader->sizes[i - 1], reader->sizes[i], error);
    if (rc == 0 && reader->blocks_count > 1)
        rc = add_groups(reader, &reader->blocks, &reader->blocks_count, reader->blocks_count, 0,
                        error);
    return rc;
}

int fabric_read_slurm(struct fabric_model *model, const char *text, struct error *error)
{
    struct slurm_reader reader = {.model = model};
    int rc;

    assert(model->vertices_count == 0);
    rc = read_lines(&reader, text, error);
    for (uint32_t i = 0; i < reader.uplinks_count && rc == 0; i++)
        rc = resolve_uplink(&reader, &reader.uplinks[i], error);
    if (rc == 0)
        rc = group_blocks(&reader, error);
    reader_fini(&reader);
    if (rc == 0 && model->vertices_count == 0)
        rc = error_set(error, -EINVAL, "no switch or block has nodes");
    return rc < 0 ? rc : fabric_model_settle(model, error);
}
