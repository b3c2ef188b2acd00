/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checker of whole daemons (test/support/daemon_checker.h) against daemons with a fault each: between
 * their cores and the simulated machine one event, one operation or one message goes wrong.  Within
 * some worlds the checker, or an assert of a core, must say so: each fault has a process of its own.
 * The cores are reached where the linker joins them to their
 * callers (--wrap), so nothing that ships knows of this.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/wire.h"
#include "launch/core/daemon_core.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "test/support/daemon_world.h"
#include "test/support/tap.h"

#define WORLDS 600u

/* What goes wrong; ALWAYS from the first time on, else once in a world. */
enum act {
    DROP,
    TWICE,
    OTHER,     /* job, client, place or number */
    MORE,      /* places, or processes */
    FEWER,     /* likewise */
    FALSE_END, /* as if it had ended well, or failed */
    BY_ITSELF  /* as if the daemon had not ended it */
};

enum where {
    EVENT,     /* what: enum daemon_event_kind */
    JOB_EVENT, /* enum job_event_kind */
    SAID,      /* enum control_message, by a client */
    TOLD,      /* enum control_message, to a client */
    RANKS,     /* enum rank_operation */
    BROADCAST, /* enum job_message, as the next */
    SENT,
    CONTRIBUTED, /* enum job_operation */
    TREE         /* enum tree_operation */
};

enum rank_operation { RANKS_START, RANKS_SIGNAL, RANKS_END, RANKS_CUT, RANKS_CREDIT };
enum tree_operation { TREE_FORGET, TREE_REPLY, TREE_LEAVE };

struct fault {
    const char *name;
    enum where where;
    int what;
    enum act act;
    bool always;
};

