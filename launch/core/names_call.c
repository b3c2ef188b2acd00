/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of local processes: each is split into items, one for a key, which are asked of their holders. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "launch/core/names_internal.h"

struct name_call;

enum item_state { ITEM_OPEN, ITEM_DONE, ITEM_FAILED };

struct name_item {
    struct name_call *call;
    enum item_state state;
    uint32_t index;   /* of its key in the request */
    uint32_t place;   /* the holder that is asked */
    uint32_t request; /* of the overlay; 0: none is open */
    struct buffer bytes;
    struct name_record record; /* its bytes are these */
};

struct name_call {
    struct list_link node;
    uint32_t source;
    uint32_t id; /* 0: nobody waits for the answer */
    enum name_verb verb;
    uint32_t job;
    uint32_t rank;
    bool has_ended;       /* the caller */
    uint32_t wanted;      /* keys to be found, of a lookup that waits; 0: it does not */
    uint64_t deadline_ns; /* UINT64_MAX: none */
    int status;           /* the first error */
    uint32_t open;        /* items */
    uint32_t done;        /* successful items */
    uint32_t removed;
    struct buffer found; /* struct pmi_names_found, of each item that was found */
    uint32_t count;
    struct name_item *items;
};

/* ---- Items ---- */

static void send_item(struct names *names, struct name_item *item)
{
    struct buffer payload = {0};

    item->place =
        name_ring_holder(&names->ring, item->record.key.data, item->record.key.length_bytes);
    name_ask_encode(&item->record, &payload);
    item->request =
        names->ops.request(names->ops.context, item->place, message_from_buffer(&payload));
    buffer_fini(&payload);
    (void)hash_map_put_u64(names->asks, item->request, item);
}

/* The holder need not answer.  Its answer to this does not matter. */
static void send_forget(struct names *names, const struct name_item *item)
{
    struct name_record record = item->record;
    struct buffer payload = {0};

    record.verb = NAME_FORGET;
    record.members = record.value = (struct wire_bytes){NULL, 0};
    name_ask_encode(&record, &payload);
    (void)names->ops.request(names->ops.context, item->place, message_from_buffer(&payload));
    buffer_fini(&payload);
}

/* It waits no longer, here or at its holder. */
static void stop_item(struct names *names, struct name_item *item)
{
    struct name_entry *awaiting = name_store_of_origin(names->awaited, &item->record);

    if (awaiting != NULL)
        name_store_remove(names->awaited, awaiting);
    (void)hash_map_remove_u64(names->items, item->record.serial);
    if (item->request != 0)
        (void)hash_map_remove_u64(names->asks, item->request);
    if (item->request != 0 && item->record.verb == NAME_WAIT)
        send_forget(names, item);
    item->request = 0;
}

/* ---- The ends of calls ---- */

static void call_free(struct names *names, struct name_call *call)
{
    list_remove(&call->node);
    for (uint32_t i = 0; i < call->count; i++) {
        stop_item(names, &call->items[i]);
        buffer_fini(&call->items[i].bytes);
    }
    buffer_fini(&call->found);
    free(call->items);
    free(call);
}

static void answer_call(struct names *names, struct name_call *call, int status,
                        const struct buffer *data)
{
    if (call->id != 0)
        names_answer(names, call->source, call->id, status, data);
    call->id = 0;
}

static void remove_local(struct names *names, struct name_entry *entry)
{
    name_store_remove(names->local, entry);
}

static uint32_t unpublish_local(struct names *names, const struct name_record *record)
{
    struct name_entry *entry;
    uint32_t removed = 0;

    while ((entry = name_store_owned(names->local, record)) != NULL) {
        remove_local(names, entry);
        removed++;
    }
    return removed;
}

/* The item has a copy of the record. */
static void add_item(struct names *names, struct name_call *call, const struct name_record *record)
{
    struct name_item *item = &call->items[call->count];
    struct name_record numbered = *record;
    struct wire_reader reader;

    numbered.serial = ++names->serial;
    *item = (struct name_item){.call = call, .index = call->count++};
    name_record_encode(&numbered, &item->bytes);
    wire_reader_init(&reader, item->bytes.data, item->bytes.length_bytes);
    name_record_decode(&item->record, &reader);
    assert(wire_finish(&reader) == 0);
    call->open++;
}

