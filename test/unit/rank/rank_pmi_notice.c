/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of one node of a job (launch/rank/rank_pmi_notice.c) and the end of some of its ranks
 * (launch/rank/rank_pmi_abort.c), without daemon, root or PMIx server: the test plays all
 * three.  Ranks 0 and 1 of job 7 are on this node, 2 and 3 on the next.
 */
#include "config.h"

#include "launch/rank/rank_pmi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/rank/rank_pmi_internal.h"
#include "pmix/pmi_notice.h"
#include "test/support/tap.h"

static struct loop *loop;
static struct allocation allocation;
static struct session session = {.directory = "/tmp/none"};
static struct buffer calls;
static struct pmi_ops server_ops;
static uint32_t requests;
static int awaits_call;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

static void print_processes(const char *what, const struct pmi_process *processes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buffer_printf(&calls, "%s%u.%d", i == 0 ? what : ",", processes[i].job,
                      (int32_t)processes[i].rank);
}

static void print_notice(const struct pmi_notice *notice)
{
    buffer_printf(&calls, " event %d code %d", notice->event, notice->code);
    print_processes(" to ", notice->targets, notice->targets_count);
    print_processes(" about ", notice->affected, notice->affected_count);
    if (notice->targets_count == 1 && notice->targets[0].job == PMI_JOB_NONE)
        buffer_printf(&calls, " by %s", notice->text);
    buffer_append_string(&calls, "\n");
}

/* ---- The node's PMIx server ---- */

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
    server_ops = *ops;
    return 0;
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

static void server_done(void *speaker, uint64_t id, int status, const void *data, size_t data_bytes)
{
    buffer_printf(&calls, "done %llu %d\n", (unsigned long long)id, status);
}

static void server_gone(void *speaker, const struct pmi_process *process)
{
}

static void server_notice(void *speaker, enum pmi_notice_kind kind,
                          const struct pmi_process *process, const void *data, size_t data_bytes)
{
    struct pmi_notice notice;

    if (kind != PMI_NOTICE_EVENT || pmi_notice_decode(&notice, data, data_bytes) < 0)
        bail_out("a notice is none");
    buffer_append_string(&calls, "given");
    print_notice(&notice);
    pmi_notice_fini(&notice);
}

const struct pmi_events pmi_node_events = {.done = server_done,
                                           .gone = server_gone,
                                           .notice = server_notice};

/* ---- The daemon ---- */

static uint32_t world_request(void *context, uint32_t place, struct message *payload)
{
    struct job_notice message;
    struct pmi_notice notice;

    if (job_notice_decode(&message, payload) < 0 ||
        pmi_notice_decode(&notice, message.data, message.data_bytes) < 0)
        bail_out("a request is none");
    buffer_printf(&calls, "request to %u: of %u, told %u, for %u", place, message.number,
                  message.told, message.targets_count);
    print_notice(&notice);
    pmi_notice_fini(&notice);
    job_notice_fini(&message);
    message_release(payload);
    if (awaits_call)
        loop_stop(loop);
    return ++requests;
}

static void world_reply(void *context, uint32_t source, uint32_t id, struct message *payload)
{
    struct wire_reader reader;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    buffer_printf(&calls, "reply to %u.%u: %d\n", source, id, (int32_t)wire_get_u32(&reader));
    message_release(payload);
}

static void world_signal(void *context, uint32_t index, int number)
{
    buffer_printf(&calls, "signal %u %d\n", index, number);
    if (awaits_call)
        loop_stop(loop);
}

static void world_failed(void *context, const struct error *why)
{
    bail_out("%s", why->text);
}

static void world_ready(void *context)
{
}

static const struct rank_pmi_events events = {.request = world_request,
                                              .reply = world_reply,
                                              .signal = world_signal,
                                              .failed = world_failed,
                                              .ready = world_ready};

struct job {
    struct job_local local;
    struct rank_pmi *rank_pmi;
};

static void job_begin(struct job *job, enum job_on_failure on_failure)
{
    struct placement_rule rule = {.processes = 4};
    struct job_local *local = &job->local;
    struct rank_pmi_config config = {.loop = loop,
                                     .job = local,
                                     .allocation = &allocation,
                                     .session = &session,
                                     .jobs_name = "t",
                                     .pmi_node = (struct pmi_node *)&server_ops,
                                     .node_name = "n1",
                                     .place = 1,
                                     .events = &events};
    struct error error = ERROR_NONE;

    *local = (struct job_local){.number = 7, .nodes = 2};
    job_spec_init(&local->spec);
    local->spec.number = 7;
    local->spec.mpi = JOB_MPI_PMIX;
    local->spec.on_failure = on_failure;
    placement_add(&local->spec.placement, &rule);
    local->spec.apps = memory_allocate_zeroed(sizeof(*local->spec.apps));
    local->spec.apps_count = 1;
    local->spec.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    local->spec.apps[0].argv[0] = memory_copy_string("./app");
    local->spec.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    if (placement_map_make(&local->map, &local->spec.placement, &allocation, &error) < 0)
        bail_out("%s", error.text);
    placement_map_places(&local->map, &local->places);
    local->count = placement_map_count(&local->map, 0);
    job->rank_pmi = rank_pmi_create(&config, &error);
    if (job->rank_pmi == NULL)
        bail_out("%s", error.text);
    buffer_clear(&calls);
}

