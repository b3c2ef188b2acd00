/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "launch/cli/sim/simulate_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

static void operation_print(const struct operation *operation, struct buffer *out)
{
    assert(operation->kind < OPERATION_KIND_COUNT);
    buffer_append_string(out, operation_names[operation->kind]);
    if (operation->kind == OPERATION_BROADCAST || operation->kind == OPERATION_EXCHANGE ||
        ((operation->kind == OPERATION_HEAL || operation->kind == OPERATION_GROW ||
          operation->kind == OPERATION_SHRINK) &&
         operation->amount > 1))
        buffer_printf(out, "=%llu", (unsigned long long)operation->amount);
}

static void print_row(const struct outcome *outcome, struct buffer *out)
{
    struct buffer name = {0};

    operation_print(&outcome->operation, &name);
    buffer_printf(out, "%-20s %14.6f %14.6f %9u %11llu %13llu%s%s\n", buffer_string(&name),
                  (double)outcome->begun_ns / NS_PER_MS, (double)outcome->took_ns / NS_PER_MS,
                  outcome->members, (unsigned long long)outcome->frames,
                  (unsigned long long)outcome->bytes, outcome->text[0] != '\0' ? "  " : "",
                  outcome->text);
    buffer_fini(&name);
}

void simulate_table(const struct simulation *simulation, const struct host_cost *cost,
                    struct buffer *out)
{
    const struct sim_machine *machine = simulation->machine;

    buffer_printf(out, "%u nodes, radix %u, seed %u\n", simulation->plan->nodes,
                  simulation->plan->radix, simulation->seed);
    simulate_fabric_print(&simulation->plan->fabric, out);
    for (uint32_t i = 0; i < simulation->faults_count; i++) {
        buffer_append_string(out, i == 0 ? "faults: " : " ");
        simulate_fault_print(&simulation->faults[i], out);
        buffer_append_string(out, i + 1 == simulation->faults_count ? "\n" : "");
    }
    buffer_printf(out, "%-20s %14s %14s %9s %11s %13s\n", "operation", "at ms", "took ms", "places",
                  "frames", "bytes");
    for (uint32_t i = 0; i < simulation->outcomes_count; i++)
        print_row(&simulation->outcomes[i], out);
    buffer_printf(out, "%.3f s of virtual time, %llu events, in %.2f s and %.0f MB\n",
                  (double)sim_machine_now_ns(machine) / 1e9,
                  (unsigned long long)sim_machine_events(machine), cost->seconds, cost->memory_mb);
}

static json_t *outcome_json(const struct outcome *outcome)
{
    json_t *row = json_object();
    struct buffer name = {0};

    operation_print(&outcome->operation, &name);
    json_object_set_new(row, "operation", json_string(buffer_string(&name)));
    json_object_set_new(row, "at_ns", json_integer((json_int_t)outcome->begun_ns));
    json_object_set_new(row, "took_ns", json_integer((json_int_t)outcome->took_ns));
    json_object_set_new(row, "places", json_integer(outcome->members));
    json_object_set_new(row, "frames", json_integer((json_int_t)outcome->frames));
    json_object_set_new(row, "bytes", json_integer((json_int_t)outcome->bytes));
    json_object_set_new(row, "cpu_ns", json_integer((json_int_t)outcome->cpu.time_ns));
    json_object_set_new(row, "wakes", json_integer((json_int_t)outcome->cpu.wakes));
    json_object_set_new(row, "reads", json_integer((json_int_t)outcome->cpu.reads));
    json_object_set_new(row, "writes", json_integer((json_int_t)outcome->cpu.writes));
    json_object_set_new(row, "text", json_string(outcome->text));
    buffer_fini(&name);
    return row;
}

static json_t *faults_json(const struct simulation *simulation)
{
    json_t *faults = json_array();

    for (uint32_t i = 0; i < simulation->faults_count; i++) {
        struct buffer text = {0};

        simulate_fault_print(&simulation->faults[i], &text);
        json_array_append_new(faults, json_string(buffer_string(&text)));
        buffer_fini(&text);
    }
    return faults;
}

json_t *simulate_json(const struct simulation *simulation, const struct host_cost *cost,
                      const char *replay)
{
    const struct sim_machine *machine = simulation->machine;
    json_t *world = json_object();
    json_t *operations = json_array();
    json_t *host = json_object();

    for (uint32_t i = 0; i < simulation->outcomes_count; i++)
        json_array_append_new(operations, outcome_json(&simulation->outcomes[i]));
    json_object_set_new(host, "seconds", json_real(cost->seconds));
    json_object_set_new(host, "memory_mb", json_real(cost->memory_mb));
    json_object_set_new(world, "nodes", json_integer(simulation->plan->nodes));
    json_object_set_new(world, "radix", json_integer(simulation->plan->radix));
    json_object_set_new(world, "seed", json_integer(simulation->seed));
    json_object_set_new(world, "profile", simulate_profile_json(&simulation->plan->profile));
    json_object_set_new(world, "faults", faults_json(simulation));
    json_object_set_new(world, "operations", operations);
    json_object_set_new(world, "world_ns", json_integer((json_int_t)sim_machine_now_ns(machine)));
    json_object_set_new(world, "events", json_integer((json_int_t)sim_machine_events(machine)));
    json_object_set_new(world, "ended", json_integer(simulation->ended_places));
    json_object_set_new(world, "failure",
                        simulation->failure[0] != '\0' ? json_string(simulation->failure)
                                                       : json_null());
    json_object_set_new(world, "replay", replay != NULL ? json_string(replay) : json_null());
    json_object_set_new(world, "host", host);
    return world;
}
