/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random world for test/soak/overlay_soak.c: what its places do and were told (soak_world.c), what
 * befalls them (soak_plan.c), once more when all is at rest (soak_round.c), who comes and leaves
 * (soak_growth.c), and whether that was right (soak_check.c, which knows nothing of the code under
 * test but the arithmetic of the tree).
 */
#ifndef TEST_SOAK_SOAK_H
#define TEST_SOAK_SOAK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/random.h"
#include "base/ranges.h"
#include "test/support/cluster.h"

#define MS              1000000ull
#define SETS_MAX        12
#define GENERATIONS_MAX 10
#define BROADCASTS_MAX  16
#define ROUNDS_MAX      3
#define LAZY_NS         (20000 * MS)
#define AMBUSHES_MAX    4
#define REQUESTS_MAX    40
#define LEASE_NS        (8000 * MS)
#define HEARTBEAT_NS    (1000 * MS)
/* Who is stopped for less, and whoever is below it, must not be harmed. */
#define STOP_NS        (LEASE_NS / 2 - HEARTBEAT_NS * 3 / 2)
#define STALL_NEVER_NS (3600000 * MS)
#define HEAL_NS        (2 * LEASE_NS) /* after the last fault nobody waits for longer */
#define REST_NS        (20000 * MS) /* after the last operation only lateral links of series are left */
#define LAST           0xffffffffu /* the last broadcast */

/* What one member was told of one operation. */
struct outcome {
    bool called;
    bool told;
    int status;
    uint64_t hash; /* of payload and lost */
};

struct program {
    struct ranges set;
    uint32_t members_count;
    uint32_t *members;
    uint32_t generations;
    bool is_late; /* plan_late_set's */
    bool forgotten;
    uint32_t window; /* so many operations of the set may be open at a member */
    uint8_t target;
    uint32_t filler_bytes;    /* at most so much is added to a contribution: makes it large */
    uint32_t lazy;            /* a member that calls nothing before LAZY_NS, or TREE_NO_PLACE */
    struct outcome *outcomes; /* [generation][member] */
    struct outcome at_root[GENERATIONS_MAX];
    struct buffer success[GENERATIONS_MAX]; /* a payload that came with status 0 */
    uint64_t success_hash[GENERATIONS_MAX];
    bool succeeded[GENERATIONS_MAX];
};

struct told {
    uint32_t *broadcasts;
    uint32_t broadcasts_count;
    uint32_t *deaths; /* and the other changes of the tree, by a mark */
    uint32_t deaths_count;
    uint32_t deaths_from;     /* of the root's: those before were not told */
    uint32_t broadcasts_from; /* of broadcast_order: the same */
    uint32_t last_received;   /* of the stream of sends of its one sender */
    uint64_t dead_ns;         /* the root counts it as dead since; 0: it does not */
    bool joined;
};

#define MARK_LEFT  (1u << 30)
#define MARK_GROWN (1u << 31)

struct request {
    uint32_t from;
    uint32_t to;
    uint32_t id;
    bool sent;
    uint32_t answers;
    int status;
};

struct world {
    uint64_t seed;
    struct random_state random;
    struct cluster *cluster;
    uint32_t places;     /* at the beginning */
    uint32_t population; /* now */
    uint32_t capacity;   /* at most */
    uint32_t radix;
    uint32_t sets_count;
    struct program sets[SETS_MAX];
    struct told *told;
    struct ranges broadcast_sets[BROADCASTS_MAX];
    size_t broadcast_bytes[BROADCASTS_MAX];
    uint32_t broadcasts_count;
    uint32_t broadcasts_sent; /* in this order: ids */
    uint32_t broadcast_order[BROADCASTS_MAX + 1];
    struct request requests[REQUESTS_MAX];
    uint32_t requests_count;
    struct ranges killed;
    struct ranges left;      /* asked to leave */
    struct ranges evictable; /* a broken link may cost them their place */
    struct ranges cut_off;   /* somebody above them is stopped for long */
    struct ambush {
        uint8_t type;     /* of the message */
        uint32_t ordinal; /* so many of it are still to be sent */
        bool receiver;    /* dies, not the sender */
    } ambushes[AMBUSHES_MAX];
    uint32_t ambushes_count;
    uint32_t deaths_planned; /* by kill or by trouble */
    uint64_t settled_ns;     /* nobody is stopped after that */
    uint64_t fault_ns;       /* the last so far, or a call that others may have waited for */
    uint32_t breaks;         /* so many lateral links break */
    uint32_t break_chunks;   /* after so many chunks */
    uint64_t hop_ns;         /* a message takes that at most */
    uint32_t rounds;         /* still to come */
    uint64_t lateral_ns;     /* the first lateral link of this round; 0: none */
    bool is_traced;
    bool complete;
    bool leaving;
    char failure[256];
};

