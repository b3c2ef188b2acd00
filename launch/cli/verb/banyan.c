/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/command.h"
#include "launch/exec/build_tree.h"
#include "launch/exec/process_title.h"
#include "launch/exec/standard_fds.h"

int main(int argc, char **argv)
{
    standard_fds_open();
    build_tree_init();
    process_title_init(argc, argv);
    return command_main(argc, argv);
}