static const struct fault faults[] = {
    {"the end of a rank is not heard", JOB_EVENT, JOB_EVENT_EXITED, DROP, false},
    {"the end of a rank is heard as a good one", JOB_EVENT, JOB_EVENT_EXITED, FALSE_END, true},
    {"our ending of a rank is heard as its own end", JOB_EVENT, JOB_EVENT_EXITED, BY_ITSELF, true},
    {"a start is not heard", JOB_EVENT, JOB_EVENT_STARTED, DROP, false},
    {"a failed start is not heard", JOB_EVENT, JOB_EVENT_START_FAILED, DROP, false},
    {"an abort is not heard", JOB_EVENT, JOB_EVENT_ABORT, DROP, false},
    {"an end without finalize is not heard", JOB_EVENT, JOB_EVENT_ABNORMAL, DROP, false},
    {"the end of a node's output is not heard", JOB_EVENT, JOB_EVENT_DRAINED, DROP, false},
    {"an empty group is not heard", JOB_EVENT, JOB_EVENT_GROUP_EMPTY, DROP, false},
    {"output is lost at its node", EVENT, DAEMON_EVENT_OUTPUT, DROP, false},
    {"output is forwarded twice", EVENT, DAEMON_EVENT_OUTPUT, TWICE, false},
    {"output is another job's", EVENT, DAEMON_EVENT_OUTPUT, OTHER, false},
    {"a client that hangs up is not noticed", EVENT, DAEMON_EVENT_CLIENT_CLOSED, DROP, false},
    {"another client is taken to hang up", EVENT, DAEMON_EVENT_CLIENT_CLOSED, OTHER, false},
    {"a loss is not heard", EVENT, DAEMON_EVENT_LOST, DROP, false},
    {"a loss is another place's", EVENT, DAEMON_EVENT_LOST, OTHER, false},
    {"a result is not heard", EVENT, DAEMON_EVENT_RESULT, DROP, false},
    {"a result is heard as a failure", EVENT, DAEMON_EVENT_RESULT, FALSE_END, false},
    {"a broadcast is not heard", EVENT, DAEMON_EVENT_BROADCAST, DROP, false},
    {"a message is not heard", EVENT, DAEMON_EVENT_RECEIVED, DROP, false},
    {"a fence that waits is not reported", EVENT, DAEMON_EVENT_MISSING, DROP, true},
    {"the tree's being complete is not heard", EVENT, DAEMON_EVENT_COMPLETE, DROP, true},
    {"a request of the root is not heard", EVENT, DAEMON_EVENT_REQUEST, DROP, true},
    {"an answer is not heard", EVENT, DAEMON_EVENT_REPLY, DROP, true},
    {"timers never end", EVENT, DAEMON_EVENT_TIMER, DROP, true},
    {"a request is not heard", SAID, CONTROL_RUN, DROP, false},
    {"a request is heard twice", SAID, CONTROL_RUN, TWICE, false},
    {"a wish to end is not heard", SAID, CONTROL_END, DROP, false},
    {"a wish to end is another job's", SAID, CONTROL_END, OTHER, false},
    {"a signal is another job's", SAID, CONTROL_SIGNAL, OTHER, false},
    {"a client that detaches is not heard", SAID, CONTROL_DETACH, DROP, true},
    {"a client detaches from another job", SAID, CONTROL_DETACH, OTHER, false},
    {"output that was written is never acknowledged", SAID, CONTROL_OUTPUT_ACK, DROP, true},
    {"the wish that all leave is not heard", SAID, CONTROL_LEAVE, DROP, false},
    {"a report is not sent", TOLD, CONTROL_JOB_END, DROP, false},
    {"a report is sent twice", TOLD, CONTROL_JOB_END, TWICE, false},
    {"a report is sent to another client", TOLD, CONTROL_JOB_END, OTHER, false},
    {"output is not sent", TOLD, CONTROL_OUTPUT, DROP, false},
    {"output is sent twice", TOLD, CONTROL_OUTPUT, TWICE, false},
    {"output is sent to another client", TOLD, CONTROL_OUTPUT, OTHER, false},
    {"a client is not told that its job runs", TOLD, CONTROL_STARTED, DROP, false},
    {"a client is told twice that its job runs", TOLD, CONTROL_STARTED, TWICE, false},
    {"a line is not sent", TOLD, CONTROL_TEXT, DROP, true},
    {"a line is sent to another client", TOLD, CONTROL_TEXT, OTHER, false},
    {"a rank is not started", RANKS, RANKS_START, FEWER, false},
    {"no rank of a node is started", RANKS, RANKS_START, DROP, false},
    {"ranks are started twice", RANKS, RANKS_START, TWICE, false},
    {"the ranks of another job are signalled", RANKS, RANKS_SIGNAL, OTHER, false},
    {"ranks are not ended", RANKS, RANKS_END, DROP, false},
    {"the ranks of another job are ended", RANKS, RANKS_END, OTHER, false},
    {"the rest of the output is not asked for", RANKS, RANKS_CUT, DROP, false},
    {"credit is not given", RANKS, RANKS_CREDIT, DROP, true},
    {"credit is given to another job", RANKS, RANKS_CREDIT, OTHER, true},
    {"a launch reaches too few nodes", BROADCAST, JOB_MESSAGE_LAUNCH, FEWER, false},
    {"a launch reaches all nodes", BROADCAST, JOB_MESSAGE_LAUNCH, MORE, false},
    {"a signal is not broadcast", BROADCAST, JOB_MESSAGE_SIGNAL, DROP, true},
    {"an end is not broadcast", BROADCAST, JOB_MESSAGE_END, DROP, false},
    {"an end reaches too few nodes", BROADCAST, JOB_MESSAGE_END, FEWER, false},
    {"a failure is not sent", SENT, JOB_MESSAGE_RANK_FAILED, DROP, false},
    {"output is not sent to the root", SENT, JOB_MESSAGE_OUTPUT, DROP, false},
    {"a fence that waits is not sent to the root", SENT, JOB_MESSAGE_STALLED, DROP, true},
    {"a start is not contributed", CONTRIBUTED, JOB_OPERATION_LAUNCHED, DROP, false},
    {"a start is contributed to too few", CONTRIBUTED, JOB_OPERATION_LAUNCHED, FEWER, false},
    {"an end is not contributed", CONTRIBUTED, JOB_OPERATION_ENDED, DROP, false},
    {"an end is contributed to too few", CONTRIBUTED, JOB_OPERATION_ENDED, FEWER, false},
    {"operations are never forgotten", TREE, TREE_FORGET, DROP, true},
    {"who is asked about its ranks does not answer", TREE, TREE_REPLY, DROP, false},
    {"the root does not leave", TREE, TREE_LEAVE, DROP, false},
};

/* ---- which fault, and when ---- */

static const struct fault *fault; /* NULL: none */
static uint32_t countdown;        /* to the time at which it happens */
static uint32_t happened;

static bool is_due(enum where where, int what)
{
    if (fault == NULL || fault->where != where || fault->what != what)
        return false;
    if (countdown > 0 && --countdown > 0)
        return false;
    if (happened > 0 && !fault->always)
        return false;
    happened++;
    return true;
}

static uint32_t times(void)
{
    return fault->act == DROP ? 0 : fault->act == TWICE ? 2 : 1;
}

/* Jobs, clients and places are numbered from 1 on. */
static uint32_t other(uint32_t number)
{
    return fault->act != OTHER ? number : number > 1 ? number - 1 : 2;
}

/* ---- events ---- */

