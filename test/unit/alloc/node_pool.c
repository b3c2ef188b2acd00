/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The book of nodes and jobs: what it says of a few, and random jobs against a plain count.
 */
#include "config.h"

#include "alloc/node_pool.h"
#include "test/support/tap.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"

static struct node_pool *pool;
static struct error error;

static int insert(const char *cell, const char *hosts)
{
    struct allocation nodes;
    int rc;

    error = ERROR_NONE;
    allocation_init(&nodes);
    allocation_parse_hosts(&nodes, hosts, NULL);
    rc = node_pool_insert(pool, cell, &nodes, &error);
    allocation_fini(&nodes);
    return rc;
}

static int lookup(const char *cell, const char *name)
{
    uint32_t node = 0;
    int rc = node_pool_lookup(pool, cell, name, &node, &error);

    return rc < 0 ? rc : (int)node;
}

static const char *query(struct node_query wanted)
{
    static struct buffer text;
    struct ranges nodes = {0};

    node_pool_query(pool, &wanted, &nodes);
    buffer_clear(&text);
    ranges_print(&nodes, &text);
    ranges_fini(&nodes);
    return buffer_string(&text);
}

static const char *jobs_of(uint32_t node)
{
    static struct buffer text;
    struct ranges jobs = {0};

    node_pool_jobs_of(pool, node, &jobs);
    buffer_clear(&text);
    ranges_print(&jobs, &text);
    ranges_fini(&jobs);
    return buffer_string(&text);
}

static int take(uint32_t job, uint32_t first, uint32_t last, uint32_t slots, bool oversubscribe)
{
    struct pool_share share = {.nodes = {first, last}, .slots = slots};

    error = ERROR_NONE;
    return node_pool_take(pool, job, &share, 1, oversubscribe, &error);
}

static uint32_t used(uint32_t node)
{
    struct node_record record;

    node_pool_node(pool, node, &record);
    return record.slots_used;
}

static void test_nodes(void)
{
    struct node_record record;

    pool = node_pool_create();
    is_int(insert("", "n[1-100]:4,x:2"), 0, "nodes are inserted");
    is_int(insert("west", "n[1-2]:8"), 0, "the same names in another cell");
    is_int(insert("", "y,n[101-200]:4"), 0, "more of the first cell");
    is_uint(node_pool_count(pool), 204, "all are there");
    is_int(lookup("", "n1"), 0, "by cell and name");
    is_int(lookup("west", "n2"), 102, "in the other cell");
    is_int(lookup("", "n200"), 203, "of a later insertion");
    is_int(lookup(NULL, "y"), 103, "in any cell");
    is_int(lookup(NULL, "n1"), -ENOTUNIQ, "a name of two cells needs one");
    is_string(error.text, "node n1 is in cell \"\" and in \"west\"", "it is said");
    is_int(lookup("west", "n3"), -ENOENT, "one that is not there");
    is_int(lookup("east", "n1"), -ENOENT, "nor a cell");
    is_int(insert("", "z,n[90-110]"), -EEXIST, "a name is unique in its cell");
    is_string(error.text, "node n90 already exists", "it is named");
    is_int(lookup("", "z"), -ENOENT, "then none of them is inserted");
    node_pool_node(pool, 203, &record);
    is_string(record.name, "n200", "a record: name");
    is_string(record.cell, "", "cell");
    is_uint(record.slots_given, 4, "slots given");
    is_uint(record.slots_used, 0, "none used");
    is_int(record.state, NODE_UP, "up");
}

static void test_aliases(void)
{
    is_int(node_pool_alias(pool, 0, "n1.example.org", &error), 0, "another name");
    is_int(node_pool_alias(pool, 0, "10.0.0.1", &error), 0, "an address");
    is_int(node_pool_alias(pool, 0, "10.0.0.1", &error), 0, "again");
    is_int(lookup("", "10.0.0.1"), 0, "it resolves");
    is_int(lookup("west", "10.0.0.1"), -ENOENT, "in its cell only");
    is_int(node_pool_alias(pool, 1, "10.0.0.1", &error), -EEXIST, "of one node only");
    is_string(error.text, "10.0.0.1 is already node n1", "which is named");
    is_int(node_pool_alias(pool, 1, "n3", &error), -EEXIST, "and no other's name");
    is_int(insert("", "10.0.0.1"), -EEXIST, "nor a new node's");
}

