/* SPDX-License-Identifier: BSD-3-Clause */
/* The job logic by hand: how jobs run and how they end, without deaths (those are in job_loss.c). */
#include "config.h"

#include "launch/job/job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/buffer.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */

/* Two nodes with two slots each, launched but not yet started. */
static struct job_world *launching(void)
{
    struct job_world *world = job_world_create(2, 2);

    job_world_run(world, 4);
    job_world_complete(world);
    return world;
}

static struct job_world *running(void)
{
    struct job_world *world = launching();

    for (uint32_t rank = 0; rank < 4; rank++)
        job_world_started(world, 1 + rank / 2, rank % 2);
    job_world_trace(world);
    return world;
}

/* Both processes of a node end as they were told to. */
static void node_ends(struct job_world *world, uint32_t place, int by_us)
{
    for (uint32_t i = 0; i < 2; i++)
        job_world_exited(world, place, i, by_us ? SIGTERM : 0, by_us);
    job_world_gone(world, place, 0);
}

static void test_good_run(void)
{
    struct job_world *world = launching();

    job_world_happens(world,
                      "root: broadcast ROSTER to everyone\n"
                      "root: broadcast LAUNCH to 1-2\n"
                      "n1: open\n"
                      "n1: start 2 processes\n"
                      "n2: open\n"
                      "n2: start 2 processes\n",
                      "when the tree stands, the job is launched");
    for (uint32_t rank = 0; rank < 4; rank++)
        job_world_started(world, 1 + rank / 2, rank % 2);
    job_world_happens(world,
                      "n1: contribute to LAUNCHED 1 of 1-2: 2 processes\n"
                      "n2: contribute to LAUNCHED 1 of 1-2: 2 processes\n"
                      "root: started 4 processes on 2 nodes\n",
                      "when all processes run, the user is told");
    job_world_output(world, 5);
    node_ends(world, 1, 0);
    job_world_exited(world, 2, 0, 0, 0);
    job_world_exited(world, 2, 1, 0, 0);
    job_world_gone(world, 2, 5);
    job_world_happens(world,
                      "n1: last output\n"
                      "n1: contribute to ENDED 1 of 1-2: 2 processes, status 0, 0 bytes\n"
                      "n2: last output\n"
                      "n2: contribute to ENDED 1 of 1-2: 2 processes, status 0, 5 bytes\n"
                      "n1: close\n"
                      "n2: close\n"
                      "root: forget the job at 1-2\n"
                      "root: report 0\n"
                      "root: leave\n",
                      "when all have ended and been heard, there is a report");
    job_world_reported(world, 0, "", "a good run");
}

static void test_run_before_and_after(void)
{
    struct job_world *world = job_world_create(2, 2);

    job_world_complete(world);
    is_uint(world->places[1].starts, 0, "a tree without a job starts nothing");
    job_world_run(world, 3);
    is_uint(world->places[1].starts + world->places[2].starts, 3, "the job comes later");
    job_world_run(world, 2);
    is_uint(world->places[1].starts + world->places[2].starts, 3,
            "a second one that does not fit is not started");
    is_string(
        world->end.text,
        "2 processes requested, but there are 4 slots on 2 nodes, of which 1 is free; use -n 1 or fewer, or "
        "--oversubscribe; other jobs of this instance have 3 of its 4 slots",
        "and told why");
    is_uint(world->leaves, 0, "the first goes on");
    job_world_destroy(world);

    world = job_world_create(2, 2);
    job_world_complete(world);
    job_world_run(world, 5);
    is_uint(world->end.status, 125, "more processes than slots: 125");
    ok(world->reports == 1 && world->end.banyan_failed && world->end.text[0],
       "one report that says so: %s", world->end.text);
    job_world_destroy(world);
}

