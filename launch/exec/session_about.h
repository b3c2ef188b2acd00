/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the root of a persistent instance says of it in its session directory, for those who look for one: its
 * version of banyan and the scheduler's job in which it was started.  A file of a few lines, "KEY VALUE", in a
 * directory of mode 0700; written before the instance listens, removed with the directory.
 */
#ifndef LAUNCH_EXEC_SESSION_ABOUT_H
#define LAUNCH_EXEC_SESSION_ABOUT_H

#include "base/buffer.h"
#include "base/error.h"

#define SESSION_ABOUT_FILE  "about"
#define SESSION_ABOUT_BYTES 128
/* Beside it, of an instance with --fabric-topology: the network between its nodes (launch/daemon/root_fabric.h). */
#define SESSION_FABRIC_FILE "fabric.json"

struct session_about {
    char version[SESSION_ABOUT_BYTES]; /* session_about_version() of the root */
    char job[SESSION_ABOUT_BYTES];     /* "slurm 4711"; "": none */
    char name[SESSION_ABOUT_BYTES];    /* of that job; "": none */
};

/* Sets one of them: on one line, cut if it is too long; NULL: "". */
void session_about_set(char value[SESSION_ABOUT_BYTES], const char *text);

/* Of this program: roots and clients of the same one understand each other. */
const char *session_about_version(void);

void session_about_print(const struct session_about *about, struct buffer *out);
/* -EBADMSG if there is no version in it; what else it says is ignored. */
int session_about_parse(const char *text, struct session_about *ret_about);

/* Replaces the file in a session's directory. */
int session_about_write(const char *directory, const struct session_about *about,
                        struct error *error);
/* -ENOENT for a root that says nothing, as older versions do. */
int session_about_read(const char *directory, struct session_about *ret_about);

#endif
