/* SPDX-License-Identifier: BSD-3-Clause */
/* --stack: when the time of a job is over, and what its ranks were doing is reported, so is where they stand. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "launch/cli/client/front_end_internal.h"
#include "launch/cli/client/stack_report.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/stack_fold.h"

/* The root answers within its patience, whatever its nodes do. */
#define ANSWER_PATIENCE_MS (STACK_FOLD_PATIENCE_MS + 5000u)

int front_end_stacks_ask(struct front_end *front)
{
    struct control_request request = {.request = FRONT_STACKS_REQUEST, .kind = JOB_MESSAGE_STACKS};
    const struct stack_fold_request about = {.job = front->job};
    struct buffer payload = {0}, data = {0};

    if (!front->request->stack || front->asks_stacks || front->channel == NULL || front->job == 0)
        return 0;
    stack_fold_request_encode(&about, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    control_request_encode(&request, &payload);
    channel_send_buffer(front->channel, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(&data);
    front->asks_stacks = 1;
    loop_timer_set(front->timeout, loop_now_ns() + ANSWER_PATIENCE_MS * NS_PER_MS);
    return 1;
}

static void say_stacks(struct front_end *front, struct stack_fold *fold)
{
    struct buffer lines = {0};
    char *line, *next;

    stack_report(fold, front->request->allocation.names, &lines);
    for (line = (char *)buffer_string(&lines); (next = strchr(line, '\n')) != NULL;
         line = next + 1) {
        *next = '\0';
        output_writer_message(front->writer, line);
    }
    buffer_fini(&lines);
}

int front_end_stacks_answer(struct front_end *front, const struct control_answer *answer)
{
    struct wire_reader inner;
    struct stack_fold fold;

    assert(answer->request == FRONT_STACKS_REQUEST);
    if (!front->asks_stacks || front->has_failure)
        return 0; /* it comes too late */
    if (answer->status == 0) {
        wire_reader_init(&inner, answer->data.data, answer->data.length_bytes);
        if (stack_fold_decode(&fold, &inner) < 0)
            return -EBADMSG;
        if (!front->has_job_end)
            say_stacks(front, &fold);
        stack_fold_fini(&fold);
    }
    loop_timer_set(front->timeout, loop_now_ns());
    return 0;
}
