/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The name service of an instance (PMIx 4.1, 7: publish, lookup, unpublish), as one place sees it: a step
 * function without clock or socket.
 *
 * It has two halves. One serves the processes of this node: it splits what they ask by key, asks the
 * holder of each, asks again if that was lost, and answers them. The other half holds names: the place that
 * name_ring_holder says, and the next living place of the ring, to which each change is copied before it is
 * answered.  So a name survives the loss of a daemon, and of any others at the same time that are not its
 * neighbours in the ring.  After a loss the holders copy again what would be at one place only. Names for
 * processes of one node only are kept there.
 *
 * A holder that does not believe to be it will soon learn that those before it are lost: it keeps the
 * request until then.  Requests are repeatable, since a name has the id of the request that made it.
 *
 * Cost: a publish is a message to the holder and one to its neighbour, with their answers, and a lookup one and its
 * answer; memory is O(names whose holder this is, or has the copy); a loss costs O(names held here).
 */
#ifndef LAUNCH_CORE_NAMES_H
#define LAUNCH_CORE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/message.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "launch/proto/job_wire.h"

struct names;

struct names_ops {
    void *context;
    uint32_t (*request)(void *context, uint32_t place, struct message *message); /* its id */
    void (*reply)(void *context, uint32_t source, uint32_t id, struct message *message);
    void (*timer)(void *context, uint64_t deadline_ns); /* names_timer; UINT64_MAX: none */
    uint64_t (*now_ns)(void *context);
    bool (*job_is_running)(void *context, uint32_t job); /* at the root */
};

/* nodes: of the instance when it began, at the places 1 to nodes.  ops is copied. */
struct names *names_create(uint32_t place, uint32_t nodes, const struct names_ops *ops);
void names_destroy(struct names *names); /* NULL is fine */

/* A request of another place, or of this one: reader stands after the kind.  -EBADMSG: it is malformed. */
int names_request(struct names *names, enum job_message kind, uint32_t source, uint32_t id,
                  struct wire_reader *reader);
/* The functions down to names_job_ended do nothing if names is NULL. */
/* False if the request was not one of the names. */
bool names_reply(struct names *names, uint32_t id, int status, const struct message *message);
void names_lost(struct names *names, const struct ranges *places);
void names_timer(struct names *names);
/* A process of this node has ended, and so have all of the job's on this node. */
void names_process_ended(struct names *names, uint32_t job, uint32_t rank);
void names_part_closed(struct names *names, uint32_t job);
/* Root. */
void names_job_ended(struct names *names, uint32_t job);

/* For tests: names that are held here, or of which the copy is here; requests of processes not answered. */
size_t names_held(const struct names *names);
size_t names_calls(const struct names *names);

#endif
