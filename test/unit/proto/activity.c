/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks are doing: folded, merged, and on its way: launch/proto/activity.c and launch/proto/activity_wire.c.
 */
#include "config.h"

#include "launch/proto/activity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

static int decode(struct activity *ret_activity, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    return activity_decode(ret_activity, &reader);
}

static void describe(const struct activity *activity, char *text, size_t text_bytes)
{
    struct buffer out = {0};

    for (uint32_t i = 0; i < activity->count; i++) {
        const struct activity_group *group = &activity->groups[i];

        buffer_printf(&out, "%c%u %s ", group->what.state != 0 ? group->what.state : '-',
                      group->what.pmi, group->what.channel);
        ranges_print(&group->ranks, &out);
        buffer_append_string(&out, "@");
        ranges_print(&group->places, &out);
        buffer_append_string(&out, "; ");
    }
    buffer_printf(&out, "more %llu, silent ", (unsigned long long)activity->more);
    ranges_print(&activity->silent, &out);
    snprintf(text, text_bytes, "%s", buffer_string(&out));
    buffer_fini(&out);
}

static void test_fold(void)
{
    struct activity first = {0}, second = {0}, taken;
    struct activity_rank sleeps = {.state = 'S', .pmi = ACTIVITY_PMI_WAITS, .channel = "do_poll"};
    struct activity_rank nasty = {.state = 'D', .channel = "a\033[2J b"};
    struct buffer packed = {0};
    char text[400];

    activity_add(&first, &sleeps, 0, 1);
    activity_add(&first, &sleeps, 1, 1);
    activity_add(&first, &(struct activity_rank){.state = 0}, 2, 1);
    activity_add(&second, &nasty, 3, 2);
    activity_add(&second, &sleeps, 4, 2);
    ranges_add(&second.silent, 7, 8);
    activity_merge(&first, &second);
    describe(&first, text, sizeof(text));
    is_string(text, "S2 do_poll 0-1,4@1-2; -0  2@1; D0 a?[2J?b 3@2; more 0, silent 7-8",
              "equal ranks are one, wherever they are");
    activity_encode(&first, &packed);
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++)
        if (decode(&taken, packed.data, bytes) != -EBADMSG)
            fail("%zu bytes are taken for all", bytes);
    is_int(decode(&taken, packed.data, packed.length_bytes), 0, "it arrives");
    describe(&taken, text, sizeof(text));
    is_string(text, "S2 do_poll 0-1,4@1-2; -0  2@1; D0 a?[2J?b 3@2; more 0, silent 7-8",
              "as it was");
    packed.data[2] = ACTIVITY_PMI_COUNT;
    activity_fini(&taken);
    is_int(decode(&taken, packed.data, packed.length_bytes), -EBADMSG, "no PMI like that");
    buffer_fini(&packed);
    activity_fini(&first);
    activity_fini(&second);
}

static void test_full(void)
{
    struct activity activity = {0}, other = {0};

    for (uint32_t rank = 0; rank < ACTIVITY_GROUPS_MAX + 5; rank++) {
        struct activity_rank what = {.state = 'S'};

        snprintf(what.channel, sizeof(what.channel), "f%u", rank);
        activity_add(&activity, &what, rank, 1);
    }
    is_uint(activity.count, ACTIVITY_GROUPS_MAX, "there is room for so many groups");
    is_uint(activity.more, 5, "the ranks of others are counted");
    activity_add(&other, &(struct activity_rank){.state = 'R'}, 900, 2);
    activity_add(&other, &(struct activity_rank){.state = 'R'}, 901, 2);
    activity_merge(&activity, &other);
    is_uint(activity.more, 7, "those of other nodes, too");
    activity_fini(&activity);
    activity_fini(&other);
}

int main(void)
{
    test_fold();
    test_full();
    return done_testing();
}
