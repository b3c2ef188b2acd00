/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/stack_report.h"

#include <assert.h>
#include <stdlib.h>

#include "launch/job/job_report.h"

#define STACKS_MAX   10u
#define FAILURES_MAX 7u /* 20 lines less those, and three for what has been left out */

static void append_places(const struct hostlist *names, const struct ranges *places,
                          struct buffer *out)
{
    struct hostlist *named = hostlist_create();

    hostlist_append_places(named, names, places);
    if (hostlist_count(named) > 0)
        hostlist_print(named, out);
    else
        buffer_append_string(out, "unknown nodes");
    hostlist_destroy(named);
}

/* Stacks before failures, and the large groups first. */
static int compare_groups(const void *a, const void *b)
{
    const struct stack_fold_group *left = a, *right = b;
    uint64_t left_count = ranges_count(&left->ranks), right_count = ranges_count(&right->ranks);

    if (left->is_failure != right->is_failure)
        return left->is_failure ? 1 : -1;
    if (left_count != right_count)
        return left_count > right_count ? -1 : 1;
    if (left_count == 0)
        return 0;
    return ranges_min(&left->ranks) < ranges_min(&right->ranks) ? -1 : 1;
}

static void print_group(const struct stack_fold_group *group, const struct hostlist *names,
                        struct buffer *out)
{
    if (group->is_failure)
        buffer_append_string(out, "no stack of ");
    job_report_rank_set(&group->ranks, out);
    buffer_append_string(out, " on ");
    append_places(names, &group->places, out);
    buffer_printf(out, ": %s\n", group->text);
}

void stack_report(struct stack_fold *fold, const struct hostlist *names, struct buffer *out)
{
    uint64_t more = fold->more;
    uint32_t shown[2] = {0};

    assert(fold->count <= STACK_FOLD_GROUPS_MAX);
    if (fold->count > 0)
        qsort(fold->groups, fold->count, sizeof(*fold->groups), compare_groups);
    for (uint32_t i = 0; i < fold->count; i++) {
        const struct stack_fold_group *group = &fold->groups[i];

        if (ranges_is_empty(&group->ranks))
            continue;
        if (shown[group->is_failure]++ < (group->is_failure ? FAILURES_MAX : STACKS_MAX))
            print_group(group, names, out);
        else
            more += ranges_count(&group->ranks);
    }
    if (more > 0)
        buffer_printf(out, "and %llu more ranks, with other stacks\n", (unsigned long long)more);
    if (fold->left > 0)
        buffer_printf(out, "and %llu more ranks, on nodes with more than %u\n",
                      (unsigned long long)fold->left, STACK_FOLD_RANKS_MAX);
    if (!ranges_is_empty(&fold->silent)) {
        buffer_append_string(out, "no stacks in time from ");
        append_places(names, &fold->silent, out);
        buffer_append_string(out, "\n");
    }
}
