/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bench for the core: one place, driven one event at a time, and looked at after each.
 */
#ifndef TEST_SUPPORT_CORE_BENCH_H
#define TEST_SUPPORT_CORE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/overlay.h"
#include "overlay/overlay_wire.h"

#define MS 1000000ull

/* A core, the time, and what the last step gave. */
struct bench {
    struct overlay *overlay;
    struct overlay_actions actions;
    uint64_t now_ns;
};

struct overlay *bench_make_core(uint32_t place, uint32_t places);
void bench_step(struct bench *bench, struct overlay_event event);
void bench_step_frame(struct bench *bench, uint32_t from, struct frame *frame);
void bench_step_up(struct bench *bench, uint32_t place);
void bench_open(struct bench *bench, uint32_t place, uint32_t places);
/* With the daemons' own lease. */
void bench_open_default(struct bench *bench, uint32_t place, uint32_t places);
/* The root of three places, which has adopted the other two. */
void bench_open_root_of_three(struct bench *bench);
void bench_close(struct bench *bench);
/* The first action of a kind, NULL if the last step gave none. */
const struct overlay_action *bench_find(const struct bench *bench, enum overlay_action_kind kind);
/* The first frame of a type that was sent to a place. */
const struct frame *bench_sent(const struct bench *bench, uint32_t place, uint8_t type);
bool bench_closed(const struct bench *bench, uint32_t place);
void bench_make_join(uint32_t place, uint32_t first, uint32_t last, uint32_t places,
                     struct frame *ret_frame);
/* A child of the bench's place that has joined. */
void bench_adopt(struct bench *bench, uint32_t place, uint32_t first, uint32_t last,
                 uint32_t places);
/* It has taken the WELCOME: should its link break now, it is lost. */
void bench_hear(struct bench *bench, uint32_t place);
/* The place's JOIN is answered by its parent. */
void bench_welcome(struct bench *bench, uint32_t parent, uint32_t first, uint32_t last,
                   uint64_t hold_ns, uint64_t age_ns);
/* What the root has heard of deaths goes into the log. */
void bench_log_deaths(struct bench *bench);

#endif
