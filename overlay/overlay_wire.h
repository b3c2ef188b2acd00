/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every message of the overlay: its struct, encoder and decoder.  doc/protocol.rst explains them.
 * Encoding cannot fail and gives a frame with one reference of its payload.  Decoding returns 0 or
 * -EBADMSG; structs that own ranges are empty after a failure and need overlay_x_fini after
 * success.  wire_bytes point into the frame's payload.
 */
#ifndef OVERLAY_OVERLAY_WIRE_H
#define OVERLAY_OVERLAY_WIRE_H

#include <stdint.h>

#include "base/addresses.h"
#include "base/frame.h"
#include "base/message.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "overlay/measure.h"
#include "overlay/endpoint_types.h"

#define OVERLAY_VERSION        10
#define OVERLAY_RECOVERIES_MAX 1000000u
#define OVERLAY_RANGES_MAX     (1u << 20) /* of one set on the wire */
#define OVERLAY_HEIRS_MAX      64         /* places in one HEIRS */
#define OVERLAY_LOST_MAX       65536      /* deaths in one LOST */
#define OVERLAY_TEXT_BYTES_MAX 256

/* Types 0..7 belong to the link. */
enum overlay_message {
    OVERLAY_JOIN = 8,
    OVERLAY_WAITING,
    OVERLAY_WELCOME,
    OVERLAY_REDIRECT,
    OVERLAY_HOLD,
    OVERLAY_REFUSE,
    OVERLAY_ARRIVED,
    OVERLAY_LOST,
    OVERLAY_LEASE,
    OVERLAY_LEASE_ECHO,
    OVERLAY_ENTRY,
    OVERLAY_ACK,
    OVERLAY_CONTRIBUTE,
    OVERLAY_QUERY,
    OVERLAY_RELEASE,
    OVERLAY_DATA,
    OVERLAY_REQUEST,
    OVERLAY_REPLY,
    OVERLAY_STALLED,
    OVERLAY_ROLL_CALL,
    OVERLAY_ROLL,
    OVERLAY_ASK, /* overlay/stream_wire.h has these */
    OVERLAY_ANSWER,
    OVERLAY_LATERAL,
    OVERLAY_GO,
    OVERLAY_OPEN,
    OVERLAY_CHUNK,
    OVERLAY_CREDIT,
    OVERLAY_BROKEN,
    OVERLAY_DONE,
    OVERLAY_OVER,
    OVERLAY_CANCEL,
    OVERLAY_HEIRS,
    OVERLAY_RISE, /* overlay/stream_wire.h: as CHUNK */
    OVERLAY_UNANSWERED,
    OVERLAY_AGAIN,
    OVERLAY_MESSAGE_END
};

struct overlay_join {
    uint16_t version;
    uint32_t places;
    uint32_t radix;
    uint64_t received;  /* log sequence */
    uint64_t stamp_ns;  /* sender's clock: stands for the first echo */
    struct range scope; /* in the sender's view */
    struct addresses addresses;
    struct ranges arrived; /* of its scope */
    struct ranges waiting; /* places waiting at it, or below a waiting one, for an answer to JOIN */
    uint8_t fresh;         /* 1: the sender has had no parent, and none of its JOINs is
                            * unanswered */
};

/* A wave of the root's heartbeat as one hop sends it to a child. */
struct overlay_lease {
    uint64_t round;
    uint64_t age_ns;        /* the root sent it at most that long ago */
    uint64_t echo_stamp_ns; /* the child's last echo, on the child's clock */
    uint64_t echo_hold_ns;  /* how long the sender has held it */
    uint64_t cut_ns;        /* 0: connected; else 1 + how long the path to the root is known to be
                             * broken */
};

struct overlay_lease_echo {
    uint64_t stamp_ns; /* the child's clock */
    struct measured measured;
};

struct overlay_welcome {
    struct range range; /* that the child heads */
    uint64_t base;      /* everything up to it has reached the whole range */
    uint64_t head;      /* last log entry that is replayed: the child is caught up when it has it */
    uint64_t cut_ns;    /* how long the range has been cut off */
    uint8_t closed;     /* its head's link closed then; 0: it had been silent for half a lease */
    struct overlay_lease lease;
    /* For a place that has had nothing of the log: the tree at base. */
    uint32_t population; /* 0: as initially, or known already */
    struct ranges dead;
    struct ranges left; /* of the dead */
    uint32_t recoveries;
};

