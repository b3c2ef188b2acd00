/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the job engine: what job.c, job_local.c and job_root.c share.  For them and their tests
 * only.
 */
#ifndef LAUNCH_JOB_JOB_ENGINE_H
#define LAUNCH_JOB_JOB_ENGINE_H

#include "launch/job/job.h"

enum rank_state { RANK_STARTING, RANK_RUNNING, RANK_ENDED };

/* The part of a job that runs on this node. */
struct job_node {
    struct job_local local;
    uint8_t *rank_states; /* enum rank_state, per local rank */
    uint8_t *abnormal;    /* per local rank: left PMI without finalize */
    uint32_t reported;    /* started or failed to */
    uint32_t started;     /* of them, those that run or have run */
    uint32_t ended;
    struct job_launched launched;
    struct job_ended summary;
    struct ranges ended_places; /* who takes part in the ENDED gather ... */
    uint32_t ended_generation;  /* ... of this generation */
    uint32_t ended_contributed; /* generation contributed to, 0 = none */
    uint8_t is_ending;          /* the root has asked for it */
    uint8_t failure_sent;
    uint8_t starts_cancelled;
    uint8_t missed;
    uint8_t discard; /* nobody waits for the output that is left */
    uint8_t group_empty;
    uint8_t drained;
    uint8_t closed; /* every node has ended its part */
};

enum job_root_state {
    JOB_ROOT_NONE,
    JOB_ROOT_QUEUED,    /* the tree does not stand yet */
    JOB_ROOT_SURVEYING, /* the nodes are asked what they are like */
    JOB_ROOT_LAUNCHING,
    JOB_ROOT_RUNNING,
    JOB_ROOT_ENDING,
    JOB_ROOT_FLUSHING, /* ended; the last output is under way */
    JOB_ROOT_REPORTED,
    JOB_ROOT_STATE_COUNT
};

/* Why a daemon did not come up, until the start is given up; no text: it is only known to be gone. */
#define START_FAILURE_TEXT_BYTES 512 /* what is longer is cut by who sends it */

struct start_failure {
    uint32_t place;
    char text[START_FAILURE_TEXT_BYTES];
};

#define START_FAILURES_MAX 1024u

/* What was seen of places that are lost. */
struct job_seen {
    struct ranges places;
    enum node_loss loss;
    uint64_t silent_ns;
};

struct job_root {
    enum job_root_state state;
    uint32_t number;
    struct job_spec spec;
    struct place_map map;   /* made of spec at the launch */
    struct node_pool *book; /* nodes and who uses them; NULL before the first job */
    struct ranges places;
    struct ranges concerned; /* they, and those that were asked before the launch */
    struct ranges dead;
    uint32_t generation;        /* of the ENDED gather */
    struct job_failure failure; /* the first that was heard of, or a more telling one */
    uint32_t lost_place;        /* whose loss was the first that counts, or TREE_NO_PLACE */
    struct ranges told;         /* nodes whose failure the user has read of; the job goes on */
    struct control_end end;     /* from the front end; reason[0] = 0 if none */
    struct job_ended summary;
    uint64_t output_bytes;   /* that have come */
    uint64_t deadline_ns;    /* UINT64_MAX = none */
    uint64_t start_until_ns; /* so long daemons may take to join */
    uint8_t complete;        /* the tree stands */
    uint8_t other_placement; /* than here was computed by the nodes ... */
    uint32_t other_place;    /* ... of which this is one; 0: none has said so yet */
    uint8_t has_end;
    uint8_t has_summary;
    uint8_t impatient; /* the user has said so: output that comes slowly is not waited for */
    uint8_t went_on;   /* after a loss or a rank's failure */
    uint8_t partial;   /* the summary is not of all nodes whose output may have come */
    struct job_seen *seen;
    uint32_t seen_count;
    struct start_failure *start_failures;
    uint32_t start_failures_count;
    uint64_t start_failures_total;
};

