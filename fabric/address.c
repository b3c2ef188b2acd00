/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define FAMILY_V4       4
#define FAMILY_V6       6
#define HEADER_BYTES    3 /* family, port */
#define NET_ITEMS_MAX   32
#define NET_BYTES_MAX   1024
#define INTERFACE_BYTES 256

int address_from_system(const struct sockaddr *system, struct address *ret_address)
{
    const void *ip;
    uint8_t ip_bytes;
    uint16_t port;

    if (system->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)system;
        ip = &v4->sin_addr;
        ip_bytes = 4;
        port = ntohs(v4->sin_port);
    } else if (system->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)system;
        ip = &v6->sin6_addr;
        ip_bytes = 16;
        port = ntohs(v6->sin6_port);
    } else {
        return -EAFNOSUPPORT;
    }
    *ret_address = (struct address){0};
    ret_address->length_bytes = HEADER_BYTES + ip_bytes;
    ret_address->bytes[0] = ip_bytes == 4 ? FAMILY_V4 : FAMILY_V6;
    address_set_port(ret_address, port);
    memcpy(ret_address->bytes + HEADER_BYTES, ip, ip_bytes);
    return 0;
}

static int is_valid(const struct address *address)
{
    if (address->length_bytes == HEADER_BYTES + 4)
        return address->bytes[0] == FAMILY_V4;
    return address->length_bytes == HEADER_BYTES + 16 && address->bytes[0] == FAMILY_V6;
}

int address_to_system(const struct address *address, struct sockaddr_storage *ret_system,
                      socklen_t *ret_bytes)
{
    if (!is_valid(address))
        return -EINVAL;
    memset(ret_system, 0, sizeof(*ret_system));
    if (address->bytes[0] == FAMILY_V4) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret_system;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(address_port(address));
        memcpy(&v4->sin_addr, address->bytes + HEADER_BYTES, 4);
        *ret_bytes = sizeof(*v4);
    } else {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_system;
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(address_port(address));
        memcpy(&v6->sin6_addr, address->bytes + HEADER_BYTES, 16);
        *ret_bytes = sizeof(*v6);
    }
    return 0;
}

uint16_t address_port(const struct address *address)
{
    if (!is_valid(address))
        return 0;
    return (uint16_t)(address->bytes[1] | address->bytes[2] << 8);
}

void address_set_port(struct address *address, uint16_t port)
{
    address->bytes[1] = (uint8_t)(port & 0xff);
    address->bytes[2] = (uint8_t)(port >> 8);
}

int address_equal(const struct address *a, const struct address *b)
{
    return a->length_bytes == b->length_bytes && memcmp(a->bytes, b->bytes, a->length_bytes) == 0;
}

int address_is_loopback(const struct address *address)
{
    static const uint8_t v6_loopback[16] = {[15] = 1};

    if (!is_valid(address))
        return 0;
    if (address->bytes[0] == FAMILY_V4)
        return address->bytes[HEADER_BYTES] == 127;
    return memcmp(address->bytes + HEADER_BYTES, v6_loopback, sizeof(v6_loopback)) == 0;
}

/* ---- Text ---- */

const char *address_print(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
    char ip[INET6_ADDRSTRLEN] = "";
    uint16_t port = address_port(address);
    int is_v6;

    if (!is_valid(address)) {
        snprintf(text, ADDRESS_TEXT_BYTES, "?");
        return text;
    }
    is_v6 = address->bytes[0] == FAMILY_V6;
    inet_ntop(is_v6 ? AF_INET6 : AF_INET, address->bytes + HEADER_BYTES, ip, sizeof(ip));
    if (port == 0)
        snprintf(text, ADDRESS_TEXT_BYTES, "%s", ip);
    else
        snprintf(text, ADDRESS_TEXT_BYTES, is_v6 ? "[%s]:%u" : "%s:%u", ip, port);
    return text;
}

