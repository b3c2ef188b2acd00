/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process of `banyan fabric --nics` (launch/exec/nic_worker.h) prints, and the command reads: lines of fields
 * separated by tabs, the first two a kind and the process's rank.
 *
 *     node RANK NAME
 *     nic RANK DEVICE FABRIC SPEED MTU NUMA STATE DRIVER VENDOR DEVICE-ID ADDRESS TYPE PCI
 *     fail RANK WHY
 */
#ifndef LAUNCH_PROTO_NIC_LINE_H
#define LAUNCH_PROTO_NIC_LINE_H

#include "base/buffer.h"
#include "base/nic.h"

#define NIC_LINE_BYTES_MAX 2048

enum nic_line_kind { NIC_LINE_NODE, NIC_LINE_NIC, NIC_LINE_FAIL, NIC_LINE_KIND_COUNT };

struct nic_line {
    enum nic_line_kind kind;
    uint32_t rank;
    char text[NIC_LINE_BYTES_MAX]; /* the name of the node, or why it has failed */
    struct nic nic;
};

void nic_line_print_text(enum nic_line_kind kind, uint32_t rank, const char *text,
                         struct buffer *out);
void nic_line_print_nic(uint32_t rank, const struct nic *nic, struct buffer *out);
/* line ends with a newline or a NUL.  -EPROTO; ret_line is untouched then. */
int nic_line_parse(const char *line, struct nic_line *ret_line);

#endif
