/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of an instance: what a place knows of it, and what the root has beside that.  For the files of
 * this room and their tests only.
 */
#ifndef LAUNCH_JOB_INSTANCE_STATE_H
#define LAUNCH_JOB_INSTANCE_STATE_H

#include "base/list.h"
#include "base/hash_map.h"
#include "launch/job/job_machines.h"
#include "launch/job/job_state.h"

/* Why a daemon did not start, until the start is given up; no text: only its loss is known. */
#define START_FAILURE_TEXT_BYTES 512 /* the sender truncates longer ones */

struct start_failure {
    uint32_t place;
    char text[START_FAILURE_TEXT_BYTES];
};

#define START_FAILURES_MAX 1024u

/* How the loss of places was noticed. */
struct job_seen {
    struct ranges places;
    enum endpoint_loss loss;
    uint64_t silent_ns;
};

/* A spare that has the place of a lost or absent node. */
struct stand_in {
    uint32_t lost;
    uint32_t place;
};

enum instance_phase {
    INSTANCE_STARTING, /* not all daemons have joined */
    INSTANCE_UP,
    INSTANCE_ENDING,  /* no more jobs; running ones have been asked to end */
    INSTANCE_LEAVING, /* asked to leave */
    INSTANCE_PHASE_COUNT
};

struct instance_root {
    enum instance_phase phase;
    enum instance_policy policy;
    struct list jobs; /* struct job */
    struct hash_map *jobs_by_number;
    uint32_t unreported;
    uint8_t has_run; /* whether it has ever run a job */
    uint8_t
        slots_moved; /* some were given back or lost, or a job waits no longer: those that do are tried again */
    struct node_pool *book;
    struct job_machines machines; /* of the nodes, as far as jobs had to know */
    struct ranges dead;
    struct ranges drained;      /* places that get no new processes */
    struct ranges removed;      /* places that have left, or will in a moment */
    struct ranges spares;       /* places that are kept for those of lost nodes */
    struct stand_in *stand_ins; /* those that were: no more than spares at the beginning */
    uint32_t stand_ins_count;
    struct job_view usable; /* the roster as new jobs may use it: without those */
    uint8_t is_reduced;     /* it has not all slots of the roster */
    struct job_seen *seen;
    uint32_t seen_count;
    uint64_t deadline_ns;    /* of the start; UINT64_MAX = none */
    uint64_t start_until_ns; /* the time limit for daemons to join; 0: nothing waits yet */
    struct start_failure *start_failures;
    uint32_t start_failures_count;
    struct ranges absent; /* places whose daemons did not start */
    uint8_t
        is_complete; /* the tree of the others, while the reasons of these may be on their way */
};

struct instance {
    const struct instance_spec *spec;
    uint32_t place;
    uint64_t now_ns;                     /* of the step */
    uint64_t begun_ns;                   /* when this daemon began to join, */
    uint64_t joined_ns;                  /* and had; 0: not yet, or at the root */
    struct allocation own_roster;        /* as received; at the root as it is now */
    const struct allocation *allocation; /* NULL until known */
    uint32_t roster_version;             /* 0: none */
    struct list parts;                   /* struct job_part */
    struct hash_map *parts_by_number;
    struct list asked;          /* struct job_asked */
    struct instance_root *root; /* NULL except at place 0 */
};

/* instance_find.c: NULL if there is no such job here. */
struct job *instance_find_job(const struct instance *instance, uint32_t number);
struct job_part *instance_find_part(const struct instance *instance, uint32_t number);

/* instance_nodes.c: dead or drained places have changed, and with them the slots that jobs can have. */
void instance_nodes_changed(struct instance *instance);

/* instance_spares.c: at the root. */
/* At the beginning: the last nodes. */
void instance_spares_keep(struct instance *instance);
/* These places are lost or absent: spares become ordinary nodes, which is said. */
void instance_spares_take(struct instance *instance, const struct ranges *lost,
                          struct job_actions *actions);
/* The place that has the part of a lost one; 0: none. */
uint32_t instance_spares_of(const struct instance_root *root, uint32_t lost);

/* instance_grow.c: at the root. */
/* All places hear of the roster, which has changed, or is the first. */
void instance_roster_tell(struct instance *instance, struct job_actions *actions);
/* Places that get no new job, and whose names are free. */
void instance_nodes_retire(struct instance *instance, const struct ranges *places);
/* The next places are of these nodes, or if they have not joined of nobody. */
void instance_grow(struct instance *instance, const struct allocation *added, int has_joined,
                   struct job_actions *actions);

/* instance_root.c */
struct instance_root *instance_root_create(const struct allocation *allocation,
                                           enum instance_policy policy);
void instance_root_destroy(struct instance_root *root);
/* instance_start.c: the daemons that do not start. */
int instance_start_is_enough(const struct instance *instance);
int instance_start_knows_reasons(const struct instance_root *root);
/* Notes that a place is absent, and why ("": not known); 1 if that was not known. */
int instance_start_failed(struct instance_root *root, uint32_t place, const char *text);
/* One line for each reason, to the user. */
void instance_start_tell_absent(const struct instance *instance, struct job_actions *actions);
/* The same where the start is given up; the last line is returned: free(). */
char *instance_start_tell_failed(const struct instance *instance, const struct ranges *missing,
                                 struct job_actions *actions);

void instance_root_step(struct instance *instance, const struct job_event *event,
                        struct job_actions *actions);

#endif
