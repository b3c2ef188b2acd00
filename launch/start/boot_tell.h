/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon that starts says on its standard output to who started it (launch/proto/boot.h has the
 * markers).
 */
#ifndef LAUNCH_START_BOOT_TELL_H
#define LAUNCH_START_BOOT_TELL_H

/* Both are written to descriptor 1, which is the starter's, as one line; -errno of that. */
int boot_tell(const char *marker, const char *text);
int boot_tell_waiting(const char *what, const char *why);

#endif
