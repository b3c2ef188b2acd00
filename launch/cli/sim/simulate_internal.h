/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The internals of launch/cli/sim/simulate.h:
 *
 *     simulate.c          the verb: one world per seed
 *     simulate_options.c  the plan, from the command line
 *     simulate_fabric.c   switches, which place is in which, and what their links take
 *     simulate_profile.c  what things cost: options and profile files
 *     simulate_run.c      one world: its operations in order, and their checks
 *     simulate_fault.c    faults
 *     simulate_replay.c   a recording of a real daemon, run again
 *     simulate_report.c   table and JSON
 *     simulate_trace.c    a trace for Perfetto
 */
#ifndef LAUNCH_CLI_SIM_SIMULATE_INTERNAL_H
#define LAUNCH_CLI_SIM_SIMULATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "alloc/allocation.h"
#include "base/error.h"
#include "base/random.h"
#include "base/ranges.h"
#include "fabric/topology/fabric_model.h"
#include "launch/cli/option/options.h"
#include "launch/sim/sim.h"

#define SIMULATE_NODES_MAX         4194304u
#define SIMULATE_PER_NODE_MAX      4096u
#define SIMULATE_OPERATIONS_MAX    64u
#define SIMULATE_FAULTS_MAX        1000u
#define SIMULATE_PROFILE_BYTES_MAX (64u * 1024)

/* ---- what things cost ---- */

enum profile_field {
    PROFILE_LATENCY,
    PROFILE_JITTER,
    PROFILE_SEND_BYTE,
    PROFILE_RECEIVE_BYTE,
    PROFILE_SWITCH,
    PROFILE_UPLINK_BYTE,
    PROFILE_UPLINK_LATENCY,
    PROFILE_CPU_WAKE,
    PROFILE_CPU_COLD,
    PROFILE_CACHE_NODES,
    PROFILE_CPU_READ,
    PROFILE_CPU_WRITE,
    PROFILE_CPU_SEND,
    PROFILE_CPU_RECEIVE,
    PROFILE_CPU_SEND_BYTE,
    PROFILE_CPU_RECEIVE_BYTE,
    PROFILE_CPU_CONNECT,
    PROFILE_CPU_ACCEPT,
    PROFILE_CORES,
    PROFILE_STARTER_CPU,
    PROFILE_DAEMON_CPU,
    PROFILE_DAEMON_TIME,
    PROFILE_DAEMON_JITTER,
    PROFILE_PROCESS_CPU,
    PROFILE_PROCESS_JITTER,
    PROFILE_LOCAL_CPU,
    PROFILE_LOCAL_BYTE,
    PROFILE_FIELD_COUNT
};

/* Times in picoseconds, counts as they are. */
struct profile {
    uint64_t values[PROFILE_FIELD_COUNT];
};

const char *simulate_profile_field_name(enum profile_field field);
/* Of a field: "50us", "1.5ns"; a count is a whole number. */
int simulate_profile_field_parse(enum profile_field field, const char *text, uint64_t *ret_value,
                                 struct error *error);
void simulate_profile_defaults(struct profile *ret_profile);
/* Replaces the fields that the file has. */
int simulate_profile_read(struct profile *profile, const char *path, struct error *error);
json_t *simulate_profile_json(const struct profile *profile);
void simulate_profile_apply(const struct profile *profile, struct sim_machine_config *config);
/* "50us", "0.02ns" with the unit that suits; into text, which is returned. */
#define PROFILE_TEXT_BYTES 32
const char *simulate_profile_time_text(uint64_t picoseconds, char *text);
int simulate_time_parse(const char *text, uint64_t *ret_picoseconds);
int simulate_size_parse(const char *text, uint64_t *ret_bytes);

/* ---- the fabric ---- */

#define SIMULATE_RATIOS_MAX 8u

