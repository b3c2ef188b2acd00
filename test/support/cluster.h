/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole tree of nodes (overlay/endpoint.h) in the simulated world, for tests.  Each place's upcalls
 * come to one table of the test, with the place's number.
 */
#ifndef TEST_SUPPORT_CLUSTER_H
#define TEST_SUPPORT_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/virtual_network.h"
#include "overlay/endpoint.h"

/* Of every place: a fifteenth of the default. */
#define CLUSTER_LEASE_NS (8000 * 1000000ull)
/* An eighth of the default: small worlds stream, too. */
#define CLUSTER_INLINE_BYTES (8u * 1024)

struct cluster;

/* As struct endpoint_events, with the cluster and the place in front.  Any may be NULL. */
struct cluster_events {
    void (*joined)(struct cluster *cluster, uint32_t place);
    void (*complete)(struct cluster *cluster);
    void (*broadcast)(struct cluster *cluster, uint32_t place, struct message *payload);
    void (*result)(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                   int status, const struct ranges *lost, struct message *payload);
    void (*received)(struct cluster *cluster, uint32_t place, uint32_t source, uint8_t class,
                     struct message *payload);
    void (*request)(struct cluster *cluster, uint32_t place, uint32_t source, uint32_t id,
                    struct message *payload);
    void (*reply)(struct cluster *cluster, uint32_t place, uint32_t id, int status,
                  struct message *payload);
    void (*lost)(struct cluster *cluster, uint32_t place, const struct ranges *places);
    void (*grown)(struct cluster *cluster, uint32_t place, const struct ranges *places);
    void (*left)(struct cluster *cluster, uint32_t place, const struct ranges *places);
    void (*missing)(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                    const struct endpoint_missing *missing);
    void (*ended)(struct cluster *cluster, uint32_t place, enum endpoint_end end);
    void (*recovered)(struct cluster *cluster, uint32_t place);
};

struct cluster_config {
    struct virtual_network_config sim; /* its places: so many there may be at most */
    uint32_t places;                   /* that the instance begins with; 0: all */
    uint32_t radix;
    uint32_t long_set_ranges; /* endpoint_config's, as the next */
    uint64_t stall_ns;
    uint64_t survive_ns;
    uint32_t inline_bytes; /* 0: CLUSTER_INLINE_BYTES */
    uint8_t trees;         /* enum endpoint_trees */
    endpoint_merge_function *const *merges;
    uint32_t merges_count;
    const struct cluster_events *events;
    void *context;
};

struct cluster_place {
    struct cluster *cluster;
    uint32_t place;
    struct endpoint *node; /* NULL before its start and after its end */
    bool killed;
    bool ended;
    enum endpoint_end end;
};

struct cluster {
    struct cluster_config config;
    struct virtual_network *sim;
    struct cluster_place *places;
};

struct cluster *cluster_create(const struct cluster_config *config);
void cluster_destroy(struct cluster *cluster);
void cluster_start(struct cluster *cluster, uint32_t place);
void cluster_kill(struct cluster *cluster, uint32_t place);
/* The root, which was killed, goes on with the state that it had. */
void cluster_recover(struct cluster *cluster);
/* Started, not killed, not ended. */
bool cluster_is_alive(const struct cluster *cluster, uint32_t place);

#endif
