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
    if (facts->state == NIC_STATE_UNKNOWN || others->state == NIC_UP)
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
    if (bus > 0xff || device > 0x1f || function > 7)
        nic_text_set(facts->texts[NIC_PCI], NIC_TEXT_BYTES, NULL);
    else
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
    return strcmp(facts.texts[NIC_PCI], text) == 0;
}

bool nic_facts_are_valid(const struct nic_facts *facts)
{
    for (int i = 0; i < NIC_TEXT_COUNT; i++) {
        if (facts->texts[i][0] != '\0' && !nic_text_is_valid(facts->texts[i]))
            return false;
    }
    return facts->state < NIC_STATE_COUNT &&
           (facts->texts[NIC_PCI][0] == '\0' || nic_pci_is_valid(facts->texts[NIC_PCI]));
}

/* ---- Lists ---- */

void nic_list_fini(struct nic_list *list)
{
    free(list->items);
    *list = (struct nic_list){.items = NULL};
}

void nic_list_add(struct nic_list *list, const struct nic *nic)
{
    if (list->count == NIC_LIST_MAX) {
        list->is_cut = true;
        return;
    }
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

/* The nearer, the lower: devices of its name, then verbs devices, then interfaces of its PCI address. */
enum nearness { OF_NAME, OF_CARD_VERBS, OF_CARD, NEARNESS_COUNT };

static enum nearness nearness_of(const struct nic *nic, const struct nic *other)
{
    if (strcmp(nic->name, other->name) == 0)
        return OF_NAME;
    return other->kind == NIC_VERBS ? OF_CARD_VERBS : OF_CARD;
}

/* Another device of the card may be down alone: a port without a cable, an interface that nobody has set up. */
static void fill_from(struct nic *nic, const struct nic_list *hwloc)
{
    for (int nearness = 0; nearness < NEARNESS_COUNT; nearness++) {
        for (uint32_t i = 0; i < hwloc->count; i++) {
            struct nic other = hwloc->items[i];

            if ((int)nearness_of(nic, &other) != nearness || !is_same(nic, &other))
                continue;
            if (nearness != OF_NAME && other.facts.state == NIC_DOWN)
                other.facts.state = NIC_STATE_UNKNOWN;
            nic_facts_fill(&nic->facts, &other.facts);
        }
    }
}

/* InfiniBand carries data also if its interface, of IP, is down. */
static bool has_interface(const struct nic_list *hwloc, const struct nic *nic)
{
    for (uint32_t i = 0; i < hwloc->count; i++) {
        const struct nic *other = &hwloc->items[i];

        if (other->kind == NIC_INTERFACE && other->facts.state != NIC_DOWN && is_same(other, nic))
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
    int order = strverscmp(left->name, right->name);

    return order != 0 ? order : strcmp(pci_of(left), pci_of(right));
}

static bool is_taken(const struct nic_list *list, uint32_t before, const char *name)
{
    for (uint32_t i = 0; i < before; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return true;
    }
    return false;
}

/* What is added fits: long names lose their end. */
static void rename_nic(struct nic_list *list, uint32_t number)
{
    struct nic *nic = &list->items[number];
    char name[NIC_NAME_BYTES];

    if (pci_of(nic)[0] != '\0')
        snprintf(name, sizeof(name), "%.40s@%.20s", nic->name, pci_of(nic));
    else
        memcpy(name, nic->name, sizeof(name));
    for (uint32_t i = 2; is_taken(list, number, name); i++)
        snprintf(name, sizeof(name), "%.40s#%u", nic->name, i);
    memcpy(nic->name, name, sizeof(name));
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
    for (uint32_t i = 1; i < list.count; i++) {
        if (is_taken(&list, i, list.items[i].name))
            rename_nic(&list, i);
    }
    list.is_cut = list.is_cut || libfabric->is_cut || hwloc->is_cut;
    *ret_list = list;
}
