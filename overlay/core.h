/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the core share: the state of one place, and the few functions by which they
 * call each other, unless a separate header has them (broadcast.h, collective.h, large.h, series.h,
 * stream.h).  Each part's state is modified by its own file only.
 *
 *     overlay.c     create, step, dispatch of frames by type and sender
 *     join.c        the way up: finding, keeping and losing a parent
 *     membership.c  the way down: child ranges, guests that ask to join, arrivals, leaving
 *     deaths.c      reports of deaths, on their way into the root's log
 *     absence.c     finds dead places of a range that was cut off
 *     heirs.c       addresses of places that may inherit
 *     lease.c       heartbeats, leases, silence; the one timer
 *     measure.c     what the network costs
 *     broadcast.c   the root's ordered log; broadcast_large.c: large payloads
 *     growth.c      places added and places that leave
 *     recovery.c    a root that goes on in another process
 *     forget.c      removal of finished operations
 *     stall_probe.c members missing in an operation
 *     collective.c  exchange and gather; large.c: large ones; collective_cancel.c: given up;
 *                   series*.c, operation.c: records; collective_restart.c: changes in the tree
 *     stream.c      transfers over two trees
 *     lateral.c     links outside the tree
 *     route.c       send, request, reply
 */
#ifndef OVERLAY_CORE_H
#define OVERLAY_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/ranges.h"
#include "overlay/measure.h"
#include "overlay/overlay.h"
#include "overlay/overlay_wire.h"
#include "overlay/tree.h"

#define OVERLAY_NEVER_NS UINT64_MAX
/* A lateral link without an owner is closed when it has not been used for so long. */
#define LATERAL_IDLE_NS (10000 * 1000000ull)

enum child_state {
    CHILD_EMPTY,  /* no place has ever joined for this range */
    CHILD_LINKED, /* its head is our child */
    CHILD_LOST,   /* the link broke; the head is reported, its death not yet in the log */
    CHILD_HEIR,   /* the head died; we wait for its heir */
    CHILD_GONE    /* left */
};

/* One of the ranges below this place.  They are sorted, never removed, and only appended to. */
struct child {
    struct message *heirs; /* addresses of places below its head; NULL: none sent */
    struct range range;
    uint32_t head;        /* first living place of range, or TREE_NO_PLACE */
    uint32_t incarnation; /* of the head, when linked or lost */
    enum child_state state;
    bool is_noticed;           /* its silence has been reported */
    bool is_heard;             /* LINKED: it has sent something since WELCOME */
    bool is_judged;            /* LOST, HEIR: a head without a known address has been reported */
    bool was_closed;           /* LOST, HEIR: its head did not fall silent, so leases are fresh */
    struct measured measured;  /* as reported by its head */
    uint64_t acked;            /* all entries up to it have reached all of range */
    struct log_item *unacked;  /* the first one kept after it, or NULL */
    uint64_t since_ns;         /* LINKED: last echo; LOST, HEIR: when the range was cut off */
    uint64_t echo_stamp_ns;    /* last echo, child's clock */
    uint64_t echo_received_ns; /* our clock */
    struct message *addresses; /* packed; NULL unless linked */
};

/* A probe of a place that should be linked and is not. */
#define OVERLAY_PROBES_MAX OVERLAY_HEIRS_MAX

struct probe {
    uint32_t place; /* 0: none */
    bool is_connecting;
    bool is_well;    /* the daemon itself has answered our connection */
    bool is_silent;  /* its machine accepts connections, but the daemon stays silent */
    bool is_linked;  /* it had a link to us when it was last checked */
    uint32_t misses; /* in a row: refused, or the machine does not answer */
    uint64_t due_ns; /* the next attempt, or the end of this one */
};

/* Of a place that has lost or inherited a range. */
struct search {
    struct message *known; /* addresses of our range, as sent by the parent when we inherited */
    uint32_t found;        /* dead places found since ranges were cut off: adds to the number of
                     * simultaneous probes */
    struct probe probes[OVERLAY_PROBES_MAX];
};

