/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket layer as banyan itself uses it: the interface that is installed for others, with the
 * types of base/ in place of the two that duplicate them there.
 */
#ifndef FABRIC_SOCK_H
#define FABRIC_SOCK_H

#include "base/addresses.h"
#include "base/error.h"
#include "fabric/address.h"

#define banyan_sock_address address
#define banyan_sock_error   error
#include "fabric/banyan/sock.h"

_Static_assert(BANYAN_SOCK_ADDRESS_BYTES == ADDRESS_BYTES_MAX &&
                   BANYAN_SOCK_ADDRESS_TEXT_BYTES == ADDRESS_TEXT_BYTES &&
                   BANYAN_SOCK_ERROR_TEXT_BYTES == ERROR_TEXT_BYTES,
               "what is installed is what is used here");

#endif
