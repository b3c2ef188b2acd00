/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The services of one node of a job, without daemon, tree or PMIx server: the test plays all three and
 * writes down what each is told.  Ranks 0 and 1 of the job are on this node, 2 and 3 on the next.
 * Tested: launch/rank/rank_pmi_answer.c, launch/rank/rank_pmi_collective.c, launch/rank/rank_pmi_fetch.c,
 * launch/rank/rank_pmi_facts.c, launch/rank/rank_pmi_lazy.c, launch/rank/rank_pmi_ops.c, launch/rank/rank_pmi_pmix.c,
 * launch/rank/rank_pmi_stall.c, launch/rank/rank_pmi_stand_in.c.
 */
#include "config.h"

#include "launch/rank/rank_pmi.h"
#include "test/support/tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"

#define PATIENCE_NS (20 * NS_PER_S)
#define SET_ID      0x5e7ull
#define HELLO_BYTES 256

static struct loop *loop;
static struct loop_timer *timer, *tick;
static int is_late;
static struct allocation allocation;
static struct session session = {.directory = "/tmp/none"};
static struct buffer calls;
static const char *awaited;

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
    char line[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    buffer_printf(&calls, "%s\n", line);
    if (awaited != NULL && strstr(buffer_string(&calls), awaited) != NULL)
        loop_stop(loop);
}

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

static void too_late(void *context)
{
    is_late = 1;
    loop_stop(loop);
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
    awaited = text;
    is_late = 0;
    loop_timer_set(timer, loop_now_ns() + PATIENCE_NS);
    while (strstr(buffer_string(&calls), text) == NULL && !is_late)
        (void)loop_run(loop);
    loop_timer_cancel(timer);
    awaited = NULL;
}

/* ---- The node's PMIx server ---- */

struct pmi_node {
    struct pmi_ops ops;
    int refuses;
};

static struct pmi_node server;

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
    if (node->refuses)
        return error_set(error, -EMFILE, "no descriptor");
    node->ops = *ops;
    tell("open %u %s of %u: %s on %s, %u here", job->number, job->namespace, job->size,
         job->ranks_by_node, job->node_names, job->local_count);
    return 0;
}

void pmi_node_close(struct pmi_node *node, uint32_t job)
{
    tell("close %u", job);
}

void pmi_node_admit(struct pmi_node *node, int fd, const struct pmi_process *process,
                    const void *message, size_t message_bytes)
{
    tell("admit %u.%u", process->job, process->rank);
    close(fd);
}

void pmi_node_catch_up(struct pmi_node *node, int is_client)
{
    tell("catch up");
}

static void server_done(void *speaker, uint64_t id, int status, const void *data, size_t data_bytes)
{
    tell("done %llu %d '%.*s'", (unsigned long long)id, status, (int)data_bytes,
         data_bytes > 0 ? (const char *)data : "");
}

static void server_provide(void *speaker, uint64_t id, const struct pmi_process *process,
                           const char *key)
{
    tell("provide %llx %u.%u '%s'", (unsigned long long)id, process->job, process->rank, key);
}

static void server_gone(void *speaker, const struct pmi_process *process)
{
    tell("gone %u.%u", process->job, process->rank);
}

const struct pmi_events pmi_node_events = {.done = server_done,
                                           .provide = server_provide,
                                           .gone = server_gone};

/* ---- The daemon ---- */

static struct operation_name last_key; /* contributed to */
static uint32_t requests;

static void world_contribute(void *context, const struct operation_name *key,
                             const struct ranges *places, struct message *payload)
{
    struct buffer text = {0};

    ranges_print(places, &text);
    tell("contribute to %u of %s: '%.*s'", key->generation, buffer_string(&text),
         (int)payload->length_bytes, (const char *)payload->data);
    last_key = *key;
    buffer_fini(&text);
    message_release(payload);
}

static void world_cancel(void *context, const struct operation_name *key)
{
    tell("cancel %u", key->generation);
}

static uint32_t world_request(void *context, uint32_t place, struct message *payload)
{
    tell("request to %u", place);
    message_release(payload);
    return ++requests;
}

