/* SPDX-License-Identifier: BSD-3-Clause */
/* Network devices as hwloc shows them, of machines written here and of this one, and what /sys/class says:
 * fabric/nic_read.c. */
#include "config.h"

#include "fabric/nic_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "fabric/file_read.h"
#include "test/support/tap.h"

/* Two packages, each with a NUMA node and a thread.  The second has a card that is verbs device and interface; the
 * first an interface, a disk and a verbs device alone; the machine as a whole has another interface. */
static char *machine;

static char *directory; /* as /sys/class */

static void make(const char *path, const char *contents)
{
    char *whole = memory_printf("%s/%s", directory, path);
    FILE *file;

    for (char *at = whole + strlen(directory) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    file = fopen(whole, "w");
    if (file == NULL || fputs(contents, file) < 0 || fclose(file) != 0)
        bail_out("%s: %s", whole, strerror(errno));
    free(whole);
}

static const struct nic *find(const struct nic_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    }
    bail_out("%s is missing", name);
}

static void facts_are(const struct nic_list *list, const char *name, const char *pci,
                      const char *device, const char *address, uint16_t numa)
{
    const struct nic_facts *facts = &find(list, name)->facts;

    is_string(facts->texts[NIC_PCI], pci, "%s: PCI address", name);
    is_string(facts->texts[NIC_DEVICE], device, "%s: device", name);
    is_string(facts->texts[NIC_ADDRESS], address, "%s: address", name);
    is_uint(facts->numa, numa, "%s: NUMA node", name);
}

static void test_shown(void)
{
    struct nic_list list = {.items = NULL};
    struct error error = ERROR_NONE;

    is_int(nic_read_xml(machine, NULL, &list, &error), 0, "a machine in XML: %s", error.text);
    is_uint(list.count, 5, "has five network devices");
    facts_are(&list, "eth0", "0000:00:03.0", "0x1041", "02:fc:00:00:00:01", 0);
    facts_are(&list, "qib0", "0000:21:00.0", "0x7322", "0011:7500:0000:0001", 0);
    facts_are(&list, "mlx5_0", "0000:c1:00.0", "0x101b", "b859:9f03:00d1:2c3e", 1);
    facts_are(&list, "ib0", "0000:c1:00.0", "0x101b", "00:00:10:29", 1);
    facts_are(&list, "eth1", "0001:01:00.1", "0x1572", "", NIC_NUMA_UNKNOWN);
    is_string(find(&list, "ib0")->facts.texts[NIC_VENDOR], "0x15b3", "the vendor");
    ok(find(&list, "ib0")->kind == NIC_INTERFACE && find(&list, "mlx5_0")->kind == NIC_VERBS,
       "interfaces and verbs devices");
    ok(find(&list, "ib0")->facts.state == NIC_STATE_UNKNOWN && find(&list, "ib0")->facts.mtu == 0,
       "nobody has asked for their state");
    nic_list_fini(&list);
}

