/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process that hosts libpmix, with the libpmix of this machine: it serves
 * one job after the other and several at once, is replaced when it has grown and no job is open, and
 * leaves nothing behind.
 */
#include "config.h"

#include "launch/rank/pmi_process.h"
#include "test/support/tap.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/time.h"
#include "launch/rank/pmi_node.h"

#define PATIENCE_NS 60000000000ull
#define JOBS        10u

static struct loop *loop;
static struct loop_timer *timer;
static struct session session;
static struct pmi_node *node;

static int32_t opened_by; /* the pid of the server that has opened the last job */
static int opened_status;

static void too_late(void *context)
{
    bail_out("nothing happens");
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    opened_by = pid;
    opened_status = status;
    if (status < 0)
        diag("%s", why);
    loop_stop(loop);
}

static void on_lost(void *context, uint32_t job, const char *why)
{
    fail("job %u is lost: %s", job, why);
    loop_stop(loop);
}

static void run(void)
{
    loop_timer_set(timer, loop_now_ns() + PATIENCE_NS);
    (void)loop_run(loop);
    loop_timer_cancel(timer);
}

static void stop(void *context)
{
    loop_stop(loop);
}

static void run_for(uint64_t ns)
{
    struct loop_timer *pause = loop_timer_create(loop, stop, NULL);

    loop_timer_set(pause, loop_now_ns() + ns);
    run();
    loop_timer_destroy(pause);
}

/* Returns the pid of the server that serves it. */
static int32_t open_job(uint32_t number)
{
    static const uint32_t zero;
    static const struct pmi_ops ops = {.opened = on_opened, .lost = on_lost};
    char namespace[32];
    struct error error = ERROR_NONE;
    struct pmi_job job = {.number = number,
                          .namespace = namespace,
                          .size = 1,
                          .apps_count = 1,
                          .job_id = "1",
                          .node_names = "n",
                          .ranks_by_node = "0",
                          .directory = session.directory,
                          .local_ranks = &zero,
                          .local_apps = &zero,
                          .local_count = 1};

    snprintf(namespace, sizeof(namespace), "space.%u", number);
    opened_by = 0;
    if (pmi_node_open(node, &job, &ops, &error) < 0)
        bail_out("%s", error.text);
    while (opened_by == 0)
        run();
    is_int(opened_status, 0, "job %u is opened", number);
    return opened_by;
}

static void create(uint32_t grown_kib)
{
    struct pmi_node_config config = {.loop = loop,
                                     .session = &session,
                                     .session_id = "s",
                                     .node_name = "here",
                                     .place = 1,
                                     .server_main = pmi_process_main,
                                     .grown_kib = grown_kib};

    node = pmi_node_create(&config);
}

/* p0, p1, ...: of servers. */
static unsigned int directories(void)
{
    DIR *directory = opendir(session.directory);
    struct dirent *entry;
    unsigned int count = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        count += entry->d_name[0] == 'p';
    if (directory != NULL)
        closedir(directory);
    return count;
}

static void test_same(void)
{
    int32_t first;

    create(0);
    first = open_job(1);
    for (uint32_t number = 2; number < JOBS; number++) {
        pmi_node_close(node, number - 1);
        if (open_job(number) != first)
            fail("job %u has another server", number);
    }
    is_int(waitpid(first, NULL, WNOHANG), 0, "which has not ended");
    pmi_node_destroy(node);
    is_int(waitpid(first, NULL, 0), first, "it ends with its node");
    is_uint(directories(), 0, "and leaves nothing");
    is_int(session_remove_tree(session.directory), 0, "so its session can be removed");
}

/* 1 KiB: every server has more. */
static void test_grown(void)
{
    int32_t first, second;

    create(1);
    first = open_job(1);
    is_int(open_job(2), first, "by the same server");
    pmi_node_close(node, 1);
    is_int(open_job(3), first, "one that has grown is used on while a job is open");
    pmi_node_close(node, 2);
    pmi_node_close(node, 3);
    while (kill(first, 0) == 0)
        run_for(NS_PER_MS);
    is_int(kill(first, 0) < 0 ? errno : 0, ESRCH, "and ended when none is");
    is_uint(directories(), 0, "its files are removed");
    second = open_job(4);
    ok(second != first, "the next job has another server");
    is_uint(directories(), 1, "with a directory");
    pmi_node_destroy(node);
    is_int(waitpid(second, NULL, 0), second, "which ends with its node, too");
    is_uint(directories(), 0, "nothing is left of that either");
}

int main(void)
{
    char base[] = "/tmp/bt.XXXXXX", command[64];
    struct error error = ERROR_NONE;

    if (mkdtemp(base) == NULL)
        bail_out("mkdtemp");
    snprintf(session.directory, sizeof(session.directory), "%s/u/s.1", base);
    loop = loop_create(&error);
    if (loop == NULL)
        bail_out("%s", error.text);
    timer = loop_timer_create(loop, too_late, NULL);
    test_same();
    test_grown();
    loop_timer_destroy(timer);
    loop_destroy(loop);
    snprintf(command, sizeof(command), "rm -r %s", base);
    is_int(system(command), 0, "the directory is removed");
    return done_testing();
}
