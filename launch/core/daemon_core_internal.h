/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of launch/core/daemon_core.h: daemon_core.c (life, steps), daemon_core_kept.c (events from
 * within a step), daemon_core_query.c, daemon_core_text.c (messages to the user), daemon_core_route.c
 * (what comes from the tree, by kind), daemon_core_job.c (the job logic's actions), daemon_core_clients.c (the
 * root's clients), daemon_core_stage.c (files for the nodes), daemon_core_end.c (how a daemon ends), daemon_core_silence.c (messages about silent
 * nodes), stall_*.c (which ranks an operation waits for).
 */
#ifndef LAUNCH_CORE_DAEMON_CORE_INTERNAL_H
#define LAUNCH_CORE_DAEMON_CORE_INTERNAL_H

#include "base/list.h"
#include "base/hash_map.h"
#include "launch/core/daemon_core.h"

struct bench_move;
struct bench_order;
struct bench_run;
struct clients;
struct names;
struct plan_run;
struct resend;
struct stage_root;
struct stall_report;

enum daemon_phase {
    DAEMON_RUNNING,
    DAEMON_LEAVING,   /* root: everyone has been asked to leave */
    DAEMON_ENDING,    /* waits for the starter's processes */
    DAEMON_FINISHING, /* the links write what is queued */
    DAEMON_KILLING,   /* kills the starter's processes, which have not ended by themselves */
    DAEMON_STOPPED,
    DAEMON_PHASE_COUNT
};

/* What only the root has. */
struct core_root {
    struct hash_map *notices;  /* job and place -> id of its last request; NULL: none yet */
    struct message *notice;    /* for all, for which there was no room; NULL: none */
    struct list pullers;       /* struct puller (daemon_core_pull.c) */
    uint64_t pulled_bytes;     /* under way to them */
    struct list flows;         /* struct stdin_flow (daemon_core_push.c) */
    struct list input_sources; /* struct input_source (daemon_core_input.c) */
    struct list inquiries;     /* struct inquiry (daemon_core_request.c) */
    struct list activities;    /* struct activity_inquiry (daemon_core_activity.c) */
    struct list polls;         /* struct progress_poll (daemon_core_progress.c) */
    struct list removals;      /* struct removal (daemon_core_nodes.c) */
    struct list additions;     /* struct addition (daemon_core_add.c) */
    struct stage_root *stage;  /* files on their way to the nodes */
    uint32_t bench_number;     /* of the last measurement (daemon_core_bench.c) */
    struct list bench_waits;   /* struct bench_wait (likewise) */
    struct hash_map *senders;  /* place -> struct sender (daemon_core_resend.c); NULL: none yet */
    uint64_t complete_ns;      /* when the tree first was */
    const struct daemon_core_observer *observer; /* NULL: none */
    void *observer_context;
};

/* Of a tree that does not go by the allocation (daemon_core_shape.c). */
struct core_shape {
    const struct node_order *order;     /* of the nodes of the range */
    const struct daemon_tree_ops *tree; /* below the core's; NULL until attached */
    void *tree_context;
    struct ranges early_losses; /* the tree's places, until the roster is here */
};

struct daemon_core {
    const struct daemon_ops *ops;
    void *context;
    const struct daemon_tree_ops *tree; /* NULL until it is attached */
    void *tree_context;
    const struct instance_spec *spec;
    struct core_root *root; /* elsewhere one that all share, in which nothing is */
    struct range range;     /* of the tree's places */
    uint32_t place; /* by the allocation, as all others that are not said to be the tree's */
    struct core_shape *shape; /* NULL: the tree goes by the allocation */
    enum daemon_phase phase;
    uint64_t begun_ns;        /* when it began to start others, and to join; 0: not yet */
    struct core_trace *trace; /* daemon_core_trace.c; NULL: no job has wanted one */
    struct instance *instance;
    struct clients *clients;     /* NULL elsewhere than at place 0 */
    struct stall_report *stalls; /* likewise */
    struct hash_map *requests;   /* id -> number of the requesting job; NULL: no request yet */
    struct names *names;         /* NULL until a name is asked for */
    struct ranges lost;          /* places, until then */
    struct list input_sinks;     /* struct input_sink (likewise) */
    struct list loads;           /* struct load_inquiry (daemon_core_load.c) */
    struct list stacks;          /* struct stacks_inquiry (daemon_core_stacks.c) */
    struct list stage_due;       /* struct stage_due (daemon_core_stage.c) */
    struct bench_run *bench;     /* NULL: no measurement is under way (daemon_core_bench.c) */
    struct resend *resend; /* NULL until something is sent to a root that this place survives */
    struct list kept;      /* struct kept_event: posted from within a step */
    bool is_stepping;
    bool has_joined;
    bool was_complete; /* root: the tree, at its beginning; nodes may be added since */
    bool has_failed;
};

