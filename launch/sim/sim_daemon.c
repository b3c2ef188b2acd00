/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon of the simulated machine: what daemon.c, daemon_overlay.c, daemon_job.c and root.c do,
 * with a starter that brings daemons up after a while and a front end that counts bytes.
 */
#include "config.h"

#include "base/time.h"
#include "launch/sim/sim_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "launch/proto/survey.h"
#include "overlay/tree.h"

/* As in root.c. */
#define LEAVE_MS            5000
#define LEAVE_INCOMPLETE_MS 1000
/* How long a daemon's process exists after its end. */
#define EXIT_MS 200
/* The time in which a starter notices the end of its daemon. */
#define NOTICE_MS 20
/* The latency from the helper to the daemon. */
#define TELL_NS 20000

/* ---- events of helper and starter ---- */

static const char *const place_failures[] = {
    "ssh exited 255: Connection refused",
    "no answer within 10 s",
    "ssh exited 255: Connection closed",
};

enum place_failure { PLACE_REFUSED, PLACE_SILENT, PLACE_GONE };

/* A rank's or a group's event comes from its part, a daemon's failure from its starter. */
static struct sim_daemon *hearer(const struct sim_news *news)
{
    if ((enum job_event_kind)(news->argument >> 56) == JOB_EVENT_PLACE_FAILED)
        return news->context;
    return ((struct sim_part *)news->context)->daemon;
}

static void hear(const struct sim_news *news)
{
    enum job_event_kind kind = (enum job_event_kind)(news->argument >> 56);
    const struct sim_part *part = kind == JOB_EVENT_PLACE_FAILED ? NULL : news->context;
    struct sim_daemon *daemon = hearer(news);
    uint32_t index = (uint32_t)(news->argument & 0xffffff);
    uint32_t number = (uint32_t)(news->argument >> 24 & 0xffffff);
    struct job_event event = {.kind = kind,
                              .job = part ? part->job->number : 0,
                              .index = index,
                              .number = number,
                              .flag = (int)(news->argument >> 48 & 1)};

    if (kind == JOB_EVENT_START_FAILED) {
        event.number = sim_start_failures[number].code;
        event.step = sim_start_failures[number].step;
    } else if (kind == JOB_EVENT_DRAINED) {
        event.number = (int64_t)part->forwarded_bytes;
    } else if (kind == JOB_EVENT_PLACE_FAILED) {
        event.place = index;
        event.text = place_failures[number];
    }
    sim_daemon_event(daemon, &event);
    if (kind == JOB_EVENT_PLACE_FAILED && sim_daemon_is_up(daemon))
        node_place_failed(daemon->node, index);
}

static void call_hear(void *context, uint64_t argument)
{
    struct sim_news news = {.context = context, .argument = argument};
    enum job_event_kind kind = (enum job_event_kind)(argument >> 56);
    struct sim_daemon *daemon = hearer(&news);

    if (!sim_daemon_is_up(daemon))
        return;
    if (kind == JOB_EVENT_PLACE_FAILED && daemon->machine->leaving && daemon->place == 0)
        return; /* exits are expected */
    if (daemon->stopped) {
        daemon->waiting =
            memory_resize(daemon->waiting, (daemon->waiting_count + 1) * sizeof *daemon->waiting);
        daemon->waiting[daemon->waiting_count++] = news;
        return;
    }
    hear(&news);
}

static void tell_after(struct sim *sim, void *context, uint64_t delay_ns, enum job_event_kind kind,
                       uint32_t index, uint32_t number, int flag)
{
    uint64_t argument = (uint64_t)kind << 56 | (uint64_t)(flag != 0) << 48 |
                        (uint64_t)number << 24 | (uint64_t)index;

    assert(index < 1u << 24 && number < 1u << 24);
    sim_at(sim, sim_now_ns(sim) + delay_ns, call_hear, context, argument);
}

