/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers of groups of ranks (PMI 1.2) on one node of a job, and what it joins for ranks that have ended, without daemon
 * or tree: the test plays both.  Ranks 0 and 1 of job 7 are on this node, 2 and 3 on the next.
 * And a rank that is started again.
 * Tested: launch/rank/rank_pmi_stall_group.c, launch/rank/rank_pmi_stand_in.c, launch/rank/rank_pmi_collective.c.
 */
#include "config.h"

#include "launch/rank/rank_pmi.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "pmix/pmi_socket.h"

#define PATIENCE_NS (20 * NS_PER_S)
#define SET_ID      0x5e7ull
#define ENDED_BYTES 2 /* of a put without key and value */

static struct loop *loop;
static struct loop_timer *tick;
static struct allocation allocation;
static struct session session = {.directory = "/tmp/none"};
static struct buffer calls;
static struct operation_name last; /* contributed to */

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

static void on_tick(void *context)
{
    loop_stop(loop);
}

static void loop_some(void)
{
    loop_timer_set(tick, loop_now_ns() + NS_PER_MS);
    (void)loop_run(loop);
}

static void await(const char *text)
{
    uint64_t end_ns = loop_now_ns() + PATIENCE_NS;

    while (strstr(buffer_string(&calls), text) == NULL && loop_now_ns() < end_ns)
        loop_some();
}

/* ---- The node's PMIx server, which nobody needs ---- */

const char *pmi_node_namespace(const struct pmi_node *node)
{
    return "banyan-test";
}

const char *pmi_node_directory(const struct pmi_node *node)
{
    return "/tmp/none/p0";
}

int pmi_node_open(struct pmi_node *node, const struct pmi_job *job, const struct pmi_ops *ops,
                  struct error *error)
{
    return error_set(error, -ENOTSUP, "no server");
}

void pmi_node_close(struct pmi_node *node, uint32_t job)
{
}

void pmi_node_admit(struct pmi_node *node, int fd, const struct pmi_process *process,
                    const void *message, size_t message_bytes)
{
}

void pmi_node_catch_up(struct pmi_node *node, int is_client)
{
}

const struct pmi_events pmi_node_events = {.done = NULL};

/* ---- The daemon ---- */

static void world_contribute(void *context, const struct operation_name *key,
                             const struct ranges *places, struct message *payload)
{
    buffer_printf(&calls, "contribute to %u of ", key->generation);
    ranges_print(places, &calls);
    buffer_printf(&calls, "%s\n", payload->length_bytes == ENDED_BYTES ? ": one has ended" : "");
    last = *key;
    message_release(payload);
}

static void world_stalled(void *context, const struct operation_name *key,
                          const struct ranges *places, const struct ranges *ranks, uint8_t kind)
{
    buffer_printf(&calls, "%s %u of ", kind == JOB_STALLED_LOCAL ? "stalled in" : "no longer in",
                  key->generation);
    ranges_print(places, &calls);
    buffer_append_string(&calls, " for ranks ");
    ranges_print(ranks, &calls);
    buffer_append_string(&calls, "\n");
}

static void world_missed(void *context, const struct operation_name *key)
{
    buffer_printf(&calls, "missed %u\n", key->generation);
}

static void world_joined(void *context, uint32_t index)
{
    buffer_printf(&calls, "joined %u\n", index);
}

static const struct rank_pmi_events events = {.joined = world_joined,
                                              .contribute = world_contribute,
                                              .stalled = world_stalled,
                                              .missed = world_missed};

struct job {
    struct job_local local;
    struct rank_pmi *rank_pmi;
    int fds[2]; /* of the clients */
};

static void says(const struct job *job, uint32_t index, const char *line, const char *expected)
{
    char answer[400] = "";
    ssize_t got = -1;

    if (write(job->fds[index], line, strlen(line)) < 0)
        bail_out("a client cannot write");
    for (int i = 0; i < 20000 && got < 0 && expected != NULL; i++) {
        loop_some();
        got = recv(job->fds[index], answer, sizeof(answer) - 1, MSG_DONTWAIT);
    }
    if (expected != NULL)
        is_string(answer, expected, "%.30s", line[0] != '\0' ? line : "the answer");
}

static void client_begin(struct job *job, uint32_t index)
{
    if (rank_pmi_pmi_fd(job->rank_pmi, index, &job->fds[index]) < 0)
        bail_out("no socket");
}

static void client_init(const struct job *job, uint32_t index)
{
    says(job, index, "cmd=init pmi_version=1 pmi_subversion=1\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n");
}

