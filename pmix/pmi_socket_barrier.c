/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers of PMI-1 and PMI-2: that of all processes, which does not wait for those that have finalized, and those of
 * groups (PMI 1.2), which then cannot end well: all callers get an error.  In each this node contributes the puts of
 * its processes that it has not had.  The calls of a client to one barrier, which threads may make, are its next rounds.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi_kvs_wire.h"
#include "pmix/pmi_socket_internal.h"

#define GROUPS_MAX 65536 /* of a node, by one job */
#define WAITS_MAX  4096  /* calls of a client */

/* A call that has not been answered. */
struct call {
    struct list_link node;
    uint32_t index;
    uint64_t round; /* in which it takes part */
    char *echo;     /* that the protocol has given; NULL: nothing */
};

struct pmi_barrier {
    char *name;            /* NULL: of all that have not finalized */
    struct ranges members; /* ranks; none: all */
    struct ranges owners;  /* clients that are members, of those with a name */
    struct list calls;
    uint64_t *next_round; /* of each client: of its next call */
    uint32_t here;        /* calls that are for this round */
    uint64_t round;       /* that has not ended, from 1 */
    uint64_t id;          /* of the request for it; 0: it is not under way */
    uint64_t sent;        /* position of the puts that it has */
    uint64_t known;       /* that the last one had */
    int is_checking;      /* an answer that comes at once finds this */
};

static struct pmi_barrier *barrier_create(const struct pmi_socket *socket)
{
    struct pmi_barrier *barrier = memory_allocate_zeroed(sizeof(*barrier));

    list_init(&barrier->calls);
    barrier->next_round =
        memory_allocate_zeroed((socket->local_count + 1) * sizeof(*barrier->next_round));
    barrier->round = 1;
    return barrier;
}

static void call_free(struct pmi_socket *socket, const struct pmi_barrier *barrier,
                      struct call *call)
{
    if (barrier->name != NULL)
        socket->group_calls--;
    list_remove(&call->node);
    free(call->echo);
    free(call);
}

static void barrier_destroy(struct pmi_socket *socket, struct pmi_barrier *barrier)
{
    struct list_link *node;

    while ((node = list_first(&barrier->calls)) != NULL)
        call_free(socket, barrier, list_entry(node, struct call, node));
    ranges_fini(&barrier->members);
    ranges_fini(&barrier->owners);
    free(barrier->next_round);
    free(barrier->name);
    free(barrier);
}

/* ---- a round ---- */

static int is_gone(const struct pmi_socket *socket, uint32_t index)
{
    return socket->clients[index].state >= PMI_CLIENT_FINALIZED;
}

/* The clients that this round needs. */
static uint32_t count_needed(const struct pmi_socket *socket, const struct pmi_barrier *barrier)
{
    uint32_t count = 0;

    if (barrier->name != NULL)
        return (uint32_t)ranges_count(&barrier->owners);
    for (uint32_t i = 0; i < socket->local_count; i++)
        count += !is_gone(socket, i);
    return count;
}

/* A member of the group has ended here: no round of it will be complete. */
static int has_lost(const struct pmi_socket *socket, const struct pmi_barrier *barrier)
{
    uint32_t index = 0;

    for (; barrier->name != NULL && ranges_next(&barrier->owners, index, &index); index++)
        if (is_gone(socket, index))
            return 1;
    return 0;
}

static void request(struct pmi_socket *socket, struct pmi_barrier *barrier, int is_lost)
{
    /* Of one that is lost the owner knows what to contribute (pmi_socket_put_ended). */
    struct pmi_process all = {.job = socket->job, .rank = PMI_RANK_ALL}, *list = NULL;
    struct pmi_collective wanted = {
        .kind = PMI_BARRIER, .name = barrier->name, .members = &all, .members_count = 1};
    const struct ranges *owners = barrier->name != NULL ? &barrier->owners : NULL;
    struct buffer puts = {0};
    uint32_t rank = 0;

    if (!ranges_is_empty(&barrier->members)) {
        list = memory_allocate(ranges_count(&barrier->members) * sizeof(*list));
        wanted.members_count = 0;
        for (; ranges_next(&barrier->members, rank, &rank); rank++)
            list[wanted.members_count++] = (struct pmi_process){.job = socket->job, .rank = rank};
        wanted.members = list;
    }
    barrier->id = wanted.id = ++socket->last_id;
    barrier->sent = pmi_kvs_position(socket->kvs);
    wanted.is_lost = is_lost;
    if (!is_lost)
        pmi_kvs_puts_since(socket->kvs, barrier->known, owners, &puts);
    wanted.data = puts.data;
    wanted.data_bytes = puts.length_bytes;
    hash_map_put_u64(socket->barriers_under_way, wanted.id, barrier);
    /* The answer may come at once. */
    socket->ops.collective(socket->ops.context, &wanted);
    buffer_fini(&puts);
    free(list);
}

