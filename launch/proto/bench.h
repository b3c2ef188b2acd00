/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements of the tree by its own places (`banyan bench`): what a client asks, what the root orders, and the times
 * that the places have taken, each by its own clock, folded on the way up: for each level of the tree the extremes and
 * a histogram, from which any quantile is known within 1/16 of its value, and the slowest places.
 *
 * Cost: 2 kB for each level in memory, whatever the number of places; on the wire some bytes for each bucket in use.
 */
#ifndef LAUNCH_PROTO_BENCH_H
#define LAUNCH_PROTO_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/log_buckets.h"
#include "base/message.h"
#include "base/ranges.h"
#include "base/wire.h"

enum bench_operation {
    BENCH_BARRIER,   /* an exchange without data */
    BENCH_BROADCAST, /* from the root to all, until it knows that all have it */
    BENCH_GATHER,    /* from all to the root */
    BENCH_EXCHANGE,  /* from all to all */
    BENCH_LINKS,     /* there and back over each place's link to its parent, all at once */
    BENCH_PLAN,      /* from all to all, by a plan (exchange_plan.h) */
    BENCH_OPERATION_COUNT
};

#define BENCH_SIZE_MAX    (64u * 1024 * 1024)
#define BENCH_REPEAT_MAX  100000u
#define BENCH_LEVELS_MAX  27u /* of the deepest tree, and of its root */
#define BENCH_SLOWEST_MAX 8u

/* Of a client: what follows the kind in its request. */
struct bench_request {
    uint8_t operation; /* enum bench_operation */
    uint32_t size_bytes;
    uint32_t warm_up;
    uint32_t repeat;
    uint32_t nodes;         /* the first ones that live; 0: all */
    struct wire_bytes plan; /* BENCH_PLAN: encoded; what it points to is another's */
};

/* A broadcast of the root: who takes part.  repeat 0: it is cancelled. */
struct bench_order {
    uint32_t number; /* of the measurement, at the root */
    struct bench_request what;
    struct ranges places; /* owned */
};

/* Of BENCH_PLAN, from place to place: blocks of a step of a repetition. */
struct bench_move {
    uint32_t number; /* of the measurement */
    uint32_t round;
    uint32_t step;
    uint32_t first;
    uint32_t blocks;
    struct wire_bytes data;
};

/* The times of the places of a level, the root being level 0. */
struct bench_level {
    uint64_t places;
    uint64_t times;
    uint64_t min_ns;
    uint64_t max_ns;
    uint32_t max_place;
    uint32_t buckets[LOG_BUCKETS];
};

struct bench_slowest {
    uint32_t place;
    uint32_t parent;
    uint64_t median_ns;
    uint64_t max_ns;
};

/* A zeroed struct is empty.  Invariant: slowest is sorted, the greatest median first. */
struct bench_times {
    struct bench_level *levels[BENCH_LEVELS_MAX]; /* NULL: no place of it */
    struct bench_slowest slowest[BENCH_SLOWEST_MAX];
    uint32_t slowest_count;
};

/* What the root answers. */
struct bench_answer {
    uint32_t radix;
    uint32_t places;     /* that took part, the root included */
    uint64_t *root_ns;   /* each of the root's times, in their order; owned */
    uint32_t root_count; /* 0 of BENCH_LINKS */
    struct bench_times times;
};

const char *bench_operation_name(enum bench_operation operation);
/* The names, as choices of an option; false: there is no such one, or it is BENCH_PLAN, which is not one. */
bool bench_operation_find(const char *name, size_t name_bytes, enum bench_operation *ret_operation);
/* How many bytes arrive where most do, of that many places: what a bandwidth refers to. */
uint64_t bench_operation_bytes(const struct bench_request *what, uint32_t places);

struct bench_level *bench_level_create(void);
void bench_level_add(struct bench_level *level, uint32_t place, uint64_t ns);
/* The time that this share of them (0..1) has not exceeded, within 1/16; 0 if there are none. */
uint64_t bench_level_quantile_ns(const struct bench_level *level, double share);
void bench_level_merge(struct bench_level *level, const struct bench_level *other);

void bench_times_fini(struct bench_times *times);
/* The times of a place with that parent, all of one level; takes level. */
void bench_times_put(struct bench_times *times, uint32_t number, uint32_t parent,
                     struct bench_level *level);
void bench_times_fold(struct bench_times *times, const struct bench_times *other);
/* Of operations (endpoint_merge_function). */
void bench_merge(struct buffer *merged, const void *other, size_t other_bytes);

void bench_request_encode(const struct bench_request *request, struct buffer *out);
/* -EBADMSG like the next; what they return is untouched then. */
int bench_request_decode(struct bench_request *ret_request, struct wire_reader *reader);
/* JOB_MESSAGE_BENCH, with its kind, which has been read before the rest is decoded. */
struct message *bench_order_message(const struct bench_order *order);
/* Data of a measurement: that many bytes more. */
struct message *bench_data_message(uint32_t number, uint32_t bytes);
/* 1: it is an order, 0: it is data of *ret_number. */
int bench_message_decode(struct wire_reader *reader, struct bench_order *ret_order,
                         uint32_t *ret_number);
/* JOB_MESSAGE_BENCH, likewise, up to the data, which the caller appends. */
void bench_move_encode(const struct bench_move *move, struct buffer *out);
/* For the root: a place has not got what the plan says. */
struct message *bench_wrong_message(uint32_t number);
/* 1: it is a move; 0: bench_wrong_message, and only the number counts. */
int bench_move_decode(struct bench_move *ret_move, struct wire_reader *reader);
void bench_times_encode(const struct bench_times *times, struct buffer *out);
int bench_times_decode(struct bench_times *ret_times, struct wire_reader *reader);
void bench_answer_encode(const struct bench_answer *answer, struct buffer *out);
int bench_answer_decode(struct bench_answer *ret_answer, struct wire_reader *reader);
/* Medians of a rank of `banyan bench --client`, one of each measurement.  -EBADMSG: not that many. */
void bench_medians_encode(const uint64_t *medians_ns, uint32_t count, struct buffer *out);
int bench_medians_decode(uint64_t *ret_medians_ns, uint32_t count, struct wire_reader *reader);
void bench_answer_fini(struct bench_answer *answer);

#endif
