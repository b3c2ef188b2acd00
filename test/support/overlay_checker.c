/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/overlay_checker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "overlay/overlay_wire.h"
#include "overlay/tree.h"
#include "test/support/overlay_checker_internal.h"

struct checker_entry {
    struct ranges set; /* empty: everyone */
    uint64_t hash;
};

/* One member's part in one operation. */
struct part {
    struct message *contribution;
    uint64_t outcome; /* hash of status, lost and payload */
    int status;
    uint32_t attempt; /* of its last CONTRIBUTE */
    bool called;
    bool told;
};

struct checker_operation {
    struct checker_operation *next;
    struct operation_name key;
    struct ranges set;
    bool cancelled;
    uint32_t members_count;
    uint32_t *members;
    struct part *parts;
    struct part root;        /* what the root is told of a gather */
    uint32_t *attempts;      /* by place, members or not */
    struct message *success; /* found to be what was contributed; NULL: none yet, or no bytes */
    uint64_t success_hash;
};

struct checker_request {
    struct checker_request *next;
    uint32_t from;
    uint32_t to;
    uint32_t id;
    bool answered;
};

void checker_fault(struct checker *checker, const char *format, ...)
{
    va_list arguments;

    if (checker->failure[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(checker->failure, sizeof(checker->failure), format, arguments);
    va_end(arguments);
}

/* ---- life ---- */

void checker_init(struct checker *checker, uint32_t places, uint32_t radix, uint64_t lease_ns)
{
    memset(checker, 0, sizeof(*checker));
    checker->places_count = places;
    checker->population = places;
    checker->capacity = places;
    checker->radix = radix;
    checker->lease_ns = lease_ns;
    checker->places = memory_allocate_zeroed(places * sizeof(*checker->places));
    for (uint32_t i = 0; i < places; i++)
        checker->places[i].dead_ns = NEVER_NS;
}

static void operation_destroy(struct checker_operation *operation)
{
    for (uint32_t i = 0; i < operation->members_count; i++)
        message_release(operation->parts[i].contribution);
    message_release(operation->success);
    free(operation->parts);
    free(operation->members);
    free(operation->attempts);
    ranges_fini(&operation->set);
    free(operation);
}

void checker_fini(struct checker *checker)
{
    while (checker->operations != NULL) {
        struct checker_operation *operation = checker->operations;

        checker->operations = operation->next;
        operation_destroy(operation);
    }
    while (checker->requests != NULL) {
        struct checker_request *request = checker->requests;

        checker->requests = request->next;
        free(request);
    }
    for (uint32_t i = 0; i < checker->entries_count; i++)
        ranges_fini(&checker->entries[i].set);
    free(checker->entries);
    free(checker->deaths);
    free(checker->places);
}

/* ---- broadcasts ---- */

static uint64_t hash_message(const struct message *message)
{
    return message != NULL ? hash_bytes(message->data, message->length_bytes, 1) : 1;
}

void checker_broadcast(struct checker *checker, const struct ranges *set,
                       const struct message *payload)
{
    struct checker_entry *entry;

    checker->entries =
        memory_resize(checker->entries, (checker->entries_count + 1) * sizeof(*checker->entries));
    entry = &checker->entries[checker->entries_count++];
    *entry = (struct checker_entry){.hash = hash_message(payload)};
    if (set != NULL)
        ranges_copy(&entry->set, set);
}

/* Passes over what is not for this place. */
static void skip_entries(const struct checker *checker, uint32_t place)
{
    struct checker_place *at = &checker->places[place];

    while (at->entries_told < checker->entries_count) {
        const struct ranges *set = &checker->entries[at->entries_told].set;

        if (ranges_is_empty(set) || ranges_contains(set, place))
            return;
        at->entries_told++;
    }
}

void checker_told_broadcast(struct checker *checker, uint32_t place, uint64_t now_ns,
                            const struct message *payload)
{
    struct checker_place *at = &checker->places[place];

    checker_note_life(checker, place, now_ns);
    skip_entries(checker, place);
    if (at->entries_told == checker->entries_count)
        checker_fault(checker, "%u is told a broadcast twice, or one not its own", place);
    else if (checker->entries[at->entries_told].hash != hash_message(payload))
        checker_fault(checker, "%u misses a broadcast or has it out of order", place);
    else
        at->entries_told++;
}

/* ---- operations ---- */

static bool keys_match(const struct operation_name *a, const struct operation_name *b)
{
    return a->set_id == b->set_id && a->generation == b->generation && a->kind == b->kind &&
           a->merge == b->merge && a->target == b->target;
}

static struct checker_operation *operation_find(const struct checker *checker,
                                                const struct operation_name *key)
{
    struct checker_operation *operation = checker->operations;

    while (operation != NULL && !keys_match(&operation->key, key))
        operation = operation->next;
    return operation;
}

static struct checker_operation *operation_create(struct checker *checker,
                                                  const struct operation_name *key,
                                                  const struct ranges *set)
{
    struct checker_operation *operation = memory_allocate_zeroed(sizeof(*operation));
    uint32_t place = 0;

    operation->key = *key;
    ranges_copy(&operation->set, set);
    operation->members_count = (uint32_t)ranges_count(set);
    operation->members = memory_allocate(operation->members_count * sizeof(uint32_t));
    operation->parts = memory_allocate_zeroed(operation->members_count * sizeof(struct part));
    operation->attempts = memory_allocate_zeroed(checker->capacity * sizeof(uint32_t));
    for (uint32_t i = 0; ranges_next(set, place, &place); place++)
        operation->members[i++] = place;
    operation->next = checker->operations;
    checker->operations = operation;
    return operation;
}

static struct part *part_find(const struct checker_operation *operation, uint32_t place)
{
    uint32_t low = 0;
    uint32_t high = operation->members_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (operation->members[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < operation->members_count && operation->members[low] == place)
        return &operation->parts[low];
    return NULL;
}

void checker_called(struct checker *checker, uint32_t place, const struct operation_name *key,
                    const struct ranges *set, struct message *payload)
{
    struct checker_operation *operation = operation_find(checker, key);
    struct part *part;

    if (operation == NULL)
        operation = operation_create(checker, key, set);
    part = part_find(operation, place);
    part->called = true;
    part->contribution = message_reference(payload);
}

void checker_cancelled(struct checker *checker, const struct operation_name *key)
{
    struct checker_operation *operation = operation_find(checker, key);

    if (operation != NULL)
        operation->cancelled = true;
}

static bool takes_bytes(const struct message *payload, size_t *at, const struct message *part)
{
    if (part == NULL || part->length_bytes == 0)
        return true;
    if (payload == NULL || payload->length_bytes - *at < part->length_bytes ||
        memcmp(payload->data + *at, part->data, part->length_bytes) != 0)
        return false;
    *at += part->length_bytes;
    return true;
}

/* Exactly what each member contributed, once, in ascending order of places. */
static void check_success(struct checker *checker, struct checker_operation *operation,
                          struct message *payload)
{
    size_t at = 0;

    for (uint32_t i = 0; i < operation->members_count; i++) {
        const struct part *part = &operation->parts[i];

        if (!part->called || !takes_bytes(payload, &at, part->contribution)) {
            checker_fault(checker, "generation %u succeeds without what %u contributed",
                          operation->key.generation, operation->members[i]);
            return;
        }
    }
    if (payload != NULL && at != payload->length_bytes)
        checker_fault(checker, "generation %u succeeds with more than was contributed",
                      operation->key.generation);
    if (operation->success == NULL)
        operation->success = message_reference(payload);
}

static bool is_known_success(const struct checker_operation *operation,
                             const struct message *payload)
{
    return operation->success != NULL && payload != NULL &&
           payload->length_bytes == operation->success->length_bytes &&
           memcmp(payload->data, operation->success->data, payload->length_bytes) == 0;
}

static void check_lost(struct checker *checker, const struct checker_operation *operation,
                       const struct ranges *lost)
{
    if (ranges_is_empty(lost) || !ranges_contains_all(&operation->set, lost)) {
        checker_fault(checker, "an error names nobody, or who is no member");
        return;
    }
    for (uint32_t i = 0; i < lost->count; i++) {
        for (uint32_t place = lost->items[i].first; place <= lost->items[i].last; place++) {
            if (!checker_may_be_gone(checker, place))
                checker_fault(checker, "an error names %u, which lives", place);
        }
    }
}

static uint64_t hash_outcome(int status, const struct ranges *lost, const struct message *payload)
{
    uint64_t hash = hash_mix((uint64_t)(int64_t)status) + hash_message(payload);

    for (uint32_t i = 0; i < lost->count; i++)
        hash = hash_bytes(&lost->items[i], sizeof(lost->items[i]), hash);
    return hash;
}

void checker_told_result(struct checker *checker, uint32_t place, uint64_t now_ns,
                         const struct operation_name *key, int status, const struct ranges *lost,
                         struct message *payload)
{
    struct checker_operation *operation = operation_find(checker, key);
    bool is_whole = key->target == ENDPOINT_TARGET_ALL || place == 0;
    struct part *part = operation != NULL ? part_find(operation, place) : NULL;

    checker_note_life(checker, place, now_ns);
    if (operation != NULL && part == NULL && place == 0 && key->target == ENDPOINT_TARGET_ROOT)
        part = &operation->root;
    else if (part == NULL || !part->called) {
        checker_fault(checker, "%u is told of what it has not called", place);
        return;
    }
    if (part->told)
        checker_fault(checker, "%u is told twice of generation %u", place, key->generation);
    if (checker->places[place].is_stale)
        checker_fault(checker, "%u acts on an old attempt of generation %u", place,
                      key->generation);
    part->told = true;
    part->status = status;
    if (status == 0 && is_known_success(operation, payload)) {
        part->outcome = operation->success_hash;
        return;
    }
    part->outcome = hash_outcome(status, lost, payload);
    if (status == 0 && is_whole) {
        check_success(checker, operation, payload);
        operation->success_hash = part->outcome;
    } else if (status == -EHOSTDOWN) {
        check_lost(checker, operation, lost);
    } else if (status == -ETIMEDOUT) {
        if (!operation->cancelled || !ranges_is_empty(lost) || payload != NULL)
            checker_fault(checker, "generation %u times out though nobody cancelled it",
                          key->generation);
    } else if (status != 0) {
        checker_fault(checker, "status %d", status);
    }
}

/* ---- requests ---- */

void checker_requested(struct checker *checker, uint32_t place, uint32_t id, uint32_t to)
{
    struct checker_request *request = memory_allocate_zeroed(sizeof(*request));

    *request =
        (struct checker_request){.next = checker->requests, .from = place, .to = to, .id = id};
    checker->requests = request;
}

void checker_told_reply(struct checker *checker, uint32_t place, uint32_t id, int status)
{
    struct checker_request *request = checker->requests;

    while (request != NULL && (request->from != place || request->id != id))
        request = request->next;
    if (request == NULL) {
        checker_fault(checker, "%u gets an answer to nothing", place);
        return;
    }
    if (request->answered)
        checker_fault(checker, "a request of %u is answered twice", place);
    request->answered = true;
    if (status != 0 && !checker_may_be_gone(checker, request->to))
        checker_fault(checker, "a request to %u, which lives, fails", request->to);
}

/* ---- frames ---- */

void checker_sent(struct checker *checker, uint32_t from, const struct frame *frame)
{
    struct overlay_contribute contribute;
    struct checker_operation *operation;

    if (frame->incarnation != checker->places[from].incarnation)
        checker_fault(checker, "%u sends as incarnation %u", from, frame->incarnation);
    if (frame->type != OVERLAY_CONTRIBUTE)
        return;
    if (overlay_decode_contribute(frame, &contribute) < 0) {
        checker_fault(checker, "%u sends what cannot be decoded", from);
        return;
    }
    operation = operation_find(checker, &contribute.key);
    if (operation != NULL && frame->attempt < operation->attempts[from])
        checker_fault(checker, "%u goes back from attempt %u to %u", from,
                      operation->attempts[from], frame->attempt);
    else if (operation != NULL)
        operation->attempts[from] = frame->attempt;
    overlay_contribute_fini(&contribute);
}

void checker_delivered(struct checker *checker, uint32_t from, uint32_t to,
                       const struct frame *frame)
{
    const struct checker_operation *operation;
    struct overlay_release release;

    checker->places[to].is_stale = false;
    if (frame->incarnation != checker->places[from].incarnation)
        checker_fault(checker, "%u is handed a frame of incarnation %u of %u", to,
                      frame->incarnation, from);
    if (frame->type != OVERLAY_RELEASE || overlay_decode_release(frame, &release) < 0)
        return;
    operation = operation_find(checker, &release.key);
    checker->places[to].is_stale = operation != NULL && frame->attempt < operation->attempts[to];
    overlay_release_fini(&release);
}

/* ---- limits ---- */

static uint32_t operations_count(const struct checker *checker)
{
    uint32_t count = 0;

    for (const struct checker_operation *operation = checker->operations; operation != NULL;
         operation = operation->next)
        count++;
    return count;
}

void checker_limits(struct checker *checker, uint32_t place, const struct checker_view *view)
{
    struct tree tree = {.places = checker->places_count,
                        .radix = checker->radix,
                        .population = checker->population};

    if (view->degree > 1 + checker->radix * tree_depth(&tree))
        checker_fault(checker, "%u has degree %u", place, view->degree);
    /* The end of the instance is an entry too. */
    if (view->kept_entries > checker->entries_count + checker->deaths_count + 1)
        checker_fault(checker, "%u keeps %u entries", place, view->kept_entries);
    if (view->kept_operations > operations_count(checker))
        checker_fault(checker, "%u keeps %u operations", place, view->kept_operations);
}

/* ---- at rest ---- */

static bool entries_are_told(const struct checker *checker, uint32_t place)
{
    skip_entries(checker, place);
    return checker->places[place].entries_told == checker->entries_count;
}

static bool is_waiting(const struct checker *checker, const struct checker_operation *operation,
                       uint32_t index)
{
    const struct part *part = &operation->parts[index];

    return part->called && !part->told && checker_is_alive(checker, operation->members[index]);
}

/* Who was only troubled, and has got over it, is waited for. */
static bool is_gone(const struct checker *checker, uint32_t place)
{
    return checker_may_be_gone(checker, place) &&
           (!checker_is_alive(checker, place) || checker->places[place].asked ||
            checker->places[place].dead_ns != NEVER_NS);
}

/* Who lives and has not called yet may let the others wait, unless somebody is dead. */
static bool may_wait(const struct checker *checker, const struct checker_operation *operation)
{
    bool may = false;

    if (operation->cancelled)
        return false;
    for (uint32_t i = 0; i < operation->members_count; i++) {
        if (is_gone(checker, operation->members[i]))
            return false;
        may = may || !operation->parts[i].called;
    }
    return may;
}

static bool operation_is_quiet(const struct checker *checker,
                               const struct checker_operation *operation)
{
    if (may_wait(checker, operation))
        return true;
    for (uint32_t i = 0; i < operation->members_count; i++) {
        if (is_waiting(checker, operation, i))
            return false;
    }
    return true;
}

static bool place_is_quiet(const struct checker *checker, uint32_t place)
{
    const struct checker_place *at = &checker->places[place];

    if (!at->started)
        return true;
    if (checker_is_alive(checker, place))
        return !at->asked && at->joined && entries_are_told(checker, place) &&
               at->deaths_told == checker->deaths_count;
    return place == 0 || at->dead_ns != NEVER_NS;
}

static const struct checker_request *request_unanswered(const struct checker *checker)
{
    const struct checker_request *request = checker->requests;

    while (request != NULL && (request->answered || !checker_is_alive(checker, request->from)))
        request = request->next;
    return request;
}

static bool nobody_lives(const struct checker *checker)
{
    for (uint32_t place = 0; place < checker->population; place++) {
        if (checker_is_alive(checker, place))
            return false;
    }
    return true;
}

bool checker_is_quiet(const struct checker *checker)
{
    if (checker->places[0].killed || checker->leaving)
        return nobody_lives(checker);
    for (uint32_t place = 0; place < checker->population; place++) {
        if (!place_is_quiet(checker, place))
            return false;
    }
    for (const struct checker_operation *operation = checker->operations; operation != NULL;
         operation = operation->next) {
        if (!operation_is_quiet(checker, operation))
            return false;
    }
    return checker->complete && request_unanswered(checker) == NULL;
}

/* Who waits, and who disagrees.  At the root a gather ends with a payload of its own. */
static void finish_operation(struct checker *checker, const struct checker_operation *operation)
{
    const struct part *first = NULL;
    bool somebody_is_dead = false;

    for (uint32_t i = 0; i < operation->members_count; i++) {
        const struct part *part = &operation->parts[i];

        somebody_is_dead = somebody_is_dead || checker_may_be_gone(checker, operation->members[i]);
        if (is_waiting(checker, operation, i))
            checker_fault(checker, "%u waits for generation %u for ever", operation->members[i],
                          operation->key.generation);
        if (!part->told || !checker_is_alive(checker, operation->members[i]) ||
            (operation->key.target == ENDPOINT_TARGET_ROOT && operation->members[i] == 0))
            continue;
        if (first != NULL && first->outcome != part->outcome)
            checker_fault(checker, "survivors of generation %u disagree",
                          operation->key.generation);
        first = part;
    }
    if (first != NULL && first->status != 0 && !somebody_is_dead && !operation->cancelled)
        checker_fault(checker, "an error though nobody died");
}

static void finish_place(struct checker *checker, const struct tree *tree, uint32_t place,
                         const struct checker_view *view)
{
    const struct checker_place *at = &checker->places[place];

    if (!at->joined)
        checker_fault(checker, "%u never joins", place);
    if (!entries_are_told(checker, place))
        checker_fault(checker, "%u misses a broadcast", place);
    if (at->deaths_told != checker->deaths_count)
        checker_fault(checker, "%u knows other deaths than the root", place);
    else if (view->parent != tree_parent(tree, place))
        checker_fault(checker, "%u has parent %u, should have %u", place, view->parent,
                      tree_parent(tree, place));
    if (view->kept_entries > 0)
        checker_fault(checker, "%u keeps log entries for ever", place);
    if (view->kept_stream_bytes > 0)
        checker_fault(checker, "%u keeps %llu bytes of streams", place,
                      (unsigned long long)view->kept_stream_bytes);
    if (view->early_opens > 0)
        checker_fault(checker, "%u keeps %u early OPENs", place, view->early_opens);
}

/* Who is counted as dead is gone, and who is gone is counted. */
static void finish_deaths(struct checker *checker, struct ranges *ret_dead)
{
    for (uint32_t place = 0; place < checker->population; place++) {
        bool is_counted = checker->places[place].dead_ns != NEVER_NS;

        if (is_counted)
            ranges_add(ret_dead, place, place);
        if (is_counted && checker_is_alive(checker, place))
            checker_fault(checker, "%u is counted as dead and lives on", place);
        if (!is_counted && checker->places[place].started && !checker_is_alive(checker, place))
            checker_fault(checker, "the death of %u is never noticed", place);
    }
}

void checker_finish(struct checker *checker, uint64_t now_ns, uint64_t bound_ns,
                    const struct checker_view *views)
{
    struct tree tree = {.places = checker->places_count,
                        .radix = checker->radix,
                        .population = checker->population};
    struct ranges dead = {0};

    if (now_ns > checker->last_fault_ns + bound_ns)
        checker_fault(checker, "not at rest %.1f s after the last fault",
                      (double)(now_ns - checker->last_fault_ns) / 1e9);
    if (checker->places[0].killed || checker->leaving) {
        if (!nobody_lives(checker))
            checker_fault(checker, "somebody outlives the instance");
        return;
    }
    if (!checker->complete)
        checker_fault(checker, "the root is never complete");
    finish_deaths(checker, &dead);
    tree.dead = &dead;
    for (uint32_t place = 0; place < checker->population; place++) {
        if (checker_is_alive(checker, place))
            finish_place(checker, &tree, place, &views[place]);
    }
    for (const struct checker_operation *operation = checker->operations; operation != NULL;
         operation = operation->next)
        finish_operation(checker, operation);
    if (request_unanswered(checker) != NULL)
        checker_fault(checker, "a request of %u to %u is never answered",
                      request_unanswered(checker)->from, request_unanswered(checker)->to);
    ranges_fini(&dead);
}
