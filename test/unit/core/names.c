/* SPDX-License-Identifier: BSD-3-Clause */
/* launch/core/names.h, with launch/core/name_ring.h and launch/core/name_store.h: who finds what, and what is left when places die. */
#include "config.h"

#include "launch/core/names.h"
#include "test/support/names_world.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

static struct names_world world;
static struct world_call call;

static const struct pmi_names session = {.range = PMI_NAMES_SESSION,
                                         .persistence = PMI_NAMES_UNTIL_REMOVED};

static int say(uint32_t rank, enum name_verb verb, const struct pmi_names *how, const char *keys,
               const char *value)
{
    return names_world_say(&world, &call, rank, verb, how, keys, value);
}

static void finds(uint32_t rank, const struct pmi_names *how, const char *key, const char *value,
                  const char *what)
{
    int status = say(rank, NAME_LOOKUP, how, key, NULL);

    is_string(status == 0         ? call.value
              : status == -ENOENT ? "none"
                                  : "error",
              value != NULL ? value : "none", "%s", what);
}

static void test_ring(void)
{
    struct name_ring ring;
    struct ranges lost = {0};
    int is_right = 1, is_far = 1;

    for (uint32_t nodes = 1; nodes <= 300; nodes++) {
        uint32_t place = 1, count = 0;

        name_ring_init(&ring, nodes);
        do {
            uint32_t next = name_ring_next(&ring, place);

            is_far = is_far && (nodes < 32 || (abs((int)next - (int)place) >= (int)nodes / 4 &&
                                               abs((int)next - (int)place) <= (int)nodes * 3 / 4));
            place = nodes == 1 ? 1 : next;
            count++;
        } while (place != 1 && count <= nodes);
        is_right = is_right && count == nodes;
        name_ring_fini(&ring);
    }
    ok(is_right, "a ring goes through all its places once");
    ok(is_far, "its neighbours are far apart");
    name_ring_init(&ring, 5);
    is_uint(name_ring_next(&ring, 0), NAME_RING_NOBODY, "the root is not in it");
    for (uint32_t left = 5; left > 0; left--) {
        uint32_t place = name_ring_holder(&ring, "a", 1), next = name_ring_next(&ring, place);

        ok(!ranges_contains(&ring.lost, place), "the holder lives");
        ranges_clear(&lost);
        ranges_add(&lost, place, place);
        ok(name_ring_lose(&ring, &lost) && !name_ring_lose(&ring, &lost), "it is lost once");
        is_uint(name_ring_holder(&ring, "a", 1), left > 1 ? next : 0,
                "and who had the copies is the holder");
    }
    ranges_fini(&lost);
    name_ring_fini(&ring);
}

static void test_publish(void)
{
    struct pmi_names replace = session, any = session;

    names_world_open(&world, 1, 4);
    is_int(say(1, NAME_PUBLISH, &session, "a,b,c", "one"), 0, "keys are published");
    finds(4, &session, "a", "one", "and found elsewhere");
    is_uint(call.rank, 1, "with the publisher");
    is_uint(names_held(world.places[1]) + names_held(world.places[2]) +
                names_held(world.places[3]) + names_held(world.places[4]),
            6, "each is at two places");
    is_int(say(2, NAME_PUBLISH, &session, "d,b", "two"), -EEXIST, "a key is there once");
    finds(3, &session, "b", "one", "its value stays");
    finds(3, &session, "d", NULL, "and none of the others that were published with it");
    replace.may_replace = true;
    is_int(say(2, NAME_PUBLISH, &replace, "b", "two"), -EEXIST, "nobody replaces another's");
    is_int(say(1, NAME_PUBLISH, &session, "b", "three"), -EEXIST, "nor one's own");
    is_int(say(1, NAME_PUBLISH, &replace, "b", "three"), 0, "unless one says so");
    finds(3, &session, "b", "three", "then it is replaced");
    is_int(say(3, NAME_LOOKUP, &session, "a,x,c", NULL), 0, "a lookup of several keys");
    is_uint(call.found, 2, "gives those that are there");
    is_int(say(3, NAME_UNPUBLISH, &session, "a", NULL), 0, "another removes a key");
    is_uint(call.removed, 0, "which is not his");
    is_int(say(1, NAME_UNPUBLISH, &session, "a", NULL), 0, "the owner does");
    is_uint(call.removed, 1, "it is gone");
    finds(3, &session, "a", NULL, "for all");
    any.range = PMI_NAMES_ANY;
    is_int(say(1, NAME_UNPUBLISH, &any, "", NULL), 0, "all that one has");
    is_uint(call.removed, 2, "are the two that are left");
    finds(3, &session, "b", NULL, "and nothing is");
    names_world_close(&world);
}

