/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the daemons of a simulated machine start: a process brings each up after a while, or fails to, and
 * ends with it; the daemon that asked for it notices that.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>

#include "base/time.h"
#include "launch/sim/sim_internal.h"

/* The time in which a starter notices the end of its daemon. */
#define NOTICE_MS 20

enum place_failure { PLACE_REFUSED, PLACE_SILENT, PLACE_GONE };

static const char *const place_failures[] = {
    [PLACE_REFUSED] = "ssh exited 255: Connection refused",
    [PLACE_SILENT] = "no answer within 10 s",
    [PLACE_GONE] = "ssh exited 255: Connection closed",
};

/* ---- what it reports ---- */

/* Context is the daemon that failed. */
static void call_failed(void *context, uint64_t failure)
{
    struct sim_daemon *child = context;
    struct sim_daemon *daemon = &child->machine->daemons[child->starter];
    struct daemon_event event = {.kind = DAEMON_EVENT_PLACE_FAILED,
                                 .place = child->place,
                                 .text = place_failures[failure],
                                 .type = child->has_starter && child->state == SIM_DAEMON_ABSENT};

    if (sim_daemon_defers(daemon, call_failed, context, failure))
        return;
    if (child->has_starter) {
        child->has_starter = 0;
        daemon->starters--;
    }
    if (daemon->expects_ends)
        event = (struct daemon_event){.kind = DAEMON_EVENT_IDLE};
    sim_daemon_post(daemon, &event);
}

static void fail_after(struct sim_daemon *child, uint64_t delay_ns, enum place_failure failure)
{
    struct virtual_network *sim = child->machine->sim;

    virtual_network_at(sim, virtual_network_now_ns(sim) + delay_ns, call_failed, child, failure);
}

void sim_starter_notice(struct sim_daemon *daemon)
{
    if (daemon->place > 0 && !sim_daemon_is_stranger(daemon))
        fail_after(daemon, 1 + sim_random(daemon->machine, NOTICE_MS * NS_PER_MS), PLACE_GONE);
}

/* ---- starts ---- */

/* Context is the daemon that should have joined by now. */
static void call_start_timeout(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;

    (void)argument;
    if (!daemon->linked)
        fail_after(daemon, 0, PLACE_SILENT);
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

    virtual_network_work(machine->sim, child->slot, virtual_network_now_ns(machine->sim) + delay_ns,
                         machine->config.daemon_cpu_ns, call_boot, child, 0);
}

/* Hands a boot record to a starter; takes it. */
static void start_with(struct sim_daemon *daemon, struct boot_record *record)
{
    struct sim_machine *machine = daemon->machine;
    struct sim_daemon *child = &machine->daemons[record->place];
    uint64_t now_ns = virtual_network_now_ns(machine->sim);
    uint64_t delay_ns =
        1 + machine->config.daemon_ns + sim_random(machine, machine->config.daemon_ns_max);
    struct buffer text = {0};

    child->starter = daemon->place;
    child->has_starter = 1;
    daemon->starters++;
    boot_record_encode(record, &text);
    boot_record_fini(record);
    child->boot = message_from_buffer(&text);
    buffer_fini(&text);
    virtual_network_at(machine->sim,
                       now_ns + machine->instance.start_timeout_s * 1000ull * NS_PER_MS,
                       call_start_timeout, child, 0);
    if (random_chance(&machine->random, machine->config.daemon_fails))
        fail_after(child, delay_ns, PLACE_REFUSED);
    else if (!random_chance(&machine->random, machine->config.daemon_silent))
        virtual_network_work(machine->sim, daemon->slot, now_ns, machine->config.starter_cpu_ns,
                             call_started, child, delay_ns);
}

/* A million daemons would not fit into memory if each kept its boot record. */
void sim_starter_record(const struct sim_daemon *daemon, struct boot_record *ret_record)
{
    struct wire_reader reader;

    wire_reader_init(&reader, daemon->boot->data, daemon->boot->length_bytes);
    boot_record_init(ret_record);
    if (boot_record_decode(ret_record, &reader) < 0)
        assert(!"the boot record can be read");
}

