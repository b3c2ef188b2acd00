/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large operations: their data is a stream over two trees instead of a part of each message.
 */
#ifndef OVERLAY_LARGE_H
#define OVERLAY_LARGE_H

#include "overlay/series.h"

/* A place here or below stores the result. */
bool large_is_held(const struct operation *operation);
/* All below have been heard from.  True, and the data to send inline, if it is small; false if it
 * is large: then the pieces are kept. */
bool large_fold(struct overlay *overlay, struct series *series, struct operation *operation,
                struct buffer *ret_inline);
uint64_t large_bytes(const struct operation *operation); /* of the pieces, or of what is stored */
/* The size in SIZED and STORED; 0 for other states. */
uint64_t large_bytes_said(const struct overlay_contribute *contribute);
/* Whether a contribution to a large operation is valid. */
bool large_is_said_well(const struct overlay_contribute *contribute);
/* The meeting point: whether that much is better released down the tree than streamed. */
bool large_is_better_released(const struct overlay *overlay, const struct series *series,
                              size_t bytes);
/* The meeting point: begins the stream. */
void large_go(struct overlay *overlay, struct series *series, struct operation *operation);
/* Sends GO to a child once more. */
void large_go_again(struct overlay *overlay, const struct series *series,
                    struct operation *operation, uint32_t index);
/* Repeats what our parent may have missed about a running stream. */
void large_say_again(struct overlay *overlay, const struct series *series,
                     const struct operation *operation);
/* All may have it, as far as we know. */
bool large_may_be_over(const struct overlay *overlay, const struct series *series,
                       const struct operation *operation);
/* A child reports that all have it: notifies all others that may wait for that, and forgets. */
void large_take_over(struct overlay *overlay, struct series *series, struct operation *operation);
/* Reports OVER to our parent, if that has not been done in this attempt. */
void large_tell_over(struct overlay *overlay, struct series *series, struct operation *operation);
/* The same for an operation that every member has ended, and that may be forgotten here. */
void large_tell_ended(struct overlay *overlay, struct series *series, uint32_t generation);
/* Sends OVER to a child that stores it. */
void large_answer_ended(struct overlay *overlay, const struct series *series, uint32_t generation,
                        uint32_t place);
/* Another attempt, or the end: drops the state of this attempt. */
void large_reset(struct overlay *overlay, struct operation *operation);

/* Notifications of streams, made at the end of a step. */
void large_stream_complete(struct overlay *overlay, struct stream *stream);
void large_stream_broken(struct overlay *overlay, struct stream *stream);

int large_on_go(struct overlay *overlay, uint32_t from, const struct frame *frame);
/* OVERLAY_BROKEN of both kinds of streams. */
int large_on_broken(struct overlay *overlay, uint32_t from, const struct frame *frame);
int large_on_done(struct overlay *overlay, uint32_t from, const struct frame *frame);
int large_on_over(struct overlay *overlay, uint32_t from, const struct frame *frame);

#endif
