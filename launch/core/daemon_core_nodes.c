/* SPDX-License-Identifier: BSD-3-Clause */
/* The root: a client asks about the nodes, or drains or resumes some (JOB_MESSAGE_NODES). */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/proto/node_list.h"

static int find_places(const struct daemon_core *core, const struct node_list_request *request,
                       struct ranges *ret_places, struct error *error)
{
    const struct allocation *roster = instance_roster(core->instance);

    if (request->order == NODE_LIST_SHOW && request->names[0] == '\0') {
        ranges_add(ret_places, 1, allocation_nodes(roster));
        return 0;
    }
    return instance_nodes_find(core->instance, request->names, ret_places, error);
}

/* Everything is checked before anything is done. */
static int obey(struct daemon_core *core, const struct node_list_request *request,
                struct ranges *ret_places, struct error *error)
{
    struct job_event event = {
        .kind = JOB_EVENT_DRAIN, .places = ret_places, .flag = request->order == NODE_LIST_DRAIN};
    int rc = find_places(core, request, ret_places, error);

    if (rc == 0 && request->order == NODE_LIST_RESUME)
        rc = instance_nodes_resumable(core->instance, ret_places, error);
    if (rc == 0 && request->order != NODE_LIST_SHOW)
        daemon_core_job(core, &event);
    return rc;
}

int daemon_core_nodes(struct daemon_core *core, struct wire_reader *reader, struct buffer *answer)
{
    struct node_list_request request;
    struct error error = ERROR_NONE;
    struct ranges places = {0};
    struct node_list list;
    int rc = node_list_request_decode(&request, reader);

    assert(daemon_core_is_root(core));
    if (rc < 0)
        return rc;
    node_list_init(&list);
    if (obey(core, &request, &places, &error) == 0)
        instance_nodes_list(core->instance, &places, &list);
    else
        snprintf(list.why, sizeof(list.why), "%.*s", (int)sizeof(list.why) - 1, error.text);
    node_list_encode(&list, answer);
    node_list_fini(&list);
    ranges_fini(&places);
    free(request.names);
    return 0;
}
