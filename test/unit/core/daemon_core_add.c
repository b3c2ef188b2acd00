/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client adds nodes (launch/core/daemon_core_add.c): the test plays the client of a root of four nodes, the tree, and
 * the starter.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <string.h>

#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/node_list.h"
#include "overlay/tree.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 2u
#define OTHER  3u

static struct buffer heard;  /* what clients are answered, "2: " before it */
static struct buffer called; /* what the tree and the starter are asked for */
static uint32_t population;
static bool is_complete, has_no_room;
static struct ranges missing; /* have not joined */
static uint64_t due_ns;

/* ---- the machine ---- */

static void take_list(struct wire_reader *reader)
{
    struct node_list list;
    struct buffer names = {0};

    if (node_list_decode(&list, reader) < 0) {
        buffer_append_string(&heard, "no list");
        return;
    }
    hostlist_print(list.names, &names);
    buffer_printf(&heard, "%s%s", list.why, buffer_string(&names));
    buffer_fini(&names);
    node_list_fini(&list);
}

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    struct control_answer answer;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type != CONTROL_ANSWER || control_answer_decode(&answer, &reader) < 0)
        return;
    buffer_printf(&heard, "%u: ", client);
    wire_reader_init(&reader, answer.data.data, answer.data.length_bytes);
    take_list(&reader);
}

static void set_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    if (timer == DAEMON_TIMER_ADD)
        due_ns = deadline_ns;
}

static void renew_credit(void *context)
{
}

static void pmi_lost(void *context, const struct ranges *places)
{
}

static void starter_linked(void *context, uint32_t place)
{
}

static void starter_clean(void *context, uint32_t place)
{
    buffer_printf(&called, "clean %u ", place);
}

static void starter_grow(void *context, uint32_t first, const struct hostlist *names)
{
    struct buffer text = {0};

    hostlist_print(names, &text);
    buffer_printf(&called, "%u is %s ", first, buffer_string(&text));
    buffer_fini(&text);
}

static void starter_start_new(void *context, uint32_t place)
{
    buffer_printf(&called, "start %u ", place);
}

static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_rank_ops rank_ops = {.renew_credit = renew_credit};
static const struct daemon_pmi_ops pmi_ops = {.lost = pmi_lost};
static const struct daemon_starter_ops starter_ops = {.linked = starter_linked,
                                                      .clean = starter_clean,
                                                      .grow = starter_grow,
                                                      .start_new = starter_start_new};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .timer = set_timer,
                                      .ranks = &rank_ops,
                                      .pmi = &pmi_ops,
                                      .starter = &starter_ops,
                                      .clients = &client_ops};

/* ---- the tree ---- */

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    if (message->data[0] == JOB_MESSAGE_ROSTER)
        buffer_append_string(&called, "roster ");
    message_release(message);
    return 0;
}

static int tree_shrink(void *context, const struct ranges *places)
{
    buffer_append_string(&called, "shrink ");
    ranges_print(places, &called);
    buffer_append_string(&called, " ");
    return 0;
}

static uint32_t tree_grow(void *context, uint32_t count)
{
    uint32_t first = population;

    if (has_no_room)
        return TREE_NO_PLACE;
    population += count;
    is_complete = false;
    return first;
}

static bool tree_has_room(void *context)
{
    return !has_no_room;
}

static int tree_is_complete(void *context)
{
    return is_complete;
}

static void tree_place_failed(void *context, uint32_t place)
{
    buffer_printf(&called, "failed %u ", place);
}

static void tree_missing(void *context, struct ranges *ret_places)
{
    ranges_copy(ret_places, &missing);
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .shrink = tree_shrink,
                                                .grow = tree_grow,
                                                .has_room = tree_has_room,
                                                .is_complete = tree_is_complete,
                                                .missing = tree_missing,
                                                .place_failed = tree_place_failed};

/* ---- what happens ---- */

static struct daemon_core *begin(bool is_up)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    population = LONE_CORE_NODES + 1;
    is_complete = is_up;
    lone_core_greet(core, CLIENT, CONTROL_WANTS_ROSTER);
    lone_core_greet(core, OTHER, CONTROL_WANTS_ROSTER);
    if (is_up)
        lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    return core;
}

