/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network devices of this machine that hwloc shows below a PCI device: interfaces and verbs devices, with the NUMA node
 * that they are near, and what the kernel says of each in /sys/class.
 *
 * Cost: hwloc is loaded with devices, some 20 ms; a few small files for each device.
 */
#ifndef FABRIC_NIC_READ_H
#define FABRIC_NIC_READ_H

#include "base/error.h"
#include "base/nic.h"

/* Of this machine, or those that HWLOC_XMLFILE and HWLOC_SYNTHETIC describe, of which the kernel is not asked. */
int nic_read(struct nic_list *ret_list, struct error *error);
/* Of a machine in hwloc's XML; class: as /sys/class, or NULL: nothing is asked of it. */
int nic_read_xml(const char *xml, const char *class, struct nic_list *ret_list,
                 struct error *error);
/* Removes those without a PCI address that are interfaces without a device in class: loopback, bridges and the like. */
void nic_read_drop_virtual(const char *class, struct nic_list *list);

#define NIC_READ_CLASS "/sys/class"

#endif
