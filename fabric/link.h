/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection of fabric/link_set.c: a sock, TLS over it, and frames over that.  Three classes with
 * a queue and a sequence each; at every write control goes before collective before bulk.  A frame
 * above LINK_CHUNK_BYTES travels as LINK_LARGE and a run of LINK_PART, so that frames of other
 * classes pass in between; the receiver sees it whole.
 *
 * Collective and bulk frames travel on credit: each class has at most its window under way, and the
 * peer grants credit again for what it has consumed (LINK_CREDIT).  So a control frame never waits
 * for more than the chunk that is being written here, and for two windows on the way.  The queue
 * here is bounded, too: the link to a peer that reads too slowly is dropped.
 *
 * Life: connecting, securing (TLS), greeting (HELLO), up, then flushing and lingering if this side
 * closes; dead until the sock's close has completed, then freed.  The host is never called inside
 * link_connect, link_accept, link_send, link_close or link_drop.
 *
 * Cost: about 1 kB, the sock and the TLS object when idle; buffers are the host's and shared.
 */
#ifndef FABRIC_LINK_H
#define FABRIC_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/list.h"
#include "base/message.h"
#include "base/time.h"
#include "fabric/frame_wire.h"
#include "fabric/sock.h"
#include "fabric/tls.h"

#define LINK_PROTOCOL_VERSION 20u
#define LINK_CHUNK_BYTES      (64u * 1024)
#define LINK_INPUT_BYTES      (64u * 1024)
#define LINK_LOOK_NS          NS_PER_S
#define LINK_LOOK_NS_MAX      (7 * NS_PER_S)
#define LINK_TYPE_LIMIT       8 /* frame types below are the link's own */

/* Bytes under way and not yet granted again; both ends must agree.  1 MiB gives 1 GB/s if a busy
 * peer needs 1 ms per turn. */
#define LINK_COLLECTIVE_WINDOW_BYTES (2u * 1024 * 1024)
#define LINK_BULK_WINDOW_BYTES       (1u * 1024 * 1024)
/* Waiting to be written: several frames of the greatest length; control frames are short. */
#define LINK_CONTROL_QUEUE_BYTES_MAX    ((size_t)16 * 1024 * 1024)
#define LINK_COLLECTIVE_QUEUE_BYTES_MAX ((size_t)512 * 1024 * 1024)
#define LINK_BULK_QUEUE_BYTES_MAX       ((size_t)256 * 1024 * 1024)

/* The answer to a guest (fabric/link_set.h): on its connection only, and not a type of the overlay.
 * Its payload is wiped when it is freed. */
#define LINK_GUEST_ANSWER UINT8_MAX

enum link_message {
    LINK_HELLO,
    LINK_GOODBYE,
    LINK_LARGE,
    LINK_PART,
    LINK_CREDIT, /* stream: the class; credit: that many of its bytes have been consumed */
    LINK_MESSAGE_COUNT
};

/* Why a side says GOODBYE.  The numbers are the wire's. */
enum link_goodbye {
    LINK_CLOSED,    /* an orderly end */
    LINK_DUPLICATE, /* the two already have a link */
    LINK_CROSSED,   /* both connected at once; the other connection is kept */
    LINK_REFUSED,   /* anything else; see the text */
    LINK_GOODBYE_COUNT
};

enum link_state {
    LINK_STATE_CONNECTING,
    LINK_STATE_SECURING,
    LINK_STATE_GREETING,
    LINK_STATE_UP,
    LINK_STATE_FLUSHING,
    LINK_STATE_LINGERING,
    LINK_STATE_DEAD,
    LINK_STATE_COUNT
};

struct link;

