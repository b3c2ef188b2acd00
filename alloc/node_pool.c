/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/node_pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/name_index.h"
#include "alloc/placement_require.h"
#include "base/hash_map.h"

/* The nodes of one insertion are numbered consecutively, so a node of a cell is found by a walk
 * over its insertions. */
struct insertion {
    uint32_t first; /* node */
    uint32_t index; /* of its first name in the cell's list */
    uint32_t count;
};

struct cell {
    char *name;
    struct hostlist *names;
    struct name_index *index; /* by name, to the index in names */
    struct hash_map *aliases; /* to node + 1; also names that retired nodes have had before */
    struct insertion *insertions;
    uint32_t insertions_count;
};

struct endpoint {
    uint32_t slots_given;
    uint32_t slots_used;
    uint32_t topology;
    uint16_t cell;
    uint8_t state;
    bool is_retired;
};

struct pool_job {
    uint32_t number;
    uint32_t count;
    struct pool_share *shares; /* what it has */
};

struct node_pool {
    struct endpoint *nodes;
    uint32_t count;
    struct cell *cells;
    uint32_t cells_count;
    struct hash_map *jobs; /* struct pool_job, by number */
    struct ranges used;    /* numbers that are or were a job's */
    struct ranges preferred;
    struct facts_table facts;
};

static void pool_check(const struct node_pool *pool)
{
    assert(pool->cells_count <= POOL_CELLS_MAX && pool->count <= HOSTLIST_HOSTS_MAX);
    assert((pool->cells_count == 0) == (pool->cells == NULL));
    assert(pool->count == 0 || (pool->nodes != NULL && pool->cells_count > 0));
}

struct node_pool *node_pool_create(void)
{
    struct node_pool *pool = memory_allocate_zeroed(sizeof(*pool));

    pool->jobs = hash_map_create();
    return pool;
}

static void cell_fini(struct cell *cell)
{
    free(cell->name);
    hostlist_destroy(cell->names);
    name_index_destroy(cell->index);
    hash_map_destroy(cell->aliases);
    free(cell->insertions);
}

static void job_free(struct pool_job *job)
{
    free(job->shares);
    free(job);
}

void node_pool_destroy(struct node_pool *pool)
{
    size_t cursor = 0;
    struct pool_job *job;

    if (pool == NULL)
        return;
    while ((job = hash_map_next(pool->jobs, &cursor)) != NULL)
        job_free(job);
    hash_map_destroy(pool->jobs);
    for (uint32_t i = 0; i < pool->cells_count; i++)
        cell_fini(&pool->cells[i]);
    free(pool->cells);
    free(pool->nodes);
    ranges_fini(&pool->used);
    ranges_fini(&pool->preferred);
    facts_table_fini(&pool->facts);
    free(pool);
}

uint32_t node_pool_count(const struct node_pool *pool)
{
    return pool->count;
}

/* ---- Cells ---- */

static struct cell *cell_find(const struct node_pool *pool, const char *name)
{
    for (uint32_t i = 0; i < pool->cells_count; i++) {
        if (strcmp(pool->cells[i].name, name) == 0)
            return &pool->cells[i];
    }
    return NULL;
}

static struct cell *cell_get(struct node_pool *pool, const char *name, struct error *error)
{
    struct cell *cell = cell_find(pool, name);

    if (cell != NULL)
        return cell;
    if (pool->cells_count == POOL_CELLS_MAX || strlen(name) > POOL_CELL_BYTES_MAX) {
        error_set(error, -E2BIG, "cell %.80s: more than %u cells, or more than %u bytes in a name",
                  name, POOL_CELLS_MAX, POOL_CELL_BYTES_MAX);
        return NULL;
    }
    pool->cells = memory_resize(pool->cells, (pool->cells_count + 1) * sizeof(*pool->cells));
    cell = &pool->cells[pool->cells_count++];
    *cell = (struct cell){.name = memory_copy_string(name),
                          .names = hostlist_create(),
                          .index = name_index_create(),
                          .aliases = hash_map_create()};
    return cell;
}

