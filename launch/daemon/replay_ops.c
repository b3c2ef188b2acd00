/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of a core and of an endpoint whose effects are there already. */
#include "config.h"

#include "launch/daemon/replay_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "alloc/hostlist.h"
#include "base/hash_map.h"

/* ---- the endpoint's ---- */

static int transport_connect(void *context, uint32_t place, const struct addresses *addresses)
{
    (void)place;
    (void)addresses;
    return replay_is_refused(context, place) ? -EALREADY : 0;
}

static int transport_send(void *context, uint32_t place, const struct frame *frame)
{
    (void)context;
    (void)place;
    message_release(frame->payload);
    return 0;
}

static void transport_close(void *context, uint32_t place)
{
    (void)context;
    (void)place;
}

static uint64_t ops_now_ns(void *context)
{
    return ((struct replay *)context)->now_ns;
}

static void transport_timer(void *context, uint64_t deadline_ns)
{
    (void)context;
    (void)deadline_ns;
}

const struct transport_ops *replay_transport_ops(void)
{
    static const struct transport_ops ops = {
        .name = "replay",
        .connect = transport_connect,
        .send = transport_send,
        .close = transport_close,
        .now_ns = ops_now_ns,
        .timer = transport_timer,
    };

    return &ops;
}

/* ---- what the core does at this place ---- */

static void ops_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    struct replay *replay = context;
    uint64_t key = (uint64_t)timer << 32 | job;
    struct replay_timer *found = hash_map_remove_u64(replay->timers, key);

    assert(timer < DAEMON_TIMER_COUNT);
    if (deadline_ns == UINT64_MAX) {
        free(found);
        return;
    }
    if (found == NULL)
        found = memory_allocate_zeroed(sizeof(*found));
    *found = (struct replay_timer){.timer = timer, .job = job, .deadline_ns = deadline_ns};
    (void)hash_map_put_u64(replay->timers, key, found);
}

static void ops_print(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static void ops_nothing(void *context)
{
    replay_post(context);
}

static void ops_stage(void *context, struct message *message)
{
    (void)message;
    replay_post(context);
}

static void ops_load(void *context, struct daemon_load *ret_load)
{
    (void)context;
    *ret_load = (struct daemon_load){.cpus = 1};
}

static void ops_places(void *context, const struct ranges *places)
{
    (void)context;
    (void)places;
}

/* ---- ranks: there are none at the root ---- */

static void ranks_job(void *context, uint32_t job)
{
    (void)context;
    (void)job;
}

static void ranks_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
    (void)context;
    (void)job;
    (void)first;
    (void)count;
}

static void ranks_signal(void *context, uint32_t job, int number, const struct ranges *ranks)
{
    (void)context;
    (void)job;
    (void)number;
    (void)ranks;
}

static void ranks_number(void *context, uint32_t job, uint32_t number)
{
    (void)context;
    (void)job;
    (void)number;
}

static void ranks_nothing(void *context)
{
    (void)context;
}

static void ranks_cut_output(void *context, uint32_t job, uint32_t within_ms, bool discard)
{
    (void)context;
    (void)job;
    (void)within_ms;
    (void)discard;
}

static void ranks_input(void *context, uint32_t job, const void *data, size_t bytes)
{
    (void)context;
    (void)job;
    (void)data;
    (void)bytes;
}

static void ranks_window(void *context, uint32_t job, const struct window *window)
{
    (void)context;
    (void)job;
    (void)window;
}

static void ranks_feed(void *context, uint32_t job, uint32_t index, const void *data, size_t bytes)
{
    (void)context;
    (void)job;
    (void)index;
    (void)data;
    (void)bytes;
}

static uint8_t ranks_state(void *context, uint32_t job, uint32_t index)
{
    (void)context;
    (void)job;
    (void)index;
    return 0;
}

static void ranks_survey(void *context, uint32_t job, uint32_t want, const char *require)
{
    (void)context;
    (void)job;
    (void)want;
    (void)require;
}

static void ranks_activity(void *context, uint32_t job, uint32_t index,
                           struct activity_rank *ret_rank)
{
    (void)context;
    (void)job;
    (void)index;
    *ret_rank = (struct activity_rank){0};
}

static bool ranks_load(void *context, uint32_t job, uint32_t index, uint64_t *ret_cpu_ns,
                       uint64_t *ret_kib)
{
    (void)context;
    (void)job;
    (void)index;
    (void)ret_cpu_ns;
    (void)ret_kib;
    return false;
}

/* What was taken is recorded as an event. */
static void ranks_stacks(void *context, uint32_t job, const struct ranges *indices, uint32_t id,
                         uint32_t limit_ms)
{
    (void)context;
    (void)job;
    (void)indices;
    (void)id;
    (void)limit_ms;
}

static const struct daemon_rank_ops rank_ops = {
    .open = ranks_job,
    .close = ranks_job,
    .start = ranks_start,
    .seal = ranks_job,
    .cancel_starts = ranks_job,
    .signal = ranks_signal,
    .end = ranks_number,
    .end_all = ranks_nothing,
    .cut_output = ranks_cut_output,
    .credit = ranks_number,
    .renew_credit = ranks_nothing,
    .input = ranks_input,
    .window = ranks_window,
    .feed = ranks_feed,
    .state = ranks_state,
    .survey = ranks_survey,
    .activity = ranks_activity,
    .load = ranks_load,
    .stacks = ranks_stacks,
};

