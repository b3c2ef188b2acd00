/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/usage.h"

#include <assert.h>
#include <stdio.h>

#include "base/log_buckets.h"

#define CELL_BYTES 24

/* Takes over the least and the most of others, which may be of one rank only. */
static void fold_extend(struct usage_fold *fold, int is_empty, const struct usage_fold *other)
{
    if (is_empty || other->least < fold->least ||
        (other->least == fold->least && other->least_rank < fold->least_rank)) {
        fold->least = other->least;
        fold->least_rank = other->least_rank;
    }
    if (is_empty || other->most > fold->most ||
        (other->most == fold->most && other->most_rank < fold->most_rank)) {
        fold->most = other->most;
        fold->most_rank = other->most_rank;
    }
}

void usage_add(struct usage *usage, uint32_t rank, const struct usage_rank *what)
{
    for (uint32_t i = 0; i < USAGE_KIND_COUNT; i++) {
        struct usage_fold one = {.least = what->values[i],
                                 .most = what->values[i],
                                 .least_rank = rank,
                                 .most_rank = rank};

        fold_extend(&usage->folds[i], usage->ranks == 0, &one);
        usage->folds[i].counts[log_buckets_find(what->values[i])]++;
    }
    usage->ranks++;
}

void usage_merge(struct usage *usage, const struct usage *other)
{
    if (other->ranks == 0 || other->ranks > UINT32_MAX - usage->ranks)
        return; /* more ranks than a job has: another node is wrong */
    for (uint32_t i = 0; i < USAGE_KIND_COUNT; i++) {
        fold_extend(&usage->folds[i], usage->ranks == 0, &other->folds[i]);
        for (uint32_t range = 0; range < USAGE_RANGES; range++)
            usage->folds[i].counts[range] += other->folds[i].counts[range];
    }
    usage->ranks += other->ranks;
}

/* Of an even number the lower one of the two in the middle. */
uint64_t usage_median(const struct usage *usage, enum usage_kind kind)
{
    const struct usage_fold *fold = &usage->folds[kind];
    uint32_t range = 0;
    uint64_t seen = fold->counts[0], value;

    assert(usage->ranks > 0 && kind < USAGE_KIND_COUNT);
    while (2 * seen < usage->ranks && range < USAGE_RANGES - 1)
        seen += fold->counts[++range];
    value = log_buckets_middle(range);
    if (value < fold->least)
        return fold->least;
    return value > fold->most ? fold->most : value;
}

static void print_value(enum usage_kind kind, uint64_t value, char *text)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint32_t unit = 0;
    double number = (double)value / 1024;

    if (kind == USAGE_USER_US || kind == USAGE_SYSTEM_US) {
        snprintf(text, CELL_BYTES, "%.3f s", (double)value / 1e6);
        return;
    }
    for (; number >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        number /= 1024;
    snprintf(text, CELL_BYTES, "%.1f %s", number, units[unit]);
}

void usage_print(const struct usage *usage, struct buffer *out)
{
    static const char *const names[USAGE_KIND_COUNT] = {[USAGE_USER_US] = "CPU, user",
                                                        [USAGE_SYSTEM_US] = "CPU, system",
                                                        [USAGE_MEMORY_BYTES] = "memory, most",
                                                        [USAGE_READ_BYTES] = "storage, read",
                                                        [USAGE_WRITTEN_BYTES] = "storage, written"};
    char title[32];

    assert(usage->ranks > 0);
    snprintf(title, sizeof(title), "%u rank%s", usage->ranks, usage->ranks == 1 ? "" : "s");
    buffer_printf(out, "%-16s  %12s %-10s  %12s  %12s %s", title, "least", "(rank)", "median",
                  "most", "(rank)");
    for (uint32_t i = 0; i < USAGE_KIND_COUNT; i++) {
        const struct usage_fold *fold = &usage->folds[i];
        char least[CELL_BYTES], median[CELL_BYTES], most[CELL_BYTES], rank[CELL_BYTES];

        print_value((enum usage_kind)i, fold->least, least);
        print_value((enum usage_kind)i, usage_median(usage, (enum usage_kind)i), median);
        print_value((enum usage_kind)i, fold->most, most);
        snprintf(rank, sizeof(rank), "(%u)", fold->least_rank);
        buffer_printf(out, "\n%-16s  %12s %-10s  %12s  %12s (%u)", names[i], least, rank, median,
                      most, fold->most_rank);
    }
}
