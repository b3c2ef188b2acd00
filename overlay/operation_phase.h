/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The progress of an operation (collective.c) at this place.  The phase is the only record of it:
 * it changes only by events, by the table of operation_phase.c, where a pair that is not listed is
 * a bug.
 *
 *     small:       OPEN -> DECIDED
 *     large:       OPEN -> STREAMING -> SPREADING -> DONE -> OVER
 *     at a relay:  OPEN -> STREAMING -> RELAYED -> PASSED
 *
 * A new attempt resets the phases in progress, STREAMING and RELAYED to OPEN, SPREADING and DONE to
 * STORED; it never undoes a decision.  Cost: O(1).
 */
#ifndef OVERLAY_OPERATION_PHASE_H
#define OVERLAY_OPERATION_PHASE_H

#include <stdbool.h>

enum operation_phase {
    OPERATION_NONE,      /* no phase: impossible events lead here */
    OPERATION_OPEN,      /* hearing from places below, in the present attempt */
    OPERATION_STREAMING, /* GO has been received in it; not decided here */
    OPERATION_RELAYED,   /* and DONE has been sent: not a member, all below have all of it */
    OPERATION_DECIDED,   /* with a status and perhaps a result */
    OPERATION_STORED,    /* with a stream, which is kept; no GO in the present attempt */
    OPERATION_SPREADING, /* the same after GO */
    OPERATION_DONE,      /* and DONE has been sent: here and below all have all of it */
    OPERATION_OVER,      /* every member has it: no further questions, the stream is freed */
    OPERATION_PASSED,    /* the same where it was never decided, at a relay */
    OPERATION_PHASE_COUNT
};

enum operation_event {
    OPERATION_EVENT_DECISION, /* made, received, or the stream is complete */
    OPERATION_EVENT_GO,
    OPERATION_EVENT_DONE, /* sent to our parent */
    OPERATION_EVENT_OVER,
    OPERATION_EVENT_RESTART, /* nothing of this attempt is valid any longer */
    OPERATION_EVENT_COUNT
};

/* The pair must be possible. */
enum operation_phase operation_phase_next(enum operation_phase phase, enum operation_event event);
bool operation_phase_allows(enum operation_phase phase, enum operation_event event);

/* The meaning of a phase.  Decided: the status is known here, and final. */
bool operation_phase_is_decided(enum operation_phase phase);
/* GO has been received in the present attempt. */
bool operation_phase_is_going(enum operation_phase phase);
/* The decision is a stream that is kept here. */
bool operation_phase_is_stored(enum operation_phase phase);
bool operation_phase_is_over(enum operation_phase phase);

#endif
