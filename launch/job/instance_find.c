/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/instance_state.h"

#include <assert.h>

struct job_part *instance_find_part(const struct instance *instance, uint32_t number)
{
    struct job_part *part =
        instance->parts_by_number ? hash_map_get_u64(instance->parts_by_number, number) : NULL;

    assert(part == NULL || part->local.number == number);
    return part;
}

struct job *instance_find_job(const struct instance *instance, uint32_t number)
{
    struct job *job =
        instance->root ? hash_map_get_u64(instance->root->jobs_by_number, number) : NULL;

    assert(job == NULL || job->number == number);
    return job;
}
