/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "launch/job/instance_state.h"

struct job_part *job_part_create(struct instance *instance, uint32_t number)
{
    struct job_part *part = memory_allocate_zeroed(sizeof(*part));

    part->instance = instance;
    part->local.number = number;
    part->ended_generation = 1;
    job_spec_init(&part->local.spec);
    if (instance->parts_by_number == NULL)
        instance->parts_by_number = hash_map_create();
    list_append(&instance->parts, &part->node);
    (void)hash_map_put_u64(instance->parts_by_number, number, part);
    return part;
}

void job_part_destroy(struct job_part *part)
{
    if (part == NULL)
        return;
    job_restart_close(part);
    job_local_fini(&part->local);
    job_ended_fini(&part->summary);
    free(part->start_failure);
    ranges_fini(&part->ended_places);
    free(part->rank_states);
    free(part->abnormal);
    free(part);
}

void job_part_check(const struct job_part *part)
{
    assert(part->phase < JOB_PART_PHASE_COUNT);
    assert(part->started <= part->reported && part->ended <= part->reported &&
           part->reported <= part->local.count);
    assert((part->phase == JOB_PART_STARTING) == (part->reported < part->local.count));
    assert(part->phase < JOB_PART_DRAINING || (part->ended == part->local.count && part->is_gone));
    assert(!part->is_sealed || (part->restarts != NULL && part->ended == part->local.count));
    assert(part->ended_contributed <= part->ended_generation);
    assert((part->ended_contributed > 0) == (part->phase == JOB_PART_ENDED));
}

uint32_t job_part_rank(const struct job_part *part, uint32_t index)
{
    assert(index < part->local.count);
    return placement_map_rank(&part->local.map, part->instance->place - 1, index);
}
