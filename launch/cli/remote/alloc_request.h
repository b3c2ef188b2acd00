/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --alloc "SCHEDULER: OPTIONS": requests a new allocation.  The scheduler's own command (salloc,
 * bsub -I, qsub -I) is called to run the same `banyan run` inside; when that ends, for whatever
 * reason, the command releases the nodes.  This process waits, forwards signals, reports progress,
 * and ends with the run's status.  If it is killed the command gets SIGTERM, which ends the run, or
 * the wait.
 */
#ifndef LAUNCH_CLI_REMOTE_ALLOC_REQUEST_H
#define LAUNCH_CLI_REMOTE_ALLOC_REQUEST_H

#include "base/buffer.h"
#include "base/error.h"

/* A command line, as execvp takes it. */
struct alloc_request_command {
    char **words; /* NULL at the end; owned */
    size_t count;
    int wants_terminal; /* but there is none */
    int quiet_errors;   /* we read its stderr; the run's is ASKING_STDERR_FD */
    const char *name;   /* of the command */
    char *left;         /* terms of --require that it cannot be asked for; NULL: none; owned */
};

#define ASKING_STDERR_FD 9
#define ASKING_PID_FD    8 /* the run writes its process id there: it has begun */

/* What is needed from the machine, so that tests can supply it. */
struct alloc_request_ops {
    const char *banyan;    /* its own path */
    const char *directory; /* the current one */
    int has_terminal;      /* stdin is one */
};

/* The command for a value of --alloc; argv is the whole of `run ...`, from which --alloc is
 * removed. -EINVAL if text is malformed or names no supported scheduler. */
int alloc_request_command_make(struct alloc_request_command *ret_command, const char *text,
                               int argc, char *const *argv, const struct alloc_request_ops *ops,
                               struct error *error);
void alloc_request_command_fini(struct alloc_request_command *command);

/* 1 if a value of --alloc names a scheduler. */
int alloc_request_is_scheduler(const char *text);
/* The value of --alloc in the words of `banyan run`, or NULL: not given, or the words are invalid,
 * which the actual parser then reports. */
const char *alloc_request_wanted(int argc, char *const *argv);
/* Requests nodes, runs and releases them; returns the exit status. */
int alloc_request_run(const char *text, int argc, char *const *argv, const char *banyan);

#endif
