/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `banyan run` is asked for: the command line and the environment in, an instance, a job and
 * an allocation out, or the one line that says what is wrong.  What must be known of this machine
 * is handed in (struct run_world), so the same words always mean the same and nothing is started or
 * left behind by a wrong command.
 */
#ifndef LAUNCH_CLI_REQUEST_RUN_OPTIONS_H
#define LAUNCH_CLI_REQUEST_RUN_OPTIONS_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/source.h"
#include "base/error.h"
#include "base/node_facts.h"
#include "launch/proto/spec.h"

#define RUN_RANDOM_BYTES (8 + SECRET_BYTES)
#define RUN_NOTICE_BYTES 240

/* The facts and the two questions.  The caller owns all. */
struct run_world {
    char *const *environment;
    const char *directory; /* the current one; NULL if it is gone */
    const char *host_name;
    const char *banyand; /* where banyand is, as far as this machine knows */
    unsigned char random[RUN_RANDOM_BYTES];
    /* Usable cores of this machine, or -errno; asked only if the slots depend on it. */
    int (*cores)(struct error *error);
    /* Appends the whole file; an error names it. */
    int (*read_file)(const char *path, struct buffer *out, struct error *error);
    /* 1 if PATH of the environment has that program. */
    int (*has_program)(char *const *environment, const char *name);
    /* Becomes a client of the instance with that session directory: its roster, and the connection
     * on which hello has been said.  NULL: no instance can be reached. */
    int (*instance)(const char *directory, struct allocation *ret_roster, int *ret_fd,
                    struct error *error);
    /* Runs a command and takes what it writes (command_output.h); NULL: none can be run. */
    int (*command)(const char *const *argv, struct buffer *out, struct error *error);
    /* Adds what this machine is like; NULL: nobody knows. */
    void (*facts)(struct node_facts *facts);
    const struct source_world *sources; /* what a scheduler left; NULL: nothing */
    struct allocation_trace *trace;     /* records where counts come from; NULL: nobody asks */
};

enum run_wish { RUN_WISH_JOB, RUN_WISH_HELP, RUN_WISH_VERSION };

struct run_request {
    enum run_wish wish; /* the rest counts for RUN_WISH_JOB only */
    struct instance_spec instance;
    struct job_spec job;
    struct allocation allocation;
    uint32_t timeout_s;            /* 0: none */
    char notice[RUN_NOTICE_BYTES]; /* a line for the user, before anything starts; "": none */
    int label;
    int verbose;     /* 1: phases, 2: what daemons log, too */
    int instance_fd; /* of an instance that is there, hello said; -1: one of its own */
    char *json_path; /* NULL: no record */
    int json;        /* of doctor: JSON instead of a table */
    int daemonize;   /* of start */
};

/* argv[0] is the verb.  ret_request must be given to run_request_fini after success. */
int run_request_parse(struct run_request *ret_request, int argc, char *const *argv,
                      const struct run_world *world, struct error *error);
/* The same for `banyan doctor`: a program may be given, then job has one application. */
int doctor_request_parse(struct run_request *ret_request, int argc, char *const *argv,
                         const struct run_world *world, struct error *error);
/* The same for `banyan start`, which has no program. */
int start_request_parse(struct run_request *ret_request, int argc, char *const *argv,
                        const struct run_world *world, struct error *error);
void doctor_help(struct buffer *out);
void start_help(struct buffer *out);
void run_request_fini(struct run_request *request);
void run_help(struct buffer *out);

#endif