struct simulate_fabric {
    const char *name; /* NULL: none; points into argv */
    struct fabric_model model;
    uint64_t link_ns; /* for each unit of the model's costs */
    uint32_t ratios
        [SIMULATE_RATIOS_MAX]; /* of switches from the lowest level on: what can enter from below */
    uint32_t ratios_count;     /* to what can leave upward; 0: everything */
    bool is_shuffled;
    bool is_shaped;
};

/* What is given on the command line; NULL, or 0: not given. */
struct simulate_fabric_words {
    const char *model;
    const char *link_latency;
    const char *ratios;
    int is_shuffled;
    int no_shape;
};

int simulate_fabric_parse(const struct simulate_fabric_words *words,
                          struct simulate_fabric *ret_fabric, struct error *error);
void simulate_fabric_fini(struct simulate_fabric *fabric);
/* For places 0 to nodes, whose ports take that long for a byte.  The result is given to
 * simulate_fabric_free. */
struct virtual_network_fabric *simulate_fabric_make(const struct simulate_fabric *fabric,
                                                    uint32_t nodes, uint64_t byte_ps,
                                                    uint32_t seed);
void simulate_fabric_free(struct virtual_network_fabric *fabric);
/* "fat-tree:16x16x16, nodes shuffled, tree by the switches, uplinks 4:1" */
void simulate_fabric_print(const struct simulate_fabric *fabric, struct buffer *out);

/* ---- the plan ---- */

enum operation_kind {
    OPERATION_START,
    OPERATION_LAUNCH,
    OPERATION_BARRIER,
    OPERATION_BROADCAST,
    OPERATION_EXCHANGE,
    OPERATION_HEAL,
    OPERATION_GROW,
    OPERATION_SHRINK,
    OPERATION_END,
    OPERATION_KIND_COUNT
};

struct operation {
    enum operation_kind kind;
    uint64_t amount; /* bytes; of heal, grow and shrink: places */
};

enum size_rule { SIZES_EQUAL, SIZES_SINGLE, SIZES_SKEWED, SIZES_COUNT };

enum fault_kind {
    FAULT_KILL,
    FAULT_STOP,
    FAULT_RESTART,
    FAULT_ROOT,
    FAULT_BREAK,
    FAULT_DELAY,
    FAULT_SLOW,
    FAULT_PARTITION,
    FAULT_TRUNCATE,
    FAULT_MUTATE,
    FAULT_TWIN,
    FAULT_SECRET,
    FAULT_KIND_COUNT
};

enum partition {
    PARTITION_EVEN,
    PARTITION_RANDOM,
    PARTITION_ONE,
    PARTITION_ONEWAY,
    PARTITION_COUNT
};

struct fault {
    enum fault_kind kind;
    enum partition partition;
    bool is_place_given; /* else any but the root */
    uint32_t place;
    uint64_t when_ns;     /* after the first requested operation has begun */
    uint64_t duration_ns; /* 0: permanently; of a restart: until it returns */
    uint64_t amount;      /* of a delay: ns; of slow: factor */
};

struct simulate_plan {
    uint32_t nodes;
    uint32_t radix;
    uint8_t trees; /* enum endpoint_trees */
    uint32_t per_node;
    uint32_t seed;
    uint32_t seeds;
    uint64_t timeout_ns; /* of one operation */
    uint64_t pause_ns;   /* between two */
    enum size_rule sizes;
    struct ranges set; /* empty: all places */
    struct operation operations[SIMULATE_OPERATIONS_MAX];
    uint32_t operations_count;
    struct fault faults[SIMULATE_FAULTS_MAX];
    uint32_t faults_count;
    uint32_t faults_random;
    struct profile profile;
    struct simulate_fabric fabric;
    bool is_json;
    bool wants_help;
    int wants_version;
    const char *trace_path; /* points into argv */
    const char *replay_path;
    bool is_verbose;
    uint32_t trace_places;
};

extern const char *const operation_names[OPERATION_KIND_COUNT];
int simulate_options_parse(int argc, char **argv, struct simulate_plan *ret_plan,
                           struct error *error);
