/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations: fence, connect and disconnect of PMIx and the barrier of PMI-1 are one
 * operation of the overlay, named by its members, its kind, and its generation, which every member
 * counts separately.  Operations of one set and kind follow each other; those of others do not mix.  A barrier of a
 * group of ranks (PMI 1.2) is a set by its members and its name.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/time.h"
#include "launch/rank/rank_pmi_internal.h"

/* Of a job that wait for other nodes: the overlay has room for 4,096 of all jobs, and needs some for itself. */
#define COLLECTIVES_MAX 1024u

/* One that waits for the other nodes. */
struct collective {
    struct list_link node;
    const struct speaker *speaker;
    struct loop_timer *timer; /* NULL: no time-out */
    uint64_t id;              /* the speaker's */
    struct operation_name key;
    enum pmi_kind kind;
    uint64_t members;   /* its members, whatever the kind */
    struct ranges here; /* local indexes of them */
    int is_mixed;       /* of several jobs */
};

struct collective_set {
    uint32_t generation; /* the last one used */
    uint32_t operation;  /* enum job_operation */
    struct ranges places;
};

static void collective_free(struct collective *collective)
{
    assert(collective->speaker->rank_pmi->collectives_count > 0);
    collective->speaker->rank_pmi->collectives_count--;
    list_remove(&collective->node);
    ranges_fini(&collective->here);
    loop_timer_destroy(collective->timer);
    free(collective);
}

/* The time-out ends it for everyone or, if it has been decided, for nobody. */
static void timed_out(void *context)
{
    struct collective *collective = context;
    const struct rank_pmi_events *events = &collective->speaker->rank_pmi->events;

    events->cancel(events->context, &collective->key);
}