/* A link whose place is not (yet) our child or parent. */
struct guest {
    struct guest *next;
    uint32_t place;
    uint32_t incarnation;
    bool asked;           /* join is valid and waits for an answer */
    bool held;            /* and has been sent HOLD */
    bool dismissed;       /* answered; the guest must close the link */
    bool parted;          /* was our child and has left; may still forward routed frames */
    uint64_t received_ns; /* JOIN; or parted since */
    struct overlay_join join;
};

struct log_item;
struct large_entry;
struct upward;
struct stream_large;
struct operation;
struct series;
struct held;
struct hash_map;

enum join_state {
    JOIN_IDLE,       /* not started, the root, or ended */
    JOIN_CONNECTING, /* to target */
    JOIN_ASKING,     /* JOIN is sent to target */
    JOIN_WAITING,    /* between two rounds, until retry_ns */
    JOIN_JOINED      /* target is the parent */
};

struct join {
    enum join_state state;
    uint32_t target;
    uint32_t candidate; /* index into the ancestors, of the round */
    uint32_t round;
    uint32_t redirects; /* in this round */
    uint32_t avoid;     /* the parent just lost: tried last in the first round */
    uint32_t silent;    /* the same, if it fell silent: tried only in every fourth round */
    uint32_t doubt_round;
    uint32_t ancestors_count;
    struct range kept; /* the log for: */
    bool is_kept;      /* our parent has left, and our scope is larger than what we have kept */
    bool ever;         /* has had a parent */
    bool held;         /* ASKING: the target has a path to the root and makes us wait */
    bool doubted;      /* in doubt_round a place neither answered nor refused */
    bool refused;      /* in this round all places tried have refused */
    bool doubtful;     /* a JOIN was not answered: it may have been taken */
    uint64_t since_ns; /* seeking since */
    uint64_t end_ns;   /* until when at most */
    uint64_t cut_ns;   /* since when we or a place above us has been seeking a parent; NEVER:
                        * none */
    uint64_t asked_ns; /* the target, since */
    uint64_t retry_ns;
    struct message *ancestors; /* packed: place, addresses; nearest first */
};

struct lease {
    uint64_t round;    /* of the last wave */
    uint64_t bound_ns; /* the root sent it no earlier than this, on our clock; NEVER: no wave yet */
    uint64_t heard_ns; /* last LEASE of the parent */
    uint64_t beat_ns;  /* our last beat to the children */
    uint64_t watch_ns; /* when to look for silent children */
    uint64_t armed_ns; /* the timer */
    uint64_t abandoned_ns; /* until then a child that leaves may do so for our own long silence */
};

struct broadcast {
    struct log_item *first; /* kept, ascending */
    struct log_item *last;
    uint64_t received;    /* highest sequence; everything relevant up to it has arrived */
    uint64_t head;        /* caught up when received >= head */
    uint64_t base;        /* of the last WELCOME: where new child ranges start */
    uint64_t acked;       /* sent to the parent */
    uint64_t streamed_ns; /* the root: time of the last large one; 0: none yet */
    struct large_entry *large;
    struct upward *upward;         /* waiting for a payload that is still incomplete */
    const struct message *offered; /* the payload of the entry being logged */
    bool replaying;                /* replayed entries up to head are still to arrive */
    bool leave_wanted;             /* when all payloads have arrived */
    bool trim_wanted;              /* at the end of the step */
    uint32_t count;                /* of kept */
    uint64_t bytes;                /* of them */
    uint64_t looked_at;            /* entries looked at, ever: the cost of acknowledgements */
};

