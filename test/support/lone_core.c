/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/lone_core.h"

#include "launch/proto/control.h"

static struct allocation allocation;
static struct instance_spec spec;

void lone_core_open(void)
{
    instance_spec_init(&spec);
    spec.places = LONE_CORE_NODES + 1;
    spec.radix = 2;
    spec.starter = STARTER_SSH;
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", LONE_CORE_NODES, 2);
}

void lone_core_start_by(enum starter_kind starter)
{
    spec.starter = starter;
}

void lone_core_close(void)
{
    allocation_fini(&allocation);
    instance_spec_fini(&spec);
}

struct daemon_core *lone_core_at(uint32_t place, const struct daemon_ops *ops,
                                 const struct daemon_tree_ops *tree_ops)
{
    struct daemon_core_config config = {.spec = &spec,
                                        .place = place,
                                        .range = {place, place == 0 ? LONE_CORE_NODES : place},
                                        .roster = place == 0 ? &allocation : NULL,
                                        .policy = INSTANCE_STAYS,
                                        .directory = "/tmp/none",
                                        .ops = ops};
    struct daemon_core *core = daemon_core_create(&config);

    daemon_core_attach(core, tree_ops, NULL);
    return core;
}

void lone_core_job(struct daemon_core *core, struct job_event event)
{
    struct job_actions actions;

    job_actions_init(&actions);
    instance_step(core->instance, &event, &actions);
    job_actions_fini(&actions);
}

static void begin_job(struct daemon_core *core, struct job_event event, uint32_t stdin_rank,
                      bool has_terminal)
{
    struct placement_rule rule = {.processes = LONE_CORE_NODES, .per = 1};
    struct job_spec job;

    job_spec_init(&job);
    job.parent = event.job;
    job.stdin_rank = stdin_rank;
    job.has_terminal = has_terminal;
    placement_add(&job.placement, &rule);
    job.apps = memory_allocate_zeroed(sizeof(*job.apps));
    job.apps_count = 1;
    job.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    job.apps[0].argv[0] = memory_copy_string("./app");
    job.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    job.apps[0].directory = memory_copy_string("/");
    event.spec = &job;
    lone_core_job(core, event);
    job_spec_fini(&job);
}

void lone_core_run(struct daemon_core *core, uint32_t stdin_rank)
{
    begin_job(core, (struct job_event){.kind = JOB_EVENT_RUN}, stdin_rank, false);
}

void lone_core_run_terminal(struct daemon_core *core, uint32_t rank)
{
    begin_job(core, (struct job_event){.kind = JOB_EVENT_RUN}, rank, true);
}

void lone_core_spawn(struct daemon_core *core, uint32_t parent)
{
    begin_job(core,
              (struct job_event){
                  .kind = JOB_EVENT_SPAWN, .job = parent, .place = 1, .number = (int64_t)parent},
              UINT32_MAX, false);
}

uint64_t lone_core_now_ns(void *context)
{
    return 1;
}

void lone_core_say(struct daemon_core *core, uint32_t client, uint8_t type,
                   const struct buffer *payload)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_CLIENT_MESSAGE,
                                 .place = client,
                                 .type = type,
                                 .data = payload->data,
                                 .data_bytes = payload->length_bytes};

    daemon_core_step(core, &event);
}

void lone_core_greet(struct daemon_core *core, uint32_t client, uint8_t wants)
{
    struct daemon_event opened = {.kind = DAEMON_EVENT_CLIENT_OPENED, .place = client};
    const struct control_hello hello = {.version = CONTROL_VERSION, .wants = wants};
    struct buffer payload = {0};

    daemon_core_step(core, &opened);
    control_hello_encode(&hello, &payload);
    lone_core_say(core, client, CONTROL_HELLO, &payload);
    buffer_fini(&payload);
}

void lone_core_ask(struct daemon_core *core, uint32_t client, uint32_t number,
                   enum job_message kind, struct buffer *data)
{
    struct control_request request = {
        .request = number, .kind = (uint8_t)kind, .data = {data->data, data->length_bytes}};
    struct buffer payload = {0};

    control_request_encode(&request, &payload);
    lone_core_say(core, client, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(data);
}

void lone_core_reply(struct daemon_core *core, uint32_t id, int status, struct buffer *data)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_REPLY, .id = id, .status = status};

    if (status == 0)
        event.message = job_reply_message(0, data->data, data->length_bytes);
    daemon_core_step(core, &event);
    message_release(event.message);
    buffer_fini(data);
}

size_t lone_core_client_queued(void *context, uint32_t client)
{
    return 0;
}
