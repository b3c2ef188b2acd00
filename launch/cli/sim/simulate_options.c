/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/sim/simulate_internal.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/sim/simulate.h"
#include "overlay/endpoint.h"
#include "overlay/tree.h"

#define RADIX_DEFAULT        TREE_RADIX_DEFAULT
#define NODES_DEFAULT        64
#define TIMEOUT_DEFAULT_PS   (300ull * 1000000000000ull)
#define PAUSE_DEFAULT_PS     (10ull * 1000000000ull)
#define TRACE_PLACES_DEFAULT 64
#define BYTES_DEFAULT        1024

const char *const operation_names[OPERATION_KIND_COUNT] = {
    [OPERATION_START] = "start",       [OPERATION_LAUNCH] = "launch",
    [OPERATION_BARRIER] = "barrier",   [OPERATION_BROADCAST] = "broadcast",
    [OPERATION_EXCHANGE] = "exchange", [OPERATION_HEAL] = "heal",
    [OPERATION_GROW] = "grow",         [OPERATION_SHRINK] = "shrink",
    [OPERATION_END] = "end",
};

static const char *const size_names[SIZES_COUNT] = {"equal", "single", "skewed"};

struct settings {
    uint32_t nodes;
    uint32_t radix;
    uint32_t trees;
    uint32_t per_node;
    uint32_t seed;
    uint32_t seeds;
    uint32_t random_faults;
    uint32_t trace_places;
    int json;
    int help;
    int version;
    const char *profile;
    const char *trace;
    const char *replay;
    int verbose;
    const char *timeout;
    const char *pause;
    const char *sizes;
    const char *set;
    struct simulate_fabric_words fabric;
    struct option_list faults;
    const char *costs[PROFILE_FIELD_COUNT];
};

#define NUMBER(letter, name, value, low, high, field, help)        \
    {                                                              \
        OPTION_NUMBER, letter, name, NULL, value, low, high, NULL, \
            offsetof(struct settings, field), help                 \
    }
#define TEXT(kind, name, value, field, help)                                           \
    {                                                                                  \
        kind, 0, name, NULL, value, 0, 0, NULL, offsetof(struct settings, field), help \
    }
#define COST(name, value, field, help) TEXT(OPTION_TEXT, name, value, costs[field], help)
#define HEADING(text)                                            \
    {                                                            \
        OPTION_HEADING, 0, NULL, NULL, NULL, 0, 0, NULL, 0, text \
    }

