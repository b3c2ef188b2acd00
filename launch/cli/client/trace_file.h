/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file of --trace: trace events in the form of Chrome, an array in JSON, which ui.perfetto.dev opens.  Each node is a
 * process of the trace with a thread for its daemon, one for collective operations, and one for each rank.  What arrives is
 * written at once and not kept; all that is written is whole events, and the array may lack its end if nobody closes it.
 */
#ifndef LAUNCH_CLI_CLIENT_TRACE_FILE_H
#define LAUNCH_CLI_CLIENT_TRACE_FILE_H

#include "alloc/hostlist.h"
#include "base/error.h"
#include "launch/cli/client/run_summary.h"
#include "launch/proto/run_trace.h"

struct trace_file;

/* Creates, or empties, the file; start_ns: what is 0 in it, by the clock of this machine. */
int trace_file_open(const char *path, uint64_t start_ns, struct trace_file **ret_file,
                    struct error *error);
/* What a node, or the root (place 0), has noted; names: of the nodes in the order of their places.  A time without a known
 * clock is put so that the launch arrived when the root sent it. */
void trace_file_add(struct trace_file *file, const struct run_trace *trace,
                    const struct hostlist *names);
/* The client's own phases, and the end; NULL is fine.  An error is one line: something could not be written. */
int trace_file_close(struct trace_file *file, const struct run_summary *summary,
                     struct error *error);

#endif
