/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire forms of launch/proto/spec.h.  The programs of a job (arguments, environment,
 * directories) are one block, compressed as a whole; the rest is a few dozen bytes before it.
 */
#include "config.h"

#include "launch/proto/spec.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "launch/proto/compress.h"
#include "overlay/tree.h"

#define SPEC_TEXT_BYTES_MAX      131072u            /* the system's limit for one argument */
#define SPEC_STRING_BYTES_MAX    (4u * 1024 * 1024) /* one argument or variable */
#define SPEC_STRINGS_MAX         (1024u * 1024)
#define SPEC_PROGRAM_BYTES_MAX   (64u * 1024 * 1024)
#define SPEC_PLACEMENT_BYTES_MAX (1024u * 1024 * 1024)
#define SPEC_APPS_MAX            4096u
#define SPEC_DURATION_MAX        (1000u * 1000 * 1000)

static void put_optional(struct buffer *out, const char *text)
{
    wire_put_u8(out, text != NULL);
    if (text != NULL)
        wire_put_string(out, text);
}

static char *get_optional(struct wire_reader *reader)
{
    uint64_t present = wire_get_varint_max(reader, 1);

    return present ? wire_get_string(reader, SPEC_TEXT_BYTES_MAX) : NULL;
}

static uint32_t get_number(struct wire_reader *reader, uint32_t maximum)
{
    return (uint32_t)wire_get_varint_max(reader, maximum);
}

void instance_spec_encode(const struct instance_spec *spec, struct buffer *out)
{
    wire_put_string(out, spec->session);
    wire_put_varint(out, spec->places);
    wire_put_varint(out, spec->radix);
    wire_put_varint(out, spec->starter);
    put_optional(out, spec->agent);
    put_optional(out, spec->banyand);
    put_optional(out, spec->net);
    put_optional(out, spec->fabric);
    wire_put_varint(out, spec->port_first);
    wire_put_varint(out, spec->port_last);
    put_optional(out, spec->boot);
    put_optional(out, spec->tmpdir);
    put_optional(out, spec->virtual_base);
    put_optional(out, spec->record);
    wire_put_varint(out, spec->start_timeout_s);
    wire_put_varint(out, spec->kill_grace_ms);
    wire_put_varint(out, spec->heartbeat_ms);
    wire_put_varint(out, spec->lease_ms);
    wire_put_u8(out, spec->log_level);
    wire_put_u8(out, spec->is_doctor);
}

/* It becomes part of paths, so its form must be checked. */
static void check_session(struct wire_reader *reader, const char *session)
{
    if (strspn(session, "0123456789abcdef") != SESSION_ID_BYTES - 1)
        wire_fail(reader);
}

int instance_spec_decode(struct instance_spec *ret_spec, struct wire_reader *reader)
{
    struct instance_spec spec;

    instance_spec_init(&spec);
    wire_get_string_into(reader, spec.session, sizeof(spec.session));
    check_session(reader, spec.session);
    spec.places = get_number(reader, TREE_PLACES_MAX);
    spec.radix = get_number(reader, TREE_RADIX_MAX);
    spec.starter = (enum starter_kind)get_number(reader, STARTER_KIND_COUNT - 1);
    spec.agent = get_optional(reader);
    spec.banyand = get_optional(reader);
    spec.net = get_optional(reader);
    spec.fabric = get_optional(reader);
    spec.port_first = (uint16_t)get_number(reader, UINT16_MAX);
    spec.port_last = (uint16_t)get_number(reader, UINT16_MAX);
    spec.boot = get_optional(reader);
    spec.tmpdir = get_optional(reader);
    spec.virtual_base = get_optional(reader);
    spec.record = get_optional(reader);
    spec.start_timeout_s = get_number(reader, SPEC_DURATION_MAX);
    spec.kill_grace_ms = get_number(reader, SPEC_DURATION_MAX);
    spec.heartbeat_ms = get_number(reader, SPEC_DURATION_MAX);
    spec.lease_ms = get_number(reader, SPEC_DURATION_MAX);
    spec.log_level = wire_get_u8(reader);
    spec.is_doctor = (uint8_t)get_number(reader, 1);
    if (spec.places == 0 || spec.radix < TREE_RADIX_MIN || spec.log_level >= LOG_LEVEL_COUNT ||
        spec.port_first > spec.port_last || (spec.port_first == 0 && spec.port_last != 0))
        wire_fail(reader);
    if (wire_status(reader) < 0) {
        instance_spec_fini(&spec);
        return -EBADMSG;
    }
    *ret_spec = spec;
    return 0;
}

