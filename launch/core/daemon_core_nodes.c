/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root: a client asks about the nodes, drains or resumes some, removes them, or adds others (daemon_core_add.c,
 * JOB_MESSAGE_NODES).  Nodes that are removed leave the tree; the client is answered when they have left.
 *
 * Cost: nothing while no removal waits; else each step looks at the jobs.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/node_list.h"

/* A client that waits until nodes have left. */
struct removal {
    struct list_link node;
    uint32_t client;
    uint32_t request;
    struct ranges places;
    bool is_asked; /* they have been asked to leave */
};

/* ---- answers ---- */

void daemon_core_nodes_answer(struct daemon_core *core, uint32_t client, uint32_t request,
                              const struct ranges *places, const char *why)
{
    struct buffer data = {0};
    struct node_list list;

    node_list_init(&list);
    if (why == NULL)
        instance_nodes_list(core->instance, places, &list);
    else
        snprintf(list.why, sizeof(list.why), "%s", why);
    node_list_encode(&list, &data);
    daemon_core_request_answer(core, client, request, 0, &data);
    node_list_fini(&list);
    buffer_fini(&data);
}

/* ---- removals ---- */

static void removal_free(struct removal *removal)
{
    list_remove(&removal->node);
    ranges_fini(&removal->places);
    free(removal);
}

/* Nodes that another client has removed meanwhile need not be asked again. */
static int ask_to_leave(struct daemon_core *core, const struct ranges *places, struct error *error)
{
    struct ranges staying = {0};
    struct job_event event = {.kind = JOB_EVENT_REMOVE, .places = &staying};
    int rc = 0;

    instance_nodes_staying(core->instance, places, &staying);
    if (!ranges_is_empty(&staying))
        rc = core->tree->has_room(core->tree_context)
                 ? core->tree->shrink(core->tree_context, &staying)
                 : -EAGAIN;
    if (rc < 0)
        error_set(error, rc, "the nodes cannot be asked to leave at the moment; try again");
    else if (!ranges_is_empty(&staying))
        daemon_core_job(core, &event);
    ranges_fini(&staying);
    return rc;
}

/* 1 if it is answered. */
static int removal_go_on(struct daemon_core *core, struct removal *removal)
{
    struct error error = ERROR_NONE;
    struct ranges jobs = {0};

    if (!removal->is_asked) {
        instance_nodes_users(core->instance, &removal->places, &jobs);
        removal->is_asked = ranges_is_empty(&jobs);
        ranges_fini(&jobs);
        if (removal->is_asked && ask_to_leave(core, &removal->places, &error) < 0) {
            daemon_core_nodes_answer(core, removal->client, removal->request, NULL, error.text);
            return 1;
        }
    }
    if (!removal->is_asked || !instance_nodes_have_left(core->instance, &removal->places))
        return 0;
    daemon_core_nodes_answer(core, removal->client, removal->request, &(struct ranges){0}, NULL);
    return 1;
}

void daemon_core_nodes_go_on(struct daemon_core *core)
{
    struct list_link *node, *spare;

    assert(core->is_stepping);
    list_for_each(&core->root->removals, node, spare)
    {
        struct removal *removal = list_entry(node, struct removal, node);

        if (removal_go_on(core, removal))
            removal_free(removal);
    }
    daemon_core_add_go_on(core);
}

static int refuse_used(const struct daemon_core *core, const struct ranges *places,
                       struct error *error)
{
    struct ranges jobs = {0};
    struct buffer text = {0};
    int is_one;

    instance_nodes_users(core->instance, places, &jobs);
    if (ranges_is_empty(&jobs))
        return 0;
    ranges_print(&jobs, &text);
    is_one = ranges_count(&jobs) == 1;
    ranges_fini(&jobs);
    error_set(
        error, -EBUSY,
        "job%s %.200s use%s these nodes; --wait removes them when no job does, --force ends its "
        "processes there",
        is_one ? "" : "s", buffer_string(&text), is_one ? "s" : "");
    buffer_fini(&text);
    return -EBUSY;
}

