/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of what is held here, for the next living place of the ring.  Changes are sent in batches, one at a time, so
 * that they arrive in order, and many that come at once cost few messages.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/core/names_internal.h"

#define BATCH_BYTES (1u << 20)

/* Numbered in their order; the first may be under way. */
struct name_batch {
    struct list_link node;
    uint64_t number;
    struct buffer records;
};

struct name_delayed {
    struct list_link node;
    uint64_t batch; /* answered once this one has been stored */
    uint32_t source;
    uint32_t id;
    struct buffer data;
};

static void batch_free(struct name_batch *batch)
{
    list_remove(&batch->node);
    buffer_fini(&batch->records);
    free(batch);
}

static void delayed_free(struct name_delayed *delayed)
{
    list_remove(&delayed->node);
    buffer_fini(&delayed->data);
    free(delayed);
}

/* The batch that takes the next record: not the one under way, and not a full one. */
static struct name_batch *open_batch(struct names *names)
{
    struct name_batch *last = NULL;

    if (!list_is_empty(&names->batches))
        last = list_entry(names->batches.head.previous, struct name_batch, node);
    if (last != NULL && last->records.length_bytes < BATCH_BYTES &&
        (names->copying == 0 || list_first(&names->batches) != &last->node))
        return last;
    last = memory_allocate_zeroed(sizeof(*last));
    last->number = ++names->batch;
    assert(last->number > names->copied);
    list_append(&names->batches, &last->node);
    return last;
}

static void add(struct names *names, enum name_verb verb, const struct name_record *record)
{
    struct name_record change = *record;

    change.verb = verb;
    if (verb == NAME_FORGET)
        change.members = change.value = (struct wire_bytes){NULL, 0};
    name_record_encode(&change, &open_batch(names)->records);
}

static void send_next(struct names *names)
{
    struct list_link *first = list_first(&names->batches);
    struct buffer payload = {0};
    const struct name_batch *batch;

    if (first == NULL || names->copying != 0)
        return;
    assert(names->copier != NAME_RING_NOBODY);
    batch = list_entry(first, struct name_batch, node);
    name_copy_encode(batch->number, batch->records.data, batch->records.length_bytes, &payload);
    names->copying =
        names->ops.request(names->ops.context, names->copier, message_from_buffer(&payload));
    buffer_fini(&payload);
}

void names_copy(struct names *names, enum name_verb verb, const struct name_record *record)
{
    if (names->copier == NAME_RING_NOBODY)
        return;
    add(names, verb, record);
    send_next(names);
}

void names_copy_then(struct names *names, uint32_t source, uint32_t id, const struct buffer *data)
{
    struct name_delayed *delayed;

    assert(names->copied <= names->batch);
    if (names->copied == names->batch) {
        names_answer(names, source, id, 0, data);
        return;
    }
    delayed = memory_allocate_zeroed(sizeof(*delayed));
    delayed->batch = names->batch;
    delayed->source = source;
    delayed->id = id;
    if (data != NULL)
        buffer_append(&delayed->data, data->data, data->length_bytes);
    list_append(&names->delayed, &delayed->node);
}

static void answer_delayed(struct names *names)
{
    struct list_link *node, *spare;

    list_for_each(&names->delayed, node, spare)
    {
        struct name_delayed *delayed = list_entry(node, struct name_delayed, node);

        if (delayed->batch > names->copied)
            continue;
        names_answer(names, delayed->source, delayed->id, 0, &delayed->data);
        delayed_free(delayed);
    }
}

bool names_copy_reply(struct names *names, uint32_t id, int status)
{
    if (id == 0 || id != names->copying)
        return false;
    if (status == -EHOSTDOWN) {
        names_lose(names, names->copier); /* which sends everything to another */
        return true;
    }
    names->copying = 0;
    if (!list_is_empty(&names->batches)) {
        struct name_batch *first = list_entry(list_first(&names->batches), struct name_batch, node);

        assert(first->number > names->copied && first->number <= names->batch);
        names->copied = first->number;
        batch_free(first);
    }
    answer_delayed(names);
    send_next(names);
    return true;
}

static bool copy_again(void *context, struct name_entry *entry)
{
    struct names *names = context;

    if (names_is_holder(names, &entry->record.key))
        add(names, NAME_PUBLISH, &entry->record);
    return false;
}

/* A new holder of the copies has none of them.  What is under way to one that stays must arrive: it may say that
 * names are removed. */
static void change_copier(struct names *names, uint32_t copier)
{
    struct list_link *node;

    names->copier = copier;
    names->copying = 0; /* its reply is ignored */
    while ((node = list_first(&names->batches)) != NULL)
        batch_free(list_entry(node, struct name_batch, node));
    names->copied = names->batch;
}

void names_copy_moved(struct names *names)
{
    uint32_t copier = name_ring_next(&names->ring, names->place);
    struct list_link *node, *spare;

    assert(copier != names->place);
    if (copier != names->copier)
        change_copier(names, copier);
    if (copier != NAME_RING_NOBODY)
        name_store_walk(names->held, copy_again, names);
    list_for_each(&names->delayed, node, spare) list_entry(node, struct name_delayed, node)->batch =
        names->batch;
    answer_delayed(names);
    send_next(names);
}

/* ---- What others copy to here ---- */

/* A copy may come from a place that is lost, whose names are held here by now. */
static void take_record(struct names *names, const struct name_record *record)
{
    struct name_entry *entry = name_store_of_origin(names->held, record);

    if (record->verb == NAME_FORGET)
        names_hold_past(names, record, 0);
    if (record->verb == NAME_FORGET && entry != NULL)
        name_store_remove(names->held, entry);
    if (record->verb == NAME_PUBLISH && entry == NULL)
        names_hold_put(names, record);
    if (names_is_holder(names, &record->key))
        names_copy(names, record->verb, record);
}

int names_copy_take(struct names *names, uint32_t source, struct wire_reader *reader)
{
    uint64_t number = name_copy_decode(reader);
    struct name_record record;

    if (wire_status(reader) < 0)
        return -EBADMSG;
    if (number <= (uint64_t)(uintptr_t)hash_map_get_u64(names->seen, source))
        return 0;
    while (wire_left(reader) > 0) {
        name_record_decode(&record, reader);
        if (wire_status(reader) < 0)
            return -EBADMSG;
        take_record(names, &record);
    }
    (void)hash_map_put_u64(names->seen, source, (void *)(uintptr_t)number);
    return 0;
}

/* ---- Life ---- */

void names_copy_open(struct names *names)
{
    list_init(&names->batches);
    list_init(&names->delayed);
    names->seen = hash_map_create();
    names->copier = name_ring_next(&names->ring, names->place);
}

void names_copy_close(struct names *names)
{
    struct list_link *node;

    while ((node = list_first(&names->batches)) != NULL)
        batch_free(list_entry(node, struct name_batch, node));
    while ((node = list_first(&names->delayed)) != NULL)
        delayed_free(list_entry(node, struct name_delayed, node));
    hash_map_destroy(names->seen);
}
