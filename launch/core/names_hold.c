/* SPDX-License-Identifier: BSD-3-Clause */
/* Names held here: each request is for one key, and comes from the place of the process that asks. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/core/names_internal.h"

/* A request for a key of which this place is not the holder yet. */
struct name_parked {
    struct list_link node;
    uint32_t source;
    uint32_t id;
    struct buffer bytes;
};

/* The number of requests that are recognised if they come twice, long after they were answered. */
#define PAST_MAX 4096u

struct origin {
    uint64_t serial;
    uint64_t place;
};

static struct origin origin_of(const struct name_record *record)
{
    return (struct origin){.serial = record->serial, .place = record->place};
}

void names_hold_past(struct names *names, const struct name_record *record, uint32_t result)
{
    struct origin origin = origin_of(record);
    const void *oldest;
    size_t cursor = 0, bytes;

    assert(result < UINT32_MAX && names->past != NULL);
    if (hash_map_count(names->past) >= PAST_MAX &&
        hash_map_next_entry(names->past, &cursor, &oldest, &bytes) != NULL)
        (void)hash_map_remove(names->past, oldest, bytes);
    (void)hash_map_put(names->past, &origin, sizeof(origin), (void *)(uintptr_t)(result + 1));
}

/* True if this request was answered before, and what it made is removed. */
static bool is_past(const struct names *names, const struct name_record *record,
                    uint32_t *ret_result)
{
    struct origin origin = origin_of(record);
    uintptr_t past = (uintptr_t)hash_map_get(names->past, &origin, sizeof(origin));

    if (past > 0)
        *ret_result = (uint32_t)past - 1;
    return past > 0;
}

bool names_is_holder(const struct names *names, const struct wire_bytes *key)
{
    return name_ring_holder(&names->ring, key->data, key->length_bytes) == names->place;
}

static void remove_held(struct names *names, struct name_entry *entry)
{
    names_copy(names, NAME_FORGET, &entry->record);
    names_hold_past(names, &entry->record, 0);
    name_store_remove(names->held, entry);
}

/* Answers a lookup; the value may be for one reader only. */
static void answer_value(struct names *names, uint32_t source, uint32_t id,
                         struct name_entry *entry)
{
    struct buffer data = {0};

    name_value_encode(&entry->record, &data);
    names_answer(names, source, id, 0, &data);
    buffer_fini(&data);
    if (entry->record.persistence == PMI_NAMES_UNTIL_READ)
        remove_held(names, entry);
}

/* Answers those who have waited for the key, in the order in which they came. */
static void wake(struct names *names, const struct wire_bytes *key)
{
    struct name_entry *waiter = name_store_next(names->waiting, key, NULL), *next, *entry;

    for (; waiter != NULL; waiter = next) {
        next = name_store_next(names->waiting, key, waiter);
        entry = name_store_find(names->held, &waiter->record);
        if (entry == NULL)
            continue;
        answer_value(names, waiter->record.place, waiter->request, entry);
        name_store_remove(names->waiting, waiter);
    }
}

void names_hold_put(struct names *names, const struct name_record *record)
{
    uint32_t result;

    if (names_is_over(names, record) || is_past(names, record, &result))
        return;
    (void)name_store_put(names->held, record);
    if (record->persistence == PMI_NAMES_UNTIL_JOB_END)
        names_watch(names, record->job);
    wake(names, &record->key);
}

static void publish(struct names *names, uint32_t source, uint32_t id,
                    const struct name_record *record)
{
    struct name_entry *rival;
    uint32_t result;

    assert(record->verb == NAME_PUBLISH);
    if (names_is_over(names, record)) {
        names_answer(names, source, id, -ESRCH, NULL);
        return;
    }
    if (name_store_of_origin(names->held, record) != NULL || is_past(names, record, &result)) {
        names_copy_then(names, source, id, NULL); /* repeated */
        return;
    }
    rival = name_store_rival(names->held, record);
    if (rival != NULL && !(record->may_replace && name_store_is_owner(record, &rival->record))) {
        names_answer(names, source, id, -EEXIST, NULL);
        return;
    }
    if (rival != NULL)
        remove_held(names, rival);
    names_copy(names, NAME_PUBLISH, record);
    names_hold_put(names, record);
    names_copy_then(names, source, id, NULL);
}

