/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What fabric/rail.c (peers and links), fabric/rail_out.c and fabric/rail_in.c (messages) share.
 */
#ifndef FABRIC_RAIL_PRIVATE_H
#define FABRIC_RAIL_PRIVATE_H

#include "base/list.h"
#include "base/hash_map.h"
#include "base/memory.h"
#include "base/message.h"
#include "fabric/frame_wire.h"
#include "fabric/loop.h"
#include "fabric/rail.h"
#include "fabric/tls_seal.h"

/* Frames of ours on the links; the overlay's types are below. */
enum rail_message {
    RAIL_NAME = 240, /* control: the address of the sender's endpoint */
    RAIL_SWITCH,     /* collective, bulk: the rest of this class comes by rail */
    RAIL_END         /* control: u64, the number of messages sent by rail */
};

/* Little-endian, in clear, and bound to the rest by the seal:
 *
 *     place u32 | class u8 | flags u8 | epoch u16 | number u64
 *
 * then, sealed: of a first chunk the frame's header, and a piece of its payload; then the tag. */
#define RAIL_HEADER_BYTES 16
#define RAIL_TEXT_BYTES   (OFI_MESSAGE_BYTES_MAX - RAIL_HEADER_BYTES - TLS_SEAL_TAG_BYTES)
#define RAIL_FIRST        1 /* flags */
#define RAIL_NO_END       UINT64_MAX
#define RAIL_NO_PEER      UINT64_MAX
/* Messages of one peer under way, so that a slow one leaves room for others. */
#define RAIL_UNDER_WAY_MAX 8

struct rail_header {
    uint32_t place;
    uint8_t class;
    uint8_t flags;
    uint16_t epoch;
    uint64_t number;
};

struct rail_frame {
    struct list_link node;
    struct frame frame;
    size_t sent_bytes; /* of its payload */
    int is_begun;
};

struct rail_class {
    int goes_by_rail;     /* we have switched */
    int comes_by_rail;    /* the peer has */
    struct list queue;    /* struct rail_frame: to be sent */
    struct list early;    /* struct rail_frame: came before the switch */
    struct frame current; /* being received; payload NULL between two frames */
    struct message *message;
    size_t message_bytes; /* received so far */
    int is_open;          /* current is being filled */
};

struct rail_peer {
    struct list_link ready; /* rail->ready: has something to send and is allowed to; or
                             * rail->orphans */
    struct rail *rail;
    uint32_t place;
    uint64_t address; /* of libfabric; RAIL_NO_PEER before RAIL_NAME */
    struct tls_seal *seal_out;
    struct tls_seal *seal_in;
    uint64_t number_out; /* of the last message */
    uint64_t number_in;
    uint16_t epoch_out;
    uint16_t epoch_in;
    uint32_t under_way;
    size_t queued_bytes;
    size_t early_bytes;
    struct message *stalled; /* a sealed message that the endpoint did not take */
    uint64_t moved_ns;       /* when something was last sent, or there was nothing to send */
    struct rail_class classes[FRAME_CLASS_COUNT];
    int is_up;            /* the link */
    int is_closing;       /* our side has asked for it; the queue is sent first */
    int is_failed;        /* `down` must be reported */
    int is_orphan;        /* without link or user, until its sends have completed */
    uint64_t end_number;  /* the peer's last message, RAIL_NO_END: unknown */
    uint64_t deadline_ns; /* of closing or of receiving the rest, or UINT64_MAX */
    struct error why;
};

struct rail {
    const struct ofi_table *table;
    struct ofi *ofi;
    struct loop *loop;
    struct loop_watch *watch;
    struct loop_timer *clock;
    uint64_t clock_ns;
    struct link_set *links;
    const struct transport_events *events;
    void *context;
    uint32_t place;
    uint32_t renew_after;
    uint64_t stuck_ns;
    struct hash_map *peers; /* struct rail_peer by place */
    struct list ready;      /* struct rail_peer */
    struct list orphans;    /* struct rail_peer */
    size_t failed_count;
    int work_is_due;
    void (*finished)(void *context);
    void *finished_context;
    uint64_t messages_sent;
    uint64_t messages_refused;
    unsigned char text[OFI_MESSAGE_BYTES_MAX];
};

/* rail.c */
/* Runs the endpoint and everything that is due before the loop sleeps. */
void rail_schedule(struct rail *rail);
void rail_arm(struct rail *rail, uint64_t deadline_ns);
/* Ends the peer's link; `down` is reported from the loop. */
void rail_fail(struct rail_peer *peer, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Something of the peer has arrived or completed: it may be finished. */
void rail_check_peer(struct rail_peer *peer);

/* rail_out.c */
void rail_queue(struct rail_peer *peer, const struct frame *frame); /* takes the payload */
int rail_has_to_send(const struct rail_peer *peer);
void rail_make_ready(struct rail_peer *peer);
/* Sends as much as the endpoint accepts. */
void rail_pump(struct rail *rail);
void rail_sent(void *context, void *user, int status); /* ofi_events */
void rail_drop_out(struct rail_peer *peer);

/* rail_in.c */
void rail_received(void *context, const unsigned char *data, size_t bytes); /* ofi_events */
/* The peer has switched a class. */
void rail_take_early(struct rail_peer *peer, uint8_t class);
void rail_drop_in(struct rail_peer *peer);

#endif