struct collective {
    struct hash_map *by_set;   /* the first series of each set; NULL if there are none, as below */
    struct hash_map *by_owner; /* and of each owner */
    struct hash_map *forgetting; /* owners of the FORGETs that are kept */
    struct list open;            /* series with an operation not decided here */
    struct list at_rest;         /* the others */
    uint64_t *dead_before;       /* number of places of `dead` before its i-th range */
    uint32_t *forgotten;         /* ring of owners, allocated on first use */
    uint32_t dead_ranges;        /* for which dead_before was made; 0: must be rebuilt */
    uint32_t forgotten_next;
    uint32_t forgotten_count;
    uint32_t calls; /* our own that have not ended */
};

struct stream;
struct early;
struct lateral;

struct streams {
    struct stream *first;
    struct early *early;
    uint32_t early_count;
    bool dirty; /* work is left for the end of the step */
};

struct laterals {
    struct lateral *first;
    uint32_t count;
};

struct route {
    struct held *first;
    struct held *last;
    uint32_t held_count;
    uint64_t held_bytes;
    struct hash_map *requests; /* outstanding, by id; NULL before the first */
};

struct roll;

struct stall_probe {
    struct roll *first; /* open */
    uint32_t count;
    uint64_t watch_ns; /* when to check for operations without progress */
};

/* The root: deaths not yet in the log. */
struct burst {
    struct ranges places;
    uint64_t since_ns; /* the first entry of the present burst */
    uint64_t last_ns;  /* the last one; 0: none yet */
};

struct overlay {
    uint32_t place;
    uint32_t places;     /* that the tree began with */
    uint32_t population; /* places ever assigned, as far as we know */
    uint32_t radix;
    uint32_t incarnation;
    uint32_t long_set_ranges;
    uint64_t heartbeat_ns;
    uint64_t lease_ns;
    uint64_t rejoin_ns;
    uint64_t first_join_ns;
    uint64_t survive_ns;
    uint64_t stall_ns;
    uint32_t inline_bytes;
    struct endpoint_costs costs; /* of the configuration: measure_costs has the ones in use */
    uint8_t trees;               /* enum endpoint_trees */
    endpoint_merge_function *const *merges;
    uint32_t merges_count;
    struct measure measure;
    bool started;
    bool ended;
    bool leaving;   /* all places leave */
    bool departing; /* this place leaves the others */
    bool complete_reported;
    bool heirs_reported;       /* some have been sent to the parent */
    bool settled;              /* has once been ready */
    bool cut_off_closed;       /* overlay_welcome.closed of cut_off_ns */
    struct message *own;       /* packed addresses */
    struct ranges dead;        /* including places that have left */
    struct ranges left;        /* of them */
    uint32_t recoveries;       /* of the root, as far as the log is known here */
    struct ranges arrived;     /* of our scope, incl. ourselves */
    uint32_t arrived_reported; /* how many of them the parent knows */
    uint32_t children_count;
    uint32_t guests_count;
    uint32_t lost_count;
    struct child *children; /* by range, ascending */
    struct guest *guests;
    struct overlay_death *lost; /* reported or to be reported, not yet in the log */
    struct burst *burst;        /* the root's; NULL before the first death */
    uint64_t deaths_ns;         /* when these are logged, or reports are repeated */
    uint64_t cut_off_ns;        /* when the range that we inherited last was cut off */
    uint64_t heirs_ns;          /* when changed heirs are sent to the parent */
    uint64_t absence_ns;        /* when to check ranges that are cut off */
    uint64_t parted_ns;         /* when to check guests that have parted */
    struct search *search;      /* NULL until needed */
    struct join join;
    struct lease lease;
    struct broadcast broadcast;
    struct collective collective;
    struct route route;
    struct stall_probe stall_probe;
    struct streams streams;
    struct laterals laterals;
    /* Valid during a step only. */
    uint64_t now_ns;
    struct overlay_actions *actions;
};

/* For each part, x_check asserts its invariants between two steps; called at the beginning and end
 * of every step.  Cost: O(1) each. */