/* What the links of one set share, and their callbacks. */
struct link_host {
    struct banyan_sock_set *socks;
    uint32_t place;
    uint32_t incarnation;
    void *context;
    /* A stranger has begun a handshake: a server's TLS for it, or NULL. */
    struct tls *(*stranger)(struct link *link, struct error *error);
    /* The peer has proved that it knows the key of tls_identity. */
    void (*secured)(struct link *link);
    /* The peer's HELLO came: link->place and link->incarnation.  The host calls link_admit, or
     * link_close with a reason. */
    void (*greeted)(struct link *link);
    void (*frame)(struct link *link, const struct frame *frame);
    /* The link ended by itself; goodbye is the peer's reason or LINK_GOODBYE_COUNT. Called at most
     * once, and not after link_close or link_drop. */
    void (*ended)(struct link *link, enum link_goodbye goodbye, const struct error *why);
    /* The link is about to be freed. */
    void (*gone)(struct link *link);
    /* There is something to write: call link_flush soon. */
    void (*dirty)(struct link *link);
    /* The same, but it may wait a little for more. */
    void (*patient)(struct link *link);
    unsigned char *input; /* LINK_INPUT_BYTES of ciphertext */
    unsigned char *plain; /* TLS_RECORD_BYTES_MAX */
    struct buffer output; /* ciphertext; empty between calls */
};

struct link_class {
    struct list queue;     /* struct queued */
    size_t queued_bytes;   /* in the queue */
    uint32_t window_bytes; /* may be written now; unused for control */
    uint32_t taken_bytes;  /* consumed and to be granted again */
    uint32_t sequence_out;
    uint32_t sequence_in;
    struct frame_header large; /* the frame that comes in parts */
    struct message *parts;     /* or NULL */
    size_t parts_bytes;        /* received so far */
};

/* What is being written: a header (two for LINK_LARGE) and a slice of a payload. */
struct link_piece {
    unsigned char header[2 * FRAME_HEADER_BYTES];
    size_t header_bytes;
    size_t header_sent;
    const unsigned char *data;
    size_t data_bytes;
    struct queued *owner; /* freed when the piece is done, or NULL */
};

struct link {
    struct list_link node;       /* the owner's */
    struct list_link dirty_node; /* the owner's: dirty or patient */
    void *attempt;               /* the owner's */
    int half_open;               /* the owner's */
    int is_guest;                /* the owner's: output is wiped once written */
    int overflowed;              /* a class has exceeded its queue limit: to be dropped */
    struct link_host *host;
    struct banyan_sock *sock;
    struct tls *tls; /* NULL of a stranger that has not sent a whole ClientHello */
    enum link_state state;
    int outgoing;
    uint32_t place; /* of the peer: as expected on an outgoing link, else known once greeted */
    uint32_t incarnation;
    uint64_t deadline_ns; /* the owner's */
    struct link_class classes[FRAME_CLASS_COUNT];
    struct link_piece piece;
    struct buffer pending; /* ciphertext that is posted */
    struct buffer later; /* ciphertext that comes after it; before TLS, what a stranger has sent */
    unsigned char header[FRAME_HEADER_BYTES];
    size_t header_filled;
    struct frame_header current; /* valid when header_filled is all */
    unsigned char *body;         /* where its payload goes */
    size_t body_left;
    struct message *message; /* the payload, NULL for LINK_PART */
};

/* tls is taken.  NULL if the system refuses; tls is destroyed then. */
struct link *link_connect(struct link_host *host, uint32_t place, const struct address *address,
                          struct tls *tls, struct error *error);
/* A sock that was accepted, and is taken.  It gets TLS when it has sent a whole ClientHello. */
struct link *link_accept(struct link_host *host, struct banyan_sock *sock);
/* Of a greeted link that came in: answers HELLO.  The link is up. */
void link_admit(struct link *link);
/* Queues a frame; takes the payload.  A link whose queue exceeds the limit of its class ends
 * soon. */
void link_send(struct link *link, const struct frame *frame);
/* Writes what is queued, as far as the system takes it. */
void link_flush(struct link *link);
/* Writes what is queued and GOODBYE, then ends; the only further callback is `gone`. */
void link_close(struct link *link, enum link_goodbye reason, const char *text);
/* Ends at once; the only further callback is `gone`. */
void link_drop(struct link *link);
/* Ends a link to a machine that has acknowledged nothing for too long (-ETIMEDOUT); 1 if so.  To be
 * called every LINK_LOOK_NS while *ret_repeats: something had to be sent again, and else every
 * LINK_LOOK_NS_MAX at the latest. */
int link_end_if_unanswered(struct link *link, int *ret_repeats);
/* An event of the link's sock. */
void link_sock_event(struct link *link, const struct banyan_sock_event *event);

#endif
