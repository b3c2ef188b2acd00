/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --alloc "SCHEDULER: OPTIONS": nodes that nobody has yet.  The scheduler's own command is asked for
 * them (salloc, bsub -I, qsub -I) and told to run the same `banyan run` inside; when that ends, for
 * whatever reason, the command gives the nodes back.  This process waits, passes signals on, tells how
 * the wait goes, and ends with the run's status.  If it is killed the command gets SIGTERM, which
 * ends the run, or the wait.
 */
#ifndef LAUNCH_CLI_REMOTE_ASKING_H
#define LAUNCH_CLI_REMOTE_ASKING_H

#include "base/buffer.h"
#include "base/error.h"

/* A command line, as execvp takes it. */
struct asking_command {
    char **words; /* NULL at the end; owned */
    size_t count;
    int wants_terminal; /* and there is none */
    int quiet_errors;   /* its stderr is ours to read; the run's own is ASKING_STDERR_FD */
    const char *name;   /* of the command */
};

#define ASKING_STDERR_FD 9
#define ASKING_PID_FD    8 /* the run writes its process id there: it has begun */

/* What is asked of a machine, so that tests can say it. */
struct asking_world {
    const char *banyan;    /* its own path */
    const char *directory; /* the current one */
    int has_terminal;      /* stdin is one */
};

/* The command for what --alloc says; argv is the whole of `run ...`, from which --alloc is taken out.
 * -EINVAL if text is malformed or names no scheduler that can be asked. */
int asking_command_make(struct asking_command *ret_command, const char *text, int argc,
                        char *const *argv, const struct asking_world *world, struct error *error);
void asking_command_fini(struct asking_command *command);

/* The value of --alloc in the words of `banyan run`, or NULL: it is not there, or the words are wrong,
 * which whoever parses them for good says. */
const char *asking_wanted(int argc, char *const *argv);
/* Asks, runs and gives back; the exit status. */
int asking_run(const char *text, int argc, char *const *argv, const char *banyan);

#endif