/* Digits only, 1..65535; 0 if it is anything else. */
static uint16_t parse_port(const char *text)
{
    unsigned long port;

    if (strspn(text, "0123456789") != strlen(text) || strlen(text) == 0 || strlen(text) > 5)
        return 0;
    port = strtoul(text, NULL, 10);
    return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static int parse_ip(const char *text, struct address *ret_address)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return address_from_system((struct sockaddr *)&v4, ret_address);
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
        return address_from_system((struct sockaddr *)&v6, ret_address);
    return -EINVAL;
}

int address_parse(const char *text, struct address *ret_address, struct error *error)
{
    char ip[ADDRESS_TEXT_BYTES];
    struct address address;
    const char *colon = strrchr(text, ':');
    const char *port = NULL;
    size_t ip_bytes = strlen(text);
    int skip = 0;

    if (text[0] == '[') {
        const char *bracket = strchr(text, ']');
        skip = 1;
        ip_bytes = bracket != NULL ? (size_t)(bracket - text) - 1 : sizeof(ip);
        if (bracket != NULL && bracket[1] == ':')
            port = bracket + 2;
        else if (bracket != NULL && bracket[1] != '\0')
            ip_bytes = sizeof(ip);
    } else if (colon != NULL && strchr(text, ':') == colon) {
        ip_bytes = (size_t)(colon - text);
        port = colon + 1;
    }
    if (ip_bytes >= sizeof(ip))
        return error_set(error, -EINVAL, "\"%s\" is no numeric address", text);
    memcpy(ip, text + skip, ip_bytes);
    ip[ip_bytes] = '\0';
    if (parse_ip(ip, &address) < 0 || (skip && address.bytes[0] != FAMILY_V6))
        return error_set(error, -EINVAL, "\"%s\" is no numeric address", text);
    if (port != NULL) {
        if (parse_port(port) == 0)
            return error_set(error, -EINVAL, "\"%s\": the port is not 1..65535", text);
        address_set_port(&address, parse_port(port));
    }
    *ret_address = address;
    return 0;
}

/* ---- The machine's own ---- */

struct net_item {
    char interface[INTERFACE_BYTES]; /* "" if it is a CIDR */
    struct address prefix;
    unsigned int prefix_bits;
};

struct net_filter {
    int count;
    struct net_item items[NET_ITEMS_MAX];
};

static int parse_cidr(char *text, char *slash, struct net_item *ret_item)
{
    unsigned int bits_max;

    *slash = '\0';
    if (parse_ip(text, &ret_item->prefix) < 0)
        return -EINVAL;
    bits_max = ret_item->prefix.bytes[0] == FAMILY_V4 ? 32 : 128;
    if (strcmp(slash + 1, "0") == 0)
        ret_item->prefix_bits = 0;
    else
        ret_item->prefix_bits = parse_port(slash + 1);
    if (strcmp(slash + 1, "0") != 0 &&
        (ret_item->prefix_bits == 0 || ret_item->prefix_bits > bits_max))
        return -EINVAL;
    return 0;
}

