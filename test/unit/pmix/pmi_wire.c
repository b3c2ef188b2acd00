/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of the contract's wire: a scripted daemon against the server's core, a scripted server
 * against the daemon's end, and each against the other; and jobs as pmix/pmi_job_wire.c writes them.
 */
#include "config.h"

#include "pmix/pmi_wire.h"
#include "test/support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmix/pmi_remote.h"
#include "pmix/pmi_server.h"

#define JOB 7

static const uint32_t local_ranks[] = {2, 3}, local_apps[] = {0, 1}, nodes[] = {0, 0, 1, 1};
static const uint16_t local_numbers[] = {0, 1, 0, 1};
static const struct pmi_app apps[] = {{3, 0, "/tmp", "a b"}, {1, 3, NULL, ""}};
static const struct pmi_binding bindings[] = {{"hwloc:0-1", "hwloc:SK0", 1}, {NULL, NULL, 0}};

static const struct pmi_job job = {
    .number = JOB,
    .namespace = "space.7",
    .size = 4,
    .universe_size = 8,
    .apps_count = 2,
    .job_id = "7",
    .node_names = "n1,n2",
    .ranks_by_node = "0,1;2,3",
    .directory = "/tmp/x",
    .node_index = 1,
    .uid = 10,
    .gid = 11,
    .local_ranks = local_ranks,
    .local_apps = local_apps,
    .local_count = 2,
    .apps = apps,
    .bindings = bindings,
    .nodes = nodes,
    .local_numbers = local_numbers,
    .slots = 8,
    .map_by = "slot",
    .bind_to = "none",
    .parent = "space.3",
    .parent_rank = 1,
    .keeps_data = 1,
};

static const struct host_config config = {.directory = "/tmp/p0",
                                          .node_name = "n2",
                                          .server_namespace = "banyan-x",
                                          .server_rank = 2};

/* What was called, one line each. */
static struct buffer calls;

static void heard_nothing(void)
{
    buffer_clear(&calls);
}

/* ---- A host that writes down what it is told ---- */

static struct pmi_ops host_ops;
static int host_fails;

static struct host *fake_create(const struct host_config *given, struct error *error)
{
    if (host_fails) {
        error_set(error, -EMFILE, "no room");
        return NULL;
    }
    host_ops = *given->ops;
    buffer_printf(&calls, "create %s %s %s %u\n", given->directory, given->node_name,
                  given->server_namespace, given->server_rank);
    return (struct host *)&host_ops;
}

static int fake_descriptor(const struct host *host)
{
    return 99;
}

static int fake_wait(struct host *host, int fd)
{
    buffer_printf(&calls, "wait %d\n", fd);
    return HOST_FD | HOST_OWN;
}

static void fake_process(struct host *host)
{
    buffer_printf(&calls, "process\n");
}

static void fake_open(struct host *host, const struct pmi_job *given)
{
    buffer_printf(&calls, "open %u %s %s\n", given->number, given->namespace, given->ranks_by_node);
    host_ops.opened(host_ops.context, given->number, 0, "", 123);
}

static void fake_close(struct host *host, uint32_t number)
{
    buffer_printf(&calls, "close %u\n", number);
}

static void fake_admit(struct host *host, int fd, const struct pmi_process *process,
                       const void *message, size_t message_bytes)
{
    buffer_printf(&calls, "admit %u.%u %.*s\n", process->job, process->rank, (int)message_bytes,
                  (const char *)message);
    ok(fcntl(fd, F_GETFD) >= 0, "its descriptor is open");
    close(fd);
}

static void fake_done(void *host, uint64_t id, int status, const void *data, size_t data_bytes)
{
    buffer_printf(&calls, "done %llu %d %.*s\n", (unsigned long long)id, status, (int)data_bytes,
                  (const char *)data);
}

static void fake_provide(void *host, uint64_t id, const struct pmi_process *process,
                         const char *key)
{
    buffer_printf(&calls, "provide %llu %u.%u %s\n", (unsigned long long)id, process->job,
                  process->rank, key);
}

static void fake_gone(void *host, const struct pmi_process *process)
{
    buffer_printf(&calls, "gone %u.%u\n", process->job, process->rank);
}

