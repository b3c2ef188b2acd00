/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that hosts libpmix: a fork of the daemon without exec.  It loads pmix_host.so on the
 * daemon's first message, and exits when the daemon's end of the socket is closed.
 */
#ifndef LAUNCH_RANK_PMI_PROCESS_H
#define LAUNCH_RANK_PMI_PROCESS_H

/* For pmi_node_config: the socket is standard input.  Does not return while the daemon is connected. */
int pmi_process_main(void);

#endif
