/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange and gather: the operations of series.h, made by the members' calls and driven by the
 * messages of other places.
 */
#ifndef OVERLAY_COLLECTIVE_H
#define OVERLAY_COLLECTIVE_H

#include "overlay/series.h"

void collective_contribute(struct overlay *overlay, const struct overlay_event *event);
void collective_cancel(struct overlay *overlay, const struct operation_name *key);
/* These have been added to `dead`. */
void collective_death(struct overlay *overlay, const struct ranges *places);
/* As if a place of each set's range had died. */
void collective_restart_all(struct overlay *overlay);
void collective_joined(struct overlay *overlay); /* a new parent has got nothing yet */
void collective_ready(struct overlay *overlay);  /* sends what had to wait */
void collective_linked(struct overlay *overlay, struct child *child); /* a child has (re)joined */
int collective_on_contribute(struct overlay *overlay, uint32_t from, const struct frame *frame);
int collective_on_query(struct overlay *overlay, uint32_t from, const struct frame *frame);
int collective_on_release(struct overlay *overlay, uint32_t from, const struct frame *frame);
int collective_on_cancel(struct overlay *overlay, uint32_t from, const struct frame *frame);
/* The record of an operation that a peer refers to, made if necessary, and its series; NULL if it
 * has ended, does not concern us, or is invalid: then *ret_rc < 0. */
struct operation *collective_open(struct overlay *overlay, const struct operation_name *key,
                                  const struct ranges *set, struct series **ret_series,
                                  int *ret_rc);
/* The same for a frame of overlay_encode_named(); below 0 if the peer must be dropped. */
int collective_open_named(struct overlay *overlay, const struct frame *frame,
                          struct series **ret_series, struct operation **ret_operation);

/* Begins the current attempt. */
void collective_restart(struct overlay *overlay, struct series *series,
                        struct operation *operation);
/* Makes all possible progress.  The operation may have been freed afterwards. */
void collective_advance(struct overlay *overlay, struct series *series,
                        struct operation *operation);
/* Queries the child ranges not heard from in this attempt, when waiting for calls is pointless; and
 * after a death those of a long set, which may know too little of it. */
void collective_query_child(struct overlay *overlay, const struct series *series,
                            struct operation *operation, uint32_t index);
void collective_send_query(struct overlay *overlay, const struct series *series,
                           const struct operation *operation, uint32_t place,
                           enum overlay_want want);
/* Sends the decision to a child. */
void collective_release_child(struct overlay *overlay, const struct series *series,
                              struct operation *operation, uint32_t index);

/* Whether we may send to our parent about this series now.  Before we are ready, a message would
 * refer to an outdated tree. */
bool collective_can_contribute(const struct overlay *overlay, const struct series *series);
/* Applies a decision, made here or elsewhere; takes result and lost. */
void collective_settle(struct overlay *overlay, struct series *series, struct operation *operation,
                       uint8_t status, struct ranges *lost, struct message *result);
/* Lowest generation that has not ended here or below, at most the operation's. */
uint32_t collective_low(const struct overlay *overlay, const struct series *series,
                        const struct operation *operation);
void collective_raise_stable(struct overlay *overlay, struct series *series, uint32_t stable);
void collective_merge_one(struct overlay *overlay, const struct series *series,
                          struct buffer *merged, struct wire_bytes payload);
void collective_drop_payloads(struct operation *operation);

/* collective_cancel.c */
/* A running operation has been decided, unless a place dies: then those that know of the cancel
 * send it again.  state: CANCEL_KNOWN, or CANCEL_TOLD if our parent sent it.  The operation may
 * have been freed afterwards. */
void collective_cancel_take(struct overlay *overlay, struct series *series,
                            struct operation *operation, enum cancel_state state);
/* Notifies our parent, if it does not know. */
void collective_cancel_tell(struct overlay *overlay, struct series *series,
                            struct operation *operation);

#endif
