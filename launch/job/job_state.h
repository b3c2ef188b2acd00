/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The internals of the job logic: a job at the root (job_root.c) and a part of a job on a node
 * (job_local.c), as shared with their neighbours.  For them and their tests only.
 */
#ifndef LAUNCH_JOB_JOB_STATE_H
#define LAUNCH_JOB_JOB_STATE_H

#include "alloc/placement_cores.h"
#include "base/list.h"
#include "base/hash_map.h"
#include "launch/job/job.h"
#include "launch/job/job_ledger.h"

struct instance;

enum rank_state {
    RANK_STARTING,
    RANK_RUNNING,
    RANK_WAITING, /* it has failed, and is about to be started again */
    RANK_ENDED
};

struct job_restarts;

enum job_part_phase {
    JOB_PART_STARTING, /* some ranks have neither been started nor failed to */
    JOB_PART_RUNNING,  /* some of its processes, or of their descendants, are left */
    JOB_PART_DRAINING, /* its last output is under way */
    JOB_PART_ENDED,    /* has contributed to ENDED; after a loss the root may ask again */
    JOB_PART_PHASE_COUNT
};

/* The part of a job that runs on this node; from LAUNCH until the root reports that all have
 * ended. */
struct job_part {
    struct job_local local;
    struct instance *instance;
    struct list_link node;
    enum job_part_phase phase;
    uint8_t *rank_states; /* enum rank_state, per local rank */
    uint8_t *abnormal;    /* per local rank: left PMI without finalize */
    uint32_t reported;    /* started or failed to */
    uint32_t started;     /* of those, running or ended */
    uint32_t ended;
    struct job_failure *start_failure; /* the first, or NULL */
    struct job_ended summary;
    struct ranges ended_places; /* participants in the ENDED gather ... */
    uint32_t ended_generation;  /* ... of this generation */
    uint32_t ended_contributed; /* generation contributed to, 0 = none */
    uint8_t is_ending;          /* the root has asked for it */
    uint64_t launched_ns;       /* when its launch arrived, */
    uint64_t started_ns;        /* all of it had been started or failed to, */
    uint64_t gone_ns;           /* and the last process had ended; 0: not yet */
    uint8_t failure_sent;
    uint8_t starts_cancelled;
    uint8_t missed;
    uint8_t discard;    /* the remaining output is not waited for */
    uint8_t is_gone;    /* the helper has nothing of it left */
    uint8_t has_joined; /* with restarts: a rank has connected to PMI */
    uint8_t is_moved;   /* some of the job is: what LAUNCHED would have said is said at once */
    uint8_t is_sealed;  /* with restarts: no rank is started again */
    struct job_restarts *restarts; /* of its ranks; NULL: none is started again */
};

/* A survey of this node for a job. */
struct job_asked {
    struct list_link node;
    uint32_t number;
    uint32_t generation;
    struct ranges places; /* who was asked with this node */
};

/* A job at the root.  It is reported on the way to LINGERING or OVER. */
enum job_phase {
    JOB_QUEUED,    /* the tree is not complete yet */
    JOB_SURVEYING, /* the nodes are being surveyed */
    JOB_WAITING,   /* for slots that other jobs have */
    JOB_LAUNCHING, /* the nodes have been asked to start it */
    JOB_RUNNING,
    JOB_ENDING,    /* its nodes have been asked to end it */
    JOB_FLUSHING,  /* all ranks have ended; the last output is under way */
    JOB_LINGERING, /* reported, but not every node has reported that nothing is left */
    JOB_OVER,      /* nothing is left: the step that brings it here frees it */
    JOB_PHASE_COUNT
};

/* Inputs of a job at the root. */
enum job_input {
    JOB_INPUT_START,     /* the tree is complete, or slots may have become free */
    JOB_INPUT_ABANDONED, /* it never will be: text */
    JOB_INPUT_SURVEYED,
    JOB_INPUT_LAUNCHED,
    JOB_INPUT_ENDED,
    JOB_INPUT_FAILED,    /* a rank: message */
    JOB_INPUT_PLACED,    /* message */
    JOB_INPUT_RESTARTED, /* message */
    JOB_INPUT_SPOKEN,    /* a rank has connected to PMI */
    JOB_INPUT_SIGNAL,
    JOB_INPUT_END,
    JOB_INPUT_LOST, /* places, which the instance counts as dead already */
    JOB_INPUT_OUTPUT,
    JOB_INPUT_TIMER,
    JOB_INPUT_COUNT
};

