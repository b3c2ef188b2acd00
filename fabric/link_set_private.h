/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fabric/link_set.c, fabric/link_attempt.c (connecting) and fabric/link_listen.c (accepting)
 * share.
 */
#ifndef FABRIC_LINK_SET_PRIVATE_H
#define FABRIC_LINK_SET_PRIVATE_H

#include "base/list.h"
#include "base/hash_map.h"
#include "fabric/link.h"
#include "fabric/link_set.h"
#include "fabric/loop.h"

struct attempt;

/* A place with a link or an attempt. */
struct peer {
    uint32_t place;
    struct link *link;
    struct attempt *attempt;
};

struct link_set {
    struct link_host host;
    struct loop *loop;
    struct loop_watch *watch;
    struct loop_timer *timer; /* the user's */
    struct loop_timer *clock; /* deadlines of links and attempts */
    struct loop_timer *look;  /* next check whether the peers' machines respond */
    int is_looking;           /* look is set: there are links */
    uint64_t clock_ns;        /* when it is set to, UINT64_MAX = idle */
    const struct transport_events *events;
    void *context;
    const struct link_guests *guests; /* NULL: none */
    void *guests_context;
    unsigned char *secret;
    char session[LINK_SESSION_LENGTH_MAX + 1];
    struct banyan_sock_ports ports;
    struct banyan_sock *listeners[ADDRESSES_MAX];
    int listener_count;
    struct addresses addresses; /* of the listeners, as the system has made them */
    int accept_paused;
    struct hash_map *peers; /* struct peer by place */
    struct list attempts;   /* struct attempt: under way */
    struct list failed;     /* struct attempt: to be reported */
    struct list unsettled;  /* struct link: not up yet, closing or dead; oldest first */
    struct list settled;    /* struct link: up */
    struct list dirty;      /* struct link: to be flushed */
    struct list patient;    /* struct link: to be flushed at patient_ns, or with more */
    uint64_t patient_ns;
    size_t link_count; /* of both lists */
    size_t half_open_count;
    size_t handshake_count;                        /* of those, with TLS */
    enum { WORK_NONE, WORK_NEXT, WORK_LAST } work; /* deferred: to the next turn, then to its end */
    void (*finished)(void *context);
    void *finished_context;
    uint64_t log_second;
    unsigned int log_lines;
};

struct peer *link_set_peer(struct link_set *set, uint32_t place); /* NULL if there is none */
void link_set_drop_peer_if_idle(struct link_set *set, struct peer *peer);
void link_set_add(struct link_set *set, struct link *link);
void link_set_deadline(struct link_set *set, struct link *link, uint64_t wait_ns);
/* Ends a link of ours in order, within a second. */
void link_set_close(struct link_set *set, struct link *link, enum link_goodbye reason,
                    const char *text);
/* The link is no longer a stranger's. */
void link_set_end_half_open(struct link_set *set, struct link *link);
/* Checks deadlines at deadline_ns at the latest. */
void link_set_arm_clock(struct link_set *set, uint64_t deadline_ns);
/* Advances attempts, reports and flushes before the loop sleeps. */
void link_set_schedule(struct link_set *set);
/* Logs a refused stranger, at a limited rate. */
void link_set_log_refused(struct link_set *set, const struct error *why);

#endif
