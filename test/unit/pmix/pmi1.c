/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_socket.h"
#include "test/support/pmi_clients.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/wire.h"
#include "pmix/pmi1_wire.h"
#include "pmix/pmi_names.h"
#include "pmix/pmi_kvs_wire.h"
#include "pmix/pmi_spawn.h"

static const char init[] = "cmd=init pmi_version=1 pmi_subversion=1\n";

static void test_dialogue(void)
{
    struct pmi_clients node;

    pmi_clients_init(&node, 0, "(vector,(0,2,2))");
    is_string(pmi_clients_say(&node, 0, init),
              "cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0\n", "init");
    is_int(node.connected, 1, "the owner is told of it");
    is_string(pmi_clients_say(&node, 0, "cmd=get_maxes\n"),
              "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0\n", "get_maxes");
    is_string(pmi_clients_say(&node, 0, "cmd=get_appnum\n"), "cmd=appnum appnum=0 rc=0\n",
              "get_appnum");
    pmi_clients_say(&node, 1, init);
    is_string(pmi_clients_say(&node, 1, "cmd=get_appnum\n"), "cmd=appnum appnum=3 rc=0\n",
              "of another application");
    is_string(pmi_clients_say(&node, 0, "cmd=get_my_kvsname\n"),
              "cmd=my_kvsname kvsname=job rc=0\n", "get_my_kvsname");
    is_string(pmi_clients_say(&node, 0, "cmd=get_universe_size\n"),
              "cmd=universe_size size=16 rc=0\n", "get_universe_size");
    is_string(pmi_clients_say(&node, 0, "cmd=get kvsname=job key=PMI_process_mapping\n"),
              "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))\n", "the process mapping");
    is_string(pmi_clients_say(&node, 0, "cmd=put kvsname=job key=a value=one two=2\n"),
              "cmd=put_result rc=0 msg=success\n", "put");
    is_string(pmi_clients_say(&node, 1, "cmd=get kvsname=job key=a\n"),
              "cmd=get_result rc=0 msg=success value=one two=2\n",
              "a neighbour sees it; blanks belong to the value");
    is_string(pmi_clients_say(&node, 1, "cmd=get kvsname=job key=b\n"),
              "cmd=get_result rc=-1 msg=key_b_not_found value=unknown\n", "a missing key");
    is_string(pmi_clients_say(&node, 1, "cmd=get kvsname=other key=a\n"),
              "cmd=get_result rc=-1 msg=kvsname_not_found value=unknown\n", "a foreign space");
    is_string(pmi_clients_say(&node, 0, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n", "finalize");
    is_int(node.finalized, 1, "the owner is told of it");
    is_int(pmi_socket_closed(node.socket, 0), 0, "a close after finalize is normal");
    is_int(pmi_socket_closed(node.socket, 1), 1, "a close after init alone is not");
    pmi_clients_fini(&node);
}

/* The same dialogue byte by byte, and as one piece. */
static void test_pieces(void)
{
    static const char all[] = "cmd=init pmi_version=1 pmi_subversion=1\n"
                              "cmd=get_appnum\ncmd=put kvsname=job key=k value=v\n"
                              "cmd=get kvsname=job key=k\ncmd=finalize\n";
    struct pmi_clients whole, pieces;
    int held = 1;

    pmi_clients_init(&whole, 0, "");
    pmi_clients_init(&pieces, 0, "");
    pmi_clients_say(&whole, 0, all);
    for (size_t i = 0; i < strlen(all); i++)
        held = held && pmi_socket_input(pieces.socket, 0, all + i, 1, NULL) == 0;
    ok(held, "single bytes are taken");
    is_string(buffer_string(&pieces.replies[0]), buffer_string(&whole.replies[0]),
              "and give the same answers as one piece");
    has_string(buffer_string(&whole.replies[0]), "finalize_ack", "down to the last");
    pmi_clients_fini(&whole);
    pmi_clients_fini(&pieces);
}

static void test_barrier(void)
{
    struct pmi_clients nodes[2];
    struct buffer all = {0};
    char line[64];

    for (uint32_t n = 0; n < 2; n++) {
        pmi_clients_init(&nodes[n], n * 2, "");
        for (uint32_t i = 0; i < PMI_CLIENTS; i++) {
            pmi_clients_say(&nodes[n], i, init);
            snprintf(line, sizeof(line), "cmd=put kvsname=job key=k%u value=v%u\n", n * 2 + i,
                     n * 2 + i);
            pmi_clients_say(&nodes[n], i, line);
        }
        is_string(pmi_clients_say(&nodes[n], 0, "cmd=barrier_in\n"), "", "the first waits");
        is_int(nodes[n].barriers, 0, "for its neighbour");
        is_string(pmi_clients_say(&nodes[n], 1, "cmd=barrier_in\n"), "", "then both wait");
        is_int(nodes[n].barriers, 1, "for the other node");
        buffer_append(&all, nodes[n].puts.data, nodes[n].puts.length_bytes);
    }
    has_string(pmi_clients_say(&nodes[0], 0, "cmd=get kvsname=job key=k3\n"), "k3_not_found",
               "another thread may ask meanwhile");
    has_string(pmi_clients_say(&nodes[0], 0, "cmd=get_appnum\n"), "refused", "for little else");
    for (uint32_t n = 0; n < 2; n++) {
        buffer_clear(&nodes[n].replies[1]);
        pmi_clients_done(&nodes[n], 0, all.data, all.length_bytes);
        is_string(buffer_string(&nodes[n].replies[1]), "cmd=barrier_out rc=0\n", "all go on");
        pmi_clients_done(&nodes[n], 0, all.data, all.length_bytes);
        is_string(buffer_string(&nodes[n].replies[1]), "cmd=barrier_out rc=0\n",
                  "a second answer is ignored");
        is_string(pmi_clients_say(&nodes[n], 1, "cmd=get kvsname=job key=k3\n"),
                  "cmd=get_result rc=0 msg=success value=v3\n", "and know every value");
        is_string(pmi_clients_say(&nodes[n], 1, "cmd=get kvsname=job key=k0\n"),
                  "cmd=get_result rc=0 msg=success value=v0\n", "of either node");
    }
    buffer_fini(&all);
    pmi_clients_fini(&nodes[0]);
    pmi_clients_fini(&nodes[1]);
}

static void test_barrier_ends(void)
{
    struct buffer unnamed = {0};
    struct pmi_clients node;

    pmi_clients_init(&node, 0, "");
    node.done_at_once = 1;
    pmi_clients_say(&node, 0, init);
    pmi_clients_say(&node, 1, init);
    pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    is_string(pmi_clients_say(&node, 1, "cmd=barrier_in\n"), "cmd=barrier_out rc=0\n",
              "a barrier may be done within the call");
    node.done_at_once = 0;
    pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    pmi_clients_say(&node, 1, "cmd=barrier_in\n");
    pmi_clients_done(&node, -ETIMEDOUT, NULL, 0);
    is_string(buffer_string(&node.replies[1]), "cmd=barrier_out rc=-1 msg=barrier_failed\n",
              "a barrier may fail");
    pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    pmi_clients_say(&node, 1, "cmd=barrier_in\n");
    buffer_clear(&node.replies[1]);
    pmi_clients_done(&node, 0, "\x05ugly", 5);
    is_string(buffer_string(&node.replies[1]), "cmd=barrier_out rc=-1 msg=barrier_failed\n",
              "also by what another node sent");
    pmi_kvs_encode_put("", "value", &unnamed);
    pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    pmi_clients_say(&node, 1, "cmd=barrier_in\n");
    buffer_clear(&node.replies[1]);
    pmi_clients_done(&node, 0, unnamed.data, unnamed.length_bytes);
    is_string(buffer_string(&node.replies[1]), "cmd=barrier_out rc=-1 msg=a_member_has_ended\n",
              "or if that has a value without a key, which says why");
    buffer_fini(&unnamed);
    pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    is_int(node.barriers, 4, "one waits");
    is_int(pmi_socket_closed(node.socket, 1), 1, "the other dies");
    is_int(node.barriers, 5, "and is not waited for");
    pmi_clients_fini(&node);

    pmi_clients_init(&node, 0, "");
    pmi_clients_say(&node, 0, init);
    pmi_clients_say(&node, 1, init);
    pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    is_int(pmi_socket_closed(node.socket, 0), 1, "one dies in the barrier");
    pmi_clients_say(&node, 1, "cmd=barrier_in\n");
    is_int(node.barriers, 1, "the other goes on alone");
    pmi_clients_fini(&node);
}

/* ---- groups (PMI 1.2), pmix/pmi_socket_barrier.c ---- */

static void begin(struct pmi_clients *node, uint32_t first_rank)
{
    pmi_clients_init(node, first_rank, "");
    pmi_clients_say(node, 0, init);
    pmi_clients_say(node, 1, init);
}

/* The answer to a barrier with that id, as clients 0 and 1 are told it. */
static void ends(struct pmi_clients *node, uint64_t id, int status, const struct buffer *data,
                 const char *first, const char *second, const char *name)
{
    buffer_clear(&node->replies[0]);
    buffer_clear(&node->replies[1]);
    pmi_socket_events.done(node->socket, id, status, data != NULL ? data->data : NULL,
                           data != NULL ? data->length_bytes : 0);
    is_string(buffer_string(&node->replies[0]), first, "%s", name);
    is_string(buffer_string(&node->replies[1]), second, "%s, to the other", name);
}

static void test_groups(void)
{
    struct pmi_clients node;
    uint64_t world;

    begin(&node, 0);
    pmi_clients_say(&node, 0, "cmd=barrier_in group=0,2\n");
    is_string(node.group, "r 0,2", "a group with one rank here and one elsewhere");
    ends(&node, node.barrier_id, 0, NULL, "cmd=barrier_out rc=0 group=0,2 tag=0\n", "",
         "has ended");
    pmi_clients_say(&node, 0, "cmd=barrier_in group=3,1,0:77\n");
    is_string(node.group, "r 0,2", "one with two here waits for the second");
    pmi_clients_say(&node, 1, "cmd=barrier_in group=0,1,3:77\n");
    is_string(node.group, "r77 0,1,3", "and then for the others, in any order");
    ends(&node, node.barrier_id, 0, NULL, "cmd=barrier_out rc=0 group=3,1,0:77 tag=77\n",
         "cmd=barrier_out rc=0 group=0,1,3:77 tag=77\n", "each is told what it has said");
    pmi_clients_say(&node, 0, "cmd=barrier_in group=NODE:5\n");
    pmi_clients_say(&node, 1, "cmd=barrier_in group=NODE:5\n");
    is_string(node.group, "n5 0,1", "the ranks of this node");
    ends(&node, node.barrier_id, 0, NULL, "cmd=barrier_out rc=0 group=NODE:5 tag=5\n",
         "cmd=barrier_out rc=0 group=NODE:5 tag=5\n", "go on");
    pmi_clients_say(&node, 0, "cmd=barrier_in group=WORLD:0\n");
    pmi_clients_say(&node, 1, "cmd=barrier_in\n");
    is_int(node.barriers, 1, "WORLD without a tag is the barrier of PMI 1.1");
    world = node.barrier_id;
    pmi_clients_say(&node, 0, "cmd=barrier_in group=WORLD:a-tag\n");
    pmi_clients_say(&node, 1, "cmd=barrier_in group=WORLD:a-tag\n");
    is_string(node.group, "wa-tag -1", "with one it is another");
    ends(&node, world, 0, NULL, "cmd=barrier_out rc=0 group=WORLD:0 tag=0\n",
         "cmd=barrier_out rc=0\n", "and both may be under way at once");
    ends(&node, node.barrier_id, -ETIMEDOUT, NULL,
         "cmd=barrier_out rc=-1 group=WORLD:a-tag tag=a-tag msg=barrier_failed\n",
         "cmd=barrier_out rc=-1 group=WORLD:a-tag tag=a-tag msg=barrier_failed\n",
         "fail each alone");
    has_string(pmi_clients_say(&node, 0, "cmd=get_appnum\n"), "appnum=0", "and nothing waits");
    pmi_clients_fini(&node);
}

/* Threads of one process: several tags, several rounds, and other commands. */
static void test_threads(void)
{
    struct pmi_clients node;
    uint64_t ids[2];

    begin(&node, 0);
    for (int i = 0; i < 2; i++) {
        char line[64];

        snprintf(line, sizeof(line), "cmd=barrier_in group=0,2:t%d\n", i);
        pmi_clients_say(&node, 0, line);
        ids[i] = node.barrier_id;
    }
    ok(ids[0] != ids[1], "two tags are two barriers");
    is_string(pmi_clients_say(&node, 0, "cmd=put kvsname=job key=k value=v\n"),
              "cmd=put_result rc=0 msg=success\n", "a thread puts meanwhile");
    ends(&node, ids[1], 0, NULL, "cmd=barrier_out rc=0 group=0,2:t1 tag=t1\n", "", "they end");
    ends(&node, ids[0], 0, NULL, "cmd=barrier_out rc=0 group=0,2:t0 tag=t0\n", "", "in any order");
    for (int i = 0; i < 3; i++)
        pmi_clients_say(&node, 0, "cmd=barrier_in group=0,2:t0\n");
    ids[0] = node.barrier_id;
    for (int i = 0; i < 3; i++) {
        ends(&node, ids[0], 0, NULL, "cmd=barrier_out rc=0 group=0,2:t0 tag=t0\n", "",
             "three times the same tag are three rounds");
        ok((node.barrier_id != ids[0]) == (i < 2), "one after the other");
        ids[0] = node.barrier_id;
    }
    for (int i = 0; i < 4096; i++)
        pmi_clients_say(&node, 0, "cmd=barrier_in group=NODE\n");
    is_string(pmi_clients_say(&node, 0, "cmd=barrier_in group=NODE\n"),
              "cmd=barrier_out rc=-1 group=NODE tag=0 msg=too_many_barriers_at_once\n",
              "not without end");
    has_string(pmi_clients_say(&node, 0, "cmd=barrier_in\n"), "too_many_barriers_at_once",
               "nor that of all");
    node.done_at_once = 1;
    for (int i = 0; i < 4096; i++)
        pmi_clients_say(&node, 1, "cmd=barrier_in group=NODE\n");
    has_string(pmi_clients_say(&node, 0, "cmd=get_appnum\n"), "appnum=0", "all of them end");
    pmi_clients_fini(&node);
}

/* The keys in what the node has contributed last. */
static const char *keys_of(const struct pmi_clients *node)
{
    static char keys[64];
    char key[PMI_KVS_KEY_BYTES], value[PMI_KVS_VALUE_BYTES];
    struct wire_reader reader;
    size_t used = 0;

    keys[0] = '\0';
    wire_reader_init(&reader, node->puts.data, node->puts.length_bytes);
    while (wire_left(&reader) > 0 && wire_status(&reader) == 0 && used < sizeof(keys)) {
        pmi_kvs_decode_put(&reader, key, value);
        used += (size_t)snprintf(keys + used, sizeof(keys) - used, "%s ", key);
    }
    return keys;
}

static void put(struct pmi_clients *node, uint32_t index, const char *key)
{
    char line[64];

    snprintf(line, sizeof(line), "cmd=put kvsname=job key=%s value=v\n", key);
    pmi_clients_say(node, index, line);
}

/* Each barrier has the puts of its members that it has not had. */
static void test_group_puts(void)
{
    struct buffer theirs = {0};
    struct pmi_clients node;
    uint64_t first;

    begin(&node, 0);
    put(&node, 0, "a");
    put(&node, 1, "b");
    pmi_clients_say(&node, 0, "cmd=barrier_in group=0,2\n");
    is_string(keys_of(&node), "a ", "a group has what its members have put");
    first = node.barrier_id;
    put(&node, 0, "c");
    pmi_clients_say(&node, 0, "cmd=barrier_in group=0,2:1\n");
    is_string(keys_of(&node), "a c ", "another at the same time has all of it");
    ends(&node, node.barrier_id, 0, NULL, "cmd=barrier_out rc=0 group=0,2:1 tag=1\n", "", "ends");
    pmi_kvs_encode_put("k", "of 2", &theirs);
    ends(&node, first, 0, &theirs, "cmd=barrier_out rc=0 group=0,2 tag=0\n", "", "the first ends");
    has_string(pmi_clients_say(&node, 1, "cmd=get kvsname=job key=k\n"), "value=of 2\n",
               "and the node knows what others have put");
    pmi_clients_say(&node, 0, "cmd=barrier_in group=0,2\n");
    is_string(keys_of(&node), "c ", "its next has what has come since");
    ends(&node, node.barrier_id, -ETIMEDOUT, NULL,
         "cmd=barrier_out rc=-1 group=0,2 tag=0 msg=barrier_failed\n", "", "one that fails");
    pmi_clients_say(&node, 0, "cmd=barrier_in group=0,2\n");
    is_string(keys_of(&node), "c ", "is made up for");
    ends(&node, node.barrier_id, 0, NULL, "cmd=barrier_out rc=0 group=0,2 tag=0\n", "",
         "by the next");
    for (int i = 0; i < 2; i++) {
        pmi_clients_say(&node, 0, "cmd=barrier_in\n");
        pmi_clients_say(&node, 1, "cmd=barrier_in\n");
        is_string(keys_of(&node), i == 0 ? "a b c " : "d ", "a barrier of all has what is new");
        put(&node, 0, "d");
        ends(&node, node.barrier_id, 0, NULL, "cmd=barrier_out rc=0\n", "cmd=barrier_out rc=0\n",
             "all go on");
        pmi_clients_say(&node, 0,
                        i == 0 ? "cmd=barrier_in group=0,3:1\n" : "cmd=barrier_in group=0,3:2\n");
        is_string(keys_of(&node), i == 0 ? "a c d " : "d d ",
                  "a group that is new has what not all may know yet");
        ends(&node, node.barrier_id, 0, NULL,
             i == 0 ? "cmd=barrier_out rc=0 group=0,3:1 tag=1\n"
                    : "cmd=barrier_out rc=0 group=0,3:2 tag=2\n",
             "", "and ends");
    }
    buffer_fini(&theirs);
    pmi_clients_fini(&node);
}

static void test_group_lost(void)
{
    struct buffer ended = {0};
    struct pmi_clients node;

    begin(&node, 0);
    pmi_clients_say(&node, 1, "cmd=barrier_in group=0,1,2\n");
    is_string(pmi_clients_say(&node, 0, "cmd=finalize\n"), "cmd=finalize_ack rc=0\n",
              "a member finalizes");
    is_string(node.group, "r 0,1,2 lost", "the others are told that the group has lost it");
    is_string(buffer_string(&node.replies[1]),
              "cmd=barrier_out rc=-1 group=0,1,2 tag=0 msg=a_member_has_ended\n", "who waits is");
    is_string(pmi_clients_say(&node, 1, "cmd=barrier_in group=0,1,2\n"),
              "cmd=barrier_out rc=-1 group=0,1,2 tag=0 msg=a_member_has_ended\n", "and who comes");
    is_string(pmi_clients_say(&node, 1, "cmd=barrier_in group=WORLD:1\n"),
              "cmd=barrier_out rc=-1 group=WORLD:1 tag=1 msg=a_member_has_ended\n",
              "a group of all is one, too");
    pmi_clients_say(&node, 1, "cmd=barrier_in group=1,2\n");
    is_string(node.group, "r 1,2", "others are as before");
    pmi_socket_put_ended(&ended);
    ends(&node, node.barrier_id, 0, &ended, "",
         "cmd=barrier_out rc=-1 group=1,2 tag=0 msg=a_member_has_ended\n",
         "until another node says that");
    pmi_clients_say(&node, 1, "cmd=barrier_in\n");
    is_int(node.barriers, 1, "the barrier of all does without who has finalized");
    pmi_clients_fini(&node);

    begin(&node, 0);
    pmi_clients_say(&node, 0, "cmd=barrier_in group=0,1,2\n");
    pmi_clients_say(&node, 1, "cmd=barrier_in group=0,1,2\n");
    is_int(pmi_socket_closed(node.socket, 0), 1, "a member dies in the barrier");
    ends(&node, node.barrier_id, 0, NULL, "", "cmd=barrier_out rc=0 group=0,1,2 tag=0\n",
         "at which it had arrived");
    pmi_clients_say(&node, 1, "cmd=barrier_in group=0,1,2\n");
    is_string(node.group, "r 0,1,2 lost", "the next one fails");
    pmi_clients_fini(&node);
    buffer_fini(&ended);
}

static void test_group_refusals(void)
{
    static const struct {
        const char *group;
        const char *word;
    } cases[] = {
        {"0,4", "rank_of_group_does_not_exist"},  {"0,4294967295", "group_is_no_list_of_ranks"},
        {"1,2", "caller_is_not_in_group"},        {"0,1,0", "rank_is_twice_in_group"},
        {"0,,1", "group_is_no_list_of_ranks"},    {"0,1,", "group_is_no_list_of_ranks"},
        {",0", "group_is_no_list_of_ranks"},      {"", "group_is_no_list_of_ranks"},
        {"0-1", "group_is_no_list_of_ranks"},     {"WORLDS", "group_is_no_list_of_ranks"},
        {"node", "group_is_no_list_of_ranks"},    {"+0", "group_is_no_list_of_ranks"},
        {"0,1:", "tag_malformed_or_too_long"},    {"0,1:a:b", "tag_malformed_or_too_long"},
        {"0,1:a=b", "tag_malformed_or_too_long"}, {":1", "group_is_no_list_of_ranks"},
    };
    struct buffer line = {0};
    struct pmi_clients node;
    char expected[160];

    begin(&node, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buffer_clear(&line);
        buffer_printf(&line, "cmd=barrier_in group=%s\n", cases[i].group);
        snprintf(expected, sizeof(expected), "cmd=barrier_out rc=-1 group=%s tag=0 msg=%s\n",
                 cases[i].group, cases[i].word);
        is_string(pmi_clients_say(&node, 0, buffer_string(&line)), expected, "group \"%s\"",
                  cases[i].group);
    }
    buffer_clear(&line);
    buffer_printf(&line, "cmd=barrier_in group=0,1:%064d\n", 7);
    has_string(pmi_clients_say(&node, 0, buffer_string(&line)), "tag_malformed_or_too_long",
               "a long tag");
    buffer_clear(&line);
    buffer_append_string(&line, "cmd=barrier_in group=");
    for (int i = 0; i < 20000; i++)
        buffer_printf(&line, "%d,", i);
    buffer_append_string(&line, "0\n");
    has_string(pmi_clients_say(&node, 0, buffer_string(&line)), "msg=rank_is_twice_in_group",
               "a long list is read to its end");
    has_string(pmi_clients_say(&node, 0, "cmd=get_appnum\n"), "appnum=0", "and all goes on");
    is_int(node.barriers + (node.group[0] != '\0'), 0, "nobody else has heard of it");
    while (line.length_bytes < 1 << 20)
        buffer_printf(&line, "%d,", 1 << 19);
    has_string(pmi_clients_refusal(&node, 0, strstr(buffer_string(&line), "0\n") + 2),
               "longer than", "not a list of this length without its beginning");
    buffer_fini(&line);
    pmi_clients_fini(&node);
}

static void test_refusals(void)
{
    struct pmi_clients node;
    struct buffer text = {0};

    pmi_clients_init(&node, 0, "");
    has_string(pmi_clients_refusal(&node, 0, "cmd=get_maxes\n"), "wrong time: cmd=get_maxes",
               "before init");
    is_string(pmi_clients_say(&node, 1, "cmd=init pmi_version=3 pmi_subversion=0\n"), "refused",
              "another version");
    has_string(buffer_string(&node.replies[1]), "rc=-1", "which the client is told");
    pmi_clients_fini(&node);

    pmi_clients_init(&node, 0, "");
    pmi_clients_say(&node, 0, init);
    has_string(pmi_clients_refusal(&node, 0, "cmd=dance on=table\n"), "unknown command: cmd=dance",
               "an unknown command is named");
    has_string(pmi_clients_refusal(&node, 0, "\n"), "unknown", "an empty line");
    has_string(pmi_clients_refusal(&node, 0, "cmd\n"), "unknown", "half a line");
    has_string(pmi_clients_refusal(&node, 0, "= = =\n"), "unknown", "signs");
    has_string(pmi_clients_refusal(&node, 0, init), "wrong time", "a second init");
    is_int(pmi_socket_input(node.socket, 0, "cmd=get\0", 8, NULL), -EPROTO, "a NUL byte");
    for (int i = 0; i < 5000; i++)
        buffer_append(&text, "x", 1);
    has_string(pmi_clients_refusal(&node, 0, buffer_string(&text)), "longer than",
               "a line without end");
    buffer_fini(&text);
    pmi_clients_fini(&node);
}

static void test_limits(void)
{
    struct pmi_clients node;
    struct buffer line = {0};
    const char *answer;

    pmi_clients_init(&node, 0, "");
    pmi_clients_say(&node, 0, init);
    buffer_printf(&line, "cmd=put kvsname=job key=%063d value=%01023d\n", 7, 8);
    is_string(pmi_clients_say(&node, 0, buffer_string(&line)), "cmd=put_result rc=0 msg=success\n",
              "the longest key and value");
    buffer_clear(&line);
    buffer_printf(&line, "cmd=get kvsname=job key=%063d\n", 7);
    answer = pmi_clients_say(&node, 0, buffer_string(&line));
    ok(strlen(answer) == strlen("cmd=get_result rc=0 msg=success value=\n") + 1023, "come back");
    buffer_clear(&line);
    buffer_printf(&line, "cmd=put kvsname=job key=%064d value=1\n", 7);
    has_string(pmi_clients_say(&node, 0, buffer_string(&line)), "rc=-1 msg=key_missing_or_too_long",
               "a longer key");
    buffer_clear(&line);
    buffer_printf(&line, "cmd=put kvsname=job key=a value=%01024d\n", 7);
    has_string(pmi_clients_say(&node, 0, buffer_string(&line)),
               "rc=-1 msg=value_missing_or_too_long", "a longer value");
    has_string(pmi_clients_say(&node, 0, "cmd=put kvsname=job value=1\n"), "rc=-1", "no key");
    has_string(pmi_clients_say(&node, 0, "cmd=put kvsname=job key=a\n"), "rc=-1", "no value");
    has_string(pmi_clients_say(&node, 0, "cmd=put kvsname=job key= value=1\n"), "rc=-1",
               "an empty key");
    has_string(pmi_clients_say(&node, 0, "cmd=put kvsname=job key=a value=\n"), "rc=0",
               "an empty value");
    buffer_fini(&line);
    pmi_clients_fini(&node);
}

/* The answer of the name service to the last request, and what the client is told. */
static const char *answered(struct pmi_clients *node, int status, const struct buffer *data)
{
    buffer_clear(&node->replies[0]);
    pmi_socket_events.done(node->socket, node->asked.id, status, data != NULL ? data->data : NULL,
                           data != NULL ? data->length_bytes : 0);
    return buffer_string(&node->replies[0]);
}

/* pmix/pmi_socket_names.c */
static void test_names(void)
{
    struct pmi_names_found found = {.value = {(const unsigned char *)"a b", 3}};
    struct buffer data = {0};
    struct pmi_clients node;

    pmi_clients_init(&node, 0, "");
    pmi_clients_say(&node, 0, init);
    is_string(pmi_clients_say(&node, 0, "cmd=publish_name service=s port=a b\n"), "",
              "a publish waits for its answer");
    is_string(pmi_clients_asked(&node), "publish pmi:s a b", "the name service is asked for it");
    is_string(answered(&node, 0, NULL), "cmd=publish_result info=ok rc=0 msg=success\n", "done");
    is_string(answered(&node, 0, NULL), "", "once");
    pmi_clients_say(&node, 0, "cmd=publish_name service=s port=q\n");
    is_string(answered(&node, -EEXIST, NULL),
              "cmd=publish_result info=fail rc=-1 msg=service_is_already_published\n", "twice");
    pmi_clients_say(&node, 0, "cmd=lookup_name service=s\n");
    is_string(pmi_clients_asked(&node), "lookup pmi:s ", "a lookup");
    pmi_names_found_encode(&found, &data);
    is_string(answered(&node, 0, &data), "cmd=lookup_result info=ok rc=0 port=a b\n", "is found");
    pmi_clients_say(&node, 0, "cmd=lookup_name service=t\n");
    is_string(answered(&node, -ENOENT, NULL),
              "cmd=lookup_result info=fail rc=-1 msg=service_not_found\n", "or not");
    pmi_clients_say(&node, 0, "cmd=unpublish_name service=s\n");
    buffer_clear(&data);
    pmi_names_removed_encode(1, &data);
    is_string(answered(&node, 0, &data), "cmd=unpublish_result info=ok rc=0 msg=success\n",
              "unpublish");
    pmi_clients_say(&node, 0, "cmd=unpublish_name service=s\n");
    buffer_clear(&data);
    pmi_names_removed_encode(0, &data);
    has_string(answered(&node, 0, &data), "info=fail rc=-1 msg=service_not_found", "not twice");
    has_string(pmi_clients_say(&node, 0, "cmd=publish_name service=s\n"),
               "rc=-1 msg=service_or_port_missing_or_too_long", "a publish without a port");
    pmi_clients_say(&node, 0, "cmd=lookup_name service=s\n");
    (void)pmi_socket_closed(node.socket, 0);
    is_string(answered(&node, -ENOENT, NULL), "", "who has left is not answered");
    buffer_fini(&data);
    pmi_clients_fini(&node);
}

static void test_rest(void)
{
    struct pmi_clients node;

    pmi_clients_init(&node, 0, "");
    pmi_clients_say(&node, 0, init);
    has_string(pmi_clients_say(&node, 0, "cmd=get_appnum\n"), "appnum=0",
               "and nothing is left over");
    pmi_clients_say(&node, 0, "cmd=abort exitcode=9\n");
    ok(node.aborts == 1 && node.abort_status == 9, "abort with its code");
    pmi_clients_say(&node, 0, "cmd=barrier_in\n");
    pmi_clients_say(&node, 0, "cmd=abort exitcode=99999999999999999999\n");
    ok(node.aborts == 2 && node.abort_status == 1, "abort in a barrier, with a code beyond all");
    pmi_clients_fini(&node);
}

/* The request, as the owner was asked for it. */
static void spawn_of(const struct pmi_clients *node, struct pmi_spawn *spawn)
{
    is_int(pmi_spawn_decode(spawn, node->asked_data.data, node->asked_data.length_bytes), 0,
           "a request to spawn");
}

static void spawn_done(struct pmi_clients *node, const struct pmi_spawn_answer *answer)
{
    struct buffer data = {0};

    buffer_clear(&node->replies[0]);
    pmi_spawn_answer_encode(answer, &data);
    pmi_socket_events.done(node->socket, node->asked.id, 0, data.data, data.length_bytes);
    buffer_fini(&data);
}

static const char spawn_text[] =
    "mcmd=spawn\nnprocs=3\nexecname=/bin/a b\ntotspawns=2\nspawnssofar=1\narg1=one two=2\n"
    "arg2=totspawns=1 x\nargcnt=2\npreput_num=1\npreput_key_0=port\npreput_val_0=p o=r;t\n"
    "info_num=2\ninfo_key_0=wdir\ninfo_val_0=/x y\ninfo_key_1=no such\ninfo_val_1=\nendcmd\n";

static void test_spawn(void)
{
    struct pmi_spawn_answer good = {.job = 9, .processes = 4, .namespace = "n"};
    struct pmi_spawn_answer bad = {.failure = PMI_SPAWN_FAILURE_MAP, .reason = "no free slot"};
    struct pmi_clients node;
    struct pmi_spawn spawn;

    pmi_clients_init(&node, 0, "");
    pmi_clients_say(&node, 0, init);
    is_string(pmi_clients_say(&node, 0, spawn_text), "", "the first of two programs");
    is_uint(node.asked.id, 0, "is not all");
    is_string(pmi_clients_say(&node, 0,
                              "mcmd=spawn\nnprocs=1\nexecname=b\ntotspawns=2\nspawnssofar=2\n"
                              "argcnt=0\nendcmd\n"),
              "", "the second one");
    spawn_of(&node, &spawn);
    ok(spawn.apps_count == 2 && spawn.preput_count == 1, "has both, and a value for them");
    is_string(spawn.apps[0].argv[0], "/bin/a b", "a program");
    is_string(spawn.apps[0].argv[1], "one two=2", "an argument with every sign");
    is_string(spawn.apps[0].argv[2], "totspawns=1 x", "one like a key");
    ok(spawn.apps[0].argv[3] == NULL && spawn.apps[1].argv[1] == NULL, "and no others");
    ok(spawn.apps[0].processes == 3 && spawn.apps[1].processes == 1, "numbers of processes");
    is_string(spawn.apps[0].directory, "/x y", "an info");
    is_string(spawn.preput[0].value, "p o=r;t", "the value");
    pmi_spawn_fini(&spawn);
    spawn_done(&node, &good);
    is_string(buffer_string(&node.replies[0]), "cmd=spawn_result rc=0\n", "it has been done");
    pmi_clients_say(&node, 0, "mcmd=spawn\nnprocs=1\nexecname=b\nendcmd\n");
    spawn_done(&node, &bad);
    is_string(buffer_string(&node.replies[0]), "cmd=spawn_result rc=-1 msg=no_free_slot\n",
              "or has failed");
    is_string(pmi_clients_say(&node, 0, "mcmd=spawn\nnprocs=1\nendcmd\n"),
              "cmd=spawn_result rc=-1 msg=the_request_is_incomplete_or_too_long\n", "no program");
    has_string(pmi_clients_say(&node, 0, "mcmd=spawn\nnprocs=0\nexecname=b\nendcmd\n"), "rc=-1",
               "no process");
    has_string(pmi_clients_say(&node, 0, "mcmd=spawn\nexecname=b\npreput_val_0=v\nendcmd\n"),
               "rc=-1", "a value without a key");
    pmi_clients_say(&node, 0, "mcmd=spawn\nnprocs=1\nexecname=b\nendcmd\n");
    is_int(pmi_socket_closed(node.socket, 0), 1, "who waits for a job may die");
    spawn_done(&node, &good);
    is_string(buffer_string(&node.replies[0]), "", "and hears no more");
    pmi_clients_fini(&node);
}

static void test_mapping(void)
{
    struct pmi_socket_run regular = {0, 4, 8}, irregular[] = {{0, 2, 8}, {2, 1, 3}, {0, 1, 1}};
    struct pmi_socket_run many[200];
    struct buffer out = {0};

    pmi_socket_mapping(&regular, 1, &out);
    is_string(buffer_string(&out), "(vector,(0,4,8))", "a regular map");
    buffer_clear(&out);
    pmi_socket_mapping(irregular, 3, &out);
    is_string(buffer_string(&out), "(vector,(0,2,8),(2,1,3),(0,1,1))", "an irregular one");
    buffer_clear(&out);
    for (uint32_t i = 0; i < 200; i++)
        many[i] = (struct pmi_socket_run){i, 1, i};
    pmi_socket_mapping(many, 200, &out);
    is_string(buffer_string(&out), "", "one that is too long is left out");
    buffer_fini(&out);
}

/* Random bytes and pieces of sense, in random pieces. */
static void test_garbage(void)
{
    static const char *const words[] = {"cmd=",         "init",     " pmi_version=1",
                                        "\n",           "put",      "get",
                                        " kvsname=job", " key=k",   " value=",
                                        "mcmd=spawn",   "=",        "endcmd",
                                        "barrier_in",   "finalize", " ",
                                        " group=",      "0,1",      "1",
                                        "NODE",         ":7",       "\t",
                                        "\xff"};
    struct random_state random;

    random_init(&random, 7);
    for (int round = 0; round < 2000; round++) {
        struct pmi_clients node;

        pmi_clients_init(&node, 0, "");
        node.done_at_once = 1;
        for (int i = 0; i < 40; i++) {
            const char *word = words[random_below(&random, sizeof(words) / sizeof(words[0]))];
            uint32_t index = (uint32_t)random_below(&random, PMI_CLIENTS);

            if (pmi_socket_input(node.socket, index, word, strlen(word), NULL) < 0)
                pmi_socket_closed(node.socket, index);
        }
        pmi_clients_fini(&node);
    }
    pass("garbage harms nobody");
}

int main(void)
{
    test_dialogue();
    test_pieces();
    test_barrier();
    test_barrier_ends();
    test_groups();
    test_threads();
    test_group_puts();
    test_group_lost();
    test_group_refusals();
    test_refusals();
    test_limits();
    test_names();
    test_rest();
    test_spawn();
    test_mapping();
    test_garbage();
    return done_testing();
}