static void world_reply(void *context, uint32_t source, uint32_t id, struct message *payload)
{
    struct wire_reader reader;
    int status;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    status = (int32_t)wire_get_u32(&reader);
    tell("reply to %u.%u: %d '%.*s'", source, id, status, (int)wire_left(&reader),
         (const char *)reader.position);
    message_release(payload);
}

static void world_aborted(void *context, uint32_t index, int status, const char *message)
{
    tell("aborted by %u: %d '%s'", index, status, message);
}

static void world_kill(void *context, uint32_t index)
{
    tell("kill %u", index);
}

static uint8_t world_process_state(void *context, uint32_t index)
{
    return 'S';
}

static void world_missed(void *context, const struct operation_name *key)
{
    tell("missed %u", key->generation);
}

static void world_text(void *context, const char *text, size_t text_bytes)
{
    tell("text: %.*s", (int)text_bytes, text);
}

static void world_failed(void *context, const struct error *why)
{
    tell("failed: %s", why->text);
}

static void world_ready(void *context)
{
    tell("ready");
}

static void world_stalled(void *context, const struct operation_name *key,
                          const struct ranges *places, const struct ranges *ranks, uint8_t kind)
{
    tell("stalled in %u of %u places%s: %u", key->generation, (unsigned int)ranges_count(places),
         ranks != NULL ? " for some ranks" : "", kind);
}

static const struct rank_pmi_events events = {
    .contribute = world_contribute,
    .cancel = world_cancel,
    .request = world_request,
    .reply = world_reply,
    .aborted = world_aborted,
    .kill = world_kill,
    .process_state = world_process_state,
    .missed = world_missed,
    .stalled = world_stalled,
    .text = world_text,
    .failed = world_failed,
    .ready = world_ready,
};

/* ---- A job ---- */

struct job {
    struct job_local local;
    struct rank_pmi *rank_pmi;
};

static void job_begin(struct job *job, uint32_t number, uint32_t mpi,
                      enum job_on_failure on_failure)
{
    struct placement_rule rule = {.processes = 4};
    struct job_local *local = &job->local;
    struct rank_pmi_config config = {.loop = loop,
                                     .job = local,
                                     .allocation = &allocation,
                                     .session = &session,
                                     .pmi_node = &server,
                                     .jobs_name = "t",
                                     .node_name = "n1",
                                     .place = 1,
                                     .events = &events};
    struct error error = ERROR_NONE;

    *local = (struct job_local){.number = number, .nodes = 2};
    job_spec_init(&local->spec);
    local->spec.number = number;
    local->spec.mpi = mpi;
    local->spec.on_failure = on_failure;
    placement_add(&local->spec.placement, &rule);
    local->spec.apps = memory_allocate_zeroed(sizeof *local->spec.apps);
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
}

static void job_end(struct job *job)
{
    rank_pmi_destroy(job->rank_pmi); /* NULL is fine */
    ranges_fini(&job->local.places);
    placement_map_fini(&job->local.map);
    job_spec_fini(&job->local.spec);
    buffer_clear(&calls);
}

/* Of rank INDEX; 0: it is not there. */
static unsigned int environment_port(struct job *job, uint32_t index)
{
    struct buffer text = {0};
    unsigned int port = 0;
    const char *found;

    rank_pmi_environment(job->rank_pmi, index, 3, &text);
    found = memmem(text.data, text.length_bytes, "tcp4://127.0.0.1:", 17);
    if (found != NULL)
        port = (unsigned int)atoi(found + 17);
    buffer_fini(&text);
    return port;
}

/* The server is asked for, and says how it went. */
static void job_open(struct job *job, int status)
{
    struct buffer request = {0};
    struct wire_reader reader;

    wire_put_u32(&request, job->local.number);
    wire_put_u32(&request, 0);
    wire_put_u32(&request, 0);
    wire_put_string(&request, "");
    wire_reader_init(&reader, request.data, request.length_bytes);
    rank_pmi_request(job->rank_pmi, JOB_MESSAGE_MODEX, 2, 90, &reader);
    buffer_fini(&request);
    server.ops.opened(server.ops.context, job->local.number, status, "no memory", 4711);
    buffer_clear(&calls);
}