static int compare_processes(const void *a, const void *b)
{
    const struct pmi_process *left = a, *right = b;

    if (left->job != right->job)
        return left->job < right->job ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

/* Places of a member; -ENOENT or -EINVAL if there is none. */
static int add_places(const struct rank_pmi *rank_pmi, const struct pmi_process *member,
                      struct ranges *ret_places)
{
    const struct job_local *job = rank_pmi->config.job;
    uint32_t node, local_index;

    if (member->job != job->number)
        job = rank_jobs_map(rank_pmi->config.jobs, member->job);
    if (job == NULL)
        return -ENOENT;
    if (member->rank == PMI_RANK_ALL) {
        ranges_add_all(ret_places, &job->places);
        return 0;
    }
    if (member->rank >= job->map.processes)
        return -EINVAL;
    placement_map_find(&job->map, member->rank, &node, &local_index);
    ranges_add(ret_places, node + 1, node + 1);
    return 0;
}

/* Name and places of a set of processes, the same at all members regardless of the order given. */
static int members_set(const struct rank_pmi *rank_pmi, const struct pmi_process *list,
                       size_t count, uint64_t *ret_members, struct ranges *ret_places)
{
    struct pmi_process *sorted = memory_copy(list, count * sizeof *list);
    uint64_t members = hash_mix(JOB_OPERATION_PMIX);
    int rc = 0;

    qsort(sorted, count, sizeof *sorted, compare_processes);
    for (size_t i = 0; i < count && rc == 0; i++) {
        members = hash_mix(members ^ sorted[i].job) + hash_mix(sorted[i].rank);
        rc = add_places(rank_pmi, &sorted[i], ret_places);
    }
    free(sorted);
    *ret_members = members;
    return rc;
}

static struct operation_name make_key(const struct rank_pmi *rank_pmi, enum pmi_kind kind,
                                      uint64_t members)
{
    uint32_t number = rank_pmi->config.job->number;
    struct operation_name key = {
        .set_id = kind == PMI_FENCE ? members : hash_mix(members + (uint64_t)kind),
        .owner = number,
        .kind = JOB_OPERATION_PMIX,
        .merge = JOB_MERGE_CONCATENATE,
        .target = ENDPOINT_TARGET_ALL,
    };

    if (kind == PMI_BARRIER)
        key.kind = JOB_OPERATION_PMI1;
    else if (kind == PMI_STOPPED)
        key.kind = JOB_OPERATION_STOPPED;
    return key;
}

/* That of all ranks, as the roll call names it. */
static struct operation_name barrier_key(const struct rank_pmi *rank_pmi)
{
    struct operation_name key = make_key(rank_pmi, PMI_BARRIER, 0);

    key.set_id = job_set_id(key.owner, JOB_OPERATION_PMI1);
    return key;
}

static uint64_t named_set(uint64_t members, const char *name)
{
    return hash_mix(members ^ hash_string(name));
}

static uint32_t generation_next(struct rank_pmi *rank_pmi, const struct operation_name *key,
                                const struct ranges *places)
{
    struct collective_set *set = hash_map_get_u64(rank_pmi->sets, key->set_id);

    if (!set) {
        set = memory_allocate_zeroed(sizeof *set);
        set->operation = key->kind;
        ranges_copy(&set->places, places);
        (void)hash_map_put_u64(rank_pmi->sets, key->set_id, set);
    }
    assert(set->operation == key->kind);
    return ++set->generation;
}

struct operation_name rank_pmi_group_next(const struct rank_pmi *rank_pmi,
                                          const struct pmi_socket_group *group,
                                          struct ranges *ret_places)
{
    uint32_t number = rank_pmi->config.job->number, rank = 0;
    struct pmi_process all = {.job = number, .rank = PMI_RANK_ALL};
    struct buffer list = {0};
    struct operation_name key;
    uint64_t members;

    for (; ranges_next(group->members, rank, &rank); rank++)
        buffer_append(&list, &(struct pmi_process){.job = number, .rank = rank}, sizeof(all));
    if (list.length_bytes == 0)
        buffer_append(&list, &all, sizeof(all));
    (void)members_set(rank_pmi, (const struct pmi_process *)(const void *)list.data,
                      list.length_bytes / sizeof(all), &members, ret_places);
    buffer_fini(&list);
    key = make_key(rank_pmi, PMI_BARRIER, named_set(members, group->name));
    key.generation = rank_pmi_last_generation(rank_pmi, key.set_id) + !group->is_under_way;
    return key;
}

uint32_t rank_pmi_last_generation(const struct rank_pmi *rank_pmi, uint64_t set_id)
{
    const struct collective_set *set = hash_map_get_u64(rank_pmi->sets, set_id);

    return set ? set->generation : 0;
}

struct operation_name rank_pmi_barrier_next(const struct rank_pmi *rank_pmi)
{
    struct operation_name key = barrier_key(rank_pmi);

    key.generation = rank_pmi_last_generation(rank_pmi, key.set_id) + 1;
    return key;
}

static void stand_in_set(struct rank_pmi *rank_pmi, struct operation_name key,
                         const struct ranges *places)
{
    key.generation = rank_pmi_last_generation(rank_pmi, key.set_id) + 1;
    rank_pmi_stand_in(rank_pmi, &key, places);
}

/* Stands in for those of all ranks, and for the other sets seen here as far as there is room. */
void rank_pmi_collective_stand_in(struct rank_pmi *rank_pmi)
{
    const struct job_local *job = rank_pmi->config.job;
    struct pmi_process everyone = {.job = job->number, .rank = PMI_RANK_ALL};
    struct ranges places = {0};
    const void *name;
    size_t cursor = 0, name_bytes;
    const struct collective_set *set;
    uint64_t members;

    (void)members_set(rank_pmi, &everyone, 1, &members, &places);
    if (job->spec.mpi & JOB_MPI_PMI1)
        stand_in_set(rank_pmi, barrier_key(rank_pmi), &places);
    if (job->spec.mpi & JOB_MPI_PMIX)
        stand_in_set(rank_pmi, make_key(rank_pmi, PMI_FENCE, members), &places);
    while ((set = hash_map_next_entry(rank_pmi->sets, &cursor, &name, &name_bytes)) != NULL) {
        struct operation_name key = make_key(rank_pmi, PMI_FENCE, 0);

        memcpy(&key.set_id, name, sizeof key.set_id);
        key.kind = (uint8_t)set->operation;
        if (set->operation != JOB_OPERATION_STOPPED) /* there is one only */
            stand_in_set(rank_pmi, key, &set->places);
    }
    ranges_fini(&places);
}

/* The first of its members' time limits to expire ends it. */
static void set_limit(struct collective *collective, uint32_t timeout_ms)
{
    if (timeout_ms == 0)
        return;
    collective->timer =
        loop_timer_create(collective->speaker->rank_pmi->config.loop, timed_out, collective);
    loop_timer_set(collective->timer, loop_now_ns() + timeout_ms * NS_PER_MS);
}

static void note_local(const struct rank_pmi *rank_pmi, const struct pmi_collective *wanted,
                       struct ranges *here)
{
    const struct job_local *job = rank_pmi->config.job;

    for (size_t i = 0; i < wanted->members_count; i++) {
        const struct pmi_process *member = &wanted->members[i];
        int64_t index;

        if (member->job != job->number)
            continue;
        if (member->rank == PMI_RANK_ALL)
            ranges_add(here, 0, job->count - 1);
        else if ((index = rank_pmi_local_index(rank_pmi, member->rank)) >= 0)
            ranges_add(here, (uint32_t)index, (uint32_t)index);
    }
}

int rank_pmi_in_collective(const struct rank_pmi *rank_pmi, uint32_t index)
{
    struct list_link *node, *spare;

    list_for_each(&rank_pmi->collectives, node, spare)
    {
        if (ranges_contains(&list_entry(node, struct collective, node)->here, index))
            return 1;
    }
    return 0;
}

static int is_lazy(const struct rank_pmi *rank_pmi, const struct collective *collective)
{
    return collective->kind == PMI_FENCE && !collective->is_mixed && rank_pmi_is_lazy(rank_pmi);
}

/* The lowest number of the members' jobs: the operation ends at the latest with that job. */
static uint32_t lowest_job(const struct pmi_collective *wanted)
{
    uint32_t lowest = wanted->members[0].job;

    for (size_t i = 1; i < wanted->members_count; i++)
        lowest = wanted->members[i].job < lowest ? wanted->members[i].job : lowest;
    return lowest;
}

/* Its name, and that of its members. */
static struct operation_name collective_key(const struct rank_pmi *rank_pmi,
                                            const struct pmi_collective *wanted, int is_mixed,
                                            uint64_t *members)
{
    int is_named = wanted->name != NULL && wanted->name[0] != '\0';
    struct operation_name key;

    if (wanted->kind == PMI_BARRIER && !is_named)
        return barrier_key(rank_pmi);
    if (is_named)
        *members = named_set(*members, wanted->name);
    key = make_key(rank_pmi, wanted->kind, *members);
    if (is_mixed)
        key.owner = lowest_job(wanted);
    return key;
}

static void begin_collective(struct speaker *speaker, const struct pmi_collective *wanted,
                             int is_mixed)
{
    struct rank_pmi *rank_pmi = speaker->rank_pmi;
    struct ranges places = {0};
    struct collective *collective;
    struct message *payload;
    uint64_t members;
    int rc = members_set(rank_pmi, wanted->members, wanted->members_count, &members, &places);
    struct operation_name key;

    key = collective_key(rank_pmi, wanted, is_mixed, &members);
    if (rc == 0 && wanted->is_lost)
        stand_in_set(rank_pmi, key, &places);
    if (rc == 0 && rank_pmi_stands_in(rank_pmi, key.set_id))
        rc = -ESRCH; /* ranks have ended meanwhile */
    if (rc == 0 && wanted->kind == PMI_DISCONNECT &&
        !hash_map_get_u64(rank_pmi->pmix.connected, members))
        rc = -ENOTCONN;
    if (rc == 0 && rank_pmi->collectives_count >= COLLECTIVES_MAX)
        rc = -ENOBUFS;
    if (rc < 0) {
        rank_pmi_answer(speaker, wanted->id, rc, NULL, 0);
        ranges_fini(&places);
        return;
    }
    assert(wanted->kind < PMI_KIND_COUNT);
    collective = memory_allocate_zeroed(sizeof *collective);
    collective->id = wanted->id;
    collective->key = key;
    collective->kind = wanted->kind;
    collective->members = members;
    collective->speaker = speaker;
    collective->is_mixed = is_mixed;
    note_local(rank_pmi, wanted, &collective->here);
    set_limit(collective, wanted->timeout_ms);
    collective->key.generation = generation_next(rank_pmi, &key, &places);
    list_append(&rank_pmi->collectives, &collective->node);
    rank_pmi->collectives_count++;
    if (is_mixed && wanted->kind == PMI_FENCE)
        payload = message_create(NULL, 0);
    else if (is_lazy(rank_pmi, collective) && wanted->data_bytes > 0) /* else what is kept stays */
        payload = rank_pmi_lazy_keep(rank_pmi, key.set_id, wanted->data, wanted->data_bytes);
    else if (wanted->is_lost)
        payload = rank_pmi_ended_message();
    else
        payload = message_create(wanted->data, wanted->data_bytes);
    rank_pmi->events.contribute(rank_pmi->events.context, &collective->key, &places, payload);
    ranges_fini(&places);
}

/* ---- Members of several jobs ---- */

/* Waits until this node knows where they all are, and libpmix can take the result.
 *
 * Such a fence carries no data, and a get is a direct modex: libpmix (4.2.2) numbers the processes of a
 * fence through the namespaces that have processes on its node, so the data of others would replace
 * that of the wrong ranks. */
struct mixed {
    struct speaker *speaker;
    struct pmi_collective wanted; /* owns members, name and data */
    struct ranges known;          /* numbers of jobs */
};

/* Of the jobs here one counts the operations of the set, the same each time. */
static struct speaker *speaker_of_mixed(struct speaker *speaker,
                                        const struct pmi_collective *wanted)
{
    struct rank_pmi *first = speaker->rank_pmi;

    for (size_t i = 0; i < wanted->members_count; i++) {
        struct rank_pmi *here =
            rank_jobs_find(speaker->rank_pmi->config.jobs, wanted->members[i].job);

        if (here != NULL && here->config.job->number < first->config.job->number)
            first = here;
    }
    return &first->speakers[speaker->kind];
}

static void mixed_free(struct mixed *mixed)
{
    ranges_fini(&mixed->known);
    free((void *)(uintptr_t)mixed->wanted.members);
    free((void *)(uintptr_t)mixed->wanted.name);
    free((void *)(uintptr_t)mixed->wanted.data);
    free(mixed);
}

static void mixed_known(struct rank_pmi *rank_pmi, void *context, int status);

static void mixed_go_on(struct mixed *mixed)
{
    const struct pmi_collective *wanted = &mixed->wanted;

    for (size_t i = 0; i < wanted->members_count; i++) {
        uint32_t job = wanted->members[i].job;

        if (ranges_contains(&mixed->known, job))
            continue;
        ranges_add(&mixed->known, job, job);
        rank_jobs_need(mixed->speaker->rank_pmi, job, 1, mixed_known, mixed);
        return;
    }
    begin_collective(speaker_of_mixed(mixed->speaker, wanted), wanted, 1);
    mixed_free(mixed);
}

static void mixed_known(struct rank_pmi *rank_pmi, void *context, int status)
{
    struct mixed *mixed = context;

    assert(mixed->speaker->rank_pmi == rank_pmi);
    if (status == 0) {
        mixed_go_on(mixed);
        return;
    }
    if (status != -ECANCELED)
        rank_pmi_answer(mixed->speaker, mixed->wanted.id, status, NULL, 0);
    mixed_free(mixed);
}

static int is_of(const struct pmi_collective *wanted, uint32_t job)
{
    for (size_t i = 0; i < wanted->members_count; i++) {
        if (wanted->members[i].job != job)
            return 0;
    }
    return 1;
}

void rank_pmi_collective(struct speaker *speaker, const struct pmi_collective *wanted)
{
    uint32_t own = speaker->rank_pmi->config.job->number;
    struct mixed *mixed;

    if (is_of(wanted, own) || speaker->rank_pmi->config.jobs == NULL) {
        begin_collective(speaker, wanted, 0);
        return;
    }
    mixed = memory_allocate_zeroed(sizeof(*mixed));
    mixed->speaker = speaker;
    mixed->wanted = *wanted;
    mixed->wanted.members =
        memory_copy(wanted->members, wanted->members_count * sizeof(*wanted->members));
    mixed->wanted.name = wanted->name != NULL ? memory_copy_string(wanted->name) : NULL;
    mixed->wanted.data =
        wanted->data_bytes > 0 ? memory_copy(wanted->data, wanted->data_bytes) : NULL;
    ranges_add(&mixed->known, own, own);
    mixed_go_on(mixed);
}

/* ---- Results ---- */

/* Every node with a member has the same result, so all agree. */
static void connection_change(struct rank_pmi *rank_pmi, const struct collective *collective)
{
    static char present;

    if (collective->kind == PMI_CONNECT)
        (void)hash_map_put_u64(rank_pmi->pmix.connected, collective->members, &present);
    else if (collective->kind == PMI_DISCONNECT)
        (void)hash_map_remove_u64(rank_pmi->pmix.connected, collective->members);
}

int rank_pmi_collective_result(struct rank_pmi *rank_pmi, const struct operation_name *key,
                               int status, struct message *payload)
{
    struct list_link *node, *spare;

    list_for_each(&rank_pmi->collectives, node, spare)
    {
        struct collective *collective = list_entry(node, struct collective, node);
        const struct speaker *speaker = collective->speaker;
        uint64_t id = collective->id;
        int lazy = status == 0 && is_lazy(rank_pmi, collective);

        if (collective->key.set_id != key->set_id || collective->key.generation != key->generation)
            continue;
        assert(collective->key.kind == key->kind);
        if (status == 0)
            connection_change(rank_pmi, collective);
        collective_free(collective); /* the answer may trigger the next operation at once */
        if (lazy) {
            rank_pmi_lazy_result(rank_pmi, speaker, id, key->set_id, payload);
            return 1;
        }
        rank_pmi_answer(speaker, id, status, payload ? payload->data : NULL,
                        payload ? payload->length_bytes : 0);
        return 1;
    }
    return 0;
}

void rank_pmi_collective_open(struct rank_pmi *rank_pmi)
{
    list_init(&rank_pmi->collectives);
    rank_pmi->sets = hash_map_create();
    rank_pmi->pmix.connected = hash_map_create();
}

void rank_pmi_collective_close(struct rank_pmi *rank_pmi)
{
    struct list_link *node;
    struct collective_set *set;
    size_t cursor = 0;

    while ((node = list_first(&rank_pmi->collectives)) != NULL)
        collective_free(list_entry(node, struct collective, node));
    while ((set = hash_map_next(rank_pmi->sets, &cursor)) != NULL) {
        ranges_fini(&set->places);
        free(set);
    }
    hash_map_destroy(rank_pmi->sets);
    hash_map_destroy(rank_pmi->pmix.connected);
}