struct overlay_redirect {
    uint32_t place;
    uint8_t whole; /* 1: the sender knows of no break between itself and the root */
    struct addresses addresses;
};

enum overlay_refusal {
    OVERLAY_REFUSAL_EVICTED,
    OVERLAY_REFUSAL_LEFT,    /* the instance is leaving */
    OVERLAY_REFUSAL_MISMATCH /* version, places or radix */
};

struct overlay_refuse {
    uint8_t refusal; /* enum overlay_refusal */
    char text[OVERLAY_TEXT_BYTES_MAX];
};

/* Lost places, of one incarnation. */
struct overlay_death {
    struct range range;
    uint32_t incarnation; /* 0: any */
    uint8_t loss;         /* enum endpoint_loss; of LOST only, like the next */
    uint64_t silent_ns;   /* how long they had been silent */
};

struct overlay_lost {
    uint32_t count;
    struct overlay_death *items;
};

/* Addresses of places that may inherit a range: HEIRS. */
struct overlay_heir {
    uint32_t place;
    struct addresses addresses;
};

enum overlay_entry_kind {
    OVERLAY_ENTRY_USER,
    OVERLAY_ENTRY_DEATH, /* of places, as many as were reported at about the same time */
    OVERLAY_ENTRY_LEAVE,
    OVERLAY_ENTRY_LARGE,     /* a user's, whose payload is streamed */
    OVERLAY_ENTRY_REROUTE,   /* of LARGE: over the main tree */
    OVERLAY_ENTRY_SETTLED,   /* of LARGE: all have it */
    OVERLAY_ENTRY_GROW,      /* new places */
    OVERLAY_ENTRY_DEPARTURE, /* places leave */
    OVERLAY_ENTRY_FORGET,    /* an owner's operations have ended (forget.c) */
    OVERLAY_ENTRY_RECOVERY,  /* the root goes on in another process (recovery.c) */
    OVERLAY_ENTRY_KIND_COUNT
};

/* One entry of the root's ordered log. */
struct overlay_entry {
    uint64_t sequence; /* from 1 */
    uint8_t kind;      /* enum overlay_entry_kind */
    struct ranges set; /* the receivers; empty: all places */
    struct wire_bytes payload;
};

enum overlay_part_state {
    OVERLAY_PART_NONE,      /* not on the wire */
    OVERLAY_PART_ABSENT,    /* none below has decided; at least one has not called */
    OVERLAY_PART_COLLECTED, /* all below have called, none has decided */
    OVERLAY_PART_HELD,      /* decided; the result is sent on QUERY */
    OVERLAY_PART_DECIDED,   /* decided, with the result */
    OVERLAY_PART_SIZED,     /* as COLLECTED, but large: the payload is the number of bytes */
    OVERLAY_PART_STORED,    /* as HELD, of a streamed operation: the payload is the bytes' number */
    OVERLAY_PART_OVER,      /* of a streamed operation: every member has all of it */
    OVERLAY_PART_STATE_COUNT
};

enum overlay_status {
    OVERLAY_STATUS_OK,
    OVERLAY_STATUS_LOST,      /* -EHOSTDOWN */
    OVERLAY_STATUS_TOO_LARGE, /* -EMSGSIZE */
    OVERLAY_STATUS_BUSY,      /* -EAGAIN: a limit is reached (overlay/limits.h) */
    OVERLAY_STATUS_TIMED_OUT, /* -ETIMEDOUT: a member stopped waiting */
    OVERLAY_STATUS_GONE,      /* -ECANCELED: it counts as ended at every member */
    OVERLAY_STATUS_COUNT
};

int overlay_status_errno(uint8_t status); /* 0 or negative errno */

/* frame.attempt carries the attempt of these three. */
struct overlay_contribute {
    struct operation_name key;
    struct ranges set;
    uint8_t state;      /* enum overlay_part_state */
    uint32_t low;       /* lowest generation of the series not yet ended in the sender's subtree */
    uint8_t status;     /* enum overlay_status: decided, or COLLECTED but too large */
    struct ranges lost; /* DECIDED: members lost */
    struct wire_bytes payload;
};

