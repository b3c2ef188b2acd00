/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intrusive doubly linked list, header only.  A node that is in no list is linked to itself, so
 * list_remove is always safe after list_link_init.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *next;
    struct list_link *previous;
};

struct list {
    struct list_link head;
};

static inline void list_link_init(struct list_link *node)
{
    node->next = node;
    node->previous = node;
}

static inline void list_init(struct list *list)
{
    list_link_init(&list->head);
}

static inline bool list_is_empty(const struct list *list)
{
    return list->head.next == &list->head;
}

static inline bool list_is_linked(const struct list_link *node)
{
    return node->next != node;
}

static inline void list_insert_before(struct list_link *position, struct list_link *node)
{
    assert(position->previous->next == position); /* a list that was never begun, or is torn */
    node->next = position;
    node->previous = position->previous;
    position->previous->next = node;
    position->previous = node;
}

static inline void list_append(struct list *list, struct list_link *node)
{
    list_insert_before(&list->head, node);
}

static inline void list_prepend(struct list *list, struct list_link *node)
{
    list_insert_before(list->head.next, node);
}

static inline void list_remove(struct list_link *node)
{
    assert(node->previous->next == node && node->next->previous == node);
    node->previous->next = node->next;
    node->next->previous = node->previous;
    list_link_init(node);
}

static inline struct list_link *list_first(const struct list *list)
{
    return list_is_empty(list) ? NULL : list->head.next;
}

static inline struct list_link *list_last(const struct list *list)
{
    return list_is_empty(list) ? NULL : list->head.previous;
}

#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

/* node may be removed from the list inside the loop; next is a spare struct list_link pointer. */
#define list_for_each(list, node, spare)                                              \
    for ((node) = (list)->head.next, (spare) = (node)->next; (node) != &(list)->head; \
         (node) = (spare), (spare) = (node)->next)

#endif