/* Why a job is ended that would otherwise continue. */
enum job_cause {
    JOB_CAUSE_NONE,
    JOB_CAUSE_WISH,      /* by a user, a client that disconnected, a scheduler: job.end */
    JOB_CAUSE_PLACEMENT, /* the nodes do not agree with the root: job.end, other_place */
    JOB_CAUSE_TIME,      /* a time limit of it has expired: job.end */
    JOB_CAUSE_COUNT
};

/* The effect of lost nodes on a job: the summary is then incomplete. */
enum job_loss {
    JOB_LOSS_NONE,
    JOB_LOSS_MOVED,   /* their ranks were started again on spares */
    JOB_LOSS_ENDED,   /* it was ended, or was ending anyway */
    JOB_LOSS_WENT_ON, /* without them */
    JOB_LOSS_COUNT
};

/* The process that has spawned a job, as long as it waits for it to run. */
struct job_asker {
    uint32_t place; /* and the id of its request there */
    uint32_t id;
    uint8_t waits;
};

struct job {
    struct instance *instance;
    struct list_link node;
    enum job_phase phase;
    enum job_cause cause;
    uint32_t number;
    struct job_spec spec;
    struct placement_map map;     /* made of spec at the launch */
    struct job_shares shares;     /* of slots: none before the launch */
    struct placement_cores cores; /* that it is bound to, as long: no other is */
    struct job_view own;          /* slots of its nodes, if it has not the roster to itself */
    struct ranges places;
    struct ranges concerned;    /* they, and those that were asked before the launch */
    uint32_t surveys;           /* how often nodes have been asked: the generation of that gather */
    uint32_t generation;        /* of the ENDED gather */
    struct job_failure failure; /* the first reported, or a more significant one */
    enum job_loss loss;         /* of nodes, after the launch */
    uint32_t lost_place;        /* the first loss that counts, or TREE_NO_PLACE */
    uint64_t restarts;          /* of its ranks */
    uint32_t restarts_told;     /* messages about them to the user */
    uint64_t restarts_next; /* how many there are at the next message, if there were some already */
    uint16_t *restart_counts; /* of each rank, or NULL: job_move.c */
    const char
        *stays; /* why ranks of a lost node are not restarted on a spare; NULL: no policy of that */
    uint8_t has_joined;     /* a rank has connected to PMI, in an instance with spares */
    struct ranges told;     /* nodes whose failure has been reported while the job continues */
    struct control_end end; /* of cause */
    struct job_ended summary;
    uint64_t output_bytes; /* received */
    uint64_t deadline_ns;  /* UINT64_MAX = none */
    uint32_t other_place;  /* one that computed a different placement; 0: none so far */
    uint8_t is_staged;     /* the files that it waits for are on the nodes */
    uint8_t impatient;     /* the user ended it: slow output is not waited for */
    uint8_t may_wait;      /* for slots of other jobs */
    uint8_t waits;         /* it does, or did before its launch */
    uint32_t overtaken;    /* later jobs that have been launched while it was the first to wait */
    struct job_asker asker;
    uint64_t
        start_until_ns; /* as long as the asker waits; UINT64_MAX, likewise the next: no limit */
    uint64_t run_until_ns;
    uint32_t ends_with;   /* the job whose failure ends this one, too; 0: none */
    uint8_t is_orphan;    /* which has happened: this one must be ended */
    uint8_t left_orphans; /* it has itself failed */
};

struct job_action *job_actions_add(struct job_actions *actions, enum job_action_kind kind,
                                   uint32_t job);
void job_actions_broadcast(struct job_actions *actions, uint32_t job, const struct ranges *places,
                           struct buffer *payload);
void job_actions_text(struct job_actions *actions, uint32_t job, uint8_t level, const char *text);
void job_actions_timer(struct job_actions *actions, uint32_t job, uint64_t deadline_ns);
struct operation_name job_key(uint32_t number, enum job_operation operation, uint32_t generation);

/* ---- job_part.c: what a node has of a job ---- */

struct job_part *job_part_create(struct instance *instance, uint32_t number);
void job_part_destroy(struct job_part *part); /* takes NULL */
/* The rank of a local index. */
uint32_t job_part_rank(const struct job_part *part, uint32_t index);
void job_part_check(const struct job_part *part);

/* ---- job_restart.c: ranks of it that are started again ---- */

