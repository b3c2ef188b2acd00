/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/boot.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void boot_record_init(struct boot_record *record)
{
    *record = (struct boot_record){.incarnation = 1};
    instance_spec_init(&record->instance);
    record->names = hostlist_create();
}

void boot_record_set_nodes(struct boot_record *record, const struct allocation *allocation)
{
    assert(record->place == 0 && hostlist_count(record->names) == 0 && record->order == NULL);
    assert(allocation->order == NULL ||
           node_order_count(allocation->order) == allocation_nodes(allocation));
    record->order = node_order_copy(allocation->order);
    hostlist_destroy(record->names);
    record->names = allocation_tree_names(allocation);
}

uint32_t boot_record_first_named(struct range range)
{
    return range.first > 0 ? range.first : 1;
}

void boot_record_fini(struct boot_record *record)
{
    instance_spec_fini(&record->instance);
    hostlist_destroy(record->names);
    node_order_destroy(record->order);
    free(record->ancestors);
    *record = (struct boot_record){0};
}

uint32_t boot_record_listed_place(const struct boot_record *record)
{
    return node_order_listed_place(record->order, record->place);
}

/* The parent itself comes first, then its own ancestors. */
static void set_ancestors(struct boot_record *child, const struct boot_record *parent,
                          const struct addresses *parent_addresses)
{
    child->ancestors_count = parent->ancestors_count + 1;
    child->ancestors = memory_allocate_zeroed(child->ancestors_count * sizeof(*child->ancestors));
    child->ancestors[0].place = parent->place;
    child->ancestors[0].addresses = *parent_addresses;
    if (parent->ancestors_count > 0)
        memcpy(child->ancestors + 1, parent->ancestors,
               parent->ancestors_count * sizeof(*parent->ancestors));
}

void boot_record_child(const struct boot_record *parent, const struct addresses *parent_addresses,
                       struct range child_range, struct boot_record *ret_child)
{
    uint32_t skipped = child_range.first - boot_record_first_named(parent->range);

    assert(child_range.first >= boot_record_first_named(parent->range) &&
           child_range.last <= parent->range.last);
    *ret_child =
        (struct boot_record){.place = child_range.first, .incarnation = 1, .range = child_range};
    instance_spec_copy(&ret_child->instance, &parent->instance);
    hostlist_name(parent->names, skipped, ret_child->name);
    ret_child->names = hostlist_create();
    hostlist_append_slice(ret_child->names, parent->names, skipped,
                          child_range.last - child_range.first + 1);
    ret_child->order = node_order_slice(parent->order, child_range.first - 1,
                                        child_range.last - child_range.first + 1);
    set_ancestors(ret_child, parent, parent_addresses);
}

void boot_record_newcomer(const struct boot_record *root, const struct addresses *root_addresses,
                          uint32_t place, const char *name, struct boot_record *ret_child)
{
    assert(root->place == 0 && place >= root->instance.places);
    *ret_child = (struct boot_record){.place = place, .incarnation = 1, .range = {place, place}};
    instance_spec_copy(&ret_child->instance, &root->instance);
    snprintf(ret_child->name, sizeof ret_child->name, "%s", name);
    ret_child->names = hostlist_create();
    hostlist_append(ret_child->names, name);
    ret_child->order = node_order_slice(root->order, place - 1, 1);
    set_ancestors(ret_child, root, root_addresses);
}
