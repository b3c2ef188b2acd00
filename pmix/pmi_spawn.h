/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI_REQUEST_SPAWN (pmi.h): a process asks for a new job.  The same bytes serve PMIx_Spawn, PMI-1's
 * mcmd=spawn and PMI-2's spawn; directives are texts as the options of `banyan run` have them
 * (placement_rule.h), which the daemon parses.  What is not among the fields below is the speaker's to
 * refuse or to ignore.
 *
 * The answer comes when all processes have been started (status 0), or when all of them have ended.
 */
#ifndef PMIX_PMI_SPAWN_H
#define PMIX_PMI_SPAWN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/variable.h"
#include "base/wire.h"
#include "pmix/pmi.h"

#define PMI_SPAWN_APPS_MAX    4096u
#define PMI_SPAWN_STRINGS_MAX (1024u * 1024) /* arguments, or variables, of one application */
#define PMI_SPAWN_STRING_MAX  (4u * 1024 * 1024)
#define PMI_SPAWN_REASON_MAX  1024u

/* How processes are placed; NULL or 0: not given. */
struct pmi_spawn_rule {
    char *hosts;  /* "n1,n2": on no other nodes */
    char *map_by; /* as --map-by; likewise the next two */
    char *rank_by;
    char *bind_to;
    uint32_t per_node; /* at most that many on each node */
    uint32_t cpus_per_process;
    uint8_t oversubscribe;
    uint8_t no_oversubscribe; /* although the caller's job may, or the rule allows it */
};

struct pmi_spawn_app {
    char **argv;                 /* ends with NULL; argv[0] is the program */
    struct variable_edits edits; /* of the environment that the caller's job has been given */
    char *directory;             /* NULL: the caller's */
    uint32_t processes;          /* at least 1 */
    struct pmi_spawn_rule rule;  /* what is not given is the job's */
};

/* A key that the job's processes find in their own key-value space (preput of PMI-1 and PMI-2). */
struct pmi_spawn_pair {
    char *key;
    char *value;
};

/* Debugger daemons go to where other processes are, whatever the rules and counts say. */
struct pmi_spawn_target {
    char *namespace;      /* NULL: not given */
    uint32_t rank;        /* or PMI_RANK_ALL */
    uint32_t per_node;    /* on each node of these processes, and */
    uint32_t per_process; /* for each of them; both 0: as any other job */
};

/* Owns all that it points to, from init to fini. */
struct pmi_spawn {
    struct pmi_spawn_app *apps;
    uint32_t apps_count;
    struct pmi_spawn_rule rule;
    uint32_t
        start_timeout_s;    /* until all processes have been started; 0, likewise the next: none */
    uint32_t run_timeout_s; /* until they have ended */
    enum pmi_stop stop;
    uint32_t stdin_rank;     /* that gets input; PMI_RANK_ALL: none */
    uint8_t is_recoverable;  /* it goes on if a process fails or a node is lost */
    uint8_t report_bindings; /* as --report-bindings */
    struct pmi_spawn_target target;
    char *tool;         /* the namespace of a tool that asks for the job; NULL: a process does */
    uint32_t tool_rank; /* within it */
    struct pmi_spawn_pair *preput;
    uint32_t preput_count;
};

/* Why there is no job. */
enum pmi_spawn_failure {
    PMI_SPAWN_FAILURE_NONE,
    PMI_SPAWN_FAILURE_REFUSED,    /* a directive cannot be obeyed, or is invalid */
    PMI_SPAWN_FAILURE_MAP,        /* there are too few free slots */
    PMI_SPAWN_FAILURE_EXECUTABLE, /* the program was not found, or cannot be executed */
    PMI_SPAWN_FAILURE_DIRECTORY,
    PMI_SPAWN_FAILURE_START, /* for another reason a process could not be started */
    PMI_SPAWN_FAILURE_ENDED, /* the job was ended, or has lost a node, before all were started */
    PMI_SPAWN_FAILURE_TIME,  /* all were not started in time */
    PMI_SPAWN_FAILURE_COUNT
};

struct pmi_spawn_answer {
    enum pmi_spawn_failure failure;
    uint32_t job; /* its number; 0 after a failure */
    uint32_t processes;
    char namespace[PMI_NAMESPACE_BYTES]; /* "" after a failure */
    char reason[PMI_SPAWN_REASON_MAX];   /* a line for people; "" without a failure */
};

void pmi_spawn_init(struct pmi_spawn *spawn);
void pmi_spawn_fini(struct pmi_spawn *spawn);
/* Appends one; argv, which is copied, may be NULL (the program alone), and env ("NAME=value", ends with NULL),
 * which become edits.  The pointer is valid until the next. */
struct pmi_spawn_app *pmi_spawn_add_app(struct pmi_spawn *spawn, const char *program,
                                        char *const *argv, char *const *env, uint32_t processes);
/* Without effect on variables that launchers set for one process.  The name is valid. */
void pmi_spawn_edit(struct pmi_spawn_app *app, enum variable_edit_kind kind, const char *name,
                    const char *value, char separator);
void pmi_spawn_add_preput(struct pmi_spawn *spawn, const char *key, const char *value);
/* Where its processes go, and how many there are, is said by those that they debug. */
int pmi_spawn_is_beside(const struct pmi_spawn *spawn);
/* A list that ends with NULL, as that which is copied does; NULL: an empty one. */
char **pmi_spawn_copy_strings(char *const *strings);
/* Sets *field to a copy of text. */
void pmi_spawn_set(char **field, const char *text);
/* An info key that MPI reserves (MPI 4.0, 11.8.4: host, wdir, path, ...) or that mpiexec's own have
 * (hosts, ppn, map_by, ...), of an application: 1 if it is understood, 0 if it can only be ignored. */
int pmi_spawn_info(struct pmi_spawn_app *app, const char *key, const char *value);

/* pmi_spawn_wire.c */
void pmi_spawn_encode(const struct pmi_spawn *spawn, struct buffer *out);
/* -EBADMSG, and ret_spawn is empty, if it is invalid. */
int pmi_spawn_decode(struct pmi_spawn *ret_spawn, const void *data, size_t bytes);
void pmi_spawn_answer_encode(const struct pmi_spawn_answer *answer, struct buffer *out);
int pmi_spawn_answer_decode(struct pmi_spawn_answer *ret_answer, const void *data, size_t bytes);

#endif
