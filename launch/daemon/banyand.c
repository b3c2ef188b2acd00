/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * banyand: without arguments, as an agent starts it on a node, it is a daemon
 * (launch/daemon/daemon.h).
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launch/proto/boot.h"
#include "launch/daemon/daemon.h"
#include "launch/doctor/doctor_examine.h"
#include "launch/exec/helper.h"
#include "launch/daemon/join_daemon.h"
#include "launch/proto/exit_status.h"
#include "launch/start/one_shot.h"
#include "launch/exec/build_tree.h"
#include "launch/exec/nic_worker.h"
#include "launch/exec/pair_worker.h"
#include "launch/exec/process_title.h"
#include "launch/exec/session.h"
#include "launch/exec/standard_fds.h"
#include "launch/exec/task_worker.h"

static const char help[] =
    "Usage: banyand\n"
    "       banyand [--started-by STARTER] [--boot munge:CREDENTIAL|file:PATH]\n"
    "       banyand --join FILE|- [--node NAME]\n"
    "       banyand --clean SESSION[.PLACE] [--tmpdir DIR]\n"
    "       banyand --version | --help\n"
    "\n"
    "The node daemon of banyan. It is started by `banyan run` (through ssh or another\n"
    "agent), not by hand, and reads what it must know from its standard input.\n"
    "\n"
    "  --boot WORD      take the boot record from a MUNGE credential or a file, not from stdin\n"
    "  --started-by STARTER  be one of the daemons that STARTER (srun) has started with one call\n"
    "  --join FILE      be the daemon of this node in the instance that has written FILE, or one\n"
    "                   line of it (banyan run --starter join); - is standard input\n"
    "  --node NAME      whose line of FILE it is (default: this host's name)\n"
    "  --clean SESSION  kill what a session, or a place of it, has left on this node and remove\n"
    "                   its files\n"
    "  --tmpdir DIR     where its files are, if not in $TMPDIR or /tmp\n";

static int usage_error(const char *what, const char *word)
{
    fprintf(stderr, "banyand: %s%s; see banyand --help\n", what, word);
    return EXIT_STATUS_FAILED;
}

static int clean_session(int argc, char **argv)
{
    struct error error = ERROR_NONE;
    const char *tmpdir = NULL;

    if (argc < 3)
        return usage_error("--clean needs a session", "");
    if (argc > 3 && strcmp(argv[3], "--tmpdir") != 0)
        return usage_error("unknown argument: ", argv[3]);
    if (argc == 4)
        return usage_error("--tmpdir needs a directory", "");
    if (argc > 5)
        return usage_error("unknown argument: ", argv[5]);
    if (argc == 5)
        tmpdir = argv[4];
    if (session_clean(argv[2], tmpdir, &error) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "banyand: %s\n", error.text);
    return EXIT_STATUS_FAILED;
}

/* --started-by STARTER, --boot WORD, or both. */
static int start_with(int argc, char **argv)
{
    const struct one_shot *one_shot = NULL;
    const char *boot_word = NULL;
    struct error error = ERROR_NONE;

    for (int i = 1; i < argc; i += 2) {
        int is_boot = strcmp(argv[i], "--boot") == 0;
        if (!is_boot && strcmp(argv[i], "--started-by") != 0)
            return usage_error("unknown argument: ", argv[i]);
        if (i + 1 == argc)
            return usage_error(argv[i], is_boot ? " needs a word" : " needs the name of a starter");
        if (is_boot) {
            boot_word = argv[i + 1];
            continue;
        }
        one_shot = one_shot_find(argv[i + 1], &error);
        if (one_shot == NULL)
            return usage_error("--started-by: ", error.text);
    }
    helper_set_daemon(daemon_main);
    return daemon_main_with(one_shot, boot_word);
}

/* --join FILE [--node NAME], in any order. */
static int join_instance(int argc, char **argv)
{
    struct join_request request = {.path = NULL};

    for (int i = 1; i < argc; i += 2) {
        int is_join = strcmp(argv[i], "--join") == 0;
        if (!is_join && strcmp(argv[i], "--node") != 0)
            return usage_error("unknown argument: ", argv[i]);
        if (i + 1 == argc)
            return usage_error(argv[i], is_join ? " needs a file, or - for standard input"
                                                : " needs the name of a node");
        if (is_join)
            request.path = argv[i + 1];
        else
            request.node_name = argv[i + 1];
    }
    if (request.path == NULL)
        return usage_error("--node needs --join FILE", "");
    helper_set_daemon(daemon_main);
    return daemon_main_join(&request);
}

static int run_option(int argc, char **argv)
{
    if (strcmp(argv[1], "--started-by") == 0 || strcmp(argv[1], "--boot") == 0)
        return start_with(argc, argv);
    if (strcmp(argv[1], "--join") == 0 || strcmp(argv[1], "--node") == 0)
        return join_instance(argc, argv);
    if (strcmp(argv[1], "--clean") == 0)
        return clean_session(argc, argv);
    if (strcmp(argv[1], PAIR_WORKER_WORD) == 0)
        return pair_worker_run(argc - 2, argv + 2);
    if (argc > 2)
        return usage_error("unknown argument: ", argv[2]);
    if (strcmp(argv[1], NIC_WORKER_WORD) == 0)
        return nic_worker_run();
    if (strcmp(argv[1], "--examine") == 0)
        return doctor_examine();
    if (strcmp(argv[1], TASK_WORKER_WORD) == 0)
        return task_worker_run();
    if (strcmp(argv[1], "--version") == 0)
        printf("banyand %s (protocol %d)\n", PACKAGE_VERSION, BOOT_PROTOCOL_VERSION);
    else if (strcmp(argv[1], "--help") == 0)
        fputs(help, stdout);
    else
        return usage_error("unknown argument: ", argv[1]);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_STATUS_FAILED;
}

int main(int argc, char **argv)
{
    standard_fds_open(); /* an agent may have closed one; costs 0.7 us */
    build_tree_init();
    process_title_init(argc, argv);
    if (argc > 1)
        return run_option(argc, argv);
    helper_set_daemon(daemon_main);
    return daemon_main(NULL);
}
