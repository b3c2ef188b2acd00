/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node whose ranks have all ended stands in for them in the exchanges of others, so that the rest
 * of the job can continue: it makes an empty contribution to the next operation of each set that it
 * knows or is asked about and, as soon as one has ended, to the one after that.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "launch/rank/services_internal.h"

#define STAND_INS_MAX 256 /* sets; operations of others stall, which the roll call reports */

struct stand_in {
    struct list_link node;
    struct operation_name key; /* of the operation contributed to last */
    struct ranges places;
};

static void stand_in_contribute(struct services *services, const struct stand_in *stand_in)
{
    services->world.contribute(services->world.context, &stand_in->key, &stand_in->places,
                               message_create(NULL, 0));
}

static struct stand_in *stand_in_find(const struct services *services, uint64_t set_id)
{
    struct list_link *node, *spare;

    list_for_each(&services->stand_ins, node, spare)
    {
        struct stand_in *stand_in = list_entry(node, struct stand_in, node);

        if (stand_in->key.set_id == set_id)
            return stand_in;
    }
    return NULL;
}

int services_stands_in(const struct services *services, uint64_t set_id)
{
    return stand_in_find(services, set_id) != NULL;
}

void services_stand_in(struct services *services, const struct operation_name *key,
                       const struct ranges *places)
{
    struct stand_in *stand_in;

    if (services->stand_ins_count == STAND_INS_MAX || stand_in_find(services, key->set_id) ||
        services_last_generation(services, key->set_id) >= key->generation)
        return;
    assert(key->generation > 0);
    stand_in = memory_allocate_zeroed(sizeof *stand_in);
    stand_in->key = *key;
    ranges_copy(&stand_in->places, places);
    list_append(&services->stand_ins, &stand_in->node);
    services->stand_ins_count++;
    stand_in_contribute(services, stand_in);
}

void services_stand_in_result(struct services *services, const struct operation_name *key,
                              int status)
{
    struct stand_in *stand_in = stand_in_find(services, key->set_id);

    if (!stand_in || stand_in->key.generation != key->generation)
        return;
    assert(stand_in->key.set_id == key->set_id);
    stand_in->key.generation++;
    stand_in_contribute(services, stand_in);
    if (status == 0)
        services->world.missed(services->world.context, key);
}

void services_stand_in_close(struct services *services)
{
    struct list_link *node;

    while ((node = list_first(&services->stand_ins)) != NULL) {
        struct stand_in *stand_in = list_entry(node, struct stand_in, node);

        list_remove(node);
        ranges_fini(&stand_in->places);
        free(stand_in);
    }
}