/* ---- Clients of PMIx ---- */

static int client_say(unsigned int port, const char *namespace, uint32_t rank, int kind)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    char message[HELLO_BYTES] = {0}, *at = message + 16;
    uint32_t bytes;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at = stpcpy(at, "native") + 1 + 4; /* no credential */
    *at++ = (char)kind;
    at = stpcpy(at, namespace) + 1;
    rank = htonl(rank);
    memcpy(at, &rank, sizeof(rank));
    at = stpcpy(at + sizeof(rank), "4.2.2") + 1;
    bytes = (uint32_t)(at - message - 16);
    memcpy(message + 8, &bytes, sizeof(bytes));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        send(fd, message, bytes + 16, 0) < 0)
        bail_out("a client cannot connect");
    return fd;
}

/* Runs the loop until the client has its answer. */
static int32_t client_answer(int fd)
{
    uint32_t answer = 0;

    while (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) < 0 && errno == EAGAIN)
        loop_some();
    close(fd);
    return (int32_t)ntohl(answer);
}

static void test_door(void)
{
    struct job job;
    unsigned int port;
    int fd;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    port = environment_port(&job, 1);
    ok(port > 0, "a rank is told where to connect");
    is_int(client_answer(client_say(port, "banyan-t-8", 0, 0)), -46, "another job: not found");
    is_int(client_answer(client_say(port, "banyan-t-7", 2, 0)), -46, "a rank of another node");
    is_int(client_answer(client_say(port, "banyan-t-7", 0, 3)), -47, "a tool is not served");
    heard("", "and none of them is a reason to start a server");
    fd = client_say(port, "banyan-t-7", 1, 0);
    await("admit");
    heard("open 7 banyan-t-7 of 4: 0,1;2,3 on n1,n2, 2 here\nadmit 7.1\n",
          "the first client that may enter is");
    close(fd);
    is_int(
        rank_pmi_stall_state(job.rank_pmi, &(struct operation_name){.kind = JOB_OPERATION_PMIX}, 1),
        JOB_ROLL_RUNNING, "which counts as connected from then on");
    server.ops.rejected(server.ops.context, &(struct pmi_process){7, 1});
    is_int(
        rank_pmi_stall_state(job.rank_pmi, &(struct operation_name){.kind = JOB_OPERATION_PMIX}, 1),
        JOB_ROLL_NEW, "until it is rejected");
    is_int(rank_pmi_exited(job.rank_pmi, 1, 0, 0), 0, "so its end is none without finalize");
    heard("catch up\ngone 7.1\n", "of which the server is told");
    job_end(&job);
}

/* ---- How the server fares ---- */

static void test_server(void)
{
    struct job job;
    int fd;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_open(&job, 0);
    server.ops.connected(server.ops.context, &(struct pmi_process){7, 0});
    is_int(rank_pmi_exited(job.rank_pmi, 0, 0, 0), 1,
           "a client that leaves without finalize is told of");
    buffer_clear(&calls);
    server.ops.lost(server.ops.context, 7, "it died");
    server.ops.lost(server.ops.context, 7, "it died");
    heard("failed: it died\n", "a server that dies fails the services, once");
    is_int(rank_pmi_have_failed(job.rank_pmi), 1, "for good");
    rank_pmi_destroy(job.rank_pmi);
    heard("", "and is not told any more");
    job.rank_pmi = NULL;
    job_end(&job);

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_open(&job, 0);
    rank_pmi_destroy(job.rank_pmi);
    heard("close 7\n", "a server that lives is told that the job has ended");
    job.rank_pmi = NULL;
    job_end(&job);

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_open(&job, -ENOMEM);
    is_int(rank_pmi_have_failed(job.rank_pmi), 1, "a server that cannot open the job fails it");
    job_end(&job);

    server.refuses = 1;
    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    fd = client_say(environment_port(&job, 0), "banyan-t-7", 0, 0);
    await("failed");
    close(fd);
    heard("failed: no descriptor\n", "so does one that cannot be started");
    server.refuses = 0;
    job_end(&job);
}

