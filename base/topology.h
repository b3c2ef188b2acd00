/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processors of a node, as compact arrays: for each hardware thread, in hwloc's logical order,
 * what the kernel calls it and in which object of each level it is.  Two nodes whose machines are
 * alike have equal topologies (a class); what a process may use of one is a set of threads beside
 * it, and topology_restrict makes the topology of what is left.  Devices carry the threads that are
 * near to them.  Memory: 28 bytes for a thread.  fabric/topology_read.c reads it from hwloc.
 *
 * A NUMA node here is a set of threads with the memories that are local to exactly these: one as a
 * rule, two where each has a fast memory beside the large one (which the kernel counts as a separate
 * NUMA node).  A memory that is local to more than one NUMA node belongs to neither.
 */
#ifndef BASE_TOPOLOGY_H
#define BASE_TOPOLOGY_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"

#define TOPOLOGY_THREADS_MAX 65536u
#define TOPOLOGY_OS_MAX      1048575u /* highest number of a thread in the kernel's words */
#define TOPOLOGY_DEVICES_MAX 4096u
#define TOPOLOGY_MEMORY_MAX  65536u /* numbers of NUMA nodes in the kernel's words */
#define TOPOLOGY_NONE        UINT32_MAX

/* From the widest to the narrowest. */
enum topology_level {
    TOPOLOGY_NODE,
    TOPOLOGY_PACKAGE,
    TOPOLOGY_NUMA,
    TOPOLOGY_L3,
    TOPOLOGY_L2,
    TOPOLOGY_L1,
    TOPOLOGY_CORE,
    TOPOLOGY_THREAD,
    TOPOLOGY_LEVEL_COUNT
};

enum topology_device_kind {
    TOPOLOGY_DEVICE_OTHER,
    TOPOLOGY_DEVICE_NVIDIA,
    TOPOLOGY_DEVICE_AMD,
    TOPOLOGY_DEVICE_INTEL,
    TOPOLOGY_DEVICE_NETWORK,
    TOPOLOGY_DEVICE_KIND_COUNT
};

struct topology_device {
    char name[32]; /* "mlx5_0", "gpu0" */
    enum topology_device_kind kind;
    struct ranges near; /* logical threads; none: all are equally near */
};

struct topology {
    uint32_t threads;
    uint32_t *os;                            /* by thread */
    uint32_t *objects[TOPOLOGY_LEVEL_COUNT]; /* by thread: number of the object, or TOPOLOGY_NONE */
    uint32_t counts[TOPOLOGY_LEVEL_COUNT];   /* objects of the level; all have threads */
    struct ranges *memory; /* by NUMA node: the kernel's numbers of its memories */
    struct topology_device *devices;
    uint32_t devices_count;
};

/* All arrays for that many threads, each its own object of the level thread and all of one node;
 * everything else is TOPOLOGY_NONE. */
void topology_init(struct topology *topology, uint32_t threads);
void topology_fini(struct topology *topology);
/* Room for the memory of that many NUMA nodes, which is empty and is filled before topology_number. */
void topology_add_memory(struct topology *topology, uint32_t numa_nodes);
/* Numbers the objects anew, densely in the order of their old numbers, which may have gaps, and
 * sets counts.  memory is by the old numbers, counts[TOPOLOGY_NUMA] of them, and is renumbered, too. */
void topology_number(struct topology *topology);
/* What is left of it with the threads of these kernel numbers; 0, or -ENOENT if none is left.  A device
 * near which none is left is near to what is left of its package. */
int topology_restrict(const struct topology *topology, const struct ranges *allowed,
                      struct topology *ret_topology);
/* Appends a device; near becomes empty. */
void topology_add_device(struct topology *topology, const char *name,
                         enum topology_device_kind kind, struct ranges *near);
/* GPUs of the vendor of which there are most; of equal numbers the discrete ones count, as the order of
 * the kinds has it (an Intel or AMD chip beside them drives the console). */
uint32_t topology_gpus(const struct topology *topology, enum topology_device_kind *ret_vendor);
/* The kernel's numbers of all its threads. */
void topology_all(const struct topology *topology, struct ranges *ret_threads);
uint64_t topology_hash(const struct topology *topology);

/* "node", "package", ... */
const char *topology_level_name(enum topology_level level);
/* -EINVAL if no level is called so ("socket", "l3" and "thread" are names, too). */
int topology_level_parse(const char *word, size_t word_bytes, enum topology_level *ret_level);

/* Runs of equal objects: a regular machine of any size costs some dozen bytes, plus the kernel's
 * numbers. */
void topology_encode(const struct topology *topology, struct buffer *out);
/* 0 or -EBADMSG; initialises ret_topology on success only. */
int topology_decode(struct topology *ret_topology, struct wire_reader *reader);

#endif