static uint32_t node_of_index(const struct cell *cell, uint32_t index)
{
    const struct insertion *insertion = cell->insertions;

    while (index - insertion->index >= insertion->count) {
        insertion++;
        assert(insertion < cell->insertions + cell->insertions_count);
    }
    return insertion->first + (index - insertion->index);
}

/* The node of a name of the cell's list, or of an alias, that is not retired; -1. */
static int64_t cell_lookup(const struct node_pool *pool, const struct cell *cell, const char *name)
{
    int64_t index = name_index_find(cell->index, name, strlen(name));
    int64_t node = index >= 0 ? (int64_t)node_of_index(cell, (uint32_t)index) : -1;

    if (node < 0 || pool->nodes[node].is_retired)
        node = (int64_t)(uintptr_t)hash_map_get(cell->aliases, name, strlen(name)) - 1;
    return node >= 0 && pool->nodes[node].is_retired ? -1 : node;
}

static void node_name(const struct node_pool *pool, uint32_t node,
                      char name[HOST_NAME_BYTES_MAX + 1])
{
    const struct cell *cell = &pool->cells[pool->nodes[node].cell];

    assert(node < pool->count && cell < pool->cells + pool->cells_count);
    for (uint32_t i = 0; i < cell->insertions_count; i++) {
        const struct insertion *insertion = &cell->insertions[i];

        if (node - insertion->first < insertion->count) {
            hostlist_name(cell->names, insertion->index + (node - insertion->first), name);
            return;
        }
    }
    assert(false);
}

/* ---- Inserting and looking up ---- */

static int check_new(const struct node_pool *pool, const struct cell *cell,
                     const struct allocation *nodes, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < hostlist_runs(nodes->names); i++) {
        struct host_run run = hostlist_run(nodes->names, i);

        if (!name_index_may_hold(cell->index, &run) && hash_map_count(cell->aliases) == 0)
            continue;
        for (uint32_t k = 0; k < run.count; k++) {
            hostlist_run_name(&run, k, name);
            if (cell_lookup(pool, cell, name) >= 0)
                return error_set(error, -EEXIST, "node %s already exists", name);
        }
    }
    return 0;
}

static void nodes_append(struct node_pool *pool, uint16_t cell, const struct allocation *nodes)
{
    uint32_t added = allocation_nodes(nodes);

    pool->nodes = memory_resize(pool->nodes, ((size_t)pool->count + added) * sizeof(*pool->nodes));
    for (uint32_t i = 0; i < nodes->runs_count; i++) {
        for (uint32_t k = 0; k < nodes->runs[i].nodes; k++)
            pool->nodes[pool->count++] =
                (struct endpoint){.slots_given = nodes->runs[i].slots, .cell = cell};
    }
}

/* Names that a retired node has had, which the index keeps, are noted as aliases. */
static void names_add(struct cell *cell, const struct host_run *run, uint32_t index)
{
    if (!name_index_may_hold(cell->index, run)) {
        name_index_add(cell->index, run, index);
        return;
    }
    for (uint32_t k = 0; k < run->count; k++) {
        char name[HOST_NAME_BYTES_MAX + 1];
        size_t name_bytes = hostlist_run_name(run, k, name);
        struct host_run one = *run;

        one.first += k;
        one.count = 1;
        if (name_index_find(cell->index, name, name_bytes) < 0)
            name_index_add(cell->index, &one, index + k);
        else
            hash_map_put(cell->aliases, name, name_bytes,
                         (void *)((uintptr_t)node_of_index(cell, index + k) + 1));
    }
}

int node_pool_insert(struct node_pool *pool, const char *cell_name, const struct allocation *nodes,
                     struct error *error)
{
    uint32_t added = allocation_nodes(nodes);
    struct cell *cell;
    uint32_t index;
    int rc;

