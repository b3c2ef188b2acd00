/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of explore_daemon.c: its world.  explore_daemon_world.c has what the cores speak to: the tree,
 * the helper and the clients, by script.
 */
#ifndef TEST_SOAK_EXPLORE_DAEMON_H
#define TEST_SOAK_EXPLORE_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/core/daemon_core.h"

#define PLACES    3
#define JOBS      2
#define RANKS_MAX 2
#define ITEMS_MAX 64
#define GATHERS   12

struct daemon_scenario {
    const char *name;
    uint32_t processes; /* of job 1 */
    bool fails;         /* job 2's process may exit with 3 */
    bool hangs_up;      /* job 2's client may go away */
    uint32_t dies;      /* this place may die */
    bool ends;          /* job 1's user may end it */
    bool is_long;       /* with EXPLORE=full only */
};

/* What is on its way to a place, in the order of its stream. */
enum item_kind { ITEM_ORDERED, ITEM_MESSAGE, ITEM_RESULT, ITEM_HELPER, ITEM_DRAINED, ITEM_COUNT };

struct item {
    enum item_kind kind;
    uint32_t from;
    uint32_t to;
    uint32_t job; /* of HELPER and DRAINED */
    struct daemon_event event;
    struct job_event job_event;
    struct operation_name key;
    struct ranges places;
};

struct gather {
    bool is_used;
    bool is_over;
    struct operation_name key;
    struct ranges members;
    struct ranges called;
    struct message *parts[PLACES];
};

struct client {
    bool is_open, has_closed;
    uint32_t reports;
    uint32_t status;
};

struct part {
    bool is_open;
    bool has_drained;
    uint32_t running; /* bits of the ranks that run */
    uint32_t ended;   /* bits */
};

struct place {
    struct daemon_core *core; /* NULL: dead */
    struct part parts[JOBS + 1];
};

struct world {
    struct instance_spec spec;
    struct allocation allocation;
    const struct daemon_scenario *scenario;
    uint64_t now_ns;
    uint64_t deadlines_ns[JOBS + 1];
    struct place places[PLACES];
    struct client clients[JOBS + 2]; /* by number; 1 holds the instance */
    struct item *items[ITEMS_MAX];   /* in the order in which they were sent */
    uint32_t items_count;
    struct gather gathers[GATHERS];
    bool is_forgotten[JOBS + 1]; /* owners: who calls after that hears -ECANCELED */
    bool has_failed, has_hung_up, has_died, has_ended; /* what may happen once, did */
    char failure[256];
};

extern struct world *world; /* in the arena */

void world_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool place_is_alive(uint32_t place);
/* Something is on its way; event is copied. */
void item_push(enum item_kind kind, uint32_t from, uint32_t to, const struct daemon_event *event);
bool item_is_first(uint32_t at); /* of its stream */
void item_remove(uint32_t at);   /* from the queue; it is the caller's */
void item_free(struct item *item);
void gather_check(struct gather *gather); /* over when all members have called, or one is dead */
/* The process of a local rank ends; context is its place. */
void rank_ends(void *context, uint32_t job, uint32_t index, int wait_status, bool by_us);

extern const struct daemon_tree_ops script_tree_ops;
extern const struct daemon_ops script_ops;

#endif