static const struct option_rule rules[] = {
    HEADING("The machine"),
    NUMBER('N', "nodes", "N", 1, SIMULATE_NODES_MAX, nodes,
           "number of nodes, not counting the root's (64)"),
    NUMBER('r', "radix", "R", 2, TREE_RADIX_MAX, radix, "children of each node in the tree (6)"),
    NUMBER(0, "trees", "1|2", ENDPOINT_TREES_ONE, ENDPOINT_TREES_TWO, trees,
           "send large data to all over one tree, or over two at once (whichever takes less)"),
    NUMBER(0, "per-node", "N", 1, SIMULATE_PER_NODE_MAX, per_node,
           "processes that launch starts on each node (1)"),
    TEXT(OPTION_TEXT, "set", "PLACES", set,
         "nodes that take part in barrier and exchange: 5,17,100-199 (all; the root is 0)"),
    TEXT(OPTION_TEXT, "sizes", "equal|single|skewed", sizes,
         "how the bytes of exchange are spread: equal, single (the first node has all) or "
         "skewed (a few have most)"),
    HEADING("Its switches"),
    TEXT(OPTION_TEXT, "fabric-model", "FILE|SHAPE", fabric.model,
         "the switches between the nodes, as in banyan-fabric(1); -N is all its nodes by default"),
    TEXT(OPTION_TEXT, "link-latency", "T", fabric.link_latency,
         "latency of each unit of the model's costs, beside --latency (250ns)"),
    TEXT(OPTION_TEXT, "oversubscription", "R,...", fabric.ratios,
         "what can enter each switch from below is R times what its links up can carry, from the "
         "lowest level on, the last for all others (links up carry everything at once)"),
    TEXT(OPTION_FLAG, "shuffle", NULL, fabric.is_shuffled,
         "list the nodes in an order chosen by the seed"),
    TEXT(OPTION_FLAG, "no-shape", NULL, fabric.no_shape,
         "a tree in the order of the nodes, whatever the switches"),
    HEADING("Costs (T is a time such as 50us, 1.5ns or 20ps; default 0 unless given)"),
    TEXT(OPTION_TEXT, "profile", "FILE", profile,
         "read the costs from a file: {\"version\": 1, \"latency\": \"50us\", ...}"),
    COST("latency", "T", PROFILE_LATENCY, "one-way latency of a message (10us)"),
    COST("jitter", "T", PROFILE_JITTER, "random extra latency of a message, up to T"),
    COST("send-byte", "T", PROFILE_SEND_BYTE,
         "time per byte that leaves a node (80ps: 100 Gbit/s)"),
    COST("receive-byte", "T", PROFILE_RECEIVE_BYTE, "time per byte that enters a node (80ps)"),
    COST("switch", "N", PROFILE_SWITCH, "nodes per switch (0: one switch for all)"),
    COST("uplink-byte", "T", PROFILE_UPLINK_BYTE,
         "time per byte on the uplink of a switch, in either direction"),
    COST("uplink-latency", "T", PROFILE_UPLINK_LATENCY, "extra latency between two switches"),
    COST("cpu-wake", "T", PROFILE_CPU_WAKE, "CPU time to wake a daemon that was idle"),
    COST("cpu-cold", "T", PROFILE_CPU_COLD,
         "extra CPU time, at most, to refill caches that other nodes used in between (with "
         "--cores)"),
    COST("cache-nodes", "N", PROFILE_CACHE_NODES,
         "number of other nodes after which half of --cpu-cold is due"),
    COST("cpu-read", "T", PROFILE_CPU_READ, "CPU time of one read from a link"),
    COST("cpu-write", "T", PROFILE_CPU_WRITE, "CPU time of one write to a link"),
    COST("cpu-send", "T", PROFILE_CPU_SEND, "CPU time to send a message (5us)"),
    COST("cpu-receive", "T", PROFILE_CPU_RECEIVE, "CPU time to receive a message (5us)"),
    COST("cpu-send-byte", "T", PROFILE_CPU_SEND_BYTE, "extra CPU time per byte sent"),
    COST("cpu-receive-byte", "T", PROFILE_CPU_RECEIVE_BYTE, "extra CPU time per byte received"),
    COST("cpu-connect", "T", PROFILE_CPU_CONNECT, "CPU time to open a link (200us)"),
    COST("cpu-accept", "T", PROFILE_CPU_ACCEPT, "CPU time to accept a link (200us)"),
    COST("cores", "N", PROFILE_CORES,
         "number of cores that all nodes share (0: a core for each node)"),
    COST("starter-cpu", "T", PROFILE_STARTER_CPU,
         "CPU time of the parent to start a daemon (500us)"),
    COST("daemon-cpu", "T", PROFILE_DAEMON_CPU, "CPU time of a daemon to start (3ms)"),
    COST("daemon-time", "T", PROFILE_DAEMON_TIME,
         "part of the start of a daemon that takes no CPU, as with ssh"),
    COST("daemon-jitter", "T", PROFILE_DAEMON_JITTER,
         "random extra start time of a daemon, up to T"),
    COST("process-cpu", "T", PROFILE_PROCESS_CPU, "CPU time to start a process (1ms)"),
    COST("process-jitter", "T", PROFILE_PROCESS_JITTER,
         "random extra start time of a process, up to T"),
    COST("local-cpu", "T", PROFILE_LOCAL_CPU,
         "CPU time of a node for its processes to enter a barrier or exchange"),
    COST("local-byte", "T", PROFILE_LOCAL_BYTE,
         "extra CPU time per byte that its processes contribute"),
    HEADING("Faults and limits"),
    TEXT(OPTION_LIST, "fault", "FAULT", faults,
         "inject a fault, KIND[=WHAT][@WHEN][:HOWLONG], see below"),
    NUMBER(0, "random-faults", "N", 0, SIMULATE_FAULTS_MAX, random_faults,
           "inject N faults chosen by the seed"),
    NUMBER(0, "seed", "S", 1, UINT32_MAX, seed, "seed of everything random (1)"),
    NUMBER(0, "seeds", "N", 1, UINT32_MAX, seeds, "repeat the run with N consecutive seeds (1)"),
    TEXT(OPTION_TEXT, "timeout", "T", timeout, "limit for each operation, in virtual time (300s)"),
    TEXT(OPTION_TEXT, "pause", "T", pause,
         "virtual time between operations, in which the previous one settles (10ms)"),
    HEADING("Output"),
    {OPTION_FLAG, 0, "json", NULL, NULL, 0, 0, NULL, offsetof(struct settings, json),
     "print JSON instead of a table"},
    TEXT(OPTION_TEXT, "trace", "FILE", trace,
         "write a trace that Perfetto opens (ui.perfetto.dev)"),
    NUMBER(0, "trace-places", "N", 1, SIMULATE_NODES_MAX, trace_places,
           "number of nodes in the trace (64)"),
    TEXT(OPTION_TEXT, "replay", "FILE", replay,
         "replay a recording of banyan run --record instead of simulating"),
    {OPTION_FLAG, 'v', "verbose", NULL, NULL, 0, 0, NULL, offsetof(struct settings, verbose),
     "print each step of a replay"},
    OPTION_ROWS_ABOUT(struct settings, help, version),
};

