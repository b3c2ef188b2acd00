/* SPDX-License-Identifier: BSD-3-Clause */
/* What a person reads about failures, losses and starts, word by word, and the status that goes with it. */
#include "config.h"

#include "launch/job/job_report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "launch/job/instance.h"
#include "launch/job/instance_state.h"
#include "test/support/tap.h"

/* An instance of n1-n8, and a job of one application on all of them. */
static struct world {
    struct instance_spec spec;
    struct allocation allocation;
    struct instance *instance;
    struct job *job;
} world;

static void world_open(void)
{
    struct job_spec spec;

    instance_spec_init(&world.spec);
    allocation_init(&world.allocation);
    allocation_generate(&world.allocation, "n", 8, 2);
    world.instance = instance_create(&world.spec, 0, &world.allocation, INSTANCE_LEAVES_WITH_JOB);
    job_spec_init(&spec);
    placement_add(&spec.placement,
                  &(struct placement_rule){.policy = PLACEMENT_BY_NODE, .processes = 16});
    spec.apps = memory_allocate_zeroed(sizeof(*spec.apps));
    spec.apps_count = 1;
    spec.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    spec.apps[0].argv[0] = memory_copy_string("./app");
    spec.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    spec.apps[0].directory = memory_copy_string("/home/user");
    world.job = job_create(world.instance, 1, &spec);
    (void)placement_map_make(&world.job->map, &world.job->spec.placement, &world.allocation, NULL);
}

static void world_close(void)
{
    job_destroy(world.job);
    instance_destroy(world.instance);
    allocation_fini(&world.allocation);
    instance_spec_fini(&world.spec);
}