static void job_end(struct job *job)
{
    rank_pmi_destroy(job->rank_pmi);
    ranges_fini(&job->local.places);
    placement_map_fini(&job->local.map);
    job_spec_fini(&job->local.spec);
}

static void job_open(struct job *job)
{
    if (rank_pmi_pmix_need(job->rank_pmi) < 0)
        bail_out("no server");
    server_ops.opened(server_ops.context, 7, 0, "", 4711);
}

static void connect_one(void)
{
    server_ops.connected(server_ops.context, &(struct pmi_process){7, 0});
}

static void reply(struct job *job, int status)
{
    struct buffer text = {0};
    struct message *payload;

    wire_put_u32(&text, (uint32_t)status);
    payload = message_from_buffer(&text);
    rank_pmi_reply(job->rank_pmi, requests, 0, payload);
    message_release(payload);
    buffer_fini(&text);
}

/* A client raises an event. */
static void notify(uint64_t id, const struct pmi_process *targets, size_t count)
{
    struct pmi_notice notice = {
        .code = -3001, .source = {7, 1}, .targets = targets, .targets_count = count};
    struct pmi_request request = {.id = id, .kind = PMI_REQUEST_NOTIFY, .caller = {7, 1}};
    struct buffer data = {0};

    pmi_notice_encode(&notice, &data);
    request.data = data.data;
    request.data_bytes = data.length_bytes;
    server_ops.request(server_ops.context, &request);
    buffer_fini(&data);
}

static void test_notify(void)
{
    struct pmi_process all = {7, PMI_RANK_ALL}, here = {7, 0}, list[] = {{7, 0}, {7, 3}, {9, 1}};
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_ABORT);
    job_open(&job);
    notify(1, &here, 1);
    heard("done 1 0\n", "an event for ranks of this node needs nobody else");
    notify(2, &all, 1);
    notify(3, list, 3);
    notify(4, NULL, 0);
    heard("request to 0: of 7, told 1, for 1 event 0 code -3001\n", "others go to the root");
    reply(&job, -EAGAIN);
    heard("", "which may be busy");
    awaits_call = 1;
    (void)loop_run(loop);
    awaits_call = 0;
    heard("request to 0: of 7, told 1, for 1 event 0 code -3001\n", "and is asked again");
    reply(&job, 0);
    heard("request to 0: of 7, told 1, for 3 event 0 code -3001\ndone 2 0\n",
          "one after the other");
    reply(&job, -ENOENT);
    heard("request to 0: of 7, told 1, for 0 event 0 code -3001\ndone 3 -2\n",
          "each is answered when it is on its way");
    job_end(&job);
    heard("", "and one that is when the job ends is forgotten");
}

static void test_ends(void)
{
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_ABORT);
    (void)rank_pmi_exited(job.rank_pmi, 0, 7 << 8, 0);
    heard("", "where a failure ends the job nobody is told of it");
    job_end(&job);

    job_begin(&job, JOB_ON_FAILURE_CONTINUE);
    job.local.nodes = 1;
    (void)rank_pmi_exited(job.rank_pmi, 0, 0, 0);
    (void)rank_pmi_exited(job.rank_pmi, 1, 9, 1);
    heard("", "nor of an end that is none, or ours");
    job_end(&job);

    job_begin(&job, JOB_ON_FAILURE_CONTINUE);
    job.local.nodes = 1;
    (void)rank_pmi_exited(job.rank_pmi, 0, 9, 0);
    (void)rank_pmi_exited(job.rank_pmi, 1, 7 << 8, 0);
    heard("request to 0: of 7, told 0, for 1 event 2 code 9 about 7.0\n", "a rank that is killed");
    reply(&job, 0);
    heard("request to 0: of 7, told 0, for 1 event 1 code 7 about 7.1\n", "and one that fails");
    rank_pmi_notice_end(job.rank_pmi, 0, 7 << 8, 0);
    rank_pmi_notice_end(job.rank_pmi, 1, 7 << 8, 0);
    reply(&job, 0);
    heard("request to 0: of 7, told 0, for 1 event 1 code 7 about 7.0,7.1\n",
          "those that fail alike meanwhile are told together");
    job_end(&job);
}

static void ask_end(struct job *job, uint32_t id, size_t cut)
{
    struct job_abort_request request = {.number = 7, .status = 9};
    struct buffer bytes = {0};
    struct wire_reader reader;

    ranges_add(&request.ranks, 1, 3);
    job_abort_request_encode(&request, &bytes);
    wire_reader_init(&reader, bytes.data + 1, bytes.length_bytes - 1 - cut);
    rank_pmi_request(job->rank_pmi, JOB_MESSAGE_ABORT, 2, id, &reader);
    buffer_fini(&bytes);
    ranges_fini(&request.ranks);
}

