/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of an instance are told (launch/core/daemon_core_notice.c), at the root and at a node: the test
 * plays the tree and the servers.  Jobs 1 and 2 have a rank on each of the four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <string.h>

#include "test/support/lone_core.h"
#include "test/support/tap.h"

static struct buffer calls;
static int broadcast_rc;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- The tree ---- */

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct buffer text = {0};

    if (places != NULL)
        ranges_print(places, &text);
    buffer_printf(&calls, "broadcast to %s, %zu bytes\n",
                  places == NULL ? "all" : buffer_string(&text), message->length_bytes);
    buffer_fini(&text);
    message_release(message);
    return broadcast_rc;
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    buffer_printf(&calls, "reply to %u.%u: %d\n", source, id, (int32_t)wire_get_u32(&reader));
    message_release(message);
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast, .reply = tree_reply};

/* ---- The node ---- */

static void pmi_notice(void *context, const struct job_notice *notice)
{
    buffer_printf(&calls, "notice of %u for %u: %.*s\n", notice->number, notice->targets_count,
                  (int)notice->data_bytes, (const char *)notice->data);
}

static const struct daemon_pmi_ops pmi_ops = {.notice = pmi_notice};
static void set_timer(void *context, enum daemon_timer timer, uint32_t number, uint64_t deadline_ns)
{
    (void)context;
    (void)number;
    if (timer == DAEMON_TIMER_NOTICE)
        buffer_printf(&calls, "the timer is %s\n",
                      deadline_ns == UINT64_MAX ? "not set"
                      : deadline_ns > 0         ? "set"
                                                : "over");
}

static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .timer = set_timer,
                                      .pmi = &pmi_ops};

/* ---- */

static struct daemon_core *core_at(uint32_t place)
{
    return lone_core_at(place, &ops, &tree_ops);
}

static struct message *encoded(const struct job_notice *notice)
{
    struct buffer payload = {0};
    struct message *message;

    job_notice_encode(notice, &payload);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

static struct message *notice(uint32_t number, uint32_t told, struct job_target *targets,
                              uint32_t count)
{
    struct job_notice notice = {.number = number,
                                .told = told,
                                .targets = targets,
                                .targets_count = count,
                                .data = "news",
                                .data_bytes = 4};

    return encoded(&notice);
}

static void ask(struct daemon_core *core, uint32_t place, uint32_t id, struct message *message)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_REQUEST, .place = place, .id = id, .message = message};

    daemon_core_step(core, &event);
    message_release(message);
}

static void tell_all(struct daemon_core *core, const char *news, int may_wait)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_NOTICE, .number = may_wait, .data = news, .data_bytes = strlen(news)};

    daemon_core_step(core, &event);
}

static void time_is_over(struct daemon_core *core)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_NOTICE};

    daemon_core_step(core, &event);
}

/* What the root itself has to say. */
static void test_all(void)
{
    struct daemon_core *core = core_at(0);

    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    tell_all(core, "news", 1);
    heard("", "without a job nobody is told");
    lone_core_run(core, UINT32_MAX);
    tell_all(core, "news", 1);
    heard("broadcast to all, 26 bytes\n", "with one everyone is");
    broadcast_rc = -EAGAIN;
    tell_all(core, "news", 0);
    heard("broadcast to all, 26 bytes\n", "if there is no room, nobody hears it");
    tell_all(core, "later", 1);
    heard("broadcast to all, 27 bytes\nthe timer is set\n", "or somewhat later");
    time_is_over(core);
    heard("broadcast to all, 27 bytes\nthe timer is set\n", "when there is room");
    tell_all(core, "newest", 1);
    heard("the timer is not set\nbroadcast to all, 28 bytes\nthe timer is set\n",
          "unless there is something newer");
    broadcast_rc = 0;
    time_is_over(core);
    heard("broadcast to all, 28 bytes\n", "which is said once");
    time_is_over(core);
    heard("", "also if the timer comes again, as after a recovery");
    broadcast_rc = -EAGAIN;
    tell_all(core, "last", 1);
    heard("broadcast to all, 26 bytes\nthe timer is set\n", "what waits at the end is forgotten");
    broadcast_rc = 0;
    daemon_core_destroy(core);
}

