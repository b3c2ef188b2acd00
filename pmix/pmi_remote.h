/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's end of the contract's wire (pmi_wire.h): turns its calls to the host of libpmix into
 * messages, and received messages into calls of the pmi_ops of their job. Pure: bytes in, bytes and
 * descriptors out.  Requests for a job that is not open here are answered with -ENOENT.
 *
 * Cost: O(open jobs) + unsent output.
 */
#ifndef PMIX_PMI_REMOTE_H
#define PMIX_PMI_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "pmix/host.h"

struct pmi_remote;

/* The next bytes to send; fd goes with the first of them, -1: none. */
struct pmi_piece {
    const void *data;
    size_t bytes;
    int fd;
};

/* The first message is START with this configuration. */
struct pmi_remote *pmi_remote_create(const struct host_config *config);
/* Closes descriptors that have not been sent. */
void pmi_remote_destroy(struct pmi_remote *remote);

/* ops is copied; `opened` or `lost` follows. */
void pmi_remote_open(struct pmi_remote *remote, const struct pmi_job *job,
                     const struct pmi_ops *ops);
/* No further callback for the job. */
void pmi_remote_close(struct pmi_remote *remote, uint32_t job);
/* Takes fd. */
void pmi_remote_admit(struct pmi_remote *remote, int fd, const struct pmi_process *process,
                      const void *message, size_t message_bytes);
/* speaker: the remote. */
extern const struct pmi_events pmi_remote_events;

/* -EPROTO if it is not a valid message of the server.  An op may open and close jobs. */
int pmi_remote_input(struct pmi_remote *remote, const void *data, size_t bytes);
/* The same without a copy: returns room for input, the whole rest of a long message, at least
 * min_bytes; then call with the number of bytes stored there. */
void *pmi_remote_room(struct pmi_remote *remote, size_t min_bytes, size_t *ret_bytes);
int pmi_remote_came(struct pmi_remote *remote, size_t bytes);
/* The next piece to send; 0 bytes: nothing. */
void pmi_remote_output(const struct pmi_remote *remote, struct pmi_piece *ret_piece);
/* That many bytes of it have been sent; its descriptor, which is closed here, went with the first
 * byte. */
void pmi_remote_sent(struct pmi_remote *remote, size_t bytes);

/* The server has ended: calls `lost` for every open job and closes it. */
void pmi_remote_lose(struct pmi_remote *remote, const char *why);
uint32_t pmi_remote_jobs(const struct pmi_remote *remote);
/* Jobs closed here that the server has not forgotten yet: what their processes registered to be removed may
 * still be there. */
uint32_t pmi_remote_closing(const struct pmi_remote *remote);
/* Asks whether libpmix still works off its requests; pmi_remote_checked returns the last id that it
 * has answered. */
void pmi_remote_check(struct pmi_remote *remote, uint64_t id);
uint64_t pmi_remote_checked(const struct pmi_remote *remote);
/* The server's memory when the last job ended, in KiB; 0: not known. */
uint32_t pmi_remote_memory_kib(const struct pmi_remote *remote);

#endif
