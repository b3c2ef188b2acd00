/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/stack_fold.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void stack_fold_fini(struct stack_fold *fold)
{
    for (uint32_t i = 0; i < fold->count; i++) {
        free(fold->groups[i].text);
        ranges_fini(&fold->groups[i].ranks);
        ranges_fini(&fold->groups[i].places);
    }
    free(fold->groups);
    ranges_fini(&fold->silent);
    memset(fold, 0, sizeof(*fold));
}

/* NULL: there is no room. */
static struct stack_fold_group *group_of(struct stack_fold *fold, const char *text, bool is_failure)
{
    struct stack_fold_group *group;

    assert(fold->count <= STACK_FOLD_GROUPS_MAX && strlen(text) < STACK_FOLD_TEXT_BYTES);
    for (uint32_t i = 0; i < fold->count; i++)
        if (fold->groups[i].is_failure == is_failure && strcmp(fold->groups[i].text, text) == 0)
            return &fold->groups[i];
    if (fold->count == STACK_FOLD_GROUPS_MAX)
        return NULL;
    fold->groups = memory_resize(fold->groups, (fold->count + 1) * sizeof(*fold->groups));
    group = &fold->groups[fold->count++];
    *group = (struct stack_fold_group){.text = memory_copy_string(text), .is_failure = is_failure};
    return group;
}

void stack_fold_add(struct stack_fold *fold, const char *text, bool is_failure, uint32_t rank,
                    uint32_t place)
{
    char clean[STACK_FOLD_TEXT_BYTES];
    struct stack_fold_group *group;

    snprintf(clean, sizeof(clean), "%s", text);
    for (char *letter = clean; *letter != '\0'; letter++)
        if (*letter < ' ' || *letter >= 0x7f)
            *letter = '?';
    group = group_of(fold, clean, is_failure);
    if (group == NULL) {
        fold->more++;
        return;
    }
    ranges_add(&group->ranks, rank, rank);
    ranges_add(&group->places, place, place);
}

void stack_fold_merge(struct stack_fold *fold, const struct stack_fold *other)
{
    assert(fold != other);
    for (uint32_t i = 0; i < other->count; i++) {
        const struct stack_fold_group *from = &other->groups[i];
        struct stack_fold_group *group = group_of(fold, from->text, from->is_failure);

        if (group == NULL) {
            fold->more += ranges_count(&from->ranks);
            continue;
        }
        ranges_add_all(&group->ranks, &from->ranks);
        ranges_add_all(&group->places, &from->places);
    }
    fold->left += other->left;
    fold->more += other->more;
    ranges_add_all(&fold->silent, &other->silent);
}
