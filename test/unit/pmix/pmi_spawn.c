/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request to spawn, and its answer (pmix/pmi_spawn_wire.c), as bytes; and the info keys of MPI.
 */
#include "config.h"

#include "pmix/pmi_spawn.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_request(struct pmi_spawn *spawn)
{
    static char words[][48] = {"other",
                               "-v",
                               "",
                               "A=1",
                               "B=",
                               "PMI_FD=7",
                               "OMPI_MCA_btl_vader_backing_directory=/dev/shm/x"};
    char *const argv[] = {words[0], words[1], words[2], NULL};
    char *const env[] = {words[3], words[5], words[6], words[4], NULL};
    struct pmi_spawn_app *app;

    pmi_spawn_init(spawn);
    app = pmi_spawn_add_app(spawn, "/bin/worker", argv, env, 3);
    pmi_spawn_set(&app->directory, "/tmp");
    pmi_spawn_set(&app->rule.hosts, "n1,n2");
    app->rule.per_node = 2;
    pmi_spawn_edit(app, VARIABLE_EDIT_PREPEND, "PATH", "/x", ':');
    pmi_spawn_edit(app, VARIABLE_EDIT_UNSET, "PMIX_RANK", "", '\0');
    pmi_spawn_edit(app, VARIABLE_EDIT_UNSET, "BANYAN_SESSION", "", '\0');
    (void)pmi_spawn_add_app(spawn, "worker", NULL, NULL, 1);
    pmi_spawn_set(&spawn->rule.map_by, "node");
    spawn->rule.oversubscribe = 1;
    spawn->start_timeout_s = 30;
    spawn->run_timeout_s = UINT32_MAX;
    spawn->stop = PMI_STOP_APP;
    spawn->stdin_rank = 2;
    spawn->is_recoverable = 1;
    spawn->report_bindings = 1;
    spawn->rule.no_oversubscribe = 1;
    pmi_spawn_set(&spawn->target.namespace, "banyan-x-3");
    spawn->target.rank = 5;
    pmi_spawn_set(&spawn->tool, "tool");
    spawn->tool_rank = 6;
    spawn->target.per_node = 2;
    spawn->target.per_process = UINT16_MAX;
    pmi_spawn_add_preput(spawn, "PARENT_ROOT_PORT_NAME", "tag#0$");
}

static void test_request(void)
{
    struct pmi_spawn spawn, read;
    struct buffer bytes = {0}, again = {0};

    make_request(&spawn);
    pmi_spawn_encode(&spawn, &bytes);
    is_int(pmi_spawn_decode(&read, bytes.data, bytes.length_bytes), 0, "a request is read");
    pmi_spawn_encode(&read, &again);
    is_bytes(again.data, again.length_bytes, bytes.data, bytes.length_bytes, "as it was written");
    is_uint(read.apps_count, 2, "both applications");
    is_string(read.apps[0].argv[0], "/bin/worker", "what is executed is the program");
    is_string(read.apps[0].argv[1], "-v", "with its arguments");
    is_string(read.apps[0].argv[2], "", "also an empty one");
    is_uint(read.apps[0].edits.count, 3, "with its variables, but for those of the caller itself");
    is_string(read.apps[0].edits.items[1].name, "B", "also one that is empty");
    is_int(read.apps[0].edits.items[2].kind, VARIABLE_EDIT_PREPEND, "and what else it changes");
    is_string(read.apps[0].rule.hosts, "n1,n2", "on its nodes");
    is_string(read.apps[1].argv[0], "worker", "a program without arguments is its own first");
    ok(read.apps[1].directory == NULL && read.apps[1].rule.hosts == NULL,
       "what is not given is not");
    is_string(read.rule.map_by, "node", "the rule of the job");
    ok(read.start_timeout_s == 30 && read.run_timeout_s == UINT32_MAX, "its time limits");
    ok(strcmp(read.tool, "tool") == 0 && read.tool_rank == 6, "the tool that asks for it");
    is_string(read.target.namespace, "banyan-x-3", "what it debugs");
    ok(read.target.rank == 5 && read.target.per_node == 2 && read.target.per_process == UINT16_MAX,
       "and how many of it do");
    ok(read.stdin_rank == 2 && read.is_recoverable && read.report_bindings &&
           read.rule.no_oversubscribe,
       "and its policies");
    is_int(read.stop, PMI_STOP_APP, "where it waits for a debugger");
    is_string(read.preput[0].value, "tag#0$", "a pair for the new processes");
    pmi_spawn_fini(&read);
    pmi_spawn_fini(&spawn);
    buffer_fini(&bytes);
    buffer_fini(&again);
}

/* Whatever is missing at its end, it is refused. */
static void test_truncated(void)
{
    struct pmi_spawn spawn, read;
    struct buffer bytes = {0};
    int taken = 0;

    make_request(&spawn);
    pmi_spawn_encode(&spawn, &bytes);
    for (size_t length = 0; length < bytes.length_bytes; length++)
        taken += pmi_spawn_decode(&read, bytes.data, length) == 0;
    is_int(taken, 0, "no part of a request is one");
    pmi_spawn_fini(&spawn);
    buffer_clear(&bytes);
    pmi_spawn_init(&spawn);
    pmi_spawn_encode(&spawn, &bytes);
    is_int(pmi_spawn_decode(&read, bytes.data, bytes.length_bytes), -EBADMSG,
           "without an application it is none");
    buffer_fini(&bytes);
}

static void test_answer(void)
{
    struct pmi_spawn_answer answer = {.failure = PMI_SPAWN_FAILURE_MAP}, read;
    struct buffer bytes = {0};

    snprintf(answer.reason, sizeof(answer.reason), "no room");
    pmi_spawn_answer_encode(&answer, &bytes);
    is_int(pmi_spawn_answer_decode(&read, bytes.data, bytes.length_bytes), 0, "a refusal is read");
    is_int(read.failure, PMI_SPAWN_FAILURE_MAP, "with its kind");
    is_string(read.reason, "no room", "and its reason");
    is_int(pmi_spawn_answer_decode(&read, bytes.data, bytes.length_bytes - 1), -EBADMSG,
           "a part of it is refused");
    bytes.data[0] = PMI_SPAWN_FAILURE_COUNT;
    is_int(pmi_spawn_answer_decode(&read, bytes.data, bytes.length_bytes), -EBADMSG,
           "and so is a kind that does not exist");
    buffer_fini(&bytes);
}

static void test_info(void)
{
    struct pmi_spawn spawn;
    struct pmi_spawn_app *app;

    pmi_spawn_init(&spawn);
    app = pmi_spawn_add_app(&spawn, "w", NULL, NULL, 1);
    ok(pmi_spawn_info(app, "host", "n1") && pmi_spawn_info(app, "host", "n2"),
       "host is understood");
    is_string(app->rule.hosts, "n2", "the last one counts");
    ok(pmi_spawn_info(app, "wdir", "/x"), "wdir is understood");
    is_string(app->directory, "/x", "and kept");
    ok(pmi_spawn_info(app, "path", "/a:/b"), "path is understood");
    is_string(app->edits.items[0].value, "/a:/b", "as a variable");
    ok(pmi_spawn_info(app, "ppn", "4") && app->rule.per_node == 4, "ppn is a number");
    ok(pmi_spawn_info(app, "ppn", "4x") && app->rule.per_node == 4, "which a word does not change");
    ok(!pmi_spawn_info(app, "soft", "1:4"), "what is not understood is told apart");
    pmi_spawn_fini(&spawn);
}

int main(void)
{
    test_request();
    test_truncated();
    test_answer();
    test_info();
    return done_testing();
}