static void fake_notice(void *host, enum pmi_notice_kind kind, const struct pmi_process *process,
                        const void *data, size_t data_bytes)
{
    buffer_printf(&calls, "notice %d %u.%u %.*s\n", kind, process->job, process->rank,
                  (int)data_bytes, (const char *)data);
}

static void fake_check(struct host *host, uint64_t id, host_checked_function *answered,
                       void *context)
{
    buffer_printf(&calls, "check %llu\n", (unsigned long long)id);
    answered(context, id);
}

static const struct host_table fake_table = {
    .abi = HOST_ABI,
    .create = fake_create,
    .descriptor = fake_descriptor,
    .process = fake_process,
    .wait = fake_wait,
    .job_open = fake_open,
    .job_close = fake_close,
    .admit = fake_admit,
    .check = fake_check,
    .events = {.done = fake_done,
               .provide = fake_provide,
               .gone = fake_gone,
               .notice = fake_notice},
};

static const struct host_table *fake_load(void *context, struct error *error)
{
    return &fake_table;
}

static uint32_t fake_memory(void *context)
{
    return 4711;
}

static struct buffer from_server;

static void keep(void *context, const void *data, size_t bytes)
{
    buffer_append(&from_server, data, bytes);
}

static struct pmi_server *server_new(void)
{
    struct pmi_server_config own = {.load = fake_load, .write = keep, .memory_kib = fake_memory};

    buffer_clear(&from_server);
    return pmi_server_create(&own);
}

/* ---- A daemon's job that writes down what it is asked ---- */

static struct pmi_remote *current;
static uint32_t closes_in_call; /* a job that an op closes */

static void on_opened(void *context, uint32_t number, int status, const char *why, int32_t pid)
{
    buffer_printf(&calls, "opened %u %d '%s' %d\n", number, status, why, pid);
}

static void on_lost(void *context, uint32_t number, const char *why)
{
    buffer_printf(&calls, "lost %u %s\n", number, why);
}

static void on_connected(void *context, const struct pmi_process *process)
{
    buffer_printf(&calls, "connected %u.%u\n", process->job, process->rank);
}

static void on_rejected(void *context, const struct pmi_process *process)
{
    buffer_printf(&calls, "rejected %u.%u\n", process->job, process->rank);
}

static void on_finalized(void *context, const struct pmi_process *process)
{
    buffer_printf(&calls, "finalized %u.%u\n", process->job, process->rank);
    if (closes_in_call != 0)
        pmi_remote_close(current, closes_in_call);
}

static void on_collective(void *context, const struct pmi_collective *collective)
{
    buffer_printf(&calls, "collective %llu kind %d%s of %zu (%u.%u) '%.*s' %u\n",
                  (unsigned long long)collective->id, collective->kind, collective->name,
                  collective->members_count, collective->members[0].job,
                  collective->members[0].rank, (int)collective->data_bytes,
                  (const char *)collective->data, collective->timeout_ms);
}

static void on_fetch(void *context, uint64_t id, const struct pmi_process *process, const char *key,
                     uint32_t timeout_ms)
{
    buffer_printf(&calls, "fetch %llu %u.%u %s %u\n", (unsigned long long)id, process->job,
                  process->rank, key, timeout_ms);
}

static void on_provided(void *context, uint32_t number, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    buffer_printf(&calls, "provided %u %llu %d '%.*s'\n", number, (unsigned long long)id, status,
                  (int)data_bytes, (const char *)data);
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *message, const struct pmi_process *targets, size_t targets_count)
{
    buffer_printf(&calls, "abort %llu %u.%u %d '%s' %zu\n", (unsigned long long)id, caller->job,
                  caller->rank, status, message, targets_count);
}

static void on_text(void *context, const struct pmi_process *from, const char *text,
                    size_t text_bytes)
{
    buffer_printf(&calls, "text %u.%u %.*s\n", from->job, from->rank, (int)text_bytes, text);
}

static void on_request(void *context, const struct pmi_request *request)
{
    buffer_printf(&calls, "request %llu kind %d %u.%u %u '%.*s'\n", (unsigned long long)request->id,
                  request->kind, request->caller.job, request->caller.rank, request->timeout_ms,
                  (int)request->data_bytes, (const char *)request->data);
}

