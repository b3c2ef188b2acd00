/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibnetdiscover(8): a block for each switch and channel adapter, whose lines name the port at the other
 * end.  A fabric is a graph; the model is made of it level by level.  A switch with channel adapters is
 * a leaf, rank 0; others have the rank of how far they are from a leaf.  Groups of leaves that are
 * connected through switches up to a rank are one switch of the model on that level, so that a way costs
 * the links that the shortest one through that rank has.
 */
#include "config.h"

#include "fabric/topology/fabric_read.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fabric/topology/fabric_read_internal.h"

#define GUID_BYTES 32u
#define RANK_NONE  UINT32_MAX

struct ib_switch {
    char guid[GUID_BYTES];
    uint32_t rank;
    uint32_t group; /* another of its group, and so on to one that is its own: the group's first */
    uint32_t top;   /* of the group, at its first: index of a top, or FABRIC_NONE */
};

/* A switch of the model that has none above it yet. */
struct ib_top {
    uint32_t number;
    uint32_t level; /* 0: a leaf; else made at the rank before */
    uint32_t first; /* one of the switches that it stands for */
};

struct ib_edge {
    uint32_t a, b; /* switches */
};

struct ib_port {
    uint32_t top; /* switch */
    char *name;
    char *node;
};

struct ib_reader {
    struct fabric_model *model;
    struct hash_map *index; /* GUID -> number of the switch + 1 */
    struct ib_switch *switches;
    uint32_t switches_count;
    struct ib_edge *edges;
    uint32_t edges_count;
    struct ib_port *ports;
    uint32_t ports_count;
    struct ib_top *tops;
    uint32_t tops_count;
    uint32_t line;
    uint32_t current; /* the switch whose block this is, or FABRIC_NONE */
    char *adapter;    /* the description of the adapter whose block this is, or NULL */
};

static void reader_fini(struct ib_reader *reader)
{
    hash_map_destroy(reader->index);
    free(reader->switches);
    free(reader->edges);
    for (uint32_t i = 0; i < reader->ports_count; i++) {
        free(reader->ports[i].name);
        free(reader->ports[i].node);
    }
    free(reader->ports);
    free(reader->tops);
    free(reader->adapter);
}

/* ---- Lines ---- */

static uint32_t switch_of(struct ib_reader *reader, const char *guid)
{
    uintptr_t found = (uintptr_t)hash_map_get(reader->index, guid, strlen(guid));
    uint32_t number = reader->switches_count;

    if (found > 0)
        return (uint32_t)(found - 1);
    reader->switches = memory_resize(reader->switches, (number + 1) * sizeof(*reader->switches));
    reader->switches[number] =
        (struct ib_switch){.rank = RANK_NONE, .group = number, .top = FABRIC_NONE};
    snprintf(reader->switches[number].guid, GUID_BYTES, "%s", guid);
    (void)hash_map_put(reader->index, guid, strlen(guid), (void *)((uintptr_t)number + 1));
    return reader->switches_count++;
}

/* The text between the first two quotes after at; the position after them, or NULL. */
static const char *quoted(const char *at, char *text, size_t text_bytes)
{
    const char *first = strchr(at, '"');
    const char *last = first != NULL ? strchr(first + 1, '"') : NULL;

    if (last == NULL || (size_t)(last - first) > text_bytes)
        return NULL;
    memcpy(text, first + 1, (size_t)(last - first - 1));
    text[last - first - 1] = '\0';
    return last + 1;
}

/* The description of the adapter follows '#'. */
static int begin_adapter(struct ib_reader *reader, const char *line, struct error *error)
{
    char text[FABRIC_NAME_BYTES_MAX + 1];
    const char *comment = strchr(line, '#');

    if (comment == NULL || quoted(comment, text, sizeof(text)) == NULL || text[0] == '\0' ||
        isspace((unsigned char)text[0]))
        return error_set(error, -EINVAL,
                         "line %u: a channel adapter without a description after '#'",
                         reader->line);
    free(reader->adapter);
    reader->adapter = memory_copy_string(text);
    reader->current = FABRIC_NONE;
    return 0;
}