static void test_queries(void)
{
    is_string(query((struct node_query){0}), "0-203", "all");
    is_string(query((struct node_query){.cell = "west"}), "101-102", "of a cell");
    is_string(query((struct node_query){.cell = "east"}), "", "of no cell");
    is_string(query((struct node_query){.free_slots = 5}), "101-102", "with slots");
    node_pool_set_state(pool, 5, NODE_DOWN);
    node_pool_set_state(pool, 7, NODE_DRAINING);
    is_string(query((struct node_query){.states = 1u << NODE_UP}), "0-4,6,8-203", "that are up");
    is_string(query((struct node_query){.states = 1u << NODE_DOWN | 1u << NODE_DRAINING}), "5,7",
              "or not");
}

static void test_jobs(void)
{
    static const struct pool_share shares[] = {{{2, 3}, 1}, {{5, 8}, 1}};
    uint32_t a, b, c;

    is_int(node_pool_job_add(pool, 0, &a, &error), 0, "a job");
    is_uint(a, 1, "has the first number");
    is_int(node_pool_job_add(pool, 7, &b, &error), 0, "another has the one it wants");
    is_int(node_pool_job_add(pool, 7, &c, &error), -EEXIST, "which is not given twice");
    is_int(take(a, 0, 4, 3, false), 0, "a takes slots");
    is_int(take(b, 4, 4, 1, false), 0, "b shares a node");
    is_string(jobs_of(4), "1,7", "both are there");
    is_string(jobs_of(3), "1", "one is here");
    is_string(query((struct node_query){.job = b}), "4", "a job's nodes");
    is_string(query((struct node_query){.unused = true, .free_slots = 4}), "5-99,101-102,104-203",
              "nodes nobody uses");
    is_int(take(b, 4, 4, 1, false), -EBUSY, "a full node");
    is_string(error.text, "node n5 has 4 of 4 slots in use; 1 more are requested", "is named");
    is_int(take(b, 4, 4, 1, true), 0, "unless it may be oversubscribed");
    is_int(node_pool_take(pool, b, shares, 2, false, &error), -EHOSTDOWN, "a node that is down");
    is_string(error.text, "node n6 is down", "is named");
    is_uint(used(3), 3, "and nothing was taken of the others");
    is_int(take(99, 0, 0, 1, false), -ENOENT, "no such job");
    node_pool_give_back(pool, a);
    is_uint(used(0), 0, "a's slots are back");
    is_uint(used(4), 2, "b has its own");
    node_pool_give_back(pool, a);
    is_uint(used(4), 2, "giving back again changes nothing");
    is_int(take(a, 0, 0, 1, false), -ENOENT, "who has ended takes nothing");
    is_int(node_pool_job_add(pool, a, &c, &error), -EEXIST, "nor does its number come again");
    is_int(node_pool_exchange(pool, b, shares, 1, &error), 0, "b gets others instead");
    is_uint(used(4), 0, "those that it had are back");
    is_string(query((struct node_query){.job = b}), "2-3", "and it has these");
    is_int(node_pool_exchange(pool, 99, shares, 1, &error), -ENOENT, "no such job has some");
    node_pool_give_back(pool, b);
    is_string(query((struct node_query){.unused = true}), "0-203", "all is back");
}

static void test_first_request(void)
{
    struct ranges named = {0}, got = {0};

    ranges_add(&named, 2, 3);
    node_pool_prefer(pool, &named);
    node_pool_claim(pool, &got);
    ok(ranges_equal(&got, &named), "the first request has the nodes that were named");
    node_pool_claim(pool, &got);
    is_uint(ranges_count(&got), 204, "a later one all of them");
    ranges_fini(&named);
    ranges_fini(&got);
    node_pool_destroy(pool);
}

static const char *derive(const char *list, uint64_t number, uint32_t count)
{
    static struct buffer text;
    struct hostlist *names = hostlist_create();
    struct hostlist *derived = hostlist_create();

    error = ERROR_NONE;
    buffer_clear(&text);
    hostlist_parse(names, list, NULL);
    if (node_pool_derive_names(names, number, count, derived, &error) == 0)
        hostlist_print(derived, &text);
    else
        buffer_append_string(&text, error.text);
    hostlist_destroy(names);
    hostlist_destroy(derived);
    return buffer_string(&text);
}

