/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/shell_variable.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define FIRST_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* A star stands for any rest. */
static const char *const by_env[] = {
    "PATH",         /* where the script finds env */
    "LD_*",         /* with which libraries */
    "IFS",          /* how it is split into words */
    "BASH_FUNC_*",  /* functions of bash, whose names are no identifiers */
    "UID",          /* bash has these itself, and does not let them be set */
    "EUID",         /* likewise */
    "PPID",         /* likewise */
    "SHELLOPTS",    /* likewise */
    "BASHOPTS",     /* likewise */
    "BASH_VERSINFO" /* likewise */
};

static int is_listed(const char *variable, size_t name_bytes)
{
    for (size_t i = 0; i < sizeof(by_env) / sizeof(by_env[0]); i++) {
        size_t bytes = strlen(by_env[i]);

        if (by_env[i][bytes - 1] == '*'
                ? strncmp(variable, by_env[i], bytes - 1) == 0
                : bytes == name_bytes && memcmp(variable, by_env[i], bytes) == 0)
            return 1;
    }
    return 0;
}

enum shell_variable shell_variable_of(const char *variable)
{
    size_t name_bytes = strcspn(variable, "=");

    assert(variable[name_bytes] == '=');
    if (is_listed(variable, name_bytes))
        return SHELL_VARIABLE_ENV;
    if (name_bytes == 0 || strchr(FIRST_LETTERS, variable[0]) == NULL ||
        strspn(variable, FIRST_LETTERS "0123456789") != name_bytes)
        return SHELL_VARIABLE_IMPOSSIBLE;
    return SHELL_VARIABLE_EXPORT;
}
