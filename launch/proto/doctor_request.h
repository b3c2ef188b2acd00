/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon hands to the process that examines its node (`banyand --examine`): the node's
 * identity and the peers that it should reach.
 */
#ifndef LAUNCH_PROTO_DOCTOR_REQUEST_H
#define LAUNCH_PROTO_DOCTOR_REQUEST_H

#include <stdint.h>

#include "alloc/hostlist.h"
#include "base/addresses.h"
#include "base/wire.h"
#include "launch/proto/instance_spec.h"
#include "launch/proto/job_spec.h"

struct doctor_peer {
    uint32_t place;
    char name[HOST_NAME_BYTES_MAX + 1]; /* as in the allocation; "" if it is not known here */
    struct addresses addresses;
};

struct doctor_request {
    uint32_t place;
    char name[HOST_NAME_BYTES_MAX + 1]; /* "" at the root */
    char session[SESSION_ID_BYTES];
    char version[32]; /* of the root's banyan */
    char *tmpdir;     /* of the instance; NULL: the node's own */
    struct addresses own;
    struct doctor_peer *peers; /* the parent first, if there is one */
    uint32_t peers_count;
    uint8_t is_virtual; /* its name is made up, so no name service knows it */
    uint8_t has_parent;
    uint8_t has_program;
    struct job_spec program; /* only argv[0], directory and environment of its applications are
                              * used */
};

void doctor_request_fini(struct doctor_request *request);
void doctor_request_encode(const struct doctor_request *request, struct buffer *out);
/* 0 or -EBADMSG; initialises ret_request on success only. */
int doctor_request_decode(struct doctor_request *ret_request, struct wire_reader *reader);

#endif
