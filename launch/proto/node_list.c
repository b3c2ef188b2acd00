/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/node_list.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

void node_list_init(struct node_list *list)
{
    *list = (struct node_list){.names = hostlist_create()};
}

void node_list_fini(struct node_list *list)
{
    for (uint32_t i = 0; i < list->groups_count; i++)
        ranges_fini(&list->groups[i].jobs);
    free(list->groups);
    hostlist_destroy(list->names);
    ranges_fini(&list->out);
    *list = (struct node_list){.names = NULL};
}

void node_list_request_fini(struct node_list_request *request)
{
    free(request->names);
    allocation_fini(&request->nodes);
    *request = (struct node_list_request){.names = NULL};
}

struct node_list_group *node_list_add(struct node_list *list, uint32_t nodes)
{
    assert(nodes > 0);
    if (list->groups_count == list->groups_capacity) {
        list->groups_capacity = list->groups_capacity > 0 ? 2 * list->groups_capacity : 4;
        list->groups = memory_resize(list->groups, list->groups_capacity * sizeof(*list->groups));
    }
    list->groups[list->groups_count] = (struct node_list_group){.nodes = nodes};
    return &list->groups[list->groups_count++];
}

int node_list_is_equal(const struct node_list_group *a, const struct node_list_group *b)
{
    return a->state == b->state && a->slots == b->slots && a->used == b->used &&
           ranges_equal(&a->jobs, &b->jobs);
}

const char *node_list_state_name(enum node_list_state state)
{
    static const char *const names[NODE_LIST_STATE_COUNT] = {
        [NODE_LIST_UP] = "up",           [NODE_LIST_DRAINING] = "draining",
        [NODE_LIST_DRAINED] = "drained", [NODE_LIST_LOST] = "lost",
        [NODE_LIST_SPARE] = "spare",
    };

    assert(state < NODE_LIST_STATE_COUNT);
    return names[state];
}
