/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi1.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/wire.h"
#include "pmix/pmi1_wire.h"

#define CLIENTS 2
#define JOB     5

/* One node's server and all that it said. */
struct endpoint {
    struct pmi1_server *server;
    struct buffer replies[CLIENTS];
    struct buffer puts; /* of the last barrier that it asked for */
    int barriers;
    uint64_t barrier_id;
    int connected;
    int finalized;
    int aborts;
    int refusals;
    int abort_status;
    int done_at_once; /* 1: a barrier is answered within the call */
};

/* All nodes' data of the last barrier. */
static void barrier_done(struct endpoint *node, int status, const void *data, size_t bytes)
{
    pmi1_events.done(node->server, node->barrier_id, status, data, bytes);
}

static void on_reply(void *context, uint32_t index, const void *data, size_t bytes)
{
    buffer_append(&((struct endpoint *)context)->replies[index], data, bytes);
}

static void on_barrier(void *context, const struct pmi_collective *barrier)
{
    struct endpoint *node = context;

    node->barriers += barrier->kind == PMI_BARRIER && barrier->members_count == 1 &&
                      barrier->members[0].job == JOB && barrier->members[0].rank == PMI_RANK_ALL;
    node->barrier_id = barrier->id;
    buffer_clear(&node->puts);
    buffer_append(&node->puts, barrier->data, barrier->data_bytes);
    if (node->done_at_once)
        barrier_done(node, 0, barrier->data, barrier->data_bytes);
}

static void on_connected(void *context, const struct pmi_process *process)
{
    ((struct endpoint *)context)->connected += process->job == JOB;
}

static void on_finalized(void *context, const struct pmi_process *process)
{
    ((struct endpoint *)context)->finalized += process->job == JOB;
}

static void on_unserved(void *context, const struct pmi_process *process, enum pmi_service service)
{
    ((struct endpoint *)context)->refusals += process->job == JOB && service != PMI_SERVICE_EVENT;
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *message, const struct pmi_process *targets, size_t targets_count)
{
    ((struct endpoint *)context)->aborts += id == 0 && caller->job == JOB && targets_count == 0;
    ((struct endpoint *)context)->abort_status = status;
}

static void node_init(struct endpoint *node, uint32_t first_rank, const char *mapping)
{
    struct pmi_ops ops = {.context = node,
                          .connected = on_connected,
                          .finalized = on_finalized,
                          .collective = on_barrier,
                          .abort = on_abort,
                          .unserved = on_unserved};
    uint32_t ranks[CLIENTS] = {first_rank, first_rank + 1}, apps[CLIENTS] = {0, 3};
    struct pmi1_config config = {
        .job = JOB,
        .kvs_name = "job",
        .size = 4,
        .universe_size = 16,
        .local_count = CLIENTS,
        .local_ranks = ranks,
        .local_apps = apps,
        .process_mapping = mapping,
        .ops = &ops,
        .reply = on_reply,
    };

    memset(node, 0, sizeof(*node));
    node->server = pmi1_create(&config);
}

static void node_fini(struct endpoint *node)
{
    pmi1_destroy(node->server);
    buffer_fini(&node->puts);
    for (int i = 0; i < CLIENTS; i++)
        buffer_fini(&node->replies[i]);
}

/* Says text and returns what was answered. */
static const char *say(struct endpoint *node, uint32_t index, const char *text)
{
    struct error error = ERROR_NONE;

    buffer_clear(&node->replies[index]);
    if (pmi1_input(node->server, index, text, strlen(text), &error) < 0)
        return "refused";
    return buffer_string(&node->replies[index]);
}

static const char *refusal(struct endpoint *node, uint32_t index, const char *text)
{
    static struct error error;

    error = ERROR_NONE;
    is_int(pmi1_input(node->server, index, text, strlen(text), &error), -EPROTO, "-EPROTO");
    return error.text;
}

static const char init[] = "cmd=init pmi_version=1 pmi_subversion=1\n";

