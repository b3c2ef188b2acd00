/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root: a client adds nodes to the living instance (NODE_LIST_ADD).  The tree grows by a place for each, the root
 * starts their daemons, and when all have joined they become part of the roster.  If one of them fails the others leave
 * again, and the client hears why; their places, which are never used again, are nobody's then.  The same happens if
 * the client goes.
 *
 * Additions are carried out one at a time: the places of the roster have no gap.
 * Cost: nothing while none waits; ADD_STARTS_MAX starts at a time, or one for all (srun).
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/core/stage_root.h"
#include "launch/job/clients.h"
#include "launch/proto/node_list.h"
#include "launch/proto/report_line.h"
#include "overlay/tree.h"

#define ADD_STARTS_MAX 64u

enum add_phase {
    ADD_QUEUED,   /* another is carried out */
    ADD_STARTING, /* the daemons are being started */
    ADD_LEAVING   /* those that came up leave again */
};

struct add_failure {
    uint32_t place;
    char *why;
};

struct addition {
    struct list_link node;
    enum add_phase phase;
    uint32_t client;
    uint32_t request;
    struct allocation nodes;
    struct range places;     /* of them, once it has begun */
    struct ranges unstarted; /* of those */
    struct ranges waiting;   /* started, and have neither connected nor failed */
    struct ranges failed;
    struct add_failure *failures; /* that have a reason */
    uint32_t failures_count;
    bool is_given_up;
};

static void addition_check(const struct addition *addition)
{
    assert(allocation_nodes(&addition->nodes) > 0);
    assert(addition->phase != ADD_QUEUED || ranges_is_empty(&addition->unstarted));
    assert(ranges_count(&addition->waiting) <= allocation_nodes(&addition->nodes));
    assert(addition->failures_count <= ranges_count(&addition->failed));
}

static void addition_free(struct addition *addition)
{
    list_remove(&addition->node);
    allocation_fini(&addition->nodes);
    ranges_fini(&addition->unstarted);
    ranges_fini(&addition->waiting);
    ranges_fini(&addition->failed);
    for (uint32_t i = 0; i < addition->failures_count; i++)
        free(addition->failures[i].why);
    free(addition->failures);
    free(addition);
}

/* The one that is carried out, or NULL. */
static struct addition *first_addition(const struct daemon_core *core)
{
    struct list_link *node = list_first(&core->root->additions);

    return node != NULL ? list_entry(node, struct addition, node) : NULL;
}

/* ---- answers ---- */

static void name_places(const struct addition *addition, const struct ranges *places,
                        struct buffer *out)
{
    struct hostlist *names = hostlist_create();

    for (uint32_t i = 0; i < places->count; i++)
        hostlist_append_slice(names, addition->nodes.names,
                              places->items[i].first - addition->places.first,
                              places->items[i].last - places->items[i].first + 1);
    hostlist_print(names, out);
    hostlist_destroy(names);
}

/* A line for places that have failed for the same reason. */
static void tell_group(const struct addition *addition, const struct ranges *places,
                       const char *why, struct buffer *out)
{
    uint64_t count = ranges_count(places);
    char name[HOST_NAME_BYTES_MAX + 1];

    hostlist_name(addition->nodes.names, ranges_min(places) - addition->places.first, name);
    buffer_append_string(out,
                         count > 1 ? "cannot start daemons on " : "cannot start the daemon on ");
    name_places(addition, places, out);
    if (count > 1)
        buffer_printf(out, " (%llu nodes)", (unsigned long long)count);
    buffer_append_string(out, ": ");
    report_line_print(why, name, count, out);
    buffer_append_string(out, "\n");
}

/* Of those that are left, the ones that have the reason of the first. */
static void take_group(const struct addition *addition, struct ranges *unnamed,
                       struct ranges *ret_group, const char **ret_why)
{
    uint32_t first = ranges_min(unnamed);

