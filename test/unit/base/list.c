/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/list.h"
#include "test/support/tap.h"

#include <string.h>

struct item {
    char letter;
    struct list_link node;
};

/* The letters of the list in order, forwards, checked backwards. */
static const char *letters(const struct list *list)
{
    static char text[16];
    size_t length = 0;
    struct list_link *node, *spare;

    list_for_each(list, node, spare)
    {
        if (node->next->previous != node || node->previous->next != node)
            return "broken";
        text[length++] = list_entry(node, struct item, node)->letter;
    }
    text[length] = '\0';
    return text;
}

int main(void)
{
    struct item items[4] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'c'}, {.letter = 'd'}};
    struct list list;
    struct list_link *node, *spare;

    list_init(&list);
    for (int i = 0; i < 4; i++)
        list_link_init(&items[i].node);
    ok(list_is_empty(&list) && list_first(&list) == NULL, "a new list is empty");
    is_string(letters(&list), "", "and has nothing to walk");
    list_append(&list, &items[1].node);
    list_append(&list, &items[2].node);
    list_prepend(&list, &items[0].node);
    is_string(letters(&list), "abc", "append and prepend");
    list_insert_before(&items[2].node, &items[3].node);
    is_string(letters(&list), "abdc", "insert before");
    ok(list_first(&list) == &items[0].node, "the first");
    list_remove(&items[3].node);
    is_string(letters(&list), "abc", "remove");
    ok(!list_is_linked(&items[3].node) && list_is_linked(&items[1].node), "linked or not");
    list_remove(&items[3].node);
    is_string(letters(&list), "abc", "removing one that is in no list does nothing");
    list_for_each(&list, node, spare) list_remove(node);
    ok(list_is_empty(&list), "all may be removed while walking");
    return done_testing();
}