void sim_daemon_tell(struct sim_part *part, enum job_event_kind kind, uint32_t index,
                     uint32_t number, int flag)
{
    tell_after(part->daemon->machine->sim, part, TELL_NS, kind, index, number, flag);
}

/* Reports the failure of a daemon to its starter. */
static void tell_place_failed(struct sim_daemon *child, uint64_t delay_ns,
                              enum place_failure failure)
{
    struct sim_machine *machine = child->machine;

    tell_after(machine->sim, &machine->daemons[child->starter], delay_ns, JOB_EVENT_PLACE_FAILED,
               child->place, failure, 0);
}

void sim_daemon_continue(struct sim_daemon *daemon)
{
    struct sim *sim = daemon->machine->sim;

    daemon->stopped = 0;
    sim_continue(sim, daemon->slot);
    for (uint32_t i = 0; i < daemon->waiting_count; i++)
        sim_at(sim, sim_now_ns(sim), call_hear, daemon->waiting[i].context,
               daemon->waiting[i].argument);
    daemon->waiting_count = 0;
    for (struct sim_part *part = daemon->parts; part != NULL; part = part->next)
        sim_process_continue(part);
}

/* ---- the end ---- */

static void call_leave_over(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;

    (void)argument;
    sim_daemon_end(daemon, NODE_END_LEFT); /* some have not left in time */
}

void sim_daemon_leave(struct sim_daemon *root)
{
    uint64_t patience_ms = node_is_complete(root->node) ? LEAVE_MS : LEAVE_INCOMPLETE_MS;
    struct sim *sim = root->machine->sim;

    root->machine->leaving = 1;
    sim_at(sim, sim_now_ns(sim) + patience_ms * NS_PER_MS, call_leave_over, root, 0);
    node_leave(root->node);
}

/* ---- the job logic's actions ---- */

static void sim_survey(struct sim_daemon *daemon, uint32_t number)
{
    struct survey survey = {.why = ""};
    struct buffer payload = {0};
    struct job_event event = {.kind = JOB_EVENT_SURVEYED, .job = number};

    sim_machine_add(daemon->machine->config.machine_sorts, daemon->place, &survey.machines);
    survey_encode(&survey, &payload);
    event.message = message_from_buffer(&payload);
    sim_daemon_event(daemon, &event);
    message_release(event.message);
    survey_fini(&survey);
    buffer_fini(&payload);
}

struct sim_part *sim_daemon_part(const struct sim_daemon *daemon, uint32_t job)
{
    struct sim_part *part = daemon->parts;

    while (part != NULL && (part->local == NULL || part->job->number != job))
        part = part->next;
    return part;
}

static void open_part(struct sim_daemon *daemon, uint32_t job)
{
    struct sim_part *part = memory_allocate_zeroed(sizeof *part);

    part->daemon = daemon;
    part->job = daemon->machine->jobs[job - 1];
    part->local = instance_part(daemon->instance, job);
    part->next = daemon->parts;
    daemon->parts = part;
    sim_process_open(part);
}

static void part_action(struct sim_part *part, const struct job_action *action)
{
    if (part == NULL)
        return; /* the launch was refused */
    switch (action->kind) {
    case JOB_ACTION_START:
        for (uint32_t i = 0; i < action->start.count; i++)
            sim_process_start(part, action->start.first + i);
        break;
    case JOB_ACTION_CANCEL_STARTS: /* all starts are under way */
        break;
    case JOB_ACTION_SIGNAL:
        sim_process_signal(part, action->signal);
        break;
    case JOB_ACTION_END_GROUP:
        sim_process_end_group(part, action->grace_ms);
        break;
    case JOB_ACTION_CUT_OUTPUT:
        sim_process_cut(part, action->cut.within_ms, action->cut.discard);
        break;
    default:
        assert(action->kind == JOB_ACTION_CLOSE);
        part->local = NULL;
    }
}

