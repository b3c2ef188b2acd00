/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Specifications, the boot record and what daemon and helper say to each other: the first byte of
 * the input says which decoder reads the rest.  What is accepted is written again.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/proto/boot.h"
#include "launch/exec/helper_wire.h"
#include "launch/proto/instance_spec.h"
#include "launch/proto/job_spec.h"
#include "test/fuzz/fuzz.h"

enum decoder { INSTANCE, JOB, BOOT, ORDER, EVENT, DECODER_COUNT };

static void read_instance(struct wire_reader *reader, struct buffer *out)
{
    struct instance_spec spec;

    if (instance_spec_decode(&spec, reader) < 0)
        return;
    instance_spec_encode(&spec, out);
    instance_spec_fini(&spec);
}

static void read_job(struct wire_reader *reader, struct buffer *out)
{
    struct job_spec spec;

    if (job_spec_decode(&spec, reader) < 0)
        return;
    job_spec_encode(&spec, out);
    job_spec_fini(&spec);
}

static void read_boot(struct wire_reader *reader, struct buffer *out)
{
    struct boot_record record;

    boot_record_init(&record);
    if (boot_record_decode(&record, reader) == 0)
        boot_record_encode(&record, out);
    boot_record_fini(&record);
}

static void read_order(const uint8_t *data, size_t data_bytes, struct buffer *out)
{
    void *copy = memory_copy(data, data_bytes);
    struct helper_order order;

    if (helper_order_decode(&order, copy, data_bytes) == 0)
        helper_request_encode(&order.request, out);
    free(order.arrays);
    free(copy);
}

static void read_event(struct wire_reader *reader, struct buffer *out)
{
    struct helper_event event;

    if (helper_event_decode(&event, reader) == 0)
        helper_event_encode(&event, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct buffer out = {0};
    struct wire_reader reader;

    if (data_bytes == 0)
        return 0;
    wire_reader_init(&reader, data + 1, data_bytes - 1);
    switch (data[0] % DECODER_COUNT) {
    case INSTANCE:
        read_instance(&reader, &out);
        break;
    case JOB:
        read_job(&reader, &out);
        break;
    case BOOT:
        read_boot(&reader, &out);
        break;
    case ORDER:
        read_order(data + 1, data_bytes - 1, &out);
        break;
    default:
        read_event(&reader, &out);
    }
    buffer_fini(&out);
    return 0;
}

static const struct process_limits sample_limits = {
    .items = {[PROCESS_LIMIT_CORE] = {.rule = PROCESS_LIMIT_SOFT, .soft = 300},
              [PROCESS_LIMIT_STACK] = {.rule = PROCESS_LIMIT_BOTH, .hard = PROCESS_LIMIT_NONE}},
    .umask = 022,
    .umask_is_set = 1};

static void sample_job(struct buffer *out)
{
    char *strings[] = {memory_copy_string("PATH=/bin"), memory_copy_string("A=1"), NULL};
    struct app_spec app = {.argv = strings,
                           .set = strings,
                           .directory = strings[0],
                           .directory_is_template = 1,
                           .limits = sample_limits};
    struct placement_rule rule = {.processes = 2};
    struct job_spec job = {.number = 1,
                           .placement = {.rules = &rule, .rules_count = 1},
                           .apps = &app,
                           .apps_count = 1};

    job_spec_encode(&job, out);
    free(strings[0]);
    free(strings[1]);
}

static void sample_boot(struct buffer *out, int whole)
{
    struct addresses addresses = {.count = 1, .items = {{.length_bytes = 7, .bytes = {4}}}};
    struct boot_record root, child;

    boot_record_init(&root);
    memcpy(root.instance.session, "0123456789abcdef", SESSION_ID_BYTES);
    root.instance.places = 21;
    root.range.last = 20;
    hostlist_parse(root.names, "a[01-19],b", NULL);
    boot_record_child(&root, &addresses, (struct range){3, 9}, &child);
    if (whole)
        boot_record_encode(&child, out);
    else
        instance_spec_encode(&child.instance, out);
    boot_record_fini(&child);
    boot_record_fini(&root);
}

static void sample_order(struct buffer *out)
{
    char *strings[] = {memory_copy_string("sh"), memory_copy_string(""), NULL};
    struct helper_request request = {.type = HELPER_START,
                                     .id = 300,
                                     .group = 1,
                                     .path = "/",
                                     .argv = strings,
                                     .environment = strings,
                                     .targets = {0, 1, 5},
                                     .targets_count = 3,
                                     .limits = sample_limits};

    helper_request_encode(&request, out);
    free(strings[0]);
    free(strings[1]);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct helper_event event = {.type = HELPER_EXITED, .id = 7, .value = 256, .detail = 1};
    struct buffer out = {0};
    size_t bytes;

    if (number >= DECODER_COUNT)
        return 0;
    buffer_append(&out, (unsigned char[]){(unsigned char)number}, 1);
    if (number == JOB)
        sample_job(&out);
    else if (number == ORDER)
        sample_order(&out);
    else if (number == EVENT)
        helper_event_encode(&event, &out);
    else
        sample_boot(&out, number == BOOT);
    bytes = out.length_bytes < buffer_bytes ? out.length_bytes : buffer_bytes;
    memcpy(buffer, out.data, bytes);
    buffer_fini(&out);
    return bytes;
}