static void test_ranges(void)
{
    struct pmi_names node = session, process = session, list = session, namespace = session;
    struct pmi_names manager = session;
    struct buffer members = {0};

    node.range = PMI_NAMES_NODE;
    process.range = PMI_NAMES_PROCESS;
    list.range = PMI_NAMES_LIST;
    namespace.range = PMI_NAMES_NAMESPACE;
    manager.range = PMI_NAMES_MANAGER;
    pmi_names_member_put(&members, "ns", 3);
    pmi_names_member_put(&members, "other", PMI_NAMES_RANK_ALL);
    list.members = (struct wire_bytes){members.data, members.length_bytes};
    names_world_open(&world, 2, 4);
    is_int(say(1, NAME_PUBLISH, &node, "k", "node"), 0, "for a node");
    is_uint(names_held(world.places[1]) + names_held(world.places[2]), 0, "it stays there");
    finds(1, &session, "k", "node", "found on it");
    finds(2, &session, "k", NULL, "and nowhere else");
    is_int(say(2, NAME_PUBLISH, &node, "k", "other"), 0, "another node has its own");
    is_int(say(2, NAME_PUBLISH, &node, "k", "again"), -EEXIST, "once");
    is_int(say(1, NAME_PUBLISH, &process, "k", "mine"), 0, "for the process");
    finds(1, &session, "k", "mine", "the narrowest range comes first");
    is_int(say(4, NAME_PUBLISH, &list, "k", "listed"), 0, "for a list");
    is_int(say(1, NAME_PUBLISH, &list, "k", "again"), -EEXIST, "of which there is one");
    finds(3, &session, "k", "listed", "a member finds it");
    finds(4, &session, "k", NULL, "who is not listed does not, not even the publisher");
    is_int(say(4, NAME_PUBLISH, &manager, "m", "x"), 0, "for the manager");
    finds(4, &session, "m", NULL, "processes do not find it");
    is_int(say(4, NAME_PUBLISH, &session, "s", "all"), 0, "for all");
    finds(2, &namespace, "s", "all", "found among one's namespace");
    finds(2, &node, "s", NULL, "not among those of one's node");
    finds(4, &process, "s", "all", "but among what one has published oneself");
    is_int(say(1, NAME_UNPUBLISH, &node, "k", NULL), 0, "removed in its range");
    is_uint(call.removed, 1, "only there");
    finds(1, &session, "k", "mine", "others are left");
    buffer_fini(&members);
    names_world_close(&world);
}

static void test_wait(void)
{
    struct pmi_names wait = session, two = session, node = session, once = session;
    struct world_call calls[4];

    wait.waits = two.waits = true;
    two.wanted = 2;
    node.range = PMI_NAMES_NODE;
    once.persistence = PMI_NAMES_UNTIL_READ;
    names_world_open(&world, 3, 4);
    names_world_ask(&world, &calls[0], 1, NAME_LOOKUP, &wait, "a,b", NULL, 0);
    names_world_ask(&world, &calls[1], 2, NAME_LOOKUP, &two, "a,b,c", NULL, 0);
    names_world_ask(&world, &calls[2], 3, NAME_LOOKUP, &wait, "n", NULL, 0);
    names_world_ask(&world, &calls[3], 4, NAME_LOOKUP, &wait, "never", NULL, 500);
    names_world_until(&world, 400 * NS_PER_MS);
    is_int(calls[0].status, 1, "a lookup waits");
    is_int(calls[3].status, 1, "as does one with a time limit");
    is_int(say(4, NAME_PUBLISH, &session, "a", "1"), 0, "one of its keys comes");
    is_int(calls[0].status, 1, "it waits for all");
    is_int(calls[3].status, -ETIMEDOUT, "the time of another is over");
    is_int(say(4, NAME_PUBLISH, &session, "c", "3"), 0, "a second key");
    is_int(calls[1].status, 0, "is enough for who wants two");
    is_uint(calls[1].found, 2, "he gets these");
    is_int(say(4, NAME_PUBLISH, &session, "b", "2"), 0, "the last");
    is_int(calls[0].status, 0, "all are there");
    is_uint(calls[0].found, 2, "and given");
    is_int(say(3, NAME_PUBLISH, &node, "n", "here"), 0, "a key of the node");
    is_string(calls[2].value, "here", "is waited for, too");
    names_world_ask(&world, &calls[0], 1, NAME_LOOKUP, &wait, "once", NULL, 0);
    names_world_ask(&world, &calls[1], 2, NAME_LOOKUP, &wait, "once", NULL, 0);
    names_world_until(&world, UINT64_MAX);
    is_int(say(3, NAME_PUBLISH, &once, "once", "x"), 0, "a value for one reader");
    is_int(calls[0].status + calls[1].status, 1, "is given to one of two who wait");
    is_int(say(3, NAME_PUBLISH, &once, "once", "y"), 0, "it is gone with that");
    is_int(calls[0].status + calls[1].status, 0, "the second gets the next");
    names_process_ended(world.places[1], 1, 1);
    names_world_ask(&world, &calls[0], 1, NAME_LOOKUP, &wait, "late", NULL, 0);
    names_process_ended(world.places[1], 1, 1);
    is_int(say(3, NAME_PUBLISH, &once, "late", "z"), 0, "nobody is left to wait");
    finds(4, &session, "late", "z", "so the next reader gets it");
    finds(4, &session, "late", NULL, "once");
    for (uint32_t place = 1; place <= 4; place++)
        is_uint(names_calls(world.places[place]), 0, "no request is open at place %u", place);
    names_world_close(&world);
}