/* ---- Collectives ---- */

static void collect(uint64_t id, enum pmi_kind kind, const struct pmi_process *members,
                    size_t members_count, uint32_t timeout_ms)
{
    struct pmi_collective collective = {.id = id,
                                        .kind = kind,
                                        .members = members,
                                        .members_count = members_count,
                                        .data = kind == PMI_FENCE ? "mine" : NULL,
                                        .data_bytes = kind == PMI_FENCE ? 4 : 0,
                                        .timeout_ms = timeout_ms};

    server.ops.collective(server.ops.context, &collective);
}

static void result(struct job *job, const struct operation_name *key, int status, const char *data)
{
    struct message *payload = message_create(data, strlen(data));
    struct operation_name own = *key; /* which may be last_key, that changes meanwhile */

    rank_pmi_result(job->rank_pmi, &own, status, payload);
    message_release(payload);
}

static void test_fence(void)
{
    struct pmi_process all = {7, PMI_RANK_ALL}, some[] = {{7, 3}, {7, 1}},
                       turned[] = {{7, 1}, {7, 3}};
    struct pmi_process stranger = {8, 0}, beyond = {7, 4};
    struct operation_name first, second;
    struct job job;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_open(&job, 0);
    collect(1, PMI_FENCE, &all, 1, 0);
    first = last_key;
    collect(2, PMI_FENCE, some, 2, 0);
    second = last_key;
    collect(3, PMI_FENCE, turned, 2, 0);
    heard("contribute to 1 of 1-2: 'mine'\ncontribute to 1 of 1-2: 'mine'\n"
          "contribute to 2 of 1-2: 'mine'\n",
          "each set counts for itself");
    ok(first.set_id != second.set_id && second.set_id == last_key.set_id,
       "and is the same in whatever order its members are given");
    result(&job, &second, 0, "all");
    result(&job, &second, 0, "all");
    heard("done 2 0 'all'\n", "a result answers its operation, once");
    result(&job, &first, -ESRCH, "");
    heard("done 1 -3 ''\n", "an error, too");
    collect(4, PMI_FENCE, &stranger, 1, 0);
    collect(5, PMI_FENCE, &beyond, 1, 0);
    heard("done 4 -2 ''\ndone 5 -22 ''\n", "who is not of the job is refused");
    collect(6, PMI_FENCE, &all, 1, 5);
    await("cancel 2");
    heard("contribute to 2 of 1-2: 'mine'\ncancel 2\n", "a time limit gives it up");
    job_end(&job);
}

static void test_connect(void)
{
    struct pmi_process all = {7, PMI_RANK_ALL};
    struct job job;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_open(&job, 0);
    collect(1, PMI_DISCONNECT, &all, 1, 0);
    heard("done 1 -107 ''\n", "who is not connected cannot disconnect");
    collect(2, PMI_CONNECT, &all, 1, 0);
    result(&job, &last_key, 0, "");
    collect(3, PMI_DISCONNECT, &all, 1, 0);
    result(&job, &last_key, 0, "");
    collect(4, PMI_DISCONNECT, &all, 1, 0);
    heard("contribute to 1 of 1-2: ''\ndone 2 0 ''\ncontribute to 1 of 1-2: ''\ndone 3 0 ''\n"
          "done 4 -107 ''\n",
          "who is can, once");
    job_end(&job);
}

/* ---- Blobs ---- */

static void ask(struct job *job, uint32_t number, uint32_t rank, const char *key)
{
    struct buffer request = {0};
    struct wire_reader reader;

    wire_put_u32(&request, number);
    wire_put_u32(&request, rank);
    wire_put_u32(&request, 0);
    wire_put_string(&request, key);
    wire_reader_init(&reader, request.data, request.length_bytes);
    rank_pmi_request(job->rank_pmi, JOB_MESSAGE_MODEX, 2, 33, &reader);
    buffer_fini(&request);
}