static void do_action(struct sim_daemon *daemon, const struct job_action *action)
{
    switch (action->kind) {
    case JOB_ACTION_BROADCAST:
        node_broadcast(daemon->node, ranges_is_empty(&action->places) ? NULL : &action->places,
                       message_reference(action->message));
        break;
    case JOB_ACTION_CONTRIBUTE:
        node_contribute(daemon->node, &action->key, &action->places,
                        message_reference(action->message));
        break;
    case JOB_ACTION_SEND:
        node_send(daemon->node, action->place, FRAME_CONTROL, message_reference(action->message));
        break;
    case JOB_ACTION_SURVEY: /* the requirements apply only to real nodes */
        sim_survey(daemon, action->job);
        break;
    case JOB_ACTION_OPEN:
        open_part(daemon, action->job);
        break;
    case JOB_ACTION_FORGET:
        node_forget(daemon->node, action->job, &action->places);
        break;
    case JOB_ACTION_START:
    case JOB_ACTION_CANCEL_STARTS:
    case JOB_ACTION_SIGNAL:
    case JOB_ACTION_END_GROUP:
    case JOB_ACTION_CUT_OUTPUT:
    case JOB_ACTION_CLOSE:
        part_action(sim_daemon_part(daemon, action->job), action);
        break;
    default:
        sim_user_action(daemon, action);
    }
}

void sim_daemon_event(struct sim_daemon *daemon, struct job_event *event)
{
    struct job_actions actions;

    if (!sim_daemon_is_up(daemon))
        return;
    job_actions_init(&actions);
    event->now_ns = sim_now_ns(daemon->machine->sim);
    instance_step(daemon->instance, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        do_action(daemon, &actions.items[i]);
    job_actions_fini(&actions);
}

/* ---- the overlay's upcalls ---- */

/* The observer of events there. */
static const struct sim_watch *watch_of(const struct sim_daemon *daemon)
{
    static const struct sim_watch nobody;

    return sim_daemon_is_stranger(daemon) ? &nobody : daemon->machine->watch;
}

static void joined(void *context)
{
    (void)context;
}

static void linked(void *context, uint32_t place)
{
    struct sim_daemon *daemon = context;
    struct sim_daemon *other = &daemon->machine->daemons[place];

    if (other->starter == daemon->place)
        other->linked = 1;
}

static void complete(void *context)
{
    struct sim_daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_COMPLETE};

    if (watch_of(daemon)->complete)
        watch_of(daemon)->complete(daemon->machine->context, sim_now_ns(daemon->machine->sim));
    /* A job runs on the initial nodes of its instance. */
    if (node_population(daemon->node) == daemon->machine->places)
        sim_daemon_event(daemon, &event);
}

static void broadcast(void *context, struct message *payload)
{
    struct sim_daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_BROADCAST, .message = payload};

    if (payload->length_bytes == 0 || payload->data[0] != SIM_MESSAGE)
        sim_daemon_event(daemon, &event);
    else if (watch_of(daemon)->broadcast)
        watch_of(daemon)->broadcast(daemon->machine->context, daemon->place, payload);
}

static void result(void *context, const struct node_key *key, int status, const struct ranges *lost,
                   struct message *payload)
{
    struct sim_daemon *daemon = context;
    struct sim_machine *machine = daemon->machine;
    struct sim_part *part;
    struct job_event event = {
        .kind = JOB_EVENT_RESULT, .key = key, .status = status, .places = lost, .message = payload};

    if (key->kind == SIM_OPERATION) {
        if (watch_of(daemon)->result)
            watch_of(daemon)->result(machine->context, daemon->place, key->generation, status,
                                     payload);
        return;
    }
    if (key->kind != JOB_OPERATION_PMI1) {
        sim_daemon_event(daemon, &event);
        return;
    }
    part = sim_daemon_part(daemon, key->owner);
    if (part == NULL)
        return; /* as without services: nothing waits for it */
    if (watch_of(daemon)->fence)
        watch_of(daemon)->fence(machine->context, key->owner, daemon->place, key->generation,
                                status, payload);
    sim_process_fence_result(part, status);
}

