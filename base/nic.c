/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/nic.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* ---- Facts ---- */

void nic_facts_init(struct nic_facts *facts)
{
    *facts = (struct nic_facts){.numa = NIC_NUMA_UNKNOWN};
}

bool nic_facts_known(const struct nic_facts *facts)
{
    for (int i = 0; i < NIC_TEXT_COUNT; i++) {
        if (facts->texts[i][0] != '\0')
            return true;
    }
    return facts->speed > 0 || facts->mtu > 0 || facts->numa != NIC_NUMA_UNKNOWN ||
           facts->state != NIC_STATE_UNKNOWN;
}

void nic_facts_fill(struct nic_facts *facts, const struct nic_facts *others)
{
    for (int i = 0; i < NIC_TEXT_COUNT; i++) {
        if (facts->texts[i][0] == '\0')
            memcpy(facts->texts[i], others->texts[i], NIC_TEXT_BYTES);
    }
    if (facts->speed == 0)
        facts->speed = others->speed;
    if (facts->mtu == 0)
        facts->mtu = others->mtu;
    if (facts->numa == NIC_NUMA_UNKNOWN)
        facts->numa = others->numa;
    if (facts->state == NIC_STATE_UNKNOWN)
        facts->state = others->state;
}

void nic_text_set(char *text, size_t text_bytes, const char *value)
{
    size_t bytes = value != NULL ? strnlen(value, text_bytes - 1) : 0;

    assert(text_bytes > 0);
    memset(text, 0, text_bytes);
    for (size_t i = 0; i < bytes; i++)
        text[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : ' ';
    while (bytes > 0 && text[bytes - 1] == ' ')
        text[--bytes] = '\0';
}

bool nic_text_is_valid(const char *text)
{
    char clean[NIC_TEXT_BYTES];

    nic_text_set(clean, sizeof(clean), text);
    return clean[0] != '\0' && strcmp(clean, text) == 0;
}

void nic_pci_set(struct nic_facts *facts, uint32_t domain, uint32_t bus, uint32_t device,
                 uint32_t function)
{
    snprintf(facts->texts[NIC_PCI], NIC_TEXT_BYTES, "%04x:%02x:%02x.%x", domain, bus, device,
             function);
}

bool nic_pci_is_valid(const char *text)
{
    unsigned int domain, bus, device, function;
    struct nic_facts facts;

    if (sscanf(text, "%8x:%2x:%2x.%1x", &domain, &bus, &device, &function) != 4)
        return false;
    nic_pci_set(&facts, domain, bus, device, function);
    return device < 32 && function < 8 && strcmp(facts.texts[NIC_PCI], text) == 0;
}

/* ---- Lists ---- */

void nic_list_fini(struct nic_list *list)
{
    free(list->items);
    *list = (struct nic_list){.items = NULL};
}

void nic_list_add(struct nic_list *list, const struct nic *nic)
{
    if (list->count == NIC_LIST_MAX)
        return;
    if ((list->count & (list->count - 1)) == 0)
        list->items = memory_resize(list->items, (2 * (size_t)list->count + 1) * sizeof(*nic));
    list->items[list->count++] = *nic;
}

static bool is_equal(const struct nic *nic, const struct nic *other)
{
    const struct nic_facts *facts = &nic->facts, *others = &other->facts;

    for (int i = 0; i < NIC_TEXT_COUNT; i++) {
        if (strcmp(facts->texts[i], others->texts[i]) != 0)
            return false;
    }
    return nic->kind == other->kind && strcmp(nic->name, other->name) == 0 &&
           strcmp(nic->fabric, other->fabric) == 0 && facts->speed == others->speed &&
           facts->mtu == others->mtu && facts->numa == others->numa &&
           facts->state == others->state;
}

void nic_list_add_new(struct nic_list *list, const struct nic *nic)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (is_equal(&list->items[i], nic))
            return;
    }
    nic_list_add(list, nic);
}

static const char *pci_of(const struct nic *nic)
{
    return nic->facts.texts[NIC_PCI];
}

static bool is_same(const struct nic *nic, const struct nic *other)
{
    if (pci_of(nic)[0] != '\0' && pci_of(other)[0] != '\0')
        return strcmp(pci_of(nic), pci_of(other)) == 0;
    return strcmp(nic->name, other->name) == 0;
}

static struct nic *find_same(const struct nic_list *list, const struct nic *nic)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (is_same(&list->items[i], nic))
            return &list->items[i];
    }
    return NULL;
}

/* Providers of sockets know the name of an interface only. */
static void find_place(struct nic *nic, const struct nic_list *hwloc)
{
    for (uint32_t i = 0; i < hwloc->count && pci_of(nic)[0] == '\0'; i++) {
        if (strcmp(hwloc->items[i].name, nic->name) == 0)
            memcpy(nic->facts.texts[NIC_PCI], pci_of(&hwloc->items[i]), NIC_TEXT_BYTES);
    }
}

/* Each is described once for every provider and kind of endpoint, and perhaps as the interface of a card, too. */
static void take_described(const struct nic_list *libfabric, const struct nic_list *hwloc,
                           struct nic_list *list)
{
    for (uint32_t i = 0; i < libfabric->count; i++) {
        struct nic nic = libfabric->items[i], *same;

        find_place(&nic, hwloc);
        same = find_same(list, &nic);
        if (same == NULL) {
            nic_list_add(list, &nic);
            continue;
        }
        nic_facts_fill(&same->facts, &nic.facts);
        if (same->fabric[0] == '\0')
            memcpy(same->fabric, nic.fabric, sizeof(same->fabric));
    }
}

/* An interface of the same name first, then all that share its PCI address. */
static void fill_from(struct nic *nic, const struct nic_list *hwloc)
{
    for (int by_name = 1; by_name >= 0; by_name--) {
        for (uint32_t i = 0; i < hwloc->count; i++) {
            const struct nic *other = &hwloc->items[i];

            if ((strcmp(nic->name, other->name) == 0) == by_name && is_same(nic, other))
                nic_facts_fill(&nic->facts, &other->facts);
        }
    }
}

static bool has_interface(const struct nic_list *hwloc, const struct nic *nic)
{
    for (uint32_t i = 0; i < hwloc->count; i++) {
        if (hwloc->items[i].kind == NIC_INTERFACE && is_same(&hwloc->items[i], nic))
            return true;
    }
    return false;
}

static void take_interfaces(const struct nic_list *hwloc, struct nic_list *list)
{
    for (uint32_t i = 0; i < hwloc->count; i++) {
        const struct nic *nic = &hwloc->items[i];

        if (pci_of(nic)[0] != '\0' && nic->facts.state != NIC_DOWN &&
            (nic->kind == NIC_INTERFACE || !has_interface(hwloc, nic)))
            nic_list_add(list, nic);
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct nic *left = a, *right = b;

    return strverscmp(left->name, right->name);
}

void nic_list_join(const struct nic_list *libfabric, const struct nic_list *hwloc,
                   struct nic_list *ret_list)
{
    struct nic_list list = {.items = NULL};

    take_described(libfabric, hwloc, &list);
    for (uint32_t i = 0; i < list.count; i++)
        fill_from(&list.items[i], hwloc);
    if (list.count == 0)
        take_interfaces(hwloc, &list);
    if (list.count > 1)
        qsort(list.items, list.count, sizeof(*list.items), compare_names);
    *ret_list = list;
}
