/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One daemon, from the marker line to its exit.
 */
#ifndef LAUNCH_DAEMON_DAEMON_H
#define LAUNCH_DAEMON_DAEMON_H

/* Runs a daemon that talks to its starter on descriptors 0 to 2 (boot.h); returns the exit status.
 * virtual_node: the name of the virtual node that this process has just become, or NULL. */
int daemon_main(const char *virtual_node);

struct one_shot;
/* The same, for a daemon that may be one of those that one_shot started with one call (or NULL), and
 * whose boot record may be in a word of boot_carry.h (NULL: on stdin). */
int daemon_main_with(const struct one_shot *one_shot, const char *boot_word);

struct join_request;
/* The same, for a daemon that is started with a token (launch/daemon/join_daemon.h): it does not use
 * descriptors 0 and 1, and its messages on 2 are for people. */
int daemon_main_join(const struct join_request *request);

#endif