/* What nodes are like is asked whichever is there first, the tree or the job. */
static void test_survey(void)
{
    for (int tree_first = 0; tree_first < 2; tree_first++) {
        struct job_world *world = job_world_create(2, 2);

        world->rule.pe = 1;
        if (tree_first)
            job_world_complete(world);
        job_world_run(world, 3);
        if (!tree_first)
            job_world_complete(world);
        is_uint(world->reports + world->places[1].starts, 0,
                "a job with bound processes waits for the nodes (%d)", tree_first);
        job_world_destroy(world);
    }
}

/* ---- ranks that end badly ---- */

static void test_exit_status(void)
{
    struct job_world *world = running();

    job_world_exited(world, 2, 1, EXITED(3), 0);
    job_world_happens(world,
                      "n2: send RANK_FAILED\n"
                      "root: broadcast END to 1-2\n"
                      "n1: end the processes, grace 2000 ms\n"
                      "n2: end the processes, grace 2000 ms\n",
                      "a rank that fails ends the job at once");
    node_ends(world, 1, 1);
    job_world_exited(world, 2, 0, SIGTERM, 1);
    job_world_gone(world, 2, 0);
    job_world_happens(world,
                      "n1: last output\n"
                      "n1: contribute to ENDED 2 of 1-2: 2 processes, status 0, 0 bytes\n"
                      "n2: last output\n"
                      "n2: contribute to ENDED 2 of 1-2: 2 processes, status 3, 0 bytes\n"
                      "n1: close\n"
                      "n2: close\n"
                      "root: forget the job at 1-2\n"
                      "root: report 3: rank 3 on n2 exited with status 3\n"
                      "root: leave\n",
                      "what was killed in consequence does not count");
    ok(!world->end.banyan_failed, "the status is the program's");
    job_world_reported(world, 3, "rank 3 on n2 exited with status 3", "an exit status");
}

static void test_highest_status(void)
{
    struct job_world *world = running();

    job_world_exited(world, 1, 1, EXITED(2), 0);
    job_world_exited(world, 1, 0, EXITED(77), 0);
    job_world_exited(world, 2, 0, EXITED(5), 0);
    job_world_exited(world, 2, 1, 0, 0);
    job_world_gone(world, 1, 0);
    job_world_gone(world, 2, 0);
    is_uint(world->end.processes_ended, 4, "all processes are counted");
    job_world_reported(world, 77,
                       "rank 0 on n1 exited with status 77; before that, rank 1 on n1 exited with "
                       "status 2",
                       "the highest of several");
}

static void test_signal_death(void)
{
    struct job_world *world = running();

    job_world_exited(world, 1, 0, SIGSEGV, 0);
    job_world_exited(world, 1, 1, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    node_ends(world, 2, 1);
    job_world_reported(world, 139, "rank 0 on n1 was killed by signal 11 (Segmentation fault)",
                       "a signal");
}

/* A daemon was sent a signal. */
static void cancel(struct job_world *world, uint32_t place, uint32_t number, const char *sender)
{
    struct job_event event = {.kind = JOB_EVENT_RECEIVED, .place = place};
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_CANCEL);
    wire_put_u32(&payload, number);
    wire_put_string(&payload, sender);
    event.message = message_from_buffer(&payload);
    job_world_event(world, 0, event);
    message_release(event.message);
    buffer_fini(&payload);
}

