/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/doctor_request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "overlay/tree.h"

#define PEERS_MAX      1024u
#define PATH_BYTES_MAX 4096u

void doctor_request_fini(struct doctor_request *request)
{
    free(request->tmpdir);
    free(request->peers);
    if (request->has_program)
        job_spec_fini(&request->program);
    *request = (struct doctor_request){0};
}

void doctor_request_encode(const struct doctor_request *request, struct buffer *out)
{
    assert(request->place < TREE_PLACES_MAX && request->peers_count <= PEERS_MAX);
    assert(request->is_virtual <= 1 && request->has_parent <= 1 && request->has_program <= 1);
    assert(request->peers != NULL || request->peers_count == 0);
    wire_put_varint(out, request->place);
    wire_put_string(out, request->name);
    wire_put_string(out, request->session);
    wire_put_string(out, request->version);
    wire_put_string(out, request->tmpdir != NULL ? request->tmpdir : "");
    address_wire_put(&request->own, out);
    wire_put_u8(out, request->is_virtual);
    wire_put_u8(out, request->has_parent);
    wire_put_varint(out, request->peers_count);
    for (uint32_t i = 0; i < request->peers_count; i++) {
        wire_put_varint(out, request->peers[i].place);
        wire_put_string(out, request->peers[i].name);
        address_wire_put(&request->peers[i].addresses, out);
    }
    wire_put_u8(out, request->has_program);
    if (request->has_program)
        job_spec_encode(&request->program, out);
}

static void get_peers(struct wire_reader *reader, struct doctor_request *request)
{
    request->is_virtual = (uint8_t)wire_get_varint_max(reader, 1);
    request->has_parent = (uint8_t)wire_get_varint_max(reader, 1);
    request->peers_count = (uint32_t)wire_get_varint_max(reader, PEERS_MAX);
    request->peers = memory_allocate_zeroed(request->peers_count * sizeof(*request->peers));
    for (uint32_t i = 0; i < request->peers_count; i++) {
        struct doctor_peer *peer = &request->peers[i];
        peer->place = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX - 1);
        wire_get_string_into(reader, peer->name, sizeof(peer->name));
        address_wire_get(reader, &peer->addresses);
    }
}

int doctor_request_decode(struct doctor_request *ret_request, struct wire_reader *reader)
{
    struct doctor_request request = {0};

    request.place = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX - 1);
    wire_get_string_into(reader, request.name, sizeof(request.name));
    wire_get_string_into(reader, request.session, sizeof(request.session));
    wire_get_string_into(reader, request.version, sizeof(request.version));
    request.tmpdir = wire_get_string(reader, PATH_BYTES_MAX);
    if (request.tmpdir[0] == '\0') {
        free(request.tmpdir);
        request.tmpdir = NULL;
    }
    address_wire_get(reader, &request.own);
    get_peers(reader, &request);
    if (wire_get_varint_max(reader, 1) == 1) {
        if (wire_status(reader) == 0 && job_spec_decode(&request.program, reader) == 0)
            request.has_program = 1;
        else
            wire_fail(reader);
    }
    if (wire_finish(reader) < 0) {
        doctor_request_fini(&request);
        return -EBADMSG;
    }
    *ret_request = request;
    return 0;
}