static void test_asked(void)
{
    struct job job, other;
    struct pmi_ops first;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_begin(&other, 8, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    ask(&job, 7, 1, "key");
    first = server.ops;
    ask(&other, 8, 0, "key");
    heard("open 7 banyan-t-7 of 4: 0,1;2,3 on n1,n2, 2 here\nprovide 700000001 7.1 'key'\n"
          "open 8 banyan-t-8 of 4: 0,1;2,3 on n1,n2, 2 here\nprovide 800000001 8.0 'key'\n",
          "the server is asked, with ids that no other job's are");
    first.provided(first.context, 7, 0x800000001, 0, "wrong", 5);
    heard("", "an answer with an id of another job is none");
    first.provided(first.context, 7, 0x700000001, -EAGAIN, NULL, 0);
    await("provide");
    heard("provide 700000001 7.1 'key'\n", "who has not put the key is asked again");
    first.provided(first.context, 7, 0x700000001, 0, "blob", 4);
    first.provided(first.context, 7, 0x700000001, 0, "blob", 4);
    ask(&job, 8, 1, "");
    ask(&job, 7, 2, "");
    heard("reply to 2.33: 0 'blob'\nreply to 2.33: -2 ''\nreply to 2.33: -2 ''\n",
          "what is provided is the reply, once; another job's or node's rank is not here");
    job_end(&other);
    job_end(&job);
}

static void reply(struct job *job, uint32_t id, uint32_t status, const char *data)
{
    struct buffer text = {0};
    struct message *payload;

    wire_put_u32(&text, status);
    buffer_append_string(&text, data);
    payload = message_from_buffer(&text);
    rank_pmi_reply(job->rank_pmi, id, 0, payload);
    message_release(payload);
    buffer_fini(&text);
}

static void test_asks(void)
{
    struct pmi_process far = {7, 3}, beyond = {7, 4};
    struct job job;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_open(&job, 0);
    server.ops.fetch(server.ops.context, 1, &far, "key", 0);
    heard("request to 2\n", "a rank's blob is asked of its node");
    reply(&job, requests, 0, "blob");
    reply(&job, requests, 0, "blob");
    heard("done 1 0 'blob'\n", "whose reply is the answer, once");
    server.ops.fetch(server.ops.context, 2, &far, "key", 0);
    rank_pmi_reply(job.rank_pmi, requests, 0, NULL);
    server.ops.fetch(server.ops.context, 3, &far, "key", 0);
    reply(&job, requests, 5, "");
    server.ops.fetch(server.ops.context, 4, &far, "key", 0);
    rank_pmi_reply(job.rank_pmi, requests, -EHOSTDOWN, NULL);
    server.ops.fetch(server.ops.context, 5, &beyond, "key", 0);
    heard("request to 2\ndone 2 -74 ''\nrequest to 2\ndone 3 -74 ''\n"
          "request to 2\ndone 4 -112 ''\ndone 5 -2 ''\n",
          "a reply that is none, a node that is lost and a rank that is not there are errors");
    server.ops.fetch(server.ops.context, 6, &far, "key", 5);
    await("done 6");
    heard("request to 2\ndone 6 -110 ''\n", "so is one that takes too long");
    job_end(&job);
}

/* The result of the last fence, to which the other node contributes this data. */
static void lazy_result(struct job *job, const char *data)
{
    struct job_stamp stamp = {.place = 2, .hash = (uint64_t)data[0]};
    struct buffer stamps = {0};
    struct message *payload;

    job_stamp_encode(&stamp, &stamps);
    payload = message_from_buffer(&stamps);
    rank_pmi_result(job->rank_pmi, &last_key, 0, payload);
    message_release(payload);
    buffer_fini(&stamps);
}

static void test_lazy(void)
{
    struct pmi_process all = {7, PMI_RANK_ALL}, far = {7, 3};
    struct pmi_collective barrier = {
        .id = 5, .kind = PMI_FENCE, .members = &all, .members_count = 1};
    struct job_blob_request request = {.number = 7};
    struct buffer bytes = {0};
    struct wire_reader reader;
    struct job job;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job.local.spec.modex = JOB_MODEX_LAZY;
    job_open(&job, 0);
    server.ops.fetch(server.ops.context, 1, &far, "key", 0);
    collect(2, PMI_FENCE, &all, 1, 0);
    ok(strstr(buffer_string(&calls), "mine") == NULL, "a lazy fence does not carry the data");
    lazy_result(&job, "old");
    reply(&job, requests, 0, "theirs");
    ok(strstr(buffer_string(&calls), "done 2 0 'theirs'"), "but that of a node that was asked");
    for (uint64_t id = 3; id <= 4; id++) {
        collect(id, PMI_FENCE, &all, 1, 0);
        buffer_clear(&calls);
        lazy_result(&job, id == 3 ? "old" : "new");
    }
    heard("request to 2\n", "again when it has changed, not before");
    server.ops.collective(server.ops.context, &barrier);
    result(&job, &last_key, 0, "");
    heard("contribute to 4 of 1-2: ''\ndone 5 0 ''\n", "a fence without data asks nobody");
    request.set_id = last_key.set_id;
    job_blob_request_encode(&request, &bytes);
    wire_reader_init(&reader, bytes.data + 1, bytes.length_bytes - 1);
    rank_pmi_request(job.rank_pmi, JOB_MESSAGE_BLOB, 2, 34, &reader);
    heard("reply to 2.34: 0 'mine'\n", "others get ours likewise, which it leaves");
    buffer_fini(&bytes);
    job_end(&job);
}

/* ---- What every speaker may ask ---- */

static void test_requests(void)
{
    struct pmi_process one = {7, 1}, both[] = {{7, 0}, {7, 1}}, all = {7, PMI_RANK_ALL};
    struct job job;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_ABORT);
    job_open(&job, 0);
    server.ops.text(server.ops.context, &one, "hello", 5);
    server.ops.abort(server.ops.context, 1, &one, 9, "no", NULL, 0);
    server.ops.abort(server.ops.context, 2, &one, 9, "all", &all, 1);
    server.ops.abort(server.ops.context, 3, &one, 9, "some", both, 2);
    reply(&job, requests, 0, "");
    both[0].job = 8;
    server.ops.abort(server.ops.context, 4, &one, 9, "", both, 2);
    heard("text: hello\naborted by 1: 9 'no'\naborted by 1: 9 'all'\n"
          "text: rank 1 on n1 called abort with status 9 for ranks 0-1: some\nrequest to 1\n"
          "done 3 0 ''\ntext: rank 1 on n1 called abort for ranks that its job does not have; none "
          "is ended\ndone 4 -2 ''\n",
          "a text, and aborts");
    server.ops.finalized(server.ops.context, &one);
    is_int(
        rank_pmi_stall_state(job.rank_pmi, &(struct operation_name){.kind = JOB_OPERATION_PMIX}, 1),
        JOB_ROLL_FINALIZED, "a client that has finalized is known to have");
    job_end(&job);
}

