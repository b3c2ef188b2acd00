/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests of decoders: each beginning of a message must be refused, without a look beyond its end.
 */
#ifndef TEST_SUPPORT_TRUNCATED_H
#define TEST_SUPPORT_TRUNCATED_H

#include "base/buffer.h"
#include "base/wire.h"

/* One assertion.  decode: -EBADMSG, or 0 with everything freed. */
void truncated_is_refused(const struct buffer *whole, int (*decode)(struct wire_reader *reader),
                          const char *what);

#endif
