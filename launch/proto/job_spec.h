/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The specification of a job: made by the front end from options, read by the root and, in part, by
 * every daemon.  Owned by the caller of init; fini frees all.
 */
#ifndef LAUNCH_PROTO_JOB_SPEC_H
#define LAUNCH_PROTO_JOB_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/placement.h"
#include "base/buffer.h"
#include "base/variable.h"
#include "base/wire.h"
#include "launch/proto/process_limits.h"
#include "launch/proto/window.h"
#include "pmix/pmi.h"

struct app_spec {
    char **argv; /* NULL-terminated; argv[0] is searched in PATH of the node unless it has a / */
    char **set;  /* NULL-terminated "NAME=value", in order: the forwarded environment, then -x */
    struct variable_edits
        edits;       /* of all that a process finds, also of what is set where it runs */
    char *directory; /* working directory */
    uint8_t directory_is_template; /* it has %r, %h, %j and %%: see job_spec_directory */
    struct process_limits limits;
};

/* Interfaces offered to the processes. */
#define JOB_MPI_PMIX  1u
#define JOB_MPI_PMI1  2u /* and PMI-2, on the same socket */
#define JOB_MPI_TORCH 4u /* variables of torch.distributed */
#define JOB_MPI_ALL   7u

/* Files that are staged for the job: it is held until they are on the nodes.  The programs are among them:
 * argv[0] is relative to the stage directory. */
#define JOB_STAGE_FILES    1u
#define JOB_STAGE_PROGRAMS 2u
#define JOB_STAGE_ALL      3u

/* What happens to a job when a rank fails or a node is lost.  A rank that calls abort always ends
 * it, and so does a node lost before the launch. */
enum job_on_failure {
    JOB_ON_FAILURE_ABORT,    /* all are killed */
    JOB_ON_FAILURE_CONTINUE, /* the others go on */
    JOB_ON_FAILURE_RESTART,  /* the rank is started again, if its node is lost on a spare */
    JOB_ON_FAILURE_COUNT
};

#define JOB_RESTARTS_MAX     1000u
#define JOB_RESTARTS_DEFAULT 3u

/* Where the data goes that processes publish for each other before a fence that collects (PMIX_COLLECT_DATA). */
enum job_modex {
    JOB_MODEX_AUTO, /* as FULL, since only there a get that asks no other node finds it (PMIX_IMMEDIATE) */
    JOB_MODEX_FULL, /* to every node of the fence */
    JOB_MODEX_LAZY, /* stays, and is requested by the first get on each node */
    JOB_MODEX_COUNT
};

/* As the rank that gets stdin: none does, but each has separate input (launch/proto/feed.h). */
#define JOB_STDIN_EACH (UINT32_MAX - 2)

/* Each gets all of it (launch/proto/input_piece.h). */
#define JOB_STDIN_ALL (UINT32_MAX - 1)

/* A key that processes of a spawned job find in their own key-value space. */
struct job_preput {
    char *key;
    char *value;
};

struct job_spec {
    uint32_t number;            /* from 1 within an instance, assigned by the root */
    uint32_t uid;               /* for the record only: daemons run as the user */
    uint32_t mpi;               /* JOB_MPI_* */
    struct placement placement; /* a rule for each application */
    uint32_t processes;         /* total; 0: not known until the nodes are known */
    struct app_spec *apps;
    uint32_t apps_count;
    uint8_t stage;           /* JOB_STAGE_* */
    uint8_t profile;         /* its nodes report how long they took (profile.h) */
    uint8_t trace;           /* its nodes report when things happened (run_trace.h) */
    uint8_t stats;           /* report what its processes have used */
    uint8_t report_bindings; /* draw the cores of each process; for the root only */
    uint32_t stdin_rank;     /* the rank that gets stdin; UINT32_MAX = none, or JOB_STDIN_* */
    uint8_t has_terminal;    /* that rank has a terminal as its standard input, output and error */
    struct window window;    /* its size at first */
    enum job_on_failure on_failure;
    uint32_t restarts_max; /* of each rank, with JOB_ON_FAILURE_RESTART; else 0 */
    enum job_modex modex;
    enum pmi_stop stop;
    char *target;         /* NULL, or the namespace of the processes that those of this job debug */
    uint32_t target_rank; /* or PMI_RANK_ALL */
    uint32_t parent;      /* the job of the process that has spawned it; 0: a client's */
    uint32_t parent_rank; /* of that process */
    char *
        tool; /* NULL, or the namespace of a tool that has spawned it through the parent's PMIx server, and whose rank
                   the above is */
    uint32_t
        start_timeout_s; /* until all processes have been started; 0, also without a parent: none */
    uint32_t run_timeout_s; /* likewise, until all have ended */
    struct job_preput *preput;
    uint32_t preput_count; /* 0 without a parent */
};

void job_spec_init(struct job_spec *spec);
void job_spec_fini(struct job_spec *spec);
/* Rule and counts are a few dozen bytes; argv and environment follow, compressed with zstd when
 * that is shorter. */
void job_spec_encode(const struct job_spec *spec, struct buffer *out);
/* JOB_MESSAGE_SPAWN, with its kind. */
void job_spec_encode_spawn(const struct job_spec *spec, struct buffer *out);
/* ret_spec need not be initialised; it is untouched on failure (-EBADMSG). */
int job_spec_decode(struct job_spec *ret_spec, struct wire_reader *reader);
/* 0 if every % of the template begins %r, %h, %j or %%; else *ret_place is the first that does not. */
int job_spec_directory_check(const char *directory, const char **ret_place);
/* The working directory of a rank, with its number for %r, the name of its node for %h and the job's
 * number for %j; the caller's to free, NULL if the application has none. */
char *job_spec_directory(const struct app_spec *app, uint32_t rank, const char *node,
                         uint32_t number);
/* "banyan-<name>-<number>", the PMIx namespace of an instance's job */
void job_spec_namespace(const char *name, uint32_t number, char *text, size_t text_bytes);

#endif