    *ret_why = "its daemon exited before it had joined";
    for (uint32_t i = 0; i < addition->failures_count; i++)
        if (addition->failures[i].place == first)
            *ret_why = addition->failures[i].why;
    ranges_clear(ret_group);
    ranges_add(ret_group, first, first);
    for (uint32_t i = 0; i < addition->failures_count; i++)
        if (ranges_contains(unnamed, addition->failures[i].place) &&
            strcmp(addition->failures[i].why, *ret_why) == 0)
            ranges_add(ret_group, addition->failures[i].place, addition->failures[i].place);
    ranges_remove_all(unnamed, ret_group);
}

/* As many lines as there is room for. */
static void answer_failed(struct daemon_core *core, const struct addition *addition)
{
    uint64_t others = allocation_nodes(&addition->nodes) - ranges_count(&addition->failed);
    struct ranges unnamed = {0}, group = {0};
    struct buffer text = {0};
    const char *why;

    ranges_copy(&unnamed, &addition->failed);
    while (!ranges_is_empty(&unnamed)) {
        struct buffer line = {0};
        uint64_t left = ranges_count(&unnamed);

        take_group(addition, &unnamed, &group, &why);
        tell_group(addition, &group, why, &line);
        if (text.length_bytes + line.length_bytes > NODE_LIST_WHY_BYTES - 128) {
            buffer_printf(&text, "the daemons of %llu more nodes do not start either\n",
                          (unsigned long long)left);
            ranges_clear(&unnamed);
        } else {
            buffer_append(&text, line.data, line.length_bytes);
        }
        buffer_fini(&line);
    }
    if (others > 0)
        buffer_printf(&text, "no node was added, also not the other %llu",
                      (unsigned long long)others);
    daemon_core_nodes_answer(core, addition->client, addition->request, NULL, buffer_string(&text));
    ranges_fini(&unnamed);
    ranges_fini(&group);
    buffer_fini(&text);
}

/* ---- requests ---- */

/* With tokens others start the daemons. */
static int check_starter(const struct daemon_core *core, struct error *error)
{
    switch (core->spec->starter) {
    case STARTER_SSH:
    case STARTER_VIRTUAL:
    case STARTER_SRUN:
    case STARTER_PALS:
    case STARTER_FLUX:
        return 0;
    case STARTER_LOCAL:
        return error_set(error, -ENOTSUP,
                         "this instance has only the machine that it was started on; start it with "
                         "--host, --hostfile or --virtual-nodes to add nodes");
    default:
        return error_set(error, -ENOTSUP,
                         "the daemons of this instance are started with tokens (--starter join), "
                         "and there are none for new nodes; start an instance with them");
    }
}

static int check_others(const struct daemon_core *core, const struct hostlist *names,
                        struct error *error)
{
    struct list_link *node, *spare;
    char name[HOST_NAME_BYTES_MAX + 1];

    list_for_each(&core->root->additions, node, spare)
    {
        const struct addition *other = list_entry(node, struct addition, node);

        for (uint32_t i = 0; i < hostlist_count(names); i++) {
            hostlist_name(names, i, name);
            if (hostlist_find(other->nodes.names, name, 0) >= 0)
                return error_set(error, -EALREADY, "node %s is being added already", name);
        }
    }
    return 0;
}

int daemon_core_add_nodes(struct daemon_core *core, uint32_t client, uint32_t request,
                          struct allocation *nodes, struct error *error)
{
    struct addition *addition;
    int rc = check_starter(core, error);

    assert(daemon_core_is_root(core) && allocation_nodes(nodes) > 0);
    if (rc == 0 && !instance_nodes_can_change(core->instance))
        rc = error_set(error, -EAGAIN, "the instance is starting or ending");
    if (rc == 0)
        rc = instance_nodes_are_new(core->instance, nodes->names, error);
    if (rc == 0)
        rc = check_others(core, nodes->names, error);
    if (rc < 0)
        return rc;
    addition = memory_allocate_zeroed(sizeof(*addition));
    addition->client = client;
    addition->request = request;
    addition->nodes = *nodes;
    *nodes = (struct allocation){.names = NULL};
    list_append(&core->root->additions, &addition->node); /* goes on at the end of this step */
    return 0;
}

