/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/stack_fold.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/wire.h"

#define RANGES_MAX (16u * 1024 * 1024)

void stack_fold_encode(const struct stack_fold *fold, struct buffer *out)
{
    assert(fold->count <= STACK_FOLD_GROUPS_MAX);
    wire_put_varint(out, fold->count);
    for (uint32_t i = 0; i < fold->count; i++) {
        const struct stack_fold_group *group = &fold->groups[i];

        wire_put_u8(out, group->is_failure);
        wire_put_string(out, group->text);
        ranges_encode(&group->ranks, out);
        ranges_encode(&group->places, out);
    }
    wire_put_varint(out, fold->left);
    wire_put_varint(out, fold->more);
    ranges_encode(&fold->silent, out);
}

static bool get_flag(struct wire_reader *reader)
{
    uint8_t flag = wire_get_u8(reader);

    if (flag > 1)
        wire_fail(reader);
    return flag == 1;
}

/* It goes to a terminal. */
static void get_text(struct wire_reader *reader, char text[STACK_FOLD_TEXT_BYTES])
{
    text[0] = '\0';
    wire_get_string_into(reader, text, STACK_FOLD_TEXT_BYTES);
    for (const char *letter = text; *letter != '\0'; letter++)
        if (*letter < ' ' || *letter >= 0x7f)
            wire_fail(reader);
}

static void get_group(struct wire_reader *reader, struct stack_fold_group *ret_group)
{
    char text[STACK_FOLD_TEXT_BYTES];

    ret_group->is_failure = get_flag(reader);
    get_text(reader, text);
    ret_group->text = memory_copy_string(text);
    ranges_decode(reader, RANGES_MAX, &ret_group->ranks);
    ranges_decode(reader, RANGES_MAX, &ret_group->places);
}

int stack_fold_decode(struct stack_fold *ret_fold, struct wire_reader *reader)
{
    struct stack_fold fold = {0};
    uint32_t count = (uint32_t)wire_get_varint_max(reader, STACK_FOLD_GROUPS_MAX);

    fold.groups = memory_allocate_zeroed((count + 1) * sizeof(*fold.groups));
    while (fold.count < count && wire_status(reader) == 0)
        get_group(reader, &fold.groups[fold.count++]);
    fold.left = wire_get_varint(reader);
    fold.more = wire_get_varint(reader);
    ranges_decode(reader, RANGES_MAX, &fold.silent);
    if (wire_finish(reader) < 0) {
        stack_fold_fini(&fold);
        return -EBADMSG;
    }
    *ret_fold = fold;
    return 0;
}

void stack_fold_request_encode(const struct stack_fold_request *request, struct buffer *out)
{
    assert(request->job > 0 && request->patience_ms <= STACK_FOLD_PATIENCE_MS_MAX);
    wire_put_u32(out, request->job);
    wire_put_u32(out, request->patience_ms);
    ranges_encode(&request->places, out);
}

int stack_fold_request_decode(struct stack_fold_request *ret_request, struct wire_reader *reader)
{
    struct stack_fold_request request = {.job = wire_get_u32(reader)};

    request.patience_ms = wire_get_u32(reader);
    ranges_decode(reader, RANGES_MAX, &request.places);
    if (wire_finish(reader) < 0 || request.job == 0 ||
        request.patience_ms > STACK_FOLD_PATIENCE_MS_MAX) {
        ranges_fini(&request.places);
        return -EBADMSG;
    }
    *ret_request = request;
    return 0;
}

void stack_fold_put_local(struct buffer *out, uint32_t index, bool is_failure, const char *text)
{
    assert(strlen(text) < STACK_FOLD_TEXT_BYTES);
    wire_put_u32(out, index);
    wire_put_u8(out, is_failure);
    wire_put_string(out, text);
}

int stack_fold_get_local(struct wire_reader *reader, uint32_t *ret_index, bool *ret_is_failure,
                         char text[STACK_FOLD_TEXT_BYTES])
{
    uint32_t index = wire_get_u32(reader);
    bool is_failure = get_flag(reader);

    get_text(reader, text);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    *ret_index = index;
    *ret_is_failure = is_failure;
    return 0;
}