static void test_failures(void)
{
    static const struct {
        struct job_failure failure;
        uint32_t status;
        const char *text;
    } rows[] = {
        {{.kind = JOB_FAILURE_NONE}, 0, ""},
        {{.kind = JOB_FAILURE_EXIT, .code = 3}, 3, "rank 9 on n2 exited with status 3"},
        {{.kind = JOB_FAILURE_EXIT, .code = 256}, 1, "rank 9 on n2 exited with status 256"},
        {{.kind = JOB_FAILURE_SIGNAL, .code = SIGSEGV},
         128 + SIGSEGV,
         "rank 9 on n2 was killed by signal 11 (Segmentation fault)"},
        {{.kind = JOB_FAILURE_SIGNAL, .code = SIGKILL, .detail = "the out-of-memory killer"},
         128 + SIGKILL,
         "rank 9 on n2 was killed by the out-of-memory killer"},
        {{.kind = JOB_FAILURE_ABNORMAL},
         1,
         "rank 9 on n2 exited with status 0 but without MPI_Finalize or PMIx_Finalize"},
        {{.kind = JOB_FAILURE_ABORT, .code = 7, .detail = "out of money"},
         7,
         "rank 9 on n2 called abort with status 7: out of money"},
        {{.kind = JOB_FAILURE_ABORT, .code = 0, .detail = "N/A"},
         0,
         "rank 9 on n2 called abort with status 0"},
        {{.kind = JOB_FAILURE_ABORT, .code = 512}, 1, "rank 9 on n2 called abort with status 512"},
        {{.kind = JOB_FAILURE_SERVICES, .code = -EIO, .detail = "the PMIx server died"},
         125,
         "cannot serve the ranks on n2: the PMIx server died"},
        {{.kind = JOB_FAILURE_MISSED, .detail = "fence 3"},
         1,
         "rank 9 on n2 ended without joining fence 3, in which other ranks are waiting"},
        {{.kind = JOB_FAILURE_START, .step = START_STEP_EXEC, .code = -ENOENT},
         127,
         "cannot run ./app on n2 (rank 9): No such file or directory"},
        {{.kind = JOB_FAILURE_START, .step = START_STEP_EXEC, .code = -EACCES},
         126,
         "cannot run ./app on n2 (rank 9): Permission denied"},
        {{.kind = JOB_FAILURE_START, .step = START_STEP_CHDIR, .code = -ENOENT},
         125,
         "cannot change to the working directory /home/user on n2 (rank 9): No such file or "
         "directory; give another with --wdir"},
        {{.kind = JOB_FAILURE_START,
          .step = START_STEP_INTERPRETER,
          .code = -ENOENT,
          .detail = "/bin/sh\\r"},
         127,
         "cannot run ./app on n2 (rank 9): its interpreter /bin/sh\\r does not exist; it has DOS "
         "line endings: remove them with sed -i 's/\\r$//'"},
        {{.kind = JOB_FAILURE_START, .step = START_STEP_FORK, .code = -ENOMEM},
         125,
         "cannot start ./app on n2 (rank 9): fork: Cannot allocate memory; run fewer processes per "
         "node"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job_failure failure = rows[i].failure;
        char text[512];

        failure.rank = 9;
        failure.place = 2;
        job_report_failure(world.job, &failure, text, sizeof(text));
        is_string(text, rows[i].text, "failure %zu", i);
        is_uint(job_report_status(&failure), rows[i].status, "and its status");
    }
}

static void test_ranks(void)
{
    struct ranges places = {0}, ranks = {0};
    struct buffer text = {0};

    ranges_add(&places, 2, 3);
    job_report_ranks(world.job, &places, &text);
    is_string(buffer_string(&text), "ranks 1-2,9-10", "ranks of two nodes");
    buffer_clear(&text);
    ranges_add(&ranks, 4, 4);
    job_report_rank_set(&ranks, &text);
    is_string(buffer_string(&text), "rank 4", "one rank");
    buffer_clear(&text);
    for (uint32_t i = 0; i < 100; i++)
        ranges_add(&ranks, 10 + 2 * i, 10 + 2 * i);
    job_report_rank_set(&ranks, &text);
    is_string(buffer_string(&text),
              "ranks 4,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38 and 85 more",
              "so many that a line could not hold them");
    buffer_clear(&text);
    job_report_places(world.instance, &places, &text);
    is_string(buffer_string(&text), "n[2-3]", "nodes of places");
    buffer_fini(&text);
    ranges_fini(&places);
    ranges_fini(&ranks);
}

static void is_loss(uint32_t place, const char *expected)
{
    struct buffer text = {0};

    job_report_loss(world.instance->root, place, &text);
    is_string(buffer_string(&text), expected, "the loss of place %u", place);
    buffer_fini(&text);
}

static void see(uint32_t place, enum endpoint_loss loss, int64_t silent_ns)
{
    struct ranges places = {0};
    struct job_event event = {
        .kind = JOB_EVENT_SEEN, .places = &places, .status = (int)loss, .number = silent_ns};

    ranges_add(&places, place, place);
    job_report_seen(world.instance->root, &event);
    ranges_fini(&places);
}

static void test_losses(void)
{
    is_loss(1, "its connection broke");
    see(1, ENDPOINT_LOSS_CLOSED, 0);
    see(2, ENDPOINT_LOSS_SILENT, 61200000000);
    see(3, ENDPOINT_LOSS_REFUSED, 0);
    see(4, ENDPOINT_LOSS_UNREACHABLE, 0);
    see(5, ENDPOINT_LOSS_ENDED, 0);
    see(6, ENDPOINT_LOSS_CLOSED, 0);
    is_loss(1, "its daemon closed the connection");
    is_loss(2, "silent for 61.2 s");
    is_loss(3, "nobody listens there");
    is_loss(4, "its machine does not respond");
    is_loss(5, "its daemon exited");
    is_loss(6, "its daemon closed the connection");
    is_loss(7, "its connection broke");
    is_uint(world.instance->root->seen_count, 5, "equal ends are kept once");
    for (int64_t silent_ns = 1; silent_ns < 1000; silent_ns++)
        see(8, ENDPOINT_LOSS_SILENT, silent_ns);
    is_uint(world.instance->root->seen_count, 64, "and only so many different ones");
}

static void fail_start(uint32_t place, const char *text)
{
    struct job_event event = {.kind = JOB_EVENT_PLACE_FAILED, .place = place, .text = text};
    struct job_actions actions;

    job_actions_init(&actions);
    instance_step(world.instance, &event, &actions);
    job_actions_fini(&actions);
}

static void is_start(const struct ranges *missing, const char *expected, const char *what)
{
    struct buffer lines = {0};

    job_report_start(world.instance, missing, &lines);
    is_string(buffer_string(&lines), expected, "%s", what);
    buffer_fini(&lines);
}

static void test_starts(void)
{
    struct ranges missing = {0};
    char text[512];

    ranges_add(&missing, 3, 4);
    ranges_add(&missing, 6, 6);
    world.spec.start_timeout_s = 30;
    is_start(&missing, "no daemon has joined from n[3-4,6] within 30 s (--start-timeout)",
             "nobody says why");
    job_report_unjoined(world.instance, &missing, text, sizeof(text));
    is_string(text, "waiting for the daemons of n[3-4,6] to join; 5 of 8 have", "while it waits");
    fail_start(3, "ssh exited 255");
    fail_start(4, "ssh exited 255");
    fail_start(6, "no banyand there");
    is_start(&missing,
             "cannot start daemons on n[3-4] (2 nodes): ssh exited 255\n"
             "cannot start the daemon on n6: no banyand there",
             "equal reasons are one line");
    ranges_fini(&missing);
}

int main(void)
{
    world_open();
    test_failures();
    test_ranks();
    test_losses();
    test_starts();
    world_close();
    return done_testing();
}
