/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `banyan doctor` reads of others: a report, folded with itself and printed, and a request to
 * examine a node.
 */
#include "config.h"

#include "launch/cli/verb/doctor_print.h"
#include "launch/proto/doctor_request.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static void try_report(const uint8_t *data, size_t data_bytes)
{
    struct hostlist *names = hostlist_create();
    struct doctor_report report;
    struct buffer text = {0}, merged = {0};
    struct wire_reader reader;

    hostlist_parse(names, "n[1-99]", NULL);
    wire_reader_init(&reader, data, data_bytes);
    if (doctor_report_decode(&report, &reader) == 0) {
        doctor_report_encode(&report, &merged);
        doctor_report_fold(&merged, data, data_bytes);
        wire_reader_init(&reader, merged.data, merged.length_bytes);
        doctor_report_fini(&report);
        assert(doctor_report_decode(&report, &reader) == 0); /* what we write we can read */
        doctor_print_table(&report, names, 1, &text);
        doctor_print_json(&report, names, &text);
        doctor_report_fini(&report);
    }
    buffer_fini(&text);
    buffer_fini(&merged);
    hostlist_destroy(names);
}

static void try_request(const uint8_t *data, size_t data_bytes)
{
    struct doctor_request request;
    struct wire_reader reader;

    wire_reader_init(&reader, data, data_bytes);
    if (doctor_request_decode(&request, &reader) == 0)
        doctor_request_fini(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    try_report(data, data_bytes);
    try_request(data, data_bytes);
    return 0;
}

static void put_report(struct buffer *out)
{
    struct doctor_report report = {0};
    struct ranges places = {0};

    ranges_add(&places, 1, 5);
    doctor_report_add(&report, DOCTOR_SPACE, DOCTOR_PROBLEM, &places, "full", "make room");
    ranges_add(&places, 8, 9);
    doctor_report_add(&report, DOCTOR_NAME, DOCTOR_FACT, &places, "as it is called", NULL);
    doctor_report_encode(&report, out);
    doctor_report_fini(&report);
    ranges_fini(&places);
}

static void put_request(struct buffer *out)
{
    struct doctor_peer peer = {.place = 3, .name = "n3", .addresses = {.count = 1}};
    struct doctor_request request = {.place = 2,
                                     .name = "n2",
                                     .session = "0123456789abcdef",
                                     .version = "0.1",
                                     .peers = &peer,
                                     .peers_count = 1,
                                     .has_parent = 1};

    peer.addresses.items[0].length_bytes = 7;
    doctor_request_encode(&request, out);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct buffer sample = {0};
    size_t bytes;

    if (number > 1)
        return 0;
    if (number == 0)
        put_report(&sample);
    else
        put_request(&sample);
    bytes = sample.length_bytes < buffer_bytes ? sample.length_bytes : buffer_bytes;
    memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
