/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/activity.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void activity_fini(struct activity *activity)
{
    for (uint32_t i = 0; i < activity->count; i++) {
        ranges_fini(&activity->groups[i].ranks);
        ranges_fini(&activity->groups[i].places);
    }
    free(activity->groups);
    ranges_fini(&activity->silent);
    memset(activity, 0, sizeof(*activity));
}

static int is_equal(const struct activity_rank *a, const struct activity_rank *b)
{
    return a->state == b->state && a->pmi == b->pmi && strcmp(a->channel, b->channel) == 0;
}

/* NULL: there is no room. */
static struct activity_group *group_of(struct activity *activity, const struct activity_rank *what)
{
    struct activity_group *group;

    for (uint32_t i = 0; i < activity->count; i++)
        if (is_equal(&activity->groups[i].what, what))
            return &activity->groups[i];
    if (activity->count == ACTIVITY_GROUPS_MAX)
        return NULL;
    activity->groups =
        memory_resize(activity->groups, (activity->count + 1) * sizeof(*activity->groups));
    group = &activity->groups[activity->count++];
    *group = (struct activity_group){.what = *what};
    return group;
}

void activity_add(struct activity *activity, const struct activity_rank *what, uint32_t rank,
                  uint32_t place)
{
    struct activity_rank clean = *what;
    struct activity_group *group;

    assert(what->pmi < ACTIVITY_PMI_COUNT);
    for (char *letter = clean.channel; *letter != '\0'; letter++)
        if (*letter <= ' ' || *letter >= 0x7f)
            *letter = '?';
    group = group_of(activity, &clean);
    if (group == NULL) {
        activity->more++;
        return;
    }
    ranges_add(&group->ranks, rank, rank);
    ranges_add(&group->places, place, place);
}

void activity_merge(struct activity *activity, const struct activity *other)
{
    for (uint32_t i = 0; i < other->count; i++) {
        struct activity_group *group = group_of(activity, &other->groups[i].what);

        if (group == NULL) {
            activity->more += ranges_count(&other->groups[i].ranks);
            continue;
        }
        ranges_add_all(&group->ranks, &other->groups[i].ranks);
        ranges_add_all(&group->places, &other->groups[i].places);
    }
    activity->more += other->more;
    ranges_add_all(&activity->silent, &other->silent);
}