static void add_port(struct ib_reader *reader, uint32_t port, uint32_t top)
{
    size_t node_bytes = strcspn(reader->adapter, " \t");
    const char *device = reader->adapter + node_bytes;
    struct ib_port *added;

    device += strspn(device, " \t");
    reader->ports =
        memory_resize(reader->ports, (reader->ports_count + 1) * sizeof(*reader->ports));
    added = &reader->ports[reader->ports_count++];
    added->top = top;
    added->node = memory_printf("%.*s", (int)node_bytes, reader->adapter);
    added->name = memory_printf("%s:%s/%u", added->node, device[0] != '\0' ? device : "0", port);
    for (char *byte = added->name; *byte != '\0'; byte++) {
        if (isspace((unsigned char)*byte))
            *byte = '-';
    }
}

/* "[1](guid) "S-..."[3]": a port of the block's switch or adapter, and its peer. */
static int read_port(struct ib_reader *reader, const char *line, struct error *error)
{
    char guid[GUID_BYTES], *end;
    unsigned long port = strtoul(line + 1, &end, 10);
    const char *rest = quoted(line, guid, sizeof(guid));

    if (*end != ']' || port == 0 || port > 65535 || rest == NULL || guid[1] != '-')
        return error_set(error, -EINVAL, "line %u: [PORT] and the \"GUID\" of a peer expected",
                         reader->line);
    if (reader->current == FABRIC_NONE && reader->adapter == NULL)
        return error_set(error, -EINVAL, "line %u: a port outside of a switch or adapter",
                         reader->line);
    if (guid[0] != 'S')
        return 0; /* an adapter's own block has this link, too */
    if (reader->current == FABRIC_NONE) {
        uint32_t top = switch_of(reader, guid);
        reader->switches[top].rank = 0;
        add_port(reader, (uint32_t)port, top);
    } else {
        uint32_t peer = switch_of(reader, guid);
        reader->edges =
            memory_resize(reader->edges, (reader->edges_count + 1) * sizeof(*reader->edges));
        reader->edges[reader->edges_count++] = (struct ib_edge){reader->current, peer};
    }
    return 0;
}

static int read_line(struct ib_reader *reader, const char *line, struct error *error)
{
    char guid[GUID_BYTES];

    if (line[0] == '[')
        return read_port(reader, line, error);
    if (strncmp(line, "Ca\t", 3) == 0 || strncmp(line, "Ca ", 3) == 0)
        return begin_adapter(reader, line, error);
    if (strncmp(line, "Switch\t", 7) == 0 || strncmp(line, "Switch ", 7) == 0) {
        if (quoted(line, guid, sizeof(guid)) == NULL)
            return error_set(error, -EINVAL, "line %u: the \"GUID\" of the switch expected",
                             reader->line);
        reader->current = switch_of(reader, guid);
        free(reader->adapter);
        reader->adapter = NULL;
    }
    return 0; /* comments, vendid=..., routers, and blank lines */
}

static int read_lines(struct ib_reader *reader, const char *text, struct error *error)
{
    struct buffer line = {0};
    int rc = 0;

    for (reader->line = 1; *text != '\0' && rc == 0; reader->line++) {
        size_t length = strcspn(text, "\n");

        buffer_clear(&line);
        buffer_append(&line, text, length);
        rc = read_line(reader, buffer_string(&line), error);
        text += length + (text[length] == '\n');
    }
    buffer_fini(&line);
    return rc;
}

/* ---- Levels ---- */

/* Each pass ranks the neighbours of the last rank; returns the highest. */
static uint32_t rank_switches(struct ib_reader *reader)
{
    uint32_t rank = 0;

    for (;; rank++) {
        int is_more = 0;

        for (uint32_t i = 0; i < reader->edges_count; i++) {
            struct ib_switch *a = &reader->switches[reader->edges[i].a];
            struct ib_switch *b = &reader->switches[reader->edges[i].b];

            if (a->rank == rank && b->rank == RANK_NONE)
                b->rank = rank + 1, is_more = 1;
            else if (b->rank == rank && a->rank == RANK_NONE)
                a->rank = rank + 1, is_more = 1;
        }
        if (!is_more)
            return rank;
    }
}

static uint32_t group_of(struct ib_reader *reader, uint32_t number)
{
    while (reader->switches[number].group != number) {
        struct ib_switch *own = &reader->switches[number];

        own->group = reader->switches[own->group].group;
        number = own->group;
    }
    return number;
}

/* Joins the groups that switches up to this rank connect. */
static void join_groups(struct ib_reader *reader, uint32_t rank)
{
    for (uint32_t i = 0; i < reader->edges_count; i++) {
        uint32_t a = reader->edges[i].a, b = reader->edges[i].b;

        if (reader->switches[a].rank <= rank && reader->switches[b].rank <= rank)
            reader->switches[group_of(reader, b)].group = group_of(reader, a);
    }
}

