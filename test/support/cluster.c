/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/cluster.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "overlay/tree.h"

static void on_joined(void *context)
{
    struct cluster_place *at = context;

    if (at->cluster->config.events->joined != NULL)
        at->cluster->config.events->joined(at->cluster, at->place);
}

static void on_complete(void *context)
{
    struct cluster_place *at = context;

    if (at->cluster->config.events->complete != NULL)
        at->cluster->config.events->complete(at->cluster);
}

static void on_broadcast(void *context, struct message *payload)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->broadcast != NULL)
        at->cluster->config.events->broadcast(at->cluster, at->place, payload);
}

static void on_result(void *context, const struct operation_name *key, int status,
                      const struct ranges *lost, struct message *payload)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->result != NULL)
        at->cluster->config.events->result(at->cluster, at->place, key, status, lost, payload);
}

static void on_received(void *context, uint32_t source, uint8_t class, struct message *payload)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->received != NULL)
        at->cluster->config.events->received(at->cluster, at->place, source, class, payload);
}

static void on_request(void *context, uint32_t source, uint32_t id, struct message *payload)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->request != NULL)
        at->cluster->config.events->request(at->cluster, at->place, source, id, payload);
}

static void on_reply(void *context, uint32_t id, int status, struct message *payload)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->reply != NULL)
        at->cluster->config.events->reply(at->cluster, at->place, id, status, payload);
}

static void on_missing(void *context, const struct operation_name *key, const struct ranges *set,
                       const struct endpoint_missing *missing)
{
    struct cluster_place *at = context;

    (void)set;
    if (at->cluster->config.events->missing != NULL)
        at->cluster->config.events->missing(at->cluster, at->place, key, missing);
}

static void on_lost(void *context, const struct ranges *places)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->lost != NULL)
        at->cluster->config.events->lost(at->cluster, at->place, places);
}

static void on_grown(void *context, const struct ranges *places)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->grown != NULL)
        at->cluster->config.events->grown(at->cluster, at->place, places);
}

static void on_left(void *context, const struct ranges *places)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->left != NULL)
        at->cluster->config.events->left(at->cluster, at->place, places);
}

static void on_ended(void *context, enum endpoint_end end, const struct error *why)
{
    struct cluster_place *at = context;

    (void)why;
    at->ended = true;
    virtual_network_kill(at->cluster->sim, at->place); /* as a process that ends */
    at->end = end;
    if (at->cluster->config.events->ended != NULL)
        at->cluster->config.events->ended(at->cluster, at->place, end);
}

static void on_recovered(void *context)
{
    const struct cluster_place *at = context;

    if (at->cluster->config.events->recovered != NULL)
        at->cluster->config.events->recovered(at->cluster, at->place);
}

static const struct endpoint_events endpoint_events = {
    .recovered = on_recovered,
    .joined = on_joined,
    .complete = on_complete,
    .broadcast = on_broadcast,
    .result = on_result,
    .received = on_received,
    .request = on_request,
    .reply = on_reply,
    .lost = on_lost,
    .grown = on_grown,
    .left = on_left,
    .missing = on_missing,
    .ended = on_ended,
};

/* The static ancestors, nearest first, as a boot record would name them. */
static uint32_t ancestors_of(const struct cluster *cluster, uint32_t place,
                             struct endpoint_ancestor *ret_ancestors)
{
    struct tree tree = {
        .places = cluster->config.places, .radix = cluster->config.radix, .population = place + 1};
    uint32_t count = 0;

    while (place != 0) {
        place = tree_parent(&tree, place);
        ret_ancestors[count].place = place;
        virtual_network_address(place, &ret_ancestors[count].addresses);
        count++;
    }
    return count;
}

void cluster_start(struct cluster *cluster, uint32_t place)
{
    struct cluster_place *at = &cluster->places[place];
    struct endpoint_ancestor ancestors[TREE_DEPTH_MAX];
    struct endpoint_config config = {
        .place = place,
        .places = cluster->config.places,
        .radix = cluster->config.radix,
        .incarnation = 1,
        .lease_ns = CLUSTER_LEASE_NS,
        .ancestors = ancestors,
        .merges = cluster->config.merges,
        .merges_count = cluster->config.merges_count,
        .long_set_ranges = cluster->config.long_set_ranges,
        .stall_ns = cluster->config.stall_ns,
        .survive_ns = cluster->config.survive_ns,
        .trees = cluster->config.trees,
        .inline_bytes =
            cluster->config.inline_bytes > 0 ? cluster->config.inline_bytes : CLUSTER_INLINE_BYTES,
    };

    if (at->node != NULL || at->killed)
        return;
    config.ancestors_count = ancestors_of(cluster, place, ancestors);
    virtual_network_address(place, &config.own);
    at->node = endpoint_create(&config, &endpoint_events, at);
    endpoint_attach(at->node, virtual_network_transport_ops(),
                    virtual_network_transport(cluster->sim, place));
    virtual_network_attach(cluster->sim, place, 1, endpoint_transport_events(), at->node);
    endpoint_start(at->node, NULL);
}

struct cluster *cluster_create(const struct cluster_config *config)
{
    struct cluster *cluster = memory_allocate_zeroed(sizeof(*cluster));

    cluster->config = *config;
    if (config->places == 0)
        cluster->config.places = config->sim.places;
    cluster->sim = virtual_network_create(&config->sim);
    cluster->places = memory_allocate_zeroed(config->sim.places * sizeof(*cluster->places));
    for (uint32_t i = 0; i < config->sim.places; i++) {
        cluster->places[i].cluster = cluster;
        cluster->places[i].place = i;
    }
    return cluster;
}

void cluster_destroy(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->config.sim.places; i++)
        endpoint_destroy(cluster->places[i].node);
    virtual_network_destroy(cluster->sim);
    free(cluster->places);
    free(cluster);
}

void cluster_kill(struct cluster *cluster, uint32_t place)
{
    cluster->places[place].killed = true;
    virtual_network_kill(cluster->sim, place);
}

void cluster_recover(struct cluster *cluster)
{
    struct cluster_place *root = &cluster->places[0];

    root->killed = false;
    virtual_network_attach(cluster->sim, 0, 1, endpoint_transport_events(), root->node);
    endpoint_recover(root->node, virtual_network_transport_ops(),
                     virtual_network_transport(cluster->sim, 0));
}

bool cluster_is_alive(const struct cluster *cluster, uint32_t place)
{
    const struct cluster_place *at = &cluster->places[place];

    return at->node != NULL && !at->killed && !at->ended;
}
