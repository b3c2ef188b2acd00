/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the processes of one application are placed, as the user said it: doc/placement.rst defines
 * the words.  A rule without a list, requirements and excluded nodes is a plain value.
 */
#ifndef ALLOC_PLACEMENT_RULE_H
#define ALLOC_PLACEMENT_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"
#include "base/topology.h"
#include "base/wire.h"

#define PLACEMENT_PROCESSES_MAX   268435456u
#define PLACEMENT_UNITS_MAX       65536u /* of one process */
#define PLACEMENT_DEVICE_BYTES    32
#define PLACEMENT_LIST_RANGES_MAX 65536u /* cores of one process */
#define PLACEMENT_NODE_RANGES_MAX 16777216u
#define REQUIRE_BYTES_MAX         1024u
#define PLACEMENT_CPU_PARTS_MAX   256u /* numbers and ranges of pe-list */

enum placement_policy {
    PLACEMENT_BY_SLOT,
    PLACEMENT_BY_NODE,
    PLACEMENT_BY_OBJECT,   /* of the level */
    PLACEMENT_PER_OBJECT,  /* `per` on each of the level */
    PLACEMENT_BY_DISTANCE, /* from the device */
    PLACEMENT_BY_LIST,     /* as the list says */
    PLACEMENT_BY_CPUS,     /* on cores that are named */
    PLACEMENT_BY_DEVICE,   /* a device of a class for each */
    PLACEMENT_POLICY_COUNT
};

enum placement_rank_by {
    PLACEMENT_RANK_DEFAULT, /* what belongs to the policy */
    PLACEMENT_RANK_BY_SLOT,
    PLACEMENT_RANK_BY_NODE,
    PLACEMENT_RANK_BY_SPAN,
    PLACEMENT_RANK_BY_FILL,
    PLACEMENT_RANK_BY_COUNT
};

enum placement_bind {
    PLACEMENT_BIND_DEFAULT,
    PLACEMENT_BIND_NONE,
    PLACEMENT_BIND_LEVEL,
    PLACEMENT_BIND_COUNT
};
/* Of PLACEMENT_BY_DEVICE: GPUs, of which a process gets `gpus` (1 if that is 0), or network devices. */
enum placement_device { PLACEMENT_DEVICE_GPU, PLACEMENT_DEVICE_NETWORK, PLACEMENT_DEVICE_COUNT };
enum placement_memory {
    PLACEMENT_MEMORY_NONE,
    PLACEMENT_MEMORY_PREFERRED,
    PLACEMENT_MEMORY_BOUND,
    PLACEMENT_MEMORY_COUNT
};

/* PLACEMENT_BY_LIST: where each process goes, by rank within the application. */
struct placement_list {
    uint32_t count;
    uint32_t *nodes;
    struct ranges
        *cores; /* of the node, hwloc's numbers, whether usable or not; NULL: none named */
};

/* PLACEMENT_BY_CPUS: cores of every node, hwloc's numbers, in the order in which the user wrote them, each
 * once. */
struct placement_cpus {
    uint32_t count; /* of the parts, at most PLACEMENT_CPU_PARTS_MAX */
    struct range
        *parts; /* owned as the list of a rule is: every daemon has a rule, few have these */
};

struct placement_rule {
    enum placement_policy policy;
    enum topology_level level;
    uint32_t processes; /* 0: as many as there is room for */
    uint32_t per;       /* 0, or how many on each object, and with other policies on each node */
    uint32_t pe;        /* 0, or how many units each process takes */
    uint32_t cpus; /* 0, or CPUs of each process as the scheduler has them (placement_cpus.h) */
    uint32_t gpus; /* of each process */
    enum placement_rank_by rank_by;
    enum placement_bind bind;
    enum topology_level bind_level; /* of PLACEMENT_BIND_LEVEL */
    enum placement_memory memory;
    uint8_t span;
    uint8_t oversubscribe;
    uint8_t overload; /* is allowed */
    uint8_t ordered;  /* PLACEMENT_BY_CPUS: a process for each, in their order */
    uint8_t shared;   /* PLACEMENT_BY_DEVICE: a device may have several processes */
    enum placement_device device_class;
    char device[PLACEMENT_DEVICE_BYTES];
    struct placement_cpus listed;
    /* Owned by the placement that the rule is in. */
    struct placement_list *list;
    char *require;          /* of its nodes (placement_require.h); NULL: nothing */
    struct ranges excluded; /* indexes of nodes that do not have that */
};

/* What stands in a --map-by beside the rule. */
struct placement_extra {
    int no_local;
    int oversubscribe; /* which holds for the job, not for this rule alone */
    const char *file;  /* of rankfile and seq, into the text; NULL: none */
    int is_sequence;
};

/* Sets what "slot", "ppr:2:package:pe=4", "numa:span", "dist:mlx5_0", "rankfile:FILE" say, in upper
 * or lower case, modifiers joined by ':' or ','; ":span" alone leaves the mapping as it is.  -EINVAL
 * lists the known ones. */
int placement_rule_parse(const char *text, struct placement_rule *rule,
                         struct placement_extra *extra, struct error *error);
int placement_rank_by_parse(const char *text, struct placement_rule *rule, struct error *error);
int placement_bind_parse(const char *text, struct placement_rule *rule, struct error *error);
int placement_memory_parse(const char *text, struct placement_rule *rule, struct error *error);
/* As --map-by would have it, appended. */
void placement_rule_print(const struct placement_rule *rule, struct buffer *out);
const char *placement_rank_by_name(enum placement_rank_by rank_by);

/* 1 if the nodes' topologies must be known. */
bool placement_rule_wants_topology(const struct placement_rule *rule);
/* 1 if its units are hardware threads. */
bool placement_rule_wants_threads(const struct placement_rule *rule);
/* PLACEMENT_RANK_DEFAULT resolved. */
enum placement_rank_by placement_rule_rank_by(const struct placement_rule *rule);
/* The level whose objects processes are dealt to; by core and by hardware thread the units themselves
 * are, and the object is the node. */
enum topology_level placement_rule_dealing_level(const struct placement_rule *rule);
/* The level to bind to if the node is not overloaded, the units of the job being hardware threads or
 * cores; TOPOLOGY_NODE: none. */
enum topology_level placement_rule_bind_level(const struct placement_rule *rule, int in_threads);
/* How many devices of the class each process takes, by whatever option. */
uint32_t placement_rule_devices(const struct placement_rule *rule,
                                enum placement_device device_class);
const char *placement_device_name(enum placement_device device_class);
/* The cores of PLACEMENT_BY_CPUS as a set, and how many these are. */
void placement_rule_cpus(const struct placement_rule *rule, struct ranges *ret_cores);
uint32_t placement_rule_cpus_count(const struct placement_rule *rule);
/* 1 if a rank file names the cores, or pe-list: its processes are bound to them even on an overloaded
 * node. */
bool placement_rule_lists_cores(const struct placement_rule *rule);

/* To the cores of PLACEMENT_BY_CPUS. */
void placement_rule_add_part(struct placement_cpus *listed, struct range part);

void placement_rule_encode(const struct placement_rule *rule, struct buffer *out);
/* 0 or -EBADMSG; the caller owns what the rule does. */
int placement_rule_decode(struct placement_rule *ret_rule, struct wire_reader *reader);
void placement_list_destroy(struct placement_list *list);
void placement_rule_fini(struct placement_rule *rule);

#endif
