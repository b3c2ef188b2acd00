/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a simulated daemon: the core that ships (launch/core), on an endpoint of the simulated
 * network.
 */
#include "config.h"

#include "base/time.h"
#include "launch/sim/sim_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/wire.h"
#include "launch/core/daemon_tree.h"

/* The latency from the helper to the daemon. */
#define TELL_NS 20000

/* ---- events ---- */

const struct instance *sim_daemon_instance(const struct sim_daemon *daemon)
{
    return daemon->core != NULL ? daemon_core_instance(daemon->core) : NULL;
}

/* On its way out a core hears of that only. */
void sim_daemon_post(struct sim_daemon *daemon, const struct daemon_event *event)
{
    if (sim_daemon_is_up(daemon) || daemon->state == SIM_DAEMON_ENDING)
        daemon_core_step(daemon->core, event);
}

void sim_daemon_post_job(struct sim_daemon *daemon, struct job_event *event)
{
    struct daemon_event happened = {.kind = DAEMON_EVENT_JOB, .job_event = event};

    if (sim_daemon_is_up(daemon))
        sim_daemon_post(daemon, &happened);
}

int sim_daemon_defers(struct sim_daemon *daemon, virtual_network_call_function *function,
                      void *context, uint64_t argument)
{
    if (!daemon->stopped)
        return 0;
    daemon->waiting =
        memory_resize(daemon->waiting, (daemon->waiting_count + 1) * sizeof(*daemon->waiting));
    daemon->waiting[daemon->waiting_count++] =
        (struct sim_call){.function = function, .context = context, .argument = argument};
    return 1;
}

/* An event of the helper about a part: its kind << 56, a flag << 48, a number << 24, the index. */
static void call_hear(void *context, uint64_t argument)
{
    const struct sim_part *part = context;
    uint32_t number = (uint32_t)(argument >> 24 & 0xffffff);
    struct job_event event = {.kind = (enum job_event_kind)(argument >> 56),
                              .job = part->job->number,
                              .index = (uint32_t)(argument & 0xffffff),
                              .number = number,
                              .flag = (int)(argument >> 48 & 1)};

    if (!sim_daemon_is_up(part->daemon) ||
        sim_daemon_defers(part->daemon, call_hear, context, argument))
        return;
    if (event.kind == JOB_EVENT_START_FAILED) {
        event.number = sim_start_failures[number].code;
        event.step = sim_start_failures[number].step;
    } else if (event.kind == JOB_EVENT_DRAINED) {
        event.number = (int64_t)part->forwarded_bytes;
    }
    sim_daemon_post_job(part->daemon, &event);
}

void sim_daemon_tell(struct sim_part *part, enum job_event_kind kind, uint32_t index,
                     uint32_t number, int flag)
{
    struct virtual_network *sim = part->daemon->machine->sim;
    uint64_t argument = (uint64_t)kind << 56 | (uint64_t)(flag != 0) << 48 |
                        (uint64_t)number << 24 | (uint64_t)index;

    assert(index < 1u << 24 && number < 1u << 24);
    virtual_network_at(sim, virtual_network_now_ns(sim) + TELL_NS, call_hear, part, argument);
}

void sim_daemon_continue(struct sim_daemon *daemon)
{
    struct virtual_network *sim = daemon->machine->sim;

    daemon->stopped = 0;
    virtual_network_continue(sim, daemon->slot);
    for (uint32_t i = 0; i < daemon->waiting_count; i++)
        virtual_network_at(sim, virtual_network_now_ns(sim), daemon->waiting[i].function,
                           daemon->waiting[i].context, daemon->waiting[i].argument);
    daemon->waiting_count = 0;
    for (struct sim_part *part = daemon->parts; part != NULL; part = part->next)
        sim_process_continue(part);
}

struct sim_part *sim_daemon_part(const struct sim_daemon *daemon, uint32_t job)
{
    struct sim_part *part = daemon->parts;

    while (part != NULL && (part->local == NULL || part->job->number != job))
        part = part->next;
    return part;
}

/* ---- the overlay's upcalls, of which some are for the one who watches ---- */

const struct sim_watch *sim_daemon_watch(const struct sim_daemon *daemon)
{
    static const struct sim_watch nobody;

    return sim_daemon_is_stranger(daemon) ? &nobody : daemon->machine->watch;
}

static void on_endpoint_joined(void *context)
{
    daemon_tree_events.joined(((struct sim_daemon *)context)->core);
}

static void on_endpoint_linked(void *context, uint32_t place)
{
    daemon_tree_events.linked(((struct sim_daemon *)context)->core, place);
}

static void on_endpoint_unlinked(void *context, uint32_t place, const struct error *why)
{
    daemon_tree_events.unlinked(((struct sim_daemon *)context)->core, place, why);
}

static void on_endpoint_complete(void *context)
{
    struct sim_daemon *daemon = context;
    const struct sim_watch *watch = sim_daemon_watch(daemon);

    if (watch->complete)
        watch->complete(daemon->machine->context, virtual_network_now_ns(daemon->machine->sim));
    daemon_tree_events.complete(daemon->core);
}