static void test_dialogue(void)
{
    struct endpoint node;

    node_init(&node, 0, "(vector,(0,2,2))");
    is_string(say(&node, 0, init), "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
              "init");
    is_int(node.connected, 1, "the owner is told of it");
    is_string(say(&node, 0, "cmd=get_maxes\n"),
              "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0\n", "get_maxes");
    is_string(say(&node, 0, "cmd=get_appnum\n"), "cmd=appnum appnum=0 rc=0\n", "get_appnum");
    say(&node, 1, init);
    is_string(say(&node, 1, "cmd=get_appnum\n"), "cmd=appnum appnum=3 rc=0\n",
              "of another application");
    is_string(say(&node, 0, "cmd=get_my_kvsname\n"), "cmd=my_kvsname kvsname=job rc=0\n",
              "get_my_kvsname");
    is_string(say(&node, 0, "cmd=get_universe_size\n"), "cmd=universe_size size=16 rc=0\n",
              "get_universe_size");
    is_string(say(&node, 0, "cmd=get kvsname=job key=PMI_process_mapping\n"),
              "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n", "the process mapping");
    is_string(say(&node, 0, "cmd=put kvsname=job key=a value=one two=2\n"),
              "cmd=put_result rc=0 msg=success\n", "put");
    is_string(say(&node, 1, "cmd=get kvsname=job key=a\n"),
              "cmd=get_result rc=0 msg=success value=one two=2\n",
              "a neighbour sees it; blanks belong to the value");
    is_string(say(&node, 1, "cmd=get kvsname=job key=b\n"),
              "cmd=get_result rc=-1 msg=key_b_not_found value=unknown\n", "a missing key");
    is_string(say(&node, 1, "cmd=get kvsname=other key=a\n"),
              "cmd=get_result rc=-1 msg=kvsname_not_found value=unknown\n", "a foreign space");
    is_string(say(&node, 0, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n", "finalize");
    is_int(node.finalized, 1, "the owner is told of it");
    is_int(pmi1_closed(node.server, 0), 0, "a close after finalize is normal");
    is_int(pmi1_closed(node.server, 1), 1, "a close after init alone is not");
    node_fini(&node);
}

/* The same dialogue byte by byte, and as one piece. */
static void test_pieces(void)
{
    static const char all[] = "cmd=init pmi_version=1 pmi_subversion=1\n"
                              "cmd=get_appnum\ncmd=put kvsname=job key=k value=v\n"
                              "cmd=get kvsname=job key=k\ncmd=finalize\n";
    struct endpoint whole, pieces;
    int held = 1;

    node_init(&whole, 0, "");
    node_init(&pieces, 0, "");
    say(&whole, 0, all);
    for (size_t i = 0; i < strlen(all); i++)
        held = held && pmi1_input(pieces.server, 0, all + i, 1, NULL) == 0;
    ok(held, "single bytes are taken");
    is_string(buffer_string(&pieces.replies[0]), buffer_string(&whole.replies[0]),
              "and give the same answers as one piece");
    has_string(buffer_string(&whole.replies[0]), "finalize_ack", "down to the last");
    node_fini(&whole);
    node_fini(&pieces);
}

static void test_barrier(void)
{
    struct endpoint nodes[2];
    struct buffer all = {0};
    char line[64];

    for (uint32_t n = 0; n < 2; n++) {
        node_init(&nodes[n], n * 2, "");
        for (uint32_t i = 0; i < CLIENTS; i++) {
            say(&nodes[n], i, init);
            snprintf(line, sizeof(line), "cmd=put kvsname=job key=k%u value=v%u\n", n * 2 + i,
                     n * 2 + i);
            say(&nodes[n], i, line);
        }
        is_string(say(&nodes[n], 0, "cmd=barrier_in\n"), "", "the first waits");
        is_int(nodes[n].barriers, 0, "for its neighbour");
        is_string(say(&nodes[n], 1, "cmd=barrier_in\n"), "", "then both wait");
        is_int(nodes[n].barriers, 1, "for the other node");
        buffer_append(&all, nodes[n].puts.data, nodes[n].puts.length_bytes);
    }
    has_string(say(&nodes[0], 0, "cmd=get kvsname=job key=k3\n"), "refused",
               "who waits says nothing else");
    for (uint32_t n = 0; n < 2; n++) {
        buffer_clear(&nodes[n].replies[1]);
        barrier_done(&nodes[n], 0, all.data, all.length_bytes);
        is_string(buffer_string(&nodes[n].replies[1]), "cmd=barrier_out rc=0\n", "all go on");
        barrier_done(&nodes[n], 0, all.data, all.length_bytes);
        is_string(buffer_string(&nodes[n].replies[1]), "cmd=barrier_out rc=0\n",
                  "a second answer is ignored");
        is_string(say(&nodes[n], 1, "cmd=get kvsname=job key=k3\n"),
                  "cmd=get_result rc=0 msg=success value=v3\n", "and know every value");
        is_string(say(&nodes[n], 1, "cmd=get kvsname=job key=k0\n"),
                  "cmd=get_result rc=0 msg=success value=v0\n", "of either node");
    }
    buffer_fini(&all);
    node_fini(&nodes[0]);
    node_fini(&nodes[1]);
}

static void test_barrier_ends(void)
{
    struct buffer unnamed = {0};
    struct endpoint node;

    node_init(&node, 0, "");
    node.done_at_once = 1;
    say(&node, 0, init);
    say(&node, 1, init);
    say(&node, 0, "cmd=barrier_in\n");
    is_string(say(&node, 1, "cmd=barrier_in\n"), "cmd=barrier_out rc=0\n",
              "a barrier may be done within the call");
    node.done_at_once = 0;
    say(&node, 0, "cmd=barrier_in\n");
    say(&node, 1, "cmd=barrier_in\n");
    barrier_done(&node, -ETIMEDOUT, NULL, 0);
    is_string(buffer_string(&node.replies[1]), "cmd=barrier_out rc=-1 msg=barrier_failed\n",
              "a barrier may fail");
    say(&node, 0, "cmd=barrier_in\n");
    say(&node, 1, "cmd=barrier_in\n");
    buffer_clear(&node.replies[1]);
    barrier_done(&node, 0, "\x05ugly", 5);
    is_string(buffer_string(&node.replies[1]), "cmd=barrier_out rc=-1 msg=barrier_failed\n",
              "also by what another node sent");
    pmi1_wire_encode_put("", "value", &unnamed);
    say(&node, 0, "cmd=barrier_in\n");
    say(&node, 1, "cmd=barrier_in\n");
    buffer_clear(&node.replies[1]);
    barrier_done(&node, 0, unnamed.data, unnamed.length_bytes);
    is_string(buffer_string(&node.replies[1]), "cmd=barrier_out rc=-1 msg=barrier_failed\n",
              "or if that has a value without a key");
    buffer_fini(&unnamed);
    say(&node, 0, "cmd=barrier_in\n");
    is_int(node.barriers, 4, "one waits");
    is_int(pmi1_closed(node.server, 1), 1, "the other dies");
    is_int(node.barriers, 5, "and is not waited for");
    node_fini(&node);

    node_init(&node, 0, "");
    say(&node, 0, init);
    say(&node, 1, init);
    say(&node, 0, "cmd=barrier_in\n");
    is_int(pmi1_closed(node.server, 0), 1, "one dies in the barrier");
    say(&node, 1, "cmd=barrier_in\n");
    is_int(node.barriers, 1, "the other goes on alone");
    node_fini(&node);
}

static void test_refusals(void)
{
    struct endpoint node;
    struct buffer text = {0};

    node_init(&node, 0, "");
    has_string(refusal(&node, 0, "cmd=get_maxes\n"), "wrong time: cmd=get_maxes", "before init");
    is_string(say(&node, 1, "cmd=init pmi_version=2 pmi_subversion=0\n"), "refused",
              "another version");
    has_string(buffer_string(&node.replies[1]), "rc=-1", "which the client is told");
    node_fini(&node);

    node_init(&node, 0, "");
    say(&node, 0, init);
    has_string(refusal(&node, 0, "cmd=dance on=table\n"), "unknown command: cmd=dance",
               "an unknown command is named");
    has_string(refusal(&node, 0, "\n"), "unknown", "an empty line");
    has_string(refusal(&node, 0, "cmd\n"), "unknown", "half a line");
    has_string(refusal(&node, 0, "= = =\n"), "unknown", "signs");
    has_string(refusal(&node, 0, init), "wrong time", "a second init");
    is_int(pmi1_input(node.server, 0, "cmd=get\0", 8, NULL), -EPROTO, "a NUL byte");
    for (int i = 0; i < 5000; i++)
        buffer_append(&text, "x", 1);
    has_string(refusal(&node, 0, buffer_string(&text)), "longer than", "a line without end");
    buffer_fini(&text);
    node_fini(&node);
}

static void test_limits(void)
{
    struct endpoint node;
    struct buffer line = {0};
    const char *answer;

    node_init(&node, 0, "");
    say(&node, 0, init);
    buffer_printf(&line, "cmd=put kvsname=job key=%063d value=%01023d\n", 7, 8);
    is_string(say(&node, 0, buffer_string(&line)), "cmd=put_result rc=0 msg=success\n",
              "the longest key and value");
    buffer_clear(&line);
    buffer_printf(&line, "cmd=get kvsname=job key=%063d\n", 7);
    answer = say(&node, 0, buffer_string(&line));
    ok(strlen(answer) == strlen("cmd=get_result rc=0 msg=success value=\n") + 1023, "come back");
    buffer_clear(&line);
    buffer_printf(&line, "cmd=put kvsname=job key=%064d value=1\n", 7);
    has_string(say(&node, 0, buffer_string(&line)), "rc=-1 msg=key_missing_or_too_long",
               "a longer key");
    buffer_clear(&line);
    buffer_printf(&line, "cmd=put kvsname=job key=a value=%01024d\n", 7);
    has_string(say(&node, 0, buffer_string(&line)), "rc=-1 msg=value_missing_or_too_long",
               "a longer value");
    has_string(say(&node, 0, "cmd=put kvsname=job value=1\n"), "rc=-1", "no key");
    has_string(say(&node, 0, "cmd=put kvsname=job key=a\n"), "rc=-1", "no value");
    has_string(say(&node, 0, "cmd=put kvsname=job key= value=1\n"), "rc=-1", "an empty key");
    has_string(say(&node, 0, "cmd=put kvsname=job key=a value=\n"), "rc=0", "an empty value");
    buffer_fini(&line);
    node_fini(&node);
}

static void test_rest(void)
{
    struct endpoint node;

    node_init(&node, 0, "");
    say(&node, 0, init);
    has_string(say(&node, 0, "cmd=publish_name service=s port=p\n"), "cmd=publish_result",
               "publishing has an answer");
    has_string(buffer_string(&node.replies[0]), "rc=-1", "which is no");
    has_string(say(&node, 0, "cmd=unpublish_name service=s\n"), "cmd=unpublish_result", "as has");
    has_string(say(&node, 0, "cmd=lookup_name service=s\n"), "cmd=lookup_result", "the rest");
    is_string(say(&node, 0,
                  "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=2\nspawnssofar=1\n"
                  "argcnt=0\nendcmd\n"),
              "", "a spawn in two parts");
    is_string(say(&node, 0, "mcmd=spawn\nnprocs=1\ntotspawns=2\nspawnssofar=2\nendcmd\n"),
              "cmd=spawn_result rc=-1 msg=spawning_is_not_supported\n", "is refused once");
    is_int(node.refusals, 4, "the owner is told of each");
    has_string(say(&node, 0, "cmd=get_appnum\n"), "appnum=0", "and nothing is left over");
    say(&node, 0, "cmd=abort exitcode=9\n");
    ok(node.aborts == 1 && node.abort_status == 9, "abort with its code");
    say(&node, 0, "cmd=barrier_in\n");
    say(&node, 0, "cmd=abort exitcode=99999999999999999999\n");
    ok(node.aborts == 2 && node.abort_status == 1, "abort in a barrier, with a code beyond all");
    node_fini(&node);
}

static void test_mapping(void)
{
    struct pmi1_run regular = {0, 4, 8}, irregular[] = {{0, 2, 8}, {2, 1, 3}, {0, 1, 1}};
    struct pmi1_run many[200];
    struct buffer out = {0};

    pmi1_mapping(&regular, 1, &out);
    is_string(buffer_string(&out), "(vector,(0,4,8))", "a regular map");
    buffer_clear(&out);
    pmi1_mapping(irregular, 3, &out);
    is_string(buffer_string(&out), "(vector,(0,2,8),(2,1,3),(0,1,1))", "an irregular one");
    buffer_clear(&out);
    for (uint32_t i = 0; i < 200; i++)
        many[i] = (struct pmi1_run){i, 1, i};
    pmi1_mapping(many, 200, &out);
    is_string(buffer_string(&out), "", "one that is too long is left out");
    buffer_fini(&out);
}

/* Random bytes and pieces of sense, in random pieces. */
static void test_garbage(void)
{
    static const char *const words[] = {
        "cmd=", "init",         " pmi_version=1", "\n",       "put",
        "get",  " kvsname=job", " key=k",         " value=",  "mcmd=spawn",
        "=",    "endcmd",       "barrier_in",     "finalize", " ",
        "\t",   "\xff"};
    struct random_state random;

    random_init(&random, 7);
    for (int round = 0; round < 2000; round++) {
        struct endpoint node;

        node_init(&node, 0, "");
        node.done_at_once = 1;
        for (int i = 0; i < 40; i++) {
            const char *word = words[random_below(&random, sizeof(words) / sizeof(words[0]))];
            uint32_t index = (uint32_t)random_below(&random, CLIENTS);

            if (pmi1_input(node.server, index, word, strlen(word), NULL) < 0)
                pmi1_closed(node.server, index);
        }
        node_fini(&node);
    }
    pass("garbage harms nobody");
}

int main(void)
{
    test_dialogue();
    test_pieces();
    test_barrier();
    test_barrier_ends();
    test_refusals();
    test_limits();
    test_rest();
    test_mapping();
    test_garbage();
    return done_testing();
}
