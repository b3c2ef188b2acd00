/* SPDX-License-Identifier: BSD-3-Clause */
/* The job logic by hand: daemons that do not come up, and nodes that are lost. */
#include "config.h"

#include "launch/job/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */
#define LOST_N2        "lost node n2: its daemon closed the connection; the job was ended"

static struct job_world *launching(uint32_t nodes)
{
    struct job_world *world = job_world_create(nodes, 1);

    job_world_run(world, nodes);
    job_world_complete(world);
    return world;
}

/* One process on each node. */
static struct job_world *running(uint32_t nodes)
{
    struct job_world *world = launching(nodes);

    for (uint32_t place = 1; place <= nodes; place++)
        job_world_started(world, place, 0);
    job_world_trace(world);
    return world;
}

static void node_ends(struct job_world *world, uint32_t place, int by_us)
{
    job_world_exited(world, place, 0, by_us ? SIGTERM : 0, by_us);
    job_world_gone(world, place, 0);
}

/* ---- daemons that do not come up ---- */

static void place_fails(struct job_world *world, uint32_t at, uint32_t place, const char *text)
{
    job_world_event(
        world, at,
        (struct job_event){.kind = JOB_EVENT_PLACE_FAILED, .place = place, .text = text});
}

static void test_grouping(void)
{
    struct job_world *world = job_world_create(12, 1);

    job_world_run(world, 12);
    place_fails(world, 0, 1, "ssh exited 255: Connection refused");
    place_fails(world, 0, 3, "ssh exited 255: Connection refused");
    place_fails(world, 0, 7, "banyand: command not found");
    job_world_pass(world, 200);
    place_fails(world, 4, 2, "ssh exited 255: Connection refused");
    is_string(job_world_trace(world), "n4: send PLACE_FAILED\n", "a relay tells the root");
    job_world_kill(world, 2);
    job_world_pass(world, 99);
    is_uint(world->reports, 0, "for a moment more failures are gathered");
    job_world_pass(world, 1);
    ok(world->end.banyan_failed, "the status is banyan's own");
    is_string(world->text,
              "cannot start daemons on n[1-3] (3 nodes): ssh exited 255: Connection refused",
              "a line for each reason");
    job_world_reported(world, 125, "cannot start the daemon on n7: banyand: command not found",
                       "and the last one for the job");
}

/* Agents that fail together and are called again do not end together. */
static void test_retries_are_gathered(void)
{
    struct job_world *world = job_world_create(12, 1);

    world->instance.start_retries = 2;
    job_world_run(world, 12);
    place_fails(world, 0, 1, "ssh exited 255: Connection refused");
    job_world_pass(world, 300 + 750 - 1);
    is_uint(world->reports, 0, "the other agent may still wait to be called again");
    place_fails(world, 0, 2, "ssh exited 255: Connection refused");
    job_world_pass(world, 1);
    job_world_reported(
        world, 125, "cannot start daemons on n[1-2] (2 nodes): ssh exited 255: Connection refused",
        "agents that were called again: one line");
}

/* The tree tells that a place is gone before its starter has told why. */
static void test_words_come_later(void)
{
    struct job_world *world = job_world_create(12, 1);

    job_world_run(world, 12);
    job_world_kill(world, 5);
    job_world_kill(world, 6);
    place_fails(world, 0, 5, "ssh exited 1: disk full");
    place_fails(world, 0, 5, "ssh exited 9: never mind");
    job_world_complete(world);
    is_uint(world->places[1].starts, 0, "what is left is not a tree to run on");
    job_world_pass(world, 300);
    is_string(world->text, "cannot start the daemon on n5: ssh exited 1: disk full",
              "one is known by then");
    job_world_reported(world, 125,
                       "cannot start the daemon on n6: it exited before the tree was complete",
                       "words that come later");
}

static void test_many_failures(void)
{
    struct job_world *world = job_world_create(2, 1);
    char text[64];

    job_world_run(world, 2);
    for (uint32_t i = 0; i < 1100; i++) {
        snprintf(text, sizeof text, "exited %u", i < 10 ? i : 10);
        place_fails(world, 0, 1 + i % 2 + 2 * i, text);
    }
    job_world_pass(world, 300);
    is_uint(world->reports, 1, "more failures than are kept: one report");
    has_string(world->end.text, "and 76 more nodes", "that says how many");
    job_world_destroy(world);
}

