/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What machines, daemons and jobs use (launch/proto/load.h).  A place that is asked about a set of places, of which it is
 * the first, hands the others on: in as many parts as the tree's radix, each to its first place.  Meanwhile it measures
 * itself for MEASURE_MS.  It answers when all parts have, or when its time is over, with the places that have not.  Each
 * part gets an eighth less time than who asks it, so that one silent node costs the answer only itself and what it was
 * to ask.  Nothing is kept between two requests.
 *
 * Cost: nothing without requests; then two looks at each local process, and O(radix) messages of bounded size.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/job/clients.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/load.h"

#define MEASURE_MS    300u
#define PATIENCE_MS   3000u /* of the root */
#define INQUIRIES_MAX 16u   /* at a time, at a place */

/* A local process when it was first looked at. */
struct load_process {
    uint32_t job;
    uint32_t index;
    uint64_t cpu_ns;
};

struct load_inquiry {
    struct list_link node;
    bool is_client;
    uint32_t asker;   /* a client, or a place */
    uint32_t request; /* its number of it */
    uint32_t rows;
    uint32_t patience_ms;
    uint64_t measured_ns; /* when the second look is due; UINT64_MAX: it is over */
    uint64_t begun_ns;
    uint64_t due_ns;
    struct daemon_load before;
    struct load_process *processes;
    uint32_t processes_count;
    struct hash_map *asked; /* id of a request -> struct ranges: the part */
    struct load load;
};

static void part_free(struct ranges *part)
{
    ranges_fini(part);
    free(part);
}

static void inquiry_free(struct load_inquiry *inquiry)
{
    struct ranges *part;
    size_t cursor = 0;

    assert(list_is_linked(&inquiry->node));
    list_remove(&inquiry->node);
    while ((part = hash_map_next(inquiry->asked, &cursor)) != NULL)
        part_free(part);
    hash_map_destroy(inquiry->asked);
    free(inquiry->processes);
    load_fini(&inquiry->load);
    free(inquiry);
}

static void inquiry_answer(struct daemon_core *core, struct load_inquiry *inquiry)
{
    struct buffer data = {0};
    struct ranges *part;
    size_t cursor = 0;

    while ((part = hash_map_next(inquiry->asked, &cursor)) != NULL)
        ranges_add_all(&inquiry->load.silent, part);
    load_encode(&inquiry->load, &data);
    if (inquiry->is_client)
        daemon_core_request_answer(core, inquiry->asker, inquiry->request, 0, &data);
    else
        core->tree->reply(core->tree_context, inquiry->asker, inquiry->request,
                          job_reply_message(0, data.data, data.length_bytes));
    buffer_fini(&data);
    inquiry_free(inquiry);
}

/* ---- this place ---- */

static void look_first(struct daemon_core *core, struct load_inquiry *inquiry)
{
    struct ranges numbers = {0};
    uint32_t number = 0;

    core->ops->load(core->context, &inquiry->before);
    instance_part_numbers(core->instance, &numbers);
    for (; ranges_next(&numbers, number, &number); number++) {
        const struct job_local *part = instance_part(core->instance, number);

        inquiry->processes =
            memory_resize(inquiry->processes, (inquiry->processes_count + part->count + 1) *
                                                  sizeof(*inquiry->processes));
        for (uint32_t i = 0; i < part->count; i++) {
            struct load_process process = {.job = number, .index = i};
            uint64_t kib;

            if (core->ops->ranks->load(core->context, number, i, &process.cpu_ns, &kib))
                inquiry->processes[inquiry->processes_count++] = process;
        }
    }
    ranges_fini(&numbers);
}

/* What has begun anew meanwhile counts for nothing. */
static uint64_t per_second(uint64_t before, uint64_t after, uint64_t elapsed_ns)
{
    return after > before ? (uint64_t)((double)(after - before) * 1e9 / (double)elapsed_ns) : 0;
}

/* In thousandths of a CPU. */
static uint64_t cpu_used(uint64_t before_ns, uint64_t after_ns, uint64_t elapsed_ns)
{
    return per_second(before_ns, after_ns, elapsed_ns) / (NS_PER_S / 1000);
}

static void add_processes(struct daemon_core *core, struct load_inquiry *inquiry,
                          uint64_t elapsed_ns, struct load_row *row)
{
    for (uint32_t i = 0; i < inquiry->processes_count; i++) {
        const struct load_process *process = &inquiry->processes[i];
        const struct job_local *part = instance_part(core->instance, process->job);
        struct load_job job = {.number = process->job};
        uint64_t cpu_ns;

        if (part == NULL || process->index >= part->count ||
            !core->ops->ranks->load(core->context, process->job, process->index, &cpu_ns, &job.kib))
            continue;
        job.cpu = cpu_used(process->cpu_ns, cpu_ns, elapsed_ns);
        load_add_job(&inquiry->load, &job);
        row->figures[LOAD_PROCESSES]++;
        row->figures[LOAD_PROCESSES_CPU] += job.cpu;
        row->figures[LOAD_PROCESSES_KIB] += job.kib;
    }
    load_sort_jobs(&inquiry->load);
}