/* Removes what the record's process has published under its key, as a call that nobody waits for. */
static void take_back(struct names *names, const struct name_record *record)
{
    struct name_record removal = *record;
    struct name_call *call;

    if (names_is_local(record->range)) {
        (void)unpublish_local(names, record);
        return;
    }
    call = memory_allocate_zeroed(sizeof(*call));
    call->verb = removal.verb = NAME_UNPUBLISH;
    call->deadline_ns = UINT64_MAX;
    call->items = memory_allocate_zeroed(sizeof(*call->items));
    removal.members = removal.value = (struct wire_bytes){NULL, 0};
    list_append(&names->calls, &call->node);
    add_item(names, call, &removal);
    send_item(names, &call->items[0]);
}

/* None of the keys is published, or all are. */
static void end_publish(struct names *names, struct name_call *call)
{
    for (uint32_t i = 0; i < call->count; i++) {
        const struct name_record *record = &call->items[i].record;
        bool is_over = call->has_ended && record->persistence == PMI_NAMES_UNTIL_EXIT;

        if (call->items[i].state != ITEM_DONE)
            continue;
        if (call->status < 0 || is_over)
            take_back(names, record);
        else
            (void)name_store_put(names->owned, record);
    }
    answer_call(names, call, call->status, NULL);
}

static void end_unpublish(struct names *names, struct name_call *call)
{
    struct buffer data = {0};

    pmi_names_removed_encode(call->removed, &data);
    answer_call(names, call, call->status, &data);
    buffer_fini(&data);
}

/* The reason why a key was not found matters if it was anything but that there is none. */
static void end_lookup(struct names *names, struct name_call *call)
{
    if (call->done == 0)
        answer_call(names, call, call->status < 0 ? call->status : -ENOENT, NULL);
    else
        answer_call(names, call, 0, &call->found);
}

static void check_call(struct names *names, struct name_call *call)
{
    bool has_enough = call->wanted > 0 && call->done >= call->wanted;

    assert(call->done + call->open <= call->count);
    if (call->open > 0 && !has_enough)
        return;
    if (call->verb == NAME_PUBLISH)
        end_publish(names, call);
    else if (call->verb == NAME_UNPUBLISH)
        end_unpublish(names, call);
    else
        end_lookup(names, call);
    call_free(names, call);
}

static void finish_item(struct names *names, struct name_item *item, int status)
{
    struct name_call *call = item->call;

    assert(item->state == ITEM_OPEN && call->open > 0);
    item->state = status < 0 ? ITEM_FAILED : ITEM_DONE;
    call->open--;
    if (status == 0)
        call->done++;
    else if (call->status == 0 && !(call->verb == NAME_LOOKUP && status == -ENOENT))
        call->status = status;
}

static void add_found(struct name_item *item, const struct pmi_names_found *found)
{
    struct pmi_names_found one = *found;

    one.index = item->index;
    pmi_names_found_encode(&one, &item->call->found);
}

/* ---- Names of this node ---- */

/* Answers an item with a local name, which may be for one reader only. */
static void find_local(struct names *names, struct name_item *item, struct name_entry *entry)
{
    struct pmi_names_found found = {.namespace = entry->record.namespace,
                                    .rank = entry->record.rank,
                                    .value = entry->record.value};

    add_found(item, &found);
    if (entry->record.persistence == PMI_NAMES_UNTIL_READ)
        remove_local(names, entry);
    finish_item(names, item, 0);
}

/* Serves those on this node who wait for the key. */
static void wake_local(struct names *names, const struct name_record *record)
{
    struct name_entry *waiter = name_store_next(names->awaited, &record->key, NULL), *next, *entry;

    for (; waiter != NULL; waiter = next) {
        struct name_item *item = hash_map_get_u64(names->items, waiter->record.serial);

        next = name_store_next(names->awaited, &record->key, waiter);
        entry = name_store_find(names->local, &waiter->record);
        if (entry == NULL)
            continue;
        assert(item != NULL);
        find_local(names, item, entry);
        stop_item(names, item);
        check_call(names, item->call);
        /* The call may have had other waiters of the key: they end with it. */
        next = name_store_next(names->awaited, &record->key, NULL);
    }
}

static int publish_local(struct names *names, const struct name_record *record)
{
    struct name_entry *rival = name_store_rival(names->local, record);

    if (rival != NULL && !(record->may_replace && name_store_is_owner(record, &rival->record)))
        return -EEXIST;
    if (rival != NULL)
        remove_local(names, rival);
    (void)name_store_put(names->local, record);
    if (record->persistence == PMI_NAMES_UNTIL_JOB_END)
        names_watch(names, record->job);
    return 0;
}

/* ---- Begin ---- */

