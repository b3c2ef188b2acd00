/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far an operation (collective.c) is at this place.  The phase is the one record of it: it changes
 * by events only, by the table of operation_phase.c, where a pair that is not listed is a bug of ours.
 *
 *     of little:  OPEN -> DECIDED
 *     of much:    OPEN -> STREAMING -> SPREADING -> DONE -> OVER
 *     and where no member is: OPEN -> STREAMING -> RELAYED -> PASSED
 *
 * A new attempt throws back what goes on, STREAMING and RELAYED to OPEN, SPREADING and DONE to STORED; it
 * never takes back a decision.  Cost: O(1).
 */
#ifndef OVERLAY_OPERATION_PHASE_H
#define OVERLAY_OPERATION_PHASE_H

#include <stdbool.h>

enum operation_phase {
    OPERATION_NONE,      /* no phase: an event that cannot be leads here */
    OPERATION_OPEN,      /* who is below is heard, in the present attempt */
    OPERATION_STREAMING, /* GO has been given in it; here it is not decided */
    OPERATION_RELAYED,   /* and DONE has been said: no member is here, below all have all of it */
    OPERATION_DECIDED,   /* with a status and perhaps a result */
    OPERATION_STORED,    /* with a stream, which is kept; no GO in the present attempt */
    OPERATION_SPREADING, /* the same after GO */
    OPERATION_DONE,      /* and DONE has been said: here and below all have all of it */
    OPERATION_OVER,      /* every member has it: nobody asks any more, the stream is gone */
    OPERATION_PASSED,    /* the same where it was never decided, as no member is here */
    OPERATION_PHASE_COUNT
};

enum operation_event {
    OPERATION_EVENT_DECISION, /* made, heard, or the stream has all come */
    OPERATION_EVENT_GO,
    OPERATION_EVENT_DONE, /* is said to our parent */
    OPERATION_EVENT_OVER,
    OPERATION_EVENT_RESTART, /* of this attempt nothing counts any more */
    OPERATION_EVENT_COUNT
};

/* The pair must be possible. */
enum operation_phase operation_phase_next(enum operation_phase phase, enum operation_event event);
bool operation_phase_allows(enum operation_phase phase, enum operation_event event);

/* What a phase means.  Decided: the status is known here, once and for good. */
bool operation_phase_is_decided(enum operation_phase phase);
/* GO has been given in the present attempt. */
bool operation_phase_is_going(enum operation_phase phase);
/* The decision is a stream that is kept here. */
bool operation_phase_is_stored(enum operation_phase phase);
bool operation_phase_is_over(enum operation_phase phase);

#endif
