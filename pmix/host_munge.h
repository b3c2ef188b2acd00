/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credentials by MUNGE, one request at a time.  Both functions block until munged has answered or libmunge has given
 * up, which takes it some 10 s: they must not be called by a thread that others wait for (host_credential.c).
 *
 * A credential has no payload.  It is a secret until it has been used, so it is never part of a text.
 * Without libmunge both functions answer PMIX_ERR_NOT_SUPPORTED.
 *
 * Cost: a connection to munged, and what munged does.
 */
#ifndef PMIX_HOST_MUNGE_H
#define PMIX_HOST_MUNGE_H

#include <pmix_server.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_MUNGE_WHY_BYTES 256

/* What libmunge sends to munged at most; longer credentials are refused unseen. */
#define HOST_MUNGE_CREDENTIAL_BYTES_MAX (1u << 20)

struct host_munge_answer {
    pmix_status_t status;
    char why[HOST_MUNGE_WHY_BYTES]; /* what a person must know; "": nothing */
    char *credential;               /* of host_munge_encode: a string */
    uint32_t uid;                   /* of host_munge_decode: the owner */
    uint32_t gid;
};

/* A credential of this process's effective user and group, for anyone to validate. */
void host_munge_encode(struct host_munge_answer *ret_answer);
/* credential: bytes that a client has sent, which may be anything. */
void host_munge_decode(const char *credential, size_t bytes, struct host_munge_answer *ret_answer);
void host_munge_answer_fini(struct host_munge_answer *answer);

#endif