static void begin_publish(struct names *names, struct name_item *item)
{
    if (!names_is_local(item->record.range)) {
        send_item(names, item);
        return;
    }
    finish_item(names, item, publish_local(names, &item->record));
}

static void begin_lookup(struct names *names, struct name_item *item)
{
    struct name_entry *entry = name_store_find(names->local, &item->record);

    if (entry != NULL) {
        find_local(names, item, entry);
        return;
    }
    if (item->record.verb == NAME_WAIT) {
        (void)name_store_put(names->awaited, &item->record);
        (void)hash_map_put_u64(names->items, item->record.serial, item);
    }
    send_item(names, item);
}

/* What the process has published is no longer to be removed at its end. */
static void disown(struct names *names, const struct name_record *record)
{
    struct name_entry *entry;

    while ((entry = name_store_owned(names->owned, record)) != NULL)
        name_store_remove(names->owned, entry);
}

static void begin_unpublish(struct names *names, struct name_item *item)
{
    disown(names, &item->record);
    item->call->removed += unpublish_local(names, &item->record);
    if (names_is_local(item->record.range))
        finish_item(names, item, 0);
    else
        send_item(names, item);
}

static void begin_items(struct names *names, struct name_call *call)
{
    static void (*const verbs[])(struct names *, struct name_item *) = {
        [NAME_PUBLISH] = begin_publish,
        [NAME_LOOKUP] = begin_lookup,
        [NAME_UNPUBLISH] = begin_unpublish,
    };

    for (uint32_t i = 0; i < call->count; i++)
        verbs[call->verb](names, &call->items[i]);
}

static struct name_record record_of(const struct names *names, const struct name_request *request)
{
    enum name_verb verb = request->verb;

    if (verb == NAME_LOOKUP && request->names.waits)
        verb = NAME_WAIT;
    return (struct name_record){
        .verb = verb,
        .range = request->names.range,
        .persistence = request->names.persistence,
        .may_replace = request->names.may_replace,
        .place = names->place,
        .job = request->job,
        .rank = request->rank,
        .namespace = request->namespace,
        .members = request->names.members,
    };
}

static void add_keys(struct names *names, struct name_call *call,
                     const struct name_request *request)
{
    struct name_record record = record_of(names, request);
    struct wire_reader reader;

    call->items = memory_allocate_zeroed((request->names.count + 1) * sizeof(*call->items));
    wire_reader_init(&reader, request->names.keys.data, request->names.keys.length_bytes);
    for (uint32_t i = 0; i < request->names.count; i++) {
        pmi_names_key_get(&reader, &record.key, &record.value);
        add_item(names, call, &record);
    }
    assert(wire_finish(&reader) == 0);
}

/* ---- All that a process has published ---- */

struct owned_walk {
    struct names *names;
    struct name_call *call;
    const struct name_record *caller;
    uint32_t count;
};

static bool is_wanted(const struct owned_walk *walk, const struct name_record *record)
{
    return name_store_is_owner(walk->caller, record) &&
           (walk->caller->range == PMI_NAMES_ANY || walk->caller->range == record->range);
}

static bool count_owned(void *context, struct name_entry *entry)
{
    struct owned_walk *walk = context;

    walk->count += is_wanted(walk, &entry->record);
    return false;
}

static bool add_owned(void *context, struct name_entry *entry)
{
    struct owned_walk *walk = context;
    struct name_record record = *walk->caller;

    if (!is_wanted(walk, &entry->record))
        return false;
    record.key = entry->record.key;
    record.range = entry->record.range;
    add_item(walk->names, walk->call, &record);
    return false;
}

static void add_all_keys(struct names *names, struct name_call *call,
                         const struct name_request *request)
{
    struct name_record caller = record_of(names, request);
    struct owned_walk walk = {.names = names, .call = call, .caller = &caller};

    name_store_walk(names->owned, count_owned, &walk);
    call->items = memory_allocate_zeroed((walk.count + 1) * sizeof(*call->items));
    name_store_walk(names->owned, add_owned, &walk);
}

/* ---- Deadlines ---- */

static void set_timer(struct names *names)
{
    uint64_t deadline_ns = UINT64_MAX;
    struct list_link *node, *spare;

    list_for_each(&names->calls, node, spare)
    {
        const struct name_call *call = list_entry(node, struct name_call, node);

        if (call->deadline_ns < deadline_ns)
            deadline_ns = call->deadline_ns;
    }
    names->ops.timer(names->ops.context, deadline_ns);
}