static const struct pmi_ops daemon_ops = {
    .opened = on_opened,
    .lost = on_lost,
    .connected = on_connected,
    .rejected = on_rejected,
    .finalized = on_finalized,
    .collective = on_collective,
    .fetch = on_fetch,
    .provided = on_provided,
    .abort = on_abort,
    .text = on_text,
    .request = on_request,
};

/* All that the daemon's end has to say, in pieces of at most so many bytes; descriptors go along. */
static int pump_down(struct pmi_remote *remote, struct pmi_server *server, size_t piece_bytes)
{
    struct pmi_piece piece;
    int rc = 0;

    for (pmi_remote_output(remote, &piece); piece.bytes > 0 && rc == 0;
         pmi_remote_output(remote, &piece)) {
        size_t bytes = piece.bytes < piece_bytes ? piece.bytes : piece_bytes;

        if (piece.fd >= 0)
            pmi_server_take_fd(server, dup(piece.fd));
        rc = pmi_server_input(server, piece.data, bytes);
        pmi_remote_sent(remote, bytes);
    }
    return rc;
}

static int pump_up(struct pmi_remote *remote, size_t piece_bytes)
{
    int rc = 0;

    for (size_t at = 0; at < from_server.length_bytes && rc == 0; at += piece_bytes) {
        size_t left = from_server.length_bytes - at;

        rc = pmi_remote_input(remote, from_server.data + at,
                              left < piece_bytes ? left : piece_bytes);
    }
    buffer_clear(&from_server);
    return rc;
}

/* ---- Cases ---- */

static void test_down(size_t piece_bytes)
{
    struct pmi_remote *remote = pmi_remote_create(&config);
    struct pmi_server *server = server_new();
    struct pmi_process three = {JOB, 3};
    int fd = open("/dev/null", O_RDONLY);

    heard_nothing();
    is_int(pmi_server_wait(server, 99), -ENOTCONN, "no host yet");
    pmi_remote_open(remote, &job, &daemon_ops);
    pmi_remote_admit(remote, fd, &three, "hello", 5);
    pmi_remote_admit(remote, open("/dev/null", O_RDONLY), &three, "again", 5);
    pmi_remote_events.done(remote, 1ull << 40, -ESRCH, NULL, 0);
    pmi_remote_events.done(remote, 2, 0, "blob", 4);
    pmi_remote_events.provide(remote, 9, &three, "key");
    pmi_remote_events.gone(remote, &three);
    pmi_remote_events.notice(remote, PMI_NOTICE_EVENT, &three, "news", 4);
    is_int(pump_down(remote, server, piece_bytes), 0, "pieces of %zu bytes are taken", piece_bytes);
    is_int(fcntl(fd, F_GETFD), -1, "a descriptor that has been sent is closed");
    pmi_remote_check(remote, 5);
    pmi_remote_close(remote, JOB);
    pmi_remote_close(remote, JOB);
    is_int(pump_down(remote, server, piece_bytes), 0, "a job is closed once");
    is_string(buffer_string(&calls),
              "create /tmp/p0 n2 banyan-x 2\n"
              "open 7 space.7 0,1;2,3\n"
              "admit 7.3 hello\nadmit 7.3 again\n"
              "done 1099511627776 -3 \ndone 2 0 blob\nprovide 9 7.3 key\ngone 7.3\n"
              "notice 0 7.3 news\ncheck 5\nclose 7\ncheck 7\n",
              "the host hears what the daemon says, in that order");
    heard_nothing();
    is_int(pmi_server_wait(server, 99), HOST_FD | HOST_OWN, "the host waits");
    is_string(buffer_string(&calls), "wait 99\n", "for the daemon's socket, too");
    heard_nothing();
    is_uint(pmi_remote_closing(remote), 1, "one job is being closed");
    is_int(pump_up(remote, piece_bytes), 0, "its answers are taken");
    is_uint(pmi_remote_closing(remote), 0, "none is any more");
    is_string(buffer_string(&calls), "", "of a closed job nothing is told");
    is_uint(pmi_remote_checked(remote), 5, "but that its check has been answered");
    is_uint(pmi_remote_memory_kib(remote), 4711, "but what memory the server has");
    pmi_server_destroy(server);
    pmi_remote_destroy(remote);
}