void job_restart_open(struct job_part *part); /* once its ranks are known */
void job_restart_close(struct job_part *part);
/* A running rank that ends in this way is started again. */
int job_restart_is_due(const struct job_part *part, uint32_t index, int wait_status, int by_us);
/* How often it has been, and the one that it waits for. */
uint32_t job_restart_count(const struct job_part *part, uint32_t index);
/* 1 if it was started on this node before. */
int job_restart_was_here(const struct job_part *part, uint32_t index);
/* The ranks of a lost node, each with the number of its restart, wait to be started here. */
void job_restart_take(struct job_part *part, const uint32_t *counts, uint64_t now_ns,
                      struct job_actions *actions);
/* Before the restart of that number. */
uint32_t job_restart_pause_ms(uint32_t count);
/* It has ended so, and waits from now on. */
void job_restart_wait(struct job_part *part, uint32_t index, const struct job_failure *failure,
                      uint64_t now_ns, struct job_actions *actions);
/* It has connected to PMI.  1 if this becomes known only while it waits: then it must not be started, and
 * its failure is that of the job. */
int job_restart_joined(struct job_part *part, uint32_t index, struct job_failure *ret_failure);
/* Adds to the failure why the rank is not started again. */
void job_restart_explain(const struct job_part *part, uint32_t index, struct job_failure *failure);
/* The timer of the part. */
void job_restart_time(struct job_part *part, uint64_t now_ns, struct job_actions *actions);
/* The job is ended: those that wait have ended. */
void job_restart_cancel(struct job_part *part, struct job_actions *actions);

/* job_profile.c: how long it took; encoded, appended. */
void job_profile_make(const struct job_part *part, struct buffer *out);

/* ---- job_local.c: what happens to it ---- */

void job_local_step(struct instance *instance, const struct job_event *event,
                    struct job_actions *actions);
/* Places were lost. */
void job_local_lost(struct instance *instance, struct job_actions *actions);
/* Broadcasts that concern this node's part; reader is positioned after the message's kind. */
void job_local_launch(struct instance *instance, struct wire_reader *reader,
                      struct job_actions *actions);
void job_local_relaunch(struct instance *instance, struct wire_reader *reader,
                        struct job_actions *actions);
void job_local_moved(struct instance *instance, struct wire_reader *reader,
                     struct job_actions *actions);
void job_local_end(struct instance *instance, struct wire_reader *reader,
                   struct job_actions *actions);
void job_local_result(struct instance *instance, const struct job_event *event,
                      struct job_actions *actions);

/* ---- job_root.c: a job at the root ---- */

struct job *job_create(struct instance *instance, uint32_t number, struct job_spec *spec);
void job_destroy(struct job *job);
/* The job may be in another phase afterwards, perhaps OVER. */
void job_take(struct job *job, enum job_input input, const struct job_event *event,
              struct job_actions *actions);
int job_is_reported(const struct job *job);
/* It waits until its files are on the nodes. */
int job_is_held(const struct job *job);
void job_set_deadline(struct job *job, uint64_t deadline_ns, struct job_actions *actions);

/* job_spawn.c: jobs that processes of others have spawned. */
/* A new job is one. */
void job_spawn_begin(struct job *job, const struct job_event *event, struct job_actions *actions);
int job_spawn_waits(const struct job *job);
/* When its next time limit expires, before it is ended; UINT64_MAX: never. */
uint64_t job_spawn_limit_ns(const struct job *job);
/* Answers that all processes have been started; or, if that never happens, why not: then the end of the
 * job becomes one without a failure, since the caller may go on, unless one of its processes has failed. */
void job_spawn_started(struct job *job, struct job_actions *actions);
/* All have been started and are stopped (PMI_STOP_EXEC): for the user and who has spawned the job. */
void job_spawn_stopped(const struct job *job, struct job_actions *actions);
/* For who has spawned the job.  stop: PMI_STOP_NONE: it has ended, with this status.  No places: there is nobody to
 * notify.  Both are the caller's. */
void job_spawn_notice(const struct job *job, uint32_t status, enum pmi_stop stop,
                      struct ranges *ret_places, struct buffer *ret_notice);
void job_spawn_ended(struct job *job, struct control_job_end *end, struct job_actions *actions);
/* A request that cannot become a job. */
void job_spawn_refuse(const struct job_event *event, enum job_spawn_failure failure,
                      const char *why, struct job_actions *actions);