static void barrier_check(struct pmi_socket *socket, struct pmi_barrier *barrier)
{
    if (barrier->is_checking)
        return;
    barrier->is_checking = 1;
    while (barrier->id == 0 && barrier->here > 0) {
        int is_lost = has_lost(socket, barrier);

        if (!is_lost && barrier->here < count_needed(socket, barrier))
            break;
        request(socket, barrier, is_lost);
    }
    barrier->is_checking = 0;
}

static void release(struct pmi_socket *socket, const struct pmi_barrier *barrier, struct call *call,
                    int status)
{
    struct pmi_client *client = &socket->clients[call->index];

    if (client->state == PMI_CLIENT_IN_BARRIER) {
        assert(client->waits > 0);
        client->waits--;
        if (client->waits == 0)
            client->state = PMI_CLIENT_READY;
        client->protocol->released(socket, call->index, status, call->echo);
    }
    call_free(socket, barrier, call);
}

static void round_ends(struct pmi_socket *socket, struct pmi_barrier *barrier, int status)
{
    struct list_link *node, *spare;

    if (status == 0) {
        barrier->known = barrier->sent;
        if (barrier == socket->barrier)
            pmi_kvs_settle(socket->kvs, barrier->known);
    }
    barrier->id = 0;
    barrier->here = 0;
    barrier->round++;
    list_for_each(&barrier->calls, node, spare)
    {
        struct call *call = list_entry(node, struct call, node);

        if (call->round < barrier->round)
            release(socket, barrier, call, status);
        else
            barrier->here += call->round == barrier->round;
    }
}

int pmi_socket_barrier_done(struct pmi_socket *socket, uint64_t id, int status, const void *data,
                            size_t bytes)
{
    struct pmi_barrier *barrier = hash_map_remove_u64(socket->barriers_under_way, id);

    if (barrier == NULL)
        return 0;
    assert(barrier->id == id && status <= 0);
    if (status == 0)
        status = pmi_kvs_merge(socket->kvs, data, bytes);
    round_ends(socket, barrier, status);
    barrier_check(socket, barrier);
    return 1;
}

/* ---- calls ---- */

static void call_barrier(struct pmi_socket *socket, uint32_t index, struct pmi_barrier *barrier,
                         const char *echo)
{
    struct pmi_client *client = &socket->clients[index];
    struct call *call = memory_allocate_zeroed(sizeof(*call));

    assert(client->state == PMI_CLIENT_READY || client->state == PMI_CLIENT_IN_BARRIER);
    assert(client->waits < WAITS_MAX);
    client->state = PMI_CLIENT_IN_BARRIER;
    client->waits++;
    if (barrier->next_round[index] < barrier->round)
        barrier->next_round[index] = barrier->round;
    socket->group_calls += barrier->name != NULL;
    call->index = index;
    call->round = barrier->next_round[index]++;
    call->echo = echo != NULL ? memory_copy_string(echo) : NULL;
    list_append(&barrier->calls, &call->node);
    barrier->here += call->round == barrier->round;
    barrier_check(socket, barrier);
}

int pmi_socket_wait(struct pmi_socket *socket, uint32_t index, const char *echo)
{
    if (socket->clients[index].waits >= WAITS_MAX)
        return -EAGAIN;
    call_barrier(socket, index, socket->barrier, echo);
    return 0;
}

/* Of a group that this node has not known so far; NULL: there are too many. */
static struct pmi_barrier *group_create(struct pmi_socket *socket, const struct ranges *members,
                                        const char *name, const struct buffer *key)
{
    struct pmi_barrier *barrier;

    if (hash_map_count(socket->groups) == GROUPS_MAX)
        return NULL;
    barrier = barrier_create(socket);
    barrier->name = memory_copy_string(name);
    ranges_copy(&barrier->members, members);
    for (uint32_t i = 0; i < socket->local_count; i++)
        if (ranges_is_empty(members) || ranges_contains(members, socket->local_ranks[i]))
            ranges_add(&barrier->owners, i, i);
    hash_map_put(socket->groups, key->data, key->length_bytes, barrier);
    return barrier;
}