static void adds(struct daemon_core *core, uint32_t client, const char *hosts)
{
    static char none[] = "";
    struct node_list_request nodes = {.order = NODE_LIST_ADD, .names = none};
    struct control_request request = {.request = 1, .kind = JOB_MESSAGE_NODES};
    struct buffer payload = {0}, data = {0};

    allocation_init(&nodes.nodes);
    (void)allocation_parse_hosts(&nodes.nodes, hosts, NULL);
    node_list_request_encode(&nodes, &data);
    allocation_fini(&nodes.nodes);
    request.data = (struct wire_bytes){data.data, data.length_bytes};
    control_request_encode(&request, &payload);
    lone_core_say(core, client, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(&data);
}

static void hears(const char *expected, const char *what)
{
    is_string(buffer_string(&heard), expected, "%s", what);
    buffer_clear(&heard);
}

static void calls(const char *expected, const char *what)
{
    is_string(buffer_string(&called), expected, "%s", what);
    buffer_clear(&called);
}

static void links(struct daemon_core *core, uint32_t place)
{
    daemon_core_step(core, &(struct daemon_event){.kind = DAEMON_EVENT_LINKED, .place = place});
}

static void completes(struct daemon_core *core)
{
    is_complete = true;
    daemon_core_step(core, &(struct daemon_event){.kind = DAEMON_EVENT_COMPLETE});
}

static void fails(struct daemon_core *core, uint32_t place, const char *why)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_PLACE_FAILED, .place = place, .text = why, .type = 1};

    daemon_core_step(core, &event);
}

static void loses(struct daemon_core *core, uint32_t first, uint32_t last, bool has_left)
{
    struct ranges places = {0};
    struct daemon_event lost = {
        .kind = DAEMON_EVENT_LOST, .places = &places, .number = has_left ? 1 : 0};

    ranges_add(&places, first, last);
    daemon_core_step(core, &lost);
    ranges_fini(&places);
}

static uint64_t slots(const struct daemon_core *core)
{
    return allocation_slots(instance_usable(core->instance));
}

/* ---- tests ---- */

static void test_refused(void)
{
    struct daemon_core *core = begin(false);

    adds(core, CLIENT, "m1");
    hears("2: the instance is starting or ending", "nothing is added during the start");
    daemon_core_destroy(core);
    core = begin(true);
    adds(core, CLIENT, "m1,n2");
    hears("2: node n2 is part of the instance already", "nor a node that is there");
    has_no_room = true;
    adds(core, CLIENT, "m1");
    hears("2: nodes cannot be added at the moment; try again", "nor while too much is under way");
    has_no_room = false;
    calls("", "then nothing is done");
    daemon_core_destroy(core);
    lone_core_start_by(STARTER_JOIN);
    core = begin(true);
    adds(core, CLIENT, "m1");
    hears("2: the daemons of this instance are started with tokens (--starter join), and there are "
          "none for new nodes; start an instance with them",
          "nor by a starter that cannot");
    daemon_core_destroy(core);
    lone_core_start_by(STARTER_SSH);
}

static void test_added(void)
{
    struct daemon_core *core = begin(true);

    adds(core, CLIENT, "m[1-2]:3");
    calls("5 is m[1-2] start 5 start 6 ", "the tree grows and the daemons are started");
    adds(core, OTHER, "m2");
    hears("3: node m2 is being added already", "another cannot have the same");
    adds(core, OTHER, "m3");
    links(core, 5);
    links(core, 6);
    hears("", "a daemon that connects has not joined yet");
    is_uint(slots(core), 8, "nor its slots");
    completes(core);
    hears("2: m[1-2]", "when all have the client is answered");
    is_uint(slots(core), 14, "and the slots can be used");
    calls("roster 7 is m3 start 7 ", "all places hear of them, and the next addition begins");
    links(core, 7);
    completes(core);
    hears("3: m3", "which succeeds as well");
    calls("roster ", "and is told");
    loses(core, 6, 6, false);
    calls("clean 6 ", "who dies later is cleaned up after by the root");
    daemon_core_destroy(core);
}