static void job_open(struct job *job, enum job_on_failure on_failure)
{
    struct placement_rule rule = {.processes = 4};
    struct job_local *local = &job->local;
    struct rank_pmi_config config = {.loop = loop,
                                     .job = local,
                                     .allocation = &allocation,
                                     .session = &session,
                                     .jobs_name = "t",
                                     .node_name = "n1",
                                     .place = 1,
                                     .events = &events};
    struct error error = ERROR_NONE;

    *local = (struct job_local){.number = 7, .nodes = 2};
    job_spec_init(&local->spec);
    local->spec.number = 7;
    local->spec.mpi = JOB_MPI_PMI1;
    local->spec.on_failure = on_failure;
    placement_add(&local->spec.placement, &rule);
    if (placement_map_make(&local->map, &local->spec.placement, &allocation, &error) < 0)
        bail_out("%s", error.text);
    placement_map_places(&local->map, &local->places);
    local->count = placement_map_count(&local->map, 0);
    job->rank_pmi = rank_pmi_create(&config, &error);
    client_begin(job, 0);
    client_begin(job, 1);
}

static void job_begin(struct job *job, enum job_on_failure on_failure)
{
    job_open(job, on_failure);
    client_init(job, 0);
    client_init(job, 1);
}

static void job_end(struct job *job)
{
    (void)(close(job->fds[0]) + close(job->fds[1]));
    rank_pmi_destroy(job->rank_pmi);
    ranges_fini(&job->local.places);
    placement_map_fini(&job->local.map);
    job_spec_fini(&job->local.spec);
    buffer_clear(&calls);
}

/* The result of the overlay. */
static void result(struct job *job, const struct operation_name *key, int status,
                   uint32_t ended_nodes)
{
    struct operation_name own = *key; /* which may be last, that changes meanwhile */
    struct buffer data = {0};
    struct message *payload;

    for (uint32_t i = 0; i < ended_nodes; i++)
        pmi_socket_put_ended(&data);
    payload = message_from_buffer(&data);
    rank_pmi_result(job->rank_pmi, &own, status, payload);
    message_release(payload);
    buffer_fini(&data);
}

/* ---- Tests ---- */

static void test_groups(void)
{
    struct operation_name first;
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_ABORT);
    says(&job, 0, "cmd=barrier_in group=0,2\n", NULL);
    await("contribute");
    heard("contribute to 1 of 1-2\n", "a group with a rank on either node");
    first = last;
    ok(job_is_group_barrier(&first), "is none of all ranks");
    says(&job, 0, "cmd=barrier_in group=2,0:9\n", NULL);
    await("contribute");
    heard("contribute to 1 of 1-2\n", "the same with a tag");
    ok(last.set_id != first.set_id, "is another");
    result(&job, &last, 0, 0);
    says(&job, 0, "", "cmd=barrier_out rc=0 group=2,0:9 tag=9\n");
    result(&job, &first, 0, 0);
    says(&job, 0, "", "cmd=barrier_out rc=0 group=0,2 tag=0\n");
    heard("", "and each has its own end");
    job_end(&job);
}

static void test_stalls(void)
{
    struct operation_name first;
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_ABORT);
    says(&job, 0, "cmd=barrier_in group=0,2\n", NULL);
    await("stalled");
    heard("contribute to 1 of 1-2\nstalled in 1 of 1-2 for ranks 0,2\n",
          "that a barrier waits for other nodes for long is reported");
    first = last;
    is_int(rank_pmi_activity(job.rank_pmi, 1), ACTIVITY_PMI_CONNECTED, "rank 1 is connected");
    is_int(rank_pmi_stall_state(job.rank_pmi, &first, 0), JOB_ROLL_ARRIVED, "rank 0 is there");
    is_int(rank_pmi_stall_state(job.rank_pmi, &first, 1), JOB_ROLL_RUNNING, "rank 1 is not");
    result(&job, &first, -ETIMEDOUT, 0);
    says(&job, 0, "", "cmd=barrier_out rc=-1 group=0,2 tag=0 msg=barrier_failed\n");
    await("no longer");
    heard("no longer in 1 of 1-2 for ranks 0,2\n", "and that it does no longer");
    says(&job, 0, "cmd=barrier_in group=WORLD:1\n", NULL);
    await("stalled");
    heard("stalled in 1 of 1-2 for ranks 0-3\n", "likewise if it waits for one of this node");
    job_end(&job);
}

