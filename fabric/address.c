/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAMILY_V4        4
#define FAMILY_V6        6
#define HEADER_BYTES     3 /* family, port */
#define V4_BYTES         (HEADER_BYTES + 4)
#define V6_BYTES         (HEADER_BYTES + 16)
#define SCOPE_TEXT_BYTES (IF_NAMESIZE + 1)
#define SCOPED_BYTES     (V6_BYTES + 4) /* with the number of an interface of this machine */

static void set_scope(struct address *address, uint32_t scope)
{
    if (scope == 0)
        return;
    address->length_bytes = SCOPED_BYTES;
    for (int i = 0; i < 4; i++)
        address->bytes[V6_BYTES + i] = (uint8_t)(scope >> 8 * i);
}

static uint32_t scope_of(const struct address *address)
{
    uint32_t scope = 0;

    for (int i = 0; address->length_bytes == SCOPED_BYTES && i < 4; i++)
        scope |= (uint32_t)address->bytes[V6_BYTES + i] << 8 * i;
    return scope;
}

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
    ret_address->length_bytes = (uint8_t)(HEADER_BYTES + ip_bytes);
    ret_address->bytes[0] = ip_bytes == 4 ? FAMILY_V4 : FAMILY_V6;
    address_set_port(ret_address, port);
    memcpy(ret_address->bytes + HEADER_BYTES, ip, ip_bytes);
    if (ip_bytes == 16)
        set_scope(ret_address, ((const struct sockaddr_in6 *)(const void *)system)->sin6_scope_id);
    return 0;
}

static int is_valid(const struct address *address)
{
    if (address->length_bytes == V4_BYTES)
        return address->bytes[0] == FAMILY_V4;
    return (address->length_bytes == V6_BYTES || address->length_bytes == SCOPED_BYTES) &&
           address->bytes[0] == FAMILY_V6;
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
        v6->sin6_scope_id = scope_of(address);
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

int address_is_v6(const struct address *address)
{
    return is_valid(address) && address->bytes[0] == FAMILY_V6;
}

int address_has_prefix(const struct address *address, const struct address *prefix,
                       unsigned int prefix_bits)
{
    const uint8_t *a = prefix->bytes + HEADER_BYTES;
    const uint8_t *b = address->bytes + HEADER_BYTES;
    unsigned int whole = prefix_bits / 8;
    unsigned int rest = prefix_bits % 8;

    if (!is_valid(address) || !is_valid(prefix) || prefix->bytes[0] != address->bytes[0] ||
        prefix_bits > (address_is_v6(prefix) ? 128u : 32u) || memcmp(a, b, whole) != 0)
        return 0;
    return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
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

/* "%eth0", or its number where there is no such interface; "" without one. */
static void print_scope(uint32_t scope, char text[SCOPE_TEXT_BYTES])
{
    char name[IF_NAMESIZE];

    text[0] = '\0';
    if (scope == 0)
        return;
    if (if_indextoname(scope, name) != NULL)
        snprintf(text, SCOPE_TEXT_BYTES, "%%%s", name);
    else
        snprintf(text, SCOPE_TEXT_BYTES, "%%%u", scope);
}

const char *address_print(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
    char ip[INET6_ADDRSTRLEN] = "";
    char scope[SCOPE_TEXT_BYTES];
    uint16_t port = address_port(address);
    int is_v6;

    if (!is_valid(address)) {
        snprintf(text, ADDRESS_TEXT_BYTES, "?");
        return text;
    }
    is_v6 = address->bytes[0] == FAMILY_V6;
    inet_ntop(is_v6 ? AF_INET6 : AF_INET, address->bytes + HEADER_BYTES, ip, sizeof(ip));
    print_scope(scope_of(address), scope);
    if (port == 0)
        snprintf(text, ADDRESS_TEXT_BYTES, "%s%s", ip, scope);
    else
        snprintf(text, ADDRESS_TEXT_BYTES, is_v6 ? "[%s%s]:%u" : "%s%s:%u", ip, scope, port);
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

/* The name or number of an interface; 0 if there is no such interface. */
static uint32_t parse_scope(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    if (digits > 0 && digits < 10 && text[digits] == '\0')
        return (uint32_t)strtoul(text, NULL, 10);
    return if_nametoindex(text);
}

int address_parse_ip(const char *text, struct address *ret_address)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const char *percent = strchr(text, '%');
    char ip[INET6_ADDRSTRLEN];
    size_t bytes = percent != NULL ? (size_t)(percent - text) : strlen(text);

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return address_from_system((struct sockaddr *)&v4, ret_address);
    if (bytes >= sizeof(ip))
        return -EINVAL;
    memcpy(ip, text, bytes);
    ip[bytes] = '\0';
    if (percent != NULL)
        v6.sin6_scope_id = parse_scope(percent + 1);
    if ((percent != NULL && v6.sin6_scope_id == 0) || inet_pton(AF_INET6, ip, &v6.sin6_addr) != 1)
        return -EINVAL;
    return address_from_system((struct sockaddr *)&v6, ret_address);
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
        return error_set(error, -EINVAL, "\"%s\" is not a numeric address", text);
    memcpy(ip, text + skip, ip_bytes);
    ip[ip_bytes] = '\0';
    if (address_parse_ip(ip, &address) < 0 || (skip && address.bytes[0] != FAMILY_V6))
        return error_set(error, -EINVAL, "\"%s\" is not a numeric address", text);
    if (port != NULL) {
        if (parse_port(port) == 0)
            return error_set(error, -EINVAL, "\"%s\": the port is not 1..65535", text);
        address_set_port(&address, parse_port(port));
    }
    *ret_address = address;
    return 0;
}