/* ---- what happens to the daemons ---- */

/* The one that starts the daemon of a place, or NULL. */
static struct addition *starting(const struct daemon_core *core, uint32_t place)
{
    struct addition *addition = first_addition(core);

    return addition != NULL && addition->phase == ADD_STARTING && place >= addition->places.first &&
                   place <= addition->places.last
               ? addition
               : NULL;
}

/* Of what starts or connects last something else must be heard soon: starters have their own time-out,
 * which says more, but not once a daemon has connected. */
static void expect_more(struct daemon_core *core)
{
    core->ops->timer(core->context, DAEMON_TIMER_ADD, 0,
                     core->ops->now_ns(core->context) +
                         (core->spec->start_timeout_s + 1) * (uint64_t)NS_PER_S);
}

void daemon_core_add_linked(struct daemon_core *core, uint32_t place)
{
    struct addition *addition = starting(core, place);

    if (addition == NULL)
        return;
    ranges_remove(&addition->waiting, place, place);
    expect_more(core);
}

void daemon_core_add_failed(struct daemon_core *core, uint32_t place, const char *why)
{
    struct addition *addition = starting(core, place);
    struct add_failure *failure;

    if (addition == NULL || ranges_contains(&addition->failed, place))
        return;
    ranges_remove(&addition->waiting, place, place);
    ranges_add(&addition->failed, place, place);
    addition->failures = memory_resize(addition->failures, (addition->failures_count + 1) *
                                                               sizeof(*addition->failures));
    failure = &addition->failures[addition->failures_count++];
    *failure = (struct add_failure){.place = place, .why = memory_copy_string(why)};
}

void daemon_core_add_lost(struct daemon_core *core, const struct ranges *places)
{
    uint32_t place = 0;

    for (; ranges_next(places, place, &place); place++) {
        struct addition *addition = starting(core, place);

        if (addition == NULL)
            continue;
        ranges_remove(&addition->waiting, place, place);
        ranges_add(&addition->failed, place, place);
    }
}

void daemon_core_add_due(struct daemon_core *core)
{
    struct addition *addition = first_addition(core);
    struct ranges absent = {0};
    uint32_t place = 0;
    char why[64];

    if (addition == NULL || addition->phase != ADD_STARTING)
        return;
    snprintf(why, sizeof(why), "it has not joined within %u s (--start-timeout)",
             core->spec->start_timeout_s);
    core->tree->missing(core->tree_context, &absent);
    ranges_clip(&absent, addition->places.first, addition->places.last);
    for (; ranges_next(&absent, place, &place); place++) {
        ranges_remove(&addition->unstarted, place, place);
        daemon_core_add_failed(core, place, why);
        core->tree->place_failed(core->tree_context, place);
    }
    ranges_fini(&absent);
}

/* ---- how it goes on ---- */

static bool begin(struct daemon_core *core, struct addition *addition)
{
    uint32_t count = allocation_nodes(&addition->nodes);
    uint32_t first = core->tree->grow(core->tree_context, count);

    if (first == TREE_NO_PLACE) {
        daemon_core_nodes_answer(core, addition->client, addition->request, NULL,
                                 "nodes cannot be added at the moment; try again");
        return false;
    }
    assert(first == allocation_nodes(instance_roster(core->instance)) + 1);
    addition->phase = ADD_STARTING;
    addition->places = (struct range){.first = first, .last = first + count - 1};
    ranges_add(&addition->unstarted, first, first + count - 1);
    core->ops->starter->grow(core->context, first, addition->nodes.names);
    return true;
}

/* srun and the like start all with one call. */
static uint64_t starts_max(const struct daemon_core *core, const struct addition *addition)
{
    return core->spec->starter == STARTER_SSH || core->spec->starter == STARTER_VIRTUAL
               ? ADD_STARTS_MAX
               : allocation_nodes(&addition->nodes);
}