static void test_stand_in(void)
{
    struct pmi_process all = {7, PMI_RANK_ALL}, one = {7, 1};
    struct operation_name asked = {.set_id = SET_ID, .generation = 4, .kind = JOB_OPERATION_PMIX};
    struct job job;

    job_begin(&job, 7, JOB_MPI_PMIX, JOB_ON_FAILURE_CONTINUE);
    job_open(&job, 0);
    server.ops.connected(server.ops.context, &one);
    collect(1, PMI_FENCE, &all, 1, 0);
    result(&job, &last_key, 0, "");
    (void)rank_pmi_exited(job.rank_pmi, 0, 0, 0);
    buffer_clear(&calls);
    (void)rank_pmi_exited(job.rank_pmi, 1, 0, 0);
    heard("catch up\ngone 7.1\ncontribute to 2 of 1-2: ''\nrequest to 0\n",
          "when the last rank has ended, one without finalize, the node stands in for them");
    result(&job, &last_key, 0, "");
    heard("contribute to 3 of 1-2: ''\nmissed 2\n", "in one operation after the other");
    collect(2, PMI_FENCE, &all, 1, 0);
    heard("done 2 -3 ''\n", "and nobody else does");
    rank_pmi_stand_in(job.rank_pmi, &asked, &job.local.places);
    rank_pmi_stand_in(job.rank_pmi, &asked, &job.local.places);
    heard("contribute to 4 of 1-2: ''\n", "in a set that it is asked about, too, once");
    result(&job, &asked, -EEXIST, "");
    heard("", "if that name stands for another set it does not go on");
    rank_pmi_stand_in(job.rank_pmi, &asked, &job.local.places);
    heard("contribute to 4 of 1-2: ''\n", "until it is asked again");
    job_end(&job);
}