/* overlay.c */
struct tree overlay_tree(const struct overlay *overlay);
static inline bool overlay_is_root(const struct overlay *overlay)
{
    return overlay->place == 0;
}
/* Appends an action; the pointer is valid until the next one. */
struct overlay_action *overlay_act(struct overlay *overlay, enum overlay_action_kind kind);
/* Takes frame's reference of its payload. */
void overlay_send(struct overlay *overlay, uint32_t place, struct frame *frame);
/* As overlay_send, keeping the caller's reference. */
void overlay_send_copy(struct overlay *overlay, uint32_t place, const struct frame *frame);
void overlay_close(struct overlay *overlay, uint32_t place);
/* A link to the place is up, for any purpose. */
bool overlay_has_link(const struct overlay *overlay, uint32_t place);
/* Ends this place: closes all links; its last operation. */
void overlay_end(struct overlay *overlay, enum endpoint_end end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Joined, and has everything the log had for our range: may answer for it. */
bool overlay_is_ready(const struct overlay *overlay);
/* Does everything that had to wait for that. */
void overlay_became_ready(struct overlay *overlay);
/* Whether it is a message between any two places along the tree (route.c). */
bool overlay_is_routed(uint8_t type);

/* join.c */
void join_check(const struct overlay *overlay);
void join_start(struct overlay *overlay);
/* More places wait here: the one we ask must know, or it would count them as dead (absence.c). */
void join_tell_waiting(struct overlay *overlay, const struct ranges *waiting);
void join_up(struct overlay *overlay, uint32_t place);
/* A place has connected to us: if it is above us and we have no parent, it is probing us (absence.c),
 * and we join it over this link. */
bool join_sought(struct overlay *overlay, uint32_t place);
/* The parent or the target is lost; look for another. */
void join_down(struct overlay *overlay, enum endpoint_loss loss);
/* The same for a place that leaves: it no longer needs one. */
void join_part(struct overlay *overlay);
/* The parent, which leaves, is about to count as dead. */
void join_remember_scope(struct overlay *overlay);
void join_timer(struct overlay *overlay);
uint64_t join_deadline_ns(const struct overlay *overlay);
/* This place was stalled for that long: answers may have arrived unread. */
void join_stalled(struct overlay *overlay, uint64_t excess_ns);
/* No place between us and the root is known to seek a parent. */
bool join_is_whole(const struct overlay *overlay);
bool join_has_parent(const struct overlay *overlay);
int join_on_welcome(struct overlay *overlay, uint32_t from, const struct frame *frame);
int join_on_redirect(struct overlay *overlay, uint32_t from, const struct frame *frame);
int join_on_hold(struct overlay *overlay, uint32_t from, const struct frame *frame);
int join_on_refuse(struct overlay *overlay, uint32_t from, const struct frame *frame);
void join_fini(struct overlay *overlay);

/* membership.c */
void membership_check(const struct overlay *overlay);
void membership_start(struct overlay *overlay);
void membership_fini(struct overlay *overlay);
struct child *membership_child_of(const struct overlay *overlay, uint32_t place); /* or NULL */
struct child *membership_linked(const struct overlay *overlay, uint32_t place);   /* as its head */
bool membership_is_guest(const struct overlay *overlay, uint32_t place);
bool membership_is_parted(const struct overlay *overlay, uint32_t place);
/* No place is linked below this one. */
bool membership_is_deserted(const struct overlay *overlay);
/* All places that wait here for an answer, and those waiting at them. */
void membership_waiting(const struct overlay *overlay, struct ranges *ret_waiting);
/* Releases a guest that does not want to join; false if it is not a guest, or has asked to join. */
bool membership_release_guest(struct overlay *overlay, uint32_t place, uint32_t *ret_incarnation);
void membership_close_guests(struct overlay *overlay);
void membership_up(struct overlay *overlay, uint32_t place, uint32_t incarnation);
void membership_down(struct overlay *overlay, uint32_t place, enum endpoint_loss loss);
/* A child has sent something that only a child sends. */
void membership_heard(struct overlay *overlay, uint32_t place);
/* Closes the link to a silent child and reports it. */
void membership_drop(struct overlay *overlay, struct child *child, enum endpoint_loss loss);
/* The starter reports that a place has ended. */
void membership_failed(struct overlay *overlay, uint32_t place);
/* Installs deaths of the log, or departures. */
void membership_gone(struct overlay *overlay, const struct ranges *places, bool has_left);
/* The population has changed: new child ranges start after this entry of the log. */
void membership_grown(struct overlay *overlay, uint64_t sequence);
/* We have become ready, or a child range has changed: rechecks guests and arrivals. */
void membership_changed(struct overlay *overlay);
/* We have a (new) parent: sends it what the old one may not have forwarded. */
void membership_joined(struct overlay *overlay);
void membership_tell_arrived(struct overlay *overlay, bool also_partial);
void membership_leave(struct overlay *overlay);
void membership_leave_check(struct overlay *overlay);
/* Closes the links of parted guests that do not close them. */
void membership_timer(struct overlay *overlay);
/* The root: the links to all children have ended, and none of them for a reason of theirs. */
void membership_stray(struct overlay *overlay);
int membership_on_join(struct overlay *overlay, uint32_t from, const struct frame *frame);
int membership_on_waiting(struct overlay *overlay, uint32_t from, const struct frame *frame);
int membership_on_arrived(struct overlay *overlay, uint32_t from, const struct frame *frame);

/* deaths.c */
/* Reports to the root, until it is in the log. */
void deaths_report(struct overlay *overlay, const struct overlay_death *death);
/* The root: logs reported deaths when due; at the end of a step. */
void deaths_log(struct overlay *overlay);
uint64_t deaths_deadline_ns(const struct overlay *overlay);
void deaths_forget(struct overlay *overlay); /* drops reports that are in the log now */
void deaths_joined(struct overlay *overlay); /* a new parent has got none */
void deaths_fini(struct overlay *overlay);
int deaths_on_lost(struct overlay *overlay, uint32_t from, const struct frame *frame);

/* growth.c */
void growth_grow(struct overlay *overlay, uint32_t count);
void growth_shrink(struct overlay *overlay, const struct ranges *places);
/* Installs a GROW of the log. */
void growth_take(struct overlay *overlay, const struct ranges *places, uint64_t sequence);
/* A first WELCOME: takes the state of the tree at its base; empties its ranges. */
void growth_welcome(struct overlay *overlay, struct overlay_welcome *welcome);
/* This place must leave. */
void growth_depart(struct overlay *overlay);
void growth_departing_step(struct overlay *overlay, const struct overlay_event *event);

/* recovery.c */
/* The root: before anything else in its first step in another process, and that step. */
void recovery_begin(struct overlay *overlay);
void recovery_log(struct overlay *overlay);
/* Installs a RECOVERY of the log. */
void recovery_take(struct overlay *overlay);
/* How long this place seeks a parent after the loss of one. */
uint64_t recovery_seek_ns(const struct overlay *overlay);

/* absence.c */
/* A range has been cut off: checks after a while which of its places are there. */
void absence_expect(struct overlay *overlay, struct child *child, uint64_t since_ns);
/* We can report again: handles what became due meanwhile. */
void absence_recheck(struct overlay *overlay);
void absence_timer(struct overlay *overlay);
/* A connection that may belong to a probe. */
void absence_up(struct overlay *overlay, uint32_t place);
bool absence_down(struct overlay *overlay, uint32_t place, enum endpoint_loss loss); /* it was */
void absence_close(struct overlay *overlay); /* at this place's end: closes open ones */

/* heirs.c */
/* The addresses of a place of a child range, if known. */
struct search *heirs_search(struct overlay *overlay); /* created on first use */
bool heirs_find(const struct overlay *overlay, const struct child *child, uint32_t place,
                struct addresses *ret_addresses);
/* The next place of the range with a known address. */
bool heirs_next(const struct overlay *overlay, const struct child *child, uint32_t after,
                struct overlay_heir *ret_heir);
void heirs_changed(struct overlay *overlay); /* sent to the parent soon */
void heirs_tell(struct overlay *overlay);    /* sends it now, if it has changed */
void heirs_timer(struct overlay *overlay);
uint64_t heirs_deadline_ns(const struct overlay *overlay);
void heirs_joined(struct overlay *overlay); /* a new parent has got nothing */
/* Sends them to the new head of a range that was cut off. */
void heirs_hand_on(struct overlay *overlay, const struct child *child);
/* Stores the address of a place of the range, or of its head, which may have to be probed. */
void heirs_add(struct overlay *overlay, struct child *child, uint32_t place,
               const struct addresses *addresses);
void heirs_add_head(struct overlay *overlay, struct child *child);
int heirs_on_heirs(struct overlay *overlay, uint32_t from, const struct frame *frame);
void heirs_fini(struct overlay *overlay);

/* lease.c */
void lease_start(struct overlay *overlay);
/* How long a silence lasts before it is reported. */
uint64_t lease_notice_ns(const struct overlay *overlay);
void lease_tell_silent(struct overlay *overlay, uint32_t place, uint64_t silent_ns);
struct overlay_lease lease_for(const struct overlay *overlay, const struct child *child);
int lease_take(struct overlay *overlay, const struct overlay_lease *lease);
uint64_t lease_end_ns(const struct overlay *overlay);
void lease_check(const struct overlay *overlay);
/* Ends this place if its lease has expired: before anything else in a step. */
void lease_expire(struct overlay *overlay);
/* If this step is late because we stalled, the time does not count as silence of others. */
void lease_stalled(struct overlay *overlay);
void lease_watch(struct overlay *overlay); /* a child was linked */
void lease_timer(struct overlay *overlay);
/* Sends the last wave to all children now, if there are any. */
void lease_beat(struct overlay *overlay);
void lease_arm(struct overlay *overlay); /* at the end of each step */
/* This place was stalled until just now, for so long that its children may have left. */
bool lease_is_abandoned(const struct overlay *overlay);
/* Confirms to the parent that its message has arrived. */
void lease_echo(struct overlay *overlay, uint32_t parent);
int lease_on_lease(struct overlay *overlay, uint32_t from, const struct frame *frame);
int lease_on_echo(struct overlay *overlay, uint32_t from, const struct frame *frame);

/* forget.c */
/* The root: logs that the places of event->set forget an owner (event->id). */
void forget_log(struct overlay *overlay, const struct overlay_event *event);
void forget_take(struct overlay *overlay, uint32_t owner, bool is_member);
/* A FORGET is kept (1), or dropped (-1). */
void forget_kept(struct overlay *overlay, uint32_t owner, int change);
/* A place below may not know yet that the owner is forgotten. */
bool forget_is_under_way(const struct overlay *overlay, uint32_t owner);
/* This place has got the FORGET as one of its members. */
bool forget_is_done(const struct overlay *overlay, uint32_t owner);

/* retell.c */
/* An operation has made no progress for long. */
void retell_stalled(struct overlay *overlay, struct series *series, struct operation *operation);
int retell_on_again(struct overlay *overlay, uint32_t from, const struct frame *frame);
int retell_on_unanswered(struct overlay *overlay, uint32_t from, const struct frame *frame);

/* stall_probe.c */
void stall_probe_check(const struct overlay *overlay);
void stall_probe_forget(struct overlay *overlay, uint32_t owner);
/* An operation has made progress: it is checked again if nothing follows. */
void stall_probe_progress(struct overlay *overlay, struct operation *operation);
/* It has ended: notifies those that were notified of the stall. */
void stall_probe_decided(struct overlay *overlay, const struct series *series,
                         struct operation *operation);
void stall_probe_ask(struct overlay *overlay, const struct overlay_event *event);
void stall_probe_timer(struct overlay *overlay);
uint64_t stall_probe_deadline_ns(const struct overlay *overlay);
int stall_probe_on_stalled(struct overlay *overlay, uint32_t from, const struct frame *frame);
int stall_probe_on_call(struct overlay *overlay, uint32_t from, const struct frame *frame);
int stall_probe_on_roll(struct overlay *overlay, uint32_t from, const struct frame *frame);
void stall_probe_fini(struct overlay *overlay);

/* stream.c; stream.h has the rest */
void stream_check_all(const struct overlay *overlay);
int stream_on_open(struct overlay *overlay, uint32_t from, const struct frame *frame);
int stream_on_credit(struct overlay *overlay, uint32_t from, const struct frame *frame);
int stream_on_chunk(struct overlay *overlay, uint32_t from, const struct frame *frame);
void stream_link_up(struct overlay *overlay, uint32_t place);
void stream_link_down(struct overlay *overlay, uint32_t place, bool lateral);
void stream_step_end(struct overlay *overlay);
void stream_timer(struct overlay *overlay);
uint64_t stream_deadline_ns(const struct overlay *overlay);
void stream_fini(struct overlay *overlay);

/* lateral.c */
enum lateral_take {
    LATERAL_TAKE_NOTHING,
    LATERAL_TAKE_ATTEMPT, /* an up or down will follow */
    LATERAL_TAKE_LINK
};
void lateral_check(const struct overlay *overlay);
/* Requests a link to a higher place; the outcome is stream_link_up or stream_link_down. */
void lateral_want(struct overlay *overlay, uint32_t place);
bool lateral_is_known(const struct overlay *overlay, uint32_t place); /* up, or being opened */
bool lateral_is_up(const struct overlay *overlay, uint32_t place);
bool lateral_up(struct overlay *overlay, uint32_t place, uint32_t incarnation); /* it was one */
bool lateral_down(struct overlay *overlay, uint32_t place); /* by us: it was one */
bool lateral_lost(struct overlay *overlay, uint32_t place); /* by the other end: it was one */
void lateral_give_up(struct overlay *overlay, uint32_t place);
/* A stream no longer needs its edge to the place; it was of an operation of `key` or (NULL) of the
 * log. */
void lateral_used(struct overlay *overlay, uint32_t place, const struct operation_name *key);
/* No series of the owner is left. */
void lateral_forget(struct overlay *overlay, uint32_t owner);
/* Turns an existing lateral link into one of the tree. */
enum lateral_take lateral_take(struct overlay *overlay, uint32_t place, uint32_t *ret_incarnation);
void lateral_death(struct overlay *overlay, const struct ranges *places);
void lateral_timer(struct overlay *overlay);
uint64_t lateral_deadline_ns(const struct overlay *overlay);
/* Each with the owners of series for whose next operation it is kept; returns their number. */
uint32_t lateral_list(const struct overlay *overlay,
                      struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX]);
void lateral_close_all(struct overlay *overlay);
void lateral_fini(struct overlay *overlay);
void lateral_on_ask(struct overlay *overlay, uint32_t source, const struct wire_bytes *payload);
void lateral_on_answer(struct overlay *overlay, uint32_t source);
int lateral_on_lateral(struct overlay *overlay, uint32_t from, const struct frame *frame);

/* route.c */
void route_check(const struct overlay *overlay);
/* Sends OVERLAY_ASK or OVERLAY_ANSWER from core to core; payload may be NULL. */
void route_tell(struct overlay *overlay, enum overlay_message type, uint32_t destination,
                struct message *payload);
void route_send(struct overlay *overlay, const struct overlay_event *event);
void route_request(struct overlay *overlay, const struct overlay_event *event);
void route_reply(struct overlay *overlay, const struct overlay_event *event);
/* These are about to be declared dead, or unknown ones (NULL): finds the requests whose path leads
 * over them. */
void route_dying(struct overlay *overlay, const struct ranges *places);
void route_death(struct overlay *overlay);
void route_flush(struct overlay *overlay); /* something has become reachable */
int route_on_data(struct overlay *overlay, uint32_t from, const struct frame *frame);
void route_fini(struct overlay *overlay);

#endif
