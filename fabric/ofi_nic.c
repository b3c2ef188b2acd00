/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/ofi_nic.h"

#include <errno.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#define API_VERSION FI_VERSION(1, 14)

static void take_device(const struct fi_device_attr *device, struct nic *nic)
{
    nic_text_set(nic->name, sizeof(nic->name), device->name);
    nic_text_set(nic->facts.texts[NIC_DRIVER], NIC_TEXT_BYTES, device->driver);
    nic_text_set(nic->facts.texts[NIC_VENDOR], NIC_TEXT_BYTES, device->vendor_id);
    nic_text_set(nic->facts.texts[NIC_DEVICE], NIC_TEXT_BYTES, device->device_id);
}

static void take_link(const struct fi_link_attr *link, struct nic_facts *facts)
{
    nic_text_set(facts->texts[NIC_ADDRESS], NIC_TEXT_BYTES, link->address);
    nic_text_set(facts->texts[NIC_TYPE], NIC_TEXT_BYTES, link->network_type);
    facts->speed = link->speed <= INT64_MAX ? link->speed : 0;
    facts->mtu = link->mtu <= UINT32_MAX ? (uint32_t)link->mtu : 0;
    if (link->state == FI_LINK_UP)
        facts->state = NIC_UP;
    else if (link->state == FI_LINK_DOWN)
        facts->state = NIC_DOWN;
}

static void take_bus(const struct fi_bus_attr *bus, struct nic_facts *facts)
{
    if (bus->bus_type == FI_BUS_PCI)
        nic_pci_set(facts, bus->attr.pci.domain_id, bus->attr.pci.bus_id, bus->attr.pci.device_id,
                    bus->attr.pci.function_id);
}

void ofi_nic_add(const struct fi_info *info, struct nic_list *list)
{
    struct nic nic = {.kind = NIC_OF_LIBFABRIC};

    if (info->nic == NULL)
        return;
    nic_facts_init(&nic.facts);
    if (info->nic->device_attr != NULL)
        take_device(info->nic->device_attr, &nic);
    if (info->nic->link_attr != NULL)
        take_link(info->nic->link_attr, &nic.facts);
    if (info->nic->bus_attr != NULL)
        take_bus(info->nic->bus_attr, &nic.facts);
    if (nic.name[0] == '\0' && info->domain_attr != NULL)
        nic_text_set(nic.name, sizeof(nic.name), info->domain_attr->name);
    if (info->fabric_attr != NULL)
        nic_text_set(nic.fabric, sizeof(nic.fabric), info->fabric_attr->name);
    if (nic.name[0] != '\0')
        nic_list_add_new(list, &nic);
}

int ofi_nic_read(struct nic_list *list, struct error *error)
{
    struct fi_info *infos = NULL;
    int rc = fi_getinfo(API_VERSION, NULL, NULL, 0, NULL, &infos);

    if (rc < 0 && rc != -FI_ENODATA)
        return error_set(error, -EIO, "libfabric cannot say which providers it has: %s",
                         fi_strerror(-rc));
    for (const struct fi_info *info = rc < 0 ? NULL : infos; info != NULL; info = info->next)
        ofi_nic_add(info, list);
    if (rc >= 0)
        fi_freeinfo(infos);
    return 0;
}
