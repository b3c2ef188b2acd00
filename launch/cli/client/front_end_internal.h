/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The front end's parts: front_end.c (life and end), front_end_activity.c (what ranks do at a time-out), front_end_progress.c (the line on a terminal), front_end_root.c (messages and end of the
 * root), front_end_user.c (the user's input and signals).  For them only.
 */
#ifndef LAUNCH_CLI_CLIENT_FRONT_END_INTERNAL_H
#define LAUNCH_CLI_CLIENT_FRONT_END_INTERNAL_H

#include "base/ranges.h"
#include "fabric/loop.h"
#include "fabric/channel.h"
#include "launch/proto/control.h"
#include "launch/cli/client/front_end.h"
#include "launch/cli/client/input_reader.h"
#include "launch/cli/client/output_writer.h"
#include "launch/cli/client/root_process.h"
#include "launch/cli/client/run_summary.h"
#include "launch/cli/client/task_run.h"

#define FRONT_SIGNALS_MAX 9
/* Of the question what ranks do; those of a transfer of files are counted from 1. */
#define FRONT_ACTIVITY_REQUEST UINT32_MAX
#define FRONT_PROGRESS_REQUEST (UINT32_MAX - 1)
#define FRONT_STACKS_REQUEST   (UINT32_MAX - 2)

struct front_end;
struct front_progress;
struct trace_file;
struct stage_files;
struct stage_sender;

struct front_signal {
    struct front_end *front;
    struct loop_signal *watch;
    int number;
};

struct front_end {
    const struct run_request *request;
    struct run_summary record;
    struct loop *loop;
    struct output_writer *writer;
    struct output_route route;
    struct input_reader *input; /* from CONTROL_STARTED on */
    struct task_run *tasks;     /* NULL: the job is one program */

    struct channel *channel; /* NULL once it is closed */
    uint32_t job;            /* its number; 0 until the root has accepted it */
    struct ranges children;  /* numbers of the jobs that it, or one of them, has spawned */
    int is_guest;            /* of an existing instance: the root is not ours */
    struct buffer early;     /* CONTROL_END, if the end was requested before that */
    struct root_process root;
    int root_ended; /* or there is none of ours */

    struct front_signal signals[FRONT_SIGNALS_MAX];
    uint32_t signals_count;
    struct loop_timer *timeout;  /* of --timeout */
    struct loop_timer *patience; /* for the root, once it was asked to end something */
    struct loop_timer *reader;   /* for the reader of our output, once the user wants us to end */
    int asks_activity; /* what the ranks do: the time is over, and timeout waits for the answer */
    int asks_stacks;   /* where they stand, after that */
    int end_wishes;    /* how often the user asked for the end */
    int ending_at_once;
    int root_killed;  /* by us */
    int reader_moved; /* something was written since the last check */
    int reader_owes;  /* something was queued at the last check */

    struct front_progress *progress; /* NULL: stderr is not a terminal, or it is no longer shown */

    struct stage_files *stage_files;   /* NULL: nothing is staged */
    struct stage_sender *stage_sender; /* from its acceptance on */
    struct loop_timer *stage_timer;

    struct trace_file *trace; /* NULL: without --trace */

    int has_job_end;
    int has_failure; /* ours: its text and status take precedence over the root's */
    int said_end;
};

/* front_end.c */
/* Invariants between two events. */
void front_end_check(const struct front_end *front);
/* Ends the job: with our own status and text (our failure) or at the user's request. */
void front_end_ask_end(struct front_end *front, uint32_t status, int at_once, const char *reason);
void front_end_fail(struct front_end *front, uint32_t status, enum run_failure failure,
                    const char *text);
/* Prints the final message, once; stops the loop once everything has ended. */
void front_end_say_end(struct front_end *front);
void front_end_check_gone(struct front_end *front);
void front_end_wait_for_root(struct front_end *front, uint32_t milliseconds);
/* After an end request: output that is not read is dropped after a second. */
void front_end_watch_reader(struct front_end *front);
void front_end_acknowledge(struct front_end *front, const struct unwritten_part *part);
void front_end_message(struct front_end *front, const char *text);
/* For --verbose, with the time since the start. */
void front_end_phase(struct front_end *front, enum run_phase phase);

/* front_end_activity.c */
/* 1: the timer `timeout` is set, and is due when the root has answered, or has not within some seconds; 0: there is
 * nothing to ask, or it was asked. */
int front_end_activity_ask(struct front_end *front);
/* CONTROL_ANSWER; -EBADMSG */
int front_end_activity_answer(struct front_end *front, const struct control_answer *answer);

/* front_end_stacks.c: the same of their stacks */
int front_end_stacks_ask(struct front_end *front);
int front_end_stacks_answer(struct front_end *front, const struct control_answer *answer);

/* front_end_progress.c */
void front_end_progress_open(struct front_end *front);
/* All processes run. */
void front_end_progress_started(struct front_end *front);
/* CONTROL_ANSWER; -EBADMSG */
int front_end_progress_answer(struct front_end *front, const struct control_answer *answer);
/* It is of no more interest; NULL is fine, also at other times. */
void front_end_progress_close(struct front_end *front);

/* front_end_profile.c: --profile */
/* CONTROL_PROFILE; -EBADMSG. */
int front_end_profile_take(struct front_end *front, struct wire_reader *reader);
/* At the end. */
void front_end_profile_print(struct front_end *front);

/* front_end_root.c */
void front_end_attach_root(struct front_end *front, int channel_fd);
/* Sends a message about the accepted job; payload is what follows its number. */
void front_end_send(struct front_end *front, uint8_t type, const void *payload, size_t bytes);
void front_end_close_root(struct front_end *front);

/* front_end_stage.c */
/* Before anything starts. */
int front_end_stage_scan(struct front_end *front, struct run_request *request, struct error *error);
void front_end_stage_begin(struct front_end *front);
/* CONTROL_ANSWER; negative if it is not expected. */
int front_end_stage_answer(struct front_end *front, const struct control_answer *answer);
/* How much longer the daemons may take to end, as they remove what was staged. */
uint32_t front_end_stage_leave_ms(const struct front_end *front);
void front_end_stage_close(struct front_end *front);

/* front_end_tasks.c: --tasks */
/* Before anything starts; *ret_left: there is a task to be run. */
int front_end_tasks_create(struct front_end *front, int *ret_left, struct error *error);
void front_end_tasks_open_input(struct front_end *front);
/* Acknowledges it: it is kept here. */
void front_end_tasks_output(struct front_end *front, const struct control_output *output);
/* FEED_END, FEED_LOST; 0 or -EBADMSG. */
int front_end_tasks_message(struct front_end *front, uint8_t type, struct wire_reader *reader);
/* The job has ended: its report about workers is replaced by one about tasks. */
void front_end_tasks_end(const struct front_end *front, struct control_job_end *end);

/* front_end_trace.c: --trace */
/* CONTROL_TRACE; -EBADMSG. */
int front_end_trace_take(struct front_end *front, struct wire_reader *reader);
/* At the end; an error becomes the status. */
void front_end_trace_close(struct front_end *front);

/* front_end_user.c */
void front_end_open_user(struct front_end *front);
void front_end_open_input(struct front_end *front);
void front_end_close_user(struct front_end *front);

#endif
