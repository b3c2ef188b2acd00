/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a rank is with PMI.  Of a fence of PMIx a daemon knows when all members on its node have called it: until then
 * they count as connected.
 */
#include "config.h"

#include <assert.h>

#include "launch/rank/rank_pmi_internal.h"

static int has_reached(const struct client *client, enum client_state state)
{
    return client->state[SPEAKER_SOCKET] == state || client->state[SPEAKER_PMIX] == state;
}

enum activity_pmi rank_pmi_activity(const struct rank_pmi *rank_pmi, uint32_t index)
{
    const struct client *client = &rank_pmi->clients[index];

    assert(index < rank_pmi->config.job->count);
    if (has_reached(client, CLIENT_CONNECTED)) {
        int waits = (rank_pmi->socket != NULL && pmi_socket_in_barrier(rank_pmi->socket, index)) ||
                    rank_pmi_in_collective(rank_pmi, index);

        return waits ? ACTIVITY_PMI_WAITS : ACTIVITY_PMI_CONNECTED;
    }
    return has_reached(client, CLIENT_FINALIZED) ? ACTIVITY_PMI_FINALIZED : ACTIVITY_PMI_NONE;
}
