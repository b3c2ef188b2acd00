/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider of libfabric for test/system/run_nics.sh, built by it as libbanyan_nics-fi.so: it carries no data, and
 * describes two NICs of each node, of 200 and 100 Gbit/s, each twice, as real ones do for several kinds of endpoints,
 * and a third that is down. Their addresses are those of the node. OFI_NICS_NONE has those nodes, each between
 * blanks, that have none.
 */
#include "config.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GBIT 1000000000ull

/* Also of copies, which libfabric makes member by member. */
static int close_nic(struct fid *fid)
{
    struct fid_nic *nic = (struct fid_nic *)fid;

    free(nic->device_attr->name);
    free(nic->device_attr->driver);
    free(nic->device_attr->vendor_id);
    free(nic->device_attr->device_id);
    free(nic->device_attr);
    free(nic->link_attr->address);
    free(nic->link_attr->network_type);
    free(nic->link_attr);
    free(nic->bus_attr);
    free(nic);
    return 0;
}

static struct fi_ops ops = {.size = sizeof(ops), .close = close_nic};

static struct fid_nic *make_nic(int number, const char *node)
{
    static const struct {
        const char *name;
        uint8_t bus;
        unsigned int gbit;
        enum fi_link_state state;
    } kinds[] = {{"mlx5_0", 0xc1, 200, FI_LINK_UP},
                 {"mlx5_1", 0x21, 100, FI_LINK_UP},
                 {"mlx5_2", 0x22, 400, FI_LINK_DOWN}};
    struct fid_nic *nic = calloc(1, sizeof(*nic));
    char address[80];

    snprintf(address, sizeof(address), "fe80::%.40s:%d", node, number);
    nic->fid.ops = &ops;
    nic->device_attr = calloc(1, sizeof(*nic->device_attr));
    nic->device_attr->name = strdup(kinds[number].name);
    nic->device_attr->driver = strdup("test_core");
    nic->device_attr->vendor_id = strdup("0x15b3");
    nic->device_attr->device_id = strdup("0x101b");
    nic->link_attr = calloc(1, sizeof(*nic->link_attr));
    nic->link_attr->address = strdup(address);
    nic->link_attr->mtu = 4096;
    nic->link_attr->speed = kinds[number].gbit * GBIT;
    nic->link_attr->state = kinds[number].state;
    nic->link_attr->network_type = strdup("InfiniBand");
    nic->bus_attr = calloc(1, sizeof(*nic->bus_attr));
    nic->bus_attr->bus_type = FI_BUS_PCI;
    nic->bus_attr->attr.pci.bus_id = kinds[number].bus;
    return nic;
}

static int has_none(const char *node)
{
    const char *nodes = getenv("OFI_NICS_NONE");
    char word[64];

    snprintf(word, sizeof(word), " %s ", node);
    return nodes != NULL && strstr(nodes, word) != NULL;
}

static struct fi_info *describe(struct fid_nic *nic, const char *fabric)
{
    struct fi_info *info = fi_allocinfo();

    info->nic = nic;
    info->fabric_attr->name = strdup(fabric);
    info->domain_attr->name = strdup(nic->device_attr->name);
    return info;
}

static int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                   const struct fi_info *hints, struct fi_info **info)
{
    const char *own = getenv("BANYAN_NODE"), *planes = getenv("OFI_NICS_PLANES");

    (void)version, (void)node, (void)service, (void)flags, (void)hints;
    *info = NULL;
    if (own == NULL || has_none(own))
        return -FI_ENODATA;
    for (int i = 5; i >= 0; i--) {
        struct fi_info *one = describe(make_nic(i % 3, own),
                                       planes != NULL && i % 3 == 1 ? "IB-0xfe02" : "IB-0xfe01");

        one->next = *info;
        *info = one;
    }
    return 0;
}

static int open_none(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    (void)attr, (void)fabric, (void)context;
    return -FI_ENOSYS;
}

static struct fi_provider provider = {.version = FI_VERSION(1, 0),
                                      .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
                                      .name = "banyan_nics",
                                      .getinfo = getinfo,
                                      .fabric = open_none};

FI_EXT_INI
{
    return &provider;
}