static inline bool daemon_core_is_root(const struct daemon_core *core)
{
    return core->place == 0;
}

/* daemon_core.c */
void daemon_core_check(const struct daemon_core *core);

/* daemon_core_shape.c: between the places by the allocation and those of the tree. */
void daemon_core_shape_open(struct daemon_core *core, const struct node_order *order);
void daemon_core_shape_close(struct daemon_core *core);
/* Without an order here, the roster has none either: its places would be other nodes'. */
void daemon_core_shape_check(const struct daemon_core *core);
/* The tree's operations get its places. */
void daemon_core_shape_attach(struct daemon_core *core);
/* An event of the tree or of the starter as the core sees it, which lives until fini. */
struct daemon_shaped_event {
    struct daemon_event event;
    struct ranges places;
    struct endpoint_missing missing;
};
/* 0: it is not for the core, now or ever. */
int daemon_core_shape_event(struct daemon_core *core, const struct daemon_event *event,
                            struct daemon_shaped_event *ret_event);
void daemon_core_shape_event_fini(struct daemon_shaped_event *event);
/* The losses before the roster was here, once it is; 1 if there were some. */
int daemon_core_shape_losses(struct daemon_core *core, struct daemon_shaped_event *ret_event);
uint32_t daemon_core_shape_listed(const struct daemon_core *core, uint32_t tree_place);
uint32_t daemon_core_shape_tree(const struct daemon_core *core, uint32_t place);
/* ret_places is replaced. */
void daemon_core_shape_tree_places(const struct daemon_core *core, const struct ranges *places,
                                   struct ranges *ret_places);
/* As daemon_starter_ops.name. */
const char *daemon_core_shape_name(const struct daemon_core *core, uint32_t place,
                                   char name[HOST_NAME_BYTES_MAX + 1]);

/* daemon_core_kept.c: events posted from within a step, handled when it is over, in their order. */
void daemon_core_keep_event(struct daemon_core *core,
                            const struct daemon_event *event); /* copied */
/* Keeps a job event that the core itself has made. */
void daemon_core_keep(struct daemon_core *core, struct job_event *event);
const struct daemon_event *daemon_core_kept_first(const struct daemon_core *core); /* or NULL */
void daemon_core_kept_drop(struct daemon_core *core);

/* daemon_core_route.c: one function for each kind of event of the tree. */
typedef void daemon_event_handler(struct daemon_core *core, const struct daemon_event *event);
daemon_event_handler daemon_core_route_received, daemon_core_route_request, daemon_core_route_reply,
    daemon_core_route_result, daemon_core_route_lost;

/* daemon_core_control.c */
/* JOB_MESSAGE_CONTROL; reader stands after the kind.  The status for the one who asks. */
int daemon_core_control(struct daemon_core *core, struct wire_reader *reader);

/* daemon_core_job.c */
void daemon_core_job(struct daemon_core *core, struct job_event *event);

/* daemon_core_clients.c */
void daemon_core_clients_open(struct daemon_core *core, const struct daemon_core_config *config);
/* JOB_MESSAGE_TEXT; reader stands after the kind. */
void daemon_core_clients_text(struct daemon_core *core, struct wire_reader *reader);
/* One has disconnected: nothing that it has asked is answered after that. */
void daemon_core_clients_gone(struct daemon_core *core, uint32_t client);

