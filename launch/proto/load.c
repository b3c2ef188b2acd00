/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/load.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void load_fini(struct load *load)
{
    free(load->rows);
    free(load->jobs);
    ranges_fini(&load->silent);
    *load = (struct load){.rows = NULL};
}

/* The more CPU the earlier: of processes of jobs, then of whatever keeps the machine busy. */
static int compare_rows(const struct load_row *a, const struct load_row *b)
{
    static const enum load_figure figures[] = {LOAD_PROCESSES_CPU, LOAD_MACHINE_BUSY};

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        uint64_t left = a->figures[figures[i]], right = b->figures[figures[i]];

        if (left != right)
            return left > right ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static void insert_row(struct load *load, const struct load_row *row, uint32_t rows)
{
    uint32_t at = load->rows_count;

    assert(rows <= LOAD_ROWS_MAX);
    while (at > 0 && compare_rows(row, &load->rows[at - 1]) < 0)
        at--;
    if (at >= rows)
        return;
    if (load->rows_count < rows)
        load->rows = memory_resize(load->rows, (size_t)(++load->rows_count) * sizeof(*load->rows));
    memmove(&load->rows[at + 1], &load->rows[at],
            (load->rows_count - 1 - at) * sizeof(*load->rows));
    load->rows[at] = *row;
}

void load_add(struct load *load, const struct load_row *row, uint32_t rows)
{
    for (int i = 0; i < LOAD_FIGURE_COUNT; i++)
        load->sums[i] += row->figures[i];
    insert_row(load, row, rows);
}

static int compare_numbers(const void *left, const void *right)
{
    const struct load_job *a = left, *b = right;

    return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_use(const void *left, const void *right)
{
    const struct load_job *a = left, *b = right;

    if (a->cpu != b->cpu)
        return a->cpu > b->cpu ? -1 : 1;
    return compare_numbers(left, right);
}

void load_add_job(struct load *load, const struct load_job *job)
{
    load->jobs = memory_resize(load->jobs, (size_t)(load->jobs_count + 1) * sizeof(*load->jobs));
    load->jobs[load->jobs_count++] = *job;
}

void load_sort_jobs(struct load *load)
{
    uint32_t kept = 0;

    if (load->jobs_count > 0)
        qsort(load->jobs, load->jobs_count, sizeof(*load->jobs), compare_numbers);
    for (uint32_t i = 0; i < load->jobs_count; i++) {
        if (kept > 0 && load->jobs[kept - 1].number == load->jobs[i].number) {
            load->jobs[kept - 1].cpu += load->jobs[i].cpu;
            load->jobs[kept - 1].kib += load->jobs[i].kib;
        } else {
            load->jobs[kept++] = load->jobs[i];
        }
    }
    if (kept > 0)
        qsort(load->jobs, kept, sizeof(*load->jobs), compare_use);
    load->is_short |= kept > LOAD_JOBS_MAX;
    load->jobs_count = kept < LOAD_JOBS_MAX ? kept : LOAD_JOBS_MAX;
}

void load_merge(struct load *load, const struct load *other, uint32_t rows)
{
    for (int i = 0; i < LOAD_FIGURE_COUNT; i++)
        load->sums[i] += other->sums[i];
    for (uint32_t i = 0; i < other->rows_count; i++)
        insert_row(load, &other->rows[i], rows);
    for (uint32_t i = 0; i < other->jobs_count; i++)
        load_add_job(load, &other->jobs[i]);
    load_sort_jobs(load);
    load->is_short |= other->is_short;
    ranges_add_all(&load->silent, &other->silent);
}
