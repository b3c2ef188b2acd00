/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the processes of one application are placed, as the user said it: doc/placement.rst defines
 * the words.  A rule without a list, requirements and excluded nodes is a plain value.
 */
#ifndef ALLOC_PLACE_RULE_H
#define ALLOC_PLACE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"
#include "base/topology.h"
#include "base/wire.h"

#define MAP_PROCESSES_MAX   268435456u
#define MAP_UNITS_MAX       65536u /* of one process */
#define MAP_DEVICE_BYTES    32
#define MAP_LIST_RANGES_MAX 65536u /* cores of one process */
#define MAP_NODE_RANGES_MAX 16777216u
#define REQUIRE_BYTES_MAX   1024u
#define MAP_CPU_PARTS_MAX   256u /* numbers and ranges of pe-list */

enum map_policy {
    MAP_BY_SLOT,
    MAP_BY_NODE,
    MAP_BY_OBJECT,   /* of the level */
    MAP_PER_OBJECT,  /* `per` on each of the level */
    MAP_BY_DISTANCE, /* from the device */
    MAP_BY_LIST,     /* as the list says */
    MAP_BY_CPUS,     /* on cores that are named */
    MAP_BY_DEVICE,   /* a device of a class for each */
    MAP_POLICY_COUNT
};

enum map_rank_by {
    MAP_RANK_DEFAULT, /* what belongs to the policy */
    MAP_RANK_BY_SLOT,
    MAP_RANK_BY_NODE,
    MAP_RANK_BY_SPAN,
    MAP_RANK_BY_FILL,
    MAP_RANK_BY_COUNT
};

enum map_bind { MAP_BIND_DEFAULT, MAP_BIND_NONE, MAP_BIND_LEVEL, MAP_BIND_COUNT };
/* Of MAP_BY_DEVICE: GPUs, of which a process gets `gpus` (1 if that is 0), or network devices. */
enum map_device { MAP_DEVICE_GPU, MAP_DEVICE_NETWORK, MAP_DEVICE_COUNT };
enum map_memory { MAP_MEMORY_NONE, MAP_MEMORY_PREFERRED, MAP_MEMORY_BOUND, MAP_MEMORY_COUNT };

/* MAP_BY_LIST: where each process goes, by rank within the application. */
struct map_list {
    uint32_t count;
    uint32_t *nodes;
    struct ranges
        *cores; /* of the node, hwloc's numbers, whether usable or not; NULL: none named */
};

/* MAP_BY_CPUS: cores of every node, hwloc's numbers, in the order in which the user wrote them, each
 * once. */
struct map_cpus {
    uint32_t count; /* of the parts, at most MAP_CPU_PARTS_MAX */
    struct range
        *parts; /* owned as the list of a rule is: every daemon has a rule, few have these */
};

struct map_rule {
    enum map_policy policy;
    enum topology_level level;
    uint32_t processes; /* 0: as many as there is room for */
    uint32_t per;       /* 0, or how many on each object, and with other policies on each node */
    uint32_t pe;        /* 0, or how many units each process takes */
    uint32_t cpus;      /* 0, or CPUs of each process as the scheduler has them (place_cpus.h) */
    uint32_t gpus;      /* of each process */
    enum map_rank_by rank_by;
    enum map_bind bind;
    enum topology_level bind_level; /* of MAP_BIND_LEVEL */
    enum map_memory memory;
    uint8_t span;
    uint8_t oversubscribe;
    uint8_t overload; /* is allowed */
    uint8_t ordered;  /* MAP_BY_CPUS: a process for each, in their order */
    uint8_t shared;   /* MAP_BY_DEVICE: a device may have several processes */
    enum map_device device_class;
    char device[MAP_DEVICE_BYTES];
    struct map_cpus listed;
    /* Owned by the placement that the rule is in. */
    struct map_list *list;
    char *require;          /* of its nodes (place_require.h); NULL: nothing */
    struct ranges excluded; /* indexes of nodes that do not have that */
};

/* What stands in a --map-by beside the rule. */
struct map_extra {
    int no_local;
    int oversubscribe; /* which holds for the job, not for this rule alone */
    const char *file;  /* of rankfile and seq, into the text; NULL: none */
    int is_sequence;
};

/* Sets what "slot", "ppr:2:package:pe=4", "numa:span", "dist:mlx5_0", "rankfile:FILE" say, in upper
 * or lower case, modifiers joined by ':' or ','; ":span" alone leaves the mapping as it is.  -EINVAL
 * lists the known ones. */
int map_rule_parse(const char *text, struct map_rule *rule, struct map_extra *extra,
                   struct error *error);
int map_rank_by_parse(const char *text, struct map_rule *rule, struct error *error);
int map_bind_parse(const char *text, struct map_rule *rule, struct error *error);
int map_memory_parse(const char *text, struct map_rule *rule, struct error *error);
/* As --map-by would have it, appended. */
void map_rule_print(const struct map_rule *rule, struct buffer *out);
const char *map_rank_by_name(enum map_rank_by rank_by);

/* 1 if the nodes' topologies must be known. */
bool map_rule_wants_topology(const struct map_rule *rule);
/* 1 if its units are hardware threads. */
bool map_rule_wants_threads(const struct map_rule *rule);
/* MAP_RANK_DEFAULT resolved. */
enum map_rank_by map_rule_rank_by(const struct map_rule *rule);
/* The level whose objects processes are dealt to; by core and by hardware thread the units themselves
 * are, and the object is the node. */
enum topology_level map_rule_dealing_level(const struct map_rule *rule);
/* The level to bind to if the node is not overloaded, the units of the job being hardware threads or
 * cores; TOPOLOGY_NODE: none. */
enum topology_level map_rule_bind_level(const struct map_rule *rule, int in_threads);
/* How many devices of the class each process takes, by whatever option. */
uint32_t map_rule_devices(const struct map_rule *rule, enum map_device device_class);
const char *map_device_name(enum map_device device_class);
/* The cores of MAP_BY_CPUS as a set, and how many these are. */
void map_rule_cpus(const struct map_rule *rule, struct ranges *ret_cores);
uint32_t map_rule_cpus_count(const struct map_rule *rule);
/* 1 if a rank file names the cores, or pe-list: its processes are bound to them even on an overloaded
 * node. */
bool map_rule_lists_cores(const struct map_rule *rule);

void map_rule_encode(const struct map_rule *rule, struct buffer *out);
/* 0 or -EBADMSG; the caller owns what the rule does. */
int map_rule_decode(struct map_rule *ret_rule, struct wire_reader *reader);
void map_list_destroy(struct map_list *list);
void map_rule_fini(struct map_rule *rule);

#endif
