/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/load.h"

#include <assert.h>
#include <errno.h>

#include "base/memory.h"
#include "base/wire.h"

#define RANGES_MAX (16u * 1024 * 1024)

static void put_figures(const uint64_t figures[LOAD_FIGURE_COUNT], struct buffer *out)
{
    for (int i = 0; i < LOAD_FIGURE_COUNT; i++)
        wire_put_varint(out, figures[i]);
}

static void get_figures(struct wire_reader *reader, uint64_t figures[LOAD_FIGURE_COUNT])
{
    for (int i = 0; i < LOAD_FIGURE_COUNT; i++)
        figures[i] = wire_get_varint(reader);
}

void load_encode(const struct load *load, struct buffer *out)
{
    assert(load->rows_count <= LOAD_ROWS_MAX && load->jobs_count <= LOAD_JOBS_MAX);
    put_figures(load->sums, out);
    wire_put_varint(out, load->rows_count);
    for (uint32_t i = 0; i < load->rows_count; i++) {
        wire_put_varint(out, load->rows[i].place);
        put_figures(load->rows[i].figures, out);
    }
    wire_put_varint(out, load->jobs_count);
    for (uint32_t i = 0; i < load->jobs_count; i++) {
        wire_put_varint(out, load->jobs[i].number);
        wire_put_varint(out, load->jobs[i].cpu);
        wire_put_varint(out, load->jobs[i].kib);
    }
    wire_put_varint(out, load->is_short);
    ranges_encode(&load->silent, out);
}

static void get_rows(struct wire_reader *reader, struct load *load)
{
    load->rows_count = (uint32_t)wire_get_varint_max(reader, LOAD_ROWS_MAX);
    load->rows = memory_allocate_zeroed((load->rows_count + 1) * sizeof(*load->rows));
    for (uint32_t i = 0; i < load->rows_count && wire_status(reader) == 0; i++) {
        load->rows[i].place = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        get_figures(reader, load->rows[i].figures);
    }
}

static void get_jobs(struct wire_reader *reader, struct load *load)
{
    load->jobs_count = (uint32_t)wire_get_varint_max(reader, LOAD_JOBS_MAX);
    load->jobs = memory_allocate_zeroed((load->jobs_count + 1) * sizeof(*load->jobs));
    for (uint32_t i = 0; i < load->jobs_count && wire_status(reader) == 0; i++) {
        load->jobs[i].number = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        load->jobs[i].cpu = wire_get_varint(reader);
        load->jobs[i].kib = wire_get_varint(reader);
    }
}

int load_decode(struct load *ret_load, struct wire_reader *reader)
{
    struct load load = {.rows = NULL};

    get_figures(reader, load.sums);
    get_rows(reader, &load);
    get_jobs(reader, &load);
    load.is_short = (uint32_t)wire_get_varint_max(reader, 1);
    ranges_decode(reader, RANGES_MAX, &load.silent);
    if (wire_finish(reader) < 0) {
        load_fini(&load);
        return -EBADMSG;
    }
    *ret_load = load;
    return 0;
}

void load_request_encode(const struct load_request *request, struct buffer *out)
{
    assert(request->rows <= LOAD_ROWS_MAX && request->patience_ms <= LOAD_PATIENCE_MS_MAX);
    wire_put_varint(out, request->rows);
    wire_put_varint(out, request->patience_ms);
    ranges_encode(&request->places, out);
}

int load_request_decode(struct load_request *ret_request, struct wire_reader *reader)
{
    struct load_request request = {.rows = (uint32_t)wire_get_varint_max(reader, LOAD_ROWS_MAX)};

    request.patience_ms = (uint32_t)wire_get_varint_max(reader, LOAD_PATIENCE_MS_MAX);
    ranges_decode(reader, RANGES_MAX, &request.places);
    if (wire_finish(reader) < 0) {
        ranges_fini(&request.places);
        return -EBADMSG;
    }
    *ret_request = request;
    return 0;
}
