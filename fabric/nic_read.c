/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/nic_read.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwloc.h>

#include "base/memory.h"
#include "fabric/file_read.h"
#include "fabric/hwloc_start.h"

#define FILE_BYTES_MAX  4096
#define PORTS_MAX       255 /* of a verbs device */
#define BITS_IN_MEGABIT 1000000u
#define BITS_IN_GIGABIT 1e9

/* Of <linux/if_arp.h>, as /sys/class/net/NAME/type says them. */
#define TYPE_ETHERNET   1
#define TYPE_INFINIBAND 32

/* ---- What the kernel says ---- */

/* The first line of directory/name/file; "" if it cannot be read. */
static void read_line(const char *directory, const char *name, const char *file,
                      char ret_line[NIC_TEXT_BYTES])
{
    char *path = memory_printf("%s/%s/%s", directory, name, file);
    char line[NIC_TEXT_BYTES] = "";
    struct buffer contents = {0};

    if (file_read(path, FILE_BYTES_MAX, &contents) == 0) {
        const char *text = buffer_string(&contents);

        snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
    }
    nic_text_set(ret_line, NIC_TEXT_BYTES, line);
    buffer_fini(&contents);
    free(path);
}

/* 0 if it is not a number above 0. */
static uint64_t read_number(const char *directory, const char *name, const char *file)
{
    char line[NIC_TEXT_BYTES];
    int64_t number;

    read_line(directory, name, file, line);
    return sscanf(line, "%" SCNd64, &number) == 1 && number > 0 ? (uint64_t)number : 0;
}

static void read_driver(const char *directory, const char *name, struct nic_facts *facts)
{
    char *path = memory_printf("%s/%s/device/driver", directory, name);
    char target[FILE_BYTES_MAX];
    ssize_t bytes = readlink(path, target, sizeof(target) - 1);

    if (bytes > 0) {
        const char *slash;

        target[bytes] = '\0';
        slash = strrchr(target, '/');
        nic_text_set(facts->texts[NIC_DRIVER], NIC_TEXT_BYTES, slash != NULL ? slash + 1 : target);
    }
    free(path);
}

/* An interface that the kernel says nothing of may carry data. */
static enum nic_state state_of(const char *operstate)
{
    static const char *const down[] = {"down", "lowerlayerdown", "notpresent"};

    if (strcmp(operstate, "up") == 0)
        return NIC_UP;
    for (size_t i = 0; i < sizeof(down) / sizeof(down[0]); i++) {
        if (strcmp(operstate, down[i]) == 0)
            return NIC_DOWN;
    }
    return NIC_STATE_UNKNOWN;
}

static void ask_interface(const char *class, struct nic *nic)
{
    char *directory = memory_printf("%s/net", class);
    char line[NIC_TEXT_BYTES];
    uint64_t type = read_number(directory, nic->name, "type");
    uint64_t mtu = read_number(directory, nic->name, "mtu");
    uint64_t speed = read_number(directory, nic->name, "speed");

    nic->facts.speed = speed <= INT64_MAX / BITS_IN_MEGABIT ? speed * BITS_IN_MEGABIT : 0;
    nic->facts.mtu = mtu <= UINT32_MAX ? (uint32_t)mtu : 0;
    read_line(directory, nic->name, "operstate", line);
    nic->facts.state = (uint8_t)state_of(line);
    if (type == TYPE_ETHERNET || type == TYPE_INFINIBAND)
        nic_text_set(nic->facts.texts[NIC_TYPE], NIC_TEXT_BYTES,
                     type == TYPE_ETHERNET ? "Ethernet" : "InfiniBand");
    read_driver(directory, nic->name, &nic->facts);
    free(directory);
}

static int exists(const char *class, const char *name, const char *file)
{
    char *path = memory_printf("%s/%s%s", class, name, file);
    int is_there = access(path, F_OK) == 0;

    free(path);
    return is_there;
}

/* "100 Gb/sec (4X EDR)", "4: ACTIVE". */
static void ask_port(const char *ports, const char *number, struct nic_facts *facts)
{
    char line[NIC_TEXT_BYTES];
    double rate;

    read_line(ports, number, "rate", line);
    if (sscanf(line, "%lf Gb", &rate) == 1 && rate > 0 && rate < 1e9)
        facts->speed = (uint64_t)(rate * BITS_IN_GIGABIT);
    read_line(ports, number, "state", line);
    if (line[0] != '\0')
        facts->state = strstr(line, "ACTIVE") != NULL ? NIC_UP : NIC_DOWN;
    read_line(ports, number, "link_layer", facts->texts[NIC_TYPE]);
}

/* One that is up, then the fastest. */
static int is_better(const struct nic_facts *facts, const struct nic_facts *other)
{
    int is_up = facts->state == NIC_UP;

    return is_up != (other->state == NIC_UP) ? is_up : facts->speed > other->speed;
}