static void test_start_timeout(void)
{
    struct job_world *world = job_world_create(12, 1);

    world->instance.radix = 16; /* each level has a time-out of its own */
    job_world_run(world, 12);
    ranges_add(&world->missing, 4, 6);
    ranges_add(&world->missing, 9, 9);
    job_world_pass(world, 4999);
    is_string(world->text, "", "at first nothing is said");
    job_world_pass(world, 1);
    is_string(world->text, "waiting for the daemons of n[4-6,9] to join; 8 of 12 have",
              "after 5 s it is told who has not joined");
    job_world_pass(world, 5 * 1000);
    is_uint(world->reports, 0, "starters have their own time-out, which says more");
    job_world_pass(world, 1000);
    job_world_reported(world, 125,
                       "no daemon has joined from n[4-6,9] within 10 s (--start-timeout)",
                       "a start that times out");
}

static void test_failure_before_run(void)
{
    struct job_world *world = job_world_create(2, 1);

    place_fails(world, 0, 1, "ssh exited 255");
    job_world_run(world, 2);
    job_world_pass(world, 300);
    job_world_reported(world, 125, "cannot start the daemon on n1: ssh exited 255",
                       "a start that fails before there is a job");
}

/* ---- nodes that are lost ---- */

static void test_lost_before_run(void)
{
    struct job_world *world = job_world_create(3, 1);

    job_world_complete(world);
    job_world_kill(world, 2);
    job_world_run(world, 3);
    is_uint(world->places[1].starts, 0, "nothing is started");
    job_world_reported(world, 125, LOST_N2, "a node lost before the job");

    world = job_world_create(3, 1);
    job_world_complete(world);
    job_world_kill(world, 3);
    job_world_run(world, 2);
    is_uint(world->places[1].starts, 1, "a job that does not need the lost node is launched");
    job_world_destroy(world);
}

static void test_lost_in_launch(void)
{
    struct job_world *world = launching(3);

    job_world_started(world, 1, 0);
    job_world_trace(world);
    job_world_kill(world, 2);
    is_string(job_world_trace(world),
              "root: broadcast END to 1,3\n"
              "n1: end the processes, grace 2000 ms\n"
              "n3: end the processes, grace 2000 ms\n",
              "the others are ended");
    job_world_started(world, 3, 0);
    node_ends(world, 3, 1);
    node_ends(world, 1, 1);
    job_world_pass(world, 200);
    job_world_reported(world, 125, LOST_N2, "a node lost while launching");
}

static void test_lost_in_run(void)
{
    struct job_world *world = running(3);

    job_world_kill(world, 2);
    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_gone(world, 1, 0);
    node_ends(world, 3, 1);
    job_world_pass(world, 200);
    job_world_reported(world, 125, LOST_N2, "a node lost in the run, others fail in consequence");
}

static void test_lost_after_failure(void)
{
    struct job_world *world = running(3);

    job_world_exited(world, 1, 0, EXITED(5), 0);
    job_world_gone(world, 1, 0);
    job_world_kill(world, 2);
    node_ends(world, 3, 1);
    job_world_pass(world, 200);
    job_world_reported(world, 5, "rank 0 on n1 exited with status 5",
                       "a node lost while a job ends");
}

/* Contributions to an operation with a dead member are answered by an error; the next one counts. */
static void test_lost_while_ending(void)
{
    struct job_world *world = running(4);

    job_world_end(world, 130, 0, "interrupted");
    node_ends(world, 1, 1);
    node_ends(world, 4, 1);
    job_world_trace(world);
    job_world_kill(world, 2);
    job_world_happens(world,
                      "root: broadcast END to 1,3-4\n"
                      "n1: contribute to ENDED 3 of 1,3-4: 1 processes, status 0, 0 bytes\n"
                      "n3: end the processes, grace 2000 ms\n"
                      "n4: contribute to ENDED 3 of 1,3-4: 1 processes, status 0, 0 bytes\n",
                      "those that live are asked again");
    job_world_kill(world, 4);
    node_ends(world, 3, 1);
    job_world_reported(world, 130, "interrupted", "nodes lost while a job ends");
}