/* daemon_core_end.c */
enum daemon_step_out {
    DAEMON_OUT_END,      /* begins the end */
    DAEMON_OUT_IDLE,     /* no process of the starter is left */
    DAEMON_OUT_PATIENCE, /* the timer of the phase has expired */
    DAEMON_OUT_FINISHED, /* the links have written everything */
    DAEMON_OUT_COUNT
};
void daemon_core_end_step(struct daemon_core *core, enum daemon_step_out what);
/* Takes DAEMON_OUT_IDLE if the starter is idle. */
void daemon_core_end_check_idle(struct daemon_core *core);
void daemon_core_end_begin(struct daemon_core *core, enum endpoint_end end, const char *why);
void daemon_core_end_leave(struct daemon_core *core, uint32_t patience_ms);

/* daemon_core_log.c: what happens, for the log. */
void daemon_core_log(const struct daemon_core *core, const struct daemon_event *event);

/* daemon_core_notice.c: events for processes of other nodes. */
/* Root: a request.  -ENOENT: its job is over. */
int daemon_core_notice_request(struct daemon_core *core, const struct daemon_event *event);
/* DAEMON_EVENT_NOTICE */
void daemon_core_notice_all(struct daemon_core *core, const struct daemon_event *event);
/* Root: DAEMON_TIMER_NOTICE. */
void daemon_core_notice_due(struct daemon_core *core);
/* 1 if the broadcast is one. */
int daemon_core_notice_broadcast(struct daemon_core *core, const struct message *message);
/* Root: nothing is left of the job. */
void daemon_core_notice_forget(struct daemon_core *core, uint32_t job);

/* daemon_core_pull.c: copies of output. */
/* Root: JOB_MESSAGE_PULL; reader stands after the kind.  The status for the one who asks. */
int daemon_core_pull_request(struct daemon_core *core, uint32_t place, struct wire_reader *reader);
/* Root: JOB_MESSAGE_PULL_GONE, and what follows the kind in JOB_MESSAGE_OUTPUT. */
void daemon_core_pull_refused(struct daemon_core *core, uint32_t place, struct wire_reader *reader);
void daemon_core_pull_output(struct daemon_core *core, const struct wire_reader *reader);
/* Root: all output of the job has arrived. */
void daemon_core_pull_ended(struct daemon_core *core, uint32_t job);
void daemon_core_pull_lost(struct daemon_core *core, const struct ranges *places);
/* JOB_MESSAGE_PULLED, likewise. */
void daemon_core_pull_came(struct daemon_core *core, struct wire_reader *reader);
void daemon_core_pull_close(struct daemon_core *core);

/* daemon_core_push.c: the root: standard input. */
/* JOB_MESSAGE_PUSH; reader stands after the kind.  0: it is answered here. */
int daemon_core_push_request(struct daemon_core *core, const struct daemon_event *event,
                             struct wire_reader *reader);
/* Of the job's client; bytes 0: the end. */
void daemon_core_push_client(struct daemon_core *core, uint32_t job, const void *data,
                             size_t bytes);
/* Of the job's client: its terminal, whose size a rank's follows, has another. */
void daemon_core_push_window(struct daemon_core *core, uint32_t job, const void *data,
                             size_t bytes);
/* JOB_MESSAGE_STDIN_ACK */
void daemon_core_push_taken(struct daemon_core *core, uint32_t job, uint32_t bytes);
void daemon_core_push_ended(struct daemon_core *core, uint32_t job);
/* Ends the input of a job that has been started, if a process of a job has spawned it that has ended. */
void daemon_core_push_orphan(struct daemon_core *core, uint32_t job);
/* Of all; a job has ended. */
void daemon_core_push_orphans(struct daemon_core *core);
void daemon_core_push_lost(struct daemon_core *core);
void daemon_core_push_close(struct daemon_core *core);

/* daemon_core_feed.c: input of each process (launch/proto/feed.h). */
/* Root: of the job's client: u32 rank, bytes. */
void daemon_core_feed_client(struct daemon_core *core, uint32_t job, const void *data,
                             size_t bytes);
/* JOB_MESSAGE_FEED at a node, JOB_MESSAGE_FEED_END at the root. */
void daemon_core_feed_came(struct daemon_core *core, struct wire_reader *reader);
void daemon_core_feed_ended(struct daemon_core *core, struct wire_reader *reader);
/* Before the instance gets it. */
void daemon_core_feed_job_event(struct daemon_core *core, const struct job_event *event);
void daemon_core_feed_lost(struct daemon_core *core, const struct ranges *places);