static void test_root(void)
{
    struct job_target all = {1, JOB_RANK_ALL}, two[] = {{1, 0}, {2, 3}}, none[] = {{1, 9}, {5, 0}};
    struct ranges dead = {0};
    struct daemon_core *core = core_at(0);

    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    lone_core_run(core, UINT32_MAX);
    lone_core_run(core, UINT32_MAX);
    ask(core, 2, 1, notice(3, 0, &all, 1));
    heard("reply to 2.1: -2\n", "a job that there is not");
    ask(core, 2, 2, notice(1, 0, &all, 1));
    heard("broadcast to 1-4, 34 bytes\nreply to 2.2: 0\n", "a job is told on all its nodes");
    ask(core, 2, 2, notice(1, 0, &all, 1));
    heard("reply to 2.2: 0\n", "once, however often it is asked");
    ask(core, 3, 1, notice(1, 3, &all, 1));
    heard("broadcast to 1-2,4, 34 bytes\nreply to 3.1: 0\n", "but where it has been told");
    ask(core, 2, 1, notice(2, 0, two, 2));
    heard("broadcast to 1,4, 42 bytes\nreply to 2.1: 0\n", "a list of processes, by another job");
    broadcast_rc = -EAGAIN;
    ask(core, 2, 3, notice(1, 0, NULL, 0));
    broadcast_rc = 0;
    ask(core, 2, 4, notice(1, 0, NULL, 0));
    heard("broadcast to all, 26 bytes\nreply to 2.3: -11\n"
          "broadcast to all, 26 bytes\nreply to 2.4: 0\n",
          "everyone, as soon as that is possible");
    ask(core, 2, 5, notice(1, 0, none, 2));
    heard("reply to 2.5: 0\n", "nobody");
    ranges_add(&dead, 4, 4);
    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_LOST, .places = &dead});
    ask(core, 2, 6, notice(1, 0, &all, 1));
    heard("broadcast to 1-3, 34 bytes\nreply to 2.6: 0\n", "a node that is lost is left out");
    is_uint(hash_map_count(core->root->notices), 3, "who has told what is remembered");
    daemon_core_notice_forget(core, 1);
    is_uint(hash_map_count(core->root->notices), 1, "as long as the job lives");
    ranges_fini(&dead);
    daemon_core_destroy(core);
}

/* All processes of a job wait for a debugger. */
static struct message *stopped(uint32_t job, uint32_t stop)
{
    struct job_notice notice = {.number = job, .child = job, .stop = stop};

    return encoded(&notice);
}

static void test_stop(void)
{
    struct daemon_core *core = core_at(0);

    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    lone_core_run(core, UINT32_MAX);
    lone_core_spawn(core, 1);
    ask(core, 4, 1, stopped(1, PMI_STOP_INIT));
    heard("reply to 4.1: 0\n", "nobody has spawned a job that waits for a debugger");
    broadcast_rc = -EAGAIN;
    ask(core, 4, 1, stopped(2, PMI_STOP_INIT));
    broadcast_rc = 0;
    ask(core, 4, 2, stopped(2, PMI_STOP_INIT));
    ask(core, 4, 2, stopped(2, PMI_STOP_INIT));
    heard("broadcast to 1, 30 bytes\nreply to 4.1: -11\n"
          "broadcast to 1, 30 bytes\nreply to 4.2: 0\nreply to 4.2: 0\n",
          "who has spawned one is notified, as soon as that is possible, and once");
    daemon_core_destroy(core);
}

static void broadcast(struct daemon_core *core, struct message *message)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST, .message = message};

    daemon_core_step(core, &event);
    message_release(message);
}

static void test_node(void)
{
    struct job_target all = {1, JOB_RANK_ALL};
    struct daemon_core *core = core_at(2);

    broadcast(core, notice(1, 3, &all, 1));
    broadcast(core, notice(1, 2, NULL, 0));
    heard("notice of 1 for 1: news\n", "a node tells its processes, unless they have been told");
    daemon_core_destroy(core);
}

int main(void)
{
    lone_core_open();
    test_all();
    test_root();
    test_stop();
    test_node();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}