static void received(void *context, uint32_t source, uint8_t class, struct message *payload)
{
    struct sim_daemon *daemon = context;
    struct job_event event = {.kind = JOB_EVENT_RECEIVED, .place = source, .message = payload};
    struct wire_reader reader;
    struct sim_part *part;
    uint8_t kind;

    (void)class;
    wire_reader_init(&reader, payload->data, payload->length_bytes);
    kind = wire_get_u8(&reader);
    if (kind == JOB_MESSAGE_OUTPUT) {
        sim_user_output(daemon, source, &reader);
    } else if (kind == JOB_MESSAGE_CREDIT) {
        part = sim_daemon_part(daemon, wire_get_u32(&reader));
        if (part != NULL)
            sim_process_credit(part, wire_get_u32(&reader));
    } else {
        sim_daemon_event(daemon, &event);
    }
}

static void request(void *context, uint32_t source, uint32_t id, struct message *payload)
{
    (void)context;
    (void)source;
    (void)id;
    (void)payload;
    assert(!"nobody asks");
}

static void reply(void *context, uint32_t id, int status, struct message *payload)
{
    (void)context;
    (void)id;
    (void)status;
    (void)payload;
    assert(!"nobody has asked");
}

static void lost(void *context, const struct ranges *places)
{
    struct sim_daemon *daemon = context;
    struct sim_machine *machine = daemon->machine;
    struct job_event event = {.kind = JOB_EVENT_LOST, .places = places};

    if (daemon->place == 0 && machine->watch->lost)
        machine->watch->lost(machine->context, sim_now_ns(machine->sim), places);
    if (watch_of(daemon)->told_lost)
        watch_of(daemon)->told_lost(machine->context, daemon->place, places);
    for (struct sim_part *part = daemon->parts; part != NULL; part = part->next)
        sim_process_credit_renew(part);
    sim_daemon_event(daemon, &event);
}

static void seen(void *context, const struct ranges *places, enum node_loss loss,
                 uint64_t silent_ns)
{
    struct job_event event = {.kind = JOB_EVENT_SEEN,
                              .places = places,
                              .status = (int)loss,
                              .number = (int64_t)silent_ns};

    sim_daemon_event(context, &event);
}

static void ended(void *context, enum node_end end, const struct error *why)
{
    (void)why;
    sim_daemon_end(context, end);
}

static const struct node_events node_events = {
    .joined = joined,
    .linked = linked,
    .complete = complete,
    .broadcast = broadcast,
    .result = result,
    .received = received,
    .request = request,
    .reply = reply,
    .seen = seen,
    .lost = lost,
    .left = lost, /* the same to a job */
    .ended = ended,
};

/* ---- starters ---- */

/* The starter of a daemon soon notices that its process has exited. */
static void notice(struct sim_daemon *daemon)
{
    struct sim_machine *machine = daemon->machine;

    if (daemon->place > 0 && !sim_daemon_is_stranger(daemon))
        tell_place_failed(daemon, 1 + sim_random(machine, NOTICE_MS * NS_PER_MS), PLACE_GONE);
}

/* Context is the daemon that should have joined by now. */
static void call_start_timeout(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;

    (void)argument;
    if (!daemon->linked)
        tell_place_failed(daemon, 0, PLACE_SILENT);
}

/* The boot record is written to the new daemon, if its starter still lives. */
static void call_boot(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;

    (void)argument;
    if (daemon->state == SIM_DAEMON_ABSENT &&
        sim_daemon_is_up(&daemon->machine->daemons[daemon->starter]))
        sim_daemon_start(daemon);
}

