/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of an instance that asks and waits, for verbs such as `banyan ps`: one request at a time, on a blocking
 * connection.  What the instance says meanwhile about jobs that it has subscribed to is kept from it: such verbs read
 * messages themselves (instance_message.h).
 */
#ifndef LAUNCH_CLI_CLIENT_INSTANCE_CLIENT_H
#define LAUNCH_CLI_CLIENT_INSTANCE_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"
#include "launch/proto/bench.h"
#include "launch/proto/control.h"
#include "launch/proto/load.h"
#include "launch/proto/node_list.h"
#include "launch/proto/stack_fold.h"
#include "pmix/pmi_query.h"

struct instance_client {
    char *directory;
    int fd;
    pid_t root; /* process */
    struct allocation roster;
    bool is_patient; /* an answer may take any time */
};

/* Finds the instance (instance_search.h) and becomes its client; closed by instance_client_close. */
int instance_client_open(struct instance_client *ret_client, const char *given,
                         struct error *error);
void instance_client_close(struct instance_client *client);

/* The jobs that have not ended; the caller's to fini.  An error is one line. */
int instance_client_jobs(struct instance_client *client, struct pmi_instance_facts *ret_facts,
                         struct error *error);
/* Of a job, or of all (0): any number of pmi_node_facts, encoded, from these places. */
int instance_client_processes(struct instance_client *client, uint32_t job,
                              const struct ranges *places, struct buffer *ret_facts,
                              struct error *error);
/* kind: enum job_control_kind; ranks: none: all.  -ENOENT if no such job runs, or it has no such rank. */
int instance_client_control(struct instance_client *client, uint32_t job, uint8_t kind,
                            uint32_t signal, const struct ranges *ranks, struct error *error);
/* What the nodes use, with rows of at most that many of them; the caller's to fini. */
int instance_client_load(struct instance_client *client, uint32_t rows, struct load *ret_load,
                         struct error *error);
/* Has the nodes measure the tree, which may take any time; the caller's to fini. */
int instance_client_bench(struct instance_client *client, const struct bench_request *what,
                          struct bench_answer *ret_answer, struct error *error);
/* Where the ranks of a job stand, which takes some seconds; the caller's to fini. */
int instance_client_stacks(struct instance_client *client, uint32_t job,
                           struct stack_fold *ret_fold, struct error *error);
/* Lists nodes (none named: all), and before that drains, resumes or removes them, which may take as long as jobs do; the
 * caller's to fini.  What the root refuses is an error. */
int instance_client_nodes(struct instance_client *client, const struct node_list_request *nodes,
                          struct node_list *ret_list, struct error *error);

/* Adds nodes, which takes as long as a start.  why: a line for each reason that none was added; "": they were. */
int instance_client_add(struct instance_client *client, const struct allocation *nodes,
                        char why[NODE_LIST_WHY_BYTES], struct error *error);

/* For who talks to the root in another way: sends a CONTROL_REQUEST, and gets the next CONTROL_ANSWER, which lies in
 * payload.  sent: what sending has returned. */
int instance_client_send(struct instance_client *client, const struct buffer *payload);
int instance_client_answer(struct instance_client *client, int sent, struct buffer *payload,
                           struct control_answer *ret_answer, struct error *error);

#endif
