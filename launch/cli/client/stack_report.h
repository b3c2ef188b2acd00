/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a job stand (launch/proto/stack_fold.h), as lines of text: the stacks of most ranks first, at most
 * 10 of them, and 20 lines in all.  Pure.
 */
#ifndef LAUNCH_CLI_CLIENT_STACK_REPORT_H
#define LAUNCH_CLI_CLIENT_STACK_REPORT_H

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "launch/proto/stack_fold.h"

/* Sorts the groups.  names: of the nodes, in the order of their places. */
void stack_report(struct stack_fold *fold, const struct hostlist *names, struct buffer *out);

#endif
