/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of the wire between the daemon and the PMIx server: the first byte says which; the rest
 * is what the other end says.  What is taken is written as it was read.
 */
#include "config.h"

#include "pmix/pmi_wire.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>

#include "pmix/pmi_notice.h"
#include "pmix/pmi_remote.h"
#include "pmix/pmi_server.h"
#include "test/support/host_double.h"

static const struct host_config config = {.directory = "/",
                                          .node_name = "n",
                                          .server_namespace = "s"};

static const uint32_t zero;
static const struct pmi_job job = {.number = 1,
                                   .namespace = "j",
                                   .size = 1,
                                   .apps_count = 1,
                                   .job_id = "1",
                                   .node_names = "n",
                                   .ranks_by_node = "0",
                                   .directory = "/",
                                   .local_ranks = &zero,
                                   .local_apps = &zero,
                                   .local_count = 1};

/* ---- The server's end: a host that looks at all it is given ---- */

static void host_open(struct host *host, const struct pmi_job *given)
{
    struct buffer again = {0};

    assert(given->number != PMI_JOB_NONE && given->local_count <= given->size);
    pmi_job_encode(given, &again);
    buffer_fini(&again);
    host_double_ops.opened(host_double_ops.context, given->number, 0, "", 1);
}

static void host_admit(struct host *host, int fd, const struct pmi_process *process,
                       const void *message, size_t message_bytes)
{
    assert(0 && "no descriptor has been given");
}

static void host_done(void *host, uint64_t id, int status, const void *data, size_t data_bytes)
{
    assert(status <= 0 && (data_bytes == 0 || memchr(data, 0, data_bytes) != &id));
}

static void host_gone(void *host, const struct pmi_process *process)
{
}

static void host_notice(void *host, enum pmi_notice_kind kind, const struct pmi_process *process,
                        const void *data, size_t data_bytes)
{
    assert(kind < PMI_NOTICE_KIND_COUNT);
}

static struct host *host_create(const struct host_config *given, struct error *error)
{
    assert(strlen(given->directory) + strlen(given->node_name) < 1u << 30);
    return host_double_table().create(given, error);
}

static void host_provide(void *host, uint64_t id, const struct pmi_process *process,
                         const char *key)
{
    assert(strlen(key) <= PMI_TEXT_BYTES_MAX);
    host_double_provide(host, id, process, key);
}

static const struct host_table *load(void *context, struct error *error)
{
    static struct host_table table;

    table = host_double_table();
    table.create = host_create;
    table.job_open = host_open;
    table.admit = host_admit;
    table.events = (struct pmi_events){
        .done = host_done, .provide = host_provide, .gone = host_gone, .notice = host_notice};
    return &table;
}

static void drop(void *context, const void *data, size_t bytes)
{
    assert(bytes >= PMI_FRAME_HEADER_BYTES);
}

static uint32_t memory_kib(void *context)
{
    return 0;
}

static void fuzz_server(const uint8_t *data, size_t bytes)
{
    struct pmi_server_config own = {.load = load, .write = drop, .memory_kib = memory_kib};
    struct pmi_server *server = pmi_server_create(&own);

    if (pmi_server_input(server, data, bytes / 2) == 0)
        (void)pmi_server_input(server, data + bytes / 2, bytes - bytes / 2);
    pmi_server_destroy(server);
}

/* ---- The daemon's end: a job that looks at all it is asked ---- */

static void on_opened(void *context, uint32_t number, int status, const char *why, int32_t pid)
{
    assert(number == 1 && status <= 0 && strlen(why) <= PMI_TEXT_BYTES_MAX);
}

static void on_process(void *context, const struct pmi_process *process)
{
    assert(process->job == 1);
}

static void on_collective(void *context, const struct pmi_collective *collective)
{
    uint32_t own = 0;

    assert(collective->kind < PMI_KIND_COUNT && collective->members_count > 0);
    for (size_t i = 0; i < collective->members_count; i++)
        own += collective->members[i].job == 1;
    assert(own > 0);
}

static void on_fetch(void *context, uint64_t id, const struct pmi_process *process, const char *key,
                     uint32_t timeout_ms)
{
    assert(strlen(key) <= PMI_TEXT_BYTES_MAX);
}

static void on_provided(void *context, uint32_t number, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    assert(number == 1 && status <= 0);
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *message, const struct pmi_process *targets, size_t targets_count)
{
    assert(caller->job == 1 && strlen(message) <= PMI_TEXT_BYTES_MAX);
    assert(targets_count == 0 || targets != NULL);
}

static void on_text(void *context, const struct pmi_process *from, const char *text,
                    size_t text_bytes)
{
    assert(from->job == 1);
}

static void on_request(void *context, const struct pmi_request *request)
{
    assert(request->caller.job == 1 && request->kind < PMI_REQUEST_KIND_COUNT);
}

