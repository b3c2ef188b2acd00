/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance as seen by one of its places: the roster, the parts of jobs that run here, and at the
 * root the members, the slots, the start of the daemons, the jobs, and the end.  A pure step
 * function like the overlay core; events and actions are in launch/job/job.h.
 *
 * Invariant: a job keeps its slots until nothing of it is left on any node; the instance is asked
 * to leave once, after every job has been reported. Cost: an event of a job is O(its own nodes)
 * here, and O(shares of slots of all jobs) at the root when it starts; a loss is O(jobs).
 */
#ifndef LAUNCH_JOB_INSTANCE_H
#define LAUNCH_JOB_INSTANCE_H

#include <stdbool.h>

#include "launch/job/job.h"
#include "launch/proto/node_list.h"

struct instance;
struct node_pool;

/* allocation: at the root the first roster, which is copied; NULL elsewhere: it comes by broadcast.  policy
 * matters only at the root. */
struct instance *instance_create(const struct instance_spec *spec, uint32_t place,
                                 const struct allocation *allocation, enum instance_policy policy);
void instance_destroy(struct instance *instance);

/* Elsewhere than at the root: when its daemon began to join, and had. */
void instance_joined(struct instance *instance, uint64_t begun_ns, uint64_t now_ns);
void instance_step(struct instance *instance, const struct job_event *event,
                   struct job_actions *actions);

/* Read-only facts for the driver that performs the actions; NULL if the job has no part here (or no
 * longer).  A part exists until its CLOSE has been performed. */
const struct job_local *instance_part(const struct instance *instance, uint32_t number);
uint32_t instance_part_rank(const struct instance *instance, const struct job_local *local,
                            uint32_t index);
/* When its phases were reached (enum run_trace_time), but for ENDED; 0: not yet, or not for this job. */
void instance_part_times(const struct instance *instance, uint32_t number, uint64_t *times);
int instance_part_is_starting(const struct instance *instance, uint32_t number, uint32_t index);
int instance_part_has_ended(const struct instance *instance, uint32_t number, uint32_t index);
/* 1 if EXITED with this status will start the rank again. */
int instance_part_restarts(const struct instance *instance, uint32_t number, uint32_t index,
                           int wait_status, int by_us);
/* How often the rank has been started again; one that is about to be is counted. */
uint32_t instance_part_restart_count(const struct instance *instance, uint32_t number,
                                     uint32_t index);
/* Roster at this place; NULL before it has arrived. */
const struct allocation *instance_roster(const struct instance *instance);

/* Root. */
const struct job_spec *instance_job_spec(const struct instance *instance, uint32_t number);
/* Its map, empty before the launch. */
const struct placement_map *instance_job_map(const struct instance *instance, uint32_t number);
/* The index of a rank's node; -ENOENT before the launch, or if there is no such rank. */
int instance_job_find(const struct instance *instance, uint32_t number, uint32_t rank,
                      uint32_t *ret_node);
/* Adds the places that have not joined, as far as it is known why, or are lost. */
void instance_lost_places(const struct instance *instance, struct ranges *places);
/* How far it is. */
enum instance_job_state {
    INSTANCE_JOB_WAITING, /* for the instance, for what its nodes say of themselves, or for slots */
    INSTANCE_JOB_STARTING,
    INSTANCE_JOB_RUNNING,
    INSTANCE_JOB_ENDING,
    INSTANCE_JOB_ENDED /* all processes have ended */
};
/* It waits for JOB_EVENT_STAGED. */
bool instance_job_is_held(const struct instance *instance, uint32_t number);
/* All nodes have joined, and it is not ending. */
bool instance_is_up(const struct instance *instance);
/* Of a job that is kept. */
enum instance_job_state instance_job_state(const struct instance *instance, uint32_t number);
/* What a place without a rank of the job asks of it (JOB_MESSAGE_MAP), appended; -ENOENT if it has no
 * map.  The end of the job's operations is then announced there, too. */
int instance_job_tell(struct instance *instance, uint32_t number, uint32_t place,
                      struct buffer *out);
/* Adds the places of a rank, or of all with UINT32_MAX, that are alive. */
void instance_job_places(const struct instance *instance, uint32_t number, uint32_t rank,
                         struct ranges *places);
/* 1 from its launch until it is being ended. */
int instance_job_is_running(const struct instance *instance, uint32_t number);
/* At the root: what must be broadcast to these places (none: nothing) when all processes of a job wait for a debugger, for
 * the process or tool that has spawned it.  Both are the caller's. */
void instance_stop_notice(const struct instance *instance, uint32_t number, enum pmi_stop stop,
                          struct ranges *ret_places, struct buffer *ret_notice);
/* Its nodes and the slots used by jobs (alloc/node_pool.h). */
const struct node_pool *instance_book(const struct instance *instance);
/* The number of jobs not yet reported, and of all jobs still kept. */
uint32_t instance_jobs(const struct instance *instance);
uint32_t instance_kept_jobs(const struct instance *instance);
uint32_t instance_parts(const struct instance *instance); /* of jobs, at this place */
/* The numbers of these, and at the root of the kept jobs. */
void instance_part_numbers(const struct instance *instance, struct ranges *ret_numbers);
void instance_job_numbers(const struct instance *instance, struct ranges *ret_numbers);
enum instance_policy instance_policy(const struct instance *instance);

/* Root, instance_nodes.c. */
/* The roster with slots only on nodes that can have new jobs; at the same address while the instance lives. */
const struct allocation *instance_usable(const struct instance *instance);
/* Adds the places of nodes that a hostlist names.  An error names the first that there is not. */
int instance_nodes_find(const struct instance *instance, const char *names,
                        struct ranges *ret_places, struct error *error);
/* -EEXIST if one of those names is a node's. */
int instance_nodes_are_new(const struct instance *instance, const struct hostlist *names,
                           struct error *error);
/* All but those that were removed; and of some. */
void instance_nodes_all(const struct instance *instance, struct ranges *ret_places);
void instance_nodes_staying(const struct instance *instance, const struct ranges *places,
                            struct ranges *ret_places);
/* The jobs of which something is there, or may be soon. */
void instance_nodes_users(const struct instance *instance, const struct ranges *places,
                          struct ranges *ret_jobs);
/* 1 if they can be changed: all daemons have started, and it is not ending. */
int instance_nodes_can_change(const struct instance *instance);
/* 1 if all of them are dead, or have left. */
int instance_nodes_have_left(const struct instance *instance, const struct ranges *places);
/* -EHOSTDOWN if one of them is lost. */
int instance_nodes_resumable(const struct instance *instance, const struct ranges *places,
                             struct error *error);
/* Those nodes; ret_list is an empty one. */
void instance_nodes_list(const struct instance *instance, const struct ranges *places,
                         struct node_list *ret_list);

#endif