/* ---- PMI: nor are there its servers ---- */

static void pmi_result(void *context, const struct operation_name *key, int status,
                       struct message *message)
{
    (void)context;
    (void)key;
    (void)status;
    (void)message;
}

static int pmi_request(void *context, uint8_t kind, uint32_t job, uint32_t source, uint32_t id,
                       struct wire_reader *reader)
{
    (void)context;
    (void)kind;
    (void)job;
    (void)source;
    (void)id;
    (void)reader;
    return -ENOENT;
}

static void pmi_reply(void *context, uint32_t job, uint32_t id, int status, struct message *message)
{
    (void)context;
    (void)job;
    (void)id;
    (void)status;
    (void)message;
}

static void pmi_notice(void *context, const struct job_notice *notice)
{
    (void)context;
    (void)notice;
}

static bool pmi_is_served(void *context, uint32_t job)
{
    (void)context;
    (void)job;
    return false;
}

static enum job_stall_state pmi_rank_state(void *context, uint32_t job,
                                           const struct operation_name *key, uint32_t index)
{
    (void)context;
    (void)job;
    (void)key;
    (void)index;
    return (enum job_stall_state)0;
}

static void pmi_stand_in(void *context, uint32_t job, const struct operation_name *key,
                         const struct ranges *places)
{
    (void)context;
    (void)job;
    (void)key;
    (void)places;
}

/* It may have found that the fabric has changed, and said so. */
static int pmi_query(void *context, const void *data, size_t bytes, struct buffer *answer)
{
    replay_post(context);
    (void)data;
    (void)bytes;
    (void)answer;
    return -ENOENT;
}

static bool pmi_output(void *context, const struct job_pulled *output)
{
    (void)context;
    (void)output;
    return false;
}

static const struct daemon_pmi_ops pmi_ops = {
    .result = pmi_result,
    .request = pmi_request,
    .reply = pmi_reply,
    .notice = pmi_notice,
    .lost = ops_places,
    .is_served = pmi_is_served,
    .rank_state = pmi_rank_state,
    .stand_in = pmi_stand_in,
    .query = pmi_query,
    .output = pmi_output,
};

/* ---- the starter: what it has started is there, and is nobody's child ---- */

static void starter_range(void *context, struct range range)
{
    (void)range;
    replay_post(context);
}

static void starter_grow(void *context, uint32_t first, const struct hostlist *names)
{
    struct replay *replay = context;

    (void)first;
    hostlist_append_slice(replay->added, names, 0, hostlist_count(names));
}

static void starter_place(void *context, uint32_t place)
{
    (void)place;
    replay_post(context);
}

static void starter_unlinked(void *context, uint32_t place, int status, const char *why)
{
    (void)context;
    (void)place;
    (void)status;
    (void)why;
}

static uint32_t starter_running(void *context)
{
    (void)context;
    return 0;
}

static uint8_t starter_state(void *context, uint32_t place)
{
    (void)context;
    (void)place;
    return 0;
}

static const char *starter_name(void *context, uint32_t place, char name[HOST_NAME_BYTES_MAX + 1])
{
    (void)context;
    (void)place;
    name[0] = '\0';
    return name;
}

static const struct daemon_starter_ops starter_ops = {
    .start = starter_range,
    .grow = starter_grow,
    .start_new = starter_place,
    .linked = starter_place,
    .unlinked = starter_unlinked,
    .joined = ops_nothing,
    .clean = starter_place,
    .expect_end = ops_nothing,
    .let_go = ops_nothing,
    .kill = ops_nothing,
    .running = starter_running,
    .state = starter_state,
    .name = starter_name,
};

/* ---- clients ---- */

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    (void)context;
    (void)client;
    (void)type;
    (void)data;
    (void)bytes;
}

/* Whether one was dropped does not matter: CLIENT_CLOSED follows. */
static size_t client_queued(void *context, uint32_t client)
{
    (void)context;
    (void)client;
    return 0;
}

static void client_drop(void *context, uint32_t client)
{
    (void)context;
    (void)client;
}

static void client_doctor(void *context, struct wire_reader *reader)
{
    (void)context;
    (void)reader;
}

static const struct daemon_client_ops client_ops = {
    .send = client_send,
    .queued = client_queued,
    .drop = client_drop,
    .doctor = client_doctor,
    .detached = ranks_nothing,
};

const struct daemon_ops *replay_ops(void)
{
    static const struct daemon_ops ops = {
        .now_ns = ops_now_ns,
        .timer = ops_timer,
        .print = ops_print,
        .finish = ops_nothing,
        .stop = ops_nothing,
        .stage = ops_stage,
        .load = ops_load,
        .lost = ops_places,
        .ranks = &rank_ops,
        .pmi = &pmi_ops,
        .starter = &starter_ops,
        .clients = &client_ops,
    };

    return &ops;
}
