/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/host_choice.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "alloc/host_name.h"

#define QUOTED_BYTES 40
#define EXCLUDED_MAX (1024u * 1024)

void host_choice_init(struct host_choice *choice, const struct allocation_base *base)
{
    *choice = (struct host_choice){.base = base, .excluded = hostlist_create()};
}

void host_choice_fini(struct host_choice *choice)
{
    hostlist_destroy(choice->excluded);
}

static int quoted_bytes(size_t bytes)
{
    return (int)(bytes < QUOTED_BYTES ? bytes : QUOTED_BYTES);
}

/* ---- The nodes there are ---- */

static int base_get(const struct host_choice *choice, const struct allocation **ret_nodes,
                    struct error *error)
{
    if (choice->base == NULL)
        return error_set(error, -EINVAL, "there are no nodes to select from");
    return choice->base->nodes(choice->base->context, ret_nodes, error);
}

static int base_add(struct allocation_builder *builder, const struct allocation *nodes,
                    uint32_t index, uint32_t slots, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    struct host_run run = {.suffix = "", .prefix = name, .count = 1};

    assert(index < allocation_nodes(nodes));
    hostlist_name(nodes->names, index, name);
    run.prefix_bytes = (uint8_t)strlen(name);
    return allocation_builder_add(builder, &run, slots, error);
}

/* ---- Relative entries ---- */

/* Digits up to a ':' or the end. */
static int number_parse(const char *text, size_t text_bytes, const char *what, uint32_t *ret_number,
                        struct error *error)
{
    uint64_t number = 0;

    for (size_t i = 0; i < text_bytes; i++) {
        if (text[i] < '0' || text[i] > '9')
            return error_set(error, -EINVAL, "%s is a number, not \"%.*s\"", what,
                             quoted_bytes(text_bytes), text);
        if (number <= UINT32_MAX)
            number = 10 * number + (uint64_t)(text[i] - '0');
    }
    if (text_bytes == 0 || number > UINT32_MAX)
        return error_set(error, -EINVAL, "%s is %s", what,
                         text_bytes == 0 ? "missing" : "too large");
    *ret_number = (uint32_t)number;
    return 0;
}

static int add_numbered(struct allocation_builder *builder, const struct allocation *nodes,
                        const char *text, size_t text_bytes, struct error *error)
{
    const char *colon = memchr(text, ':', text_bytes);
    size_t index_bytes = colon != NULL ? (size_t)(colon - text) : text_bytes;
    uint32_t index, slots;
    int rc = number_parse(text, index_bytes, "the number after +n", &index, error);

    if (rc < 0)
        return rc;
    if (index >= allocation_nodes(nodes))
        return error_set(error, -EINVAL, "no node +n%u: there are %u nodes, +n0 to +n%u", index,
                         allocation_nodes(nodes), allocation_nodes(nodes) - 1);
    slots = allocation_slots_of(nodes, index);
    if (colon != NULL)
        rc = number_parse(colon + 1, text_bytes - index_bytes - 1, "the slots", &slots, error);
    if (rc == 0 && slots > ALLOCATION_SLOTS_MAX)
        rc = error_set(error, -EINVAL, "slots must be a number from 0 to %u", ALLOCATION_SLOTS_MAX);
    return rc < 0 ? rc : base_add(builder, nodes, index, slots, error);
}

static bool is_empty(const struct host_choice *choice, const struct allocation_builder *builder,
                     const struct allocation *nodes, uint32_t index)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    if (choice->base->busy != NULL && ranges_contains(choice->base->busy, index))
        return false;
    hostlist_name(nodes->names, index, name);
    return name_index_find(builder->index, name, strlen(name)) < 0;
}

static int add_empty(const struct host_choice *choice, struct allocation_builder *builder,
                     const struct allocation *nodes, const char *text, size_t text_bytes,
                     struct error *error)
{
    uint32_t wanted = UINT32_MAX;
    uint32_t found = 0;
    int rc = 0;

    if (text_bytes > 0 && text[0] != ':')
        return error_set(error, -EINVAL, "expected +e or +e:N");
    if (text_bytes > 0)
        rc =
            number_parse(text + 1, text_bytes - 1, "the number of nodes after +e:", &wanted, error);
    for (uint32_t i = 0; rc == 0 && i < allocation_nodes(nodes) && found < wanted; i++) {
        if (!is_empty(choice, builder, nodes, i))
            continue;
        found++;
        rc = base_add(builder, nodes, i, allocation_slots_of(nodes, i), error);
    }
    if (rc == 0 && (found == 0 || (text_bytes > 0 && found < wanted)))
        rc = error_set(error, -EINVAL, "only %u nodes are empty, too few for %.*s", found,
                       quoted_bytes(text_bytes + 2), text - 2);
    return rc;
}

int host_choice_relative(struct host_choice *choice, struct allocation_builder *builder,
                         const char *text, size_t text_bytes, struct error *error)
{
    const struct allocation *nodes;
    int rc;

    if (text_bytes < 2 || (text[1] != 'n' && text[1] != 'e'))
        return error_set(error, -EINVAL, "expected +nK or +e");
    rc = base_get(choice, &nodes, error);
    if (rc < 0)
        return rc;
    choice->has_names = 1;
    if (text[1] == 'n')
        return add_numbered(builder, nodes, text + 2, text_bytes - 2, error);
    return add_empty(choice, builder, nodes, text + 2, text_bytes - 2, error);
}

/* ---- Users ---- */