/* soak_world.c */
void world_init(struct world *world, uint64_t seed);
void world_fini(struct world *world);
/* Notes the first violation. */
void world_fault(struct world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Something befalls somebody, or is begun late: others may wait for that. */
void world_disturb(struct world *world);
uint32_t world_below(struct world *world, uint32_t bound);
bool world_survives(const struct world *world, uint32_t place);
int program_member(const struct program *program, uint32_t place); /* index or -1 */
struct outcome *program_outcome(const struct program *program, uint32_t generation, int member);
/* A contribution begins with four words: set, generation, place, and how many bytes follow, each of
 * them world_filler's. */
#define CONTRIBUTION_BYTES 16
uint8_t world_filler(uint32_t set, uint32_t generation, uint32_t place);
/* Calls what the program of a member may call now. */
void program_run(struct world *world, uint32_t set, uint32_t place);

/* soak_plan.c */
void plan_all(struct world *world);
/* A set of any places that there are now, if there is room for one: its members begin when they know
 * of the last of them. */
void plan_late_set(struct world *world);
void plan_kill(struct world *world, uint32_t place, uint64_t at_ns);
void plan_kill_now(struct world *world, uint32_t place);
/* A message is sent: somebody may have waited for it, to kill. */
void plan_ambush(struct world *world, uint32_t from, uint32_t to, uint8_t type);
/* A chunk is sent: the link, if it is a lateral one, may break. */
void plan_break(struct world *world, uint32_t from, uint32_t to);
/* A starter tells the root that a place is gone. */
void plan_failed(struct world *world, uint32_t place);
/* Who lives calls what its program allows, at a time; who is stopped then, when it continues. */
void plan_begin(struct world *world, uint32_t set, uint32_t place, uint64_t at_ns);
void plan_stop(struct world *world, uint32_t place, uint64_t at_ns, uint64_t length_ns);
/* The link to the place's parent breaks. */
void plan_break_tree(struct world *world, uint32_t place, uint64_t at_ns);
void plan_broadcast(struct world *world, uint64_t at_ns);
/* A program over some of the places that there are now, but for these; NULL if there is no room. */
struct program *plan_program(struct world *world, uint32_t places, const struct ranges *without);
void plan_leave(struct world *world);
void plan_forget(struct world *world); /* the last broadcast, and all sets */
/* Sets whose members have all been told everything, some at once and some only by plan_forget. */
void plan_forget_some(struct world *world);

/* soak_growth.c */
void plan_growth(struct world *world, uint64_t span_ns);

/* soak_round.c: how long to wait for another round; what happens in it. */
uint64_t round_pause_ns(struct world *world);
void plan_round(struct world *world);

/* soak_check.c */
bool check_is_quiet(const struct world *world); /* everything has been told that will be told */
/* Before LAZY_NS: who shares a set with the dead does not wait for the lazy. */
void check_lazy(struct world *world);
/* Everything has just become quiet, or never will. */
void check_healed(struct world *world);
/* Some seconds after the last operation, before the sets are forgotten: nothing of streams is left. */
void check_rest(struct world *world);
/* And so some seconds later: all sets are forgotten. */
void check_forgotten(struct world *world);
void check_all(struct world *world);
void check_left(struct world *world);

#endif