    pool_check(pool);
    if (added > HOSTLIST_HOSTS_MAX - pool->count)
        return error_set(error, -E2BIG, "more than %u nodes", HOSTLIST_HOSTS_MAX);
    cell = cell_get(pool, cell_name, error);
    if (cell == NULL)
        return -E2BIG;
    rc = check_new(pool, cell, nodes, error);
    if (rc < 0)
        return rc;
    index = hostlist_count(cell->names);
    cell->insertions =
        memory_resize(cell->insertions, (cell->insertions_count + 1) * sizeof(*cell->insertions));
    cell->insertions[cell->insertions_count++] =
        (struct insertion){.first = pool->count, .index = index, .count = added};
    for (uint32_t i = 0; i < hostlist_runs(nodes->names); i++) {
        struct host_run run = hostlist_run(nodes->names, i);

        names_add(cell, &run, index);
        index += run.count;
    }
    hostlist_append_slice(cell->names, nodes->names, 0, added);
    nodes_append(pool, (uint16_t)(cell - pool->cells), nodes);
    pool_check(pool);
    return 0;
}

void node_pool_node(const struct node_pool *pool, uint32_t number, struct node_record *ret_record)
{
    const struct endpoint *node = &pool->nodes[number];

    assert(number < pool->count);
    *ret_record = (struct node_record){
        .cell = pool->cells[node->cell].name,
        .state = (enum node_state)node->state,
        .slots_given = node->slots_given,
        .slots_used = node->slots_used,
        .topology = node->topology,
        .facts = facts_table_find(&pool->facts, number),
    };
    node_name(pool, number, ret_record->name);
}

int node_pool_alias(struct node_pool *pool, uint32_t node, const char *alias, struct error *error)
{
    struct cell *cell = &pool->cells[pool->nodes[node].cell];
    int64_t found = cell_lookup(pool, cell, alias);
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(node < pool->count);
    if (found == node)
        return 0;
    if (found >= 0) {
        node_name(pool, (uint32_t)found, name);
        return error_set(error, -EEXIST, "%.80s is already node %s", alias, name);
    }
    hash_map_put(cell->aliases, alias, strlen(alias), (void *)((uintptr_t)node + 1));
    return 0;
}

int node_pool_lookup(const struct node_pool *pool, const char *cell, const char *name,
                     uint32_t *ret_node, struct error *error)
{
    const struct cell *first = NULL;

    for (uint32_t i = 0; i < pool->cells_count; i++) {
        const struct cell *at = &pool->cells[i];
        int64_t found;

        if (cell != NULL && strcmp(at->name, cell) != 0)
            continue;
        found = cell_lookup(pool, at, name);
        if (found >= 0 && first != NULL)
            return error_set(error, -ENOTUNIQ, "node %.80s is in cell \"%s\" and in \"%s\"", name,
                             first->name, at->name);
        if (found >= 0) {
            first = at;
            *ret_node = (uint32_t)found;
        }
    }
    return first != NULL ? 0 : error_set(error, -ENOENT, "no such node: %.80s", name);
}

void node_pool_retire(struct node_pool *pool, uint32_t node)
{
    assert(node < pool->count);
    pool->nodes[node].is_retired = true;
}

void node_pool_set_state(struct node_pool *pool, uint32_t node, enum node_state state)
{
    assert(node < pool->count && state < NODE_STATE_COUNT);
    pool->nodes[node].state = (uint8_t)state;
}

void node_pool_set_topology(struct node_pool *pool, uint32_t node, uint32_t topology)
{
    assert(node < pool->count);
    pool->nodes[node].topology = topology;
}

/* ---- Asking ---- */

static bool job_has(const struct pool_job *job, uint32_t node)
{
    for (uint32_t i = 0; i < job->count; i++) {
        if (node >= job->shares[i].nodes.first && node <= job->shares[i].nodes.last)
            return true;
    }
    return false;
}

static bool has_required(const struct node_pool *pool, const struct node_query *query,
                         uint32_t number)
{
    static const struct node_facts nothing = {.known = 0};
    const struct node_facts *facts;

    if (query->require == NULL)
        return true;
    facts = facts_table_find(&pool->facts, number);
    return placement_require_holds(query->require, facts != NULL ? facts : &nothing);
}

