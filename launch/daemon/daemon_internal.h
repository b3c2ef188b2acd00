/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon's parts and who may call whom: daemon.c (life), daemon_overlay.c (what the tree brings),
 * daemon_action.c (carries out the job logic's actions), daemon_job.c (the parts of jobs on this node),
 * root.c (the root's clients).  For them only.
 */
#ifndef LAUNCH_DAEMON_DAEMON_INTERNAL_H
#define LAUNCH_DAEMON_DAEMON_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "fabric/link_set.h"
#include "fabric/rail.h"
#include "fabric/loop.h"
#include "launch/proto/boot.h"
#include "fabric/channel.h"
#include "launch/daemon/doctor_daemon.h"
#include "launch/exec/helper.h"
#include "launch/rank/input.h"
#include "launch/job/instance.h"
#include "launch/rank/output.h"
#include "launch/rank/pmi_node.h"
#include "launch/rank/services.h"
#include "launch/exec/session.h"
#include "launch/start/starter.h"
#include "overlay/node.h"
#include "overlay/tree.h"

/* Ids of processes at the helper that are no ranks: the starter's are below. */
#define DAEMON_SURVEY_ID 0x80000000u
#define DAEMON_PMI_ID    (DAEMON_SURVEY_ID - PMI_NODE_IDS)

struct root;
struct join_root;
struct roll_call;

/* The part of a job on this node, as far as the world has to do with it. */
struct daemon_job {
    struct list_node node;
    struct daemon *daemon;
    uint32_t number;
    const struct job_local *local; /* the job logic's, until CLOSE has been carried out */
    struct output *output;
    struct services *services; /* NULL: they could not be made */
    pid_t *pids;               /* of its local ranks, 0: not started */
    struct input *input;
    int input_fd; /* the process's end until it has started, or -1 */
    /* local ranks that are still to be started: [start_next, start_end) */
    uint32_t start_next;
    uint32_t start_end;
    uint64_t start_short_ns; /* since when there are no descriptors for the next; 0: there are */
    struct loop_timer *start_timer;
};

struct daemon {
    struct boot_record record;
    struct session session;
    struct helper *helper;
    struct loop *loop;
    struct link_set *links;
    struct rail *rail; /* NULL: the links carry everything */
    struct node *node;
    struct recorder *recorder; /* NULL: nothing is recorded */
    struct starter *starter;
    struct instance *instance;
    struct loop_timer *lease_timer;
    struct loop_timer *end_timer;
    struct loop_watch *starter_watch; /* until it has joined or its starter is gone */
    struct loop_timer *starter_timer; /* NULL once it has joined */
    struct join_root *join_root;      /* at place 0, if daemons join by tokens; else NULL */
    struct roll_call *roll_call;      /* NULL elsewhere than at place 0 */
    struct doctor *doctor;            /* NULL unless the instance is there to examine its nodes */
    struct root *root;                /* the front end's side; NULL elsewhere than at place 0 */
    struct list surveys;              /* struct daemon_survey: the node is being looked at */
    uint32_t surveys_made;
    struct pmi_node *pmi_node; /* the PMIx server of all jobs */
    struct list jobs;          /* struct daemon_job: those that have a part here */
    struct map *requests;      /* id of a request on its way -> number of the job that asks */
    char
        jobs_name[SESSION_ID_BYTES]; /* of the namespaces of the jobs: known to the instance only */
    uint32_t helper_behind; /* so often in a row it had not read what it was told a second ago */
    uint32_t refusals;      /* how often the parent refused to be linked to before we joined */
    uint8_t is_joiner;      /* it came with a token: somebody may send it signals */
    uint8_t joined;
    uint8_t ending;
    uint8_t logging; /* guards the log's way up against itself */
    int exit_status;
};

/* daemon.c */
int daemon_run(struct daemon *daemon, struct error *error);
void daemon_end(struct daemon *daemon, enum node_end end, const struct error *why);
/* Root: asks everyone to leave and ends, at the latest some patience later. */
void daemon_leave(struct daemon *daemon, uint32_t patience_ms);
/* The starter's processes have all ended: the way out, if it is the time. */
void daemon_check_end(struct daemon *daemon);
/* A line for the user of a job (0: of the instance), at the root by way of the tree. */
void daemon_text(struct daemon *daemon, uint32_t job, uint8_t level, const char *text);
uint64_t daemon_now_ns(void);

/* daemon_fabric.c */
/* Opens what the instance asks for and attaches the node to it; config's events are set here. */
int daemon_open_links(struct daemon *daemon, struct link_set_config *config, struct error *error);
void daemon_finish_links(struct daemon *daemon, void (*finished)(void *context));
void daemon_close_links(struct daemon *daemon);

/* daemon_overlay.c */
extern const struct node_events daemon_node_events;
extern const struct starter_events daemon_starter_events;
int daemon_start_children(struct daemon *daemon, struct error *error);
/* Starts the heads of what follows the first place of a range of ours. */
void daemon_start_range(struct daemon *daemon, struct range range);
/* As the allocation says it; "" if it is none of ours. */
const char *daemon_place_name(const struct daemon *daemon, uint32_t place,
                              char name[HOST_NAME_BYTES_MAX + 1]);

/* daemon_silence.c */
/* To be called once a second: a helper that is stopped is told of. */
void daemon_watch_helper(struct daemon *daemon);
/* node_events.silent and .seen. */
void daemon_silent(void *context, uint32_t place, uint64_t silent_ns);
void daemon_seen(void *context, const struct ranges *places, enum node_loss loss,
                 uint64_t silent_ns);

/* daemon_job.c */
struct daemon_job *daemon_job_find(const struct daemon *daemon, uint32_t number); /* or NULL */
void daemon_job_open(struct daemon *daemon, uint32_t number);
void daemon_job_close(struct daemon_job *job); /* NULL is fine */
void daemon_jobs_close(struct daemon *daemon);
/* Output credit and stdin that came from the root. */
void daemon_job_message(struct daemon *daemon, uint8_t kind, struct wire_reader *reader);

/* daemon_action.c */
extern const struct helper_events daemon_helper_events;
void daemon_job_event(struct daemon *daemon, struct job_event *event);

/* daemon_start.c */
void daemon_start_ranks(struct daemon_job *job, uint32_t first, uint32_t count);
/* Goes on with those of one job, as a timer, and of all, as the helper's upcall. */
void daemon_start_more(void *context);
void daemon_start_all(void *context);
/* Those that are left are told as failed, with ECANCELED. */
void daemon_cancel_starts(struct daemon_job *job);
void daemon_forget_starts(struct daemon_job *job);
void daemon_close_input_fd(struct daemon_job *job);

/* daemon_starter.c */
/* A daemon that has not joined ends soon after what started it. */
void daemon_watch_starter(struct daemon *daemon);
void daemon_forget_starter(struct daemon *daemon);

/* daemon_signal.c */
void daemon_watch_signals(struct daemon *daemon);

/* daemon_survey.c */
/* Asks the helper what this node is like; the job logic gets the answer as an event. */
void daemon_survey_start(struct daemon *daemon, uint32_t job, unsigned int want,
                         const char *require);
void daemon_surveys_close(struct daemon *daemon);

/* root.c */
void root_message(struct daemon *daemon, uint32_t source, struct message *payload);
void root_action(struct daemon *daemon, struct job_action *action);
/* The root cannot go on: its clients are told, unless their jobs' ends were. */
void root_failed(struct daemon *daemon, const char *why);
void root_text(struct daemon *daemon, uint32_t job, uint8_t level, const char *text);
/* To the client that began the instance, if it is there; clears the payload. */
void root_send(struct daemon *daemon, uint8_t type, struct buffer *payload);
int root_open(struct daemon *daemon, struct error *error);
void root_close(struct daemon *daemon);

#endif