static void host_asks(void)
{
    struct pmi_process two = {JOB, 2}, all = {JOB, PMI_RANK_ALL}, stranger = {8, 1};
    struct pmi_process members[] = {{JOB, 1}, {8, 2}};
    struct pmi_collective fence = {.id = 5,
                                   .kind = PMI_FENCE,
                                   .members = &all,
                                   .members_count = 1,
                                   .data = "mine",
                                   .data_bytes = 4,
                                   .timeout_ms = 77};
    struct pmi_collective connect = {
        .id = 6, .kind = PMI_CONNECT, .name = " named", .members = members, .members_count = 2};
    struct pmi_request publish = {.id = 15,
                                  .kind = PMI_REQUEST_PUBLISH,
                                  .caller = two,
                                  .timeout_ms = 4,
                                  .data = "a name",
                                  .data_bytes = 6};
    struct pmi_request strange = {.id = 16, .kind = PMI_REQUEST_SPAWN, .caller = stranger};

    host_ops.connected(host_ops.context, &two);
    host_ops.collective(host_ops.context, &fence);
    host_ops.collective(host_ops.context, &connect);
    host_ops.fetch(host_ops.context, 10, &two, "k", 3);
    host_ops.fetch(host_ops.context, 11, &stranger, "k", 3);
    host_ops.provided(host_ops.context, JOB, 12, -EAGAIN, NULL, 0);
    host_ops.provided(host_ops.context, JOB, 13, 0, "theirs", 6);
    host_ops.abort(host_ops.context, 14, &two, -5, "enough", members, 2);
    host_ops.text(host_ops.context, &two, "line\n", 5);
    host_ops.request(host_ops.context, &publish);
    host_ops.request(host_ops.context, &strange);
    host_ops.rejected(host_ops.context, &two);
    host_ops.finalized(host_ops.context, &two);
    host_ops.connected(host_ops.context, &two);
}

static void test_up(size_t piece_bytes)
{
    struct pmi_remote *remote = pmi_remote_create(&config);
    struct pmi_server *server = server_new();

    pmi_remote_open(remote, &job, &daemon_ops);
    pump_down(remote, server, piece_bytes);
    heard_nothing();
    host_asks();
    current = remote;
    closes_in_call = JOB;
    is_int(pump_up(remote, piece_bytes), 0, "pieces of %zu bytes are taken", piece_bytes);
    closes_in_call = 0;
    is_string(buffer_string(&calls),
              "opened 7 0 '' 123\nconnected 7.2\n"
              "collective 5 kind 0 of 1 (7.4294967295) 'mine' 77\n"
              "collective 6 kind 1 named of 2 (7.1) '' 0\n"
              "fetch 10 7.2 k 3\nfetch 11 8.1 k 3\nprovided 7 12 -11 ''\nprovided 7 13 0 'theirs'\n"
              "abort 14 7.2 -5 'enough' 2\ntext 7.2 line\n\n"
              "request 15 kind 0 7.2 4 'a name'\nrejected 7.2\n"
              "finalized 7.2\n",
              "the job hears what the host asks, until it is closed in a call");
    heard_nothing();
    pump_down(remote, server, piece_bytes);
    is_string(buffer_string(&calls), "done 16 -2 \nclose 7\ncheck 7\n",
              "what concerns no open job is answered with -ENOENT");
    pmi_server_destroy(server);
    pmi_remote_destroy(remote);
}

static void test_no_host(void)
{
    struct pmi_remote *remote = pmi_remote_create(&config);
    struct pmi_server *server = server_new();
    struct pmi_process three = {JOB, 3};

    host_fails = 1;
    heard_nothing();
    pmi_remote_open(remote, &job, &daemon_ops);
    pmi_remote_admit(remote, open("/dev/null", O_RDONLY), &three, "hello", 5);
    pmi_remote_events.provide(remote, 9, &three, "key");
    pmi_remote_events.done(remote, 9, 0, "x", 1);
    pmi_remote_events.gone(remote, &three);
    pmi_remote_check(remote, 6);
    is_int(pump_down(remote, server, 4096), 0, "a server without a host goes on");
    is_int(pump_up(remote, 4096), 0, "and answers");
    is_uint(pmi_remote_checked(remote), 6, "checks, too");
    is_string(buffer_string(&calls), "opened 7 -24 'no room' 0\nprovided 7 9 -2 ''\n",
              "that there is none, and why");
    host_fails = 0;
    pmi_server_destroy(server);
    pmi_remote_destroy(remote);
}