void simulate_plan_fini(struct simulate_plan *plan);
/* "kill=5@10ms:2s"; names of kinds and partitions as they are given. */
int simulate_fault_parse(const char *text, uint32_t places, struct fault *ret_fault,
                         struct error *error);
void simulate_fault_print(const struct fault *fault, struct buffer *out);

/* ---- one world ---- */

#define OUTCOME_TEXT_BYTES 200

struct outcome {
    struct operation operation;
    uint64_t begun_ns;
    uint64_t took_ns;
    uint64_t frames;
    uint64_t bytes;
    struct virtual_network_cpu_use cpu;
    uint32_t members;
    int status;                    /* 0, or the status that all members got */
    char text[OUTCOME_TEXT_BYTES]; /* "" if all is well */
};

struct simulate_trace;

struct simulation {
    const struct simulate_plan *plan;
    uint32_t seed;
    uint32_t places;   /* now */
    uint32_t capacity; /* at most */
    struct random_state random;
    struct allocation allocation;
    struct sim_machine_config config;
    struct virtual_network_fabric *fabric; /* NULL: none */
    struct sim_machine *machine;
    struct simulate_trace *trace;
    struct fault *faults; /* with all choices made */
    uint32_t faults_count;
    uint32_t strangers;
    bool is_damaged; /* frames were mutated: messages of daemons may be wrong */
    /* the operation under way */
    struct outcome *current; /* NULL: none */
    uint32_t generation;
    uint32_t left;
    uint8_t *waits;         /* per place: one of those still awaited */
    uint32_t *heard;        /* per place: deaths reported to it, while healing */
    uint32_t deaths;        /* of the healing */
    struct ranges killed;   /* by it */
    struct ranges departed; /* by any shrinking */
    uint64_t expected_bytes;
    uint64_t *sizes; /* per place */
    uint64_t digest; /* of the first result */
    bool has_digest;
    bool is_over; /* the first report to any place ends it */
    bool has_job;
    uint32_t ended_places;
    struct outcome outcomes[SIMULATE_OPERATIONS_MAX + 1];
    uint32_t outcomes_count;
    char failure[256]; /* "" if nothing is wrong */
};

void simulate_runs(struct simulation *simulation, const struct simulate_plan *plan, uint32_t seed,
                   struct simulate_trace *trace);
void simulate_fini(struct simulation *simulation);
void simulate_fail(struct simulation *simulation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A place will not take part any further. */
void simulate_place_gone(struct simulation *simulation, uint32_t place);

/* Makes the random choices, and counts the strangers. */
void simulate_faults_choose(struct simulation *simulation);
/* Schedules them. */
void simulate_faults_arm(struct simulation *simulation);

/* ---- output ---- */

struct host_cost {
    double seconds;
    double memory_mb;
};

void simulate_table(const struct simulation *simulation, const struct host_cost *cost,
                    struct buffer *out);
json_t *simulate_json(const struct simulation *simulation, const struct host_cost *cost,
                      const char *replay);

struct replay_result {
    uint32_t place;
    uint32_t places;
    uint64_t steps;
    uint64_t first_ns;
    uint64_t last_ns;
    bool is_same; /* all steps did the same as when recorded */
    bool is_cut;  /* the recording ends at its limit */
    bool is_torn; /* it ends within a step: its daemon died, or the file has been cut off */
};

/* -errno if the file cannot be read; prints the first step that differs, and each if verbose. */
int simulate_replay(const char *path, bool is_verbose, struct replay_result *ret_result,
                    struct error *error);

/* A trace of the first places, with at most that many events.  -errno if the file cannot be
 * written. */
int simulate_trace_open(const char *path, uint32_t places, struct simulate_trace **ret_trace,
                        struct error *error);
void simulate_trace_attach(struct simulate_trace *trace, struct virtual_network *sim);
void simulate_trace_operation(struct simulate_trace *trace, const struct outcome *outcome);
int simulate_trace_close(struct simulate_trace *trace, struct error *error);

#endif