/* The child's process has been started; it gets its boot record after a delay. */
static void call_started(void *context, uint64_t delay_ns)
{
    struct sim_daemon *child = context;
    struct sim_machine *machine = child->machine;

    sim_work(machine->sim, child->slot, sim_now_ns(machine->sim) + delay_ns,
             machine->config.daemon_cpu_ns, call_boot, child, 0);
}

/* Hands a boot record to a starter; takes it. */
static void start_with(struct sim_daemon *daemon, struct boot_record *record)
{
    struct sim_machine *machine = daemon->machine;
    struct sim_daemon *child = &machine->daemons[record->place];
    uint64_t now_ns = sim_now_ns(machine->sim);
    uint64_t delay_ns =
        1 + machine->config.daemon_ns + sim_random(machine, machine->config.daemon_ns_max);
    struct buffer text = {0};

    child->starter = daemon->place;
    boot_record_encode(record, &text);
    boot_record_fini(record);
    child->boot = message_from_buffer(&text);
    buffer_fini(&text);
    sim_at(machine->sim, now_ns + machine->instance.start_timeout_s * 1000ull * NS_PER_MS,
           call_start_timeout, child, 0);
    if (random_chance(&machine->random, machine->config.daemon_fails))
        tell_place_failed(child, delay_ns, PLACE_REFUSED);
    else if (!random_chance(&machine->random, machine->config.daemon_silent))
        sim_work(machine->sim, daemon->slot, now_ns, machine->config.starter_cpu_ns, call_started,
                 child, delay_ns);
}

static void start_child(struct sim_daemon *daemon, const struct boot_record *own_record,
                        struct range range)
{
    struct boot_record record;
    struct addresses own;

    sim_address(daemon->place, &own);
    boot_record_child(own_record, &own, range, &record);
    start_with(daemon, &record);
}

/* A new place has no children to start. */
static void start_children(struct sim_daemon *daemon, const struct boot_record *record)
{
    struct tree tree = {.places = record->instance.places, .radix = record->instance.radix};

    for (uint32_t i = 0; i < tree_cut_count(&tree, record->range); i++)
        start_child(daemon, record, tree_cut(&tree, record->range, i));
}

/* ---- life ---- */

/* The costs that a daemon would have measured in such a network. */
static struct node_costs sim_costs(const struct sim_machine *machine)
{
    const struct sim_network *network = &machine->config.network;
    uint64_t port_ps = network->send_byte_ps > network->receive_byte_ps ? network->send_byte_ps
                                                                        : network->receive_byte_ps;
    uint64_t cpu_ps = network->cpu_send_byte_ps > network->cpu_receive_byte_ps
                          ? network->cpu_send_byte_ps
                          : network->cpu_receive_byte_ps;

    return (struct node_costs){.hop_ns = machine->config.latency_ns + machine->config.jitter_ns / 2,
                               .message_ns = network->cpu_send_ns,
                               .byte_ps = port_ps > cpu_ps ? port_ps : cpu_ps};
}

static void come_up(struct sim_daemon *daemon, const struct boot_record *record)
{
    struct sim_machine *machine = daemon->machine;
    struct node_config config = {
        .place = record->place,
        .places = record->instance.places,
        .radix = record->instance.radix,
        .incarnation = daemon->incarnation,
        .heartbeat_ns = record->instance.heartbeat_ms * NS_PER_MS,
        .lease_ns = record->instance.lease_ms * NS_PER_MS,
        .costs = sim_costs(machine),
        .ancestors = record->ancestors,
        .ancestors_count = record->ancestors_count,
        .merges = job_merges,
        .merges_count = JOB_MERGE_COUNT,
    };

    daemon->state = SIM_DAEMON_UP;
    machine->up++;
    daemon->instance = instance_create(&machine->instance, record->place,
                                       record->place == 0 ? machine->config.allocation : NULL,
                                       machine->config.policy);
    sim_address(daemon->place, &config.own);
    daemon->node = node_create(&config, &node_events, daemon);
    node_attach(daemon->node, sim_transport_ops(), sim_transport(machine->sim, daemon->slot));
    sim_attach_as(machine->sim, daemon->slot, daemon->place, daemon->incarnation,
                  node_transport_events(), daemon->node);
    node_start(daemon->node, &config.own);
}

