/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * banyand: one daemon, from the marker line to its end.
 */
#ifndef LAUNCH_DAEMON_DAEMON_H
#define LAUNCH_DAEMON_DAEMON_H

/* Runs as a daemon that talks to its starter on descriptors 0, 1, 2 (boot.h) and returns the exit
 * status.  virtual_node: the name of the virtual node this process has just become, or NULL. */
int daemon_main(const char *virtual_node);

struct one_shot;
/* The same for one of the daemons that were all started by one call (else NULL), with its boot record
 * in a word of boot_carry.h (NULL: on stdin). */
int daemon_main_with(const struct one_shot *one_shot, const char *boot_word);

struct join_request;
/* The same for one that somebody starts with a token (launch/daemon/join_daemon.h): it speaks to nobody on 0
 * and 1, and to people on 2. */
int daemon_main_join(const struct join_request *request);

#endif
