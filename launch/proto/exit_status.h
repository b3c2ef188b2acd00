/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exit statuses of banyan itself (banyan-run(1), "EXIT STATUS"), following the shell and
 * timeout(1).
 */
#ifndef LAUNCH_PROTO_EXIT_STATUS_H
#define LAUNCH_PROTO_EXIT_STATUS_H

#define EXIT_STATUS_TIMED_OUT      124
#define EXIT_STATUS_FAILED         125 /* banyan itself failed, or the request was invalid */
#define EXIT_STATUS_NOT_EXECUTABLE 126
#define EXIT_STATUS_NOT_FOUND      127
#define EXIT_STATUS_SIGNAL         128 /* plus the number of the signal */
#define EXIT_STATUS_TERMINATED     143 /* as by SIGTERM: of a job whose client went away */

#endif
