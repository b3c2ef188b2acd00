/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a lost node that are started again on the spare that has taken its place (JOB_ON_FAILURE_RESTART), at the
 * root: all ranks of the node, with their numbers, each one restart further.  The job's other nodes hear where they are
 * now, and contribute to ENDED in a new generation with the spare in place of the lost node.  Nothing is moved once a
 * rank of the job has connected to PMI, since the others count on what it has exchanged with them: a node says so as
 * soon as one has, and refuses if that has not arrived yet.
 *
 * Cost: a message to the job's nodes and one to each spare; and the number of restarts of each rank, O(processes), of
 * a job of which a rank was restarted in an instance with spares, since nobody else knows it once the node is lost.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "launch/job/instance.h"
#include "launch/job/instance_state.h"
#include "launch/job/job_report.h"
#include "launch/proto/job_moved.h"

/* Above this product of a job's processes and those of a node its PMIx server starts before them, and then knows where all
 * ranks are (SOCKET_PRODUCT_MAX of pmix/host_environment.c). */
#define EARLY_PRODUCT_MAX 8192u

static void count_restart(struct job *job, uint32_t rank)
{
    if (job->restart_counts == NULL)
        job->restart_counts =
            memory_allocate_zeroed(job->map.processes * sizeof(*job->restart_counts));
    assert(rank < job->map.processes);
    job->restart_counts[rank] += job->restart_counts[rank] < JOB_RESTARTS_MAX;
}

static uint32_t restarts_of(const struct job *job, uint32_t rank)
{
    return job->restart_counts != NULL ? job->restart_counts[rank] : 0;
}

void job_move_restarted(struct job *job, const struct ranges *ranks)
{
    uint32_t rank = 0;

    if (job->instance->spec->spares == 0)
        return;
    for (; ranges_next(ranks, rank, &rank) && rank < job->map.processes; rank++)
        count_restart(job, rank);
}

/* The most that a rank of a place has had. */
static uint32_t most_restarts(const struct job *job, uint32_t place)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < placement_map_count(&job->map, place - 1); i++) {
        uint32_t count = restarts_of(job, placement_map_rank(&job->map, place - 1, i));

        most = count > most ? count : most;
    }
    return most;
}

/* NULL if the part of a place can be started on its stand-in. */
static const char *why_not_place(const struct job *job, uint32_t place)
{
    const struct instance *instance = job->instance;
    uint32_t spare = instance_spares_of(instance->root, place);

    if (spare == 0 || ranges_contains(&instance->root->dead, spare))
        return "no spare is left";
    if (allocation_slots_of(instance->allocation, spare - 1) <
        placement_map_count(&job->map, place - 1))
        return "the spare has too few slots for its ranks";
    if (most_restarts(job, place) >= job->spec.restarts_max)
        return "its ranks have been restarted as often as they may be";
    return NULL;
}

/* 1 if PMIx servers of the job may have started before anybody has connected. */
static int is_served_early(const struct job *job)
{
    uint32_t place = 0;

    if ((job->spec.mpi & JOB_MPI_PMIX) == 0)
        return 0;
    for (; ranges_next(&job->places, place, &place); place++)
        if ((uint64_t)job->map.processes * placement_map_count(&job->map, place - 1) >
            EARLY_PRODUCT_MAX)
            return 1;
    return 0;
}

static const char *why_not(const struct job *job, const struct ranges *lost)
{
    const char *why = NULL;
    uint32_t place = 0;

    if (job->instance->spec->survive_s > 0)
        return "its ranks may run on there, as nodes survive the root, so none is restarted on a spare";
    if (job->has_joined)
        return "ranks had connected to PMI, so none is restarted on a spare";
    if (is_served_early(job))
        return "its PMIx servers know its ranks already (--mpi none has none), so none is restarted "
               "on a spare";
    if (job->map.has_topology)
        return "its ranks are bound, so they are not restarted on a spare";
    if (job->spec.stdin_rank == JOB_STDIN_EACH || job->spec.stdin_rank == JOB_STDIN_ALL)
        return "each rank reads separate input, so none is restarted on a spare";
    for (; why == NULL && ranges_next(lost, place, &place); place++)
        why = why_not_place(job, place);
    return why;
}

/* From now on it has the slots where its ranks are. */
static void exchange_slots(struct job *job)
{
    struct error error;
    int rc;

    job_shares_fini(&job->shares);
    job_shares_make(&job->map, &job->places, &job->shares);
    rc = node_pool_exchange(job->instance->root->book, job->number, job->shares.items,
                            job->shares.count, &error);
    assert(rc == 0); /* all nodes of the job are up */
}