int pmi_socket_wait_group(struct pmi_socket *socket, uint32_t index, const struct ranges *members,
                          const char *name, const char *echo)
{
    struct pmi_barrier *barrier;
    struct buffer key = {0};

    assert(name[0] != '\0');
    if (socket->clients[index].waits >= WAITS_MAX)
        return -EAGAIN;
    buffer_append_string(&key, name);
    buffer_append_string(&key, " ");
    ranges_print(members, &key);
    barrier = hash_map_get(socket->groups, key.data, key.length_bytes);
    if (barrier == NULL)
        barrier = group_create(socket, members, name, &key);
    buffer_fini(&key);
    if (barrier == NULL)
        return -ENOSPC;
    call_barrier(socket, index, barrier, echo);
    return 0;
}

/* ---- who waits ---- */

static int waits_in(const struct pmi_barrier *barrier, uint32_t index)
{
    return barrier->next_round[index] > barrier->round;
}

int pmi_socket_in_barrier(const struct pmi_socket *socket, uint32_t local_index)
{
    assert(local_index < socket->local_count);
    return waits_in(socket->barrier, local_index);
}

int pmi_socket_is_waiting(const struct pmi_socket *socket)
{
    return socket->barrier->here > 0 && socket->barrier->id == 0;
}

int pmi_socket_groups_wait(const struct pmi_socket *socket)
{
    return socket->group_calls > 0;
}

int pmi_socket_group_next(const struct pmi_socket *socket, size_t *cursor,
                          struct pmi_socket_group *ret_group)
{
    const struct pmi_barrier *barrier;

    while ((barrier = hash_map_next(socket->groups, cursor)) != NULL) {
        if (barrier->here == 0)
            continue;
        *ret_group = (struct pmi_socket_group){.members = &barrier->members,
                                               .name = barrier->name,
                                               .handle = barrier,
                                               .round = barrier->round,
                                               .is_under_way = barrier->id != 0};
        return 1;
    }
    return 0;
}

int pmi_socket_in_group(const struct pmi_socket_group *group, uint32_t local_index)
{
    return waits_in(group->handle, local_index);
}

void pmi_socket_put_ended(struct buffer *out)
{
    pmi_kvs_encode_ended(out);
}

uint64_t pmi_socket_count_ended(const void *data, size_t bytes)
{
    char key[PMI_KVS_KEY_BYTES], value[PMI_KVS_VALUE_BYTES];
    struct wire_reader reader;
    uint64_t count = 0;

    wire_reader_init(&reader, data, bytes);
    while (wire_left(&reader) > 0 && wire_status(&reader) == 0) {
        pmi_kvs_decode_put(&reader, key, value);
        count += wire_status(&reader) == 0 && key[0] == '\0';
    }
    return count;
}

/* ---- clients that end ---- */

/* What a client has called that has died meanwhile counts no more, unless the other nodes have heard of it. */
static void drop_calls(struct pmi_socket *socket, struct pmi_barrier *barrier, uint32_t index)
{
    struct list_link *node, *spare;

    list_for_each(&barrier->calls, node, spare)
    {
        struct call *call = list_entry(node, struct call, node);

        if (call->index != index || (call->round == barrier->round && barrier->id != 0))
            continue;
        barrier->here -= call->round == barrier->round;
        call_free(socket, barrier, call);
    }
}

static void client_ended(struct pmi_socket *socket, struct pmi_barrier *barrier, uint32_t index)
{
    drop_calls(socket, barrier, index);
    barrier_check(socket, barrier);
}

void pmi_socket_barrier_ended(struct pmi_socket *socket, uint32_t index)
{
    struct pmi_barrier *barrier;
    size_t cursor = 0;

    assert(is_gone(socket, index));
    client_ended(socket, socket->barrier, index);
    while ((barrier = hash_map_next(socket->groups, &cursor)) != NULL)
        if (ranges_contains(&barrier->owners, index))
            client_ended(socket, barrier, index);
}

/* ---- life ---- */

void pmi_socket_barrier_open(struct pmi_socket *socket)
{
    socket->barrier = barrier_create(socket);
    socket->groups = hash_map_create();
    socket->barriers_under_way = hash_map_create();
}

void pmi_socket_barrier_close(struct pmi_socket *socket)
{
    struct pmi_barrier *barrier;
    size_t cursor = 0;

    while ((barrier = hash_map_next(socket->groups, &cursor)) != NULL)
        barrier_destroy(socket, barrier);
    barrier_destroy(socket, socket->barrier);
    hash_map_destroy(socket->groups);
    hash_map_destroy(socket->barriers_under_way);
}
