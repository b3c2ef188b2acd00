/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <string.h>

#include "launch/cli/verb/command.h"
#include "launch/exec/build_tree.h"
#include "launch/exec/nic_worker.h"
#include "launch/exec/pair_worker.h"
#include "launch/exec/process_title.h"
#include "launch/exec/standard_fds.h"
#include "launch/exec/task_worker.h"

int main(int argc, char **argv)
{
    standard_fds_open();
    build_tree_init();
    process_title_init(argc, argv);
    if (argc == 2 && strcmp(argv[1], TASK_WORKER_WORD) == 0)
        return task_worker_run();
    if (argc == 2 && strcmp(argv[1], NIC_WORKER_WORD) == 0)
        return nic_worker_run();
    if (argc > 1 && strcmp(argv[1], PAIR_WORKER_WORD) == 0)
        return pair_worker_run(argc - 2, argv + 2);
    return command_main(argc, argv);
}
