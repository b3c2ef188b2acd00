/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What banyand knows of libfabric: a table of functions that the shared object fabric_ofi.so
 * exports (fabric/ofi_endpoint.c), so that libfabric is loaded only where it is used.  No code.
 *
 * One reliable datagram endpoint of one daemon.  Messages of up to OFI_MESSAGE_BYTES_MAX arrive
 * whole, once, and in the order in which they were sent to a peer - or not at all, silently, when
 * the peer has died: liveness is tracked elsewhere.  All functions and events belong to one thread;
 * events come inside progress only.
 */
#ifndef FABRIC_OFI_TABLE_H
#define FABRIC_OFI_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/nic.h"

#define OFI_ABI               3
#define OFI_NAME_BYTES_MAX    256         /* of an endpoint's address */
#define OFI_MESSAGE_BYTES_MAX (16 * 1024) /* what the providers send eagerly */
#define OFI_SENDS_MAX         64          /* under way at once */

struct ofi;

struct ofi_events {
    /* data is valid during the call. */
    void (*received)(void *context, const unsigned char *data, size_t bytes);
    /* The message sent with user has left, or failed with a negative errno. */
    void (*sent)(void *context, void *user, int status);
};

struct ofi_config {
    const char
        *provider;    /* as fi_info names it, e.g. "tcp;ofi_rxm"; NULL: the first suitable one */
    const char *node; /* our address where the provider speaks IP, else ignored */
    const struct ofi_events *events;
    void *context;
};

struct ofi_table {
    uint32_t abi;
    /* Costs 0.1-0.2 s: libfabric probes all hardware.  Owned by the caller. */
    int (*open)(const struct ofi_config *config, struct ofi **ret_ofi, struct error *error);
    void (*close)(struct ofi *ofi); /* NULL is fine; no further events */
    const char *(*provider)(const struct ofi *ofi);
    /* Our address, for peers; up to OFI_NAME_BYTES_MAX. */
    size_t (*name)(const struct ofi *ofi, unsigned char *ret_name);
    int (*insert)(struct ofi *ofi, const unsigned char *name, size_t name_bytes,
                  uint64_t *ret_peer);
    void (*remove)(struct ofi *ofi, uint64_t peer);
    /* OFI_MESSAGE_BYTES_MAX to write the next message into, or NULL when too many are under way. */
    unsigned char *(*buffer)(struct ofi *ofi);
    /* Sends what was written there; -EAGAIN: it stays there; retry after the next progress. */
    int (*send)(struct ofi *ofi, uint64_t peer, size_t bytes, void *user);
    int (*fd)(const struct ofi *ofi); /* readable when progress has something to do */
    /* Delivers events; 1 if there were any. */
    int (*progress)(struct ofi *ofi);
    /* 1 if fd may be waited for now; 0: call progress again first. */
    int (*may_wait)(struct ofi *ofi);
    /* Adds the NICs that providers describe, each perhaps several times.  Needs no endpoint, and costs as much as opening
     * one.  -EIO. */
    int (*nics)(struct nic_list *list, struct error *error);
};

#endif
