/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of an instance: what a job takes of which nodes, what others leave, and that it comes back. */
#include "config.h"

#include "launch/job/job_ledger.h"

#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

/* "0-3:2 5:1" */
static void print_shares(const struct job_shares *shares, char text[256])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < shares->count; i++) {
        size_t length = strlen(text);

        snprintf(text + length, 256 - length, "%s%u-%u:%u", i > 0 ? " " : "",
                 shares->items[i].nodes.first, shares->items[i].nodes.last, shares->items[i].slots);
    }
}

/* "2x4 1x4-3": two nodes of four slots, one of which three are in use. */
static void print_runs(const struct allocation *allocation, char text[256])
{
    text[0] = '\0';
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        const struct slots_run *run = &allocation->runs[i];
        size_t length = strlen(text);

        length += (size_t)snprintf(text + length, 256 - length, "%s%ux%u", i > 0 ? " " : "",
                                   run->nodes, run->slots);
        if (run->used > 0)
            snprintf(text + length, 256 - length, "-%u", run->used);
    }
}

static void test_shares(void)
{
    static const struct {
        enum placement_policy policy;
        uint32_t nodes, slots, processes;
        const char *shares;
    } rows[] = {
        {PLACEMENT_BY_SLOT, 4, 2, 8, "0-3:2"},       {PLACEMENT_BY_SLOT, 4, 2, 5, "0-1:2 2-2:1"},
        {PLACEMENT_BY_NODE, 4, 2, 5, "0-0:2 1-3:1"}, {PLACEMENT_BY_SLOT, 1, 1, 1, "0-0:1"},
        {PLACEMENT_BY_NODE, 4, 2, 2, "0-1:1"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct placement placement = {0};
        struct placement_map map = {0};
        struct allocation allocation;
        struct ranges places = {0};
        struct job_shares shares;
        char text[256];

        allocation_init(&allocation);
        allocation_generate(&allocation, "n", rows[i].nodes, rows[i].slots);
        placement_add(&placement, &(struct placement_rule){.policy = rows[i].policy,
                                                           .processes = rows[i].processes});
        is_int(placement_map_make(&map, &placement, &allocation, NULL), 0, "a map");
        placement_map_places(&map, &places);
        job_shares_make(&map, &places, &shares);
        print_shares(&shares, text);
        is_string(text, rows[i].shares, "what %u processes take", rows[i].processes);
        job_shares_fini(&shares);
        ranges_fini(&places);
        placement_map_fini(&map);
        placement_fini(&placement);
        allocation_fini(&allocation);
    }
}

/* Two jobs and missing nodes, of four nodes of four slots. */
static void test_views(void)
{
    static const struct {
        struct pool_share first, second;
        struct range without; /* last < first: none */
        const char *runs;
    } rows[] = {
        {{{0, 0}, 0}, {{0, 0}, 0}, {1, 0}, "4x4"},
        {{{0, 3}, 1}, {{0, 0}, 0}, {1, 0}, "4x4-1"},
        {{{0, 1}, 4}, {{2, 2}, 1}, {1, 0}, "2x4-4 1x4-1 1x4"},
        {{{1, 2}, 3}, {{2, 3}, 1}, {1, 0}, "1x4 1x4-3 1x4-4 1x4-1"},
        {{{0, 3}, 2}, {{0, 0}, 0}, {1, 2}, "1x4-2 2x0 1x4-2"},
        {{{0, 0}, 9}, {{3, 3}, 4}, {3, 3}, "1x4-4 2x4 1x0"},
        {{{0, 1}, 3}, {{1, 2}, 3}, {0, 3}, "4x0"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pool_share items[] = {rows[i].first, rows[i].second};
        struct job_shares shares = {.items = items, .count = 2};
        struct ranges without = {0};
        struct allocation allocation;
        struct job_view view, again;
        char text[256];

        allocation_init(&allocation);
        allocation_generate(&allocation, "n", 4, 4);
        if (rows[i].without.first <= rows[i].without.last)
            ranges_add(&without, rows[i].without.first, rows[i].without.last);
        job_view_init(&view, &allocation);
        job_view_take(&view, &shares);
        job_view_take_nodes(&view, &without);
        job_view_make(&view);
        print_runs(&view.allocation, text);
        is_string(text, rows[i].runs, "what two jobs leave (%zu)", i);
        job_view_init(&again, &view.allocation);
        job_view_make(&again);
        print_runs(&again.allocation, text);
        is_string(text, rows[i].runs, "a view of a view is the same");
        job_view_fini(&again);
        job_view_fini(&view);
        ok(view.deltas == NULL, "nothing is left of it");
        ranges_fini(&without);
        allocation_fini(&allocation);
    }
}

static uint32_t used_of(const struct node_pool *pool, uint32_t node)
{
    struct node_record record;

    node_pool_node(pool, node, &record);
    return record.slots_used;
}

static void test_book(void)
{
    struct pool_share items[] = {{{0, 1}, 2}, {{2, 2}, 7}};
    struct job_shares shares = {.items = items, .count = 2};
    struct ranges places = {0};
    struct node_record record;
    struct allocation allocation;
    struct node_pool *pool;
    uint32_t job = 0;

    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 4, 4);
    pool = job_ledger_create(&allocation);
    is_int(node_pool_job_add(pool, 0, &job, NULL), 0, "a job");
    is_int(job_ledger_take(pool, job, &shares, NULL), 0,
           "takes slots, on one node more than it has");
    is_uint(used_of(pool, 0) + used_of(pool, 1) + used_of(pool, 3), 4, "two of each of two nodes");
    is_uint(used_of(pool, 2), 7, "and seven of four where it oversubscribes");
    ranges_add(&places, 0, 1);
    ranges_add(&places, 4, 9);
    job_ledger_lost(pool, &places);
    node_pool_node(pool, 0, &record);
    is_int(record.state, NODE_DOWN, "place 1 is node 0, which is down");
    node_pool_node(pool, 3, &record);
    is_int(record.state, NODE_DOWN, "so is the last");
    node_pool_node(pool, 1, &record);
    is_int(record.state, NODE_UP, "and no other");
    node_pool_give_back(pool, job);
    is_uint(used_of(pool, 0) + used_of(pool, 1) + used_of(pool, 2), 0, "all is given back");
    ranges_fini(&places);
    node_pool_destroy(pool);
    allocation_fini(&allocation);
}

int main(void)
{
    test_shares();
    test_views();
    test_book();
    return done_testing();
}
