/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/instance_state.h"

#include <assert.h>

int job_end_ask(struct job *job, struct job_end_message *message, struct job_actions *actions)
{
    struct buffer payload = {0};

    ranges_copy(&message->places, &job->places);
    ranges_remove_all(&message->places, &job->instance->root->dead);
    if (ranges_is_empty(&message->places))
        return 0;
    message->number = job->number;
    message->generation = ++job->generation;
    job_end_message_encode(message, &payload);
    job_actions_broadcast(actions, job->number, &message->places, &payload);
    ranges_fini(&message->places);
    return 1;
}
