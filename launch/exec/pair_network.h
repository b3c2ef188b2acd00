/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of pair_worker.h measure: a path to one other process at a time, over TCP or over a reliable
 * datagram endpoint of libfabric.  Processes know each other's addresses by PMI-1, "pair-RANK", and strangers do not know
 * their token.
 */
#ifndef LAUNCH_EXEC_PAIR_NETWORK_H
#define LAUNCH_EXEC_PAIR_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fabric/address.h"
#include "launch/exec/pmi1_client.h"

#define PAIR_TOKEN_BYTES 16
#define PAIR_PATIENCE_S  60 /* for a peer that does not answer */

struct pair_network;

struct pair_network_ops {
    /* Opens the path to a process that does the same; that of the lower rank leads.  Negative errno. */
    int (*meet)(struct pair_network *network, uint32_t peer, int leads, struct error *error);
    /* That many bytes, of any content, to or from the peer.  Negative errno, -ETIMEDOUT after PAIR_PATIENCE_S. */
    int (*send)(struct pair_network *network, uint64_t bytes);
    int (*receive)(struct pair_network *network, uint64_t bytes);
    /* Ends what meet has begun. */
    void (*part)(struct pair_network *network);
    void (*destroy)(struct pair_network *network);
};

struct pair_network {
    const struct pair_network_ops *ops;
    struct pmi1_client *pmi;
    unsigned char token[PAIR_TOKEN_BYTES]; /* the same in all processes, before the first meet */
};

/* Opened, and its address is known to all after the next barrier.  NULL: see the error. */
struct pair_network *pair_network_tcp(struct pmi1_client *pmi, struct error *error);
/* provider: as fi_info names it; "": libfabric's first. */
struct pair_network *pair_network_ofi(struct pmi1_client *pmi, const char *provider,
                                      struct error *error);

/* Of this process: the network that the daemons use, which banyan gives to MPI, or all of this machine. */
void pair_network_addresses(struct addresses *ret_addresses);
/* The value of "pair-RANK". */
int pair_network_publish(struct pmi1_client *pmi, const char *address, struct error *error);
int pair_network_find(struct pmi1_client *pmi, uint32_t peer,
                      char ret_address[PMI1_CLIENT_VALUE_BYTES], struct error *error);
/* Bytes as digits, as values of PMI-1 have no blanks; ret_text has room for 2 * bytes + 1.  Parsing returns -EPROTO of
 * any other text. */
void pair_network_print(const unsigned char *data, size_t bytes, char *ret_text);
int pair_network_parse(const char *text, unsigned char *ret_data, size_t bytes);

#endif