/* A million daemons would not fit into memory if each kept its boot record. */
static void read_record(const struct sim_daemon *daemon, struct boot_record *ret_record)
{
    struct wire_reader reader;

    wire_reader_init(&reader, daemon->boot->data, daemon->boot->length_bytes);
    boot_record_init(ret_record);
    if (boot_record_decode(ret_record, &reader) < 0)
        assert(!"the boot record can be read");
}

void sim_daemon_start(struct sim_daemon *daemon)
{
    struct boot_record record;

    read_record(daemon, &record);
    daemon->incarnation = record.incarnation;
    come_up(daemon, &record);
    start_children(daemon, &record);
    boot_record_fini(&record);
}

void sim_daemon_start_new(struct sim_daemon *root, uint32_t place)
{
    struct boot_record record;
    struct boot_record own_record;
    struct addresses own;
    char name[32];

    snprintf(name, sizeof name, "new%u", place);
    sim_address(0, &own);
    read_record(root, &own_record);
    boot_record_newcomer(&own_record, &own, place, name, &record);
    boot_record_fini(&own_record);
    start_with(root, &record);
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

    if (sim_daemon_is_up(daemon) || daemon->node == NULL)
        return; /* it has not died, or was never started */
    sim_kill(daemon->machine->sim, daemon->slot);
    again.boot = message_reference(daemon->boot);
    sim_daemon_fini(daemon);
    *daemon = again;
    read_record(daemon, &record);
    come_up(daemon, &record);
    boot_record_fini(&record);
}

void sim_daemon_claim(struct sim_daemon *daemon, uint32_t place)
{
    const struct sim_daemon *victim = &daemon->machine->daemons[place];
    struct boot_record record;

    if (daemon->state != SIM_DAEMON_ABSENT || victim->node == NULL)
        return;
    daemon->boot = message_reference(victim->boot);
    daemon->incarnation = victim->incarnation;
    daemon->place = place;
    daemon->linked = 1;
    read_record(daemon, &record);
    come_up(daemon, &record);
    boot_record_fini(&record);
}

static void gone(struct sim_daemon *daemon, enum sim_daemon_state state)
{
    daemon->state = state;
    daemon->machine->up--;
    for (struct sim_part *part = daemon->parts; part != NULL; part = part->next)
        sim_process_vanish(part);
}

static void call_exit(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;

    (void)argument;
    if (daemon->state != SIM_DAEMON_ENDED)
        return; /* it has been started again */
    sim_kill(daemon->machine->sim, daemon->slot);
    notice(daemon);
}

void sim_daemon_end(struct sim_daemon *daemon, enum node_end end)
{
    struct sim_machine *machine = daemon->machine;
    uint64_t now_ns = sim_now_ns(machine->sim);

    if (!sim_daemon_is_up(daemon))
        return;
    gone(daemon, SIM_DAEMON_ENDED);
    sim_at(machine->sim, now_ns + EXIT_MS * NS_PER_MS, call_exit, daemon, 0);
    if (watch_of(daemon)->ended)
        watch_of(daemon)->ended(machine->context, now_ns, daemon->place, end);
}

void sim_daemon_kill(struct sim_daemon *daemon)
{
    if (daemon->state == SIM_DAEMON_ABSENT)
        daemon->state = SIM_DAEMON_KILLED; /* it will never come up */
    if (!sim_daemon_is_up(daemon))
        return;
    sim_kill(daemon->machine->sim, daemon->slot);
    gone(daemon, SIM_DAEMON_KILLED);
    notice(daemon);
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
    node_destroy(daemon->node);
    instance_destroy(daemon->instance);
    message_release(daemon->boot);
    free(daemon->waiting);
}
