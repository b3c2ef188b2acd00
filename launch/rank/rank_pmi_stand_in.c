/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node whose ranks have all ended stands in for them in the exchanges of others, so that the rest
 * of the job can continue: it makes an empty contribution to the next operation of each set that it
 * is asked about and, as soon as one has ended, to the one after that.  If a rank has ended without finalize it does so
 * unasked in all sets that it knows, for others are likely to wait.  Not after ends in order: such nodes would meet only
 * each other, in an operation that nobody has called.  In the barriers of groups (PMI 1.2) it
 * does so as soon as one member has ended here, and says so, upon which they fail for all; not in advance if all
 * nodes have said so of the last one, for nobody may call another.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/rank/rank_pmi_internal.h"

#define STAND_INS_MAX 256 /* sets; operations of others stall, which the roll call reports */

struct stand_in {
    struct list_link node;
    struct operation_name key; /* of the operation contributed to last */
    struct ranges places;
    int is_idle; /* it has not been contributed to */
};

struct message *rank_pmi_ended_message(void)
{
    struct buffer data = {0};
    struct message *message;

    pmi_socket_put_ended(&data);
    message = message_create(data.data, data.length_bytes);
    buffer_fini(&data);
    return message;
}

static void stand_in_contribute(struct rank_pmi *rank_pmi, struct stand_in *stand_in)
{
    stand_in->is_idle = 0;
    rank_pmi->events.contribute(rank_pmi->events.context, &stand_in->key, &stand_in->places,
                                job_is_group_barrier(&stand_in->key) ? rank_pmi_ended_message()
                                                                     : message_create(NULL, 0));
}

static struct stand_in *stand_in_find(const struct rank_pmi *rank_pmi, uint64_t set_id)
{
    struct list_link *node, *spare;

    list_for_each(&rank_pmi->stand_ins, node, spare)
    {
        struct stand_in *stand_in = list_entry(node, struct stand_in, node);

        if (stand_in->key.set_id == set_id)
            return stand_in;
    }
    return NULL;
}

int rank_pmi_stands_in(const struct rank_pmi *rank_pmi, uint64_t set_id)
{
    return stand_in_find(rank_pmi, set_id) != NULL;
}

void rank_pmi_stand_in(struct rank_pmi *rank_pmi, const struct operation_name *key,
                       const struct ranges *places)
{
    struct stand_in *stand_in = stand_in_find(rank_pmi, key->set_id);

    if (stand_in != NULL && stand_in->is_idle)
        stand_in_contribute(rank_pmi, stand_in);
    if (rank_pmi->stand_ins_count == STAND_INS_MAX || stand_in != NULL ||
        rank_pmi_last_generation(rank_pmi, key->set_id) >= key->generation)
        return;
    assert(key->generation > 0);
    stand_in = memory_allocate_zeroed(sizeof *stand_in);
    stand_in->key = *key;
    ranges_copy(&stand_in->places, places);
    list_append(&rank_pmi->stand_ins, &stand_in->node);
    rank_pmi->stand_ins_count++;
    stand_in_contribute(rank_pmi, stand_in);
}

static void stand_in_free(struct rank_pmi *rank_pmi, struct stand_in *stand_in)
{
    assert(rank_pmi->stand_ins_count > 0);
    rank_pmi->stand_ins_count--;
    list_remove(&stand_in->node);
    ranges_fini(&stand_in->places);
    free(stand_in);
}

/* Whether another operation of the set may be expected. */
static int goes_on(const struct stand_in *stand_in, int status, const struct message *payload)
{
    if (!job_is_group_barrier(&stand_in->key))
        return 1;
    return status == 0 && payload != NULL &&
           pmi_socket_count_ended(payload->data, payload->length_bytes) <
               ranges_count(&stand_in->places);
}

void rank_pmi_stand_in_result(struct rank_pmi *rank_pmi, const struct operation_name *key,
                              int status, const struct message *payload)
{
    struct stand_in *stand_in = stand_in_find(rank_pmi, key->set_id);

    if (!stand_in || stand_in->key.generation != key->generation)
        return;
    assert(stand_in->key.set_id == key->set_id);
    if (status == -EEXIST || status == -EAGAIN) {
        stand_in_free(rank_pmi, stand_in); /* a node that waits will ask again */
        return;
    }
    stand_in->key.generation++;
    stand_in->is_idle = 1;
    if (goes_on(stand_in, status, payload))
        stand_in_contribute(rank_pmi, stand_in);
    if (status == 0 && !job_is_group_barrier(key))
        rank_pmi->events.missed(rank_pmi->events.context, key);
}

void rank_pmi_stand_in_close(struct rank_pmi *rank_pmi)
{
    struct list_link *node;

    while ((node = list_first(&rank_pmi->stand_ins)) != NULL)
        stand_in_free(rank_pmi, list_entry(node, struct stand_in, node));
}
