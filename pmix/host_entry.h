/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hands a client whose first message the daemon has read to libpmix, which expects to accept it
 * itself.
 *
 * libpmix listens on a socket in the daemon's own directory.  Each client is announced there by a
 * connection of ours that sends the client's first message: complete, so that libpmix's one thread
 * never waits for it.  After the handshake libpmix calls client_connected and does not use the
 * connection until the upcall returns: in the upcall libpmix's reply is forwarded to the client,
 * and its own descriptor replaces our connection (dup3).  From then on it is connected directly.
 *
 * So if a client dies during its handshake libpmix notices only afterwards, which is as well: an
 * error during the handshake makes libpmix 4.2.2 free the record of the rank twice.
 */
#ifndef PMIX_HOST_ENTRY_H
#define PMIX_HOST_ENTRY_H

#include "base/error.h"
#include "pmix/host.h"

struct host_process;

/* Makes the socket on which libpmix will listen, in directory; -errno. */
int host_entry_listen(const char *directory, struct error *error);
/* host_table.admit. */
void host_entry_admit(struct host *host, int fd, const struct pmi_process *process,
                      const void *message, size_t message_bytes);
/* In the upcall, on libpmix's thread: the process has completed the handshake. */
void host_entry_connected(const struct host_process *process);
/* The same of a tool, before libpmix replies to it; -ENOENT if none has been admitted. */
int host_entry_tool_connected(void);
/* Readable when libpmix has refused a client, and when fd is; host_entry_refused then reports those
 * and closes them. */
int host_entry_watch(int fd, struct error *error);
int host_entry_descriptor(void);
/* Wakes the main thread once, when fd has room for output or its other end has gone. */
void host_entry_watch_output(int fd);
void host_entry_refused(struct host *host);

#endif
