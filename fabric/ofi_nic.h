/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NICs that libfabric's providers describe, inside of fabric_ofi.so; others call it by the table.
 *
 * Cost: libfabric probes all hardware: 0.1 to 0.2 s.
 */
#ifndef FABRIC_OFI_NIC_H
#define FABRIC_OFI_NIC_H

#include "base/error.h"
#include "base/nic.h"

#include <rdma/fabric.h>

/* Adds each that a provider describes, once for each way in which one does so (base/nic.h: nic_list_join).  -EIO. */
int ofi_nic_read(struct nic_list *list, struct error *error);
/* Adds the NIC of a description, if it has one and that is not in the list. */
void ofi_nic_add(const struct fi_info *info, struct nic_list *list);

#endif