static void fuzz_remote(const uint8_t *data, size_t bytes)
{
    static const struct pmi_ops ops = {.opened = on_opened,
                                       .connected = on_process,
                                       .rejected = on_process,
                                       .finalized = on_process,
                                       .collective = on_collective,
                                       .fetch = on_fetch,
                                       .provided = on_provided,
                                       .abort = on_abort,
                                       .text = on_text,
                                       .request = on_request};
    struct pmi_remote *remote = pmi_remote_create(&config);

    pmi_remote_open(remote, &job, &ops);
    if (pmi_remote_input(remote, data, bytes / 2) == 0)
        (void)pmi_remote_input(remote, data + bytes / 2, bytes - bytes / 2);
    pmi_remote_destroy(remote);
}

/* What is taken for a frame is written as it was read. */
static void fuzz_frame(const uint8_t *data, size_t bytes)
{
    struct pmi_message message;
    struct buffer again = {0};

    if (bytes < PMI_FRAME_HEADER_BYTES || pmi_message_decode(&message, data, bytes) < 0)
        return;
    assert(pmi_message_encode(&message, &again) == 0);
    assert(again.length_bytes == bytes && memcmp(again.data, data, bytes) == 0);
    buffer_fini(&again);
    pmi_message_fini(&message);
}

static void fuzz_notice(const uint8_t *data, size_t bytes)
{
    struct pmi_notice notice;
    struct buffer again = {0};

    if (pmi_notice_decode(&notice, data, bytes) < 0)
        return;
    pmi_notice_encode(&notice, &again);
    assert(again.length_bytes == bytes && memcmp(again.data, data, bytes) == 0);
    buffer_fini(&again);
    pmi_notice_fini(&notice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    size_t choice = data_bytes == 0 ? 0 : fuzz_choice(data[0], 4);

    if (data_bytes == 0)
        return 0;
    if (choice == 0)
        fuzz_server(data + 1, data_bytes - 1);
    else if (choice == 1)
        fuzz_remote(data + 1, data_bytes - 1);
    else if (choice == 2)
        fuzz_frame(data + 1, data_bytes - 1);
    else
        fuzz_notice(data + 1, data_bytes - 1);
    return 0;
}

/* ---- Samples ---- */

static void sample_down(struct buffer *sample)
{
    struct pmi_process process = {1, 0};
    struct pmi_remote *remote = pmi_remote_create(&config);
    struct pmi_piece piece;

    pmi_remote_open(remote, &job, &(struct pmi_ops){.context = NULL});
    pmi_remote_events.done(remote, 1, 0, "data", 4);
    pmi_remote_events.provide(remote, 2, &process, "key");
    pmi_remote_events.gone(remote, &process);
    pmi_remote_events.notice(remote, PMI_NOTICE_EVENT, &process, "news", 4);
    pmi_remote_close(remote, 1);
    pmi_remote_output(remote, &piece);
    wire_put_u8(sample, 0);
    buffer_append(sample, piece.data, piece.bytes);
    pmi_remote_destroy(remote);
}

static void sample_up(struct buffer *sample)
{
    struct pmi_process process = {1, 0}, members[] = {{1, PMI_RANK_ALL}, {2, 3}};

    wire_put_u8(sample, 1);
    for (int kind = PMI_MESSAGE_OPENED; kind < PMI_MESSAGE_KIND_COUNT; kind++) {
        struct pmi_message message = {.kind = (enum pmi_message_kind)kind,
                                      .id = 3,
                                      .process = process,
                                      .members = members,
                                      .members_count = 2,
                                      .text = "text",
                                      .data = "data",
                                      .data_bytes = 4,
                                      .number = 1};

        (void)pmi_message_encode(&message, sample);
    }
}

static void sample_notice(struct buffer *sample)
{
    struct pmi_process processes[] = {{1, PMI_RANK_ALL}, {2, 3}};
    struct pmi_notice notice = {.event = PMI_EVENT_EXITED,
                                .code = 3,
                                .source = processes[1],
                                .targets = processes,
                                .targets_count = 2,
                                .affected = processes + 1,
                                .affected_count = 1,
                                .text = "text",
                                .info = "info",
                                .info_bytes = 4};

    wire_put_u8(sample, 3);
    pmi_notice_encode(&notice, sample);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct buffer sample = {0};
    struct pmi_message message = {
        .kind = (enum pmi_message_kind)(number - 2), .text = "t", .data = "d", .data_bytes = 1};

    if (number == 0) {
        sample_down(&sample);
    } else if (number == 1) {
        sample_up(&sample);
    } else if (number - 2 < PMI_MESSAGE_KIND_COUNT) {
        wire_put_u8(&sample, 2);
        (void)pmi_message_encode(&message, &sample);
    } else if (number - 2 == PMI_MESSAGE_KIND_COUNT) {
        sample_notice(&sample);
    } else {
        return 0;
    }
    return fuzz_hand_over(&sample, buffer, buffer_bytes);
}
