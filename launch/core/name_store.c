/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/core/name_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"

struct chain {
    struct list entries; /* struct name_entry */
};

struct name_store {
    struct hash_map *chains; /* key -> struct chain; none is empty */
    size_t count;
};

/* ---- Who may see what ---- */

static bool is_equal(const struct wire_bytes *a, const struct wire_bytes *b)
{
    return a->length_bytes == b->length_bytes &&
           (a->length_bytes == 0 || memcmp(a->data, b->data, a->length_bytes) == 0);
}

bool name_store_is_owner(const struct name_record *caller, const struct name_record *record)
{
    return caller->job == record->job && caller->rank == record->rank;
}

/* The other is in the range that the record names, as seen from its own process. */
static bool reaches(const struct name_record *record, const struct name_record *other)
{
    switch (record->range) {
    case PMI_NAMES_PROCESS:
        return name_store_is_owner(record, other);
    case PMI_NAMES_NODE:
        return record->place == other->place;
    case PMI_NAMES_NAMESPACE:
        return record->job == other->job;
    case PMI_NAMES_LIST:
        return pmi_names_has_member(&record->members, &other->namespace, other->rank);
    case PMI_NAMES_MANAGER:
        return false;
    default:
        return true;
    }
}

bool name_store_finds(const struct name_record *caller, const struct name_record *record)
{
    return reaches(record, caller) && reaches(caller, record);
}

/* Both would be in one place where their key must be unique. */
static bool are_rivals(const struct name_record *a, const struct name_record *b)
{
    if (a->range != b->range)
        return false;
    if (a->range == PMI_NAMES_LIST)
        return is_equal(&a->members, &b->members);
    return a->range == PMI_NAMES_MANAGER || reaches(a, b);
}

/* ---- Entries ---- */

struct name_store *name_store_create(void)
{
    struct name_store *store = memory_allocate_zeroed(sizeof(*store));

    store->chains = hash_map_create();
    return store;
}

static void entry_free(struct name_entry *entry)
{
    list_remove(&entry->node);
    free(entry->bytes);
    free(entry);
}

void name_store_destroy(struct name_store *store)
{
    struct list_link *node;
    struct chain *chain;
    size_t cursor = 0;

    if (store == NULL)
        return;
    while ((chain = hash_map_next(store->chains, &cursor)) != NULL) {
        while ((node = list_first(&chain->entries)) != NULL)
            entry_free(list_entry(node, struct name_entry, node));
        free(chain);
    }
    hash_map_destroy(store->chains);
    free(store);
}

size_t name_store_count(const struct name_store *store)
{
    return store->count;
}

static struct chain *chain_of(const struct name_store *store, const struct wire_bytes *key)
{
    return hash_map_get(store->chains, key->data, key->length_bytes);
}

struct name_entry *name_store_put(struct name_store *store, const struct name_record *record)
{
    struct chain *chain = chain_of(store, &record->key);
    struct name_entry *entry = name_store_of_origin(store, record);
    struct wire_reader reader;
    struct buffer bytes = {0};
    size_t length_bytes;

    if (entry != NULL)
        return entry;
    if (chain == NULL) {
        chain = memory_allocate_zeroed(sizeof(*chain));
        list_init(&chain->entries);
        hash_map_put(store->chains, record->key.data, record->key.length_bytes, chain);
    }
    entry = memory_allocate_zeroed(sizeof(*entry));
    name_record_encode(record, &bytes);
    entry->bytes = buffer_take(&bytes, &length_bytes);
    wire_reader_init(&reader, entry->bytes, length_bytes);
    name_record_decode(&entry->record, &reader);
    assert(wire_finish(&reader) == 0);
    list_append(&chain->entries, &entry->node);
    store->count++;
    return entry;
}

void name_store_remove(struct name_store *store, struct name_entry *entry)
{
    const struct wire_bytes *key = &entry->record.key;
    struct chain *chain = chain_of(store, key);

    assert(chain != NULL && store->count > 0);
    if (entry->node.next == entry->node.previous) {
        hash_map_remove(store->chains, key->data, key->length_bytes);
        entry_free(entry);
        free(chain);
    } else {
        entry_free(entry);
    }
    store->count--;
}

struct name_entry *name_store_next(const struct name_store *store, const struct wire_bytes *key,
                                   const struct name_entry *previous)
{
    struct chain *chain = chain_of(store, key);
    struct list_link *node;

    if (chain == NULL)
        return NULL;
    node = previous == NULL ? chain->entries.head.next : previous->node.next;
    return node == &chain->entries.head ? NULL : list_entry(node, struct name_entry, node);
}

/* An entry that is the last of its chain takes that with it. */
void name_store_walk(struct name_store *store, name_store_visit *visit, void *context)
{
    struct chain *chain;
    size_t cursor = 0;

    while ((chain = hash_map_next(store->chains, &cursor)) != NULL) {
        struct list_link *node = chain->entries.head.next, *next;
        bool is_last = false;

        for (; !is_last; node = next) {
            struct name_entry *entry = list_entry(node, struct name_entry, node);

            next = node->next;
            is_last = next == &chain->entries.head;
            if (visit(context, entry))
                name_store_remove(store, entry);
        }
    }
}

/* ---- Searches ---- */

struct name_entry *name_store_of_origin(const struct name_store *store,
                                        const struct name_record *record)
{
    struct name_entry *entry = NULL;

    while ((entry = name_store_next(store, &record->key, entry)) != NULL &&
           (entry->record.place != record->place || entry->record.serial != record->serial))
        continue;
    return entry;
}

struct name_entry *name_store_rival(const struct name_store *store,
                                    const struct name_record *record)
{
    struct name_entry *entry = NULL;

    while ((entry = name_store_next(store, &record->key, entry)) != NULL &&
           !are_rivals(&entry->record, record))
        continue;
    return entry;
}

struct name_entry *name_store_find(const struct name_store *store, const struct name_record *caller)
{
    struct name_entry *entry = NULL, *found = NULL;

    while ((entry = name_store_next(store, &caller->key, entry)) != NULL) {
        if (name_store_finds(caller, &entry->record) &&
            (found == NULL || entry->record.range < found->record.range))
            found = entry;
    }
    return found;
}

struct name_entry *name_store_owned(const struct name_store *store,
                                    const struct name_record *caller)
{
    struct name_entry *entry = NULL;

    while ((entry = name_store_next(store, &caller->key, entry)) != NULL &&
           (!name_store_is_owner(caller, &entry->record) ||
            (caller->range != PMI_NAMES_ANY && caller->range != entry->record.range)))
        continue;
    return entry;
}
