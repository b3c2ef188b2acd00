/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exit statuses that are banyan's own (banyan(1), "EXIT STATUS"), as a shell and timeout(1) have
 * them.
 */
#ifndef LAUNCH_PROTO_EXIT_STATUS_H
#define LAUNCH_PROTO_EXIT_STATUS_H

#define EXIT_STATUS_TIMED_OUT      124
#define EXIT_STATUS_FAILED         125 /* banyan itself failed, or was asked for something wrong */
#define EXIT_STATUS_NOT_EXECUTABLE 126
#define EXIT_STATUS_NOT_FOUND      127
#define EXIT_STATUS_SIGNAL         128 /* plus the number of the signal */

#endif
