/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/sim/simulate.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "launch/cli/sim/simulate_internal.h"
#include "launch/proto/exit_status.h"

#define STATUS_WRONG 1
#define WORLD_BYTES  (1 << 30)

static int fail_simulate(const struct error *error)
{
    fprintf(stderr, "banyan: %s\n", error->text);
    return EXIT_STATUS_FAILED;
}

static int write_result(struct buffer *text)
{
    struct error error = ERROR_NONE;
    bool is_written = fwrite(text->data, 1, text->length_bytes, stdout) == text->length_bytes &&
                      fflush(stdout) == 0;

    buffer_fini(text);
    if (is_written)
        return EXIT_SUCCESS;
    error_set(&error, -1, "cannot write to stdout: %m");
    return fail_simulate(&error);
}

static double host_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct host_cost cost_since(double began)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (struct host_cost){.seconds = host_seconds() - began,
                              .memory_mb = (double)usage.ru_maxrss / 1024};
}

static bool needs_quotes(const char *word)
{
    return word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                             "-_=+,.:/@%")] != '\0';
}

/* Prints the command that reruns this one world: as given, except for the seeds. */
static void print_replay(int argc, char **argv, uint32_t seed, struct buffer *out)
{
    buffer_printf(out, "banyan sim --seed %u", seed);
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + (argv[i][0] == '-') + (strncmp(argv[i], "--", 2) == 0);
        size_t bytes = strcspn(name, "=");
        bool is_seed = argv[i][0] == '-' && ((bytes == 4 && strncmp(name, "seed", 4) == 0) ||
                                             (bytes == 5 && strncmp(name, "seeds", 5) == 0));

        if (is_seed)
            i += name[bytes] == '\0';
        else
            buffer_printf(out, needs_quotes(argv[i]) ? " '%s'" : " %s", argv[i]);
    }
}

struct verb_state {
    const struct simulate_plan *plan;
    struct simulate_trace *trace;
    json_t *worlds;
    uint32_t wrong;
    int argc;
    char **argv;
};

/* If there are several worlds, only failures are reported. */
static int report_world(struct verb_state *state, const struct simulation *simulation,
                        const struct host_cost *cost)
{
    struct buffer text = {0};
    struct buffer replay = {0};
    bool is_wrong = simulation->failure[0] != '\0';

    assert(simulation->plan == state->plan);
    print_replay(state->argc, state->argv, simulation->seed, &replay);
    if (state->plan->is_json)
        json_array_append_new(
            state->worlds,
            simulate_json(simulation, cost, is_wrong ? buffer_string(&replay) : NULL));
    else if (is_wrong || state->plan->seeds == 1)
        simulate_table(simulation, cost, &text);
    if (is_wrong) {
        state->wrong++;
        fprintf(stderr, "banyan: seed %u: %s; again: %s\n", simulation->seed, simulation->failure,
                buffer_string(&replay));
    }
    buffer_fini(&replay);
    return write_result(&text);
}

static int report_total(struct verb_state *state)
{
    struct buffer text = {0};
    char *json;

    if (state->plan->is_json) {
        json = json_dumps(state->worlds, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        buffer_append_string(&text, json);
        buffer_append_string(&text, "\n");
        free(json);
    } else if (state->plan->seeds > 1) {
        buffer_printf(&text, "%u worlds from seed %u, %u failed\n", state->plan->seeds,
                      state->plan->seed, state->wrong);
    }
    json_decref(state->worlds);
    return write_result(&text);
}

static int run_worlds(const struct simulate_plan *plan, int argc, char **argv, struct error *error)
{
    static struct simulation simulation;
    struct verb_state state = {.plan = plan, .argc = argc, .argv = argv};
    double began = host_seconds();
    int status = EXIT_SUCCESS;
    int rc = 0;

    assert(plan->seeds > 0 && plan->operations_count > 0);
    if (plan->trace_path != NULL)
        rc = simulate_trace_open(plan->trace_path,
                                 plan->trace_places <= plan->nodes ? plan->trace_places
                                                                   : plan->nodes + 1,
                                 &state.trace, error);
    if (rc < 0)
        return fail_simulate(error);
    state.worlds = json_array();
    mallopt(M_TRIM_THRESHOLD, WORLD_BYTES); /* the next world needs the memory again */
    mallopt(M_MMAP_THRESHOLD, WORLD_BYTES);
    for (uint32_t i = 0; i < plan->seeds && status == EXIT_SUCCESS; i++) {
        struct host_cost cost;

        simulate_runs(&simulation, plan, plan->seed + i, state.trace);
        cost = cost_since(began);
        status = report_world(&state, &simulation, &cost);
        simulate_fini(&simulation);
    }
    if (state.trace != NULL && simulate_trace_close(state.trace, error) < 0)
        status = fail_simulate(error);
    rc = report_total(&state);
    if (status != EXIT_SUCCESS || rc != EXIT_SUCCESS)
        return EXIT_STATUS_FAILED;
    return state.wrong > 0 ? STATUS_WRONG : EXIT_SUCCESS;
}

static int replay_trace(const struct simulate_plan *plan, struct error *error)
{
    struct replay_result result;
    struct buffer text = {0};
    int status;

    if (simulate_replay(plan->replay_path, plan->is_verbose, &result, error) < 0)
        return fail_simulate(error);
    buffer_printf(&text, "place %u of %u: %llu steps in %.3f s%s, %s\n", result.place,
                  result.places, (unsigned long long)result.steps,
                  (double)(result.last_ns - result.first_ns) / 1e9,
                  result.is_cut    ? ", up to the limit of the recording"
                  : result.is_torn ? ", up to a step that is cut short"
                                   : "",
                  result.is_same ? "all steps match" : "the last step differs");
    status = write_result(&text);
    return status == EXIT_SUCCESS && !result.is_same ? STATUS_WRONG : status;
}

int simulate_verb(int argc, char **argv)
{
    static struct simulate_plan plan;
    struct error error = ERROR_NONE;
    struct buffer text = {0};
    int status;

    if (simulate_options_parse(argc, argv, &plan, &error) < 0)
        status = fail_simulate(&error);
    else if (plan.wants_help)
        status = (simulate_help(&text), write_result(&text));
    else if (plan.wants_version)
        status = (options_version(&text), write_result(&text));
    else if (plan.replay_path != NULL)
        status = replay_trace(&plan, &error);
    else if (plan.trace_path != NULL && plan.seeds > 1)
        status =
            (error_set(&error, -1, "option --trace records one world, not %u seeds", plan.seeds),
             fail_simulate(&error));
    else
        status = run_worlds(&plan, argc, argv, &error);
    simulate_plan_fini(&plan);
    return status;
}
