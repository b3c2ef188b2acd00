/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of `banyan run` as given, before interpretation, and the table that parses it
 * and prints its help.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_SETTINGS_H
#define LAUNCH_CLI_REQUEST_REQUEST_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "launch/cli/option/options.h"

#define RUN_NOT_GIVEN UINT32_MAX
/* The choices of --source. */
#define REQUEST_SOURCES                                                                    \
    "local flux pals slurm lsf pbs gridengine cobalt oar pjm loadleveler condor awsbatch " \
    "mpioperator"

struct request_settings {
    int help;
    int version;
    int verbose;
    int label;
    int timestamp;
    int merge;
    int fold;
    const char *output;
    const char *error;
    const char *output_from;
    int oversubscribe;
    uint32_t processes; /* 0: not given, likewise below */
    uint32_t per_node;
    uint32_t min_nodes;
    uint32_t spares;
    uint32_t virtual_nodes;
    uint32_t slots;
    uint32_t radix;
    const char *trees;
    int radix_is_configured; /* it may exceed the number of nodes */
    uint32_t timeout_s;
    uint32_t start_timeout_s;
    uint32_t start_retries; /* or RUN_NOT_GIVEN */
    uint32_t kill_grace_s;  /* likewise */
    uint32_t patience_s;    /* 0: not given */
    uint32_t cpus_per_rank;
    uint32_t gpus_per_rank;
    int report_bindings;
    int profile;
    int stack;
    int stats;
    const char *trace;
    struct option_list require;
    struct option_list facts;
    /* of `banyan map` only */
    struct option_list nodes;
    struct option_list topology;
    int explain;
    int as_json;
    int svg;
    int show_topology;
    /* of both again */
    const char *map_by;
    const char *rank_by;
    const char *bind_to;
    const char *bind_memory;
    struct option_list hosts;
    struct option_list host_files;
    const char *source;
    const char *alloc;
    const char *on;
    const char *directory;
    const char *input;
    int pty;
    const char *mpi;
    const char *starter;
    const char *join_file;
    const char *agent;
    const char *configured_agent; /* forces no ssh where none is needed */
    const char *banyand;
    struct option_list net;
    const char *boot;
    const char *ports;
    const char *fabric;
    const char *fabric_topology;
    int no_shape;
    const char *tmpdir;
    const char *record;
    const char *log;
    const char *json;
    const char *tasks;
    const char *joblog;
    const char *results;
    uint32_t retries;
    int resume;
    const char *instance;
    int no_wait;
    int no_daemons;
    int detach;
    int daemonize;      /* of start */
    uint32_t survive_s; /* of start; 0: not given */
    const char *on_failure;
    struct option_list stage;
    int stage_binary;
    int force;
    int check_libraries;
    const char *modex;
    const char *stop;
    int json_wanted; /* of verbs that print it */
    struct option_list set;
    struct option_list env_files;
    struct option_list unset;
    struct option_list prepend;
    struct option_list append;
    struct option_list limits;
    const char *app_file;
    const char *umask;
    const char *nice;
};

extern const struct option_rule run_rules[];

/* Frees what the lists hold, not the words. */
void request_settings_fini(struct request_settings *settings);
/* The initial settings of a program after the first: those of the first, except the number of
 * processes, and lists other than variables. */
struct request_settings request_settings_inherit(const struct request_settings *first);
/* Inherits the requirements, for a program without any. */
void request_settings_inherit_require(struct request_settings *settings,
                                      const struct request_settings *first);

/* The table of a verb that takes the named options of run, and further ones, whose rows end with
 * OPTION_END; rules has room for the names, those, and two more. */
void request_settings_make_rules(const char *const *names, size_t names_count,
                                 const struct option_rule *own, struct option_rule *rules);
/* -EINVAL if --radix exceeds the number of nodes. */
int request_settings_check_radix(const struct request_settings *settings, uint32_t nodes_count,
                                 struct error *error);
/* Those of `banyan doctor`, the same as run's where both have them. */
const struct option_rule *request_settings_doctor_rules(void);
/* Those of `banyan start`. */
const struct option_rule *request_settings_start_rules(void);

#endif
