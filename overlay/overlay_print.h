/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A frame of the overlay as one line of text: for golden traces, --verbose, `banyan sim`.
 */
#ifndef OVERLAY_OVERLAY_PRINT_H
#define OVERLAY_OVERLAY_PRINT_H

#include "base/buffer.h"
#include "base/frame.h"

/* Appends e.g. `CONTRIBUTE set=[1-4] gen=1 attempt=0 16B`; a malformed frame is marked as such. */
void overlay_print(const struct frame *frame, struct buffer *out);

#endif
