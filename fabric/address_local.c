/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine's own addresses, and which of them --net selects.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "fabric/address.h"

#define NET_ITEMS_MAX   32
#define NET_BYTES_MAX   1024
#define INTERFACE_BYTES 256
#define CANDIDATES_MAX  (ADDRESS_LIST_MAX + 1) /* one more, to detect that there are too many */

/* ---- --net ---- */

struct net_item {
    char interface[INTERFACE_BYTES]; /* "" if it is a CIDR */
    struct address prefix;
    unsigned int prefix_bits;
};

struct net_filter {
    int count;
    struct net_item items[NET_ITEMS_MAX];
};

/* 1 if it is a valid prefix length of the address. */
static int parse_bits(const char *text, const struct address *prefix, unsigned int *ret_bits)
{
    unsigned int bits_max = address_is_v6(prefix) ? 128 : 32;
    size_t length = strlen(text);

    if (length == 0 || length > 3 || strspn(text, "0123456789") != length)
        return 0;
    *ret_bits = (unsigned int)strtoul(text, NULL, 10);
    return *ret_bits <= bits_max;
}

static int parse_item(char *text, struct net_item *ret_item)
{
    char *slash = strchr(text, '/');

    *ret_item = (struct net_item){0};
    if (slash != NULL) {
        *slash = '\0';
        return address_parse_ip(text, &ret_item->prefix) == 0 &&
                       parse_bits(slash + 1, &ret_item->prefix, &ret_item->prefix_bits)
                   ? 0
                   : -EINVAL;
    }
    if (address_parse_ip(text, &ret_item->prefix) == 0) {
        ret_item->prefix_bits = address_is_v6(&ret_item->prefix) ? 128 : 32;
        return 0;
    }
    if (text[0] == '\0' || strlen(text) >= sizeof(ret_item->interface))
        return -EINVAL;
    memcpy(ret_item->interface, text, strlen(text) + 1);
    return 0;
}

static int parse_net(const char *net, struct net_filter *ret_filter, struct error *error)
{
    char text[NET_BYTES_MAX];
    char *next = text;
    char *item;

    ret_filter->count = 0;
    if (strlen(net) >= sizeof(text))
        return error_set(error, -EINVAL, "--net: the list is too long");
    memcpy(text, net, strlen(net) + 1);
    while ((item = strsep(&next, ",")) != NULL) {
        if (ret_filter->count == NET_ITEMS_MAX)
            return error_set(error, -EINVAL, "--net %s: more than %d items", net, NET_ITEMS_MAX);
        if (parse_item(item, &ret_filter->items[ret_filter->count++]) < 0)
            return error_set(error, -EINVAL,
                             "--net %s: item %d is neither an interface nor ADDRESS/BITS", net,
                             ret_filter->count);
    }
    return 0;
}

int address_net_check(const char *net, struct error *error)
{
    struct net_filter filter;

    return parse_net(net, &filter, error);
}

/* ---- Which ---- */

enum rank {
    RANK_WANTED,    /* and with --net the index of the matching item, times two */
    RANK_INTERNAL,  /* of a bridge of containers or virtual machines */
    RANK_LOOPBACK,  /* reaches no other machine */
    RANK_NOT_AT_ALL /* excluded by --net, or meaningless on other machines */
};

struct candidate {
    enum rank rank;
    int order; /* within a rank: lower is better */
    struct address address;
    char interface[IF_NAMESIZE];
};

struct candidates {
    int count;
    struct candidate items[CANDIDATES_MAX];
};

/* Bridges of containers and virtual machines: the same address on every machine. */
static int is_internal(const char *interface)
{
    static const char *const prefixes[] = {"docker", "br-", "virbr", "lxcbr", "lxdbr",
                                           "podman", "cni", "veth",  "vmnet", "flannel"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(interface, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    return 0;
}

/* The first item that matches, or -1. */
static int filter_find(const struct net_filter *filter, const char *interface,
                       const struct address *address)
{
    for (int i = 0; i < filter->count; i++) {
        const struct net_item *item = &filter->items[i];
        if (item->interface[0] != '\0'
                ? strcmp(item->interface, interface) == 0
                : address_has_prefix(address, &item->prefix, item->prefix_bits))
            return i;
    }
    return -1;
}

static void judge_candidate(const struct ifaddrs *entry, const struct net_filter *filter,
                            struct candidate *candidate)
{
    const struct sockaddr_in6 *v6 = (const void *)entry->ifa_addr;
    int is_v6 = address_is_v6(&candidate->address);
    int item = filter != NULL ? filter_find(filter, entry->ifa_name, &candidate->address) : 0;

    candidate->order = 2 * item + is_v6;
    /* A link-local address means nothing without its interface, which no peer knows. */
    if (item < 0 || (is_v6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)))
        candidate->rank = RANK_NOT_AT_ALL;
    else if (filter != NULL)
        candidate->rank = RANK_WANTED;
    else if (address_is_loopback(&candidate->address))
        candidate->rank = RANK_LOOPBACK;
    else
        candidate->rank = is_internal(entry->ifa_name) ? RANK_INTERNAL : RANK_WANTED;
}

static int goes_before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->order < b->order;
}

/* Sorted insertion, stable; if the list is full, the worst is dropped. */
static void add_candidate(struct candidates *list, const struct candidate *candidate)
{
    int at = list->count;

    while (at > 0 && goes_before(candidate, &list->items[at - 1]))
        at--;
    if (at == CANDIDATES_MAX)
        return;
    if (list->count < CANDIDATES_MAX)
        list->count++;
    memmove(&list->items[at + 1], &list->items[at],
            (size_t)(list->count - 1 - at) * sizeof(list->items[0]));
    list->items[at] = *candidate;
}

