/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/pair_network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void key_of(uint32_t rank, char ret_key[32])
{
    snprintf(ret_key, 32, "pair-%u", rank);
}

void pair_network_addresses(struct addresses *ret_addresses)
{
    const char *text = getenv("MPICH_INTERFACE_HOSTNAME");

    *ret_addresses = (struct addresses){.count = 0};
    if (text != NULL && address_parse_ip(text, &ret_addresses->items[0]) == 0)
        ret_addresses->count = 1;
    else
        (void)address_local(NULL, ret_addresses, NULL);
}

int pair_network_publish(struct pmi1_client *pmi, const char *address, struct error *error)
{
    char key[32];

    key_of(pmi->rank, key);
    return pmi1_client_put(pmi, key, address, error);
}

int pair_network_find(struct pmi1_client *pmi, uint32_t peer,
                      char ret_address[PMI1_CLIENT_VALUE_BYTES], struct error *error)
{
    char key[32];

    key_of(peer, key);
    return pmi1_client_get(pmi, key, ret_address, error);
}

void pair_network_print(const unsigned char *data, size_t bytes, char *ret_text)
{
    ret_text[0] = '\0';
    for (size_t i = 0; i < bytes; i++)
        snprintf(ret_text + 2 * i, 3, "%02x", data[i]);
}

int pair_network_parse(const char *text, unsigned char *ret_data, size_t bytes)
{
    if (strlen(text) != 2 * bytes)
        return -EPROTO;
    for (size_t i = 0; i < bytes; i++) {
        if (sscanf(text + 2 * i, "%2hhx", &ret_data[i]) != 1)
            return -EPROTO;
    }
    return 0;
}