/* What is being published or removed goes on: whether it is done is not known to the caller. */
void names_timer(struct names *names)
{
    uint64_t now_ns = names->ops.now_ns(names->ops.context);
    struct list_link *node, *spare;

    list_for_each(&names->calls, node, spare)
    {
        struct name_call *call = list_entry(node, struct name_call, node);

        if (call->deadline_ns > now_ns)
            continue;
        call->deadline_ns = UINT64_MAX;
        answer_call(names, call, -ETIMEDOUT, NULL);
        if (call->verb == NAME_LOOKUP)
            call_free(names, call);
    }
    set_timer(names);
}

void names_call_begin(struct names *names, uint32_t source, uint32_t id,
                      const struct name_request *request)
{
    struct name_call *call = memory_allocate_zeroed(sizeof(*call));

    assert(source == names->place);
    call->source = source;
    call->id = id;
    call->verb = request->verb;
    call->job = request->job;
    call->rank = request->rank;
    call->deadline_ns = UINT64_MAX;
    list_append(&names->calls, &call->node);
    if (request->verb == NAME_UNPUBLISH && request->names.count == 0)
        add_all_keys(names, call, request);
    else
        add_keys(names, call, request);
    if (request->verb == NAME_LOOKUP && request->names.waits)
        call->wanted = request->names.wanted > 0 && request->names.wanted < call->count
                           ? request->names.wanted
                           : call->count;
    begin_items(names, call);
    if (request->timeout_ms > 0) {
        call->deadline_ns = names->ops.now_ns(names->ops.context) + request->timeout_ms * NS_PER_MS;
        set_timer(names);
    }
    if (call->verb == NAME_PUBLISH && names_is_local(request->names.range))
        for (uint32_t i = 0; i < call->count && call->open == 0; i++)
            if (call->items[i].state == ITEM_DONE && call->status == 0)
                wake_local(names, &call->items[i].record);
    check_call(names, call);
}

/* ---- Answers of holders ---- */

static int take_answer(struct name_item *item, int status, struct wire_reader *reader)
{
    struct pmi_names_found found;

    if (status < 0)
        return status;
    if (item->call->verb == NAME_LOOKUP) {
        if (name_value_decode(&found, reader) < 0)
            return -EBADMSG;
        add_found(item, &found);
    } else if (item->call->verb == NAME_UNPUBLISH) {
        item->call->removed += pmi_names_removed_decode(reader);
    }
    return wire_finish(reader);
}

bool names_call_reply(struct names *names, uint32_t id, int status, struct wire_reader *reader)
{
    struct name_item *item = hash_map_remove_u64(names->asks, id);

    if (item == NULL)
        return false;
    assert(item->request == id && item->state == ITEM_OPEN);
    item->request = 0;
    if (status == -EHOSTDOWN) {
        names_lose(names, item->place);
        send_item(names, item);
        return true;
    }
    finish_item(names, item, take_answer(item, status, reader));
    stop_item(names, item);
    check_call(names, item->call);
    return true;
}

/* ---- Ends of processes ---- */

struct exit_walk {
    struct names *names;
    uint32_t job;
    uint32_t rank;
};

static bool ends_with_process(void *context, struct name_entry *entry)
{
    const struct exit_walk *walk = context;
    const struct name_record *record = &entry->record;

    if (record->job != walk->job || record->rank != walk->rank ||
        record->persistence != PMI_NAMES_UNTIL_EXIT)
        return false;
    take_back(walk->names, record);
    return true;
}

void names_process_ended(struct names *names, uint32_t job, uint32_t rank)
{
    struct exit_walk walk = {.names = names, .job = job, .rank = rank};
    struct list_link *node, *spare;

    if (names == NULL)
        return;
    list_for_each(&names->calls, node, spare)
    {
        struct name_call *call = list_entry(node, struct name_call, node);

        if (call->job != job || call->rank != rank)
            continue;
        call->has_ended = true;
        if (call->verb == NAME_LOOKUP)
            call_free(names, call);
    }
    name_store_walk(names->owned, ends_with_process, &walk);
}

static bool is_of_job(void *context, struct name_entry *entry)
{
    return entry->record.job == *(const uint32_t *)context;
}

void names_part_closed(struct names *names, uint32_t job)
{
    if (names != NULL)
        name_store_walk(names->owned, is_of_job, &job);
}

void names_call_close(struct names *names)
{
    struct list_link *node;

    while ((node = list_first(&names->calls)) != NULL) {
        struct name_call *call = list_entry(node, struct name_call, node);

        for (uint32_t i = 0; i < call->count; i++)
            call->items[i].request = 0; /* nobody gets them */
        call_free(names, call);
    }
}