static void on_endpoint_broadcast(void *context, struct message *payload)
{
    struct sim_daemon *daemon = context;
    const struct sim_watch *watch = sim_daemon_watch(daemon);

    if (payload->length_bytes == 0 || payload->data[0] != SIM_MESSAGE)
        daemon_tree_events.broadcast(daemon->core, payload);
    else if (watch->broadcast)
        watch->broadcast(daemon->machine->context, daemon->place, payload);
}

static void on_endpoint_result(void *context, const struct operation_name *key, int status,
                               const struct ranges *lost, struct message *payload)
{
    struct sim_daemon *daemon = context;
    const struct sim_watch *watch = sim_daemon_watch(daemon);

    if (key->kind != SIM_OPERATION)
        daemon_tree_events.result(daemon->core, key, status, lost, payload);
    else if (watch->result)
        watch->result(daemon->machine->context, daemon->place, key->generation, status, payload);
}

static void on_endpoint_received(void *context, uint32_t source, uint8_t class,
                                 struct message *payload)
{
    daemon_tree_events.received(((struct sim_daemon *)context)->core, source, class, payload);
}

static void on_endpoint_request(void *context, uint32_t source, uint32_t id,
                                struct message *payload)
{
    daemon_tree_events.request(((struct sim_daemon *)context)->core, source, id, payload);
}

static void on_endpoint_reply(void *context, uint32_t id, int status, struct message *payload)
{
    daemon_tree_events.reply(((struct sim_daemon *)context)->core, id, status, payload);
}

static void on_endpoint_seen(void *context, const struct ranges *places, enum endpoint_loss loss,
                             uint64_t silent_ns)
{
    daemon_tree_events.seen(((struct sim_daemon *)context)->core, places, loss, silent_ns);
}

static void on_endpoint_silent(void *context, uint32_t place, uint64_t silent_ns)
{
    daemon_tree_events.silent(((struct sim_daemon *)context)->core, place, silent_ns);
}

static void on_endpoint_lost(void *context, const struct ranges *places)
{
    struct sim_daemon *daemon = context;
    struct sim_machine *machine = daemon->machine;

    if (daemon->place == 0 && machine->watch->lost)
        machine->watch->lost(machine->context, virtual_network_now_ns(machine->sim), places);
    if (sim_daemon_watch(daemon)->reported_lost)
        sim_daemon_watch(daemon)->reported_lost(machine->context, daemon->place, places);
    daemon_tree_events.lost(daemon->core, places);
}

static void on_endpoint_missing(void *context, const struct operation_name *key,
                                const struct ranges *set, const struct endpoint_missing *who)
{
    if (key->kind != SIM_OPERATION)
        daemon_tree_events.missing(((struct sim_daemon *)context)->core, key, set, who);
}

static void on_endpoint_ended(void *context, enum endpoint_end end, const struct error *why)
{
    struct sim_daemon *daemon = context;

    if (sim_daemon_is_up(daemon))
        daemon->end = end;
    daemon_tree_events.ended(daemon->core, end, why);
}

static const struct endpoint_events endpoint_events = {
    .joined = on_endpoint_joined,
    .linked = on_endpoint_linked,
    .unlinked = on_endpoint_unlinked,
    .complete = on_endpoint_complete,
    .broadcast = on_endpoint_broadcast,
    .result = on_endpoint_result,
    .received = on_endpoint_received,
    .request = on_endpoint_request,
    .reply = on_endpoint_reply,
    .seen = on_endpoint_seen,
    .silent = on_endpoint_silent,
    .lost = on_endpoint_lost,
    .left = on_endpoint_lost, /* the same to a job */
    .missing = on_endpoint_missing,
    .ended = on_endpoint_ended,
};

/* ---- life ---- */

/* Takes the order of the record. */
static void make_core(struct sim_daemon *daemon, struct boot_record *record)
{
    const struct sim_machine *machine = daemon->machine;
    struct daemon_core_config config = {
        .spec = &machine->instance,
        .place = boot_record_listed_place(record),
        .range = record->range,
        .order = record->order,
        .roster = record->place == 0 ? machine->config.allocation : NULL,
        .policy = machine->config.policy,
        .directory = "",
        .credit_piece_bytes = CONTROL_NODE_WINDOW / 4,
        .ops = &sim_ops,
        .context = daemon,
    };

    daemon->order = record->order;
    record->order = NULL;
    daemon->listed = config.place;
    daemon->core = daemon_core_create(&config);
    daemon->end = ENDPOINT_END_LEFT;
    daemon->end_timer_ns = UINT64_MAX;
    daemon->names_timer_ns = UINT64_MAX;
    daemon->load_timer_ns = UINT64_MAX;
}

