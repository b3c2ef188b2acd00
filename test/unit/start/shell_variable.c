/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/shell_variable.h"

#include "test/support/tap.h"

static void is_kind(const char *variable, enum shell_variable kind)
{
    is_int((int)shell_variable_of(variable), (int)kind, "%s", variable);
}

int main(void)
{
    is_kind("TOKEN=secret", SHELL_VARIABLE_EXPORT);
    is_kind("_a1=", SHELL_VARIABLE_EXPORT);
    is_kind("PATHS=/x", SHELL_VARIABLE_EXPORT);
    is_kind("a=b=c", SHELL_VARIABLE_EXPORT);
    is_kind("PATH=/x", SHELL_VARIABLE_ENV);
    is_kind("LD_PRELOAD=x.so", SHELL_VARIABLE_ENV);
    is_kind("UID=7", SHELL_VARIABLE_ENV);
    is_kind("BASH_FUNC_f%%=() { true; }", SHELL_VARIABLE_ENV);
    is_kind("1a=x", SHELL_VARIABLE_IMPOSSIBLE);
    is_kind("a.b=x", SHELL_VARIABLE_IMPOSSIBLE);
    is_kind("a b=x", SHELL_VARIABLE_IMPOSSIBLE);
    is_kind("=x", SHELL_VARIABLE_IMPOSSIBLE);
    return done_testing();
}