const struct option_rule *simulate_rules(void)
{
    return rules;
}

void simulate_help(struct buffer *out)
{
    buffer_append_string(
        out, "Usage: banyan sim [OPTIONS] OPERATION...\n"
             "       banyan sim --replay FILE\n\n"
             "Runs the daemons of a machine in one process and in virtual time, and prints how\n"
             "long each operation takes.\n\n"
             "Operations, run in the order given, after an implied start:\n"
             "      start             start all daemons and build the tree\n"
             "      launch            start a job with --per-node processes on each node\n"
             "      barrier           wait for all nodes: an exchange without data\n"
             "      broadcast[=SIZE]  send SIZE bytes (1K, 2M) from the root to all nodes\n"
             "      exchange[=SIZE]   collect SIZE bytes of each node on all nodes\n"
             "      heal[=N]          kill N nodes at once; ends when all others know (1)\n"
             "      grow[=N]          add N nodes; ends when they have joined (1)\n"
             "      shrink[=N]        remove N nodes; ends when their daemons have ended (1)\n"
             "      end               end the job and all daemons\n");
    options_help(rules, out);
    buffer_append_string(
        out, "\nFaults: kill, stop, restart, root (the root dies), break (a link), truncate and\n"
             "mutate (the next frame), twin (a second daemon that claims the place), secret (a\n"
             "daemon that does not know the secret), each with =PLACE or =any;\n"
             "delay=PLACE/TIME, slow=PLACE/FACTOR; partition=even, random, one[/PLACE] or\n"
             "oneway.  Place 0 is the root, which can be stopped.  WHEN counts from the start of\n"
             "the first operation given; HOWLONG is the duration of the fault.\n"
             "\nExit status: 1 if an operation hangs, differs between nodes or gives a wrong\n"
             "result; the command that repeats it is then printed.  More in banyan-sim(1).\n");
}

static int parse_operation(const char *word, struct operation *ret_operation, struct error *error)
{
    size_t name_bytes = strcspn(word, "=");
    const char *value = word[name_bytes] == '=' ? word + name_bytes + 1 : NULL;
    int kind = 0;
    uint32_t count;

    while (kind < OPERATION_KIND_COUNT && (strlen(operation_names[kind]) != name_bytes ||
                                           strncmp(operation_names[kind], word, name_bytes) != 0))
        kind++;
    if (kind == OPERATION_KIND_COUNT && word[0] == '-')
        return error_set(error, -EINVAL, "option %.40s: options come before the operations", word);
    if (kind == OPERATION_KIND_COUNT)
        return error_set(
            error, -EINVAL,
            "'%.40s' is not an operation; known are start, launch, barrier, "
            "broadcast[=SIZE], exchange[=SIZE], heal[=N], grow[=N], shrink[=N] and end",
            word);
    *ret_operation = (struct operation){.kind = (enum operation_kind)kind};
    if (kind == OPERATION_BROADCAST || kind == OPERATION_EXCHANGE) {
        ret_operation->amount = BYTES_DEFAULT;
        if (value != NULL && (simulate_size_parse(value, &ret_operation->amount) < 0 ||
                              ret_operation->amount >= ENDPOINT_PAYLOAD_BYTES_MAX))
            return error_set(error, -EINVAL, "'%.40s': '%.40s' is not a size below %u MiB", word,
                             value, ENDPOINT_PAYLOAD_BYTES_MAX >> 20);
    } else if (kind == OPERATION_HEAL || kind == OPERATION_GROW || kind == OPERATION_SHRINK) {
        count = 1;
        if (value != NULL && options_number(value, 1, SIMULATE_NODES_MAX, &count) < 0)
            return error_set(error, -EINVAL, "'%.40s': '%.40s' is not a number of nodes", word,
                             value);
        ret_operation->amount = count;
    } else if (value != NULL) {
        return error_set(error, -EINVAL, "operation %s takes no value", operation_names[kind]);
    }
    return 0;
}

static int parse_operations(struct simulate_plan *plan, int argc, char **argv, int first,
                            struct error *error)
{
    uint64_t nodes = plan->nodes; /* that live */