static void test_aborted(void)
{
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_CONTINUE);
    job.local.nodes = 1;
    ask_end(&job, 35, 0);
    ask_end(&job, 35, 0);
    heard("signal 1 15\nsignal 1 18\n", "a local rank is asked to end, once");
    awaits_call = 1;
    (void)loop_run(loop);
    awaits_call = 0;
    heard("signal 1 9\n", "and killed when the grace is over");
    (void)rank_pmi_exited(job.rank_pmi, 0, 0, 0);
    heard("", "while it runs there is no reply");
    (void)rank_pmi_exited(job.rank_pmi, 1, 9, 1);
    heard("reply to 2.35: 0\nrequest to 0: of 7, told 0, for 1 event 4 code 9 about 7.1\n",
          "but when it has ended, of which the others learn");
    ask_end(&job, 36, 0);
    ask_end(&job, 37, 1);
    heard("reply to 2.36: 0\nreply to 2.37: -74\n", "and at once if it had before");
    job_end(&job);
}

static void deliver(struct job *job, struct job_target *targets, uint32_t count, int32_t code)
{
    struct pmi_notice notice = {.code = code, .source = {7, 3}};
    struct job_notice message = {.number = 7, .targets = targets, .targets_count = count};
    struct buffer data = {0};

    pmi_notice_encode(&notice, &data);
    message.data = data.data;
    message.data_bytes = data.length_bytes;
    rank_pmi_notice(job->rank_pmi, &message);
    buffer_fini(&data);
}

static void test_notice(void)
{
    struct job_target list[] = {{7, 0}, {7, 3}, {9, 1}, {7, JOB_RANK_ALL}};
    struct job_notice ended = {
        .number = 7, .child = 8, .status = 3, .targets = list, .targets_count = 1};
    struct job job;

    job_begin(&job, JOB_ON_FAILURE_ABORT);
    for (int32_t code = 1; code <= 66; code++)
        deliver(&job, NULL, 0, code);
    job_open(&job);
    heard("", "an event waits for the first client");
    connect_one();
    ok(strncmp(buffer_string(&calls), "given event 0 code 3 to 7.-1\n", 29) == 0 &&
           strstr(buffer_string(&calls), "code 66") != NULL,
       "which gets the last 64");
    buffer_clear(&calls);
    connect_one();
    heard("", "once");
    deliver(&job, list, 4, 5);
    deliver(&job, list + 1, 2, 5);
    heard("given event 0 code 5 to 7.0,7.-1\n", "of those that are meant it is told who is here");
    deliver(&job, list, 2, 5);
    heard("given event 0 code 5 to 7.0 about 7.0,7.3\n", "and with whom, in one job");
    rank_pmi_notice(job.rank_pmi, &ended);
    heard("given event 6 code 3 to 7.0 about 8.-1\n", "who has spawned a job is told of its end");
    ended.stop = PMI_STOP_INIT;
    rank_pmi_notice(job.rank_pmi, &ended);
    heard("given event 7 code 2 to 7.0 about 8.-1\n", "or that it waits for a debugger");
    ended.stop = PMI_STOP_NONE;
    ended.data = "tool.x";
    ended.data_bytes = 4;
    list[0] = (struct job_target){0, 2};
    rank_pmi_notice(job.rank_pmi, &ended);
    heard("given event 6 code 3 to 0.2 about 8.-1 by tool\n", "a tool is told by its name");
    ended.number = 9;
    rank_pmi_notice(job.rank_pmi, &ended);
    heard("", "by the job through which it has spawned");
    job_end(&job);
}

static void test_lost(void)
{
    struct ranges places = {0};
    struct job job;

    ranges_add(&places, 2, 5);
    job_begin(&job, JOB_ON_FAILURE_ABORT);
    job_open(&job);
    connect_one();
    rank_pmi_lost(job.rank_pmi, &places);
    heard("", "where the loss of a node ends the job there is no event");
    job_end(&job);

    job_begin(&job, JOB_ON_FAILURE_CONTINUE);
    job_open(&job);
    connect_one();
    rank_pmi_lost(job.rank_pmi, &places);
    heard("given event 5 code 0 to 7.-1 about 7.2,7.3\n", "else one for each node of the job");
    job_end(&job);
    ranges_fini(&places);
}

int main(void)
{
    struct error error = ERROR_NONE;

    loop = loop_create(&error);
    if (loop == NULL)
        bail_out("%s", error.text);
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 2, 2);
    test_notify();
    test_ends();
    test_aborted();
    test_notice();
    test_lost();
    allocation_fini(&allocation);
    loop_destroy(loop);
    buffer_fini(&calls);
    return done_testing();
}
