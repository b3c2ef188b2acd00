/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts a listening socket of ours in the place of libpmix's own, a TCP port that every user of the
 * machine can connect to.
 */
#ifndef PMIX_HOST_LISTENER_H
#define PMIX_HOST_LISTENER_H

#include "base/error.h"

struct host_listener {
    int theirs; /* libpmix's descriptor, once it is known; else -1 */
    /* A bit per descriptor that listened before libpmix started; select() knows no more. */
    unsigned char was_listening[1024 / 8];
};

/* Before PMIx_server_init.  -EMFILE if so many descriptors are open that libpmix's select() would
 * overflow. */
int host_listener_prepare(struct host_listener *listener, struct error *error);
/* After it: puts the socket behind fd, which stays the caller's, in the place of the one that
 * libpmix listens on, which is closed. */
int host_listener_hand_over(struct host_listener *listener, int fd, struct error *error);

#endif
