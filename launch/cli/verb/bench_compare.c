/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_compare.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int take_rows(struct bench_earlier *earlier, json_t *rows)
{
    size_t i;
    json_t *object;

    if (!json_is_array(rows) || json_array_size(rows) == 0)
        return -EBADMSG;
    earlier->rows = memory_allocate_zeroed(json_array_size(rows) * sizeof(*earlier->rows));
    json_array_foreach(rows, i, object)
    {
        if (bench_row_from_json(&earlier->rows[earlier->count], object) < 0)
            return -EBADMSG;
        earlier->count++;
    }
    return 0;
}

int bench_compare_read(struct bench_earlier *ret_earlier, const char *path, struct error *error)
{
    struct bench_earlier earlier = {.count = 0};
    json_error_t why;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    int rc;

    if (root == NULL)
        return error_set(error, -EINVAL, "option --compare: cannot read %.200s: %.200s", path,
                         json_error_code(&why) == json_error_cannot_open_file ? strerror(errno)
                                                                              : why.text);
    rc = take_rows(&earlier, json_object_get(root, "rows"));
    json_decref(root);
    if (rc < 0) {
        bench_compare_fini(&earlier);
        return error_set(error, -EINVAL,
                         "option --compare: %.200s is not what 'banyan bench --json' has written",
                         path);
    }
    *ret_earlier = earlier;
    return 0;
}

void bench_compare_fini(struct bench_earlier *earlier)
{
    free(earlier->rows);
    *earlier = (struct bench_earlier){.count = 0};
}

enum bench_verdict bench_compare_row(const struct bench_earlier *earlier,
                                     const struct bench_row *row,
                                     const struct bench_row **ret_before)
{
    *ret_before = NULL;
    for (uint32_t i = 0; i < earlier->count && *ret_before == NULL; i++) {
        const struct bench_row *before = &earlier->rows[i];

        if (bench_row_is_alike(before, row) && before->is_of_ranks == row->is_of_ranks &&
            before->what.size_bytes == row->what.size_bytes && before->nodes == row->nodes)
            *ret_before = before;
    }
    if (*ret_before == NULL)
        return BENCH_VERDICT_NEW;
    assert(row->low_ns <= row->high_ns);
    if (row->low_ns > (*ret_before)->high_ns)
        return BENCH_VERDICT_SLOWER;
    return row->high_ns < (*ret_before)->low_ns ? BENCH_VERDICT_FASTER : BENCH_VERDICT_SAME;
}

const char *bench_compare_word(enum bench_verdict verdict)
{
    static const char *const words[BENCH_VERDICT_COUNT] = {"new", "same", "faster", "slower"};

    assert(verdict < BENCH_VERDICT_COUNT);
    return words[verdict];
}

static void print_row(const struct bench_row *row, const struct bench_row *before,
                      enum bench_verdict verdict, struct buffer *out)
{
    buffer_printf(out, "%-18s %6u %10u %12.1f ", row->name, row->nodes, row->what.size_bytes,
                  (double)row->median_ns / 1e3);
    if (before != NULL && before->median_ns > 0)
        buffer_printf(out, "%12.1f %8.2f", (double)before->median_ns / 1e3,
                      (double)row->median_ns / (double)before->median_ns);
    else
        buffer_printf(out, "%12s %8s", "-", "-");
    if (row->variant[0] != '\0')
        buffer_printf(out, "  %-7s  %s\n", bench_compare_word(verdict), row->variant);
    else
        buffer_printf(out, "  %s\n", bench_compare_word(verdict));
}

uint32_t bench_compare_print(const struct bench_earlier *earlier, const struct bench_row *rows,
                             uint32_t count, struct buffer *out)
{
    uint32_t slower = 0;

    buffer_printf(out, "\n%-18s %6s %10s %12s %12s %8s  %s\n", "COMPARED",
                  count > 0 && rows[0].is_of_ranks ? "RANKS" : "NODES", "BYTES", "MEDIAN us",
                  "BEFORE us", "RATIO", "VERDICT");
    for (uint32_t i = 0; i < count; i++) {
        const struct bench_row *before;
        enum bench_verdict verdict = bench_compare_row(earlier, &rows[i], &before);

        print_row(&rows[i], before, verdict, out);
        slower += verdict == BENCH_VERDICT_SLOWER;
    }
    return slower;
}
