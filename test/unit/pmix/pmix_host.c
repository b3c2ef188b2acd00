/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugin for real: node processes (test/support/nodes.h) that load the built pmix_host.so, and programs
 * that know nothing of banyan: test/tool/pmix_client.c, and hello of Open MPI and MPICH where their
 * compilers are installed.
 */
#include "config.h"

#include "test/support/nodes.h"
#include "test/support/tap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fabric/loop.h"

static char directory[] = "/tmp/bt.XXXXXX";
static char plugin[512];
static char client[512];

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value == NULL ? otherwise : value;
}

static void run(struct nodes_case *it, const char *program, const char *mode, const char *number,
                struct nodes_result *ret_result)
{
    char *argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)mode, (char *)(uintptr_t)number,
                    NULL};

    it->argv = argv;
    it->plugin = plugin;
    it->directory = directory;
    nodes_run(it, ret_result);
    if (ret_result->timed_out)
        diag("it hung: %s %s", program, mode);
}

/* All clients must end well and have been seen to come and go. */
static void good(uint32_t nodes, uint32_t per_node, const char *mode, const char *number)
{
    struct nodes_case it = {.nodes = nodes, .per_node = per_node};
    struct nodes_result result;
    uint32_t size = nodes * per_node;

    run(&it, client, mode, number, &result);
    ok(!result.timed_out && result.exited == size && result.connected == size &&
           result.finalized == size,
       "%s on %u x %u", mode, nodes, per_node);
    if (result.exited != size || result.text.length_bytes > 0)
        diag("%u ended well, %u did not; %s", result.exited, result.failed,
             buffer_string(&result.text));
    if (result.output.length_bytes > 0)
        diag("%s", buffer_string(&result.output));
    nodes_result_fini(&result);
}

static void test_modes(uint32_t nodes, uint32_t per_node)
{
    good(nodes, per_node, "init", NULL);
    good(nodes, per_node, "fence", "3");
    good(nodes, per_node, "direct", "2");
    good(nodes, per_node, "many", "200");
    good(nodes, per_node, "open", "5");
    good(nodes, per_node, "missing", NULL);
}

/* Rank 0 goes without a word: the others are not kept waiting. */
static void test_death(const char *mode)
{
    struct nodes_case it = {.nodes = 2, .per_node = 2};
    struct nodes_result result;

    run(&it, client, mode, NULL, &result);
    ok(!result.timed_out && result.exited == 4, "%s: the others go on", mode);
    is_uint(result.connected, 4, "all came");
    is_uint(result.finalized, 3, "one went without finalize");
    nodes_result_fini(&result);
}

static void test_abort(uint32_t nodes, uint32_t per_node)
{
    struct nodes_case it = {.nodes = nodes, .per_node = per_node};
    struct nodes_result result;

    run(&it, client, "abort", NULL, &result);
    ok(!result.timed_out, "abort on %u x %u ends", nodes, per_node);
    is_uint(result.aborts, 1, "one abort");
    is_int(result.abort_status, 7, "with its status");
    has_string(buffer_string(&result.text), "enough", "and its message");
    is_uint(result.exited + result.failed, nodes * per_node, "nobody is left");
    nodes_result_fini(&result);
}

static void test_log(void)
{
    struct nodes_case it = {.nodes = 2, .per_node = 2};
    struct nodes_result result;
    char line[64];

    run(&it, client, "log", NULL, &result);
    is_uint(result.exited, 4, "four log a line");
    for (int rank = 0; rank < 4; rank++) {
        snprintf(line, sizeof(line), "line of rank %d\n", rank);
        has_string(buffer_string(&result.text), line, "that of rank %d comes through", rank);
    }
    nodes_result_fini(&result);
}

/* The namespace is taken out while its clients wait in a fence. */
static void test_cut(void)
{
    struct nodes_case it = {.nodes = 2, .per_node = 2, .deregister_at = 1};
    struct nodes_result result;

    run(&it, client, "cut", NULL, &result);
    ok(!result.timed_out && result.exited == 4, "a job that is over ends its fences");
    /* Version 5 of libpmix closes their connections. */
    if (BANYAN_PMIX_MAJOR < 5)
        is_uint(result.finalized, 4, "and its clients can finalize");
    else
        skip(1, "libpmix 5 closes the connections of clients whose namespace is taken out");
    nodes_result_fini(&result);
}