/* daemon_core_input.c: input for all processes (launch/proto/input_piece.h). */
void daemon_core_input_open(struct daemon_core *core);
/* Root: bytes 0: the end.  What has been taken is reported by daemon_core_push_taken; -ECONNRESET: there is
 * no node that could take it. */
int daemon_core_input_send(struct daemon_core *core, uint32_t job, const void *data, size_t bytes);
void daemon_core_input_result(struct daemon_core *core, const struct daemon_event *event);
void daemon_core_input_lost(struct daemon_core *core, const struct ranges *places);
void daemon_core_input_due(struct daemon_core *core);
void daemon_core_input_ended(struct daemon_core *core, uint32_t job);
/* A node: 1 if the broadcast is a piece of input. */
int daemon_core_input_broadcast(struct daemon_core *core, const struct message *message);
/* All processes of the part have taken bytes; 1 if they get all input of the job. */
int daemon_core_input_taken(struct daemon_core *core, uint32_t job, uint32_t bytes);
void daemon_core_input_part_closed(struct daemon_core *core, uint32_t job);
void daemon_core_input_close(struct daemon_core *core);

/* daemon_core_names.c: the name service (names.h). */
/* At a place that has been added, which no loss before is reported to. */
void daemon_core_names_joined(struct daemon_core *core);
void daemon_core_names_lost(struct daemon_core *core, const struct ranges *places);
/* 1 if the message is for it; *ret_status: of names_request. */
int daemon_core_names_request(struct daemon_core *core, uint8_t kind,
                              const struct daemon_event *event, struct wire_reader *reader,
                              int *ret_status);
/* Before the instance gets it. */
void daemon_core_names_job_event(struct daemon_core *core, const struct job_event *event);

/* daemon_core_request.c: root: what clients ask it and nodes (JOB_MESSAGE_QUERY). */
void daemon_core_request_open(struct daemon_core *core);
void daemon_core_request_client(struct daemon_core *core, uint32_t client,
                                const struct control_request *request);
void daemon_core_request_gone(struct daemon_core *core, uint32_t client);
/* 1 if it is the answer of a node to one of them. */
int daemon_core_request_reply(struct daemon_core *core, const struct daemon_event *event);
void daemon_core_request_close(struct daemon_core *core);

/* Answers one. */
void daemon_core_request_answer(struct daemon_core *core, uint32_t client, uint32_t request,
                                int status, const struct buffer *data);

/* daemon_core_nodes.c: root. */
void daemon_core_nodes_open(struct daemon_core *core);
/* JOB_MESSAGE_NODES of a client: answered at once, or when nodes have left. */
void daemon_core_nodes_client(struct daemon_core *core, uint32_t client,
                              const struct control_request *request);
/* At the end of a step. */
void daemon_core_nodes_go_on(struct daemon_core *core);
void daemon_core_nodes_gone(struct daemon_core *core, uint32_t client);
void daemon_core_nodes_close(struct daemon_core *core);

/* Answers; or why nothing is done (else NULL). */
void daemon_core_nodes_answer(struct daemon_core *core, uint32_t client, uint32_t request,
                              const struct ranges *places, const char *why);

/* daemon_core_add.c: root. */
void daemon_core_add_open(struct daemon_core *core);
/* Checks; takes nodes, and answers later, or refuses with a negative errno. */
int daemon_core_add_nodes(struct daemon_core *core, uint32_t client, uint32_t request,
                          struct allocation *nodes, struct error *error);
/* At the end of a step. */
void daemon_core_add_go_on(struct daemon_core *core);
/* A daemon is up; does not start; is lost. */
void daemon_core_add_linked(struct daemon_core *core, uint32_t place);
void daemon_core_add_failed(struct daemon_core *core, uint32_t place, const char *why);
void daemon_core_add_lost(struct daemon_core *core, const struct ranges *places);
void daemon_core_add_gone(struct daemon_core *core, uint32_t client);
/* Its time is up. */
void daemon_core_add_due(struct daemon_core *core);
void daemon_core_add_close(struct daemon_core *core);