struct job_engine {
    const struct instance_spec *instance;
    uint32_t place;
    struct allocation roster;
    const struct allocation *allocation; /* NULL until known */
    struct job_node *node;               /* one job at a time for now; list when there are more */
    struct ranges survey_places;         /* who was asked with this node */
    struct job_root *root;               /* NULL elsewhere than at place 0 */
};

struct job_action *job_actions_add(struct job_actions *actions, enum job_action_kind kind,
                                   uint32_t job);
void job_actions_broadcast(struct job_actions *actions, const struct ranges *places,
                           struct buffer *payload);
struct node_key job_key(uint32_t number, enum job_operation operation, uint32_t generation);

void job_local_step(struct job_engine *engine, const struct job_event *event,
                    struct job_actions *actions);
/* Places were lost. */
void job_local_lost(struct job_engine *engine, struct job_actions *actions);
/* Broadcasts that concern this node's part; reader stands behind the message's kind. */
void job_local_launch(struct job_engine *engine, struct wire_reader *reader,
                      struct job_actions *actions);
void job_local_end(struct job_engine *engine, struct wire_reader *reader,
                   struct job_actions *actions);
void job_local_result(struct job_engine *engine, const struct job_event *event,
                      struct job_actions *actions);
void job_node_destroy(struct job_node *node);

void job_root_step(struct job_engine *engine, const struct job_event *event,
                   struct job_actions *actions);
void job_root_destroy(struct job_root *root);
struct job_root *job_root_create(const struct instance_spec *instance);

/* A rank failed or nodes were lost, and by its policy the job goes on (job_policy.c). */
int job_policy_goes_on(const struct job_root *root);
void job_policy_failure(struct job_engine *engine, const struct job_failure *failure,
                        struct job_actions *actions);
void job_policy_loss(struct job_engine *engine, const struct ranges *places,
                     struct job_actions *actions);
/* Asks all nodes that live to end their part, or only to say in the next generation of ENDED when
 * they have. */
void job_root_ask(struct job_engine *engine, struct job_end_message *message,
                  struct job_actions *actions);

/* Job_survey.c: the root sets root->places to who may be asked, asks, and takes the answer; a node is
 * asked and answers. */
int job_survey_wanted(const struct job_engine *engine);
void job_survey_ask(struct job_engine *engine, struct job_actions *actions);
int job_survey_take(struct job_engine *engine, const struct job_event *event, struct error *error);
void job_survey_asked(struct job_engine *engine, struct wire_reader *reader,
                      struct job_actions *actions);
void job_survey_answer(struct job_engine *engine, const struct job_event *event,
                       struct job_actions *actions);

/* One line each (job_report.c). */
void job_report_failure(const struct job_engine *engine, const struct job_failure *failure,
                        char *text, size_t text_bytes);
uint32_t job_report_status(const struct job_failure *failure);
/* "rank 3", "ranks 4-7,12-15 and 90 more". */
void job_report_rank_set(const struct ranges *ranks, struct buffer *out);
/* Who runs on places: "rank 3", "ranks 4-7,12-15 and 90 more". */
void job_report_ranks(const struct job_engine *engine, const struct ranges *places,
                      struct buffer *out);
/* What was seen of a place that is lost: "its daemon closed the connection", "silent for 61.2 s". */
void job_report_seen(struct job_root *root, const struct job_event *event);
void job_report_loss(const struct job_root *root, uint32_t place, struct buffer *out);
void job_report_places(const struct job_engine *engine, const struct ranges *places,
                       struct buffer *out);
/* "waiting for the daemons of n[3,7] to join; 62 of 64 have" */
void job_report_unjoined(const struct job_engine *engine, const struct ranges *missing, char *text,
                         size_t text_bytes);
void job_report_start(const struct job_engine *engine, const struct ranges *missing, char *text,
                      size_t text_bytes);

#endif