static int parse_item(char *text, struct net_item *ret_item)
{
    char *slash = strchr(text, '/');

    *ret_item = (struct net_item){0};
    if (slash != NULL)
        return parse_cidr(text, slash, ret_item);
    if (parse_ip(text, &ret_item->prefix) == 0) {
        ret_item->prefix_bits = ret_item->prefix.bytes[0] == FAMILY_V4 ? 32 : 128;
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

static int prefix_matches(const struct net_item *item, const struct address *address)
{
    const uint8_t *a = item->prefix.bytes + HEADER_BYTES;
    const uint8_t *b = address->bytes + HEADER_BYTES;
    unsigned int whole = item->prefix_bits / 8;
    unsigned int rest = item->prefix_bits % 8;

    if (item->prefix.bytes[0] != address->bytes[0] || memcmp(a, b, whole) != 0)
        return 0;
    return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

/* Bridges that containers and virtual machines hang on: the same address on every machine. */
static int is_bridge(const char *interface)
{
    static const char *const prefixes[] = {"docker", "br-", "virbr", "lxcbr", "lxdbr",
                                           "podman", "cni", "veth",  "vmnet", "flannel"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(interface, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    return 0;
}

/* Lower is better; negative: not at all. */
static int rank_of(const struct ifaddrs *entry, const struct address *address,
                   const struct net_filter *filter)
{
    const struct sockaddr_in6 *v6 = (const void *)entry->ifa_addr;
    int is_v6 = address->bytes[0] == FAMILY_V6;

    /* A link-local address means nothing without its interface, which no peer knows. */
    if (is_v6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
        return -1;
    for (int i = 0; filter != NULL && i < filter->count; i++) {
        const struct net_item *item = &filter->items[i];
        if (item->interface[0] != '\0' ? strcmp(item->interface, entry->ifa_name) == 0
                                       : prefix_matches(item, address))
            return i * 2 + is_v6;
    }
    if (filter != NULL)
        return -1;
    if (address_is_loopback(address))
        return 4 + is_v6;
    return (is_bridge(entry->ifa_name) ? 2 : 0) + is_v6;
}

struct candidate {
    int rank;
    struct address address;
};

/* Keeps the best ADDRESSES_MAX, equal ranks in their order. */
static void add_candidate(struct candidate *candidates, int *count, int rank,
                          const struct address *address)
{
    int at = *count;

    while (at > 0 && candidates[at - 1].rank > rank)
        at--;
    if (at == ADDRESSES_MAX)
        return;
    if (*count < ADDRESSES_MAX)
        (*count)++;
    memmove(candidates + at + 1, candidates + at, (size_t)(*count - 1 - at) * sizeof(*candidates));
    candidates[at] = (struct candidate){.rank = rank, .address = *address};
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
        rc = error_set(error, -ENODEV, "--net %s fits no address of this machine; there are: %s",
                       net, buffer_string(&text));
    else
        rc = error_set(error, -ENODEV, "this machine has no address that is up; there are: %s",
                       buffer_string(&text));
    buffer_fini(&text);
    return rc;
}

/* ::1 leads nowhere where 127.0.0.1 does not; a second listener costs 0.03 ms of CPU a daemon. */
static int is_superfluous(const struct candidate *candidates, int count, int index)
{
    if (candidates[index].address.bytes[0] != FAMILY_V6 ||
        !address_is_loopback(&candidates[index].address))
        return 0;
    for (int i = 0; i < count; i++)
        if (candidates[i].address.bytes[0] == FAMILY_V4 &&
            address_is_loopback(&candidates[i].address))
            return 1;
    return 0;
}

int address_local(const char *net, struct addresses *ret_addresses, struct error *error)
{
    struct net_filter *filter = NULL;
    struct candidate candidates[ADDRESSES_MAX + 1];
    struct ifaddrs *list = NULL;
    int count = 0;
    int rc = 0;

    if (net != NULL) {
        filter = memory_allocate(sizeof(*filter));
        rc = parse_net(net, filter, error);
    }
    if (rc == 0 && getifaddrs(&list) < 0)
        rc = error_set(error, -errno, "cannot list network interfaces: %s", strerror(errno));
    for (struct ifaddrs *entry = list; entry != NULL; entry = entry->ifa_next) {
        struct address address;
        int rank;
        if (entry->ifa_addr == NULL || (entry->ifa_flags & IFF_UP) == 0 ||
            address_from_system(entry->ifa_addr, &address) < 0)
            continue;
        rank = rank_of(entry, &address, filter);
        if (rank >= 0)
            add_candidate(candidates, &count, rank, &address);
    }
    if (rc == 0 && count == 0)
        rc = no_address(net, list, error);
    if (rc == 0) {
        *ret_addresses = (struct addresses){0};
        for (int i = 0; i < count; i++)
            if ((filter != NULL || candidates[i].rank < 4 || candidates[0].rank >= 4) &&
                !is_superfluous(candidates, count, i))
                ret_addresses->items[ret_addresses->count++] = candidates[i].address;
    }
    if (list != NULL)
        freeifaddrs(list);
    free(filter);
    return rc;
}