void __real_daemon_core_step(struct daemon_core *core, const struct daemon_event *event);
void __wrap_daemon_core_step(struct daemon_core *core, const struct daemon_event *event);

static void step_job(struct daemon_core *core, const struct daemon_event *event)
{
    struct job_event changed = *event->job_event;
    struct daemon_event again = *event;

    again.job_event = &changed;
    if (fault->act == FALSE_END)
        changed.number = 0;
    else if (fault->act == BY_ITSELF)
        changed.flag = 0;
    for (uint32_t i = 0; i < times(); i++)
        __real_daemon_core_step(core, &again);
}

/* Of those about a job its number comes first. */
static void step_said(struct daemon_core *core, const struct daemon_event *event)
{
    struct buffer payload = {0};
    struct daemon_event again = *event;
    struct wire_reader reader;

    wire_reader_init(&reader, event->data, event->data_bytes);
    if (event->type != CONTROL_LEAVE) {
        wire_put_u32(&payload, other(wire_get_u32(&reader)));
        buffer_append(&payload, reader.position, wire_left(&reader));
        again.data = payload.data;
    }
    for (uint32_t i = 0; i < times(); i++)
        __real_daemon_core_step(core, &again);
    buffer_fini(&payload);
}

static void step_changed(struct daemon_core *core, const struct daemon_event *event)
{
    struct daemon_event again = *event;
    struct ranges places = {0};

    again.job = other(event->job);
    if (event->kind == DAEMON_EVENT_LOST && fault->act == OTHER) {
        ranges_add(&places, other(ranges_min(event->places)), other(ranges_min(event->places)));
        again.places = &places;
    } else if (event->kind == DAEMON_EVENT_RESULT && fault->act == FALSE_END) {
        again.status = -EHOSTDOWN;
        again.message = NULL;
    } else if (event->kind == DAEMON_EVENT_CLIENT_CLOSED) {
        again.place = other(event->place);
    }
    for (uint32_t i = 0; i < times(); i++)
        __real_daemon_core_step(core, &again);
    ranges_fini(&places);
}

void __wrap_daemon_core_step(struct daemon_core *core, const struct daemon_event *event)
{
    if (event->kind == DAEMON_EVENT_JOB && is_due(JOB_EVENT, (int)event->job_event->kind))
        step_job(core, event);
    else if (event->kind == DAEMON_EVENT_CLIENT_MESSAGE && is_due(SAID, event->type))
        step_said(core, event);
    else if (is_due(EVENT, (int)event->kind))
        step_changed(core, event);
    else
        __real_daemon_core_step(core, event);
}

/* ---- operations on ranks and clients ---- */

static struct daemon_ops real_ops; /* all daemons have the same */

static void ranks_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
    bool due = is_due(RANKS, RANKS_START);

    for (uint32_t i = 0; i < (due ? times() : 1); i++)
        real_ops.ranks->start(context, job, first, count - (due && fault->act == FEWER));
}

static void ranks_signal(void *context, uint32_t job, int number, const struct ranges *ranks)
{
    real_ops.ranks->signal(context, is_due(RANKS, RANKS_SIGNAL) ? other(job) : job, number, ranks);
}

static void ranks_end(void *context, uint32_t job, uint32_t grace_ms)
{
    bool due = is_due(RANKS, RANKS_END);

    for (uint32_t i = 0; i < (due ? times() : 1); i++)
        real_ops.ranks->end(context, due ? other(job) : job, grace_ms);
}

static void ranks_cut(void *context, uint32_t job, uint32_t within_ms, bool discard)
{
    if (!is_due(RANKS, RANKS_CUT))
        real_ops.ranks->cut_output(context, job, within_ms, discard);
}

static void ranks_credit(void *context, uint32_t job, uint32_t bytes)
{
    bool due = is_due(RANKS, RANKS_CREDIT);

    for (uint32_t i = 0; i < (due ? times() : 1); i++)
        real_ops.ranks->credit(context, due ? other(job) : job, bytes);
}

static void clients_send(void *context, uint32_t client, uint8_t type, const void *data,
                         size_t bytes)
{
    bool due = is_due(TOLD, type);

    for (uint32_t i = 0; i < (due ? times() : 1); i++)
        real_ops.clients->send(context, due ? other(client) : client, type, data, bytes);
}

struct daemon_core *__real_daemon_core_create(const struct daemon_core_config *config);
struct daemon_core *__wrap_daemon_core_create(const struct daemon_core_config *config);

struct daemon_core *__wrap_daemon_core_create(const struct daemon_core_config *config)
{
    static struct daemon_rank_ops ranks;
    static struct daemon_client_ops clients;
    static struct daemon_ops ops;
    struct daemon_core_config changed = *config;