/* Takes places.  Until they have left they are drained. */
static int begin_removal(struct daemon_core *core, uint32_t client, uint32_t request,
                         enum node_list_when when, struct ranges *places, struct error *error)
{
    struct job_event drain = {.kind = JOB_EVENT_DRAIN, .places = places, .flag = 1};
    struct removal *removal;
    int rc = 0;

    if (!instance_nodes_can_change(core->instance))
        rc = error_set(error, -EAGAIN, "the instance is starting or ending");
    else if (when == NODE_LIST_UNUSED)
        rc = refuse_used(core, places, error);
    if (rc == 0 && when == NODE_LIST_FORCE)
        rc = ask_to_leave(core, places, error);
    if (rc < 0)
        return rc;
    daemon_core_job(core, &drain);
    removal = memory_allocate_zeroed(sizeof(*removal));
    removal->client = client;
    removal->request = request;
    removal->is_asked = when == NODE_LIST_FORCE;
    ranges_move(&removal->places, places);
    list_append(&core->root->removals, &removal->node); /* goes on at the end of this step */
    return 0;
}

/* ---- orders ---- */

static int find_places(const struct daemon_core *core, const struct node_list_request *request,
                       struct ranges *ret_places, struct error *error)
{
    if (request->order == NODE_LIST_SHOW && request->names[0] == '\0') {
        instance_nodes_all(core->instance, ret_places);
        return 0;
    }
    return instance_nodes_find(core->instance, request->names, ret_places, error);
}

/* Everything is checked before anything is done.  A removal takes places, and is answered later. */
static int obey(struct daemon_core *core, uint32_t client, uint32_t number,
                const struct node_list_request *request, struct ranges *places, struct error *error)
{
    struct job_event event = {
        .kind = JOB_EVENT_DRAIN, .places = places, .flag = request->order == NODE_LIST_DRAIN};

    if (request->order == NODE_LIST_REMOVE)
        return begin_removal(core, client, number, (enum node_list_when)request->when, places,
                             error);
    if (request->order == NODE_LIST_RESUME &&
        instance_nodes_resumable(core->instance, places, error) < 0)
        return error->code;
    if (request->order != NODE_LIST_SHOW)
        daemon_core_job(core, &event);
    daemon_core_nodes_answer(core, client, number, places, NULL);
    return 0;
}

void daemon_core_nodes_client(struct daemon_core *core, uint32_t client,
                              const struct control_request *request)
{
    struct node_list_request wish;
    struct error error = ERROR_NONE;
    struct ranges places = {0};
    struct wire_reader reader;
    int rc;

    assert(daemon_core_is_root(core));
    wire_reader_init(&reader, request->data.data, request->data.length_bytes);
    rc = node_list_request_decode(&wish, &reader);
    if (rc < 0) {
        daemon_core_request_answer(core, client, request->request, rc, NULL);
        return;
    }
    if (wish.order == NODE_LIST_ADD)
        rc = daemon_core_add_nodes(core, client, request->request, &wish.nodes, &error);
    else
        rc = find_places(core, &wish, &places, &error);
    if (rc == 0 && wish.order != NODE_LIST_ADD)
        rc = obey(core, client, request->request, &wish, &places, &error);
    if (rc < 0)
        daemon_core_nodes_answer(core, client, request->request, NULL, error.text);
    ranges_fini(&places);
    node_list_request_fini(&wish);
}

/* The nodes that it waits for stay drained. */
void daemon_core_nodes_gone(struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->removals, node, spare)
    {
        struct removal *removal = list_entry(node, struct removal, node);

        if (removal->client == client)
            removal_free(removal);
    }
    daemon_core_add_gone(core, client);
}

void daemon_core_nodes_open(struct daemon_core *core)
{
    list_init(&core->root->removals);
    daemon_core_add_open(core);
}

void daemon_core_nodes_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->root->removals)) != NULL)
        removal_free(list_entry(node, struct removal, node));
    daemon_core_add_close(core);
}