static void test_all_lost(void)
{
    struct job_world *world = running(3);

    job_world_kill(world, 2);
    job_world_kill(world, 1);
    job_world_kill(world, 3);
    job_world_reported(world, 125, LOST_N2, "all nodes lost");
}

/* All ranks have ended; only the last output is missing. */
static struct job_world *flushing(uint64_t bytes)
{
    struct job_world *world = running(3);

    node_ends(world, 1, 0);
    job_world_exited(world, 2, 0, 0, 0);
    job_world_gone(world, 2, bytes);
    node_ends(world, 3, 0);
    is_uint(world->reports, 0, "output is under way");
    return world;
}

static void test_lost_while_flushing(void)
{
    struct job_world *world = flushing(100);

    job_world_kill(world, 2);
    job_world_output(world, 100);
    job_world_reported(world, 0, "", "a node lost whose last output has come");

    world = flushing(100);
    job_world_kill(world, 2);
    job_world_pass(world, 1999);
    job_world_output(world, 60);
    job_world_pass(world, 1999);
    is_uint(world->reports, 0, "while output comes it is waited for");
    job_world_pass(world, 1);
    has_string(world->text, "some of the output was lost", "that some is missing is said");
    job_world_reported(world, 125, LOST_N2, "a node lost with the last output");

    world = flushing(100);
    job_world_end(world, 130, 0, "interrupted");
    job_world_reported(world, 0, "", "a user who does not wait for the last output");
}

/* What a lost node has sent before counts in the sum of bytes; what others have still under way
 * must not be taken for it. */
static void test_output_after_loss(void)
{
    struct job_world *world = running(3);

    job_world_output(world, 50);
    job_world_kill(world, 2);
    node_ends(world, 1, 1);
    job_world_exited(world, 3, 0, SIGTERM, 1);
    job_world_gone(world, 3, 20);
    job_world_pass(world, 199);
    is_uint(world->reports, 0, "after a loss there is a moment of silence before the report");
    job_world_output(world, 20);
    job_world_pass(world, 199);
    is_uint(world->reports, 0, "of all");
    job_world_pass(world, 1);
    job_world_reported(world, 125, LOST_N2, "the output of others after a loss");
}

/* A relay that has no rank of the job dies with what it carried. */
static struct job_world *with_relay(void)
{
    struct job_world *world = job_world_create(3, 1);

    job_world_run(world, 2);
    job_world_complete(world);
    job_world_started(world, 1, 0);
    job_world_started(world, 2, 0);
    return world;
}

static void test_relay_lost(void)
{
    struct job_world *world = with_relay();

    job_world_kill(world, 3);
    node_ends(world, 1, 0);
    node_ends(world, 2, 0);
    job_world_reported(world, 0, "", "a relay lost in the run");

    world = with_relay();
    node_ends(world, 1, 0);
    job_world_exited(world, 2, 0, 0, 0);
    job_world_kill(world, 3);
    job_world_gone(world, 2, 100);
    job_world_pass(world, 2000);
    has_string(world->text, "some of the output was lost", "output lost in a relay is missed");
    job_world_reported(world, 0, "", "a relay lost with output");
}

/* The news of a failure was lost on its way: without it the others would wait for ever. */
static void test_news_lost(void)
{
    struct job_world *world = with_relay();

    world->hold = HOLD_MESSAGES;
    job_world_exited(world, 1, 0, EXITED(4), 0);
    job_world_gone(world, 1, 0);
    job_world_drop_held(world);
    world->hold = 0;
    job_world_kill(world, 3);
    is_int(world->places[2].end_grace_ms, 2000, "a failure is told again after a loss");
    node_ends(world, 2, 1);
    job_world_reported(world, 4, "rank 0 on n1 exited with status 4", "news that were lost");
}

int main(void)
{
    test_grouping();
    test_retries_are_gathered();
    test_words_come_later();
    test_many_failures();
    test_start_timeout();
    test_failure_before_run();
    test_lost_before_run();
    test_lost_in_launch();
    test_lost_in_run();
    test_lost_after_failure();
    test_lost_while_ending();
    test_all_lost();
    test_lost_while_flushing();
    test_output_after_loss();
    test_relay_lost();
    test_news_lost();
    return done_testing();
}
