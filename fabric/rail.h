/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second way for the frames of collectives and bulk data: libfabric beside the TLS links.  It is
 * a transport (fabric/transport.h) around fabric/link_set.h: links open, authenticate and end
 * there, and control frames stay there, since only the link shows whether a peer is alive.
 *
 * When a link is up both ends send each other the address of their endpoint over it (RAIL_NAME).
 * An end that has its peer's marks in each class where the rail begins (RAIL_SWITCH); what follows
 * in that class goes over the rail, and the receiver holds rail messages until it has the switch,
 * so the order of a class is kept.  The end that closes a link sends its number of messages
 * (RAIL_END); the peer receives them all before it reports the link down.
 *
 * A message is a chunk of a frame, sealed (fabric/tls_seal.h) and bound to sender, class, place in
 * the frame and a running number: a forged, altered or repeated one is dropped and counted, a gap
 * ends the link.  A peer whose link works but whose endpoint accepts nothing for RAIL_STUCK_NS
 * loses the link.
 *
 * Cost: the endpoint's (3 MB over tcp;ofi_rxm), about 40 kB per peer in libfabric, a
 * copy of each payload byte by the seal.
 */
#ifndef FABRIC_RAIL_H
#define FABRIC_RAIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fabric/link_set.h"
#include "fabric/ofi_table.h"
#include "fabric/transport.h"

#define RAIL_STUCK_NS        (5ull * 1000 * 1000 * 1000)
#define RAIL_CLOSE_NS        (1ull * 1000 * 1000 * 1000) /* for what is under way at a close */
#define RAIL_QUEUE_BYTES_MAX ((size_t)512 * 1024 * 1024) /* waiting for one peer */
#define RAIL_EARLY_BYTES_MAX ((size_t)64 * 1024 * 1024)  /* of frames before their switch */
#define RAIL_RENEW_DEFAULT   (1u << 20)                  /* messages under one key: 16 GB */

struct loop;
struct rail;

struct rail_config {
    struct loop *loop;
    const struct ofi_table *table;
    const char *provider; /* NULL: libfabric's first */
    const char *node;     /* our IP address as text, or NULL */
    uint32_t place;
    uint32_t renew_after; /* messages; 0 = RAIL_RENEW_DEFAULT */
    uint64_t stuck_ns;    /* 0 = RAIL_STUCK_NS */
    const struct transport_events *events;
    void *context;
};

/* Opens the endpoint, which takes a tenth of a second and more.  0 or negative errno. */
int rail_create(const struct rail_config *config, struct rail **ret_rail, struct error *error);
/* After the links.  NULL is fine. */
void rail_destroy(struct rail *rail);

/* For link_set_config: events and context (the rail) of the underlying links. */
const struct transport_events *rail_link_events(void);
void rail_attach(struct rail *rail, struct link_set *links);
const struct transport_ops *rail_ops(void); /* transport = struct rail * */
/* As link_set_finish, after everything queued for the rail has been sent. */
void rail_finish(struct rail *rail, void (*finished)(void *context), void *context);

const char *rail_provider(const struct rail *rail);
uint64_t rail_messages_sent(const struct rail *rail);
uint64_t rail_messages_refused(const struct rail *rail); /* forged, altered or repeated */

#endif
