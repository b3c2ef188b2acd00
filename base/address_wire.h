/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses as they stand in messages: their number (u8), then each as bytes with its length.
 */
#ifndef BASE_ADDRESS_WIRE_H
#define BASE_ADDRESS_WIRE_H

#include "base/addresses.h"
#include "base/buffer.h"
#include "base/wire.h"

void address_wire_put(const struct addresses *addresses, struct buffer *out);
/* More than ADDRESSES_MAX make the reader fail. */
void address_wire_get(struct wire_reader *reader, struct addresses *ret_addresses);

#endif
