/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of a simulated machine.  Choices are made from the seed before anything runs, so that the
 * run is the same whether they are given or chosen.
 */
#include "config.h"

#include "base/time.h"
#include "launch/cli/sim/simulate_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define RANDOM_WHEN_NS     (200 * NS_PER_MS)
#define RANDOM_DURATION_NS (15000 * NS_PER_MS)
#define SLOW_DEFAULT       10
#define SLOW_MAX           1000000u
#define DELAY_DEFAULT_NS   (10 * NS_PER_MS)
#define WHAT_BYTES_MAX     64

static const char *const kinds[FAULT_KIND_COUNT] = {
    [FAULT_KILL] = "kill",     [FAULT_STOP] = "stop",           [FAULT_RESTART] = "restart",
    [FAULT_ROOT] = "root",     [FAULT_BREAK] = "break",         [FAULT_DELAY] = "delay",
    [FAULT_SLOW] = "slow",     [FAULT_PARTITION] = "partition", [FAULT_TRUNCATE] = "truncate",
    [FAULT_MUTATE] = "mutate", [FAULT_TWIN] = "twin",           [FAULT_SECRET] = "secret",
};

static const char *const partitions[PARTITION_COUNT] = {"even", "random", "one", "oneway"};

/* ---- texts ---- */

