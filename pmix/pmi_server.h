/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's end of the contract's wire (pmi_wire.h): turns the daemon's messages into calls of a
 * host (host.h) and the host's requests into messages.  Pure: bytes and descriptors in, bytes out.
 */
#ifndef PMIX_PMI_SERVER_H
#define PMIX_PMI_SERVER_H

#include <stddef.h>

#include "pmix/host.h"

struct pmi_server;

struct pmi_server_config {
    /* Returns the host, once the daemon has sent START.  NULL: every job gets the error. */
    const struct host_table *(*load)(void *context, struct error *error);
    /* Writes everything; blocks if necessary. */
    void (*write)(void *context, const void *data, size_t bytes);
    /* Memory of this process in KiB, reported to the daemon at the end of each job. */
    uint32_t (*memory_kib)(void *context);
    void *context;
};

struct pmi_server *pmi_server_create(const struct pmi_server_config *config);
/* The host, if any, continues to exist. */
void pmi_server_destroy(struct pmi_server *server);
/* A descriptor received with the next input, or before it; takes it. */
void pmi_server_take_fd(struct pmi_server *server, int fd);
/* -EPROTO if it is not a valid message of the daemon. */
int pmi_server_input(struct pmi_server *server, const void *data, size_t bytes);
/* The same without a copy: returns room for input, the whole rest of a long message, at least
 * min_bytes; then call with the number of bytes stored there. */
void *pmi_server_room(struct pmi_server *server, size_t min_bytes, size_t *ret_bytes);
int pmi_server_came(struct pmi_server *server, size_t bytes);
/* host_table.wait; HOST_OWN: pmi_server_process must be called.  -ENOTCONN: there is no host. */
int pmi_server_wait(struct pmi_server *server, int fd);
void pmi_server_process(struct pmi_server *server);

#endif
