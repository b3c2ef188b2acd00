/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Was what the places of an overlay were told right?  The checker is handed facts - what was asked
 * for, who was told what, who died - by whoever runs the places (the explorer, the soak), and keeps
 * the first violation as a text.  It shares no code with the overlay but the arithmetic of the tree
 * (overlay/tree.h), which has tests of its own.  test/unit/support/checker_self.c breaks each rule once.
 *
 * Always: each member is told a broadcast once, in the root's order, and deaths in the root's order;
 * a result only of what it has called, once, and if it is success exactly every member's
 * contribution, ascending; an error names only members, and the dead; an answer comes once, to who
 * asked; nobody acts on an older attempt or on frames of an older incarnation, nor long after it was
 * counted as dead; degree and what is kept stay within limits; only who was asked to leave leaves,
 * and new places are those that were never given.
 * At rest (checker_finish): nobody waits; survivors agree; everyone knows the same deaths; every
 * living range has one head, to which its place is linked, annexes included; who was asked to leave
 * has left; it was healed in time; nothing of a stream is kept, nor, some seconds later, a lateral
 * link.
 *
 * Merging must be concatenation.  Cost: O(bytes) per result, a comparison with the first success.
 */
#ifndef TEST_SUPPORT_OVERLAY_CHECKER_H
#define TEST_SUPPORT_OVERLAY_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "base/message.h"
#include "base/ranges.h"
#include "overlay/endpoint_types.h"

#define CHECKER_FAILURE_BYTES 256
#define CHECKER_REST_NS       (20000 * 1000000ull)

struct checker_entry;
struct checker_operation;
struct checker_request;
struct checker_place;

struct checker {
    uint32_t places_count; /* at the beginning */
    uint32_t population;   /* now */
    uint32_t capacity;     /* at most */
    uint32_t radix;
    uint64_t lease_ns;
    bool leaving;
    bool complete;
    uint64_t last_fault_ns;
    struct checker_place *places;
    struct checker_entry *entries; /* broadcasts, in the root's order */
    uint32_t entries_count;
    uint32_t *deaths; /* places that died, left or are new, in the root's order */
    uint32_t deaths_count;
    struct checker_operation *operations;
    struct checker_request *requests;
    char failure[CHECKER_FAILURE_BYTES]; /* empty: all was right */
};

/* What a place is at rest, as it says itself. */
struct checker_view {
    uint32_t parent;
    uint32_t degree;
    uint32_t kept_entries;
    uint32_t kept_operations;
    uint64_t kept_stream_bytes;
    uint32_t early_opens; /* CHECKER_REST_NS after all else is over */
};

void checker_init(struct checker *checker, uint32_t places, uint32_t radix, uint64_t lease_ns);
void checker_fini(struct checker *checker);
/* Notes a violation, if it is the first. */
void checker_fault(struct checker *checker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What befalls places. */
void checker_started(struct checker *checker, uint32_t place, uint32_t incarnation);
void checker_killed(struct checker *checker, uint32_t place, uint64_t now_ns);
/* Something that may cost the place its membership, without its death. */
void checker_troubled(struct checker *checker, uint32_t place, uint64_t now_ns);
void checker_leaving(struct checker *checker);
/* There may come to be so many places; to be called before anything happens. */
void checker_set_capacity(struct checker *checker, uint32_t capacity);
/* The root is asked for `count` places more, and for these to leave. */
void checker_grow(struct checker *checker, uint32_t count);
void checker_shrink(struct checker *checker, const struct ranges *places, uint64_t now_ns);

/* What is asked for.  set NULL: everyone. */
void checker_broadcast(struct checker *checker, const struct ranges *set,
                       const struct message *payload);
void checker_called(struct checker *checker, uint32_t place, const struct operation_name *key,
                    const struct ranges *set, struct message *payload);
/* A member that has called waits no longer. */
void checker_cancelled(struct checker *checker, const struct operation_name *key);
void checker_requested(struct checker *checker, uint32_t place, uint32_t id, uint32_t to);

/* What places are told, and do. */
void checker_told_joined(struct checker *checker, uint32_t place);
void checker_told_complete(struct checker *checker);
void checker_told_broadcast(struct checker *checker, uint32_t place, uint64_t now_ns,
                            const struct message *payload);
void checker_told_result(struct checker *checker, uint32_t place, uint64_t now_ns,
                         const struct operation_name *key, int status, const struct ranges *lost,
                         struct message *payload);
void checker_told_reply(struct checker *checker, uint32_t place, uint32_t id, int status);
void checker_told_dead(struct checker *checker, uint32_t place, uint64_t now_ns,
                       const struct ranges *places);
void checker_told_left(struct checker *checker, uint32_t place, uint64_t now_ns,
                       const struct ranges *places);
void checker_told_grown(struct checker *checker, uint32_t place, uint64_t now_ns,
                        const struct ranges *places);
void checker_ended(struct checker *checker, uint32_t place, enum endpoint_end end);
/* A frame is sent, a frame is handed to its receiver. */
void checker_sent(struct checker *checker, uint32_t from, const struct frame *frame);
void checker_delivered(struct checker *checker, uint32_t from, uint32_t to,
                       const struct frame *frame);
/* After any step of a place. */
void checker_limits(struct checker *checker, uint32_t place, const struct checker_view *view);

bool checker_is_alive(const struct checker *checker, uint32_t place);
/* Nobody that lives waits for anything, and every death is known to everyone. */
bool checker_is_quiet(const struct checker *checker);
/* At rest: all of what stands above.  views[place] of the living; bound_ns: since the last fault. */
void checker_finish(struct checker *checker, uint64_t now_ns, uint64_t bound_ns,
                    const struct checker_view *views);

#endif