static void test_derive(void)
{
    is_string(derive("q[0-1024]", 512, 100), "q[512-611]", "100 from number 512 of q[0-1024]");
    is_string(derive("a[1-3],b[0008-0012]", 9, 2), "b[0009-0010]", "of a later run");
    is_string(derive("a[1-3],b[4-5]", 2, 3), "a[2-3],b4", "across runs");
    is_string(derive("q[0-9]", 5, 6),
              "6 names starting at number 5 are requested, but there are only 5", "too many");
    is_string(derive("q[0-9],x", 11, 1), "no name has the number 11", "none");
}

/* Random jobs on 50 nodes; how they end does not matter to the book. */
static void test_random(void)
{
    enum { NODES = 50, JOBS = 20, STEPS = 20000 };
    static uint32_t model[JOBS][NODES];
    uint32_t numbers[JOBS] = {0};
    struct random_state random;
    unsigned int wrong = 0;

    random_init(&random, 5);
    pool = node_pool_create();
    insert("", "n[1-50]:16");
    for (int step = 0; step < STEPS; step++) {
        uint32_t job = (uint32_t)random_below(&random, JOBS);
        uint32_t first = (uint32_t)random_below(&random, NODES);
        uint32_t last = first + (uint32_t)random_below(&random, NODES - first);
        uint32_t slots = (uint32_t)random_below(&random, 6);

        if (numbers[job] == 0) {
            wrong += node_pool_job_add(pool, 0, &numbers[job], NULL) < 0;
        } else if (random_chance(&random, 0.3)) {
            node_pool_give_back(pool, numbers[job]);
            memset(model[job], 0, sizeof(model[job]));
            numbers[job] = 0;
        } else {
            int fits = 1;

            for (uint32_t i = first; i <= last; i++) {
                uint32_t sum = slots;

                for (int k = 0; k < JOBS; k++)
                    sum += model[k][i];
                fits = fits && sum <= 16;
            }
            wrong += (take(numbers[job], first, last, slots, false) == 0) != fits;
            for (uint32_t i = first; fits && i <= last; i++)
                model[job][i] += slots;
        }
        first = (uint32_t)random_below(&random, NODES);
        slots = 0;
        for (int k = 0; k < JOBS; k++)
            slots += model[k][first];
        wrong += used(first) != slots;
    }
    is_uint(wrong, 0, "%d random steps agree with a plain count", STEPS);
    for (int k = 0; k < JOBS; k++)
        node_pool_give_back(pool, numbers[k]);
    is_string(query((struct node_query){.unused = true}), "0-49", "all is back at the end");
    node_pool_destroy(pool);
}

/* A node is taken out, and its name is given again. */
static void test_retired(void)
{
    struct node_record record;

    pool = node_pool_create();
    insert("", "n[1-100],x");
    node_pool_alias(pool, 1, "10.0.0.2", &error);
    node_pool_retire(pool, 1);
    node_pool_retire(pool, 100);
    is_int(lookup("", "n2"), -ENOENT, "the name of a retired node is not found");
    is_int(lookup("", "10.0.0.2"), -ENOENT, "nor its other name");
    is_int(lookup("", "n3"), 2, "those of its neighbours are");
    is_int(insert("", "n[2-3]"), -EEXIST, "the name of one that is not retired is not given");
    is_int(insert("", "y,n2,x,n[101-300]"), 0, "that of a retired one is");
    is_int(lookup("", "n2"), 102, "and found");
    is_int(lookup("", "x"), 103, "so is another");
    is_int(lookup("", "n300"), 303, "and what was new anyway");
    node_pool_node(pool, 102, &record);
    is_string(record.name, "n2", "it is the name of the new node");
    node_pool_retire(pool, 102);
    is_int(lookup("", "n2"), -ENOENT, "until that is retired");
    is_int(insert("", "n2:3"), 0, "it is given a third time");
    is_int(lookup("", "n2"), 304, "and found");
    is_int(insert("", "n2"), -EEXIST, "and taken");
    node_pool_destroy(pool);
}

int main(void)
{
    test_retired();
    test_nodes();
    test_aliases();
    test_queries();
    test_jobs();
    test_first_request();
    test_derive();
    test_random();
    return done_testing();
}
