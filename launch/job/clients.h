/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of an instance, at its root: which have said hello, which job belongs to which, which
 * get which job's streams, and how much output each has yet to read.  No sockets here: messages of
 * launch/proto/control.h go in and out through ops.
 *
 * Invariant: output received from a daemon is either under way to the job's client, whose
 * acknowledgement becomes the daemon's credit, or credited at once.  A client that disconnects ends
 * its jobs, except those it has detached from; the first one, which started the instance, also ends
 * that.  Cost: O(clients + jobs + messages of output on their way).
 */
#ifndef LAUNCH_JOB_CLIENTS_H
#define LAUNCH_JOB_CLIENTS_H

#include "launch/job/instance.h"

struct clients;

struct clients_ops {
    void (*send)(void *context, uint32_t client, uint8_t type, const void *payload, size_t bytes);
    size_t (*queued)(void *context, uint32_t client); /* bytes it has not read yet */
    void (*drop)(void *context, uint32_t client);     /* clients_gone follows, later or never */
    void (*step)(void *context, struct job_event *event);
    void (*credit)(void *context, uint32_t job, uint32_t place, uint32_t bytes);
    /* type: CONTROL_STDIN; or CONTROL_FEED or CONTROL_WINDOW, and what follows its job. */
    void (*input)(void *context, uint32_t job, uint8_t type, const void *data, size_t bytes);
    const char *(*missing)(void *context, uint32_t job); /* what it waits for; "" */
    void (*doctor)(void *context, struct wire_reader *reader);
    /* clients_answer follows, at once or later */
    void (*request)(void *context, uint32_t client, const struct control_request *request);
    void (*detached)(void *context);                  /* the client that started the instance */
    void (*unheard)(void *context, const char *text); /* no client is there to read it */
};

struct clients_config {
    const char *session;
    const char *directory;
    const struct allocation *roster; /* as new jobs may use it; its slots may change */
    uint32_t piece_bytes;            /* minimum credit given at a time */
};

struct clients *clients_create(const struct clients_config *config, const struct clients_ops *ops,
                               void *context);
void clients_destroy(struct clients *clients);

/* Adds a client, by a number that is never reused; the one that started the instance is 1. */
void clients_join(struct clients *clients, uint32_t client);
void clients_message(struct clients *clients, uint32_t client, uint8_t type, const void *payload,
                     size_t bytes);
void clients_gone(struct clients *clients, uint32_t client);

/* From the nodes: what follows the kind in JOB_MESSAGE_OUTPUT; input that the job's rank has
 * read. */
void clients_output(struct clients *clients, uint32_t place, const void *data, size_t bytes);
void clients_input_taken(struct clients *clients, uint32_t job, uint32_t bytes);
/* To the job's client, if it has one: a message that begins with the job. */
void clients_send(struct clients *clients, uint32_t job, uint8_t type, struct buffer *message);
/* ACCEPTED, STARTED, ENDED, TEXT, READY, FAILED. */
void clients_action(struct clients *clients, const struct job_action *action);
void clients_text(struct clients *clients, uint32_t job, uint8_t level, const char *text);
void clients_answer(struct clients *clients, uint32_t client, const struct control_answer *answer);
/* The root cannot continue: reports that to clients whose job has not been reported. */
void clients_failed(struct clients *clients, const char *why);
/* 1 if the job's client has unread output. */
int clients_wait(const struct clients *clients, uint32_t job);
uint32_t clients_count(const struct clients *clients);
uint32_t clients_jobs(const struct clients *clients);

#endif