enum overlay_want {
    OVERLAY_WANT_NOTHING,
    OVERLAY_WANT_RESULT, /* the held result */
    OVERLAY_WANT_CANCEL, /* calls are no longer waited for */
    OVERLAY_WANT_COUNT
};

struct overlay_query {
    struct operation_name key;
    struct ranges set;   /* in `within` all members; beyond, the first and the last of all */
    struct range within; /* everything, for a set of few ranges */
    uint8_t want;        /* enum overlay_want */
    uint8_t lossy;       /* 1: a member has died */
};

struct overlay_release {
    struct operation_name key;
    uint8_t status;  /* enum overlay_status */
    uint32_t stable; /* generations below it have ended at every member */
    struct ranges lost;
    struct wire_bytes payload;
};

/* Routed: DATA, REQUEST and REPLY. */
struct overlay_data {
    uint32_t source;
    uint32_t destination;
    uint32_t id;    /* of the request; 0 in DATA */
    uint8_t status; /* enum overlay_status, of a reply */
    struct wire_bytes payload;
};

/* Asks which members have not contributed to an operation. */
struct overlay_roll_call {
    struct operation_name key;
    struct ranges set;
    uint64_t patience_ns; /* how long the answer is useful */
};

/* UNANSWERED and AGAIN (overlay/retell.c); frame.attempt carries the attempt. */
struct overlay_again {
    struct operation_name key;
    struct ranges set;
    uint64_t dead;  /* hash of the dead in the covering range */
    uint64_t bytes; /* up: bytes offered to a stream */
};

struct overlay_roll {
    struct operation_name key;
    struct endpoint_missing missing;
};

/* What the encoders and decoders share.  overlay_wire_frame_of frees the payload's buffer. */
void overlay_wire_frame_of(enum overlay_message type, enum frame_class class,
                           struct buffer *payload, struct frame *ret_frame);
void overlay_wire_open(const struct frame *frame, struct wire_reader *ret_reader);
uint32_t overlay_wire_get_varint32(struct wire_reader *reader);
struct wire_bytes overlay_wire_get_rest(struct wire_reader *reader);
void overlay_wire_put_key(const struct operation_name *key, struct buffer *out);
void overlay_wire_get_key(struct wire_reader *reader, struct operation_name *ret_key);

void overlay_encode_join(const struct overlay_join *join, struct frame *ret_frame);
int overlay_decode_join(const struct frame *frame, struct overlay_join *ret_join);
void overlay_join_fini(struct overlay_join *join);
/* Further places waiting at the sender, while it waits itself. */
void overlay_encode_waiting(const struct ranges *waiting, struct frame *ret_frame);
int overlay_decode_waiting(const struct frame *frame, struct ranges *ret_waiting);
void overlay_encode_welcome(const struct overlay_welcome *welcome, struct frame *ret_frame);
int overlay_decode_welcome(const struct frame *frame, struct overlay_welcome *ret_welcome);
void overlay_welcome_fini(struct overlay_welcome *welcome);
void overlay_encode_redirect(const struct overlay_redirect *redirect, struct frame *ret_frame);
int overlay_decode_redirect(const struct frame *frame, struct overlay_redirect *ret_redirect);
/* No answer yet, but a place that is connected to the root holds the JOIN. */
void overlay_encode_hold(struct frame *ret_frame);
int overlay_decode_hold(const struct frame *frame);
void overlay_encode_refuse(const struct overlay_refuse *refuse, struct frame *ret_frame);
int overlay_decode_refuse(const struct frame *frame, struct overlay_refuse *ret_refuse);
void overlay_encode_arrived(const struct ranges *arrived, struct frame *ret_frame);
int overlay_decode_arrived(const struct frame *frame, struct ranges *ret_arrived);
/* As a place keeps its ancestors, and a recording has them. */
void overlay_put_ancestor(const struct endpoint_ancestor *ancestor, struct buffer *out);
void overlay_get_ancestor(struct wire_reader *reader, struct endpoint_ancestor *ret_ancestor);
/* items: the results of that many overlay_put_heir. */
void overlay_put_heir(uint32_t place, const struct addresses *addresses, struct buffer *out);
void overlay_encode_heirs(uint32_t count, const struct buffer *items, struct frame *ret_frame);
/* Opens a payload and returns the number of items that follow; each is read by overlay_get_heir,
 * then wire_finish. */