static void start_some(struct daemon_core *core, struct addition *addition)
{
    uint32_t place;

    while (ranges_count(&addition->waiting) < starts_max(core, addition) &&
           ranges_next(&addition->unstarted, 0, &place)) {
        ranges_remove(&addition->unstarted, place, place);
        ranges_add(&addition->waiting, place, place);
        core->ops->starter->start_new(core->context, place);
        expect_more(core);
    }
}

/* All of them have joined, or are lost. */
static bool is_settled(const struct daemon_core *core, const struct addition *addition)
{
    return ranges_is_empty(&addition->unstarted) && core->tree->is_complete(core->tree_context) &&
           core->tree->has_room(core->tree_context);
}

static void places_of(const struct addition *addition, struct ranges *ret_places)
{
    ranges_clear(ret_places);
    ranges_add(ret_places, addition->places.first, addition->places.last);
}

/* 1 if it is answered. */
static bool settle(struct daemon_core *core, struct addition *addition)
{
    bool is_success = ranges_is_empty(&addition->failed) && !addition->is_given_up;
    struct job_event grow = {.kind = JOB_EVENT_GROW, .nodes = &addition->nodes, .flag = is_success};
    struct ranges places = {0};

    assert(addition->phase == ADD_STARTING && ranges_is_empty(&addition->unstarted));
    daemon_core_job(core, &grow);
    places_of(addition, &places);
    if (is_success) {
        stage_root_grown(core->root->stage, &places);
        daemon_core_nodes_answer(core, addition->client, addition->request, &places, NULL);
    } else {
        ranges_remove_all(&places, &addition->failed);
        if (!ranges_is_empty(&places))
            (void)core->tree->shrink(core->tree_context, &places); /* there is room */
        addition->phase = ADD_LEAVING;
    }
    ranges_fini(&places);
    return is_success;
}

static bool has_left(struct daemon_core *core, const struct addition *addition)
{
    struct ranges places = {0};
    bool has;

    places_of(addition, &places);
    has = instance_nodes_have_left(core->instance, &places);
    ranges_fini(&places);
    return has;
}

/* 1 if it is answered. */
static bool go_on(struct daemon_core *core, struct addition *addition)
{
    if (!instance_nodes_can_change(core->instance)) {
        daemon_core_nodes_answer(core, addition->client, addition->request, NULL,
                                 "the instance is ending");
        return true;
    }
    if (addition->phase == ADD_QUEUED && !begin(core, addition))
        return true;
    start_some(core, addition);
    if (addition->phase == ADD_STARTING && is_settled(core, addition) && settle(core, addition))
        return true;
    if (addition->phase != ADD_LEAVING || !has_left(core, addition))
        return false;
    if (!addition->is_given_up)
        answer_failed(core, addition);
    return true;
}

void daemon_core_add_go_on(struct daemon_core *core)
{
    struct addition *addition;

    while ((addition = first_addition(core)) != NULL) {
        addition_check(addition);
        if (!go_on(core, addition))
            return;
        addition_free(addition);
    }
}

/* Daemons that have not come up are no longer waited for. */
static void give_up(struct daemon_core *core, struct addition *addition)
{
    uint32_t place = 0;

    addition->is_given_up = true;
    if (addition->phase != ADD_STARTING)
        return;
    ranges_add_all(&addition->waiting, &addition->unstarted);
    ranges_clear(&addition->unstarted);
    ranges_add_all(&addition->failed, &addition->waiting);
    for (; ranges_next(&addition->waiting, place, &place); place++)
        core->tree->place_failed(core->tree_context, place);
    ranges_clear(&addition->waiting);
}

void daemon_core_add_gone(struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->additions, node, spare)
    {
        struct addition *addition = list_entry(node, struct addition, node);

        if (addition->client != client)
            continue;
        give_up(core, addition);
        if (addition->phase == ADD_QUEUED)
            addition_free(addition);
    }
}

void daemon_core_add_open(struct daemon_core *core)
{
    list_init(&core->root->additions);
}

void daemon_core_add_close(struct daemon_core *core)
{
    struct addition *addition;

    while ((addition = first_addition(core)) != NULL)
        addition_free(addition);
}
