/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An immutable, reference-counted run of bytes: what fans out to several links without a copy.
 * Not thread-safe: all references belong to the one thread of the daemon.
 */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stddef.h>

struct buffer;

struct message {
    unsigned int references;
    size_t length_bytes;
    unsigned char data[];
};

/* One reference, owned by the caller.  data may be NULL when bytes is 0. */
struct message *message_create(const void *data, size_t bytes);
/* To be filled by the caller before anyone else sees it. */
struct message *message_create_blank(size_t bytes);
/* What the buffer holds, which is empty after: a copy if it is short; a long one's memory is taken, and
 * its bytes move up within it, for fresh memory costs more than that. */
struct message *message_from_buffer(struct buffer *buffer);
struct message *message_reference(struct message *message); /* NULL stays NULL */
void message_release(struct message *message);              /* NULL is fine */

#endif
