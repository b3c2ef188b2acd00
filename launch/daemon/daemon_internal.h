/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver of a daemon's core (launch/core/daemon_core.h), for its files only: daemon.c (start and
 * end), daemon_ops.c (clock and starter), daemon_children.c (daemons below), daemon_job.c and
 * daemon_start.c (the parts of jobs on this node), daemon_helper.c (what the helper reports),
 * root_clients.c (the root's clients).
 */
#ifndef LAUNCH_DAEMON_DAEMON_INTERNAL_H
#define LAUNCH_DAEMON_DAEMON_INTERNAL_H

#include <assert.h>
#include <limits.h>

#include "base/list.h"
#include "base/hash_map.h"
#include "fabric/link_set.h"
#include "fabric/rail.h"
#include "fabric/loop.h"
#include "launch/proto/boot.h"
#include "fabric/channel.h"
#include "launch/core/daemon_core.h"
#include "launch/daemon/doctor_daemon.h"
#include "launch/exec/helper.h"
#include "launch/rank/input.h"
#include "launch/rank/input_fan.h"
#include "launch/rank/output.h"
#include "launch/rank/pmi_node.h"
#include "launch/rank/pseudo_terminal.h"
#include "launch/rank/rank_jobs.h"
#include "launch/rank/rank_pmi.h"
#include "launch/exec/session.h"
#include "launch/start/starter.h"
#include "overlay/endpoint.h"
#include "overlay/tree.h"

/* The helper's processes that are not ranks: surveys have ids from here on, the starter below. */
#define DAEMON_SURVEY_ID 0x80000000u

struct core_timer;
struct root;
struct join_root;
struct journal;
struct log_file;
struct replay;
struct root_fabric;

/* The part of a job on this node: its processes, pipes and servers. */
struct daemon_job {
    struct list_link node;
    struct daemon *daemon;
    uint32_t number;
    const struct job_local *local; /* owned by the job logic; valid until CLOSE is done */
    struct output *output;
    struct rank_pmi *rank_pmi; /* NULL: it could not be created */
    pid_t *pids;               /* by local rank; 0: not started */
    int *ends;                 /* their wait statuses, once they have ended */
    struct input *input;
    int input_fd; /* the process's end, until it is started for the last time; else -1 */
    struct daemon_feed *feed; /* NULL, or by local rank (JOB_STDIN_EACH) */
    struct input_fan *fan;    /* NULL, or to all local ranks (JOB_STDIN_ALL) */
    int terminal_fd;          /* our end of a rank's terminal, or -errno: why there is none */
    struct ranges starts;     /* local ranks yet to be started, perhaps again */
    uint64_t start_short_ns;  /* since when descriptors have been short; 0: they are not */
    struct loop_timer *start_timer;
};

/* The input of a process by itself; fd: the process's end, until it has started; else -1. */
struct daemon_feed {
    struct input *input;
    int fd;
};

struct daemon {
    struct boot_record record;
    struct session session;
    struct helper *helper;
    struct loop *loop;
    struct link_set *links;
    struct rail *rail; /* NULL: the links carry everything */
    struct endpoint *endpoint;
    struct tracer *tracer;   /* NULL: nothing is recorded */
    struct journal *journal; /* root that others survive; else NULL */
    struct replay *replay;   /* of such a root that is being recovered; else NULL */
    struct starter *starter;
    struct daemon_core *core;
    const struct allocation *roster; /* root: the initial nodes; not owned */
    enum instance_policy policy;     /* root */
    struct loop_timer *lease_timer;
    struct core_timer *timers[DAEMON_TIMER_COUNT]; /* except those of jobs */
    struct hash_map *job_timers;                   /* job -> struct core_timer, while it runs */
    struct loop_watch *starter_watch; /* until we have joined, or the starter has exited */
    struct loop_timer *starter_timer; /* NULL once we have joined */
    struct ranges newcomers;          /* whom a one-shot starter starts at the end of the turn */
    struct join_root *join_root;      /* at place 0 with --starter join; else NULL */
    struct doctor *doctor;            /* NULL unless this is an instance of banyan doctor */
    struct root *root;                /* the clients; NULL except at place 0 */
    struct root_fabric *fabric; /* NULL: the root has no description of it, or this is not it */
    struct list surveys;        /* struct daemon_survey: those under way */
    uint32_t surveys_made;
    struct list stacks;        /* struct daemon_stacks: those being taken */
    struct channel *stage;     /* to the process that stages files; NULL until it is needed */
    struct pmi_node *pmi_node; /* the PMIx server of all jobs */
    struct rank_jobs *rank_jobs;
    struct list jobs;                 /* struct daemon_job: jobs with a part on this node */
    char jobs_name[SESSION_ID_BYTES]; /* of the jobs' namespaces; secret outside the instance */
    uint32_t helper_behind;    /* checks in a row, one per second, with a request it had not read */
    uint32_t refusals;         /* how often the parent refused a link before we joined */
    uint8_t has_recovered;     /* the root goes on: what it began with is its own */
    uint8_t is_joiner;         /* started with a token; users may send it signals */
    struct log_file *log_file; /* NULL: it is not wanted */
    uint8_t logging;           /* a log line is being sent: nested ones go to stderr */
    int exit_status;
};

/* Asserts what holds whenever the loop calls the daemon. */
static inline void daemon_check(const struct daemon *daemon)
{
    assert(daemon->loop != NULL && daemon->helper != NULL && daemon->core != NULL);
    assert(daemon->root == NULL || daemon->record.place == 0);
    assert((daemon->roster != NULL) == (daemon->record.place == 0));
    assert(daemon->join_root == NULL || daemon->record.instance.starter == STARTER_JOIN);
    assert(!daemon->is_joiner || daemon->record.place != 0);
    assert(daemon->doctor == NULL || daemon->doctor->daemon == daemon);
    assert(daemon->doctor == NULL || daemon->record.instance.is_doctor);
    assert(daemon->rail == NULL || daemon->record.instance.fabric != NULL);
    assert(daemon->starter_watch == NULL || daemon->starter_timer != NULL);
    assert(daemon->timers[DAEMON_TIMER_JOB] == NULL && daemon->job_timers != NULL);
    assert(daemon->exit_status >= 0);
}

/* daemon.c */
int daemon_run(struct daemon *daemon, struct error *error);

/* What may end a daemon; its core decides when and how (launch/core/daemon_core_end.c). */
static inline void daemon_end(struct daemon *daemon, enum endpoint_end end, const char *why)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_END, .status = (int)end, .text = why};

    assert(end < ENDPOINT_END_COUNT);
    daemon_core_step(daemon->core, &event);
}

