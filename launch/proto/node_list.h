/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client asks about the nodes of an instance (`banyan node`), and what the root answers: the nodes in the
 * roster's order, each group of equal neighbours once.  They are the data of CONTROL_REQUEST and CONTROL_ANSWER.
 *
 * Cost: some bytes for each run of names and for each group; equal nodes cost as much as one.
 */
#ifndef LAUNCH_PROTO_NODE_LIST_H
#define LAUNCH_PROTO_NODE_LIST_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "launch/proto/control.h"

enum node_list_order {
    NODE_LIST_SHOW,
    NODE_LIST_DRAIN,  /* no more processes are started there */
    NODE_LIST_RESUME, /* they are again */
    NODE_LIST_REMOVE, /* their daemons leave */
    NODE_LIST_ADD,    /* daemons are started on nodes that are new */
    NODE_LIST_ORDER_COUNT
};

/* When nodes are removed that jobs use. */
enum node_list_when {
    NODE_LIST_UNUSED, /* never */
    NODE_LIST_WAIT,   /* as soon as none does; until then they are drained */
    NODE_LIST_FORCE,  /* now: to the jobs they are lost */
    NODE_LIST_WHEN_COUNT
};

enum node_list_state {
    NODE_LIST_UP,
    NODE_LIST_DRAINING, /* drained, and jobs still use it */
    NODE_LIST_DRAINED,
    NODE_LIST_LOST,
    NODE_LIST_SPARE, /* up, but kept for the place of one that is lost */
    NODE_LIST_STATE_COUNT
};

struct node_list_request {
    uint8_t order;           /* enum node_list_order */
    uint8_t when;            /* enum node_list_when, of NODE_LIST_REMOVE */
    char *names;             /* a hostlist; "": all, of NODE_LIST_SHOW; owned */
    struct allocation nodes; /* of NODE_LIST_ADD; else zeroed; owned */
};

struct node_list_group {
    uint32_t nodes; /* > 0 */
    uint8_t state;  /* enum node_list_state */
    uint32_t slots;
    uint32_t used;      /* of them, by jobs; more where a job may oversubscribe */
    struct ranges jobs; /* numbers; owned */
};

#define NODE_LIST_WHY_BYTES ERROR_TEXT_BYTES

/* Invariant: the groups cover the names. */
struct node_list {
    /* The request was refused, or nodes could not be added, and nothing has changed: a line for each reason; "": it
     * was not. */
    char why[NODE_LIST_WHY_BYTES];
    uint32_t version;  /* of the roster */
    uint32_t radix;    /* of the tree */
    uint32_t places;   /* of the tree at the beginning */
    struct ranges out; /* places that are not in it: of nodes that are lost, or removed; owned */
    struct hostlist *names; /* owned */
    struct node_list_group *groups;
    uint32_t groups_count;
    uint32_t groups_capacity;
};

void node_list_init(struct node_list *list);
void node_list_fini(struct node_list *list);
/* Without jobs, and without their names, which are the caller's to append.  Valid until the next. */
struct node_list_group *node_list_add(struct node_list *list, uint32_t nodes);
/* 1 if nodes of both are the same in everything but their names. */
int node_list_is_equal(const struct node_list_group *a, const struct node_list_group *b);
const char *node_list_state_name(enum node_list_state state);

void node_list_request_encode(const struct node_list_request *request, struct buffer *out);
void node_list_request_fini(struct node_list_request *request);
/* -EBADMSG. */
int node_list_request_decode(struct node_list_request *ret_request, struct wire_reader *reader);
void node_list_encode(const struct node_list *list, struct buffer *out);
int node_list_decode(struct node_list *ret_list, struct wire_reader *reader);

#endif
