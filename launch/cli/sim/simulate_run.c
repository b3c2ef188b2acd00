/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One simulated machine and its operations, one at a time.  An operation is over when every living
 * participant has got its result.  It fails if that does not happen in time, if places get
 * different results, or if a result is not what was contributed.
 */
#include "config.h"

#include "launch/cli/sim/simulate_internal.h"
#include "overlay/tree.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/message.h"

#define SAMPLES 256 /* bytes of a result that are compared */

/* ---- callbacks of places ---- */

void simulate_fail(struct simulation *simulation, const char *format, ...)
{
    va_list arguments;

    if (simulation->failure[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(simulation->failure, sizeof simulation->failure, format, arguments);
    va_end(arguments);
}

void simulate_place_gone(struct simulation *simulation, uint32_t place)
{
    assert(place < simulation->capacity);
    if (!simulation->waits[place])
        return;
    simulation->waits[place] = 0;
    assert(simulation->left > 0);
    simulation->left--;
}

/* Large results are sampled: comparing them in full at every place would cost too much. */
static uint64_t digest_of(const struct message *payload)
{
    unsigned char samples[SAMPLES] = {0};
    size_t bytes = payload != NULL ? payload->length_bytes : 0;
    size_t count = bytes < SAMPLES ? bytes : SAMPLES;

    assert(count <= SAMPLES);
    for (size_t i = 0; i < count; i++)
        samples[i] = payload->data[i * (bytes - 1) / (count > 1 ? count - 1 : 1)];
    return hash_bytes(samples, count, bytes);
}

static void place_reported(struct simulation *simulation, uint32_t place, int status,
                           const struct message *payload)
{
    struct outcome *outcome = simulation->current;
    uint64_t digest = status == 0 ? digest_of(payload) : 0;
    uint64_t bytes = payload != NULL ? payload->length_bytes : 0;

    if (outcome == NULL || !simulation->waits[place])
        return;
    simulate_place_gone(simulation, place);
    if (!simulation->has_digest) {
        simulation->has_digest = true;
        simulation->digest = digest;
        outcome->status = status;
    }
    if (simulation->is_damaged)
        return; /* a failure reported by a daemon is taken as it is */
    if (outcome->status != status || simulation->digest != digest)
        simulate_fail(simulation, "%s: place %u got another result (%s) than others (%s)",
                      operation_names[outcome->operation.kind], place, strerror(-status),
                      strerror(-outcome->status));
    if (status == 0 && bytes != simulation->expected_bytes)
        simulate_fail(simulation, "%s: place %u got %llu bytes, not %llu",
                      operation_names[outcome->operation.kind], place, (unsigned long long)bytes,
                      (unsigned long long)simulation->expected_bytes);
}

static void on_complete(void *context, uint64_t now_ns)
{
    struct simulation *simulation = context;

    (void)now_ns;
    if (simulation->current != NULL && (simulation->current->operation.kind == OPERATION_START ||
                                        simulation->current->operation.kind == OPERATION_GROW))
        simulation->is_over = true;
}

static void on_broadcast(void *context, uint32_t place, const struct message *payload)
{
    place_reported(context, place, 0, payload);
}

static void on_result(void *context, uint32_t place, uint32_t generation, int status,
                      const struct message *payload)
{
    struct simulation *simulation = context;

    if (generation == simulation->generation)
        place_reported(simulation, place, status, payload);
}

static void on_started(void *context, uint64_t now_ns, uint32_t job,
                       const struct control_started *started)
{
    struct simulation *simulation = context;

    (void)now_ns;
    (void)job;
    if (simulation->current == NULL || simulation->current->operation.kind != OPERATION_LAUNCH)
        return;
    simulation->is_over = true;
    if (started->processes != simulation->config.rule.processes)
        simulate_fail(simulation, "launch: %u processes were started, not %u", started->processes,
                      simulation->config.rule.processes);
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    struct simulation *simulation = context;

    (void)now_ns;
    (void)job;
    simulation->has_job = false;
    if (simulation->current == NULL || simulation->current->operation.kind == OPERATION_END)
        return;
    snprintf(simulation->current->text, OUTCOME_TEXT_BYTES, "%.*s", OUTCOME_TEXT_BYTES - 1,
             end->text);
    simulation->current->status = -ECANCELED;
    simulation->is_over = true;
}

static void on_reported_lost(void *context, uint32_t place, const struct ranges *places)
{
    struct simulation *simulation = context;
    struct ranges both = {0};

    if (simulation->current == NULL || simulation->current->operation.kind != OPERATION_HEAL)
        return;
    ranges_intersect(places, &simulation->killed, &both);
    simulation->heard[place] += (uint32_t)ranges_count(&both);
    ranges_fini(&both);
    if (simulation->heard[place] == simulation->deaths)
        simulate_place_gone(simulation, place);
}

static void on_ended(void *context, uint64_t now_ns, uint32_t place, enum endpoint_end end)
{
    struct simulation *simulation = context;

    (void)now_ns;
    if (ranges_contains(&simulation->departed, place) && end != ENDPOINT_END_LEFT &&
        simulation->faults_count == 0)
        simulate_fail(simulation,
                      "shrink: place %u was asked to leave but ended for another reason", place);
    simulation->ended_places++;
    simulate_place_gone(simulation, place);
}

static const struct sim_watch watch = {
    .started = on_started,
    .report = on_report,
    .reported_lost = on_reported_lost,
    .complete = on_complete,
    .broadcast = on_broadcast,
    .result = on_result,
    .ended = on_ended,
};

/* ---- operations ---- */

/* Waits for all living places of a set (NULL: all). */
static void wait_for(struct simulation *simulation, const struct ranges *set)
{
    assert(simulation->current != NULL && simulation->places <= simulation->capacity);
    simulation->left = 0;
    for (uint32_t place = 0; place < simulation->places; place++) {
        int waits = sim_machine_is_up(simulation->machine, place) &&
                    !sim_machine_is_stopped(simulation->machine, place) &&
                    (set == NULL || ranges_contains(set, place));

        simulation->waits[place] = (uint8_t)waits;
        simulation->left += (uint32_t)waits;
    }
    simulation->current->members = simulation->left;
}

/* The contribution of each member: equal, all by the first, or 1 / i for the i-th. */
static void choose_sizes(struct simulation *simulation, const struct ranges *set, uint64_t bytes)
{
    uint64_t count = ranges_count(set);
    double harmonic = 0;
    uint64_t index = 0;

    assert(count > 0);
    for (uint64_t i = 1; i <= count; i++)
        harmonic += 1.0 / (double)i;
    simulation->expected_bytes = 0;
    for (uint32_t place = 0; place < simulation->places; place++) {
        uint64_t size = bytes;

        if (!ranges_contains(set, place))
            continue;
        if (simulation->plan->sizes == SIZES_SINGLE)
            size = index == 0 ? bytes * count : 0;
        else if (simulation->plan->sizes == SIZES_SKEWED)
            size =
                (uint64_t)((double)(bytes * count) / harmonic / (double)(1 + index * 7919 % count));
        index++;
        simulation->sizes[place] = size;
        /* A stopped place is not waited for, but contributes if it continues in time. */
        if (sim_machine_is_up(simulation->machine, place))
            simulation->expected_bytes += size;
    }
}

/* Departed places take part in nothing. */
static void list_members(const struct simulation *simulation, struct ranges *ret_all)
{
    ranges_add(ret_all, 0, simulation->places - 1);
    ranges_remove_all(ret_all, &simulation->departed);
}

static void call_contribute(void *context, uint64_t place)
{
    struct simulation *simulation = context;
    const struct simulate_plan *plan = simulation->plan;
    struct buffer text = {0};
    size_t bytes = simulation->sizes[place];
    struct ranges all = {0};

    assert(place < simulation->capacity);
    if (bytes > 0) {
        memset(buffer_reserve(&text, bytes), (int)(1 + place % 251), bytes);
        buffer_commit(&text, bytes);
    }
    list_members(simulation, &all);
    sim_machine_contribute(simulation->machine, (uint32_t)place,
                           ranges_is_empty(&plan->set) ? &all : &plan->set, simulation->generation,
                           bytes > 0 ? message_from_buffer(&text) : NULL);
    ranges_fini(&all);
    buffer_fini(&text);
}

/* The work of processes and their daemon before it contributes. */
static uint64_t local_ns(const struct simulation *simulation, uint32_t place)
{
    const uint64_t *costs = simulation->plan->profile.values;

    return (costs[PROFILE_LOCAL_CPU] + costs[PROFILE_LOCAL_BYTE] * simulation->sizes[place]) / 1000;
}

static void begin_exchange(struct simulation *simulation, uint64_t bytes)
{
    struct virtual_network *sim = sim_machine_network(simulation->machine);
    const struct ranges *set = &simulation->plan->set;
    struct ranges all = {0};

    list_members(simulation, &all);
    if (ranges_is_empty(set))
        set = &all;
    simulation->generation++;
    wait_for(simulation, set);
    choose_sizes(simulation, set, bytes);
    for (uint32_t place = 0; place < simulation->places; place++)
        if (ranges_contains(set, place))
            virtual_network_work(sim, place, virtual_network_now_ns(sim),
                                 local_ns(simulation, place), call_contribute, simulation, place);
    ranges_fini(&all);
}

static void begin_broadcast(struct simulation *simulation, uint64_t bytes)
{
    struct buffer text = {0};

    wait_for(simulation, NULL);
    simulation->expected_bytes = bytes + 1; /* with the kind */
    for (uint64_t i = 0; i < bytes; i += sizeof i)
        buffer_append(&text, &i, bytes - i < sizeof i ? bytes - i : sizeof i);
    sim_machine_broadcast(simulation->machine, message_from_buffer(&text));
    buffer_fini(&text);
}

/* Chooses that many that are up, excluding the root and those that the root already counts as dead:
 * their death would not be reported again. */
static void choose_victims(struct simulation *simulation, uint64_t count, struct ranges *victims)
{
    const struct ranges *dead = endpoint_dead(sim_machine_endpoint(simulation->machine, 0));
    uint32_t tries = 0;

    assert(simulation->places > 1);
    ranges_clear(victims);
    while (ranges_count(victims) < count && tries++ < 100 * simulation->places) {
        uint32_t place = 1 + (uint32_t)random_below(&simulation->random, simulation->places - 1);

        if (sim_machine_is_up(simulation->machine, place) && !ranges_contains(dead, place))
            ranges_add(victims, place, place);
    }
}

static void begin_grow(struct simulation *simulation, uint64_t count)
{
    uint32_t first = sim_machine_grow(simulation->machine, (uint32_t)count);

    simulation->current->members = (uint32_t)count;
    if (first != simulation->places) {
        simulate_fail(simulation, "grow: the first new place is %u, not %u", first,
                      simulation->places);
        return;
    }
    simulation->places += (uint32_t)count;
    assert(simulation->places <= simulation->capacity);
}

static void begin_shrink(struct simulation *simulation, uint64_t count)
{
    struct ranges leaving = {0};

    choose_victims(simulation, count, &leaving);
    wait_for(simulation, &leaving);
    ranges_add_all(&simulation->departed, &leaving);
    sim_machine_shrink(simulation->machine, &leaving);
    ranges_fini(&leaving);
}

static void begin_heal(struct simulation *simulation, uint64_t count)
{
    struct sim_machine *machine = simulation->machine;

    memset(simulation->heard, 0, simulation->places * sizeof *simulation->heard);
    choose_victims(simulation, count, &simulation->killed);
    simulation->deaths = (uint32_t)ranges_count(&simulation->killed);
    wait_for(simulation, NULL);
    simulation->is_over = simulation->deaths == 0; /* no place is left to kill */
    for (uint32_t place = 1; place < simulation->places; place++)
        if (ranges_contains(&simulation->killed, place)) {
            sim_machine_kill_at(machine, sim_machine_now_ns(machine), place);
            simulate_place_gone(simulation, place);
        }
}

static void begin_end(struct simulation *simulation)
{
    struct control_end end = {.status = 130, .reason = "the simulation is over"};
    struct sim_machine *machine = simulation->machine;

    if (simulation->has_job)
        sim_machine_end_at(machine, sim_machine_now_ns(machine), 1, &end);
    else
        sim_machine_leave(machine);
}

static void begin_operation(struct simulation *simulation, const struct operation *operation)
{
    struct outcome *outcome = simulation->current;

    switch (operation->kind) {
    case OPERATION_START:
        outcome->members = simulation->places;
        break;
    case OPERATION_LAUNCH:
        outcome->members = simulation->plan->nodes;
        simulation->has_job = true;
        sim_machine_run_job(simulation->machine);
        break;
    case OPERATION_BARRIER:
        begin_exchange(simulation, 0);
        break;
    case OPERATION_BROADCAST:
        begin_broadcast(simulation, operation->amount);
        break;
    case OPERATION_EXCHANGE:
        begin_exchange(simulation, operation->amount);
        break;
    case OPERATION_HEAL:
        begin_heal(simulation, operation->amount);
        break;
    case OPERATION_GROW:
        begin_grow(simulation, operation->amount);
        break;
    case OPERATION_SHRINK:
        begin_shrink(simulation, operation->amount);
        break;
    default:
        outcome->members = sim_machine_daemons(simulation->machine);
        begin_end(simulation);
    }
}

static bool counts_places(enum operation_kind kind)
{
    return kind == OPERATION_BARRIER || kind == OPERATION_BROADCAST || kind == OPERATION_EXCHANGE ||
           kind == OPERATION_HEAL || kind == OPERATION_SHRINK;
}

/* A place that stays stopped cannot finish. */
static bool is_deserted(const struct simulation *simulation)
{
    uint32_t left = sim_machine_daemons(simulation->machine);

    if (left > simulation->faults_count)
        return false;
    for (uint32_t i = 0; i < simulation->faults_count; i++) {
        uint32_t place = simulation->faults[i].place;
        bool is_named = false;

        for (uint32_t j = 0; j < i; j++)
            is_named = is_named || simulation->faults[j].place == place;
        if (!is_named && sim_machine_is_up(simulation->machine, place) &&
            sim_machine_is_stopped(simulation->machine, place))
            left--;
    }
    return left == 0;
}

static bool is_over(const struct simulation *simulation)
{
    enum operation_kind kind = simulation->current->operation.kind;

    if (is_deserted(simulation))
        return true;
    if (counts_places(kind) && simulation->left == 0)
        return true;
    return simulation->is_over;
}

static void explain_outcome(struct simulation *simulation)
{
    struct outcome *outcome = simulation->current;
    bool is_gone = sim_machine_daemons(simulation->machine) == 0;

    assert(outcome != NULL);
    if (outcome->text[0] == '\0' && is_gone && outcome->operation.kind != OPERATION_END)
        snprintf(outcome->text, sizeof outcome->text, "no daemon is left");
    else if (outcome->text[0] == '\0' && outcome->status < 0)
        snprintf(outcome->text, sizeof outcome->text, "ended with: %s", strerror(-outcome->status));
    else if (outcome->text[0] == '\0' && !sim_machine_is_up(simulation->machine, 0) && !is_gone &&
             outcome->operation.kind != OPERATION_END)
        snprintf(outcome->text, sizeof outcome->text, "the root is dead");
}

/* A damaged log entry is not sent again: its receiver, and the places below, may miss a broadcast.
 * The damaged place itself is the sender. */
static bool may_miss(const struct simulation *simulation, uint32_t place)
{
    const struct endpoint *root = sim_machine_endpoint(simulation->machine, 0);
    struct tree tree = {.places = simulation->plan->nodes + 1,
                        .radix = simulation->plan->radix,
                        .dead = root != NULL ? endpoint_dead(root) : NULL,
                        .population = simulation->capacity};

    for (uint32_t i = 0; i < simulation->faults_count; i++) {
        const struct fault *fault = &simulation->faults[i];
        struct range scope;

        if (fault->kind != FAULT_TRUNCATE && fault->kind != FAULT_MUTATE)
            continue;
        scope = tree_scope(&tree, fault->place);
        if (scope.first <= place && place <= scope.last)
            return true;
    }
    return false;
}

/* All without a result may have missed the broadcast. */
static bool is_excused(const struct simulation *simulation)
{
    if (!simulation->is_damaged || simulation->current->operation.kind != OPERATION_BROADCAST)
        return false;
    for (uint32_t place = 0; place < simulation->capacity; place++) {
        if (simulation->waits[place] && !may_miss(simulation, place))
            return false;
    }
    return true;
}

static void give_up(struct simulation *simulation)
{
    struct outcome *outcome = simulation->current;
    const char *name = operation_names[outcome->operation.kind];

    assert(!counts_places(outcome->operation.kind) || simulation->left <= outcome->members);
    snprintf(outcome->text, sizeof outcome->text, "did not finish in time");
    if (sim_machine_is_usurped(simulation->machine) || is_excused(simulation))
        return; /* daemons that do not take part may be awaited */
    if (counts_places(outcome->operation.kind))
        simulate_fail(simulation, "%s: %u of %u places got no result in time", name,
                      simulation->left, outcome->members);
    else
        simulate_fail(simulation, "%s did not finish in time", name);
}

static struct virtual_network_cpu_use cpu_since(const struct virtual_network *sim,
                                                const struct virtual_network_cpu_use *before)
{
    struct virtual_network_cpu_use now = virtual_network_cpu_used(sim);

    return (struct virtual_network_cpu_use){.time_ns = now.time_ns - before->time_ns,
                                            .wakes = now.wakes - before->wakes,
                                            .reads = now.reads - before->reads,
                                            .writes = now.writes - before->writes};
}

static void run_operation(struct simulation *simulation, const struct operation *operation)
{
    struct sim_machine *machine = simulation->machine;
    struct virtual_network *sim = sim_machine_network(machine);
    struct outcome *outcome = &simulation->outcomes[simulation->outcomes_count++];
    uint64_t frames = virtual_network_frames_sent(sim);
    uint64_t bytes = virtual_network_bytes_sent(sim);
    struct virtual_network_cpu_use cpu = virtual_network_cpu_used(sim);
    uint64_t deadline_ns;

    assert(simulation->current == NULL &&
           simulation->outcomes_count <= SIMULATE_OPERATIONS_MAX + 1);
    *outcome = (struct outcome){.operation = *operation, .begun_ns = virtual_network_now_ns(sim)};
    simulation->current = outcome;
    simulation->has_digest = simulation->is_over = false;
    deadline_ns = outcome->begun_ns + simulation->plan->timeout_ns;
    begin_operation(simulation, operation);
    while (!is_over(simulation) && simulation->failure[0] == '\0') {
        if (!sim_machine_step(machine) || virtual_network_now_ns(sim) > deadline_ns) {
            give_up(simulation);
            break;
        }
    }
    outcome->took_ns = virtual_network_now_ns(sim) - outcome->begun_ns;
    outcome->frames = virtual_network_frames_sent(sim) - frames;
    outcome->bytes = virtual_network_bytes_sent(sim) - bytes;
    outcome->cpu = cpu_since(sim, &cpu);
    explain_outcome(simulation);
    simulation->current = NULL;
    if (simulation->trace != NULL)
        simulate_trace_operation(simulation->trace, outcome);
}

static void run_pause(struct simulation *simulation)
{
    struct virtual_network *sim = sim_machine_network(simulation->machine);

    virtual_network_run_until(sim, virtual_network_now_ns(sim) + simulation->plan->pause_ns);
}

/* ---- the machine ---- */

static void configure_machine(struct simulation *simulation)
{
    const struct simulate_plan *plan = simulation->plan;
    struct sim_machine_config *config = &simulation->config;

    allocation_init(&simulation->allocation);
    allocation_generate(&simulation->allocation, "n", plan->nodes, plan->per_node);
    *config = (struct sim_machine_config){.allocation = &simulation->allocation,
                                          .radix = plan->radix,
                                          .trees = plan->trees,
                                          .seed = simulation->seed,
                                          .idle = 1,
                                          .more = simulation->capacity - simulation->places,
                                          .strangers = simulation->strangers};
    simulate_profile_apply(&plan->profile, config);
    if (plan->fabric.name != NULL)
        simulation->fabric = simulate_fabric_make(&plan->fabric, plan->nodes,
                                                  config->network.send_byte_ps, simulation->seed);
    config->network.fabric = simulation->fabric;
    config->program.endless = 1;
    config->rule.per = plan->per_node;
    config->rule.processes = plan->nodes * plan->per_node;
}

void simulate_runs(struct simulation *simulation, const struct simulate_plan *plan, uint32_t seed,
                   struct simulate_trace *trace)
{
    static const struct operation start = {.kind = OPERATION_START};
    bool has_start = plan->operations[0].kind == OPERATION_START;

    assert(plan->operations_count > 0 && plan->nodes > 0);
    *simulation =
        (struct simulation){.plan = plan, .seed = seed, .places = plan->nodes + 1, .trace = trace};
    simulation->capacity = simulation->places;
    for (uint32_t i = 0; i < plan->operations_count; i++)
        if (plan->operations[i].kind == OPERATION_GROW)
            simulation->capacity += (uint32_t)plan->operations[i].amount;
    random_init(&simulation->random, seed ^ 0x66617565ull);
    simulate_faults_choose(simulation);
    configure_machine(simulation);
    simulation->waits = memory_allocate_zeroed(simulation->capacity);
    simulation->heard = memory_allocate_zeroed(simulation->capacity * sizeof *simulation->heard);
    simulation->sizes = memory_allocate_zeroed(simulation->capacity * sizeof *simulation->sizes);
    simulation->machine = sim_machine_create(&simulation->config, &watch, simulation);
    if (trace != NULL)
        simulate_trace_attach(trace, sim_machine_network(simulation->machine));
    if (!has_start) {
        run_operation(simulation, &start);
        run_pause(simulation);
    }
    simulate_faults_arm(simulation);
    for (uint32_t i = 0; i < plan->operations_count; i++) {
        if (simulation->failure[0] != '\0' || !sim_machine_is_up(simulation->machine, 0))
            break;
        if (i > 0)
            run_pause(simulation);
        run_operation(simulation, &plan->operations[i]);
    }
}

void simulate_fini(struct simulation *simulation)
{
    sim_machine_destroy(simulation->machine);
    allocation_fini(&simulation->allocation);
    simulate_fabric_free(simulation->fabric);
    ranges_fini(&simulation->killed);
    ranges_fini(&simulation->departed);
    free(simulation->waits);
    free(simulation->heard);
    free(simulation->sizes);
    free(simulation->faults);
}