static void test_lost(void)
{
    struct pmi_remote *remote = pmi_remote_create(&config);
    struct pmi_job other = job;
    int fd = open("/dev/null", O_RDONLY);

    heard_nothing();
    other.number = 8;
    pmi_remote_open(remote, &job, &daemon_ops);
    pmi_remote_open(remote, &other, &daemon_ops);
    pmi_remote_admit(remote, fd, &(struct pmi_process){8, 1}, "", 0);
    is_uint(pmi_remote_jobs(remote), 2, "two jobs");
    pmi_remote_lose(remote, "it died");
    is_string(buffer_string(&calls), "lost 7 it died\nlost 8 it died\n", "both are told once");
    is_uint(pmi_remote_jobs(remote), 0, "and closed");
    pmi_remote_destroy(remote);
    is_int(fcntl(fd, F_GETFD), -1, "a client that waited is let go");
}

static int server_takes(const struct pmi_message *message, int with_start)
{
    struct pmi_server *server = server_new();
    struct pmi_remote *remote = pmi_remote_create(&config);
    struct buffer frame = {0};
    int rc;

    if (with_start)
        pump_down(remote, server, 4096);
    (void)pmi_message_encode(message, &frame);
    rc = pmi_server_input(server, frame.data, frame.length_bytes);
    buffer_fini(&frame);
    pmi_remote_destroy(remote);
    pmi_server_destroy(server);
    return rc;
}

static void test_refused(void)
{
    struct pmi_remote *remote = pmi_remote_create(&config);
    struct pmi_message message = {.kind = PMI_MESSAGE_ADMIT, .process = {JOB, 1}};
    unsigned char header[] = {0, 0, 0, 0, PMI_MESSAGE_KIND_COUNT};
    unsigned char longest[] = {255, 255, 255, 255, PMI_MESSAGE_DONE};
    struct buffer frame = {0};

    is_int(server_takes(&message, 1), -EPROTO, "an ADMIT without a descriptor");
    message.kind = PMI_MESSAGE_OPEN;
    message.data = "noise";
    message.data_bytes = 5;
    is_int(server_takes(&message, 1), -EPROTO, "an OPEN that is no job");
    message.kind = PMI_MESSAGE_START;
    is_int(server_takes(&message, 0), -EPROTO, "a START that is none");
    is_int(server_takes(&message, 1), -EPROTO, "a second START");
    message.kind = PMI_MESSAGE_OPENED;
    is_int(server_takes(&message, 1), -EPROTO, "a message of its own");
    message.kind = PMI_MESSAGE_GONE;
    (void)pmi_message_encode(&message, &frame);
    is_int(pmi_remote_input(remote, frame.data, frame.length_bytes), -EPROTO,
           "the daemon takes none of its own, either");
    buffer_fini(&frame);
    is_int(pmi_frame_length(header, &message.data_bytes), -EPROTO, "an unknown kind");
    is_int(pmi_frame_length(longest, &message.data_bytes), -EPROTO, "a length beyond the limit");
    pmi_remote_destroy(remote);
}

static void test_job(void)
{
    struct buffer once = {0}, again = {0};
    struct pmi_job copy;

    pmi_job_encode(&job, &once);
    is_int(pmi_job_decode(&copy, once.data, once.length_bytes), 0, "a job is read");
    pmi_job_encode(&copy, &again);
    ok(once.length_bytes == again.length_bytes &&
           memcmp(once.data, again.data, once.length_bytes) == 0,
       "and is the same");
    ok(copy.rank_by == NULL && copy.apps[1].directory == NULL && copy.bindings[1].cpus == NULL,
       "what is not told stays so");
    pmi_job_fini(&copy);
    for (size_t bytes = 0; bytes < once.length_bytes; bytes++) {
        if (pmi_job_decode(&copy, once.data, bytes) == 0)
            fail("a job cut to %zu bytes is taken", bytes);
    }
    buffer_fini(&once);
    buffer_fini(&again);
}

int main(void)
{
    test_job();
    test_down(1);
    test_down(7);
    test_down(65536);
    test_up(1);
    test_up(65536);
    test_no_host();
    test_lost();
    test_refused();
    buffer_fini(&calls);
    buffer_fini(&from_server);
    return done_testing();
}
