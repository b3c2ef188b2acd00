/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses, and the description of this machine for others: fabric/address.h for users of the
 * library. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/address.h"
#include "fabric/sock.h"

#define HOST_NAME_BYTES_MAX 255

_Static_assert(BANYAN_SOCK_ADDRESSES_MAX == ADDRESS_LIST_MAX,
               "a description holds a whole machine");

int banyan_sock_address_parse(const char *text, struct address *ret_address, struct error *error)
{
    return address_parse(text, ret_address, error);
}

const char *banyan_sock_address_print(const struct address *address, char *text)
{
    return address_print(address, text);
}

uint16_t banyan_sock_address_port(const struct address *address)
{
    return address_port(address);
}

void banyan_sock_address_set_port(struct address *address, uint16_t port)
{
    address_set_port(address, port);
}

int banyan_sock_address_from_system(const struct sockaddr *system, struct address *ret_address)
{
    return address_from_system(system, ret_address);
}

int banyan_sock_address_to_system(const struct address *address,
                                  struct sockaddr_storage *ret_system, socklen_t *ret_bytes)
{
    return address_to_system(address, ret_system, ret_bytes);
}

int banyan_sock_host_addresses(const char *net, struct address *ret_addresses, int addresses_max,
                               struct error *error)
{
    int count = address_list(net, ret_addresses, addresses_max, error);

    if (count > BANYAN_SOCK_ADDRESSES_MAX)
        return error_set(error, -E2BIG,
                         "this machine has more than %d addresses: choose by interface or CIDR",
                         BANYAN_SOCK_ADDRESSES_MAX);
    return count;
}

static void put_host(struct buffer *line, const struct address *addresses, int count)
{
    char name[HOST_NAME_BYTES_MAX + 1] = "";

    if (gethostname(name, sizeof(name) - 1) < 0 || name[0] == '\0')
        snprintf(name, sizeof(name), "localhost");
    buffer_append_string(line, name);
    for (int i = 0; i < count; i++) {
        char address[ADDRESS_TEXT_BYTES];
        buffer_printf(line, " %s", address_print(&addresses[i], address));
    }
}

int banyan_sock_describe_host(const char *net, char *text, size_t text_bytes, struct error *error)
{
    struct address *addresses = memory_allocate(BANYAN_SOCK_ADDRESSES_MAX * sizeof(*addresses));
    struct buffer line = {0};
    int rc = banyan_sock_host_addresses(net, addresses, BANYAN_SOCK_ADDRESSES_MAX, error);

    if (rc >= 0) {
        put_host(&line, addresses, rc);
        rc = 0;
        if (line.length_bytes < text_bytes)
            memcpy(text, buffer_string(&line), line.length_bytes + 1);
        else
            rc = error_set(error, -ENOSPC,
                           "the description of this machine needs %zu bytes, not %zu",
                           line.length_bytes + 1, text_bytes);
    }
    buffer_fini(&line);
    free(addresses);
    return rc;
}