/* 1 if the request is known: it is repeated when a relay is lost. */
int job_spawn_is_known(const struct instance *instance, const struct job_event *event,
                       struct job_actions *actions);
/* After an input: those that a failed job has spawned become orphans; those of one that has ended
 * well get its own parent. */
void job_spawn_leave(struct job *job);
/* One that must be ended now, or NULL. */
struct job *job_spawn_next_orphan(const struct instance *instance);

/* job_end.c: asks all nodes that live to end their part, or only to say in the next generation of ENDED
 * when they have.  0: none lives. */
int job_end_ask(struct job *job, struct job_end_message *message, struct job_actions *actions);

/* A rank failed or nodes were lost, and by its policy the job goes on (job_policy.c). */
int job_policy_goes_on(const struct job *job);
void job_policy_failure(struct job *job, const struct job_failure *failure,
                        struct job_actions *actions);
/* JOB_MESSAGE_RESTARTED */
void job_policy_restarted(struct job *job, const struct job_restarted *message,
                          struct job_actions *actions);
/* job_move.c: 1 if the ranks of lost places, which are the job's, are started again on spares; else job->stays says why
 * not, if that is its policy. */
int job_move(struct job *job, const struct ranges *lost, struct job_actions *actions);
/* These have been restarted where they were. */
void job_move_restarted(struct job *job, const struct ranges *ranks);
int job_policy_loss(struct job *job, const struct ranges *places, struct job_actions *actions);
/* job_map.c: what the job gets of the nodes, made into its map; or one line that says why not.  -EAGAIN
 * if nodes have to be asked first what they are like.  The launch is appended to out. */
int job_map_make(struct job *job, struct error *error);
/* Nodes (indexes) that may get processes of it, those that it needs if slots are all that counts, and
 * candidates that have to be asked, and have not been by this job. */
void job_map_candidates(const struct job *job, struct ranges *ret_nodes);
void job_map_guess(const struct job *job, struct ranges *ret_nodes);
void job_map_unknown(const struct job *job, const struct ranges *candidates,
                     struct ranges *ret_nodes);
void job_map_launch(const struct job *job, struct buffer *out);
/* What RELAUNCH has from the roster's version on. */
void job_map_relaunch(const struct job *job, struct buffer *out);
/* The same for job_map_learn. */
void job_map_tell(const struct job *job, struct buffer *out);
/* At a node: the map of a decoded launch; the placement must outlive it. */
int job_map_read(const struct instance *instance, struct wire_reader *reader,
                 struct job_local *local);

/* As job_map_make, as if no other job had any of the nodes; 1 also if it cannot be known yet. */
int job_map_fits_alone(struct job *job);

/* job_queue.c: jobs that wait for slots, at the root. */
/* How many others may start before one that waits, and how many that wait are tried when slots become
 * free. */
#define JOB_OVERTAKEN_MAX 100u
#define JOB_QUEUE_LOOKS   64u
struct instance_root;
/* 1 if it waits. */
int job_queue_has(const struct job *job);
/* -EBUSY if another must start before it. */
int job_queue_hold(const struct job *job, struct error *error);
/* It has no map: 1 if it may wait for one, of which its user then hears. */
int job_queue_add(struct job *job, struct job_actions *actions);
/* It has slots. */
void job_queue_started(const struct job *job);
uint64_t job_queue_slots_used(const struct instance_root *root);
/* For users: of the nodes that new jobs can have, the slots, and those that jobs have. */
void job_queue_count(const struct instance_root *root, uint64_t *ret_used, uint64_t *ret_slots);
/* The first JOB_QUEUE_LOOKS. */
uint32_t job_queue_list(const struct instance_root *root, uint32_t *numbers);

/* job_survey.c: the root sets job->places to who has to be asked, of those that it will need or of all
 * that may take part, and returns for what (bits of survey_want, 0: nobody); asks; and takes the answer.
 * A node is asked and answers. */
unsigned int job_survey_wanted(struct job *job, int all);
void job_survey_ask(struct job *job, unsigned int want, struct job_actions *actions);
int job_survey_take(struct job *job, const struct job_event *event, struct error *error);
void job_survey_asked(struct instance *instance, struct wire_reader *reader,
                      struct job_actions *actions);
void job_survey_answer(struct instance *instance, const struct job_event *event,
                       struct job_actions *actions);
void job_survey_close(struct instance *instance);

#endif
