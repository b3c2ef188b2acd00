/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/one_shot.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc/source.h"
#include "base/buffer.h"
#include "launch/start/source_environment.h"
#include "overlay/tree.h"

/* ---- What schedulers call this node ---- */

static const char *slurm_name(char name[HOST_NAME_BYTES_MAX + 1], struct error *error)
{
    static const char variable[] = "SLURMD_NODENAME";
    const char *value = getenv(variable);

    if (value == NULL || value[0] == '\0') {
        error_set(error, -EINVAL, "%s is not set: this daemon was not started by srun", variable);
        return NULL;
    }
    snprintf(name, HOST_NAME_BYTES_MAX + 1, "%s", value);
    return name;
}

/* Flux calls a node as it calls itself. */
static const char *own_name(char name[HOST_NAME_BYTES_MAX + 1], struct error *error)
{
    if (gethostname(name, HOST_NAME_BYTES_MAX) < 0) {
        error_set(error, -errno, "cannot get the name of this node: %s", strerror(errno));
        return NULL;
    }
    name[HOST_NAME_BYTES_MAX] = '\0';
    return name;
}

/* The PALS_NODEID-th name in the file that describes the application. */
static const char *pals_name(char name[HOST_NAME_BYTES_MAX + 1], struct error *error)
{
    const char *number = getenv("PALS_NODEID");
    struct source_environment *ops;
    struct source_result application;
    unsigned long index;
    int rc;

    if (number == NULL || number[0] == '\0' || getenv("PALS_APINFO") == NULL) {
        error_set(error, -EINVAL,
                  "PALS_NODEID and PALS_APINFO are not set: this daemon was not started by aprun");
        return NULL;
    }
    ops = source_environment_create(environ);
    rc = source_read(source_find("pals", NULL), source_environment_ops(ops), &application, error);
    source_environment_destroy(ops);
    if (rc < 0)
        return NULL;
    index = strtoul(number, NULL, 10);
    if (index < allocation_nodes(&application.allocation))
        hostlist_name(application.allocation.names, (uint32_t)index, name);
    else
        error_set(error, -EINVAL, "PALS_NODEID is %lu, but PALS_APINFO has %u nodes", index,
                  allocation_nodes(&application.allocation));
    if (index >= allocation_nodes(&application.allocation))
        name = NULL;
    source_result_fini(&application);
    return name;
}

static const struct one_shot one_shots[] = {
    {.starter = "srun", .node_name = slurm_name},
    {.starter = "pals", .node_name = pals_name},
    {.starter = "flux", .node_name = own_name, .is_everywhere = 1},
};

const struct one_shot *one_shot_find(const char *starter, struct error *error)
{
    for (size_t i = 0; i < sizeof(one_shots) / sizeof(one_shots[0]); i++) {
        if (strcmp(one_shots[i].starter, starter) == 0)
            return &one_shots[i];
    }
    error_set(error, -EINVAL, "'%.40s' is not a starter that starts all daemons at once", starter);
    return NULL;
}

void one_shot_record(const struct boot_record *root, const struct addresses *root_addresses,
                     struct boot_record *ret_record)
{
    one_shot_record_added(root, root_addresses, root->range, root->names, ret_record);
    ret_record->order = node_order_copy(root->order); /* added nodes have none */
}

void one_shot_record_added(const struct boot_record *root, const struct addresses *root_addresses,
                           struct range range, const struct hostlist *names,
                           struct boot_record *ret_record)
{
    assert(hostlist_count(names) == range.last + 1 - boot_record_first_named(range));
    *ret_record = (struct boot_record){.incarnation = 1, .range = range};
    instance_spec_copy(&ret_record->instance, &root->instance);
    ret_record->names = hostlist_create();
    hostlist_append_slice(ret_record->names, names, 0, hostlist_count(names));
    ret_record->ancestors_count = 1;
    ret_record->ancestors = memory_allocate_zeroed(sizeof(*ret_record->ancestors));
    ret_record->ancestors[0].addresses = *root_addresses;
}

/* The only name that is the same up to the first dot, or -1: some call nodes by their whole name and
 * some do not. */
static int64_t find_first_label(const struct hostlist *names, const char *node_name)
{
    size_t bytes = strcspn(node_name, ".");
    char name[HOST_NAME_BYTES_MAX + 1];
    int64_t found = -1;

    for (uint32_t i = 0; i < hostlist_count(names); i++) {
        hostlist_name(names, i, name);
        if (strcspn(name, ".") != bytes || strncmp(name, node_name, bytes) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

int one_shot_take_place(struct boot_record *record, const char *node_name, struct error *error)
{
    struct tree tree = {.places = record->instance.places, .radix = record->instance.radix};
    int64_t found = hostlist_find(record->names, node_name, 0);
    struct node_order *order;
    struct hostlist *names;
    uint32_t first;

    if (found < 0)
        found = find_first_label(record->names, node_name);
    if (found < 0 || record->place != 0)
        return error_set(
            error, -ENOENT,
            "the scheduler calls this node %.80s, which is not a name in the allocation: use the scheduler's node names",
            node_name);
    first = boot_record_first_named(record->range);
    record->place = first + (uint32_t)found;
    hostlist_name(record->names, (uint32_t)found, record->name);
    /* Who is added later starts nobody. */
    record->range =
        first > 1 ? (struct range){record->place, record->place} : tree_scope(&tree, record->place);
    names = hostlist_create();
    hostlist_append_slice(names, record->names, record->range.first - first,
                          record->range.last - record->range.first + 1);
    hostlist_destroy(record->names);
    record->names = names;
    order = node_order_slice(record->order, record->range.first - 1,
                             record->range.last - record->range.first + 1);
    node_order_destroy(record->order);
    record->order = order;
    return 0;
}

struct hostlist *one_shot_take_nodes(const struct hostlist *names, uint32_t first,
                                     const struct hostlist *wanted, struct ranges *given,
                                     struct ranges *ret_places)
{
    struct hostlist *taken = hostlist_create();
    char name[HOST_NAME_BYTES_MAX + 1];

    if (hostlist_count(wanted) == hostlist_count(names)) {
        ranges_add(given, first, first + hostlist_count(names) - 1);
        ranges_copy(ret_places, given);
        hostlist_append_slice(taken, names, 0, hostlist_count(names));
        return taken;
    }
    for (uint32_t i = 0; i < hostlist_count(wanted); i++) {
        int64_t found;
        uint32_t place;

        hostlist_name(wanted, i, name);
        found = hostlist_find(names, name, 0);
        place = first + (uint32_t)found;
        if (found < 0 || ranges_contains(given, place))
            continue;
        ranges_add(given, place, place);
        ranges_add(ret_places, place, place);
        hostlist_append(taken, name);
    }
    return taken;
}

int one_shot_is_line(const char *line)
{
    size_t digits = strspn(line + strspn(line, " "), "0123456789");

    return (digits > 0 && strstr(line, ": ") != NULL) || strstr(line, "error") != NULL;
}

uint32_t one_shot_place_of(const struct hostlist *names, uint32_t first, const char *message,
                           const char **ret_text)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    const char *text = strchr(message, ' ');
    int64_t found = -1;

    assert(names != NULL && first > 0);
    if (message[0] == ONE_SHOT_NAME_MARK && text != NULL) {
        snprintf(name, sizeof(name), "%.*s", (int)(text - message - 1), message + 1);
        found = hostlist_find(names, name, 0);
    }
    if (found < 0)
        return 0;
    *ret_text = text + 1;
    return first + (uint32_t)found;
}
