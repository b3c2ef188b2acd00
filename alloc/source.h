/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a scheduler left for us: one const table of all sources, in the order in which they are
 * looked for.  The environment and files are reached through struct source_ops only, so the same
 * code runs in a test.  A source that is present and cannot be read is an error, never an empty
 * allocation: who gets an error must not go on with the local machine.  doc/allocation.rst has the
 * forms.
 */
#ifndef ALLOC_SOURCE_H
#define ALLOC_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"

struct source_reading;

/* Flux's R, version 1 (RFC 20), as launch/ decodes it from JSON. */
struct flux_entry {
    const char *ranks; /* an idset: "0-3,7" */
    const char *cores; /* an idset, or NULL if the entry has none */
};

struct flux_resources {
    const struct flux_entry *entries; /* R_lite */
    uint32_t entries_count;
    const char *const *nodelist; /* hostlists */
    uint32_t nodelist_count;
};

struct source_ops {
    /* Value of an environment variable, or NULL; valid while a function here runs. */
    const char *(*variable)(void *context, const char *name);
    /* Appends what is in a file; 0 or negative errno.  It bounds the size and never blocks on what
     * is no regular file. */
    int (*file)(void *context, const char *path, struct buffer *text);
    /* What `flux job info ID R` says of a job, or of the instance if job is NULL; valid while a
     * function here runs.  The whole function may be NULL. */
    int (*flux)(void *context, const char *job, struct flux_resources *ret_resources,
                struct error *error);
    void *context;
    struct allocation_trace *trace; /* records where counts come from; NULL: nobody asks */
};

struct source {
    const char *name;  /* what a user types to force it */
    const char *title; /* for messages */
    /* It is there if for one of these all variables are set (with "!": not set) and not empty. */
    const char *present[4];
    /* And, if not NULL, this file can be read, or one of those that are read names another. */
    const char *present_file;
    const char *job[3];   /* variables with the job's id: the first that is set counts */
    const char *job_name; /* the variable with its name; NULL: there is none */
    /* All variables that are read, also as paths; '*' is any text. */
    const char *reads;
    /* Fills the builder and ends with source_reading_finish. */
    int (*read)(struct source_reading *reading);
};

/* The CPUs of one task, for LSF's affinity file. */
struct source_task {
    uint32_t node;      /* index in the allocation */
    struct ranges cpus; /* as the operating system numbers them */
};

struct source_result {
    const struct source *source;
    char job[64]; /* the job's id, "" if there is none; cut if it is longer */
    struct allocation allocation;
    /* If not, the source gives nodes only: each has one slot here, and the caller may give it as
     * many as it has cores. */
    bool slots_given;
    struct source_task *tasks; /* in the order of ranks; O(tasks), for LSF's affinity file only */
    uint32_t tasks_count;
};

/* The sources in the order of detection; NULL at the end. */
const struct source *source_at(size_t index);
/* The source of a name, or NULL with an error that lists the names. */
const struct source *source_find(const char *name, struct error *error);
/* The first source that is present, or NULL: then no scheduler started us. */
const struct source *source_detect(const struct source_ops *ops);
/* Reads a source, whether it is present or not.  Fails with a line such as "Slurm job 7:
 * SLURM_TASKS_PER_NODE: column 3: ..."; *ret_result is then not to be finished.  O(text). */
int source_read(const struct source *source, const struct source_ops *ops,
                struct source_result *ret_result, struct error *error);
void source_result_fini(struct source_result *result);

#endif
