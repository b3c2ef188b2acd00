/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a client whose first message the daemon has read comes into libpmix, which would rather accept
 * it itself.
 *
 * libpmix listens on a socket in the daemon's own directory.  Each client is announced there by a
 * connection of ours that says the client's first message: complete, so that libpmix's one thread
 * never waits for it.  When libpmix has shaken hands and calls client_connected up, it does not use
 * the connection until the upcall returns: in the upcall the client is told libpmix's reply, and its
 * own descriptor takes the place of our connection (dup3).  From then on nobody stands in between.
 *
 * So a client that dies in its handshake dies to libpmix after it, which is as well: an error within
 * makes libpmix 4.2.2 free the record of the rank twice.
 */
#ifndef PMIX_HOST_ENTRY_H
#define PMIX_HOST_ENTRY_H

#include "base/error.h"
#include "pmix/host.h"

struct host_process;

/* The socket on which libpmix is to listen, in directory; -errno. */
int host_entry_listen(const char *directory, struct error *error);
/* host_table.admit. */
void host_entry_admit(struct host *host, int fd, const struct pmi_process *process,
                      const void *message, size_t message_bytes);
/* In the upcall, on libpmix's thread: the process has shaken hands. */
void host_entry_connected(const struct host_process *process);
/* Readable when libpmix has refused a client, and when fd is; host_entry_refused then tells those and
 * closes them. */
int host_entry_watch(int fd, struct error *error);
int host_entry_descriptor(void);
void host_entry_refused(struct host *host);

#endif