/* What its best port is. */
static void ask_verbs(const char *class, struct nic *nic)
{
    char *directory = memory_printf("%s/infiniband", class);
    char *ports = memory_printf("%s/%s/ports", directory, nic->name);
    const struct nic_facts unasked = nic->facts;

    for (unsigned int i = 1; i <= PORTS_MAX; i++) {
        struct nic_facts facts = unasked;
        char number[12];

        snprintf(number, sizeof(number), "%u", i);
        if (!exists(ports, number, ""))
            break;
        ask_port(ports, number, &facts);
        if (i == 1 || is_better(&facts, &nic->facts))
            nic->facts = facts;
    }
    read_driver(directory, nic->name, &nic->facts);
    free(ports);
    free(directory);
}

void nic_read_drop_virtual(const char *class, struct nic_list *list)
{
    char *interfaces = memory_printf("%s/net", class);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const struct nic *nic = &list->items[i];

        if (nic->facts.texts[NIC_PCI][0] == '\0' && exists(interfaces, nic->name, "") &&
            !exists(interfaces, nic->name, "/device"))
            continue;
        list->items[kept++] = *nic;
    }
    list->count = kept;
    free(interfaces);
}

/* ---- What hwloc shows ---- */

static hwloc_obj_t card_of(hwloc_obj_t object)
{
    while (object != NULL && object->type != HWLOC_OBJ_PCI_DEVICE)
        object = object->parent;
    return object;
}

/* Unknown where several are near. */
static uint16_t numa_of(hwloc_topology_t topology, hwloc_obj_t object)
{
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology, object);
    int first = near != NULL && near->nodeset != NULL ? hwloc_bitmap_first(near->nodeset) : -1;

    if (first < 0 || first >= NIC_NUMA_UNKNOWN || hwloc_bitmap_weight(near->nodeset) != 1)
        return NIC_NUMA_UNKNOWN;
    return (uint16_t)first;
}

static void fill_card(const struct hwloc_pcidev_attr_s *pci, struct nic_facts *facts)
{
    nic_pci_set(facts, pci->domain, pci->bus, pci->dev, pci->func);
    snprintf(facts->texts[NIC_VENDOR], NIC_TEXT_BYTES, "0x%04x", pci->vendor_id);
    snprintf(facts->texts[NIC_DEVICE], NIC_TEXT_BYTES, "0x%04x", pci->device_id);
}

static void add_device(hwloc_topology_t topology, hwloc_obj_t object, const char *class,
                       struct nic_list *list)
{
    hwloc_obj_t card = card_of(object);
    int is_interface = object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
    struct nic nic = {.kind = is_interface ? NIC_INTERFACE : NIC_VERBS};

    if (card == NULL || object->name == NULL)
        return;
    assert(is_interface || object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS);
    nic_facts_init(&nic.facts);
    nic_text_set(nic.name, sizeof(nic.name), object->name);
    if (nic.name[0] == '\0')
        return;
    fill_card(&card->attr->pcidev, &nic.facts);
    nic.facts.numa = numa_of(topology, object);
    nic_text_set(nic.facts.texts[NIC_ADDRESS], NIC_TEXT_BYTES,
                 hwloc_obj_get_info_by_name(object, is_interface ? "Address" : "NodeGUID"));
    if (class != NULL && is_interface)
        ask_interface(class, &nic);
    else if (class != NULL)
        ask_verbs(class, &nic);
    nic_list_add(list, &nic);
}

static void add_devices(hwloc_topology_t topology, const char *class, struct nic_list *list)
{
    hwloc_obj_t object = NULL;

    while ((object = hwloc_get_next_osdev(topology, object)) != NULL) {
        if (object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
            object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
            add_device(topology, object, class, list);
    }
}

static int load(const char *xml, hwloc_topology_t *ret_topology)
{
    hwloc_topology_t topology;
    int rc = hwloc_start(&topology);

    if (rc < 0)
        return rc;
    errno = EINVAL;
    rc = xml != NULL ? hwloc_topology_set_xmlbuffer(topology, xml, (int)strlen(xml) + 1) : 0;
    if (rc == 0)
        rc = hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (rc == 0)
        rc = hwloc_topology_load(topology);
    if (rc < 0) {
        rc = errno > 0 ? -errno : -EINVAL;
        hwloc_topology_destroy(topology);
        return rc;
    }
    *ret_topology = topology;
    return 0;
}

static int read_with(const char *xml, const char *class, struct nic_list *ret_list,
                     struct error *error)
{
    struct nic_list list = {.items = NULL};
    hwloc_topology_t topology = NULL;
    int rc = load(xml, &topology);

    if (rc < 0)
        return error_set(error, rc, "hwloc cannot read the devices: %s", strerror(-rc));
    if (xml == NULL && !hwloc_topology_is_thissystem(topology))
        class = NULL;
    add_devices(topology, class, &list);
    hwloc_topology_destroy(topology);
    *ret_list = list;
    return 0;
}

int nic_read(struct nic_list *ret_list, struct error *error)
{
    return read_with(NULL, NIC_READ_CLASS, ret_list, error);
}

int nic_read_xml(const char *xml, const char *class, struct nic_list *ret_list, struct error *error)
{
    return read_with(xml, class, ret_list, error);
}