static void test_ended(void)
{
    struct operation_name asked = {
        .set_id = SET_ID, .owner = 7, .generation = 3, .kind = JOB_OPERATION_PMI1};
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_ABORT);
    says(&job, 0, "cmd=barrier_in group=0,1,2\n", NULL);
    says(&job, 1, "cmd=finalize\n", "cmd=finalize_ack rc=0\n");
    says(&job, 0, "", "cmd=barrier_out rc=-1 group=0,1,2 tag=0 msg=a_member_has_ended\n");
    heard("contribute to 1 of 1-2: one has ended\n", "a member has ended: all are told");
    result(&job, &last, 0, 1);
    heard("contribute to 2 of 1-2: one has ended\n",
          "the next time in advance, and that is no failure of the job");
    says(&job, 0, "cmd=barrier_in group=0,1,2\n",
         "cmd=barrier_out rc=-1 group=0,1,2 tag=0 msg=a_member_has_ended\n");
    heard("", "others need not be told again");
    result(&job, &last, 0, 2);
    heard("", "if all nodes have said so nobody does in advance");
    says(&job, 0, "cmd=barrier_in group=0,1,2\n",
         "cmd=barrier_out rc=-1 group=0,1,2 tag=0 msg=a_member_has_ended\n");
    heard("contribute to 3 of 1-2: one has ended\n", "but when one calls");
    rank_pmi_stand_in(job.rank_pmi, &asked, &job.local.places);
    heard("contribute to 3 of 1-2: one has ended\n", "or when it is asked about a group");
    result(&job, &asked, -ETIMEDOUT, 0);
    heard("", "nor does it if that fails otherwise");
    rank_pmi_stand_in(job.rank_pmi, &asked, &job.local.places);
    heard("contribute to 4 of 1-2: one has ended\n", "until it is asked again");
    job_end(&job);
}

/* In a job that goes on, of all ranks. */
static void test_all_ended(void)
{
    struct operation_name asked = {.set_id = job_set_id(7, JOB_OPERATION_PMI1),
                                   .owner = 7,
                                   .generation = 1,
                                   .kind = JOB_OPERATION_PMI1};
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_CONTINUE);
    for (uint32_t i = 0; i < 2; i++) {
        says(&job, i, "cmd=finalize\n", "cmd=finalize_ack rc=0\n");
        is_int(rank_pmi_exited(job.rank_pmi, i, 0, 0), 0, "rank %u ends in order", i);
        is_int(rank_pmi_activity(job.rank_pmi, i), ACTIVITY_PMI_FINALIZED, "and has finalized");
    }
    heard("", "a node whose ranks have finalized joins nothing in advance");
    rank_pmi_stand_in(job.rank_pmi, &asked, &job.local.places);
    heard("contribute to 1 of 1-2\n", "but when others wait in it");
    result(&job, &asked, 0, 0);
    heard("contribute to 2 of 1-2\nmissed 1\n", "which is a failure of the job");
    job_end(&job);
    job_begin(&job, JOB_ON_FAILURE_CONTINUE);
    says(&job, 0, "cmd=finalize\n", "cmd=finalize_ack rc=0\n");
    is_int(rank_pmi_exited(job.rank_pmi, 1, 0, 0), 1, "rank 1 ends without finalize");
    heard("", "as long as rank 0 is there the node joins nothing for it");
    is_int(rank_pmi_exited(job.rank_pmi, 0, 0, 0), 0, "rank 0 ends");
    heard("contribute to 1 of 1-2\n", "then it joins in advance what others may wait in");
    job_end(&job);
}

/* As long as it has said nothing others wait for it. */
static void test_restart(void)
{
    struct job job;

    job_open(&job, JOB_ON_FAILURE_RESTART);
    client_init(&job, 0);
    heard("joined 0\n", "a rank that connects is not restarted any more");
    says(&job, 0, "cmd=barrier_in\n", NULL);
    for (int i = 0; i < 3; i++) {
        (void)close(job.fds[1]); /* sometimes the end is noticed before the restart */
        for (int turn = 0; turn < i; turn++)
            loop_some();
        client_begin(&job, 1);
    }
    says(&job, 1, "cmd=in", NULL);
    await("joined");
    heard("joined 1\n", "another is, until it says something");
    says(&job, 1, "it pmi_version=1 pmi_subversion=1\n",
         "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n");
    says(&job, 1, "cmd=barrier_in\n", NULL);
    await("contribute");
    heard("contribute to 1 of 1-2\n", "and meets the first in its barrier");
    result(&job, &last, 0, 0);
    says(&job, 0, "", "cmd=barrier_out rc=0\n");
    says(&job, 1, "", "cmd=barrier_out rc=0\n");
    job_end(&job);
    job_open(&job, JOB_ON_FAILURE_RESTART);
    client_init(&job, 0);
    says(&job, 0, "cmd=barrier_in group=0,1\n", NULL);
    (void)shutdown(job.fds[1], SHUT_RDWR);
    loop_some();
    is_int(rank_pmi_exited(job.rank_pmi, 1, 0, 0), 0, "one that ends well without PMI");
    says(&job, 0, "", "cmd=barrier_out rc=-1 group=0,1 tag=0 msg=a_member_has_ended\n");
    job_end(&job);
}

int main(void)
{
    struct error error = ERROR_NONE;

    loop = loop_create(&error);
    if (loop == NULL)
        bail_out("%s", error.text);
    tick = loop_timer_create(loop, on_tick, NULL);
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 2, 2);
    test_groups();
    test_stalls();
    test_ended();
    test_all_ended();
    test_restart();
    allocation_fini(&allocation);
    loop_timer_destroy(tick);
    loop_destroy(loop);
    buffer_fini(&calls);
    return done_testing();
}
