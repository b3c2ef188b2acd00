/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a daemon learns its identity (doc/control.rst).  It prints a marker line on stdout (earlier
 * output of a login shell is ignored, but kept for messages), then reads the boot record from
 * stdin.  If it cannot start it prints one error line instead of joining:
 *
 *     BANYAN-READY <protocol version>\n        daemon -> starter
 *     u32 length, boot record                  starter -> daemon
 *     BANYAN-ERROR <text>\n                    daemon -> starter, then it exits
 *     BANYAN-WAITS <text>\n                    daemon -> starter: why it has not joined yet
 */
#ifndef LAUNCH_PROTO_BOOT_H
#define LAUNCH_PROTO_BOOT_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "launch/proto/instance_spec.h"
#include "overlay/endpoint_types.h"

#define BOOT_PROTOCOL_VERSION 4
#define BOOT_RECORD_BYTES_MAX (64u * 1024 * 1024)
#define BOOT_MARKER           "BANYAN-READY "
#define BOOT_ERROR_MARKER     "BANYAN-ERROR "
#define BOOT_WAITING_MARKER   "BANYAN-WAITS "

struct boot_record {
    struct instance_spec instance;
    uint32_t place;
    uint32_t incarnation;
    char name[HOST_NAME_BYTES_MAX + 1];  /* of this node, as in the allocation */
    struct range range;                  /* of places: this subtree */
    struct hostlist *names;              /* of the places of range but 0, in order; its own */
    struct node_order *order;            /* of those nodes; NULL: that of the allocation; its own */
    struct endpoint_ancestor *ancestors; /* nearest first */
    uint32_t ancestors_count;
};

/* The record of a lone place 0, with an empty list of names. */
void boot_record_init(struct boot_record *record);
/* Of the root: the nodes in their order in the tree. */
void boot_record_set_nodes(struct boot_record *record, const struct allocation *allocation);
void boot_record_fini(struct boot_record *record);
/* The first place of the range that has a name: the root, place 0, has none. */
uint32_t boot_record_first_named(struct range range);
/* Its place by the order of the allocation: its node's index + 1, or 0. */
uint32_t boot_record_listed_place(const struct boot_record *record);
void boot_record_encode(const struct boot_record *record, struct buffer *out);
/* With its length before it, as a starter writes it. */
void boot_record_encode_frame(const struct boot_record *record, struct buffer *out);
/* Replaces what ret_record, which must be initialised, holds; untouched on failure (-EBADMSG). */
int boot_record_decode(struct boot_record *ret_record, struct wire_reader *reader);
/* The record of the head of a child range: the parent and its addresses are put before the
 * ancestors. */
/* ret_child need not be initialised. */
void boot_record_child(const struct boot_record *parent, const struct addresses *parent_addresses,
                       struct range child_range, struct boot_record *ret_child);

/* The record of a place added when the instance grows: its starter and only ancestor is the root,
 * which passes it on to its parent.  ret_child need not be initialised. */
void boot_record_newcomer(const struct boot_record *root, const struct addresses *root_addresses,
                          uint32_t place, const char *name, struct boot_record *ret_child);

#endif
