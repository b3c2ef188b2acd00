/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of libpmix made of what the root says of the network (pmi_fabric.h); what is in them is a copy.
 */
#ifndef PMIX_HOST_FABRIC_VALUE_H
#define PMIX_HOST_FABRIC_VALUE_H

#include <pmix_common.h>

#include "pmix/pmi_fabric.h"

/* All return 0, or -ENOENT if there is nothing, -ENOBUFS if it is more than is given at once. */
int host_fabric_index(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value);
int host_fabric_devices_count(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value);
/* Of coordinates. */
int host_fabric_dims(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value);
/* An array of strings. */
int host_fabric_planes(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value);
/* The rows in it, row by row, as an array of uint16. */
int host_fabric_costs(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value);
/* An array of PMIX_FABRIC_DEVICE, each an array of PMIX_DEVICE_ID, the name of the NIC, and its PMIX_FABRIC_DEVICE_NAME,
 * PMIX_FABRIC_DEVICE_INDEX, PMIX_HOSTNAME, PMIX_FABRIC_SWITCH, PMIX_FABRIC_PLANE and
 * PMIX_FABRIC_DEVICE_COORDINATES, and of those that are known: _VENDOR, _VENDORID, _DRIVER, _ADDRESS, _SPEED, _MTU, _STATE,
 * _TYPE, _BUS_TYPE and _PCI_DEVID. */
int host_fabric_devices(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value);
/* The one device in it, as such an array. */
int host_fabric_device(const struct pmi_fabric_facts *facts, pmix_value_t *ret_value);

#endif