int host_choice_user(struct host_choice *choice, const char *user, size_t user_bytes,
                     struct error *error)
{
    if (user_bytes == 0 || user_bytes >= sizeof(choice->user))
        return error_set(error, -EINVAL, "a user name must have 1 to %zu bytes",
                         sizeof(choice->user) - 1);
    for (size_t i = 0; i < user_bytes; i++) {
        if (!host_name_has_byte(user[i]) || user[0] == '-')
            return error_set(error, -EINVAL, "'%c' is not allowed here in a user name", user[i]);
    }
    if (choice->user[0] != '\0' &&
        (strlen(choice->user) != user_bytes || memcmp(choice->user, user, user_bytes) != 0))
        return error_set(error, -EINVAL,
                         "two users, %s and %.*s: give one for all nodes, or set them in ssh's "
                         "configuration",
                         choice->user, quoted_bytes(user_bytes), user);
    snprintf(choice->user, sizeof(choice->user), "%.*s", (int)user_bytes, user);
    return 0;
}

/* ---- The end of a parse ---- */

int host_choice_complete(struct host_choice *choice, struct allocation_builder *builder,
                         struct error *error)
{
    const struct allocation *nodes;
    int rc;

    if (choice->has_names || hostlist_count(choice->excluded) == 0)
        return 0;
    rc = base_get(choice, &nodes, error);
    for (uint32_t i = 0; rc == 0 && i < allocation_nodes(nodes); i++)
        rc = base_add(builder, nodes, i, allocation_slots_of(nodes, i), error);
    return rc;
}

static struct name_index *index_of(const struct hostlist *names)
{
    struct name_index *index = name_index_create();
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < hostlist_count(names); i++) {
        struct host_run run = {.suffix = "", .prefix = name, .count = 1};

        hostlist_name(names, i, name);
        run.prefix_bytes = (uint8_t)strlen(name);
        if (name_index_find(index, name, run.prefix_bytes) < 0)
            name_index_add(index, &run, i);
    }
    return index;
}

/* A walk over the nodes of an allocation, with the slots they have. */
struct walk {
    const struct slots_run *slots;
    uint32_t used; /* nodes of *slots already consumed */
};

/* The next nodes, all of one run of names, are kept or not. */
static void walk_run(struct walk *walk, struct host_run run, bool keep, struct allocation *kept)
{
    uint32_t left = run.count;

    while (left > 0) {
        uint32_t room = walk->slots->nodes - walk->used;

        assert(room > 0);
        run.count = left < room ? left : room;
        if (keep)
            allocation_append_run(kept, &run, walk->slots->slots);
        run.first += run.count;
        left -= run.count;
        walk->used += run.count;
        if (walk->used == walk->slots->nodes) {
            walk->used = 0;
            walk->slots++;
        }
    }
}

/* A run none of whose names is excluded costs as much as a name. */
static void keep_others(const struct allocation *allocation, const struct name_index *excluded,
                        struct allocation *kept)
{
    struct walk walk = {.slots = allocation->runs};
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < hostlist_runs(allocation->names); i++) {
        struct host_run run = hostlist_run(allocation->names, i);
        struct host_run single = run;

        if (!name_index_may_hold(excluded, &run)) {
            walk_run(&walk, run, true, kept);
            continue;
        }
        single.count = 1;
        for (uint32_t k = 0; k < run.count; k++, single.first++) {
            size_t bytes = hostlist_run_name(&run, k, name);

            walk_run(&walk, single, name_index_find(excluded, name, bytes) < 0, kept);
        }
    }
    assert(walk.used == 0 && walk.slots == allocation->runs + allocation->runs_count);
}

/* All of them are there. */
static int check_excluded(const struct hostlist *excluded, const struct allocation *allocation,
                          struct error *error)
{
    struct name_index *index = name_index_create();
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t first = 0;
    int rc = 0;

    if (hostlist_count(excluded) > EXCLUDED_MAX)
        rc = error_set(error, -E2BIG, "more than %u names are excluded", EXCLUDED_MAX);
    for (uint32_t i = 0; rc == 0 && i < hostlist_runs(allocation->names); i++) {
        struct host_run run = hostlist_run(allocation->names, i);

        name_index_add(index, &run, first);
        first += run.count;
    }
    for (uint32_t i = 0; rc == 0 && i < hostlist_count(excluded); i++) {
        hostlist_name(excluded, i, name);
        if (name_index_find(index, name, strlen(name)) < 0)
            rc = error_set(error, -EINVAL, "^%s: no node has that name", name);
    }
    name_index_destroy(index);
    return rc;
}

int host_choice_exclude(const struct host_choice *choice, struct allocation *allocation,
                        struct error *error)
{
    struct name_index *excluded;
    struct allocation kept;
    int rc;

    if (hostlist_count(choice->excluded) == 0)
        return 0;
    rc = check_excluded(choice->excluded, allocation, error);
    if (rc < 0)
        return rc;
    excluded = index_of(choice->excluded);
    allocation_init(&kept);
    keep_others(allocation, excluded, &kept);
    name_index_destroy(excluded);
    if (allocation_slots(&kept) == 0) {
        allocation_fini(&kept);
        return error_set(error, -EINVAL, "all nodes are excluded");
    }
    kept.trace = allocation->trace;
    memcpy(kept.origin, allocation->origin, sizeof(kept.origin));
    memcpy(kept.user, allocation->user, sizeof(kept.user));
    allocation_fini(allocation);
    *allocation = kept;
    return 0;
}