static int index_of(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static int parse_place(const char *text, uint32_t places, struct fault *fault)
{
    assert(places > 1);
    if (strcmp(text, "any") == 0)
        return 0;
    fault->is_place_given = true;
    return options_number(text, fault->kind == FAULT_STOP ? 0 : 1, places - 1, &fault->place);
}

/* "5", "5/2ms", "one/5"; what is changed. */
static int parse_what(char *what, uint32_t places, struct fault *fault)
{
    char *amount = strchr(what, '/');
    uint64_t delay_ps;
    uint32_t factor;
    int partition;

    if (amount != NULL)
        *amount++ = '\0';
    if (fault->kind == FAULT_ROOT)
        return -EINVAL;
    if (fault->kind == FAULT_PARTITION) {
        partition = index_of(partitions, PARTITION_COUNT, what);
        if (partition < 0 || (amount != NULL && partition != PARTITION_ONE))
            return -EINVAL;
        fault->partition = (enum partition)partition;
        return amount != NULL ? parse_place(amount, places, fault) : 0;
    }
    if (amount != NULL && fault->kind == FAULT_DELAY) {
        if (simulate_time_parse(amount, &delay_ps) < 0)
            return -EINVAL;
        fault->amount = delay_ps / 1000;
    } else if (amount != NULL && fault->kind == FAULT_SLOW) {
        if (options_number(amount, 1, SLOW_MAX, &factor) < 0)
            return -EINVAL;
        fault->amount = factor;
    } else if (amount != NULL) {
        return -EINVAL;
    }
    return parse_place(what, places, fault);
}

static int parse_times(const char *text, struct fault *fault)
{
    char when[WHAT_BYTES_MAX];
    size_t bytes;
    uint64_t ps;

    if (*text == '@') {
        bytes = strcspn(text + 1, ":");
        if (bytes >= sizeof when)
            return -EINVAL;
        memcpy(when, text + 1, bytes);
        when[bytes] = '\0';
        if (simulate_time_parse(when, &ps) < 0)
            return -EINVAL;
        fault->when_ns = ps / 1000;
        text += 1 + bytes;
    }
    if (*text == ':') {
        if (simulate_time_parse(text + 1, &ps) < 0 || ps == 0)
            return -EINVAL;
        fault->duration_ns = ps / 1000;
    }
    return 0;
}

static uint64_t default_amount(enum fault_kind kind)
{
    if (kind == FAULT_SLOW)
        return SLOW_DEFAULT;
    return kind == FAULT_DELAY ? DELAY_DEFAULT_NS : 0;
}

int simulate_fault_parse(const char *text, uint32_t places, struct fault *ret_fault,
                         struct error *error)
{
    char name[WHAT_BYTES_MAX];
    size_t bytes = strcspn(text, "@:");
    char *what;
    int kind;

    *ret_fault = (struct fault){0};
    if (bytes >= sizeof name)
        return error_set(error, -EINVAL, "option --fault: '%.40s' is too long", text);
    memcpy(name, text, bytes);
    name[bytes] = '\0';
    what = strchr(name, '=');
    if (what != NULL)
        *what++ = '\0';
    kind = index_of(kinds, FAULT_KIND_COUNT, name);
    if (kind < 0)
        return error_set(error, -EINVAL,
                         "option --fault: '%.40s' is not a fault; known are kill, stop, restart, "
                         "root, break, delay, slow, partition, truncate, mutate, twin and secret",
                         name);
    ret_fault->kind = (enum fault_kind)kind;
    ret_fault->amount = default_amount(ret_fault->kind);
    if ((what != NULL && parse_what(what, places, ret_fault) < 0) ||
        parse_times(text + bytes, ret_fault) < 0)
        return error_set(error, -EINVAL,
                         "option --fault: '%.60s' is not KIND[=WHAT][@WHEN][:HOWLONG], such as "
                         "kill=5@10ms, slow=5/8, partition=one/5@1ms:3s (places: 1 to %u, stop "
                         "takes the root, 0, too)",
                         text, places - 1);
    return 0;
}

void simulate_fault_print(const struct fault *fault, struct buffer *out)
{
    char text[PROFILE_TEXT_BYTES];

    assert(fault->kind < FAULT_KIND_COUNT && fault->partition < PARTITION_COUNT);
    buffer_append_string(out, kinds[fault->kind]);
    if (fault->kind == FAULT_PARTITION)
        buffer_printf(out, "=%s", partitions[fault->partition]);
    else if (fault->kind != FAULT_ROOT)
        buffer_printf(out, "=%u", fault->place);
    if (fault->kind == FAULT_PARTITION && fault->partition == PARTITION_ONE)
        buffer_printf(out, "/%u", fault->place);
    if (fault->kind == FAULT_SLOW)
        buffer_printf(out, "/%llu", (unsigned long long)fault->amount);
    if (fault->kind == FAULT_DELAY)
        buffer_printf(out, "/%s", simulate_profile_time_text(fault->amount * 1000, text));
    buffer_printf(out, "@%s", simulate_profile_time_text(fault->when_ns * 1000, text));
    if (fault->duration_ns > 0)
        buffer_printf(out, ":%s", simulate_profile_time_text(fault->duration_ns * 1000, text));
}

/* ---- choices ---- */

/* The root's death and partitions end many things at once, so they are rare. */
static enum fault_kind any_kind(struct random_state *random)
{
    enum fault_kind kind = (enum fault_kind)random_below(random, FAULT_KIND_COUNT);

    if ((kind == FAULT_ROOT || kind == FAULT_PARTITION) && !random_chance(random, 0.1))
        return FAULT_KILL;
    return kind;
}

static void choose_place(struct simulation *simulation, struct fault *fault)
{
    struct random_state *random = &simulation->random;

    assert(simulation->places > 1);
    if (!fault->is_place_given && fault->kind != FAULT_ROOT)
        fault->place = 1 + (uint32_t)random_below(random, simulation->places - 1);
    if (fault->kind == FAULT_RESTART && fault->duration_ns == 0)
        fault->duration_ns = 1 + random_below(random, RANDOM_DURATION_NS);
    if (fault->kind == FAULT_TWIN || fault->kind == FAULT_SECRET)
        simulation->strangers++;
}

void simulate_faults_choose(struct simulation *simulation)
{
    const struct simulate_plan *plan = simulation->plan;
    struct random_state *random = &simulation->random;

    simulation->faults_count = plan->faults_count + plan->faults_random;
    simulation->faults =
        memory_allocate_zeroed((simulation->faults_count + 1) * sizeof *simulation->faults);
    memcpy(simulation->faults, plan->faults, plan->faults_count * sizeof *plan->faults);
    for (uint32_t i = plan->faults_count; i < simulation->faults_count; i++) {
        struct fault *fault = &simulation->faults[i];

        fault->kind = any_kind(random);
        fault->amount = default_amount(fault->kind);
        fault->partition = (enum partition)random_below(random, PARTITION_COUNT);
        fault->when_ns = random_below(random, RANDOM_WHEN_NS);
        if (random_chance(random, 0.5))
            fault->duration_ns = 1 + random_below(random, RANDOM_DURATION_NS);
    }
    for (uint32_t i = 0; i < simulation->faults_count; i++)
        choose_place(simulation, &simulation->faults[i]);
}

/* ---- execution ---- */

static void partition_begins(struct simulation *simulation, const struct fault *fault)
{
    struct virtual_network *sim = sim_machine_network(simulation->machine);

    for (uint32_t place = 0; place < simulation->places; place++) {
        int side = place > 0 && place >= simulation->places / 2;

        if (fault->partition == PARTITION_ONE)
            side = place == fault->place;
        else if (fault->partition != PARTITION_EVEN)
            side = place > 0 && random_chance(&simulation->random, 0.5);
        virtual_network_set_side(sim, place, side);
    }
    virtual_network_set_blocked(sim, 1, 0, 1);
    if (fault->partition != PARTITION_ONEWAY)
        virtual_network_set_blocked(sim, 0, 1, 1);
}

static uint32_t stranger_of(const struct simulation *simulation, const struct fault *fault)
{
    uint32_t stranger = 0;

    for (const struct fault *other = simulation->faults; other < fault; other++)
        stranger += other->kind == FAULT_TWIN || other->kind == FAULT_SECRET;
    assert(stranger < simulation->strangers);
    return stranger;
}

static void stranger_comes(struct simulation *simulation, const struct fault *fault)
{
    struct sim_machine *machine = simulation->machine;
    uint32_t stranger = stranger_of(simulation, fault);

    if (fault->kind == FAULT_SECRET)
        virtual_network_set_secret(sim_machine_network(machine), simulation->capacity + stranger,
                                   1);
    sim_machine_claim_at(machine, sim_machine_now_ns(machine), stranger, fault->place);
}

static void place_dies(struct simulation *simulation, uint32_t place)
{
    assert(place < simulation->capacity);
    sim_machine_kill_at(simulation->machine, sim_machine_now_ns(simulation->machine), place);
    simulate_place_gone(simulation, place);
}

static void break_link(struct simulation *simulation, uint32_t place)
{
    const struct endpoint *endpoint = sim_machine_endpoint(simulation->machine, place);

    if (endpoint != NULL && endpoint_parent(endpoint) != UINT32_MAX)
        virtual_network_break(sim_machine_network(simulation->machine), place,
                              endpoint_parent(endpoint));
}

static void call_begins(void *context, uint64_t index)
{
    struct simulation *simulation = context;
    const struct fault *fault = &simulation->faults[index];
    struct sim_machine *machine = simulation->machine;
    struct virtual_network *sim = sim_machine_network(machine);
    uint64_t now_ns = sim_machine_now_ns(machine);

    assert(index < simulation->faults_count);
    switch (fault->kind) {
    case FAULT_STOP:
        sim_machine_stop_at(machine, now_ns, fault->place);
        if (fault->duration_ns == 0)
            simulate_place_gone(simulation, fault->place);
        break;
    case FAULT_BREAK:
        break_link(simulation, fault->place);
        break;
    case FAULT_DELAY:
        virtual_network_set_delay(sim, fault->place, fault->amount);
        break;
    case FAULT_SLOW:
        virtual_network_set_slow(sim, fault->place, (uint32_t)fault->amount);
        break;
    case FAULT_PARTITION:
        partition_begins(simulation, fault);
        break;
    case FAULT_TRUNCATE:
        virtual_network_damage(sim, fault->place, VIRTUAL_NETWORK_DAMAGE_TRUNCATE);
        simulation->is_damaged = true;
        break;
    case FAULT_MUTATE:
        virtual_network_damage(sim, fault->place, VIRTUAL_NETWORK_DAMAGE_MUTATE);
        simulation->is_damaged = true;
        break;
    case FAULT_TWIN:
    case FAULT_SECRET:
        stranger_comes(simulation, fault);
        break;
    default: /* kill, root, restart */
        place_dies(simulation, fault->kind == FAULT_ROOT ? 0 : fault->place);
    }
}

static void call_ends(void *context, uint64_t index)
{
    struct simulation *simulation = context;
    const struct fault *fault = &simulation->faults[index];
    struct sim_machine *machine = simulation->machine;
    struct virtual_network *sim = sim_machine_network(machine);
    uint64_t now_ns = sim_machine_now_ns(machine);

    assert(index < simulation->faults_count && fault->duration_ns > 0);
    switch (fault->kind) {
    case FAULT_STOP:
        sim_machine_continue_at(machine, now_ns, fault->place);
        break;
    case FAULT_RESTART:
        sim_machine_restart_at(machine, now_ns, fault->place);
        break;
    case FAULT_DELAY:
        virtual_network_set_delay(sim, fault->place, 0);
        break;
    case FAULT_SLOW:
        virtual_network_set_slow(sim, fault->place, 1);
        break;
    case FAULT_PARTITION:
        virtual_network_set_blocked(sim, 0, 1, 0);
        virtual_network_set_blocked(sim, 1, 0, 0);
        break;
    default:
        break; /* already dead, or already done */
    }
}

void simulate_faults_arm(struct simulation *simulation)
{
    struct virtual_network *sim = sim_machine_network(simulation->machine);
    uint64_t now_ns = virtual_network_now_ns(sim);

    for (uint32_t i = 0; i < simulation->faults_count; i++) {
        const struct fault *fault = &simulation->faults[i];

        virtual_network_at(sim, now_ns + fault->when_ns, call_begins, simulation, i);
        if (fault->duration_ns > 0)
            virtual_network_at(sim, now_ns + fault->when_ns + fault->duration_ns, call_ends,
                               simulation, i);
    }
}
