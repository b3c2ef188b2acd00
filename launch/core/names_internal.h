/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of launch/core/names.h: names.c (life, what comes in, watched jobs), names_call.c (requests of local
 * processes), names_hold.c (names held here), names_copy.c (copies to the next holder).
 */
#ifndef LAUNCH_CORE_NAMES_INTERNAL_H
#define LAUNCH_CORE_NAMES_INTERNAL_H

#include "base/hash_map.h"
#include "base/list.h"
#include "launch/core/name_ring.h"
#include "launch/core/name_store.h"
#include "launch/core/names.h"

struct names {
    struct names_ops ops;
    uint32_t place;
    struct name_ring ring;
    /* requests of local processes */
    struct list calls;          /* struct name_call */
    struct hash_map *asks;      /* id of the overlay -> struct name_item */
    struct hash_map *items;     /* serial -> struct name_item that waits for a local name */
    uint64_t serial;            /* of the last record made here */
    struct name_store *local;   /* names for this node only */
    struct name_store *awaited; /* lookups that wait for such */
    struct name_store *owned;   /* what local processes have published, until their job closes */
    /* names held here, or copies of them */
    struct name_store *held;
    struct name_store *waiting; /* lookups that wait here */
    struct list parked;         /* struct name_parked: not to be answered here yet */
    struct hash_map *past;      /* origin -> result of what is over; bounded */
    /* copies */
    uint32_t copier;       /* who has the copies of what is held here, or NAME_RING_NOBODY */
    uint32_t copying;      /* request with the first batch; 0: none is under way */
    uint64_t batch;        /* the last one that was begun */
    uint64_t copied;       /* the last one that has been stored */
    struct list batches;   /* struct name_batch */
    struct list delayed;   /* struct name_delayed: answers that wait for copies */
    struct hash_map *seen; /* source of copies -> number of its last batch */
    /* ends of jobs */
    struct hash_map *watched; /* job -> struct name_watch */
    struct list watchers;     /* root: struct name_watcher */
};

static inline bool names_is_local(enum pmi_names_range range)
{
    return range == PMI_NAMES_PROCESS || range == PMI_NAMES_NODE;
}

/* names.c */
/* Answers, with data or without (NULL). */
void names_answer(struct names *names, uint32_t source, uint32_t id, int status,
                  const struct buffer *data);
/* Values of this job are removed when it ends. */
void names_watch(struct names *names, uint32_t job);
/* The requested place turns out to be lost. */
void names_lose(struct names *names, uint32_t place);

/* names_call.c */
void names_call_begin(struct names *names, uint32_t source, uint32_t id,
                      const struct name_request *request);
bool names_call_reply(struct names *names, uint32_t id, int status, struct wire_reader *reader);
void names_call_close(struct names *names);

/* names_hold.c */
void names_hold_ask(struct names *names, uint32_t source, uint32_t id,
                    const struct name_record *record);
/* The publisher is lost, and the name ends with it. */
bool names_is_over(const struct names *names, const struct name_record *record);
bool names_is_holder(const struct names *names, const struct wire_bytes *key);
/* Puts a name with those that are held, and serves those who wait for it. */
void names_hold_put(struct names *names, const struct name_record *record);
/* What the record published is removed: should the request come again it has no effect. */
void names_hold_past(struct names *names, const struct name_record *record, uint32_t result);
/* Who holds what has changed. */
void names_hold_moved(struct names *names);
void names_hold_open(struct names *names);
void names_hold_close(struct names *names);

/* names_copy.c */
/* Copies the change: NAME_PUBLISH, or NAME_FORGET. */
void names_copy(struct names *names, enum name_verb verb, const struct name_record *record);
/* Answers when all changes so far have been copied. */
void names_copy_then(struct names *names, uint32_t source, uint32_t id, const struct buffer *data);
/* Copies everything again, if there is another to have it or more to be copied. */
void names_copy_moved(struct names *names);
bool names_copy_reply(struct names *names, uint32_t id, int status);
/* Copies from another holder. */
int names_copy_take(struct names *names, uint32_t source, struct wire_reader *reader);
void names_copy_open(struct names *names);
void names_copy_close(struct names *names);

#endif