static void test_failed(void)
{
    struct daemon_core *core = begin(true);

    adds(core, CLIENT, "m[1-4]");
    buffer_clear(&called);
    links(core, 5);
    fails(core, 6, "ssh exited 255");
    fails(core, 8, "ssh exited 255");
    loses(core, 6, 6, false);
    loses(core, 7, 8, false);
    calls("failed 6 failed 8 clean 6 clean 7 clean 8 ", "of four daemons three do not come up");
    completes(core);
    calls("roster shrink 5 ", "the fourth leaves again");
    hears("", "and is waited for");
    is_uint(slots(core), 8, "there are no more slots");
    loses(core, 5, 5, true);
    hears("2: cannot start daemons on m[2,4] (2 nodes): ssh exited 255\n"
          "cannot start the daemon on m3: its daemon exited before it had joined\n"
          "no node was added, also not the other 1",
          "the client gets a line for each reason");
    calls("", "nothing else is done");
    adds(core, CLIENT, "m1");
    calls("9 is m1 start 9 ", "a name can be tried again");
    links(core, 9);
    completes(core);
    hears("2: m1", "and is added");
    daemon_core_destroy(core);
    buffer_clear(&called);
}

static void test_gone(void)
{
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = CLIENT};
    struct daemon_core *core = begin(true);

    adds(core, CLIENT, "m[1-2]");
    adds(core, CLIENT, "m3");
    links(core, 5);
    buffer_clear(&called);
    daemon_core_step(core, &closed);
    calls("failed 6 ", "a client goes: what has not come up is not waited for");
    loses(core, 6, 6, false);
    completes(core);
    calls("clean 6 roster shrink 5 ", "and what has leaves again");
    loses(core, 5, 5, true);
    calls("", "its other wish is forgotten");
    hears("", "nobody is answered");
    ok(list_is_empty(&core->root->additions), "and nothing is left");
    adds(core, OTHER, "m4");
    buffer_clear(&called);
    daemon_core_destroy(core);
}

/* A daemon that connects and never joins. */
static void test_due(void)
{
    struct daemon_event due = {.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_ADD};
    struct daemon_core *core = begin(true);

    due_ns = 0;
    adds(core, CLIENT, "m[1-2]");
    ok(due_ns > 0, "something must be heard within some time");
    links(core, 5);
    due_ns = 0;
    links(core, 6);
    ok(due_ns > 0, "and once more when a daemon has connected");
    ranges_add(&missing, 6, 6);
    buffer_clear(&called);
    daemon_core_step(core, &due);
    calls("failed 6 ", "when that is over who has not joined is not waited for");
    loses(core, 6, 6, false);
    completes(core);
    loses(core, 5, 5, true);
    hears("2: cannot start the daemon on m2: it has not joined within 10 s (--start-timeout)\n"
          "no node was added, also not the other 1",
          "the client hears of it");
    buffer_clear(&called);
    daemon_core_step(core, &due);
    calls("", "and nothing is due any more");
    ranges_fini(&missing);
    daemon_core_destroy(core);
}

/* More nodes than are started at a time. */
static void test_many(void)
{
    struct daemon_core *core = begin(true);

    adds(core, CLIENT, "m[1-70]");
    is_string(strstr(buffer_string(&called), "start 67 "), "start 67 start 68 ",
              "the first 64 are started");
    buffer_clear(&called);
    links(core, 40);
    fails(core, 5, "ssh exited 255");
    calls("start 69 failed 5 start 70 ", "for each that connects or fails another is");
    daemon_core_destroy(core);
}

/* srun and the like start all with one call. */
static void test_at_once(void)
{
    struct daemon_core *core;

    lone_core_start_by(STARTER_SRUN);
    core = begin(true);
    adds(core, CLIENT, "m[1-70]");
    is_string(strstr(buffer_string(&called), "start 73 "), "start 73 start 74 ",
              "a starter that starts all at once starts all");
    buffer_clear(&called);
    fails(core, 5, "srun exited 1");
    calls("failed 5 ", "and no more when one fails");
    daemon_core_destroy(core);
    lone_core_start_by(STARTER_SSH);
}

int main(void)
{
    lone_core_open();
    test_refused();
    test_added();
    test_failed();
    test_gone();
    test_due();
    test_many();
    test_at_once();
    lone_core_close();
    buffer_fini(&heard);
    buffer_fini(&called);
    return done_testing();
}
