/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire form of a job.  Its programs (arguments, environment, directories) are one block,
 * compressed as a whole; the rest is a few dozen bytes before it.
 */
#include "config.h"

#include "launch/proto/job_spec.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/compress.h"
#include "launch/proto/job_wire.h"

#define JOB_SPEC_DIRECTORY_BYTES_MAX 131072u
#define JOB_SPEC_STRING_BYTES_MAX    (4u * 1024 * 1024) /* one argument or variable */
#define JOB_SPEC_STRINGS_MAX         (1024u * 1024)
#define JOB_SPEC_PROGRAM_BYTES_MAX   (64u * 1024 * 1024)
#define JOB_SPEC_PLACEMENT_BYTES_MAX (1024u * 1024 * 1024)
#define JOB_SPEC_APPS_MAX            4096u
#define TERMINAL_SHIFT               4 /* in the byte of flags */
#define STATS_SHIFT                  5
#define TRACE_SHIFT                  6

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
    size_t count = (size_t)wire_get_varint_max(reader, JOB_SPEC_STRINGS_MAX);
    char **strings;

    /* Each string takes at least a byte, so the array is bounded by the size of the message. */
    if (count > wire_left(reader)) {
        wire_fail(reader);
        count = 0;
    }
    strings = memory_allocate_zeroed((count + 1) * sizeof(*strings));
    for (size_t i = 0; i < count; i++)
        strings[i] = wire_get_string(reader, JOB_SPEC_STRING_BYTES_MAX);
    return strings;
}

static void put_app(struct buffer *out, const struct app_spec *app)
{
    assert(app->directory_is_template <= 1);
    wire_put_optional_string(out, app->directory);
    wire_put_u8(out, app->directory_is_template);
    put_strings(out, app->argv);
    put_strings(out, app->set);
    variable_edits_encode(&app->edits, out);
    process_limits_encode(&app->limits, out);
}

static void get_app(struct wire_reader *reader, struct app_spec *ret_app)
{
    ret_app->directory = wire_get_optional_string(reader, JOB_SPEC_DIRECTORY_BYTES_MAX);
    ret_app->directory_is_template = (uint8_t)wire_get_varint_max(reader, 1);
    ret_app->argv = get_strings(reader);
    ret_app->set = get_strings(reader);
    variable_edits_decode(reader, &ret_app->edits);
    process_limits_decode(reader, &ret_app->limits);
    if (ret_app->argv[0] == NULL)
        wire_fail(reader);
}

static void put_parent(struct buffer *out, const struct job_spec *spec)
{
    assert(spec->parent > 0 || spec->preput_count == 0);
    assert(spec->parent > 0 || spec->target == NULL);
    assert(spec->parent > 0 || (spec->start_timeout_s == 0 && spec->run_timeout_s == 0));
    wire_put_varint(out, spec->parent);
    if (spec->parent == 0)
        return;
    wire_put_varint(out, spec->parent_rank);
    wire_put_varint(out, spec->start_timeout_s);
    wire_put_varint(out, spec->run_timeout_s);
    wire_put_optional_string(out, spec->target);
    wire_put_u32(out, spec->target_rank);
    wire_put_optional_string(out, spec->tool);
    wire_put_varint(out, spec->preput_count);
    for (uint32_t i = 0; i < spec->preput_count; i++) {
        wire_put_string(out, spec->preput[i].key);
        wire_put_string(out, spec->preput[i].value);
    }
}

static void get_parent(struct wire_reader *reader, struct job_spec *spec)
{
    uint32_t count;

    spec->parent = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    if (spec->parent == 0)
        return;
    spec->parent_rank = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    spec->start_timeout_s = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    spec->run_timeout_s = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    spec->target = wire_get_optional_string(reader, PMI_NAMESPACE_BYTES - 1);
    spec->target_rank = wire_get_u32(reader);
    spec->tool = wire_get_optional_string(reader, PMI_NAMESPACE_BYTES - 1);
    count = (uint32_t)wire_get_varint_max(reader, wire_left(reader));
    spec->preput = memory_allocate_zeroed((count + 1) * sizeof(*spec->preput));
    spec->preput_count = count;
    for (uint32_t i = 0; i < count; i++) {
        spec->preput[i].key = wire_get_string(reader, JOB_SPEC_STRING_BYTES_MAX);
        spec->preput[i].value = wire_get_string(reader, JOB_SPEC_STRING_BYTES_MAX);
    }
}

/* Then a process that is started again cannot read on where the one before it has stopped. */
static int input_is_shared(const struct job_spec *spec)
{
    return spec->stdin_rank == JOB_STDIN_ALL || spec->stdin_rank == JOB_STDIN_EACH;
}

