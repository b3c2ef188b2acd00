/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One core by itself, whose peers the test plays: it joins its parent, adopts its children, and is
 * handed whatever frames and calls the test thinks of.
 */
#ifndef TEST_SUPPORT_LONE_H
#define TEST_SUPPORT_LONE_H

#include <stdint.h>

#include "overlay/overlay.h"
#include "overlay/tree.h"

#define LONE_MS 1000000ull

struct lone {
    struct overlay *overlay;
    struct overlay_actions actions; /* of the last step */
    uint64_t now_ns;
};

void lone_create(struct lone *lone, const struct tree *tree, uint32_t place);
void lone_destroy(struct lone *lone);
void lone_step(struct lone *lone, struct overlay_event event);
/* Takes the frame's payload. */
void lone_frame(struct lone *lone, uint32_t from, struct frame *frame);
void lone_up(struct lone *lone, uint32_t place);
/* Nothing at the root. */
void lone_join(struct lone *lone, const struct tree *tree, uint32_t place);
/* All of a child's range has arrived with it. */
void lone_adopt(struct lone *lone, const struct tree *tree, uint32_t child, struct range range);
uint32_t lone_adopt_all(struct lone *lone, const struct tree *tree, uint32_t place);

#endif
