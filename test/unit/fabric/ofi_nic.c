/* SPDX-License-Identifier: BSD-3-Clause */
/* NICs as libfabric describes them, fabric/ofi_nic.c; what its providers here describe is whatever it is. */
#include "config.h"

#include "fabric/ofi_nic.h"

#include <stdint.h>
#include <string.h>

#include <rdma/fabric.h>

#include "test/support/tap.h"

static char name[] = "mlx5_0", driver[] = "mlx5_core", vendor[] = "0x02c9", id[] = "0x101b",
            link_address[] = "fe80::1", type[] = "InfiniBand", domain_name[] = "mlx5_0-dgram",
            fabric_name[] = "IB-0xfe80000000000000";

static void test_described(void)
{
    struct fi_device_attr device = {
        .name = name, .driver = driver, .vendor_id = vendor, .device_id = id};
    struct fi_link_attr link = {.address = link_address,
                                .mtu = 4096,
                                .speed = 200000000000u,
                                .state = FI_LINK_UP,
                                .network_type = type};
    struct fi_bus_attr bus = {.bus_type = FI_BUS_PCI,
                              .attr.pci = {.domain_id = 1, .bus_id = 0xc1, .function_id = 1}};
    struct fid_nic nic = {.device_attr = &device, .link_attr = &link, .bus_attr = &bus};
    struct fi_fabric_attr fabric = {.name = fabric_name};
    struct fi_info info = {.nic = &nic, .fabric_attr = &fabric};
    struct nic_list list = {.items = NULL};
    const struct nic *own;

    for (int i = 0; i < 3; i++)
        ofi_nic_add(&info, &list);
    is_uint(list.count, 1, "a NIC, once however often it is described");
    own = &list.items[0];
    is_string(own->name, "mlx5_0", "its name");
    is_string(own->fabric, "IB-0xfe80000000000000", "its fabric");
    is_string(own->facts.texts[NIC_DRIVER], "mlx5_core", "its driver");
    is_string(own->facts.texts[NIC_VENDOR], "0x02c9", "its vendor");
    is_string(own->facts.texts[NIC_DEVICE], "0x101b", "its device");
    is_string(own->facts.texts[NIC_ADDRESS], "fe80::1", "its address");
    is_string(own->facts.texts[NIC_TYPE], "InfiniBand", "its network");
    is_string(own->facts.texts[NIC_PCI], "0001:c1:00.1", "its place");
    ok(own->facts.speed == 200000000000u && own->facts.mtu == 4096 && own->facts.state == NIC_UP &&
           own->facts.numa == NIC_NUMA_UNKNOWN,
       "its link");
    nic_list_fini(&list);
}

/* Providers leave out what they like. */
static void test_little(void)
{
    struct fi_link_attr link = {.mtu = SIZE_MAX, .speed = SIZE_MAX, .state = FI_LINK_DOWN};
    struct fi_bus_attr bus = {.bus_type = FI_BUS_UNKNOWN};
    struct fid_nic nic = {.device_attr = NULL};
    struct fi_domain_attr domain = {.name = domain_name};
    struct fi_info info = {.nic = NULL, .domain_attr = &domain};
    struct nic_list list = {.items = NULL};

    ofi_nic_add(&info, &list);
    is_uint(list.count, 0, "a description without a NIC");
    info.nic = &nic;
    ofi_nic_add(&info, &list);
    is_uint(list.count, 1, "one with nothing known");
    is_string(list.items[0].name, "mlx5_0-dgram", "is called as its domain");
    ok(!nic_facts_known(&list.items[0].facts), "and has no facts");
    nic.link_attr = &link;
    nic.bus_attr = &bus;
    ofi_nic_add(&info, &list);
    ok(list.items[1].facts.state == NIC_DOWN && list.items[1].facts.speed == 0 &&
           list.items[1].facts.mtu == 0 && list.items[1].facts.texts[NIC_PCI][0] == '\0',
       "numbers that cannot be are not known");
    info.domain_attr = NULL;
    ofi_nic_add(&info, &list);
    is_uint(list.count, 2, "one without any name is none");
    nic_list_fini(&list);
}

static void test_here(void)
{
    struct nic_list list = {.items = NULL};
    struct error error = ERROR_NONE;
    int named = 1;

    is_int(ofi_nic_read(&list, &error), 0, "the providers here: %s", error.text);
    for (uint32_t i = 0; i < list.count; i++)
        named = named && list.items[i].name[0] != '\0';
    ok(named, "describe %u NICs", list.count);
    nic_list_fini(&list);
}

int main(void)
{
    test_described();
    test_little();
    test_here();
    return done_testing();
}
