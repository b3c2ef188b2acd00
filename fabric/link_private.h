/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fabric/link.c (its life), fabric/link_out.c (what is written) and fabric/link_in.c (what is
 * read) share.
 */
#ifndef FABRIC_LINK_PRIVATE_H
#define FABRIC_LINK_PRIVATE_H

#include "fabric/link.h"

/* Reads or writes in a row before other links get their turn. */
#define LINK_ROUNDS_MAX 4

enum link_event {
    EVENT_CONNECTED,
    EVENT_SECURED,
    EVENT_GREETED,
    EVENT_CLOSE,
    EVENT_FLUSHED,
    EVENT_DROP,
    EVENT_COUNT
};

struct queued {
    struct list_link node;
    struct frame_header header;
    struct message *payload;
    size_t offset; /* of a large frame: bytes already sent */
    int announced; /* LINK_LARGE has been written */
};

/* The only thing that changes link->state. */
void link_step(struct link *link, enum link_event event);
/* Ends the link; reports it unless this side was closing anyway. */
void link_end(struct link *link, enum link_goodbye goodbye, const struct error *why);
void link_fail_code(struct link *link, int code);
/* What the peer did wrong, with its address in front. */
void link_fail_text(struct link *link, const struct error *what);
void link_fail_protocol(struct link *link, const char *what);

/* Limits of a class: bytes under way (0: no limit) and queued here. */
struct link_limits {
    uint32_t window_bytes;
    size_t queue_bytes_max;
};
extern const struct link_limits link_limits[FRAME_CLASS_COUNT];

/* The system ends connections to machines that do not answer. */
void link_keep_alive(const struct link *link);

void link_queued_free(struct queued *queued);
void link_post_pending(struct link *link);
/* Writes host->output to the system.  The remainder is posted from link->pending; while that memory
 * is lent, further TLS output waits in link->later. */
void link_write_output(struct link *link);

/* The peer may send that much more of a class. */
void link_grant(struct link *link, int class, uint32_t bytes);

/* Cuts plaintext into frames. */
void link_take_plain(struct link *link, const unsigned char *data, size_t bytes);

int link_is_reading(const struct link *link);
/* One decryption; long payloads in place. 0, -EAGAIN, or what ended it. */
int link_read_plain(struct link *link);

#endif
