/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/daemon_internal.h"
#include "launch/daemon/join_root.h"
#include "launch/daemon/roll_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "launch/start/boot_tell.h"

#define REFUSALS_TOLD 3

void daemon_start_range(struct daemon *daemon, struct range range)
{
    struct tree tree = {.places = daemon->record.instance.places,
                        .radix = daemon->record.instance.radix};
    struct addresses addresses;

    link_set_addresses(daemon->links, &addresses);
    for (uint32_t i = 0; i < tree_cut_count(&tree, range); i++) {
        struct boot_record child;

        boot_record_child(&daemon->record, &addresses, tree_cut(&tree, range, i), &child);
        starter_start(daemon->starter, &child);
        boot_record_fini(&child);
    }
}

/* Starts the heads of the child ranges; each starts its own.  Where one call starts all the root
 * makes it. */
int daemon_start_children(struct daemon *daemon, struct error *error)
{
    struct addresses addresses;
    int rc = 0;

    if (!starter_is_one_shot(daemon->record.instance.starter)) {
        daemon_start_range(daemon, daemon->record.range);
    } else if (daemon->join_root) {
        rc = join_root_start(daemon->join_root, error);
    } else if (daemon->root) {
        link_set_addresses(daemon->links, &addresses);
        starter_start_all(daemon->starter, &daemon->record, &addresses);
    }
    return rc;
}

/* contrib/bench/joined.c reads it. */
static unsigned long long own_cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (unsigned long long)used.tv_sec * 1000000 + (unsigned long long)used.tv_nsec / 1000;
}

static void joined(void *context)
{
    struct daemon *daemon = context;

    daemon->joined = 1;
    daemon_forget_starter(daemon);
    log_debug("place %u (%s) joined after %llu us of CPU time", daemon->record.place,
              daemon->record.name, own_cpu_us());
}

static void linked(void *context, uint32_t place)
{
    struct daemon *daemon = context;

    starter_joined(daemon->starter, place);
    join_root_linked(daemon->join_root, place);
}

/* Who has not joined yet tells its starter why: the words with which its time-out is told.  A parent
 * that refuses may only not be up yet. */
static void unlinked(void *context, uint32_t place, const struct error *why)
{
    struct daemon *daemon = context;
    const struct boot_record *record = &daemon->record;

    if (daemon->joined || daemon->ending || record->ancestors_count == 0 ||
        place != record->ancestors[0].place)
        return;
    if (why->code == -ECONNREFUSED && ++daemon->refusals < REFUSALS_TOLD)
        return;
    if (daemon->is_joiner)
        log_warning("cannot reach its parent in the tree: %s", why->text);
    else
        boot_tell_waiting("cannot reach its parent in the tree: ", why->text);
}

static void complete(void *context)
{
    struct job_event event = {.kind = JOB_EVENT_COMPLETE};

    daemon_job_event(context, &event);
}

static void broadcast(void *context, struct message *payload)
{
    struct job_event event = {.kind = JOB_EVENT_BROADCAST, .message = payload};

    daemon_job_event(context, &event);
}

static void result(void *context, const struct node_key *key, int status, const struct ranges *lost,
                   struct message *payload)
{
    struct daemon *daemon = context;
    struct daemon_job *job;
    struct job_event event = {
        .kind = JOB_EVENT_RESULT, .key = key, .status = status, .places = lost, .message = payload};

    if (key->kind == JOB_OPERATION_PMI1 || key->kind == JOB_OPERATION_PMIX) {
        job = daemon_job_find(daemon, key->owner);
        if (job && job->services)
            services_result(job->services, key, status, payload);
    } else {
        daemon_job_event(daemon, &event);
    }
}

static void received(void *context, uint32_t source, uint8_t class, struct message *payload)
{
    struct daemon *daemon = context;
    struct wire_reader reader;
    uint8_t kind;

    (void)class;
    if (daemon->root) {
        root_message(daemon, source, payload);
        return;
    }
    wire_reader_init(&reader, payload->data, payload->length_bytes);
    kind = wire_get_u8(&reader);
    daemon_job_message(daemon, kind, &reader);
}

