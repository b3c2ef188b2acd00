/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces libpmix's listening socket, a TCP port that every user of the machine can connect to, by
 * one of ours.
 */
#ifndef PMIX_HOST_LISTENER_H
#define PMIX_HOST_LISTENER_H

#include "base/error.h"

struct host_listener {
    int theirs; /* libpmix's descriptor, once it is known; else -1 */
    /* A bit per descriptor that listened before libpmix started; select() is limited to these. */
    unsigned char was_listening[1024 / 8];
};

/* Before PMIx_server_init.  -EMFILE if too many descriptors are open for libpmix's select(). */
int host_listener_prepare(struct host_listener *listener, struct error *error);
/* After it: makes libpmix listen on the socket of fd, which stays the caller's, instead of the
 * previous one, which is closed. */
int host_listener_hand_over(struct host_listener *listener, int fd, struct error *error);

#endif
