/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The payloads of the link's own frames.
 *
 *     HELLO:   version u32 | place u32 | incarnation u32
 *     GOODBYE: reason u8 | text (varint length, bytes)
 *     LARGE:   the header of the frame whose payload follows in PARTs of this class
 *     PART:    the next bytes of it
 *
 * HELLO always begins with the version, so that a mismatch can be reported.
 */
#ifndef FABRIC_LINK_WIRE_H
#define FABRIC_LINK_WIRE_H

#include <stdint.h>

#include "base/message.h"
#include "fabric/link.h"

#define LINK_GOODBYE_TEXT_BYTES 256
#define LINK_OWN_BYTES_MAX      512 /* of any but PART */

struct message *link_hello_encode(uint32_t version, uint32_t place, uint32_t incarnation);
/* message may be NULL.  If the version differs only the version is read. */
int link_hello_decode(const struct message *message, uint32_t *ret_version, uint32_t *ret_place,
                      uint32_t *ret_incarnation);
/* text is truncated to fit. */
struct message *link_goodbye_encode(enum link_goodbye reason, const char *text);
int link_goodbye_decode(const struct message *message, enum link_goodbye *ret_reason,
                        char ret_text[LINK_GOODBYE_TEXT_BYTES]);

#endif