static void come_up(struct sim_daemon *daemon, struct boot_record *record)
{
    struct sim_machine *machine = daemon->machine;
    struct endpoint_config config = {
        .place = record->place,
        .places = record->instance.places,
        .radix = record->instance.radix,
        .trees = record->instance.trees,
        .incarnation = daemon->incarnation,
        .heartbeat_ns = record->instance.heartbeat_ms * NS_PER_MS,
        .lease_ns = record->instance.lease_ms * NS_PER_MS,
        .ancestors = record->ancestors,
        .ancestors_count = record->ancestors_count,
        .merges = job_merges,
        .merges_count = JOB_MERGE_COUNT,
    };

    daemon->state = SIM_DAEMON_UP;
    machine->up++;
    make_core(daemon, record);
    virtual_network_address(daemon->place, &config.own);
    daemon->endpoint = endpoint_create(&config, &endpoint_events, daemon);
    daemon_tree_attach(daemon->core, daemon->endpoint);
    endpoint_attach(daemon->endpoint, virtual_network_transport_ops(),
                    virtual_network_transport(machine->sim, daemon->slot));
    virtual_network_attach_as(machine->sim, daemon->slot, daemon->place, daemon->incarnation,
                              endpoint_transport_events(), daemon->endpoint);
    endpoint_start(daemon->endpoint, &config.own);
}

void sim_daemon_start(struct sim_daemon *daemon)
{
    struct boot_record record;

    sim_starter_record(daemon, &record);
    daemon->incarnation = record.incarnation;
    come_up(daemon, &record);
    boot_record_fini(&record);
    sim_daemon_post(daemon, &(struct daemon_event){.kind = DAEMON_EVENT_START});
}

void sim_daemon_restart(struct sim_daemon *daemon)
{
    struct sim_daemon again = {.machine = daemon->machine,
                               .slot = daemon->slot,
                               .place = daemon->place,
                               .starter = daemon->starter,
                               .linked = 1,
                               .incarnation = daemon->incarnation + 1};
    struct boot_record record;

    if (sim_daemon_is_up(daemon) || daemon->endpoint == NULL)
        return; /* it has not died, or was never started */
    virtual_network_kill(daemon->machine->sim, daemon->slot);
    again.boot = message_reference(daemon->boot);
    sim_daemon_fini(daemon);
    *daemon = again;
    sim_starter_record(daemon, &record);
    come_up(daemon, &record);
    boot_record_fini(&record);
}

void sim_daemon_claim(struct sim_daemon *daemon, uint32_t place)
{
    const struct sim_daemon *victim = &daemon->machine->daemons[place];
    struct boot_record record;

    if (daemon->state != SIM_DAEMON_ABSENT || victim->endpoint == NULL)
        return;
    daemon->boot = message_reference(victim->boot);
    daemon->incarnation = victim->incarnation;
    daemon->place = place;
    daemon->linked = 1;
    sim_starter_record(daemon, &record);
    come_up(daemon, &record);
    boot_record_fini(&record);
}

void sim_daemon_leaves(struct sim_daemon *daemon, enum sim_daemon_state state)
{
    struct sim_machine *machine = daemon->machine;

    assert(sim_daemon_is_up(daemon));
    daemon->state = state;
    machine->up--;
    for (struct sim_part *part = daemon->parts; part != NULL; part = part->next)
        sim_process_vanish(part);
    if (state == SIM_DAEMON_ENDING && sim_daemon_watch(daemon)->ended)
        sim_daemon_watch(daemon)->ended(machine->context, virtual_network_now_ns(machine->sim),
                                        daemon->place, daemon->end);
}

void sim_daemon_exit(struct sim_daemon *daemon)
{
    assert(daemon->state == SIM_DAEMON_ENDING);
    daemon->state = SIM_DAEMON_ENDED;
    virtual_network_kill(daemon->machine->sim, daemon->slot);
    sim_starter_notice(daemon);
}

void sim_daemon_kill(struct sim_daemon *daemon)
{
    if (daemon->state == SIM_DAEMON_ABSENT)
        daemon->state = SIM_DAEMON_KILLED; /* it will never come up */
    if (sim_daemon_is_up(daemon))
        sim_daemon_leaves(daemon, SIM_DAEMON_KILLED);
    else if (daemon->state != SIM_DAEMON_ENDING)
        return;
    daemon->state = SIM_DAEMON_KILLED;
    virtual_network_kill(daemon->machine->sim, daemon->slot);
    sim_starter_notice(daemon);
}

void sim_part_destroy(struct sim_part *part)
{
    free(part->processes);
    free(part);
}

/* Scheduled calls may refer to the parts: they are kept until the end, without a daemon. */
void sim_daemon_fini(struct sim_daemon *daemon)
{
    struct sim_part *part;

    while ((part = daemon->parts) != NULL) {
        daemon->parts = part->next;
        part->local = NULL;
        part->next = daemon->machine->old_parts;
        daemon->machine->old_parts = part;
    }
    endpoint_destroy(daemon->endpoint);
    daemon_core_destroy(daemon->core);
    node_order_destroy(daemon->order);
    message_release(daemon->boot);
    free(daemon->waiting);
}
