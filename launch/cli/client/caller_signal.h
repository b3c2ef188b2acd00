/* SPDX-License-Identifier: BSD-3-Clause */
/* What the caller of a command has decided about its signals. */
#ifndef LAUNCH_CLI_CLIENT_CALLER_SIGNAL_H
#define LAUNCH_CLI_CLIENT_CALLER_SIGNAL_H

#include <stdbool.h>

/* What the caller ignores (nohup, a shell's background) stays ignored. */
bool caller_signal_is_ignored(int number);

#endif
