/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process of `banyan fabric --nics` (launch/exec/nic_worker.h) prints, and the command reads: lines of fields
 * separated by tabs, the first two a kind and the process's rank.
 *
 *     node RANK OF NAME
 *     nic RANK DEVICE FABRIC SPEED MTU NUMA STATE DRIVER VENDOR DEVICE-ID ADDRESS TYPE PCI
 *     fail RANK WHY
 *     end RANK
 *
 * The first and the last line of each process are node, where OF is how many processes there are, and end: what is missing
 * is seen by that.
 */
#ifndef LAUNCH_PROTO_NIC_LINE_H
#define LAUNCH_PROTO_NIC_LINE_H

#include "base/buffer.h"
#include "base/nic.h"

#define NIC_LINE_BYTES_MAX 2048

enum nic_line_kind {
    NIC_LINE_NODE,
    NIC_LINE_NIC,
    NIC_LINE_FAIL,
    NIC_LINE_END,
    NIC_LINE_KIND_COUNT
};

struct nic_line {
    enum nic_line_kind kind;
    uint32_t rank;
    uint32_t of;                   /* with the name of the node: more than rank */
    char text[NIC_LINE_BYTES_MAX]; /* the name of the node, or why it has failed */
    struct nic nic;
};

/* The name as it is: it must be one of host_name_check (alloc/host_name.h). */
void nic_line_print_node(uint32_t rank, uint32_t of, const char *name, struct buffer *out);
void nic_line_print_fail(uint32_t rank, const char *why, struct buffer *out);
void nic_line_print_end(uint32_t rank, struct buffer *out);
void nic_line_print_nic(uint32_t rank, const struct nic *nic, struct buffer *out);
/* line ends with a newline or a NUL.  -EPROTO; ret_line is untouched then. */
int nic_line_parse(const char *line, struct nic_line *ret_line);

#endif
