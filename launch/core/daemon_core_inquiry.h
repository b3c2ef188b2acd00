/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inquiries that pass from place to place, since they must not wait for a node that does not answer.  A place that is
 * asked about a set of places, of which it is the first, hands the others on: in as many parts as the tree's radix, each
 * to its first place.  Meanwhile it looks at itself, as the kind of the inquiry does.  It answers when all parts have,
 * or when its time is over, with the places that have not.  Each part gets an eighth less time than who asks it, so
 * that one silent node costs the answer only itself and what it was to ask.  Nothing is kept between two inquiries.
 *
 * Cost: nothing without inquiries; then O(radix) messages of bounded size at each place.
 */
#ifndef LAUNCH_CORE_DAEMON_CORE_INQUIRY_H
#define LAUNCH_CORE_DAEMON_CORE_INQUIRY_H

#include "launch/core/daemon_core_internal.h"

struct inquiry_kind;

/* The first member of what a kind keeps of one. */
struct core_inquiry {
    struct list_link node;
    const struct inquiry_kind *kind;
    bool is_client;
    uint32_t asker;   /* a client, or a place */
    uint32_t request; /* its number of it */
    uint32_t patience_ms;
    uint64_t due_ns;        /* it is answered by then, if need be in part */
    uint64_t wake_ns;       /* is_done wants to be called then; UINT64_MAX: not before a reply */
    struct hash_map *asked; /* id of a request -> struct ranges: the part */
};

struct inquiry_kind {
    enum daemon_timer timer;
    size_t list; /* offset in struct daemon_core: those of this kind */
    /* This place has looked at itself; called when something may have changed. */
    bool (*is_done)(struct daemon_core *core, struct core_inquiry *inquiry);
    /* The request for a part, to be answered in patience_ms. */
    struct message *(*request)(const struct core_inquiry *inquiry, const struct ranges *part,
                               uint32_t patience_ms);
    /* Merges an answer; -EBADMSG. */
    int (*merge)(struct core_inquiry *inquiry, struct wire_reader *reader);
    /* The answer's set of places that have not answered. */
    struct ranges *(*silent)(struct core_inquiry *inquiry);
    void (*encode)(struct daemon_core *core, struct core_inquiry *inquiry, struct buffer *out);
    void (*fini)(struct core_inquiry *inquiry); /* of what follows struct core_inquiry */
};

/* 0 if one more can begin: -EBADMSG unless this place is the first of places, which all exist (NULL: of a client, who
 * has all), -EAGAIN if there are too many, or it is a client's second one. */
int daemon_core_inquiry_accept(const struct daemon_core *core, const struct inquiry_kind *kind,
                               bool is_client, uint32_t asker, const struct ranges *places);
/* Takes the inquiry (malloc), and hands places on, which are those after this one and are emptied. */
void daemon_core_inquiry_begin(struct daemon_core *core, struct core_inquiry *inquiry,
                               struct ranges *places);
/* After each change of one: answers and frees it if it is complete, or its time is over. */
void daemon_core_inquiry_check(struct daemon_core *core, struct core_inquiry *inquiry);
/* 1 if the event is the reply to a request of this kind. */
int daemon_core_inquiry_reply(struct daemon_core *core, const struct inquiry_kind *kind,
                              const struct daemon_event *event);
void daemon_core_inquiry_due(struct daemon_core *core, const struct inquiry_kind *kind);
/* Replies that still come to a client's are nobody's. */
void daemon_core_inquiry_gone(struct daemon_core *core, const struct inquiry_kind *kind,
                              uint32_t client);
void daemon_core_inquiry_open(struct daemon_core *core, const struct inquiry_kind *kind);
void daemon_core_inquiry_close(struct daemon_core *core, const struct inquiry_kind *kind);

#endif
