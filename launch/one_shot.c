/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/one_shot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "overlay/tree.h"

static const struct one_shot one_shots[] = {
    {.starter = "srun", .node_variable = "SLURMD_NODENAME"},
};

const struct one_shot *one_shot_find(const char *starter, struct error *error)
{
    for (size_t i = 0; i < sizeof(one_shots) / sizeof(one_shots[0]); i++) {
        if (strcmp(one_shots[i].starter, starter) == 0)
            return &one_shots[i];
    }
    error_set(error, -EINVAL, "no starter of all daemons at once is called '%.40s'", starter);
    return NULL;
}

void one_shot_record(const struct boot_record *root, const struct addresses *root_addresses,
                     struct boot_record *ret_record)
{
    *ret_record = (struct boot_record){.incarnation = 1, .range = root->range};
    instance_spec_copy(&ret_record->instance, &root->instance);
    ret_record->names = hostlist_create();
    hostlist_append_slice(ret_record->names, root->names, 0, hostlist_count(root->names));
    ret_record->ancestors_count = 1;
    ret_record->ancestors = memory_allocate_zeroed(sizeof(*ret_record->ancestors));
    ret_record->ancestors[0].addresses = *root_addresses;
}

int one_shot_take_place(struct boot_record *record, const char *node_name, struct error *error)
{
    struct tree tree = {.places = record->instance.places, .radix = record->instance.radix};
    int64_t found = hostlist_find(record->names, node_name, 0);
    struct hostlist *names;

    if (found < 0 || record->place != 0 || record->range.first != 0)
        return error_set(error, -ENOENT,
                         "the scheduler calls this node %.80s, which is none of the allocation's "
                         "names: name nodes as the scheduler does",
                         node_name);
    record->place = (uint32_t)found + 1;
    snprintf(record->name, sizeof(record->name), "%s", node_name);
    record->range = tree_scope(&tree, record->place);
    names = hostlist_create();
    hostlist_append_slice(names, record->names, record->range.first - 1,
                          record->range.last - record->range.first + 1);
    hostlist_destroy(record->names);
    record->names = names;
    return 0;
}