static void test_jobs(uint32_t per_node)
{
    struct nodes_case it = {.nodes = 2, .per_node = per_node, .jobs = 3};
    struct nodes_result result;

    run(&it, client, "fence", "2", &result);
    ok(!result.timed_out, "three jobs of 2 x %u in the same processes", per_node);
    is_uint(result.exited, 6 * per_node, "all end well");
    nodes_result_fini(&result);
}

static void test_descriptors(void)
{
    struct nodes_case it = {.nodes = 1, .per_node = 1, .descriptors = 1100};
    struct nodes_result result;

    run(&it, client, "init", NULL, &result);
    is_uint(result.failed, 1, "a daemon with 1,100 descriptors cannot serve");
    has_string(buffer_string(&result.text), "cannot start the PMIx server: nearly all",
               "and says why");
    nodes_result_fini(&result);
}

static void test_mpi(const char *compiler, int pmi1, uint32_t nodes, uint32_t per_node)
{
    struct nodes_case it = {.nodes = nodes, .per_node = per_node, .pmi1 = pmi1};
    struct nodes_result result;
    char command[2048], program[512], size[16];
    uint32_t ranks = nodes * per_node, lines = 0;

    if (strcmp(compiler, "no") == 0) {
        skip(2, "no compiler of this MPI");
        return;
    }
    snprintf(program, sizeof(program), "%s/hello", directory);
    snprintf(command, sizeof(command), "%s -o %s %s/test/tool/mpi/hello.c", compiler, program,
             environment("srcdir", "."));
    snprintf(size, sizeof(size), "%u", ranks);
    if (system(command) != 0)
        bail_out("cannot compile: %s", command);
    run(&it, program, size, NULL, &result);
    ok(!result.timed_out && result.exited == ranks, "%s: hello on %u x %u", compiler, nodes,
       per_node);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        char line[64];

        snprintf(line, sizeof(line), "rank %u of %u ", rank, ranks);
        lines += strstr(buffer_string(&result.output), line) != NULL;
    }
    is_uint(lines, ranks, "every rank sees a world of %u", ranks);
    if (lines != ranks)
        diag("%s%s", buffer_string(&result.output), buffer_string(&result.text));
    nodes_result_fini(&result);
}

/* A program with libevent inside, like the daemon: the plugin's libevent is another one. */
static void test_separation(void)
{
    struct loop *loop = loop_create(NULL);
    void *function = dlsym(RTLD_DEFAULT, "event_base_loop");
    Dl_info info = {0};

    ok(loop != NULL, "this program has a loop of its own");
    ok(function == NULL || (dladdr(function, &info) != 0 && strstr(info.dli_fname, "libevent")),
       "and exports nothing of it");
    loop_destroy(loop);
}

int main(void)
{
    char command[64];

    snprintf(plugin, sizeof(plugin), "%s/pmix_host.so", environment("BANYAN_PKGLIBDIR", ".libs"));
    snprintf(client, sizeof(client), "%s/test/tool/pmix_client", environment("top_builddir", "."));
    if (mkdtemp(directory) == NULL)
        bail_out("mkdtemp failed");
    test_separation();
    test_modes(2, 2);
    test_modes(4, 4);
    /* So many that libpmix shares files with its clients. */
    test_modes(2, 66);
    test_death("quit");
    test_death("lost");
    test_abort(2, 2);
    test_abort(4, 4);
    test_log();
    test_cut();
    test_jobs(2);
    test_jobs(66);
    test_descriptors();
    test_mpi(environment("MPICC_OPENMPI", "no"), 0, 2, 2);
    test_mpi(environment("MPICC_OPENMPI", "no"), 0, 4, 4);
    test_mpi(environment("MPICC_MPICH", "no"), 1, 2, 2);
    test_mpi(environment("MPICC_MPICH", "no"), 1, 4, 4);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    if (system(command) != 0)
        diag("%s failed", command);
    return done_testing();
}
