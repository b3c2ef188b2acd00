/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The request of `banyan run`: command line and environment in; an instance, a job and an
 * allocation out, or one line that says what is wrong.  Everything about this machine is passed in
 * (struct request_ops), so parsing is deterministic and a wrong command starts and leaves nothing.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_H
#define LAUNCH_CLI_REQUEST_REQUEST_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/source.h"
#include "base/error.h"
#include "base/node_facts.h"
#include "launch/cli/option/configured.h"
#include "launch/cli/request/request_output.h"
#include "launch/cli/request/request_stage.h"
#include "launch/proto/instance_spec.h"
#include "launch/proto/job_spec.h"

#define RUN_RANDOM_BYTES (8 + SECRET_BYTES)
#define RUN_NOTICE_BYTES 240

/* The directory of the instance, where none is given. */
#define REQUEST_INSTANCE_VARIABLE "BANYAN_INSTANCE"

/* Facts of this machine and callbacks to query it.  The caller owns all. */
struct request_ops {
    char *const *environment;
    const char *directory; /* the current one; NULL if it no longer exists */
    const char *host_name;
    const char *banyand; /* the path of banyand on this machine */
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
    /* The directory of the instance to go to if the user names none, for the scheduler's job ("" in none), or
     * NULL; the caller frees it.  The note is for the user.  NULL: nothing is looked for. */
    char *(*find_instance)(const char *job, char *note, size_t note_bytes);
    /* Runs a command and captures its output (command_output.h); NULL: no command can be run. */
    int (*command)(const char *const *argv, struct buffer *out, struct error *error);
    /* The size of the terminal that is standard input, or -errno; NULL: no terminal. */
    int (*window)(struct window *ret_window);
    /* Adds the facts of this machine; NULL: not known. */
    void (*facts)(struct node_facts *facts);
    const struct source_ops *sources;           /* the scheduler's data; NULL: nothing */
    const struct configured_values *configured; /* the user's configuration; NULL: none */
    struct allocation_trace *trace; /* records where counts come from; NULL: not needed */
};

enum run_wish { RUN_WISH_JOB, RUN_WISH_HELP, RUN_WISH_VERSION };

struct request_tasks;

struct run_request {
    enum run_wish wish; /* the rest applies to RUN_WISH_JOB only */
    struct instance_spec instance;
    struct job_spec job;
    struct request_stage stage;
    struct allocation allocation;
    uint32_t timeout_s;            /* 0: none */
    int stack;                     /* where the ranks stand is reported then */
    char notice[RUN_NOTICE_BYTES]; /* a line for the user, before anything starts; "": none */
    char *warnings; /* lines, too: options that the starter cannot follow; NULL: none */
    int label;
    int timestamp; /* 1: milliseconds, 2: nanoseconds */
    struct request_output output;
    int verbose;                 /* 1: phases, 2: also the daemons' logs */
    int instance_fd;             /* of an existing instance, after hello; -1: a new instance */
    int no_wait;                 /* for slots of that instance */
    int no_daemons;              /* the starter starts the processes (direct.h) */
    int detach;                  /* the job goes on there without its client */
    char *trace_path;            /* NULL: no trace */
    char *json_path;             /* NULL: no record */
    int json;                    /* of doctor: JSON instead of a table */
    int daemonize;               /* of start */
    struct request_tasks *tasks; /* NULL: one program, the job's */
};

/* argv[0] is the verb.  ret_request must be given to request_fini after success. */
int request_parse_run(struct run_request *ret_request, int argc, char *const *argv,
                      const struct request_ops *ops, struct error *error);
/* The same for `banyan doctor`: a program may be given, then job has one application. */
int request_parse_doctor(struct run_request *ret_request, int argc, char *const *argv,
                         const struct request_ops *ops, struct error *error);
/* The same for `banyan start`, which has no program. */
int request_parse_start(struct run_request *ret_request, int argc, char *const *argv,
                        const struct request_ops *ops, struct error *error);
void request_help_doctor(struct buffer *out);
void request_help_start(struct buffer *out);
void request_fini(struct run_request *request);
void request_help_run(struct buffer *out);

#endif