void sim_starter_start_new(struct sim_daemon *root, uint32_t place)
{
    struct boot_record record;
    struct boot_record own_record;
    struct addresses own;
    char name[32];

    snprintf(name, sizeof name, "new%u", place);
    virtual_network_address(0, &own);
    sim_starter_record(root, &own_record);
    boot_record_newcomer(&own_record, &own, place, name, &record);
    boot_record_fini(&own_record);
    start_with(root, &record);
}

/* ---- operations ---- */

static void ops_start(void *context, struct range range)
{
    struct sim_daemon *daemon = context;
    struct boot_record own_record, record;
    struct addresses own;

    virtual_network_address(daemon->place, &own);
    sim_starter_record(daemon, &own_record);
    boot_record_child(&own_record, &own, range, &record);
    boot_record_fini(&own_record);
    start_with(daemon, &record);
}

/* A simulated daemon has its place as name. */
static void ops_grow(void *context, uint32_t first, const struct hostlist *names)
{
    const struct sim_daemon *root = context;

    assert(first + hostlist_count(names) <= root->machine->capacity);
}

static void ops_start_new(void *context, uint32_t place)
{
    sim_starter_start_new(context, place);
}

static void ops_linked(void *context, uint32_t place)
{
    const struct sim_daemon *daemon = context;
    struct sim_daemon *other = &daemon->machine->daemons[place];

    if (other->starter == daemon->place)
        other->linked = 1;
}

static void ops_unlinked(void *context, uint32_t place, int status, const char *why)
{
    (void)context; /* its starter has its own words for that */
    (void)place;
    (void)status;
    (void)why;
}

static void ops_joined(void *context)
{
    (void)context; /* it has no pipe to a starter */
}

static void ops_clean(void *context, uint32_t place)
{
    (void)context; /* nothing is left on a simulated node */
    (void)place;
}

static void ops_expect_end(void *context)
{
    ((struct sim_daemon *)context)->expects_ends = 1;
}

static void ops_let_go(void *context)
{
    ((struct sim_daemon *)context)->lets_go = 1;
}

static void call_kill(void *context, uint64_t argument)
{
    (void)argument;
    sim_daemon_kill(context);
}

/* O(machine), and only where some do not end by themselves. */
static void ops_kill(void *context)
{
    const struct sim_daemon *daemon = context;
    struct sim_machine *machine = daemon->machine;

    for (uint32_t i = 0; i < machine->capacity && !daemon->lets_go; i++)
        if (machine->daemons[i].has_starter && machine->daemons[i].starter == daemon->place)
            virtual_network_at(machine->sim, virtual_network_now_ns(machine->sim), call_kill,
                               &machine->daemons[i], 0);
}

static uint32_t ops_running(void *context)
{
    const struct sim_daemon *daemon = context;

    return daemon->lets_go ? 0 : daemon->starters;
}

static uint8_t ops_state(void *context, uint32_t place)
{
    const struct sim_daemon *daemon = context;

    return daemon->machine->daemons[place].stopped ? 'T' : 'S';
}

static const char *ops_name(void *context, uint32_t place, char name[HOST_NAME_BYTES_MAX + 1])
{
    const struct sim_machine *machine = ((struct sim_daemon *)context)->machine;

    name[0] = 0;
    if (place > 0 && place < machine->places)
        hostlist_name(machine->config.allocation->names,
                      node_order_node(machine->config.allocation->order, place - 1), name);
    else if (place > 0)
        snprintf(name, HOST_NAME_BYTES_MAX + 1, "new%u", place);
    return name;
}

const struct daemon_starter_ops sim_starter_ops = {
    .start = ops_start,
    .grow = ops_grow,
    .start_new = ops_start_new,
    .linked = ops_linked,
    .unlinked = ops_unlinked,
    .joined = ops_joined,
    .clean = ops_clean,
    .expect_end = ops_expect_end,
    .let_go = ops_let_go,
    .kill = ops_kill,
    .running = ops_running,
    .state = ops_state,
    .name = ops_name,
};