static void put_strings(struct buffer *out, char *const *strings)
{
    size_t count = 0;

    while (strings != NULL && strings[count] != NULL)
        count++;
    wire_put_varint(out, count);
    for (size_t i = 0; i < count; i++)
        wire_put_string(out, strings[i]);
}

/* Always an array with NULL at its end, also on failure. */
static char **get_strings(struct wire_reader *reader)
{
    size_t count = (size_t)wire_get_varint_max(reader, SPEC_STRINGS_MAX);
    char **strings;

    /* Each string takes at least a byte, so the array is bounded by the size of the message. */
    if (count > wire_left(reader)) {
        wire_fail(reader);
        count = 0;
    }
    strings = memory_allocate_zeroed((count + 1) * sizeof(*strings));
    for (size_t i = 0; i < count; i++)
        strings[i] = wire_get_string(reader, SPEC_STRING_BYTES_MAX);
    return strings;
}

static void put_app(struct buffer *out, const struct app_spec *app)
{
    put_optional(out, app->directory);
    put_strings(out, app->argv);
    put_strings(out, app->set);
}

static void get_app(struct wire_reader *reader, struct app_spec *ret_app)
{
    ret_app->directory = get_optional(reader);
    ret_app->argv = get_strings(reader);
    ret_app->set = get_strings(reader);
    if (ret_app->argv[0] == NULL)
        wire_fail(reader);
}

void job_spec_encode(const struct job_spec *spec, struct buffer *out)
{
    struct buffer programs = {0}, placement = {0};

    assert(spec->apps_count == spec->placement.rules_count);
    assert(spec->on_failure < JOB_ON_FAILURE_COUNT && spec->report_bindings <= 1);
    wire_put_varint(out, spec->number);
    wire_put_varint(out, spec->uid);
    wire_put_varint(out, spec->mpi);
    wire_put_varint(out, spec->stdin_rank);
    wire_put_varint(out, spec->on_failure);
    wire_put_u8(out, spec->report_bindings);
    placement_encode(&spec->placement, &placement);
    compress_put(out, placement.data, placement.length_bytes);
    buffer_fini(&placement);
    wire_put_varint(out, spec->apps_count);
    for (uint32_t i = 0; i < spec->apps_count; i++)
        put_app(&programs, &spec->apps[i]);
    compress_put(out, programs.data, programs.length_bytes);
    buffer_fini(&programs);
}

static void get_apps(struct wire_reader *reader, struct job_spec *ret_spec)
{
    uint32_t count = get_number(reader, SPEC_APPS_MAX);
    struct buffer programs = {0};
    struct wire_reader inner;

    compress_get(reader, SPEC_PROGRAM_BYTES_MAX, &programs);
    wire_reader_init(&inner, programs.data, programs.length_bytes);
    ret_spec->apps = memory_allocate_zeroed(count * sizeof(*ret_spec->apps));
    ret_spec->apps_count = count;
    for (uint32_t i = 0; i < count && wire_status(&inner) == 0; i++)
        get_app(&inner, &ret_spec->apps[i]);
    if (wire_finish(&inner) < 0)
        wire_fail(reader);
    buffer_fini(&programs);
}

/* Lists, and machines that are all different, can make it long. */
static void get_placement(struct wire_reader *reader, struct placement *ret_placement)
{
    struct buffer bytes = {0};
    struct wire_reader inner;

    compress_get(reader, SPEC_PLACEMENT_BYTES_MAX, &bytes);
    wire_reader_init(&inner, bytes.data, bytes.length_bytes);
    if (placement_decode(ret_placement, &inner) < 0 || wire_finish(&inner) < 0)
        wire_fail(reader);
    buffer_fini(&bytes);
}

int job_spec_decode(struct job_spec *ret_spec, struct wire_reader *reader)
{
    struct job_spec spec;

    job_spec_init(&spec);
    spec.number = get_number(reader, UINT32_MAX);
    spec.uid = get_number(reader, UINT32_MAX);
    spec.mpi = get_number(reader, JOB_MPI_PMIX | JOB_MPI_PMI1);
    spec.stdin_rank = get_number(reader, UINT32_MAX);
    spec.on_failure = (enum job_on_failure)get_number(reader, JOB_ON_FAILURE_COUNT - 1);
    spec.report_bindings = (uint8_t)wire_get_varint_max(reader, 1);
    get_placement(reader, &spec.placement);
    spec.processes = placement_processes(&spec.placement);
    get_apps(reader, &spec);
    if (spec.apps_count != spec.placement.rules_count)
        wire_fail(reader);
    if (wire_status(reader) < 0) {
        job_spec_fini(&spec);
        return -EBADMSG;
    }
    *ret_spec = spec;
    return 0;
}
