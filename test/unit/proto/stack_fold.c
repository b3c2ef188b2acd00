/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks of ranks: folded, merged, and on their way: launch/proto/stack_fold.c and launch/proto/stack_fold_wire.c. */
#include "config.h"

#include "launch/proto/stack_fold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

static int decode(struct stack_fold *ret_fold, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    return stack_fold_decode(ret_fold, &reader);
}

static const char *describe(const struct stack_fold *fold)
{
    static char text[1024];
    struct buffer out = {0};

    for (uint32_t i = 0; i < fold->count; i++) {
        const struct stack_fold_group *group = &fold->groups[i];

        buffer_printf(&out, "%s%s ", group->is_failure ? "!" : "", group->text);
        ranges_print(&group->ranks, &out);
        buffer_append_string(&out, "@");
        ranges_print(&group->places, &out);
        buffer_append_string(&out, "; ");
    }
    buffer_printf(&out, "left %u more %u silent ", (unsigned int)fold->left,
                  (unsigned int)fold->more);
    ranges_print(&fold->silent, &out);
    snprintf(text, sizeof(text), "%s", buffer_string(&out));
    buffer_fini(&out);
    return text;
}

static void test_fold(void)
{
    struct stack_fold first = {.left = 2}, second = {.left = 1}, taken;
    struct buffer packed = {0};

    stack_fold_add(&first, "main > poll", false, 0, 1);
    stack_fold_add(&first, "main > poll", false, 1, 1);
    stack_fold_add(&first, "main > poll", true, 2, 1);
    stack_fold_add(&second, "main > poll", false, 4, 2);
    stack_fold_add(&second, "a\033[2J\nb", false, 5, 2);
    ranges_add(&second.silent, 3, 4);
    stack_fold_merge(&first, &second);
    is_string(describe(&first),
              "main > poll 0-1,4@1-2; !main > poll 2@1; a?[2J?b 5@2; left 3 more 0 silent 3-4",
              "equal stacks are one; controls are replaced");
    stack_fold_encode(&first, &packed);
    is_int(decode(&taken, packed.data, packed.length_bytes), 0, "it can be read again");
    is_string(describe(&taken), describe(&first), "and is the same");
    stack_fold_fini(&taken);
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++)
        if (decode(&taken, packed.data, bytes) != -EBADMSG)
            ok(0, "%zu bytes of it cannot be read", bytes);
    ((char *)packed.data)[3] = '\033';
    is_int(decode(&taken, packed.data, packed.length_bytes), -EBADMSG,
           "a text with a control is refused");
    buffer_fini(&packed);
    stack_fold_fini(&first);
    stack_fold_fini(&second);
}

static void test_limits(void)
{
    struct stack_fold fold = {0}, other = {0};
    char text[2 * STACK_FOLD_TEXT_BYTES];

    for (uint32_t rank = 0; rank < STACK_FOLD_GROUPS_MAX + 5; rank++) {
        snprintf(text, sizeof(text), "f%u", rank);
        stack_fold_add(&fold, text, false, rank, 1);
    }
    is_uint(fold.count, STACK_FOLD_GROUPS_MAX, "there is room for so many stacks");
    is_uint(fold.more, 5, "the ranks of others are counted");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    stack_fold_add(&other, text, false, 900, 2);
    is_uint(strlen(other.groups[0].text), STACK_FOLD_TEXT_BYTES - 1, "a long text is cut");
    stack_fold_merge(&fold, &other);
    is_uint(fold.more, 6, "those of other nodes, too");
    stack_fold_fini(&fold);
    stack_fold_fini(&other);
}

static void test_request(void)
{
    struct stack_fold_request request = {.job = 7, .patience_ms = 25000}, taken;
    struct wire_reader reader;
    struct buffer packed = {0};

    ranges_add(&request.places, 2, 9);
    stack_fold_request_encode(&request, &packed);
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_int(stack_fold_request_decode(&taken, &reader), 0, "a request can be read");
    ok(taken.job == 7 && taken.patience_ms == 25000 && ranges_equal(&taken.places, &request.places),
       "and is the same");
    ranges_fini(&taken.places);
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++) {
        wire_reader_init(&reader, packed.data, bytes);
        if (stack_fold_request_decode(&taken, &reader) != -EBADMSG)
            ok(0, "%zu bytes of it cannot be read", bytes);
    }
    ((unsigned char *)packed.data)[7] = 1;
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_int(stack_fold_request_decode(&taken, &reader), -EBADMSG, "nobody waits that long");
    buffer_fini(&packed);
    ranges_fini(&request.places);
}

static void test_local(void)
{
    char text[STACK_FOLD_TEXT_BYTES];
    struct wire_reader reader;
    struct buffer packed = {0};
    uint32_t index = 0;
    bool is_failure = true;

    stack_fold_put_local(&packed, 5, false, "main");
    stack_fold_put_local(&packed, 6, true, "it has ended");
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_int(stack_fold_get_local(&reader, &index, &is_failure, text), 0, "a rank's stack");
    ok(index == 5 && !is_failure && strcmp(text, "main") == 0, "is the same");
    is_int(stack_fold_get_local(&reader, &index, &is_failure, text), 0, "another's");
    ok(index == 6 && is_failure && wire_left(&reader) == 0, "is a failure");
    is_int(stack_fold_get_local(&reader, &index, &is_failure, text), -EBADMSG, "there are no more");
    buffer_fini(&packed);
}

int main(void)
{
    test_fold();
    test_limits();
    test_request();
    test_local();
    return done_testing();
}