/* Root: asks all daemons to leave, then ends; at the latest after patience_ms. */
static inline void daemon_leave(struct daemon *daemon, uint32_t patience_ms)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_LEAVE, .number = patience_ms};

    assert(daemon->root != NULL);
    daemon_core_step(daemon->core, &event);
}

/* A process of the starter has ended: if the daemon is ending and this was the last, it goes on. */
static inline void daemon_check_idle(struct daemon *daemon)
{
    daemon_check(daemon);
    daemon_core_step(daemon->core, &(struct daemon_event){.kind = DAEMON_EVENT_IDLE});
}

/* daemon_ops.c */
void daemon_open_core(struct daemon *daemon);
void daemon_close_core(struct daemon *daemon);
uint64_t daemon_now_ns(void);
/* A root whose journal has been replayed and whose links are open goes on. */
void daemon_recover(struct daemon *daemon);

/* daemon_log.c */
/* From now on lines are logged.  What cannot be opened is an error: the file of --log. */
int daemon_log_open(struct daemon *daemon, struct error *error);
void daemon_log_close(struct daemon *daemon);
/* daemon_ops.lost: quotes the logs of the first of them. */
void daemon_log_lost(void *context, const struct ranges *places);

/* daemon_fabric.c */
/* Opens the transport that the instance uses and attaches the endpoint to it; sets config's events. */
int daemon_open_links(struct daemon *daemon, struct link_set_config *config, struct error *error);
/* At a root that others survive, links and core go through its journal. */
int daemon_open_journal(struct daemon *daemon, struct error *error);
const struct transport_ops *daemon_journal_ops(struct daemon *daemon);
void daemon_finish_links(struct daemon *daemon, void (*finished)(void *context));
void daemon_close_links(struct daemon *daemon);

