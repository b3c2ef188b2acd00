/* SPDX-License-Identifier: BSD-3-Clause */
/* --trace: what nodes have noted is written to the file as it arrives. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "launch/cli/client/front_end_internal.h"
#include "launch/cli/client/trace_file.h"
#include "launch/proto/exit_status.h"

int front_end_trace_take(struct front_end *front, struct wire_reader *reader)
{
    struct run_trace trace;

    if (run_trace_decode(&trace, reader) < 0)
        return -EBADMSG;
    if (front->trace == NULL)
        return 0;
    /* In an instance that was there before, nobody has waited for its daemons. */
    if (front->is_guest)
        trace.times[RUN_TRACE_BEGUN] = trace.times[RUN_TRACE_JOINED] = 0;
    trace_file_add(front->trace, &trace, front->request->allocation.names);
    return 0;
}

void front_end_trace_close(struct front_end *front)
{
    struct error error = ERROR_NONE;

    if (trace_file_close(front->trace, &front->record, &error) < 0) {
        fprintf(stderr, "banyan: %s\n", error.text);
        if (front->record.status == 0) {
            front->record.status = EXIT_STATUS_FAILED;
            front->record.failure = RUN_FAILURE_OUTPUT;
        }
    }
    front->trace = NULL;
}