static int put_below(struct ib_reader *reader, const struct ib_top *below, uint32_t number,
                     uint32_t rank, struct error *error)
{
    uint32_t links = rank - (below->level > 0 ? below->level - 1 : 0);
    const struct fabric_link link = {(uint16_t)links, (uint16_t)links};

    assert(links <= rank && rank < FABRIC_COST_MAX);
    return fabric_model_set_parent(reader->model, below->number, number, link, error);
}

/* Adds a top to those of the groups so far: the second of a group gets a switch above both. */
static int add_top(struct ib_reader *reader, const struct ib_top *own, struct ib_top *tops,
                   uint32_t *tops_count, uint32_t rank, struct error *error)
{
    struct ib_switch *group = &reader->switches[group_of(reader, own->first)];
    struct ib_top *before;
    char name[64];
    int rc = 0;

    if (group->top == FABRIC_NONE) {
        group->top = *tops_count;
        tops[(*tops_count)++] = *own;
        return 0;
    }
    before = &tops[group->top];
    if (before->level != rank + 1) {
        struct ib_top above = {.level = rank + 1, .first = own->first};

        snprintf(name, sizeof(name), "level %u, with %s", rank + 1,
                 reader->switches[before->first].guid);
        /* Leaves that are connected directly are one link apart. */
        rc = fabric_model_add_switch(reader->model, name, rank == 0 ? 1 : 0, &above.number, error);
        if (rc == 0)
            rc = put_below(reader, before, above.number, rank, error);
        *before = above;
    }
    return rc < 0 ? rc : put_below(reader, own, before->number, rank, error);
}

static int make_level(struct ib_reader *reader, uint32_t rank, struct error *error)
{
    struct ib_top *tops = memory_allocate((reader->tops_count + 1) * sizeof(*tops));
    uint32_t count = 0;
    int rc = 0;

    join_groups(reader, rank);
    for (uint32_t i = 0; i < reader->switches_count; i++)
        reader->switches[i].top = FABRIC_NONE;
    for (uint32_t i = 0; i < reader->tops_count && rc == 0; i++)
        rc = add_top(reader, &reader->tops[i], tops, &count, rank, error);
    free(reader->tops);
    reader->tops = tops;
    reader->tops_count = count;
    return rc;
}

/* Each leaf is a switch of the model. */
static int add_leaves(struct ib_reader *reader, struct error *error)
{
    int rc = 0;

    reader->tops = memory_allocate((reader->switches_count + 1) * sizeof(*reader->tops));
    for (uint32_t i = 0; i < reader->switches_count && rc == 0; i++) {
        struct ib_top *top = &reader->tops[reader->tops_count];

        if (reader->switches[i].rank != 0)
            continue;
        *top = (struct ib_top){.first = i};
        rc = fabric_model_add_switch(reader->model, reader->switches[i].guid, 0, &top->number,
                                     error);
        reader->tops_count++;
    }
    return rc;
}

static int make_model(struct ib_reader *reader, struct error *error)
{
    uint32_t highest = rank_switches(reader);
    int rc = add_leaves(reader, error);

    for (uint32_t i = 0; i < reader->ports_count && rc == 0; i++) {
        const struct ib_port *port = &reader->ports[i];
        uint32_t top = fabric_model_find_switch(reader->model, reader->switches[port->top].guid);

        rc = fabric_model_add_vertex(reader->model, port->name, port->node, "", top,
                                     fabric_read_link, error);
    }
    for (uint32_t rank = 0; rank <= highest && rc == 0; rank++)
        rc = make_level(reader, rank, error);
    if (rc == 0 && reader->model->vertices_count == 0)
        rc = error_set(error, -EINVAL, "no channel adapter is connected to a switch");
    return rc < 0 ? rc : fabric_model_settle(reader->model, error);
}

int fabric_read_infiniband(struct fabric_model *model, const char *text, struct error *error)
{
    struct ib_reader reader = {.model = model, .current = FABRIC_NONE};
    int rc;

    assert(model->vertices_count == 0);
    reader.index = hash_map_create();
    rc = read_lines(&reader, text, error);
    if (rc == 0)
        rc = make_model(&reader, error);
    reader_fini(&reader);
    return rc;
}
