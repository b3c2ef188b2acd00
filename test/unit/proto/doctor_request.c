/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node is asked to examine travels as it is; what is cut anywhere is refused, and nothing leaks. */
#include "config.h"

#include "launch/proto/doctor_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

static void make(struct doctor_request *request, uint32_t peers, int with_program)
{
    *request = (struct doctor_request){
        .place = 7, .name = "n7", .session = "0123456789abcdef", .version = "1.2", .is_virtual = 1};
    request->tmpdir = peers > 0 ? memory_copy_string("/scratch") : NULL;
    request->peers = memory_allocate_zeroed((peers + 1) * sizeof(*request->peers));
    request->peers_count = peers;
    request->has_parent = peers > 0;
    for (uint32_t i = 0; i < peers; i++) {
        request->peers[i].place = i + 1;
        snprintf(request->peers[i].name, sizeof(request->peers[i].name), "n%u", i + 1);
    }
    if (!with_program)
        return;
    request->has_program = 1;
    job_spec_init(&request->program);
    placement_add(&request->program.placement, &(struct placement_rule){.processes = 1});
    request->program.apps = memory_allocate_zeroed(sizeof(*request->program.apps));
    request->program.apps_count = 1;
    request->program.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    request->program.apps[0].argv[0] = memory_copy_string("./app");
    request->program.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    request->program.apps[0].directory = memory_copy_string("/home/user");
}

static void test_travels(uint32_t peers, int with_program)
{
    struct doctor_request request, back;
    struct buffer bytes = {0}, again = {0};
    struct wire_reader reader;
    int refused = 1;

    make(&request, peers, with_program);
    doctor_request_encode(&request, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(doctor_request_decode(&back, &reader), 0, "%u peers, %s program", peers,
           with_program ? "a" : "no");
    is_uint(back.place, 7, "its place");
    is_string(back.name, "n7", "its name");
    is_uint(back.peers_count, peers, "its peers");
    is_string(back.tmpdir ? back.tmpdir : "none", peers > 0 ? "/scratch" : "none",
              "a directory, or none");
    if (with_program)
        is_string(back.program.apps[0].argv[0], "./app", "the program");
    doctor_request_encode(&back, &again);
    ok(again.length_bytes == bytes.length_bytes &&
           memcmp(again.data, bytes.data, bytes.length_bytes) == 0,
       "nothing is lost");
    doctor_request_fini(&back);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++) {
        wire_reader_init(&reader, bytes.data, cut);
        refused &= doctor_request_decode(&back, &reader) == -EBADMSG;
    }
    ok(refused, "cut anywhere it is refused");
    buffer_append(&bytes, "", 1);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(doctor_request_decode(&back, &reader), -EBADMSG, "and with a byte too many");
    doctor_request_fini(&request);
    buffer_fini(&bytes);
    buffer_fini(&again);
}

int main(void)
{
    test_travels(0, 0);
    test_travels(3, 0);
    test_travels(1, 1);
    return done_testing();
}