    assert(first <= argc);
    if (first == argc)
        return error_set(error, -EINVAL,
                         "sim needs an operation, such as: banyan sim -N 4096 barrier");
    for (int i = first; i < argc; i++) {
        struct operation *operation = &plan->operations[plan->operations_count];
        int rc;

        if (plan->operations_count == SIMULATE_OPERATIONS_MAX)
            return error_set(error, -E2BIG, "more than %u operations", SIMULATE_OPERATIONS_MAX);
        rc = parse_operation(argv[i], operation, error);
        if (rc < 0)
            return rc;
        if (operation->kind == OPERATION_START && i > first)
            return error_set(error, -EINVAL, "start can only be the first operation");
        if (operation->kind == OPERATION_END && i + 1 < argc)
            return error_set(error, -EINVAL, "end can only be the last operation");
        if ((operation->kind == OPERATION_HEAL || operation->kind == OPERATION_SHRINK) &&
            operation->amount >= nodes)
            return error_set(error, -EINVAL, "%s=%llu: at least one of the %llu nodes must survive",
                             operation_names[operation->kind],
                             (unsigned long long)operation->amount, (unsigned long long)nodes);
        if (operation->kind == OPERATION_GROW)
            nodes += operation->amount;
        if (operation->kind == OPERATION_HEAL || operation->kind == OPERATION_SHRINK)
            nodes -= operation->amount;
        if (nodes > SIMULATE_NODES_MAX)
            return error_set(error, -E2BIG, "%s: more than %u nodes", argv[i], SIMULATE_NODES_MAX);
        assert(nodes > 0);
        plan->operations_count++;
    }
    return 0;
}

/* "5,17,100-199" */
static int parse_set(const char *text, uint32_t places, struct ranges *ret_set, struct error *error)
{
    char *rest;

    assert(places > 1);
    for (const char *at = text;; at = rest + 1) {
        unsigned long first = strtoul(at, &rest, 10);
        unsigned long last = first;

        if (rest > at && *rest == '-' && rest[1] >= '0' && rest[1] <= '9')
            last = strtoul(rest + 1, &rest, 10);
        if (rest == at || *at < '0' || *at > '9' || (*rest != '\0' && *rest != ',') ||
            first > last || last >= places)
            return error_set(error, -EINVAL,
                             "option --set: '%.80s' is not a list of places from 0 to %u", text,
                             places - 1);
        ranges_add(ret_set, (uint32_t)first, (uint32_t)last);
        if (*rest == '\0')
            return 0;
    }
}

static int parse_sizes(const char *text, enum size_rule *ret_sizes, struct error *error)
{
    for (int rule = 0; rule < SIZES_COUNT; rule++) {
        if (strcmp(size_names[rule], text) == 0) {
            *ret_sizes = (enum size_rule)rule;
            return 0;
        }
    }
    return error_set(error, -EINVAL, "option --sizes: '%.40s' is not equal, single or skewed",
                     text);
}

static int parse_costs(const struct settings *settings, struct profile *profile,
                       struct error *error)
{
    int rc;

    simulate_profile_defaults(profile);
    if (settings->profile != NULL) {
        rc = simulate_profile_read(profile, settings->profile, error);
        if (rc < 0)
            return rc;
    }
    for (int field = 0; field < PROFILE_FIELD_COUNT; field++) {
        if (settings->costs[field] == NULL)
            continue;
        rc = simulate_profile_field_parse((enum profile_field)field, settings->costs[field],
                                          &profile->values[field], error);
        if (rc < 0)
            return error_prefix(error, "option --%s", simulate_profile_field_name(field)), rc;
    }
    return 0;
}

/* The number of nodes depends on it. */
static int take_fabric(const struct settings *settings, struct simulate_plan *plan,
                       struct error *error)
{
    int rc = simulate_fabric_parse(&settings->fabric, &plan->fabric, error);
    uint32_t most = plan->fabric.model.nodes_count;

    plan->nodes = settings->nodes > 0 ? settings->nodes : NODES_DEFAULT;
    if (rc < 0 || plan->fabric.name == NULL)
        return rc;
    if (settings->nodes == 0)
        plan->nodes = most < SIMULATE_NODES_MAX ? most : SIMULATE_NODES_MAX;
    if (plan->nodes > most)
        return error_set(error, -EINVAL, "option --nodes: the fabric has only %u nodes, not %u",
                         most, plan->nodes);
    if (settings->costs[PROFILE_SWITCH] != NULL || settings->costs[PROFILE_UPLINK_BYTE] != NULL ||
        settings->costs[PROFILE_UPLINK_LATENCY] != NULL)
        return error_set(error, -EINVAL,
                         "options --switch, --uplink-byte and --uplink-latency cannot be used with "
                         "--fabric-model, which has the switches");
    return 0;
}

