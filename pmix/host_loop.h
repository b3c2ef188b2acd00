/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which thread runs libpmix's events: its own at first, ours once host_loop_wait has been called.  Then
 * upcalls are made within host_loop_wait, and an answer is processed by the next call of it, so that no
 * thread wakes another, neither for a request nor for its answer.
 *
 * libpmix has PMIX_EXTERNAL_PROGRESS for this, but it is of no use: PMIx_server_init then waits for
 * events that nobody runs (4.2.2), and PMIx_Progress waits for libpmix's descriptors only.  Instead its
 * thread is stopped once the server has started, by libpmix's own function, and its event base is run
 * here together with our descriptors.  If these functions are missing, or the version is not one that
 * this was tested with, libpmix keeps its thread, and host_thread.h wakes ours.
 */
#ifndef PMIX_HOST_LOOP_H
#define PMIX_HOST_LOOP_H

#include <pmix_server.h>

/* host_table.wait; own_fd is readable when something has been posted (host_entry_watch). */
int host_loop_wait(int fd, int own_fd);

/* A call of libpmix that must finish before the next is made.  Its callback is host_loop_callback, which is
 * NULL while libpmix has its own thread: then libpmix waits itself. */
struct host_loop_call {
    pmix_status_t status;
    int is_over;
};
pmix_op_cbfunc_t host_loop_callback(void);
/* status: what libpmix has returned.  Not from within an upcall. */
pmix_status_t host_loop_finish(struct host_loop_call *call, pmix_status_t status);

#endif