void job_spec_encode(const struct job_spec *spec, struct buffer *out)
{
    struct buffer programs = {0}, placement = {0};

    assert(spec->apps_count == spec->placement.rules_count);
    assert(spec->on_failure < JOB_ON_FAILURE_COUNT && spec->report_bindings <= 1);
    assert(spec->stats <= 1 && spec->trace <= 1);
    assert((spec->restarts_max > 0) == (spec->on_failure == JOB_ON_FAILURE_RESTART));
    assert(spec->restarts_max == 0 || !input_is_shared(spec));
    assert(spec->stage <= JOB_STAGE_ALL && spec->profile <= 1 && spec->has_terminal <= 1);
    assert(!spec->has_terminal || (spec->stdin_rank < JOB_STDIN_EACH && spec->restarts_max == 0));
    assert(spec->modex < JOB_MODEX_COUNT && spec->stop < PMI_STOP_COUNT);
    wire_put_varint(out, spec->number);
    wire_put_varint(out, spec->uid);
    wire_put_varint(out, spec->mpi);
    wire_put_varint(out, spec->stdin_rank);
    wire_put_varint(out, spec->on_failure);
    if (spec->on_failure == JOB_ON_FAILURE_RESTART)
        wire_put_varint(out, spec->restarts_max);
    wire_put_u8(out, (uint8_t)(spec->report_bindings | spec->stage << 1 | spec->profile << 3 |
                               spec->has_terminal << TERMINAL_SHIFT | spec->stats << STATS_SHIFT |
                               spec->trace << TRACE_SHIFT));
    if (spec->has_terminal)
        window_encode(&spec->window, out);
    wire_put_varint(out, spec->modex);
    wire_put_varint(out, spec->stop);
    placement_encode(&spec->placement, &placement);
    compress_put(out, placement.data, placement.length_bytes);
    buffer_fini(&placement);
    wire_put_varint(out, spec->apps_count);
    for (uint32_t i = 0; i < spec->apps_count; i++)
        put_app(&programs, &spec->apps[i]);
    compress_put(out, programs.data, programs.length_bytes);
    buffer_fini(&programs);
    put_parent(out, spec);
}

static void get_apps(struct wire_reader *reader, struct job_spec *ret_spec)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, JOB_SPEC_APPS_MAX);
    struct buffer programs = {0};
    struct wire_reader inner;

    compress_get(reader, JOB_SPEC_PROGRAM_BYTES_MAX, &programs);
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

    compress_get(reader, JOB_SPEC_PLACEMENT_BYTES_MAX, &bytes);
    wire_reader_init(&inner, bytes.data, bytes.length_bytes);
    if (placement_decode(ret_placement, &inner) < 0 || wire_finish(&inner) < 0)
        wire_fail(reader);
    buffer_fini(&bytes);
}

int job_spec_decode(struct job_spec *ret_spec, struct wire_reader *reader)
{
    struct job_spec spec;
    uint8_t flags;

    job_spec_init(&spec);
    spec.number = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    spec.uid = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    spec.mpi = (uint32_t)wire_get_varint_max(reader, JOB_MPI_ALL);
    spec.stdin_rank = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    spec.on_failure = (enum job_on_failure)wire_get_varint_max(reader, JOB_ON_FAILURE_COUNT - 1);
    if (spec.on_failure == JOB_ON_FAILURE_RESTART) {
        spec.restarts_max = (uint32_t)wire_get_varint_max(reader, JOB_RESTARTS_MAX);
        if (spec.restarts_max == 0 || input_is_shared(&spec))
            wire_fail(reader);
    }
    flags = (uint8_t)wire_get_varint_max(reader, 1 << TRACE_SHIFT | 1 << STATS_SHIFT |
                                                     1 << TERMINAL_SHIFT | 1 << 3 |
                                                     JOB_STAGE_ALL << 1 | 1);
    spec.report_bindings = flags & 1;
    spec.stage = flags >> 1 & JOB_STAGE_ALL;
    spec.profile = flags >> 3 & 1;
    spec.has_terminal = flags >> TERMINAL_SHIFT & 1;
    spec.stats = flags >> STATS_SHIFT & 1;
    spec.trace = flags >> TRACE_SHIFT;
    if (spec.has_terminal)
        window_get(reader, &spec.window);
    if (spec.has_terminal && (spec.stdin_rank >= JOB_STDIN_EACH || spec.restarts_max > 0))
        wire_fail(reader);
    spec.modex = (enum job_modex)wire_get_varint_max(reader, JOB_MODEX_COUNT - 1);
    spec.stop = (enum pmi_stop)wire_get_varint_max(reader, PMI_STOP_COUNT - 1);
    get_placement(reader, &spec.placement);
    spec.processes = placement_processes(&spec.placement);
    get_apps(reader, &spec);
    get_parent(reader, &spec);
    if (spec.apps_count != spec.placement.rules_count)
        wire_fail(reader);
    if (wire_status(reader) < 0) {
        job_spec_fini(&spec);
        return -EBADMSG;
    }
    *ret_spec = spec;
    return 0;
}

void job_spec_encode_spawn(const struct job_spec *spec, struct buffer *out)
{
    assert(spec->parent > 0);
    wire_put_u8(out, JOB_MESSAGE_SPAWN);
    job_spec_encode(spec, out);
}
