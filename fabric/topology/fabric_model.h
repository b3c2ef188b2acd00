/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric of a machine: NICs (vertices) on nodes, below switches that form a forest, one tree for
 * each network plane.  Where a fabric has several switches side by side (the spines of a fat tree, the
 * routers of a dragonfly) one of the model stands for all of them; fabric_read.h makes models of what
 * describes a fabric.
 *
 * The cost of a way is the sum of its links, each in its direction, and of what crossing its highest
 * switch costs: the unit is one link between two switches of an unloaded fabric.
 *
 * Where ways have been measured, a square matrix of costs takes the place of the switches' sums.
 *
 * Cost: O(vertices + switches) memory, about 60 bytes for a vertex with its names, 60 more if it is known what its NIC
 * is (base/nic.h), and O(vertices^2) with such a matrix; cost(i, j) is O(levels).  A zeroed struct is an empty model.
 */
#ifndef FABRIC_TOPOLOGY_FABRIC_MODEL_H
#define FABRIC_TOPOLOGY_FABRIC_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash_map.h"
#include "base/nic.h"

#define FABRIC_VERTICES_MAX    (4u * 1024 * 1024)
#define FABRIC_SWITCHES_MAX    (1024u * 1024)
#define FABRIC_LEVELS_MAX      32u
#define FABRIC_NAME_BYTES_MAX  255u
#define FABRIC_NAMES_BYTES_MAX (256u * 1024 * 1024) /* of all names, and of what NICs are */
#define FABRIC_NONE            UINT32_MAX
#define FABRIC_COST_MAX        (UINT16_MAX - 1) /* larger sums are this */
#define FABRIC_COST_NO_WAY     UINT16_MAX       /* the vertices are in different planes */
#define FABRIC_COST_SAME_NODE  1u               /* from one NIC of a node to another */
#define FABRIC_MATRIX_MAX      8192u            /* vertices of a fabric with measured costs */

struct fabric_link {
    uint16_t up;
    uint16_t down;
};

struct fabric_switch {
    uint32_t name;           /* offset in names */
    uint32_t parent;         /* a switch, or FABRIC_NONE */
    struct fabric_link link; /* to the parent */
    uint16_t across; /* what a way costs that has it as its highest switch, beside its links */
    uint8_t depth;   /* 0: without a parent; once the model is settled */
    uint32_t below;  /* vertices in its subtree; once the model is settled */
};

struct fabric_vertex {
    uint32_t name;  /* of the NIC: offset in names */
    uint32_t node;  /* index of its node */
    uint32_t top;   /* the switch it is connected to */
    uint32_t plane; /* index of its plane */
    struct fabric_link link;
};

/* struct nic_facts; a number that is not known is 0. */
struct fabric_device {
    uint64_t speed;
    uint32_t texts[NIC_TEXT_COUNT]; /* offsets in names, plus 1 */
    uint32_t mtu;
    uint16_t numa; /* plus 1 */
    uint16_t state;
};

struct fabric_model {
    struct fabric_switch *switches;
    uint32_t switches_count;
    struct fabric_vertex *vertices;
    uint32_t vertices_count;
    uint32_t *nodes; /* their names: offsets */
    uint32_t nodes_count;
    uint32_t *planes; /* likewise; the first is the one of the highest priority */
    uint32_t planes_count;
    struct buffer names;                                       /* each ends with a NUL */
    struct hash_map *switch_index, *vertex_index, *node_index; /* name -> number + 1; NULL: none */
    struct fabric_device *devices; /* of the first vertices: those beyond are not known */
    uint32_t devices_count;
    struct hash_map *text_index; /* texts of devices that many have -> offset + 1; NULL: none */
    uint16_t *matrix;            /* of measured costs, rows are where ways begin; NULL: none */
    uint8_t is_settled;
};

void fabric_model_fini(struct fabric_model *model);

/* Adding: -EEXIST if a NIC or switch has that name already, -E2BIG if there are too many, -EINVAL if a name is empty or
 * too long, each with an error that names it. */
int fabric_model_add_switch(struct fabric_model *model, const char *name, uint16_t across,
                            uint32_t *ret_switch, struct error *error);
/* The switch must have none yet: else -EEXIST. */
int fabric_model_set_parent(struct fabric_model *model, uint32_t child, uint32_t parent,
                            struct fabric_link link, struct error *error);
/* plane may be "". */
int fabric_model_add_vertex(struct fabric_model *model, const char *name, const char *node,
                            const char *plane, uint32_t top, struct fabric_link link,
                            struct error *error);
/* What is known of the NIC, before it is settled. */
void fabric_model_describe(struct fabric_model *model, uint32_t vertex,
                           const struct nic_facts *facts);
/* Measured costs, of all vertices that have been added, rows are where ways begin; takes the matrix (malloc).  What a
 * way costs on the diagonal is 0 whatever it says. */
void fabric_model_set_matrix(struct fabric_model *model, uint16_t *matrix);
/* No more is added, and costs may be asked.  -ELOOP if a switch is above itself, -E2BIG if there are
 * more than FABRIC_LEVELS_MAX levels. */
int fabric_model_settle(struct fabric_model *model, struct error *error);

/* From one vertex to another, of a settled model.  O(levels), or with measured costs O(1). */
uint16_t fabric_model_cost(const struct fabric_model *model, uint32_t from, uint32_t to);
/* Of the square matrix of these vertices (NULL: of all, in their order), rows first..first+count-1.
 * O(count * (vertices + switches * levels)) at most. */
void fabric_model_rows(const struct fabric_model *model, const uint32_t *vertices,
                       uint32_t vertices_count, uint32_t first, uint32_t count,
                       uint16_t *ret_costs);

/* ret_part: the same switches, and the vertices of those nodes for which the array has other than 0, in
 * their order; settled.  The caller finishes it.  O(vertices + switches). */
void fabric_model_part(const struct fabric_model *model, const uint8_t *nodes,
                       struct fabric_model *ret_part);

/* The switches of a model, and their links, into an empty one.  O(switches). */
void fabric_model_copy_switches(const struct fabric_model *model, struct fabric_model *ret_copy);

/* What is known of the NIC; false: nothing. */
bool fabric_model_facts(const struct fabric_model *model, uint32_t vertex,
                        struct nic_facts *ret_facts);
/* Are these two alike, also in what is not known? */
bool fabric_model_same_facts(const struct fabric_model *model, uint32_t vertex, uint32_t other);

/* Numbers of names, or FABRIC_NONE. */
uint32_t fabric_model_find_switch(const struct fabric_model *model, const char *name);
uint32_t fabric_model_find_vertex(const struct fabric_model *model, const char *name);
uint32_t fabric_model_find_node(const struct fabric_model *model, const char *name);
/* The node of that name, or of what is before its first dot. */
uint32_t fabric_model_find_host(const struct fabric_model *model, const char *name);
uint32_t fabric_model_find_plane(const struct fabric_model *model, const char *name);
/* Valid until the next addition. */
const char *fabric_model_name(const struct fabric_model *model, uint32_t offset);
/* Levels of switches above the lowest vertex. */
uint32_t fabric_model_levels(const struct fabric_model *model);

#endif