/* daemon_core_activity.c: what ranks are doing. */
void daemon_core_activity_open(struct daemon_core *core);
/* JOB_MESSAGE_ACTIVITY, of the root and of a client; reader stands after the kind. */
int daemon_core_activity_request(struct daemon_core *core, const struct daemon_event *event,
                                 struct wire_reader *reader);
void daemon_core_activity_client(struct daemon_core *core, uint32_t client, uint32_t request,
                                 struct wire_reader *reader);
void daemon_core_activity_gone(struct daemon_core *core, uint32_t client);
/* 1 if it is the answer of a node. */
int daemon_core_activity_reply(struct daemon_core *core, const struct daemon_event *event);
void daemon_core_activity_due(struct daemon_core *core);
void daemon_core_activity_close(struct daemon_core *core);

/* daemon_core_load.c: what machines, daemons and jobs use. */
void daemon_core_load_open(struct daemon_core *core);
/* JOB_MESSAGE_LOAD, of a place and of a client; reader stands after the kind. */
int daemon_core_load_request(struct daemon_core *core, const struct daemon_event *event,
                             struct wire_reader *reader);
void daemon_core_load_client(struct daemon_core *core, uint32_t client, uint32_t request,
                             struct wire_reader *reader);
void daemon_core_load_gone(struct daemon_core *core, uint32_t client);
/* 1 if it is the answer of a place. */
int daemon_core_load_reply(struct daemon_core *core, const struct daemon_event *event);
void daemon_core_load_due(struct daemon_core *core);
void daemon_core_load_close(struct daemon_core *core);

/* daemon_core_stacks.c: where ranks stand in their programs. */
void daemon_core_stacks_open(struct daemon_core *core);
/* JOB_MESSAGE_STACKS, of a place and of a client; reader stands after the kind. */
int daemon_core_stacks_request(struct daemon_core *core, const struct daemon_event *event,
                               struct wire_reader *reader);
void daemon_core_stacks_client(struct daemon_core *core, uint32_t client, uint32_t request,
                               struct wire_reader *reader);
void daemon_core_stacks_gone(struct daemon_core *core, uint32_t client);
/* 1 if it is the answer of a place. */
int daemon_core_stacks_reply(struct daemon_core *core, const struct daemon_event *event);
/* DAEMON_EVENT_STACKS */
void daemon_core_stacks_taken(struct daemon_core *core, const struct daemon_event *event);
void daemon_core_stacks_due(struct daemon_core *core);
void daemon_core_stacks_close(struct daemon_core *core);

/* daemon_core_trace.c: when things happen (launch/proto/run_trace.h). */
/* A node: its part of the job begins; contributes to the end; is closed. */
void daemon_core_trace_open(struct daemon_core *core, uint32_t job);
void daemon_core_trace_send(struct daemon_core *core, uint32_t job);
void daemon_core_trace_closed(struct daemon_core *core, uint32_t job);
/* Before the instance gets it. */
void daemon_core_trace_job_event(struct daemon_core *core, const struct job_event *event);
/* A collective operation of processes has its result. */
void daemon_core_trace_result(struct daemon_core *core, const struct operation_name *key);
/* JOB_MESSAGE_TRACE_CLOCK, and 1 if it is the answer to one. */
int daemon_core_trace_clock_request(struct daemon_core *core, const struct daemon_event *event);
int daemon_core_trace_reply(struct daemon_core *core, const struct daemon_event *event);
/* Root: the job is launched; runs; has ended; JOB_MESSAGE_TRACE, reader stands after the kind. */
void daemon_core_trace_launch(struct daemon_core *core, uint32_t job);
void daemon_core_trace_started(struct daemon_core *core, uint32_t job);
void daemon_core_trace_ended(struct daemon_core *core, uint32_t job);
void daemon_core_trace_came(struct daemon_core *core, uint32_t place, struct wire_reader *reader);
void daemon_core_trace_close(struct daemon_core *core);

/* daemon_core_progress.c: how far jobs are. */
void daemon_core_progress_open(struct daemon_core *core);
/* Root: JOB_MESSAGE_PROGRESS of a client; reader stands at the data. */
void daemon_core_progress_client(struct daemon_core *core, uint32_t client, uint32_t request,
                                 struct wire_reader *reader);