static bool node_matches(const struct node_pool *pool, const struct node_query *query,
                         uint32_t number, const struct cell *cell, const struct pool_job *job)
{
    const struct endpoint *node = &pool->nodes[number];
    uint32_t free_slots =
        node->slots_given > node->slots_used ? node->slots_given - node->slots_used : 0;

    return (query->cell == NULL || &pool->cells[node->cell] == cell) &&
           (query->states == 0 || (query->states & 1u << node->state) != 0) &&
           free_slots >= query->free_slots && (!query->unused || node->slots_used == 0) &&
           (query->job == 0 || (job != NULL && job_has(job, number))) &&
           has_required(pool, query, number);
}

void node_pool_add_facts(struct node_pool *pool, const struct facts_table *facts)
{
    facts_table_merge(&pool->facts, facts);
}

void node_pool_query(const struct node_pool *pool, const struct node_query *query,
                     struct ranges *ret_nodes)
{
    const struct cell *cell = query->cell != NULL ? cell_find(pool, query->cell) : NULL;
    const struct pool_job *job = query->job > 0 ? hash_map_get_u64(pool->jobs, query->job) : NULL;
    uint32_t first = 0;

    ranges_clear(ret_nodes);
    for (uint32_t i = 0; i < pool->count; i = first) {
        bool matched = node_matches(pool, query, i, cell, job);

        for (first = i + 1; first < pool->count; first++) {
            if (node_matches(pool, query, first, cell, job) != matched)
                break;
        }
        if (matched)
            ranges_add(ret_nodes, i, first - 1);
    }
}

void node_pool_jobs_of(const struct node_pool *pool, uint32_t node, struct ranges *ret_jobs)
{
    const struct pool_job *job;
    size_t cursor = 0;

    ranges_clear(ret_jobs);
    while ((job = hash_map_next(pool->jobs, &cursor)) != NULL) {
        if (job_has(job, node))
            ranges_add(ret_jobs, job->number, job->number);
    }
}

/* ---- Jobs ---- */

int node_pool_job_add(struct node_pool *pool, uint32_t wanted, uint32_t *ret_job,
                      struct error *error)
{
    struct pool_job *job;

    if (wanted > 0 && ranges_contains(&pool->used, wanted))
        return error_set(error, -EEXIST, "job number %u is already used", wanted);
    if (wanted == 0 && !ranges_first_gap(&pool->used, 1, UINT32_MAX, &wanted))
        return error_set(error, -E2BIG, "no job number is left");
    ranges_add(&pool->used, wanted, wanted);
    job = memory_allocate_zeroed(sizeof(*job));
    job->number = wanted;
    hash_map_put_u64(pool->jobs, wanted, job);
    *ret_job = wanted;
    return 0;
}

static int check_node(const struct node_pool *pool, uint32_t number, uint32_t slots,
                      bool oversubscribe, struct error *error)
{
    static const char *const states[] = {"up", "down", "draining", "rebooting"};
    const struct endpoint *node = &pool->nodes[number];
    char name[HOST_NAME_BYTES_MAX + 1];

    assert(number < pool->count && node->state < NODE_STATE_COUNT);
    if (node->state != NODE_UP) {
        node_name(pool, number, name);
        return error_set(error, -EHOSTDOWN, "node %s is %s", name, states[node->state]);
    }
    if (oversubscribe ? slots <= UINT32_MAX - node->slots_used
                      : (uint64_t)node->slots_used + slots <= node->slots_given)
        return 0;
    node_name(pool, number, name);
    return error_set(error, -EBUSY, "node %s has %u of %u slots in use; %u more are requested",
                     name, node->slots_used, node->slots_given, slots);
}

static void shares_apply(struct node_pool *pool, const struct pool_share *share, bool back)
{
    assert(share->nodes.first <= share->nodes.last && share->nodes.last < pool->count);
    for (uint32_t node = share->nodes.first; node <= share->nodes.last; node++) {
        assert(!back || pool->nodes[node].slots_used >= share->slots);
        pool->nodes[node].slots_used += back ? 0 - share->slots : share->slots;
    }
}