static void test_ends(void)
{
    struct pmi_names exits = session, job = session, node = session;

    exits.persistence = PMI_NAMES_UNTIL_EXIT;
    job.persistence = PMI_NAMES_UNTIL_JOB_END;
    node.range = PMI_NAMES_NODE;
    node.persistence = PMI_NAMES_UNTIL_JOB_END;
    names_world_open(&world, 4, 4);
    (void)say(1, NAME_PUBLISH, &exits, "e", "1");
    (void)say(1, NAME_PUBLISH, &job, "j", "1");
    (void)say(1, NAME_PUBLISH, &node, "n", "1");
    (void)say(1, NAME_PUBLISH, &session, "s", "1");
    names_process_ended(world.places[1], 1, 1);
    names_world_until(&world, UINT64_MAX);
    finds(2, &session, "e", NULL, "what ends with its process");
    finds(2, &session, "j", "1", "what does not");
    finds(1, &session, "n", "1", "nor that of the node");
    world.job_is_over = true;
    names_job_ended(world.places[0], 1);
    names_world_until(&world, UINT64_MAX);
    finds(2, &session, "j", NULL, "what ends with the job");
    finds(1, &session, "n", NULL, "on its node, too");
    finds(2, &session, "s", "1", "what stays");
    (void)say(3, NAME_PUBLISH, &job, "l", "1"); /* and until nothing is under way */
    finds(2, &session, "l", NULL, "a job that has ended leaves nothing behind");
    (void)say(4, NAME_PUBLISH, &exits, "f", "1");
    names_world_kill(&world, 4);
    names_world_until(&world, UINT64_MAX);
    finds(2, &session, "f", NULL, "nor does a process of a node that is lost");
    finds(2, &session, "s", "1", "the rest is there");
    names_part_closed(world.places[1], 1);
    names_world_close(&world);
}

static void test_worlds(uint64_t seeds)
{
    struct names_totals totals = {0}, ignored = {0};
    char wrong[256] = "";
    uint64_t caught = 0, seed;

    for (seed = 1; seed <= seeds && wrong[0] == '\0'; seed++)
        names_world_run(seed, false, &totals, wrong);
    is_string(wrong, "", "%llu random worlds (the last with seed %llu)", (unsigned long long)seeds,
              (unsigned long long)seed - 1);
    diag("%llu published, %llu found, %llu refused, %llu removed, %llu waited for, %llu killed",
         (unsigned long long)totals.published, (unsigned long long)totals.found,
         (unsigned long long)totals.refused, (unsigned long long)totals.removed,
         (unsigned long long)totals.waited, (unsigned long long)totals.killed);
    ok(totals.published > seeds && totals.found > seeds && totals.refused > 0 &&
           totals.removed > 0 && totals.waited > 0 && totals.killed > seeds,
       "in which all happens");
    for (seed = 1; seed <= 20; seed++) {
        names_world_run(seed, true, &ignored, wrong);
        caught += wrong[0] != '\0';
    }
    ok(caught > 10, "that copies get lost is noticed (%llu of 20)", (unsigned long long)caught);
}

/* For callgrind: 10,000 keys from 64 nodes, without the tree; prints the messages of an operation. */
static int bench(void)
{
    uint32_t wrong = 0;
    char key[32];

    names_world_open(&world, 1, 64);
    world.is_calm = true;
    for (uint32_t i = 0; i < 20000; i++) {
        snprintf(key, sizeof(key), "key %u", i % 10000);
        wrong += say(1 + i % 64, i < 10000 ? NAME_PUBLISH : NAME_LOOKUP, &session, key,
                     i < 10000 ? "the value of a name" : NULL) != 0;
    }
    printf("%u wrong, %.2f messages for an operation\n", wrong, (double)world.sent / 20000);
    names_world_close(&world);
    return wrong > 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "bench") == 0)
        return bench();
    if (argc == 2) { /* one world again */
        struct names_totals totals = {0};
        char wrong[256];

        names_world_run(strtoull(argv[1], NULL, 10), false, &totals, wrong);
        puts(wrong);
        return wrong[0] != '\0';
    }
    test_ring();
    test_publish();
    test_ranges();
    test_wait();
    test_ends();
    test_worlds(150);
    return done_testing();
}