static void make_class(void)
{
    make("net/eth0/speed", "-1\n");
    make("net/eth0/mtu", "1400\n");
    make("net/eth0/type", "1\n");
    make("net/eth0/operstate", "down\n");
    make("net/ib0/speed", "100000\n");
    make("net/ib0/mtu", "4092\n");
    make("net/ib0/type", "32\n");
    make("net/ib0/operstate", "up\n");
    make("net/eth1/operstate", "unknown\n");
    make("net/lo/mtu", "65536\n");
    make("net/hsn0/device/mtu", "9000\n");
    make("infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
    make("infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    make("infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
    make("infiniband/qib0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
    make("infiniband/qib0/ports/1/state", "1: DOWN\n");
    make("infiniband/mlx5_0/ports/2/rate", "400 Gb/sec (4X NDR)\n");
    make("infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
    make("infiniband/mlx5_0/ports/2/link_layer", "Ethernet\n");
    make("infiniband/qib0/ports/2/rate", "10 Gb/sec (4X SDR)\n");
    make("infiniband/qib0/ports/2/state", "4: ACTIVE\n");
    make("infiniband/qib0/ports/3/rate", "20 Gb/sec (4X DDR)\n");
    make("infiniband/qib0/ports/3/state", "4: ACTIVE\n");
    make("infiniband/qib0/ports/5/rate", "40 Gb/sec (4X QDR)\n");
    make("infiniband/qib0/ports/5/state", "4: ACTIVE\n");
}

static void test_class(void)
{
    struct nic_list list = {.items = NULL};
    const struct nic_facts *facts;
    char *link;

    make_class();
    make("infiniband/mlx5_0/device/x", "");
    link = memory_printf("%s/infiniband/mlx5_0/device/driver", directory);
    ok(symlink("../../../bus/pci/drivers/mlx5_core", link) == 0, "a driver");
    free(link);
    is_int(nic_read_xml(machine, directory, &list, NULL), 0, "the kernel is asked");
    facts = &find(&list, "eth0")->facts;
    ok(facts->speed == 0 && facts->mtu == 1400 && facts->state == NIC_DOWN,
       "an interface that is down");
    is_string(facts->texts[NIC_TYPE], "Ethernet", "of Ethernet");
    is_string(facts->texts[NIC_DRIVER], "", "the driver is not known");
    facts = &find(&list, "ib0")->facts;
    ok(facts->speed == 100000000000u && facts->mtu == 4092 && facts->state == NIC_UP,
       "one that is up");
    is_string(facts->texts[NIC_TYPE], "InfiniBand", "of InfiniBand");
    ok(find(&list, "eth1")->facts.state == NIC_STATE_UNKNOWN, "one that does not say");
    facts = &find(&list, "mlx5_0")->facts;
    ok(facts->speed == 200000000000u && facts->state == NIC_UP,
       "a verbs device: of its ports the one that is up");
    is_string(facts->texts[NIC_TYPE], "InfiniBand", "its link layer");
    is_string(facts->texts[NIC_DRIVER], "mlx5_core", "its driver");
    facts = &find(&list, "qib0")->facts;
    ok(facts->speed == 20000000000u && facts->state == NIC_UP, "the fastest that is up");
    nic_list_fini(&list);
}

static void test_virtual(void)
{
    static const char *const names[] = {"lo", "hsn0", "other", "mlx5_0"};
    struct nic_list list = {.items = NULL};
    struct nic nic = {.kind = NIC_OF_LIBFABRIC};

    nic_facts_init(&nic.facts);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        nic_text_set(nic.name, sizeof(nic.name), names[i]);
        nic_list_add(&list, &nic);
    }
    nic_text_set(nic.name, sizeof(nic.name), "eth0");
    nic_pci_set(&nic.facts, 0, 0, 3, 0);
    nic_list_add(&list, &nic);
    nic_read_drop_virtual(directory, &list);
    is_uint(list.count, 4, "an interface without a device is dropped");
    is_string(list.items[0].name, "hsn0", "not one with a device");
    is_string(list.items[3].name, "eth0", "nor one with a PCI address");
    nic_list_fini(&list);
}

static char *read_machine(void)
{
    const char *srcdir = getenv("srcdir");
    char *path = memory_printf("%s/test/data/nics.xml", srcdir != NULL ? srcdir : ".");
    struct buffer contents = {0};
    char *text;

    if (file_read(path, 65536, &contents) < 0)
        bail_out("cannot read %s", path);
    text = memory_copy_string(buffer_string(&contents));
    buffer_fini(&contents);
    free(path);
    return text;
}

/* Whatever it has. */
static void test_this_machine(void)
{
    struct nic_list list = {.items = NULL};
    struct error error = ERROR_NONE;
    int valid = 1;

    is_int(nic_read(&list, &error), 0, "this machine: %s", error.text);
    for (uint32_t i = 0; i < list.count; i++)
        valid = valid && nic_pci_is_valid(list.items[i].facts.texts[NIC_PCI]) &&
                strcmp(list.items[i].name, "lo") != 0;
    ok(valid, "its %u network devices are below PCI devices", list.count);
    nic_list_fini(&list);
}

static void test_refused(void)
{
    struct nic_list list = {.items = NULL};
    struct error error = ERROR_NONE;

    ok(nic_read_xml("<nothing/>", NULL, &list, &error) < 0 && list.items == NULL,
       "no XML of hwloc");
    has_string(error.text, "hwloc cannot read the devices: ", "it says what was tried");
}

int main(void)
{
    const char *parent = getenv("TMPDIR");
    char *command;

    directory = memory_printf("%s/bt-nic.XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(directory) == NULL)
        bail_out("%s: %s", directory, strerror(errno));
    machine = read_machine();
    test_shown();
    test_class();
    test_virtual();
    test_this_machine();
    test_refused();
    command = memory_printf("rm -rf '%s'", directory);
    is_int(system(command), 0, "nothing is left");
    free(command);
    free(directory);
    free(machine);
    return done_testing();
}
