/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's ordered log: what every place gets, once and in the same order.  Large payloads travel
 * as streams beside it (broadcast_large.c).
 */
#ifndef OVERLAY_BROADCAST_H
#define OVERLAY_BROADCAST_H

#include "overlay/core.h"

void broadcast_check(const struct overlay *overlay);
void broadcast_append(struct overlay *overlay, enum overlay_entry_kind kind,
                      const struct ranges *set, const void *payload, size_t payload_bytes);
void broadcast_append_places(struct overlay *overlay, enum overlay_entry_kind kind,
                             const struct ranges *places);
bool broadcast_is_caught_up(const struct overlay *overlay);
void broadcast_welcome(struct overlay *overlay, const struct overlay_welcome *welcome);
/* Highest kept entry of a child range, at least what it has acknowledged. */
uint64_t broadcast_head(const struct overlay *overlay, const struct child *child);
/* The entry that added a place that has never joined, if it is kept; else 0. */
uint64_t broadcast_birth(const struct overlay *overlay, uint32_t place);
/* The state of the tree right after a sequence; everything later must still be kept. */
void broadcast_tree_at(const struct overlay *overlay, uint64_t sequence,
                       struct overlay_welcome *welcome);
/* Sends a new child all kept entries of its range after `after`. */
void broadcast_replay(struct overlay *overlay, const struct child *child, uint64_t after);
/* Child ranges, their heads or what they have received have changed: recounts the missing
 * acknowledgements, drops entries no longer needed, and acknowledges to the parent. */
void broadcast_trim(struct overlay *overlay);
void broadcast_step_end(struct overlay *overlay);
int broadcast_on_entry(struct overlay *overlay, uint32_t from, const struct frame *frame);
int broadcast_on_ack(struct overlay *overlay, uint32_t from, const struct frame *frame);
void broadcast_leave(struct overlay *overlay);
/* The entry is still needed by a place below, or by us. */
bool broadcast_is_kept(const struct overlay *overlay, uint64_t sequence);
void broadcast_fini(struct overlay *overlay);

/* broadcast_large.c */
/* A user's entry, by the log or by a stream; payload may be NULL. */
void broadcast_user(struct overlay *overlay, const struct ranges *set, struct message *payload);
/* An upcall in the root's order; takes payload. */
void broadcast_tell(struct overlay *overlay, struct message *payload);
void broadcast_tell_places(struct overlay *overlay, enum overlay_action_kind kind,
                           const struct ranges *places);
/* LARGE, REROUTE or SETTLED.  If not new: an heir may get entries that concern only others of its
 * range. */
void broadcast_large_take(struct overlay *overlay, const struct overlay_entry *entry,
                          const struct stream_large *size, bool is_new);
/* Its payload has not arrived here yet. */
bool broadcast_large_is_awaited(const struct overlay *overlay, uint64_t sequence);
void broadcast_large_trimmed(struct overlay *overlay);
bool broadcast_large_is_under_way(const struct overlay *overlay);
void broadcast_large_death(struct overlay *overlay);
void broadcast_large_linked(struct overlay *overlay, uint32_t place);
/* Notifications of streams, made at the end of a step. */
void broadcast_large_complete(struct overlay *overlay);
void broadcast_large_broken(struct overlay *overlay, uint64_t sequence);
void broadcast_large_fini(struct overlay *overlay);

#endif
