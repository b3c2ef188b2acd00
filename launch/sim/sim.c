/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/sim/sim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/message.h"
#include "base/time.h"
#include "base/wire.h"
#include "launch/sim/sim_internal.h"
#include "overlay/tree.h"

/* What leaving may take, without a job. */
#define LEAVE_MS            5000
#define LEAVE_INCOMPLETE_MS 1000

/* ---- scheduled events ---- */

static void call_kill(void *context, uint64_t argument)
{
    (void)argument;
    sim_daemon_kill(context);
}

void sim_machine_kill_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place)
{
    assert(place < machine->capacity);
    virtual_network_at(machine->sim, time_ns, call_kill, &machine->daemons[place], 0);
}

/* The helper has received nothing for the length of a lease. */
static void call_lease(void *context, uint64_t stopped_ns)
{
    struct sim_daemon *daemon = context;

    (void)stopped_ns;
    for (struct sim_part *part = daemon->parts; daemon->stopped && part != NULL; part = part->next)
        sim_process_lease_ended(part);
}

static void call_stop(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;
    struct sim_machine *machine = daemon->machine;

    (void)argument;
    if (!sim_daemon_is_up(daemon) || daemon->stopped)
        return;
    daemon->stopped = daemon->was_stopped = 1;
    virtual_network_stop(machine->sim, daemon->slot);
    virtual_network_at(
        machine->sim, virtual_network_now_ns(machine->sim) + machine->instance.lease_ms * NS_PER_MS,
        call_lease, daemon, 0);
}

static void call_continue(void *context, uint64_t argument)
{
    struct sim_daemon *daemon = context;

    (void)argument;
    if (!daemon->stopped || !sim_daemon_is_up(daemon))
        return;
    sim_daemon_continue(daemon);
}

void sim_machine_stop_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place)
{
    assert(place < machine->capacity);
    virtual_network_at(machine->sim, time_ns, call_stop, &machine->daemons[place], 0);
}

void sim_machine_continue_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place)
{
    assert(place < machine->capacity);
    virtual_network_at(machine->sim, time_ns, call_continue, &machine->daemons[place], 0);
}

static void call_restart(void *context, uint64_t argument)
{
    (void)argument;
    sim_daemon_restart(context);
}

void sim_machine_restart_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place)
{
    assert(place > 0 && place < machine->capacity);
    virtual_network_at(machine->sim, time_ns, call_restart, &machine->daemons[place], 0);
}

static void call_claim(void *context, uint64_t place)
{
    sim_daemon_claim(context, (uint32_t)place);
}

void sim_machine_claim_at(struct sim_machine *machine, uint64_t time_ns, uint32_t stranger,
                          uint32_t place)
{
    assert(stranger < machine->config.strangers && place > 0 && place < machine->capacity);
    virtual_network_at(machine->sim, time_ns, call_claim,
                       &machine->daemons[machine->capacity + stranger], place);
}

static struct sim_wish *wish_of(struct sim_machine *machine, uint32_t job)
{
    struct sim_wish *wish = memory_allocate_zeroed(sizeof *wish);

    wish->machine = machine;
    wish->client = 1;
    wish->job = job;
    machine->wishes =
        memory_resize(machine->wishes, (machine->wishes_count + 1) * sizeof *machine->wishes);
    machine->wishes[machine->wishes_count++] = wish;
    return wish;
}

static void call_end(void *context, uint64_t argument)
{
    const struct sim_wish *wish = context;
    struct buffer payload = {0};

    (void)argument;
    if (wish->job > 0)
        control_put_job(wish->job, &payload);
    control_end_encode(&wish->end, &payload);
    sim_user_send(wish->machine, wish->client, wish->job > 0 ? CONTROL_END : CONTROL_LEAVE,
                  &payload);
}

void sim_machine_end_as(struct sim_machine *machine, uint64_t time_ns, uint32_t client,
                        uint32_t job, const struct control_end *end)
{
    struct sim_wish *wish = wish_of(machine, job);

    assert(client > 0 && end != NULL);
    wish->client = client;
    wish->end = *end;
    virtual_network_at(machine->sim, time_ns, call_end, wish, 0);
}

void sim_machine_end_at(struct sim_machine *machine, uint64_t time_ns, uint32_t job,
                        const struct control_end *end)
{
    assert(job > 0);
    sim_machine_end_as(machine, time_ns, 1, job, end);
}