static void request(void *context, uint32_t source, uint32_t id, struct message *payload)
{
    struct daemon *daemon = context;
    struct daemon_job *job;
    struct wire_reader reader, peek;
    uint8_t kind;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    kind = wire_get_u8(&reader);
    peek = reader;
    job = kind == JOB_MESSAGE_MODEX ? daemon_job_find(daemon, wire_get_u32(&peek)) : NULL;
    if (job && job->services) {
        services_request(job->services, source, id, &reader);
    } else if (kind == JOB_MESSAGE_ROLL && source == 0) {
        roll_call_answer(daemon, source, id, &reader);
    } else {
        struct buffer answer = {0};

        wire_put_u32(&answer, (uint32_t)-ENOENT);
        node_reply(daemon->node, source, id, message_from_buffer(&answer));
        buffer_fini(&answer);
    }
}

static void reply(void *context, uint32_t id, int status, struct message *payload)
{
    struct daemon *daemon = context;
    uint32_t number = (uint32_t)(uintptr_t)map_remove_u64(daemon->requests, id);
    struct daemon_job *job = number > 0 ? daemon_job_find(daemon, number) : NULL;

    if (job && job->services)
        services_reply(job->services, id, status, payload);
    else if (number == 0 && daemon->roll_call)
        roll_call_reply(daemon->roll_call, id, status, payload);
}

const char *daemon_place_name(const struct daemon *daemon, uint32_t place,
                              char name[HOST_NAME_BYTES_MAX + 1])
{
    const struct boot_record *record = &daemon->record;

    name[0] = 0;
    if (place >= record->range.first && place <= record->range.last && place > 0)
        hostlist_name(record->names, place - (record->range.first ? record->range.first : 1), name);
    return name;
}

/* What a dead daemon of ours left on its node is cleaned up, by the starter that started it. */
static void lost(void *context, const struct ranges *places)
{
    struct daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_LOST, .places = places};
    struct tree tree = {.places = daemon->record.instance.places,
                        .radix = daemon->record.instance.radix};
    struct list_node *node, *spare;
    char name[HOST_NAME_BYTES_MAX + 1];

    for (uint32_t i = 0; i < tree_cut_count(&tree, daemon->record.range); i++) {
        uint32_t head = tree_cut(&tree, daemon->record.range, i).first;

        if (ranges_contains(places, head))
            starter_clean(daemon->starter, &daemon->record.instance, head,
                          daemon_place_name(daemon, head, name));
    }
    list_for_each(&daemon->jobs, node, spare)
        output_credit_renew(list_entry(node, struct daemon_job, node)->output);
    daemon_job_event(daemon, &event);
}

static void operation_stalled(void *context, const struct node_key *key, const struct ranges *set,
                              const struct node_missing *missing)
{
    roll_call_missing(context, key, set, missing);
}

static void ended(void *context, enum node_end end, const struct error *why)
{
    daemon_end(context, end, why);
}

const struct node_events daemon_node_events = {
    .joined = joined,
    .linked = linked,
    .unlinked = unlinked,
    .complete = complete,
    .broadcast = broadcast,
    .result = result,
    .received = received,
    .request = request,
    .reply = reply,
    .seen = daemon_seen,
    .silent = daemon_silent,
    .lost = lost,
    .left = lost, /* to a job it is the same */
    .missing = operation_stalled,
    .ended = ended,
};

static void starter_failed(void *context, uint32_t place, const struct error *why)
{
    struct daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_PLACE_FAILED, .place = place, .text = why->text};

    if (daemon->ending)
        return;
    daemon_job_event(daemon, &event);
    node_place_failed(daemon->node, place);
    daemon_check_end(daemon);
}

static void starter_line(void *context, uint32_t place, const char *text)
{
    struct daemon *daemon = context;
    char name[HOST_NAME_BYTES_MAX + 1];
    char *line = place > 0 ? memory_printf("%s: %s", daemon_place_name(daemon, place, name), text)
                           : memory_copy_string(text);

    daemon_text(daemon, 0, LOG_LEVEL_WARNING, line);
    free(line);
}

static void starter_ended(void *context, uint32_t place)
{
    (void)place;
    daemon_check_end(context);
}

const struct starter_events daemon_starter_events = {
    .failed = starter_failed,
    .line = starter_line,
    .ended = starter_ended,
};
