/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/activity.h"

#include <assert.h>
#include <errno.h>

#include "base/memory.h"
#include "base/wire.h"

#define RANGES_MAX (16u * 1024 * 1024)

void activity_encode(const struct activity *activity, struct buffer *out)
{
    assert(activity->count <= ACTIVITY_GROUPS_MAX);
    wire_put_varint(out, activity->count);
    for (uint32_t i = 0; i < activity->count; i++) {
        const struct activity_group *group = &activity->groups[i];

        assert(group->what.pmi < ACTIVITY_PMI_COUNT);
        wire_put_u8(out, group->what.state);
        wire_put_u8(out, group->what.pmi);
        wire_put_string(out, group->what.channel);
        ranges_encode(&group->ranks, out);
        ranges_encode(&group->places, out);
    }
    wire_put_varint(out, activity->more);
    ranges_encode(&activity->silent, out);
}

static void get_group(struct wire_reader *reader, struct activity_group *ret_group)
{
    ret_group->what.state = wire_get_u8(reader);
    ret_group->what.pmi = wire_get_u8(reader);
    wire_get_string_into(reader, ret_group->what.channel, sizeof(ret_group->what.channel));
    ranges_decode(reader, RANGES_MAX, &ret_group->ranks);
    ranges_decode(reader, RANGES_MAX, &ret_group->places);
    if (ret_group->what.pmi >= ACTIVITY_PMI_COUNT)
        wire_fail(reader);
    for (const char *letter = ret_group->what.channel; *letter != '\0'; letter++)
        if (*letter <= ' ' || *letter >= 0x7f)
            wire_fail(reader); /* it goes to a terminal */
}

int activity_decode(struct activity *ret_activity, struct wire_reader *reader)
{
    struct activity activity = {0};

    activity.count = (uint32_t)wire_get_varint_max(reader, ACTIVITY_GROUPS_MAX);
    activity.groups = memory_allocate_zeroed((activity.count + 1) * sizeof(*activity.groups));
    for (uint32_t i = 0; i < activity.count && wire_status(reader) == 0; i++)
        get_group(reader, &activity.groups[i]);
    activity.more = wire_get_varint(reader);
    ranges_decode(reader, RANGES_MAX, &activity.silent);
    if (wire_finish(reader) < 0) {
        activity_fini(&activity);
        return -EBADMSG;
    }
    *ret_activity = activity;
    return 0;
}

void activity_encode_request(uint32_t job, struct buffer *out)
{
    assert(job > 0);
    wire_put_u32(out, job);
}

uint32_t activity_decode_request(struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);

    return wire_finish(reader) == 0 ? job : 0;
}