/* 1 if the broadcast is one. */
int daemon_core_progress_broadcast(struct daemon_core *core, const struct message *message);
void daemon_core_progress_result(struct daemon_core *core, const struct daemon_event *event);
/* Root: the job has ended; a client has gone. */
void daemon_core_progress_forget(struct daemon_core *core, uint32_t job);
void daemon_core_progress_gone(struct daemon_core *core, uint32_t client);
void daemon_core_progress_close(struct daemon_core *core);

/* daemon_core_stage.c: files for the nodes. */
void daemon_core_stage_open(struct daemon_core *core);
/* Root: JOB_MESSAGE_STAGE of a client. */
void daemon_core_stage_request(struct daemon_core *core, uint32_t client,
                               const struct control_request *request);
void daemon_core_stage_result(struct daemon_core *core, const struct daemon_event *event);
/* 1 if the broadcast is an order of it. */
int daemon_core_stage_broadcast(struct daemon_core *core, struct message *message);
/* DAEMON_EVENT_STAGE_REPORT */
void daemon_core_stage_reported(struct daemon_core *core, const struct daemon_event *event);
void daemon_core_stage_close(struct daemon_core *core);

/* daemon_core_bench.c: measurements of the tree. */
void daemon_core_bench_open(struct daemon_core *core);
/* Root: JOB_MESSAGE_BENCH of a client; reader stands at the data. */
void daemon_core_bench_client(struct daemon_core *core, uint32_t client, uint32_t request,
                              struct wire_reader *reader);
/* 1 if the broadcast is of one. */
int daemon_core_bench_broadcast(struct daemon_core *core, const struct message *message);
void daemon_core_bench_result(struct daemon_core *core, const struct daemon_event *event);
/* JOB_MESSAGE_BENCH of a place below: goes back. */
int daemon_core_bench_request(struct daemon_core *core, const struct daemon_event *event);
/* 1 if it is the answer to one. */
int daemon_core_bench_reply(struct daemon_core *core, const struct daemon_event *event);
/* JOB_MESSAGE_BENCH of any place; reader stands after the kind. */
void daemon_core_bench_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader);
/* Root: what could not be sent is sent again. */
void daemon_core_bench_due(struct daemon_core *core);
void daemon_core_bench_lost(struct daemon_core *core, const struct ranges *places);
void daemon_core_bench_gone(struct daemon_core *core, uint32_t client);
void daemon_core_bench_close(struct daemon_core *core);

/* daemon_core_plan.c: an exchange by a plan, of a measurement. */
/* At a place of the order, which has the plan; NULL: it does not. */
struct plan_run *daemon_core_plan_create(const struct bench_order *order, uint32_t place);
void daemon_core_plan_destroy(struct plan_run *run); /* NULL is fine */
/* Each begins a repetition, the first of which is 0, or takes a message of another place, of any step and repetition.
 * 1: this repetition is over here; 0: it is not; -EILSEQ: the message is not what the plan says. */
int daemon_core_plan_begin(struct daemon_core *core, struct plan_run *run, uint32_t round);
int daemon_core_plan_came(struct daemon_core *core, struct plan_run *run, uint32_t place,
                          const struct bench_move *move);

/* daemon_core_resend.c: what is sent to a root that others survive arrives, once and in order. */
/* To any place; takes the message. */
void daemon_core_send(struct daemon_core *core, uint32_t place, enum frame_class class,
                      struct message *message);
/* JOB_MESSAGE_NUMBERED; reader stands after the kind.  The message in it, a reference of the caller's, or NULL: it must
 * not be taken, or not yet. */
struct message *daemon_core_resend_came(struct daemon_core *core, uint32_t source,
                                        struct wire_reader *reader);
/* JOB_MESSAGE_TAKEN, likewise. */
void daemon_core_resend_taken(struct daemon_core *core, uint32_t source,
                              struct wire_reader *reader);
/* A place is lost, which may have relayed some of it. */
void daemon_core_resend_lost(struct daemon_core *core);
daemon_event_handler daemon_core_resend_all; /* DAEMON_EVENT_RECOVERED */
void daemon_core_resend_close(struct daemon_core *core);

/* daemon_core_silence.c */
void daemon_core_silence(struct daemon_core *core, uint32_t place, uint64_t silent_ns);

#endif