static int share_take(struct node_pool *pool, const struct pool_share *share, bool oversubscribe,
                      struct error *error)
{
    assert(share->nodes.first <= share->nodes.last && share->nodes.last < pool->count);
    for (uint32_t node = share->nodes.first; node <= share->nodes.last; node++) {
        int rc = check_node(pool, node, share->slots, oversubscribe, error);

        if (rc < 0)
            return rc;
    }
    shares_apply(pool, share, false);
    return 0;
}

int node_pool_take(struct node_pool *pool, uint32_t number, const struct pool_share *shares,
                   uint32_t shares_count, bool oversubscribe, struct error *error)
{
    struct pool_job *job = hash_map_get_u64(pool->jobs, number);
    uint32_t taken = 0;
    int rc = 0;

    assert(shares_count == 0 || shares != NULL);
    if (job == NULL)
        return error_set(error, -ENOENT, "no such job: %u", number);
    while (rc == 0 && taken < shares_count) {
        rc = share_take(pool, &shares[taken], oversubscribe, error);
        taken += rc == 0;
    }
    if (rc < 0) {
        while (taken > 0)
            shares_apply(pool, &shares[--taken], true);
        return rc;
    }
    job->shares =
        memory_resize(job->shares, ((size_t)job->count + shares_count) * sizeof(*job->shares));
    if (shares_count > 0)
        memcpy(job->shares + job->count, shares, shares_count * sizeof(*shares));
    job->count += shares_count;
    assert(job->number == number);
    return 0;
}

int node_pool_exchange(struct node_pool *pool, uint32_t number, const struct pool_share *shares,
                       uint32_t shares_count, struct error *error)
{
    struct pool_job *job = hash_map_get_u64(pool->jobs, number);

    if (job == NULL)
        return error_set(error, -ENOENT, "no such job: %u", number);
    for (uint32_t i = 0; i < job->count; i++)
        shares_apply(pool, &job->shares[i], true);
    job->count = 0;
    return node_pool_take(pool, number, shares, shares_count, true, error);
}

void node_pool_give_back(struct node_pool *pool, uint32_t number)
{
    struct pool_job *job = hash_map_remove_u64(pool->jobs, number);

    if (job == NULL)
        return;
    for (uint32_t i = 0; i < job->count; i++)
        shares_apply(pool, &job->shares[i], true);
    job_free(job);
}

/* ---- The first request ---- */

void node_pool_prefer(struct node_pool *pool, const struct ranges *nodes)
{
    ranges_copy(&pool->preferred, nodes);
}

void node_pool_claim(struct node_pool *pool, struct ranges *ret_nodes)
{
    ranges_clear(ret_nodes);
    if (!ranges_is_empty(&pool->preferred))
        ranges_move(ret_nodes, &pool->preferred);
    else if (pool->count > 0)
        ranges_add(ret_nodes, 0, pool->count - 1);
}

/* ---- Names ---- */

int node_pool_derive_names(const struct hostlist *names, uint64_t number, uint32_t count,
                           struct hostlist *ret_names, struct error *error)
{
    uint32_t index = 0;

    assert(names != ret_names);
    for (uint32_t i = 0; i < hostlist_runs(names); i++) {
        struct host_run run = hostlist_run(names, i);

        if (run.width > 0 && number >= run.first && number - run.first < run.count) {
            index += (uint32_t)(number - run.first);
            if (count == 0 || count > hostlist_count(names) - index)
                return error_set(
                    error, -ERANGE,
                    "%u names starting at number %llu are requested, but there are only %u", count,
                    (unsigned long long)number, hostlist_count(names) - index);
            hostlist_append_slice(ret_names, names, index, count);
            return 0;
        }
        index += run.count;
    }
    return error_set(error, -ENOENT, "no name has the number %llu", (unsigned long long)number);
}
