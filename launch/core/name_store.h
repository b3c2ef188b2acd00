/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names by their key: what has been published, or who waits for it.  Knows who has access to what, and when two
 * values of one key exclude each other; where they are held, and for how long, is names.h.
 *
 * Cost: O(1) a key and O(its values), of which there are few: one for each range.
 */
#ifndef LAUNCH_CORE_NAME_STORE_H
#define LAUNCH_CORE_NAME_STORE_H

#include <stdbool.h>

#include "base/list.h"
#include "launch/proto/name.h"

struct name_store;

struct name_entry {
    struct list_link node;     /* of its key */
    struct name_record record; /* its bytes are the entry's */
    uint32_t request;          /* of the overlay, of one that waits */
    void *bytes;
};

struct name_store *name_store_create(void);
void name_store_destroy(struct name_store *store);
size_t name_store_count(const struct name_store *store);

/* Copies the record; if there is one of that origin already, that. */
struct name_entry *name_store_put(struct name_store *store, const struct name_record *record);
void name_store_remove(struct name_store *store, struct name_entry *entry);
/* The entries of a key one by one, in the order in which they came: NULL for the first. */
struct name_entry *name_store_next(const struct name_store *store, const struct wire_bytes *key,
                                   const struct name_entry *previous);
/* All entries; those are removed for which visit returns true. */
typedef bool name_store_visit(void *context, struct name_entry *entry);
void name_store_walk(struct name_store *store, name_store_visit *visit, void *context);

struct name_entry *name_store_of_origin(const struct name_store *store,
                                        const struct name_record *record);
/* The one of the same key and range. */
struct name_entry *name_store_rival(const struct name_store *store,
                                    const struct name_record *record);
/* What the caller finds: of several the one with the narrowest range. */
struct name_entry *name_store_find(const struct name_store *store,
                                   const struct name_record *caller);
/* One that the caller has published in the range that it names. */
struct name_entry *name_store_owned(const struct name_store *store,
                                    const struct name_record *caller);

/* The caller may read the record, and looks for such. */
bool name_store_finds(const struct name_record *caller, const struct name_record *record);
bool name_store_is_owner(const struct name_record *caller, const struct name_record *record);

#endif