static void look_up(struct names *names, uint32_t source, uint32_t id,
                    const struct name_record *record)
{
    struct name_entry *entry = name_store_find(names->held, record);

    if (entry != NULL)
        answer_value(names, source, id, entry);
    else if (record->verb == NAME_WAIT)
        name_store_put(names->waiting, record)->request = id;
    else
        names_answer(names, source, id, -ENOENT, NULL);
}

static uint32_t remove_owned(struct names *names, const struct name_record *record)
{
    struct name_entry *entry;
    uint32_t removed = 0;

    while ((entry = name_store_owned(names->held, record)) != NULL) {
        remove_held(names, entry);
        removed++;
    }
    return removed;
}

static void unpublish(struct names *names, uint32_t source, uint32_t id,
                      const struct name_record *record)
{
    struct buffer data = {0};
    uint32_t removed;

    if (!is_past(names, record, &removed)) {
        removed = remove_owned(names, record);
        names_hold_past(names, record, removed);
    }
    pmi_names_removed_encode(removed, &data);
    names_copy_then(names, source, id, &data);
    buffer_fini(&data);
}

static void forget(struct names *names, uint32_t source, uint32_t id,
                   const struct name_record *record)
{
    struct name_entry *entry = name_store_of_origin(names->waiting, record);

    if (entry != NULL)
        name_store_remove(names->waiting, entry);
    names_answer(names, source, id, 0, NULL);
}

static void park(struct names *names, uint32_t source, uint32_t id,
                 const struct name_record *record)
{
    struct name_parked *parked = memory_allocate_zeroed(sizeof(*parked));

    parked->source = source;
    parked->id = id;
    name_record_encode(record, &parked->bytes);
    list_append(&names->parked, &parked->node);
}

void names_hold_ask(struct names *names, uint32_t source, uint32_t id,
                    const struct name_record *record)
{
    static void (*const verbs[NAME_VERB_COUNT])(struct names *, uint32_t, uint32_t,
                                                const struct name_record *) = {
        [NAME_PUBLISH] = publish,     [NAME_LOOKUP] = look_up, [NAME_WAIT] = look_up,
        [NAME_UNPUBLISH] = unpublish, [NAME_FORGET] = forget,
    };

    assert(record->verb < NAME_VERB_COUNT && record->key.length_bytes > 0);
    if (names_is_holder(names, &record->key))
        verbs[record->verb](names, source, id, record);
    else
        park(names, source, id, record);
}

/* ---- Losses ---- */

bool names_is_over(const struct names *names, const struct name_record *record)
{
    return record->persistence == PMI_NAMES_UNTIL_EXIT &&
           ranges_contains(&names->ring.lost, record->place);
}

static bool held_is_over(void *context, struct name_entry *entry)
{
    return names_is_over(context, &entry->record);
}

static bool waiter_is_lost(void *context, struct name_entry *entry)
{
    const struct names *names = context;

    return ranges_contains(&names->ring.lost, entry->record.place);
}

static void parked_free(struct name_parked *parked)
{
    list_remove(&parked->node);
    buffer_fini(&parked->bytes);
    free(parked);
}

/* They are parked again if they must wait longer. */
static void ask_parked(struct names *names)
{
    struct list waiting;
    struct list_link *node;

    list_init(&waiting);
    while ((node = list_first(&names->parked)) != NULL) {
        list_remove(node);
        list_append(&waiting, node);
    }
    while ((node = list_first(&waiting)) != NULL) {
        struct name_parked *parked = list_entry(node, struct name_parked, node);
        struct name_record record = {.verb = NAME_FORGET};
        struct wire_reader reader;

        wire_reader_init(&reader, parked->bytes.data, parked->bytes.length_bytes);
        name_record_decode(&record, &reader);
        assert(wire_finish(&reader) == 0);
        if (!ranges_contains(&names->ring.lost, parked->source))
            names_hold_ask(names, parked->source, parked->id, &record);
        parked_free(parked);
    }
}

void names_hold_moved(struct names *names)
{
    name_store_walk(names->held, held_is_over, names);
    name_store_walk(names->waiting, waiter_is_lost, names);
    ask_parked(names);
}

void names_hold_open(struct names *names)
{
    list_init(&names->parked);
    names->past = hash_map_create();
}

void names_hold_close(struct names *names)
{
    struct list_link *node;

    hash_map_destroy(names->past);
    while ((node = list_first(&names->parked)) != NULL)
        parked_free(list_entry(node, struct name_parked, node));
}