static int take_settings(const struct settings *settings, struct simulate_plan *plan,
                         struct error *error)
{
    uint64_t timeout_ps = TIMEOUT_DEFAULT_PS;
    uint64_t pause_ps = PAUSE_DEFAULT_PS;
    int rc = take_fabric(settings, plan, error);

    if (rc == 0)
        rc = parse_costs(settings, &plan->profile, error);
    assert(rc < 0 || (plan->nodes > 0 && plan->per_node > 0));
    if (rc == 0 && settings->timeout != NULL &&
        (simulate_time_parse(settings->timeout, &timeout_ps) < 0 || timeout_ps == 0))
        rc = error_set(error, -EINVAL, "option --timeout: '%.40s' is not a time such as 60s",
                       settings->timeout);
    if (rc == 0 && settings->pause != NULL && simulate_time_parse(settings->pause, &pause_ps) < 0)
        rc = error_set(error, -EINVAL, "option --pause: '%.40s' is not a time such as 10ms",
                       settings->pause);
    plan->timeout_ns = timeout_ps / 1000;
    plan->pause_ns = pause_ps / 1000;
    if (rc == 0 && settings->sizes != NULL)
        rc = parse_sizes(settings->sizes, &plan->sizes, error);
    if (rc == 0 && (uint64_t)plan->nodes * plan->per_node > PLACEMENT_PROCESSES_MAX)
        rc = error_set(error, -E2BIG,
                       "option --per-node: %u processes on each of %u nodes are more than %u",
                       plan->per_node, plan->nodes, PLACEMENT_PROCESSES_MAX);
    if (rc == 0 && settings->set != NULL)
        rc = parse_set(settings->set, plan->nodes + 1, &plan->set, error);
    if (rc == 0 && settings->faults.count > SIMULATE_FAULTS_MAX)
        rc = error_set(error, -E2BIG, "more than %u faults", SIMULATE_FAULTS_MAX);
    for (uint32_t i = 0; rc == 0 && i < settings->faults.count; i++)
        rc = simulate_fault_parse(settings->faults.items[i], plan->nodes + 1,
                                  &plan->faults[plan->faults_count++], error);
    return rc;
}

int simulate_options_parse(int argc, char **argv, struct simulate_plan *ret_plan,
                           struct error *error)
{
    struct settings settings = {.radix = RADIX_DEFAULT,
                                .per_node = 1,
                                .seed = 1,
                                .seeds = 1,
                                .trace_places = TRACE_PLACES_DEFAULT};
    int first;
    int rc = options_parse(rules, argc, argv, &settings, &first, error);

    *ret_plan = (struct simulate_plan){.radix = settings.radix,
                                       .trees = (uint8_t)settings.trees,
                                       .per_node = settings.per_node,
                                       .seed = settings.seed,
                                       .seeds = settings.seeds,
                                       .faults_random = settings.random_faults,
                                       .is_json = settings.json > 0,
                                       .wants_help = settings.help > 0,
                                       .wants_version = settings.version > 0,
                                       .trace_path = settings.trace,
                                       .replay_path = settings.replay,
                                       .is_verbose = settings.verbose > 0,
                                       .trace_places = settings.trace_places};
    if (rc == 0 && settings.seeds - 1 > UINT32_MAX - settings.seed)
        rc = error_set(error, -ERANGE, "option --seeds: fewer than %u seeds follow seed %u",
                       settings.seeds, settings.seed);
    if (rc == 0 && (ret_plan->wants_help || ret_plan->wants_version)) {
        options_list_fini(&settings.faults);
        return 0;
    }
    if (rc == 0)
        rc = take_settings(&settings, ret_plan, error);
    if (rc == 0 && settings.replay != NULL && first < argc)
        rc = error_set(error, -EINVAL, "option --replay cannot be combined with operations");
    else if (rc == 0 && settings.replay != NULL && settings.json > 0)
        rc = error_set(error, -EINVAL, "option --json: not available with --replay");
    else if (rc == 0 && settings.replay == NULL)
        rc = parse_operations(ret_plan, argc, argv, first, error);
    options_list_fini(&settings.faults);
    return rc;
}

void simulate_plan_fini(struct simulate_plan *plan)
{
    ranges_fini(&plan->set);
    simulate_fabric_fini(&plan->fabric);
}
