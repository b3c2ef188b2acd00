/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How large the messages of a launch are: the rule travels, not the map.  1,000 nodes x 128
 * processes by slot, with arguments and an environment that no one can compress.
 */
#include "config.h"

#include "launch/job/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/random.h"
#include "test/support/tap.h"

#define NODES          1000u
#define SLOTS          128u
#define ARGUMENTS      20u
#define VARIABLES      200u
#define STRING_BYTES   60u
#define OVERHEAD_BYTES 1024u /* what the message may have beyond arguments and environment */

static char **random_strings(struct random_state *random, size_t count, size_t *ret_bytes)
{
    char **strings = memory_allocate_zeroed((count + 1) * sizeof(char *));

    *ret_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        strings[i] = memory_allocate_zeroed(STRING_BYTES + 1);
        for (size_t k = 0; k < STRING_BYTES; k++)
            strings[i][k] = (char)(1 + random_below(random, 255));
        *ret_bytes += STRING_BYTES + 1;
    }
    return strings;
}

/* The first broadcast of a kind that the root makes of it, with the set that goes with it. */
static size_t message_bytes(const struct job_actions *actions, enum job_message kind)
{
    struct buffer set = {0};
    size_t bytes = 0;

    for (uint32_t i = 0; i < actions->count && bytes == 0; i++) {
        const struct job_action *action = &actions->items[i];

        if (action->kind != JOB_ACTION_BROADCAST || action->message->data[0] != kind)
            continue;
        ranges_encode(&action->places, &set);
        bytes = FRAME_HEADER_BYTES + set.length_bytes + action->message->length_bytes;
    }
    buffer_fini(&set);
    return bytes;
}

static void launch(const struct allocation *allocation, struct job_spec *spec,
                   struct job_actions *actions)
{
    struct instance_spec instance;
    struct instance *engine;

    instance_spec_init(&instance);
    instance.places = allocation_nodes(allocation) + 1;
    engine = instance_create(&instance, 0, allocation, INSTANCE_LEAVES_WITH_JOB);
    instance_step(engine, &(struct job_event){.kind = JOB_EVENT_RUN, .spec = spec}, actions);
    instance_step(engine, &(struct job_event){.kind = JOB_EVENT_COMPLETE}, actions);
    instance_destroy(engine);
    instance_spec_fini(&instance);
}

int main(void)
{
    struct allocation allocation;
    struct job_actions actions;
    struct random_state random;
    struct job_spec spec;
    size_t argument_bytes, variable_bytes, bytes, own_bytes;

    random_init(&random, 1);
    allocation_init(&allocation);
    allocation_generate(&allocation, "node", NODES, SLOTS);
    job_spec_init(&spec);
    placement_add(&spec.placement, &(struct placement_rule){.policy = PLACEMENT_BY_SLOT,
                                                            .processes = NODES * SLOTS});
    spec.apps = memory_allocate_zeroed(sizeof *spec.apps);
    spec.apps_count = 1;
    spec.apps[0].argv = random_strings(&random, ARGUMENTS, &argument_bytes);
    spec.apps[0].set = random_strings(&random, VARIABLES, &variable_bytes);
    job_actions_init(&actions);
    launch(&allocation, &spec, &actions);

    bytes = message_bytes(&actions, JOB_MESSAGE_LAUNCH);
    own_bytes = bytes - argument_bytes - variable_bytes;
    diag("launch of %u x %u: %zu bytes on a link, %zu of them arguments and environment, %zu more",
         NODES, SLOTS, bytes, argument_bytes + variable_bytes, own_bytes);
    ok(bytes > argument_bytes + variable_bytes && own_bytes <= OVERHEAD_BYTES,
       "a launch has at most 1 KiB beside arguments and environment");
    bytes = message_bytes(&actions, JOB_MESSAGE_ROSTER);
    diag("roster of %u nodes: %zu bytes on a link", NODES, bytes);
    ok(bytes > 0 && bytes <= OVERHEAD_BYTES, "so has the roster of regular names");
    job_actions_fini(&actions);
    job_spec_fini(&spec);
    allocation_fini(&allocation);
    return done_testing();
}
