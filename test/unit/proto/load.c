/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nodes and jobs use, added, merged, and on its way: launch/proto/load.c and launch/proto/load_wire.c.
 */
#include "config.h"

#include "launch/proto/load.h"

#include <errno.h>

#include "test/support/tap.h"

static int decode(struct load *ret_load, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    return load_decode(ret_load, &reader);
}

static void add(struct load *load, uint32_t place, uint64_t cpu, uint64_t busy, uint32_t rows)
{
    struct load_row row = {.place = place,
                           .figures = {[LOAD_PROCESSES_CPU] = cpu, [LOAD_MACHINE_BUSY] = busy}};

    load_add(load, &row, rows);
}

static void is_load(const struct load *load, const char *expected, const char *name)
{
    struct buffer out = {0};

    buffer_printf(&out, "%llu:", (unsigned long long)load->sums[LOAD_PROCESSES_CPU]);
    for (uint32_t i = 0; i < load->rows_count; i++)
        buffer_printf(&out, " %u", load->rows[i].place);
    for (uint32_t i = 0; i < load->jobs_count; i++)
        buffer_printf(&out, " j%u=%llu,%llu", load->jobs[i].number,
                      (unsigned long long)load->jobs[i].cpu, (unsigned long long)load->jobs[i].kib);
    buffer_append_string(&out, " silent ");
    ranges_print(&load->silent, &out);
    is_string(buffer_string(&out), expected, "%s", name);
    buffer_fini(&out);
}

static void test_merge(void)
{
    struct load first = {.rows = NULL}, second = {.rows = NULL}, taken;
    struct buffer packed = {0};

    add(&first, 4, 10, 0, 3);
    add(&first, 1, 10, 0, 3);
    add(&first, 2, 10, 7, 3);
    add(&first, 3, 5, 0, 3);
    load_add_job(&first, &(struct load_job){.number = 9, .cpu = 1, .kib = 4});
    load_add_job(&first, &(struct load_job){.number = 7, .cpu = 2, .kib = 1});
    load_add_job(&first, &(struct load_job){.number = 9, .cpu = 3, .kib = 4});
    load_sort_jobs(&first);
    is_load(&first, "35: 2 1 4 j9=4,8 j7=2,1 silent ", "the busiest places, and sums of all");
    add(&second, 8, 99, 0, 3);
    add(&second, 7, 1, 0, 3);
    load_add_job(&second, &(struct load_job){.number = 7, .cpu = 5});
    load_sort_jobs(&second);
    ranges_add(&second.silent, 10, 12);
    load_merge(&first, &second, 3);
    is_load(&first, "135: 8 2 1 j7=7,1 j9=4,8 silent 10-12", "two of them are one");
    load_encode(&first, &packed);
    is_int(decode(&taken, packed.data, packed.length_bytes), 0, "it can be read");
    is_load(&taken, "135: 8 2 1 j7=7,1 j9=4,8 silent 10-12", "and is what was written");
    load_fini(&taken);
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++)
        if (decode(&taken, packed.data, bytes) != -EBADMSG)
            fail("it is too short: %zu bytes", bytes);
    buffer_fini(&packed);
    load_fini(&first);
    load_fini(&second);
}

/* However many there are an answer has no more than so many. */
static void test_limits(void)
{
    struct load load = {.rows = NULL}, other = {.rows = NULL};

    add(&load, 1, 5, 0, 0);
    is_uint(load.rows_count, 0, "no rows are asked for");
    is_uint(load.sums[LOAD_PROCESSES_CPU], 5, "only sums");
    for (uint32_t place = 2; place < 2 * LOAD_ROWS_MAX; place++)
        add(&load, place, place, 0, LOAD_ROWS_MAX);
    is_uint(load.rows_count, LOAD_ROWS_MAX, "the most rows");
    is_uint(load.rows[0].place, 2 * LOAD_ROWS_MAX - 1, "of those with the most to do");
    for (uint32_t job = 1; job <= LOAD_JOBS_MAX; job++)
        load_add_job(&load, &(struct load_job){.number = job, .cpu = job});
    load_sort_jobs(&load);
    is_uint(load.is_short, 0, "there is room for so many jobs");
    load_add_job(&other, &(struct load_job){.number = LOAD_JOBS_MAX + 1, .cpu = 2});
    load_sort_jobs(&other);
    load_merge(&load, &other, 0);
    is_uint(load.jobs_count, LOAD_JOBS_MAX, "and for no more");
    is_uint(load.is_short, 1, "which it says");
    is_uint(load.jobs[LOAD_JOBS_MAX - 1].cpu, 2, "those that use the least are left out");
    load_fini(&load);
    load_fini(&other);
}

static void test_request(void)
{
    struct load_request request = {.rows = 9, .patience_ms = 300}, taken;
    struct wire_reader reader;
    struct buffer packed = {0};

    ranges_add(&request.places, 3, 5);
    load_request_encode(&request, &packed);
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_int(load_request_decode(&taken, &reader), 0, "a request can be read");
    ok(taken.rows == 9 && taken.patience_ms == 300 && ranges_equal(&taken.places, &request.places),
       "and is what was written");
    ranges_fini(&taken.places);
    wire_reader_init(&reader, packed.data, packed.length_bytes - 1);
    is_int(load_request_decode(&taken, &reader), -EBADMSG, "a short one cannot");
    wire_reader_init(&reader, "\x81\x02\0\0", 4);
    is_int(load_request_decode(&taken, &reader), -EBADMSG, "nor one for too many rows");
    ranges_fini(&request.places);
    buffer_fini(&packed);
}

int main(void)
{
    test_merge();
    test_limits();
    test_request();
    return done_testing();
}