static void add_machine(const struct daemon_load *before, const struct daemon_load *now,
                        struct load_row *row)
{
    uint64_t busy = now->busy_ticks - before->busy_ticks;
    uint64_t ticks = busy + now->idle_ticks - before->idle_ticks;

    row->figures[LOAD_MACHINE_CPUS] = (uint64_t)now->cpus * 1000;
    row->figures[LOAD_MACHINE_BUSY] =
        ticks > 0 ? row->figures[LOAD_MACHINE_CPUS] * busy / ticks : 0;
    row->figures[LOAD_MACHINE_KIB] = now->memory_kib;
    row->figures[LOAD_MACHINE_USED_KIB] = now->used_kib;
}

static void look_again(struct daemon_core *core, struct load_inquiry *inquiry)
{
    uint64_t elapsed_ns = core->ops->now_ns(core->context) - inquiry->begun_ns;
    struct load_row row = {.place = core->place};
    struct daemon_load now;

    elapsed_ns += elapsed_ns == 0;
    core->ops->load(core->context, &now);
    add_processes(core, inquiry, elapsed_ns, &row);
    if (!daemon_core_is_root(core))
        add_machine(&inquiry->before, &now, &row);
    row.figures[LOAD_DAEMONS] = 1;
    row.figures[LOAD_DAEMONS_CPU] =
        cpu_used(inquiry->before.daemon_cpu_ns, now.daemon_cpu_ns, elapsed_ns);
    row.figures[LOAD_DAEMONS_KIB] = now.daemon_kib;
    row.figures[LOAD_MESSAGES] = per_second(inquiry->before.messages, now.messages, elapsed_ns);
    row.figures[LOAD_MESSAGES_BYTES] =
        per_second(inquiry->before.messages_bytes, now.messages_bytes, elapsed_ns);
    load_add(&inquiry->load, &row, inquiry->rows);
    inquiry->measured_ns = UINT64_MAX;
}

/* ---- others ---- */

/* Takes the part. */
static void ask_part(struct daemon_core *core, struct load_inquiry *inquiry, struct ranges *part)
{
    struct load_request request = {.rows = inquiry->rows,
                                   .patience_ms = inquiry->patience_ms - inquiry->patience_ms / 8,
                                   .places = *part};
    struct buffer data = {0};
    uint32_t id;

    assert(!ranges_is_empty(part) && !ranges_contains(part, core->place));
    load_request_encode(&request, &data);
    id = core->tree->request(core->tree_context, ranges_min(part),
                             job_request_message(JOB_MESSAGE_LOAD, data.data, data.length_bytes));
    buffer_fini(&data);
    (void)hash_map_put_u64(inquiry->asked, id, part);
}

struct ranges *daemon_core_load_take_part(struct ranges *places, uint64_t count)
{
    struct ranges *part = memory_allocate_zeroed(sizeof(*part));

    while (count > 0) {
        struct range range = places->items[0];

        if (range.last - range.first >= count)
            range.last = range.first + (uint32_t)count - 1;
        count -= (uint64_t)range.last - range.first + 1;
        ranges_add(part, range.first, range.last);
        ranges_remove(places, range.first, range.last);
    }
    return part;
}

static void hand_on(struct daemon_core *core, struct load_inquiry *inquiry, struct ranges *places)
{
    uint64_t left = ranges_count(places);

    for (uint32_t parts = core->spec->radix; left > 0; parts--) {
        uint64_t count = (left + parts - 1) / parts;

        assert(parts > 0);
        ask_part(core, inquiry, daemon_core_load_take_part(places, count));
        left -= count;
    }
}

/* ---- the course of an inquiry ---- */

static void set_timer(struct daemon_core *core)
{
    uint64_t next_ns = UINT64_MAX;
    struct list_link *node, *spare;

    list_for_each(&core->loads, node, spare)
    {
        const struct load_inquiry *inquiry = list_entry(node, struct load_inquiry, node);
        uint64_t due_ns =
            inquiry->measured_ns != UINT64_MAX ? inquiry->measured_ns : inquiry->due_ns;

        if (due_ns < next_ns)
            next_ns = due_ns;
    }
    core->ops->timer(core->context, DAEMON_TIMER_LOAD, 0, next_ns);
}

static void inquiry_check(struct daemon_core *core, struct load_inquiry *inquiry)
{
    uint64_t now_ns = core->ops->now_ns(core->context);

    if (inquiry->measured_ns <= now_ns)
        look_again(core, inquiry);
    if (inquiry->measured_ns == UINT64_MAX &&
        (hash_map_count(inquiry->asked) == 0 || inquiry->due_ns <= now_ns))
        inquiry_answer(core, inquiry);
}

void daemon_core_load_due(struct daemon_core *core)
{
    struct list_link *node, *spare;

    list_for_each(&core->loads, node, spare)
        inquiry_check(core, list_entry(node, struct load_inquiry, node));
    set_timer(core);
}

