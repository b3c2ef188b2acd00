/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of the data of a fence is new.  At every fence libpmix hands over all that the processes of this node have ever
 * committed.  The nodes of the last fence of the same members have what that fence brought, since a fence that succeeds
 * at one node succeeds at every one that lives (doc/protocol.rst, I1 to I4), and their libpmix adds what it is given to
 * what it has.  So only the rest is sent.
 *
 * Data is sent whole unless the two operations before it had the same members and were alone: another fence, a group or a
 * direct modex may give some of the nodes a value that has since been replaced, perhaps by the one it had before, and may
 * arrive there late.  Members that disagree on whether to collect, which libpmix calls an error of theirs, may find
 * values of an earlier fence.
 *
 * libpmix's form (4.2.2, 5.0.7) is a packed byte object for each node: flags; if they say so a table of keys; a byte
 * object for each process: its rank, and keys and values in the order in which they were first put.  If a process's
 * object begins with that of the last fence, the rest of it is new; if it does not, because a value has changed, all of
 * it is.  Data of another form is sent whole.
 *
 * Memory: this node's data of a job's last fence, twice while one is under way; none above 16 MiB.  Cost: O(bytes).  Any
 * thread.
 */
#ifndef PMIX_HOST_DELTA_H
#define PMIX_HOST_DELTA_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "pmix/host_internal.h"

/* A fence of these members, all of one namespace, begins with data.  If less than that need be sent it is in *ret_new,
 * which is otherwise left empty.  Or something else that gives members data begins (NULL, 0).  Returns a number, never
 * 0, for host_delta_end, which must follow. */
uint64_t host_delta_begin(const struct host_process *members, size_t count, const void *data,
                          size_t data_bytes, struct buffer *ret_new);
/* is_known: it has succeeded, so what it began with is known to the nodes of its members. */
void host_delta_end(const char *namespace, uint64_t number, int is_known);
/* Data of the namespace has been given to another node in some other way. */
void host_delta_forget(const char *namespace);
/* The namespace is no more. */
void host_delta_close(const char *namespace);

#endif