/* daemon_children.c */
extern const struct starter_events daemon_starter_events;
int daemon_start_children(struct daemon *daemon, struct error *error);
/* Starts the head of a range, which starts the others in it. */
void daemon_start_child(struct daemon *daemon, struct range range);
/* Root: the places from first on, after all others, are of nodes of these names; and starts one of them. */
void daemon_add_names(struct daemon *daemon, uint32_t first, const struct hostlist *names);
void daemon_start_newcomer(struct daemon *daemon, uint32_t place);
/* The name in the allocation; "" for a place that is neither this one nor below it. */
const char *daemon_place_name(const struct daemon *daemon, uint32_t place,
                              char name[HOST_NAME_BYTES_MAX + 1]);
/* For struct daemon_starter_ops. */
void daemon_joined(void *context);
void daemon_parent_unlinked(void *context, uint32_t place, int status, const char *why);

/* daemon_helper.c */
extern const struct helper_events daemon_helper_events;
/* Must be called once a second; reports a helper that is stopped. */
void daemon_watch_helper(struct daemon *daemon);

/* daemon_job.c */
void daemon_job_check(const struct daemon_job *job);
extern const struct daemon_rank_ops daemon_rank_ops;
extern const struct daemon_pmi_ops daemon_pmi_ops;
struct daemon_job *daemon_job_find(const struct daemon *daemon, uint32_t number); /* or NULL */
void daemon_jobs_close(struct daemon *daemon);
void daemon_job_event(struct daemon *daemon, struct job_event *event);

/* daemon_query.c */
/* What this place says to a query (pmix/pmi_query.h); -errno if nothing. */
int daemon_query(struct daemon *daemon, const void *data, size_t bytes, struct buffer *answer);

/* daemon_start.c */
void daemon_start_ranks(struct daemon_job *job, uint32_t first, uint32_t count);
/* Continue with the starts of one job (called by its timer) and of all (called by the helper). */
void daemon_start_more(void *context);
void daemon_start_all(void *context);
/* Reports the remaining starts as failed, with -ECANCELED. */
void daemon_cancel_starts(struct daemon_job *job);
void daemon_forget_starts(struct daemon_job *job);
void daemon_close_input_fd(struct daemon_job *job);

/* daemon_job.c: of a job with JOB_STDIN_EACH: the end that a process gets, or -1;
 * and it has it. */
int daemon_job_feed_fd(const struct daemon_job *job, uint32_t index);
void daemon_job_feed_given(struct daemon_job *job, uint32_t index);

/* daemon_starter.c */
/* A daemon that has not joined ends soon after its starter. */
void daemon_watch_starter(struct daemon *daemon);
void daemon_forget_starter(struct daemon *daemon);

/* daemon_signal.c */
void daemon_watch_signals(struct daemon *daemon);

/* daemon_survey.c */
/* Has the helper inspect this node; the job logic gets the answer as an event. */
/* What a local rank is doing. */
void daemon_query_activity(void *context, uint32_t job, uint32_t index,
                           struct activity_rank *ret_rank);
bool daemon_query_process_load(void *context, uint32_t job, uint32_t index, uint64_t *ret_cpu_ns,
                               uint64_t *ret_kib);
void daemon_query_load(void *context, struct daemon_load *ret_load);
void daemon_survey_start(void *context, uint32_t job, uint32_t want, const char *require);
void daemon_surveys_close(struct daemon *daemon);

/* daemon_stacks.c */
void daemon_stacks_start(void *context, uint32_t job, const struct ranges *indices, uint32_t look,
                         uint32_t limit_ms);
void daemon_stacks_close(struct daemon *daemon);

/* daemon_stage.c */
/* An order of the root to stage files. */
void daemon_stage_order(void *context, struct message *message);
/* Contains the stage directories of jobs, by number. */
void daemon_stage_directory(const struct daemon *daemon, char path[PATH_MAX]);
void daemon_stage_close(struct daemon *daemon);

/* root_clients.c */
extern const struct daemon_client_ops root_client_ops;
/* Sends to the client that began the instance, if it is connected; clears the payload. */
void root_send(struct daemon *daemon, uint8_t type, struct buffer *payload);
int root_open(struct daemon *daemon, struct error *error);
/* The root is recovered: clients have numbers after the last one. */
void root_count_clients(struct daemon *daemon, uint32_t last_client);
void root_close(struct daemon *daemon);

#endif