/* places: after this one, emptied. */
static void inquiry_begin(struct daemon_core *core, const struct load_inquiry *about,
                          struct ranges *places)
{
    struct load_inquiry *inquiry = memory_copy(about, sizeof(*about));

    inquiry->begun_ns = core->ops->now_ns(core->context);
    inquiry->measured_ns = inquiry->begun_ns + MEASURE_MS * NS_PER_MS;
    inquiry->due_ns = inquiry->begun_ns + inquiry->patience_ms * NS_PER_MS;
    inquiry->asked = hash_map_create();
    list_append(&core->loads, &inquiry->node);
    look_first(core, inquiry);
    hand_on(core, inquiry, places);
    set_timer(core);
}

bool daemon_core_load_is_first(const struct daemon_core *core, const struct ranges *places)
{
    const struct allocation *roster = instance_roster(core->instance);
    uint32_t last = core->spec->places - 1;

    if (roster != NULL && allocation_nodes(roster) > last)
        last = allocation_nodes(roster);
    return !ranges_is_empty(places) && ranges_min(places) == core->place &&
           ranges_max(places) <= last;
}

/* 1 if there is no place for one more, or it is a client's second one. */
static bool is_refused(const struct daemon_core *core, bool is_client, uint32_t asker)
{
    struct list_link *node, *spare;
    uint32_t count = 0;

    list_for_each(&core->loads, node, spare)
    {
        const struct load_inquiry *inquiry = list_entry(node, struct load_inquiry, node);

        count++;
        if (is_client && inquiry->is_client && inquiry->asker == asker)
            return true;
    }
    return count >= INQUIRIES_MAX;
}

int daemon_core_load_request(struct daemon_core *core, const struct daemon_event *event,
                             struct wire_reader *reader)
{
    struct load_inquiry about = {.asker = event->place, .request = event->id};
    struct load_request request;
    int rc = load_request_decode(&request, reader);

    if (rc < 0)
        return rc;
    if (!daemon_core_load_is_first(core, &request.places))
        rc = -EBADMSG;
    else if (is_refused(core, false, 0))
        rc = -EAGAIN;
    if (rc == 0) {
        about.rows = request.rows;
        about.patience_ms = request.patience_ms;
        ranges_remove(&request.places, core->place, core->place);
        inquiry_begin(core, &about, &request.places);
    }
    ranges_fini(&request.places);
    return rc;
}

void daemon_core_load_client(struct daemon_core *core, uint32_t client, uint32_t number,
                             struct wire_reader *reader)
{
    struct load_inquiry about = {
        .is_client = true, .asker = client, .request = number, .patience_ms = PATIENCE_MS};
    struct load_request request;
    int rc = load_request_decode(&request, reader);

    assert(daemon_core_is_root(core));
    if (rc == 0) {
        about.rows = request.rows;
        ranges_fini(&request.places);
        rc = is_refused(core, true, client) ? -EAGAIN : 0;
    }
    if (rc == 0) {
        struct ranges places = {0};

        instance_nodes_all(core->instance, &places);
        inquiry_begin(core, &about, &places);
        ranges_fini(&places);
    } else {
        daemon_core_request_answer(core, client, number, rc, NULL);
    }
}

/* If the first place of a part is lost the next one is asked. */
static void take_reply(struct daemon_core *core, struct load_inquiry *inquiry, struct ranges *part,
                       const struct daemon_event *event)
{
    const struct message *message = event->message;
    struct wire_reader reader;
    struct load load;
    int rc;

    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    rc = job_reply_decode(event->status, &reader);
    if (rc == -EHOSTDOWN) {
        ranges_remove(part, ranges_min(part), ranges_min(part));
        if (!ranges_is_empty(part)) {
            ask_part(core, inquiry, part);
            return;
        }
    } else if (rc < 0 || load_decode(&load, &reader) < 0) {
        ranges_add_all(&inquiry->load.silent, part);
    } else {
        load_merge(&inquiry->load, &load, inquiry->rows);
        load_fini(&load);
    }
    part_free(part);
}

int daemon_core_load_reply(struct daemon_core *core, const struct daemon_event *event)
{
    struct list_link *node, *spare;

    list_for_each(&core->loads, node, spare)
    {
        struct load_inquiry *inquiry = list_entry(node, struct load_inquiry, node);
        struct ranges *part = hash_map_remove_u64(inquiry->asked, event->id);

        if (part == NULL)
            continue;
        take_reply(core, inquiry, part, event);
        inquiry_check(core, inquiry);
        return 1;
    }
    return 0;
}

/* Replies that still come are nobody's. */
void daemon_core_load_gone(struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->loads, node, spare)
    {
        struct load_inquiry *inquiry = list_entry(node, struct load_inquiry, node);

        if (inquiry->is_client && inquiry->asker == client)
            inquiry_free(inquiry);
    }
}

void daemon_core_load_open(struct daemon_core *core)
{
    list_init(&core->loads);
}

void daemon_core_load_close(struct daemon_core *core)
{
    struct list_link *node;

    while ((node = list_first(&core->loads)) != NULL)
        inquiry_free(list_entry(node, struct load_inquiry, node));
}