static void says(int fd, const char *line, const char *expected)
{
    char answer[400] = "";
    ssize_t got = -1;

    if (write(fd, line, strlen(line)) < 0)
        bail_out("a PMI-1 client cannot write");
    for (int i = 0; i < 20000 && got < 0 && expected != NULL; i++) {
        loop_some();
        got = recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
    }
    if (expected != NULL)
        has_string(answer, expected, "%.20s: %s", line, expected);
}

static void test_pmi1(void)
{
    struct operation_name barrier = {
        .set_id = job_set_id(7, JOB_OPERATION_PMI1), .owner = 7, .kind = JOB_OPERATION_PMI1};
    struct job job;
    int fds[2];

    job_begin(&job, 7, JOB_MPI_PMI1, JOB_ON_FAILURE_ABORT);
    is_uint(environment_port(&job, 0), 0, "a job without PMIx has no port");
    is_int(rank_pmi_pmi_fd(job.rank_pmi, 0, &fds[0]), 0, "a socket for rank 0");
    is_int(rank_pmi_pmi_fd(job.rank_pmi, 1, &fds[1]), 0, "and for rank 1");
    says(fds[0], "cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init");
    says(fds[0], "cmd=get kvsname=banyan-t-7 key=PMI_process_mapping\n", "(vector,(0,2,2))");
    is_int(rank_pmi_stall_state(job.rank_pmi, &barrier, 0), JOB_ROLL_RUNNING, "rank 0 runs");
    is_int(rank_pmi_stall_state(job.rank_pmi, &barrier, 1), JOB_ROLL_NEW, "rank 1 is new");
    says(fds[1], "cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init");
    says(fds[0], "cmd=barrier_in\n", NULL);
    await("stalled");
    heard("stalled in 1 of 2 places: 2\n", "one waits for the other for long");
    says(fds[1], "cmd=barrier_in\n", NULL);
    await("stalled");
    heard("contribute to 1 of 1-2: ''\nstalled in 1 of 2 places: 3\n",
          "a barrier of both is the node's, and neither waits for the other");
    is_int(rank_pmi_stall_state(job.rank_pmi, &barrier, 0), JOB_ROLL_ARRIVED, "both there");
    result(&job, &last_key, 0, "");
    says(fds[0], "", "cmd=barrier_out rc=0");
    says(fds[1], "non\033[2Jsense\n", NULL);
    await("kill");
    heard("text: rank 1 on n1 is killed: what it has sent is not PMI: PMI-1: unknown command: "
          "non [2Jsense\nkill 1\n",
          "nonsense has its end, and a line that may be printed");
    says(fds[0], "cmd=finalize\n", "cmd=finalize_ack");
    is_int(rank_pmi_exited(job.rank_pmi, 0, 0, 0), 0, "an end after finalize");
    is_int(rank_pmi_exited(job.rank_pmi, 1, 0, 0), 1, "and one without");
    (void)(close(fds[0]) + close(fds[1]));
    job_end(&job);
}

int main(void)
{
    struct error error = ERROR_NONE;

    loop = loop_create(&error);
    if (loop == NULL)
        bail_out("%s", error.text);
    timer = loop_timer_create(loop, too_late, NULL);
    tick = loop_timer_create(loop, on_tick, NULL);
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 2, 2);
    test_door();
    test_server();
    test_fence();
    test_connect();
    test_asked();
    test_asks();
    test_lazy();
    test_requests();
    test_stand_in();
    test_pmi1();
    allocation_fini(&allocation);
    loop_timer_destroy(timer);
    loop_timer_destroy(tick);
    loop_destroy(loop);
    buffer_fini(&calls);
    return done_testing();
}