static void cancelled(uint32_t place, const char *sender, const char *text)
{
    struct job_world *world = running();

    cancel(world, place, SIGTERM, sender);
    is_int(world->places[1].end_grace_ms, 2000,
           "a daemon that is to end ends the job with its grace");
    job_world_trace(world);
    cancel(world, 1, SIGTERM, "somebody else");
    job_world_happens(world, "", "the others, which are told, too, change nothing");
    job_world_exited(world, 1, 0, EXITED(3), 0);
    job_world_exited(world, 1, 1, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    node_ends(world, 2, 2);
    job_world_reported(world, 128 + SIGTERM, text, "who it was");
}

static void test_cancelled(void)
{
    cancelled(2, "Slurm", "cancelled by Slurm (signal 15 to the daemon on n2)");
    cancelled(1, "", "cancelled (signal 15 to the daemon on n1)");
    cancelled(0, "kill", "cancelled by kill (signal 15 to the root of this run)");
}

static void test_without_finalize(void)
{
    struct job_world *world = running();

    job_world_event(world, 1, (struct job_event){.kind = JOB_EVENT_ABNORMAL, .job = 1, .index = 1});
    job_world_exited(world, 1, 1, 0, 0);
    is_int(world->places[2].end_grace_ms, 2000, "an exit without finalize ends the job");
    job_world_exited(world, 1, 0, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    node_ends(world, 2, 1);
    job_world_reported(
        world, 1, "rank 1 on n1 exited with status 0 but without MPI_Finalize or PMIx_Finalize",
        "without finalize");
}

/* The helper has killed a rank without being asked: its daemon had been stopped too long. */
static void test_lease_ended(void)
{
    struct job_world *world = running();

    job_world_exited(world, 1, 0, SIGKILL, 1);
    is_int(world->places[2].end_grace_ms, 2000, "a rank that the lease has killed ends the job");
    job_world_exited(world, 1, 1, SIGKILL, 1);
    job_world_gone(world, 1, 0);
    node_ends(world, 2, 1);
    job_world_reported(world, 137, "rank 0 on n1 was killed by signal 9 (Killed)",
                       "the end of a lease");
}

/* Who has killed a rank is known where it was: its node passes it on. */
static void test_killer_named(void)
{
    struct job_world *world = running();

    job_world_event(world, 1,
                    (struct job_event){.kind = JOB_EVENT_EXITED,
                                       .job = 1,
                                       .number = SIGKILL,
                                       .text = "the out-of-memory killer"});
    job_world_exited(world, 1, 1, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    node_ends(world, 2, 1);
    job_world_reported(world, 137, "rank 0 on n1 was killed by the out-of-memory killer",
                       "a rank without memory");
}

static void abort_rank(struct job_world *world, uint32_t place, int status, const char *text)
{
    job_world_event(
        world, place,
        (struct job_event){.kind = JOB_EVENT_ABORT, .job = 1, .number = status, .text = text});
}

/* The rank of a place calls abort, and the job ends with these words. */
static void check_abort(uint32_t place, int status, const char *text, int job_status,
                        const char *words, const char *what)
{
    struct job_world *world = running();

    abort_rank(world, place, status, text);
    is_int(world->places[3 - place].end_grace_ms, 2000, "%s ends the job elsewhere", what);
    node_ends(world, place, 1);
    node_ends(world, 3 - place, 1);
    job_world_reported(world, job_status, words, what);
}

static void test_abort(void)
{
    check_abort(2, 42, "no such file", 42, "rank 2 on n2 called abort with status 42: no such file",
                "an abort");
    check_abort(1, 0, "", 0, "rank 0 on n1 called abort with status 0", "an abort with 0 is a 0");
    check_abort(1, 256, "N/A", 1, "rank 0 on n1 called abort with status 256",
                "256 is no 0, and what says nothing is left out");
}

/* Others fail because of it, and may be heard first; the abort decides all the same. */
static void test_abort_among_failures(void)
{
    struct job_world *world = running();

    world->hold = HOLD_MESSAGES;
    job_world_exited(world, 1, 0, EXITED(9), 0);
    job_world_exited(world, 1, 1, EXITED(9), 0);
    abort_rank(world, 2, 4, "");
    world->hold = 0;
    job_world_release(world);
    job_world_gone(world, 1, 0);
    node_ends(world, 2, 1);
    job_world_reported(world, 4, "rank 2 on n2 called abort with status 4",
                       "an abort among failures");
}

/* ---- starts that fail ---- */

static void start_fails(struct job_world *world, uint32_t place, uint32_t index, int code,
                        enum start_step step, const char *interpreter)
{
    job_world_event(world, place,
                    (struct job_event){.kind = JOB_EVENT_START_FAILED,
                                       .job = 1,
                                       .index = index,
                                       .number = code,
                                       .step = step,
                                       .text = interpreter});
}

static void all_starts_fail(int code, enum start_step step, const char *interpreter,
                            uint32_t status, const char *text)
{
    struct job_world *world = launching();

    job_world_trace(world);
    for (uint32_t rank = 0; rank < 4; rank++)
        start_fails(world, 1 + rank / 2, rank % 2, code, step, interpreter);
    for (uint32_t place = 1; place <= 2; place++)
        job_world_drained(world, place, 0);
    is_uint(world->started, 0, "nobody is told that it runs");
    ok(world->end.banyan_failed, "the status is banyan's own");
    job_world_reported(world, status, text, start_step_name(step));
}

static void test_start_failures(void)
{
    all_starts_fail(-ENOENT, START_STEP_EXEC, "", 127,
                    "cannot run ./app on n1 (rank 0): No such file or directory");
    all_starts_fail(-EACCES, START_STEP_EXEC, "", 126,
                    "cannot run ./app on n1 (rank 0): Permission denied");
    all_starts_fail(-ENOEXEC, START_STEP_EXEC, "", 126,
                    "cannot run ./app on n1 (rank 0): Exec format error");
    all_starts_fail(-ENOENT, START_STEP_CHDIR, "", 125,
                    "cannot change to the working directory /home/user on n1 (rank 0): "
                    "No such file or directory; give another with --wdir");
    all_starts_fail(
        -EAGAIN, START_STEP_FORK, "", 125,
        "cannot start ./app on n1 (rank 0): fork: Resource temporarily unavailable; the "
        "system allows no more processes: raise ulimit -u, kernel.pid_max or the "
        "pids.max of the cgroup there, or run fewer processes per node");
    all_starts_fail(
        -EMFILE, START_STEP_DESCRIPTORS, "", 125,
        "cannot start ./app on n1 (rank 0): descriptors: Too many open files; each process needs three descriptors in the daemon: raise ulimit -n there, or run fewer processes per node");
    all_starts_fail(-ENOENT, START_STEP_INTERPRETER, "/bin/none", 127,
                    "cannot run ./app on n1 (rank 0): its interpreter /bin/none does not exist");
    all_starts_fail(
        -ENOENT, START_STEP_INTERPRETER, "/bin/sh\\r", 127,
        "cannot run ./app on n1 (rank 0): its interpreter /bin/sh\\r does not exist; it has DOS line endings: remove them with sed -i 's/\\r$//'");
    all_starts_fail(
        -ENOENT, START_STEP_INTERPRETER, "", 127,
        "cannot run ./app on n1 (rank 0): it exists, but the loader that it names is missing, or a file system on its path is not mounted");
    all_starts_fail(-EPERM, START_STEP_LIMIT, "nofile", 125,
                    "cannot start ./app on n1 (rank 0): the limit nofile is refused: Operation not "
                    "permitted; only a privileged user may exceed what the node allows (ulimit -H "
                    "there)");
    all_starts_fail(-EINVAL, START_STEP_LIMIT, "stack", 125,
                    "cannot start ./app on n1 (rank 0): the limit stack is refused: Invalid "
                    "argument; the soft limit is above the hard one there: give both");
    all_starts_fail(-EIO, START_STEP_LIMIT, "nice value", 125,
                    "cannot start ./app on n1 (rank 0): the nice value is refused: Input/output "
                    "error");
    all_starts_fail(
        -EIO, START_STEP_SERVICES, "interpreter", 125,
        "cannot start ./app on n1 (rank 0): its PMIx and PMI services: Input/output error");
}

/* One of four: the others run already and must end. */
static void test_one_start_fails(void)
{
    struct job_world *world = launching();

    job_world_trace(world);
    job_world_started(world, 1, 0);
    job_world_started(world, 1, 1);
    job_world_started(world, 2, 0);
    start_fails(world, 2, 1, -ENOENT, START_STEP_EXEC, "");
    is_string(job_world_trace(world),
              "n1: contribute to LAUNCHED 1 of 1-2: 2 processes\n"
              "n2: contribute to LAUNCHED 1 of 1-2: 2 processes, a start failed\n"
              "root: broadcast END to 1-2\n"
              "n1: end the processes, grace 2000 ms\n"
              "n2: end the processes, grace 2000 ms\n",
              "one that cannot be started ends the others");
    node_ends(world, 1, 1);
    job_world_exited(world, 2, 0, SIGTERM, 1);
    job_world_gone(world, 2, 0);
    job_world_reported(world, 127, "cannot run ./app on n2 (rank 3): No such file or directory",
                       "one start failed");
}

/* The helper has already seen the other process end when it tells of the one that failed. */
static void test_start_fails_last(void)
{
    struct job_world *world = launching();

    node_ends(world, 1, 0);
    job_world_started(world, 1, 0);
    job_world_started(world, 1, 1);
    node_ends(world, 1, 0);
    job_world_started(world, 2, 0);
    job_world_exited(world, 2, 0, 0, 0);
    job_world_gone(world, 2, 0);
    start_fails(world, 2, 1, -EACCES, START_STEP_EXEC, "");
    job_world_drained(world, 2, 0);
    job_world_reported(world, 126, "cannot run ./app on n2 (rank 3): Permission denied",
                       "a start that fails after all else has ended");
}

/* A failed start explains why the others fail, although they are heard of before. */
static void test_start_failure_among_exits(void)
{
    struct job_world *world = launching();

    job_world_started(world, 1, 0);
    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_started(world, 1, 1);
    start_fails(world, 2, 0, -ENOENT, START_STEP_EXEC, "");
    start_fails(world, 2, 1, -ENOENT, START_STEP_EXEC, "");
    job_world_drained(world, 2, 0);
    job_world_exited(world, 1, 1, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 127, "cannot run ./app on n2 (rank 2): No such file or directory",
                       "a start that fails among exits");
}

/* ---- the user ---- */

static void test_interrupt_early(void)
{
    struct job_world *world = job_world_create(2, 2);

    job_world_run(world, 4);
    job_world_end(world, 130, 0, "interrupted");
    job_world_complete(world);
    is_uint(world->places[1].starts, 0, "nothing is started any more");
    job_world_reported(world, 130, "interrupted", "Ctrl-C before the tree stands");

    world = job_world_create(2, 2);
    job_world_leave(world, "interrupted");
    job_world_run(world, 4);
    job_world_complete(world);
    job_world_reported(world, 125, "the instance is ending", "a job for an instance that leaves");
}

static void test_interrupt_launch(void)
{
    struct job_world *world = launching();

    job_world_started(world, 1, 0);
    job_world_end(world, 130, 0, "interrupted");
    ok(world->places[1].end_grace_ms == 2000 && world->places[2].end_grace_ms == 2000,
       "all nodes end what they have");
    job_world_started(world, 1, 1);
    job_world_started(world, 2, 0);
    job_world_started(world, 2, 1);
    is_uint(world->started, 0, "it does not run any more");
    node_ends(world, 1, 1);
    node_ends(world, 2, 1);
    job_world_reported(world, 130, "interrupted", "Ctrl-C while launching");
}

static void test_interrupt_run(void)
{
    struct job_world *world = running();

    job_world_end(world, 130, 0, "interrupted");
    is_int(world->places[1].end_grace_ms, 2000, "the first Ctrl-C leaves some grace");
    job_world_end(world, 130, 1, "interrupted");
    is_int(world->places[1].end_grace_ms, 0, "the second none");
    is_uint(world->reports, 0, "but what has ended must be known");
    node_ends(world, 1, 1);
    is_int(world->places[1].cut, 1, "output that nobody waits for is given up");
    node_ends(world, 2, 1);
    job_world_reported(world, 130, "interrupted", "Ctrl-C in the run");

    world = running();
    job_world_end(world, 124, 0, "timed out after 10 s");
    node_ends(world, 1, 1);
    node_ends(world, 2, 1);
    ok(world->end.banyan_failed, "a time-out is banyan's own");
    job_world_reported(world, 124, "timed out after 10 s", "a time-out");
}

/* A node that never answers does not keep the user waiting for ever. */
static void test_interrupt_without_answer(void)
{
    struct job_world *world = running();

    job_world_end(world, 130, 0, "interrupted");
    node_ends(world, 1, 1);
    job_world_pass(world, 6999);
    is_uint(world->reports, 0, "a node has grace and some patience more");
    job_world_pass(world, 1);
    job_world_reported(world, 130, "interrupted", "a node that does not answer");
}

/* All have ended by themselves in the same moment: some nodes hear of that and close before they
 * hear that they were to be ended. */
static void test_interrupt_too_late(void)
{
    struct job_world *world = running();

    world->hold = HOLD_RESULTS;
    node_ends(world, 1, 0);
    node_ends(world, 2, 0);
    world->hold = HOLD_BROADCASTS | HOLD_RESULTS;
    job_world_end(world, 130, 0, "interrupted");
    world->hold = HOLD_BROADCASTS;
    job_world_release(world);
    is_uint(world->places[1].closed, 1, "the nodes have closed the job");
    world->hold = 0;
    job_world_trace(world);
    job_world_release(world);
    is_string(job_world_trace(world), "", "and take no part in ending it");
    job_world_reported(world, 130, "interrupted", "Ctrl-C when all has ended");
}

static void test_user_signal(void)
{
    struct job_world *world = running();
    struct job_event event = {.kind = JOB_EVENT_SIGNAL, .job = 1, .number = SIGUSR1};
    struct ranges ranks = {0};

    job_world_event(world, 0, event);
    ok(world->places[1].signal == SIGUSR1 && world->places[2].signal == SIGUSR1,
       "SIGUSR1 goes to all nodes");
    ranges_add(&ranks, 3, 3);
    event.number = SIGUSR2;
    event.places = &ranks;
    job_world_event(world, 0, event);
    ok(world->places[1].signal == SIGUSR1 && world->places[2].signal == SIGUSR2,
       "a signal to a rank goes to its node");
    event.places = NULL;
    ranges_fini(&ranks);
    job_world_end(world, 130, 0, "interrupted");
    event.number = SIGUSR2;
    job_world_event(world, 0, event);
    is_int(world->places[1].signal, SIGUSR1, "but not when the job is being ended");
    job_world_destroy(world);
}

/* ---- output ---- */

static void test_output_delays(void)
{
    struct job_world *world = running();

    job_world_output(world, 60);
    job_world_exited(world, 1, 0, 0, 0);
    job_world_exited(world, 1, 1, 0, 0);
    job_world_gone(world, 1, 100);
    node_ends(world, 2, 0);
    job_world_pass(world, 3600 * 1000);
    is_uint(world->reports, 0, "output under way delays the report, as long as it takes");
    job_world_output(world, 39);
    is_uint(world->reports, 0, "until the last byte");
    job_world_output(world, 1);
    job_world_reported(world, 0, "", "output");
}

/* A rank has failed and the reader is slow: what was written before is not thrown away. */
static void test_slow_reader(void)
{
    struct job_world *world = running();
    struct job_event timer = {.kind = JOB_EVENT_TIMER, .flag = 1};

    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_exited(world, 1, 1, SIGTERM, 1);
    job_world_event(world, 1, (struct job_event){.kind = JOB_EVENT_GROUP_EMPTY, .job = 1});
    is_int(world->places[1].cut, 0, "the node waits for credit");
    for (int i = 0; i < 10; i++) {
        world->now_ns = (uint64_t)world->deadlines_ns[1];
        job_world_event(world, 0, timer);
    }
    is_uint(world->reports, 0, "and the root for the node, while the reader has output to take");
    job_world_end(world, 130, 0, "interrupted");
    is_int(world->places[1].cut, 1, "until the user does not want to wait");
    job_world_event(world, 1,
                    (struct job_event){.kind = JOB_EVENT_DRAINED, .job = 1, .number = 10});
    node_ends(world, 2, 1);
    is_uint(world->reports, 0, "what is under way has a moment still");
    job_world_pass(world, 2000);
    job_world_reported(world, 1, "rank 0 on n1 exited with status 1", "a slow reader");
}

/* ---- what should not happen ---- */

static void broadcast_bytes(struct job_world *world, uint32_t place, const void *data, size_t bytes)
{
    struct message *message = message_create(data, bytes);

    job_world_event(world, place,
                    (struct job_event){.kind = JOB_EVENT_BROADCAST, .message = message});
    message_release(message);
}

static void test_other_placement(void)
{
    struct job_world *world = job_world_create(2, 2);
    struct allocation other;
    struct buffer roster = {0};

    /* n2 is given another allocation first; the root's comes too late. */
    allocation_init(&other);
    allocation_generate(&other, "n", 2, 1);
    wire_put_u8(&roster, JOB_MESSAGE_ROSTER);
    wire_put_u32(&roster, 1);
    allocation_add(&other, "n2", 1);
    allocation_encode(&other, &roster);
    broadcast_bytes(world, 2, roster.data, roster.length_bytes);
    allocation_fini(&other);
    buffer_fini(&roster);
    job_world_complete(world);
    job_world_run(world, 3);
    job_world_trace(world);
    job_world_started(world, 1, 0);
    job_world_started(world, 1, 1);
    job_world_started(world, 2, 0);
    job_world_started(world, 2, 1);
    is_int(world->places[1].end_grace_ms, 0, "a job that is placed otherwise is ended at once");
    node_ends(world, 1, 1);
    job_world_exited(world, 2, 0, SIGKILL, 1);
    job_world_exited(world, 2, 1, SIGKILL, 1);
    job_world_gone(world, 2, 0);
    job_world_reported(
        world, 125, "the placement computed by n2 differs from the root's; please report this bug",
        "another placement");
}

static void test_launch_refused(void)
{
    static const unsigned char launch[] = {JOB_MESSAGE_LAUNCH, 1, 0, 0, 0, 99};
    struct job_world *world = job_world_create(2, 2);

    job_world_run(world, 4);
    world->hold = HOLD_BROADCASTS;
    job_world_complete(world);
    broadcast_bytes(world, 2, launch, sizeof launch);
    world->hold = 0;
    job_world_release(world);
    for (uint32_t place = 1; place <= 2; place++) {
        job_world_started(world, place, 0);
        job_world_started(world, place, 1);
        node_ends(world, place, 1);
    }
    job_world_reported(
        world, 125,
        "cannot start ./app on n2 (rank 0): cannot decode the launch message: Bad message",
        "a launch message that cannot be read");
}

int main(void)
{
    test_good_run();
    test_run_before_and_after();
    test_survey();
    test_exit_status();
    test_highest_status();
    test_cancelled();
    test_signal_death();
    test_without_finalize();
    test_lease_ended();
    test_killer_named();
    test_abort();
    test_abort_among_failures();
    test_start_failures();
    test_one_start_fails();
    test_start_fails_last();
    test_start_failure_among_exits();
    test_interrupt_early();
    test_interrupt_launch();
    test_interrupt_run();
    test_interrupt_without_answer();
    test_interrupt_too_late();
    test_user_signal();
    test_output_delays();
    test_slow_reader();
    test_other_placement();
    test_launch_refused();
    return done_testing();
}
