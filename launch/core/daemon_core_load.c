/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What machines, daemons and jobs use (launch/proto/load.h), by an inquiry that passes from place to place
 * (daemon_core_inquiry.h): each place measures itself for MEASURE_MS.
 *
 * Cost: nothing without requests; then two looks at each local process, and what the inquiry costs.
 */
#include "config.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/time.h"
#include "base/wire.h"
#include "launch/core/daemon_core_inquiry.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/load.h"

#define MEASURE_MS  300u
#define PATIENCE_MS 3000u /* of the root */

/* A local process when it was first looked at. */
struct load_process {
    uint32_t job;
    uint32_t index;
    uint64_t cpu_ns;
};

/* core.wake_ns is when the second look is due; UINT64_MAX: it is over. */
struct load_inquiry {
    struct core_inquiry core;
    uint32_t rows;
    uint64_t begun_ns;
    struct daemon_load before;
    struct load_process *processes;
    uint32_t processes_count;
    struct load load;
};

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
    inquiry->core.wake_ns = UINT64_MAX;
}

static bool load_is_done(struct daemon_core *core, struct core_inquiry *inquiry)
{
    if (inquiry->wake_ns <= core->ops->now_ns(core->context))
        look_again(core, (struct load_inquiry *)inquiry);
    return inquiry->wake_ns == UINT64_MAX;
}

/* ---- the inquiry ---- */

static struct message *load_ask(const struct core_inquiry *inquiry, const struct ranges *part,
                                uint32_t patience_ms)
{
    const struct load_request request = {.rows = ((const struct load_inquiry *)inquiry)->rows,
                                         .patience_ms = patience_ms,
                                         .places = *part};
    struct buffer data = {0};
    struct message *message;

    load_request_encode(&request, &data);
    message = job_request_message(JOB_MESSAGE_LOAD, data.data, data.length_bytes);
    buffer_fini(&data);
    return message;
}

static int load_take(struct core_inquiry *inquiry, struct wire_reader *reader)
{
    struct load_inquiry *own = (struct load_inquiry *)inquiry;
    struct load load;
    int rc = load_decode(&load, reader);

    if (rc < 0)
        return rc;
    load_merge(&own->load, &load, own->rows);
    load_fini(&load);
    return 0;
}

static struct ranges *load_silent(struct core_inquiry *inquiry)
{
    return &((struct load_inquiry *)inquiry)->load.silent;
}

static void load_answer(struct daemon_core *core, struct core_inquiry *inquiry, struct buffer *out)
{
    (void)core;
    load_encode(&((struct load_inquiry *)inquiry)->load, out);
}

static void load_free(struct core_inquiry *inquiry)
{
    struct load_inquiry *own = (struct load_inquiry *)inquiry;

    free(own->processes);
    load_fini(&own->load);
}

static const struct inquiry_kind kind = {.timer = DAEMON_TIMER_LOAD,
                                         .list = offsetof(struct daemon_core, loads),
                                         .is_done = load_is_done,
                                         .request = load_ask,
                                         .merge = load_take,
                                         .silent = load_silent,
                                         .encode = load_answer,
                                         .fini = load_free};

/* places: after this one, emptied. */
static void begin(struct daemon_core *core, const struct load_inquiry *about, struct ranges *places)
{
    struct load_inquiry *inquiry = memory_copy(about, sizeof(*about));

    inquiry->core.kind = &kind;
    inquiry->begun_ns = core->ops->now_ns(core->context);
    inquiry->core.wake_ns = inquiry->begun_ns + MEASURE_MS * NS_PER_MS;
    look_first(core, inquiry);
    daemon_core_inquiry_begin(core, &inquiry->core, places);
    if (inquiry->core.due_ns < inquiry->core.wake_ns)
        inquiry->core.due_ns = inquiry->core.wake_ns;
    daemon_core_inquiry_check(core, &inquiry->core);
}

int daemon_core_load_request(struct daemon_core *core, const struct daemon_event *event,
                             struct wire_reader *reader)
{
    struct load_inquiry about = {.core = {.asker = event->place, .request = event->id}};
    struct load_request request;
    int rc = load_request_decode(&request, reader);

    if (rc < 0)
        return rc;
    rc = daemon_core_inquiry_accept(core, &kind, false, 0, &request.places);
    if (rc == 0) {
        about.rows = request.rows;
        about.core.patience_ms = request.patience_ms;
        ranges_remove(&request.places, core->place, core->place);
        begin(core, &about, &request.places);
    }
    ranges_fini(&request.places);
    return rc;
}

void daemon_core_load_client(struct daemon_core *core, uint32_t client, uint32_t number,
                             struct wire_reader *reader)
{
    struct load_inquiry about = {
        .core = {
            .is_client = true, .asker = client, .request = number, .patience_ms = PATIENCE_MS}};
    struct load_request request;
    int rc = load_request_decode(&request, reader);

    assert(daemon_core_is_root(core));
    if (rc == 0) {
        about.rows = request.rows;
        ranges_fini(&request.places);
        rc = daemon_core_inquiry_accept(core, &kind, true, client, NULL);
    }
    if (rc == 0) {
        struct ranges places = {0};

        instance_nodes_all(core->instance, &places);
        begin(core, &about, &places);
        ranges_fini(&places);
    } else {
        daemon_core_request_answer(core, client, number, rc, NULL);
    }
}

int daemon_core_load_reply(struct daemon_core *core, const struct daemon_event *event)
{
    return daemon_core_inquiry_reply(core, &kind, event);
}

void daemon_core_load_due(struct daemon_core *core)
{
    daemon_core_inquiry_due(core, &kind);
}

void daemon_core_load_gone(struct daemon_core *core, uint32_t client)
{
    daemon_core_inquiry_gone(core, &kind, client);
}

void daemon_core_load_open(struct daemon_core *core)
{
    daemon_core_inquiry_open(core, &kind);
}

void daemon_core_load_close(struct daemon_core *core)
{
    daemon_core_inquiry_close(core, &kind);
}
