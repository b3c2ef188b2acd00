/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tcp form of struct address (base/addresses.h), for people and for the system, and the addresses
 * of this machine (address_local.c).  Names are never resolved here: that blocks.  libbanyan-sock
 * contains a separate copy.
 */
#ifndef FABRIC_ADDRESS_H
#define FABRIC_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/addresses.h"
#include "base/buffer.h"
#include "base/error.h"

#define ADDRESS_TEXT_BYTES 80
#define ADDRESS_LIST_MAX   256 /* addresses of one machine that are considered */

/* -EAFNOSUPPORT unless it is IPv4 or IPv6. */
int address_from_system(const struct sockaddr *system, struct address *ret_address);
/* -EINVAL if the bytes are no tcp address; they may come from a peer. */
int address_to_system(const struct address *address, struct sockaddr_storage *ret_system,
                      socklen_t *ret_bytes);
/* Reads "10.1.2.3", "10.1.2.3:4242", "fd00::1", "[fe80::1%eth0]:4242"; the port is 0 if none is given.
 * The scope may be the name or the number of an interface of this machine. */
int address_parse(const char *text, struct address *ret_address, struct error *error);
/* Writes the form that address_parse reads, without port 0. "?" if the bytes are no address. */
const char *address_print(const struct address *address, char text[ADDRESS_TEXT_BYTES]);
uint16_t address_port(const struct address *address);
void address_set_port(struct address *address, uint16_t port);
int address_equal(const struct address *a, const struct address *b);
int address_is_loopback(const struct address *address);
int address_is_v6(const struct address *address);
/* An IPv4 or IPv6 address alone, without brackets or port; -EINVAL else. */
int address_parse_ip(const char *text, struct address *ret_address);
/* 1 if the first prefix_bits of both are the same. */
int address_has_prefix(const struct address *address, const struct address *prefix,
                       unsigned int prefix_bits);

/* Writes the first list_max of the machine's reachable addresses (port 0) and returns their total
 * number (counted up to ADDRESS_LIST_MAX + 1).  Best first: in the system's order of interfaces,
 * IPv4 before IPv6.  Those of bridges for containers and virtual machines are taken only if there
 * is no other, loopback only if there is nothing else at all.  net is a comma-separated list of
 * CIDRs and interface names, which then alone decides, in its order; NULL: none.  -ENODEV, with an
 * error that lists the existing interfaces, if none matches; -EINVAL if net is malformed. */
int address_list(const char *net, struct address *ret_list, int list_max, struct error *error);
/* The first ADDRESSES_MAX of them; returns the number of addresses omitted. */
int address_local(const char *net, struct addresses *ret_addresses, struct error *error);
/* -EINVAL, and a line, if net is malformed; does not check that the interfaces exist. */
int address_net_check(const char *net, struct error *error);
/* The interfaces of these addresses, for the libraries of programs, appended with commas between:
 * names ("eth0,ib0", as Open MPI takes them), and names preceded by those of their RDMA devices
 * ("mlx5_0:1,ib0,eth0", as UCX takes them). */
int address_net_interfaces(const char *net, struct buffer *interfaces, struct buffer *devices,
                           struct error *error);

#endif