uint32_t overlay_open_heirs(const struct message *payload, struct wire_reader *reader);
void overlay_get_heir(struct wire_reader *reader, struct overlay_heir *ret_heir);
void overlay_encode_lost(const struct overlay_lost *lost, struct frame *ret_frame);
int overlay_decode_lost(const struct frame *frame, struct overlay_lost *ret_lost);
void overlay_lost_fini(struct overlay_lost *lost);
void overlay_encode_lease(const struct overlay_lease *lease, struct frame *ret_frame);
int overlay_decode_lease(const struct frame *frame, struct overlay_lease *ret_lease);
void overlay_encode_lease_echo(const struct overlay_lease_echo *echo, struct frame *ret_frame);
int overlay_decode_lease_echo(const struct frame *frame, struct overlay_lease_echo *ret_echo);
void overlay_encode_entry(const struct overlay_entry *entry, struct frame *ret_frame);
int overlay_decode_entry(const struct frame *frame, struct overlay_entry *ret_entry);
void overlay_entry_fini(struct overlay_entry *entry);
/* The payload of DEATH, GROW and DEPARTURE: at least one place. */
void overlay_put_places(const struct ranges *places, struct buffer *out);
int overlay_get_places(const struct wire_bytes *payload, struct ranges *ret_places);
/* The payload of FORGET. */
void overlay_put_owner(uint32_t owner, struct buffer *out);
int overlay_get_owner(const struct wire_bytes *payload, uint32_t *ret_owner);
void overlay_encode_ack(uint64_t sequence, struct frame *ret_frame);
int overlay_decode_ack(const struct frame *frame, uint64_t *ret_sequence);
void overlay_encode_contribute(const struct overlay_contribute *contribute, uint32_t attempt,
                               struct frame *ret_frame);
int overlay_decode_contribute(const struct frame *frame, struct overlay_contribute *ret_contribute);
void overlay_contribute_fini(struct overlay_contribute *contribute);
void overlay_encode_query(const struct overlay_query *query, uint32_t attempt,
                          struct frame *ret_frame);
int overlay_decode_query(const struct frame *frame, struct overlay_query *ret_query);
void overlay_query_fini(struct overlay_query *query);
void overlay_encode_release(const struct overlay_release *release, uint32_t attempt,
                            struct frame *ret_frame);
int overlay_decode_release(const struct frame *frame, struct overlay_release *ret_release);
void overlay_release_fini(struct overlay_release *release);
/* type: OVERLAY_DATA, _REQUEST, _REPLY, _ASK or _ANSWER. */
void overlay_encode_data(enum overlay_message type, enum frame_class class,
                         const struct overlay_data *data, struct frame *ret_frame);
int overlay_decode_data(const struct frame *frame, struct overlay_data *ret_data);
void overlay_encode_roll_call(const struct overlay_roll_call *call, struct frame *ret_frame);
int overlay_decode_roll_call(const struct frame *frame, struct overlay_roll_call *ret_call);
void overlay_roll_call_fini(struct overlay_roll_call *call);
/* type: OVERLAY_STALLED (an operation waits for a place at or below the sender) or _CANCEL (a place
 * there has stopped waiting); patience_ns is not sent. */
void overlay_encode_named(enum overlay_message type, const struct overlay_roll_call *call,
                          struct frame *ret_frame);
int overlay_decode_named(const struct frame *frame, struct overlay_roll_call *ret_call);
/* type: OVERLAY_UNANSWERED or _AGAIN. */
void overlay_encode_again(enum overlay_message type, const struct overlay_again *again,
                          uint32_t attempt, struct frame *ret_frame);
int overlay_decode_again(const struct frame *frame, struct overlay_again *ret_again);
void overlay_again_fini(struct overlay_again *again);
void overlay_encode_roll(const struct overlay_roll *roll, struct frame *ret_frame);
int overlay_decode_roll(const struct frame *frame, struct overlay_roll *ret_roll);
void overlay_roll_fini(struct overlay_roll *roll);

#endif