    real_ops = ops = *config->ops;
    ranks = *real_ops.ranks;
    ranks.start = ranks_start;
    ranks.signal = ranks_signal;
    ranks.end = ranks_end;
    ranks.cut_output = ranks_cut;
    ranks.credit = ranks_credit;
    clients = *real_ops.clients;
    clients.send = clients_send;
    ops.ranks = &ranks;
    ops.clients = &clients;
    changed.ops = &ops;
    return __real_daemon_core_create(&changed);
}

/* ---- operations on the tree ---- */

static struct daemon_tree_ops real_tree;

/* All but the highest, if there are others. */
static void fewer(const struct ranges *places, struct ranges *ret_places)
{
    ranges_copy(ret_places, places);
    if (fault->act == FEWER && ranges_count(places) > 1)
        ranges_remove(ret_places, ranges_max(places), ranges_max(places));
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct ranges reached = {0};
    int rc = 0;

    if (!is_due(BROADCAST, message->data[0]) || places == NULL)
        return real_tree.broadcast(context, places, message);
    fewer(places, &reached);
    if (times() == 0)
        message_release(message);
    else
        rc = real_tree.broadcast(context, fault->act == MORE ? NULL : &reached, message);
    ranges_fini(&reached);
    return rc;
}

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    if (is_due(SENT, message->data[0]))
        message_release(message);
    else
        real_tree.send(context, place, class, message);
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    struct ranges set = {0};

    if (!is_due(CONTRIBUTED, key->kind)) {
        real_tree.contribute(context, key, places, message);
        return;
    }
    fewer(places, &set);
    if (times() == 0)
        message_release(message);
    else
        real_tree.contribute(context, key, &set, message);
    ranges_fini(&set);
}

static void tree_forget(void *context, uint32_t owner, const struct ranges *places)
{
    if (!is_due(TREE, TREE_FORGET))
        real_tree.forget(context, owner, places);
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    if (is_due(TREE, TREE_REPLY))
        message_release(message);
    else
        real_tree.reply(context, source, id, message);
}

static void tree_leave(void *context)
{
    if (!is_due(TREE, TREE_LEAVE))
        real_tree.leave(context);
}

void __real_daemon_core_attach(struct daemon_core *core, const struct daemon_tree_ops *ops,
                               void *tree);
void __wrap_daemon_core_attach(struct daemon_core *core, const struct daemon_tree_ops *ops,
                               void *tree);

void __wrap_daemon_core_attach(struct daemon_core *core, const struct daemon_tree_ops *ops,
                               void *tree)
{
    static struct daemon_tree_ops changed;

    real_tree = changed = *ops;
    changed.broadcast = tree_broadcast;
    changed.send = tree_send;
    changed.contribute = tree_contribute;
    changed.forget = tree_forget;
    changed.reply = tree_reply;
    changed.leave = tree_leave;
    __real_daemon_core_attach(core, &changed, tree);
}

/* ---- main ---- */

struct finding {
    uint32_t world; /* 0: nothing is seen in all of them */
    uint32_t times; /* worlds in which it happened */
    char wrong[512];
};

static void hunt(struct finding *finding)
{
    struct daemon_totals totals = {0};

    for (uint32_t world = 1; world <= WORLDS; world++) {
        countdown = 1 + world % 4;
        happened = 0;
        finding->world = world;
        daemon_world_run(world, false, &totals, finding->wrong);
        finding->times += happened > 0;
        if (finding->wrong[0] != '\0')
            return;
    }
    finding->world = 0;
}

/* In a process of its own, which an assert may end: what is then in the finding is its world. */
static struct finding hunt_apart(void)
{
    struct finding *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct finding finding;
    int status = 0;
    pid_t pid;

    if (shared == MAP_FAILED || (fflush(stdout), pid = fork()) < 0)
        bail_out("no process of its own: %s", strerror(errno));
    if (pid == 0) {
        hunt(shared);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    finding = *shared;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)
        snprintf(finding.wrong, sizeof(finding.wrong), "an assert fails");
    else if (status != 0)
        bail_out("%s: its process ended with status %d", fault ? fault->name : "no fault", status);
    munmap(shared, sizeof(*shared));
    return finding;
}

int main(void)
{
    struct finding finding;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        fault = &faults[i];
        finding = hunt_apart();
        ok(finding.world > 0, "%s: seen after %u worlds with it (seed %u): %s", fault->name,
           finding.times, finding.world, finding.wrong);
    }
    fault = NULL;
    finding = hunt_apart();
    is_uint(finding.world, 0, "nothing is seen in %u worlds without a fault%s", WORLDS,
            finding.wrong);
    return done_testing();
}
