/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/caller_signal.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>

bool caller_signal_is_ignored(int number)
{
    struct sigaction action;

    assert(number > 0 && number < NSIG);
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}
