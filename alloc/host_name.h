/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the name of a node may consist of.  Names become arguments of other programs, so they have
 * no byte that a shell or an option parser knows.
 */
#ifndef ALLOC_HOST_NAME_H
#define ALLOC_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Letters, digits, '.', '-', '_' and bytes above 127. */
bool host_name_has_byte(char byte);
/* The same, and what stands in IPv6 addresses besides. */
bool host_name_has_address_byte(char byte);
/* What keeps bytes from being one name or an IPv6 address: 0, or -EINVAL with the reason and the
 * offset (from 0) of the byte. */
/* Of a name: -EINVAL if none begins with this byte. */
int host_name_check_first(char byte, struct error *error);
int host_name_check(const char *name, size_t name_bytes, size_t *ret_offset, struct error *error);
/* Says that a byte cannot be in a name; -EINVAL. */
int host_name_byte_error(struct error *error, char byte);

#endif