void sim_machine_leave_at(struct sim_machine *machine, uint64_t time_ns,
                          const struct control_end *end)
{
    sim_machine_end_as(machine, time_ns, 1, 0, end);
}

static void call_signal(void *context, uint64_t number)
{
    const struct sim_wish *wish = context;
    struct buffer payload = {0};

    control_put_job(wish->job, &payload);
    control_put_number((uint32_t)number, &payload);
    sim_user_send(wish->machine, wish->client, CONTROL_SIGNAL, &payload);
}

void sim_machine_signal_at(struct sim_machine *machine, uint64_t time_ns, uint32_t job, int number)
{
    assert(number > 0);
    virtual_network_at(machine->sim, time_ns, call_signal, wish_of(machine, job), (uint64_t)number);
}

static void request_nodes(struct sim_machine *machine, const struct node_list_request *nodes)
{
    struct control_request request = {.kind = JOB_MESSAGE_NODES};
    struct buffer data = {0}, payload = {0};

    node_list_request_encode(nodes, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    control_request_encode(&request, &payload);
    sim_user_send(machine, 1, CONTROL_REQUEST, &payload);
    buffer_fini(&data);
}

/* argument: order << 40 | when << 32 | place */
static void call_nodes(void *context, uint64_t argument)
{
    struct sim_machine *machine = context;
    char name[HOST_NAME_BYTES_MAX + 1];
    struct node_list_request order = {
        .order = (uint8_t)(argument >> 40), .when = (uint8_t)(argument >> 32), .names = name};

    hostlist_name(machine->config.allocation->names, (uint32_t)argument - 1, name);
    request_nodes(machine, &order);
}

void sim_machine_nodes_at(struct sim_machine *machine, uint64_t time_ns, enum node_list_order order,
                          enum node_list_when when, uint32_t place)
{
    assert(place > 0 && place < machine->places);
    virtual_network_at(machine->sim, time_ns, call_nodes, machine,
                       (uint64_t)order << 40 | (uint64_t)when << 32 | place);
}

/* ---- life ---- */

static struct sim_job *job_of(struct sim_machine *machine, uint32_t client,
                              const struct placement_rule *rule, const struct sim_program *program)
{
    struct sim_job *job = memory_allocate_zeroed(sizeof *job);

    job->machine = machine;
    job->rule = *rule;
    job->program = *program;
    job->timer_ns = UINT64_MAX;
    job->client = client;
    job->request = machine->reported_count;
    machine->told =
        memory_resize(machine->told, (machine->reported_count + 1) * sizeof *machine->told);
    machine->told[machine->reported_count++] = job;
    return job;
}

static void call_run(void *context, uint64_t argument)
{
    (void)argument;
    sim_user_run(context);
}

void sim_machine_run_job(struct sim_machine *machine)
{
    call_run(job_of(machine, 1, &machine->config.rule, &machine->config.program), 0);
}

void sim_machine_run_job_at(struct sim_machine *machine, uint64_t time_ns,
                            const struct placement_rule *rule, const struct sim_program *program)
{
    virtual_network_at(machine->sim, time_ns, call_run, job_of(machine, 1, rule, program), 0);
}

void sim_machine_run_job_as(struct sim_machine *machine, uint64_t time_ns, uint32_t client,
                            const struct placement_rule *rule, const struct sim_program *program)
{
    assert(client > 0);
    virtual_network_at(machine->sim, time_ns, call_run, job_of(machine, client, rule, program), 0);
}

static void call_hang_up(void *context, uint64_t client)
{
    sim_user_close(context, (uint32_t)client);
}

void sim_machine_hang_up_at(struct sim_machine *machine, uint64_t time_ns, uint32_t client)
{
    assert(client > 0);
    virtual_network_at(machine->sim, time_ns, call_hang_up, machine, client);
}

static void call_detach(void *context, uint64_t argument)
{
    const struct sim_wish *wish = context;
    struct buffer payload = {0};

    (void)argument;
    control_put_job(wish->job, &payload);
    sim_user_send(wish->machine, wish->client, CONTROL_DETACH, &payload);
}

void sim_machine_detach_at(struct sim_machine *machine, uint64_t time_ns, uint32_t client,
                           uint32_t job)
{
    struct sim_wish *wish = wish_of(machine, job);

    assert(client > 0);
    wish->client = client;
    virtual_network_at(machine->sim, time_ns, call_detach, wish, 0);
}

static struct message *root_boot(struct sim_machine *machine)
{
    struct boot_record record;
    struct message *boot;
    struct buffer text = {0};

    boot_record_init(&record);
    instance_spec_copy(&record.instance, &machine->instance);
    record.range = (struct range){.first = 0, .last = machine->places - 1};
    boot_record_set_nodes(&record, machine->config.allocation);
    boot_record_encode(&record, &text);
    boot_record_fini(&record);
    boot = message_from_buffer(&text);
    buffer_fini(&text);
    return boot;
}

struct sim_machine *sim_machine_create(const struct sim_machine_config *config,
                                       const struct sim_watch *watch, void *context)
{
    struct sim_machine *machine = memory_allocate_zeroed(sizeof *machine);
    uint32_t places = allocation_nodes(config->allocation) + 1;
    struct virtual_network_config world = {.places = places + config->more,
                                           .seed = config->seed,
                                           .latency_ns = config->latency_ns,
                                           .jitter_ns = config->jitter_ns,
                                           .network = config->network,
                                           .strangers = config->strangers};

    machine->config = *config;
    machine->places = places;
    machine->capacity = places + config->more;
    machine->watch = watch;
    machine->context = context;
    machine->sim = virtual_network_create(&world);
    machine->timer_ns = machine->stalls_ns = machine->add_ns = UINT64_MAX;
    list_init(&machine->sent);
    random_init(&machine->random, config->seed ^ 0x6a6f6273ull);
    instance_spec_init(&machine->instance);
    strcpy(machine->instance.session, "0123456789abcdef");
    machine->instance.places = places;
    machine->instance.radix = config->radix;
    machine->instance.trees = config->trees;
    machine->instance.starter = STARTER_SSH;
    machine->instance.nodes_min = config->nodes_min;
    machine->instance.spares = config->spares;
    if (config->lease_ms > 0)
        machine->instance.lease_ms = config->lease_ms;
    machine->daemons =
        memory_allocate_zeroed((machine->capacity + config->strangers) * sizeof *machine->daemons);
    for (uint32_t slot = 0; slot < machine->capacity + config->strangers; slot++) {
        machine->daemons[slot].machine = machine;
        machine->daemons[slot].slot = machine->daemons[slot].place = slot;
    }
    machine->daemons[0].boot = root_boot(machine);
    sim_daemon_start(&machine->daemons[0]);
    if (!config->idle)
        sim_machine_run_job_at(machine, 0, &config->rule, &config->program);
    return machine;
}

void sim_machine_destroy(struct sim_machine *machine)
{
    struct sim_part *part;

    for (uint32_t slot = 0; slot < machine->capacity + machine->config.strangers; slot++)
        sim_daemon_fini(&machine->daemons[slot]);
    virtual_network_destroy(machine->sim);
    while ((part = machine->old_parts) != NULL) {
        machine->old_parts = part->next;
        sim_part_destroy(part);
    }
    for (uint32_t i = 0; i < machine->reported_count; i++)
        free(machine->told[i]);
    for (uint32_t i = 0; i < machine->wishes_count; i++)
        free(machine->wishes[i]);
    sim_user_forget(machine);
    free(machine->told);
    free(machine->jobs);
    free(machine->wishes);
    free(machine->daemons);
    instance_spec_fini(&machine->instance);
    free(machine);
}

/* ---- operations that are not the job's ---- */

void sim_machine_broadcast(struct sim_machine *machine, struct message *payload)
{
    struct sim_daemon *root = &machine->daemons[0];
    struct buffer text = {0};

    assert(payload != NULL);
    if (sim_daemon_is_up(root)) {
        wire_put_u8(&text, SIM_MESSAGE);
        buffer_append(&text, payload->data, payload->length_bytes);
        endpoint_broadcast(root->endpoint, NULL, message_from_buffer(&text));
    }
    buffer_fini(&text);
    message_release(payload);
}

void sim_machine_contribute(struct sim_machine *machine, uint32_t place, const struct ranges *set,
                            uint32_t generation, struct message *payload)
{
    struct sim_daemon *daemon = &machine->daemons[place];
    struct operation_name key = {.set_id = ((uint64_t)SIM_OPERATION << 32) + machine->set_version,
                                 .kind = SIM_OPERATION,
                                 .merge = JOB_MERGE_CONCATENATE,
                                 .target = ENDPOINT_TARGET_ALL,
                                 .generation = generation};

    assert(place < machine->capacity);
    if (sim_daemon_is_up(daemon) && !daemon->stopped)
        endpoint_contribute(daemon->endpoint, &key, set, payload);
    else
        message_release(payload);
}

uint32_t sim_machine_grow(struct sim_machine *machine, uint32_t count)
{
    struct sim_daemon *root = &machine->daemons[0];
    uint32_t first = TREE_NO_PLACE;

    assert(count > 0);
    if (sim_daemon_is_up(root) && count <= machine->capacity - endpoint_population(root->endpoint))
        first = endpoint_grow(root->endpoint, count);
    if (first == TREE_NO_PLACE)
        return first;
    machine->set_version++;
    for (uint32_t i = 0; i < count; i++)
        sim_starter_start_new(root, first + i);
    return first;
}

void sim_machine_add_nodes(struct sim_machine *machine, uint32_t count, uint32_t slots)
{
    static char no_names[] = "";
    struct node_list_request order = {.order = NODE_LIST_ADD, .names = no_names};

    assert(count > 0 && count <= machine->config.more);
    allocation_init(&order.nodes);
    allocation_generate(&order.nodes, "new", count, slots);
    request_nodes(machine, &order);
    allocation_fini(&order.nodes);
}

void sim_machine_shrink(struct sim_machine *machine, const struct ranges *places)
{
    struct sim_daemon *root = &machine->daemons[0];

    assert(!ranges_is_empty(places));
    machine->set_version++;
    if (sim_daemon_is_up(root))
        (void)endpoint_shrink(root->endpoint, places);
}

void sim_machine_leave(struct sim_machine *machine)
{
    struct sim_daemon *root = &machine->daemons[0];
    struct daemon_event leave = {.kind = DAEMON_EVENT_LEAVE};

    leave.number = root->endpoint != NULL && endpoint_is_complete(root->endpoint)
                       ? LEAVE_MS
                       : LEAVE_INCOMPLETE_MS;
    sim_daemon_post(root, &leave);
}

int sim_machine_step(struct sim_machine *machine)
{
    return virtual_network_step(machine->sim);
}

struct virtual_network *sim_machine_network(struct sim_machine *machine)
{
    return machine->sim;
}

int sim_machine_is_up(const struct sim_machine *machine, uint32_t place)
{
    assert(place < machine->capacity + machine->config.strangers);
    return sim_daemon_is_up(&machine->daemons[place]);
}

int sim_machine_is_stopped(const struct sim_machine *machine, uint32_t place)
{
    assert(place < machine->capacity + machine->config.strangers);
    return machine->daemons[place].stopped;
}

int sim_machine_is_usurped(const struct sim_machine *machine)
{
    for (uint32_t i = 0; i < machine->config.strangers; i++) {
        const struct sim_daemon *stranger = &machine->daemons[machine->capacity + i];

        if (sim_daemon_is_up(stranger) && !sim_daemon_is_up(&machine->daemons[stranger->place]))
            return 1;
    }
    return 0;
}

const struct endpoint *sim_machine_endpoint(const struct sim_machine *machine, uint32_t place)
{
    assert(place < machine->capacity + machine->config.strangers);
    return machine->daemons[place].endpoint;
}

const struct daemon_core *sim_machine_core(const struct sim_machine *machine, uint32_t place)
{
    assert(place < machine->capacity + machine->config.strangers);
    return machine->daemons[place].core;
}

int sim_machine_run(struct sim_machine *machine, uint64_t time_ns)
{
    while (machine->up > 0 && virtual_network_now_ns(machine->sim) < time_ns)
        if (!virtual_network_step(machine->sim))
            break;
    return machine->up == 0;
}

/* ---- facts ---- */

uint64_t sim_machine_now_ns(const struct sim_machine *machine)
{
    return virtual_network_now_ns(machine->sim);
}

uint64_t sim_machine_events(const struct sim_machine *machine)
{
    return virtual_network_events_run(machine->sim);
}

struct sim_output sim_machine_output(const struct sim_machine *machine)
{
    return machine->output;
}

const struct instance *sim_machine_instance(const struct sim_machine *machine, uint32_t place)
{
    return sim_machine_is_up(machine, place) ? sim_daemon_instance(&machine->daemons[place]) : NULL;
}

uint32_t sim_machine_daemons(const struct sim_machine *machine)
{
    return machine->up;
}