/* What was sent to a rank that reads standard input is lost with its node: it finds the end there. */
static void move_part(struct job *job, uint32_t place, uint32_t spare)
{
    int rc = placement_map_move(&job->map, place - 1, spare - 1);

    assert(rc == 0); /* a spare has no process of any job */
    for (uint32_t i = 0; i < placement_map_count(&job->map, spare - 1); i++) {
        uint32_t rank = placement_map_rank(&job->map, spare - 1, i);

        count_restart(job, rank);
        if (rank == job->spec.stdin_rank)
            job->spec.stdin_rank = UINT32_MAX;
    }
    ranges_remove(&job->places, place, place);
    ranges_add(&job->places, spare, spare);
    ranges_add(&job->concerned, spare, spare);
}

static void report(const struct job *job, uint32_t place, uint32_t spare,
                   struct job_actions *actions)
{
    struct ranges old = {0}, new = {0};
    struct buffer text = {0};
    uint32_t most = most_restarts(job, spare);

    ranges_add(&old, place, place);
    ranges_add(&new, spare, spare);
    buffer_append_string(&text, "lost node ");
    job_report_places(job->instance, &old, &text);
    buffer_append_string(&text, ": ");
    job_report_loss(job->instance->root, place, &text);
    buffer_append_string(&text, "; ");
    job_report_ranks(job, &new, &text);
    buffer_append_string(&text, " there: restart ");
    buffer_printf(&text, "%u of %u on the spare ", most, job->spec.restarts_max);
    job_report_places(job->instance, &new, &text);
    buffer_printf(&text, " in %u s", job_restart_pause_ms(most) / 1000);
    job_actions_text(actions, job->number, LOG_LEVEL_WARNING, buffer_string(&text));
    buffer_fini(&text);
    ranges_fini(&old);
    ranges_fini(&new);
}

static void send_relaunch(const struct job *job, struct job_moved *message, uint32_t spare,
                          struct job_actions *actions)
{
    uint32_t count = placement_map_count(&job->map, spare - 1);
    struct ranges places = {0};
    struct buffer payload = {0};

    message->restarts = memory_allocate(count * sizeof(*message->restarts));
    message->restarts_count = count;
    for (uint32_t i = 0; i < count; i++)
        message->restarts[i] = restarts_of(job, placement_map_rank(&job->map, spare - 1, i));
    job_moved_encode(message, JOB_MESSAGE_RELAUNCH, &payload);
    job_map_relaunch(job, &payload);
    ranges_add(&places, spare, spare);
    job_actions_broadcast(actions, job->number, &places, &payload);
    ranges_fini(&places);
    free(message->restarts);
    message->restarts = NULL;
    message->restarts_count = 0;
}

static void send_moved(const struct job *job, const struct job_moved *message,
                       const struct ranges *spares, struct job_actions *actions)
{
    struct ranges others = {0};
    struct buffer payload = {0};

    ranges_copy(&others, &job->places);
    ranges_remove_all(&others, spares);
    if (!ranges_is_empty(&others)) {
        job_moved_encode(message, JOB_MESSAGE_MOVED, &payload);
        job_actions_broadcast(actions, job->number, &others, &payload);
    }
    buffer_fini(&payload);
    ranges_fini(&others);
}

/* All nodes of the job hear where the parts are. */
static void tell_nodes(struct job *job, const struct ranges *spares, struct job_actions *actions)
{
    struct job_moved message = {
        .number = job->number,
        .generation = ++job->generation,
        .places = job->places,
        .moves = {.items = job->map.moves, .count = job->map.moves_count}}; /* borrowed */
    uint32_t spare = 0;

    assert(!ranges_overlap_set(&job->places, &job->instance->root->dead));
    send_moved(job, &message, spares, actions);
    for (; ranges_next(spares, spare, &spare); spare++)
        send_relaunch(job, &message, spare, actions);
}

int job_move(struct job *job, const struct ranges *lost, struct job_actions *actions)
{
    struct ranges spares = {0};
    uint32_t place = 0;

    if (job->spec.on_failure != JOB_ON_FAILURE_RESTART || job->phase >= JOB_ENDING ||
        job->instance->spec->spares == 0)
        return 0;
    job->stays = why_not(job, lost);
    if (job->stays != NULL)
        return 0;
    job->loss = JOB_LOSS_MOVED;
    for (; ranges_next(lost, place, &place); place++) {
        uint32_t spare = instance_spares_of(job->instance->root, place);

        move_part(job, place, spare);
        ranges_add(&spares, spare, spare);
        report(job, place, spare, actions);
    }
    exchange_slots(job);
    tell_nodes(job, &spares, actions);
    ranges_fini(&spares);
    return 1;
}