/* Only the best kind stays: bridges of containers only where there is nothing else, and so on. */
static void keep_best(struct candidates *list)
{
    int count = 0;

    while (count < list->count && list->items[count].rank == list->items[0].rank)
        count++;
    list->count = count;
}

/* ::1 reaches nothing that 127.0.0.1 does not; a second listener costs 0.03 ms of CPU a daemon. */
static int is_superfluous(const struct candidates *list, int index)
{
    const struct address *address = &list->items[index].address;

    if (!address_is_v6(address) || !address_is_loopback(address))
        return 0;
    for (int i = 0; i < list->count; i++)
        if (!address_is_v6(&list->items[i].address) && address_is_loopback(&list->items[i].address))
            return 1;
    return 0;
}

static int no_address(const char *net, const struct ifaddrs *list, struct error *error)
{
    struct buffer text = {0};
    int rc;

    for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
        char name[ADDRESS_TEXT_BYTES];
        struct address address;
        if (entry->ifa_addr == NULL || address_from_system(entry->ifa_addr, &address) < 0)
            continue;
        buffer_printf(&text, "%s%s %s%s", text.length_bytes > 0 ? ", " : "", entry->ifa_name,
                      address_print(&address, name),
                      (entry->ifa_flags & IFF_UP) != 0 ? "" : " (down)");
    }
    if (net != NULL)
        rc = error_set(error, -ENODEV, "--net %s matches no address of this machine; it has: %s",
                       net, buffer_string(&text));
    else
        rc = error_set(error, -ENODEV,
                       "this machine has no address on an interface that is up; it has: %s",
                       buffer_string(&text));
    buffer_fini(&text);
    return rc;
}

static void collect_candidates(const struct ifaddrs *list, const struct net_filter *filter,
                               struct candidates *ret_found)
{
    ret_found->count = 0;
    for (const struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
        struct candidate candidate = {0};
        if (entry->ifa_addr == NULL || (entry->ifa_flags & IFF_UP) == 0 ||
            address_from_system(entry->ifa_addr, &candidate.address) < 0)
            continue;
        snprintf(candidate.interface, sizeof(candidate.interface), "%s", entry->ifa_name);
        judge_candidate(entry, filter, &candidate);
        if (candidate.rank != RANK_NOT_AT_ALL)
            add_candidate(ret_found, &candidate);
    }
    if (ret_found->count > 0)
        keep_best(ret_found);
}

static int find_candidates(const char *net, struct candidates *ret_found, struct error *error)
{
    struct net_filter *filter = NULL;
    struct ifaddrs *list = NULL;
    int rc = 0;

    if (net != NULL) {
        filter = memory_allocate(sizeof(*filter));
        rc = parse_net(net, filter, error);
    }
    if (rc == 0 && getifaddrs(&list) < 0)
        rc = error_set(error, -errno, "cannot list network interfaces: %s", strerror(errno));
    if (rc == 0)
        collect_candidates(list, filter, ret_found);
    if (rc == 0 && ret_found->count == 0)
        rc = no_address(net, list, error);
    if (list != NULL)
        freeifaddrs(list);
    free(filter);
    return rc;
}

int address_list(const char *net, struct address *ret_list, int list_max, struct error *error)
{
    struct candidates *found = memory_allocate(sizeof(*found));
    int rc = find_candidates(net, found, error);
    int count = 0;

    for (int i = 0; rc == 0 && i < found->count; i++) {
        if (is_superfluous(found, i))
            continue;
        if (count < list_max)
            ret_list[count] = found->items[i].address;
        count++;
    }
    free(found);
    return rc < 0 ? rc : count;
}

int address_local(const char *net, struct addresses *ret_addresses, struct error *error)
{
    struct addresses addresses = {0};
    int count = address_list(net, addresses.items, ADDRESSES_MAX, error);

    if (count < 0)
        return count;
    addresses.count = (uint8_t)(count < ADDRESSES_MAX ? count : ADDRESSES_MAX);
    *ret_addresses = addresses;
    return count - addresses.count;
}

/* ---- What others are given ---- */

static void put_item(struct buffer *out, const char *text)
{
    buffer_printf(out, "%s%s", out->length_bytes > 0 ? "," : "", text);
}

static int is_first_of_interface(const struct candidates *list, int index)
{
    for (int i = 0; i < index; i++)
        if (strcmp(list->items[i].interface, list->items[index].interface) == 0)
            return 0;
    return 1;
}

/* The port of the device that an interface belongs to: dev_port counts from 0, RDMA from 1. */
static unsigned int rdma_port(const char *interface)
{
    char path[PATH_MAX];
    unsigned int port = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/sys/class/net/%s/dev_port", interface);
    file = fopen(path, "re");
    if (file == NULL)
        return 1;
    if (fscanf(file, "%u", &port) != 1)
        port = 0;
    fclose(file);
    return port + 1;
}

/* "mlx5_0:1" for each RDMA device of an interface. */
static void put_rdma_devices(struct buffer *out, const char *interface)
{
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *directory;

    snprintf(path, sizeof(path), "/sys/class/net/%s/device/infiniband", interface);
    directory = opendir(path);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s:%u", entry->d_name, rdma_port(interface));
        put_item(out, path);
    }
    if (directory != NULL)
        closedir(directory);
}

int address_net_interfaces(const char *net, struct buffer *interfaces, struct buffer *devices,
                           struct error *error)
{
    struct candidates *found = memory_allocate(sizeof(*found));
    int rc = find_candidates(net, found, error);

    for (int i = 0; rc == 0 && i < found->count; i++) {
        if (!is_first_of_interface(found, i))
            continue;
        put_item(interfaces, found->items[i].interface);
        put_rdma_devices(devices, found->items[i].interface);
        put_item(devices, found->items[i].interface);
    }
    free(found);
    return rc;
}
